//! Policies under sets of modifiers: each loads, runs the machine, and its decisions are the native build's.

use crate::machine::{several, workload};

/// Each set of the modifiers procfair, groups and flow once, under one of two selections: each takes minutes to verify in emulation.
const SPECS: [&str; 8] = [
    "sfq",
    "sfq+groups",
    "sfq+flow+procfair",
    "sfq+flow+groups",
    "gr3+procfair",
    "gr3+flow",
    "gr3+groups+procfair",
    "gr3+flow+groups+procfair",
];

/// Programs of four and of sixteen threads, and one of another user that sleeps and forks.
fn run_under(spec: &str) -> String {
    let users = if spec.contains("+groups") { "--users" } else { "" };
    format!(
        "divvy load {spec} --max-tasks 4000 {users} --quiet --log /tmp/log --exec sh -c '\n\
             setpriv --reuid=65534 sh -c \"while :; do sleep 0.01; done\" & other=$!\n\
             divvy play {workload} --duration 1s -o /dev/null\n\
             kill $other' >/dev/null || exit 1\n\
         echo '== {spec}'; divvy verify /tmp/log --format json || exit 1\n",
        workload = workload("greedy.toml").display()
    )
}

#[test]
#[ignore = "needs the test VM: make test-vm"]
fn every_set_of_modifiers_decides_as_natively() {
    let script: String = SPECS.iter().map(|spec| run_under(spec)).collect();
    let said = several(2, &script, 1500);
    assert_eq!(said.code, 0, "{said}");
    said.assert_calm();
    for spec in SPECS {
        let log = said.json(spec);
        assert_eq!(log["verdict"], "ok", "{spec}: {said}");
        assert!(log["decisions"].as_u64() > Some(200), "{spec}: {said}");
    }
}
