// Draws the report's charts with uPlot and answers the reader: hover, touch and
// arrow keys show values, legend keys hide lines, drags zoom, the theme turns.
// Every figure.chart carries its data as JSON; nothing is fetched.
(function () {
  "use strict";
  const { root, css, font, format, formatTick, element, faded, color, swatch, span, steps, decades, marks, axis, valueSize } = paper;
  const charts = [];
  const pen = document.createElement("canvas").getContext("2d"); // measures text

  class Chart {
    constructor(figure) {
      this.figure = figure;
      this.data = JSON.parse(figure.querySelector("script").textContent);
      this.box = figure.querySelector(".plot");
      this.status = figure.querySelector(".hidden");
      this.log = this.data.log;
      this.seeds = false;
      this.bands = this.data.bands;
      this.off = new Set();
      this.align();
      this.buildLegend();
      this.buildTools();
      this.box.addEventListener("keydown", (e) => this.key(e));
      new ResizeObserver(() => this.fit()).observe(this.box);
      this.fit();
      if (this.xs.length === 0) {
        this.box.className += " empty";
        this.box.textContent = this.data.empty || "no data";
      }
    }

    // align puts every arm on one x axis and makes what its seeds say together:
    // the mean, where every seed has a value, and the range. Where an arm has no
    // entry the value is undefined (the line goes on); where its value cannot be
    // drawn, null (a gap).
    align() {
      this.data.arms.forEach((a, i) => {
        if (!a.x) a.x = this.data.arms[i - 1].x;
        for (const s of a.seeds) if (!Array.isArray(s.y)) s.y = a.x.map(() => s.y);
        const made = a.x.map((x, k) => a.seeds.map((s) => s.y[k]).filter((v) => v != null));
        a.mean = made.map((v) => (v.length === a.seeds.length && v.length > 0 ? v.reduce((p, q) => p + q, 0) / v.length : null));
        if (a.seeds.length > 1) {
          a.low = made.map((v) => (v.length ? Math.min(...v) : null));
          a.high = made.map((v) => (v.length ? Math.max(...v) : null));
        }
      });
      const all = new Set();
      for (const a of this.data.arms) for (const x of a.x) all.add(x);
      this.xs = [...all].sort((a, b) => a - b);
      const at = new Map(this.xs.map((x, i) => [x, i]));
      this.arms = this.data.arms.map((a) => {
        const place = (list) => {
          const out = new Array(this.xs.length);
          if (list) a.x.forEach((x, i) => { out[at.get(x)] = list[i]; });
          return out;
        };
        return { low: place(a.low), high: place(a.high), mean: place(a.mean), seeds: a.seeds.map((s) => place(s.y)) };
      });
      let floor = Infinity;
      for (const a of this.arms) for (const s of a.seeds) for (const v of s) if (v > 0 && v < floor) floor = v;
      this.floor = floor;
    }

    buildLegend() {
      const legend = this.figure.querySelector(".legend");
      this.at = legend.appendChild(element("div", "at"));
      this.values = this.data.arms.map((a, i) => {
        const k = legend.appendChild(element("button", "key"));
        k.type = "button";
        k.setAttribute("aria-pressed", "true");
        k.title = "Show or hide " + a.name;
        k.append(swatch(color(a), a.dash), element("span", "name", a.name));
        k.addEventListener("click", () => {
          const show = this.off.has(i);
          if (show) this.off.delete(i); else this.off.add(i);
          k.setAttribute("aria-pressed", String(show));
          this.build();
        });
        const value = k.appendChild(element("span", "value"));
        k.append(element("span", "seeds"));
        return value;
      });
      for (const r of this.data.refs || []) {
        const k = legend.appendChild(element("div", "key"));
        k.append(swatch("currentColor", [3, 3]), element("span", "name", r.name), element("span", "value", format(r.y)));
      }
    }

    buildTools() {
      const tools = this.figure.querySelector(".tools");
      const add = (text, title, pressed, act) => {
        const b = tools.appendChild(element("button", "tool", text));
        b.type = "button";
        b.title = title;
        b.setAttribute("aria-pressed", String(pressed));
        b.addEventListener("click", () => {
          b.setAttribute("aria-pressed", String(act()));
          this.build();
        });
      };
      if (this.data.arms.some((a) => a.seeds.length > 1)) {
        add("seeds", "Draw every seed by itself", false, () => (this.seeds = !this.seeds));
        if (!this.data.bands) add("bands", "Shade the range of the seeds", false, () => (this.bands = !this.bands));
      }
      if (this.floor < Infinity) add("log", "Logarithmic y axis", this.log, () => (this.log = !this.log));
    }

    // fit draws at the width there is. Inside a closed fold there is none: the
    // chart is drawn when the fold opens.
    fit() {
      const width = this.box.clientWidth;
      if (width === 0 || this.xs.length === 0) return;
      if (!this.plot) this.build();
      else if (width !== this.plot.width) this.plot.setSize({ width, height: this.height(width) });
    }
    height(width) { return Math.round(Math.min(320, Math.max(220, width * 0.55))); }

    // positive makes a list fit for a log axis.
    positive(list, floor) { return this.log ? list.map((v) => (v == null || v > 0 ? v : floor)) : list; }

    build() {
      const width = this.box.clientWidth;
      if (width === 0) return;
      const haze = root.dataset.theme === "dark" ? 0.3 : 0.17; // a band needs more on black paper
      const rows = [this.xs], series = [{}], bands = [], points = { show: this.xs.length < 2 };
      this.data.arms.forEach((a, i) => {
        const arm = this.arms[i], show = !this.off.has(i);
        const seedsShown = show && this.seeds && a.seeds.length > 1;
        if (a.low && this.bands) {
          rows.push(this.positive(arm.high, null), this.positive(arm.low, this.floor / 2));
          const edge = { show, stroke: "transparent", width: 0, points: { show: false } };
          series.push(edge, { ...edge, auto: !this.log });
          bands.push({ series: [series.length - 2, series.length - 1], fill: faded(color(a), haze) });
        }
        a.seeds.forEach((s, k) => {
          rows.push(this.positive(arm.seeds[k], null));
          series.push({ show: seedsShown, stroke: faded(color(a), 0.55), width: 1, dash: a.dash, points });
        });
        rows.push(this.positive(arm.mean, null));
        series.push({ show, stroke: color(a), width: 2, dash: a.dash, points: { ...points, size: 6, fill: color(a) }, mean: i });
      });
      const line = { stroke: () => css("--line"), width: 1 };
      const y = this.log ? { distr: 3, range: (u, low, high) => decades(low, high) } : { range: this.data.range || ((u, low, high) => span(low, high)) };
      if (this.plot) this.plot.destroy();
      this.plot = new uPlot({
        width, height: this.height(width), padding: [10, this.margin(width), 0, 0], legend: { show: false }, series, bands,
        scales: { x: { time: false }, y },
        axes: [
          { ...axis(), size: 26, label: this.data.xlabel, labelFont: font, labelSize: 18, labelGap: 0, grid: { show: false }, border: { show: true, stroke: () => css("--muted"), width: 1 } },
          { ...axis(), grid: line, space: 34, splits: (u, i, low, high) => (this.log ? marks(low, high) : steps(low, high)), filter: (u, splits) => splits, size: valueSize },
        ],
        cursor: {
          y: false, sync: { key: this.data.group }, drag: { x: true, y: false, dist: 8 },
          points: { show: (u, i) => u.series[i].mean != null && element("div"), size: 8, width: 0, fill: (u, i) => u.series[i].stroke(u, i) },
        },
        hooks: { setCursor: [(u) => this.show(u.cursor.idx)], draw: [(u) => this.references(u), (u) => this.names(u)] },
      }, rows, this.box);
      this.touch(this.plot.over);
      this.show(null);
    }



    references(u) {
      const ctx = u.ctx;
      ctx.save();
      ctx.strokeStyle = css("--muted");
      ctx.lineWidth = devicePixelRatio;
      ctx.setLineDash([4 * devicePixelRatio, 4 * devicePixelRatio]);
      for (const r of this.data.refs || []) {
        if (this.log && r.y <= 0) continue;
        const y = Math.round(u.valToPos(r.y, "y", true));
        if (y < u.bbox.top || y > u.bbox.top + u.bbox.height) continue;
        ctx.beginPath();
        ctx.moveTo(u.bbox.left, y);
        ctx.lineTo(u.bbox.left + u.bbox.width, y);
        ctx.stroke();
      }
      ctx.restore();
    }

    // margin is the room right of the axes: for the lines' names where the chart
    // is wide enough, else for half of the last tick label.
    margin(width) {
      this.named = false;
      if (this.data.arms.length < 2 || width < 520) return 14;
      pen.font = font;
      const room = Math.max(...this.data.arms.map((a) => pen.measureText(a.name).width)) + 14;
      this.named = room < width / 3;
      return this.named ? room : 14;
    }

    // names writes every line's name at its end, moved apart where ends meet.
    names(u) {
      if (!this.named) return;
      const r = devicePixelRatio, step = 14 * r, floor = u.bbox.top + u.bbox.height;
      const ends = [];
      this.data.arms.forEach((a, i) => {
        const mean = this.arms[i].mean, at = mean.findLastIndex((v) => v != null && (!this.log || v > 0));
        if (at >= 0 && !this.off.has(i)) ends.push({ name: a.name, color: color(a), y: Math.min(floor, Math.max(u.bbox.top, u.valToPos(mean[at], "y", true))) });
      });
      ends.sort((a, b) => a.y - b.y);
      let least = u.bbox.top;
      for (const e of ends) { e.y = Math.max(e.y, least); least = e.y + step; }
      let most = floor;
      for (const e of ends.reverse()) { e.y = Math.min(e.y, most); most = e.y - step; }
      const ctx = u.ctx;
      ctx.save();
      ctx.font = font.replace("12px", 12 * r + "px");
      ctx.textAlign = "left";
      ctx.textBaseline = "middle";
      for (const e of ends) {
        ctx.fillStyle = e.color;
        ctx.fillText(e.name, u.bbox.left + u.bbox.width + 6 * r, e.y);
      }
      ctx.restore();
    }

    // touch lets a finger move the cursor; a vertical swipe still scrolls.
    touch(over) {
      const move = (e) => {
        const box = over.getBoundingClientRect(), t = e.touches[0];
        this.plot.setCursor({ left: t.clientX - box.left, top: t.clientY - box.top });
      };
      over.addEventListener("touchstart", move, { passive: true });
      over.addEventListener("touchmove", move, { passive: true });
    }

    key(e) {
      const last = this.xs.length - 1, now = this.plot && this.plot.cursor.idx;
      const stride = e.shiftKey ? 10 : 1;
      let to;
      switch (e.key) {
        case "ArrowRight": to = now == null ? 0 : Math.min(last, now + stride); break;
        case "ArrowLeft": to = now == null ? last : Math.max(0, now - stride); break;
        case "Home": to = 0; break;
        case "End": to = last; break;
        case "Escape": this.plot.setCursor({ left: -10, top: -10 }); return;
        default: return;
      }
      e.preventDefault();
      this.plot.setCursor({ left: this.plot.valToPos(this.xs[to], "x"), top: 10 });
      this.status.textContent = this.at.textContent + ": " +
        this.data.arms.map((a, i) => a.name + " " + this.values[i].textContent).join("; ");
    }

    // show writes the values at entry i of the x axis; with none, each arm's last.
    show(i) {
      const hovering = i != null;
      this.at.textContent = this.data.xlabel + " " + formatTick(this.xs[hovering ? i : this.xs.length - 1]) + (hovering ? "" : " (last)");
      this.data.arms.forEach((a, k) => {
        const arm = this.arms[k], cell = this.values[k];
        const at = hovering ? i : arm.mean.findLastIndex((v) => v != null);
        cell.textContent = "";
        if (a.remark && (this.log || arm.mean[at] == null)) { cell.textContent = a.remark; return; }
        cell.append(format(arm.mean[at]));
        if (a.low && arm.low[at] !== arm.high[at]) cell.append(" ", element("small", "", "[" + format(arm.low[at]) + ", " + format(arm.high[at]) + "]"));
        if (!hovering && at >= 0 && at < this.xs.length - 1) cell.append(" ", element("small", "", "at " + formatTick(this.xs[at])));
        cell.nextSibling.textContent = !this.seeds || a.seeds.length < 2 ? "" :
          a.seeds.map((s, n) => (s.name || "seed " + (n + 1)) + " " + format(arm.seeds[n][at])).join(" · ");
      });
    }

    // repaint takes up the colours of a new theme.
    repaint() {
      this.figure.querySelectorAll("button.key line").forEach((l, i) => l.setAttribute("stroke", color(this.data.arms[i])));
      if (this.plot) this.build();
    }
  }

  // A sortable table: a column's heading sorts by it, once up and once down, and a field
  // above hides the rows that lack one of its words.
  function sortable(figure) {
    const table = figure.querySelector("table"), body = table.tBodies[0], rows = [...body.rows];
    const value = (row, j) => {
      const cell = row.cells[j], v = cell && cell.dataset.value;
      return v == null ? (cell ? cell.textContent : "") : v === "nan" ? NaN : v.endsWith("inf") ? Number(v.replace("inf", "Infinity")) : Number(v);
    };
    const compare = (a, b) => {
      if (typeof a === "number" && typeof b === "number") return isNaN(a) ? (isNaN(b) ? 0 : 1) : isNaN(b) ? -1 : a - b;
      return String(a).localeCompare(String(b), "en", { numeric: true });
    };
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, j) => {
      const button = element("button", "sort");
      button.type = "button";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const down = head.getAttribute("aria-sort") === "ascending";
        for (const h of heads) h.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        const order = rows.map((row, i) => [value(row, j), i, row]);
        order.sort((a, b) => (down ? compare(b[0], a[0]) : compare(a[0], b[0])) || a[1] - b[1]);
        body.append(...order.map((x) => x[2]));
      });
    });
    const chosen = [], count = element("p", "count");
    count.setAttribute("role", "status");
    const filter = element("input", "filter");
    filter.type = "search";
    filter.placeholder = "Show rows with these words";
    filter.setAttribute("aria-label", filter.placeholder);
    const parts = (row, j) => (row.cells[j] ? row.cells[j].textContent.split(", ") : []);
    const show = () => {
      const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
      for (const row of rows) {
        const text = [...row.cells].map((c) => c.textContent).join(" ").toLowerCase();
        row.hidden = !words.every((w) => text.includes(w)) || !chosen.every((c) => c.select.value === "" || parts(row, c.column).includes(c.select.value));
      }
      const shown = rows.filter((row) => !row.hidden).length;
      count.textContent = shown === rows.length ? "" : shown + " of " + rows.length + " rows";
    };
    filter.addEventListener("input", show);
    heads.forEach((head, column) => {
      if (head.dataset.filter == null) return;
      const label = element("label", "", head.textContent), select = element("select");
      const values = [...new Set(rows.flatMap((row) => parts(row, column)))].filter(Boolean).sort((a, b) => a.localeCompare(b, "en", { numeric: true }));
      select.append(new Option("all", ""), ...values.map((v) => new Option(v, v)));
      select.addEventListener("change", show);
      label.append(select);
      chosen.push({ select, column });
    });
    figure.prepend(filter, ...chosen.map((c) => c.select.parentElement), count);
  }
  // A block of code is copied by a button.
  for (const pre of document.querySelectorAll("pre")) {
    const box = element("div", "copies"), button = element("button", "tool", "Copy");
    button.type = "button";
    pre.before(box);
    box.append(pre, button);
    button.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(pre.textContent);
      } catch (e) { // a page from a disk may lack the right to it
        getSelection().selectAllChildren(pre);
        document.execCommand("copy");
      }
      button.textContent = "Copied";
      setTimeout(() => { button.textContent = "Copy"; }, 2000);
    });
  }
  // A fold opens when the address leads to it.
  function unfold() {
    const at = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    for (let e = at; e; e = e.parentElement) if (e.tagName === "DETAILS") e.open = true;
    if (at) at.scrollIntoView();
  }
  addEventListener("hashchange", unfold);
  unfold();
  for (const f of document.querySelectorAll("figure.sortable")) sortable(f);
  paper.theme(document.querySelector(".theme"), () => charts.forEach((c) => c.repaint()));
  for (const f of document.querySelectorAll("figure.chart")) charts.push(new Chart(f));
})();
