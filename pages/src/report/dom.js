// ---- Elements. Names come from traces: they are only ever set as text, never parsed as HTML.

const SVG = "http://www.w3.org/2000/svg";

function set(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value !== undefined && value !== null && value !== false) element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

/** An HTML element. Strings among the children are text. */
function el(name, attributes = {}, ...children) {
  return set(document.createElement(name), attributes, children);
}

/** An SVG element. */
function svg(name, attributes = {}, ...children) {
  return set(document.createElementNS(SVG, name), attributes, children);
}

function button(text, onclick, attributes = {}) {
  return el("button", { type: "button", onclick, ...attributes }, text);
}

/** Copies, also where a page of a file may not use the clipboard directly; says so on the button. */
async function copy(text, pressed) {
  const former = pressed.textContent;
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = el("textarea", { style: "position:fixed;opacity:0", "aria-hidden": "true" });
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
  pressed.textContent = "Copied";
  setTimeout(() => { pressed.textContent = former; }, 1500);
}

function colorOf(variable) {
  return getComputedStyle(document.documentElement).getPropertyValue(variable).trim();
}

/** How the n-th of several things looks: a hue, and from the seventh on other dashes. */
const HUES = 6;
const DASHES = ["", "6 3", "2 2.5", "9 3 2 3"];
function look(n) {
  return { stroke: `var(--hue${n % HUES})`, "stroke-dasharray": DASHES[Math.floor(n / HUES) % DASHES.length] };
}

function swatch(n) {
  return svg("svg", { width: 20, height: 8, "aria-hidden": "true" },
    svg("line", { x1: 0, x2: 20, y1: 4, y2: 4, "stroke-width": 2.5, ...look(n) }));
}
