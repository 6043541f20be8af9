// The guess before the result: fields for each kind, and next to the answer afterwards.
const guesses = (function () {
  "use strict";
  const { element, formatTick } = paper;

  // Guesses are kept for this visit only.
  const key = (lesson) => "driftlab-guess-" + lesson;
  const memory = {};
  function kept(lesson) {
    try { return JSON.parse(sessionStorage.getItem(key(lesson))); } catch (e) { return memory[lesson] || null; }
  }
  function keep(lesson, value) {
    memory[lesson] = value;
    try { sessionStorage.setItem(key(lesson), JSON.stringify(value)); } catch (e) { /* no storage: for as long as the page is open */ }
  }

  const words = (g, v) => {
    if (v == null) return "–";
    switch (g.kind) {
      case "share": return formatTick(Number((100 * v).toPrecision(3))) + " %";
      case "decade": return "1e" + v;
      case "curve": return v.map((y, i) => (100 * y).toFixed(0) + " % at " + g.x[i]).join(", ");
      case "number": return formatTick(v) + (g.unit ? " " + g.unit : "");
      default: return String(v);
    }
  };

  // field makes the inputs of one guess; read() is its value, null while it is empty.
  function field(g, id, changed) {
    g = ranged(g);
    const set = element("fieldset", "guess " + g.kind), ask = element("legend", "", g.ask);
    set.append(ask);
    const input = (type, label, more) => {
      const i = element("input");
      i.type = type;
      Object.assign(i, more || {});
      i.setAttribute("aria-label", label);
      i.addEventListener("input", changed);
      return i;
    };
    let read, put = () => {};
    if (g.kind === "share" || g.kind === "number") {
      const share = g.kind === "share", scale = share ? 100 : 1, low = scale * g.low, high = scale * g.high;
      const number = input("number", g.ask, { min: share ? 0 : low, max: high, step: "any", required: true, inputMode: "decimal" });
      const row = set.appendChild(element("div", "row"));
      if (high > low) {
        const slide = input("range", g.ask + ", by a slider" + (g.log ? " with a logarithmic scale" : ""), { min: 0, max: share ? 100 : high - low, step: 1 });
        const at = () => (g.log ? Number((low * Math.pow(high / low, slide.value / 100)).toPrecision(2)) : low + (share ? (high - low) / 100 : 1) * slide.value);
        const spoken = () => slide.setAttribute("aria-valuetext", number.value === "" ? "no guess yet" : number.value + " " + (share ? "%" : g.unit || ""));
        slide.addEventListener("input", () => { number.value = at(); spoken(); });
        number.addEventListener("input", () => { slide.value = place(g, number.value / scale) * slide.max; spoken(); });
        spoken();
        row.append(slide);
      }
      row.append(number, element("span", "unit", share ? "%" : g.unit || ""));
      if (g.log) set.append(element("p", "note ends", "The slider is logarithmic: " + formatTick(low) + " % at the left end, 1 % " + (place(g, 0.01) > 0.5 ? "right" : "left") + " of the middle, " + formatTick(high) + " % at the right end."));
      read = () => (number.value === "" ? null : Number(number.value) / scale);
    } else if (g.kind === "decade") {
      const choose = element("select");
      choose.required = true;
      choose.setAttribute("aria-label", g.ask);
      choose.append(new Option("choose a power of ten", ""));
      for (let d = g.low; d <= g.high; d++) choose.append(new Option("1e" + d + (d < -6 ? "" : ", " + Number("1e" + d)), d));
      choose.addEventListener("change", changed);
      set.append(choose);
      read = () => (choose.value === "" ? null : Number(choose.value));
    } else if (g.kind === "choice") {
      const row = set.appendChild(element("div", "choices"));
      for (const o of g.options) {
        const label = row.appendChild(element("label")), radio = input("radio", o, { name: id, value: o, required: true });
        radio.removeAttribute("aria-label");
        label.append(radio, " " + o);
      }
      read = () => { const on = set.querySelector("input:checked"); return on ? on.value : null; };
    } else if (g.kind === "curve") {
      const row = set.appendChild(element("div", "points"));
      const fields = g.x.map((x) => {
        const label = row.appendChild(element("label", "", formatTick(x)));
        const f = input("number", g.ask + " at " + x + ", in percent", { min: 100 * g.low, max: 100 * g.high, step: "any", value: 50, required: true, inputMode: "numeric" });
        label.append(f);
        return f;
      });
      set.append(element("p", "note", "Draw in the plot, or type percentages."));
      read = () => fields.map((f) => Math.min(1, Math.max(0, Number(f.value) / 100)));
      put = (x, y) => {
        let best = 0;
        g.x.forEach((v, i) => { if (Math.abs(Math.log(v / x)) < Math.abs(Math.log(g.x[best] / x))) best = i; });
        if (g.x.some((v) => v <= 0)) g.x.forEach((v, i) => { if (Math.abs(v - x) < Math.abs(g.x[best] - x)) best = i; });
        fields[best].value = Math.round(100 * Math.min(1, Math.max(0, y)));
        changed();
      };
    }
    return { set, read: () => read(), put: (x, y) => put(x, y), guess: g };
  }

  // ranged has the ends of the scale, where zero was left out.
  const ranged = (g) => ({ ...g, low: g.low || 0, high: g.high || (g.kind === "decade" ? 0 : 1) });

  // place is where a value stands on the scale, from 0 to 1.
  function place(g, v) {
    const at = g.log ? Math.log(Math.max(v, g.low) / g.low) / Math.log(g.high / g.low) : (v - g.low) / (g.high - g.low);
    return Math.min(1, Math.max(0, at));
  }

  // answer sets a guess next to the truth.
  function answer(g, value) {
    g = ranged(g);
    const box = element("div", "answer");
    box.append(element("p", "asked", g.ask));
    if (["share", "decade", "number"].includes(g.kind) && g.truth != null) { // a line with two marks
      const line = box.appendChild(element("div", "scale-line"));
      line.setAttribute("aria-hidden", "true");
      for (const [name, v] of [["yours", value], ["truth", g.truth]]) {
        if (v == null) continue;
        const m = line.appendChild(element("span", "mark " + name));
        m.style.setProperty("--at", place(g, v).toFixed(4));
      }
    }
    const said = element("p", "said");
    if (value != null) said.append(element("span", "yours", "You: " + words(g, value)), " ");
    said.append(element("span", "truth", "Recorded: " + g.said));
    box.append(said);
    return box;
  }

  return { field, answer, kept, keep };
})();
