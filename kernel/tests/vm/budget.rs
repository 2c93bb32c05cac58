//! Linux 6.12's verifier needs a number of instructions for each policy. These are compared with the kept ones. It refuses a program
//! above 1,000,000 instructions, and in emulation 100,000 take about two seconds.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use crate::machine::several;

/// A sum that grew by more than this factor is an error. It grows with any change of the code, so compare before and after.
const GROWTH: f64 = 1.1;
/// No program may need more: a load takes long, and nobody knows what the verifiers of other kernels count.
const MOST_OF_ONE: u64 = 300_000;

/// The instructions of a spec's programs together, and those of the program that needs most.
#[derive(Clone, Copy)]
struct Instructions {
    all: u64,
    most: u64,
}

fn path() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("bpf/budget.tsv")
}

/// Lines of a spec, with options that add code, and its two numbers.
fn kept() -> Vec<(String, Instructions)> {
    let text = std::fs::read_to_string(path()).expect("kernel/bpf/budget.tsv is text");
    text.lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| {
            let fields: Vec<&str> = line.split('\t').collect();
            let [spec, all, most] = fields[..] else { panic!("three fields: {line}") };
            let number = |field: &str| field.parse().unwrap_or_else(|e| panic!("{line}: {e}"));
            (spec.to_owned(), Instructions { all: number(all), most: number(most) })
        })
        .collect()
}

fn measured(specs: &[&str]) -> BTreeMap<String, Instructions> {
    let mut script = String::from("set -e\n: >/tmp/rules.toml\n");
    for spec in specs {
        let _ = writeln!(script, "echo '== {spec}'; divvy load {spec} --dry-run --format json");
    }
    let said = several(1, &script, 1500);
    assert_eq!(said.code, 0, "{said}");
    said.assert_calm();
    let of = |spec: &&str| {
        let json = said.json(spec);
        let programs = json["programs"].as_array().expect("a list of programs");
        let most = programs.iter().filter_map(|program| program["instructions"].as_u64()).max();
        let all = json["instructions"].as_u64().expect("a sum");
        ((*spec).to_owned(), Instructions { all, most: most.expect("there are programs") })
    };
    specs.iter().map(of).collect()
}

/// As on large machines: a loop over all CPUs or shards costs the verifier a few rounds, and not one for each.
#[test]
#[ignore = "needs the test VM: make test-vm"]
fn programs_are_as_short_for_many_cpus() {
    let specs = [("rr", 256), ("gr3+procfair", 256), ("rr@cpu", 64), ("cfs@shards:size=8", 256)];
    let load = |(spec, cpus)| {
        format!("echo '== {spec}'; divvy load {spec} --dry-run --cpus {cpus} --format json || exit 1\n")
    };
    let said = several(1, &specs.map(load).concat(), 600);
    assert_eq!(said.code, 0, "{said}");
    for (spec, cpus) in specs {
        let programs = said.json(spec)["programs"].as_array().expect("a list of programs").clone();
        let most = programs.iter().filter_map(|program| program["instructions"].as_u64()).max();
        println!("{spec} on {cpus} CPUs: {most:?}");
        assert!(most < Some(MOST_OF_ONE), "{spec} on {cpus} CPUs: {most:?}");
    }
}

#[test]
#[ignore = "needs the test VM: make test-vm"]
fn programs_keep_to_their_budget() {
    let kept = kept();
    let measured = measured(&kept.iter().map(|(spec, _)| spec.as_str()).collect::<Vec<_>>());
    if std::env::var_os("DIVVY_WRITE_BUDGET").is_some() {
        let text = std::fs::read_to_string(path()).expect("it was read before");
        let mut new: String =
            text.lines().filter(|line| line.starts_with('#')).map(|line| format!("{line}\n")).collect();
        for (spec, _) in &kept {
            let _ = writeln!(new, "{spec}\t{}\t{}", measured[spec].all, measured[spec].most);
        }
        std::fs::write(path(), new).expect("kernel/bpf/budget.tsv is writable");
        return;
    }
    let mut wrong = String::new();
    for (spec, kept) in &kept {
        let now = measured[spec];
        if now.all as f64 > GROWTH * kept.all as f64 || now.most > MOST_OF_ONE {
            let _ = writeln!(
                wrong,
                "{spec}: {} instructions ({} kept), {} in one program",
                now.all, kept.all, now.most
            );
        }
    }
    assert!(wrong.is_empty(), "{wrong}DIVVY_WRITE_BUDGET=1 writes what is measured into bpf/budget.tsv");
}

/// A new policy gets a line.
#[test]
fn every_policy_has_a_budget() {
    let kept = kept();
    for policy in divvy_policy::all() {
        let loadable = policy.kind == divvy_policy::Kind::Selection && policy.simulator_only.is_none();
        assert!(
            !loadable || kept.iter().any(|(spec, _)| spec == policy.name),
            "{}: add a line to kernel/bpf/budget.tsv; DIVVY_WRITE_BUDGET=1 fills in its numbers",
            policy.name
        );
    }
}
