//! Several shards (`papers/placement.md`) on four, eight and twelve virtual CPUs: the verifier takes them, shares are right across them, and nothing is lost when
//! tasks are killed, or their affinity and weights change, while they move.

use serde_json::Value;

use crate::machine::{Said, in_turns, repeatable_on, several, workload};

const SPECS: [&str; 2] = ["sfq@cpu", "sfq@shards:size=2"];
/// Selections whose shards are compared by service, and that charge for time: wrr counts quanta, however short (wrr D2). The last two readjust weights, over all
/// shards and in each.
const BY_SERVICE: [&str; 4] = ["cfs@cpu", "stride@cpu", "gr3@shards:size=2", "sfs@shards:size=2"];
/// On twelve CPUs
const MANY: [&str; 2] = ["sfq@cpu", "cfs@shards:size=5"];
/// That whose programs are the longest, but for those that readjust weights in each shard.
const LONGEST: &str = "eevdf@cpu";
/// As in `shards.toml`: nice -2, and nice 0.
const WEIGHTS: [f64; 6] = [1586.0, 1024.0, 1024.0, 1024.0, 1024.0, 1024.0];

/// Runs the scripts of specs one after the other on so many CPUs.
pub fn run_on(cpus: u32, specs: &[&str], of: impl Fn(&str) -> String, seconds: u32) -> Said {
    let script: String = specs.iter().map(|spec| of(spec)).collect();
    let said = several(cpus, &script, seconds);
    assert_eq!(said.code, 0, "{said}");
    said.assert_calm();
    said
}

/// Its statistics, if its log was verified, the kernel's own scheduler is back, and tasks went from shard to shard.
pub fn counts(said: &Said, spec: &str) -> Value {
    assert_eq!(said.part(&format!("state {spec}")), "disabled");
    let log = said.json(&format!("log {spec}"));
    assert_eq!(log["verdict"], "ok", "{spec}: {said}");
    let counts = said.json(&format!("stats {spec}"))["interval"]["counts"].clone();
    for what in ["faults", "missing", "without_id", "fallbacks"] {
        assert_eq!(counts[what], 0, "{spec}: {what}: {counts}");
    }
    assert!(counts["moves"].as_u64() > Some(20), "{spec}: {counts}");
    let interval = &said.json(&format!("stats {spec}"))["interval"];
    let shards = interval["shards"].as_array().unwrap_or_else(|| panic!("{spec}: no shards: {interval}"));
    assert!(shards.len() > 1, "{spec}: {shards:?}");
    for what in ["decisions", "moves", "taken", "lock_samples", "lock_wait_ns"] {
        let each: Vec<u64> = shards.iter().filter_map(|shard| shard[what].as_u64()).collect();
        assert_eq!(each.len(), shards.len(), "{spec}: {what}: {shards:?}");
        assert_eq!(Some(each.iter().sum()), counts[what].as_u64(), "{spec}: {what}: {shards:?}");
    }
    let decided = |shard: &Value| shard["decisions"].as_u64() > Some(0);
    assert!(shards.iter().all(decided), "{spec}: {shards:?}");
    counts
}

/// The lines of a script that run a command under a spec, which may have options, and verify its log.
pub fn loaded(spec: &str, command: &str) -> String {
    format!(
        "divvy load {spec} --format json --interval 60s --log /tmp/log --exec {command} >/tmp/stats || exit 1\n\
         echo '== stats {spec}'; tail -n 1 /tmp/stats\n\
         echo '== log {spec}'; divvy verify /tmp/log --format json; rm /tmp/log\n\
         echo '== state {spec}'; cat /sys/kernel/sched_ext/state\n"
    )
}

/// The most instructions of one program, as for all others (`budget.rs`). It is twice that for gr3 and sfs, which readjust weights twice: over all shards and in
/// each. The kernel refuses a million.
fn most_of_one(spec: &str) -> u64 {
    if spec.starts_with("gr3") || spec.starts_with("sfs") { 600_000 } else { 300_000 }
}

/// Each program of each spec is short enough for the verifier.
pub fn assert_verified(specs: &[&str]) {
    let load = |spec: &str| {
        format!(": >/tmp/rules.toml; echo '== {spec}'; divvy load {spec} --dry-run --format json || exit 1\n")
    };
    let said = in_turns(4, &specs.iter().map(|spec| load(spec)).collect::<String>(), 900);
    assert_eq!(said.code, 0, "{said}");
    said.assert_calm();
    for spec in specs {
        let programs = said.json(spec)["programs"].as_array().expect("programs").clone();
        let most = programs.iter().filter_map(|program| program["instructions"].as_u64()).max();
        println!("{spec}: {most:?}");
        assert!(most < Some(most_of_one(spec)), "{spec}: {most:?}");
    }
}

