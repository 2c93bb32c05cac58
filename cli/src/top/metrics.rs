//! Metrics in Prometheus' text format, version 0.0.4.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::net::SocketAddr;
use std::sync::{Mutex, PoisonError};

use anyhow::Context as _;
use divvy_kernel::load::{self, Period, Shard, TaskRow, Viewer};

use crate::http::{Request, Response, Server, host};

use super::options::MetricsOptions;
use super::users::Users;

const PATH: &str = "/metrics";

/// Default number of threads with metrics of their own: each has eight series.
pub const THREADS: usize = 100;

/// Answers scrapes of Prometheus.
#[derive(Debug)]
pub struct Exporter {
    server: Server,
    threads: usize,
}

/// Reads an address that no other machine can reach: metrics contain the names of programs.
pub fn loopback(text: &str) -> Result<SocketAddr, String> {
    let address: SocketAddr =
        text.parse().map_err(|_| "an address and a port, as in 127.0.0.1:9123 or [::1]:9123".to_owned())?;
    if address.ip().is_loopback() {
        return Ok(address);
    }
    Err("only a loopback address, 127.0.0.1 or [::1]: metrics show who runs what, and everybody who reaches the port can \
         read them; for other machines, put a proxy with access control before it"
        .to_owned())
}

/// Opens the port; [`Exporter::serve_forever`] answers.
pub fn listen(metrics: MetricsOptions) -> anyhow::Result<Exporter> {
    let address = metrics.address;
    let server = Server::listen(address, 0).with_context(|| format!("cannot listen at {address}"))?;
    Ok(Exporter { server, threads: metrics.threads })
}

impl Exporter {
    pub fn url(&self) -> String {
        self.server.url(PATH)
    }

    /// Answers also while no scheduler is loaded: `divvy_up` is then 0.
    pub fn serve_forever(&self) -> anyhow::Result<()> {
        let (viewer, users) = (Mutex::new(Viewer::default()), Users::read());
        // One request at a time asks the scheduler.
        let scrape = || self.scrape(&mut viewer.lock().unwrap_or_else(PoisonError::into_inner), &users);
        Err(self.server.serve_forever(|request| answer(request, scrape)))
            .context("metrics are no longer served")
    }

    fn scrape(&self, viewer: &mut Viewer, users: &Users) -> String {
        match load::look() {
            Ok(look) => {
                let policy = look.policy.clone();
                text(&policy, &viewer.since_loading(look), users, self.threads)
            }
            Err(_) => up(false),
        }
    }
}

/// Answers one path, to this machine.
fn answer(request: &Request, scrape: impl FnOnce() -> String) -> Response {
    match (request.method.as_str(), request.path()) {
        _ if !request.field("host").is_none_or(host::is_this_machine) => {
            Response::plain("403 Forbidden", "ask for 127.0.0.1 or localhost\n")
        }
        ("GET", PATH) => Response::new("200 OK", "text/plain; version=0.0.4; charset=utf-8", scrape()),
        ("GET", _) => Response::plain("404 Not Found", &format!("there is {PATH}\n")),
        _ => Response::plain("405 Method Not Allowed", "GET is\n"),
    }
}

fn up(is_loaded: bool) -> String {
    let mut out = String::new();
    head(&mut out, "divvy_up", "gauge", "Whether a scheduler of divvy is loaded, and answers.");
    let _ = writeln!(out, "divvy_up {}", u8::from(is_loaded));
    out
}

/// The metrics since loading.
fn text(policy: &str, total: &Period, users: &Users, threads: usize) -> String {
    let mut out = up(true);
    head(&mut out, "divvy_policy_info", "gauge", "The loaded policy with its parameters.");
    let version = env!("CARGO_PKG_VERSION");
    let _ = writeln!(out, "divvy_policy_info{{policy=\"{}\",version=\"{version}\"}} 1", label(policy));
    one(&mut out, "divvy_cpus", "gauge", "CPUs that it schedules.", f64::from(total.cpus));
    one(&mut out, "divvy_loaded_seconds", "gauge", "Time since it was loaded.", seconds(total.end_ns));
    for (name, help, value) in total.counts.all() {
        let (name, kind, unit) = metric("divvy", name);
        one(&mut out, &name, kind, help, value as f64 / unit);
    }
    shards(&mut out, total);
    let tasks = named(total, users, threads);
    for (name, kind, help, value) in FAMILIES {
        head(&mut out, name, kind, help);
        for (labels, task) in &tasks {
            let _ = writeln!(out, "{name}{{{labels}}} {}", value(task));
        }
    }
    out
}

