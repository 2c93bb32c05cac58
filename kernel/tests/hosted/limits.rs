//! Limits of CPU time (`cpu_max`). What groups get is known by arithmetic: a quota in each period, and what a slice runs on until its
//! tick.

use divvy_results::report::Run;
use divvy_results::schedule::Window;
use divvy_sim::run::Options;

use super::{MS, in_host, kernel, verified_with};

const PERIOD: u64 = 100 * MS;

fn with_schedule() -> Options {
    Options { schedule: Some(Window::WHOLE), ..Options::default() }
}

fn hosted_at(text: &str, policy: &str, hz: u64) -> Run {
    in_host(text, policy, &with_schedule(), &kernel(&format!("linux-6.12:hz={hz}"))).runs.remove(0)
}

fn hosted(text: &str, policy: &str) -> Run {
    hosted_at(text, policy, 1000)
}

/// Busy threads in a group that has half a CPU.
fn limited(cpus: u32, threads: u32) -> String {
    format!(
        r#"
cpus = {cpus}
duration = "2s"
[[group]]
name = "box"
cpu_max = {{ quota = "50ms" }}
[[task]]
name = "limited"
count = {threads}
group = "box"
program = [{{ run = "forever" }}]
"#
    )
}

/// CPU time of the tasks with these names, or instances of them, from one moment to another.
fn received(run: &Run, names: &[&str], from_ns: u64, to_ns: u64) -> u64 {
    let schedule = run.schedule.as_ref().expect("it was asked for");
    let is_one = |task: u32| {
        let name = &run.tasks[schedule.tasks[task as usize].row].name;
        names.contains(&name.split('/').next().unwrap_or(name))
    };
    let slices = schedule.cpus.iter().flatten().filter(|slice| is_one(slice.task));
    slices.map(|slice| slice.to_ns.min(to_ns).saturating_sub(slice.from_ns.max(from_ns))).sum()
}

/// Each period has the quota to a tick on each CPU, and all of them together have their quotas to that, because what was too much is debt.
fn assert_quota(run: &Run, names: &[&str], quota_ns: u64, ticks_ns: u64, what: &str) {
    let periods = run.duration_ns / PERIOD;
    for period in 0..periods {
        let got = received(run, names, period * PERIOD, (period + 1) * PERIOD);
        assert!(got.abs_diff(quota_ns) <= ticks_ns, "{what}, period {period}: {got} ns, not {quota_ns}");
    }
    let (got, all) = (received(run, names, 0, periods * PERIOD), periods * quota_ns);
    assert!(got.abs_diff(all) <= ticks_ns, "{what}: {got} ns in all, not {all}");
}

#[test]
fn a_group_gets_its_quota_in_each_period_and_the_others_the_rest() {
    let alone = limited(1, 2);
    for policy in ["rr", "sfq", "gr3", "eevdf", "fcfs"] {
        let run = hosted(&alone, policy);
        assert_quota(&run, &["limited"], 50 * MS, MS, policy);
    }
    // Beside a task of a thirtieth of their weight, which has what the limit leaves. Under fcfs it would have all.
    let beside = alone + "[[task]]\nname = \"free\"\nnice = 15\nprogram = [{ run = \"forever\" }]\n";
    for policy in ["sfq", "gr3", "eevdf"] {
        let run = hosted(&beside, policy);
        assert_quota(&run, &["limited"], 50 * MS, MS, policy);
        assert_quota(&run, &["free"], 50 * MS, MS, policy);
    }
}

/// At 100 Hz a slice may end 10 ms late: a fifth of the quota.
#[test]
fn a_limit_holds_to_a_tick_at_every_rate() {
    for hz in [100, 250, 300] {
        let run = hosted_at(&limited(1, 1), "sfq", hz);
        assert_quota(&run, &["limited"], 50 * MS, 1000 * MS / hz + 1, &format!("{hz} Hz"));
    }
}

/// Four threads on three CPUs have half a CPU together, whatever the CPUs do at once.
#[test]
fn cpus_do_not_use_more_together_than_is_left() {
    let text = limited(3, 4) + "[[task]]\nname = \"free\"\ncount = 2\nprogram = [{ run = \"forever\" }]\n";
    for policy in ["rr", "sfq", "gr3"] {
        assert_quota(&hosted(&text, policy), &["limited"], 50 * MS, 3 * MS, policy);
    }
}

/// A group without a limit in one that has, and one with a tighter limit: the outer one is known from the first period on, although no task is
/// directly in it. Weights that no cgroup has do not matter without +groups.
#[test]
fn limits_nest() {
    let text = r#"
cpus = 1
duration = "2s"
[[group]]
name = "box"
weight = 3
cpu_max = { quota = "30ms" }
[[group]]
name = "box/tight"
cpu_max = { quota = "10ms" }
[[task]]
name = "loose"
group = "box/loose"
program = [{ run = "forever" }]
[[task]]
name = "tight"
group = "box/tight"
program = [{ run = "forever" }]
[[task]]
name = "free"
program = [{ run = "forever" }]
"#;
    let run = hosted(text, "sfq");
    assert_quota(&run, &["loose", "tight"], 30 * MS, MS, "the outer group");
    assert_quota(&run, &["tight"], 10 * MS, 2 * MS, "the inner group");
    let run = hosted(&text.replace("weight = 3", "weight = 2048"), "sfq+groups");
    assert_quota(&run, &["loose", "tight"], 30 * MS, MS, "the outer group, +groups");
}

/// 5 ms in 20 ms, and 3 ms that may be saved up: a task that was away for two periods has 8 ms in its third, and 5 ms then.
#[test]
fn what_was_saved_up_is_the_burst() {
    let text = r#"
cpus = 1
duration = "1s"
[[group]]
name = "box"
cpu_max = { quota = "5ms", period = "20ms", burst = "3ms" }
[[task]]
name = "limited"
group = "box"
program = [{ sleep = "40ms" }, { run = "forever" }]
"#;
    let run = hosted(text, "rr");
    let got = |period: u64| received(&run, &["limited"], period * 20 * MS, (period + 1) * 20 * MS);
    assert!(got(2).abs_diff(8 * MS) <= MS, "{}", got(2));
    assert!(
        (3..50).all(|period| got(period).abs_diff(5 * MS) <= MS),
        "{:?}",
        (3..50).map(got).collect::<Vec<_>>()
    );
}

/// For the machine a task that is held has blocked, so the log verifies.
#[test]
fn the_log_of_a_run_with_a_limit_verifies() {
    let text = r#"
cpus = 2
duration = "1s"
[[group]]
name = "box"
cpu_max = { quota = "20ms" }
[[task]]
name = "limited"
count = 3
group = "box"
program = [{ loop = "forever", do = [{ run = "3ms" }, { sleep = "1ms" }] }]
[[task]]
name = "free"
count = 3
program = [{ run = "forever" }]
"#;
    for policy in ["sfq", "gr3+groups"] {
        let name = format!("limits-{}", policy.replace('+', "-"));
        let run = verified_with(text, policy, &name, &with_schedule());
        assert_quota(&run, &["limited"], 20 * MS, 2 * MS, policy);
    }
}
