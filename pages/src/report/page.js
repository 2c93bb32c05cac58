// ---- The page: what is chosen, and the sections that show it.

/** All runs of all reports, with the names that the page calls them by. */
function runsOf(data) {
  return data.sources.flatMap((source) => source.report.runs.map((run) => {
    const times = source.report.runs.filter((other) => other.policy === run.policy).length;
    run.label = [source.name, run.policy].filter(Boolean).join(": ") + (times > 1 ? ` #${run.rep + 1}` : "");
    return run;
  }));
}

const state = { shown: "all", tasks: new Set(), tail: "", picked: undefined, ownScale: false };
let page;

/** The runs that are shown: all side by side, or one. */
function shownRuns() {
  const drawn = page.drawn.length ? page.drawn : page.runs;
  return state.shown === "all" ? drawn : [drawn[state.shown]];
}

function withFigures(run) { return run.figures !== undefined; }

/** One entry a task of the workload, in order; the same name is the same task under every policy. */
function taskNames(runs) {
  return [...new Set(runs.flatMap((run) => run.figures.series.tasks.map((series) => run.tasks[series.task].name)))];
}

/** A panel a run under its name, side by side if there is room. */
function panels(runs) {
  const box = el("div", { class: runs.length === 1 ? "panels stack" : "panels" });
  box.append(...runs.map((run) => el("div", {}, el("h3", {}, run.label))));
  return { box, fill: (list) => [...box.children].forEach((place, i) => place.append(list[i])) };
}

function panelWidth(box) {
  return Math.max(260, Math.floor(box.firstElementChild.clientWidth || 600));
}

// ---- The head

function drawHead(data) {
  const reports = data.sources.map((source) => source.report);
  const title = [...new Set(reports.map((report) => report.workload))].join(", ");
  document.title = `${title} · divvy`;
  document.getElementById("title").textContent = title;
  document.getElementById("facts").textContent = reports.map((report, i) => facts(report, data.seeds[i])).join(" · ");
  document.getElementById("summary").textContent = data.summaries.filter(Boolean).map((text) => "Summary: " + text).join(" ");
  document.getElementById("commands").append(...reports.filter((r) => r.command).map((r) => commandLine(r.command)), ...reports.flatMap(quality));
  const versions = [...new Set(reports.map((report) => report.version).filter(Boolean))];
  const save = button("Save the data as JSON", () => saveJson(reports, data.seeds), { id: "save" });
  document.getElementById("footer").append(el("p", {}, `Made by divvy ${versions.join(", ")}. The page loads nothing from elsewhere; all numbers are those of its JSON. ` +
    (data.is_lean ? "Its tasks are so many that it has only what is shown of them; `--format json` has all. " : "")), save);
}

function facts(report, seed) {
  const run = report.runs[0];
  return `${plural(report.cpus, "CPU")}, ${time(run?.duration_ns)}, seed ${seed}, ${plural(run?.tasks.length ?? 0, "task")}` +
    (report.version ? `, divvy ${report.version}` : "");
}

/** How good a replayed recording is. */
function quality(report) {
  if (!report.trace) return [];
  const { grade, findings, self_replay_error: error, least_difference: least = error } = report.trace;
  const known = error === undefined ? "" : ` Error of the replay itself: ${percent(error)} of mean response; differences below ${percent(least)} mean nothing.`;
  return [el("p", { class: "note" }, `Recording: grade ${grade} of A to D. ${findings.join("; ")}${findings.length ? "." : ""}${known}`)];
}

/** The reports as divvy writes them, without what the page added. A seed may be too large for a number here. */
function saveJson(reports, seeds) {
  const strip = (key, value) => (key === "label" || key === "lanes" ? undefined : value);
  const text = JSON.stringify(reports.length === 1 ? reports[0] : reports, strip, 2);
  let next = 0;
  const exact = text.replace(/"seed": [\d.e+]+/g, () => `"seed": ${seeds[next++]}`);
  download(exact, "divvy.json");
}

