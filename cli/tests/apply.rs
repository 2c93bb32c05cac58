//! `divvy apply` with real processes, in a namespace of their own, so that others are not touched.

use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;
use std::process::{Command, Output};

const DIVVY: &str = env!("CARGO_BIN_EXE_divvy");

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A namespace needs root.
fn in_a_namespace(words: &[&str]) -> Command {
    let mut command = Command::new("unshare");
    command.args(["--pid", "--fork", "--kill-child", "--mount-proc"]).args(words);
    command
}

/// Hogs of nice 0 and one of nice 5 are equal if all have nice 5, as nobody is raised. What a hog forked after divvy was killed gets
/// the original value of the hog back, too.
#[test]
fn what_was_applied_is_restored_after_a_kill_and_at_the_end() {
    if !in_a_namespace(&["true"]).status().is_ok_and(|status| status.success()) {
        let is_root = std::fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0);
        assert!(!is_root, "root may make a namespace");
        eprintln!("NOT RUN: divvy apply with real processes needs root, to make a namespace");
        return;
    }
    let directory = std::env::temp_dir().join(format!("divvy-apply-real-{}", std::process::id()));
    std::fs::create_dir_all(&directory).expect("a directory");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/apply.sh");
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    let (script, place, cpus) =
        (script.display().to_string(), directory.display().to_string(), cpus.to_string());
    let output = in_a_namespace(&["sh", &script, DIVVY, &place, &cpus]).output().expect("it runs");
    std::fs::remove_dir_all(&directory).expect("it is there");
    let (out, err) = (String::from_utf8_lossy(&output.stdout), stderr(&output));
    let lines: Vec<&str> = out.lines().collect();

    let zeros = cpus.parse::<usize>().expect("a number") + 1;
    let before = format!("{}5", "0 ".repeat(zeros));
    let applied = format!("{}5", "5 ".repeat(zeros));
    let expected = [
        format!("before: {before}"),
        "second: 1".to_owned(),
        format!("applied: {applied}"),
        "restored N values".to_owned(),
        format!("restored: {before} 0"),
        format!("TERM: 0 {before} restored N values"),
        format!("INT: 0 {before} restored N values"),
        format!("HUP: 0 {before} restored N values"),
        format!("next: 0 {before}"),
    ];
    // The shell of the script, and what it starts, may have wanted a CPU, too.
    let counts: Vec<usize> = out.lines().filter_map(count).collect();
    let plain: Vec<String> = lines.iter().take(expected.len()).map(|line| without_count(line)).collect();
    assert_eq!(plain, expected, "{out}\n{err}");
    assert!(counts.len() == 4 && counts.iter().all(|count| *count > 0), "{out}");
    assert!(err.contains("another divvy apply is at work: process "), "{err}");
    assert!(err.contains("an earlier divvy apply left "), "{err}");
    assert!(!lines.contains(&"journal"), "the journal is removed: {out}");
}

/// The number of restored values that a line ends with.
fn count(line: &str) -> Option<usize> {
    line.strip_suffix(" values")?.rsplit_once(' ')?.1.parse().ok()
}

fn without_count(line: &str) -> String {
    count(line)
        .map_or_else(|| line.to_owned(), |count| line.replace(&format!(" {count} values"), " N values"))
}

fn apply(arguments: &[&str]) -> Output {
    Command::new(DIVVY).arg("apply").args(arguments).output().expect("divvy runs")
}

#[test]
fn a_dry_run_shows_a_table() {
    let output = apply(&["process-fair", "--dry-run", "--interval", "100ms"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.starts_with("process-fair by nice values on "), "{text}");
}

#[test]
fn a_damaged_journal_is_an_error_with_its_line() {
    let journal = std::env::temp_dir().join(format!("divvy-apply-damaged-{}", std::process::id()));
    std::fs::write(&journal, "nonsense\n").expect("a journal");
    std::fs::set_permissions(&journal, std::fs::Permissions::from_mode(0o600)).expect("its mode");
    let output = apply(&["--restore", "--journal", &journal.display().to_string()]);
    assert_eq!(output.status.code(), Some(4), "{}", stderr(&output));
    assert!(stderr(&output).contains(":1: it is no journal of divvy apply"), "{}", stderr(&output));
    let _ = std::fs::remove_file(format!("{}.lock", journal.display()));
    std::fs::remove_file(journal).expect("it is still there");
}

#[test]
fn words_that_do_not_fit_are_refused() {
    for (arguments, says) in [
        (&[][..], "SPEC"),
        (&["gr3"], "user-fair"),
        (&["user-fair", "--interval", "1ms"], "at least 100ms"),
        (&["user-fair", "--restore"], "cannot be used with"),
        (
            &["process-fair", "--with", "cgroup", "--dry-run", "--interval", "100ms"],
            "process-fair is by nice values",
        ),
    ] {
        let output = apply(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", stderr(&output));
        assert!(stderr(&output).contains(says), "{arguments:?}: {}", stderr(&output));
    }
}
