//! `make install`, `make uninstall`, `make tarball` and `make deb`, with the command under test, into directories of their own.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const DIVVY: &str = env!("CARGO_BIN_EXE_divvy");

fn script(name: &str) -> Command {
    Command::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("../package").join(name))
}

/// An empty directory of this test.
fn scratch(name: &str) -> PathBuf {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("package-{name}"));
    let _ = std::fs::remove_dir_all(&directory);
    std::fs::create_dir_all(&directory).expect("a directory");
    directory
}

fn succeeds(command: &mut Command) -> Output {
    let output = command.output().expect("it runs");
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    output
}

/// Files below a directory, by their paths in it.
fn files(root: &Path) -> BTreeSet<PathBuf> {
    let (mut files, mut directories) = (BTreeSet::new(), vec![root.to_path_buf()]);
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(directory).expect("a directory") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                directories.push(path);
            } else {
                files.insert(path.strip_prefix(root).expect("below it").to_path_buf());
            }
        }
    }
    files
}

fn install(root: &Path) -> Command {
    let mut command = script("install");
    command.args([DIVVY, "--prefix", "/opt/divvy", "--root"]).arg(root);
    command
}

fn remove(root: &Path) -> Command {
    let mut command = script("install");
    command.args(["--remove", "--prefix", "/opt/divvy", "--root"]).arg(root);
    command
}

#[test]
fn what_is_installed_works_and_goes_again() {
    let root = scratch("install");
    succeeds(&mut install(&root));
    let installed = files(&root);
    for file in [
        "bin/divvy",
        "share/man/man1/divvy.1.gz",
        "share/man/man1/divvy-replay.1.gz",
        "share/bash-completion/completions/divvy",
        "share/zsh/site-functions/_divvy",
        "share/fish/vendor_completions.d/divvy.fish",
        "share/doc/divvy/examples/mix.toml",
        "share/doc/divvy/examples/cluster/shard.sh",
        "include/divvy/policy.h",
        "include/divvy/select/gr3/groups.h",
    ] {
        assert!(installed.contains(&Path::new("opt/divvy").join(file)), "no {file} in {installed:?}");
    }
    assert!(installed.contains(Path::new("etc/default/divvy")));
    let unit = std::fs::read_to_string(root.join("opt/divvy/lib/systemd/system/divvy.service"));
    assert!(unit.expect("a unit").contains("\nExecStart=/opt/divvy/bin/divvy load "));

    // The command works where it is, without the tree that it was built in.
    let divvy = root.join("opt/divvy/bin/divvy");
    let example = root.join("opt/divvy/share/doc/divvy/examples/mix.toml");
    let output = succeeds(
        Command::new(divvy).current_dir("/").arg("sim").arg(example).args(["-p", "rr", "--format", "csv"]),
    );
    assert!(String::from_utf8_lossy(&output.stdout).contains("rr"));

    // Once more changes nothing; what an older version had is removed.
    let old = root.join("opt/divvy/share/doc/divvy/OLD");
    std::fs::write(&old, "").expect("a file");
    let list = root.join("opt/divvy/share/divvy/installed");
    let listed = std::fs::read_to_string(&list).expect("a list");
    std::fs::write(&list, format!("{listed}/opt/divvy/share/doc/divvy/OLD\n")).expect("a list");
    succeeds(&mut install(&root));
    assert_eq!(files(&root), installed);

    succeeds(&mut remove(&root));
    assert_eq!(files(&root), BTreeSet::new());
    let again = remove(&root).output().expect("it runs");
    assert_eq!(again.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&again.stderr).contains("nothing is installed there"));
}

#[test]
fn settings_that_somebody_changed_are_kept() {
    let root = scratch("settings");
    succeeds(&mut install(&root));
    let settings = root.join("etc/default/divvy");
    std::fs::write(&settings, "DIVVY_SPEC=sfq\n").expect("settings");
    succeeds(&mut install(&root));
    assert_eq!(std::fs::read_to_string(&settings).expect("settings"), "DIVVY_SPEC=sfq\n");
    succeeds(&mut remove(&root));
    assert_eq!(files(&root), BTreeSet::from([PathBuf::from("etc/default/divvy")]));
}

#[test]
fn wrong_usage_says_what_is_expected() {
    for (arguments, text) in [
        (&["--prefix", "usr"][..], "Installs divvy"),
        (&[DIVVY, "--prefix", "usr"], "absolute path, not 'usr'"),
        (&[DIVVY, "--perfix", "/usr"], "unknown option --perfix"),
        (&[DIVVY, "--root"], "--root needs a directory"),
    ] {
        let output = script("install").args(arguments).output().expect("it runs");
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(String::from_utf8_lossy(&output.stderr).contains(text), "{arguments:?}");
    }
    let output = script("install").args(["/no/such/divvy", "--root"]).arg(scratch("none")).output();
    let output = output.expect("it runs");
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("make kernel"));
}

/// Two runs of a script, at different times.
fn twice(name: &str) -> [Vec<u8>; 2] {
    let made = |turn: &str| {
        let mut command = script(name);
        command.arg(DIVVY).arg(scratch(&format!("{name}-{turn}"))).env("DIVVY_COMPRESSION", "none");
        let output = succeeds(&mut command);
        std::fs::read(String::from_utf8_lossy(&output.stdout).trim()).expect("the file that it names")
    };
    let first = made("first");
    std::thread::sleep(std::time::Duration::from_millis(1100)); // times in archives are whole seconds
    [first, made("second")]
}

#[test]
fn an_archive_has_the_same_bytes_each_time() {
    let [first, second] = twice("tarball");
    assert!(first == second, "{} and {} bytes", first.len(), second.len());
}

#[test]
fn a_package_has_the_same_bytes_each_time() {
    if Command::new("dpkg-deb").arg("--version").output().is_err() {
        eprintln!("NOT RUN: there is no dpkg-deb, so no package was made");
        return;
    }
    let [first, second] = twice("deb");
    assert!(first == second, "{} and {} bytes", first.len(), second.len());
}
