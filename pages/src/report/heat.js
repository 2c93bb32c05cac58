// ---- Heat maps: a measure over two of what is varied, a map a policy, all on one scale of colours.

/** From the ground to the ink of the scale; the middle is between both. Lightness alone tells, so black and white do as well. */
function heatColor(part) {
  const isDark = isLight(colorOf("--ink")), ends = isDark ? [[24, 32, 44], [52, 140, 200], [250, 235, 120]] : [[247, 244, 222], [70, 160, 175], [28, 32, 96]];
  const [a, b] = part < 0.5 ? [ends[0], ends[1]] : [ends[1], ends[2]], t = part < 0.5 ? 2 * part : 2 * part - 1;
  return "#" + a.map((value, i) => Math.round(value + (b[i] - value) * t).toString(16).padStart(2, "0")).join("");
}

/** Cells of a policy: { x, y, estimate }, x and y by their places. */
function cellsOf(policy) {
  return valuesOf(state.panels).flatMap((value, y) => pointsOf(policy, value).map(({ i, estimate }) => ({ x: i, y, estimate })));
}

function heatMap(policy, cells, [low, high], width) {
  const xs = valuesOf(state.x), ys = valuesOf(state.panels), text = textOf(state.measure);
  const left = 92, top = 20, wide = (width - left - 12) / xs.length, tall = Math.max(22, Math.min(46, 300 / ys.length)), height = top + tall * ys.length + 38;
  const root = svg("svg", { class: "plot heat", viewBox: `0 0 ${width} ${height}`, width, height, role: "img", tabindex: 0,
    "aria-label": `${whatIsShown()} under ${policy} by ${nameOf(state.x)} and ${nameOf(state.panels)} as a map of colours. Arrow keys read it out.` });
  Object.assign(root.dataset, { left, right: width - 12, top, bottom: top + tall * ys.length });
  const placeY = (y) => top + (ys.length - 1 - y) * tall;
  for (const { x, y, estimate } of cells) {
    const fill = heatColor(high > low ? (estimate.mean - low) / (high - low) : 0.5), shown = short(text(estimate.mean));
    root.append(svg("rect", { class: "heat", x: left + x * wide, y: placeY(y), width: Math.max(1, wide - 1), height: tall - 1, fill, "data-x": x, "data-y": y, "data-mean": estimate.mean }));
    if (shown.length * 6.6 < wide - 4) root.append(svg("text", { class: "cell", x: left + (x + 0.5) * wide, y: placeY(y) + tall / 2 + 4, "text-anchor": "middle", style: `fill:${isLight(fill) ? "#000" : "#fff"}` }, shown));
  }
  const every = Math.ceil(xs.length / Math.max(1, Math.floor((width - left) / 60)));
  xs.forEach((value, x) => { if (x % every === 0) root.append(svg("text", { x: left + (x + 0.5) * wide, y: height - 23, "text-anchor": "middle" }, short(valueText(state.x, value)))); });
  ys.forEach((value, y) => root.append(svg("text", { x: left - 6, y: placeY(y) + tall / 2 + 4, "text-anchor": "end" }, short(valueText(state.panels, value)))));
  root.append(svg("text", { class: "title", x: (left + width) / 2, y: height - 6, "text-anchor": "middle" }, nameOf(state.x)), svg("text", { class: "title", x: 2, y: 11 }, nameOf(state.panels)));
  // Row after row, from below.
  const order = [...cells].sort((a, b) => a.y - b.y || a.x - b.x);
  const told = el("output", { "aria-live": "polite" }), frameOf = svg("rect", { class: "picked", fill: "none", visibility: "hidden" });
  root.append(frameOf);
  let at = -1;
  const read = (i) => {
    at = Math.max(0, Math.min(order.length - 1, i));
    const { x, y, estimate } = order[at];
    set(frameOf, { x: left + x * wide, y: placeY(y), width: wide - 1, height: tall - 1, visibility: "visible" }, []);
    told.textContent = `${nameOf(state.x)} ${valueText(state.x, xs[x])}, ${nameOf(state.panels)} ${valueText(state.panels, ys[y])}: ${estimateText(estimate, text)}`;
  };
  root.addEventListener("pointermove", ({ target }) => {
    const found = order.findIndex(({ x, y }) => target.dataset.x === String(x) && target.dataset.y === String(y));
    if (found >= 0) read(found);
  });
  root.addEventListener("keydown", (event) => {
    const steps = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: xs.length, ArrowDown: -xs.length, Home: -Infinity, End: Infinity }[event.key];
    if (steps === undefined || !order.length) return;
    event.preventDefault();
    read(at < 0 ? 0 : at + steps);
  });
  const title = `${whatIsShown()}, ${policy}`;
  return el("div", { class: "plotbox" }, el("div", { class: "plottools" }, ...saveButtons(() => standalone(root, title, []), title)), root, told);
}

/** The meaning of the colours. */
function heatKey([low, high], text) {
  const steps = 24, width = 220;
  const cells = Array.from({ length: steps }, (_, i) => svg("rect", { x: i * width / steps, y: 0, width: width / steps + 0.5, height: 12, fill: heatColor(i / (steps - 1)) }));
  return el("div", { class: "bar" }, el("span", {}, text(low)), svg("svg", { width, height: 12, role: "img", "aria-label": `Colours from ${text(low)} to ${text(high)}` }, ...cells), el("span", {}, text(high)));
}

function drawMaps() {
  const policies = state.differences ? page.policies.filter((policy) => policy !== page.baseline) : page.policies;
  const all = policies.map((policy) => ({ policy, cells: cellsOf(policy) })).filter(({ cells }) => cells.length);
  const means = all.flatMap(({ cells }) => cells.map(({ estimate }) => estimate.mean)), range = [Math.min(...means), Math.max(...means)];
  const box = el("div", { class: all.length === 1 ? "panels stack" : "panels" }, ...all.map(({ policy }) => el("div", {}, el("h3", {}, policy))));
  document.getElementById("figures").replaceChildren(...(all.length ? [heatKey(range, textOf(state.measure)), box] : [el("p", { class: "hint" }, "Nothing was measured here.")]));
  const width = Math.max(260, Math.floor(box.firstElementChild?.clientWidth || 600));
  all.forEach(({ policy, cells }, i) => box.children[i].append(heatMap(policy, cells, range, width)));
}
