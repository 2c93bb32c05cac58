// Uses the report of runs.
function inkOf(canvas) {
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  return new Set(new Uint32Array(data.buffer)).size;
}

function figuresDrew(runs) {
  for (const id of ["share", "error"]) {
    expect(all(`#${id} svg.plot`).length === runs.length, `${id}: a panel a run`);
    const lines = all(`#${id} path.line`);
    expect(lines.length >= runs.length && lines.every((path) => path.getAttribute("d").length > 20), `${id}: lines`);
  }
  const jobs = runs.some((run) => run.figures.response.value_ns.some((v) => v > 0));
  expect(jobs ? all("#tails path.line").length >= 1 : !one("#tails"), "tails: lines where jobs end, and no section where none does");
  expect(all("#timeline canvas.timeline").length === runs.length, "timeline: a canvas a run");
  for (const canvas of all("#timeline canvas.timeline")) expect(inkOf(canvas) > 4, `timeline: ${canvas.dataset.run} is blank`);
}

/** Back from pixels to numbers: every point of every line is the JSON's. */
function pointsAreTheNumbers(run, panel) {
  const { x0, x1, left, right, y0, y1, top, bottom } = panel.dataset;
  const share = Object.fromEntries(run.figures.series.tasks.map((series) => [run.tasks[series.task].name, series.share]));
  for (const path of panel.querySelectorAll("path.line")) {
    const points = path.getAttribute("d").match(/[ML]([\d.-]+) ([\d.-]+)/g).map((text) => text.slice(1).split(" ").map(Number));
    const numbers = share[path.dataset.task];
    expect(points.length === numbers.length, `${path.dataset.task}: ${points.length} points of ${numbers.length}`);
    points.forEach(([px, py], i) => {
      const at = +x0 + (px - left) / (right - left) * (x1 - x0), value = +y0 + (bottom - py) / (bottom - top) * (y1 - y0);
      const pixel = (y1 - y0) / (bottom - top) / 50, wide = (x1 - x0) / (right - left) / 50;
      expect(Math.abs(value - numbers[i]) <= pixel, `${path.dataset.task}: drawn ${value}, is ${numbers[i]}`);
      expect(Math.abs(at - run.figures.series.times_ns[i]) <= wide, `${path.dataset.task}: at ${at}`);
    });
  }
}

const columnOf = (selector, head) => all(`${selector} thead th`).findIndex((th) => th.textContent.replace(/ [\u2191\u2193]$/, "") === head);
const press = (element, key, more = {}) => element.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true, ...more }));
const pick = (label, value, place = document) => {
  const field = [...place.querySelectorAll("select")].find((select) => select.getAttribute("aria-label") === label);
  field.value = value;
  field.dispatchEvent(new Event("change"));
};

/** The card and the comparison have the verdict's numbers, and the best of a column is marked. */
function answersFirst(data) {
  const first = document.querySelector("main > section");
  expect(first.id === "verdict" && first.getBoundingClientRect().top < innerHeight, "the verdict is not first");
  const cards = all("#verdict .card");
  data.verdicts.forEach((verdict, i) => {
    expect(cards[i].querySelector(".winner").textContent === verdict.title, `the card says ${cards[i].querySelector(".winner").textContent}`);
    expect(cards[i].querySelectorAll(".limits li").length === verdict.limits.length && verdict.limits.length > 0, "the card has no limits");
    const known = verdict.ranks.filter((rank) => rank.mid_ns !== undefined);
    const most = Math.max(...known.flatMap((rank) => [rank.mid_ns, ...(rank.interval_ns ?? [])]));
    known.forEach((rank, k) => {
      const dot = cards[i].querySelectorAll(".mid")[k], at = parseFloat(dot.getAttribute("cx"));
      expect(dot.dataset.policy === rank.policy && Math.abs(at - 100 * rank.mid_ns / most) < 0.01, `${rank.policy} is drawn at ${at}%`);
    });
  });
  const rows = all("#comparison tbody tr"), times = (ns) => ns !== null && ns !== undefined;
  const cells = data.verdicts.flatMap((verdict) => verdict.ranks.map((_, at) => ({ verdict, at })));
  cells.forEach(({ verdict, at }, row) => {
    for (const score of verdict.scores.filter((one) => !one.silent)) {
      const head = { switches: "switches", response_mean_ns: "response mean", utilization: "CPU used" }[score.name];
      if (head === undefined || !times(score.values[at])) continue;
      const cell = rows[row].cells[columnOf("#comparison", head)];
      if (score.name === "switches") expect(cell.textContent === Math.round(score.values[at]).toLocaleString("en-US"), `switches of row ${row}: ${cell.textContent}`);
      expect(cell.classList.contains("best") === score.is_best[at], `${head} of row ${row} is marked wrongly`);
    }
  });
  for (const link of all("#nav a")) expect(one(link.hash) !== null, `${link.hash} leads nowhere`);
  expect(all("#nav a").length >= 5, "sections are missing in the navigation");
}

