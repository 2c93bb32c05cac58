//! `.ci/levels` with levels that only print: which of them run, in which order their output comes, and which failure is told.

use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use super::root;

/// Stands for `make`: `LEVEL` is a number of tenths of a second, `+` and the exit code.
const MAKE: &str = "#!/bin/sh\nsleep 0.$(echo $2 | cut -c 1)\necho \"$2 has run\"\nexit ${2#*+}\n";

/// The lines of levels and of the last verdict, and whether it passed.
fn run(words: &[&str]) -> (Vec<String>, bool) {
    let name = format!("divvy-levels-{}-{}", std::process::id(), words.concat());
    let directory = std::env::temp_dir().join(name);
    std::fs::create_dir_all(&directory).expect("a directory");
    let make = directory.join("make");
    std::fs::write(&make, MAKE).expect("a program");
    std::fs::set_permissions(&make, std::fs::Permissions::from_mode(0o755)).expect("its mode");
    let output = Command::new(root().join(".ci/levels"))
        .args(words)
        .env("MAKE", &make)
        .env("CARGO_TARGET_DIR", &directory)
        .output()
        .expect("it runs");
    std::fs::remove_dir_all(&directory).expect("it is there");
    let text = String::from_utf8(output.stdout).expect("text");
    let told = |line: &&str| line.ends_with("has run") || line.contains("passed") || line.contains("FAILED:");
    (text.lines().filter(told).map(str::to_owned).collect(), output.status.success())
}

#[test]
fn all_levels_run_and_the_output_of_those_beside_is_whole() {
    let (lines, passed) = run(&["1+0", "6+0", "--beside", "2+0", "3+0"]);
    assert!(passed, "{lines:?}");
    assert_eq!(lines[0], "1+0 has run");
    assert_eq!(lines[1..4], ["6+0 has run", "2+0 has run", "3+0 has run"]);
    assert_eq!(lines[4], "make test: all levels passed");
}

#[test]
fn a_level_that_fails_ends_those_beside_it() {
    let (lines, passed) = run(&["1+3", "2+0", "--beside", "9+0", "1+0"]);
    assert!(!passed, "{lines:?}");
    assert_eq!(lines, ["1+3 has run", "make test: FAILED: 1+3; `make 1+3` runs it again"]);
}

#[test]
fn a_level_that_fails_beside_others_is_told_and_nothing_follows() {
    let (lines, passed) = run(&["4+0", "1+0", "--beside", "1+2", "2+0"]);
    assert!(!passed, "{lines:?}");
    assert_eq!(lines, ["4+0 has run", "1+2 has run", "make test: FAILED: 1+2; `make 1+2` runs it again"]);
}
