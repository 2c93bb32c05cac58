// ---- Decisions one by one: when, why, and what the policy keeps of each task.

const ACTIVITIES = { "-1": "waits", "-2": "sleeps", "-3": "gone" };

/** The last of [time, value] points at or before a time, or strictly before it. */
function lastAt(points, at, before = false) {
  let low = 0, high = points.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (points[middle][0] < at || (!before && points[middle][0] === at)) low = middle + 1; else high = middle;
  }
  return points[low - 1]?.[1];
}

const MOST_TASKS_SHOWN = 60;

/** The tasks that are there at a decision: { name, activity, values: [{ now, former }] }. */
function tasksAt(steps, at) {
  const rows = steps.tasks.map(({ name, activities, values }) => ({ name, activity: lastAt(activities, at), values: values.map((points) => ({ now: lastAt(points, at), former: lastAt(points, at, true) })) }));
  return rows.filter(({ activity }) => activity !== undefined && activity !== -3);
}

function stepTable(steps, at) {
  const rows = tasksAt(steps, at), head = ["task", "does", ...steps.shows.map(({ name, unit }) => (unit ? `${name} (${unit})` : name))];
  const cell = ({ now, former }) => el("td", { class: now !== former && former !== undefined && "changed" }, now === undefined ? "-" : count(now));
  const row = ({ name, activity, values }) => el("tr", {}, el("td", { class: "text" }, name), el("td", {}, activity >= 0 ? `runs on CPU ${activity}` : ACTIVITIES[activity]), ...values.map(cell));
  const table = el("table", { "aria-label": "What the policy keeps of each task" }, el("thead", {}, el("tr", {}, ...head.map((text) => el("th", {}, text)))), el("tbody", {}, ...rows.slice(0, MOST_TASKS_SHOWN).map(row)));
  const left = rows.length - MOST_TASKS_SHOWN;
  return el("div", {}, el("div", { class: "scrollbox" }, el("div", { class: "scroll" }, table)), ...(left > 0 ? [el("p", { class: "hint" }, `and ${count(left)} more tasks`)] : []));
}

/** The section; it goes on where the former one was, if that decision is still there. */
function makeSteps(all) {
  const body = section("steps", "Decisions", "When somebody else gets a CPU, and why. Values are the policy's own, after the decision; those that it changed stand out. N and P go to the next and the previous one.", "Decisions");
  const labels = page.runs.map((run) => run.label);
  if (!labels.includes(studio.step.run)) studio.step = { run: labels[0], i: 0 };
  const { step } = studio, said = el("p", { class: "step-said", role: "status", id: "step" }), place = el("div", { id: "values" });
  const show = (by) => {
    const steps = all[labels.indexOf(step.run)], { decisions } = steps;
    step.i = Math.max(0, Math.min(decisions.length - 1, step.i + by));
    const found = decisions[step.i];
    if (!found) { said.textContent = "There is no decision."; place.replaceChildren(); return; }
    said.textContent = `${step.i + 1} of ${steps.has_more ? "the first " : ""}${decisions.length}: at ${moment(found.at_ns, 1000)} CPU ${found.cpu} goes to ${found.task}, because ${found.because}.`;
    place.replaceChildren(stepTable(steps, found.at_ns));
    if (by) { page.window?.reveal(found.at_ns, found.at_ns); page.clock.tell(found.at_ns); }
  };
  const choice = labels.length > 1 ? [selector("Policy", labels.map((label) => [label, label]), step.run, (value) => { step.run = value; step.i = 0; show(0); })] : [];
  const by = (text, label, id, n) => button(text, () => show(n), { "aria-label": label, id });
  body.append(el("div", { class: "tools" }, by("\u21e4", "First decision", "first", -1e9), by("\u2190 Previous", "Previous decision", "previous", -1), by("Next \u2192", "Next decision", "next", 1), ...choice), said, place);
  body.closest("section").addEventListener("keydown", (event) => {
    const n = { n: 1, p: -1 }[event.key];
    if (n && event.target.tagName !== "SELECT") show(n);
  });
  show(0);
}
