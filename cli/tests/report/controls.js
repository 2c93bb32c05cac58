// Uses what a reader of the report of runs can press besides what selftest.js looks at.

/** The file has the timeline that is seen: at each place of CPU 0 the colour of the task that ran there, by the JSON's slices. */
async function savesTheTimeline(run) {
  const [cpu] = run.figures.timeline.cpus, { from_ns: begin, unit_ns: unit } = run.figures.timeline;
  const [gaps, lengths, tasks] = await Promise.all([cpu.gaps, cpu.lengths, cpu.tasks].map(columnNumbers));
  const slices = [];
  let at = 0;
  gaps.forEach((gap, i) => {
    const from = begin + (at += gap) * unit, to = begin + (at += lengths[i]) * unit;
    slices.push({ from, to, name: run.tasks[tasks[i]].name });
  });
  one("#opening").click();
  await pause();
  if (one("#marks").getAttribute("aria-pressed") === "true") one("#marks").click();
  pick("Colours", "task", one("#timeline"));
  await pause();
  const [saved] = await filesOf(() => one('#timeline button.save[aria-label^="Save as SVG"]').click());
  const text = await saved.blob.text(), parsed = new DOMParser().parseFromString(text, "image/svg+xml");
  expect(saved.name.endsWith(".svg") && parsed.querySelector("parsererror") === null, "the timeline's file is no SVG");
  expect(!text.includes("var(") && !text.includes("class="), "the timeline's file needs the page's style");
  const drawing = parsed.querySelector("svg[data-from-ns]"), { fromNs, toNs, left, right } = drawing.dataset;
  const timeAt = (x) => +fromNs + (x - left) / (right - left) * (toNs - fromNs), pixel = (toNs - fromNs) / (right - left);
  // The legend tells the tasks' colours.
  const colors = new Map([...parsed.documentElement.children].filter((one) => one.localName === "rect" && one.nextElementSibling?.localName === "text" && one.getAttribute("height") === "11")
    .map((one) => [one.nextElementSibling.textContent, one.getAttribute("fill")]));
  const pieces = [...drawing.querySelectorAll("path")].flatMap((path) => [...path.getAttribute("d").matchAll(/M([\d.-]+) 2h([\d.]+)v/g)]
    .map(([, x, wide]) => ({ from: +x, to: +x + +wide, fill: path.getAttribute("fill") })));
  let compared = 0;
  for (const { from, to, name } of slices) {
    if (from < fromNs || to > toNs || to - from < 3 * pixel || !colors.has(name)) continue;
    const middle = +left + ((from + to) / 2 - fromNs) / (toNs - fromNs) * (right - left);
    const piece = pieces.findLast((one) => one.from <= middle && middle <= one.to);
    expect(piece?.fill === colors.get(name), `the file shows ${piece?.fill} at ${timeAt(middle)} ns, where ${name} runs in ${colors.get(name)}`);
    compared++;
  }
  const wide = slices.filter(({ from, to, name }) => from >= fromNs && to <= toNs && to - from >= 3 * pixel && colors.has(name)).length;
  expect(compared === wide && drawing.querySelectorAll("text").length > 2, "the file has no names or no axis");
  const [png] = await filesOf(() => one('#timeline button.save[aria-label^="Save as PNG"]').click());
  expect(png.blob.type === "image/png" && png.blob.size > 1000, `a PNG of ${png.blob.size} bytes`);
  one("#marks").click();
  await pause();
}

/** Two fingers: as far apart again is half the time, and what was between them stays there. */
async function pinches(canvas) {
  const box = canvas.getBoundingClientRect(), y = box.top + 4;
  const finger = (type, pointerId, x) => canvas.dispatchEvent(new PointerEvent(type, { clientX: x, clientY: y, pointerId, pointerType: "touch", isPrimary: pointerId === 11, bubbles: true }));
  const shown = () => canvas.getAttribute("aria-label").match(/from (.*) to (.*?)\. /).slice(1).map((word) => parseFloat(word) * { ns: 1, us: 1e3, ms: 1e6, s: 1e9 }[word.match(/[a-z]+$/)?.[0] ?? "ns"]);
  canvas.setPointerCapture = () => {};
  one("#whole").click();
  await pause();
  for (let i = 0; i < 2; i++) { one("#in").click(); await pause(); }
  const gutter = 46, middle = Math.round(box.left + gutter + (box.width - gutter) / 2), [from, to] = shown();
  finger("pointerdown", 11, middle - 40);
  finger("pointerdown", 12, middle + 40);
  for (let by = 42; by <= 80; by += 2) { finger("pointermove", 11, middle - by); finger("pointermove", 12, middle + by); }
  await pause();
  const [from2, to2] = shown(), half = (to - from) / 2;
  expect(Math.abs(to2 - from2 - half) < 0.03 * half, `pinching shows ${to2 - from2} ns of ${to - from}`);
  expect(Math.abs(from2 + to2 - from - to) < 0.06 * (to - from), `pinching moved the middle from ${(from + to) / 2} to ${(from2 + to2) / 2}`);
  expect(one("#timeline input[type=search]").value === "", "a pinch is no click");
  // One finger is lifted, and the other drags on from where it is.
  finger("pointerup", 12, middle + 80);
  finger("pointermove", 11, middle - 40);
  await pause();
  const [from3, to3] = shown();
  expect(from3 < from2 && Math.abs(to3 - from3 - (to2 - from2)) < 0.03 * half, "the other finger does not drag on");
  finger("pointercancel", 11, middle - 40);
  finger("pointermove", 11, middle + 90);
  await pause();
  expect(shown()[0] === from3, "a finger that is gone still drags");
  one("#whole").click();
  await pause();
}

