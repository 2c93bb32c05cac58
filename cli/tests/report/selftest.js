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
  expect(!jobs || all("#tails path.line").length >= 1, "tails: lines");
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

/** The tables have the JSON's names and numbers, and nothing in a name is more than text. */
function tablesAreTheNumbers(runs) {
  const rows = all("#comparison tbody tr");
  runs.forEach((run, i) => expect(rows[i].cells[3].textContent === run.switches.toLocaleString("en-US"), `switches of ${run.policy}`));
  const names = new Set(all("#tasks tbody tr").map((row) => row.cells[0].textContent));
  for (const task of runs[0].tasks.slice(0, 40)) expect(names.has(task.name), `no row of ${task.name}`);
  expect(all("main script, main img, main iframe").length === 0 && window.hacked === undefined, "a name became an element");
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

async function togglesPolicies(runs) {
  if (runs.length < 2) return;
  const ranges = () => new Set(all("#error svg.plot").map((panel) => panel.dataset.y1));
  expect(ranges().size === 1, "errors have a common scale");
  one("#scale").click();
  expect(ranges().size === runs.length, "policies have a scale each");
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
  const labels = all("#comparison tbody tr").map((row) => row.cells[0].textContent);
  all("#tails svg.plot").forEach((panel) => {
    const heading = panel.closest("div.plotbox").parentElement.querySelector("h3").textContent;
    const quantity = { "Response time": "response", "Waiting time": "wait" }[heading];
    const { x0, x1, left, right, y0, y1, top, bottom } = panel.dataset;
    const back = (pixel, from, to, low, high) => Math.log10(low) + (pixel - from) / (to - from) * (Math.log10(high) - Math.log10(low));
    for (const line of panel.querySelectorAll("path.line")) {
      const ccdf = runs[labels.indexOf(line.dataset.run)].figures[quantity];
      const wanted = ccdf.value_ns.map((value, i) => [value, ccdf.share[i]]).filter(([value]) => value > 0);
      const d = line.getAttribute("d"), first = d.match(/^M([\d.]+) ([\d.]+)/).slice(1).map(Number);
      // Down to the next share, then on to the last value that has it.
      const steps = [...d.matchAll(/V([\d.]+)H([\d.]+)/g)].map((match) => [Number(match[2]), Number(match[1])]);
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
  const box = canvas.getBoundingClientRect(), told = () => one("#timeline output").textContent;
  // Whole pixels: a wheel knows no others.
  const at = (part) => Math.round(box.left + 50 + (box.width - 60) * part), y = box.top + 4;
  const mouse = (type, part, more = {}) => canvas.dispatchEvent(new PointerEvent(type, { clientX: at(part), clientY: y, pointerId: 1, bubbles: true, ...more }));
  const wheel = (part, more) => canvas.dispatchEvent(new WheelEvent("wheel", { clientX: at(part), clientY: y, cancelable: true, bubbles: true, ...more }));
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
  expect(one("#timeline input").value === "", "timeline: a drag is no click");
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
  expect(one("#timeline input").value !== "" || told() === "", "timeline: a click picks no task out");
  one("#timeline input").value = "";
  one("#timeline input").dispatchEvent(new Event("input"));
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
  figuresDrew(runs);
  runs.forEach((run, i) => pointsAreTheNumbers(run, all("#share svg.plot")[i]));
  tailsAreTheNumbers(runs);
  tablesAreTheNumbers(runs);
  hasTextAlternatives();
  await zoomsAndPans(one("canvas.timeline"));
  await dragsAndWheels(one("canvas.timeline"));
  await pansWithoutStutter();
  await togglesPolicies(runs);
  await switchesTheme(one("canvas.timeline"));
  await opensNumbers();
}

tell(test);
