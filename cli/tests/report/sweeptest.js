// Uses the page of a sweep.

/** Back from pixels: every point of every curve is a mean of the JSON, and bands end where intervals do. */
function curvesAreTheNumbers(sweep, measure, fits) {
  all("#figures svg.plot").forEach((panel, place) => {
    const { y0, y1, top, bottom } = panel.dataset;
    const value = (py) => +y0 + (+bottom - py) / (bottom - top) * (y1 - y0), pixel = (y1 - y0) / (bottom - top) / 50;
    const bands = [...panel.querySelectorAll("path.interval")];
    [...panel.querySelectorAll("path.line")].forEach((line, i) => {
      const rows = sweep.rows.filter((row) => row.policy === line.dataset.policy && fits(row, place));
      const heights = (path) => path.getAttribute("d").match(/[ML][\d.-]+ [\d.-]+/g).map((text) => value(Number(text.split(" ")[1])));
      const drawn = heights(line), means = rows.map((row) => row.estimates[measure].mean);
      const near = (list, wanted) => list.every((value, i) => Math.abs(value - wanted[i]) <= pixel);
      expect(drawn.length === means.length && near(drawn, means), `${line.dataset.policy} in panel ${place}: drawn ${drawn}, is ${means}`);
      const upper = rows.map((row) => row.estimates[measure].mean + row.estimates[measure].ci95);
      expect(near(heights(bands[i]).slice(0, upper.length), upper), `${line.dataset.policy}: the band is not the interval`);
    });
  });
}

function choose(label, text) {
  const field = all("select").find((select) => select.getAttribute("aria-label") === label);
  const option = [...field.options].find((option) => option.textContent === text);
  expect(option !== undefined, `${label} has no ${text}`);
  field.value = option?.value;
  field.dispatchEvent(new Event("change"));
}

/** Every cell of every map is a mean of the JSON, the darker (in the dark: the lighter) the greater, and the keyboard reads it out. */
function mapsAreTheNumbers(sweep, measure) {
  const maps = all("#figures svg.heat"), numbers = (key) => [...new Set(sweep.rows.map((row) => row.values[key]).filter((value) => value !== undefined))];
  const loads = numbers("load"), alphas = numbers("alpha"), policies = all("#figures h3").map((head) => head.textContent);
  expect(maps.length === policies.length && maps.length > 1, `${maps.length} maps`);
  maps.forEach((map, i) => {
    const cells = [...map.querySelectorAll("rect.heat")];
    expect(cells.length === loads.length * alphas.length, `${cells.length} cells under ${policies[i]}`);
    for (const cell of cells) {
      const row = sweep.rows.find(({ policy, task, baseline, values }) => policy === policies[i] && task === undefined && baseline === undefined &&
        values.load === loads[cell.dataset.x] && (values.alpha === undefined || values.alpha === alphas[cell.dataset.y]));
      expect(Number(cell.dataset.mean) === row.estimates[measure].mean, `a cell of ${policies[i]} is ${cell.dataset.mean}`);
    }
  });
  const cells = maps.flatMap((map) => [...map.querySelectorAll("rect.heat")]).sort((a, b) => a.dataset.mean - b.dataset.mean);
  expect(cells[0].getAttribute("fill") !== cells.at(-1).getAttribute("fill"), "the least and the greatest have one colour");
  maps[0].dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight", bubbles: true, cancelable: true }));
  expect(/^load [\d.]+, alpha \d+: [\d.]+\w+ \u00b1 /.test(one("#figures output").textContent), `a map reads ${one("#figures output").textContent}`);
}

