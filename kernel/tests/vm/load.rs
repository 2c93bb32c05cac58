//! `divvy load` and `divvy set` by their output: exit codes, weights, parameters, permissions.

use std::sync::LazyLock;

use crate::machine::Shared;

/// A script: it loads a scheduler in the background, then runs `then`.
fn under(load: &str, then: &str) -> String {
    format!(
        ". kernel/tests/vm/await.sh\n\
         divvy load {load} >/tmp/out 2>/tmp/err & loader=$!\n\
         await $loader /tmp/err [ -e /run/divvy/divvy.sock ]\n\
         {then}\n\
         kill -INT $loader; wait $loader; code=$?\n\
         echo '== code'; echo $code\n\
         echo '== state'; cat /sys/kernel/sched_ext/state\n\
         echo '== socket'; ls /run/divvy/divvy.sock 2>/dev/null\n"
    )
}

/// A part of a script that prints the output of a command and its exit code.
fn told(part: &str, command: &str) -> String {
    format!("echo '== {part}'; {{ {command}; }} 2>&1; echo \"exit $?\"\n")
}

static MACHINE: LazyLock<Shared> = LazyLock::new(|| {
    let scripts = [
        ("commands", commands()),
        ("settings", settings()),
        ("permissions", permissions()),
        ("limits", limits()),
    ];
    Shared::run_in_turns(2, &scripts, 1200)
});

fn commands() -> String {
    [
        told(
            "name",
            "divvy load gr3+procfair -q --exec sh -c 'cat /sys/kernel/sched_ext/root/ops; exit 7' | head -n 1",
        ),
        told("code", "divvy load rr -q --exec sh -c 'exit 7' >/dev/null"),
        told("killed", "divvy load rr -q -- sh -c 'kill -9 $$' >/dev/null"),
        told("none", "divvy load rr -q --exec /no/such/command >/dev/null"),
        told("over", "divvy load rr -q --duration 1s --exec sleep 1000 >/dev/null"),
        told("deaf", "divvy load rr -q --duration 6s --exec sh -c \"trap '' TERM; sleep 60\" >/dev/null"),
        told("wide", "divvy load rr --interval 200ms --duration 1s 2>/dev/null | awk 'length > 80'"),
        "echo '== state'; cat /sys/kernel/sched_ext/state\n".to_owned(),
    ]
    .concat()
}

#[test]
#[ignore = "needs the test VM: make test-vm"]
fn a_command_gives_its_exit_code() {
    let said = MACHINE.said("commands");
    assert_eq!(said.part("name"), "divvy_gr3_procfair\nexit 0", "{said}");
    assert_eq!(said.part("code"), "exit 7", "{said}");
    assert_eq!(said.part("killed"), "exit 137", "{said}");
    assert!(said.part("none").starts_with("error: cannot run /no/such/command"), "{said}");
    assert!(said.part("none").ends_with("exit 1"), "{said}");
    assert_eq!(said.part("over"), "exit 143", "{said}");
    assert_eq!(said.part("deaf"), "exit 0", "it is left behind: {said}");
    assert_eq!(said.part("wide"), "exit 0", "{said}");
    assert_eq!(said.part("state"), "disabled", "{said}");
    said.assert_calm();
}

/// cpu.max: a scheduler of sched_ext does not hold it, so it is not lost without a word.
fn limits() -> String {
    [
        "cd /sys/fs/cgroup; echo +cpu >cgroup.subtree_control; mkdir -p box/in; echo +cpu >box/cgroup.subtree_control\n"
            .to_owned(),
        told("none", "divvy load rr -q --exec true >/dev/null"),
        "echo '20000 100000' >box/in/cpu.max\n".to_owned(),
        told("limited", "divvy load rr -q --exec true >/dev/null"),
        told("dry", "divvy load rr --dry-run >/dev/null"),
        told("ignored", "divvy load rr -q --ignore-cpu-max --exec sh -c 'exit 7' >/dev/null"),
        "echo max >box/in/cpu.max\n".to_owned(),
        told("lifted", "divvy load rr -q --exec true >/dev/null"),
    ]
    .concat()
}

#[test]
#[ignore = "needs the test VM: make test-vm"]
fn a_limit_of_cpu_time_is_not_lost_without_a_word() {
    let said = MACHINE.said("limits");
    for part in ["none", "dry", "lifted"] {
        assert_eq!(said.part(part), "exit 0", "{said}");
    }
    let limited = said.part("limited");
    assert!(limited.contains("/sys/fs/cgroup/box/in (20000 100000 us)"), "{said}");
    assert!(limited.contains("--ignore-cpu-max") && limited.ends_with("exit 5"), "{said}");
    assert_eq!(said.part("ignored"), "exit 7", "{said}");
    said.assert_calm();
}

