// ---- The studio: draws an answer, or the problem.

const studio = { policies: [], edits: new Map(), step: {}, viewer: Math.floor(Math.random() * 2 ** 52) };

/** Says beside the question why it has no answer. The figures of the last answer stay, faintly. */
function drawProblem({ message, help, line, column, width, excerpt, policy }) {
  const place = document.getElementById("problem"), isText = line !== undefined;
  const where = isText ? [button(`Line ${line}, column ${column}`, () => select(line, column, width), { class: "link" }), ": "] : [];
  const marked = excerpt ? [el("pre", {}, `${excerpt}\n${" ".repeat(column - 1)}${"^".repeat(width)}`)] : [];
  place.replaceChildren(...where, ...prose(message), ...marked, ...(help ? [el("p", {}, ...prose(help))] : []));
  place.className = "is-on";
  set(studio.text, { "aria-invalid": String(isText) }, []);
  [...studio.boxes.querySelectorAll("input[type=text]")].forEach((field, i) => set(field, { "aria-invalid": String(i === policy) }, []));
  document.getElementById("main").className = "is-old";
}

/** Selects what an error means in the text. */
function select(line, column, width) {
  const lines = studio.text.value.split("\n"), start = lines.slice(0, line - 1).reduce((sum, text) => sum + text.length + 1, 0);
  // Columns count characters, a text field counts halves of some of them.
  const before = [...(lines[line - 1] ?? "")].slice(0, column - 1).join("").length;
  studio.text.focus();
  studio.text.setSelectionRange(start + before, start + before + width);
}

function clearProblem() {
  Object.assign(document.getElementById("problem"), { className: "", textContent: "" });
  for (const field of [studio.text, ...studio.boxes.querySelectorAll("input[type=text]")]) set(field, { "aria-invalid": "false" }, []);
  document.getElementById("main").className = "";
}

/** All sections anew, at the part of the page and of the time that were looked at. */
async function drawAnswer({ data, steps, knobs, milliseconds }) {
  const main = document.getElementById("main"), former = page?.window;
  main.style.minHeight = `${main.offsetHeight}px`;
  main.replaceChildren();
  document.getElementById("nav").replaceChildren();
  document.getElementById("policies").replaceChildren();
  clearProblem();
  const runs = runsOf(data);
  page = { runs, drawn: runs.filter(withFigures), clock: new Group(), durations: new Group() };
  if (state.shown !== "all" && !runs[state.shown]) state.shown = "all";
  const [report] = data.sources.map((source) => source.report);
  document.getElementById("title").textContent = report.workload;
  document.getElementById("facts").textContent = `${facts(report, data.seeds[0])}, answered in ${milliseconds} ms`;
  makeComparison(data);
  const figures = main.appendChild(el("div", { class: "figures" }));
  page.drawLines = makeLines(figures);
  if (runs.some((run) => run.figures.response.value_ns.some((value) => value > 0))) page.drawTails = makeTails(figures);
  const timeline = makeTimeline();
  page.drawTimeline = await timeline;
  makeSteps(steps);
  page.drawTasks = makeTasks(data);
  keepWindow(former);
  draw();
  drawWorkloadKnobs({ knobs });
  main.style.minHeight = "";
  history.replaceState(null, "", hashOf(asked));
  document.documentElement.dataset.ready = "true";
}

/** The timeline shows what the former one showed, if that was moved and is still there. */
function keepWindow(former) {
  const { window } = page;
  if (!former || !window) return;
  const moved = former.from !== former.first || former.to - former.from !== Math.min(READABLE_NS, former.last - former.first);
  if (moved && former.from < window.last) window.show(former.from, former.span);
}

async function main() {
  const start = await readPage();
  studio.policies = start.policies;
  asked = stateOfHash(location.hash) ?? start.state;
  document.getElementById("footer").append(el("p", {}, `divvy ${start.version}. The page keeps nothing: the address has the whole state, and the server that of one run.`));
  drawAsked();
  makeTheme(() => { if (page) draw(); });
  makePrint(() => { if (page) draw(); }, () => page?.drawTimelineNow?.());
  watchWidth(() => { if (page) draw(); });
  addEventListener("hashchange", () => {
    const given = stateOfHash(location.hash);
    if (!given || hashOf(given) === hashOf(asked)) return;
    asked = given;
    drawAsked();
    changed();
  });
  changed();
}

orSay(main());
