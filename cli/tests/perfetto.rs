//! Simulated and replayed runs as Perfetto traces: their slices are the report's service times, to the nanosecond.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

use divvy_trace::{ReadOptions, read};
use serde_json::Value;

const RUNS: [&[&str]; 3] = [
    &["sim", "../examples/mix.toml", "-p", "sfs", "--duration", "3s"],
    &["sim", "../examples/gr3-dynamic.toml", "-p", "gr3+procfair"],
    &["replay", "../examples/compile-beside-interactive.perf.data", "-p", "eevdf", "--per-thread"],
];

fn divvy(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_divvy")).args(arguments).arg("--quiet").output().expect("divvy runs")
}

fn scratch(name: &str) -> PathBuf {
    let directory = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("perfetto");
    fs::create_dir_all(&directory).expect("a directory");
    directory.join(name)
}

/// Writes the trace of a run, and gives the report's service by the task's name.
fn run(arguments: &[&str], file: &str) -> (PathBuf, BTreeMap<String, u64>) {
    let path = scratch(file);
    let trace = divvy(&[arguments, &["-o", path.to_str().expect("UTF-8")]].concat());
    assert!(trace.status.success(), "{}", String::from_utf8_lossy(&trace.stderr));
    let json = divvy(&[arguments, &["--format", "json"]].concat());
    let report: Value = serde_json::from_slice(&json.stdout).expect("JSON");
    let tasks = report["runs"][0]["tasks"].as_array().expect("tasks");
    let service = |task: &Value| {
        (task["name"].as_str().expect("a name").to_owned(), task["service_ns"].as_u64().expect("a number"))
    };
    (path, tasks.iter().map(service).filter(|(_, ns)| *ns > 0).collect())
}

#[test]
fn slices_sum_to_the_service_when_read_again() {
    for (index, arguments) in RUNS.iter().enumerate() {
        let (path, service) = run(arguments, &format!("own-{index}.perfetto-trace"));
        let recording = read(&path, &ReadOptions::default()).expect("readable");
        assert_eq!((recording.quality.malformed, recording.quality.mismatches), (0, 0), "{arguments:?}");
        assert_eq!((recording.quality.overlaps, recording.quality.inferred_runs), (0, 0), "{arguments:?}");
        // Names are cut to 15 bytes in a recording.
        let mut expected: BTreeMap<String, u64> = BTreeMap::new();
        service
            .iter()
            .for_each(|(name, ns)| *expected.entry(name.chars().take(15).collect()).or_default() += ns);
        let mut got: BTreeMap<String, u64> = BTreeMap::new();
        for thread in recording.threads.iter().filter(|thread| thread.run_ns > 0) {
            *got.entry(thread.name.clone()).or_default() += thread.run_ns;
        }
        assert_eq!(got, expected, "{arguments:?}");
    }
}

/// With Perfetto's own classes, if Python has them (`pip install perfetto`); DIVVY_PYTHON names another Python.
#[test]
fn slices_sum_to_the_service_in_perfettos_own_classes() {
    let python = std::env::var("DIVVY_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let has_perfetto = Command::new(&python).args(["-c", "import perfetto.protos"]).output();
    if !has_perfetto.is_ok_and(|output| output.status.success()) {
        eprintln!("SKIPPED: {python} has no module perfetto; pip install perfetto, or set DIVVY_PYTHON");
        return;
    }
    for (index, arguments) in RUNS.iter().enumerate() {
        let (path, service) = run(arguments, &format!("official-{index}.perfetto-trace"));
        let output =
            Command::new(&python).arg("tests/perfetto/sums.py").arg(&path).output().expect("Python runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let got: BTreeMap<String, u64> = serde_json::from_slice(&output.stdout).expect("JSON");
        assert_eq!(got, service, "{arguments:?}");
    }
}

#[test]
fn what_cannot_be_a_trace_says_so() {
    let path = scratch("two.perfetto-trace");
    let two = divvy(&["sim", "../examples/mix.toml", "-p", "rr,sfs", "-o", path.to_str().expect("UTF-8")]);
    assert_eq!(two.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&two.stderr).contains("one policy"));
    let (trace, _) = run(RUNS[0], "cut.perfetto-trace");
    let bytes = fs::read(&trace).expect("written");
    fs::write(&trace, &bytes[..bytes.len() / 2]).expect("writable");
    let cut = divvy(&["replay", trace.to_str().expect("UTF-8"), "-p", "rr"]);
    assert_eq!(cut.status.code(), Some(4));
    assert!(String::from_utf8_lossy(&cut.stderr).contains(&format!("byte {}", bytes.len() / 2)));
}

#[test]
fn a_recording_comes_through_every_format_unchanged() {
    let source = "../examples/compile-beside-interactive.perf.data";
    let first = read(source.as_ref(), &ReadOptions::default()).expect("readable");
    for ending in ["perfetto-trace", "txt"] {
        let path = scratch(&format!("converted.{ending}"));
        let done = divvy(&["convert", source, path.to_str().expect("UTF-8")]);
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        let second = read(&path, &ReadOptions::default()).expect("readable");
        let sums = |recording: &divvy_trace::Recording| {
            let mut sums: Vec<_> = recording
                .threads
                .iter()
                .map(|t| (t.tid, t.name.clone(), t.run_ns))
                .filter(|t| t.2 > 0)
                .collect();
            sums.sort();
            sums
        };
        assert_eq!(sums(&second), sums(&first), "{ending}");
    }
    let refused = divvy(&["convert", source, "x.data"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("reads perf.data and does not write it"));
}
