//! The policy that the tutorial walks through: it compiles as it stands there, and keeps the machine's rules.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

/// Combinations of the modifiers, as the fuzzer counts them.
const MODIFIER_SETS: u32 = 4;

#[test]
fn the_tutorials_policy_compiles_and_loses_nothing() {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("tutorial");
    fs::create_dir_all(&dir).expect("a directory for the build");
    let (header, fuzzer) = (dir.join("mine.h"), dir.join("fuzz-mine"));
    fs::write(
        &header,
        c_block(&fs::read_to_string(root().join("docs/tutorial.md")).expect("docs/tutorial.md")),
    )
    .expect("the header");
    build(&header, &fuzzer);
    for modifiers in 0..MODIFIER_SETS {
        run(Command::new(&fuzzer).args(["-m", &modifiers.to_string(), "-s", "1", "-n", "50"]));
    }
}

/// The one block of C.
fn c_block(text: &str) -> &str {
    let (_, rest) = text.split_once("```c\n").expect("a block of C");
    let (block, rest) = rest.split_once("```\n").expect("the end of the block");
    assert!(!rest.contains("```c\n"), "which block is the policy?");
    block
}

fn build(header: &Path, fuzzer: &Path) {
    let include = |dir: &str| format!("-I{}", root().join(dir).display());
    run(Command::new(env::var_os("CC").unwrap_or_else(|| "cc".into()))
        .args(["-std=gnu11", "-O1", "-Wall", "-Werror", "-Wno-unused-function"])
        .args(["-DPOOL=64", "-DFUZZ_POLICY=mine"])
        .arg(format!("-DPOLICY_HEADER=\"{}\"", header.display()))
        // The header includes as it would from policy/select.
        .args([include("policy"), include("policy/select"), include("policy/native")])
        .arg(root().join("policy/native/fuzz.c"))
        .arg("-o")
        .arg(fuzzer));
}

fn run(command: &mut Command) {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {}\n{said}", output.status);
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}