fn settings() -> String {
    let then = [
        "sleep 1000 & task=$!\n".to_owned(),
        told("nice 0", "divvy set $task weight"),
        told("set", "divvy set $task weight=256.5"),
        told("get", "divvy set $task weight"),
        told("reniced", "renice -n 10 -p $task >/dev/null; divvy set $task weight"),
        told("gone", "divvy set 99999 weight"),
        told("kernel", "divvy set 2 weight"),
        told("param", "divvy set alpha=3"),
        told("changed", "divvy set alpha"),
        told("typo", "divvy set alhpa=3"),
        told("modifier", "divvy set all=on"),
        told("second", "divvy load rr"),
        told("doctor", "divvy doctor >/dev/null"),
        "kill $task".to_owned(),
    ];
    let replayed = "divvy convert /tmp/log /tmp/log.perfetto-trace; divvy replay /tmp/log.perfetto-trace -p rr -q >/dev/null";
    under("pbs:alpha=2+procfair --max-tasks 4000 -q --log /tmp/log", &then.concat())
        + &told("log", "divvy verify /tmp/log >/dev/null")
        + &told("trace", replayed)
}

#[test]
#[ignore = "needs the test VM: make test-vm"]
fn weights_and_parameters_are_set_while_it_runs() {
    let said = MACHINE.said("settings");
    assert_eq!(said.part("nice 0"), "1024\nexit 0", "{said}");
    assert_eq!(said.part("set"), "256.5\nexit 0", "{said}");
    assert_eq!(said.part("get"), "256.5\nexit 0", "{said}");
    assert_eq!(said.part("reniced"), "110\nexit 0", "{said}");
    for part in ["gone", "kernel"] {
        assert!(said.part(part).contains("has no thread") && said.part(part).ends_with("exit 1"), "{said}");
    }
    assert_eq!(said.part("param"), "pbs:alpha=3\nexit 0", "{said}");
    assert_eq!(said.part("changed"), "pbs:alpha=3\nexit 0", "{said}");
    assert!(
        said.part("typo").contains("did you mean `alpha`?") && said.part("typo").ends_with("exit 2"),
        "{said}"
    );
    assert!(said.part("modifier").contains("modifier `procfair`"), "{said}");
    assert!(
        said.part("second").contains("another sched_ext scheduler `divvy_pbs_alpha_2_procfair`"),
        "{said}"
    );
    assert!(said.part("second").ends_with("exit 5") && said.part("doctor").ends_with("exit 5"), "{said}");
    assert_eq!((said.part("code"), said.part("state"), said.part("socket")), ("0", "disabled", ""), "{said}");
    assert_eq!(said.part("log"), "exit 0", "{said}");
    assert_eq!(said.part("trace"), "exit 0", "{said}");
    said.assert_calm();
}

fn permissions() -> String {
    let as_group = |group| format!("setpriv --reuid=65534 --regid={group} --clear-groups divvy");
    let then = [
        told("member", &format!("{} set nothing", as_group(65534))),
        told("other", &format!("{} set nothing", as_group(1))),
        told("load", &format!("{} load rr", as_group(65534))),
        "echo '== may'; grep CapEff /proc/$loader/status\n".to_owned(),
        "echo '== mode'; stat -c '%a %u %g' /run/divvy/divvy.sock\n".to_owned(),
    ];
    under("rr -q --group 65534", &then.concat())
}

#[test]
#[ignore = "needs the test VM: make test-vm"]
fn only_root_and_the_group_may_command_it() {
    let said = MACHINE.said("permissions");
    assert!(said.part("member").contains("no parameter `nothing`"), "{said}");
    assert!(said.part("other").contains("no permission") && said.part("other").ends_with("exit 5"), "{said}");
    // If a scheduler is loaded, the permission is checked first.
    assert!(said.part("load").contains("CAP_BPF") && said.part("load").ends_with("exit 5"), "{said}");
    assert_eq!(said.part("may"), "CapEff:\t0000000000000000", "there is no command to signal: {said}");
    assert_eq!(said.part("mode"), "660 0 65534", "{said}");
    assert_eq!(said.part("code"), "0", "{said}");
}
