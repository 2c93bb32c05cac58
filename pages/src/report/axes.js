// ---- Scales from values to pixels, their ticks, and empty plots.

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

/** The range up to round numbers, so that gridlines go to its ends. */
function roundRange(low, high, n) {
  const step = roundStep(high - low, n);
  return [Math.floor(low / step + 1e-9) * step, Math.ceil(high / step - 1e-9) * step];
}

/** Powers of ten, about `n`; every second or third if there are many, and 2 and 5 times them if there are few. */
function decades(low, high, n) {
  const first = Math.floor(Math.log10(low) + 1e-9), last = Math.ceil(Math.log10(high) - 1e-9);
  const within = (list) => list.filter((value) => value >= low * (1 - 1e-9) && value <= high * (1 + 1e-9));
  const every = (step) => Array.from({ length: Math.floor((last - first) / step) + 1 }, (_, i) => 10 ** (first + i * step));
  const whole = within(every(1));
  if (whole.length > n) return within(every(Math.ceil(whole.length / n)));
  if (whole.length > 3) return whole;
  const thirds = within(every(1).flatMap((power) => [power, 2 * power, 5 * power]));
  return thirds.length < 2 ? ticks(low, high, 4) : thirds.length <= n + 1 ? thirds : whole.length ? whole : [thirds[0], thirds.at(-1)];
}

/** A tick's text without the zeros behind the point. */
function short(text) {
  return text.replace(/(\.\d*?)0+(?=\D|$)/, "$1").replace(/\.(?=\D|$)/, "");
}

/** Where a plot's data goes within its picture: axis titles are above and below it. */
function area(width, height) {
  return { left: 62, right: width - 12, top: 24, bottom: height - 38 };
}

/**
 * An empty plot with its axes: { root, data }. Scales are those of `area`; what is drawn into `data` is cut off at its edges.
 */
function frame({ width, height, x, y, xTicks, yTicks, xText, yText, xTitle, yTitle, label }) {
  const root = svg("svg", {
    class: "plot", viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": label, tabindex: 0,
  });
  const { left, right, top, bottom } = area(width, height);
  for (const value of yTicks) {
    const at = y(value);
    root.append(svg("line", { class: "grid", x1: left, x2: right, y1: at, y2: at }),
      svg("text", { x: left - 6, y: at + 4, "text-anchor": "end" }, short(yText(value))));
  }
  let free = -Infinity;
  for (const value of xTicks) {
    const at = x(value), text = short(xText(value)), half = 3.2 * text.length;
    root.append(svg("line", { class: "grid", x1: at, x2: at, y1: top, y2: bottom }));
    // Texts do not touch each other, nor go beyond the picture.
    const middle = Math.min(at, width - half - 1);
    if (middle - half < free + 6) continue;
    root.append(svg("text", { x: middle, y: bottom + 15, "text-anchor": "middle" }, text));
    free = middle + half;
  }
  root.append(svg("line", { class: "axis", x1: left, x2: right, y1: bottom, y2: bottom }), svg("line", { class: "axis", x1: left, x2: left, y1: top, y2: bottom }));
  root.append(svg("text", { class: "title", x: (left + right) / 2, y: height - 6, "text-anchor": "middle" }, xTitle),
    svg("text", { class: "title", x: 2, y: 11 }, yTitle));
  const edge = 3, box = [left - edge, top - edge, right - left + 2 * edge, bottom - top + 2 * edge];
  const data = svg("svg", { class: "data", x: box[0], y: box[1], width: box[2], height: box[3], viewBox: box.join(" ") });
  root.append(data);
  Object.assign(root.dataset, { x0: x.low, x1: x.high, y0: y.low, y1: y.high, left, right, top, bottom });
  return { root, data };
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

/** Least and greatest of lists of numbers, 0 among them. */
function rangeOf(lists) {
  let low = 0, high = 0;
  for (const list of lists) for (const value of list) {
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return low === high ? [low, low + 1] : [low, high];
}
