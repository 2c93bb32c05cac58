//! Faults: the loader is killed, the pool is full, tasks get no id, a user or the watchdog ends the scheduler, a CPU goes
//! offline. The machine must go on each time, under the policy or under the kernel's own scheduler.

use std::sync::LazyLock;

use crate::machine::{Shared, several};

/// A script: it loads a scheduler, starts hogs in the background (with `$as`, if `load` sets it), and runs `change`. All hogs
/// must make progress.
fn hogs(load: &str, seconds: u32, change: &str) -> String {
    format!(
        ". kernel/tests/vm/await.sh\n\
         {load} >/tmp/out 2>/tmp/err & loader=$!\n\
         await $loader /tmp/err enabled\n\
         echo '== loaded'; cat /sys/kernel/sched_ext/state\n\
         pids=\n\
         for i in 1 2 3 4 5 6; do $as bash -c 'while :; do :; done' & pids=\"$pids $!\"; done\n\
         sleep 1\n\
         before=$(for p in $pids; do cut -d' ' -f1 /proc/$p/schedstat; done)\n\
         sleep {seconds}\n\
         echo '== progress'\n\
         set -- $before; for p in $pids; do echo $(($(cut -d' ' -f1 /proc/$p/schedstat) - $1)); shift; done\n\
         {change}\n\
         echo '== alive'; for p in $pids; do kill -0 $p && echo yes; done\n\
         kill $pids; wait $pids 2>/dev/null\n\
         echo '== state'; cat /sys/kernel/sched_ext/state\n\
         echo '== err'; cat /tmp/err\n"
    )
}

/// Least CPU time that every hog must receive, in ms.
fn assert_progress(said: &crate::machine::Said, least_ms: u64) {
    let received: Vec<u64> = said.part("progress").lines().map(|line| line.parse().expect("ns")).collect();
    assert_eq!(received.len(), 6, "{said}");
    assert!(received.iter().all(|ns| *ns >= least_ms * 1_000_000), "{received:?}: {said}");
    assert_eq!(said.part("alive").lines().count(), 6, "{said}");
}

/// Asks the loader to end, and prints its exit code.
const UNLOAD: &str = "kill -INT $loader; wait $loader; code=$?; echo \"== code\"; echo $code";

/// The faults that leave a machine with two CPUs as it was. They share a boot.
static FAULTS: LazyLock<Shared> = LazyLock::new(|| {
    let counting = |option| format!("divvy load sfq --format json --interval 60s {option}");
    let last = format!("{UNLOAD}; echo '== out'; tail -n 1 /tmp/out");
    let sysrq = "echo S >/proc/sysrq-trigger; wait $loader; code=$?; echo \"== code\"; echo $code";
    let scripts = [
        ("killed", hogs("divvy load sfq --quiet", 3, "kill -9 $loader; sleep 1")),
        ("unloaded", hogs("divvy load sfq --quiet", 3, UNLOAD)),
        ("--pool 4", hogs(&counting("--pool 4"), 4, &last)),
        ("--fail-every 2", hogs(&counting("--fail-every 2"), 4, &last)),
        ("sysrq", hogs("divvy load sfq --quiet", 1, sysrq)),
    ];
    Shared::run(2, &scripts, 1200)
});

#[test]
#[ignore = "needs the test VM: make test-vm"]
fn killing_the_loader_gives_the_machine_back() {
    let said = FAULTS.said("killed");
    assert_eq!(said.part("loaded"), "enabled", "{said}");
    assert_eq!(said.part("state"), "disabled", "{said}");
    assert_progress(&said, 200);
    said.assert_calm();
}

#[test]
#[ignore = "needs the test VM: make test-vm"]
fn unloading_under_load_loses_nobody() {
    let said = FAULTS.said("unloaded");
    assert_eq!(said.part("code"), "0", "{said}");
    assert_eq!(said.part("state"), "disabled", "{said}");
    assert_progress(&said, 200);
    said.assert_calm();
}

/// Tasks beyond the pool, and tasks without an id, still get their part of the slices.
#[test]
#[ignore = "needs the test VM: make test-vm"]
fn tasks_without_an_id_run_as_well() {
    for option in ["--pool 4", "--fail-every 2"] {
        let said = FAULTS.said(option);
        assert_eq!(said.part("code"), "0", "{option}: {said}");
        assert!(
            said.json("out")["interval"]["counts"]["fallbacks"].as_u64().unwrap() > 50,
            "{option}: {said}"
        );
        assert_progress(&said, 200);
        said.assert_calm();
    }
}

