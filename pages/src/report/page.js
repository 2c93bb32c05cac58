// ---- The page of runs: its head, and the sections in their order.

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
