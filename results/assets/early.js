// Sets the page's colours before it is drawn: those that the reader chose, else those of the system.
{
  let mode = "auto";
  try { mode = localStorage.getItem("driftlab-theme") || mode; } catch (e) { /* no storage for this file */ }
  document.documentElement.dataset.theme = mode !== "auto" ? mode : matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
}