/** The tables have the JSON's names, and nothing in a name is more than text. */
function namesAreText(runs) {
  const rows = () => all("#tasks tbody tr");
  if (one("#tasks select")) pick("Rows", "task", one("#tasks"));
  const names = new Set(rows().map((row) => row.cells[0].textContent));
  for (const task of runs[0].tasks.slice(0, 40)) expect(names.has(task.name), `no row of ${task.name}`);
  expect(all("main script, main img, main iframe").length === 0 && window.hacked === undefined, "a name became an element");
}

async function sortsAndFilters(runs) {
  const share = () => all("#tasks tbody tr").map((row) => parseFloat(row.cells[columnOf("#tasks", "share")].textContent));
  const head = () => all("#tasks thead th")[columnOf("#tasks", "share")];
  head().querySelector("button").click();
  const down = share();
  expect(down.every((value, i) => i === 0 || value <= down[i - 1]), "shares are not sorted downwards");
  expect(head().getAttribute("aria-sort") === "descending", "the head does not say how it sorts");
  head().querySelector("button").click();
  const up = share();
  expect(up.every((value, i) => i === 0 || value >= up[i - 1]), "shares are not sorted upwards");
  head().querySelector("button").click();
  expect(head().getAttribute("aria-sort") === null, "the third press does not end sorting");
  expect(getComputedStyle(one("#tasks tbody td")).position === "sticky", "the first column does not stay");
  const place = one("#tasks .scroll");
  await pause();
  expect(place.scrollWidth <= place.clientWidth + 2 || place.parentElement.classList.contains("more-right"), "nothing shows that there are more columns");
  const field = one("#tasks input[type=search]");
  if (!field) return;
  field.value = runs[0].tasks[0].name;
  field.dispatchEvent(new Event("input"));
  const found = all("#tasks tbody tr");
  expect(found.length > 0 && found.every((row) => row.textContent.toLowerCase().includes(field.value.toLowerCase())), "the filter lets others through");
  field.value = "";
  field.dispatchEvent(new Event("input"));
}

/** Totals of groups are the sums of the JSON's tasks, and a group leads to its tasks. */
function groupsAreSums(data, runs) {
  const kinds = [...one("#tasks").querySelectorAll("select option")].map((option) => option.value).filter((value) => value !== "task");
  for (const by of kinds) {
    pick("Rows", by, one("#tasks"));
    const of = (task) => (by === "process" ? task.process : task.name.match(/^(.+)\/\d+$/s)?.[1] ?? task.name);
    const sums = new Map();
    for (const task of runs[0].tasks) sums.set(of(task), (sums.get(of(task)) ?? 0) + task.jobs);
    const rows = all("#tasks tbody tr").filter((row) => row.cells[1].textContent === runs[0].label || runs.length === 1 || row.cells[1].textContent === runs[0].policy);
    rows.slice(0, 20).forEach((row) => {
      const jobs = row.cells[columnOf("#tasks", "jobs")]?.textContent;
      if (jobs !== undefined) expect(jobs === sums.get(row.cells[0].textContent).toLocaleString("en-US"), `jobs of ${row.cells[0].textContent}: ${jobs}`);
    });
    const link = one("#tasks tbody button.link");
    if (link) {
      const name = link.textContent;
      link.click();
      expect(all("#tasks tbody tr").length > 1 && one("#tasks input[type=search]").value === name, `${name} does not lead to its tasks`);
    }
  }
  if (kinds.length) pick("Rows", "task", one("#tasks"));
}

