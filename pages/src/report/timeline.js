// ---- Who ran where: a canvas a run, with one window of time for all.

/** The window of time that all timelines show. */
class Window {
  constructor(from, to) {
    Object.assign(this, { first: from, last: to, from, to, watchers: [] });
  }
  /** Not beyond the ends, and no less than 100 ns. */
  show(from, span) {
    span = Math.min(Math.max(span, 100), this.last - this.first);
    this.from = Math.min(Math.max(from, this.first), this.last - span);
    this.to = this.from + span;
    this.watchers.forEach((watch) => watch());
  }
  zoom(factor, at = (this.from + this.to) / 2) {
    const span = (this.to - this.from) * factor;
    this.show(at - (at - this.from) * factor, span);
  }
  pan(part) { this.show(this.from + part * (this.to - this.from), this.to - this.from); }
  all() { this.show(this.first, this.last - this.first); }
}

/** The first slice that ends after `at`. */
function firstAfter(lane, at) {
  let low = 0, high = lane.to.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (lane.to[middle] <= at) low = middle + 1; else high = middle;
  }
  return low;
}

const IDLE = -1;

/**
 * Which task a pixel column shows: of all slices that touch it, the one that fills most of it. One pass over what is
 * visible, so that a picture of half a million slices takes some milliseconds.
 */
function columnsOf(lane, window, width, column) {
  column.fill(IDLE);
  const scale = width / (window.to - window.from);
  let at = -1, most = 0;
  for (let i = firstAfter(lane, window.from); i < lane.from.length && lane.from[i] < window.to; i++) {
    const left = Math.max(0, (lane.from[i] - window.from) * scale), right = Math.min(width, (lane.to[i] - window.from) * scale);
    const first = Math.floor(left), last = Math.min(width - 1, Math.floor(right));
    const inFirst = Math.min(right, first + 1) - left;
    if (first !== at) { at = first; most = 0; }
    if (inFirst > most && first < width) { most = inFirst; column[first] = lane.task[i]; }
    for (let p = first + 1; p < last; p++) column[p] = lane.task[i];
    if (last > first) {
      at = last;
      most = right - last;
      if (most > 0) column[last] = lane.task[i];
    }
  }
}

function rgbaOf(color) {
  const n = parseInt(color.slice(1), 16);
  return (255 << 24 | (n & 255) << 16 | (n >> 8 & 255) << 8 | n >> 16) >>> 0;
}

/** Towards the ground, so that neighbours of the same hue differ. */
function faded(color, ground, part) {
  const mix = (shift) => Math.round((parseInt(color.slice(1), 16) >> shift & 255) * (1 - part) + (parseInt(ground.slice(1), 16) >> shift & 255) * part);
  return "#" + [16, 8, 0].map((shift) => mix(shift).toString(16).padStart(2, "0")).join("");
}

/** A colour a task: six hues, in three strengths. With a task picked out, the others are grey. */
function paletteOf(n, picked) {
  const ground = colorOf("--ground"), hues = Array.from({ length: HUES }, (_, i) => colorOf(`--hue${i}`));
  const rest = faded(colorOf("--band"), ground, 0.55);
  return Array.from({ length: n }, (_, task) => {
    if (picked !== undefined) return task === picked ? colorOf("--accent") : rest;
    return faded(hues[task % HUES], ground, [0, 0.3, 0.55][Math.floor(task / HUES) % 3]);
  });
}

const GUTTER = 46;

/** The colours of a timeline. Looking a colour up takes longer than painting, so it is done once per theme and task. */
class Paints {
  at(theme, picked, tasks) {
    const key = `${theme} ${picked} ${tasks}`;
    if (key !== this.key) {
      this.key = key;
      this.tasks = paletteOf(tasks, picked);
      this.codes = Uint32Array.from(this.tasks, rgbaOf);
      this.ground = theme;
      this.faint = colorOf("--faint");
      this.idle = rgbaOf(colorOf("--idle"));
    }
    return this;
  }
}

/** One run's canvas. */
class Lanes {
  constructor(run, lanes, window, picked, tell) {
    Object.assign(this, { run, lanes, window, picked, tell, paints: new Paints() });
    this.height = Math.max(5, Math.min(24, Math.floor(480 / lanes.length)));
    this.canvas = el("canvas", { tabindex: 0, role: "img", class: "timeline" });
    this.canvas.dataset.run = run.label;
    this.strip = el("canvas", { hidden: "" });
    this.listen();
  }

