// ---- One run's canvas: who ran where. What moves with the pointer is on a second canvas over it.

class Lanes {
  /** `view` is what all runs share: { window, colors, rows, found(run), tell(lanes, slice, event), pick(name), marks }. */
  constructor(run, cpuLanes, view) {
    Object.assign(this, { run, cpuLanes, view, window: view.window, paints: new Paints() });
    this.canvas = el("canvas", { tabindex: 0, role: "img", class: "timeline" });
    this.canvas.dataset.run = run.label;
    this.over = el("canvas", { class: "over", "aria-hidden": "true" });
    this.strip = el("canvas", { hidden: "" });
    this.box = el("div", { class: "lanes" }, this.canvas, this.over);
    this.arrange();
    listen(this);
  }

  /** Rows as chosen; places of lanes from the top. */
  arrange() {
    const { rows, all } = rowsOf(this.run, this.cpuLanes, this.view.rows);
    const lanes = rows.reduce((sum, row) => sum + row.lanes.length, 0);
    this.height = Math.max(5, Math.min(26, Math.floor(560 / lanes)));
    this.gap = this.height >= 16 ? 3 : this.height > 8 ? 2 : 1;
    this.gutter = this.view.rows === "cpu" ? 46 : Math.min(150, innerWidth / 4);
    this.left_out = all - rows.length;
    this.lanes = [];
    let top = 2;
    for (const row of rows) {
      row.lanes.forEach((lane, part) => { this.lanes.push({ lane, top, name: part ? "" : row.name }); top += this.height + (part < row.lanes.length - 1 ? 1 : this.gap); });
    }
    this.measure();
    this.axisTop = top;
    this.tall = top + 22;
    this.read = undefined;
  }

  /** How wide the time is drawn; looked up once a picture. */
  measure() { this.width = this.canvas.clientWidth - this.gutter; }
  x(at) { return this.gutter + (at - this.window.from) / this.window.span * this.width; }

  /** A canvas as large as it is shown, and empty. */
  cleared(canvas) {
    const density = devicePixelRatio || 1, width = this.canvas.clientWidth;
    if (canvas.width !== Math.round(width * density) || canvas.height !== Math.round(this.tall * density)) {
      canvas.width = Math.round(width * density);
      canvas.height = Math.round(this.tall * density);
      canvas.style.height = `${this.tall}px`;
    }
    const context = canvas.getContext("2d");
    context.setTransform(density, 0, 0, density, 0, 0);
    context.clearRect(0, 0, width, this.tall);
    return context;
  }

  draw() {
    this.measure();
    if (this.width <= 0) return;
    const begun = performance.now(), context = this.cleared(this.canvas);
    const paints = this.paints.at(this.run, this.view.colors, this.view.found(this.run));
    this.paint(context, paints, this.asPixels(context, paints));
    this.describe();
    this.drawOver();
    this.canvas.dataset.rows = this.view.rows;
    this.canvas.dataset.milliseconds = (performance.now() - begun).toFixed(1);
  }

  /** Everything but what moves, on a canvas or into a file; `fill(lane, top, row)` draws the slices of a lane. */
  paint(context, paints, fill) {
    context.font = "11px system-ui, sans-serif";
    context.textBaseline = "middle";
    this.lanes.forEach(({ lane, top, name }, row) => {
      fill(lane, top, row);
      if (this.height >= 12) this.drawNames(context, lane, top, paints);
      context.fillStyle = paints.faint;
      if (name && (this.height >= 9 || row % 4 === 0)) context.fillText(fitted(context, name, this.gutter - 6), 0, top + this.height / 2);
    });
    drawMarks(this, context, paints);
    this.drawAxis(context, paints);
  }

  /** Slices as a row of pixels a lane, stretched to its height. */
  asPixels(context, { codes, idle }) {
    const pixels = Math.max(1, Math.round(this.width * (devicePixelRatio || 1)));
    this.strip.width = pixels;
    this.strip.height = this.lanes.length;
    const strip = this.strip.getContext("2d"), image = strip.createImageData(pixels, this.lanes.length);
    const all = new Uint32Array(image.data.buffer), column = new Int32Array(pixels);
    this.lanes.forEach(({ lane }, row) => {
      columnsOf(lane, this.window, pixels, column);
      for (let p = 0; p < pixels; p++) all[row * pixels + p] = column[p] === IDLE ? idle : codes[column[p]];
    });
    strip.putImageData(image, 0, 0);
    context.imageSmoothingEnabled = false;
    return (lane, top, row) => context.drawImage(this.strip, 0, row, pixels, 1, this.gutter, top, this.width, this.height);
  }

  /** Where slices are wide enough. */
  drawNames(context, lane, top, paints) {
    const { from, to } = this.window, left = this.gutter, right = left + this.width;
    const first = firstAfter(lane, from);
    for (let i = first; i < lane.from.length && lane.from[i] < to; i++) {
      if (i - first > 2 * this.width) return;
      const begin = Math.max(left, this.x(lane.from[i])), end = Math.min(right, this.x(lane.to[i])), name = this.run.tasks[lane.task[i]].name;
      if (end - begin < 5) continue;
      context.fillStyle = paints.ground;
      context.fillRect(end - 1, top, 1, this.height);
      if (end - begin < 24) continue;
      const text = fitted(context, name, end - begin - 7);
      context.fillStyle = isLight(paints.tasks[lane.task[i]]) ? "#000" : "#fff";
      if (text.length > 2 || text === name) context.fillText(text, begin + 4, top + this.height / 2 + 0.5);
    }
  }

