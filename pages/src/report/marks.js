// ---- Marks of a timeline: arrivals, wake-ups, ends of jobs, who woke whom; and the pointer and keys.

/** More marks than these would cover each other, and of more slices marks are not looked for. */
const MOST_MARKS = 700;
const MOST_MARKED = 20000;

const ENDS = 1;

/** A wake-up: 0 none, 1 by a timer or a device, 2 of a new task, then CPUs; `results/src/figures/marks.rs` has the codes. */
function wakeOf(lane, i) {
  const code = lane.wake[i];
  if (!code) return undefined;
  const isNew = code === 2 || (code > 2 && (code - 3) % 2 === 1);
  return { at: lane.from[i] - lane.delay[i], isNew, by: code > 2 ? Math.floor((code - 3) / 2) : undefined };
}

/** Every mark that is in view, unless they are too many. */
function drawMarks(lanes, context, paints) {
  lanes.marked = false;
  if (!lanes.view.marks || lanes.height < 9) return;
  const { from, to } = lanes.window, seen = [];
  const inView = lanes.lanes.reduce((sum, { lane }) => sum + firstAfter(lane, to) - firstAfter(lane, from), 0);
  if (inView > MOST_MARKED) return;
  for (const [row, { lane }] of lanes.lanes.entries()) {
    for (let i = firstAfter(lane, from); i < lane.from.length && lane.from[i] < to; i++) {
      if (lane.wake[i] || lane.ends[i] === ENDS) seen.push({ row, lane, i });
      if (seen.length > MOST_MARKS) return;
    }
  }
  lanes.marked = true;
  for (const slice of seen) drawMark(lanes, context, slice, paints);
  if (seen.length <= MOST_MARKS / 4) for (const slice of seen) drawFlow(lanes, context, slice, paints.faint, 0.9);
}

/** From the wake-up to the CPU a fine line; an arrival is a triangle, another wake-up a short stroke, the end of a job a dot. */
function drawMark(lanes, context, { row, lane, i }, paints) {
  const { top } = lanes.lanes[row], bottom = top + lanes.height, left = lanes.gutter, right = left + lanes.width, wake = wakeOf(lane, i);
  context.fillStyle = paints.ink;
  if (wake) {
    const at = lanes.x(wake.at), begin = Math.min(right, lanes.x(lane.from[i]));
    if (begin > Math.max(left, at) + 1) context.fillRect(Math.max(left, at), bottom - 1, begin - Math.max(left, at), 1);
    if (at >= left && at <= right && wake.isNew) {
      context.beginPath();
      context.moveTo(at - 4, top);
      context.lineTo(at + 4, top);
      context.lineTo(at, top + 7);
      context.fill();
    } else if (at >= left && at <= right) context.fillRect(at - 0.5, bottom - lanes.height / 2.5, 1.5, lanes.height / 2.5);
  }
  const end = lanes.x(lane.to[i]);
  if (lane.ends[i] === ENDS && end <= right && end >= left) {
    context.beginPath();
    context.arc(end - 2.5, bottom - 4, 2.2, 0, 7);
    context.fill();
    context.strokeStyle = paints.ground;
    context.lineWidth = 0.8;
    context.stroke();
  }
}

/** The slice that ran on a CPU when it woke another. */
function wakerOf(lanes, slice) {
  const wake = wakeOf(slice.lane, slice.i);
  if (wake?.by === undefined) return undefined;
  // The waker may have gone to rest at that moment.
  const onCpu = lanes.cpuLanes[wake.by], at = wake.at - 1, first = firstAfter(onCpu, at);
  if (!(first < onCpu.from.length && onCpu.from[first] <= wake.at)) return undefined;
  const row = lanes.lanes.findIndex(({ lane }) => {
    if (lane === onCpu) return true;
    const k = firstAfter(lane, at);
    return k < lane.from.length && lane.from[k] === onCpu.from[first] && cpuOf(lane, k) === wake.by;
  });
  return { wake, row, task: onCpu.task[first] };
}

/** An arrow from the waker to the slice of the woken. */
function drawFlow(lanes, context, slice, color, wide) {
  const waker = wakerOf(lanes, slice);
  if (!waker || waker.row < 0 || waker.row === slice.row) return;
  const left = lanes.gutter, x0 = lanes.x(waker.wake.at), x1 = lanes.x(slice.lane.from[slice.i]);
  if (x1 < left || x0 > left + lanes.width) return;
  const down = waker.row < slice.row, edge = (row, isLow) => lanes.lanes[row].top + (isLow ? lanes.height : 0);
  const y0 = edge(waker.row, down), y1 = edge(slice.row, !down), way = down ? -1 : 1;
  context.save();
  context.beginPath();
  context.rect(left, 0, lanes.width, lanes.tall);
  context.clip();
  context.strokeStyle = context.fillStyle = color;
  context.lineWidth = wide;
  context.beginPath();
  context.moveTo(x0, y0);
  context.bezierCurveTo(x0, (y0 + y1) / 2, x1, (y0 + y1) / 2, x1, y1 + way * 5);
  context.stroke();
  context.beginPath();
  context.moveTo(x1, y1);
  context.lineTo(x1 - 3, y1 + way * 6);
  context.lineTo(x1 + 3, y1 + way * 6);
  context.fill();
  context.restore();
}

