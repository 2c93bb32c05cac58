//! `divvy play` with real threads. The machine may be busy: nothing here depends on how long anything takes, only on
//! what was done, how often, and in which order.

use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use divvy_results::report::{Report, TaskResult};
use divvy_workload::{Dist, Purpose, instance, stream};

const MS: u64 = 1_000_000;

fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("play-{name}.toml"))
}

/// A workload in a file of its own.
fn file(name: &str, text: &str) -> PathBuf {
    std::fs::write(path(name), text).expect("written");
    path(name)
}

fn divvy(name: &str, text: &str, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_divvy"));
    command.arg("play").arg(file(name, text)).args(args).stdin(Stdio::null());
    command
}

fn output(name: &str, text: &str, args: &[&str]) -> Output {
    divvy(name, text, args).output().expect("it runs")
}

/// Read by the reader of all reports.
fn play(name: &str, text: &str, args: &[&str]) -> Report {
    let output = output(name, text, &[&["--format", "json", "--cpus", "1"], args].concat());
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{name}: {told}");
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn task<'a>(report: &'a Report, name: &str) -> &'a TaskResult {
    report.runs[0].tasks.iter().find(|task| task.name == name).unwrap_or_else(|| panic!("no {name}"))
}

fn error(name: &str, text: &str, args: &[&str]) -> (Option<i32>, String) {
    let output = output(name, text, args);
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

/// `SLACK_NS` of play/src/burn.rs: a remainder up to this is left to the next burst, and the last burst has no next.
const SLACK_NS: u64 = 1_000;

/// Received is what was asked for: not less by more than the clock's slack, and more only by what a machine charges to
/// a thread that it interrupts.
fn assert_received(task: &TaskResult, asked_ns: u64) {
    let least = asked_ns - asked_ns / 500 - SLACK_NS * task.jobs.max(1);
    let most = asked_ns + asked_ns / 20 + 5 * MS;
    assert!((least..=most).contains(&task.service_ns), "{}: {} of {asked_ns}", task.name, task.service_ns);
}

#[test]
fn demands_are_met_and_jobs_are_counted() {
    let report = play(
        "demands",
        r#"task = [
          { name = "burst", program = [ { run = "60ms" } ] },
          { name = "jobs", count = 2, program = [ { loop = 10, do = [ { run = "2ms" }, { sleep = "1ms" } ] } ] },
          { name = "thread", process = "P", count = 2, program = [ { run = "20ms" }, { yield = true }, { run = "10ms" } ] },
          { name = "users", arrivals = { closed = "1ms" }, stop = "40ms", program = [ { run = "100us" } ] },
        ]"#,
        &[],
    );
    assert_received(task(&report, "burst"), 60 * MS);
    for (name, asked, jobs, process) in [
        ("jobs/1", 20 * MS, 10, "jobs/1"),
        ("jobs/2", 20 * MS, 10, "jobs/2"),
        ("thread/1", 30 * MS, 1, "P"),
        ("thread/2", 30 * MS, 1, "P"),
    ] {
        let task = task(&report, name);
        assert_received(task, asked);
        assert_eq!((task.jobs, task.process.as_str()), (jobs, process), "{name}");
    }
    let run = &report.runs[0];
    assert!(run.policy.starts_with("kernel:"), "{}", run.policy);
    assert_eq!((run.decisions, report.cpus, report.schema_version), (None, 1, 1));
    let service: u64 = run.tasks.iter().map(|task| task.service_ns).sum();
    assert!((run.utilization * run.duration_ns as f64 - service as f64).abs() < 1e6);
}

fn demanded(seed: u64, (class, number): (usize, u32), samples: usize, mean_ns: u64) -> u64 {
    let mut stream = stream(seed, 0, instance(class, number), Purpose::Run);
    (0..samples).map(|_| Dist::Exp(mean_ns).sample_ns(&mut stream)).sum()
}

/// Alone, a task is entitled to all the work that it brings as soon as it can be done: to the nanosecond what the
/// simulator's stream says that it should ask for.
#[test]
fn random_demands_are_those_of_the_simulator() {
    let text = r#"task = [
      { name = "other", program = [ { sleep = "1ms" } ] },
      { name = "random", program = [ { loop = 8, do = [ { run = { exp = "3ms" } }, { sleep = { exp = "1ms" } } ] } ] },
    ]"#;
    let report = play("random", text, &["--seed", "7"]);
    let (random, asked) = (task(&report, "random"), demanded(7, (1, 0), 8, 3 * MS));
    assert!(random.entitled_ns.abs_diff(asked) <= 1, "{} {asked}", random.entitled_ns);
    assert_received(random, asked);
}