/** Dragging over a plot shows that part, in all plots over the same axis; the button shows all again. */
async function zoomsPlots(section, others) {
  const plot = () => one(`${section} svg.plot`);
  if (!plot()) return;
  const box = plot().getBoundingClientRect(), y = box.top + box.height / 2, at = (part) => box.left + box.width * part;
  const mouse = (type, part) => plot().dispatchEvent(new PointerEvent(type, { clientX: at(part), clientY: y, pointerId: 1, bubbles: true }));
  const range = (panel) => [+panel.dataset.x0, +panel.dataset.x1];
  const whole = range(plot());
  SVGElement.prototype.setPointerCapture = () => {};
  mouse("pointerdown", 0.4);
  mouse("pointermove", 0.5);
  expect(plot().querySelector(".selection").getAttribute("visibility") === "visible", `${section}: nothing shows what is dragged over`);
  mouse("pointermove", 0.7);
  mouse("pointerup", 0.7);
  await pause();
  const zoomed = range(plot());
  expect(zoomed[0] > whole[0] && zoomed[1] < whole[1], `${section}: dragging shows ${zoomed} of ${whole}`);
  for (const panel of all(others)) expect(range(panel).join() === zoomed.join(), `${section}: a panel shows another part`);
  one(`${section} button.showall`).click();
  await pause();
  expect(range(plot()).join() === whole.join() && !one(`${section} button.showall`), `${section}: all is not all`);
  press(plot(), "+");
  await pause();
  expect(range(plot()).join() !== whole.join(), `${section}: plus does not zoom`);
  press(plot(), "0");
  await pause();
  expect(range(plot()).join() === whole.join(), `${section}: 0 does not show all`);
}

/** A cursor in one panel is in all that share its axis. */
async function linksCursors() {
  const plots = all("#share svg.plot, #error svg.plot"), box = plots[0].getBoundingClientRect();
  const over = all("#timeline canvas.over").find((canvas) => canvas.checkVisibility()), before = over?.toDataURL();
  plots[0].dispatchEvent(new PointerEvent("pointermove", { clientX: box.left + 75, clientY: box.top + 60, bubbles: true }));
  await pause();
  const cursors = plots.map((plot) => plot.querySelector(".cursor"));
  expect(cursors.every((cursor) => cursor.getAttribute("visibility") === "visible"), "a panel has no cursor");
  expect(plots.every((plot) => plot.parentElement.querySelector("output").textContent.startsWith("until ")), "a panel reads nothing out");
  if (before && one("#whole")) {
    one("#whole").click();
    await pause();
    const empty = over.toDataURL();
    plots[0].dispatchEvent(new PointerEvent("pointermove", { clientX: box.left + box.width / 2, clientY: box.top + 60, bubbles: true }));
    expect(await comes(() => over.toDataURL() !== empty), "the timeline has no cursor");
  }
  plots[0].dispatchEvent(new PointerEvent("pointerleave"));
  expect(cursors.every((cursor) => cursor.getAttribute("visibility") === "hidden"), "cursors stay");
}

/** Files of figures: what is saved has its legend, and needs no style of the page. */
async function savesFigures(sections) {
  const made = [], former = URL.createObjectURL;
  URL.createObjectURL = (blob) => { made.push(blob); return "#"; };
  const follow = HTMLAnchorElement.prototype.click;
  HTMLAnchorElement.prototype.click = () => {};
  for (const section of sections) {
    for (const save of [...one(section).querySelectorAll("button.save")].slice(0, 2)) {
      const isSvg = save.textContent === "SVG", n = made.length;
      save.click();
      expect(await comes(() => made.length > n), `${section}: ${save.textContent} saves nothing`);
      const blob = made.at(-1);
      if (!isSvg) { expect(blob.type === "image/png" && blob.size > 1000, `${section}: a PNG of ${blob.size} bytes`); continue; }
      const text = await blob.text(), parsed = new DOMParser().parseFromString(text, "image/svg+xml");
      expect(parsed.querySelector("parsererror") === null && parsed.documentElement.localName === "svg", `${section}: no SVG`);
      expect(!text.includes("var(") && !text.includes("class="), `${section}: the file needs the page's style`);
      const names = [...save.closest(".plotbox").querySelectorAll("path.line")].map((line) => line.dataset.task ?? line.dataset.run ?? line.dataset.policy);
      const said = [...parsed.querySelectorAll("text")].map((one) => one.textContent);
      expect(names.every((name) => said.includes(name)), `${section}: the file has no legend`);
    }
  }
  URL.createObjectURL = former;
  HTMLAnchorElement.prototype.click = follow;
}

