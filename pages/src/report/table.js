// ---- Tables: columns of { head, cell(row) -> text, raw(row) -> value in CSV and for sorting, text: whether it is no number,
// help: what it means, best(row): whether it is the best of its column, open(row): what its name leads to }.

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

/** Rows by a column; what was not measured comes last either way. */
function sorted(rows, column, isDown) {
  const missing = (value) => value === undefined || value === null || value === "";
  const order = (a, b) => (typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b), "en", { numeric: true }));
  return rows.map((row) => [column.raw(row), row]).sort(([a], [b]) => (
    missing(a) || missing(b) ? missing(a) - missing(b) : isDown ? order(b, a) : order(a, b))).map(([, row]) => row);
}

function headCell(column, sorting, sort) {
  const isBy = sorting?.column === column;
  const arrow = isBy ? (sorting.isDown ? " \u2193" : " \u2191") : "";
  const name = button(column.head, () => sort(column), { class: "sort", title: column.help });
  if (arrow) name.append(el("span", { "aria-hidden": "true" }, arrow));
  return el("th", { scope: "col", class: column.text ? "text" : undefined, "aria-sort": isBy ? (sorting.isDown ? "descending" : "ascending") : undefined }, name);
}

function bodyCell(column, row) {
  const text = column.cell(row), open = column.open?.(row);
  const kind = [column.text && "text", column.best?.(row) && "best"].filter(Boolean).join(" ");
  return el("td", { class: kind || undefined, title: column.text ? text : undefined }, open ? button(text, open, { class: "link" }) : text);
}

function tableElement(caption, columns, rows, sorting, sort) {
  return el("table", { "aria-label": caption },
    el("thead", {}, el("tr", {}, ...columns.map((column) => headCell(column, sorting, sort)))),
    el("tbody", {}, ...rows.map((row) => el("tr", {}, ...columns.map((column) => bodyCell(column, row))))));
}

/** So many at first: a page opens faster than a thousand rows are laid out. */
const FIRST_ROWS = 120;

/** A box that scrolls, with a shade where there is more. */
function scrollBox(caption) {
  const place = el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": caption }), box = el("div", { class: "scrollbox" }, place);
  const cue = () => {
    const { scrollLeft, clientWidth, scrollWidth, scrollTop, clientHeight, scrollHeight } = place;
    box.classList.toggle("more-right", scrollLeft + clientWidth < scrollWidth - 2);
    box.classList.toggle("more-below", scrollTop + clientHeight < scrollHeight - 2);
  };
  place.addEventListener("scroll", cue, { passive: true });
  new ResizeObserver(cue).observe(place);
  return { box, place, cue };
}

/**
 * A table with its buttons. Its heads sort it; with `filter`, the text of the columns that are text chooses rows, at first by
 * `filterText`.
 */
function table(caption, columns, rows, { filter = false, filterText = "", tools: others = [] } = {}) {
  const { box, place, cue } = scrollBox(caption);
  const told = el("span", { class: "hint", role: "status" });
  let wanted = filterText.toLowerCase(), most = FIRST_ROWS, sorting;
  const texts = columns.filter((c) => c.text);
  const shown = () => {
    const found = wanted ? rows.filter((row) => texts.some((c) => c.cell(row).toLowerCase().includes(wanted))) : rows;
    return sorting ? sorted(found, sorting.column, sorting.isDown) : found;
  };
  // Numbers from the greatest, names from A.
  const sort = (column) => {
    const isFirst = sorting?.column !== column, down = !column.text;
    sorting = isFirst ? { column, isDown: down } : sorting.isDown === down ? { column, isDown: !down } : undefined;
    draw();
    place.querySelectorAll("button.sort")[columns.indexOf(column)].focus();
  };
  const more = button("Show all rows", () => { most = Infinity; draw(); });
  const draw = () => {
    const list = shown();
    place.replaceChildren(tableElement(caption, columns, list.slice(0, most), sorting, sort));
    more.hidden = list.length <= most;
    told.textContent = !more.hidden ? `The first ${count(most)} of ${count(list.length)} rows; CSV has all` : wanted ? `${count(list.length)} of ${count(rows.length)} rows` : "";
    cue();
  };
  const copier = button("Copy CSV", () => copy(csv(columns, shown()), copier), { class: "csv" });
  const tools = el("div", { class: "tools" }, ...others, copier, more, told);
  if (filter && (rows.length > 12 || filterText)) {
    const field = el("input", { type: "search", placeholder: "Filter", "aria-label": `Filter: ${caption}` });
    field.value = filterText;
    field.addEventListener("input", () => { wanted = field.value.toLowerCase(); draw(); });
    tools.prepend(field);
  }
  draw();
  return el("div", {}, tools, box);
}

/** The same numbers as a figure, for who does not see it; made when it is opened. */
function numbers(caption, make, summary = "Numbers as a table") {
  const box = el("details", {}, el("summary", {}, summary));
  box.addEventListener("toggle", () => {
    if (!box.open) return box.lastChild.remove();
    const { columns, rows } = make();
    box.append(table(caption, columns, rows));
  });
  return box;
}
