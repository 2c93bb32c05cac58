//! `mutants.txt` can be run: each line has its fields, and each test that it names exists.

use std::fs;
use std::path::{Path, PathBuf};

/// FILE, SED EXPRESSION, TEST TARGET, TEST NAME PATTERN, WHAT IT BREAKS
type Mutant = [String; 5];

fn here(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn mutants() -> Vec<Mutant> {
    let text = fs::read_to_string(here("mutants.txt")).unwrap();
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let fields = |line: &str| line.split(" | ").map(str::to_owned).collect::<Vec<_>>();
    lines.map(|line| fields(line).try_into().unwrap_or_else(|_| panic!("not five fields: {line}"))).collect()
}

/// The code of a test target, or of a folder in it
fn code(folder: &Path) -> String {
    let Ok(entries) = fs::read_dir(folder) else { return String::new() };
    let paths = entries.map(|entry| entry.unwrap().path());
    paths.map(|path| if path.is_dir() { code(&path) } else { fs::read_to_string(path).unwrap() }).collect()
}

fn has_test(target: &str, pattern: &str) -> bool {
    let name = pattern.rsplit("::").next().unwrap_or(pattern);
    let code = code(&here(target));
    let functions =
        code.split("#[test]").skip(1).filter_map(|rest| rest.split_once("fn ")?.1.split('(').next());
    functions.into_iter().any(|function| function.contains(name))
}

#[test]
fn each_mutant_names_a_file_and_a_test_that_exist() {
    let mutants = mutants();
    assert!(!mutants.is_empty());
    for [file, sed, target, pattern, what] in mutants {
        assert!(here("../policy").join(&file).is_file(), "there is no policy/{file}: {what}");
        assert!(!sed.is_empty() && !what.is_empty(), "{file}: {sed}: an empty field");
        assert!(has_test(&target, &pattern), "tests/{target} has no test {pattern}");
    }
}

#[test]
fn the_reader_finds_no_tests_that_are_not_there() {
    assert!(has_test("repository", "the_reader"));
    assert!(!has_test("repository", "has_test"));
    assert!(!has_test("no_such_target", "the_reader"));
}
