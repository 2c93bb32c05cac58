//! Shares on many CPUs: the lines of `kernel/bench/shares.csv` are simulated again here, all up to 8 CPUs and some of 64, and the tables of the
//! page have its numbers. The parts that users, programs and cgroups are entitled to are those of the exact hierarchical fluid.

use std::collections::BTreeMap;

use divvy_policy::Weight;
use divvy_policy::spec::parse;
use divvy_results::csv::records;
use divvy_results::report::Run;
use divvy_sim::oracle::hierarchy::{Node, rates};
use divvy_sim::oracle::{Rational, whole};
use divvy_sim::run::{Options, simulate};
use divvy_workload::Workload;
use num_traits::{One, ToPrimitive};

use crate::root;

const CPUS: [u32; 6] = [2, 4, 8, 64, 256, 1024];
/// Each line that is simulated again here has so many.
const REPETITIONS: u32 = 3;

/// CPUs, at most, for all policies.
const ALL_POLICIES: u32 = 64;
/// CPUs, at most, for all workloads.
const MOST_OF_ALL: u32 = 256;
const SIMULATED: &str = "kernel/bench/shares.csv";
const PLAYED: &str = "kernel/bench/shares-vm.csv";

fn read(file: &str) -> String {
    std::fs::read_to_string(root().join(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
}

/// A workload of `examples/many-cpus`: its modifier, and the parts of all CPUs, by what names of tasks begin with.
struct Case {
    name: &'static str,
    modifier: &'static str,
    parts: &'static [(&'static str, f64)],
}

const CASES: [Case; 3] = [
    Case {
        name: "users",
        modifier: "+groups",
        parts: &[("ann-", 1.0 / 2.0), ("bob-", 1.0 / 3.0), ("cyd-", 1.0 / 6.0)],
    },
    Case {
        name: "programs",
        modifier: "+procfair",
        parts: &[("few-", 1.0 / 3.0), ("some-", 1.0 / 3.0), ("many-", 1.0 / 3.0)],
    },
    Case {
        name: "cgroups",
        modifier: "+groups",
        parts: &[("web-", 1.0 / 2.0), ("day-", 3.0 / 8.0), ("night-", 1.0 / 8.0)],
    },
];

impl Case {
    /// The file for two CPUs, enlarged as its head says.
    fn workload(&self, cpus: u32) -> Workload {
        let enlarged = |line: &str| match line.split_once(" = ") {
            Some((key @ ("cpus" | "count"), value)) => {
                format!("{key} = {}\n", value.parse::<u32>().expect("a number") * cpus / 2)
            }
            Some(("llc", _)) => format!("llc = {}\n", cpus.min(16)),
            _ => format!("{line}\n"),
        };
        let text: String =
            read(&format!("examples/many-cpus/{}.toml", self.name)).lines().map(enlarged).collect();
        Workload::parse(&text, self.name).unwrap_or_else(|error| panic!("{error}\n{text}"))
    }

    /// Linux's queues without and with the modifier; others with one queue, and with those placements that make several shards. On more
    /// than 64 CPUs fewer.
    fn policies(&self, cpus: u32) -> Vec<String> {
        let linux = "cfs:percpu=on:modern=on";
        if cpus > MOST_OF_ALL && self.name != "users" {
            return Vec::new();
        }
        if cpus > ALL_POLICIES {
            let few: &[&str] =
                if cpus > MOST_OF_ALL { &["", "@cpu"] } else { &["", "@cpu", "@shards:size=8"] };
            let sfq = few.iter().map(|placement| format!("sfq{}{placement}", self.modifier));
            return [linux.to_owned() + self.modifier].into_iter().chain(sfq).collect();
        }
        let mut all =
            vec![linux.to_owned(), linux.to_owned() + self.modifier, "eevdf".to_owned() + self.modifier];
        for policy in ["gr3", "sfq", "sfs"] {
            for (placement, size) in [("", 0), ("@cpu", 1), ("@shards:size=8", 8), ("@llc", 16)] {
                if size < cpus {
                    all.push(format!("{policy}{}{placement}", self.modifier));
                }
            }
        }
        all
    }

    /// The greatest error of a part, in percent of it.
    fn error_percent(&self, run: &Run, cpus: u32) -> f64 {
        let all_ns = u64::from(cpus) * run.duration_ns;
        let error = |(prefix, part): &(&str, f64)| {
            let own = run.tasks.iter().filter(|task| task.name.starts_with(prefix));
            let served_ns: u64 = own.map(|task| task.service_ns).sum();
            (served_ns as f64 / all_ns as f64 / part - 1.0).abs() * 100.0
        };
        self.parts.iter().map(error).fold(0.0, f64::max)
    }

