// ---- Distributions as CCDF: what share of the jobs took at least so long. Both axes are logarithmic.

/** The distribution of a run, or of one of its tasks. */
function ccdfOf(run, quantity, task) {
  if (!task) return run.figures[quantity];
  const index = run.tasks.findIndex((t) => t.name === task);
  return run.figures.tasks?.[index]?.[quantity] ?? { value_ns: [], share: [] };
}

/** Steps: up to each value the share that is at least it. Zeros have no place on a logarithmic axis. */
function steps(ccdf, x, y) {
  let d = "";
  for (let i = 0; i < ccdf.value_ns.length; i++) {
    if (ccdf.value_ns[i] <= 0) continue;
    const at = x(ccdf.value_ns[i]).toFixed(2);
    d += d ? `V${y(ccdf.share[i]).toFixed(2)}H${at}` : `M${at} ${y(ccdf.share[i]).toFixed(2)}`;
  }
  return d;
}

function tailPanel({ runs, quantity, task, width, lookOf }) {
  const lines = runs.map((run) => ({ run, ccdf: ccdfOf(run, quantity, task) })).filter(({ ccdf }) => ccdf.value_ns.some((v) => v > 0));
  if (!lines.length) return el("p", { class: "hint" }, "No job finished, so there is nothing to show.");
  const values = lines.flatMap(({ ccdf }) => ccdf.value_ns.filter((v) => v > 0));
  const least = lines.flatMap(({ ccdf }) => ccdf.share).reduce((a, b) => Math.min(a, b), 0.1);
  const low = values.reduce((a, b) => Math.min(a, b)), most = values.reduce((a, b) => Math.max(a, b));
  const edges = area(width, HEIGHT);
  const x = logarithmic(low, most > low ? most : low * 10, edges.left, edges.right), y = logarithmic(least, 1, edges.bottom, edges.top);
  const root = frame({
    width, height: HEIGHT, x: { ...edges, scale: x }, y: { ...edges, scale: y },
    xTicks: decades(x.low, x.high, width / 60), yTicks: decades(least, 1, 6), xText: time, yText: (share) => digits(100 * share) + "%",
    label: `Share of jobs whose ${quantity} is at least a time, by policy, both axes logarithmic. Arrow keys read it out.`,
  });
  Object.assign(root.dataset, { x0: x.low, x1: x.high, left: edges.left, right: edges.right, y0: y.low, y1: y.high, top: edges.top, bottom: edges.bottom });
  for (const { run, ccdf } of lines) {
    root.append(svg("path", { class: "line", d: steps(ccdf, x, y), ...lookOf(run), "data-run": run.label }));
  }
  const stops = [...new Set(lines.flatMap(({ ccdf }) => ccdf.value_ns.filter((v) => v > 0)))].sort((a, b) => a - b);
  return el("div", { class: "plotbox" }, root, reader(root, x, edges, stops.length, (i) => stops[i],
    (i) => `at least ${time(stops[i])}: ` + lines.map(({ run, ccdf }) => `${run.label} ${shareAtLeast(ccdf, stops[i])}`).join("; ")));
}

/** As the figure shows it at this value: the next point's share, which holds for all values up to it. */
function shareAtLeast(ccdf, value) {
  const next = ccdf.value_ns.findIndex((v) => v >= value);
  return next < 0 ? "none" : digits(100 * ccdf.share[next]) + "%";
}

function tailTable(runs, task) {
  const rows = runs.flatMap((run) => ["response", "wait"].flatMap((quantity) => {
    const ccdf = ccdfOf(run, quantity, task);
    return ccdf.value_ns.map((value, i) => ({ run: run.label, quantity, value, share: ccdf.share[i] }));
  }));
  const columns = [
    { head: "policy", name: "policy", text: true, cell: (r) => r.run, raw: (r) => r.run },
    { head: "of", name: "quantity", text: true, cell: (r) => r.quantity, raw: (r) => r.quantity },
    { head: "at least", name: "value_ns", cell: (r) => time(r.value), raw: (r) => r.value },
    { head: "share of jobs", name: "share", cell: (r) => digits(100 * r.share) + "%", raw: (r) => r.share },
  ];
  return { columns, rows };
}
