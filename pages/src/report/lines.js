// ---- Figures over time: shares against entitlement, and service errors.

const HEIGHT = 260;

/** A panel over time; lines are { name, n, ys, entitled (drawn finely), text(i) }. */
function timePanel({ run, lines, band, low, high, yText, yTitle, title, label, width }) {
  const { series } = run.figures, xs = series.times_ns, edges = area(width, HEIGHT);
  const [from, to] = page.times.of(series.from_ns, xs[xs.length - 1]);
  const x = linear(from, to, edges.left, edges.right), y = linear(...roundRange(low, high, 5), edges.bottom, edges.top);
  const n = Math.max(2, width / 110), step = roundStep(to - from, n);
  const { root, data } = frame({
    width, height: HEIGHT, label, x, y, xTicks: ticks(from, to, n), yTicks: ticks(y.low, y.high, 5),
    xText: (ns) => moment(ns, step), yText, xTitle: "simulated time", yTitle,
  });
  if (low < 0) data.append(svg("line", { class: "zero", x1: edges.left, x2: edges.right, y1: y(0), y2: y(0) }));
  if (band) data.append(...bandPaths(band, xs, x, y));
  for (const line of lines) {
    if (line.entitled) data.append(svg("path", { class: "entitled", d: path(xs, line.entitled, x, y), stroke: look(line.n).stroke }));
    data.append(svg("path", { class: "line", d: path(xs, line.ys, x, y), ...look(line.n), "data-task": line.name }));
  }
  return plotBox({
    root, x, n: xs.length, valueAt: (i) => xs[i], group: page.clock, zoom: page.times, title, legend: lines,
    textAt: (i) => `until ${time(xs[i])}: ` + lines.map((line) => `${line.name} ${line.text(i)}`).join("; "),
  });
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

/** The series of the chosen tasks in a run. */
function chosenSeries(run, chosen) {
  return run.figures.series.tasks
    .map((series) => ({ series, name: run.tasks[series.task].name }))
    .filter(({ name }) => chosen.has(name));
}

function sharePanels(runs, chosen, numberOf, width) {
  const [, high] = rangeOf(runs.flatMap((run) => chosenSeries(run, chosen).flatMap(({ series }) => [series.share, series.entitled_share])));
  return runs.map((run) => timePanel({
    run, width, low: 0, high, yText: (share) => digits(100 * share) + "%", yTitle: "share of all CPU time", title: `Share of CPU time, ${run.label}`,
    label: `Share of CPU time over time under ${run.label}, against what tasks were entitled to. Arrow keys read it out, plus and minus zoom.`,
    lines: chosenSeries(run, chosen).map(({ series, name }) => ({
      name, n: numberOf(name), ys: series.share, entitled: series.entitled_share,
      text: (i) => `${percent(series.share[i])} of ${percent(series.entitled_share[i])}`,
    })),
  }));
}

function errorPanels(runs, chosen, numberOf, width) {
  const spread = (run) => run.figures.series.error_spread;
  // The furthest of all tasks bound every line.
  const lists = (run) => [spread(run).least_ns, spread(run).most_ns];
  const common = rangeOf(runs.flatMap(lists));
  const range = (run) => (state.ownScale ? rangeOf(lists(run)) : common);
  return runs.map((run) => timePanel({
    run, width, low: range(run)[0], high: range(run)[1], band: spread(run), yText: time, yTitle: "received minus entitled CPU time", title: `Service error, ${run.label}`,
    label: `Service error over time under ${run.label}: received minus entitled CPU time. Arrow keys read it out, plus and minus zoom.`,
    lines: chosenSeries(run, chosen).map(({ series, name }) => ({
      name, n: numberOf(name), ys: series.error_ns, text: (i) => time(series.error_ns[i]),
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
