// ---- Sweeps: a measure along one of what is varied, a panel for each value of another, a curve a policy.

let page;
const state = { measure: undefined, x: undefined, panels: "", fixed: {}, task: "", differences: false, logX: false, logY: false };

/** How numbers of a measure read. */
function textOf(measure) {
  if (measure.endsWith("_ns")) return time;
  return measure === "utilization" ? (value) => (value === undefined ? "-" : digits(100 * value) + "%") : ratio;
}

/** The shown name of a measure or a key. */
function nameOf(column) {
  return column.replace(/_ns$/, "").replaceAll("_", " ");
}

function valueText(key, value) {
  return key.endsWith("_ns") && typeof value === "number" ? time(value) : String(value);
}

/** All values of a key, in the order of the points. */
function valuesOf(key) {
  return [...new Set(page.rows.map((row) => row.values[key]).filter((value) => value !== undefined))];
}

function unique(list) { return [...new Set(list)]; }

// ---- What is chosen

/** Keys that are neither along the axis nor a panel each: one value of each is shown. */
function otherKeys() {
  return page.sweep.varied.filter((key) => key !== state.x && key !== state.panels);
}

/** Rows of a policy in a panel, by their place on the axis. A policy without a key is the same for all of its values. */
function pointsOf(policy, panelValue) {
  const wanted = { ...state.fixed, [state.panels]: panelValue };
  const fits = (row) => page.sweep.varied.every((key) => key === state.x || row.values[key] === undefined || row.values[key] === wanted[key]);
  const rows = page.rows.filter((row) => row.policy === policy && (row.task ?? "") === state.task &&
    (row.baseline !== undefined) === state.differences && row.estimates[state.measure] !== undefined && fits(row));
  const xs = valuesOf(state.x);
  const whole = rows.find((row) => row.values[state.x] === undefined);
  return xs.map((x, i) => ({ x, i, estimate: (whole ?? rows.find((row) => row.values[state.x] === x))?.estimates[state.measure] }))
    .filter(({ estimate }) => estimate !== undefined);
}

function selector(label, choices, chosen, onchange) {
  const field = el("select", { "aria-label": label }, ...choices.map(([value, text]) => el("option", { value, selected: value === chosen }, text)));
  field.addEventListener("change", () => { onchange(field.value); draw(); });
  return el("label", { class: "field" }, el("span", {}, label), field);
}

function toggle(text, key, id) {
  return button(text, () => { state[key] = !state[key]; draw(); }, { "aria-pressed": String(state[key]), id });
}

function drawControls() {
  const { measures, varied } = page.sweep;
  const keys = varied.map((key) => [key, nameOf(key)]);
  const known = measures.filter((measure) => page.rows.some((row) => row.estimates[measure] !== undefined));
  const fields = [selector("Measure", known.map((m) => [m, nameOf(m)]), state.measure, (value) => { state.measure = value; })];
  if (varied.length > 1) {
    fields.push(selector("Along the axis", keys, state.x, (value) => { state.x = value; if (state.panels === value) state.panels = ""; }));
    const panels = [["", "none"], ...keys.filter(([key]) => key !== state.x)];
    fields.push(selector("A panel for each", panels, state.panels, (value) => { state.panels = value; }));
  }
  for (const key of otherKeys()) {
    const values = valuesOf(key);
    if (!values.includes(state.fixed[key])) state.fixed[key] = values[0];
    const choices = values.map((value, i) => [String(i), valueText(key, value)]);
    fields.push(selector(nameOf(key), choices, String(values.indexOf(state.fixed[key])), (i) => { state.fixed[key] = values[i]; }));
  }
  const tasks = unique(page.rows.map((row) => row.task).filter(Boolean));
  if (tasks.length) {
    fields.push(selector("Jobs of", [["", "all tasks"], ...tasks.map((task) => [task, task])], state.task, (value) => { state.task = value; }));
  }
  if (page.baseline !== undefined) fields.push(toggle(`Differences from ${page.baseline}`, "differences", "differences"));
  const positive = valuesOf(state.x).every((x) => typeof x === "number" && x > 0);
  if (positive) fields.push(toggle("Logarithmic across", "logX", "logx")); else state.logX = false;
  if (!state.differences) fields.push(toggle("Logarithmic up", "logY", "logy"));
  document.getElementById("choices").replaceChildren(...fields);
}

// ---- Figures

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
    return { of: (i) => xs[i], scale, places, text: (value) => short(text(value)) };
  }
  const pad = (edges.right - edges.left) / (2 * xs.length);
  const scale = linear(0, Math.max(1, xs.length - 1), edges.left + pad, edges.right - pad);
  return { of: (i) => i, scale, places: xs.map((_, i) => i), text: (i) => text(xs[i]) };
}

