// The worker: it unpacks the program, starts it and passes messages on. Go's
// wasm_exec.js stands before it. The program comes as a text of Ascii85 over gzip,
// between quotes, either from an address or from the page, or compiled already.
"use strict";

// digits are the values of Ascii85's characters; v, w and x stand for ", \ and <, which a script cannot have everywhere.
const digits = new Uint8Array(128).map((_, c) => ({ 118: 34, 119: 92, 120: 60 }[c] || c) - 33);

// decoded is four bytes for five characters.
function decoded(text) {
  const bytes = new Uint8Array((text.length / 5) * 4), view = new DataView(bytes.buffer);
  for (let i = 0, j = 0; i < text.length; i += 5, j += 4) {
    let value = 0;
    for (let k = i; k < i + 5; k++) value = value * 85 + digits[text.charCodeAt(k)];
    view.setUint32(j, value);
  }
  return bytes;
}

// unpacked is the text as a stream of the program's bytes.
function unpacked(response, seen) {
  let state = 0, rest = ""; // before, inside and behind the quotes
  const decode = new TransformStream({
    transform(text, out) {
      if (state === 0) {
        const at = text.indexOf('"');
        if (at < 0) return;
        state = 1;
        text = text.slice(at + 1);
      }
      if (state === 2) return;
      const end = text.indexOf('"');
      if (end >= 0) { state = 2; text = text.slice(0, end); }
      rest += text;
      const whole = rest.length - (rest.length % 5), bytes = decoded(rest.slice(0, whole));
      rest = rest.slice(whole);
      seen(whole);
      out.enqueue(bytes);
      if (state === 2 && rest) out.enqueue(decoded(rest.padEnd(5, "u")).subarray(0, rest.length - 1));
    },
  });
  return response.body.pipeThrough(new TextDecoderStream()).pipeThrough(decode).pipeThrough(new DecompressionStream("gzip"));
}

// load returns the compiled program.
async function load(from) {
  if (from.module) return from.module;
  const response = from.url ? await fetch(from.url) : new Response(from.text);
  if (!response.ok) throw new Error("the program is not there: " + response.status);
  let done = 0, reported = 0;
  const stream = unpacked(response, (n) => {
    done += n;
    if (performance.now() - reported < 100) return;
    reported = performance.now();
    postMessage({ loaded: done });
  });
  const module = await WebAssembly.compileStreaming(new Response(stream, { headers: { "Content-Type": "application/wasm" } }));
  postMessage({ module });
  return module;
}

onmessage = async (e) => {
  if (typeof e.data === "string") { driftlab(e.data); return; }
  if (e.data.ask) { driftlab(e.data.ask, e.data.files); return; }
  try {
    const go = new Go(), module = await load(e.data);
    const instance = await WebAssembly.instantiate(module, go.importObject);
    await go.run(instance);
    postMessage({ broken: "the program has ended" });
  } catch (err) {
    postMessage({ broken: String((err && err.message) || err) });
  }
};
