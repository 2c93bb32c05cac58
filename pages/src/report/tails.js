// ---- Distributions as CCDF: what share of the jobs took at least so long. Both axes are logarithmic.

const QUANTITIES = { response: "Response time", wait: "Waiting time" };

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

/** Nearly all jobs take at least so long: below, every curve is flat at the top. */
const NEARLY_ALL = 0.95;

/** From where the first curve leaves 100% to the greatest value. */
function tailRange(ccdfs) {
  const leaves = ({ value_ns: values, share }) => {
    const first = Math.max(0, share.findIndex((s, i) => s <= NEARLY_ALL && values[i] > 0));
    // The point before may be far away: a curve has few points where it is flat.
    return Math.max(values[first - 1] ?? 0, values[first] / 3) || values.find((v) => v > 0);
  };
  const low = Math.min(...ccdfs.map(leaves)), most = Math.max(...ccdfs.map(({ value_ns: values }) => values[values.length - 1]));
  return [low, most > low ? most : low * 10];
}

function tailPanel({ runs, quantity, task, width, numberOf }) {
  const lines = runs.map((run) => ({ run, ccdf: ccdfOf(run, quantity, task) })).filter(({ ccdf }) => ccdf.value_ns.some((v) => v > 0));
  if (!lines.length) return el("p", { class: "hint" }, "No job finished, so there is nothing to show.");
  const least = lines.flatMap(({ ccdf }) => ccdf.share).reduce((a, b) => Math.min(a, b), 0.1);
  const edges = area(width, HEIGHT), zoom = page.tails[quantity];
  const [low, most] = zoom.of(...tailRange(lines.map(({ ccdf }) => ccdf)));
  const x = logarithmic(low, most, edges.left, edges.right), y = logarithmic(least, 1, edges.bottom, edges.top);
  const { root, data } = frame({
    width, height: HEIGHT, x, y, xTicks: decades(low, most, width / 60), yTicks: decades(least, 1, 6), xText: time, yText: (share) => digits(100 * share) + "%",
    xTitle: `${QUANTITIES[quantity].toLowerCase()} (logarithmic)`, yTitle: "jobs that took at least so long (logarithmic)",
    label: `Share of jobs whose ${quantity} is at least a time, by policy, both axes logarithmic. Arrow keys read it out, plus and minus zoom.`,
  });
  for (const { run, ccdf } of lines) data.append(svg("path", { class: "line", d: steps(ccdf, x, y), ...look(numberOf(run)), "data-run": run.label }));
  const stops = [...new Set(lines.flatMap(({ ccdf }) => ccdf.value_ns.filter((v) => v > 0)))].sort((a, b) => a - b);
  return plotBox({
    root, x, n: stops.length, valueAt: (i) => stops[i], group: page.durations, zoom,
    title: `${QUANTITIES[quantity]}${task ? ` of ${task}` : ""}`, legend: lines.map(({ run }) => ({ name: run.label, n: numberOf(run) })),
    textAt: (i) => `at least ${time(stops[i])}: ` + lines.map(({ run, ccdf }) => `${run.label} ${shareAtLeast(ccdf, stops[i])}`).join("; "),
  });
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
