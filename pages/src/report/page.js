// ---- The page of runs: what is chosen, and the sections that show it.

/** All runs of all reports, with the names that the page calls them by. */
function runsOf(data) {
  return data.sources.flatMap((source) => source.report.runs.map((run) => {
    const times = source.report.runs.filter((other) => other.policy === run.policy).length;
    run.label = [source.name, run.policy].filter(Boolean).join(": ") + (times > 1 ? ` #${run.rep + 1}` : "");
    return run;
  }));
}

const state = { shown: "all", tasks: new Set(), tail: "", ownScale: false, rows: "task" };
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
  const box = el("div", { class: runs.length === 1 ? "panels stack" : "panels", "data-n": runs.length });
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
  document.title = `${title} \u00b7 divvy`;
  document.getElementById("title").textContent = title;
  document.getElementById("facts").textContent = reports.map((report, i) => facts(report, data.seeds[i])).join(" \u00b7 ");
  document.getElementById("commands").append(...reports.filter((r) => r.command).map((r) => commandLine(r.command)), ...reports.flatMap(quality));
  const versions = [...new Set(reports.map((report) => report.version).filter(Boolean))];
  const save = button("Save the data as JSON", () => saveJson(reports, data.seeds), { id: "save" });
  document.getElementById("footer").append(el("p", {}, `Made by divvy ${versions.join(", ")}. The page loads nothing from elsewhere; all numbers are those of its JSON. ` +
    (data.is_lean ? "Its tasks are so many that it has only what is shown of them; `--format json` has all. " : "")), save);
}

function facts(report, seed) {
  const run = report.runs[0], reps = Math.max(...report.runs.map((one) => one.rep)) + 1;
  // A replay has no random numbers.
  const random = report.trace ? "" : `, seed ${seed}`;
  return `${plural(report.cpus, "CPU")}, ${time(run?.duration_ns)}${random}, ${plural(run?.tasks.length ?? 0, "task")}` +
    (reps > 1 ? `, ${reps} repetitions` : "") + (report.version ? `, divvy ${report.version}` : "");
}

/** How good a replayed recording is. */
function quality(report) {
  if (!report.trace) return [];
  const { grade, findings, self_replay_error: error, least_difference: least = error } = report.trace;
  const known = error === undefined ? "" : ` Error of the replay itself: ${percent(error)} of mean response; differences below ${percent(least)} mean nothing.`;
  return [el("p", { class: "note" }, `Recording: grade ${grade} of A to D. ${findings.map((finding) => finding.replace(/\.+$/, "") + ".").join(" ")}${known}`)];
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
  document.body.dataset.panels = shownRuns().length === 1 ? "one" : "many";
  if (drawn.length < 2) return;
  const choose = (shown) => () => { state.shown = shown; draw(); };
  const choices = [["all", "Side by side"], ...drawn.map((run, i) => [i, run.label])];
  document.getElementById("policies").replaceChildren(...choices.map(([shown, text]) =>
    button(text, choose(shown), { "aria-pressed": String(state.shown === shown), "data-shown": shown })));
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

function makeLines(place) {
  const names = taskNames(page.drawn), numberOf = (name) => names.indexOf(name);
  names.slice(0, HUES).forEach((name) => state.tasks.add(name));
  const all = page.drawn[0].tasks.length;
  const which = all > names.length ? `Of ${count(all)} tasks, these ${names.length} were furthest from what they were entitled to. ` : "";
  const shares = section("share", "Share of CPU time", `In each window of time: received (lines) and entitled by the fluid model (dots of the same colour). ${which}`, "Share", place);
  const errors = section("error", "Service error", "Received minus entitled CPU time since the start: above 0 a task is ahead. Shaded are the middle eight tenths of all tasks, thin lines the furthest.", "Error", place);
  shares.before(chips(names));
  if (page.drawn.length > 1) errors.before(scaleToggle());
  page.times = new Zoom(() => page.drawLines());
  return () => {
    for (const [body, make] of [[shares, sharePanels], [errors, errorPanels]]) {
      const runs = shownRuns(), { box, fill } = panels(runs);
      body.replaceChildren(box, numbers("Shares and service errors", () => seriesTable(shownRuns(), state.tasks)));
      fill(make(runs, state.tasks, numberOf, panelWidth(box)));
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

function makeTails(place) {
  const body = section("tails", "Response and waiting time", "The share of jobs that took at least so long; both axes are logarithmic. Response time (textbooks: turnaround) is from a job's start to its end; waiting time is the part of it without a CPU. Jobs that took no time at all are left of the axis.", "Response", place);
  const key = el("div", { class: "chips" });
  const names = [...new Set(page.drawn.filter((run) => run.figures.tasks).flatMap((run) => run.tasks.map((task) => task.name)))];
  const choice = selector("Jobs of", [["", "all tasks"], ...names.map((name) => [name, name])], "", (value) => { state.tail = value; page.drawTails(); });
  const panelPlace = el("div", {});
  body.append(el("div", { class: "tools" }, ...(names.length > 1 ? [choice] : [])), key, panelPlace);
  const numberOf = (run) => page.drawn.indexOf(run);
  page.tails = { response: new Zoom(() => page.drawTails()), wait: new Zoom(() => page.drawTails()) };
  return () => {
    const runs = shownRuns();
    key.replaceChildren(...runs.map((run) => keyEntry(numberOf(run), run.label)));
    const box = el("div", { class: "panels" }, ...Object.values(QUANTITIES).map((name) => el("div", {}, el("h3", {}, name))));
    panelPlace.replaceChildren(box, numbers("Response and waiting time", () => tailTable(shownRuns(), state.tail)));
    const width = panelWidth(box);
    Object.keys(QUANTITIES).forEach((quantity, i) => box.children[i].append(tailPanel({ runs, quantity, task: state.tail, width, numberOf })));
  };
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
  page = { runs, drawn: runs.filter(withFigures), clock: new Group(), durations: new Group() };
  drawHead(data);
  makeTheme(draw);
  makeVerdict(data);
  makeComparison(data);
  if (page.drawn.length) {
    const figures = document.getElementById("main").appendChild(el("div", { class: "figures" }));
    page.drawLines = makeLines(figures);
    if (page.drawn.some((run) => run.figures.response.value_ns.some((value) => value > 0))) page.drawTails = makeTails(figures);
    page.drawTimeline = await makeTimeline();
  } else {
    document.getElementById("main").append(el("p", { class: "note" }, "These results have no figures: `--figures` with `--format json` adds what they are drawn from, `-o x.html` draws them directly."));
  }
  page.drawTasks = makeTasks(data);
  makePrint(draw, () => page.drawTimelineNow?.());
  watchWidth(draw);
  draw();
  watchSections();
  requestAnimationFrame(() => { document.documentElement.dataset.ready = "true"; });
}

orSay(main());
