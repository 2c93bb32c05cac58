// ---- Keeping things as files.

/** Lets text or a Blob be kept as a file. */
function download(content, name, type = "application/json") {
  const link = el("a", { href: URL.createObjectURL(new Blob([content], { type })), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

/** Properties that a drawing takes from the page's style. */
const STYLES = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray", "stroke-linecap", "stroke-linejoin", "opacity", "font-size", "font-weight", "text-anchor", "visibility"];

/** The drawing as a file of its own: with its title, a legend and a ground, and no need of the page's style. */
function standalone(root, title, legend) {
  const copied = root.cloneNode(true), { width, height } = root.viewBox.baseVal;
  const [from, to] = [root, copied].map((drawing) => [drawing, ...drawing.querySelectorAll("*")]);
  from.forEach((element, i) => {
    const style = getComputedStyle(element);
    for (const name of STYLES) to[i].setAttribute(name, style.getPropertyValue(name));
    to[i].removeAttribute("class");
    for (const key of Object.keys(to[i].dataset)) delete to[i].dataset[key];
  });
  const plain = (value) => colorOf(value.slice(4, -1));
  const mark = (n) => (x, y) => {
    const { stroke, "stroke-dasharray": dash } = look(n);
    return svg("line", { x1: x, x2: x + 26, y1: y - 4, y2: y - 4, stroke: plain(stroke), "stroke-dasharray": plain(dash), "stroke-width": 2.5 });
  };
  return sheetOf(copied, width, height, title, legend.map(({ name, n }) => ({ name, mark: mark(n), wide: 26 })));
}

/** A drawing under its title and over its legend of { name, mark(x, y), wide }, on a ground. */
function sheetOf(drawing, width, height, title, legend) {
  const head = 24, line = 17, lines = legendLines(legend, width), tall = height + head + lines.length * line + 6, ink = colorOf("--ink");
  const text = (x, y, content, size) => svg("text", { x, y, fill: ink, "font-size": size }, content);
  const sheet = svg("svg", { xmlns: SVG, viewBox: `0 0 ${width} ${tall}`, width, height: tall, "font-family": "system-ui, sans-serif" },
    svg("rect", { width, height: tall, fill: colorOf("--ground") }), text(4, 16, title, "13px"));
  set(drawing, { x: 0, y: head, width, height }, []);
  sheet.append(drawing);
  lines.forEach((entries, row) => entries.forEach(({ x, name, mark, wide }) => {
    const y = head + height + (row + 1) * line - 6;
    sheet.append(mark(x, y), text(x + wide + 5, y, name, "12px"));
  }));
  return sheet;
}

/** Where each entry of a legend goes, in lines that are not wider than the drawing. */
function legendLines(legend, width) {
  const lines = [];
  let x = 4;
  for (const entry of legend) {
    const all = 22 + entry.wide + 7 * entry.name.length;
    if (!lines.length || (x > 4 && x + all > width)) { lines.push([]); x = 4; }
    lines.at(-1).push({ ...entry, x });
    x += all;
  }
  return lines;
}

function fileName(title, ending) {
  return `divvy ${title}`.replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-|-$/g, "").slice(0, 80) + ending;
}

function saveSvg(sheet, title) {
  download(new XMLSerializer().serializeToString(sheet), fileName(title, ".svg"), "image/svg+xml");
}

/** Twice as fine as on the screen. */
async function savePng(sheet, title) {
  const { width, height } = sheet.viewBox.baseVal, image = new Image();
  image.src = "data:image/svg+xml;charset=utf-8," + encodeURIComponent(new XMLSerializer().serializeToString(sheet));
  await image.decode();
  const canvas = el("canvas", { width: 2 * width, height: 2 * height });
  canvas.getContext("2d").drawImage(image, 0, 0, 2 * width, 2 * height);
  canvas.toBlob((blob) => download(blob, fileName(title, ".png"), "image/png"));
}

/** Buttons that save what `sheet` makes: the picture as a file of its own. */
function saveButtons(sheet, title) {
  const one = (text, save) => button(text, () => save(sheet(), title), { class: "save", "aria-label": `Save as ${text}: ${title}` });
  return [one("SVG", saveSvg), one("PNG", savePng)];
}
