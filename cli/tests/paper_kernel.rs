//! `divvy paper all --kernel` where no figure can be measured: in a tree whose virtual machine does not start.

#![cfg(feature = "kernel")]

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn tree(name: &str) -> PathBuf {
    let tree = std::env::temp_dir().join(format!("divvy-{name}-{}", std::process::id()));
    let vm = tree.join("kernel/vm");
    fs::create_dir_all(&vm).expect("a directory");
    fs::write(vm.join("run"), "#!/bin/sh\necho 'no machine today' >&2\nexit 1\n").expect("a script");
    fs::set_permissions(vm.join("run"), fs::Permissions::from_mode(0o755)).expect("it can be run");
    tree
}

fn paper(tree: &Path, arguments: &[&str]) -> (Output, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_divvy"));
    command.args(["paper", "all", "--kernel=vm", "--small"]).args(arguments).current_dir(tree);
    let output = command.output().expect("divvy runs");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    (output, said)
}

/// Each is named with its reason, also if nothing else is said, and a page of another run stays as it is.
#[test]
fn figures_that_fail_are_named_and_the_others_go_on() {
    let tree = tree("paper-fails");
    fs::write(tree.join("page.html"), "of another run").expect("a page");
    let (output, said) = paper(&tree, &["-q", "-o", "page.html", "--format", "csv"]);
    let all = divvy_lab::kernel::figures();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains(&format!("{0} of {0} figures were not measured", all.len())), "{said}");
    assert!(said.contains("no machine today") && said.contains("--resume DIR keeps"), "{said}");
    let places: Vec<Option<usize>> = all.iter().map(|one| said.find(&format!("\n  {}: ", one.id))).collect();
    assert!(places.iter().all(Option::is_some), "{said}");
    assert_eq!(fs::read_to_string(tree.join("page.html")).expect("a page"), "of another run");
    fs::remove_dir_all(&tree).expect("removed");
}

#[test]
fn a_damaged_file_is_an_error_before_anything_is_measured() {
    let tree = tree("paper-damaged");
    let file = "kernel-vm-tfps-10-small-seed1.txt";
    fs::create_dir(tree.join("found")).expect("a directory");
    fs::write(tree.join("found").join(file), "values of\n").expect("a file");
    let (output, said) = paper(&tree, &["--resume", "found"]);
    assert_eq!(output.status.code(), Some(4), "{said}");
    assert!(said.contains(file) && said.contains("line 1") && said.contains("remove"), "{said}");
    assert!(!said.contains("about"), "nothing was begun: {said}");
    fs::remove_dir_all(&tree).expect("removed");
}
