"use strict";
// The page is complete without this: it sorts tables by their columns and unfolds all that is folded.
(function () {
  function numberOf(text) {
    // "48 of 110" sorts by its share, other cells by their first number; what has none comes last.
    const share = text.match(/^\s*([\d,.]+) of ([\d,.]+)/);
    const plain = (digits) => parseFloat(digits.replace(/,/g, ""));
    if (share) return plain(share[1]) / plain(share[2]);
    const found = text.replace(/\u2212/g, "-").match(/-?[\d,]*\.?\d+(e[+-]?\d+)?/i);
    return found ? plain(found[0]) : NaN;
  }

  function compare(a, b, numeric) {
    if (!numeric) return a.localeCompare(b, "en", { numeric: true });
    const x = numberOf(a), y = numberOf(b);
    if (Number.isNaN(x) || Number.isNaN(y)) return Number.isNaN(x) - Number.isNaN(y);
    return x - y;
  }

  function sort(table, heading) {
    const falling = heading.getAttribute("aria-sort") === "ascending";
    const column = heading.cellIndex, numeric = heading.classList.contains("number");
    const body = table.tBodies[0], rows = Array.from(body.rows);
    rows.sort((a, b) => {
      const order = compare(a.cells[column].textContent, b.cells[column].textContent, numeric);
      return falling ? -order : order;
    });
    for (const other of heading.parentNode.cells) other.removeAttribute("aria-sort");
    heading.setAttribute("aria-sort", falling ? "descending" : "ascending");
    body.append(...rows);
  }

  for (const table of document.querySelectorAll(".table table:has(th.number)")) {
    if (table.tBodies[0].rows.length < 3) continue;
    for (const heading of table.tHead.rows[0].cells) {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...heading.childNodes);
      button.addEventListener("click", () => sort(table, heading));
      heading.append(button);
    }
  }

  const all = Array.from(document.querySelectorAll("details"));
  if (all.length) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "unfold";
    button.textContent = "Unfold all tables";
    button.addEventListener("click", () => {
      const open = all.some((one) => !one.open);
      for (const one of all) one.open = open;
      button.textContent = open ? "Fold all tables" : "Unfold all tables";
    });
    document.querySelector("nav").append(button);
  }
})();
