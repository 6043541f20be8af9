//go:build !js

package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// script is a page that has chosen files: it asks once, with File objects whose bytes lie on the disk.
const script = `
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
let told = 0;
globalThis.postMessage = text => {
	const m = JSON.parse(text);
	if (m.ready) driftlab(process.argv[4], process.argv.slice(5).map(p => new Chosen(p)));
	else if (m.of) told++;
	else process.stdout.write(JSON.stringify({...m, told}), () => process.exit(0));
};
const go = new Go();
WebAssembly.instantiate(fs.readFileSync(process.argv[3]), go.importObject).then(r => go.run(r.instance));
`

// What the page computes of a dump is the document of the command, byte for byte, for every format that the command reads.
func TestSameDocument(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil || testing.Short() {
		t.Skip("takes Node, and a minute")
	}
	dir := t.TempDir()
	page, wasm, simulate := filepath.Join(dir, "page.cjs"), filepath.Join(dir, "diagnose.wasm"), filepath.Join(dir, "simulate")
	if err := os.WriteFile(page, []byte(script), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, build := range []*exec.Cmd{
		exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w", "-o", wasm, "."),
		exec.Command("go", "build", "-o", simulate, "../.."),
	} {
		if build.Args[len(build.Args)-1] == "." {
			build.Env = append(os.Environ(), "GOOS=js", "GOARCH=wasm")
		}
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	goroot, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	dumps, err := filepath.Abs(filepath.Join("..", "..", "..", "..", "testdata", "dumps"))
	if err != nil {
		t.Fatal(err)
	}
	const config = "algorithm:\n  rollout_correction:\n    rollout_is: token\n    rollout_is_threshold: 2.0\n"
	hostile, settings := filepath.Join(dir, "zeros.jsonl"), filepath.Join(dir, "verl.yaml")
	if err := os.WriteFile(hostile, make([]byte, 1<<20), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(settings, []byte(config), 0o666); err != nil {
		t.Fatal(err)
	}
	formats := func(names ...string) (paths []string) {
		for _, name := range names {
			paths = append(paths, filepath.Join(dumps, filepath.FromSlash(name)))
		}
		return paths
	}
	for _, c := range []struct {
		name    string
		files   []string
		request map[string]any
		flags   []string
		fault   string
	}{
		{name: "every format", files: formats("nemo/lagrun/train_data_step43.jsonl.gz", "prime/identical/token_exports/step_59/rank_0.jsonl.gz", "prime/identical/token_exports/step_59/STABLE", "verl/text/21.jsonl", "areal/text/42/1002.jsonl",
			"slime/temp/train_data/6.pt", "slime/rollout_only/rollout_data/55.pt", "skyrl/lag/dumped_data/global_step_54_training_input.pkl", "trl/text/completions/completions_00041.parquet")},
		{name: "with a configuration", files: formats("nemo/lagrun/train_data_step43.jsonl.gz"), request: map[string]any{"config": config, "top_p": 0.9}, flags: []string{"--config", settings, "--top-p", "0.9"}},
		{name: "no dump", files: []string{hostile}, fault: "no complete row"},
	} {
		t.Run(c.name, func(t *testing.T) {
			request := map[string]any{"id": 7}
			for k, v := range c.request {
				request[k] = v
			}
			text, err := json.Marshal(request)
			if err != nil {
				t.Fatal(err)
			}
			args := append([]string{page, filepath.Join(strings.TrimSpace(string(goroot)), "lib", "wasm", "wasm_exec.js"), wasm, string(text)}, c.files...)
			out, err := exec.Command(node, args...).CombinedOutput()
			var there struct {
				ID              int
				Document, Fault string
				Tables          []struct{ Rows [][]string }
			}
			if err != nil || json.Unmarshal(out, &there) != nil || there.ID != 7 {
				t.Fatalf("%v\n%.2000s", err, out)
			}
			here, err := exec.Command(simulate, append(append([]string{"diagnose", "--json"}, c.flags...), c.files...)...).Output()
			if (err != nil) != (c.fault != "") {
				t.Fatal(err)
			}
			if there.Document != strings.ReplaceAll(string(here), settings, "the configuration") {
				t.Errorf("the page's document has %d bytes, the command's %d:\n%.3000s\n%.3000s", len(there.Document), len(here), there.Document, here)
			}
			if !strings.Contains(there.Fault, c.fault) || (there.Fault == "") != (c.fault == "") || strings.Contains(there.Fault, "\n") {
				t.Errorf("a fault reads %q", there.Fault)
			}
			if c.fault == "" && len(there.Tables) < 2 {
				t.Errorf("%d tables", len(there.Tables))
			}
		})
	}
}
