// ---- Scales from values to pixels, and their ticks.

function linear(low, high, from, to) {
  const span = high - low || 1;
  const scale = (value) => from + (value - low) / span * (to - from);
  scale.invert = (pixel) => low + (pixel - from) / (to - from) * span;
  return Object.assign(scale, { low, high });
}

function logarithmic(low, high, from, to) {
  const inner = linear(Math.log10(low), Math.log10(high), from, to);
  const scale = (value) => inner(Math.log10(value));
  scale.invert = (pixel) => 10 ** inner.invert(pixel);
  return Object.assign(scale, { low, high });
}

/** A round distance between ticks, for about `n` of them. */
function roundStep(span, n) {
  const raw = span / n, power = 10 ** Math.floor(Math.log10(raw));
  return power * [1, 2, 5, 10].find((m) => m * power >= raw * 0.999);
}

function ticks(low, high, n) {
  if (!(high > low)) return [low];
  const step = roundStep(high - low, n), found = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; i++) found.push(i * step);
  return found;
}

/** Powers of ten; every second or third if there are many. */
function decades(low, high, n) {
  const first = Math.ceil(Math.log10(low) - 1e-9), last = Math.floor(Math.log10(high) + 1e-9);
  const step = Math.max(1, Math.ceil((last - first + 1) / n)), found = [];
  for (let power = first; power <= last; power += step) found.push(10 ** power);
  return found;
}

/** A tick's text without the zeros behind the point. */
function short(text) {
  return text.replace(/(\.\d*?)0+(?=\D|$)/, "$1").replace(/\.(?=\D|$)/, "");
}

/** An empty plot with its axes: { root, plot, x, y }. */
function frame({ width, height, x, y, xTicks, yTicks, xText, yText, xTitle, label }) {
  const root = svg("svg", {
    class: "plot", viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": label, tabindex: 0,
  });
  const [left, right] = [x.left, x.right], [top, bottom] = [y.top, y.bottom];
  for (const value of yTicks) {
    const at = y.scale(value);
    root.append(svg("line", { class: "grid", x1: left, x2: right, y1: at, y2: at }),
      svg("text", { x: left - 6, y: at + 4, "text-anchor": "end" }, short(yText(value))));
  }
  for (const value of xTicks) {
    const at = x.scale(value);
    root.append(svg("line", { class: "axis", x1: at, x2: at, y1: bottom, y2: bottom + 4 }),
      svg("text", { x: at, y: bottom + 16, "text-anchor": at > right - 20 ? "end" : "middle" }, short(xText(value))));
  }
  root.append(svg("line", { class: "axis", x1: left, x2: right, y1: bottom, y2: bottom }));
  if (xTitle) root.append(svg("text", { x: right, y: bottom + 30, "text-anchor": "end" }, xTitle));
  return root;
}

/** Where a plot's data goes within its picture. */
function area(width, height) {
  return { left: 58, right: width - 8, top: 8, bottom: height - 34 };
}

/** `d` of a path; where a value is missing, the line is interrupted. */
function path(xs, ys, x, y) {
  let d = "", pen = "M";
  for (let i = 0; i < xs.length; i++) {
    if (ys[i] === undefined || ys[i] === null) { pen = "M"; continue; }
    d += `${pen}${x(xs[i]).toFixed(2)} ${y(ys[i]).toFixed(2)}`;
    pen = "L";
  }
  return d;
}
