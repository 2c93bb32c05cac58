// ---- The section of timelines: a canvas a run, with one window of time for all, a minimap of the whole, and a search.

/** All of the time, with a frame around what the timelines show. */
class Minimap {
  constructor(window, lanesOf) {
    Object.assign(this, { window, lanesOf });
    this.canvas = el("canvas", { class: "minimap", tabindex: 0, role: "slider", "aria-label": "Part of the time that the timelines show", "aria-valuemin": 0, "aria-valuemax": 100 });
    this.whole = el("canvas", { hidden: "" });
    const to = (event) => {
      const box = this.canvas.getBoundingClientRect();
      window.show(window.first + (event.clientX - box.left) / box.width * (window.last - window.first) - window.span / 2, window.span);
    };
    let held = false;
    this.canvas.addEventListener("pointerdown", (event) => { held = true; this.canvas.setPointerCapture(event.pointerId); to(event); });
    this.canvas.addEventListener("pointermove", (event) => { if (held) to(event); });
    for (const end of ["pointerup", "pointercancel"]) this.canvas.addEventListener(end, () => { held = false; });
    this.canvas.addEventListener("keydown", (event) => {
      const steps = { ArrowLeft: -0.5, ArrowRight: 0.5, PageUp: -5, PageDown: 5 }[event.key];
      if (steps === undefined) return;
      event.preventDefault();
      window.pan(steps);
    });
  }

  draw() {
    const { canvas, whole, window } = this, density = devicePixelRatio || 1, wide = canvas.clientWidth, tall = canvas.clientHeight;
    const lanes = this.lanesOf();
    if (!wide || !lanes) return;
    const width = Math.round(wide * density), paints = lanes.paints.at(lanes.run, lanes.view.colors, lanes.view.found(lanes.run));
    const key = `${paints.key} ${width} ${lanes.run.label}`;
    if (key !== this.key) {
      this.key = key;
      this.paintWhole(lanes, paints, width);
    }
    Object.assign(canvas, { width, height: Math.round(tall * density) });
    const context = canvas.getContext("2d");
    context.imageSmoothingEnabled = false;
    context.drawImage(whole, 0, 0, canvas.width, canvas.height);
    const x = (at) => (at - window.first) / (window.last - window.first) * width;
    const from = x(window.from), span = Math.max(3 * density, x(window.to) - from);
    context.globalAlpha = 0.6;
    context.fillStyle = paints.ground;
    context.fillRect(0, 0, from, canvas.height);
    context.fillRect(from + span, 0, width, canvas.height);
    context.globalAlpha = 1;
    context.strokeStyle = paints.accent;
    context.lineWidth = 2 * density;
    context.strokeRect(from, density, span, canvas.height - 2 * density);
    for (const at of Object.values(window.flags)) {
      context.fillStyle = paints.accent;
      context.fillRect(x(at), 0, density, canvas.height);
    }
    set(canvas, { "aria-valuenow": Math.round(100 * (window.from - window.first) / (window.last - window.first)), "aria-valuetext": `${time(window.from)} to ${time(window.to)}` }, []);
  }

  /** A row of pixels a CPU, once for each choice of colours. */
  paintWhole({ cpuLanes, window }, { codes, idle }, width) {
    const { whole } = this, all = { from: window.first, to: window.last };
    Object.assign(whole, { width, height: cpuLanes.length });
    const context = whole.getContext("2d"), image = context.createImageData(width, cpuLanes.length);
    const pixels = new Uint32Array(image.data.buffer), column = new Int32Array(width);
    cpuLanes.forEach((lane, cpu) => {
      columnsOf(lane, all, width, column);
      for (let p = 0; p < width; p++) pixels[cpu * width + p] = column[p] === IDLE ? idle : codes[column[p]];
    });
    context.putImageData(image, 0, 0);
  }
}

/** Tasks of a run that a text finds in their names, processes or classes; undefined without a text. */
function searched(run, text) {
  if (!text) return undefined;
  const wanted = text.toLowerCase(), exact = run.tasks.some((task) => task.name === text), found = new Set();
  run.tasks.forEach((task, i) => {
    if (exact ? task.name === text : [task.name, task.process].some((name) => name.toLowerCase().includes(wanted))) found.add(i);
  });
  return found;
}

