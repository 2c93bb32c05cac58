// ---- Plots that answer: a cursor that all plots of a group share, zoom by dragging, and files.

/** Plots over the same quantity. Where one is pointed at, all have their cursor. */
class Group {
  constructor() { this.members = new Set(); }
  /** `follow(value)` shows a cursor there; without a value it goes. `root` is the member's element. */
  join(root, follow) { this.members.add({ root, follow }); }
  tell(value, from) {
    for (const member of this.members) {
      if (!member.root.isConnected) this.members.delete(member);
      else if (member.root !== from) member.follow(value);
    }
  }
}

/** The part of an axis that is shown; all of it at first. */
class Zoom {
  constructor(changed) { this.changed = changed; }
  get is_on() { return this.range !== undefined; }
  show(range) { this.range = range; this.changed(); }
  /** The range, or what is shown without one. */
  of(low, high) { return this.range ?? [low, high]; }
}

/** The first of `n` ascending values whose pixel is nearest. */
function nearest(n, valueAt, x, pixel) {
  let low = 0, high = n - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (x(valueAt(middle)) < pixel) low = middle + 1; else high = middle;
  }
  return low > 0 && pixel - x(valueAt(low - 1)) < x(valueAt(low)) - pixel ? low - 1 : low;
}

/**
 * A plot with its buttons and its reading. It is read out at the pointer or by arrow keys: the point nearest to the cursor,
 * of `n` ones at `valueAt(i)`, as `textAt(i)`. With a `zoom`, dragging shows the part that was dragged over.
 */
function plotBox({ root, x, n, valueAt, textAt, group, zoom, title, legend }) {
  const edges = { left: +root.dataset.left, right: +root.dataset.right, top: +root.dataset.top, bottom: +root.dataset.bottom };
  const told = el("output", { "aria-live": "polite" });
  const cursor = svg("line", { class: "cursor", y1: edges.top, y2: edges.bottom, visibility: "hidden" });
  root.append(cursor);
  let at = -1;
  const hide = () => cursor.setAttribute("visibility", "hidden");
  const put = (i) => {
    at = Math.max(0, Math.min(n - 1, i));
    const pixel = x(valueAt(at));
    const inside = pixel >= edges.left - 1 && pixel <= edges.right + 1;
    set(cursor, { x1: pixel, x2: pixel, visibility: inside ? "visible" : "hidden" }, []);
    told.textContent = textAt(at);
  };
  const near = (value) => nearest(n, valueAt, x, x(value));
  const go = (i) => { if (n) { put(i); group?.tell(valueAt(at), root); } };
  group?.join(root, (value) => { if (value === undefined) hide(); else if (n) put(near(value)); });
  const pixelOf = (event) => {
    const box = root.getBoundingClientRect();
    return (event.clientX - box.left) / box.width * root.viewBox.baseVal.width;
  };
  root.addEventListener("pointermove", (event) => go(nearest(n, valueAt, x, pixelOf(event))));
  root.addEventListener("pointerleave", () => { hide(); group?.tell(undefined, root); });
  root.addEventListener("keydown", (event) => {
    const steps = { ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10, Home: -n, End: n }[event.key];
    if (steps === undefined) return;
    event.preventDefault();
    go(at < 0 && steps === 1 ? 0 : at + steps);
  });
  const tools = el("div", { class: "plottools" });
  if (zoom) zoomBy(root, x, edges, pixelOf, zoom, tools, () => (at < 0 ? undefined : valueAt(at)));
  tools.append(...saveButtons(() => standalone(root, title, legend), title));
  return el("div", { class: "plotbox" }, tools, root, told);
}

/** Dragging, plus and minus zoom; a double click, 0 or the button shows all. */
function zoomBy(root, x, edges, pixelOf, zoom, tools, cursorAt) {
  const held = svg("rect", { class: "selection", y: edges.top, height: edges.bottom - edges.top, visibility: "hidden" });
  root.append(held);
  root.classList.add("zooms");
  const within = (pixel) => Math.max(edges.left, Math.min(edges.right, pixel));
  let from;
  root.addEventListener("pointerdown", (event) => {
    from = within(pixelOf(event));
    root.setPointerCapture(event.pointerId);
  });
  root.addEventListener("pointermove", (event) => {
    if (from === undefined) return;
    const to = within(pixelOf(event));
    set(held, { x: Math.min(from, to), width: Math.abs(to - from), visibility: "visible" }, []);
  });
  root.addEventListener("pointerup", (event) => {
    const to = within(pixelOf(event)), begun = from;
    from = undefined;
    held.setAttribute("visibility", "hidden");
    if (begun !== undefined && Math.abs(to - begun) > 6) zoom.show([x.invert(Math.min(begun, to)), x.invert(Math.max(begun, to))]);
  });
  root.addEventListener("pointercancel", () => { from = undefined; held.setAttribute("visibility", "hidden"); });
  const all = () => zoom.show(undefined);
  root.addEventListener("dblclick", all);
  root.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const wide = edges.right - edges.left, value = cursorAt();
    const middle = value === undefined ? (edges.left + edges.right) / 2 : within(x(value));
    if (event.key === "+" || event.key === "=") zoom.show([x.invert(within(middle - wide / 4)), x.invert(within(middle + wide / 4))]);
    else if (event.key === "-" || event.key === "0") all();
  });
  if (zoom.is_on) tools.append(button("Show all", all, { class: "showall" }));
}