  drawAxis(context, paints) {
    const { from, to } = this.window, width = this.gutter + this.width;
    const n = Math.max(2, this.width / 130), step = roundStep(to - from, n);
    context.fillStyle = paints.faint;
    for (const at of ticks(from, to, n)) {
      const x = this.x(at), text = moment(at, step), half = context.measureText(text).width / 2;
      context.fillRect(x, this.axisTop, 1, 4);
      context.fillText(text, Math.max(0, Math.min(x - half, width - 2 * half)), this.axisTop + 13);
    }
  }

  drawOver() { this.paintOver(this.cleared(this.over), this.paints); }

  /** The cursor, the markers A and B, the slice that is read, and what woke it. */
  paintOver(context, paints) {
    const { from, to, flags, cursor } = this.window;
    context.textBaseline = "alphabetic";
    const upright = (at, color, name) => {
      if (at < from || at > to) return;
      context.fillStyle = color;
      context.fillRect(this.x(at) - 0.5, 0, name ? 2 : 1, this.axisTop);
      if (!name) return;
      context.fillRect(this.x(at) - 1, 0, 13, 13);
      context.fillStyle = paints.ground;
      context.font = "bold 11px system-ui, sans-serif";
      context.fillText(name, this.x(at) + 2, 10);
    };
    if (cursor !== undefined) upright(cursor, paints.faint);
    for (const [name, at] of Object.entries(flags)) upright(at, paints.accent, name);
    if (this.read) {
      const { row, lane, i } = this.read, left = Math.max(this.gutter, this.x(lane.from[i])), right = Math.min(this.gutter + this.width, this.x(lane.to[i]));
      context.strokeStyle = paints.ink;
      context.lineWidth = 2;
      if (right >= left) context.strokeRect(left, this.lanes[row].top, Math.max(2, right - left), this.height);
      drawFlow(this, context, this.read, paints.ink, 1.6);
    }
  }

  describe() {
    const { from, to } = this.window, step = (to - from) / 100;
    const text = `Timeline of ${plural(this.cpuLanes.length, "CPU")} under ${this.run.label}, from ${moment(from, step)} to ${moment(to, step)}. ` +
      "Arrow keys pan, plus and minus zoom, N and P step through slices, A and B set markers.";
    this.canvas.setAttribute("aria-label", text);
  }

  /** Time and row under a pointer. */
  place(event) {
    const box = this.canvas.getBoundingClientRect(), y = event.clientY - box.top;
    const at = this.window.from + (event.clientX - box.left - this.gutter) / this.width * this.window.span;
    return { at, row: this.lanes.findIndex(({ top }) => y >= top && y < top + this.height + 1) };
  }

  /** The slice there, if any. */
  sliceAt({ at, row }) {
    const lane = this.lanes[row]?.lane;
    if (!lane || at < this.window.from || at > this.window.to) return undefined;
    const i = firstAfter(lane, at);
    return i < lane.from.length && lane.from[i] <= at ? { row, lane, i } : undefined;
  }

  /** Reads out the next slice of the row (of those that were searched for, in any row), or one of another row. */
  step(by, rows = 0) {
    const found = this.view.found(this.run);
    if (found && by) return this.stepAmong(found, by);
    const row = Math.max(0, Math.min(this.lanes.length - 1, (this.read?.row ?? 0) + rows)), { lane } = this.lanes[row];
    if (!lane.from.length) { this.read = undefined; return; }
    const { read, window } = this, visible = read && read.lane.to[read.i] > window.from && read.lane.from[read.i] < window.to;
    const next = !visible ? firstAfter(lane, window.from) : rows ? firstAfter(lane, read.lane.from[read.i]) : read.i + by;
    this.show({ row, lane, i: Math.max(0, Math.min(lane.from.length - 1, next)) });
  }

  /** The nearest slice before or after the one that is read whose task was searched for. */
  stepAmong(found, by) {
    const { read } = this, here = read ? read.lane.from[read.i] : by > 0 ? this.window.from - 1 : this.window.to;
    let best;
    this.lanes.forEach(({ lane }, row) => {
      let i = by > 0 ? firstAfter(lane, here) : Math.min(lane.from.length - 1, firstAfter(lane, here));
      const isPast = () => (by > 0 ? lane.from[i] > here : lane.from[i] < here);
      while (i >= 0 && i < lane.from.length && !(found.has(lane.task[i]) && isPast())) i += by;
      if (i < 0 || i >= lane.from.length) return;
      if (!best || (by > 0 ? lane.from[i] < best.lane.from[best.i] : lane.from[i] > best.lane.from[best.i])) best = { row, lane, i };
    });
    if (best) this.show(best);
  }

  show(slice) {
    this.read = slice;
    this.window.reveal(slice.lane.from[slice.i], slice.lane.to[slice.i]);
    this.drawOver();
    this.view.tell(this, slice);
  }
}

/** A text that is not wider. */
function fitted(context, text, width) {
  if (context.measureText(text).width <= width) return text;
  let length = Math.floor(text.length * width / context.measureText(text).width);
  while (length > 0 && context.measureText(text.slice(0, length) + "\u2026").width > width) length--;
  return text.slice(0, length) + "\u2026";
}
