// ---- Tables: columns of { head, cell(row) -> text, raw(row) -> value in CSV, text: whether it is no number }.

function csvField(value) {
  const text = value === undefined || value === null ? "" : String(value);
  // A spreadsheet would take a name such as =1+1 for a formula.
  const safe = typeof value === "string" && /^[=+\-@\t\r]/.test(text) ? "'" + text : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

function csv(columns, rows) {
  const line = (cells) => cells.map(csvField).join(",") + "\n";
  return line(columns.map((c) => c.name)) + rows.map((row) => line(columns.map((c) => c.raw(row)))).join("");
}

function tableElement(caption, columns, rows) {
  const kind = (c) => (c.text ? { class: "text" } : {});
  const head = el("tr", {}, ...columns.map((c) => el("th", { scope: "col", ...kind(c) }, c.head)));
  const cells = (row) => columns.map((c) => el("td", { ...kind(c), title: c.text ? c.cell(row) : undefined }, c.cell(row)));
  return el("table", { "aria-label": caption }, el("thead", {}, head),
    el("tbody", {}, ...rows.map((row) => el("tr", {}, ...cells(row)))));
}

/** So many at first: a page opens faster than a thousand rows are laid out. */
const FIRST_ROWS = 120;

/** A table with its buttons; `rows` may be filtered by the text of the columns that are text. */
function table(caption, columns, rows, { filter = false } = {}) {
  const place = el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": caption });
  const told = el("span", { class: "hint", role: "status" });
  let shown = rows, most = FIRST_ROWS;
  const more = button("Show all rows", () => { most = Infinity; draw(); });
  const draw = () => {
    place.replaceChildren(tableElement(caption, columns, shown.slice(0, most)));
    more.hidden = shown.length <= most;
    told.textContent = more.hidden ? "" : `The first ${count(most)} of ${count(shown.length)} rows; CSV has all`;
  };
  const copier = button("Copy CSV", () => copy(csv(columns, shown), copier), { class: "csv" });
  const tools = el("div", { class: "tools" }, copier, more, told);
  if (filter && rows.length > 12) {
    const texts = columns.filter((c) => c.text);
    const field = el("input", { type: "search", placeholder: "Filter", "aria-label": `Filter: ${caption}` });
    field.addEventListener("input", () => {
      const wanted = field.value.toLowerCase();
      shown = rows.filter((row) => texts.some((c) => c.cell(row).toLowerCase().includes(wanted)));
      draw();
    });
    tools.prepend(field);
  }
  draw();
  return el("div", {}, tools, place);
}

/** The same numbers as a figure, for who does not see it; made when it is opened. */
function numbers(caption, make) {
  const box = el("details", {}, el("summary", {}, "Numbers as a table"));
  box.addEventListener("toggle", () => {
    if (!box.open) return box.lastChild.remove();
    const { columns, rows } = make();
    box.append(table(caption, columns, rows));
  });
  return box;
}