async function zoomsAndPans(canvas) {
  const seen = () => canvas.getAttribute("aria-label");
  const acts = {
    "button +": () => { one("#in").click(); one("#in").click(); },
    "button later": () => one("#right").click(),
    "key left": () => canvas.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowLeft", bubbles: true, cancelable: true })),
    "key +": () => canvas.dispatchEvent(new KeyboardEvent("keydown", { key: "+", bubbles: true, cancelable: true })),
    wheel: () => canvas.dispatchEvent(new WheelEvent("wheel", { deltaY: 40, ctrlKey: true, cancelable: true, clientX: 200 })),
    "button all": () => one("#whole").click(),
  };
  const span = (text) => text.match(/from (.*) to (.*?)\. /).slice(1).map((word) => parseFloat(word) * { ns: 1, us: 1e3, ms: 1e6, s: 1e9 }[word.match(/[a-z]+$/)?.[0] ?? "ns"]);
  const [from, to] = span(seen());
  expect(to - from <= 200e6 * 1.01 || to - from <= 400e6, `timeline: opens with ${to - from} ns in view`);
  one("#whole").click();
  await pause();
  const first = seen();
  for (const [name, act] of Object.entries(acts)) {
    const before = seen(), picture = canvas.toDataURL();
    act();
    await pause();
    expect(await comes(() => seen() !== before), `timeline: ${name} does nothing`);
    expect(await comes(() => canvas.toDataURL() !== picture), `timeline: ${name} leaves the picture as it was`);
  }
  expect(seen() === first, "timeline: All is not all");
  canvas.dispatchEvent(new KeyboardEvent("keydown", { key: "n", bubbles: true, cancelable: true }));
  expect(one("#timeline output").textContent.includes("CPU 0"), "timeline: N reads out no slice");
}

/** Integers of a column, read by another way than the page does. */
async function columnNumbers(text) {
  const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  const found = [];
  let number = 0n, shift = 0n;
  for (const byte of new Uint8Array(await new Response(stream).arrayBuffer())) {
    number |= BigInt(byte & 127) << shift;
    shift += 7n;
    if (byte < 128) { found.push(Number(number)); number = 0n; shift = 0n; }
  }
  return found;
}

/** N and P step through the slices of the JSON; marks are its marks. */
async function stepsThroughSlices(canvas, run) {
  const { timeline } = run.figures, [cpu] = timeline.cpus, told = () => one("#timeline output").textContent;
  const [gaps, lengths, tasks] = await Promise.all([cpu.gaps, cpu.lengths, cpu.tasks].map(columnNumbers));
  const [wakes, delays, ends] = cpu.marks ? await Promise.all([cpu.marks.wakes, cpu.marks.delays, cpu.marks.ends].map(columnNumbers)) : [[], [], []];
  one("#opening").click();
  await pause();
  canvas.dispatchEvent(new PointerEvent("pointermove", { clientX: -5, clientY: -5, bubbles: true }));
  const size = (ns) => (ns < 999.5 ? 1 : ns < 999.5e3 ? 1e3 : ns < 999.5e6 ? 1e6 : 1e9), unit = { 1: "ns", 1e3: "us", 1e6: "ms", 1e9: "s" };
  const text = (ns) => (ns === 0 ? "0" : Number((ns / size(ns)).toPrecision(3)) + unit[size(ns)]);
  let waits = 0;
  for (let i = 0; i < Math.min(12, gaps.length); i++) {
    press(canvas, "n");
    const said = told(), ran = said.match(/ran ([\d.]+)(\w+)/), long = lengths[i] * timeline.unit_ns;
    expect(said.includes(run.tasks[tasks[i]].name), `slice ${i} is said to be ${said}`);
    expect(ran && Number(ran[1]) + ran[2] === text(long), `slice ${i} of ${long} ns: ${said}`);
    expect((ends[i] === 1) === said.includes("a job ends"), `slice ${i}: ${said}`);
    expect((wakes[i] ?? 0) > 0 === /before|at once/.test(said), `slice ${i}: ${said}`);
    if (wakes[i] > 0) {
      const delay = delays[waits++] * timeline.unit_ns, before = said.match(/([\d.]+)(\w+) before/);
      expect(delay === 0 ? said.includes("at once") : before && Number(before[1]) + before[2] === text(delay), `slice ${i} waited ${delay}: ${said}`);
    }
  }
  const last = told();
  press(canvas, "p");
  expect(gaps.length < 2 || told() !== last, "P does not step back");
}

