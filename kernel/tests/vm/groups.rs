//! `divvy load --cgroups` and `--users` on one CPU whose clock counts instructions: what each group received.

use crate::machine::{Said, repeatable, workload};

/// The part of each cgroup in the CPU time that these cgroups received together.
pub fn shares(said: &Said, phase: &str, groups: &[&str]) -> Vec<f64> {
    let part = said.part("groups");
    let at = |when: &str, group: &str| {
        let line = format!("{phase} {when} {group} ");
        let value = part.lines().find_map(|l| l.strip_prefix(&line));
        value.unwrap_or_else(|| panic!("no {line:?}: {said}")).parse::<f64>().expect("us")
    };
    let received: Vec<f64> = groups.iter().map(|group| at("to", group) - at("from", group)).collect();
    let all: f64 = received.iter().sum();
    assert!(all > 1_100_000.0, "{phase}: of 1.5 s the cgroups received {all} us: {said}");
    received.iter().map(|us| us / all).collect()
}

fn assert_near(spec: &str, shares: &[f64], entitled: &[f64]) {
    assert_within(0.01, spec, shares, entitled);
}

fn assert_within(bound: f64, spec: &str, shares: &[f64], entitled: &[f64]) {
    for (share, part) in shares.iter().zip(entitled) {
        assert!((share - part).abs() < bound, "{spec}: received {shares:?}, entitled {entitled:?}");
    }
}

/// Runs a script in a guest that has FILE, and what FILE sources.
fn with_measure(script: &str, file: &str, seconds: u32) -> Said {
    let files = [(workload(file), &*format!("/{file}")), (workload("measure.sh"), "/measure.sh")];
    repeatable(script, &files, seconds)
}

/// The output of FILE while SPEC was loaded with OPTION. The log of the scheduler is verified.
fn under(spec: &str, option: &str, file: &str) -> Said {
    after("true", spec, option, file, "")
}

/// The same after this command, and FILE has these arguments.
pub fn after(command: &str, spec: &str, option: &str, file: &str, arguments: &str) -> Said {
    let script = format!(
        "mkdir -p /tmp /etc; cd /tmp; {command}\n\
         echo '== groups'\n\
         divvy load {spec} {option} --quantum 1ms --quiet --log log --exec sh /{file} {arguments} || exit 1\n\
         echo '== log'; divvy verify log --format json\n\
         echo '== state'; cat /sys/kernel/sched_ext/state\n"
    );
    let said = with_measure(&script, file, 900);
    assert_eq!(said.code, 0, "{said}");
    said.assert_calm();
    assert_eq!(said.part("state"), "disabled");
    assert_eq!(said.json("log")["verdict"], "ok", "{said}");
    said
}

/// Computed by hand: a, b and c have 100, 200 and 300 of 600, and c's half is 1 to 2 for c/x and c/y. Without b, a has 400 of 700.
#[test]
#[ignore = "needs the test VM: make test-vm"]
fn cgroups_receive_by_their_weights_however_many_tasks_they_have() {
    let groups = ["a", "b", "c/x", "c/y"];
    for spec in ["gr3", "sfq"] {
        let said = under(spec, "--cgroups", "cgroups.sh");
        let sixth = 1.0 / 6.0;
        assert_near(spec, &shares(&said, "all", &groups), &[sixth, 2.0 * sixth, sixth, 2.0 * sixth]);
        assert_near(spec, &shares(&said, "changed", &groups), &[4.0 / 7.0, 0.0, 1.0 / 7.0, 2.0 / 7.0]);
    }
}

/// Computed by hand: a has its 20 %, c/x its 10 %, and c does not reach its 45 %. b and c have half of the rest each, c/y what c/x
/// leaves of c's. Without the limit of a, the three have a third each. The kernel's own scheduler says the same.
#[test]
#[ignore = "needs the test VM: make test-vm"]
fn limits_of_cgroups_hold_as_under_the_kernels_own_scheduler() {
    let groups = ["a", "b", "c/x", "c/y"];
    let third = 1.0 / 3.0;
    let all = [0.2, 0.4, 0.1, 0.3];
    let changed = [third, third, 0.1, third - 0.1];
    let kernel = with_measure("echo '== groups'; sh /cgroups.sh limits", "cgroups.sh", 300);
    assert_near("the kernel", &shares(&kernel, "all", &groups), &all);
    assert_near("the kernel", &shares(&kernel, "changed", &groups), &changed);
    for spec in ["gr3", "sfq"] {
        let said = after("true", spec, "--cgroups", "cgroups.sh", "limits");
        // A period is 20 ms. What is let go in each joins as a task that wakes up, and may be a quantum of 1 ms ahead or behind.
        let bound = 0.01 + 1.0 / 20.0;
        assert_within(bound, spec, &shares(&said, "all", &groups), &all);
        assert_within(bound, spec, &shares(&said, "changed", &groups), &changed);
        let limited = shares(&said, "all", &groups);
        assert_near(spec, &[limited[0], limited[2]], &[all[0], all[2]]);
    }
}

/// Three programs of one user and one of another: half each.
#[test]
#[ignore = "needs the test VM: make test-vm"]
fn users_receive_the_same_however_many_tasks_they_have() {
    let said = under("sfq", "--users", "users.sh");
    assert_near("sfq", &shares(&said, "all", &["1001", "1002"]), &[0.5, 0.5]);
}

/// The same, but the three run as users that are subordinate to the first, as in containers.
#[test]
#[ignore = "needs the test VM: make test-vm"]
fn subordinate_users_count_as_their_owner() {
    let said = after(
        "echo u1001:100000:65536 >/etc/subuid; echo u1001:x:1001:1001::/:/bin/sh >>/etc/passwd",
        "sfq",
        "--users",
        "users.sh",
        "100001 100002 100003",
    );
    assert_near("sfq", &shares(&said, "all", &["1001", "1002"]), &[0.5, 0.5]);
}
