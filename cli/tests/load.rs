//! `divvy load`, `set` and `doctor` where no scheduler can be loaded, or none is.

use std::path::Path;
use std::process::{Command, Output};

fn divvy(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_divvy"));
    // Nobody listens there.
    command.env("DIVVY_SOCKET", "/nonexistent/divvy.sock");
    command.args(arguments).output().expect("divvy runs")
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// With the feature, in a kernel that takes schedulers, this would load one.
fn cannot_load() -> bool {
    !cfg!(feature = "kernel") || !Path::new("/sys/kernel/sched_ext/state").exists()
}

#[test]
fn load_says_what_is_missing_and_what_to_do() {
    if !cannot_load() {
        return;
    }
    let output = divvy(&["load", "gr3+procfair", "--exec", "true"]);
    assert_eq!(output.status.code(), Some(5));
    let (what, fix) = if cfg!(feature = "kernel") {
        ("has no sched_ext", "boot ")
    } else {
        ("built without the BPF programs", "make kernel")
    };
    assert!(stderr(&output).contains(what), "{}", stderr(&output));
    assert!(stderr(&output).contains(fix), "{}", stderr(&output));
    assert!(output.stdout.is_empty());
}

#[test]
fn load_reads_its_arguments_before_it_looks_at_the_kernel() {
    for (arguments, says) in [
        (&["load", "rrx"][..], "did you mean `rr`?"),
        (&["load", "rr,sfq"], "there is no selection policy `rr,sfq`"),
        (&["load"], "<SPEC>"),
        (&["load", "rr", "--timeout", "31s"], "the kernel takes at most 30s"),
        (&["load", "rr", "--timeout", "1us"], "at least 1ms"),
        (&["load", "rr", "--pool", "16384"], "1..16384"),
        (&["load", "rr", "--quantum", "0s"], "more than 0"),
        (&["load", "linux24"], "say how many tasks it may have, as in `--max-tasks 1000`"),
        (&["load", "pbs:alpha=2+procfair"], "may look at every task to choose one"),
        (&["load", "linux24", "--max-tasks", "1000"], ""),
        (&["load", "linux24", "--dry-run"], ""),
        (&["load", "linux24", "--max-tasks", "0"], "1..16384"),
        (&["load", "rr", "--exec", "true", "--", "true"], ""),
        (&["load", "rr", "--exec"], "--exec"),
        (&["load", "rr", "--dry-run"], ""),
        (&["load", "rr", "--dry-run", "--exec", "true"], "cannot be used with"),
        (&["load", "rr", "--dry-run", "--log", "x"], "cannot be used with"),
    ] {
        let output = divvy(arguments);
        let expected = if says.is_empty() { 5 } else { 2 };
        if expected == 2 || cannot_load() {
            assert_eq!(output.status.code(), Some(expected), "{arguments:?}: {}", stderr(&output));
        }
        assert!(stderr(&output).contains(says), "{arguments:?}: {}", stderr(&output));
    }
}

#[test]
fn set_needs_a_loaded_scheduler() {
    for arguments in [&["set", "alpha"][..], &["set", "alpha=2"], &["set", "1", "weight=2"]] {
        let output = divvy(arguments);
        assert_eq!(output.status.code(), Some(5), "{arguments:?}");
        let says = stderr(&output);
        assert!(says.contains("no scheduler of divvy is loaded") && says.contains("divvy load"), "{says}");
    }
    assert_eq!(divvy(&["set", "1", "nice=2"]).status.code(), Some(2));
}

#[test]
fn doctor_gives_the_code_that_load_would() {
    let output = divvy(&["doctor", "--format", "json"]);
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let would_load = report["load"].as_bool().expect("a verdict");
    assert_eq!(output.status.code(), Some(if would_load { 0 } else { 5 }));
    let checks = report["checks"].as_array().expect("checks");
    assert!(checks.len() > 8, "{checks:?}");
    let lacks = checks.iter().any(|check| check["serves"] == "load" && check["ok"] == false);
    assert_eq!(lacks, !would_load);
    assert!(checks.iter().all(|check| check["ok"] == check["fix"].is_null()), "{checks:?}");
}

/// The unit's values by key; of a key that is there twice, the last.
fn unit() -> std::collections::BTreeMap<String, String> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../kernel/systemd/divvy.service");
    let text = std::fs::read_to_string(path).expect("the unit");
    let pairs = text.lines().filter(|line| !line.starts_with('#')).filter_map(|line| line.split_once('='));
    pairs.map(|(key, value)| (key.to_owned(), value.to_owned())).collect()
}

/// Units with CPUQuota= that start at boot are there when it looks for limits, and what it finds is not tried again.
#[test]
fn the_unit_starts_after_those_that_may_have_limits() {
    let unit = unit();
    assert_eq!(unit["After"], "multi-user.target");
    assert!(unit["RestartPreventExitStatus"].split(' ').any(|code| code == "5"));
}

#[test]
fn the_unit_writes_only_to_its_own_directories() {
    let unit = unit();
    let says = |key: &str| unit.get(key).map_or("", String::as_str);
    assert_eq!(says("ProtectSystem"), "strict");
    for key in ["ReadWritePaths", "BindPaths", "ReadWriteDirectories", "LogsDirectory", "CacheDirectory"] {
        assert_eq!(says(key), "", "{key}");
    }
    for (key, value) in [
        ("RuntimeDirectory", "divvy"),
        ("RuntimeDirectoryMode", "0755"),
        ("StateDirectory", "divvy"),
        ("StateDirectoryMode", "0700"),
        ("UMask", "0077"),
    ] {
        assert_eq!(says(key), value, "{key}");
    }
    let protected = ["PrivateTmp", "PrivateDevices", "ProtectHome", "ProtectKernelTunables"];
    for key in protected.into_iter().chain(["ProtectControlGroups", "NoNewPrivileges", "RestrictSUIDSGID"]) {
        assert_eq!(says(key), "yes", "{key}");
    }
    // Nothing that lets root write to files of others.
    let needed = "CAP_BPF CAP_PERFMON CAP_NET_ADMIN CAP_SYS_NICE CAP_CHOWN";
    assert_eq!(says("CapabilityBoundingSet"), needed);
    // The database of programs is by default where the unit may write.
    let help = divvy(&["load", "--help"]);
    assert!(String::from_utf8_lossy(&help.stdout).contains("[default: /var/lib/divvy/"));
}
