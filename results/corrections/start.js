// The page as a file of its own: the address has nothing but its state.
(function () {
  "use strict";
  const page = corrections(document.querySelector(".corrections"), {
    read: () => new URLSearchParams(location.hash.slice(1)),
    write: (q) => history.replaceState(null, "", "#" + q),
  });
  addEventListener("hashchange", () => { if (location.hash.includes("problem=")) page.read(); });
})();
