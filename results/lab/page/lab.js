// The page: six lessons, a free tab and the page of corrections, from the data in it. A lesson asks, takes a guess,
// shows the recording, and computes the same here on request. Its state is in the address.
(async function () {
  "use strict";
  const { element, swatch } = paper;
  const lab = await unpacked("lab").json();
  const main = document.getElementById("main"), spoken = document.getElementById("spoken");
  const free = { name: "free", title: "Free", free: true, controls: [], guess: [], data: { panels: [] } };
  const which = { name: "which", title: "Stability map", which: true, controls: [], guess: [], data: { panels: [] } };
  const lessons = [...lab.lessons, free, which];
  const patience = 10; // seconds until the recording appears by itself, where a teacher wants that
  const byItself = document.getElementById("by-itself");

  const narrow = matchMedia("(max-width: 899px)"); // there the controls fold, and stay in reach
  narrow.addEventListener("change", () => { for (const d of document.querySelectorAll(".knobs")) d.open = !narrow.matches; });

  let now = null; // the lesson on the page: its values, live panels, parts

  // unpacked is what an element has in base64 over gzip.
  function unpacked(id) {
    const packed = new Blob([Uint8Array.from(atob(document.getElementById(id).textContent), (c) => c.charCodeAt(0))]);
    return new Response(packed.stream().pipeThrough(new DecompressionStream("gzip")));
  }

  // say speaks to screen readers, not more often than every five seconds.
  let heard = 0, later;
  function say(text) {
    clearTimeout(later);
    const wait = heard + 5000 - performance.now();
    if (wait > 0) { later = setTimeout(() => say(text), wait); return; }
    heard = performance.now();
    spoken.textContent = text;
  }

  // The address holds the lesson and its controls.
  function fromAddress() {
    const q = new URLSearchParams(location.hash.slice(1));
    const name = q.get("lesson") || location.hash.slice(1);
    return { lesson: lessons.find((l) => l.name === name) || lessons[0], q };
  }
  function toAddress() {
    const q = new URLSearchParams({ lesson: now.lesson.name, ...now.values });
    history.replaceState(null, "", "#" + q);
  }

  function buildTabs() {
    const list = document.getElementById("lessons");
    lessons.forEach((l, i) => {
      const a = list.appendChild(element("li")).appendChild(element("a"));
      a.href = "#lesson=" + l.name;
      a.append(element("span", "n", String(i + 1)), " " + l.title);
      a.dataset.name = l.name;
    });
  }

  // open shows a lesson.
  function open(lesson, q) {
    if (now && now.lesson !== lesson && engine.busy()) engine.stop();
    if (now) clearTimeout(now.timer);
    const values = {};
    for (const c of lesson.controls || []) {
      const asked = q.get(c.key), fits = c.kind === "number" ? Number(asked) >= c.low && Number(asked) <= c.high : (c.options || []).some((o) => o.value === asked);
      values[c.key] = asked && fits ? asked : String(c.value);
    }
    now = { lesson, values, live: [], q, kept: guesses.kept(lesson.name), tick: 0 };
    document.title = lesson.title + " · the lab of driftlab";
    for (const a of document.querySelectorAll("#lessons a")) {
      if (a.dataset.name === lesson.name) { a.setAttribute("aria-current", "page"); a.scrollIntoView({ block: "nearest", inline: "nearest" }); } else a.removeAttribute("aria-current");
    }
    if (lesson.free) buildFree(); else if (lesson.which) buildWhich(); else buildLesson();
    scrollTo(0, 0);
  }

  const paragraphs = (list) => (list || []).map((t) => element("p", "", t));

  function buildLesson() {
    const l = now.lesson;
    const part = (name, tag) => (now[name] = element(tag || "section", "part " + name));
    const ask = part("ask"), guess = part("guess"), stage = part("stage"), controls = part("controls"), aha = part("aha"), text = part("text");
    ask.append(element("p", "eyebrow", l.minutes + " minutes"), element("h1", "", l.title), element("p", "question", l.question), ...paragraphs(l.intro));
    guess.setAttribute("aria-label", "Your guess");
    stage.setAttribute("aria-label", "Plot");
    controls.setAttribute("aria-label", "Controls");
    aha.setAttribute("aria-label", "What it shows");
    buildControls(controls);
    if (l.exercise && l.exercise.length) {
      text.append(element("h2", "", "On paper"));
      for (const x of l.exercise) {
        const fold = element("details", "exercise");
        fold.append(element("summary", "", "Show the answer"), element("p", "", x.answer));
        text.append(element("p", "", x.ask), fold);
      }
    }
    if (l.command) text.append(element("h2", "", "In a terminal"), command(l.command));
    const side = element("div", "side"), show = element("div", "show");
    side.append(ask, guess, controls);
    show.append(aha, stage, text);
    main.replaceChildren(side, show);
    main.className = "lesson";
    if (now.kept || !(l.guess || []).length) reveal(); else askGuess();
  }

  function command(text) {
    const pre = element("pre", "command");
    pre.tabIndex = 0;
    pre.setAttribute("aria-label", "Command");
    pre.append(element("code", "", text));
    return pre;
  }

  // askGuess asks, and shows the recording after the guess or a skip.
  function askGuess() {
    const l = now.lesson, me = now;
    const form = element("form"), wait = element("p", "note wait");
    const fields = l.guess.map((g, i) => field(g, i));
    function field(g, i) {
      return guesses.field(g, l.name + i, () => { hold(); if (g.kind === "curve") sketch(); });
    }
    const send = element("button", "primary", "This is my guess"), skip = element("button", "", "Skip, show me");
    send.type = "submit";
    skip.type = "button";
    const row = element("div", "row");
    row.append(send, skip);
    form.append(element("h2", "", "Guess first"), ...fields.map((f) => f.set), row);
    form.addEventListener("focusin", hold);
    form.addEventListener("pointerdown", hold);
    form.addEventListener("submit", (e) => { e.preventDefault(); done(true); });
    skip.addEventListener("click", () => done(false));
    now.guess.replaceChildren(form);
    now.aha.before(now.guess); // where the answer will be: both fit on the first screen
    now.controls.hidden = true;
    now.aha.hidden = true;
    now.text.hidden = true;
    const curve = fields.find((f) => f.guess.kind === "curve");
    function sketch() {
      const g = curve.guess;
      const like = (l.data.panels || []).find((p) => p.guess === g.key) || {};
      const p = {
        kind: "lines", title: g.ask, x: { label: "", ...like.x }, y: { label: "share", percent: true, ...like.y, low: g.low || 0, high: g.high || 1 },
        series: [{ name: "your guess", x: g.x, y: curve.read(), method: "own" }],
        onDrag: (x, v) => { hold(); curve.put(x, v); },
      };
      paint([p], true);
    }
    if (curve) sketch();
    else now.stage.replaceChildren(element("p", "note", "The recording appears here after your guess."));
    // With the teacher's switch the recording does not wait for a button. The line that
    // counts keeps its place when it is not needed any more: what moves under a pointer
    // that is down loses the click.
    let left = patience;
    function count() {
      if (now !== me || !byItself.checked) return;
      if (left === 0) { done(false); return; }
      wait.textContent = "The answer appears in " + left + " s, unless you begin to guess.";
      left--;
      me.timer = setTimeout(count, 1000);
    }
    function hold() { clearTimeout(me.timer); wait.classList.add("held"); }
    now.count = () => { if (!form.isConnected) return; form.append(wait); wait.classList.remove("held"); left = patience; count(); };
    if (byItself.checked) now.count();
    function done(guessed) {
      hold();
      const values = {};
      if (guessed) for (const f of fields) values[f.guess.key] = f.read();
      now.kept = values;
      guesses.keep(l.name, values);
      reveal();
      if (guessed || document.activeElement !== document.body) { now.guess.tabIndex = -1; now.guess.focus({ preventScroll: true }); }
      say(l.aha);
    }
  }

  // reveal shows the recording, with the guess next to it.
  function reveal() {
    const l = now.lesson;
    now.controls.hidden = now.aha.hidden = now.text.hidden = false;
    now.ask.after(now.guess);
    now.guess.replaceChildren(...(l.guess || []).map((g) => guesses.answer(g, now.kept && now.kept[g.key])));
    if ((l.guess || []).length) {
      const again = element("button", "small again", "Guess again");
      again.type = "button";
      again.addEventListener("click", () => { askGuess(); now.guess.querySelector("input, select").focus(); });
      now.guess.append(again);
    }
    now.aha.replaceChildren(element("p", "aha-text", l.aha), ...paragraphs(l.why));
    if ((l.shown || []).length) {
      const fold = element("details", "sources");
      fold.append(element("summary", "", "Where these figures are published"),
        panels.table("Figures of this lesson", ["figure", "value", "file", "field"], l.shown.map((s) => [s.text, String(s.value), s.source, s.field]), [false, true, false, false]));
      now.aha.append(fold);
    }
    refresh();
  }

  // refresh puts the controls into the address, and draws what they ask for.
  function refresh() {
    toAddress();
    draw();
  }

  // draw paints what the controls ask for. It leaves the address alone: a frame that was asked for
  // before a link was followed comes after the new address, and would write the old one over it.
  function draw() {
    const l = now.lesson, recorded = panels.matching(l.data.panels || [], now.values);
    const list = panels.merged(recorded, panels.matching(now.live, now.values)).map((p) => {
      const g = p.guess && (l.guess || []).find((x) => x.key === p.guess), value = g && now.kept && now.kept[g.key];
      const own = (l.controls || []).find((c) => c.kind === "number" && c.key === p.guess);
      let drawn = own ? { at: Number(now.values[own.key]), name: "your run" } : null;
      if (value != null && g.kind === "curve") drawn = { x: g.x, y: value };
      else if (value != null && (g.kind === "share" || g.kind === "number")) drawn = { at: value };
      else if (value != null && g.kind === "decade") drawn = { at: Number("1e" + value) };
      return { ...p, drawn, ...dragging(p.drag) };
    });
    paint(list);
  }

  // paint fills the stage; while a drag goes on the figures stay where they are.
  function paint(list) {
    const stage = now.stage, old = [...stage.children];
    const same = old.length === list.length && list.every((p, i) => old[i].update && old[i].dataset.at === p.title && old[i].dataset.drawn === JSON.stringify(p.drawn || null));
    if (same && list.every((p, i) => old[i].update(p))) return; // a run with more steps, a band that is dragged
    stage.classList.toggle("many", list.some((p) => p.name && list.filter((q) => q.name === p.name).length > 2));
    const folds = new Set([...stage.querySelectorAll("details[open]")].map((d) => d.parentElement.dataset.at));
    const height = stage.offsetHeight;
    stage.style.minHeight = height ? height + "px" : "";
    const figures = list.map((p, i) => {
      const f = panels.paint(p);
      f.dataset.at = p.title;
      f.dataset.drawn = JSON.stringify(p.drawn || null);
      if (folds.has(p.title)) { const d = f.querySelector("details"); if (d) d.open = true; }
      return f;
    });
    stage.replaceChildren(...figures);
    for (const f of figures) if (f.repaint) f.repaint();
    requestAnimationFrame(() => { stage.style.minHeight = ""; });
  }

  // dragging marks the option chosen on both sides of zero, and chooses the one nearest
  // to where the pointer is held down.
  function dragging(drag) {
    if (!drag) return {};
    const { options, key } = now.lesson.controls.find((c) => c.key === drag.control), { axis } = drag;
    const at = drag.at[options.findIndex((o) => o.value === now.values[key])];
    return {
      marks: [{ axis, at, name: drag.names[0] }, { axis, at: -at, name: drag.names[1] }],
      onDrag: (x, y) => {
        const way = drag.at.map((v) => Math.abs(v - Math.abs(axis === "x" ? x : y)));
        const { value } = options[way.indexOf(Math.min(...way))];
        if (value !== now.values[key]) now.set[key](value);
      },
    };
  }

  function buildControls(box) {
    const l = now.lesson, knobs = element("details", "knobs");
    knobs.append(element("summary", "", "Controls"));
    knobs.open = !narrow.matches;
    box.append(knobs);
    now.set = {};
    for (const c of l.controls || []) {
      if (c.kind === "number") { knobs.append(ownNumber(c)); continue; }
      const label = element("label", "control " + c.kind);
      label.append(element("span", "name", c.label));
      const choose = element("select");
      for (const o of c.options || []) choose.append(new Option(o.label || o.value, o.value));
      const put = (v) => {
        now.values[c.key] = v;
        if (chooses(c.key)) {
          if (engine.busy()) halt("Stopped: another " + c.label.toLowerCase() + " was chosen.");
          now.live = [];
        }
        choose.value = v;
        if (slide) slide.value = c.options.findIndex((o) => o.value === v);
        refresh();
      };
      now.set[c.key] = put;
      choose.value = now.values[c.key];
      choose.addEventListener("change", () => put(choose.value));
      let slide = null;
      if (c.kind === "range") {
        slide = element("input");
        slide.type = "range";
        slide.min = 0;
        slide.max = c.options.length - 1;
        slide.step = 1;
        slide.value = c.options.findIndex((o) => o.value === now.values[c.key]);
        slide.setAttribute("aria-label", c.label + ", by a slider");
        const text = () => slide.setAttribute("aria-valuetext", c.options[slide.value].label || c.options[slide.value].value);
        text();
        slide.addEventListener("input", () => { put(c.options[slide.value].value); text(); });
        slide.addEventListener("keydown", (e) => {
          const way = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 }[e.key];
          if (!e.shiftKey || !way) return;
          e.preventDefault();
          put(c.options[Math.max(0, Math.min(c.options.length - 1, Number(slide.value) + 10 * way))].value);
          text();
        });
        label.append(slide);
      }
      label.append(choose);
      if (c.kind === "toggle") {
        choose.classList.add("toggle");
      }
      knobs.append(label);
    }
    if (l.live) box.append(liveBox());
  }

  // ownNumber is a number of the reader's: typed, or by a slider over its decades.
  function ownNumber(c) {
    const box = element("label", "control number"), number = element("input"), slide = element("input");
    number.type = "number";
    Object.assign(number, { min: c.low, max: c.high, step: "any", value: now.values[c.key], inputMode: "decimal" });
    slide.type = "range";
    Object.assign(slide, { min: 0, max: 200, step: 1 });
    slide.setAttribute("aria-label", c.label + ", by a slider");
    const put = () => {
      if (!(Number(number.value) >= c.low && Number(number.value) <= c.high)) return;
      now.values[c.key] = number.value;
      slide.value = 200 * Math.log(number.value / c.low) / Math.log(c.high / c.low);
      slide.setAttribute("aria-valuetext", number.value);
      refresh();
    };
    number.addEventListener("input", put);
    slide.addEventListener("input", () => { number.value = Number((c.low * Math.pow(c.high / c.low, slide.value / 200)).toPrecision(2)); put(); });
    slide.value = 200 * Math.log(number.value / c.low) / Math.log(c.high / c.low);
    slide.setAttribute("aria-valuetext", number.value);
    const row = element("span", "row");
    row.append(slide, number);
    box.append(element("span", "name", c.label), row);
    return box;
  }

  // liveBox is what computes here: buttons, progress, and what came of it.
  function liveBox() {
    const box = element("div", "live");
    const button = (text, act, name) => {
      const b = element("button", name || "", text);
      b.type = "button";
      b.addEventListener("click", act);
      return b;
    };
    const run = button("Compute it here", compute, "primary run"), pause = button("Pause", () => hold()), step = button("Step", () => { hold(true); engine.control("step"); }), stop = button("Stop", () => halt("Stopped. What came so far is drawn.")), save = button("Save", keepRun);
    const bar = element("progress"), words = element("p", "note words"), outcome = element("div", "outcome");
    bar.setAttribute("aria-label", "Progress");
    const row = element("div", "row");
    row.append(run, pause, step, stop, save);
    box.append(row, bar, words, outcome);
    now.liveParts = { run, pause, step, stop, save, bar, words, outcome };
    idle();
    return box;
  }

  function idle() {
    const p = now.liveParts, left = [p.pause, p.step, p.stop].includes(document.activeElement);
    p.run.hidden = false;
    if (left) p.run.focus(); // a button that goes takes the focus with it
    p.pause.hidden = p.step.hidden = p.stop.hidden = p.bar.hidden = true;
    p.save.hidden = true;
    now.paused = false;
    p.pause.textContent = "Pause";
  }

  // chooses reports whether a control is part of what is computed, not only of what is shown.
  function chooses(key) {
    const text = JSON.stringify(now.lesson.live || {});
    return text.includes("{" + key + "}") || key === "pair" && text.includes("{rollout}");
  }

  // request is the job: the lesson's, with the controls' values in the places of their
  // keys. A pair is two engines.
  function request() {
    const l = now.lesson, values = { ...now.values };
    if (l.free) return now.read();
    if (values.pair) [values.rollout, values.learner] = values.pair.split("/");
    const filled = (text) => text.replace(/\{(\w+)\}/g, (all, key) => (key in values ? values[key] : all));
    return { do: l.live.do, recipe: filled(l.live.recipe), set: (l.live.set || []).map(filled) };
  }

  function compute() {
    const me = now, p = now.liveParts, r = request(), left = document.activeElement === p.run;
    now.live = [];
    now.asked = r.do;
    p.outcome.replaceChildren();
    p.run.hidden = p.save.hidden = true;
    p.stop.hidden = p.bar.hidden = false;
    p.pause.hidden = p.step.hidden = r.do !== "train";
    if (left) (p.pause.hidden ? p.stop : p.pause).focus();
    p.bar.removeAttribute("value");
    p.words.textContent = "The engine computes; what is recorded stays on show.";
    engine.ask(r, (m) => { if (now === me) hear(m); });
  }

  // hear takes what the engine says of the job.
  function hear(m) {
    const p = now.liveParts;
    if (m.progress && m.progress.of > 1) { p.bar.max = m.progress.of; p.bar.value = m.progress.done; }
    if (m.panels) { now.live = m.panels; soon(); }
    if (m.panels && m.panels[0] && m.panels[0].said) say(m.panels[0].said);
    if (m.fault) {
      idle();
      p.words.textContent = "";
      p.outcome.replaceChildren(element("p", "fault", m.fault));
      say(m.fault);
    }
    if (m.result || m.explain) {
      idle();
      p.words.textContent = "";
      const facts = [element("p", "note", "Computed here, in this page. A terminal gives the same" + (m.digest ? ", with the same digest:" : ":")), command(m.command)];
      if (m.digest) { const d = element("p", "digest"); d.append("Digest ", element("code", "", m.digest)); facts.push(d); }
      if (now.asked === "check") facts.splice(0, 2, element("p", "note", "The recipe is valid."), Object.assign(element("pre"), { textContent: m.result.recipe, tabIndex: 0 }));
      p.outcome.replaceChildren(...facts);
      p.save.hidden = !m.digest;
      if (now.live[0] && now.live[0].said) say("Done. " + now.live[0].said);
    }
  }

  // soon paints at the next frame, once for all that has come by then.
  function soon() {
    if (now.tick) return;
    const me = now;
    now.tick = requestAnimationFrame(() => { me.tick = 0; if (now === me) draw(); });
  }

  function hold(still) {
    const p = now.liveParts;
    now.paused = still || !now.paused;
    p.pause.textContent = now.paused ? "Go on" : "Pause";
    if (!still) engine.control(now.paused ? "pause" : "go");
  }

  function halt(words) {
    engine.stop();
    idle();
    now.liveParts.words.textContent = words;
  }

  // keepRun hands the run's folder to the reader as a file.
  function keepRun() {
    engine.ask({ do: "save" }, (m) => {
      if (!m.file) return;
      const a = element("a");
      a.href = URL.createObjectURL(new Blob([m.bytes], { type: "application/zip" }));
      a.download = m.file;
      a.click();
      setTimeout(() => URL.revokeObjectURL(a.href), 1000);
    });
  }

  // The free tab: any recipe, any settings.
  function buildFree() {
    const part = (name) => (now[name] = element("section", "part " + name));
    const ask = part("ask"), controls = part("controls"), stage = part("stage");
    ask.append(element("h1", "", "Free"), element("p", "question", "Any recipe, any of its fields: what does it do?"),
      element("p", "", "Measure compares the two engines at equal weights. Train makes the run; eight prompts of four answers take about a second a step. The base model here is chain-base."));
    const choose = element("select"), fields = element("textarea"), what = element("select"), about = element("p", "note");
    for (const r of lab.recipes || []) choose.append(new Option(r.name, r.name));
    for (const [v, t] of [["measure", "measure the gap"], ["train", "train"], ["check", "show the whole recipe"]]) what.append(new Option(t, v));
    fields.rows = 6;
    fields.spellcheck = false;
    const q = now.q;
    if (q.get("recipe")) choose.value = q.get("recipe");
    if (choose.selectedIndex < 0) choose.selectedIndex = 0;
    what.value = q.get("do") || "measure";
    fields.value = q.get("set") != null ? q.get("set") : "rollout.numerics=fp8-w8a8\nlearner.numerics=bf16\nrollout.prompts=8\nrollout.group=4\nsteps=20";
    const changed = () => {
      now.values = { recipe: choose.value, do: what.value, set: fields.value };
      const r = (lab.recipes || []).find((r) => r.name === choose.value);
      about.textContent = r ? r.about : "";
      toAddress();
    };
    for (const f of [choose, fields, what]) f.addEventListener("change", changed);
    const named = (text, field, more) => { const l = element("label", "control"); l.append(element("span", "name", text), field, ...(more || [])); return l; };
    controls.append(named("Recipe", choose), about, named("Settings, one to a line: field=value", fields), named("What to do", what), liveBox());
    now.liveParts.run.textContent = "Do it";
    now.read = () => ({ do: what.value, recipe: choose.value, set: fields.value.split("\n").map((s) => s.trim()).filter(Boolean) });
    const side = element("div", "side"), show = element("div", "show");
    side.append(ask, controls);
    show.append(stage);
    stage.append(Object.assign(element("div", "veil"), { textContent: "What you compute is drawn here." }));
    main.replaceChildren(side, show);
    main.className = "lesson";
    changed();
  }

  // buildWhich shows the map of stability.
  async function buildWhich() {
    const me = now, box = element("div", "which");
    now.stage = element("div"); // nothing to repaint
    box.innerHTML = await unpacked("which").text();
    if (now !== me) return; // another lesson was opened meanwhile
    main.replaceChildren(element("h1", "", "Stability map: which correction?"), box);
    main.className = "whole";
  }

  // Keys: digits open lessons, Space runs and pauses; where something is typed, neither.
  addEventListener("keydown", (e) => {
    if (!document.getElementById("keys").checked || e.ctrlKey || e.metaKey || e.altKey) return;
    const at = e.target.closest("input, select, textarea, button, summary, a, [role=group], pre");
    if (at && (e.key === " " || !at.matches("a, button, summary, [role=group], pre"))) return;
    if (/^[1-9]$/.test(e.key) && lessons[e.key - 1]) { location.hash = "lesson=" + lessons[e.key - 1].name; return; }
    if (e.key === " " && now.liveParts && !now.controls.hidden) {
      e.preventDefault();
      if (engine.busy()) hold(); else compute();
    }
  });

  // The teacher's switch lasts for this visit.
  try { byItself.checked = sessionStorage.getItem("driftlab-by-itself") === "yes"; } catch (e) { /* no storage: for as long as the page is open */ }
  byItself.addEventListener("change", () => {
    try { sessionStorage.setItem("driftlab-by-itself", byItself.checked ? "yes" : "no"); } catch (e) { /* as above */ }
    clearTimeout(now.timer);
    if (byItself.checked && now.count && now.aha.hidden) now.count();
    else for (const w of document.querySelectorAll(".wait")) w.classList.add("held");
  });

  // On paper there is no dark, and what only a screen can do is left out (lab.css).
  let dark;
  addEventListener("beforeprint", () => { dark = document.documentElement.dataset.theme; document.documentElement.dataset.theme = "light"; repaintAll(); });
  addEventListener("afterprint", () => { document.documentElement.dataset.theme = dark; repaintAll(); });
  function repaintAll() { for (const f of now.stage.children) if (f.repaint) f.repaint(); }

  const light = document.getElementById("engine");
  engine.watch((state, words) => {
    light.dataset.state = state;
    light.querySelector(".words").textContent = words || "engine idle";
  });
  addEventListener("hashchange", () => {
    if (location.hash === "#main") return; // the link that skips to the lesson
    const { lesson, q } = fromAddress(); open(lesson, q);
  });
  buildTabs();
  const first = fromAddress();
  paper.theme(document.querySelector(".theme"), () => { if (now) for (const f of now.stage.children) if (f.repaint || f.matches(".kind-bars")) refreshSoon(); });
  function refreshSoon() { if (now.guess && now.aha && now.aha.hidden) return; if (!now.lesson.free || now.live.length) soon(); }
  open(first.lesson, first.q);
  // The program is fetched when the page stands; on a small screen, when it is asked for.
  const small = narrow.matches || (navigator.connection && navigator.connection.saveData);
  if (!small) setTimeout(engine.start, 50);
})();