/// The metric of one of the host's counts: its name and type, and what 1 is in it.
fn metric(prefix: &str, count: &str) -> (String, &'static str, f64) {
    match count {
        "tasks" | "runnable" => (format!("{prefix}_{count}"), "gauge", 1.0),
        "without_id" => (format!("{prefix}_tasks_without_id"), "gauge", 1.0),
        "lock_wait_ns" => (format!("{prefix}_lock_wait_seconds_total"), "counter", 1e9),
        _ => (format!("{prefix}_{count}_total"), "counter", 1.0),
    }
}

/// Several shards have metrics of their own.
fn shards(out: &mut String, total: &Period) {
    let Some(first) = total.shards.first() else { return };
    for (at, (count, help, _)) in first.counts.all().enumerate() {
        let (name, kind, unit) = metric("divvy_shard", count);
        head(out, &name, kind, help);
        for (shard, Shard { cpus, counts }) in total.shards.iter().enumerate() {
            let value = counts.all().nth(at).map_or(0, |(_, _, value)| value) as f64 / unit;
            let cpus = label(cpus);
            let _ = writeln!(out, "{name}{{shard=\"{shard}\",cpus=\"{cpus}\"}} {value}");
        }
    }
}

/// Those that received the most, with their labels, which no two have: a number may have been given again.
fn named<'a>(total: &'a Period, users: &Users, threads: usize) -> Vec<(String, &'a TaskRow)> {
    let mut seen = BTreeSet::new();
    let named = total.tasks.iter().filter(|task| task.pid > 0 && !task.comm.is_empty());
    let labelled = named.map(|task| (labels(task, users), task));
    labelled.filter(|(labels, _)| seen.insert(labels.clone())).take(threads).collect()
}