function drawPolicies() {
  const drawn = page.drawn.length ? page.drawn : page.runs;
  if (drawn.length < 2) return;
  const choose = (shown) => () => { state.shown = shown; draw(); };
  const choices = [["all", "Side by side"], ...drawn.map((run, i) => [i, run.label])];
  document.getElementById("policies").replaceChildren(...choices.map(([shown, text]) =>
    button(text, choose(shown), { "aria-pressed": String(state.shown === shown), "data-shown": shown })));
}

// ---- Tables

const distribution = (head, name, of) => ["mean", "p50", "p99"].map((key) => (
  { head: `${head} ${key}`, name: `${name}_${key}_ns`, cell: (r) => time(of(r)[key]), raw: (r) => of(r)[key] }));

const RUN_COLUMNS = [
  { head: "policy", name: "policy", text: true, cell: (r) => r.label, raw: (r) => r.label },
  { head: "Jain's index", name: "jain", cell: (r) => ratio(r.jain), raw: (r) => r.jain },
  { head: "CPU used", name: "utilization", cell: (r) => percent(r.utilization), raw: (r) => r.utilization },
  { head: "switches", name: "switches", cell: (r) => count(r.switches), raw: (r) => r.switches },
  { head: "migrations", name: "migrations", cell: (r) => count(r.migrations), raw: (r) => r.migrations },
  ...distribution("response", "response", (r) => r.response_ns),
  { head: "±95%", name: "response_ci95_ns", cell: (r) => (r.deterministic ? "=" : time(r.response_ns.ci95)), raw: (r) => r.response_ns.ci95 },
  ...distribution("waiting", "wait", (r) => r.wait_ns),
  ...distribution("latency", "delay", (r) => r.wake_delay_ns),
];

const TASK_COLUMNS = [
  { head: "task", name: "task", text: true, cell: (r) => r.task.name, raw: (r) => r.task.name },
  { head: "policy", name: "policy", text: true, cell: (r) => r.run.label, raw: (r) => r.run.label },
  { head: "process", name: "process", text: true, cell: (r) => r.task.process, raw: (r) => r.task.process },
  { head: "weight", name: "weight", cell: (r) => String(r.task.weight), raw: (r) => r.task.weight },
  { head: "share", name: "share", cell: (r) => percent(r.task.share), raw: (r) => r.task.share },
  { head: "service", name: "service_ns", cell: (r) => time(r.task.service_ns), raw: (r) => r.task.service_ns },
  { head: "entitled", name: "entitled_ns", cell: (r) => time(r.task.entitled_ns), raw: (r) => r.task.entitled_ns },
  { head: "error least", name: "error_min_ns", cell: (r) => time(r.task.error_min_ns), raw: (r) => r.task.error_min_ns },
  { head: "error most", name: "error_max_ns", cell: (r) => time(r.task.error_max_ns), raw: (r) => r.task.error_max_ns },
  { head: "jobs", name: "jobs", cell: (r) => count(r.task.jobs), raw: (r) => r.task.jobs },
  ...distribution("response", "response", (r) => r.task.response_ns),
  ...distribution("waiting", "wait", (r) => r.task.wait_ns),
];

function makeComparison() {
  const exact = page.runs.some((run) => run.deterministic) ? " = marks a deterministic run: all repetitions are identical." : "";
  section("comparison", "Comparison", `Each policy over the whole run. Latency is from a wake-up to the CPU.${exact}`)
    .append(table("Comparison of policies", RUN_COLUMNS, page.runs));
}

function makeTasks() {
  const body = section("tasks", "Tasks", "What each task received, was entitled to, and how long its jobs took.");
  return () => {
    const runs = shownRuns();
    const most = Math.max(...runs.map((run) => run.tasks.length));
    const rows = [];
    for (let i = 0; i < most; i++) for (const run of runs) if (run.tasks[i]) rows.push({ run, task: run.tasks[i] });
    body.replaceChildren(table("Tasks", TASK_COLUMNS, rows, { filter: true }));
  };
}

// ---- Figures

