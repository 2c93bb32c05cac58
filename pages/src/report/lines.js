// ---- Figures over time: shares against entitlement, and service errors.

const HEIGHT = 230;

/** A line of a panel: { name, look, ys, entitled (drawn finely), text(i) }. */
function timePanel({ run, lines, band, low, high, yText, label, width }) {
  const { series } = run.figures;
  const xs = series.times_ns, edges = area(width, HEIGHT), end = xs[xs.length - 1];
  const x = linear(series.from_ns, end, edges.left, edges.right);
  const y = linear(low, high, edges.bottom, edges.top);
  const step = roundStep(end - series.from_ns, Math.max(2, width / 110));
  const root = frame({
    width, height: HEIGHT, label,
    x: { ...edges, scale: x }, y: { ...edges, scale: y },
    xTicks: ticks(series.from_ns, end, Math.max(2, width / 110)), yTicks: ticks(low, high, 5),
    xText: (ns) => moment(ns, step), yText,
  });
  Object.assign(root.dataset, { x0: x.low, x1: x.high, left: edges.left, right: edges.right, y0: low, y1: high, top: edges.top, bottom: edges.bottom });
  if (band) root.append(...bandPaths(band, xs, x, y));
  for (const line of lines) {
    if (line.entitled) root.append(svg("path", { class: "entitled", d: path(xs, line.entitled, x, y), stroke: line.look.stroke }));
    root.append(svg("path", { class: "line", d: path(xs, line.ys, x, y), ...line.look, "data-task": line.name }));
  }
  return el("div", { class: "plotbox" }, root, reader(root, x, edges, xs.length, (i) => xs[i],
    (i) => `until ${time(xs[i])}: ` + lines.map((line) => `${line.name} ${line.text(i)}`).join("; ")));
}

/** Where all tasks are: the middle eight tenths shaded, the furthest as lines. */
function bandPaths(band, xs, x, y) {
  const back = path([...xs].reverse(), [...band.p10_ns].reverse(), x, y).replace(/^M/, "L");
  return [
    svg("path", { class: "band", d: path(xs, band.p90_ns, x, y) + back + "Z" }),
    svg("path", { class: "extreme", d: path(xs, band.least_ns, x, y) }),
    svg("path", { class: "extreme", d: path(xs, band.most_ns, x, y) }),
  ];
}

/** Reads a figure out at the pointer, or by arrow keys: the point nearest to the cursor, of `n`. */
function reader(root, x, edges, n, valueAt, textAt) {
  const told = el("output", { "aria-live": "polite" });
  const cursor = svg("line", { class: "cursor", y1: edges.top, y2: edges.bottom, visibility: "hidden" });
  root.append(cursor);
  let at = -1;
  const go = (i) => {
    at = Math.max(0, Math.min(n - 1, i));
    const pixel = x(valueAt(at));
    set(cursor, { x1: pixel, x2: pixel, visibility: "visible" }, []);
    told.textContent = textAt(at);
  };
  root.addEventListener("pointermove", (event) => {
    const box = root.getBoundingClientRect();
    go(nearest(n, valueAt, x, (event.clientX - box.left) / box.width * root.viewBox.baseVal.width));
  });
  root.addEventListener("pointerleave", () => cursor.setAttribute("visibility", "hidden"));
  root.addEventListener("keydown", (event) => {
    const steps = { ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10, Home: -n, End: n }[event.key];
    if (steps === undefined) return;
    event.preventDefault();
    go(at < 0 && steps === 1 ? 0 : at + steps);
  });
  return told;
}

/** The first of `n` ascending values whose pixel is nearest. */
function nearest(n, valueAt, x, pixel) {
  let low = 0, high = n - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (x(valueAt(middle)) < pixel) low = middle + 1; else high = middle;
  }
  return low > 0 && pixel - x(valueAt(low - 1)) < x(valueAt(low)) - pixel ? low - 1 : low;
}

/** The series of the chosen tasks in a run. */
function chosenSeries(run, chosen) {
  return run.figures.series.tasks
    .map((series) => ({ series, name: run.tasks[series.task].name }))
    .filter(({ name }) => chosen.has(name));
}

/** Least and greatest of lists of numbers, 0 among them. */
function rangeOf(lists) {
  let low = 0, high = 0;
  for (const list of lists) for (const value of list) {
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return low === high ? [low, low + 1] : [low, high];
}

function sharePanels(runs, chosen, lookOf, width) {
  const [, high] = rangeOf(runs.flatMap((run) => chosenSeries(run, chosen).flatMap(({ series }) => [series.share, series.entitled_share])));
  return runs.map((run) => timePanel({
    run, width, low: 0, high, yText: (share) => digits(100 * share) + "%",
    label: `Share of CPU time over time under ${run.label}, against what tasks were entitled to. Arrow keys read it out.`,
    lines: chosenSeries(run, chosen).map(({ series, name }) => ({
      name, look: lookOf(name), ys: series.share, entitled: series.entitled_share,
      text: (i) => `${percent(series.share[i])} of ${percent(series.entitled_share[i])}`,
    })),
  }));
}

function errorPanels(runs, chosen, lookOf, width) {
  const spread = (run) => run.figures.series.error_spread;
  // The furthest of all tasks bound every line.
  const lists = (run) => [spread(run).least_ns, spread(run).most_ns];
  const common = rangeOf(runs.flatMap(lists));
  const range = (run) => (state.ownScale ? rangeOf(lists(run)) : common);
  return runs.map((run) => timePanel({
    run, width, low: range(run)[0], high: range(run)[1], band: spread(run), yText: time,
    label: `Service error over time under ${run.label}: received minus entitled CPU time. Arrow keys read it out.`,
    lines: chosenSeries(run, chosen).map(({ series, name }) => ({
      name, look: lookOf(name), ys: series.error_ns, text: (i) => time(series.error_ns[i]),
    })),
  }));
}

/** The same as a table: a row a window, task and run. */
function seriesTable(runs, chosen) {
  const rows = runs.flatMap((run) => chosenSeries(run, chosen).flatMap(({ series, name }) =>
    run.figures.series.times_ns.map((until_ns, i) => ({ run: run.label, name, until_ns, series, i }))));
  const columns = [
    { head: "policy", name: "policy", text: true, cell: (r) => r.run, raw: (r) => r.run },
    { head: "task", name: "task", text: true, cell: (r) => r.name, raw: (r) => r.name },
    { head: "until", name: "until_ns", cell: (r) => time(r.until_ns), raw: (r) => r.until_ns },
    { head: "share", name: "share", cell: (r) => percent(r.series.share[r.i]), raw: (r) => r.series.share[r.i] },
    { head: "entitled", name: "entitled_share", cell: (r) => percent(r.series.entitled_share[r.i]), raw: (r) => r.series.entitled_share[r.i] },
    { head: "service error", name: "error_ns", cell: (r) => time(r.series.error_ns[r.i]), raw: (r) => r.series.error_ns[r.i] },
  ];
  return { columns, rows };
}
