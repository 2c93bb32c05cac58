//! One user attacks another (`attack.c`), and the bystander must keep its share. The small suite has one CPU whose clock
//! counts instructions. The whole suite has several CPUs and other kernels: `make test-attacks`.

use std::path::PathBuf;
use std::process::Command;
use std::sync::LazyLock;

use serde_json::Value;

use crate::machine::{Said, divvy, repeatable, several};

/// The part of its entitlement that the bystander must receive.
const KEPT: f64 = 0.9;

/// The part of the CPU time that the attacker must have received, or there was no attack.
const ATTACKED: f64 = 0.05;

/// In each of them the attacker and the bystander are entitled to half of the machine.
struct Attack {
    name: &'static str,
    modifiers: &'static str,
    /// for `divvy load`
    options: &'static str,
    /// Whether many threads begin at once. A selection with one virtual time then serves each for a quantum first.
    crowds: bool,
}

const fn attack(name: &'static str, modifiers: &'static str, options: &'static str) -> Attack {
    Attack { name, modifiers, options, crowds: false }
}

const fn crowd(name: &'static str, modifiers: &'static str, options: &'static str) -> Attack {
    Attack { name, modifiers, options, crowds: true }
}

const ATTACKS: [Attack; 11] = [
    attack("filters", "", "--users"),
    crowd("pool", "", "--users --pool 500"),
    crowd("threads", "+procfair", ""),
    attack("forks", "", ""),
    attack("yields", "", "--users"),
    attack("affinity", "", "--users"),
    attack("nices", "", "--users"),
    attack("execs", "+flow", "--users --db /tmp/flow.redb"),
    crowd("users", "", "--users"),
    attack("flood", "", "--cgroups"),
    crowd("weights", "", "--cgroups"),
];

/// The attacking program, beside the program under test, where a VM sees it.
static PROGRAM: LazyLock<PathBuf> = LazyLock::new(|| {
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/vm/attack.c");
    let program = divvy().with_file_name("divvy-attack");
    let status = Command::new(std::env::var_os("CC").unwrap_or_else(|| "cc".into()))
        .args(["-O1", "-Wall", "-Werror", "-pthread", "-static", source, "-o"])
        .arg(&program)
        .status()
        .expect("a C compiler runs");
    assert!(status.success(), "{source} does not compile");
    program
});

/// The attacks with this number of threads under a selection, one after the other.
fn script(selection: &str, threads: u32, measure_ms: u32) -> String {
    let users: String =
        (1001..1003).map(|id| format!("echo u{id}:x:{id}:{id}::/:/bin/sh >>/etc/passwd\n")).collect();
    let attacks = ATTACKS.iter().map(|Attack { name, modifiers, options, crowds }| {
        // A quantum of 4 ms for each, as SFQ's bound has it, and some time to begin.
        let settle_ms = if *crowds { 5 * threads } else { 300 };
        format!(
            "echo '== {name}'\n\
             divvy load '{selection}{modifiers}' {options} --quiet --interval 1h --format json --exec \
             divvy-attack {name} {threads} {settle_ms} {measure_ms} >/tmp/said || exit 1; cat /tmp/said\n\
             echo '== state {name}'; cat /sys/kernel/sched_ext/state\n"
        )
    });
    format!(
        "mkdir -p /tmp /etc\n{users}echo u1001:100000:65536 >/etc/subuid\n{}",
        attacks.collect::<String>()
    )
}

fn judge(said: &Said) {
    assert_eq!(said.code, 0, "{said}");
    said.assert_calm();
    let mut failed = Vec::new();
    for Attack { name, .. } in &ATTACKS {
        assert_eq!(said.part(&format!("state {name}")), "disabled");
        let mut lines = said.part(name).lines().map(|line| {
            serde_json::from_str::<Value>(line).unwrap_or_else(|e| panic!("{name}: {e}: {line}\n{said}"))
        });
        let received = lines.next().expect("what the users received");
        let us = |key: &str| received[key].as_f64().unwrap_or_else(|| panic!("{name}: no {key}: {said}"));
        let kept = us("bystander_us") / (us("available_us") / 2.0);
        println!("{name}: of its half the bystander received {:.1} %", 100.0 * kept);
        let counts = lines.next().expect("the scheduler's counts")["interval"]["counts"].clone();
        assert_eq!(
            (&counts["faults"], &counts["missing"]),
            (&Value::from(0), &Value::from(0)),
            "{name}: {said}"
        );
        if kept < KEPT || us("attackers_us") < ATTACKED * us("available_us") {
            failed.push(*name);
        }
    }
    assert!(failed.is_empty(), "{failed:?}: {said}");
}

#[test]
#[ignore = "needs the test VM: make test-vm"]
fn a_bystander_keeps_its_share() {
    let said = repeatable(&script("sfq", 400, 1_000), &[(PROGRAM.clone(), "/bin/divvy-attack")], 900);
    judge(&said);
}

/// Further ones, of `make test-attacks`. Each VM uses the kernel that `DIVVY_KERNEL_VARIANT` names.
mod suite {
    use super::*;

    fn on(cpus: u32) {
        let _ = PROGRAM.as_path();
        for selection in ["sfq", "gr3"] {
            println!("{selection} on {cpus} CPUs");
            judge(&several(cpus, &script(selection, 4_000, 5_000), 3_000));
        }
    }

    #[test]
    #[ignore = "takes many minutes: make test-attacks"]
    fn on_1_cpu() {
        on(1);
    }

    #[test]
    #[ignore = "takes many minutes: make test-attacks"]
    fn on_2_cpus() {
        on(2);
    }

    #[test]
    #[ignore = "takes many minutes: make test-attacks"]
    fn on_4_cpus() {
        on(4);
    }

    #[test]
    #[ignore = "takes many minutes: make test-attacks"]
    fn on_8_cpus() {
        on(8);
    }
}
