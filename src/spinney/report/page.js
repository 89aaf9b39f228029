"use strict";

// Gives life to what is drawn below an element: to the whole page, and to what a script adds to it later.
const enliven = root => {

// Filter boxes: rows stay that hold all the words typed. Of a long table the first rows, until it is asked for all.
const FIRST = 25;
for (const tools of root.querySelectorAll(".table > .tools")) {
  const box = tools.querySelector("input"), told = tools.querySelector("output"), all = tools.querySelector("button");
  const body = tools.parentNode.querySelector("tbody");
  const texts = new Map([...body.rows].map(row => [row, row.textContent.toLowerCase()]));
  let whole = texts.size <= FIRST + 5;
  const show = () => {
    const wanted = box.value.toLowerCase().trim().split(/\s+/), typed = box.value.trim() !== "";
    let n = 0;
    for (const row of body.rows) {
      const fits = wanted.every(word => texts.get(row).includes(word));
      row.hidden = !fits || !(whole || typed || n < FIRST);
      n += !row.hidden;
    }
    told.textContent = n < texts.size ? n + " of " + texts.size + " rows" : n + " rows";
    all.hidden = whole || typed;
  };
  tools.hidden = false;
  box.addEventListener("input", show);
  all.addEventListener("click", () => { whole = true; show(); });
  tools.parentNode.addEventListener("sorted", show);
  show();
}

// Headings of tables: sort by a column, numbers from the largest first.
for (const button of root.querySelectorAll("th button")) {
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
    body.dispatchEvent(new Event("sorted", { bubbles: true }));
  });
}

