// ---- The answer first: a card with the verdict, and the policies side by side.

/** The names of measures, and what they mean. */
const MEASURES = {
  response_mean_ns: ["response mean", "from a job's start to its end (textbooks: turnaround), over all jobs"],
  response_p50_ns: ["response p50", "half of the jobs took at most so long"],
  response_p99_ns: ["response p99", "99 of 100 jobs took at most so long"],
  slowdown_mean: ["slowdown", "response time over service, the mean over jobs"],
  wait_mean_ns: ["waiting mean", "runnable without a CPU, per job"],
  wait_p99_ns: ["waiting p99", "99 of 100 jobs waited at most so long"],
  delay_mean_ns: ["latency mean", "from a wake-up to the CPU (textbooks: response)"],
  delay_p99_ns: ["latency p99", "99 of 100 wake-ups took at most so long"],
  error_max_ns: ["service error", "greatest distance of received from entitled CPU time, either way"],
  jain: ["Jain's index", "how evenly shares are met; 1 is fair"],
  utilization: ["CPU used", "CPU time given to tasks, of all CPU time"],
  switches: ["switches", "times that a CPU changed from one task to another"],
  migrations: ["migrations", "times that a task ran on another CPU than before"],
  same_core_migrations: ["in core", "migrations to another hardware thread of the core"],
  same_llc_migrations: ["in cache", "migrations to another core with the same last-level cache"],
  same_node_migrations: ["in node", "migrations to another cache of the node"],
  other_node_migrations: ["to other node", "migrations to another node"],
  decisions: ["decisions", "times that the policy was asked for the next task"],
};

const SHOWN_AS = { time, share: percent, count: (value) => (value === undefined ? "-" : count(Math.round(value))), ratio };

/** The half of an interval beside its mean. */
function halfWidth(rank) {
  if (rank.is_exact) return "exact";
  return rank.interval_ns ? `\u00b1${time((rank.interval_ns[1] - rank.interval_ns[0]) / 2)}` : "no interval";
}

// ---- The card

/** Every policy's number with its interval, on one scale that begins at 0. */
function whiskers(verdict) {
  const known = verdict.ranks.filter((rank) => rank.mid_ns !== undefined);
  const most = known.reduce((most, rank) => Math.max(most, rank.interval_ns?.[1] ?? 0, rank.mid_ns), 0) || 1;
  const place = (ns) => `${(100 * Math.max(0, ns) / most).toFixed(3)}%`;
  const row = (rank, at) => {
    const ends = rank.interval_ns ?? [rank.mid_ns, rank.mid_ns];
    const bar = svg("svg", { class: "whisker", role: "presentation" },
      svg("line", { class: "rail", x1: "0%", x2: "100%", y1: 11, y2: 11 }),
      svg("rect", { class: "span", x: place(ends[0]), width: `${(100 * Math.max(0, ends[1] - Math.max(0, ends[0])) / most).toFixed(3)}%`, y: 6, height: 10 }),
      svg("circle", { class: "mid", cx: place(rank.mid_ns), cy: 11, r: 4.5, "data-policy": rank.policy }));
    const factor = rank.factor === undefined ? "" : `${rank.is_told ? "" : "~"}${digits(rank.factor)}\u00d7`;
    return el("div", { class: `rank${verdict.best.includes(at) ? " is-best" : ""}${rank.is_ranked ? "" : " unranked"}` },
      el("span", { class: "name", title: rank.policy }, rank.policy), bar,
      el("span", { class: "value" }, `${time(rank.mid_ns)} `, el("small", {}, halfWidth(rank))), el("span", { class: "factor" }, factor));
  };
  return el("div", { class: "ranks", role: "img", "aria-label": verdict.ranks.map((rank) => `${rank.policy}: ${time(rank.mid_ns)}, ${halfWidth(rank)}`).join("; ") },
    ...verdict.ranks.map((rank, at) => (rank.mid_ns === undefined ? el("div", { class: "rank" }, el("span", { class: "name" }, rank.policy), el("span", {}, "no job finished")) : row(rank, at))));
}

/** With a capital, unless it begins with a policy's name; options are set as such. */
function asSentence(text, { ranks }) {
  const isName = ranks.some(({ policy }) => text.startsWith(policy));
  return (isName ? text : text[0].toUpperCase() + text.slice(1)).replace(/--[a-z][a-z-]*( \d+)?/g, "`$&`");
}

function card(verdict, summary, name) {
  const best = verdict.ranks[verdict.best[0] ?? (verdict.ranks.length === 1 ? 0 : -1)];
  const headline = best?.mid_ns === undefined ? [] : [
    el("p", { class: "headline" }, time(best.mid_ns), " ", el("small", {}, `${verdict.criterion}, ${halfWidth(best)}${best.interval_ns ? " (95%)" : ""}`))];
  return el("div", { class: "card" },
    el("div", { class: "said" },
      el("p", { class: "overline" }, [name, verdict.ranks.length > 1 ? (verdict.best.length ? `best by ${verdict.criterion}` : verdict.criterion) : verdict.criterion].filter(Boolean).join(" \u00b7 ")),
      el("p", { class: "winner" }, verdict.title), ...headline,
      ...(summary ? [el("p", { class: "summary" }, ...prose(asSentence(summary, verdict)))] : []),
      el("p", { class: "limits-head" }, "What this does not say"), el("ul", { class: "limits" }, ...verdict.limits.map((limit) => el("li", {}, ...prose(limit))))),
    el("div", { class: "shown" }, el("p", { class: "overline" }, `${verdict.criterion}${verdict.ranks.some((rank) => rank.interval_ns) ? ", with 95% intervals" : ""}`), whiskers(verdict)));
}

