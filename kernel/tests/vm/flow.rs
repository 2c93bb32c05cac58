//! The modifier flow on real programs: a compile and a compressor beside a program that loops.

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

/// The last execution was predicted better than all were together, and well.
fn assert_shrinks(said: &Said, program: &Value) {
    let last = *errors(program).last().expect("an execution that was predicted");
    let all = program["predictions"]["error"].as_f64().expect("an error");
    assert_eq!(program["executions"], 5, "{program}\n{said}");
    assert!(last <= all && last < 0.01, "{last} of {all}: {program}\n{said}");
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
        assert_eq!(errors.len(), 3, "the first is logged, the others are predicted: {program}\n{said}");
        // What a virtual CPU does in a run depends on the machine that it is on: no order of them is asserted here.
        assert!(errors.iter().all(|error| error.is_finite()), "{errors:?}");
    }
    assert!(said.part("list").contains("gzip -9 -k -f /tmp/numbers"), "{said}");
    assert!(
        said.part("rm").contains("1 of ") && said.part("rm").contains("no program fits `gzip`"),
        "{said}"
    );
    assert!(said.part("rm").ends_with("exit 4"), "{said}");
    said.assert_calm();
}

/// On one CPU whose clock counts instructions: what a program uses depends on it alone. (How long it takes does not: from
/// run to run of one policy that differs by more than a delay is.)
#[test]
#[ignore = "needs the test VM: make test-vm"]
fn predictions_come_closer() {
    let said = repeatable("sh /flow.sh", &[(workload("flow.sh"), "/flow.sh")], 400);
    assert_eq!(said.part("verify"), "ok", "{said}");
    let export = said.json("export");
    for name in ["/bin/gzip", "/bin/awk"] {
        assert_shrinks(&said, program(&export, name));
    }
    said.assert_calm();
}
