//! A workload as TOML text, for people to edit.

use std::fmt::Write as _;

use super::{
    Arrivals, DEFAULT_PERIOD_NS, DEFAULT_QUANTUM_NS, Dist, Group, Step, Task, Topology, WeightSetting,
    Workload,
};
use divvy_policy::Weight;
use divvy_policy::units::show_duration;

/// Decimals of [`Weight::MIN`], which are exact.
const WEIGHT_DECIMALS: u64 = 10_000_000_000 / Weight::ONE.fixed();

impl Workload {
    /// The text that [`Workload::parse`] reads as this workload.
    pub fn to_toml(&self) -> String {
        let mut text = String::new();
        let _ = writeln!(text, "name = {}\ncpus = {}", quoted(&self.name), self.cpus);
        let times = [
            ("quantum", Some(self.quantum_ns).filter(|ns| *ns != DEFAULT_QUANTUM_NS)),
            ("duration", self.duration_ns),
            ("warmup", Some(self.warmup_ns).filter(|ns| *ns > 0)),
            ("tick", self.tick_ns),
            ("switch_cost", Some(self.switch_cost_ns).filter(|ns| *ns > 0)),
            ("migration_cost", Some(self.migration_cost_ns).filter(|ns| *ns > 0)),
        ];
        for (key, ns) in times {
            if let Some(ns) = ns {
                let _ = writeln!(text, "{key} = {}", duration(ns));
            }
        }
        self.topology.iter().for_each(|topology| write_topology(topology, &mut text));
        for barrier in &self.barriers {
            let _ = writeln!(text, "\n[barrier.{}]\nparties = {}", quoted(&barrier.name), barrier.parties);
        }
        let is_plain = |group: &&Group| group.weight == WeightSetting::DEFAULT && group.cpu_max.is_none();
        for group in self.groups.iter().filter(|group| !is_plain(group)) {
            write_group(group, &mut text);
        }
        for task in &self.tasks {
            self.write_task(task, &mut text);
        }
        text
    }

    fn write_task(&self, task: &Task, text: &mut String) {
        let _ = writeln!(text, "\n[[task]]\nname = {}", quoted(&task.name));
        if task.weight != WeightSetting::DEFAULT {
            let _ = writeln!(text, "{}", weight(task.weight));
        }
        let names = [
            ("process", task.process.as_ref()),
            ("executable", task.executable.as_ref()),
            ("group", task.group.map(|group| &self.groups[group].name)),
        ];
        for (key, name) in names {
            if let Some(name) = name {
                let _ = writeln!(text, "{key} = {}", quoted(name));
            }
        }
        if task.count != 1 {
            let _ = writeln!(text, "count = {}", task.count);
        }
        if let Some(cpus) = &task.affinity {
            let numbers: Vec<u32> = cpus.iter().map(|cpu| cpu.get()).collect();
            let _ = writeln!(text, "affinity = {numbers:?}");
        }
        match &task.arrivals {
            Arrivals::Forked { limit } => {
                text.push_str("start = \"fork\"\n");
                if let Some(limit) = limit {
                    let _ = writeln!(text, "limit = {limit}");
                }
            }
            _ if task.start_ns > 0 => {
                let _ = writeln!(text, "start = {}", duration(task.start_ns));
            }
            _ => {}
        }
        if let Some(stop_ns) = task.stop_ns {
            let _ = writeln!(text, "stop = {}", duration(stop_ns));
        }
        match &task.arrivals {
            Arrivals::Once | Arrivals::Forked { .. } => {}
            Arrivals::Closed { think } => {
                let _ = writeln!(text, "arrivals = {{ closed = {} }}", dist(think));
            }
            Arrivals::Open { interarrival, limit } => {
                let limit = limit.map_or(String::new(), |limit| format!(", limit = {limit}"));
                let _ = writeln!(text, "arrivals = {{ open = {}{limit} }}", dist(interarrival));
            }
        }
        text.push_str("program = [\n");
        self.write_steps(&task.program, 1, text);
        text.push_str("]\n");
    }

    fn write_steps(&self, steps: &[Step], depth: usize, text: &mut String) {
        let indent = "  ".repeat(depth);
        for step in steps {
            let (key, value) = match step {
                Step::Loop { times, body } => {
                    let times = times.map_or("\"forever\"".to_owned(), |times| times.to_string());
                    let _ = writeln!(text, "{indent}{{ loop = {times}, do = [");
                    self.write_steps(body, depth + 1, text);
                    let _ = writeln!(text, "{indent}] }},");
                    continue;
                }
                Step::Run(time) => ("run", dist(time)),
                Step::RunForever => ("run", "\"forever\"".to_owned()),
                Step::Sleep(time) => ("sleep", dist(time)),
                Step::Period(ns) => ("period", duration(*ns)),
                Step::Until(ns) => ("until", duration(*ns)),
                Step::Lock(lock) => ("lock", quoted(&self.locks[*lock])),
                Step::Unlock(lock) => ("unlock", quoted(&self.locks[*lock])),
                Step::Barrier(barrier) => ("barrier", quoted(&self.barriers[*barrier].name)),
                Step::Fork(task) => ("fork", quoted(&self.tasks[*task].name)),
                Step::Wake(task) => ("wake", quoted(&self.tasks[*task].name)),
                Step::Wait => ("wait", "true".to_owned()),
                Step::Post(semaphore) => ("post", quoted(&self.semaphores[*semaphore])),
                Step::Take(semaphore) => ("take", quoted(&self.semaphores[*semaphore])),
                Step::Yield => ("yield", "true".to_owned()),
                Step::Session => ("session", "true".to_owned()),
            };
            let _ = writeln!(text, "{indent}{{ {key} = {value} }},");
        }
    }
}

