// ---- The table of tasks; of many, a row for each class or process with its totals.

const TASK_COLUMNS = [
  { head: "policy", name: "policy", text: true, cell: (r) => r.run.label, raw: (r) => r.run.label },
  { head: "process", name: "process", text: true, cell: (r) => r.task.process, raw: (r) => r.task.process },
  { head: "weight", name: "weight", cell: (r) => digits(r.task.weight), raw: (r) => r.task.weight },
  { head: "share", name: "share", cell: (r) => percent(r.task.share), raw: (r) => r.task.share },
  { head: "service", name: "service_ns", cell: (r) => time(r.task.service_ns), raw: (r) => r.task.service_ns },
  { head: "entitled", name: "entitled_ns", cell: (r) => time(r.task.entitled_ns), raw: (r) => r.task.entitled_ns },
  { head: "error least", name: "error_min_ns", cell: (r) => time(r.task.error_min_ns), raw: (r) => r.task.error_min_ns },
  { head: "error most", name: "error_max_ns", cell: (r) => time(r.task.error_max_ns), raw: (r) => r.task.error_max_ns },
  { head: "jobs", name: "jobs", cell: (r) => count(r.task.jobs), raw: (r) => r.task.jobs, zero: true },
  ...distribution("response", "response", (r) => r.task.response_ns),
  ...distribution("waiting", "wait", (r) => r.task.wait_ns),
];

/** Above this many tasks, the table begins with groups. */
const MANY_TASKS = 40;

/** A column that says nothing is left out: jobs and times where no job ended, and processes that are the tasks. */
function telling(columns, rows) {
  const says = (column) => rows.some((row) => ![undefined, null, "", ...(column.zero ? [0] : [])].includes(column.raw(row)));
  const isName = rows.every(({ task }) => task.process === task.name || task.process === "");
  return columns.filter((column) => says(column) && !(column.name === "process" && isName));
}

function makeTasks(data) {
  const body = section("tasks", "Tasks", "What each task received, was entitled to, and how long its jobs took. Of groups: sums; of service errors the furthest of any task, of means the mean over all jobs, of percentiles the worst of any task.");
  const groupsOf = new Map(data.sources.flatMap((source, i) => source.report.runs.map((run, at) => [run, data.groups[i].map((groups) => [groups.by, groups.runs[at]])])));
  const kinds = [...new Set(data.groups.flatMap((groups) => groups.map(({ by }) => by)))];
  const most = () => Math.max(...shownRuns().map((run) => run.tasks.length));
  state.rows = most() > MANY_TASKS && kinds.length ? kinds[0] : "task";
  let text = "";
  const rowsOf = (run) => {
    const groups = state.rows === "task" ? undefined : groupsOf.get(run).find(([by]) => by === state.rows)?.[1];
    return groups ? groups.map(({ tasks, ...task }) => ({ run, task, tasks })) : run.tasks.map((task) => ({ run, task }));
  };
  const draw = () => {
    const lists = shownRuns().map(rowsOf), rows = [];
    for (let i = 0; i < Math.max(...lists.map((list) => list.length)); i++) for (const list of lists) if (list[i]) rows.push(list[i]);
    const open = state.rows === "task" ? undefined : (row) => () => { text = row.task.name; state.rows = "task"; draw(); };
    const name = { head: state.rows, name: state.rows, text: true, cell: (r) => r.task.name, raw: (r) => r.task.name, open: open && ((row) => (row.tasks > 1 ? open(row) : undefined)), help: open && "A name leads to its tasks" };
    const size = { head: "tasks", name: "tasks", cell: (r) => count(r.tasks ?? 1), raw: (r) => r.tasks ?? 1 };
    const columns = [name, TASK_COLUMNS[0], ...(open ? [size] : []), ...TASK_COLUMNS.slice(1)];
    const choice = selector("Rows", [["task", "each task"], ...kinds.map((by) => [by, `by ${by}`])], state.rows, (value) => { text = ""; state.rows = value; draw(); });
    body.replaceChildren(table("Tasks", telling(columns, rows), rows, { filter: true, filterText: text, tools: kinds.length ? [choice] : [] }));
  };
  return draw;
}
