// ---- Numbers as text, as in divvy's tables.

const UNITS = [[1e9, "s"], [1e6, "ms"], [1e3, "us"], [1, "ns"]];

/** Three significant digits, without an exponent. */
function digits(value) {
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e15 || size < 1e-6) return value.toPrecision(3);
  const places = Math.max(0, 2 - Math.floor(Math.log10(Number(size.toPrecision(3)))));
  return value.toFixed(Math.min(places, 8));
}

/** A time of so many ns. */
function time(ns) {
  if (ns === undefined || ns === null) return "-";
  if (ns === 0) return "0";
  // A time that rounds to 1000 of a unit is shown as 1 of the next.
  const [unit, name] = UNITS.find(([unit]) => Math.abs(ns) >= 0.9995 * unit) ?? UNITS[3];
  return digits(ns / unit) + name;
}

/** A moment: as many digits as it takes to tell it from the next, `step` ns later. */
function moment(ns, step) {
  const [unit, name] = UNITS.find(([unit]) => Math.abs(ns) >= unit) ?? UNITS[3];
  const places = Math.max(0, Math.ceil(-Math.log10(step / unit) - 1e-9));
  return ns === 0 ? "0" : (ns / unit).toFixed(Math.min(places, 9)).replace(/(\.\d*?)0+$/, "$1").replace(/\.$/, "") + name;
}

function percent(share) {
  return share === undefined ? "-" : (100 * share).toFixed(2) + "%";
}

function count(n) {
  return n === undefined ? "-" : n.toLocaleString("en-US");
}

function ratio(value) {
  return value === undefined ? "-" : digits(value);
}

function plural(n, one) {
  return `${count(n)} ${one}${n === 1 ? "" : "s"}`;
}
