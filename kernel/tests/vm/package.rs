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

#[test]
#[ignore = "needs the test VM: make test-vm"]
fn a_package_is_installed_used_upgraded_and_removed() {
    let [old, new] = ["0.0.1", "0.0.2"].map(package);
    let script = format!("sh kernel/tests/vm/package.sh '{}' '{}'", old.display(), new.display());
    let said = several(1, &script, 900);
    for step in ["install", "upgrade", "remove", "purge"] {
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
    assert_eq!(said.part("load"), "0\nenabled", "{said}");
    assert_eq!(said.part("new version"), "0.0.2", "{said}");
    assert_eq!(said.part("settings"), "DIVVY_SPEC=sfq", "{said}");
    assert_eq!(said.part("left by remove"), "/etc/default/divvy", "{said}");
    assert_eq!(said.part("left by purge"), "", "{said}");
    said.assert_calm();
}