// Line charts: the values at the place of the pointer, or of the arrow keys.
for (const chart of root.querySelectorAll(".chart")) {
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

// Heat maps: the cell at the pointer, or at the place that the arrow keys have gone to.
for (const map of root.querySelectorAll("figure.heat")) {
  const { rows, columns, values, left, top, side } = JSON.parse(map.dataset.heat);
  const svg = map.querySelector("svg"), told = map.querySelector(".readout"), frame = svg.querySelector(".frame");
  if (!rows.length || !columns.length) continue;
  let place = null;
  const show = at => {
    place = at;
    frame.style.visibility = at ? "visible" : "hidden";
    told.textContent = at ? `${rows[at[0]]} → ${columns[at[1]]}: ${values[at[0]][at[1]] ?? "–"}` : "";
    if (at) frame.setAttribute("transform", `translate(${left + at[1] * side} ${top + at[0] * side})`);
  };
  const under = event => {
    const box = svg.getBoundingClientRect(), scale = svg.viewBox.baseVal.width / box.width;
    const i = Math.floor(((event.clientY - box.top) * scale - top) / side);
    const j = Math.floor(((event.clientX - box.left) * scale - left) / side);
    return i >= 0 && j >= 0 && i < rows.length && j < columns.length ? [i, j] : null;
  };
  svg.addEventListener("pointermove", event => show(under(event)));
  svg.addEventListener("pointerdown", event => show(under(event)));
  svg.addEventListener("pointerleave", event => { if (event.pointerType === "mouse") show(null); });
  svg.addEventListener("blur", () => show(null));
  svg.addEventListener("keydown", event => {
    const step = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
    if (!step) return;
    event.preventDefault();
    const within = (value, n) => Math.min(Math.max(value, 0), n - 1);
    show(place ? [within(place[0] + step[0], rows.length), within(place[1] + step[1], columns.length)] : [0, 0]);
  });
}

// Trees: leaves and named branches stay that hold all the words typed; the branches that they are in open.
for (const tree of root.querySelectorAll(".outline")) {
  const tools = tree.querySelector(".tools"), box = tools.querySelector("input"), told = tools.querySelector("output");
  const all = tools.querySelector("button"), branches = [...tree.querySelectorAll("details")];
  const named = [...tree.querySelectorAll("li:is(.leaf, .named)")];
  const texts = named.map(one => (one.querySelector("summary") ?? one).textContent.toLowerCase());
  const start = branches.map(branch => branch.open), total = told.textContent;
  tools.hidden = false;
  box.addEventListener("input", () => {
    const typed = box.value.trim().toLowerCase(), wanted = typed.split(/\s+/);
    const found = new Set(named.filter((_, i) => wanted.every(word => texts[i].includes(word))));
    for (const item of tree.querySelectorAll("li")) item.hidden = typed !== "";
    for (const one of typed ? found : []) {
      for (let item = one; item && tree.contains(item); item = item.parentNode.closest("li")) item.hidden = false;
    }
    branches.forEach((branch, i) => {
      branch.open = typed ? branch.querySelector("li:not([hidden])") !== null : start[i];
    });
    told.textContent = typed ? found.size + " found" : total;
  });
  all.addEventListener("click", () => {
    const open = all.textContent === "Open all";
    for (const branch of branches) branch.open = open;
    all.textContent = open ? "Close all" : "Open all";
  });
}

// Language models: what comes after the longest stored context that ends the words typed.
for (const explorer of root.querySelectorAll(".explorer")) {
  const { words, contexts, lowercase } = JSON.parse(explorer.dataset.explorer);
  const box = explorer.querySelector("input"), told = explorer.querySelector(".readout");
  const body = explorer.querySelector("tbody");
  const key = list => list.join("\u0000");
  const known = new Map(contexts.map(entry => [key(entry[0].map(i => words[i])), entry]));
  const element = (name, parent, text = "") => {
    const made = parent.appendChild(document.createElement(name));
    made.textContent = text;
    return made;
  };
  const percent = p => (100 * p).toPrecision(3).replace(/\.?0+$/, "") + "\u00a0%";
  const bar = (chances, cell, most) => {
    const svg = cell.appendChild(explorer.querySelector("template").content.firstElementChild.cloneNode(true));
    const orders = [...chances].reverse();  // all the words on top, then fewer and fewer of them, paler
    const high = i => orders.length === 1 ? 100 : i === 0 ? 55 : 45 / (orders.length - 1);
    let top = 0;
    orders.forEach((p, i) => {
      const rect = i === 0 ? svg.firstElementChild : svg.appendChild(svg.firstElementChild.cloneNode());
      rect.setAttribute("y", top + "%");
      rect.setAttribute("width", 100 * Math.min(p / most, 1) + "%");
      rect.setAttribute("height", high(i) + "%");
      rect.setAttribute("fill-opacity", i === 0 ? 1 : 0.1 + 0.5 / i);
      top += high(i);
    });
  };
  const show = () => {
    const typed = (lowercase ? box.value.toLowerCase() : box.value).trim().split(/\s+/).filter(Boolean);
    const before = typed.length ? typed : ["<s>"];
    let start = 0;
    while (start < before.length && !known.has(key(before.slice(start)))) start++;
    const [symbols, following, chances] = known.get(key(before.slice(start)));
    const context = symbols.map(i => words[i]).join(" ");
    told.textContent = !typed.length ? "At the start of a sentence (<s>):"
      : symbols.length ? "After \u201c" + context + "\u201d:"
      : "No stored context ends so; anywhere in a sentence:";
    body.replaceChildren();
    const most = Math.max(...chances.map(of => of[of.length - 1]), 1e-12);
    following.forEach((word, i) => {
      const row = element("tr", body), name = element("td", row);
      const button = element("button", name, words[word]);
      button.type = "button";
      button.addEventListener("click", () => {
        box.value = words[word] === "</s>" ? "" : [...before, words[word]].join(" ");
        show();
        box.focus();
      });
      bar(chances[i], element("td", row), most);
      element("td", row, percent(chances[i][symbols.length])).className = "number";
      element("td", row, chances[i].map(percent).join(" \u2192 ")).className = "faint";
    });
  };
  explorer.hidden = false;
  box.addEventListener("input", show);
  show();
}

};
enliven(document);
