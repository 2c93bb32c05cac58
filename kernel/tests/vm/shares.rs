//! Shares on one CPU whose clock counts instructions.

use divvy_sim::oracle::pbs_fluid::{Job, completions};
use serde_json::Value;

use crate::machine::{Said, repeatable, several, workload};

/// Plays a workload under each of these policies, and verifies the log of each.
fn play(file: &str, specs: &[&str], seconds: u32) -> Said {
    let mut script = String::from("set -e; mkdir -p /tmp; cd /tmp\n");
    for spec in specs {
        let quantum = quantum_ms(spec);
        script += &format!(
            "divvy load '{spec}' --max-tasks 4000 --quantum {quantum}ms --quiet --log log --exec divvy play /w.toml --format json -o report >/dev/null\n\
             echo '== {spec}'; cat report\n\
             echo '== state {spec}'; cat /sys/kernel/sched_ext/state\n\
             echo '== log {spec}'; divvy verify log --format json\n"
        );
    }
    let said = repeatable(&script, &[(workload(file), "/w.toml")], seconds);
    assert_eq!(said.code, 0, "{said}");
    said.assert_calm();
    for spec in specs {
        assert_eq!(said.part(&format!("state {spec}")), "disabled", "the kernel's own scheduler is not back");
        let log = said.json(&format!("log {spec}"));
        assert_eq!(log["verdict"], "ok", "{spec}: {log}");
        assert!(log["decisions"].as_u64().unwrap() > 500, "{spec}: {log}");
    }
    said
}

/// GR3's error is up to four quanta (Theorem 1). Four quanta of 4 ms are more than 1 % of the service of a light task here.
fn quantum_ms(spec: &str) -> u32 {
    if spec == "gr3" { 2 } else { 4 }
}

/// Service of each task, in seconds, in the file's order.
fn services(report: &Value) -> Vec<f64> {
    let tasks = report["runs"][0]["tasks"].as_array().expect("a report has tasks");
    tasks.iter().map(|t| t["service_ns"].as_f64().unwrap() / 1e9).collect()
}

/// Each task is within 1 % of its entitled part of the total service; under GR3, within five quanta.
fn assert_shares(spec: &str, services: &[f64], weights: &[f64]) {
    let (all, total): (f64, f64) = (services.iter().sum(), weights.iter().sum());
    assert!(all > 7.9, "{spec}: of 8 s of CPU time the tasks received {all}");
    for (service, weight) in services.iter().zip(weights) {
        let entitled = all * weight / total;
        let quanta = if spec == "gr3" { 5.0 * f64::from(quantum_ms(spec)) / 1e3 } else { 0.0 };
        assert!(
            (service - entitled).abs() < quanta.max(0.01 * entitled),
            "{spec}: {service} s received, {entitled} s entitled: {services:?}"
        );
    }
}

#[test]
#[ignore = "needs the test VM: make test-vm"]
fn proportional_shares_are_honoured_within_1_percent() {
    let specs = ["gr3", "sfs", "sfq", "eevdf", "cfs", "stride"];
    let said = play("unequal.toml", &specs, 1200);
    for spec in specs {
        assert_shares(spec, &services(&said.json(spec)), &[1024.0, 1024.0, 526.0, 335.0]);
    }
}

#[test]
#[ignore = "needs the test VM: make test-vm"]
fn rr_gives_equal_shares_whatever_the_weights() {
    let said = play("unequal.toml", &["rr"], 600);
    assert_shares("rr", &services(&said.json("rr")), &[1.0; 4]);
}

/// Each job ends when it does in the fluid solution, up to two quanta for each job and the CPU time that others took.
#[test]
#[ignore = "needs the test VM: make test-vm"]
fn pbs_follows_its_fluid_solution() {
    let jobs = [(0.0, 2.0), (0.5, 1.0), (1.5, 0.5)].map(|(arrival, demand)| Job { arrival, demand });
    let specs = ["pbs:alpha=0.5", "pbs:alpha=1", "pbs:alpha=2"];
    let said = play("arrivals.toml", &specs, 900);
    for (spec, alpha) in specs.iter().zip([0.5, 1.0, 2.0]) {
        let report = said.json(spec);
        let ends: Vec<f64> = (0..3)
            .map(|i| report["runs"][0]["tasks"][i]["finished_ns"].as_f64().expect("each job ends") / 1e9)
            .collect();
        let others = ends[0] - 3.5;
        assert!((0.0..0.05).contains(&others), "{spec}: 3.5 s of work ended after {} s", ends[0]);
        for (end, fluid) in ends.iter().zip(completions(&jobs, alpha, 0.0005)) {
            assert!(
                (end - fluid).abs() < 0.024 + others,
                "{spec}: ended at {ends:?}, in the fluid solution {fluid}"
            );
        }
    }
}

