//! `divvy top` with a scheduler that is none: who listens at the socket answers as a loader does.

mod fake;
#[cfg(feature = "top")]
mod screen;

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Output, Stdio};

use fake::Fake;
use serde_json::Value;

fn divvy(fake: &Fake, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_divvy"));
    command.env("DIVVY_SOCKET", fake.path()).args(arguments);
    command
}

fn run(fake: &Fake, arguments: &[&str]) -> Output {
    divvy(fake, arguments).output().expect("divvy runs")
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn lines(output: &Output) -> Vec<Value> {
    let text = String::from_utf8_lossy(&output.stdout);
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

#[test]
fn intervals_are_differences_of_looks() {
    let fake = Fake::start("batch", None);
    let output = run(&fake, &["top", "-n", "2", "-d", "100ms", "--format", "json"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let lines = lines(&output);
    assert_eq!(lines.len(), 2);
    for (line, end) in lines.iter().zip([2u64, 3]) {
        assert_eq!((&line["policy"], &line["cpus"]), (&"gr3".into(), &1.into()));
        assert_eq!(line["end_ns"], end * 1_000_000_000, "the first look is no interval");
        assert_eq!(
            (&line["duration_ns"], &line["counts"]["decisions"]),
            (&1_000_000_000.into(), &300.into())
        );
        let rows = line["rows"].as_array().expect("rows");
        assert_eq!(rows.len(), 2, "the idle one is left out");
        assert_eq!((&rows[0]["pid"], &rows[0]["weight"]), (&fake::HEAVY.into(), &3072.0.into()));
        assert_eq!((&rows[0]["received_share"], &rows[1]["received_share"]), (&0.75.into(), &0.25.into()));
        assert_eq!(rows[1]["name"], "(ended)", "no thread has that number");
    }
}

#[test]
fn other_forms_and_rows() {
    let fake = Fake::start("forms", None);
    let csv = run(&fake, &["top", "--once", "-d", "100ms", "--format", "csv", "--by", "process"]);
    let text = String::from_utf8_lossy(&csv.stdout).into_owned();
    assert_eq!(text.lines().count(), 2, "a head and one process: {text}");
    assert!(text.lines().nth(1).is_some_and(|line| line.contains(",3,2,4096,4096,")), "{text}");
    let table = run(&fake, &["top", "--once", "-d", "100ms", "--sort", "weight", "--top", "1"]);
    let text = String::from_utf8_lossy(&table.stdout).into_owned();
    assert!(text.starts_with("gr3 on 1 CPU: interval of 1.00s, "), "{text}");
    assert!(text.contains(" 75.00   75.00") || text.contains(" 75.00  75.00"), "{text}");
    assert!(!text.contains(" 25.00"), "one row: {text}");
    let none = run(&fake, &["top", "--once", "-d", "100ms", "--format", "json", "--filter", "no such"]);
    assert_eq!(lines(&none)[0]["rows"], Value::Array(vec![]));
}

#[test]
fn it_says_that_the_scheduler_was_unloaded() {
    let fake = Fake::start("unloaded", Some(3));
    let output = run(&fake, &["top", "-d", "100ms", "--format", "json"]);
    assert_eq!((output.status.code(), lines(&output).len()), (Some(5), 2));
    assert!(stderr(&output).contains("the scheduler was unloaded"), "{}", stderr(&output));
}

#[test]
fn without_a_scheduler_it_shows_the_kernels_own() {
    let fake = Fake::start("none", Some(0));
    let mut hog = Running(Command::new("sh").args(["-c", "while :; do :; done"]).spawn().expect("a shell"));
    let output = run(&fake, &["top", "--once", "-d", "300ms", "--format", "json", "--top", "1000"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let interval = &lines(&output)[0];
    assert_eq!(interval["policy"], "linux");
    let rows = interval["rows"].as_array().expect("rows");
    let own = rows.iter().find(|row| row["pid"] == hog.0.id()).expect("the hog");
    assert!(own["received_ns"].as_u64() > Some(0) && own["entitled_ns"].as_u64() > Some(0), "{own}");
    hog.0.kill().expect("it runs");
    let table = run(&fake, &["top", "--once", "-d", "100ms"]);
    let text = String::from_utf8_lossy(&table.stdout).into_owned();
    assert!(text.starts_with("linux on ") && text.contains(" of watching"), "{text}");
    assert!(!text.contains("decisions"), "nobody counts them: {text}");
}

#[test]
fn what_cannot_be_meant_is_a_usage_error() {
    let fake = Fake::start("usage", Some(0));
    for (arguments, says) in [
        (&["top", "--metrics", "0.0.0.0:9123"][..], "only a loopback address"),
        (&["top", "--metrics", "9123"], "an address and a port"),
        (&["top", "-n", "0"], "1.."),
        (&["top", "-d", "1ms"], "at least 100ms"),
        (&["top", "--once", "-n", "2"], "cannot be used with"),
        (&["top", "--metrics-threads", "5"], "--metrics"),
    ] {
        let output = run(&fake, arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(stderr(&output).contains(says), "{arguments:?}: {}", stderr(&output));
    }
}

/// Ended with the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn get(address: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(address).expect("connected");
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {address}\r\n\r\n").expect("written");
    let mut said = String::new();
    stream.read_to_string(&mut said).expect("read");
    said
}

#[test]
fn scrapes_are_answered_before_while_and_after_a_scheduler_is_loaded() {
    let mut fake = Fake::start("metrics", None);
    let mut child =
        divvy(&fake, &["top", "--metrics", "127.0.0.1:0"]).stderr(Stdio::piped()).spawn().expect("runs");
    let mut said = String::new();
    BufReader::new(child.stderr.take().expect("a pipe")).read_line(&mut said).expect("a line");
    let _running = Running(child);
    let address = said.trim().strip_prefix("metrics at http://").and_then(|url| url.strip_suffix("/metrics"));
    let address = address.unwrap_or_else(|| panic!("{said}"));
    let loaded = get(address, "/metrics");
    assert!(loaded.starts_with("HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4"), "{loaded}");
    assert!(
        loaded.contains("\ndivvy_up 1\n") && loaded.contains("\ndivvy_decisions_total 300\n"),
        "{loaded}"
    );
    let heavy =
        format!("divvy_received_seconds_total{{pid=\"{}\",tgid=\"{}\",comm=\"", fake::HEAVY, fake.tgid());
    assert!(!loaded.contains(&heavy), "it has no name, so no metrics");
    assert!(loaded.contains(&format!("divvy_turns_total{{pid=\"{}\"", fake.tgid())), "{loaded}");
    assert!(get(address, "/").starts_with("HTTP/1.1 404"));
    fake.stop();
    assert!(get(address, "/metrics").ends_with("\ndivvy_up 0\n"));
}
