// ---- Specs as text: their parameters, and sliders' places of values.

/** A spec's parts, selection first: [{ lead, name, values }]; `lead` is "", "+" or "@". */
function partsOf(spec) {
  return spec.split(/(?=[+@])/).map((text) => {
    const lead = /^[+@]/.test(text) ? text[0] : "", [name, ...rest] = text.slice(lead.length).split(":");
    return { lead, name: name.trim(), values: new Map(rest.map((one) => one.split("=").map((word) => word.trim()))) };
  });
}

function specOf(parts) {
  return parts.map(({ lead, name, values }) => lead + [name, ...[...values].map(([key, value]) => (value === undefined ? key : `${key}=${value}`))].join(":")).join("");
}

/** The spec with a parameter of its i-th part set. */
function withParam(spec, i, name, value) {
  const parts = partsOf(spec);
  parts[i]?.values.set(name, value);
  return specOf(parts);
}

const NS = { h: 3600e9, min: 60e9, s: 1e9, ms: 1e6, us: 1e3, ns: 1 };

/** A value as a number: of a time its microseconds. */
function quantity(kind, text) {
  if (text === "inf" || text === "+inf") return Infinity;
  if (text === "-inf") return -Infinity;
  if (kind !== "time") return Number(text);
  const [, number, unit] = text.match(/^(-?[\d.]+)\s*([a-z]*)$/) ?? [];
  return Number(number) * (NS[unit] ?? 1) / 1e3;
}

/** The text of a number, with three digits that say something. */
function quantityText(kind, value) {
  if (!Number.isFinite(value)) return value > 0 ? "inf" : "-inf";
  if (kind === "integer") return String(Math.round(value));
  const plain = (number) => String(Number(number.toPrecision(3)));
  if (kind !== "time") return plain(value);
  const [unit, least] = [["s", 1e6], ["ms", 1e3], ["us", 0]].find(([, least]) => value >= least);
  return plain(least ? value / least : value) + unit;
}

/** Slider positions: 0 to this. */
const STOPS = 200;
/** A range without an end goes to here, and then to its end. */
const FAR = 63;

/**
 * The scale of a slider from `min` to `max`: fine near 0, coarse far from it, on both sides. An end at infinity is the last stop alone.
 */
function sliderScale(min, max) {
  const far = Math.max(...[min, max].map((end) => (Number.isFinite(end) ? Math.abs(end) : FAR))), base = Math.log(1 + far);
  const bend = (value) => Math.sign(value) * Math.log(1 + Math.min(far, Math.abs(value))) / base;
  const unbend = (u) => Math.sign(u) * (Math.exp(Math.abs(u) * base) - 1);
  const [low, high] = [bend(min), bend(max)];
  return {
    at: (value) => (value === min ? 0 : value === max ? STOPS : Math.max(0, Math.min(STOPS, Math.round((bend(value) - low) / (high - low) * STOPS)))),
    of: (stop) => (stop <= 0 ? min : stop >= STOPS ? max : unbend(low + stop / STOPS * (high - low))),
  };
}