/** The tasks whose lines are drawn. */
function chips(names) {
  const box = el("div", { class: "chips", role: "group", "aria-label": "Tasks drawn" });
  names.forEach((name, n) => {
    const toggle = el("button", { type: "button", "aria-pressed": String(state.tasks.has(name)), title: name }, swatch(n), el("span", { class: "name" }, name));
    toggle.addEventListener("click", () => {
      if (!state.tasks.delete(name)) state.tasks.add(name);
      toggle.setAttribute("aria-pressed", String(state.tasks.has(name)));
      page.drawLines();
    });
    box.append(toggle);
  });
  return box;
}

function makeLines() {
  const names = taskNames(page.drawn), lookOf = (name) => look(names.indexOf(name));
  names.slice(0, 6).forEach((name) => state.tasks.add(name));
  const all = page.drawn[0].tasks.length;
  const which = all > names.length ? `Of ${count(all)} tasks, these ${names.length} were furthest from what they were entitled to. ` : "";
  const shares = section("share", "Share of CPU time", `In each window of time: received (lines) and entitled by the fluid model (dots of the same colour). ${which}`);
  const errors = section("error", "Service error", "Received minus entitled CPU time since the start: above 0 a task is ahead. Shaded are the middle eight tenths of all tasks, thin lines the furthest.");
  shares.before(chips(names));
  if (page.drawn.length > 1) errors.before(scaleToggle());
  return () => {
    for (const [body, make] of [[shares, sharePanels], [errors, errorPanels]]) {
      const runs = shownRuns(), { box, fill } = panels(runs);
      body.replaceChildren(box, numbers("Shares and service errors", () => seriesTable(shownRuns(), state.tasks)));
      fill(make(runs, state.tasks, lookOf, panelWidth(box)));
    }
  };
}

/** Policies that differ a lot cannot be compared and read in the same picture. */
function scaleToggle() {
  const toggle = button("A scale for each policy", () => {
    state.ownScale = !state.ownScale;
    toggle.setAttribute("aria-pressed", String(state.ownScale));
    page.drawLines();
  }, { "aria-pressed": "false", id: "scale" });
  return el("div", { class: "tools" }, toggle);
}

function makeTails() {
  const body = section("tails", "Response and waiting time", "The share of jobs that took at least so long; both axes are logarithmic. Response time is from a job's start to its end; waiting time is the part of it without a CPU.");
  const key = el("div", { class: "chips" });
  const choice = el("select", { "aria-label": "Jobs of" }, el("option", { value: "" }, "Jobs of all tasks"));
  const names = [...new Set(page.drawn.filter((run) => run.figures.tasks).flatMap((run) => run.tasks.map((task) => task.name)))];
  choice.append(...names.map((name) => el("option", { value: name }, name)));
  choice.addEventListener("change", () => { state.tail = choice.value; page.drawTails(); });
  const place = el("div", {});
  body.append(el("div", { class: "tools" }, ...(names.length ? [choice] : [])), key, place);
  const lookOf = (run) => look(page.drawn.indexOf(run));
  return () => {
    const runs = shownRuns();
    key.replaceChildren(...runs.map((run) => el("span", { class: "bar" }, swatch(page.drawn.indexOf(run)), el("span", { class: "name" }, run.label))));
    const box = el("div", { class: "panels" }, el("div", {}, el("h3", {}, "Response time")), el("div", {}, el("h3", {}, "Waiting time")));
    place.replaceChildren(box, numbers("Response and waiting time", () => tailTable(shownRuns(), state.tail)));
    const width = panelWidth(box);
    ["response", "wait"].forEach((quantity, i) => box.children[i].append(tailPanel({ runs, quantity, task: state.tail, width, lookOf })));
  };
}