function panel(curves, [low, high], width, title) {
  const edges = area(width, HEIGHT), across = acrossScale(edges, width), text = textOf(state.measure);
  const isLog = state.logY && !state.differences;
  const y = (isLog ? logarithmic : linear)(low, high, edges.bottom, edges.top);
  const places = isLog && decades(low, high, 6).length > 1 ? decades(low, high, 6) : ticks(low, high, 5);
  const what = `${state.differences ? `Differences from ${page.baseline} of ` : ""}${nameOf(state.measure)}`;
  const root = frame({
    width, height: HEIGHT, x: { ...edges, scale: across.scale }, y: { ...edges, scale: y }, xTicks: across.places, yTicks: places,
    xText: (value) => across.text(value), yText: text, xTitle: nameOf(state.x),
    label: `${what} by ${nameOf(state.x)}${title ? `, ${title}` : ""}, a curve a policy, with 95% intervals. Arrow keys read it out.`,
  });
  root.setAttribute("height", HEIGHT + 6);
  root.setAttribute("viewBox", `0 0 ${width} ${HEIGHT + 6}`);
  Object.assign(root.dataset, { y0: low, y1: high, top: edges.top, bottom: edges.bottom, log: String(isLog) });
  const bounded = (value) => (isLog ? Math.max(value, low) : value);
  for (const { policy, points } of curves) {
    const xs = points.map(({ i }) => across.of(i)), known = points.filter(({ estimate }) => estimate.ci95 !== undefined);
    const edge = (sign, list) => path(list.map(({ i }) => across.of(i)), list.map(({ estimate: { mean, ci95 } }) => bounded(mean + sign * ci95)), across.scale, y);
    const style = look(page.policies.indexOf(policy));
    if (known.length > 1) root.append(svg("path", { class: "interval", d: edge(1, known) + edge(-1, [...known].reverse()).replace(/^M/, "L") + "Z", fill: style.stroke }));
    root.append(svg("path", { class: "line", d: path(xs, points.map(({ estimate }) => bounded(estimate.mean)), across.scale, y), ...style, "data-policy": policy }));
    if (points.length <= 40) root.append(...points.flatMap((point) => dot(point, across, y, bounded, style.stroke, known.length < 2)));
  }
  if (state.differences) root.append(svg("line", { class: "zero", x1: edges.left, x2: edges.right, y1: y(0), y2: y(0) }));
  const n = valuesOf(state.x).length;
  const told = (i) => `${nameOf(state.x)} ${valueText(state.x, valuesOf(state.x)[i])}: ` + curves.map(({ policy, points }) => {
    const estimate = points.find((point) => point.i === i)?.estimate;
    return `${policy} ${estimate ? `${text(estimate.mean)}${estimate.ci95 === undefined ? "" : ` ± ${text(estimate.ci95)}`}` : "-"}`;
  }).join("; ");
  return el("div", { class: "plotbox" }, root, reader(root, across.scale, edges, n, across.of, told));
}

/** A point; with its interval where no band can show it. */
function dot({ i, estimate: { mean, ci95 } }, across, y, bounded, stroke, alone) {
  const cx = across.scale(across.of(i));
  const found = [svg("circle", { class: "dot", cx, cy: y(bounded(mean)), r: 2.4, fill: stroke })];
  if (alone && ci95 !== undefined) found.unshift(svg("line", { x1: cx, x2: cx, y1: y(bounded(mean - ci95)), y2: y(bounded(mean + ci95)), stroke }));
  return found;
}

function drawFigures() {
  const values = state.panels ? valuesOf(state.panels) : [undefined];
  const policies = state.differences ? page.policies.filter((policy) => policy !== page.baseline) : page.policies;
  const all = values.map((value) => policies.map((policy) => ({ policy, points: pointsOf(policy, value) })).filter(({ points }) => points.length));
  const range = rangeOfPoints(all.flat().map(({ points }) => points));
  const titles = values.map((value) => (state.panels ? `${nameOf(state.panels)} ${valueText(state.panels, value)}` : ""));
  const box = el("div", { class: values.length === 1 ? "panels stack" : "panels" }, ...titles.map((title) => el("div", {}, el("h3", {}, title))));
  const key = el("div", { class: "chips" }, ...policies.map((policy) => el("span", { class: "bar" }, swatch(page.policies.indexOf(policy)), el("span", { class: "name" }, policy))));
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

function drawHead({ sweep, seed, command, version }) {
  const policies = page.policies.length;
  document.title = `${sweep.workload} · divvy sweep`;
  document.getElementById("title").textContent = `${sweep.workload}: sweep`;
  document.getElementById("facts").textContent = `${plural(sweep.rows.length, "row")}, ${policies === 1 ? "1 policy" : `${policies} policies`}, ` +
    `${plural(sweep.reps, "repetition")} each, seed ${seed}, divvy ${version}`;
  document.getElementById("commands").append(commandLine(command));
  const save = button("Save the data as JSON", () => download(JSON.stringify(sweep, null, 2).replace(/"seed": [\d.e+]+/, () => `"seed": ${seed}`), "divvy-sweep.json"), { id: "save" });
  document.getElementById("footer").append(el("p", {}, `Made by divvy ${version}. The page loads nothing from elsewhere; all numbers are those of its JSON. `), save);
}

/** The key with the most values that are numbers goes along the axis, the next is a panel each. */
function choose(sweep) {
  const numeric = (key) => valuesOf(key).every((value) => typeof value === "number");
  const length = (key) => valuesOf(key).length;
  const order = [...sweep.varied].sort((a, b) => numeric(b) - numeric(a) || length(b) - length(a));
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
  page = { sweep, rows: sweep.rows, policies, baseline: sweep.rows.find((row) => row.baseline !== undefined)?.baseline };
  choose(sweep);
  drawHead(data);
  const about = `Means over ${plural(sweep.reps, "repetition")}; bands are 95% intervals of them, by Student's t. Repetitions have the same random numbers at all points.` +
    (page.baseline === undefined ? "" : ` Differences from ${page.baseline} are of repetitions with the same numbers: a band without 0 in it says that there is one.`);
  section("sweep", "Measures", about).append(el("div", { class: "tools", id: "choices" }), el("div", { id: "figures" }));
  makeTheme(draw);
  makePrint(draw, draw);
  watchWidth(draw);
  draw();
  section("points", "All rows", "Each policy at each point. A policy that does not have what is varied has one row for all of its values, and nothing in that column.")
    .append(table("All rows", pointColumns(), page.rows, { filter: true }));
  requestAnimationFrame(() => { document.documentElement.dataset.ready = "true"; });
}

orSay(main());
