"use strict";

// Filter boxes: rows stay that hold all the words typed.
for (const tools of document.querySelectorAll(".tools")) {
  const box = tools.querySelector("input"), told = tools.querySelector("output");
  const rows = [...tools.parentNode.querySelectorAll("tbody tr")];
  const texts = rows.map(row => row.textContent.toLowerCase());
  tools.hidden = false;
  box.addEventListener("input", () => {
    const wanted = box.value.toLowerCase().split(/\s+/);
    rows.forEach((row, i) => { row.hidden = !wanted.every(word => texts[i].includes(word)); });
    told.textContent = rows.filter(row => !row.hidden).length + " of " + rows.length;
  });
}

// Headings of tables: sort by a column, numbers from the largest first.
for (const button of document.querySelectorAll("th button")) {
  button.addEventListener("click", () => {
    const head = button.parentNode, body = head.closest("table").tBodies[0];
    const numeric = head.classList.contains("number");
    const down = head.ariaSort ? head.ariaSort === "ascending" : numeric;
    for (const other of head.parentNode.cells) other.removeAttribute("aria-sort");
    head.ariaSort = down ? "descending" : "ascending";
    const key = row => {
      const cell = row.cells[head.cellIndex];
      return numeric ? Number(cell.dataset.value) : cell.textContent;
    };
    const order = numeric ? (a, b) => a - b : (a, b) => a.localeCompare(b);
    const rows = [...body.rows].sort((a, b) => (down ? -1 : 1) * order(key(a), key(b)));
    body.append(...rows);
  });
}

// Line charts: the values at the place of the pointer, or of the arrow keys.
for (const chart of document.querySelectorAll(".chart")) {
  const { x, at, series } = JSON.parse(chart.dataset.chart);
  const svg = chart.querySelector("svg"), cursor = svg.querySelector(".cursor");
  const told = chart.querySelector(".readout"), values = chart.querySelectorAll(".legend b");
  let place = -1;
  const show = i => {
    place = i;
    cursor.style.visibility = i < 0 ? "hidden" : "visible";
    told.textContent = i < 0 ? "" : x[i];
    values.forEach((value, k) => {
      const number = i < 0 ? null : series[k][i];
      value.textContent = number === null ? "" : String(number);
    });
    if (i >= 0) for (const end of ["x1", "x2"]) cursor.setAttribute(end, at[i]);
  };
  const nearest = event => {
    const box = svg.getBoundingClientRect();
    const here = (event.clientX - box.left) * svg.viewBox.baseVal.width / box.width;
    return at.reduce((best, p, i) => Math.abs(p - here) < Math.abs(at[best] - here) ? i : best, 0);
  };
  if (!at.length) continue;
  svg.addEventListener("pointermove", event => show(nearest(event)));
  svg.addEventListener("pointerdown", event => show(nearest(event)));
  svg.addEventListener("pointerleave", event => { if (event.pointerType === "mouse") show(-1); });
  svg.addEventListener("blur", () => show(-1));
  svg.addEventListener("keydown", event => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!step) return;
    event.preventDefault();
    show(Math.min(Math.max(place + step, 0), at.length - 1));
  });
}