async function makeTimeline() {
  const runs = page.drawn.filter((run) => run.figures.timeline);
  if (!runs.length) return () => {};
  const spans = runs.map((run) => run.figures.timeline), many = runs.some((run) => run.tasks.length > HUES);
  const window = new Window(Math.min(...spans.map((t) => t.from_ns)), Math.max(...spans.map((t) => t.to_ns)));
  page.window = window;
  const body = section("timeline", "Timeline", timelineAbout(runs));
  const told = el("output", { "aria-live": "polite" }), key = el("div", { class: "chips key" }), between = el("span", { class: "between", role: "status" });
  const field = el("input", { list: "names", placeholder: "Search tasks", "aria-label": "Search tasks and processes", type: "search" });
  let found = new Map(), asked = false;
  const redraw = () => {
    if (asked) return;
    asked = true;
    requestAnimationFrame(() => { asked = false; page.drawTimelineNow(); });
  };
  const search = (text) => { field.value = text; found = new Map(runs.map((run) => [run, searched(run, text)])); redraw(); };
  const view = {
    window, rows: "cpu", colors: bestKind(runs[0]), marks: true, found: (run) => found.get(run),
    pick: (name) => search(field.value === name ? "" : name),
    tell: (lanes, slice) => { told.textContent = slice ? `${lanes.run.label}: ${wordsOf(lanes, slice).join("; ")}` : ""; },
    point: (at) => { window.cursor = at; visible().forEach((lanes) => lanes.drawOver()); page.clock.tell(at, body); },
  };
  const all = await Promise.all(runs.map(async (run) => new Lanes(run, await lanesOf(run), view)));
  const visible = () => all.filter(({ run }) => shownRuns().includes(run));
  const map = new Minimap(window, () => visible()[0]);
  page.clock.join(body, (at) => { window.cursor = at; visible().forEach((lanes) => lanes.drawOver()); });
  field.addEventListener("input", () => search(field.value));
  field.addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    event.preventDefault();
    visible()[0]?.step(event.shiftKey ? -1 : 1);
  });
  window.watchers.push(redraw, () => { between.textContent = betweenFlags(window.flags); });
  const known = new Set(runs.flatMap((run) => run.tasks.map((task) => task.name)));
  const kinds = [["process", "processes"], ["class", "classes"], ["task", "tasks"]];
  const rows = selector("Rows", [["cpu", "CPUs"], ...kinds], view.rows, (value) => { view.rows = value; all.forEach((lanes) => lanes.arrange()); redraw(); });
  const colors = selector("Colours", kinds, view.colors, (value) => { view.colors = value; redraw(); });
  const marks = button("Marks", () => { view.marks = !view.marks; set(marks, { "aria-pressed": String(view.marks) }, []); redraw(); }, { "aria-pressed": "true", id: "marks" });
  const middle = () => window.cursor ?? (window.from + window.to) / 2;
  const tools = el("div", { class: "tools" },
    button("+", () => window.zoom(0.5), { "aria-label": "Zoom in", id: "in" }), button("\u2212", () => window.zoom(2), { "aria-label": "Zoom out", id: "out" }),
    button("\u2190", () => window.pan(-0.4), { "aria-label": "Earlier", id: "left" }), button("\u2192", () => window.pan(0.4), { "aria-label": "Later", id: "right" }),
    button("All", () => window.all(), { id: "whole" }), button(`First ${time(READABLE_NS)}`, () => window.opening(), { id: "opening" }),
    rows, colors, marks, field,
    button("Marker A", () => window.flag("A", middle()), { id: "flag-a" }), button("Marker B", () => window.flag("B", middle()), { id: "flag-b" }), between,
    el("datalist", { id: "names" }, ...[...known].slice(0, 500).map((value) => el("option", { value }))));
  const boxes = all.map((lanes) => el("div", {}, el("h3", {}, el("span", {}, lanes.run.label), ...saveButtons(() => timelineSheet(lanes, timelineTitle(lanes)), `timeline ${lanes.run.label}`)), lanes.box));
  const hint = el("p", { class: "hint" });
  body.append(tools, key, map.canvas, el("div", { class: "panels stack" }, ...boxes), told, hint, numbers("Slices in view", () => sliceTable(visible(), window)));
  page.drawTimelineNow = () => {
    visible().forEach((lanes) => lanes.draw());
    map.draw();
    drawKey(key, visible()[0], view);
    hint.textContent = hintOf(visible(), view, many);
  };
  return () => {
    boxes.forEach((box, i) => { box.hidden = !shownRuns().includes(all[i].run); });
    redraw();
  };
}

/** As in `gr3: the tasks on 2 CPUs from 0 to 200ms`. */
function timelineTitle({ run, cpuLanes, window: { from, to, span } }) {
  return `${run.label}: the tasks on ${plural(cpuLanes.length, "CPU")} from ${moment(from, span / 100)} to ${moment(to, span / 100)}`;
}

