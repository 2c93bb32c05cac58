// ---- What is chosen, and the sections of figures that show it.

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

function drawPolicies() {
  const drawn = page.drawn.length ? page.drawn : page.runs;
  document.body.dataset.panels = shownRuns().length === 1 ? "one" : "many";
  if (drawn.length < 2) return;
  const choose = (shown) => () => { state.shown = shown; draw(); };
  const choices = [["all", "Side by side"], ...drawn.map((run, i) => [i, run.label])];
  document.getElementById("policies").replaceChildren(...choices.map(([shown, text]) =>
    button(text, choose(shown), { "aria-pressed": String(state.shown === shown), "data-shown": shown })));
}

/** A report in a line. */
function facts(report, seed) {
  const run = report.runs[0], reps = Math.max(...report.runs.map((one) => one.rep)) + 1;
  // A replay has no random numbers.
  const random = report.trace ? "" : `, seed ${seed}`;
  return `${plural(report.cpus, "CPU")}, ${time(run?.duration_ns)}${random}, ${plural(run?.tasks.length ?? 0, "task")}` +
    (reps > 1 ? `, ${reps} repetitions` : "") + (report.version ? `, divvy ${report.version}` : "");
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
  if (!names.some((name) => state.tasks.has(name))) names.slice(0, HUES).forEach((name) => state.tasks.add(name));
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