#[test]
fn each_instance_has_a_stream_of_its_own() {
    let text = r#"task = [
      { name = "two", count = 2, program = [ { loop = 4, do = [ { run = { exp = "10ms" } } ] } ] },
      { name = "open", arrivals = { open = { exp = "1ms" }, limit = 5 }, program = [ { run = { exp = "10ms" } } ] },
    ]"#;
    let report = play("streams", text, &["--seed", "9"]);
    assert_received(task(&report, "two/1"), demanded(9, (0, 0), 4, 10 * MS));
    assert_received(task(&report, "two/2"), demanded(9, (0, 1), 4, 10 * MS));
    assert_received(task(&report, "open"), (0..5).map(|number| demanded(9, (1, number), 1, 10 * MS)).sum());
    assert_eq!(task(&report, "open").jobs, 5);
}

/// The task that waits longest gets the lock, under every scheduler. They come while A holds it, far apart, and in
/// another order than that of the file.
#[test]
fn a_lock_goes_to_who_waited_longest() {
    let waits = |name: &str, from: &str| {
        format!(
            r#"{{ name = "{name}", start = "{from}", program = [ {{ lock = "m" }}, {{ run = "1ms" }}, {{ unlock = "m" }} ] }}"#
        )
    };
    let text = format!(
        r#"task = [
          {{ name = "A", program = [ {{ lock = "m" }}, {{ run = "1ms" }}, {{ sleep = "400ms" }}, {{ unlock = "m" }} ] }},
          {}, {}, {} ]"#,
        waits("D", "150ms"),
        waits("C", "100ms"),
        waits("B", "50ms"),
    );
    let report = play("lock", &text, &[]);
    let finished = |name| task(&report, name).finished_ns.expect("finished");
    assert!(finished("B") < finished("C") && finished("C") < finished("D"));
    assert!(finished("B") >= 400 * MS, "nobody has it before it is given back");
}

#[test]
fn barriers_forks_and_tokens_are_counted_across_processes() {
    let report = play(
        "sync",
        r#"task = [
          { name = "meet", count = 3, program = [ { loop = 20, do = [ { run = "100us" }, { barrier = "b" } ] } ] },
          { name = "parent", program = [ { loop = 4, do = [ { run = "200us" }, { fork = "child" } ] } ] },
          { name = "child", start = "fork", count = 2, program = [ { run = "1ms" }, { wake = "sink" } ] },
          { name = "thread", process = "P", start = "fork", program = [ { run = "1ms" } ] },
          { name = "forks", process = "P", program = [ { run = "1ms" }, { loop = 3, do = [ { fork = "thread" } ] } ] },
          { name = "sink", program = [ { loop = 8, do = [ { wait = true }, { run = "300us" } ] } ] },
          { name = "posts", program = [ { run = "100us" }, { post = "late" }, { run = "1ms" }, { loop = 3, do = [ { post = "early" } ] } ] },
          { name = "takes", count = 3, program = [ { take = "early" }, { run = "300us" } ] },
          { name = "takes both", program = [ { take = "late" }, { run = "300us" }, { loop = 3, do = [ { post = "late" } ] }, { take = "late" } ] },
        ]"#,
        &[],
    );
    for i in 1..=3 {
        let meet = task(&report, &format!("meet/{i}"));
        assert_eq!(meet.jobs, 1);
        assert_received(meet, 2 * MS);
    }
    assert_eq!(
        (task(&report, "child").jobs, task(&report, "thread").jobs, task(&report, "sink").jobs),
        (8, 3, 8)
    );
    for i in 1..=3 {
        assert_received(task(&report, &format!("takes/{i}")), 300_000);
    }
    assert_received(task(&report, "takes both"), 300_000);
    assert_received(task(&report, "child"), 8 * MS);
    assert_received(task(&report, "sink"), 2_400_000);
}

#[test]
fn what_never_ends_is_ended() {
    let text = r#"
      duration = "120ms"
      task = [
        { name = "hog", count = 2, program = [ { run = "forever" } ] },
        { name = "threads", process = "P", count = 2, program = [ { run = "forever" } ] },
        { name = "sleeper", program = [ { sleep = "1h" } ] },
        { name = "holder", program = [ { lock = "m" }, { sleep = "1h" }, { unlock = "m" } ] },
        { name = "waiter", program = [ { lock = "m" }, { unlock = "m" } ] },
        { name = "stopped", stop = "30ms", program = [ { loop = "forever", do = [ { yield = true }, { run = "10us" } ] } ] },
      ]"#;
    let report = play("endless", text, &["--reps", "2"]);
    assert_eq!(report.runs.len(), 2);
    for run in &report.runs {
        assert_eq!((run.duration_ns, run.tasks[1].jobs), (120 * MS, 0));
        assert!(run.utilization <= 1.05, "{}", run.utilization);
    }
}

