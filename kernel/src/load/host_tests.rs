//! `bpf/host.h` as a C compiler sees it against what is written here: `host_probe.c` is the other side.

use divvy_policy::compile::POLICY_SOURCES;
use divvy_policy::spec;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command as Process, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use super::*;
use crate::load::rules::Kind as RuleKind;

/// The output of the probe, and the bytes of stats, account, exit and a shard.
fn probe(spec_text: &str) -> (String, [Vec<u8>; 4]) {
    let spec = spec::parse(spec_text, divvy_policy::all()).expect("a spec");
    static PROBES: AtomicU32 = AtomicU32::new(0);
    let number = PROBES.fetch_add(1, Ordering::Relaxed);
    let dir = std::env::temp_dir().join(format!("divvy-probe-{}-{number}", std::process::id()));
    fs::create_dir_all(&dir).expect("a directory");
    let program = compile(&dir, spec.selection.name);
    let files = ["stats", "account", "exit", "shard"].map(|name| dir.join(name));
    let mut child = Process::new(program)
        .args(&files)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the probe runs");
    let mut input = Command { pid: 1, owner: 2, index: 3, value: u64::MAX - 1 }.bytes().to_vec();
    input.extend(config(&spec).bytes());
    input.extend(rule_bytes(
        Key { kind: RuleKind::File, device: 8 << 20 | 1, number: 1 << 40, owner: 1001 },
        Some(1 << 37),
    ));
    child.stdin.take().expect("a pipe").write_all(&input).expect("written");
    let output = child.wait_with_output().expect("it ends");
    assert!(output.status.success(), "the configuration has another size than struct host_config");
    let bytes = files.map(|file| fs::read(file).expect("written by the probe"));
    fs::remove_dir_all(dir).expect("removed");
    (String::from_utf8(output.stdout).expect("UTF-8"), bytes)
}

/// The policies' headers come from their crate, wherever that is.
fn compile(dir: &Path, policy: &str) -> PathBuf {
    for (path, text) in POLICY_SOURCES {
        let file = dir.join(path);
        fs::create_dir_all(file.parent().expect("policy/")).expect("a directory");
        fs::write(file, text).expect("a header");
    }
    let program = dir.join("probe");
    let status = Process::new("cc")
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .args(["-std=gnu11", "-Werror=format", "-Ibpf", "src/load/host_probe.c"])
        .arg(format!("-I{}", dir.join("policy").display()))
        .arg("-o")
        .arg(&program)
        .arg(format!("-DDIVVY_POLICY={policy}"))
        .arg(format!("-DPOLICY_HEADER=\"select/{policy}.h\""))
        .status();
    assert!(status.expect("a C compiler").success());
    program
}

fn config(spec: &Spec) -> Config<'_> {
    Config {
        spec,
        // CPU 1 is offline.
        cpus: Box::leak(Box::new(Cpus::of(vec![0, 2]))),
        quantum_ns: 4_000_000,
        pool: 100,
        fail_every: 7,
        log: true,
        grouping: Some(Grouping::Users),
        limits: true,
        rules: true,
        starvation_limit_ms: 15_000,
        sample: 64,
        tick_ns: 1_000_000,
    }
}

#[test]
fn the_host_reads_the_configuration_that_was_meant() {
    let (text, _) = probe("pbs:alpha=0.5:beta=-3+procfair:all=on");
    let lines: Vec<&str> = text.lines().take(9).collect();
    assert_eq!(lines[0], "command 1 2 3 18446744073709551614");
    assert_eq!(
        lines[1],
        "pool 100 fail_every 7 log 1 cgroups 0 starvation_limit_ms 15000 no_sample 504 tick_ns 1000000 users 1 limits 1 rules 1"
    );
    assert_eq!(lines[2], "cpu 0 65535 1 kernel_cpu 0 2 65535");
    assert_eq!(lines[3], "quantum 4000000 ncpus 2 modifiers 1");
    assert!(lines[4].starts_with("policy alpha=32768 beta=-196608"), "{}", lines[4]);
    assert_eq!(lines[5], "procfair all=1 group=0");
    assert_eq!(lines[6], "tfps all=0 group=0");
    assert_eq!(lines[7..9], ["groups", "feasible median=1 asked=0"]);
}

#[test]
fn every_policy_has_its_defaults() {
    for info in divvy_policy::all().iter().filter(|info| info.kind == Kind::Selection) {
        let (text, _) = probe(info.name);
        let params: String = info.params.iter().map(|p| format!(" {}={}", p.name, p.default)).collect();
        assert_eq!(text.lines().nth(4), Some(format!("policy{params}").as_str()), "{}", info.name);
    }
}

#[test]
fn modifiers_have_the_machines_bits() {
    let (text, _) = probe("rr+feasible+procfair");
    assert!(text.contains("ncpus 2 modifiers 9\n"), "{text}");
    for line in text.lines().filter_map(|line| line.strip_prefix("modifier ")) {
        let (name, bit) = line.split_once(' ').expect("a name and a bit");
        assert_eq!(modifier_bit(name), bit.parse().ok(), "{name}");
    }
}

#[test]
fn what_the_host_tells_is_read_field_by_field() {
    let (text, [stats, account, exit, shard]) = probe("rr");
    assert!(text.contains("rule 3 8388609 1099511627776 1001 137438953472\n"), "{text}");
    let names: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("stat ")).collect();
    let expected: Vec<String> =
        Stats::NAMES.iter().zip(1..).map(|(name, index)| format!("{name} {index}")).collect();
    assert_eq!(names, expected);
    assert_eq!(stats.len(), Stats::SIZE);
    let read = Stats::read(&stats);
    assert_eq!((read.decisions, read.taken), (1, Stats::NAMES.len() as u64));

    let names: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("shard ")).collect();
    assert_eq!(names, ShardStats::NAMES);
    assert_eq!(shard.len(), ShardStats::SIZE);
    let read = ShardStats::read(&shard);
    assert_eq!((read.decisions, read.lock_wait_ns), (1, ShardStats::NAMES.len() as u64));

    assert_eq!(account.len(), Account::SIZE);
    let expected = Account {
        received_ns: 1,
        entitled_ns: 2,
        weight: 3,
        nominal: 4,
        waited_ns: 5,
        pid: 6,
        tgid: 7,
        turns: 8,
        process: 9,
        runnable: 10,
        waits: 11,
    };
    assert_eq!(Account::read(&account), expected);

    assert_eq!(exit.len(), Exit::SIZE);
    let read = Exit::read(&exit);
    assert_eq!((read.kind, read.code), (1026, -5));
    assert_eq!((read.reason.as_str(), read.message.as_str()), ("the reason", "the message"));
    assert_eq!(read.dump, "d".repeat(Exit::DUMP));
}
