// ---- Sweeps: a measure along one of what is varied, a panel for each value of another, a curve a policy.

const HEIGHT = 270;

/** Least and greatest of what is drawn, intervals included. */
function rangeOfPoints(lists) {
  const ends = lists.flat().flatMap(({ estimate: { mean, ci95 = 0 } }) => [mean - ci95, mean + ci95]);
  const isLog = state.logY && !state.differences;
  if (!isLog) return rangeOf([ends]);
  const positive = [...ends, ...lists.flat().map(({ estimate }) => estimate.mean)].filter((value) => value > 0);
  if (!positive.length) return [1, 10];
  const least = positive.reduce((a, b) => Math.min(a, b)), most = positive.reduce((a, b) => Math.max(a, b));
  // An interval that reaches nearly to 0 would take all decades that there are.
  const low = Math.max(least, Math.min(...lists.flat().map(({ estimate }) => estimate.mean).filter((mean) => mean > 0)) / 10);
  return low < most ? [low, most] : [low / 2, low * 2];
}

/** Places of values along the axis: numbers where they are, words side by side. */
function acrossScale(edges, width) {
  const xs = valuesOf(state.x), few = Math.max(2, width / 70);
  const text = (value) => valueText(state.x, value);
  if (xs.every((x) => typeof x === "number") && xs.length > 1) {
    const low = Math.min(...xs), high = Math.max(...xs);
    const scale = (state.logX ? logarithmic : linear)(low, high, edges.left, edges.right);
    const places = xs.length <= few ? xs : state.logX ? decades(low, high, few) : ticks(low, high, few);
    return { of: (i) => xs[i], scale, places, text: (value) => short(text(Number(value.toPrecision(12)))) };
  }
  const pad = (edges.right - edges.left) / (2 * xs.length);
  const scale = linear(0, Math.max(1, xs.length - 1), edges.left + pad, edges.right - pad);
  return { of: (i) => i, scale, places: xs.map((_, i) => i), text: (i) => text(xs[i]) };
}

function whatIsShown() {
  return `${state.differences ? `Differences from ${page.baseline} of ` : ""}${nameOf(state.measure)}`;
}

/** A number with its interval, in words. */
function estimateText(estimate, text) {
  if (!estimate) return "-";
  return `${text(estimate.mean)}${estimate.ci95 === undefined ? "" : ` \u00b1 ${text(estimate.ci95)}`}`;
}

function panel(curves, [low, high], width, title) {
  const edges = area(width, HEIGHT), across = acrossScale(edges, width), text = textOf(state.measure);
  const isLog = state.logY && !state.differences;
  const [from, to] = isLog ? [low, high] : roundRange(low, high, 5), y = (isLog ? logarithmic : linear)(from, to, edges.bottom, edges.top);
  const places = isLog ? decades(low, high, 6) : ticks(from, to, 5), what = whatIsShown();
  const { root, data } = frame({
    width, height: HEIGHT, x: across.scale, y, xTicks: across.places, yTicks: places,
    xText: (value) => across.text(value), yText: text, xTitle: nameOf(state.x) + (state.logX ? " (logarithmic)" : ""), yTitle: what + (isLog ? " (logarithmic)" : ""),
    label: `${what} by ${nameOf(state.x)}${title ? `, ${title}` : ""}, a curve a policy, with 95% intervals. Arrow keys read it out.`,
  });
  root.dataset.log = String(isLog);
  const bounded = (value) => (isLog ? Math.max(value, low) : value);
  if (state.differences) data.append(svg("line", { class: "zero", x1: edges.left, x2: edges.right, y1: y(0), y2: y(0) }));
  for (const { policy, points } of curves) {
    const xs = points.map(({ i }) => across.of(i)), known = points.filter(({ estimate }) => estimate.ci95 !== undefined);
    const edge = (sign, list) => path(list.map(({ i }) => across.of(i)), list.map(({ estimate: { mean, ci95 } }) => bounded(mean + sign * ci95)), across.scale, y);
    const style = look(page.policies.indexOf(policy));
    if (known.length > 1) data.append(svg("path", { class: "interval", d: edge(1, known) + edge(-1, [...known].reverse()).replace(/^M/, "L") + "Z", fill: style.stroke }));
    data.append(svg("path", { class: "line", d: path(xs, points.map(({ estimate }) => bounded(estimate.mean)), across.scale, y), ...style, "data-policy": policy }));
    if (points.length <= 40) data.append(...points.flatMap((point) => dot(point, across, y, bounded, style.stroke)));
  }
  const n = valuesOf(state.x).length;
  return plotBox({
    root, x: across.scale, n, valueAt: across.of, group: page.across, title: `${what} by ${nameOf(state.x)}${title ? `, ${title}` : ""}`,
    legend: curves.map(({ policy }) => ({ name: policy, n: page.policies.indexOf(policy) })),
    textAt: (i) => `${nameOf(state.x)} ${valueText(state.x, valuesOf(state.x)[i])}: ` +
      curves.map(({ policy, points }) => `${policy} ${estimateText(points.find((point) => point.i === i)?.estimate, text)}`).join("; "),
  });
}

/** A point with the bar of its interval. */
function dot({ i, estimate: { mean, ci95 } }, across, y, bounded, stroke) {
  const cx = across.scale(across.of(i)), found = [svg("circle", { class: "dot", cx, cy: y(bounded(mean)), r: 2.6, fill: stroke })];
  if (ci95 !== undefined) {
    const [low, high] = [y(bounded(mean - ci95)), y(bounded(mean + ci95))];
    found.unshift(svg("path", { class: "bar", d: `M${cx} ${low}V${high}M${cx - 3} ${low}h6M${cx - 3} ${high}h6`, stroke, fill: "none" }));
  }
  return found;
}