/** The rest of the timeline: minimap, rows, colours, marks, search, markers. */
async function usesTheTimeline(canvas, run) {
  const changes = async (act, what) => {
    const before = canvas.toDataURL() + canvas.clientHeight;
    act();
    expect(await comes(() => canvas.toDataURL() + canvas.clientHeight !== before), `timeline: ${what} changes nothing`);
  };
  const label = () => canvas.getAttribute("aria-label"), map = one("canvas.minimap"), box = () => map.getBoundingClientRect();
  one("#opening").click();
  await pause();
  map.setPointerCapture = () => {};
  const total = run.figures.timeline.to_ns - run.figures.timeline.from_ns;
  if (total > 1e9) {
    const before = label();
    for (const type of ["pointerdown", "pointerup"]) map.dispatchEvent(new PointerEvent(type, { clientX: box().left + box().width * 0.6, clientY: box().top + 5, pointerId: 1, bubbles: true }));
    expect(await comes(() => label() !== before), "the minimap leads nowhere");
    const there = label();
    press(map, "ArrowLeft");
    expect(await comes(() => label() !== there), "the minimap has no keys");
  }
  const options = [...one("#timeline").querySelectorAll("select[aria-label=Rows] option")].map((option) => option.value);
  for (const value of options.filter((value) => value !== "cpu")) {
    await changes(() => pick("Rows", value, one("#timeline")), `rows by ${value}`);
    pick("Rows", "cpu", one("#timeline"));
    await comes(() => canvas.dataset.rows === "cpu");
    await pause();
  }
  one("#opening").click();
  await pause();
  for (let i = 0; i < 2; i++) { one("#in").click(); await pause(); }
  if (run.figures.timeline.marks_to_ns !== undefined && !one("#timeline .hint:last-of-type").textContent.includes("too many")) await changes(() => one("#marks").click(), "marks");
  if (one("#marks").getAttribute("aria-pressed") === "false") { one("#marks").click(); await pause(); }
  const field = one("#timeline input[type=search]"), name = run.tasks[0].name;
  one("#whole").click();
  await pause();
  await changes(() => { field.value = "no task has this name"; field.dispatchEvent(new Event("input")); }, "searching");
  field.value = name;
  field.dispatchEvent(new Event("input"));
  await pause();
  press(field, "Enter");
  expect(one("#timeline output").textContent.includes(name) || one("#timeline output").textContent === "", `the search finds ${one("#timeline output").textContent}`);
  field.value = "";
  field.dispatchEvent(new Event("input"));
  await pause();
  const between = () => one("#timeline .between").textContent, over = canvas.parentElement.querySelector(".over");
  canvas.dispatchEvent(new PointerEvent("pointerleave", {}));
  const clean = over.toDataURL();
  press(canvas, "a");
  await pause();
  expect(/^A [\d.]+/.test(between()) && await comes(() => over.toDataURL() !== clean), `marker A: ${between()}`);
  one("#right").click();
  await pause();
  one("#flag-b").click();
  expect(/B \u2212 A = [\d.]+\w+$/.test(between()), `the markers say ${between()}`);
  const rect = canvas.getBoundingClientRect();
  for (let part = 0.3; part < 0.9 && (!one("#tip") || one("#tip").hidden); part += 0.01) {
    canvas.dispatchEvent(new PointerEvent("pointermove", { clientX: rect.left + rect.width * part, clientY: rect.top + 6, bubbles: true }));
  }
  expect(one("#tip") && /CPU \d+, ran [\d.]+(ns|us|ms|s)/.test(one("#tip").textContent), "no note floats over a slice");
  canvas.dispatchEvent(new PointerEvent("pointerleave", {}));
  expect(one("#tip")?.hidden, "the note stays");
  one("#whole").click();
  await pause();
}

