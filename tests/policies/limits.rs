//! Limits of CPU time on groups (papers/groups.md, R7 to R10), by hand.

use divvy_tests::example::{MS, run};

/// A limit of 30 ms in 100 ms, and weights 2 : 1 of the users, on one CPU: of 100 ms the first user has 30, the others share the rest; in
/// it, a group with 20 ms. So it is entitled, and so it is served, under policies in which a task that wakes up keeps its place.
#[test]
fn groups_r7_a_limit_is_all_that_a_group_gets() {
    let toml = r#"
cpus = 1
quantum = "1ms"
duration = "10s"
task = [
  { name = "a", group = "box", program = [ { run = "forever" } ] },
  { name = "b", group = "box/in", program = [ { run = "forever" } ] },
  { name = "c", group = "c", program = [ { run = "forever" } ] },
  { name = "d", group = "d", program = [ { run = "forever" } ] },
]
group = [
  { name = "box", weight = 2048, cpu_max = { quota = "30ms" } },
  { name = "box/in", weight = 4096, cpu_max = { quota = "20ms" } },
]
"#;
    for policy in ["sfq", "gr3", "stride", "eevdf", "cfs", "wfq"] {
        let ran = run(toml, &format!("{policy}+groups"));
        for (name, percent) in [("a", 10), ("b", 20), ("c", 35), ("d", 35)] {
            let task = &ran.0.run.tasks[ran.row(name)];
            let expected = percent * 100 * MS;
            assert!(task.entitled_ns.abs_diff(expected) <= 1_000, "{policy}: {task:?}");
            assert!(
                task.service_ns.abs_diff(expected) <= 40 * MS,
                "{policy}: {name} got {} ns",
                task.service_ns
            );
        }
    }
}

/// Three hogs on three CPUs with 50 ms in 100 ms: the slices of all three together are within the quota, in each period, under a policy
/// whose slices have no end as well.
#[test]
fn groups_r8_cpus_do_not_use_more_together_than_is_left() {
    let toml = r#"
cpus = 3
duration = "1s"
task = [ { name = "a", count = 3, group = "box", program = [ { run = "forever" } ] } ]
group = [ { name = "box", cpu_max = { quota = "50ms" } } ]
"#;
    for policy in ["rr", "fcfs", "gr3", "srpt"] {
        let ran = run(toml, policy);
        for period in 0..10 {
            let (from_ns, to_ns) = (period * 100 * MS, (period + 1) * 100 * MS);
            let names = ran.0.run.tasks.iter().map(|task| task.name.as_str());
            let got: u64 = names.map(|name| ran.service(name, from_ns, to_ns)).sum();
            assert_eq!(got, 50 * MS, "{policy}, period {period}");
        }
    }
}

/// A tick of 4 ms and 5 ms in 20 ms: slices end at ticks, so the task runs for 8 ms, has 2 ms in the next period, which last 4, and so on: what
/// is too much is made up for. A task that may save up 5 ms has them when it was away for a period.
#[test]
fn groups_r9_debt_and_what_was_saved_up() {
    let toml = r#"
cpus = 1
tick = "4ms"
duration = "4s"
task = [ { name = "a", group = "box", program = [ { run = "forever" } ] } ]
group = [ { name = "box", cpu_max = { quota = "5ms", period = "20ms" } } ]
"#;
    let ran = run(toml, "rr");
    assert!(ran.service("a", 0, 4_000 * MS).abs_diff(1_000 * MS) <= 4 * MS);
    assert_eq!(ran.service("a", 0, 20 * MS), 8 * MS);
    let toml = r#"
cpus = 1
duration = "1s"
task = [ { name = "a", group = "box", program = [ { sleep = "40ms" }, { run = "forever" } ] } ]
group = [ { name = "box", cpu_max = { quota = "5ms", period = "20ms", burst = "3ms" } } ]
"#;
    let ran = run(toml, "rr");
    assert_eq!(ran.service("a", 40 * MS, 60 * MS), 8 * MS);
    assert_eq!(ran.service("a", 60 * MS, 80 * MS), 5 * MS);
}

/// The group of one hog is used up after 20 ms, when the other task has run for as long. Then that one runs alone, until the period is over. A
/// thread of the group that wakes meanwhile waits, too.
#[test]
fn groups_r10_tasks_of_a_group_that_is_used_up_wait_for_its_next_period() {
    let toml = r#"
cpus = 1
quantum = "1ms"
duration = "200ms"
task = [
  { name = "a", group = "box", program = [ { run = "forever" } ] },
  { name = "b", group = "box", program = [ { sleep = "60ms" }, { run = "1ms" } ] },
  { name = "c", program = [ { run = "forever" } ] },
]
group = [ { name = "box", cpu_max = { quota = "20ms" } } ]
"#;
    let ran = run(toml, "sfq");
    assert_eq!(ran.service("a", 0, 41 * MS), 20 * MS);
    assert_eq!((ran.service("c", 41 * MS, 100 * MS), ran.service("b", 0, 100 * MS)), (59 * MS, 0));
    assert_eq!(ran.service("b", 100 * MS, 104 * MS), MS);
}