/// In quotes, as TOML and JSON both have it.
pub(super) fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' | '\\' => quoted.extend(['\\', letter]),
            control if control.is_control() => {
                let _ = write!(quoted, "\\u{:04x}", u32::from(control));
            }
            plain => quoted.push(plain),
        }
    }
    quoted + "\""
}

fn write_topology(topology: &Topology, text: &mut String) {
    let Topology { smt, llc, node, costs_ns } = *topology;
    let _ = writeln!(text, "\n[topology]\nllc = {llc}");
    if smt != 1 {
        let _ = writeln!(text, "smt = {smt}");
    }
    if let Some(node) = node {
        let _ = writeln!(text, "node = {node}");
    }
    for (key, ns) in Topology::COSTS.into_iter().zip(costs_ns).filter(|(_, ns)| *ns > 0) {
        let _ = writeln!(text, "{key} = {}", duration(ns));
    }
}

fn write_group(group: &Group, text: &mut String) {
    let _ = writeln!(text, "\n[[group]]\nname = {}", quoted(&group.name));
    if group.weight != WeightSetting::DEFAULT {
        let _ = writeln!(text, "{}", weight(group.weight));
    }
    let Some(limit) = &group.cpu_max else { return };
    let mut keys = vec![format!("quota = {}", duration(limit.quota_ns))];
    if limit.period_ns != DEFAULT_PERIOD_NS {
        keys.push(format!("period = {}", duration(limit.period_ns)));
    }
    if limit.burst_ns > 0 {
        keys.push(format!("burst = {}", duration(limit.burst_ns)));
    }
    let _ = writeln!(text, "cpu_max = {{ {} }}", keys.join(", "));
}

fn duration(ns: u64) -> String {
    format!("\"{}\"", show_duration(ns))
}

fn weight(weight: WeightSetting) -> String {
    match weight {
        WeightSetting::Nice(nice) => format!("nice = {nice}"),
        WeightSetting::Units(weight) => {
            let (fixed, one) = (weight.fixed(), Weight::ONE.fixed());
            let decimals = format!("{:010}", fixed % one * WEIGHT_DECIMALS);
            let decimals = decimals.trim_end_matches('0');
            let point = if decimals.is_empty() { "" } else { "." };
            format!("weight = {}{point}{decimals}", fixed / one)
        }
    }
}

fn dist(dist: &Dist) -> String {
    match dist {
        Dist::Constant(ns) => duration(*ns),
        Dist::Exp(mean) => format!("{{ exp = {} }}", duration(*mean)),
        Dist::Uniform { lo, hi } => {
            format!("{{ uniform = {{ lo = {}, hi = {} }} }}", duration(*lo), duration(*hi))
        }
        Dist::Pareto { shape, scale } => {
            format!("{{ pareto = {{ shape = {shape:?}, scale = {} }} }}", duration(*scale))
        }
        Dist::BoundedPareto { shape, lo, hi } => {
            let (lo, hi) = (duration(*lo), duration(*hi));
            format!("{{ bounded_pareto = {{ shape = {shape:?}, lo = {lo}, hi = {hi} }} }}")
        }
        Dist::Hyper { upto, means } => {
            format!("{{ hyper = {{ p = {:?}, means = {} }} }}", parts(upto), durations(means))
        }
        Dist::Erlang { k, mean } => format!("{{ erlang = {{ k = {k}, mean = {} }} }}", duration(*mean)),
        Dist::LogNormal { median, sigma } => {
            format!("{{ lognormal = {{ median = {}, sigma = {sigma:?} }} }}", duration(*median))
        }
        Dist::Choice { values, upto } => {
            format!("{{ choice = {{ values = {}, weights = {:?} }} }}", durations(values), parts(upto))
        }
    }
}

fn durations(all: &[u64]) -> String {
    let all: Vec<String> = all.iter().map(|ns| duration(*ns)).collect();
    format!("[{}]", all.join(", "))
}

/// Probabilities of cumulated ones.
fn parts(upto: &[f64]) -> Vec<f64> {
    let before = std::iter::once(&0.0).chain(upto);
    upto.iter().zip(before).map(|(upto, before)| upto - before).collect()
}
