const fs = require("fs");
require(process.argv[2]);
class Chosen {
	constructor(path) { this.path = path; this.name = path; this.size = fs.statSync(path).size; this.webkitRelativePath = ""; }
	slice(from, to) { return { path: this.path, from, to }; }
}
globalThis.FileReaderSync = class {
	readAsArrayBuffer(s) {
		const f = fs.openSync(s.path), b = Buffer.alloc(s.to - s.from);
		fs.readSync(f, b, 0, b.length, s.from);
		fs.closeSync(f);
		return b.buffer.slice(b.byteOffset, b.byteOffset + b.length);
	}
};
const jobs = JSON.parse(fs.readFileSync(process.argv[4]));
let rows, tokens;
function next() {
	if (jobs.length == 0) return process.stdout.write("", () => process.exit(0)); // what is long takes a while
	rows = tokens = 0;
	const j = jobs.shift();
	driftlab(JSON.stringify(j.request), (j.files || []).map(p => new Chosen(p)));
}
globalThis.postMessage = text => {
	const m = typeof text === "string" ? JSON.parse(text) : text;
	if (m.rows) rows += m.rows.length;
	if (m.ready) next();
	else if (m.tokens) tokens = m.tokens.log_ratio.length;
	else if (m.digest || m.result || m.document || m.fault) {
		process.stdout.write(JSON.stringify({...m, rows, tokens}) + "\n");
		setTimeout(next, 10);
	}
};
const go = new Go();
WebAssembly.instantiate(fs.readFileSync(process.argv[3]), go.importObject).then(r => go.run(r.instance));
