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
  const head = 24, line = 17, lines = legendLines(legend, width), tall = height + head + lines.length * line + 6;
  const ink = colorOf("--ink");
  const text = (x, y, content, size) => svg("text", { x, y, fill: ink, "font-size": size }, content);
  const sheet = svg("svg", { xmlns: SVG, viewBox: `0 0 ${width} ${tall}`, width, height: tall, "font-family": "system-ui, sans-serif" },
    svg("rect", { width, height: tall, fill: colorOf("--ground") }), text(4, 16, title, "13px"));
  set(copied, { x: 0, y: head, width, height }, []);
  sheet.append(copied);
  lines.forEach((entries, row) => entries.forEach(({ x, name, n }) => {
    const y = head + height + (row + 1) * line - 6, { stroke, "stroke-dasharray": dash } = look(n);
    const plain = (value) => colorOf(value.slice(4, -1));
    sheet.append(svg("line", { x1: x, x2: x + 26, y1: y - 4, y2: y - 4, stroke: plain(stroke), "stroke-dasharray": plain(dash), "stroke-width": 2.5 }), text(x + 31, y, name, "12px"));
  }));
  return sheet;
}

/** Where each entry of a legend goes, in lines that are not wider than the drawing. */
function legendLines(legend, width) {
  const lines = [];
  let x = 4;
  for (const { name, n } of legend) {
    const wide = 48 + 7 * name.length;
    if (!lines.length || (x > 4 && x + wide > width)) { lines.push([]); x = 4; }
    lines.at(-1).push({ x, name, n });
    x += wide;
  }
  return lines;
}

function fileName(title, ending) {
  return `divvy ${title}`.replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-|-$/g, "").slice(0, 80) + ending;
}

function saveSvg(root, title, legend) {
  const text = new XMLSerializer().serializeToString(standalone(root, title, legend));
  download(text, fileName(title, ".svg"), "image/svg+xml");
}

/** Twice as fine as on the screen. */
async function savePng(root, title, legend) {
  const sheet = standalone(root, title, legend), { width, height } = sheet.viewBox.baseVal;
  const image = new Image();
  image.src = "data:image/svg+xml;charset=utf-8," + encodeURIComponent(new XMLSerializer().serializeToString(sheet));
  await image.decode();
  const canvas = el("canvas", { width: 2 * width, height: 2 * height });
  canvas.getContext("2d").drawImage(image, 0, 0, 2 * width, 2 * height);
  saveCanvas(canvas, title);
}

function saveCanvas(canvas, title) {
  canvas.toBlob((blob) => download(blob, fileName(title, ".png"), "image/png"));
}

function saveButtons(svgOf, pngOf, what) {
  return [
    ...(svgOf ? [button("SVG", svgOf, { class: "save", "aria-label": `Save as SVG: ${what}` })] : []),
    button("PNG", pngOf, { class: "save", "aria-label": `Save as PNG: ${what}` }),
  ];
}
