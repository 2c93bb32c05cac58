//! The modifier flow on real programs: a compile and a compressor beside a program that loops.

use std::process::Command;

use serde_json::Value;

use crate::machine::{Said, repeatable, several, workload};

/// A program of the export, by a part of its command line
fn program<'a>(export: &'a Value, name: &str) -> &'a Value {
    let programs = export["programs"].as_array().expect("programs");
    let found = programs.iter().find(|p| p["name"].as_str().is_some_and(|line| line.contains(name)));
    found.unwrap_or_else(|| panic!("no program {name} in {export}"))
}

/// Errors of the predictions of each execution but the first, which was logged.
fn errors(program: &Value) -> Vec<f64> {
    let latest = program["latest"].as_array().expect("executions");
    latest.iter().map(|p| p["error"].as_f64().expect("an error")).collect()
}

/// The time that interrupts take: an error cannot become smaller than this.
const NOTHING: f64 = 0.001;

/// The prediction of the last execution was good, and better than that of all executions together.
fn assert_shrinks(said: &Said, program: &Value) {
    let last = *errors(program).last().expect("an execution that was predicted");
    let all = program["predictions"]["error"].as_f64().expect("an error");
    assert_eq!(program["executions"], 3, "{program}\n{said}");
    assert!(last <= all || last < NOTHING, "{last} of {all}: {program}\n{said}");
    assert!(last < 0.01, "{last}: {program}\n{said}");
}

/// Whole programs with this machine's files: learned, stored, learned again by the next scheduler, shown, removed.
#[test]
#[ignore = "needs the test VM: make test-vm"]
fn a_compile_and_a_compressor_are_learned_across_schedulers() {
    let script = r#"
        cd /tmp; seq 1 60000 >numbers
        printf 'int f%s(int x) { return x * %s; }\n' $(seq 1 600) >many.c
        for run in 1 2 3 4; do
            divvy load rr+flow -q --format json --db /tmp/flow.redb --log /tmp/log$run --exec sh -c '
                sh -c "while :; do :; done" & loop=$!
                gcc -pipe -O1 -c /tmp/many.c -o /tmp/many.o || exit 1
                gzip -9 -k -f /tmp/numbers || exit 1
                kill $loop' >/tmp/stats || exit 1
        done
        echo '== verify'; for run in 1 2 3 4; do divvy verify /tmp/log$run --format json | grep -c '"verdict": *"ok"'; done
        echo '== export'; divvy flow export --db /tmp/flow.redb
        echo '== list'; divvy flow ls --db /tmp/flow.redb
        echo '== rm'; divvy flow rm gzip --db /tmp/flow.redb 2>&1; divvy flow show gzip --db /tmp/flow.redb 2>&1; echo "exit $?"
    "#;
    let said = several(2, script, 400);
    assert_eq!(said.part("verify"), "1\n1\n1\n1", "{said}");
    let export = said.json("export");
    for name in ["gzip -9", "cc1"] {
        let program = program(&export, name);
        assert_eq!(program["executions"], 4, "{program}\n{said}");
        let errors = errors(program);
        // The first execution is logged. If it has more runs than a sequence, its repetitions are predicted.
        assert!(matches!(errors.len(), 3 | 4), "the others are predicted: {program}\n{said}");
        // The work of a virtual CPU in a run depends on the host, so the test asserts no order of the times.
        assert!(errors.iter().all(|error| error.is_finite()), "{errors:?}");
    }
    assert!(said.part("list").contains("gzip -9 -k -f /tmp/numbers"), "{said}");
    // The shell that runs the command also has it in its command line.
    assert!(said.part("rm").starts_with("2 of "), "{said}");
    assert!(said.part("rm").contains("no program matches `gzip`"), "{said}");
    assert!(said.part("rm").ends_with("exit 4"), "{said}");
    said.assert_calm();
}

/// Duration of the median of a program's three executions, in hundredths of a second. The system itself sometimes takes the
/// CPU for a few hundredths.
fn elapsed(said: &Said, spec: &str, name: &str) -> f64 {
    let start = format!("{spec} {name} ");
    let times = said.part("times").lines().filter_map(|line| line.strip_prefix(&start));
    let mut times: Vec<f64> = times.map(|time| time.parse().expect("a time")).collect();
    assert_eq!(times.len(), 3, "{start}: {said}");
    times.sort_by(f64::total_cmp);
    times[1]
}

/// The guest's clock counts hundredths of a second.
const RESOLUTION: f64 = 1.0;

/// One CPU whose clock counts instructions: the time of a program depends on the program alone.
#[test]
#[ignore = "needs the test VM: make test-vm"]
fn predictions_come_closer_and_nobody_is_slowed_down() {
    let compiler = Command::new("gcc").arg("-print-prog-name=cc1").output().expect("gcc runs");
    let compiler = String::from_utf8(compiler.stdout).expect("a path");
    let files = [(workload("flow.sh"), "/flow.sh"), (compiler.trim().into(), "/bin/cc1")];
    let said = repeatable("sh /flow.sh", &files, 900);
    assert_eq!(said.part("verify"), "ok", "{said}");
    let export = said.json("export");
    for name in ["gzip", "cc1"] {
        assert_shrinks(&said, program(&export, name));
        let (without, with) = (elapsed(&said, "rr", name), elapsed(&said, "rr+flow", name));
        assert!(with <= 1.01 * without + RESOLUTION, "{name}: {with} instead of {without}: {said}");
    }
    said.assert_calm();
}
