//! `divvy load --rules` on one CPU whose clock counts instructions: weights by executable, cgroup and user.

use crate::groups::{after, shares};
use crate::machine::{several, tree};

const FIRST: &str =
    "[executable]\\n\"/tmp/heavy/sh\" = 3072\\n[cgroup]\\n\"/low\" = 512\\n[user]\\nu1002 = 2048\\n";
const GROUPS: [&str; 4] = ["heavy", "low", "user", "plain"];

fn assert_entitled(spec: &str, received: &[f64], weights: &[f64]) {
    let all: f64 = weights.iter().sum();
    for (share, weight) in received.iter().zip(weights) {
        assert!((share - weight / all).abs() < 0.03, "{spec}: received {received:?}, weights {weights:?}");
    }
}

/// By weights alone. A run of `heavy` takes some tenths of a second, so its rule holds from its start, or too late.
#[test]
#[ignore = "needs the test VM: make test-vm"]
fn rules_hold_for_executables_cgroups_and_users_and_are_read_again() {
    for spec in ["sfq", "gr3"] {
        let file = format!("printf '{FIRST}' > /tmp/rules.toml");
        let said = after(&file, spec, "--rules /tmp/rules.toml", "rules.sh", "/tmp/rules.toml");
        let phase = |name: &str| shares(&said, name, &GROUPS);
        assert_entitled(spec, &phase("first"), &[3072.0, 512.0, 2048.0, 1024.0]);
        let second = [3072.0, 3072.0, 1024.0, 1024.0];
        assert_entitled(spec, &phase("second"), &second);
        assert_entitled(spec, &phase("damaged"), &second);
        assert_entitled(spec, &phase("gone"), &[1.0; 4]);
        assert!(said.err.contains("the rules stay as they were"), "{said}");
    }
}

/// The cgroups are groups of the same weight, but for rules; those of executables and users divide nothing among groups.
#[test]
#[ignore = "needs the test VM: make test-vm"]
fn rules_of_cgroups_come_and_go_as_weights_of_groups() {
    let file = format!("printf '{FIRST}' > /tmp/rules.toml");
    let said = after(&file, "sfq", "--cgroups --rules /tmp/rules.toml", "rules.sh", "/tmp/rules.toml cpu");
    let phase = |name: &str| shares(&said, name, &GROUPS);
    assert_entitled("first", &phase("first"), &[2.0, 1.0, 2.0, 2.0]);
    for name in ["second", "damaged"] {
        assert_entitled(name, &phase(name), &[1.0, 3.0, 1.0, 1.0]);
    }
    assert_entitled("gone", &phase("gone"), &[1.0; 4]);
}

/// Computed by hand: the user 1001 has twice the weight of 1002; a has 200 of 700 instead of 100 of 600.
#[test]
#[ignore = "needs the test VM: make test-vm"]
fn rules_weigh_groups() {
    let rules = |text: &str| format!("printf '{text}' > /tmp/rules.toml");
    let said =
        after(&rules("[user]\\n1001 = 2048\\n"), "sfq", "--users --rules /tmp/rules.toml", "users.sh", "");
    assert_entitled("users", &shares(&said, "all", &["1001", "1002"]), &[2.0, 1.0]);
    let said =
        after(&rules("[cgroup]\\na = 2048\\n"), "sfq", "--cgroups --rules /tmp/rules.toml", "cgroups.sh", "");
    assert_entitled(
        "cgroups",
        &shares(&said, "all", &["a", "b", "c/x", "c/y"]),
        &[200.0, 200.0, 100.0, 200.0],
    );
}

/// Nice 5 has 335 of 1024. A rule multiplies it; a weight that a command set comes before the rule, until the next nice value.
#[test]
#[ignore = "needs the test VM: make test-vm"]
fn rules_hold_beside_nice_values_and_own_weights_and_for_tasks_of_before() {
    let before = "sh /ruled.sh /tmp/rules.toml before";
    let options = "--pool 64 --rules /tmp/rules.toml";
    let said = after(before, "sfq", options, "ruled.sh", "/tmp/rules.toml");
    assert!(said.part("groups").contains("late error: the loaded scheduler has no thread"), "{said}");
    let phase = |name: &str| shares(&said, name, &["early", "late", "own", "reniced", "plain"]);
    let (ruled, plain, nice) = (3072.0, 1024.0, 335.0);
    let reniced = 3.0 * nice;
    assert_entitled("first", &phase("first"), &[ruled, ruled, 512.0, reniced, plain]);
    assert_entitled("second", &phase("second"), &[ruled, ruled, reniced, reniced, plain]);
    assert_entitled("gone", &phase("gone"), &[plain, plain, nice, nice, plain]);
}

#[test]
#[ignore = "needs the test VM: make test-vm"]
fn the_example_of_the_docs_can_be_read() {
    let page = std::fs::read_to_string(tree().join("docs/how-to/load-on-a-server.md")).expect("the page");
    let example =
        page.split("```toml rules\n").nth(1).and_then(|rest| rest.split("```").next()).expect("an example");
    let script = format!(
        "cat >/tmp/rules.toml <<'END'\n{example}END\n\
         divvy load sfq --dry-run --rules /tmp/rules.toml >/dev/null || exit 1\n\
         echo 'cc1 = many' >>/tmp/rules.toml\n\
         divvy load sfq --dry-run --rules /tmp/rules.toml 2>&1; echo \"exit $?\"\n"
    );
    let said = several(1, &script, 600);
    assert_eq!(said.code, 0, "{said}");
    assert!(said.out.contains("/tmp/rules.toml") && said.out.trim().ends_with("exit 4"), "{said}");
}
