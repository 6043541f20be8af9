// What every page of the house shares: numbers, ticks, swatches and the theme. Scripts
// that follow take what they need from paper.
const paper = (function () {
  "use strict";
  const root = document.documentElement;
  const css = (name) => getComputedStyle(root).getPropertyValue(name).trim();
  const font = "12px system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif";

  // Numbers: three digits for a value, the shortest form for a tick.
  function format(v) {
    if (v == null) return "–";
    const a = Math.abs(v);
    if (a === 0) return "0";
    if (a < 1e-3 || a >= 1e6) return v.toExponential(2).replace("e+", "e");
    return v.toFixed(Math.max(0, 2 - Math.floor(Math.log10(a))));
  }
  function formatTick(v) {
    if (v == null) return "";
    const a = Math.abs(v);
    if (a !== 0 && (a < 1e-3 || a >= 1e5)) return String(Number(v.toPrecision(6)).toExponential()).replace("e+", "e");
    return String(Number(v.toPrecision(6)));
  }
  function element(tag, className, text) {
    const e = document.createElement(tag);
    if (className) e.className = className;
    if (text != null) e.textContent = text;
    return e;
  }
  function faded(hex, alpha) {
    const n = parseInt(hex.slice(1), 16);
    return "rgba(" + (n >> 16) + "," + ((n >> 8) & 255) + "," + (n & 255) + "," + alpha + ")";
  }
  // color is the arm's on the paper of the moment.
  const color = (arm) => (root.dataset.theme === "dark" ? arm.dark : arm.color);
  function swatch(stroke, dash) {
    const ns = "http://www.w3.org/2000/svg";
    const s = document.createElementNS(ns, "svg"), l = document.createElementNS(ns, "line");
    s.setAttribute("width", "18"); s.setAttribute("height", "8"); s.setAttribute("aria-hidden", "true");
    for (const [k, v] of [["x1", 0], ["x2", 18], ["y1", 4], ["y2", 4], ["stroke", stroke], ["stroke-width", 2.5]]) l.setAttribute(k, v);
    if (dash) l.setAttribute("stroke-dasharray", dash.join(" "));
    s.append(l);
    return s;
  }

  // span is the range of a linear axis: the data with a little room, and with
  // more where they hardly differ.
  function span(low, high) {
    if (low == null) return [0, 1];
    const size = Math.max(Math.abs(low), Math.abs(high));
    if (size < 1e-300) return [0, 1];
    if (high - low <= 1e-9 * size) return [low - 0.2 * size, high + 0.2 * size];
    const room = 0.04 * (high - low);
    return [low >= 0 ? Math.max(0, low - room) : low - room, high + room];
  }
  // steps are the ticks of a linear axis: multiples of 1, 2 or 5 times a power
  // of ten, some five of them and never more than a dozen.
  function steps(low, high) {
    const rough = (high - low) / 5, ten = Math.pow(10, Math.floor(Math.log10(rough))), out = [];
    const step = ten * [1, 2, 5, 10].find((m) => m * ten >= rough * 0.999 || m === 10);
    for (let n = 0, k = Math.ceil(low / step - 1e-9); n < 12 && k * step <= high + 1e-9 * step; n++, k++) out.push(Number((k * step).toPrecision(12)));
    return out;
  }
  // decades is the range of a log axis: the data with a little room, at least one decade.
  function decades(low, high) {
    if (low == null || !(low > 0)) return [0.1, 10];
    const room = Math.max(Math.pow(high / low, 0.05), Math.sqrt(Math.max(1, 10 * low / high)));
    return [low / room, high * room];
  }
  // marks are the ticks of a log axis: decades, every n-th where there are
  // many, with 2 and 5 between where there are few.
  function marks(low, high) {
    const span = Math.log10(high / low), every = Math.ceil(span / 7), out = [];
    for (let d = Math.floor(Math.log10(low)); d <= Math.ceil(Math.log10(high)); d++) {
      if (d % every) continue;
      for (const m of span < 2.5 ? [1, 2, 5] : [1]) {
        const v = Number(m + "e" + d);
        if (v >= low && v <= high) out.push(v);
      }
    }
    return out;
  }

  // axis is what axes have in common.
  const axis = () => ({ stroke: () => css("--muted"), font, ticks: { show: false }, gap: 4, values: (u, splits) => splits.map(formatTick) });
  const valueSize = (u, values) => 12 + 7 * Math.max(2, ...(values || []).map((v) => v.length));

  // theme makes the button turn the theme: what the system asks for, until the reader
  // chooses. repaint is called when the paper changes.
  function theme(button, repaint) {
    const media = matchMedia("(prefers-color-scheme: dark)");
    let mode = "auto";
    try { mode = localStorage.getItem("driftlab-theme") || "auto"; } catch (e) { /* no storage for this file: stay with auto */ }
    function apply(forced) {
      const now = forced || mode;
      root.dataset.theme = now === "auto" ? (media.matches ? "dark" : "light") : now;
      button.textContent = "Theme: " + mode;
      repaint();
    }
    button.addEventListener("click", () => {
      mode = mode !== "auto" ? "auto" : media.matches ? "light" : "dark";
      try { localStorage.setItem("driftlab-theme", mode); } catch (e) { /* as above */ }
      apply();
    });
    button.hidden = false;
    media.addEventListener("change", () => apply());
    addEventListener("beforeprint", () => apply("light"));
    addEventListener("afterprint", () => apply());
    apply();
  }

  return { root, css, font, format, formatTick, element, faded, color, swatch, span, steps, decades, marks, axis, valueSize, theme };
})();
