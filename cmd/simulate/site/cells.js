// A cell of the map says what it is of when it is pointed at, has the focus or is pressed.
(function () {
  const box = document.querySelector(".cells"), says = box.querySelector(".says");
  for (const s of box.querySelectorAll(".scroll")) s.scrollLeft = (s.scrollWidth - s.clientWidth) / 2; // most cells are in the middle
  let now = null;
  function show(e) {
    const cell = e.target.closest(".cell");
    if (!cell || cell === now) return;
    if (now) now.classList.remove("now");
    now = cell;
    cell.classList.add("now");
    says.hidden = false;
    says.querySelector("p").textContent = cell.dataset.says;
    says.querySelector("code").textContent = cell.dataset.command;
  }
  // Tab goes from table to table, arrow keys from cell to cell.
  for (const table of box.querySelectorAll("table")) {
    table.querySelectorAll(".cell").forEach((cell, i) => { cell.tabIndex = i === 0 ? 0 : -1; });
    table.addEventListener("keydown", (e) => {
      const way = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0] }[e.key];
      if (!way || !e.target.matches(".cell")) return;
      e.preventDefault();
      let row = e.target.closest("tr").rowIndex, column = e.target.parentElement.cellIndex, next = null;
      while (!next) { // a cell is empty where nothing was run
        row += way[0];
        column += way[1];
        const to = table.rows[row] && table.rows[row].cells[column];
        if (!to) return;
        next = to.querySelector(".cell");
      }
      e.target.tabIndex = -1;
      next.tabIndex = 0;
      next.focus();
    });
  }
  for (const kind of ["mouseover", "focusin", "click"]) box.addEventListener(kind, show);
})();
