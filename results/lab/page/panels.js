// Paints panels: what is drawn has been worked out before (package results/figure).
const panels = (function () {
  "use strict";
  const { css, font, format, formatTick, element, faded, swatch, span, steps, decades, marks, axis, valueSize } = paper;

  // looks are the colour slot, the dash and the name of each method.
  const looks = {
    equal: ["7", null], own: ["ink", null], none: ["2", null], token_tis: ["1", [9, 3]], r3: ["3", [2, 3]],
    opsm: ["4", [9, 3, 2, 3]], icepop: ["5", [5, 3]], clip: ["6", [2, 2, 6, 2]],
  };
  const order = ["1", "2", "3", "4", "5", "6", "7"];
  function look(series, i) {
    const [slot, dash] = looks[series.method] || [order[i % order.length], i === 0 ? null : [2 + 3 * (i % 3), 3]];
    return { color: css(slot === "ink" ? "--ink" : "--slot" + slot), dash };
  }

  const shown = (a, v) => (v == null ? "–" : typeof v === "string" ? v : a && a.percent ? percent(v) : a && a.count ? String(v) : format(v));
  const percent = (v) => format(Number((100 * v).toPrecision(4))) + " %";
  const number = (v) => (typeof v === "number" ? v : null);

  // table is the panel in numbers.
  function table(title, head, rows, numbers) {
    const t = element("table"), caption = t.createCaption(), h = t.createTHead().insertRow(), body = t.createTBody();
    caption.textContent = title;
    head.forEach((name, i) => {
      const th = element("th", numbers[i] ? "num" : "", name);
      th.scope = "col";
      h.append(th);
    });
    for (const row of rows) {
      const r = body.insertRow();
      row.forEach((text, i) => {
        const cell = element(i === 0 ? "th" : "td", numbers[i] ? "num" : "", text);
        if (i === 0) cell.scope = "row";
        r.append(cell);
      });
    }
    const box = element("div", "scroll");
    box.tabIndex = 0;
    box.setAttribute("role", "region");
    box.setAttribute("aria-label", title);
    box.append(t);
    return box;
  }

  function inNumbers(p) {
    const all = p.series || [], fold = element("details");
    fold.append(element("summary", "", "In numbers"));
    fold.addEventListener("toggle", () => { // made when it is asked for
      if (!fold.open || fold.children.length > 1) return;
      if (p.kind === "bars") {
        const xs = p.labels;
        fold.append(table(p.title, [p.x ? p.x.label : "", ...all.map((s) => s.name)], xs.map((l, i) => [l, ...all.map((s) => shown(p.y, s.y[i]))]), [false, ...all.map(() => true)]));
        return;
      }
      const rows = [];
      const most = 400; // dots are many; the data are in the published folder
      for (const s of all) s.y.forEach((y, i) => rows.push([s.name, formatTick(s.x[i]), shown(p.y, y)]));
      fold.append(table(p.title, ["line", p.x.label, p.y.label], rows.slice(0, most), [false, true, true]));
      if (rows.length > most) fold.append(element("p", "note", "The first " + most + " of " + rows.length + "."));
    });
    return fold;
  }

  function legend(p, entries) {
    const list = element("ul", "keys");
    const seen = new Set();
    entries.forEach(([s, l]) => {
      const like = entries.filter(([o]) => o.faint && o.method === s.method).length;
      const name = s.faint && like > 1 ? like + " recorded seeds" + (entries.some(([o]) => o.faint && o.method !== s.method) ? ", " + (s.method || "") : "") : s.name;
      if (seen.has(name)) return;
      seen.add(name);
      const li = list.appendChild(element("li"));
      li.append(swatch(l.color, l.dash), element("span", "", name));
    });
    return list;
  }
  const hex = (c) => (c.startsWith("#") && c.length === 4 ? "#" + [...c.slice(1)].map((d) => d + d).join("") : c);

  // drawnLike is what a plot was built for, which points do not change.
  const drawnLike = (p) => JSON.stringify([p.kind, p.x, p.y, p.series.map((s) => [s.method, s.faint, s.kind])]);

  // plot draws lines and dots with uPlot.
  function plot(p, at) {
    const box = at.appendChild(element("div", "plot"));
    box.setAttribute("role", "img");
    box.setAttribute("aria-label", p.title + ". " + (p.said || ""));
    const all = (p.series || []).map((s, i) => ({ ...s, look: look(s, i) }));
    const guess = p.drawn;
    if (guess && guess.x) all.push({ name: "your guess", x: guess.x, y: guess.y, look: { color: css("--guess"), dash: [3, 3] }, guessed: true });
    let chart;
    const keys = at.appendChild(element("div", "legend-box"));
    // columns are the series on one x axis.
    function columns() {
      return uPlot.join(all.map((s) => sorted([s.x, s.y.map((v) => { v = number(v); return v != null && p.y.log && v <= 0 ? null : v; })])));
    }
    // name names the lines.
    function name() {
      keys.replaceChildren(...(all.length > 1 || guess ? [legend(p, all.map((s) => [s, s.look]))] : []));
    }
    // update takes the panel with other points.
    function update(next) {
      if (!chart || drawnLike(next) !== drawnLike(p)) return false;
      next.series.forEach((s, i) => Object.assign(all[i], s));
      p = { ...next, drawn: guess };
      chart.setData(columns());
      name();
      box.setAttribute("aria-label", next.title + ". " + (next.said || ""));
      return true;
    }
    function build() {
      const width = box.clientWidth;
      if (width === 0) return;
      if (chart) chart.destroy();
      const series = [{}];
      all.forEach((s, i) => {
        s.look = s.guessed ? { color: css("--guess"), dash: [3, 3] } : look(s, i);
        const points = p.kind === "dots" && !s.guessed && s.kind !== "line" || s.kind === "dots";
        const color = s.look.color;
        series.push({
          stroke: color, width: s.faint ? 1.25 : points ? 0 : 2.25, dash: s.look.dash || undefined, spanGaps: true,
          paths: points ? () => null : s.kind === "step" ? uPlot.paths.stepped({ align: 1 }) : undefined,
          points: { show: points || s.y.length < 40 && !s.faint, size: points ? 4 : 5, width: 0, fill: points ? faded(hex(s.look.color), 0.5) : color, stroke: "transparent" },
        });
      });
      const scale = (a) => {
        const set = { log: a.log };
        if (a.log) set.distr = 3;
        if (a.low !== a.high) set.range = [a.low || (a.log ? 1e-12 : 0), a.high || 0];
        else set.range = (u, low, high) => (a.log ? decades(low, high) : span(low, high));
        return set;
      };
      const x = { time: false, ...scale(p.x) }, y = scale(p.y);
      const line = { stroke: () => css("--line"), width: 1 };
      const splits = (a, coarse) => (u, i, low, high) => {
        const list = a.log ? marks(low, high) : steps(low, high);
        return coarse && list.length > 7 ? list.filter((v, k) => k % 2 === 0) : list;
      };
      const values = (a) => (u, list) => list.map((v) => (a.percent ? formatTick(Number((100 * v).toPrecision(6))) + " %" : formatTick(v)));
      chart = new uPlot({
        width, height: Math.round(Math.min(380, Math.max(210, width * 0.56))), padding: [12, 18, 0, 0], legend: { show: false }, series,
        mode: 1, scales: { x, y },
        axes: [
          { ...axis(), size: 26, label: p.x.label, labelFont: font, labelSize: 20, labelGap: 0, grid: { show: false }, border: { show: true, stroke: () => css("--muted"), width: 1 }, splits: splits(p.x, width < 500), filter: (u, s) => s, values: values(p.x) },
          { ...axis(), grid: line, space: 34, splits: splits(p.y), filter: (u, s) => s, values: values(p.y), size: valueSize, label: p.y.label, labelFont: font, labelSize: 20, labelGap: 0 },
        ],
        cursor: { drag: { x: false, y: false }, points: { show: false }, y: false, x: !p.onDrag },
        hooks: { draw: [(u) => cross(u)] },
      }, columns(), box);
      if (p.onDrag) drags(chart, p.onDrag);
      name();
    }
    // cross draws the marks, and a guess that is one number.
    function cross(u) {
      const ctx = u.ctx, r = devicePixelRatio;
      const list = (p.marks || []).map((m) => ({ ...m, color: css("--muted") }));
      if (guess && guess.at != null) list.push({ axis: guess.axis || "y", at: guess.at, name: "your guess", color: css("--guess") });
      ctx.save();
      ctx.font = font.replace("12px", 12 * r + "px");
      for (const m of list) {
        const pos = u.valToPos(m.at, m.axis, true), b = u.bbox;
        if (!(m.axis === "y" ? pos >= b.top && pos <= b.top + b.height : pos >= b.left && pos <= b.left + b.width)) continue;
        ctx.strokeStyle = ctx.fillStyle = m.color;
        ctx.lineWidth = r * 1.25;
        ctx.setLineDash([5 * r, 4 * r]);
        ctx.beginPath();
        if (m.axis === "y") { ctx.moveTo(b.left, pos); ctx.lineTo(b.left + b.width, pos); } else { ctx.moveTo(pos, b.top); ctx.lineTo(pos, b.top + b.height); }
        ctx.stroke();
        ctx.textBaseline = "bottom";
        ctx.textAlign = m.axis === "y" ? "right" : "left";
        if (m.axis === "y") ctx.fillText(m.name, b.left + b.width - 4 * r, pos - 2 * r);
        else ctx.fillText(m.name, pos + 4 * r, b.top + 14 * r);
      }
      ctx.restore();
    }
    new ResizeObserver(() => { if (!chart || chart.width !== box.clientWidth) build(); }).observe(box);
    return { build, update };
  }

  // sorted puts the points of a series in the order of x, without which they cannot be joined.
  function sorted([x, y]) {
    for (let i = 1; i < x.length; i++) {
      if (x[i] >= x[i - 1]) continue;
      const at = x.map((_, k) => k).sort((a, b) => x[a] - x[b]);
      return [at.map((k) => x[k]), at.map((k) => y[k])];
    }
    return [x, y];
  }

  // drags reports where a pointer is held down in the plot.
  function drags(chart, on) {
    const over = chart.over;
    over.style.touchAction = "none";
    over.style.cursor = "crosshair";
    const move = (e) => {
      const box = over.getBoundingClientRect();
      on(chart.posToVal(e.clientX - box.left, "x"), chart.posToVal(e.clientY - box.top, "y"));
    };
    over.addEventListener("pointerdown", (e) => { over.setPointerCapture(e.pointerId); move(e); });
    over.addEventListener("pointermove", (e) => { if (e.buttons & 1) move(e); });
  }

  // bars are rows: a label, a bar for each series, its value.
  function bars(p, at) {
    const all = p.series, list = element("div", "bars"), flat = all.flatMap((s) => s.y).map(number).filter((v) => v != null && (!p.y.log || v > 0));
    list.setAttribute("role", "img");
    list.setAttribute("aria-label", p.title + ". " + (p.said || ""));
    const drawn = p.drawn && p.drawn.at != null ? [p.drawn.at] : [];
    const top = p.y.low !== p.y.high && p.y.high ? p.y.high : Math.max(...flat, ...drawn, 0);
    const low = p.y.log ? p.y.low || Math.min(...flat) / 3 : 0;
    const part = (v) => (v == null || !(v > low) ? 0 : p.y.log ? Math.log(v / low) / Math.log(top / low) : v / top);
    p.labels.forEach((name, i) => {
      const row = list.appendChild(element("div", "group"));
      row.append(element("span", "name", name));
      const tracks = row.appendChild(element("div", "tracks"));
      all.forEach((s, k) => {
        const track = tracks.appendChild(element("div", "track")), bar = track.appendChild(element("div", "fill")), v = number(s.y[i]);
        bar.style.width = (100 * Math.min(1, part(v))).toFixed(2) + "%";
        bar.style.backgroundColor = look(s, k).color;
        bar.classList.add("hatch" + (k % 4));
        track.append(element("span", "value", shown(p.y, s.y[i])));
        for (const g of drawn) {
          const line = track.appendChild(element("div", "guessed"));
          line.style.setProperty("--at", Math.min(1, part(g)).toFixed(4));
        }
      });
    });
    at.append(list);
    if (drawn.length && p.drawn.name) at.append(element("p", "place", where(p, p.drawn.at)));
    if (p.y.label) at.append(element("p", "note", (p.x && p.x.label ? p.x.label + "; " : "") + p.y.label + (p.y.log ? ", log axis" : "")));
    if (all.length > 1 || drawn.length) {
      const keys = legend(p, all.map((s, i) => [s, { color: look(s, i).color, dash: null }]));
      if (drawn.length) keys.appendChild(element("li", "")).append(swatch(css("--guess"), [3, 3]), element("span", "", p.drawn.name || "your guess"));
      at.append(keys);
    }
  }

  // where says between which bars a value lies, or of two bars, between which pairs.
  function where(p, v) {
    const rows = p.labels.map((name, i) => [name, ...p.series.map((s) => number(s.y[i]))]), named = (r) => r[0] + " (" + shown(p.y, r[1]) + ")";
    if (p.series.length > 1) {
      const around = rows.filter((r) => r[1] <= v && v <= r[2]).map((r) => r[0]);
      return "Your run, " + format(v) + ", lies " + (around.length ? "within: " + around.join("; ") : "within none of these ranges") + ".";
    }
    const below = rows.filter((r) => r[1] <= v).sort((a, b) => b[1] - a[1])[0], above = rows.filter((r) => r[1] > v).sort((a, b) => a[1] - b[1])[0];
    return "Your run, " + format(v) + ", lies " + (below && above ? "between " + named(below) + " and " + named(above) : above ? "below all, the least being " + named(above) : "above all, the largest being " + named(below)) + ".";
  }

  // strip is tokens with shades; arrow keys walk them and read their notes.
  function strip(p, at) {
    const box = at.appendChild(element("div", "strip")), note = element("p", "note reading");
    box.tabIndex = 0;
    box.setAttribute("role", "group");
    box.setAttribute("aria-label", p.title + ". " + (p.said || "") + " Arrow keys read the tokens.");
    const tokens = [];
    const idle = p.lines.some((l) => l.tokens.some((t) => t.note)) ? "Point at a token, or use the arrow keys, to read its figures." : "";
    note.textContent = idle;
    let here = -1;
    function read(i) {
      if (tokens[here]) tokens[here].classList.remove("here");
      here = i;
      if (!tokens[i]) { note.textContent = idle; return; }
      tokens[i].classList.add("here");
      note.textContent = "“" + tokens[i].textContent + "”: " + (tokens[i].note || "no note");
    }
    for (const line of p.lines) {
      const row = box.appendChild(element("p", "line"));
      if (line.title) row.append(element("span", "title", line.title));
      for (const t of line.tokens) {
        const word = row.appendChild(element("span", "token l" + (t.level || 0) + (t.cross ? " cross" : ""), t.text));
        word.note = t.note;
        const i = tokens.push(word) - 1;
        word.addEventListener("pointerenter", () => read(i));
        word.addEventListener("click", () => read(i));
        row.append(" ");
      }
    }
    box.addEventListener("keydown", (e) => {
      const stride = e.shiftKey ? 10 : 1;
      const to = { ArrowRight: here + stride, ArrowLeft: here - stride, Home: 0, End: tokens.length - 1 }[e.key];
      if (to == null) return;
      e.preventDefault();
      read(Math.max(0, Math.min(tokens.length - 1, to)));
    });
    note.setAttribute("aria-live", "polite");
    at.append(note);
    if (p.scale) {
      const scale = at.appendChild(element("p", "note"));
      for (let i = 0; i < 5; i++) scale.append(element("span", "token l" + i, "\u00a0"), " ");
      scale.append(p.scale);
    }
  }

  function formulas(p, at) {
    const list = at.appendChild(element("dl", "formulas"));
    for (const f of p.formulas) {
      const row = list.appendChild(element("div"));
      if (f.name) row.append(element("dt", "", f.name));
      else row.className = "bare";
      row.append(element("dd", "", f.text));
    }
  }

  // paint makes the figure of a panel.
  function paint(p) {
    const figure = element("figure", "panel kind-" + p.kind + (p.kind === "table" ? " table" : ""));
    if (p.kind === "table") {
      figure.append(table(p.title, p.columns.map((c) => c.name), p.rows, p.columns.map((c) => c.num)));
      return figure;
    }
    figure.append(element("h3", "", p.title));
    if (p.kind === "bars") bars(p, figure);
    else if (p.kind === "strip") strip(p, figure);
    else if (p.kind === "formula") formulas(p, figure);
    else {
      const { build, update } = plot(p, figure);
      figure.repaint = build;
      figure.update = (next) => {
        if (!update(next)) return false;
        if (figure.caption) figure.caption.textContent = next.said || "";
        const fold = figure.querySelector("details");
        if (!fold.open) fold.replaceWith(inNumbers(next)); // made anew when it opens
        return true;
      };
    }
    if (p.said) figure.append(figure.caption = element("figcaption", "", p.said));
    if (p.series) figure.append(inNumbers(p));
    return figure;
  }

  // merged puts what was computed here next to the recording of the same name: lines and bars
  // into the same plot, rows into the same table. Tokens take the recording's place, and
  // what has no recording stands first.
  function merged(recorded, live) {
    const same = (a, b) => a.name && a.name === b.name && a.kind === b.kind;
    const out = recorded.map((p) => {
      const own = live.find((l) => same(l, p));
      if (!own) return p;
      const said = [p.said && "Recorded: " + p.said, own.said && "Here: " + own.said].filter(Boolean).join(" ");
      switch (p.kind) {
        case "lines": case "dots": return { ...p, series: [...p.series, ...own.series], said: [p.said, own.said].filter(Boolean).join(" ") };
        case "bars": return { ...p, said, series: [...p.series.map((s) => ({ ...s, name: "recorded" })), ...own.series.map((s) => ({ ...s, name: "computed here", method: "own" }))] };
        case "table": return {
          ...p, said: "", columns: [{ name: "" }, ...own.columns],
          rows: [...p.rows.map((r) => ["recorded", ...r]), ...own.rows.map((r) => ["computed here", ...r])],
        };
        default: return { ...own, title: own.title + " (computed here)" };
      }
    });
    return [...live.filter((l) => !recorded.some((p) => same(l, p))), ...out];
  }

  const matching = (list, values) => list.filter((p) => Object.entries(p.when || {}).every(([k, v]) => String(values[k]) === v));

  return { paint, merged, matching, table };
})();
