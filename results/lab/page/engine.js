// The engine as the page sees it: a worker that is started, asked, and replaced when it
// is stopped or lost. It reports what it does in words.
const engine = (function () {
  "use strict";
  const source = document.getElementById("worker").textContent, wasm = document.getElementById("wasm");
  let worker, module, state = "off", said = "", ids = 0, job = null, waiting = [], watch = () => {};

  // tell sets the state, for the light, and what is said of it.
  function tell(now, words) {
    state = now;
    said = words;
    watch(now, words);
  }

  // start starts the worker, with the compiled program if there is one.
  function start() {
    if (worker || state === "broken") return;
    if (typeof WebAssembly !== "object" || typeof DecompressionStream !== "function" || typeof Worker !== "function") {
      tell("broken", "this browser cannot compute here; the recordings stay");
      return;
    }
    tell("loading", "engine: loading");
    try {
      worker = new Worker(URL.createObjectURL(new Blob([source], { type: "text/javascript" })));
    } catch (err) {
      lost(String(err.message || err));
      return;
    }
    worker.onmessage = (e) => receive(e.data);
    worker.onerror = (e) => { e.preventDefault(); lost(e.message || "the worker failed"); };
    if (module) worker.postMessage({ module });
    else if (wasm.dataset.file === "") worker.postMessage({ text: wasm.textContent });
    else if (location.protocol !== "file:") worker.postMessage({ url: new URL(wasm.dataset.file, location.href).href });
    else neighbour((text) => worker && worker.postMessage({ text: '"' + text + '"' }));
  }

  // neighbour reads the program next to a page that was opened as a file: a browser
  // fetches nothing there, but it runs scripts.
  function neighbour(then) {
    window.driftlabProgram = then;
    const script = document.createElement("script");
    script.src = wasm.dataset.file;
    script.onerror = () => lost(wasm.dataset.file + " is not next to the page");
    document.head.append(script);
  }

  // lost is a worker that cannot go on. What is shown stays.
  function lost(why) {
    if (worker) worker.terminate();
    worker = null;
    const was = job;
    job = null;
    waiting = [];
    tell(module ? "lost" : "broken", "the engine stopped (" + why + "); the recordings stay");
    if (was) was.on({ fault: "the engine stopped: " + why });
  }

  function receive(m) {
    if (typeof m === "string") m = JSON.parse(m);
    if (m.loaded) { tell("loading", "engine: loading " + Math.min(100, Math.round(100 * m.loaded / Number(wasm.dataset.bytes))) + " %"); return; }
    if (m.module) { module = m.module; tell("loading", "engine: starting"); return; }
    if (m.broken) { lost(m.broken); return; }
    if (m.ready) {
      tell("ready", "engine ready");
      for (const text of waiting) worker.postMessage(text);
      waiting = [];
      return;
    }
    if (!job || m.id !== job.id) return;
    const now = job;
    if (m.result || m.fault || m.file || m.explain) { job = null; tell("ready", m.fault ? "engine ready" : "done"); }
    else if (m.progress) tell("busy", progress(m.progress));
    now.on(m);
  }

  function progress(p) {
    if (p.of < 2) return "computing";
    return "step " + p.done + " of " + p.of + (p.eta ? ", " + p.eta + " s left" : "");
  }

  function send(message) {
    const text = JSON.stringify({ v: 1, ...message });
    start();
    if (state === "loading" || state === "off") waiting.push(text);
    else if (worker) worker.postMessage(text);
  }

  // ask begins a job; on hears what comes of it.
  function ask(message, on) {
    if (job) stop();
    if (state === "lost") tell("off", "");
    job = { id: ++ids, on };
    send({ ...message, id: job.id });
    if (state === "ready") tell("busy", "computing");
    if (state === "broken" && job) { job = null; on({ fault: said }); }
  }

  // control acts on the job that runs.
  function control(does) { if (job) send({ id: job.id, do: does }); }

  // stop ends the worker, and lets another stand ready.
  function stop() {
    if (!job) return;
    job = null;
    waiting = [];
    if (worker) worker.terminate();
    worker = null;
    tell("off", "stopped");
    start();
  }

  return { start, ask, control, stop, busy: () => job !== null, state: () => state, watch: (f) => { watch = f; }, kill: () => lost("killed") };
})();