type Family = (&'static str, &'static str, &'static str, fn(&TaskRow) -> f64);

/// Metrics of threads: name, type, help, value.
const FAMILIES: [Family; 8] = [
    ("divvy_received_seconds_total", "counter", "CPU time that a thread received.", |t| {
        seconds(t.received_ns)
    }),
    (
        "divvy_entitled_seconds_total",
        "counter",
        "CPU time that a thread was entitled to, in the fluid model.",
        |t| seconds(t.entitled_ns),
    ),
    (
        "divvy_service_error_seconds",
        "gauge",
        "CPU time received over that entitled to, less in the negative.",
        |t| t.error_ns as f64 / 1e9,
    ),
    (
        "divvy_wait_seconds_total",
        "counter",
        "Time for which a thread waited for a CPU, before turns that it got.",
        |t| seconds(t.waited_ns),
    ),
    ("divvy_waits_total", "counter", "Turns that a thread waited for.", |t| f64::from(t.waits)),
    ("divvy_turns_total", "counter", "Turns that a thread began.", |t| f64::from(t.turns)),
    ("divvy_weight", "gauge", "A thread's weight as asked for; nice 0 is 1024.", |t| t.weight),
    ("divvy_effective_weight", "gauge", "A thread's weight after the modifiers; nice 0 is 1024.", |t| {
        t.effective_weight
    }),
];

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

fn labels(task: &TaskRow, users: &Users) -> String {
    let user = task.uid.map(|uid| users.name(uid)).unwrap_or_default();
    let (pid, tgid) = (task.pid, task.tgid);
    let (comm, user, cgroup) = (label(&task.comm), label(&user), label(&task.cgroup));
    format!("pid=\"{pid}\",tgid=\"{tgid}\",comm=\"{comm}\",user=\"{user}\",cgroup=\"{cgroup}\"")
}

/// A label's value may hold anything but these as they are.
fn label(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

fn head(out: &mut String, name: &str, kind: &str, help: &str) {
    let _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} {kind}");
}

fn one(out: &mut String, name: &str, kind: &str, help: &str, value: f64) {
    head(out, name, kind, help);
    let _ = writeln!(out, "{name} {value}");
}

#[cfg(test)]
mod tests {
    #[test]
    fn one_path_is_answered_to_this_machine() {
        for (method, target, name, says) in [
            ("GET", "/metrics", Some("localhost:9123"), "200 OK"),
            ("GET", "/metrics?x=1", None, "200 OK"),
            ("GET", "/metrics", Some("[::1]:9123"), "200 OK"),
            ("GET", "/metrics", Some("[2001:db8::1]"), "403 Forbidden"),
            ("GET", "/", Some("localhost"), "404 Not Found"),
            ("POST", "/metrics", Some("localhost"), "405 Method Not Allowed"),
            ("GET", "/metrics", Some("evil.example:9123"), "403 Forbidden"),
        ] {
            let fields: Vec<_> = name.map(|name| ("Host", name)).into_iter().collect();
            let request = Request::of(method, target, &fields, "");
            assert_eq!(answer(&request, || "divvy_up 1\n".to_owned()).status, says, "{request:?}");
        }
    }

    use std::collections::BTreeMap;

    use super::super::rows::tests::interval;
    use divvy_kernel::load::ShardStats;

    use super::*;

    /// A sample of the text format: name, labels, value.
    type Sample = (String, BTreeMap<String, String>, f64);

    /// Reads the text format by its specification, and checks what `promtool check metrics` does: HELP and TYPE once and
    /// before the samples, families not interleaved, counters named _total, no sample twice, names of legal letters.
    fn parse(text: &str) -> Vec<Sample> {
        assert!(text.ends_with('\n'));
        let (mut kinds, mut seen, mut samples) = (BTreeMap::new(), BTreeSet::new(), Vec::new());
        let mut family = String::new();
        for line in text.lines() {
            if let Some(rest) = line.strip_prefix("# HELP ") {
                let (name, help) = rest.split_once(' ').expect("a name and a text");
                assert!(!help.is_empty() && !help.contains('\\'), "{line}");
                assert!(seen.insert(format!("help {name}")), "twice: {line}");
                family = name.to_owned();
            } else if let Some(rest) = line.strip_prefix("# TYPE ") {
                let (name, kind) = rest.split_once(' ').expect("a name and a type");
                assert_eq!(name, family, "HELP and TYPE are together");
                assert_eq!(kind == "counter", name.ends_with("_total"), "{line}");
                assert!(["counter", "gauge"].contains(&kind));
                assert!(kinds.insert(name.to_owned(), kind.to_owned()).is_none(), "twice: {line}");
            } else {
                let sample = parse_sample(line);
                assert_eq!(sample.0, family, "samples are with their family");
                assert!(seen.insert(format!("{} {:?}", sample.0, sample.1)), "twice: {line}");
                samples.push(sample);
            }
        }
        samples
    }

    fn parse_sample(line: &str) -> Sample {
        let end = line.find(['{', ' ']).expect("a value");
        let name = line[..end].to_owned();
        assert!(name.chars().all(|c| c.is_ascii_lowercase() || c == '_'), "{name}");
        let (mut labels, mut rest) = (BTreeMap::new(), &line[end..]);
        if let Some(inner) = rest.strip_prefix('{') {
            rest = inner;
            while !rest.starts_with('}') {
                let (key, after) = rest.split_once("=\"").expect("a label");
                let (value, after) = parse_value(after);
                assert!(labels.insert(key.to_owned(), value).is_none(), "twice: {key}");
                rest = after.strip_prefix(',').unwrap_or(after);
            }
            rest = &rest[1..];
        }
        (name, labels, rest.trim().parse().expect("a number"))
    }

    /// Up to the quote that is not escaped.
    fn parse_value(text: &str) -> (String, &str) {
        let (mut value, mut chars) = (String::new(), text.char_indices());
        while let Some((at, c)) = chars.next() {
            match c {
                '"' => return (value, &text[at + 1..]),
                '\\' => value.push(match chars.next().expect("an escaped character").1 {
                    'n' => '\n',
                    c @ ('\\' | '"') => c,
                    other => panic!("\\{other}"),
                }),
                c => value.push(c),
            }
        }
        panic!("no end: {text}")
    }

    fn value<'a>(samples: &'a [Sample], name: &str) -> Vec<&'a Sample> {
        samples.iter().filter(|sample| sample.0 == name).collect()
    }

    #[test]
    fn a_scrape_reads_as_the_format_says() {
        let mut total = interval();
        total.counts.decisions = 7;
        total.counts.lock_wait_ns = 2_500_000_000;
        total.tasks[0].comm = "a \"b\\\n,{}=".to_owned();
        let samples = parse(&text("pbs:alpha=2", &total, &Users::parse("root:x:0:0:\n"), 100));
        assert_eq!(value(&samples, "divvy_up")[0].2, 1.0);
        assert_eq!(value(&samples, "divvy_policy_info")[0].1["policy"], "pbs:alpha=2");
        assert_eq!(value(&samples, "divvy_decisions_total")[0].2, 7.0);
        assert_eq!(value(&samples, "divvy_lock_wait_seconds_total")[0].2, 2.5);
        let received = value(&samples, "divvy_received_seconds_total");
        assert_eq!(received.len(), 4, "one that ended unseen has no name to count it by");
        assert_eq!((received[0].1["comm"].as_str(), received[0].2), ("a \"b\\\n,{}=", 0.9));
        assert_eq!((received[0].1["user"].as_str(), received[0].1["cgroup"].as_str()), ("root", "/web"));
        assert_eq!(value(&samples, "divvy_service_error_seconds")[1].2, -0.1);
        assert_eq!(value(&samples, "divvy_weight")[0].2, 1024.0);
    }

    #[test]
    fn each_shard_has_metrics_of_its_own() {
        let mut total = interval();
        let counts = |decisions| ShardStats { decisions, lock_wait_ns: 500_000_000, ..ShardStats::default() };
        total.shards = vec![
            Shard { cpus: "0-1".to_owned(), counts: counts(3) },
            Shard { cpus: "2".to_owned(), counts: counts(4) },
        ];
        let samples = parse(&text("sfq@cpu", &total, &Users::default(), 100));
        let decisions = value(&samples, "divvy_shard_decisions_total");
        let of = |sample: &Sample| (sample.1["shard"].clone(), sample.1["cpus"].clone(), sample.2);
        assert_eq!(of(decisions[0]), ("0".to_owned(), "0-1".to_owned(), 3.0));
        assert_eq!(of(decisions[1]), ("1".to_owned(), "2".to_owned(), 4.0));
        assert_eq!(value(&samples, "divvy_shard_lock_wait_seconds_total")[1].2, 0.5);
    }

    /// The queries of a Grafana dashboard, and the names of metrics and labels in them.
    #[test]
    fn the_dashboard_asks_for_metrics_and_labels_that_are_there() {
        let dashboard: serde_json::Value = serde_json::from_str(include_str!("grafana.json")).expect("JSON");
        let samples = parse(&text("rr", &interval(), &Users::default(), 100));
        let labels: BTreeSet<&str> =
            samples.iter().flat_map(|sample| sample.1.keys()).map(String::as_str).collect();
        let mut queries = 0;
        for panel in dashboard["panels"].as_array().expect("panels") {
            for target in panel["targets"].as_array().expect("targets") {
                let query = target["expr"].as_str().expect("a query");
                let names = query.split(|c: char| !c.is_ascii_lowercase() && c != '_');
                for name in names.filter(|name| name.starts_with("divvy_")) {
                    assert!(!value(&samples, name).is_empty(), "{}: {name}", panel["title"]);
                    queries += 1;
                }
                let by = query.split("by (").skip(1).filter_map(|rest| rest.split(')').next());
                for label in by {
                    assert!(labels.contains(label), "{}: {label}", panel["title"]);
                }
            }
        }
        assert!(queries > 15, "{queries}");
    }

    #[test]
    fn there_are_no_more_series_than_asked_for() {
        let samples = parse(&text("rr", &interval(), &Users::default(), 2));
        assert_eq!(value(&samples, "divvy_turns_total").len(), 2);
    }

    #[test]
    fn without_a_scheduler_it_is_down() {
        assert_eq!(parse(&up(false)), [("divvy_up".to_owned(), BTreeMap::new(), 0.0)]);
    }

    #[test]
    fn only_this_machine_may_ask() {
        assert!(loopback("127.0.0.1:9123").is_ok() && loopback("[::1]:9123").is_ok());
        for other in ["0.0.0.0:9123", "192.0.2.1:9123", "[::]:9123", "localhost:9123", "9123", ""] {
            assert!(loopback(other).is_err(), "{other}");
        }
        assert!(loopback("0.0.0.0:1").expect_err("everybody").contains("who runs what"));
    }
}
