//! Two CPUs: weights that no schedule can honour, and programs with many threads.

use serde_json::Value;

use crate::machine::{Said, several, workload};

fn play(file: &str, spec: &str, name: &str) -> String {
    format!(
        "divvy load '{spec}' --max-tasks 4000 --quiet --log /tmp/log --exec divvy play {} --scale-weights 3% --format json -o /tmp/report >/dev/null || exit 1\n\
         echo '== {name}'; cat /tmp/report\n\
         echo '== log {name}'; divvy verify /tmp/log --format json || exit 1\n\
         echo '== state {name}'; cat /sys/kernel/sched_ext/state\n",
        workload(file).display()
    )
}

fn assert_verified(said: &Said, name: &str) {
    assert_eq!(said.part(&format!("state {name}")), "disabled");
    assert_eq!(said.json(&format!("log {name}"))["verdict"], "ok", "{name}: {said}");
}

fn share(report: &Value, process: &str) -> f64 {
    let tasks = report["runs"][0]["tasks"].as_array().expect("tasks");
    let of = tasks.iter().filter(|t| t["process"] == process);
    let all: f64 = tasks.iter().map(|t| t["service_ns"].as_f64().unwrap()).sum();
    of.map(|t| t["service_ns"].as_f64().unwrap()).sum::<f64>() / all
}

/// 1 : 10 : 1 on two CPUs: a thread cannot use more than one CPU, so the middle one has a whole CPU and the others share the
/// other (Surplus Fair Scheduling, section 1.2).
#[test]
#[ignore = "needs the test VM: make test-vm"]
fn infeasible_weights_share_what_is_left() {
    let specs = ["sfs", "gr3+feasible", "sfq+feasible"];
    let script: String = specs.iter().map(|spec| play("infeasible.toml", spec, spec)).collect();
    let said = several(2, &script, 1200);
    assert_eq!(said.code, 0, "{said}");
    said.assert_calm();
    for spec in specs {
        assert_verified(&said, spec);
        let report = said.json(spec);
        let [light, heavy, light_too] = ["light", "heavy", "light too"].map(|name| share(&report, name));
        assert!((light - light_too).abs() < 0.02, "{spec}: of equal weight, {light} and {light_too}");
        // On a busy host the system itself uses up to a tenth of a CPU. The threads that share a CPU lose that.
        assert!((0.48..0.55).contains(&heavy), "{spec}: entitled to half of the machine, {heavy}");
    }
}

/// Programs of 4 and of 16 threads: the same, with +procfair; by threads without.
#[test]
#[ignore = "needs the test VM: make test-vm"]
fn procfair_gives_programs_the_same_however_many_threads_they_have() {
    let script = play("greedy.toml", "sfq+procfair", "fair") + &play("greedy.toml", "sfq", "unfair");
    let said = several(2, &script, 900);
    assert_eq!(said.code, 0, "{said}");
    said.assert_calm();
    for (name, entitled) in [("fair", 0.5), ("unfair", 0.2)] {
        assert_verified(&said, name);
        let received = share(&said.json(name), "four");
        assert!(
            (received - entitled).abs() < 0.03,
            "{name}: the 4 threads received {received}, entitled {entitled}"
        );
    }
}
