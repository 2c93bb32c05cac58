//! The policy that the tutorial walks through: it compiles as it stands there, keeps the machine's rules, and runs from its file. A policy
//! that is in a file decides as if it were built in.

use divvy_policy::{file, spec};
use divvy_results::report::Report;
use divvy_sim::run::{Options, simulate};
use divvy_workload::Workload;
use std::path::Path;
use std::process::Command;
use std::{env, fs};

use crate::root;

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

/// The report of an example under a policy.
fn report(policy: &str) -> Report {
    let (workload, _) = Workload::load(&root().join("examples/mix.toml")).expect("an example");
    let lists = [policy.to_owned()];
    file::load_named(&lists).unwrap_or_else(|error| panic!("{error}"));
    let specs = spec::parse_list(&lists, divvy_policy::all()).unwrap_or_else(|error| panic!("{error}"));
    let options = Options { duration_ns: Some(5_000_000_000), first_decisions: 200, ..Options::default() };
    simulate(&workload, &specs, &options, &()).unwrap_or_else(|error| panic!("{error}"))
}

/// All of it.
fn json(policy: &str) -> String {
    serde_json::to_string(&report(policy)).expect("a report")
}

#[test]
fn the_tutorials_policy_runs_from_its_file() {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("tutorial-file");
    fs::create_dir_all(&dir).expect("a directory");
    let header = dir.join("mine.h");
    let text = fs::read_to_string(root().join("docs/tutorial.md")).expect("docs/tutorial.md");
    fs::write(&header, c_block(&text)).expect("the header");
    let name = header.display().to_string();
    let run = &report(&name).runs[0];
    assert_eq!(run.policy, name);
    // As the tutorial says: it reads no weights, so the backup gets as much as a build, up to a quantum.
    let service = |task: &str| run.tasks.iter().find(|row| row.name == task).expect("a row").service_ns;
    assert!(service("backup").abs_diff(service("build/1")) <= 4_000_000);
}

/// sfq has virtual time and weights; pbs has parameters, and parts in a directory.
#[test]
fn a_copy_of_a_built_in_policy_decides_the_same_from_its_file() {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("copies");
    for (name, rest) in [("sfq", "+feasible"), ("pbs", ":alpha=2+groups")] {
        fs::create_dir_all(dir.join(name)).expect("a directory");
        let header = format!("{name}.h");
        let from = root().join("policy/select");
        fs::copy(from.join(&header), dir.join(&header)).expect("a copy");
        if let Ok(parts) = fs::read_dir(from.join(name)) {
            for part in parts.map(|part| part.expect("a part").path()) {
                fs::copy(&part, dir.join(name).join(part.file_name().expect("a file"))).expect("a copy");
            }
        }
        let path = dir.join(&header).display().to_string();
        let of_file = json(&format!("{path}{rest}")).replace(&path, name);
        assert_eq!(of_file, json(&format!("{name}{rest}")), "{name}{rest}");
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
