// ---- Rows and colours of a timeline: CPUs, processes, classes or tasks.

/** The task of the workload that an instance such as `T/1` is of; results/src/groups.rs has the same rule. */
function classOf(name) {
  return name.match(/^(.+)\/\d+$/s)?.[1] ?? name;
}

const KINDS = { class: (task) => classOf(task.name), process: (task) => task.process, task: (task) => task.name };

/** The group of each task of a run, as numbers, and the groups' names in the order of their first tasks. */
function groupsOfRun(run, kind) {
  const names = [], places = new Map();
  const of = run.tasks.map((task) => {
    const name = KINDS[kind](task);
    if (!places.has(name)) { places.set(name, names.length); names.push(name); }
    return places.get(name);
  });
  return { of, names };
}

/** Colours are for tasks if these are few, else for what there are fewer of; one colour for everything says nothing. */
function bestKind(run) {
  if (run.tasks.length <= HUES) return "task";
  return ["class", "process"].map((kind) => [groupsOfRun(run, kind).names.length, kind]).sort(([a], [b]) => a - b).filter(([n]) => n > 1 && n < run.tasks.length)[0]?.[1] ?? "task";
}

/** More rows are not drawn. */
const MOST_ROWS = 48;

/** Rows: { name, lanes }. A CPU has one lane; a group as many as its tasks use at the same time. */
function rowsOf(run, cpuLanes, kind) {
  if (kind === "cpu") return { rows: cpuLanes.map((lane, cpu) => ({ name: `CPU ${cpu}`, lanes: [lane] })), all: cpuLanes.length };
  const { of, names } = groupsOfRun(run, kind), served = new Float64Array(names.length);
  for (const lane of cpuLanes) for (let i = 0; i < lane.task.length; i++) served[of[lane.task[i]]] += lane.to[i] - lane.from[i];
  const chosen = names.map((_, i) => i).sort((a, b) => served[b] - served[a]).slice(0, MOST_ROWS).sort((a, b) => a - b);
  const place = new Int32Array(names.length).fill(-1);
  chosen.forEach((group, row) => { place[group] = row; });
  const rows = chosen.map((group) => ({ name: names[group], parts: [] }));
  for (const { lane, i } of merged(cpuLanes)) {
    const row = rows[place[of[lane.task[i]]]];
    if (!row) continue;
    // The first lane that is free then.
    let part = row.parts.find((one) => one.until <= lane.from[i]);
    if (!part) row.parts.push(part = { until: 0, lanes: [], at: [] });
    part.until = lane.to[i];
    part.lanes.push(lane);
    part.at.push(i);
  }
  return { rows: rows.map(({ name, parts }) => ({ name, lanes: (parts.length ? parts : [{ lanes: [], at: [] }]).map(laneOf) })), all: names.length };
}

/** Slices of all CPUs by their beginnings. */
function* merged(lanes) {
  const at = new Int32Array(lanes.length);
  for (;;) {
    let next = -1;
    for (let cpu = 0; cpu < lanes.length; cpu++) {
      if (at[cpu] < lanes[cpu].from.length && (next < 0 || lanes[cpu].from[at[cpu]] < lanes[next].from[at[next]])) next = cpu;
    }
    if (next < 0) return;
    yield { lane: lanes[next], i: at[next]++ };
  }
}

/** A lane of slices of several CPUs' lanes. */
function laneOf({ lanes, at }) {
  const column = (Kind, of) => Kind.from(at, (i, k) => of(lanes[k], i));
  return {
    from: column(Float64Array, (lane, i) => lane.from[i]), to: column(Float64Array, (lane, i) => lane.to[i]), task: column(Uint32Array, (lane, i) => lane.task[i]),
    cpu: column(Uint16Array, (lane, i) => cpuOf(lane, i)), wake: column(Uint32Array, (lane, i) => lane.wake[i]),
    delay: column(Float64Array, (lane, i) => lane.delay[i]), ends: column(Uint8Array, (lane, i) => lane.ends[i]),
  };
}

function cpuOf(lane, i) {
  return typeof lane.cpu === "number" ? lane.cpu : lane.cpu[i];
}

// ---- Colours

function rgbaOf(color) {
  const n = parseInt(color.slice(1), 16);
  return (255 << 24 | (n & 255) << 16 | (n >> 8 & 255) << 8 | n >> 16) >>> 0;
}

/** Towards the ground, so that neighbours of the same hue differ. */
function faded(color, ground, part) {
  const mix = (shift) => Math.round((parseInt(color.slice(1), 16) >> shift & 255) * (1 - part) + (parseInt(ground.slice(1), 16) >> shift & 255) * part);
  return "#" + [16, 8, 0].map((shift) => mix(shift).toString(16).padStart(2, "0")).join("");
}

/** The n-th group's colour: eight hues, in three strengths. */
function groupColor(n, ground, hues) {
  return faded(hues[n % HUES], ground, [0, 0.35, 0.6][Math.floor(n / HUES) % 3]);
}

/** The colours of a timeline. Looking a colour up takes longer than painting, so it is done once per theme and choice. */
class Paints {
  at(run, kind, found) {
    const ground = colorOf("--ground"), key = `${ground} ${kind} ${found ? `found ${[...found].join()}` : "all"}`;
    if (key !== this.key) {
      const hues = Array.from({ length: HUES }, (_, i) => colorOf(`--hue${i}`)), rest = faded(colorOf("--band"), ground, 0.7);
      const { of, names } = groupsOfRun(run, kind);
      this.key = key;
      this.groups = names.map((name, n) => ({ name, color: groupColor(n, ground, hues) }));
      this.tasks = run.tasks.map((_, task) => (found && !found.has(task) ? rest : this.groups[of[task]].color));
      this.codes = Uint32Array.from(this.tasks, rgbaOf);
      Object.assign(this, { ground, faint: colorOf("--faint"), ink: colorOf("--ink"), accent: colorOf("--accent"), idle: rgbaOf(colorOf("--idle")), idleColor: colorOf("--idle") });
    }
    return this;
  }
}
