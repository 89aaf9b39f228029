
// Maps of words: found by name, told at the pointer with their neighbours, drawn nearer by wheel, pinch or buttons.
for (const map of document.querySelectorAll("figure.map")) {
  const { at, words, notes, near } = JSON.parse(map.dataset.map);
  const svg = map.querySelector("svg"), card = map.querySelector(".card"), tools = map.querySelector(".tools");
  const box = tools.querySelector("input"), told = tools.querySelector("output");
  const points = [...svg.querySelectorAll("circle")], labels = [...svg.querySelectorAll("text")];
  const number = new Map(words.map((word, i) => [word, i])), total = told.textContent;
  const PAD = 30, LINE = 15, MOST = 12;
  let view = { zoom: 1, left: 0, top: 0 }, size = { width: 720, height: 480 };
  let chosen = -1, pinned = false, found = new Set();
  const lengths = labels.map(text => text.textContent.length * 6.6);
  if (!points.length) continue;
  tools.hidden = false;

  const place = i => [
    PAD + (at[i][0] - view.left) * view.zoom * (size.width - 2 * PAD),
    PAD + (at[i][1] - view.top) * view.zoom * (size.height - 2 * PAD),
  ];

  // Labels of what was found or chosen first, then of the most frequent words, where they lie on no other.
  const label = places => {
    const foremost = [...found, ...(chosen < 0 ? [] : [chosen, ...near[chosen].map(([word]) => number.get(word))])];
    const taken = [];
    for (const i of new Set([...foremost.filter(i => i !== undefined), ...points.keys()])) {
      const [x, y] = places[i];
      const inside = x > -PAD && y > 0 && x < size.width && y < size.height;
      let free = null;
      const ways = [[x + 6, y], [x - 6 - lengths[i], y], [x - lengths[i] / 2, y - 11], [x - lengths[i] / 2, y + 12]];
      for (const [start, middle] of inside ? ways : []) {
        const one = [start, middle - LINE / 2, start + lengths[i], middle + LINE / 2];
        const clear = !taken.some(b => one[0] < b[2] && b[0] < one[2] && one[1] < b[3] && b[1] < one[3]);
        if (one[0] < 0 || one[2] > size.width || !clear) continue;
        free = one;
        break;
      }
      labels[i].classList.toggle("mute", !free);
      if (!free) continue;
      taken.push(free);
      labels[i].setAttribute("x", free[0].toFixed(1));
      labels[i].setAttribute("y", ((free[1] + free[3]) / 2 + 4).toFixed(1));
    }
  };

  const draw = () => {
    const places = points.map((_, i) => place(i));
    const around = new Set(chosen < 0 ? [] : near[chosen].map(([word]) => number.get(word)));
    places.forEach(([x, y], i) => {
      points[i].setAttribute("cx", x.toFixed(1));
      points[i].setAttribute("cy", y.toFixed(1));
      for (const drawn of [points[i], labels[i]]) {
        drawn.classList.toggle("chosen", i === chosen);
        drawn.classList.toggle("found", found.has(i));
        drawn.classList.toggle("near", around.has(i));
      }
    });
    svg.classList.toggle("dimmed", chosen >= 0 || found.size > 0);
    svg.style.touchAction = view.zoom > 1 ? "none" : "pan-y";
    label(places);
  };

  const look = (zoom, left, top) => {
    zoom = Math.min(Math.max(zoom, 1), MOST);
    const within = value => Math.min(Math.max(value, 0), 1 - 1 / zoom);
    view = { zoom, left: within(left), top: within(top) };
    draw();
  };

  // Nearer or further, what lies at (x, y) of the view stays there.
  const scale = (by, x = 0.5, y = 0.5) => {
    const zoom = Math.min(Math.max(view.zoom * by, 1), MOST);
    look(zoom, view.left + x / view.zoom - x / zoom, view.top + y / view.zoom - y / zoom);
  };

  const piece = (name, text, style) => {
    const made = document.createElement(name);
    made.textContent = text;
    if (style) made.className = style;
    return made;
  };
  const button = (text, act) => {
    const made = piece("button", text);
    made.type = "button";
    made.addEventListener("click", act);
    return made;
  };

  const tell = () => {
    card.replaceChildren();
    if (chosen < 0) {
      card.append(piece("span", "Point at a word to see its neighbours.", "faint"));
      return;
    }
    card.append(piece("bdi", words[chosen], "name"), " ", piece("span", notes[chosen], "faint"));
    if (!near[chosen].length) return;
    const list = document.createElement("ul");
    for (const [word, similarity] of near[chosen]) {
      const item = document.createElement("li"), i = number.get(word);
      item.append(i === undefined ? piece("bdi", word) : button(word, () => { pinned = true; choose(i, true); }));
      item.append(" ", piece("span", similarity.toFixed(2), "faint"));
      list.append(item);
    }
    card.append(list);
  };

  const choose = (i, centre) => {
    if (i === chosen && !centre) return;
    chosen = i;
    if (centre && view.zoom > 1) look(view.zoom, at[i][0] - 0.5 / view.zoom, at[i][1] - 0.5 / view.zoom);
    else draw();
    tell();
  };

  // The word itself, or else those that begin so, or else those that hold it.
  const search = () => {
    const typed = box.value.trim().toLowerCase();
    const folded = words.map(word => word.toLowerCase());
    const tests = [word => word === typed, word => word.startsWith(typed), word => word.includes(typed)];
    found = new Set();
    for (const test of typed ? tests : []) {
      if (!found.size) found = new Set(folded.flatMap((word, i) => test(word) ? [i] : []));
    }
    told.textContent = !typed ? total : !found.size ? "not on the map" : found.size === 1 ? "1 word" : found.size + " words";
    pinned = found.size === 1;
    chosen = pinned ? [...found][0] : -1;
    tell();
    if (!found.size) {
      look(1, 0, 0);
      return;
    }
    const xs = [...found].map(i => at[i][0]), ys = [...found].map(i => at[i][1]);
    const span = Math.max(Math.max(...xs) - Math.min(...xs), Math.max(...ys) - Math.min(...ys));
    const zoom = Math.min(Math.max(0.8 / Math.max(span, 1e-9), 1), 3);
    const middle = values => (Math.max(...values) + Math.min(...values)) / 2;
    look(zoom, middle(xs) - 0.5 / zoom, middle(ys) - 0.5 / zoom);
  };
  box.addEventListener("input", search);

  const [nearer, further, whole] = tools.querySelectorAll("button");
  nearer.addEventListener("click", () => scale(1.5));
  further.addEventListener("click", () => scale(1 / 1.5));
  whole.addEventListener("click", () => {
    box.value = "";
    search();
  });

  const within = event => {
    const frame = svg.getBoundingClientRect();
    return [event.clientX - frame.left, event.clientY - frame.top];
  };
  const under = event => {
    const [x, y] = within(event), reach = event.pointerType === "mouse" ? 14 : 26;
    let best = -1, least = reach * reach;
    points.forEach((_, i) => {
      const [a, b] = place(i), apart = (a - x) ** 2 + (b - y) ** 2;
      if (apart < least) [best, least] = [i, apart];
    });
    return best;
  };

  const fingers = new Map();
  let moved = 0;
  svg.addEventListener("pointerdown", event => {
    fingers.set(event.pointerId, within(event));
    moved = 0;
  });
  svg.addEventListener("pointermove", event => {
    const before = fingers.get(event.pointerId), now = within(event);
    if (!before) {
      if (!pinned) choose(under(event));
      return;
    }
    const others = [...fingers].filter(([id]) => id !== event.pointerId);
    fingers.set(event.pointerId, now);
    moved += Math.hypot(now[0] - before[0], now[1] - before[1]);
    if (others.length) {
      const [x, y] = others[0][1], apart = point => Math.hypot(point[0] - x, point[1] - y);
      scale(apart(now) / Math.max(apart(before), 1), (now[0] + x) / 2 / size.width, (now[1] + y) / 2 / size.height);
    } else if (view.zoom > 1 && moved > 4) {
      look(view.zoom, view.left - (now[0] - before[0]) / size.width / view.zoom,
        view.top - (now[1] - before[1]) / size.height / view.zoom);
    }
  });
  svg.addEventListener("pointerup", event => {
    fingers.delete(event.pointerId);
    if (moved > 4) return;
    const i = under(event);
    pinned = i >= 0;
    choose(i);
  });
  svg.addEventListener("pointercancel", event => fingers.delete(event.pointerId));
  svg.addEventListener("pointerleave", event => {
    fingers.delete(event.pointerId);
    if (!pinned && event.pointerType === "mouse") choose(-1);
  });
  svg.addEventListener("wheel", event => {
    if (!event.ctrlKey && document.activeElement !== svg) return;
    event.preventDefault();
    const [x, y] = within(event);
    scale(Math.exp(-event.deltaY / 300), x / size.width, y / size.height);
  }, { passive: false });
  svg.addEventListener("keydown", event => {
    const way = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
    if (event.key === "+" || event.key === "=") scale(1.5);
    else if (event.key === "-") scale(1 / 1.5);
    else if (event.key === "Escape") { pinned = false; choose(-1); }
    else if (way) {
      event.preventDefault();
      const [x, y] = chosen < 0 ? [size.width / 2, size.height / 2] : place(chosen);
      let best = chosen < 0 ? 0 : chosen, least = Infinity;
      points.forEach((_, i) => {
        const [a, b] = place(i), along = (a - x) * way[0] + (b - y) * way[1];
        const across = Math.abs((a - x) * way[1]) + Math.abs((b - y) * way[0]);
        if (i !== chosen && along > 0 && along + 2 * across < least) [best, least] = [i, along + 2 * across];
      });
      pinned = true;
      choose(best, true);
    }
  });

  const fit = () => {
    const frame = svg.getBoundingClientRect();
    if (!frame.width) return;
    size = { width: frame.width, height: frame.height };
    svg.setAttribute("viewBox", `0 0 ${size.width} ${size.height}`);
    for (const text of labels) text.classList.remove("mute"); // what is hidden has no length
    labels.forEach((text, i) => { lengths[i] = text.getComputedTextLength() || lengths[i]; });
    draw();
  };
  new ResizeObserver(fit).observe(svg);
  tell();
  fit();
}
