// ---- The points of a sweep: which of them are shown.

let page;
const state = { measure: undefined, x: undefined, panels: "", fixed: {}, task: "", differences: false, logX: false, logY: false, map: false };

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

// ---- Controls

function chooser(label, choices, chosen, onchange) {
  return selector(label, choices, chosen, (value) => { onchange(value); draw(); });
}

function toggle(text, key, id) {
  return button(text, () => { state[key] = !state[key]; draw(); }, { "aria-pressed": String(state[key]), id });
}

function drawControls() {
  const { measures, varied } = page.sweep;
  const keys = varied.map((key) => [key, nameOf(key)]);
  const known = measures.filter((measure) => page.rows.some((row) => row.estimates[measure] !== undefined));
  const fields = [chooser("Measure", known.map((m) => [m, nameOf(m)]), state.measure, (value) => { state.measure = value; })];
  if (varied.length > 1) {
    fields.unshift(toggle("Heat map", "map", "map"));
    fields.push(chooser("Along the axis", keys, state.x, (value) => { state.x = value; if (state.panels === value) state.panels = ""; }));
    const others = keys.filter(([key]) => key !== state.x);
    // A map has no place for a third key.
    if (state.map && !state.panels) state.panels = others[0][0];
    const panels = state.map ? others : [["", "none"], ...others];
    fields.push(chooser(state.map ? "Upwards" : "A panel for each", panels, state.panels, (value) => { state.panels = value; }));
  }
  for (const key of otherKeys()) {
    const values = valuesOf(key);
    if (!values.includes(state.fixed[key])) state.fixed[key] = values[0];
    const choices = values.map((value, i) => [String(i), valueText(key, value)]);
    fields.push(chooser(nameOf(key), choices, String(values.indexOf(state.fixed[key])), (i) => { state.fixed[key] = values[i]; }));
  }
  const tasks = unique(page.rows.map((row) => row.task).filter(Boolean));
  if (tasks.length) {
    fields.push(chooser("Jobs of", [["", "all tasks"], ...tasks.map((task) => [task, task])], state.task, (value) => { state.task = value; }));
  }
  if (page.baseline !== undefined) fields.push(toggle(`Differences from ${page.baseline}`, "differences", "differences"));
  const positive = valuesOf(state.x).every((x) => typeof x === "number" && x > 0);
  if (!positive) state.logX = false;
  if (!state.map && positive) fields.push(toggle("Logarithmic across", "logX", "logx"));
  if (!state.map && !state.differences) fields.push(toggle("Logarithmic up", "logY", "logy"));
  document.getElementById("choices").replaceChildren(...fields);
}
