// Uses the report as a reader does, and writes to the console what it found: a list of what is wrong.
(() => {
"use strict";
const wrong = [];
const expect = (holds, what) => { if (!holds) wrong.push(what); };
addEventListener("error", (event) => wrong.push(`error: ${event.message}`));
addEventListener("unhandledrejection", (event) => wrong.push(`rejection: ${event.reason}`));
addEventListener("securitypolicyviolation", (event) => wrong.push(`blocked: ${event.blockedURI}`));

const all = (selector) => [...document.querySelectorAll(selector)];
const one = (selector) => document.querySelector(selector);
/** Until the browser has drawn what was asked for before. */
const pause = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done, 5)));

/** Whether it comes to hold: pictures are drawn when the browser is ready for them. */
async function comes(holds) {
  for (let i = 0; i < 100; i++) {
    if (holds()) return true;
    await pause();
  }
  return false;
}

async function readData() {
  const text = atob(one("#data").textContent);
  const bytes = Uint8Array.from(text, (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return JSON.parse(await new Response(stream).text());
}

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

async function switchesTheme(canvas) {
  const ground = () => getComputedStyle(document.body).backgroundColor, seen = new Set();
  let picture = "";
  for (const theme of ["light", "dark", "auto"]) {
    one("#theme").click();
    await pause();
    expect(one("#theme").textContent.includes(theme), `theme ${theme}`);
    if (theme === "auto") break;
    seen.add(ground());
    if (theme === "dark") expect(await comes(() => canvas.toDataURL() !== picture), "the timeline is the same in the dark");
    picture = canvas.toDataURL();
  }
  expect(seen.size === 2, "light and dark look the same");
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

function hasTextAlternatives() {
  for (const picture of all("svg.plot, canvas.timeline")) {
    expect((picture.getAttribute("aria-label") ?? "").length > 30 && picture.tabIndex === 0, "a figure without text or keyboard");
  }
  for (const control of all("button, input, select")) {
    expect((control.getAttribute("aria-label") ?? control.textContent).trim() !== "", "a control without a name");
  }
  expect(document.documentElement.scrollWidth <= innerWidth, `the page is ${document.documentElement.scrollWidth} wide, the window ${innerWidth}`);
}

async function test() {
  if (!await comes(() => document.documentElement.dataset.ready)) throw new Error("the page is not ready");
  await pause();
  const data = await readData();
  const runs = data.sources.flatMap((source) => source.report.runs).filter((run) => run.figures);
  figuresDrew(runs);
  runs.forEach((run, i) => pointsAreTheNumbers(run, all("#share svg.plot")[i]));
  tablesAreTheNumbers(runs);
  hasTextAlternatives();
  await zoomsAndPans(one("canvas.timeline"));
  await togglesPolicies(runs);
  await switchesTheme(one("canvas.timeline"));
  await opensNumbers();
  expect(performance.getEntriesByType("resource").length === 0, "it asked the network");
}

test().catch((error) => wrong.push(`stopped: ${error.message}`)).finally(() => {
  console.log(`SELFTEST ${wrong.length ? wrong.slice(0, 20).join(" | ") : "all is well"}`);
});
})();
