//! The Debian package, on the Debian of the virtual machine, which has this machine's files.

use std::path::PathBuf;
use std::process::Command;

use crate::machine::{divvy, several, tree};

/// Makes a package of the program under test, beside it, where the guest sees it.
fn package(version: &str) -> PathBuf {
    let into = divvy().with_file_name("package");
    let made = Command::new(tree().join("package/deb"))
        .arg(divvy())
        .arg(&into)
        .arg(version)
        .env("DIVVY_COMPRESSION", "none")
        .output()
        .expect("package/deb runs");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    PathBuf::from(String::from_utf8_lossy(&made.stdout).trim())
}

/// On two CPUs one user has a thread and another seven. Under Linux the first gets an eighth of the CPU time; it is entitled to half,
/// and gets a little more than the other one, whose CPU runs the system's threads, too.
const LEAST_OF_FIRST: f64 = 0.47;

/// The first hog's part of what all of them received between two lines of ticks.
fn part_of_first(ticks: &str) -> f64 {
    let line = |line: &str| line.split_whitespace().map(|n| n.parse().expect("ticks")).collect::<Vec<f64>>();
    let lines: Vec<Vec<f64>> = ticks.lines().map(line).collect();
    let received: Vec<f64> = lines[1].iter().zip(&lines[0]).map(|(after, before)| after - before).collect();
    received[0] / received.iter().sum::<f64>()
}

#[test]
#[ignore = "needs the test VM: make test-vm"]
fn a_package_is_installed_enabled_upgraded_and_removed() {
    let [old, new] = ["0.0.1", "0.0.2"].map(package);
    let script = format!("sh kernel/tests/vm/package.sh '{}' '{}'", old.display(), new.display());
    let said = several(2, &script, 900);
    for step in ["boot", "install", "upgrade", "purge"] {
        assert_eq!(said.part(step), "0", "{step}: {said}");
    }
    for file in ["bin/divvy", "share/man/man1/divvy-load.1.gz", "lib/systemd/system/divvy.service"] {
        assert!(said.part("files").contains(file), "no {file}: {said}");
    }
    assert_eq!(said.part("changed"), "", "{said}");
    // Installing loads nothing.
    assert_eq!(said.part("state"), "disabled", "{said}");
    assert!(said.part("version").starts_with("divvy "), "{said}");
    assert_ne!(said.part("sim"), "0", "{said}");

    assert_eq!(said.part("refused at first"), "1\n1\ndisabled\ndisabled", "{said}");
    let rr = "enabled\ndivvy_rr";
    assert_eq!(
        said.part("enable"),
        format!("rr schedules this machine, now and from each boot on\n{rr}"),
        "{said}"
    );
    // A policy that cannot be loaded changes nothing, and the reason is said.
    assert_eq!(said.part("refused"), "1", "{said}");
    let reason = said.part("reason");
    assert!(reason.contains("the former policy is loaded again"), "{said}");
    assert!(reason.contains("there is no group `nosuch`"), "{said}");
    assert_eq!(said.part("after refusal"), rr, "{said}");
    assert!(said.part("other policy").ends_with("enabled\ndivvy_gr3_groups"), "{said}");
    let part = part_of_first(said.part("ticks before and after"));
    assert!(part >= LEAST_OF_FIRST, "{part}: {said}");
    assert_eq!(said.part("down"), "disabled", "{said}");
    assert_eq!(said.part("reboot"), format!("active\n{rr}"), "{said}");

    assert_eq!(said.part("new version"), "0.0.2", "{said}");
    assert_eq!(said.part("settings"), "DIVVY_SPEC=rr\nDIVVY_OPTIONS=--quantum=2ms", "{said}");
    assert_eq!(said.part("another process"), "yes", "{said}");
    assert_eq!(said.part("goes on"), rr, "{said}");
    assert!(said.part("disable").ends_with("\ndisabled\ndisabled"), "{said}");
    let again = format!("rr --quantum=2ms schedules this machine, now and from each boot on\n{rr}");
    assert_eq!(said.part("without a spec"), again, "{said}");
    // The book shows this life.
    let page = std::fs::read_to_string(tree().join("docs/how-to/install.md")).expect("the page");
    let shown =
        ["enable", "other policy", "disable"].map(|step| said.part(step).lines().next().unwrap_or_default());
    let reason =
        said.part("reason").lines().filter(|line| line.starts_with("error: ") || line.starts_with("  "));
    for line in reason.chain(shown) {
        assert!(line.len() > 3, "{said}");
        assert!(page.contains(&format!("\n{line}\n")), "docs/how-to/install.md does not show: {line}");
    }
    // Root's package manager stops it.
    assert_eq!(said.part("remove"), "0\ndisabled", "{said}");
    assert_eq!(said.part("left by remove"), "/etc/default/divvy", "{said}");
    assert_eq!(said.part("left by purge"), "", "{said}");
    said.assert_calm();
}