function drawFigures() {
  if (state.map) return drawMaps();
  const values = state.panels ? valuesOf(state.panels) : [undefined];
  const policies = state.differences ? page.policies.filter((policy) => policy !== page.baseline) : page.policies;
  const all = values.map((value) => policies.map((policy) => ({ policy, points: pointsOf(policy, value) })).filter(({ points }) => points.length));
  const range = rangeOfPoints(all.flat().map(({ points }) => points));
  const titles = values.map((value) => (state.panels ? `${nameOf(state.panels)} ${valueText(state.panels, value)}` : ""));
  const box = el("div", { class: values.length === 1 ? "panels stack" : "panels", "data-n": values.length }, ...titles.map((title) => el("div", {}, el("h3", {}, title))));
  const key = el("div", { class: "chips" }, ...policies.map((policy) => keyEntry(page.policies.indexOf(policy), policy)));
  document.getElementById("figures").replaceChildren(key, box);
  const width = Math.max(260, Math.floor(box.firstElementChild.clientWidth || 600));
  all.forEach((curves, i) => box.children[i].append(curves.length ? panel(curves, range, width, titles[i]) : el("p", { class: "hint" }, "Nothing was measured here.")));
}

// ---- The table

function pointColumns() {
  const { varied, measures } = page.sweep;
  const has = (of) => page.rows.some((row) => of(row) !== undefined);
  const word = (name) => ({ head: name, name, text: true, cell: (r) => r[name] ?? "", raw: (r) => r[name] ?? "" });
  const whose = ["policy", "task", "baseline"].filter((name) => has((row) => row[name])).map(word);
  const keys = varied.map((key) => ({ head: nameOf(key), name: key, cell: (r) => (r.values[key] === undefined ? "" : valueText(key, r.values[key])), raw: (r) => r.values[key] }));
  const known = measures.filter((measure) => has((row) => row.estimates[measure]));
  const numbers = known.flatMap((measure) => {
    const text = textOf(measure), of = (r) => r.estimates[measure];
    return [
      { head: nameOf(measure), name: measure, cell: (r) => text(of(r)?.mean), raw: (r) => of(r)?.mean },
      { head: "±95%", name: `${measure}_ci95`, cell: (r) => text(of(r)?.ci95), raw: (r) => of(r)?.ci95 },
    ];
  });
  return [...whose, ...keys, { head: "jobs", name: "jobs", cell: (r) => count(r.jobs), raw: (r) => r.jobs }, ...numbers];
}

// ---- All together

function drawHead({ sweep, seed, command, version, summary }) {
  const policies = page.policies.length;
  document.title = `${sweep.workload} · divvy sweep`;
  document.getElementById("title").textContent = `${sweep.workload}: sweep`;
  document.getElementById("facts").textContent = `${plural(sweep.rows.length, "row")}, ${policies === 1 ? "1 policy" : `${policies} policies`}, ` +
    `${plural(sweep.reps, "repetition")} each, seed ${seed}, divvy ${version}`;
  document.getElementById("commands").append(commandLine(command));
  section("verdict", "Verdict", "").append(el("div", { class: "card single" }, el("div", { class: "said" }, el("p", { class: "overline" }, "in short"), ...summary.map((sentence, i) => el("p", { class: i ? "summary" : "winner said-short" }, sentence)))));
  const save = button("Save the data as JSON", () => download(JSON.stringify(sweep, null, 2).replace(/"seed": [\d.e+]+/, () => `"seed": ${seed}`), "divvy-sweep.json"), { id: "save" });
  document.getElementById("footer").append(el("p", {}, `Made by divvy ${version}. The page loads nothing from elsewhere; all numbers are those of its JSON. `), save);
}

/** The key with the most values goes along the axis (of two, the one with numbers), the next is a panel each. */
function choose(sweep) {
  const numeric = (key) => valuesOf(key).every((value) => typeof value === "number");
  const length = (key) => valuesOf(key).length;
  const order = [...sweep.varied].sort((a, b) => length(b) - length(a) || numeric(b) - numeric(a));
  state.x = order[0];
  state.panels = order.slice(1).find((key) => length(key) > 1 && length(key) <= 12) ?? "";
  state.measure = sweep.measures.find((measure) => page.rows.some((row) => row.estimates[measure] !== undefined)) ?? sweep.measures[0];
}

function draw() {
  drawControls();
  drawFigures();
}

async function main() {
  const data = await readPage(), { sweep } = data;
  const policies = unique(sweep.rows.map((row) => row.policy));
  page = { sweep, rows: sweep.rows, policies, baseline: sweep.rows.find((row) => row.baseline !== undefined)?.baseline, across: new Group() };
  choose(sweep);
  drawHead(data);
  const about = `Means over ${plural(sweep.reps, "repetition")}; bands are 95% intervals of them, by Student's t. Repetitions have the same random numbers at all points.` +
    (page.baseline === undefined ? "" : ` Differences from ${page.baseline} are of repetitions with the same numbers: a band without 0 in it says that there is one.`);
  section("sweep", "Measures", about, "Figures").append(el("div", { class: "tools", id: "choices" }), el("div", { id: "figures" }));
  makeTheme(draw);
  makePrint(draw, draw);
  watchWidth(draw);
  draw();
  section("points", "All rows", "Each policy at each point. A policy that does not have what is varied has one row for all of its values, and nothing in that column.")
    .append(table("All rows", pointColumns(), page.rows, { filter: true }));
  watchSections();
  requestAnimationFrame(() => { document.documentElement.dataset.ready = "true"; });
}

orSay(main());
