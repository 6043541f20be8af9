// The page of diagnose: files and settings go to the worker that runs the program, and what it answers is shown. The page
// makes no request of any kind; its policy would forbid it.
"use strict";
(function () {
  const $ = (id) => document.getElementById(id);
  const frameworks = { verl: "verl", skyrl: "SkyRL", trl: "TRL", slime: "slime", prime: "prime-rl" };
  let worker = null, module = null, files = [], job = 0, asked = null;

  function element(name, text, className) {
    const e = document.createElement(name);
    if (text !== undefined) e.textContent = text;
    if (className) e.className = className;
    return e;
  }

  const megabytes = (n) => (n / 1e6).toFixed(n < 1e7 ? 1 : 0) + " MB";
  const say = (text) => { $("state").textContent = text; };

  // choose shows the files, which are all of them anew.
  function choose(list) {
    files = list;
    $("chosen").replaceChildren(...list.slice(0, 20).map((f) => element("li", (f.webkitRelativePath || f.name) + ", " + megabytes(f.size))));
    if (list.length > 20) $("chosen").append(element("li", "and " + (list.length - 20) + " more"));
    $("start").disabled = list.length === 0;
  }

  // entries are the files of what was dropped, those of folders with their paths.
  async function entries(items) {
    const found = [];
    async function walk(entry, path) {
      if (entry.isFile) {
        const f = await new Promise((done, failed) => entry.file(done, failed));
        if (path !== "") Object.defineProperty(f, "webkitRelativePath", { value: path + f.name });
        found.push(f);
        return;
      }
      const reader = entry.createReader();
      for (;;) {
        const some = await new Promise((done, failed) => reader.readEntries(done, failed));
        if (some.length === 0) return;
        for (const e of some) await walk(e, path + entry.name + "/");
      }
    }
    const all = [...items].map((i) => i.webkitGetAsEntry()).filter((e) => e !== null);
    for (const e of all) await walk(e, "");
    const dumps = /\.(jsonl|ndjson|json|pkl|pt|parquet)(\.gz|\.zst)?$|^rank_[0-9]+\.bin$/i;
    const chosen = all.some((e) => e.isDirectory) ? found.filter((f) => dumps.test(f.name)) : found;
    return chosen.sort((a, b) => (a.webkitRelativePath || a.name).localeCompare(b.webkitRelativePath || b.name, "en", { numeric: true }));
  }

  // ended puts the form back.
  function ended(text) {
    say(text);
    $("progress").hidden = $("stop").hidden = true;
    $("start").disabled = files.length === 0;
    asked = null;
  }

  function lost(why) {
    if (worker) worker.terminate();
    worker = null;
    ended("The program stopped: " + why);
  }

  // start starts the worker, with the compiled program if there is one, and asks when it is ready.
  function start() {
    if (typeof WebAssembly !== "object" || typeof DecompressionStream !== "function" || typeof Worker !== "function") {
      ended("This browser cannot run the program. The command does the same: simulate diagnose FILE");
      return;
    }
    if (worker) { ask(); return; }
    worker = new Worker(URL.createObjectURL(new Blob([$("worker").textContent], { type: "text/javascript" })));
    worker.onmessage = (e) => receive(typeof e.data === "string" ? JSON.parse(e.data) : e.data);
    worker.onerror = (e) => { e.preventDefault(); lost(e.message || "the worker failed"); };
    worker.postMessage(module ? { module } : { text: $("wasm").textContent });
  }

  function ask() {
    say("Reading");
    worker.postMessage({ ask: JSON.stringify(asked.request), files: asked.files });
  }

  function receive(m) {
    if (m.broken) { lost(m.broken); return; }
    if (m.module) { module = m.module; return; }
    if (m.loaded) { say("Loading the program"); return; }
    if (!asked) return;
    if (m.ready) { ask(); return; }
    if (m.id !== job) return;
    if (m.of) {
      $("progress").value = m.read / m.of;
      say("Read " + megabytes(m.read) + " of " + megabytes(m.of));
      return;
    }
    show(m);
    ended(m.document ? "Done" : "");
  }

  function table(t) {
    const figure = element("figure", undefined, "table"), scroll = element("div", undefined, "scroll"), e = element("table"), head = e.createTHead().insertRow(), body = e.createTBody();
    scroll.tabIndex = 0;
    scroll.setAttribute("role", "region");
    scroll.setAttribute("aria-label", t.title);
    t.columns.forEach((c) => { const th = element("th", c.name, c.num ? "num" : ""); th.scope = "col"; head.append(th); });
    for (const cells of t.rows) {
      const row = body.insertRow();
      cells.forEach((text, i) => row.append(element("td", text, t.columns[i].num ? "num" : "")));
    }
    scroll.append(e);
    figure.append(scroll);
    if (t.said) figure.append(element("figcaption", t.said));
    return figure;
  }

  // copied is a text with a button that copies it.
  function copied(text) {
    const box = element("div"), button = element("button", "Copy", "plain"), pre = element("pre");
    pre.append(element("code", text));
    pre.tabIndex = 0; // it scrolls
    button.type = "button";
    button.onclick = () => {
      const done = () => { button.textContent = "Copied"; }, selected = () => { getSelection().selectAllChildren(pre); button.textContent = "Selected: press Ctrl-C"; };
      if (navigator.clipboard) navigator.clipboard.writeText(text).then(done, selected);
      else selected();
    };
    box.append(pre, button);
    return box;
  }

  function show(m) {
    const out = $("report");
    out.replaceChildren();
    if (m.fault) out.append(element("p", m.fault, "fault"));
    if (!m.document) return;
    const r = JSON.parse(m.document), heading = element("h2", "Verdict: " + r.verdict.state);
    heading.tabIndex = -1;
    out.append(heading, element("p", r.verdict.summary, "lead"));
    if (r.verdict.next) out.append(element("p", "Next: " + r.verdict.next + "."));
    if (r.active) {
      out.append(element("p", "Correction of " + r.active.framework + ": " + r.active.why));
      for (const w of r.active.warnings || []) out.append(element("p", "Warning: " + w, "fault"));
    }
    const settings = Object.keys(frameworks).filter((k) => r.config && r.config[k]);
    if (settings.length > 0) {
      out.append(element("h2", "Recommended setting"));
      settings.forEach((k, i) => {
        const fold = element("details");
        fold.open = i === 0;
        fold.append(element("summary", frameworks[k]), copied(r.config[k]));
        out.append(fold);
      });
    }
    if (r.gap) {
      const g = r.gap, n = (x) => typeof x === "number" ? x.toPrecision(3) : String(x);
      out.append(element("h2", "Mismatch"), table({ title: "Mismatch", columns: ["tokens", "responses", "mean |d|, nats", "k3, nats", "Pearson", "effective sample size", "mean ratio"].map((name) => ({ name, num: true })),
        rows: [[g.tokens, g.sequences, n(g.mean_abs_dlogp), n(g.k3), n(g.pearson), n(g.ess_token), n(g.mean_ratio)]] }));
    }
    for (const t of m.tables || []) out.append(element("h2", t.title), table(t));
    out.append(element("h2", "Files"));
    for (const i of r.inputs) {
      const p = element("p", i.file + (i.format ? ", " + i.format : "") + ": " + i.rows + " rows, " + i.rows_used + " used, " + i.tokens + " tokens" + (i.damaged ? "; " + i.damaged + " damaged, the first at line " + i.damage[0].line + ": " + i.damage[0].reason : ""));
      p.style.overflowWrap = "anywhere";
      out.append(p);
    }
    const save = element("a", "Save report.json, as simulate diagnose --json prints it");
    save.download = "report.json";
    save.href = URL.createObjectURL(new Blob([m.document], { type: "application/json" }));
    out.append(save);
    heading.focus();
  }

  $("files").onchange = () => choose([...$("files").files]);
  const drop = $("drop");
  for (const name of ["dragover", "dragleave", "drop"]) {
    drop.addEventListener(name, (e) => {
      e.preventDefault();
      drop.classList.toggle("over", name === "dragover");
    });
  }
  drop.addEventListener("drop", (e) => { entries(e.dataTransfer.items).then(choose, (err) => say(String(err.message || err))); });
  $("form").onsubmit = (e) => {
    e.preventDefault();
    if (files.length === 0) return;
    asked = { files, request: { id: ++job, config: $("config").value, top_p: Number($("top_p").value), temperature: Number($("temperature").value), experts: Number($("experts").value) } };
    $("start").disabled = true;
    $("stop").hidden = $("progress").hidden = false;
    $("progress").value = 0;
    say("Loading the program");
    start();
  };
  $("stop").onclick = () => {
    if (worker) worker.terminate();
    worker = null;
    ended("Stopped");
  };
  paper.theme(document.querySelector(".theme"), () => {});
})();