function makeVerdict(data) {
  const body = section("verdict", "Verdict", "");
  body.append(...data.verdicts.map((verdict, i) => card(verdict, data.summaries[i], data.sources[i].name)));
}

// ---- The comparison

/** A row a policy of a source: { source, at (among the source's policies), verdict }. */
function comparisonRows(data) {
  return data.verdicts.flatMap((verdict, i) => verdict.ranks.map((rank, at) => ({
    verdict, rank, at, label: [data.sources[i].name, rank.policy].filter(Boolean).join(": "),
  })));
}

function scoreColumn(name, kind) {
  const [head, help] = MEASURES[name] ?? [name, ""];
  const score = (row) => row.verdict.scores.find((one) => one.name === name);
  const value = (row) => score(row)?.values[row.at] ?? undefined;
  return { head, name, help, cell: (row) => SHOWN_AS[kind](value(row)), raw: value, best: (row) => score(row)?.is_best[row.at] };
}

/** By relevance, each with its interval and factor behind it where they are known. */
function comparisonColumns(data, withSilent) {
  const columns = [{ head: "policy", name: "policy", text: true, cell: (row) => row.label, raw: (row) => row.label }];
  const decides = { "mean response": "response_mean_ns", "greatest service error": "error_max_ns" };
  const scores = new Map(data.verdicts.flatMap((verdict) => verdict.scores.map((score) => [score.name, score])));
  for (const [name, score] of scores) {
    if (score.silent && !withSilent) continue;
    columns.push(scoreColumn(name, score.kind));
    if (!data.verdicts.some((verdict) => decides[verdict.criterion] === name)) continue;
    const known = (row) => decides[row.verdict.criterion] === name;
    const varies = data.verdicts.some((verdict) => verdict.ranks.some((rank) => rank.interval_ns || rank.is_exact));
    if (varies) columns.push({ head: "\u00b195%", name: `${name.replace(/_ns$/, "")}_ci95_ns`, help: "half of the 95% interval", cell: (row) => (known(row) ? halfWidth(row.rank).replace("\u00b1", "").replace("no interval", "-") : "-"),
      raw: (row) => (known(row) && row.rank.interval_ns ? (row.rank.interval_ns[1] - row.rank.interval_ns[0]) / 2 : undefined) });
    if (data.verdicts.some((verdict) => verdict.ranks.length > 1)) {
      columns.push({ head: "times the best", name: "factor", help: "~ no interval tells it from the best", cell: (row) => (row.rank.factor === undefined ? (row.rank.is_ranked ? "1" : "-") : `${row.rank.is_told ? "" : "~"}${digits(row.rank.factor)}`), raw: (row) => row.rank.factor });
    }
  }
  return columns;
}

function makeComparison(data) {
  const rows = comparisonRows(data), hidden = data.verdicts.flatMap((verdict) => verdict.scores).filter((score) => score.silent);
  const names = [...new Set(hidden.map((score) => MEASURES[score.name]?.[0] ?? score.name))];
  const body = section("comparison", "Comparison", "Each policy over the whole run; the best value of a column is marked. A head sorts, and says what it means.");
  let withSilent = false;
  const drawTable = () => {
    const tools = names.length ? [button(withSilent ? "Hide what says nothing" : "All columns", () => { withSilent = !withSilent; drawTable(); }, { id: "columns", "aria-pressed": String(withSilent) })] : [];
    const reason = names.length && !withSilent ? [el("p", { class: "hint" }, `Not shown: ${names.join(", ")} (${[...new Set(hidden.map((score) => score.silent))].join("; ")}).`)] : [];
    const reps = page.runs.length > rows.length ? [numbers("Repetitions", () => ({ columns: RUN_COLUMNS, rows: page.runs }), "Each repetition")] : [];
    body.replaceChildren(table("Comparison of policies", comparisonColumns(data, withSilent), rows, { tools }), ...reason, ...reps);
  };
  drawTable();
}

const distribution = (head, name, of) => ["mean", "p50", "p99"].map((key) => (
  { head: `${head} ${key}`, name: `${name}_${key}_ns`, cell: (r) => time(of(r)[key]), raw: (r) => of(r)[key] }));

const RUN_COLUMNS = [
  { head: "run", name: "run", text: true, cell: (r) => r.label, raw: (r) => r.label },
  ...distribution("response", "response", (r) => r.response_ns),
  { head: "\u00b195%", name: "response_ci95_ns", cell: (r) => (r.deterministic ? "exact" : time(r.response_ns.ci95)), raw: (r) => r.response_ns.ci95 },
  ...distribution("waiting", "wait", (r) => r.wait_ns),
  ...distribution("latency", "delay", (r) => r.wake_delay_ns),
  { head: "Jain's index", name: "jain", cell: (r) => ratio(r.jain), raw: (r) => r.jain },
  { head: "CPU used", name: "utilization", cell: (r) => percent(r.utilization), raw: (r) => r.utilization },
  { head: "switches", name: "switches", cell: (r) => count(r.switches), raw: (r) => r.switches },
  { head: "migrations", name: "migrations", cell: (r) => count(r.migrations), raw: (r) => r.migrations },
];
