// Uses the studio. The page is opened twice: the second time by the link that the first one ended with.
const answers = () => Number(document.documentElement.dataset.answers ?? 0);
const text = () => one("#text"), fields = () => all(".policy input[type=text]");
const shown = (shares) => shares.map((share) => (100 * share).toFixed(2) + "%");
const lines = () => all("#share path.line").map((path) => path.getAttribute("d")).join();

/** Until what `act` asks for is drawn. */
async function answered(act) {
  const before = answers();
  act();
  for (let i = 0; i < 20 && !await comes(() => answers() > before); i++);
  expect(answers() > before, "no answer");
  await pause();
}

function input(field, value) {
  field.value = value;
  field.dispatchEvent(new Event("input", { bubbles: true }));
}

/** Shares of the table of tasks, which has rows by task and, of each, by policy. */
function tableShares() {
  const heads = all("#tasks thead th").map((th) => th.textContent.replace(/ [\u2191\u2193]$/, "")), column = heads.indexOf("share");
  return all("#tasks tbody tr").map((row) => row.cells[column].textContent);
}

function sharesAre(wanted, when) {
  expect(tableShares().join() === shown(wanted).join(), `${when}: shares are ${tableShares()}, sim's ${shown(wanted)}`);
}

async function movesAlpha() {
  sharesAre(EXPECTED.first, "at first");
  const slider = one('input[type=range][aria-label="alpha"]'), before = lines();
  await answered(() => input(slider, slider.max));
  expect(fields()[0].value === "pbs:alpha=inf", `the spec is ${fields()[0].value}`);
  sharesAre(EXPECTED.moved, "with alpha moved");
  expect(lines() !== before && lines().length > 100, "the figure is the same");
  const times = [];
  for (let stop = 90; stop < 110; stop += 2) {
    await answered(() => input(slider, String(stop)));
    times.push(Number(document.documentElement.dataset.milliseconds));
  }
  measured.push(`slider to figure ${times.sort((a, b) => a - b)[times.length >> 1]} ms (median), ${times.at(-1)} ms at most`);
}

async function showsErrors() {
  const good = text().value, field = fields()[0], spec = field.value;
  input(text(), good.replace('name = "backup"', 'nmae = "backup"'));
  expect(await comes(() => one("#problem.is-on") !== null), "no error is shown");
  const line = good.split("\n").findIndex((one) => one.includes("backup") && one.includes("name")) + 1;
  expect(one("#problem").textContent.startsWith(`Line ${line}, column 5: `), `the error is ${one("#problem").textContent}`);
  one("#problem button").click();
  expect(text().value.slice(text().selectionStart, text().selectionEnd) === "nmae", "the error is not selected");
  await answered(() => input(text(), good));
  expect(one("#problem.is-on") === null, "the error stays");
  input(field, "pbs:alpha=<img src=x onerror=hacked=1>");
  expect(await comes(() => one("#problem.is-on") !== null && field.getAttribute("aria-invalid") === "true"), "no error of the spec");
  expect(one("#problem img") === null && window.hacked === undefined, "an error became an element");
  await answered(() => input(field, spec));
}

async function movesWeights() {
  const before = lines();
  await answered(() => input(one('input[aria-label="weight of editor"]'), "180"));
  expect(/name = "editor", weight = \d+/.test(text().value), `no weight in ${text().value}`);
  expect(lines() !== before, "weights change nothing");
}

async function steps() {
  const said = () => one("#step").textContent;
  expect(/^1 of the first \d+: at 0 CPU 0 goes to .*, because .* comes, and the CPU is idle\.$/.test(said()), `the first step is ${said()}`);
  one("#next").click();
  expect(said().startsWith("2 of "), `the second step is ${said()}`);
  const heads = all("#values thead th").map((th) => th.textContent);
  expect(heads.some((head) => head.startsWith("priority, log2")) && all("#values tbody tr").length >= 2, `the values are ${heads}`);
  expect(all("#values tbody tr").filter((row) => row.cells[1].textContent.startsWith("runs on CPU")).length >= 1, "nobody runs");
  for (let i = 0; i < 30; i++) one("#next").click();
  expect(all("#values td.changed").length > 0, "no value changes");
  one("#previous").click();
  expect(said().startsWith("31 of "), `back at ${said()}`);
}

async function first() {
  await opened();
  await movesAlpha();
  await showsErrors();
  await movesWeights();
  await steps();
  await answered(() => one("#add").click());
  sessionStorage.link = JSON.stringify({ hash: location.hash, text: text().value, specs: fields().map((field) => field.value), shares: tableShares(), measured });
  if (wrong.length) return true;
  // All of the state is in the address.
  location.reload();
  return false;
}

async function second({ hash, text: former, specs, shares, measured: before }) {
  await opened();
  measured.unshift(...before);
  expect(location.hash === hash && text().value === former, "the link has another text");
  expect(fields().map((field) => field.value).join() === specs.join(), `the link has ${fields().map((field) => field.value)}, not ${specs}`);
  expect(specs.length === 2 && tableShares().join() === shares.join(), "the link has other numbers");
  await answered(() => { fields()[1].closest(".policy").querySelector("button").click(); });
  await answered(() => input(fields()[0], "rr"));
  const plain = text().value.replace(/, weight = \d+/, "");
  await answered(() => input(text(), plain));
  sharesAre(EXPECTED.typed, "with a spec that was typed");
  expect(document.documentElement.scrollWidth <= innerWidth, `the page is ${document.documentElement.scrollWidth} wide, the window ${innerWidth}`);
  await switchesTheme();
  hasTextAlternatives();
}

if (sessionStorage.link) tell(() => second(JSON.parse(sessionStorage.link)));
else first().then((isOver) => { if (isOver) tell(async () => {}); }, (error) => { wrong.push(`stopped: ${error.message}`); tell(async () => {}); });