async function togglesPolicies(runs) {
  if (runs.length < 2) return;
  const ranges = () => new Set(all("#error svg.plot").map((panel) => panel.dataset.y1));
  expect(ranges().size === 1, "errors have a common scale");
  one("#scale").click();
  all("#error svg.plot").forEach((panel, i) => {
    // Up to a round number, but no further.
    const { least_ns: least, most_ns: most } = runs[i].figures.series.error_spread, [low, high] = [Math.min(0, ...least), Math.max(0, ...most)];
    const { y0, y1 } = panel.dataset, room = (y1 - y0) / 2;
    expect(+y0 <= low && +y1 >= high && low - y0 < room && y1 - high < room, `${runs[i].policy} has no scale of its own: ${y0} to ${y1} for ${low} to ${high}`);
  });
  expect(one("#scale").getAttribute("aria-pressed") === "true", "the button does not show its choice");
  one('#policies [data-shown="1"]').click();
  await pause();
  expect(all("#share svg.plot").length === 1, "one policy has one panel");
  expect(all("#timeline canvas.timeline").filter((canvas) => canvas.checkVisibility()).length === 1, "one policy has one timeline");
  expect(one('#policies [data-shown="1"]').getAttribute("aria-pressed") === "true", "the button is not pressed");
  one('#policies [data-shown="all"]').click();
  await pause();
  expect(all("#share svg.plot").length === runs.length, "side by side again");
}

async function opensNumbers() {
  for (const details of all("details")) {
    details.open = true;
    await pause();
    expect(details.querySelectorAll("tbody tr").length > 0, `no numbers in ${details.closest("section").id}`);
    details.open = false;
    await pause();
  }
}

/** Every step of every distribution is the JSON's: what is drawn at a value is the share that is at least so large. */
function tailsAreTheNumbers(runs) {
  const labels = all("#policies [data-shown]").map((one) => one.textContent).filter((text) => text !== "Side by side");
  all("#tails svg.plot").forEach((panel) => {
    const heading = panel.closest("div.plotbox").parentElement.querySelector("h3").textContent;
    const quantity = { "Response time": "response", "Waiting time": "wait" }[heading];
    const { x0, x1, left, right, y0, y1, top, bottom } = panel.dataset;
    const back = (pixel, from, to, low, high) => Math.log10(low) + (pixel - from) / (to - from) * (Math.log10(high) - Math.log10(low));
    for (const line of panel.querySelectorAll("path.line")) {
      const ccdf = runs[Math.max(0, labels.indexOf(line.dataset.run))].figures[quantity];
      const wanted = ccdf.value_ns.map((value, i) => [value, ccdf.share[i]]).filter(([value]) => value > 0);
      const d = line.getAttribute("d"), first = d.match(/^M([\d.-]+) ([\d.]+)/).slice(1).map(Number);
      // Down to the next share, then on to the last value that has it.
      const steps = [...d.matchAll(/V([\d.]+)H([\d.-]+)/g)].map((match) => [Number(match[2]), Number(match[1])]);
      const drawn = [first, ...steps];
      expect(drawn.length === wanted.length, `${quantity}: ${drawn.length} steps of ${wanted.length}`);
      drawn.forEach(([px, py], i) => {
        const value = back(px, +left, +right, +x0, +x1), share = back(py, +bottom, +top, +y0, +y1);
        const near = Math.abs(value - Math.log10(wanted[i][0])) < 0.02 && Math.abs(share - Math.log10(wanted[i][1])) < 0.02;
        expect(near, `${quantity} of ${line.dataset.run}: step ${i} is not ${wanted[i]}`);
      });
    }
  });
}

