//! Policies under sets of modifiers: each loads, runs the machine, and its decisions are the native build's.

use crate::machine::{several, workload};

const SELECTIONS: [&str; 2] = ["sfq", "gr3"];
const MODIFIERS: [&str; 3] = ["procfair", "groups", "flow"];

/// Every set of the modifiers, as `+a+b`.
fn sets() -> Vec<String> {
    let set = |bits: usize| {
        let named = MODIFIERS.iter().enumerate().filter(|(bit, _)| bits >> bit & 1 == 1);
        named.map(|(_, name)| format!("+{name}")).collect()
    };
    (0..1 << MODIFIERS.len()).map(set).collect()
}

/// Programs of four and of sixteen threads, and one of another user that sleeps and forks.
fn run_under(spec: &str) -> String {
    let users = if spec.contains("+groups") { "--users" } else { "" };
    format!(
        "divvy load {spec} {users} --quiet --log /tmp/log --exec sh -c '\n\
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
    let specs: Vec<String> = SELECTIONS
        .iter()
        .flat_map(|selection| sets().into_iter().map(move |set| format!("{selection}{set}")))
        .collect();
    let script: String = specs.iter().map(|spec| run_under(spec)).collect();
    let said = several(2, &script, 1500);
    assert_eq!(said.code, 0, "{said}");
    said.assert_calm();
    for spec in specs {
        let log = said.json(&spec);
        assert_eq!(log["verdict"], "ok", "{spec}: {said}");
        assert!(log["decisions"].as_u64() > Some(200), "{spec}: {said}");
    }
}