#[test]
#[ignore = "needs the test VM: make test-vm"]
fn the_verifier_takes_several_shards() {
    assert_verified(&[SPECS[0], SPECS[1], LONGEST, "pbs_o1@cpu"]);
}

/// Six tasks that always run on four CPUs, none of which may have one alone.
#[test]
#[ignore = "needs the test VM: make test-vm"]
fn shares_are_right_across_shards() {
    let file = workload("shards.toml").display().to_string();
    let said = run_on(
        4,
        &SPECS,
        |spec| {
            let play = format!("divvy play {file} --format json -o /tmp/report");
            loaded(spec, &play) + &format!("echo '== report {spec}'; cat /tmp/report\n")
        },
        900,
    );
    for spec in SPECS {
        counts(&said, spec);
        let report = said.json(&format!("report {spec}"));
        let tasks = report["runs"][0]["tasks"].as_array().expect("tasks");
        let services: Vec<f64> =
            tasks.iter().map(|task| task["service_ns"].as_f64().expect("ns") / 1e9).collect();
        let (all, total): (f64, f64) = (services.iter().sum(), WEIGHTS.iter().sum());
        for (service, weight) in services.iter().zip(WEIGHTS) {
            let entitled = all * weight / total;
            assert!(
                (service - entitled).abs() < 0.03 * entitled,
                "{spec}: {service} of {entitled}: {services:?}"
            );
        }
    }
}

/// Shards that are compared by service, where tasks leave. Those that stay have the ratio of their weights together, whenever the others leave: within 3 %, as
/// above. For one task alone no bound is known: 10 %, as in `by-service-weights.script` of the model. Both were chosen before they were measured. Its clock counts
/// instructions: a machine that is busy with something else makes some quanta many times as long, and a run lasts for seconds only.
#[test]
#[ignore = "needs the test VM: make test-vm"]
fn shares_are_right_where_shards_are_compared_by_service() {
    let of = |spec| {
        let play = "divvy play /w.toml --format json -o /tmp/report";
        loaded(spec, play) + &format!("echo '== report {spec}'; cat /tmp/report\n")
    };
    let script: String = BY_SERVICE.iter().map(|spec| of(spec)).collect();
    let said = repeatable_on(4, &script, &[(workload("shards_leave.toml"), "/w.toml")], 900);
    assert_eq!(said.code, 0, "{said}");
    said.assert_calm();
    for spec in BY_SERVICE {
        let counts = counts(&said, spec);
        let report = said.json(&format!("report {spec}"));
        let tasks = report["runs"][0]["tasks"].as_array().expect("tasks");
        let of = |process: &str| -> Vec<f64> {
            let those = tasks.iter().filter(|task| task["process"] == process);
            those.map(|task| task["service_ns"].as_f64().expect("ns") / 1e9).collect()
        };
        let (heavy, stays) = (of("heavy"), of("stays"));
        assert_eq!((heavy.len(), stays.len()), (4, 8), "{spec}");
        let (heavies, total) = (heavy.iter().sum::<f64>(), heavy.iter().chain(&stays).sum::<f64>());
        let part = 4.0 * 1991.0 / (4.0 * 1991.0 + 8.0 * 1024.0);
        println!("{spec}: {counts}: {heavy:.3?} {stays:.3?}, heavy ones {:.4} of {part:.4}", heavies / total);
        assert!((heavies / total - part).abs() < 0.03 * part, "{spec}: {heavies} of {total}");
        for (tasks, each) in [(&heavy, total * part / 4.0), (&stays, total * (1.0 - part) / 8.0)] {
            assert!(tasks.iter().all(|task| (task - each).abs() < 0.1 * each), "{spec}: {tasks:?}, {each}");
        }
    }
}

/// Four CPUs in four shards and in two, eight in four, and twelve in twelve and in three, the last of which is smaller.
#[test]
#[ignore = "needs the test VM: make test-vm"]
fn a_storm_over_shards_loses_no_task() {
    let storm = workload("storm.sh").display().to_string();
    for (cpus, specs) in [(4, &SPECS[..]), (8, &SPECS[1..]), (12, &MANY)] {
        let said = run_on(cpus, specs, |spec| loaded(spec, &format!("bash {storm} 6")), 1500);
        for spec in specs {
            let counts = counts(&said, spec);
            println!("{spec} on {cpus} CPUs: {counts}");
        }
    }
}