    /// The line of the file, from the first number on.
    fn measured(&self, cpus: u32, policy: &str) -> Vec<String> {
        let runs = simulated(&self.workload(cpus), policy, REPETITIONS);
        let of = |value: &dyn Fn(&Run) -> f64| -> Vec<f64> { runs.iter().map(value).collect() };
        let errors = of(&|run| self.error_percent(run, cpus));
        let latencies_ms = of(&|run| run.wake_delay_ns.p99.expect("tasks wake up") / 1e6);
        let rate = |count: &dyn Fn(&Run) -> Option<u64>| {
            let rates = runs.iter().map(|run| Some(count(run)? as f64 / (run.duration_ns as f64 / 1e9)));
            let all: Option<Vec<f64>> = rates.collect();
            all.map_or(String::new(), |all| {
                format!("{:.1}", all.iter().sum::<f64>() / f64::from(REPETITIONS) / f64::from(cpus))
            })
        };
        let extremes = |values: &[f64]| {
            let greatest = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let least = values.iter().copied().fold(f64::INFINITY, f64::min);
            [format!("{greatest:.2}"), format!("{least:.2}")]
        };
        let mut line = [extremes(&errors), extremes(&latencies_ms)].concat();
        line.extend([rate(&|run| run.migrations), rate(&|run| run.shard_migrations)]);
        line
    }
}

/// The repetitions of a run.
fn simulated(workload: &Workload, policy: &str, reps: u32) -> Vec<Run> {
    let spec = parse(policy, divvy_policy::all()).unwrap_or_else(|error| panic!("{error}"));
    let options = Options { seed: 1, reps, ..Options::default() };
    simulate(workload, &[spec], &options, &()).unwrap_or_else(|error| panic!("{error}")).runs
}

/// A file's lines from the first number on, by workload, CPUs and policy.
fn kept(file: &str) -> BTreeMap<(String, u32, String), Vec<String>> {
    let lines = records(&read(file)).into_iter().skip(1).map(|record| record.fields);
    lines
        .map(|line| {
            let cpus = line[1].parse().expect("a number of CPUs");
            ((line[0].clone(), cpus, line[2].clone()), line[3..].to_vec())
        })
        .collect()
}

/// Every policy is there, for every number of CPUs and every workload, and nothing else.
#[test]
fn shares_are_measured_for_every_number_of_cpus() {
    let mut expected = Vec::new();
    for case in &CASES {
        for cpus in CPUS {
            expected
                .extend(case.policies(cpus).into_iter().map(|policy| (case.name.to_owned(), cpus, policy)));
        }
    }
    expected.sort();
    assert_eq!(kept(SIMULATED).into_keys().collect::<Vec<_>>(), expected);
}

/// All lines of up to 8 CPUs, and of 64 those of Linux's queues and of a queue for each CPU under sfq.
#[test]
fn measured_shares_repeat_to_the_digit() {
    let kept = kept(SIMULATED);
    for case in &CASES {
        for cpus in [2, 4, 8, 64] {
            for policy in case.policies(cpus) {
                let is_tried =
                    policy.starts_with("cfs") || (policy.starts_with("sfq") && policy.ends_with("@cpu"));
                if cpus > 8 && !is_tried {
                    continue;
                }
                let line = &kept[&(case.name.to_owned(), cpus, policy.clone())];
                assert_eq!(
                    &case.measured(cpus, &policy),
                    line,
                    "{} on {cpus} CPUs under {policy}",
                    case.name
                );
            }
        }
    }
}

/// Without the threads that sleep, in 10 s after 2 s. The lightest thread has 1/24 of a CPU, 417 ms in 10 s, and a quantum of 4 ms is 0.96 % of that: so no error is to
/// be above 1 %.
#[test]
fn sfq_honours_shares_of_threads_that_always_run() {
    for case in &CASES {
        for cpus in [2, 8, 32] {
            let mut workload = case.workload(cpus);
            (workload.warmup_ns, workload.duration_ns) = (2_000_000_000, Some(12_000_000_000));
            workload.tasks.retain(|task| !task.name.ends_with("-editor"));
            workload.tasks.retain(|task| !task.name.ends_with("-ui") && !task.name.ends_with("-shell"));
            for policy in case.policies(cpus).iter().filter(|policy| policy.starts_with("sfq")) {
                let error = case.error_percent(&simulated(&workload, policy, 1)[0], cpus);
                assert!(error <= 1.0, "{} on {cpus} CPUs under {policy}: {error} %", case.name);
            }
        }
    }
}