#[test]
fn claims_and_notes_go_where_those_of_sim_do() {
    let text = r#"task = [ { name = "T", program = [ { run = "1ms" } ] } ]"#;
    let (code, told) = error("claim", text, &["-q", "-o", "/dev/null", "--assert", "jobs(T) == 2"]);
    assert_eq!(code, Some(3), "{told}");
    assert!(told.contains("not met: jobs(T) == 2\n  kernel:") && told.contains("jobs(T) = 1"), "{told}");
    let (code, told) = error("claim", text, &["-q", "-o", "/dev/null", "--assert", "decisions > 0"]);
    assert_eq!(code, Some(3), "{told}");
    assert!(told.contains("decisions was not measured"), "{told}");
}

#[test]
fn a_deadlock_is_found_and_named() {
    let crossed = |name: &str, first: &str, second: &str| {
        format!(
            r#"{{ name = "{name}", program = [ {{ lock = "{first}" }}, {{ sleep = "50ms" }}, {{ lock = "{second}" }}, {{ unlock = "{second}" }}, {{ unlock = "{first}" }} ] }}"#
        )
    };
    let text = format!("task = [ {}, {} ]", crossed("A", "m", "n"), crossed("B", "n", "m"));
    let (code, told) = error("deadlock", &text, &[]);
    assert_eq!(code, Some(1), "{told}");
    assert!(told.contains("deadlocks: A waits for lock n, B waits for lock m"), "{told}");
}

#[test]
fn forks_without_end_meet_the_limit() {
    let text = r#"task = [
      { name = "root", program = [ { loop = 100, do = [ { fork = "child" } ] } ] },
      { name = "child", start = "fork", program = [ { sleep = "1h" } ] } ]"#;
    let (code, told) = error("bomb", text, &["--max-threads", "20", "--duration", "60s"]);
    assert_eq!(code, Some(1), "{told}");
    assert!(told.contains("more than 20 tasks at one time"), "{told}");
}

/// Processes whose command line names this workload.
fn running(name: &str) -> usize {
    let path = path(name);
    let path = path.to_str().expect("plain");
    let is_it = |entry: &std::fs::DirEntry| {
        std::fs::read(entry.path().join("cmdline"))
            .is_ok_and(|line| String::from_utf8_lossy(&line).contains(path))
    };
    let processes = std::fs::read_dir("/proc").expect("/proc").flatten();
    processes.filter(|entry| is_it(entry)).count()
}

