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

fn stdout_of(command: &mut Command) -> Vec<u8> {
    let output = command.output().expect("it runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

fn scratch(name: &str) -> String {
    let dir = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("streams");
    std::fs::create_dir_all(&dir).expect("a directory");
    dir.join(name).display().to_string()
}

/// A workload may come through a pipe. Only its name differs.
#[test]
fn a_workload_is_read_from_stdin() {
    let file = || std::fs::File::open(WORKLOAD).expect("a workload");
    let piped = stdout_of(divvy(&["sim", "-", "-p", "rr,sfq", "--format", "csv"]).stdin(file()));
    let named = stdout_of(&mut divvy(&["sim", WORKLOAD, "-p", "rr,sfq", "--format", "csv"]));
    assert_eq!(String::from_utf8_lossy(&piped), String::from_utf8_lossy(&named).replace(WORKLOAD, "stdin"));
}

/// A named pipe with a bad workload is read once, and does not make the command wait.
#[test]
fn a_bad_workload_in_a_pipe_is_an_error() {
    let pipe = scratch("pipe");
    let _ = std::fs::remove_file(&pipe);
    assert!(Command::new("mkfifo").arg(&pipe).status().expect("mkfifo runs").success());
    let command = divvy(&["sim", &pipe, "-p", "rr"]).stderr(Stdio::piped()).spawn().expect("it runs");
    std::fs::write(&pipe, "task = 1\n").expect("it is read");
    let output = command.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(4));
    assert!(String::from_utf8_lossy(&output.stderr).contains("task"), "{output:?}");
}

/// The lines, without the command that made them.
fn lines(text: &str) -> Vec<&str> {
    text.lines().filter(|line| !line.contains("divvy sim ")).collect()
}

/// The ending of a file's name chooses its format, in any case of letters.
#[test]
fn a_file_has_the_format_that_its_name_says() {
    for (ending, format) in
        [("json", "json"), ("csv", "csv"), ("MD", "markdown"), ("svg", "svg"), ("txt", "table")]
    {
        let file = scratch(&format!("result.{ending}"));
        stdout_of(&mut divvy(&["sim", WORKLOAD, "-p", "rr", "-o", &file]));
        let written = std::fs::read_to_string(&file).expect("a result");
        let printed = stdout_of(&mut divvy(&["sim", WORKLOAD, "-p", "rr", "--format", format]));
        assert_eq!(lines(&written), lines(&String::from_utf8_lossy(&printed)), "{ending}");
    }
}

/// A run that takes minutes says so at once.
#[test]
fn a_tiny_quantum_is_told_before_the_run() {
    use std::io::{BufRead as _, BufReader};
    let mut long = divvy(&["sim", WORKLOAD, "-p", "rr", "--quantum", "1ns", "--duration", "1h"])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it runs");
    let mut line = String::new();
    BufReader::new(long.stderr.take().expect("a pipe")).read_line(&mut line).expect("a line");
    long.kill().expect("it runs still");
    long.wait().expect("it ends");
    assert!(line.starts_with("note: with a quantum of 1ns in a run of 3600s"), "{line}");
}

/// A sweep's page can be made of its JSON. A browser looks at it in tests/report.rs.
#[test]
fn a_sweep_in_json_becomes_its_page() {
    let (csv, json, page, merged) =
        (scratch("s.csv"), scratch("s.json"), scratch("s.html"), scratch("merged.html"));
    let queue = "tests/cmd/sweep.in/queue.toml";
    let sweep =
        ["sweep", queue, "--vary", "load=0.5,0.7", "-p", "pbs", "--vary", "alpha=0,inf", "--reps", "2"];
    stdout_of(divvy(&sweep).args(["--duration", "1s", "-o", &csv, "-o", &json, "--force"]));
    stdout_of(&mut divvy(&["report", &json, "-o", &page]));
    stdout_of(&mut divvy(&["sweep", "--merge", &csv, "-o", &merged, "--force"]));
    // The pages without their packed data, which names the command.
    let around_data = |file: &str| -> (String, String) {
        let text = std::fs::read_to_string(file).expect("a page");
        let (before, data) = text.split_once("id=\"data\">").expect("data");
        (before.to_owned(), data.split_once('<').expect("an end").1.to_owned())
    };
    assert_eq!(around_data(&page), around_data(&merged));

    let output = divvy(&["report", &json, &json, "-o", &page]).output().expect("it runs");
    assert_eq!(output.status.code(), Some(4));
    assert!(String::from_utf8_lossy(&output.stderr).contains("give it alone"));
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
    let script = String::from_utf8_lossy(&script);
    assert!(script.contains("--assert"));
    assert!(
        script.contains("eevdf") && script.contains("procfair") == script.contains("+procfair"),
        "selections and no modifiers"
    );
}
