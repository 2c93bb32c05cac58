// ---- The window of time that all timelines show, and the search for slices in it.

/** A timeline opens with so much of it. */
const READABLE_NS = 200e6;

class Window {
  constructor(from, to) {
    Object.assign(this, { first: from, last: to, from, to, watchers: [], flags: {} });
    if (to - from > 2 * READABLE_NS) this.to = from + READABLE_NS;
  }
  get span() { return this.to - this.from; }
  /** Not beyond the ends, and no less than 100 ns. */
  show(from, span) {
    span = Math.min(Math.max(span, 100), this.last - this.first);
    this.from = Math.min(Math.max(from, this.first), this.last - span);
    this.to = this.from + span;
    this.tell();
  }
  tell() { this.watchers.forEach((watch) => watch()); }
  zoom(factor, at = (this.from + this.to) / 2) { this.show(at - (at - this.from) * factor, this.span * factor); }
  pan(part) { this.show(this.from + part * this.span, this.span); }
  all() { this.show(this.first, this.last - this.first); }
  /** The beginning, as readable as at first. */
  opening() { this.show(this.first, READABLE_NS); }
  /** So that this is in it, with a quarter before. */
  reveal(from, to) {
    if (from < this.from || to > this.to) this.show(from - this.span / 4, Math.max(this.span, 1.5 * (to - from)));
  }
  /** Sets the marker A or B; at the same place again, takes it away. */
  flag(name, at) {
    if (this.flags[name] === at) delete this.flags[name]; else this.flags[name] = at;
    this.tell();
  }
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
function columnsOf(lane, { from, to }, width, column) {
  column.fill(IDLE);
  const scale = width / (to - from);
  let at = -1, most = 0;
  for (let i = firstAfter(lane, from); i < lane.from.length && lane.from[i] < to; i++) {
    const left = Math.max(0, (lane.from[i] - from) * scale), right = Math.min(width, (lane.to[i] - from) * scale);
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
