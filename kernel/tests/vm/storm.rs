//! Forks, exits, sleeps, changes of affinity, class and nice values, and a web server under load: 18 seconds on two CPUs. `make stress`
//! does it for an hour on four; `DIVVY_STORM_CPUS`, `DIVVY_STORM_SECONDS` (of each scheduler) and `DIVVY_STORM_ROUNDS` say how long.

use crate::machine::{several, workload};

const SPECS: [&str; 3] = ["gr3+feasible", "sfq+procfair", "eevdf"];

fn setting(name: &str, default: u32) -> u32 {
    let text = std::env::var(name).ok();
    text.map_or(default, |text| text.parse().unwrap_or_else(|e| panic!("{name}={text}: {e}")))
}

/// Loads the scheduler, lets the storm rage, and prints under this name what came of it.
fn storm(spec: &str, name: &str, seconds: u32) -> String {
    format!(
        "divvy load '{spec}' --max-tasks 4000 --format json --interval 60s --log /tmp/log --exec bash {} {seconds} >/tmp/stats || exit 1\n\
         echo '== {name}'; tail -n 1 /tmp/stats\n\
         echo '== log {name}'; divvy verify /tmp/log --format json; rm /tmp/log\n\
         echo '== state {name}'; cat /sys/kernel/sched_ext/state\n",
        workload("storm.sh").display()
    )
}

#[test]
#[ignore = "needs the test VM: make test-vm"]
fn a_storm_loses_no_task_and_stalls_nobody() {
    let seconds = setting("DIVVY_STORM_SECONDS", 6);
    let rounds = setting("DIVVY_STORM_ROUNDS", 1);
    let all: Vec<(&str, String)> =
        (1..=rounds).flat_map(|round| SPECS.map(|spec| (spec, format!("{spec} in round {round}")))).collect();
    let script: String = all.iter().map(|(spec, name)| storm(spec, name, seconds)).collect();
    let said = several(setting("DIVVY_STORM_CPUS", 2), &script, 1500 + 3 * seconds * all.len() as u32);
    assert_eq!(said.code, 0, "{said}");
    said.assert_calm();
    let mut decisions = 0;
    for (_, name) in &all {
        assert_eq!(said.part(&format!("state {name}")), "disabled");
        let log = said.json(&format!("log {name}"));
        assert_eq!(log["verdict"], "ok", "{name}: {said}");
        decisions += log["decisions"].as_u64().expect("a number");
        let stats = &said.json(name)["interval"]["counts"];
        for what in ["faults", "missing", "without_id", "fallbacks"] {
            assert_eq!(stats[what], 0, "{name}: {what}: {stats}");
        }
        assert!(stats["decisions"].as_u64().unwrap() > 5_000, "{name}: {stats}");
    }
    println!(
        "a storm of {seconds} s, {} times: {decisions} decisions, all as in the native build",
        all.len()
    );
}