/** Keys and buttons of the timeline that nothing else presses. */
async function pressesEveryKey(canvas) {
  const label = () => canvas.getAttribute("aria-label"), told = () => one("#timeline output").textContent;
  const changes = async (act, what) => {
    const before = label();
    act();
    expect(await comes(() => label() !== before), `timeline: ${what} does nothing`);
  };
  one("#whole").click();
  await pause();
  await changes(() => press(canvas, "="), "=");
  await changes(() => press(canvas, "+"), "+");
  await changes(() => press(canvas, "ArrowRight"), "right");
  await changes(() => press(canvas, "ArrowLeft"), "left");
  await changes(() => press(canvas, "-"), "minus");
  await changes(() => press(canvas, "Home"), "Home");
  await changes(() => one("#in").click(), "the button +");
  await changes(() => one("#right").click(), "the button later");
  await changes(() => one("#left").click(), "the button earlier");
  await changes(() => one("#out").click(), "the button minus");
  const before = label();
  press(canvas, "+", { ctrlKey: true });
  await pause();
  expect(label() === before, "timeline: the browser's own keys are taken");
  press(canvas, "N");
  const first = told();
  press(canvas, "ArrowDown");
  press(canvas, "ArrowUp");
  expect(first !== "" && told() !== "", `timeline: up and down read ${told()}`);
  press(canvas, "b");
  expect(/B [\d.]+/.test(one("#timeline .between").textContent), "timeline: the key B sets no marker");
  const map = one("canvas.minimap");
  one("#opening").click();
  await pause();
  for (const key of ["ArrowRight", "PageDown", "PageUp", "ArrowLeft"]) {
    const there = map.getAttribute("aria-valuetext");
    press(map, key);
    if (key === "ArrowRight" || key === "PageDown") expect(await comes(() => map.getAttribute("aria-valuetext") !== there) || there.endsWith(map.getAttribute("aria-valuetext")), `the minimap knows no ${key}`);
    await pause();
  }
  const field = one("#timeline input[type=search]"), swatch = one("#timeline .key button.swatch");
  swatch.click();
  expect(field.value === swatch.title, "the legend picks nothing out");
  swatch.click();
  expect(field.value === "", "the legend does not let go");
  for (const kind of [...one("#timeline select[aria-label=Colours]").options].map((option) => option.value)) {
    pick("Colours", kind, one("#timeline"));
    expect(await comes(() => one("#timeline .key").dataset.key.includes(` ${kind} `)), `colours by ${kind}`);
  }
  one("#whole").click();
  await pause();
}

/** The keys and the double click of plots. */
async function readsPlotsByKeys(runs) {
  const plot = () => one("#share svg.plot"), told = () => plot().parentElement.querySelector("output").textContent;
  const { times_ns: times } = runs[0].figures.series, read = [];
  for (const key of ["Home", "ArrowRight", "End", "ArrowLeft", "PageUp", "PageDown"]) { press(plot(), key); read.push(told()); }
  const distinct = new Set(read).size;
  expect(distinct >= Math.min(4, times.length), `the keys read ${read}`);
  press(plot(), "+");
  await pause();
  expect(one("#share button.showall") !== null, "plus does not zoom");
  plot().dispatchEvent(new MouseEvent("dblclick", { bubbles: true }));
  await pause();
  expect(one("#share button.showall") === null, "a double click does not show all");
  const box = plot().getBoundingClientRect();
  for (const type of ["pointerdown", "pointermove", "pointercancel"]) plot().dispatchEvent(new PointerEvent(type, { clientX: box.left + box.width / 2, clientY: box.top + 40, pointerId: 1, bubbles: true }));
  expect(plot().querySelector(".selection").getAttribute("visibility") === "hidden" && one("#share button.showall") === null, "a drag that is broken off zooms");
}

