// Runs inside a copy of the report, in a frame of a given width, and posts what
// it saw to the frame around it. The recorder of errors stands in the head.
addEventListener("load", async () => {
  const wait = (ms) => new Promise((done) => setTimeout(done, ms));
  const all = (selector, from) => [...(from || document).querySelectorAll(selector)];
  const seen = { width: innerWidth, faults: window.faults, notes: [] };
  const expect = (ok, what) => { if (!ok) seen.faults.push(what); };
  const ink = (figure) => {
    const c = figure.querySelector("canvas");
    if (!c) return 0;
    const p = c.getContext("2d").getImageData(0, 0, c.width, c.height).data;
    let n = 0;
    for (let i = 3; i < p.length; i += 4) if (p[i] > 0) n++;
    return n;
  };
  const shown = () => all("figure.chart").filter((f) => !f.closest("details.fold:not([open])"));
  const move = (over, share) => {
    const r = over.getBoundingClientRect();
    const at = { clientX: r.left + share * r.width, clientY: r.top + r.height / 2, bubbles: true };
    over.dispatchEvent(new MouseEvent("mouseenter", at));
    over.dispatchEvent(new MouseEvent("mousemove", at));
  };
  try {
    await wait(200);
    // Layout: the page never scrolls sideways, boxes inside it may.
    const wide = () => document.documentElement.scrollWidth > innerWidth;
    expect(!wide(), "the page is " + document.documentElement.scrollWidth + " px wide in a window of " + innerWidth);
    for (const e of all(".scroll, figure, pre, section")) {
      expect(e.getBoundingClientRect().right <= innerWidth + 0.5, e.tagName + "." + e.className + " sticks out");
    }
    // Charts are drawn.
    const figures = shown();
    seen.charts = figures.length;
    for (const f of figures) {
      const name = f.querySelector("h3").textContent, empty = f.querySelector(".plot.empty");
      if (empty) { expect(empty.textContent === "no data", name + ": an empty chart does not say so"); continue; }
      expect(ink(f) > 2000, name + ": only " + ink(f) + " painted pixels");
    }
    // Hover: every line shows its value at the step, and the section's other charts follow.
    const [first, second] = figures;
    const value = (f) => all(".value", f).map((v) => v.textContent);
    const before = value(first).join();
    expect(first.querySelector(".at").textContent === "step 300 (last)", "before hover: " + first.querySelector(".at").textContent);
    move(first.querySelector(".u-over"), 0.5);
    await wait(100);
    seen.at = first.querySelector(".at").textContent;
    seen.values = value(first);
    expect(value(first).join() !== before, "hover changed no value");
    expect(value(first).every((v) => /\d/.test(v)), "hover: values " + value(first));
    expect(second.querySelector(".at").textContent === seen.at, "the second chart shows " + second.querySelector(".at").textContent);
    // Keyboard.
    first.querySelector(".plot").dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight", bubbles: true }));
    await wait(100);
    seen.spoken = first.querySelector(".hidden").textContent;
    expect(first.querySelector(".at").textContent === "step 155", "after an arrow key: " + first.querySelector(".at").textContent);
    // Touch.
    const over = first.querySelector(".u-over"), box = over.getBoundingClientRect();
    const finger = new Touch({ identifier: 1, target: over, clientX: box.left + box.width, clientY: box.top + 5 });
    over.dispatchEvent(new TouchEvent("touchstart", { touches: [finger], bubbles: true }));
    await wait(100);
    expect(first.querySelector(".at").textContent === "step 300", "after a touch: " + first.querySelector(".at").textContent);
    // Legend, seeds, log.
    const drawn = ink(first), key = first.querySelector("button.key");
    key.click();
    await wait(100);
    expect(key.getAttribute("aria-pressed") === "false" && ink(first) < drawn, "a legend key hides nothing");
    key.click();
    await wait(100);
    expect(ink(first) === drawn, "a legend key does not bring its line back");
    const [seeds, log] = all(".tool", first);
    seeds.click();
    await wait(100);
    expect(/seed 1 [\d.]+ · seed 2/.test(first.querySelector(".seeds").textContent), "seeds: " + first.querySelector(".seeds").textContent);
    log.click();
    await wait(100);
    expect(ink(first) > 2000, "no ink on a log axis");
    log.click();
    seeds.click();
    // A chart in a fold is drawn when the fold opens.
    for (const d of all("details.fold")) d.open = true;
    await wait(200);
    for (const f of all("details.fold figure.chart")) expect(ink(f) > 2000, "a folded chart is not drawn");
    for (const d of all("details")) d.open = true;
    await wait(100);
    expect(!wide(), "with everything open the page is " + document.documentElement.scrollWidth + " px wide");
    // Theme.
    const paper = () => getComputedStyle(document.body).backgroundColor;
    const dark = matchMedia("(prefers-color-scheme: dark)").matches;
    seen.dark = dark;
    expect(paper() === (dark ? "rgb(20, 24, 29)" : "rgb(255, 255, 255)"), "paper " + paper() + ", dark " + dark);
    const label = document.querySelector("figure.drawing svg text");
    const inkBefore = getComputedStyle(label).fill;
    document.querySelector(".theme").click();
    await wait(100);
    expect(paper() === (dark ? "rgb(255, 255, 255)" : "rgb(20, 24, 29)"), "the theme button leaves " + paper());
    expect(getComputedStyle(label).fill !== inkBefore, "the drawing keeps its ink");
    document.querySelector(".theme").click();
    // Nothing from outside.
    for (const e of all("[src], [href]")) {
      const to = e.getAttribute("src") || e.getAttribute("href");
      expect(to.startsWith("#") && document.getElementById(to.slice(1)), "a reference to " + to);
    }
    expect(performance.getEntriesByType("resource").length === 0, "the page loaded " + performance.getEntriesByType("resource").map((r) => r.name));
    // Tables have headers with a scope; controls have names.
    for (const th of all("th")) expect(th.scope === "col" || th.scope === "row", "a header without scope");
    for (const b of all("button")) expect(b.textContent.trim() !== "" || b.ariaLabel, "a button without a name");
    for (const t of all("table")) expect(t.caption, "a table without a caption");
  } catch (e) {
    seen.faults.push(String(e.stack || e));
  }
  parent.postMessage(JSON.stringify(seen), "*");
});
