//! A workload whose tasks can never go on ends with their names and what they wait for; one that only seems so runs.
use divvy_policy::spec;
use divvy_results::report::Report;
use divvy_sim::run::{Options, RunError, simulate};
use divvy_workload::Workload;

fn run(tasks: &[(&str, &str)], head: &str) -> Result<Report, RunError> {
    let mut text = format!("{head}\n");
    for (name, body) in tasks {
        text += &format!("[[task]]\nname = \"{name}\"\n{body}\n");
    }
    let workload = Workload::parse(&text, "w.toml").unwrap_or_else(|e| panic!("{e}"));
    let specs = spec::parse_list(&["rr".to_owned()], divvy_policy::all()).expect("a policy");
    simulate(&workload, &specs, &Options::default(), &())
}

fn refused(tasks: &[(&str, &str)], head: &str) -> String {
    run(tasks, head).expect_err("a deadlock").to_string()
}

const TAKES_X_Y: &str = r#"program = [ { lock = "x" }, { run = "1ms" }, { lock = "y" }, { run = "1ms" }, { unlock = "y" }, { unlock = "x" } ]"#;
const TAKES_Y_X: &str = r#"program = [ { lock = "y" }, { run = "1ms" }, { lock = "x" }, { run = "1ms" }, { unlock = "x" }, { unlock = "y" } ]"#;
const FOREVER: &str = r#"program = [ { run = "forever" } ]"#;

const CIRCLE: &str = "policy rr, at 1000000 ns: the workload deadlocks: b waits for lock x, which a holds, a waits for lock y, which b holds";

#[test]
fn two_that_wait_for_each_other() {
    assert_eq!(refused(&[("a", TAKES_X_Y), ("b", TAKES_Y_X)], "cpus = 2"), CIRCLE);
    let busy = [("a", TAKES_X_Y), ("b", TAKES_Y_X), ("c", FOREVER)];
    assert_eq!(refused(&busy, "cpus = 3\nduration = \"1s\""), CIRCLE, "even while others run");
}

/// On one CPU with long turns they come one after the other, once they must run before they lock.
#[test]
fn only_the_schedule_that_deadlocks_does() {
    let runs_first = |program: &str| program.replacen("[ ", "[ { run = \"1ms\" }, ", 1);
    let (a, b) = (runs_first(TAKES_X_Y), runs_first(TAKES_Y_X));
    let report = run(&[("a", &a), ("b", &b)], "quantum = \"10ms\"").expect("no deadlock");
    assert_eq!(report.runs[0].duration_ns, 6_000_000);
    assert!(
        refused(&[("a", &a), ("b", &b)], "quantum = \"1ms\"")
            .contains("at 4000000 ns: the workload deadlocks")
    );
}

/// A task that stops gives back what it holds, so the circle is broken in time; others may come to wait for it.
#[test]
fn a_stop_breaks_a_circle() {
    let stops = format!("stop = \"5ms\"\n{TAKES_Y_X}");
    let late = format!("start = \"2ms\"\n{TAKES_X_Y}");
    let report = run(&[("a", TAKES_X_Y), ("b", &stops), ("c", &late)], "cpus = 3").expect("no deadlock");
    // a goes on at 5 ms and ends at 6 ms, then c takes 2 ms.
    assert_eq!(report.runs[0].duration_ns, 8_000_000);
}

#[test]
fn a_barrier_to_which_the_others_no_longer_come() {
    let meets = |times| {
        format!(r#"program = [ {{ loop = {times}, do = [ {{ run = "1ms" }}, {{ barrier = "all" }} ] }} ]"#)
    };
    let text = refused(&[("a", &meets(2)), ("b", &meets(1))], "cpus = 2");
    assert!(
        text.ends_with(
            "at 2000000 ns: the workload deadlocks: a waits at barrier all for others that never come"
        ),
        "{text}"
    );
}

/// A token for one thing does not end the wait for another, and is kept until its time.
#[test]
fn who_waits_for_two_things_gets_them_in_its_own_order() {
    let takes = r#"program = [ { take = "a" }, { run = "1ms" }, { take = "b" }, { run = "1ms" } ]"#;
    let posts = r#"program = [ { post = "b" }, { sleep = "10ms" }, { post = "a" } ]"#;
    let report = run(&[("takes", takes), ("posts", posts)], "cpus = 2").expect("no deadlock");
    assert_eq!((report.runs[0].tasks[0].service_ns, report.runs[0].duration_ns), (2_000_000, 12_000_000));
}

#[test]
fn a_server_may_outlive_its_clients() {
    let server = r#"program = [ { loop = "forever", do = [ { wait = true }, { run = "1ms" } ] } ]"#;
    let client = r#"program = [ { run = "1ms" }, { wake = "server" } ]"#;
    let report = run(&[("server", server), ("client", client)], "duration = \"1s\"").expect("no deadlock");
    assert_eq!(report.runs[0].tasks[0].service_ns, 1_000_000);
}
