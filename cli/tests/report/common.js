// The harness of all pages' tests. Each test uses a page as a reader does and writes a list of faults to the console.
const wrong = [];
const expect = (holds, what) => { if (!holds) wrong.push(what); };
addEventListener("error", (event) => wrong.push(`error: ${event.message}`));
addEventListener("unhandledrejection", (event) => wrong.push(`rejection: ${event.reason}`));
addEventListener("securitypolicyviolation", (event) => wrong.push(`blocked: ${event.blockedURI}`));

const all = (selector) => [...document.querySelectorAll(selector)];
const one = (selector) => document.querySelector(selector);
/** Until the browser has drawn what was asked for before. */
const pause = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done, 5)));
/** Measurements. They are printed and not judged, as they depend on the machine. */
const measured = [];

/** Whether it comes to hold: pictures are drawn when the browser is ready for them. */
async function comes(holds) {
  for (let i = 0; i < 100; i++) {
    if (holds()) return true;
    await pause();
  }
  return false;
}

/** Until the page says that it is drawn, which may take longer than anything else. */
async function opened() {
  const isReady = () => document.documentElement.dataset.ready;
  for (let i = 0; i < 50 && !await comes(isReady); i++);
  if (!isReady()) throw new Error("the page is not ready");
  measured.push(`opened in ${Math.round(performance.now())} ms`);
  await pause();
}

async function readData() {
  const text = atob(one("#data").textContent);
  const bytes = Uint8Array.from(text, (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return JSON.parse(await new Response(stream).text());
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
    if (canvas && theme === "dark") expect(await comes(() => canvas.toDataURL() !== picture), "the timeline is the same in the dark");
    picture = canvas?.toDataURL();
  }
  expect(seen.size === 2, "light and dark look the same");
}

/** The files that a reader keeps by it: { name, blob }. */
async function filesOf(act) {
  const made = [], former = URL.createObjectURL, follow = HTMLAnchorElement.prototype.click;
  URL.createObjectURL = (blob) => { made.push({ blob }); return "#"; };
  HTMLAnchorElement.prototype.click = function () { made.at(-1).name = this.download; };
  act();
  expect(await comes(() => made.length > 0), "nothing is saved");
  URL.createObjectURL = former;
  HTMLAnchorElement.prototype.click = follow;
  return made;
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

/** Runs the test, and says what it found. */
function tell(test) {
  test().catch((error) => wrong.push(`stopped: ${error.message}`)).finally(() => {
    // The studio asks its own server.
    expect(performance.getEntriesByType("resource").every(({ name }) => name === `${location.origin}/run`), "it asked the network");
    console.log(`SELFTEST ${wrong.length ? wrong.slice(0, 20).join(" | ") : "all is well"}; ${measured.join(", ")}`);
  });
}
