// One choice of the framework for all corrections of the page.
(function () {
  const blocks = [...document.querySelectorAll("[data-framework]")];
  const label = paper.element("label", "paste-choice", "Framework"), select = paper.element("select");
  select.append(new Option("all", ""), ...[...new Set(blocks.map((b) => b.dataset.framework))].map((n) => new Option(n, n)));
  label.append(select);
  document.querySelector(".masthead").append(label);
  function show() {
    for (const b of blocks) b.hidden = select.value !== "" && b.dataset.framework !== select.value;
    try { localStorage.setItem("driftlab-framework", select.value); } catch (e) { /* no storage for this file */ }
  }
  try { select.value = localStorage.getItem("driftlab-framework") || ""; } catch (e) { /* as above */ }
  if (select.selectedIndex < 0) select.value = "";
  select.addEventListener("change", show);
  show();
})();