/** As a mouse does it: what was under the pointer stays under it. */
async function dragsAndWheels(canvas) {
  const told = () => one("#timeline output").textContent;
  // The page may still be laid out, so the canvas may move. Whole pixels: a wheel knows no others.
  const point = (part) => {
    const box = canvas.getBoundingClientRect();
    return { clientX: Math.round(box.left + 50 + (box.width - 60) * part), clientY: box.top + 4 };
  };
  const mouse = (type, part, more = {}) => canvas.dispatchEvent(new PointerEvent(type, { ...point(part), pointerId: 1, bubbles: true, ...more }));
  const wheel = (part, more) => canvas.dispatchEvent(new WheelEvent("wheel", { ...point(part), cancelable: true, bubbles: true, ...more }));
  const label = () => canvas.getAttribute("aria-label");
  const changes = async (act, what) => {
    const before = label();
    act();
    expect(await comes(() => label() !== before), `timeline: ${what} does nothing`);
  };
  // No browser knows of this mouse, so it cannot be captured.
  canvas.setPointerCapture = () => {};
  one("#whole").click();
  await pause();
  for (let i = 0; i < 4; i++) await changes(() => wheel(0.5, { deltaY: -60, ctrlKey: true }), "zooming by the wheel");
  mouse("pointermove", 0.6);
  const under = told();
  await changes(() => { mouse("pointerdown", 0.6); mouse("pointermove", 0.5); mouse("pointermove", 0.3); mouse("pointerup", 0.3); }, "dragging");
  mouse("pointermove", 0.3);
  expect(under === told(), `timeline: under the mouse was ${under}, dragged it is ${told()}`);
  expect(one("#timeline input[type=search]").value === "", "timeline: a drag is no click");
  await changes(() => wheel(0.3, { deltaX: 80 }), "the wheel sideways");
  mouse("pointermove", 0.7);
  const zoomed = told();
  await changes(() => wheel(0.7, { deltaY: -40, ctrlKey: true }), "zooming by the wheel");
  mouse("pointermove", 0.7);
  expect(zoomed === told(), `timeline: under the wheel was ${zoomed}, zoomed it is ${told()}`);
  const before = label();
  expect(wheel(0.5, { deltaY: 60 }), "timeline: the page does not scroll over it");
  await pause();
  expect(label() === before, "timeline: the plain wheel is the page's");
  mouse("pointerdown", 0.7);
  mouse("pointerup", 0.7);
  await pause();
  expect(one("#timeline input[type=search]").value !== "" || told() === "", "timeline: a click picks no task out");
  one("#timeline input[type=search]").value = "";
  one("#timeline input[type=search]").dispatchEvent(new Event("input"));
  one("#whole").click();
  await pause();
}

/** How long it takes to draw while all slices are in view, and after each of some pans. */
async function pansWithoutStutter() {
  one("#in").click();
  await pause();
  const drawn = [];
  for (let i = 0; i < 10; i++) {
    one(i % 2 ? "#left" : "#right").click();
    await pause();
    drawn.push(all("#timeline canvas.timeline").filter((c) => c.checkVisibility()).reduce((sum, c) => sum + Number(c.dataset.milliseconds), 0));
  }
  one("#whole").click();
  await pause();
  measured.push(`timelines drawn in ${Math.max(...drawn).toFixed(1)} ms at most`);
}

async function test() {
  await opened();
  const data = await readData();
  const runs = data.sources.flatMap((source) => source.report.runs).filter((run) => run.figures);
  answersFirst(data);
  figuresDrew(runs);
  runs.forEach((run, i) => pointsAreTheNumbers(run, all("#share svg.plot")[i]));
  tailsAreTheNumbers(runs);
  groupsAreSums(data, runs);
  namesAreText(runs);
  await sortsAndFilters(runs);
  hasTextAlternatives();
  await zoomsAndPans(one("canvas.timeline"));
  await stepsThroughSlices(one("canvas.timeline"), runs[0]);
  await dragsAndWheels(one("canvas.timeline"));
  await usesTheTimeline(one("canvas.timeline"), runs[0]);
  await pinches(one("canvas.timeline"));
  await pressesEveryKey(one("canvas.timeline"));
  await savesTheTimeline(runs[0]);
  await choosesTasks(runs);
  await readsPlotsByKeys(runs);
  await copiesAndSaves(data, runs);
  await showsMore();
  await zoomsPlots("#share", "#share svg.plot, #error svg.plot");
  await zoomsPlots("#tails", "#tails .panels > div:first-child svg.plot");
  await linksCursors();
  await savesFigures(["#share", "#tails"].filter(one));
  await pansWithoutStutter();
  await togglesPolicies(runs);
  await switchesTheme(one("canvas.timeline"));
  await opensNumbers();
  await printsAndResizes(one("canvas.timeline"));
}

tell(test);