/** The markers' times, and the time between them. */
function betweenFlags({ A, B }) {
  const step = Math.max(1, A !== undefined && B !== undefined ? Math.abs(B - A) / 1000 : 1000);
  const said = [["A", A], ["B", B]].filter(([, at]) => at !== undefined).map(([name, at]) => `${name} ${moment(at, step)}`);
  if (said.length === 2) said.push(`B \u2212 A = ${time(B - A)}`);
  return said.join(", ");
}

/** More colours than these are not told apart. */
const MOST_KEYS = 16;

/** A legend of the colours; a press picks out. It is made anew only when it changes. */
function drawKey(box, lanes, view) {
  if (!lanes || box.dataset.key === lanes.paints.key) return;
  box.dataset.key = lanes.paints.key;
  const { groups } = lanes.paints;
  box.replaceChildren(...groups.slice(0, MOST_KEYS).map(({ name, color }) => {
    const entry = button("", () => view.pick(name), { class: "swatch", title: name });
    entry.append(el("i", { style: `background:${color}` }), el("span", { class: "name" }, name));
    return entry;
  }), ...(groups.length > MOST_KEYS ? [el("span", { class: "hint" }, `and ${count(groups.length - MOST_KEYS)} more`)] : []));
}

function hintOf(visible, view, many) {
  const left = visible.map((lanes) => lanes.left_out).find((n) => n > 0), said = [];
  if (left) said.push(`${plural(left, "row")} with the least CPU time ${left === 1 ? "is" : "are"} left out.`);
  if (view.marks && visible.some((lanes) => !lanes.marked && lanes.height >= 9)) said.push("There are too many marks in view: zoom in to see arrivals, wake-ups and ends of jobs.");
  else if (view.marks) said.push("\u25bc arrives, \u2758 wakes up (the fine line is its waiting), \u25cf a job ends, arrows lead from waker to woken.");
  said.push(`Drag or use the arrow keys to pan, Ctrl and the wheel or + and \u2212 to zoom; N and P step through slices${many ? " (of those searched for, if any)" : ""}, A and B set markers. Click a slice to pick its task out.`);
  return said.join(" ");
}

function timelineAbout(runs) {
  const parts = runs.map(({ label, figures: { timeline } }) => `${label}: ${plural(timeline.slices, "slice")}` +
    (timeline.unit_ns > 1 ? `, times rounded to ${time(timeline.unit_ns)}` : "") + (timeline.is_cut ? `, until ${time(timeline.to_ns)}, where there was no room for more` : "") +
    (timeline.marks_to_ns === undefined ? ", without marks" : timeline.marks_to_ns < timeline.to_ns ? `, with marks until ${time(timeline.marks_to_ns)}` : ""));
  return `The task on each CPU over time; a pixel shows the task that filled most of it. ${parts.join("; ")}.`;
}

const MOST_LISTED = 500;

/** The visible slices as a table. */
function sliceTable(lanesList, window) {
  const rows = lanesList.flatMap((lanes) => lanes.cpuLanes.flatMap((lane, cpu) => {
    const found = [];
    for (let i = firstAfter(lane, window.from); i < lane.from.length && lane.from[i] < window.to && found.length < MOST_LISTED; i++) {
      found.push({ run: lanes.run.label, cpu, task: lanes.run.tasks[lane.task[i]].name, from: lane.from[i], to: lane.to[i], woken: wakeOf(lane, i) ? lane.delay[i] : undefined, ends: lane.ends[i] === ENDS });
    }
    return found;
  }));
  const columns = [
    { head: "policy", name: "policy", text: true, cell: (r) => r.run, raw: (r) => r.run },
    { head: "CPU", name: "cpu", cell: (r) => String(r.cpu), raw: (r) => r.cpu },
    { head: "task", name: "task", text: true, cell: (r) => r.task, raw: (r) => r.task },
    { head: "from", name: "from_ns", cell: (r) => count(r.from) + "ns", raw: (r) => r.from },
    { head: "for", name: "length_ns", cell: (r) => time(r.to - r.from), raw: (r) => r.to - r.from },
    { head: "woken before", name: "delay_ns", cell: (r) => (r.woken === undefined ? "" : time(r.woken)), raw: (r) => r.woken },
    { head: "job", name: "ends_job", cell: (r) => (r.ends ? "ends" : ""), raw: (r) => Number(r.ends) },
  ];
  return { columns, rows };
}