/// The parts by hand are those of the fluid, for tasks that always run.
#[test]
fn parts_are_those_of_the_hierarchical_fluid() {
    for cpus in [2, 64] {
        let threads = |first: usize, each_cpu: f64| {
            let n = (each_cpu * f64::from(cpus)) as usize;
            (first..first + n).map(|task| Node::Task(task, Rational::one())).collect::<Vec<_>>()
        };
        let group = |weight: u32, members| Node::Group(whole(weight), members);
        let (one, two, four) = (threads(0, 1.0), threads(1000, 2.0), threads(2000, 4.0));
        let users = vec![group(3, one.clone()), group(2, two.clone()), group(1, four.clone())];
        let programs = vec![group(1, one), group(1, two), group(1, four)];
        let batch = vec![group(3, threads(1000, 2.0)), group(1, threads(2000, 2.0))];
        let cgroups = vec![group(3, threads(0, 0.5)), group(1, batch)];
        for (case, tree) in CASES.iter().zip([users, programs, cgroups]) {
            let mut got = [0.0; 3];
            for (task, rate) in rates(&tree, cpus) {
                got[task / 1000] += rate.to_f64().expect("a rate") / f64::from(cpus);
            }
            for (got, (name, part)) in got.iter().zip(case.parts) {
                assert!((got - part).abs() < 1e-12, "{name} of {}: {got}", case.name);
            }
        }
    }
}

/// The rows of a table of the page.
fn table(page: &str, name: &str) -> Vec<Vec<String>> {
    let begin = format!("<!-- {name} -->\n");
    let (_, rest) = page.split_once(&begin).unwrap_or_else(|| panic!("the page has no table {name}"));
    let (table, _) = rest.split_once("<!-- end -->").expect("the table ends");
    let cells = |line: &str| line.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect();
    table.lines().map(cells).collect()
}

const PAGE: &str = "docs/explanation/many-cpus.md";

#[test]
fn the_page_has_the_measured_shares() {
    let (page, kept) = (read(PAGE), kept(SIMULATED));
    let moved = |line: &[String]| match line[5].as_str() {
        "" => line[4].clone(),
        moves => format!("{} ({moves})", line[4]),
    };
    type Cell<'a> = (&'a str, &'a dyn Fn(&[String]) -> String);
    let cells: [Cell; 3] =
        [("error", &|line| line[0].clone()), ("latency", &|line| line[2].clone()), ("moves", &moved)];
    for case in &CASES {
        for (what, cell) in &cells {
            let mut expected = vec![
                ["policy".to_owned()].into_iter().chain(CPUS.map(|cpus| cpus.to_string())).collect(),
                vec!["---".to_owned(); 7],
            ];
            for policy in case.policies(ALL_POLICIES) {
                let mut row = vec![format!("`{policy}`")];
                for cpus in CPUS {
                    let line = kept.get(&(case.name.to_owned(), cpus, policy.clone()));
                    row.push(line.map_or(String::new(), |line| cell(line)));
                }
                expected.push(row);
            }
            assert_eq!(table(&page, &format!("{} {what}", case.name)), expected, "{} {what}", case.name);
        }
    }
}

/// These numbers do not repeat, so they are only compared with the file.
#[test]
fn the_page_has_the_shares_of_the_virtual_machine() {
    let kept = kept(PLAYED);
    let mut expected = Vec::new();
    for case in &CASES[1..] {
        for policy in ["linux", "gr3", "sfq", "sfs"] {
            let modifier = if case.name == "programs" && policy != "linux" { case.modifier } else { "" };
            let policy = format!("{policy}{modifier}");
            let cell = |cpus| {
                let line = kept.get(&(case.name.to_owned(), cpus, policy.clone()));
                assert!(line.is_some() || cpus > 2, "{} under {policy}", case.name);
                line.map_or(String::new(), |line| format!("{} ({})", line[0], line[2]))
            };
            let cells = [2, 4].map(cell);
            expected.push([vec![case.name.to_owned(), format!("`{policy}`")], cells.to_vec()].concat());
        }
    }
    assert_eq!(table(&read(PAGE), "machine")[2..], expected);
}

/// A cgroup of weight 100, which is that of nice 0, with a thread on each CPU; the nice value with the nearest weight.
#[test]
fn the_page_has_the_weights_of_a_cgroup_on_a_cpu() {
    let of_nice = |nice: i8| Weight::from_nice(nice).fixed() / Weight::ONE.fixed();
    let nearest = |weight: u64| {
        let nices = (-20..20).min_by_key(|nice| of_nice(*nice).abs_diff(weight));
        nices.expect("there are 40")
    };
    let rows = table(&read(PAGE), "weights");
    for (at, cpus) in (1..).zip(CPUS) {
        let weight = 1024 / u64::from(cpus);
        assert_eq!(rows[0][at], cpus.to_string());
        assert_eq!(rows[2][at], weight.to_string(), "{cpus} CPUs");
        let nice = if weight < of_nice(19) { "below 19".to_owned() } else { nearest(weight).to_string() };
        assert_eq!(rows[3][at], nice, "{cpus} CPUs");
    }
}