/// The same instructions must give the same report and the same log.
#[test]
#[ignore = "needs the test VM: make test-vm"]
fn a_run_repeats() {
    let runs: Vec<_> = (0..2).map(|_| play("arrivals.toml", &["sfq"], 600)).collect();
    assert_eq!(runs[0].json("sfq"), runs[1].json("sfq"));
    assert_eq!(runs[0].json("log sfq"), runs[1].json("log sfq"));
}

/// Runs a shell script under sfq, beside nothing.
fn under_sfq(file: &str) -> String {
    format!(
        "mkdir -p /tmp; cd /tmp\n\
         divvy load sfq --top 9 --format json --log log --exec sh {file} >said || exit 1\n\
         echo '== load'; tail -n 1 said; echo '== ran'; grep -v '^{{' said\n\
         echo '== charged'; divvy verify --events log | awk '\n\
             $3 == \"stopping\" {{ ran[$5] += $7 }}\n\
             END {{ for (task in ran) if (ran[task] > most) most = ran[task]; printf \"%.0f\", most }}'\n"
    )
}

/// The shell's CPU time as it says, as its account has it, and as it was charged by the log. It received the most, and so it was charged
/// the most.
fn assert_all_agree(said: &Said, within: f64) {
    assert_eq!(said.code, 0, "{said}");
    let ns = |part: &str| -> f64 {
        said.part(part).split(' ').next().and_then(|ns| ns.parse().ok()).unwrap_or_else(|| panic!("{said}"))
    };
    let (ran, charged) = (ns("ran"), ns("charged"));
    let received = said.json("load")["interval"]["tasks"][0]["received_ns"].as_f64().expect("ns");
    let near = |ns: f64| (ns - ran).abs() < within * ran;
    assert!(
        ran > 1e8 && near(charged) && near(received),
        "charged {charged}, received {received}, ran {ran} ns"
    );
}

/// The host charges what the kernel says in the end. It looks when the task sleeps, long after the last tick.
#[test]
#[ignore = "needs the test VM: make test-vm"]
fn a_task_that_sleeps_before_each_tick_is_charged_for_what_it_ran() {
    assert_all_agree(&repeatable(&under_sfq("/naps.sh"), &[(workload("naps.sh"), "/naps.sh")], 600), 0.02);
}

/// A task that sleeps since before loading, and becomes a real-time task in its sleep, received nothing from the policy.
#[test]
#[ignore = "needs the test VM: make test-vm"]
fn what_a_task_ran_before_loading_is_not_received() {
    let script = "sh -c 'i=0; while [ $i -lt 100000 ]; do i=$((i + 1)); done; read -r line </tmp/wait' & sleeper=$!\n\
        mkfifo /tmp/wait; sleep 0.1; until grep -q ^State:.S /proc/$sleeper/status; do sleep 0.1; done\n\
        echo '== ran'; cut -d' ' -f1 /proc/$sleeper/schedstat\n\
        divvy load sfq --format json --exec sh -c \"chrt -f -p 1 $sleeper; sleep 0.2\" >/tmp/said || exit 1\n\
        echo '== load'; tail -n 1 /tmp/said\n\
        kill $sleeper\n";
    let said = several(1, script, 600);
    assert_eq!(said.code, 0, "{said}");
    let ran: f64 = said.part("ran").parse().expect("ns");
    let load = said.json("load");
    let tasks = load["interval"]["tasks"].as_array().expect("a list");
    let most = tasks.iter().filter_map(|task| task["received_ns"].as_f64()).fold(0.0, f64::max);
    assert!(
        ran > 2e8 && most < 0.5 * ran,
        "ran {ran} ns before, the most that one received is {most}: {said}"
    );
}

/// A task receives from the policy what it runs in its class, and nothing while it is a real-time task. The guest has chrt only with this
/// machine's files.
#[test]
#[ignore = "needs the test VM: make test-vm"]
fn a_task_that_was_a_real_time_task_for_a_while_received_the_rest() {
    let file = workload("excursion.sh");
    assert_all_agree(&several(1, &under_sfq(&file.display().to_string()), 600), 0.05);
}