  draw() {
    const density = devicePixelRatio || 1, width = this.canvas.clientWidth;
    if (!width) return;
    const begun = performance.now();
    const height = this.lanes.length * (this.height + 2) + 22;
    if (this.canvas.width !== Math.round(width * density)) {
      this.canvas.width = Math.round(width * density);
      this.canvas.height = Math.round(height * density);
      this.canvas.style.height = `${height}px`;
    }
    const context = this.canvas.getContext("2d");
    context.setTransform(density, 0, 0, density, 0, 0);
    context.clearRect(0, 0, width, height);
    const paints = this.paints.at(colorOf("--ground"), this.picked(), this.run.tasks.length);
    this.drawLanes(context, width - GUTTER, density, paints);
    this.drawAxis(context, width, paints);
    this.describe();
    this.canvas.dataset.milliseconds = (performance.now() - begun).toFixed(1);
  }

  /** A row of pixels a CPU, stretched to its height. */
  drawLanes(context, width, density, paints) {
    const pixels = Math.max(1, Math.round(width * density)), { codes, idle } = paints;
    this.strip.width = pixels;
    this.strip.height = this.lanes.length;
    const strip = this.strip.getContext("2d"), image = strip.createImageData(pixels, this.lanes.length);
    const all = new Uint32Array(image.data.buffer), column = new Int32Array(pixels);
    this.lanes.forEach((lane, cpu) => {
      columnsOf(lane, this.window, pixels, column);
      for (let p = 0; p < pixels; p++) all[cpu * pixels + p] = column[p] === IDLE ? idle : codes[column[p]];
    });
    strip.putImageData(image, 0, 0);
    context.imageSmoothingEnabled = false;
    context.font = "11px system-ui, sans-serif";
    context.textBaseline = "middle";
    this.lanes.forEach((lane, cpu) => {
      const top = cpu * (this.height + 2);
      context.drawImage(this.strip, 0, cpu, pixels, 1, GUTTER, top, width, this.height);
      if (this.height >= 11) this.drawNames(context, lane, top, width, paints);
      context.fillStyle = paints.faint;
      if (this.height >= 9 || cpu % 4 === 0) context.fillText(`CPU ${cpu}`, 0, top + this.height / 2);
    });
  }

  /** Where slices are wide enough. */
  drawNames(context, lane, top, width, paints) {
    const scale = width / (this.window.to - this.window.from);
    const first = firstAfter(lane, this.window.from);
    for (let i = first; i < lane.from.length && lane.from[i] < this.window.to; i++) {
      if (i - first > 2 * width) return;
      const left = Math.max(0, (lane.from[i] - this.window.from) * scale), right = Math.min(width, (lane.to[i] - this.window.from) * scale);
      const name = this.run.tasks[lane.task[i]].name;
      if (right - left < 24) continue;
      context.fillStyle = paints.ground;
      context.fillRect(GUTTER + right - 1, top, 1, this.height);
      if (context.measureText(name).width > right - left - 6) continue;
      context.fillStyle = isLight(paints.tasks[lane.task[i]]) ? "#000" : "#fff";
      context.fillText(name, GUTTER + left + 4, top + this.height / 2);
    }
  }

  drawAxis(context, width, paints) {
    const { from, to } = this.window, top = this.lanes.length * (this.height + 2);
    const n = Math.max(2, (width - GUTTER) / 130), step = roundStep(to - from, n);
    context.fillStyle = paints.faint;
    for (const at of ticks(from, to, n)) {
      const x = GUTTER + (at - from) / (to - from) * (width - GUTTER), text = moment(at, step);
      context.fillRect(x, top, 1, 4);
      context.fillText(text, Math.min(x, width - context.measureText(text).width), top + 13);
    }
  }

  describe() {
    const { from, to } = this.window, step = (to - from) / 100;
    const text = `Timeline of ${plural(this.lanes.length, "CPU")} under ${this.run.label}, from ${moment(from, step)} to ${moment(to, step)}. ` +
      "Arrow keys pan, plus and minus zoom, N and P step through slices.";
    this.canvas.setAttribute("aria-label", text);
  }

  /** Time and CPU under a pointer. */
  place(event) {
    const box = this.canvas.getBoundingClientRect();
    const part = (event.clientX - box.left - GUTTER) / (box.width - GUTTER);
    return {
      at: this.window.from + part * (this.window.to - this.window.from),
      cpu: Math.floor((event.clientY - box.top) / (this.height + 2)),
    };
  }