/// First come, first served starves later tasks. The starvation limit gives each a slice. Without the limit the kernel's
/// watchdog ends the scheduler, and the loader reports it. The shell is a real-time task, which no sched_ext scheduler runs.
#[test]
#[ignore = "needs the test VM: make test-vm"]
fn the_watchdog_is_reported_and_the_starvation_limit_prevents_it() {
    let load = |limit: &str, change: &str| {
        let script = format!(
            ". kernel/tests/vm/await.sh; chrt -f -p 10 $$\n\
             for i in 1 2 3; do chrt -o 0 bash -c 'while :; do :; done' & pids=\"$pids $!\"; done\n\
             divvy load fcfs --quiet --timeout 4s --starvation-limit {limit} >/tmp/out 2>/tmp/err & loader=$!\n\
             await $loader /tmp/err enabled\n\
             sleep 10\n\
             {change}\n\
             wait $loader; code=$?; echo '== code'; echo $code\n\
             echo '== state'; cat /sys/kernel/sched_ext/state\n\
             echo '== err'; cat /tmp/err\n\
             kill $pids\n"
        );
        several(1, &script, 600)
    };
    let said = load("1s", "echo '== stays'; cat /sys/kernel/sched_ext/state; kill -INT $loader");
    assert_eq!(said.part("stays"), "enabled", "{said}");
    assert_eq!(said.part("code"), "0", "{said}");
    said.assert_calm();

    let said = load("0s", "");
    assert_eq!(said.part("code"), "1", "{said}");
    assert!(said.part("err").contains("runnable task stall"), "{said}");
    assert_eq!(said.part("state"), "disabled", "{said}");
}

#[test]
#[ignore = "needs the test VM: make test-vm"]
fn a_cpu_that_goes_and_comes_loads_the_scheduler_again() {
    let cpu = "/sys/devices/system/cpu/cpu1/online";
    let change = format!(
        "echo 0 >{cpu}; sleep 1; await $loader /tmp/err enabled; echo '== one'; cat /sys/kernel/sched_ext/state; nproc\n\
         echo 1 >{cpu}; sleep 1; await $loader /tmp/err enabled; echo '== two'; cat /sys/kernel/sched_ext/state; nproc\n\
         {UNLOAD}"
    );
    let said = several(2, &hogs("divvy load sfq --quiet", 2, &change), 600);
    assert_eq!(said.part("one"), "enabled\n1", "{said}");
    assert_eq!(said.part("two"), "enabled\n2", "{said}");
    assert_eq!(said.part("code"), "0", "{said}");
    said.assert_calm();
}

/// CPU 1 comes when the loader has counted the CPUs and the kernel verifies the programs. It is told, and loads again.
#[test]
#[ignore = "needs the test VM: make test-vm"]
fn a_cpu_that_comes_while_loading_is_not_lost() {
    let cpu = "/sys/devices/system/cpu/cpu1/online";
    let load = "divvy load gr3+procfair+groups";
    let script = format!(
        ". kernel/tests/vm/await.sh\n\
         echo 0 >{cpu}\n\
         {load} >/tmp/out 2>/tmp/err & loader=$!\n\
         maps_are_there() {{ ls -l /proc/$loader/fd | grep -q bpf-map; }}\n\
         await $loader /tmp/err maps_are_there\n\
         echo '== before'; cat /sys/kernel/sched_ext/state\n\
         echo 1 >{cpu}\n\
         await $loader /tmp/err grep -q 'schedules 2 CPUs' /tmp/err\n\
         {UNLOAD}\n\
         echo '== err'; cat /tmp/err\n"
    );
    let said = several(2, &script, 600);
    assert_eq!(said.part("before"), "disabled", "{said}");
    assert!(said.part("err").contains("schedules 2 CPUs"), "{said}");
    assert_eq!(said.part("code"), "0", "{said}");
    said.assert_calm();
}

/// CPU 1 is offline, and the hogs may run on CPUs 1 and 2: as many as are online, but not CPU 0.
#[test]
#[ignore = "needs the test VM: make test-vm"]
fn an_offline_cpu_in_a_mask_stands_for_no_other() {
    let load = "as='taskset 6'; echo 0 >/sys/devices/system/cpu/cpu1/online; divvy load sfq --quiet";
    let said = several(3, &hogs(load, 4, UNLOAD), 600);
    assert_eq!(said.part("loaded"), "enabled", "{said}");
    assert_eq!(said.part("code"), "0", "{said}");
    assert_progress(&said, 200);
    said.assert_calm();
}

/// A user presses SysRq-S.
#[test]
#[ignore = "needs the test VM: make test-vm"]
fn who_ends_it_from_outside_is_told() {
    let said = FAULTS.said("sysrq");
    assert_eq!(said.part("code"), "1", "{said}");
    assert!(said.part("err").contains("sysrq"), "{said}");
    assert_eq!(said.part("state"), "disabled", "{said}");
}
