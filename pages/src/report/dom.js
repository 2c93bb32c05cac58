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

/** Text in which `commands` are set as such. */
function prose(text) {
  return text.split("`").map((part, i) => (i % 2 ? el("code", {}, part) : part));
}

/** A list to choose from, with its name before it; `choices` are [value, text]. */
function selector(label, choices, chosen, onchange) {
  const field = el("select", { "aria-label": label }, ...choices.map(([value, text]) => el("option", { value, selected: value === chosen }, text)));
  field.addEventListener("change", () => onchange(field.value));
  return el("label", { class: "field" }, el("span", {}, label), field);
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

/** Whether black is read better on it than white. */
function isLight(color) {
  const n = parseInt(color.slice(1), 16);
  return 0.299 * (n >> 16) + 0.587 * (n >> 8 & 255) + 0.114 * (n & 255) > 140;
}

/** How the n-th of several things looks: a hue, and a dash that tells it from the others in black and white. */
const HUES = 8;
function look(n) {
  return { stroke: `var(--hue${n % HUES})`, "stroke-dasharray": `var(--dash${(n + 3 * Math.floor(n / HUES)) % HUES})` };
}

function swatch(n) {
  return svg("svg", { width: 26, height: 8, "aria-hidden": "true" },
    svg("line", { x1: 0, x2: 26, y1: 4, y2: 4, "stroke-width": 2.5, ...look(n) }));
}

/** An entry of a legend: how it looks, and its name. */
function keyEntry(n, name) {
  return el("span", { class: "bar" }, swatch(n), el("span", { class: "name", title: name }, name));
}

/** A note that floats beside the pointer: lines of text, the first one in bold. */
const tip = {
  show(event, lines) {
    this.box ??= document.body.appendChild(el("div", { id: "tip", role: "presentation" }));
    this.box.replaceChildren(...lines.map((line, i) => el(i ? "div" : "b", {}, line)));
    this.box.hidden = false;
    const { offsetWidth: width, offsetHeight: height } = this.box, gap = 14;
    const left = event.clientX + gap + width > innerWidth ? event.clientX - gap - width : event.clientX + gap;
    const top = event.clientY + gap + height > innerHeight ? event.clientY - gap - height : event.clientY + gap;
    this.box.style.left = `${Math.max(4, left)}px`;
    this.box.style.top = `${Math.max(4, top)}px`;
  },
  hide() { if (this.box) this.box.hidden = true; },
};