fn wait_until(what: &str, condition: impl Fn() -> bool) {
    let begun = Instant::now();
    while !condition() {
        assert!(begun.elapsed() < Duration::from_secs(30), "{what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Killed in a way that it cannot see coming, it takes all its processes with it.
#[test]
fn nothing_is_left_when_it_is_killed() {
    let text = r#"
      duration = "1h"
      task = [
        { name = "hog", count = 3, program = [ { run = "forever" } ] },
        { name = "sleeper", process = "P", count = 2, program = [ { sleep = "1h" } ] } ]"#;
    let mut child = divvy("killed", text, &[]).stdout(Stdio::null()).spawn().expect("it runs");
    wait_until("five processes", || running("killed") == 5);
    child.kill().expect("killed");
    child.wait().expect("gone");
    wait_until("none left", || running("killed") == 0);
}

/// One of its processes is killed from outside: the run fails, and the others end.
#[test]
fn the_death_of_a_task_is_an_error() {
    let text = r#"duration = "1h"
      task = [ { name = "hog", count = 2, program = [ { run = "forever" } ] } ]"#;
    let child =
        divvy("death", text, &[]).stderr(Stdio::piped()).stdout(Stdio::null()).spawn().expect("it runs");
    wait_until("three processes", || running("death") == 3);
    let children = format!("/proc/{0}/task/{0}/children", child.id());
    let one = std::fs::read_to_string(children).expect("children");
    let one = one.split_whitespace().next().expect("a child");
    assert!(Command::new("kill").args(["-KILL", one]).status().expect("kill").success());
    let output = child.wait_with_output().expect("it ends");
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(told.contains("was killed by signal 9"), "{told}");
    wait_until("none left", || running("death") == 0);
}

/// Where root has no limit, another user has.
#[test]
fn threads_that_cannot_be_started_are_an_error() {
    let directory = std::env::temp_dir().join(format!("divvy-play-{}", std::process::id()));
    std::fs::create_dir_all(&directory).expect("a directory that other users can read");
    std::fs::copy(env!("CARGO_BIN_EXE_divvy"), directory.join("divvy")).expect("copied");
    let text = r#"task = [{ name = "T", process = "P", nice = 19, count = 200, program = [ { run = "forever" } ] }]"#;
    std::fs::write(directory.join("w.toml"), format!("duration = \"1s\"\n{text}")).expect("written");
    let is_root = std::fs::metadata("/proc/self").expect("a process").uid() == 0;
    let other_user: &[&str] =
        if is_root { &["setpriv", "--reuid=23456", "--regid=23456", "--clear-groups"] } else { &[] };
    let mut command = Command::new("timeout");
    command.args(["-s", "KILL", "60"]).args(other_user).args([
        "prlimit",
        "--nproc=40",
        "./divvy",
        "play",
        "w.toml",
    ]);
    let output = command.args(["--cpus", "1"]).current_dir(&directory).output().expect("it runs");
    std::fs::remove_dir_all(&directory).expect("removed");
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(told.contains("cannot start ") && told.contains("ulimit -u"), "{told}");
}

/// A program is a process whose only argument is its name. Only one that executed has another command line than divvy.
#[test]
fn a_task_with_an_executable_is_a_program_of_its_own() {
    let name = format!("cc-of-{}", std::process::id());
    let text = format!(
        "duration = \"100s\"\ntask = [ {{ name = \"T\", executable = \"{name}\", program = [ {{ run = \"forever\" }} ] }} ]"
    );
    let mut command = divvy("executes", &text, &["--cpus", "1"]);
    let mut child = command.stdout(Stdio::null()).spawn().expect("it runs");
    let wanted = format!("{name}\0");
    let is_there = || {
        let processes = std::fs::read_dir("/proc").expect("/proc").flatten();
        processes
            .map(|one| std::fs::read_to_string(one.path().join("cmdline")))
            .any(|line| line.ok().as_ref() == Some(&wanted))
    };
    let mut was_there = is_there();
    while !was_there && child.try_wait().expect("a child").is_none() {
        std::thread::sleep(std::time::Duration::from_millis(20));
        was_there = is_there();
    }
    child.kill().expect("a child");
    child.wait().expect("it ended");
    assert!(was_there, "no process {name}");
    // It is not left behind by a divvy that was killed.
    for _ in 0..500 {
        if !is_there() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    panic!("process {name} outlived divvy");
}

/// It has the run's locks and tokens, and its demands, as if it were forked.
#[test]
fn programs_share_locks_and_tokens_with_the_others() {
    let report = play(
        "programs",
        r#"task = [
          { name = "first", executable = "cc", program = [ { lock = "m" }, { run = "20ms" }, { unlock = "m" }, { wake = "server" } ] },
          { name = "again", start = "5ms", executable = "cc", program = [ { lock = "m" }, { run = "20ms" }, { unlock = "m" }, { wake = "server" } ] },
          { name = "forked", program = [ { lock = "m" }, { run = "10ms" }, { unlock = "m" } ] },
          { name = "server", executable = "server", program = [ { loop = 2, do = [ { wait = true }, { run = "5ms" } ] } ] },
        ]"#,
        &[],
    );
    for (name, asked) in [("first", 20), ("again", 20), ("forked", 10), ("server", 10)] {
        assert_received(task(&report, name), asked * MS);
    }
    assert_eq!(task(&report, "server").jobs, 2);
}

#[test]
fn only_play_makes_instances() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_divvy"));
    let output = command.env("DIVVY_PLAYED_INSTANCE", "1 2 3").arg("--version").output().expect("it runs");
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0), "{told}");
    assert!(told.contains("this process is no instance of a task"), "{told}");
}

/// The run is over before all of many programs could start on one CPU. It still ends when it should.
#[test]
fn programs_that_cannot_start_in_time_do_not_prolong_the_run() {
    let text = "duration = \"300ms\"\ntask = [ { name = \"T\", count = 600, executable = \"cc\", program = [ { run = \"forever\" } ] } ]";
    let output = output("late-programs", text, &["--cpus", "1", "--format", "json"]);
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{told}");
    let overhead = told.lines().find(|line| line.contains("starting tasks and keeping the time took"));
    let percent: Option<f64> =
        overhead.and_then(|line| line.split(' ').find_map(|word| word.strip_suffix('%')?.parse().ok()));
    assert!(percent.is_none_or(|percent| percent <= 100.0), "{told}");
}