/** A slice in words: what ran, where and when, why it began and how it ended. */
function wordsOf(lanes, { lane, i }) {
  const { tasks } = lanes.run, task = tasks[lane.task[i]], step = Math.max(1, (lane.to[i] - lane.from[i]) / 1000);
  const lines = [task.name];
  const whose = [task.process !== task.name && `process ${task.process}`, `weight ${digits(task.weight)}`].filter(Boolean);
  lines.push(whose.join(", "), `CPU ${cpuOf(lane, i)}, ran ${time(lane.to[i] - lane.from[i])}`, `${moment(lane.from[i], step)} to ${moment(lane.to[i], step)}`);
  const wake = wakeOf(lane, i), waker = wakerOf(lanes, { lane, i });
  if (wake) {
    const by = waker ? `woken by ${tasks[waker.task].name} on CPU ${wake.by}` : wake.by !== undefined ? `woken on CPU ${wake.by}` : wake.isNew ? "arrived" : "woken by a timer or a device";
    lines.push(`${by}, ${lane.delay[i] > 0 ? `${time(lane.delay[i])} before` : "ran at once"}`);
  }
  if (lane.ends[i] === ENDS) lines.push("a job ends with it");
  return lines;
}

// ---- Pointer and keys

function listen(lanes) {
  const { canvas, window } = lanes, held = new Map();
  let begun;
  const spread = () => { const [a, b] = [...held.values()]; return Math.abs(a - b); };
  canvas.addEventListener("pointerdown", (event) => {
    held.set(event.pointerId, event.clientX);
    begun = { x: event.clientX, from: window.from, moved: false };
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => {
    if (!held.has(event.pointerId)) return point(lanes, event);
    tip.hide();
    const before = held.size > 1 ? spread() : 0;
    held.set(event.pointerId, event.clientX);
    if (held.size > 1) {
      // Two fingers: what is between them stays there.
      begun.moved = true;
      if (before > 4 && spread() > 4) window.zoom(before / spread(), lanes.place(event).at);
      return;
    }
    const moved = event.clientX - begun.x;
    begun.moved ||= Math.abs(moved) > 3;
    if (begun.moved) window.show(begun.from - moved / lanes.width * window.span, window.span);
  });
  canvas.addEventListener("pointerup", (event) => {
    if (held.delete(event.pointerId) && begun && !begun.moved) {
      const slice = lanes.sliceAt(lanes.place(event));
      lanes.read = slice;
      lanes.view.tell(lanes, slice);
      if (slice) lanes.view.pick(lanes.run.tasks[slice.lane.task[slice.i]].name);
    }
    if (held.size) begun = { x: [...held.values()][0], from: window.from, moved: true };
  });
  canvas.addEventListener("pointercancel", (event) => held.delete(event.pointerId));
  canvas.addEventListener("pointerleave", () => { tip.hide(); lanes.view.point(undefined); });
  canvas.addEventListener("wheel", (event) => wheel(lanes, event), { passive: false });
  canvas.addEventListener("keydown", (event) => press(lanes, event));
}

/** The pointer is over the timeline: its time in all of them, and the slice in words beside it. */
function point(lanes, event) {
  const place = lanes.place(event), slice = lanes.sliceAt(place);
  lanes.read = slice;
  lanes.view.point(place.at);
  lanes.view.tell(lanes, slice);
  if (slice) tip.show(event, wordsOf(lanes, slice)); else tip.hide();
}

/** Ctrl and wheel (or two fingers) zoom; sideways pans. Without, the page scrolls. */
function wheel(lanes, event) {
  const zooms = event.ctrlKey || event.metaKey;
  if (!zooms && Math.abs(event.deltaX) <= Math.abs(event.deltaY)) return;
  event.preventDefault();
  if (zooms) lanes.window.zoom(Math.exp(Math.max(-60, Math.min(60, event.deltaY)) / 150), lanes.place(event).at);
  else lanes.window.pan(event.deltaX / 800);
}

function press(lanes, event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const { window } = lanes;
  const here = () => (lanes.read ? lanes.read.lane.from[lanes.read.i] : window.cursor ?? (window.from + window.to) / 2);
  const acts = {
    ArrowLeft: () => window.pan(-0.15), ArrowRight: () => window.pan(0.15),
    "+": () => window.zoom(0.6), "=": () => window.zoom(0.6), "-": () => window.zoom(1 / 0.6),
    Home: () => window.all(), n: () => lanes.step(1), p: () => lanes.step(-1),
    ArrowUp: () => lanes.step(0, -1), ArrowDown: () => lanes.step(0, 1),
    a: () => window.flag("A", window.cursor ?? here()), b: () => window.flag("B", window.cursor ?? here()),
  };
  const act = acts[event.key] ?? acts[event.key.toLowerCase()];
  if (!act) return;
  event.preventDefault();
  act();
}