/** Tasks are shown and hidden, and the tails are those of one task. */
async function choosesTasks(runs) {
  const chip = one("#share .chips button"), name = chip.title, drawn = () => all("#share path.line").filter((line) => line.dataset.task === name).length;
  const first = drawn();
  chip.click();
  await pause();
  expect(first > 0 && drawn() === 0 && chip.getAttribute("aria-pressed") === "false", `${name} is still drawn`);
  chip.click();
  await pause();
  expect(drawn() === first, `${name} is not drawn again`);
  const select = one("#tails") && one("#tails select[aria-label='Jobs of']");
  if (!select) return;
  const index = runs[0].figures.tasks.findIndex((task) => task.response.value_ns.some((value) => value > 0));
  if (index < 0) return;
  pick("Jobs of", runs[0].tasks[index].name, one("#tails"));
  await pause();
  const steps = one("#tails path.line").getAttribute("d").match(/[MH]/g).length;
  expect(steps === runs[0].figures.tasks[index].response.value_ns.filter((value) => value > 0).length, `${steps} steps of ${runs[0].tasks[index].name}`);
  pick("Jobs of", "", one("#tails"));
  await pause();
}

/** Copies and files have the JSON. */
async function copiesAndSaves(data, runs) {
  const copied = [];
  navigator.clipboard.writeText = async (text) => { copied.push(text); };
  const command = one("#commands button");
  if (command) {
    command.click();
    expect(await comes(() => command.textContent === "Copied") && copied.at(-1) === data.sources[0].report.command, "the command is not copied");
  }
  one("#tasks button.csv").click();
  expect(await comes(() => copied.at(-1)?.includes("service_ns")), "no CSV of the tasks");
  const [head, ...rows] = copied.at(-1).trim().split("\n"), service = head.split(",").indexOf("service_ns");
  expect(rows.length >= Math.min(40, runs[0].tasks.length) && rows.every((row) => row !== ""), `${rows.length} rows are copied`);
  const plain = rows.find((row) => row.startsWith(`${runs[0].tasks[0].name},`) && !row.includes('"'));
  if (plain) expect(runs.some((run) => Number(plain.split(",")[service]) === run.tasks[0].service_ns), "the copied service is not the JSON's");
  const [saved] = await filesOf(() => one("#save").click());
  const text = await saved.blob.text(), seeds = [...text.matchAll(/"seed": (\d+)/g)].map(([, seed]) => seed);
  expect(saved.name === "divvy.json" && seeds.join() === data.seeds.join(), `the saved seeds are ${seeds}`);
  const parsed = JSON.parse(text), reports = Array.isArray(parsed) ? parsed : [parsed];
  expect(JSON.stringify(reports[0].runs[0].tasks[0]) === JSON.stringify(data.sources[0].report.runs[0].tasks[0]), "the saved data are others");
}

/** Columns that say nothing, all rows, and the sections. */
async function showsMore() {
  const columns = () => all("#comparison thead th").length, few = columns();
  if (one("#columns")) {
    one("#columns").click();
    expect(columns() > few, "all columns are not more");
    one("#columns").click();
    expect(columns() === few, "columns stay");
  }
  const more = all("#tasks .tools button").find((button) => button.textContent === "Show all rows" && !button.hidden);
  if (more) {
    const rows = all("#tasks tbody tr").length;
    more.click();
    expect(all("#tasks tbody tr").length > rows && more.hidden, "all rows are not more");
  }
  one("#tasks").scrollIntoView();
  expect(await comes(() => one('#nav a[aria-current="true"]') !== null), "the navigation does not say where one is");
  scrollTo(0, 0);
  one("a.skip").focus();
  expect(document.activeElement === one("a.skip") && one("a.skip").getBoundingClientRect().left >= 0, "the link to the results cannot be seen");
}

/** Paper is light whatever the theme, and more or less room is used. */
async function printsAndResizes(canvas) {
  document.documentElement.dataset.theme = "dark";
  const dark = getComputedStyle(document.body).backgroundColor;
  dispatchEvent(new Event("beforeprint"));
  expect(getComputedStyle(document.body).backgroundColor !== dark, "paper is dark");
  dispatchEvent(new Event("afterprint"));
  expect(document.documentElement.dataset.theme === "dark", "the theme is not what it was before printing");
  delete document.documentElement.dataset.theme;
  const width = () => Number(one("#share svg.plot").getAttribute("width")), before = width(), wide = canvas.width;
  document.body.style.width = `${Math.round(document.body.clientWidth * 0.8)}px`;
  dispatchEvent(new Event("resize"));
  // There may be fewer panels side by side.
  expect(await comes(() => width() !== before) && await comes(() => canvas.width < wide), `with less room a panel is ${width()} wide, as before`);
  document.body.style.width = "";
  dispatchEvent(new Event("resize"));
  expect(await comes(() => width() === before), "with room again a panel is not as wide as before");
}