/** A pointer reads a cell out, a map and a plot become files, and so do the rows. */
async function pointsAndSaves(sweep, seed) {
  const cell = all("#figures rect.heat").at(-1), told = cell.closest(".plotbox").querySelector("output");
  cell.dispatchEvent(new PointerEvent("pointermove", { bubbles: true }));
  expect(told.textContent.startsWith("load "), `the pointer reads ${told.textContent}`);
  for (const save of [...cell.closest(".plotbox").querySelectorAll("button.save")]) {
    const [{ name, blob }] = await filesOf(() => save.click());
    expect(blob.size > 1000 && name.endsWith(save.textContent.toLowerCase()), `${name} has ${blob.size} bytes`);
    if (save.textContent !== "SVG") continue;
    const text = await blob.text();
    expect(text.includes(cell.getAttribute("fill")) || text.match(/fill="rgb/), "the map's file has no colours");
  }
  const [{ name, blob }] = await filesOf(() => one("#save").click()), saved = await blob.text();
  expect(name === "divvy-sweep.json" && saved.includes(`"seed": ${seed}`) && JSON.parse(saved).rows.length === sweep.rows.length, "the saved rows are others");
  const copied = [];
  navigator.clipboard.writeText = async (text) => { copied.push(text); };
  one("#points button.csv").click();
  expect(await comes(() => copied.length > 0) && copied[0].trim().split("\n").length === sweep.rows.length + 1, "the copied rows are others");
  const head = () => all("#points thead th").find((th) => th.textContent.startsWith("jobs"));
  head().querySelector("button").click();
  expect(head().getAttribute("aria-sort") === "descending", "the rows are not sorted");
  head().querySelector("button").click();
  head().querySelector("button").click();
}

tell(async () => {
  await opened();
  const { sweep, seed, summary } = await readData();
  expect(all("#verdict .said p").slice(1).map((p) => p.textContent).join() === summary.join() && summary.length === 2, "the card is not the summary");
  expect(all("#figures svg.plot").every((plot) => [...plot.querySelectorAll("text.title")].map((text) => text.textContent).join().includes("load")), "the axis is not the key with most values");
  const alphas = [0, 1, 4], alpha = (row, place) => row.values.alpha === undefined || row.values.alpha === alphas[place];
  const plain = (row) => row.baseline === undefined && row.task === undefined;
  expect(all("#figures svg.plot").length === 3, "a panel for each alpha");
  expect(one("h1").textContent.includes("queue.toml") && one("#commands code").textContent.startsWith("divvy "), "the head");
  curvesAreTheNumbers(sweep, "response_mean_ns", (row, place) => plain(row) && alpha(row, place));
  hasTextAlternatives();
  choose("Measure", "wait mean");
  choose("Jobs of", "request");
  curvesAreTheNumbers(sweep, "wait_mean_ns", (row, place) => row.baseline === undefined && row.task === "request" && alpha(row, place));
  choose("Jobs of", "all tasks");
  one("#differences").click();
  curvesAreTheNumbers(sweep, "wait_mean_ns", (row, place) => row.baseline === "rr" && row.task === undefined && alpha(row, place));
  expect(all("#figures path.line").every((line) => line.dataset.policy !== "rr"), "rr differs from itself");
  expect(all("#figures line.zero").length === 3, "differences have no 0");
  one("#differences").click();
  one("#map").click();
  mapsAreTheNumbers(sweep, "wait_mean_ns");
  await pointsAndSaves(sweep, seed);
  hasTextAlternatives();
  one("#map").click();
  expect(all("#figures path.bar").length > 0, "points have no bars of their intervals");
  choose("A panel for each", "none");
  expect(all("#figures svg.plot").length === 1 && all("select").some((s) => s.getAttribute("aria-label") === "alpha"), "alpha is chosen");
  one("#logy").click();
  expect(one("#figures svg.plot").dataset.log === "true" && one("#logy").getAttribute("aria-pressed") === "true", "a logarithmic axis");
  const places = () => [...one("#figures path.line").getAttribute("d").matchAll(/[ML]([\d.]+) /g)].map(([, x]) => Number(x)), linear = places();
  one("#logx").click();
  const between = places().slice(1).map((x, i) => x - places()[i]);
  expect(between[0] > between.at(-1) * 1.3 && Math.abs(linear[1] - linear[0] - (linear[2] - linear[1])) < 0.1, `across, loads 0.2 apart are ${between} apart on a logarithmic axis`);
  choose("Along the axis", "alpha");
  const plot = one("#figures svg.plot");
  plot.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight", bubbles: true, cancelable: true }));
  expect(/alpha 0: .*pbs .*±.*; .*rr /.test(one("#figures output").textContent), `the keyboard reads ${one("#figures output").textContent}`);
  expect(all("#points tbody tr").length === sweep.rows.length, "a row for each point");
  expect(one("#points button.csv") !== null, "CSV to copy");
  await switchesTheme();
  hasTextAlternatives();
});
