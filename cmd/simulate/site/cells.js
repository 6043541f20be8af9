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
  for (const kind of ["mouseover", "focusin", "click"]) box.addEventListener(kind, show);
})();
