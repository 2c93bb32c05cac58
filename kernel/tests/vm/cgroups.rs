//! `divvy load --cgroups` on one CPU whose clock counts instructions: what each cgroup received.

use crate::machine::{Said, repeatable, workload};

/// Of the CPU time that these cgroups received together, each one's part: in the order a, b, c/x, c/y.
fn shares(said: &Said, phase: &str) -> Vec<f64> {
    let part = said.part("cgroups");
    let at = |when: &str, group: &str| {
        let line = format!("{phase} {when} {group} ");
        let value = part.lines().find_map(|l| l.strip_prefix(&line));
        value.unwrap_or_else(|| panic!("no {line:?}: {said}")).parse::<f64>().expect("us")
    };
    let received: Vec<f64> =
        ["a", "b", "c/x", "c/y"].iter().map(|group| at("to", group) - at("from", group)).collect();
    let all: f64 = received.iter().sum();
    assert!(all > 1_100_000.0, "{phase}: of 1.5 s the cgroups received {all} us: {said}");
    received.iter().map(|us| us / all).collect()
}

fn assert_near(spec: &str, shares: &[f64], entitled: [f64; 4]) {
    for (share, part) in shares.iter().zip(entitled) {
        assert!((share - part).abs() < 0.01, "{spec}: received {shares:?}, entitled {entitled:?}");
    }
}

/// By hand: a, b and c have 100, 200 and 300 of 600, and c's half is 1 to 2 for c/x and c/y. Without b, a has 400 of 700.
#[test]
#[ignore = "needs the test VM: make test-vm"]
fn cgroups_receive_by_their_weights_however_many_tasks_they_have() {
    for spec in ["gr3", "sfq"] {
        let script = format!(
            "mkdir -p /tmp; cd /tmp\n\
             echo '== cgroups'\n\
             divvy load {spec} --cgroups --quantum 1ms --quiet --log log --exec sh /cgroups.sh || exit 1\n\
             echo '== log'; divvy verify log --format json\n\
             echo '== state'; cat /sys/kernel/sched_ext/state\n"
        );
        let said = repeatable(&script, &[(workload("cgroups.sh"), "/cgroups.sh")], 900);
        assert_eq!(said.code, 0, "{said}");
        said.assert_calm();
        assert_eq!(said.part("state"), "disabled");
        assert_eq!(said.json("log")["verdict"], "ok", "{said}");
        let sixth = 1.0 / 6.0;
        assert_near(spec, &shares(&said, "all"), [sixth, 2.0 * sixth, sixth, 2.0 * sixth]);
        assert_near(spec, &shares(&said, "changed"), [4.0 / 7.0, 0.0, 1.0 / 7.0, 2.0 / 7.0]);
    }
}
