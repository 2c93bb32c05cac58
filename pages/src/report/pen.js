// ---- A pen that writes SVG: it takes what a canvas' context takes, so that a timeline draws its file as it draws its picture.

class Pen {
  constructor() {
    Object.assign(this, { root: svg("g"), fillStyle: "#000", strokeStyle: "#000", lineWidth: 1, font: "11px system-ui, sans-serif", textBaseline: "alphabetic", clips: [], d: "" });
    this.place = this.root;
  }
  add(name, attributes, ...children) { this.place.append(svg(name, attributes, ...children)); }
  fillRect(x, y, width, height) { if (width > 0 && height > 0) this.add("rect", { x: tenths(x), y: tenths(y), width: tenths(width), height: tenths(height), fill: this.fillStyle }); }
  strokeRect(x, y, width, height) { this.add("rect", { x: tenths(x), y: tenths(y), width: tenths(width), height: tenths(height), fill: "none", stroke: this.strokeStyle, "stroke-width": this.lineWidth }); }
  /** Not all readers of SVG know baselines: the middle of the text is where it is on the canvas. */
  fillText(text, x, y) {
    const size = parseFloat(this.font.match(/[\d.]+px/)[0]), isBold = this.font.startsWith("bold");
    this.add("text", { x: tenths(x), y: tenths(y + (this.textBaseline === "middle" ? 0.35 * size : 0)), "font-size": `${size}px`, "font-weight": isBold && "bold", fill: this.fillStyle }, text);
  }
  measureText(text) {
    Pen.ruler ??= el("canvas").getContext("2d");
    Pen.ruler.font = this.font;
    return Pen.ruler.measureText(text);
  }
  beginPath() { this.d = ""; this.box = undefined; }
  moveTo(x, y) { this.d += `M${tenths(x)} ${tenths(y)}`; }
  lineTo(x, y) { this.d += `L${tenths(x)} ${tenths(y)}`; }
  bezierCurveTo(...numbers) { this.d += `C${numbers.map(tenths).join(" ")}`; }
  /** A whole circle: the only arc that a timeline has. */
  arc(x, y, r) { this.d += `M${tenths(x - r)} ${tenths(y)}a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0`; }
  rect(x, y, width, height) { this.box = { x, y, width, height }; }
  fill() { this.add("path", { d: this.d, fill: this.fillStyle }); }
  stroke() { this.add("path", { d: this.d, fill: "none", stroke: this.strokeStyle, "stroke-width": this.lineWidth }); }
  save() { this.clips.push(this.place); }
  restore() { this.place = this.clips.pop() ?? this.root; }
  /** Cuts off what follows, until `restore`, at the edges of the last `rect`. */
  clip() {
    const { x, y, width, height } = this.box, inner = svg("svg", { x, y, width, height, viewBox: `${x} ${y} ${width} ${height}` });
    this.place.append(inner);
    this.place = inner;
  }
}

/** A tenth of a pixel is finer than any screen. */
function tenths(value) { return Math.round(value * 10) / 10; }

/** Columns a pixel: finer than a screen shows, and a file stays small however many slices are in view. */
const FINE = 2;

/** The lanes as areas, a path a colour: what is beside each other and has one colour is one piece. */
function lanesAsPaths(pen, lanes, paints) {
  const n = Math.max(1, Math.round(lanes.width * FINE)), column = new Int32Array(n), step = lanes.width / n;
  return (lane, top) => {
    columnsOf(lane, lanes.window, n, column);
    const pieces = new Map([[paints.idleColor, `M${lanes.gutter} ${top}h${tenths(lanes.width)}v${lanes.height}h${-tenths(lanes.width)}z`]]);
    for (let p = 0; p < n;) {
      const begun = p, task = column[p];
      while (p < n && column[p] === task) p++;
      if (task === IDLE) continue;
      const x = lanes.gutter + begun * step, wide = tenths((p - begun) * step), color = paints.tasks[task];
      pieces.set(color, `${pieces.get(color) ?? ""}M${tenths(x)} ${top}h${wide}v${lanes.height}h${-wide}z`);
    }
    for (const [fill, d] of pieces) pen.add("path", { d, fill });
  };
}

/** A timeline as it is seen, as a file of its own. */
function timelineSheet(lanes, title) {
  const paints = lanes.paints.at(lanes.run, lanes.view.colors, lanes.view.found(lanes.run)), pen = new Pen();
  lanes.paint(pen, paints, lanesAsPaths(pen, lanes, paints));
  lanes.paintOver(pen, paints);
  const { from, to } = lanes.window, width = Math.round(lanes.gutter + lanes.width);
  const drawing = svg("svg", { "data-from-ns": from, "data-to-ns": to, "data-left": lanes.gutter, "data-right": width }, pen.root);
  const groups = lanes.paints.groups.slice(0, MOST_KEYS);
  const legend = groups.map(({ name, color }) => ({ name, mark: (x, y) => svg("rect", { x, y: y - 10, width: 11, height: 11, fill: color }), wide: 11 }));
  return sheetOf(drawing, width, lanes.tall, title, legend);
}
