//! Results go to stdout, everything else to stderr; and a stream may have no reader.

use std::process::{Command, Stdio};

fn divvy(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_divvy"));
    command.args(args).env_remove("CLICOLOR_FORCE").env_remove("NO_COLOR").env_remove("COLUMNS");
    command
}

const WORKLOAD: &str = "tests/cmd/sim.in/shares.toml";

#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    let output = divvy(&["sim", WORKLOAD, "-p", "rr", "--format", "json"])
        .stdout(writer)
        .stderr(Stdio::piped())
        .output()
        .expect("it runs");
    assert!(output.status.success());
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}

/// A reader of stderr that is gone takes nothing from the exit code.
#[test]
fn an_error_that_cannot_be_told_keeps_its_code() {
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    let status =
        divvy(&["sim", "tests/cmd/nosuch.toml", "-p", "rr"]).stderr(writer).status().expect("it runs");
    assert_eq!(status.code(), Some(4));
}

#[test]
fn stdout_is_the_result_and_plain_where_it_is_no_terminal() {
    let output = divvy(&["sim", WORKLOAD, "-p", "rr,sfq"]).output().expect("it runs");
    assert!(output.status.success());
    assert!(!output.stdout.contains(&0x1b));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}

#[test]
fn colour_is_a_choice() {
    let has_colour = |args: &[&str], variable: &str| {
        let mut command = divvy(&["sim", WORKLOAD, "-p", "rr,sfq"]);
        if !variable.is_empty() {
            command.env(variable, "1");
        }
        command.args(args).output().expect("it runs").stdout.contains(&0x1b)
    };
    assert!(has_colour(&["--color", "always"], ""));
    assert!(has_colour(&[], "CLICOLOR_FORCE"));
    assert!(!has_colour(&["--color", "never"], "CLICOLOR_FORCE"));
    assert!(has_colour(&["--color", "always"], "NO_COLOR"));
}

#[test]
fn the_same_seed_gives_the_same_bytes() {
    let bytes =
        || divvy(&["sim", WORKLOAD, "-p", "rr,sfq", "--format", "json"]).output().expect("it runs").stdout;
    assert_eq!(bytes(), bytes());
}

#[test]
fn man_pages_and_completions_cover_every_command() {
    let dir = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("man");
    let status = divvy(&["man", "-q", dir.to_str().expect("plain")]).status().expect("it runs");
    assert!(status.success());
    for page in ["divvy.1", "divvy-sim.1", "divvy-replay.1", "divvy-policies.1"] {
        let text = std::fs::read_to_string(dir.join(page)).unwrap_or_else(|error| panic!("{page}: {error}"));
        assert!(text.contains(".TH"), "{page}");
    }
    let script = divvy(&["completions", "bash"]).output().expect("it runs").stdout;
    assert!(String::from_utf8_lossy(&script).contains("--assert"));
}