async function makeTimeline() {
  const runs = page.drawn.filter((run) => run.figures.timeline);
  if (!runs.length) return () => {};
  const spans = runs.map((run) => run.figures.timeline);
  const window = new Window(Math.min(...spans.map((t) => t.from_ns)), Math.max(...spans.map((t) => t.to_ns)));
  const body = section("timeline", "Timeline", timelineAbout(runs));
  const told = el("output", { "aria-live": "polite" });
  const tell = (lanes, slice, pick) => {
    if (!slice) { told.textContent = ""; return; }
    const name = lanes.run.tasks[slice.task].name;
    told.textContent = `${lanes.run.label}, CPU ${slice.cpu}: ${name} for ${time(slice.to - slice.from)}, from ${count(slice.from)} ns`;
    if (pick) pickTask(state.picked === name ? undefined : name);
  };
  const pickedIn = (run) => () => {
    const found = state.picked === undefined ? -1 : run.tasks.findIndex((task) => task.name === state.picked);
    return found < 0 ? (state.picked === undefined ? undefined : -1) : found;
  };
  const all = await Promise.all(runs.map(async (run) => new Lanes(run, await lanesOf(run), window, pickedIn(run), tell)));
  const field = el("input", { list: "names", placeholder: "Pick out a task", "aria-label": "Pick out a task", type: "search" });
  const known = new Set(runs.flatMap((run) => run.tasks.map((task) => task.name)));
  const pickTask = (name) => { state.picked = name; field.value = name ?? ""; redraw(); };
  field.addEventListener("input", () => { state.picked = known.has(field.value) ? field.value : undefined; redraw(); });
  let asked = false;
  const redraw = () => {
    if (asked) return;
    asked = true;
    requestAnimationFrame(() => { asked = false; page.drawTimelineNow(); });
  };
  const visible = () => all.filter(({ run }) => shownRuns().includes(run));
  window.watchers.push(redraw);
  const tools = el("div", { class: "tools" },
    button("+", () => window.zoom(0.5), { "aria-label": "Zoom in", id: "in" }), button("−", () => window.zoom(2), { "aria-label": "Zoom out", id: "out" }),
    button("←", () => window.pan(-0.4), { "aria-label": "Earlier", id: "left" }), button("→", () => window.pan(0.4), { "aria-label": "Later", id: "right" }),
    button("All", () => window.all(), { id: "whole" }), field, el("datalist", { id: "names" }, ...[...known].map((value) => el("option", { value }))));
  const boxes = all.map((lanes) => el("div", {}, el("h3", {}, lanes.run.label), lanes.canvas));
  body.append(tools, el("div", { class: "panels stack" }, ...boxes), told,
    el("p", { class: "hint" }, "Drag or use the arrow keys to pan, Ctrl and the wheel or + and − to zoom, N and P to step through slices, Home for all. Click a slice to pick its task out."),
    numbers("Slices in view", () => sliceTable(visible(), window)));
  page.drawTimelineNow = () => visible().forEach((lanes) => lanes.draw());
  return () => {
    boxes.forEach((box, i) => { box.hidden = !shownRuns().includes(all[i].run); });
    redraw();
  };
}

function timelineAbout(runs) {
  const parts = runs.map(({ label, figures: { timeline } }) => `${label}: ${plural(timeline.slices, "slice")}` +
    (timeline.unit_ns > 1 ? `, times rounded to ${time(timeline.unit_ns)}` : "") + (timeline.is_cut ? `, until ${time(timeline.to_ns)}, where there was no room for more` : ""));
  return `The task on each CPU over time; a pixel shows the task that filled most of it. ${parts.join("; ")}.`;
}

// ---- All together

function draw() {
  drawPolicies();
  page.drawLines?.();
  page.drawTails?.();
  page.drawTimeline?.();
  page.drawTasks?.();
}

async function main() {
  const data = await readPage();
  const runs = runsOf(data);
  page = { runs, drawn: runs.filter(withFigures) };
  drawHead(data);
  makeTheme(draw);
  makeComparison();
  if (page.drawn.length) {
    page.drawLines = makeLines();
    page.drawTails = makeTails();
    page.drawTimeline = await makeTimeline();
  } else {
    document.getElementById("main").append(el("p", { class: "note" }, "These results have no figures: `--figures` with `--format json` adds what they are drawn from, `-o x.html` draws them directly."));
  }
  page.drawTasks = makeTasks();
  makePrint(draw, () => page.drawTimelineNow?.());
  watchWidth(draw);
  draw();
  requestAnimationFrame(() => { document.documentElement.dataset.ready = "true"; });
}

orSay(main());
