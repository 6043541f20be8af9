// The page "Which correction?": one problem at a time, its table sorted and filtered, each
// setting opened in its row. The page is complete without this script. The state is kept in the
// address by the given functions, so that a filter can be shared.
const corrections = (function () {
  "use strict";
  return function (root, address) {
    const { element } = paper;
    const data = JSON.parse(root.querySelector("script[type='application/json']").textContent);
    const pick = root.querySelector(".pick"), problem = pick.querySelector("select");
    const form = root.querySelector(".filters"), count = form.querySelector(".count");
    const sections = new Map([...root.querySelectorAll("section.problem")].map((s) => [s.dataset.problem, s]));
    const rows = new Map(); // by section: its rows as they were written, the best first
    const state = { problem: "", family: "", framework: "", all: false, sort: "", open: "" };

    // figures are what a column sorts by.
    const columns = {
      name: (s) => s.name,
      family: (s) => s.family,
      figure: (s, j) => (j < 0 ? s.regret[0] : s.effects[j][0]),
      last: (s, j) => (j < 0 ? s.regret[3] : s.effects[j][3]),
      frameworks: (s) => s.frameworks.join(" "),
    };
    const falling = (key, j) => key === "figure" && j >= 0; // improvements begin with the largest
    function compare(a, b) {
      if (a === null || b === null) return 0; // placed below
      return typeof a === "number" ? a - b : a.localeCompare(b, "en", { numeric: true });
    }

    function copyButton(text, name) {
      const b = element("button", "copy", "Copy");
      b.type = "button";
      b.setAttribute("aria-label", "Copy the lines: " + name);
      b.addEventListener("click", async () => {
        let done = true;
        try { await navigator.clipboard.writeText(text); } catch (e) { done = copySelected(text); }
        b.textContent = done ? "Copied" : "Select and copy by hand";
        setTimeout(() => { b.textContent = "Copy"; }, 2000);
        count.textContent = done ? "Copied: " + name : "The browser refuses to copy: select the lines by hand.";
      });
      return b;
    }
    // copySelected is the way of browsers that have no clipboard for a file.
    function copySelected(text) {
      const area = element("textarea");
      area.value = text;
      root.append(area);
      area.select();
      const done = document.execCommand("copy");
      area.remove();
      return done;
    }
    function addCopy(box) {
      for (const pre of box.querySelectorAll(".lines pre")) {
        const label = pre.previousElementSibling;
        if (!label.querySelector("button")) label.append(copyButton(pre.textContent, label.textContent));
      }
    }

    // opened is what a row shows when it is open: the lines, the effect under each problem, and
    // the explanations of its methods.
    function opened(s) {
      const box = element("div", "opened");
      const own = document.getElementById("setting-" + s.name).cloneNode(true);
      own.removeAttribute("id");
      own.removeAttribute("aria-labelledby");
      for (const x of own.querySelectorAll("[id]")) x.removeAttribute("id");
      const links = [...own.querySelectorAll(".explained a")].map((a) => a.hash.slice(1));
      for (const x of own.querySelectorAll("h4, .explained, .copy")) x.remove();
      box.append(own, effects(s));
      for (const id of links) {
        const method = document.getElementById(id).cloneNode(true);
        for (const x of [method, ...method.querySelectorAll("[id]")]) { x.removeAttribute("id"); x.removeAttribute("aria-labelledby"); }
        box.append(method);
      }
      addCopy(box);
      return box;
    }
    function effects(s) {
      const table = element("table", "each");
      table.append(element("caption", "", "Improvement under each problem (95 % CI)"));
      s.effects.forEach(([e, low, high, , sign], j) => {
        const row = table.insertRow(), head = element("th", "", data.problems[j]);
        head.scope = "row";
        row.append(head);
        const text = s.inactive.includes(j) ? "cannot act" : (sign > 0 ? "↑ " : sign < 0 ? "↓ " : "") + signed(e) + " (" + signed(low) + " to " + signed(high) + ")";
        row.append(element("td", "num", text));
      });
      return table;
    }
    const signed = (v) => (v < 0 ? "-" : "+") + Math.abs(v).toFixed(2);

    function close(section) {
      for (const m of section.querySelectorAll("tr.more")) m.remove();
      for (const b of section.querySelectorAll(".name")) b.setAttribute("aria-expanded", "false");
    }
    function open(row, s) {
      const more = element("tr", "more"), cell = more.appendChild(element("td"));
      cell.colSpan = row.cells.length;
      cell.append(opened(s));
      row.after(more);
      row.querySelector(".name").setAttribute("aria-expanded", "true");
    }

    // prepare makes a section's links and headings into buttons.
    function prepare(section) {
      const body = section.querySelector("tbody");
      rows.set(section, [...body.rows]);
      for (const row of body.rows) {
        const link = row.querySelector("a"), button = element("button", "name", link.textContent);
        button.type = "button";
        button.setAttribute("aria-expanded", "false");
        button.addEventListener("click", () => {
          const was = button.getAttribute("aria-expanded") === "true";
          close(section);
          const s = data.settings[row.dataset.setting];
          if (!was) open(row, s);
          state.open = was ? "" : s.name;
          save();
        });
        link.replaceWith(button);
      }
      for (const head of section.querySelectorAll("th[data-sort]")) {
        const button = element("button", "sort");
        button.type = "button";
        button.append(...head.childNodes);
        head.append(button);
        button.addEventListener("click", () => {
          const key = head.dataset.sort, now = head.getAttribute("aria-sort");
          const down = now ? now === "ascending" : falling(key, data.problems.indexOf(state.problem));
          state.sort = (down ? "-" : "") + key;
          show();
        });
      }
      const link = section.querySelector(".recommended a");
      if (link) {
        link.addEventListener("click", (e) => {
          e.preventDefault();
          const row = rows.get(section).find((r) => data.settings[r.dataset.setting].name === link.textContent);
          const button = row.querySelector(".name");
          if (row.hidden) { state.family = state.framework = ""; state.all = true; show(); }
          if (button.getAttribute("aria-expanded") !== "true") button.click();
          button.focus();
          button.scrollIntoView({ block: "center" });
        });
      }
      addCopy(section.querySelector(".answer"));
    }

    // show puts the state onto the page and into the address.
    function show() {
      const section = sections.get(state.problem), j = data.problems.indexOf(state.problem);
      for (const s of sections.values()) s.hidden = s !== section;
      problem.value = state.problem;
      for (const name of ["family", "framework"]) form.elements[name].value = state[name];
      form.elements.all.checked = state.all;
      section.querySelector(".ranking").before(form);
      const key = state.sort.replace("-", ""), down = state.sort.startsWith("-");
      for (const h of section.querySelectorAll("th[data-sort]")) {
        if (h.dataset.sort === key) h.setAttribute("aria-sort", down ? "descending" : "ascending"); else h.removeAttribute("aria-sort");
      }
      const list = rows.get(section), value = columns[key];
      const order = list.map((row, i) => ({ row, i, s: data.settings[row.dataset.setting] })).map((x) => ({ ...x, v: value(x.s, j) }));
      order.sort((a, b) => (a.v === null) - (b.v === null) || (down ? compare(b.v, a.v) : compare(a.v, b.v)) || a.i - b.i);
      let shown = 0;
      close(section);
      for (const { row, s } of order) {
        row.hidden = !((state.all || !s.same_as) && (!state.family || s.family === state.family) && (!state.framework || s.frameworks.includes(state.framework)));
        if (!row.hidden) shown++;
      }
      section.querySelector("tbody").append(...order.map((x) => x.row));
      const at = order.find((x) => x.s.name === state.open && !x.row.hidden);
      if (at) open(at.row, at.s);
      count.textContent = shown + " of " + list.length + " settings, sorted by " + (section.querySelector("th[aria-sort]") || {}).textContent + (down ? ", descending" : ", ascending");
      save();
    }
    function save() {
      const q = new URLSearchParams({ problem: state.problem });
      for (const name of ["family", "framework", "open"]) if (state[name]) q.set(name, state[name]);
      if (state.all) q.set("all", "1");
      if (state.sort !== standard()) q.set("sort", state.sort);
      address.write(q);
    }
    const standard = () => (state.problem === "any" ? "figure" : "-figure");

    // read takes the state from the address; what it does not know is left out.
    function read() {
      const q = address.read();
      state.problem = sections.has(q.get("problem")) ? q.get("problem") : problem.options[0].value;
      for (const name of ["family", "framework"]) state[name] = [...form.elements[name].options].some((o) => o.value === q.get(name)) ? q.get(name) || "" : "";
      state.all = q.get("all") === "1";
      state.open = q.get("open") || "";
      const key = (q.get("sort") || "").replace("-", "");
      state.sort = Object.hasOwn(columns, key) ? q.get("sort") : standard();
    }

    // A link leads to its place without a word in the address, which has the state.
    root.addEventListener("click", (e) => {
      const link = e.target.closest("a[href^='#']"), to = link && !e.defaultPrevented && document.getElementById(link.hash.slice(1));
      if (!to) return;
      e.preventDefault();
      for (let d = to.closest("details"); d; d = d.parentElement.closest("details")) d.open = true;
      to.tabIndex = -1;
      to.focus();
      to.scrollIntoView();
    });
    for (const s of sections.values()) prepare(s);
    problem.addEventListener("change", () => { state.problem = problem.value; state.sort = standard(); state.open = ""; show(); });
    form.addEventListener("change", () => {
      for (const name of ["family", "framework"]) state[name] = form.elements[name].value;
      state.all = form.elements.all.checked;
      show();
    });
    form.addEventListener("submit", (e) => e.preventDefault());
    pick.hidden = form.hidden = false;
    read();
    show();
    return { read: () => { read(); show(); } };
  };
})();
