//! `divvy record` for users who may not record: its arguments, and what it says is missing. The recordings themselves are in
//! `kernel/tests/vm/record.rs`.

use std::path::PathBuf;
use std::process::{Command, Output};

/// Runs without capabilities, also for root, who only then is refused.
fn divvy(arguments: &[&str]) -> Output {
    let program = env!("CARGO_BIN_EXE_divvy");
    let mut command = Command::new("setpriv");
    command.args(["--inh-caps=-all", "--bounding-set=-all", program]).args(arguments);
    let may_bound = Command::new("setpriv").args(["--bounding-set=-all", "true"]).output();
    match may_bound {
        Ok(output) if output.status.success() => command.output().expect("setpriv runs"),
        // A user who may not give up capabilities has none.
        _ => Command::new(program).args(arguments).output().expect("divvy runs"),
    }
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn file() -> PathBuf {
    std::env::temp_dir().join(format!("divvy-record-{}.perf.data", std::process::id()))
}

#[test]
fn record_says_what_is_missing_and_what_to_do_and_writes_nothing() {
    let path = file();
    let output = divvy(&["record", "--for", "1s", "-o", &path.display().to_string(), "--", "true"]);
    assert_eq!(output.status.code(), Some(5), "{}", stderr(&output));
    let said = stderr(&output);
    if cfg!(feature = "kernel") {
        let reasons =
            ["CAP_BPF and CAP_PERFMON missing", "is too old to record", "does not describe its types"];
        assert!(reasons.iter().any(|reason| said.contains(reason)), "{said}");
    } else {
        assert!(
            said.contains("built without the BPF programs") && said.contains("perf sched record"),
            "{said}"
        );
    }
    assert!(!path.exists() && output.stdout.is_empty());
}

#[test]
fn record_reads_its_arguments_before_it_looks_at_the_kernel() {
    for (arguments, says) in [
        (&["record", "--for", "0s"][..], "more than 0"),
        (&["record", "--for", "soon"], "--for"),
        (&["record", "--buffer", "63"], "it must be from 64 to 1048576"),
        (&["record", "--buffer", "many"], "a number of events"),
        (&["record", "true"], "unexpected argument"),
    ] {
        let output = divvy(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", stderr(&output));
        assert!(stderr(&output).contains(says), "{arguments:?}: {}", stderr(&output));
    }
}
