//! Workloads and traces from one format to another, by what they do afterwards.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

const RECORDING: &str = "../examples/compile-beside-interactive.perf.data";

fn divvy(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_divvy")).args(arguments).output().expect("divvy runs")
}

fn done(arguments: &[&str]) -> Output {
    let output = divvy(arguments);
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    output
}

fn scratch(name: &str) -> PathBuf {
    let directory = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("convert");
    fs::create_dir_all(&directory).expect("a directory");
    directory.join(name)
}

fn path(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

/// For each policy: names and service times of all tasks, in nanoseconds, sorted.
fn services(arguments: &[&str]) -> Vec<Vec<(String, u64)>> {
    let report: Value =
        serde_json::from_slice(&done(&[arguments, &["--format", "json"]].concat()).stdout).expect("JSON");
    let of_run = |run: &Value| {
        let service = |task: &Value| {
            let name = task["name"].as_str().expect("a name").to_owned();
            (name, task["service_ns"].as_u64().expect("a number"))
        };
        let mut all: Vec<_> = run["tasks"].as_array().expect("tasks").iter().map(service).collect();
        all.sort();
        all
    };
    report["runs"].as_array().expect("runs").iter().map(of_run).collect()
}

/// No wake is lost: simulating the workload that was made of a trace gives what replaying the trace gives, to the
/// nanosecond.
#[test]
fn a_trace_as_a_workload_does_what_its_replay_does() {
    let file = scratch("recording.toml");
    done(&["convert", RECORDING, path(&file)]);
    let policies = ["-p", "eevdf,gr3,pbs:alpha=2", "--duration", "1500ms"];
    let replayed = services(&[&["replay", RECORDING, "--per-thread"][..], &policies].concat());
    let simulated = services(&[&["sim", path(&file)][..], &policies].concat());
    assert_eq!(simulated, replayed);
    assert!(
        replayed[0].len() > 50 && replayed[0] != replayed[2],
        "the policies differ, and so may the tasks"
    );
    let text = fs::read_to_string(&file).expect("written");
    assert!(text.starts_with("# The threads of ") && text.contains("wait = true"), "{}", &text[..800]);
}

/// By way of rt-app's JSON times are in whole microseconds: service times are as near as that for each step.
#[test]
fn a_trace_as_rt_apps_json_is_as_near_as_its_microseconds() {
    let file = scratch("recording.json");
    done(&["convert", RECORDING, path(&file), "--to", "rt-app"]);
    let whole = services(&["replay", RECORDING, "--per-thread", "-p", "eevdf"]);
    let rounded = services(&["sim", path(&file), "-p", "eevdf"]);
    assert_eq!(whole[0].len(), rounded[0].len());
    for ((name, ns), (again, rounded_ns)) in whole[0].iter().zip(&rounded[0]) {
        assert_eq!(name, again);
        assert!(ns.abs_diff(*rounded_ns) <= 2_000_000.max(ns / 100), "{name}: {ns} and {rounded_ns}");
    }
}

#[test]
fn rt_apps_json_and_toml_do_the_same() {
    let (json, toml, again) = (scratch("pair.json"), scratch("pair.toml"), scratch("again.json"));
    fs::write(
        &json,
        "{ /* two that wake each other */ \"tasks\": { \"a\": { \"run\": 10000, \"resume\": \"b\", \"suspend\": \"a\", },\n\
         \"b\": { \"run\": 3000, \"resume\": \"a\", \"suspend\": \"b\" }, \"c\": { \"priority\": 5, \"run\": 1 } },\n\
         \"global\": { \"duration\": 3 } }",
    )
    .expect("writable");
    done(&["convert", path(&json), path(&toml)]);
    done(&["convert", path(&toml), path(&again)]);
    let [first, second, third] =
        [&json, &toml, &again].map(|file| services(&["sim", path(file), "-p", "sfq,eevdf"]));
    assert_eq!((&first, &first), (&second, &third));
    assert_eq!(
        first[0].iter().map(|(_, ns)| ns).sum::<u64>(),
        3_000_000_000,
        "c fills what the others leave"
    );
    let notes = divvy(&["sim", path(&json), "-p", "sfq"]);
    assert!(String::from_utf8_lossy(&notes.stderr).contains("note: "), "what is not as in rt-app is said");
}

#[test]
fn what_cannot_be_converted_says_so() {
    let (bad, chrome) = (scratch("bad.json"), scratch("chrome.json"));
    fs::write(&bad, "{ \"tasks\": { \"a\": { \"run\": __RUN__ } } }").expect("writable");
    done(&["convert", RECORDING, path(&chrome)]);
    let loops = scratch("loops.toml");
    let text = "task = [ { name = \"t\", program = [ { loop = 2, do = [ { run = \"1ms\" }, { until = \"5s\" } ] } ] } ]";
    fs::write(&loops, text).expect("writable");
    for (arguments, code, part) in [
        (vec!["sim", path(&bad), "-p", "rr"], 4, "bad.json:1:28: `__RUN__` is no value"),
        (vec!["convert", path(&bad), "x.toml"], 4, "bad.json:1:28"),
        (vec!["convert", path(&chrome), "x.toml"], 4, "written here and not read"),
        (vec!["convert", path(&loops), "x.json"], 4, "task t: it sleeps until 5s in a loop"),
        (vec!["convert", path(&loops), "x.txt"], 2, "divvy sim IN"),
        (vec!["convert", RECORDING, "x.csv"], 2, "its name does not say the format"),
        (vec!["convert", "nosuch.toml", "x.json"], 4, "nosuch.toml"),
    ] {
        let output = divvy(&arguments);
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {error}");
        assert!(error.contains(part), "{arguments:?}: {error}");
    }
}

/// The schedule under first come, first served on two CPUs, by hand, in seconds of the log after its first job: job 1 runs from 0
/// to 10; the threads of job 2 come at 2 and run from 2 to 6 and from 6 to 10; job 3 waits from 3 to 10; job 7, which stands after
/// later ones, runs at once; both threads of job 4 run from 30 to 35, and job 5 waits for them. Job 6 never ran.
#[test]
fn a_log_of_jobs_is_scheduled_as_by_hand() {
    let (log, toml, csv) = (scratch("hand.swf"), scratch("hand.toml"), scratch("hand.csv"));
    let lines =
        [(1, 100, 10, 1, 1), (2, 102, 4, 2, 1), (3, 103, 6, 1, 1), (4, 130, 5, 2, 1), (5, 131, 1, 1, 1)];
    let more = [(6, 120, -1, 1, 5), (7, 112, 3, 1, 0)];
    let line = |(job, submit, run, count, status): &(i32, i32, i32, i32, i32)| {
        format!("{job} {submit} -1 {run} {count} -1 -1 -1 -1 -1 {status} 1 1 1 1 1 -1 -1\n")
    };
    let text: String = lines.iter().chain(&more).map(line).collect();
    fs::write(&log, format!("; MaxProcs: 2\n{text}")).expect("writable");
    let by_hand = [
        ("job-1", 0, 0, 10),
        ("job-2/1", 2, 2, 6),
        ("job-2/2", 2, 6, 10),
        ("job-3", 3, 10, 16),
        ("job-4/1", 30, 30, 35),
        ("job-4/2", 30, 30, 35),
        ("job-5", 31, 35, 36),
        ("job-7", 12, 12, 15),
    ];
    done(&["convert", path(&log), path(&toml), "--second", "1s"]);
    for (file, second_ns) in [(&log, 1_000_000_u64), (&toml, 1_000_000_000)] {
        done(&["sim", path(file), "-p", "fcfs", "--jobs-csv", path(&csv), "-o", "/dev/null"]);
        let csv = fs::read_to_string(&csv).expect("written");
        let row = |line: &str| {
            let fields: Vec<&str> = line.split(',').collect();
            let seconds = |at: usize| fields[at].parse::<u64>().expect("ns") as f64 / second_ns as f64;
            (fields[1].to_owned(), seconds(2), seconds(3), seconds(4))
        };
        let mut found: Vec<_> = csv.lines().skip(1).map(row).collect();
        found.sort_by(|a, b| a.0.cmp(&b.0));
        let expected: Vec<_> = by_hand
            .map(|(name, from, start, end)| {
                (name.to_owned(), f64::from(from), f64::from(start), f64::from(end))
            })
            .to_vec();
        assert_eq!(found, expected, "{}", path(file));
    }
}

#[test]
fn a_damaged_log_of_jobs_is_bad_input_with_its_line() {
    let (log, toml) = (scratch("cut.swf"), scratch("cut.toml"));
    fs::write(&log, "; a log\n1 0 -1 10 1 -1 -1 -1 -1 -1 1 1 1 1 1 1 -1 -1\n2 5 -1 10").expect("writable");
    for arguments in [vec!["sim", path(&log), "-p", "rr"], vec!["convert", path(&log), path(&toml)]] {
        let output = divvy(&arguments);
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(4), "{arguments:?}: {error}");
        assert!(error.contains("cut.swf:3:1: 4 fields"), "{arguments:?}: {error}");
    }
    let output = divvy(&["convert", "../examples/mix.toml", path(&toml), "--second", "1s"]);
    assert_eq!(output.status.code(), Some(2), "{}", String::from_utf8_lossy(&output.stderr));
}