  /** The slice there, if any. */
  sliceAt({ at, cpu }) {
    const lane = this.lanes[cpu];
    if (!lane) return undefined;
    const i = firstAfter(lane, at);
    return i < lane.from.length && lane.from[i] <= at ? { cpu, i, from: lane.from[i], to: lane.to[i], task: lane.task[i] } : undefined;
  }

  listen() {
    let held;
    this.canvas.addEventListener("pointerdown", (event) => {
      held = { x: event.clientX, from: this.window.from, moved: false };
      this.canvas.setPointerCapture(event.pointerId);
    });
    this.canvas.addEventListener("pointermove", (event) => {
      if (!held) return this.tell(this, this.sliceAt(this.place(event)));
      const moved = event.clientX - held.x, span = this.window.to - this.window.from;
      held.moved ||= Math.abs(moved) > 3;
      if (held.moved) this.window.show(held.from - moved / (this.canvas.clientWidth - GUTTER) * span, span);
    });
    this.canvas.addEventListener("pointerup", (event) => {
      if (held && !held.moved) this.tell(this, this.sliceAt(this.place(event)), true);
      held = undefined;
    });
    this.canvas.addEventListener("pointercancel", () => { held = undefined; });
    this.canvas.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    this.canvas.addEventListener("keydown", (event) => this.key(event));
  }

  /** Ctrl and wheel (or two fingers) zoom; sideways pans. Without, the page scrolls. */
  wheel(event) {
    if (!event.ctrlKey && !event.metaKey && Math.abs(event.deltaX) <= Math.abs(event.deltaY)) return;
    event.preventDefault();
    if (event.ctrlKey || event.metaKey) this.window.zoom(Math.exp(Math.max(-60, Math.min(60, event.deltaY)) / 150), this.place(event).at);
    else this.window.pan(event.deltaX / 800);
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const acts = {
      ArrowLeft: () => this.window.pan(-0.15), ArrowRight: () => this.window.pan(0.15),
      "+": () => this.window.zoom(0.6), "=": () => this.window.zoom(0.6), "-": () => this.window.zoom(1 / 0.6),
      Home: () => this.window.all(), n: () => this.step(1), p: () => this.step(-1),
      ArrowUp: () => this.step(0, -1), ArrowDown: () => this.step(0, 1),
    };
    const act = acts[event.key] ?? acts[event.key.toLowerCase()];
    if (!act) return;
    event.preventDefault();
    act();
  }

  /** Reads out the next slice, or one of another CPU. */
  step(by, cpus = 0) {
    const cpu = Math.max(0, Math.min(this.lanes.length - 1, (this.read?.cpu ?? 0) + cpus)), lane = this.lanes[cpu];
    if (!lane.from.length) return;
    const visible = this.read && this.read.to > this.window.from && this.read.from < this.window.to;
    const from = !visible ? firstAfter(lane, this.window.from) : cpus ? firstAfter(lane, this.read.from) : this.read.i + by;
    const i = Math.max(0, Math.min(lane.from.length - 1, from));
    this.read = { cpu, i, from: lane.from[i], to: lane.to[i], task: lane.task[i] };
    const span = this.window.to - this.window.from;
    if (this.read.from < this.window.from || this.read.to > this.window.to) this.window.show(this.read.from - span / 4, span);
    this.tell(this, this.read);
  }
}

function isLight(color) {
  const n = parseInt(color.slice(1), 16);
  return 0.299 * (n >> 16) + 0.587 * (n >> 8 & 255) + 0.114 * (n & 255) > 140;
}

const MOST_LISTED = 500;

/** The visible slices as a table. */
function sliceTable(lanesList, window) {
  const rows = lanesList.flatMap(({ run, lanes }) => lanes.flatMap((lane, cpu) => {
    const found = [];
    for (let i = firstAfter(lane, window.from); i < lane.from.length && lane.from[i] < window.to && found.length < MOST_LISTED; i++) {
      found.push({ run: run.label, cpu, task: run.tasks[lane.task[i]].name, from: lane.from[i], to: lane.to[i] });
    }
    return found;
  }));
  const columns = [
    { head: "policy", name: "policy", text: true, cell: (r) => r.run, raw: (r) => r.run },
    { head: "CPU", name: "cpu", cell: (r) => String(r.cpu), raw: (r) => r.cpu },
    { head: "task", name: "task", text: true, cell: (r) => r.task, raw: (r) => r.task },
    { head: "from", name: "from_ns", cell: (r) => count(r.from) + "ns", raw: (r) => r.from },
    { head: "for", name: "length_ns", cell: (r) => time(r.to - r.from), raw: (r) => r.to - r.from },
  ];
  return { columns, rows };
}
