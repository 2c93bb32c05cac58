//! A paper's experiment, as `divvy paper ID --kernel` runs it: the command starts a machine of its own.

use std::process::Command;

use serde_json::Value;

use crate::machine::{divvy, on_its_own, tree};

/// How far from 0 the difference of two equal threads may be: the tolerance of `lab/expected/kernel/sfs-1.toml`.
const EQUAL_QUANTA: f64 = 50.0;

/// SFS, Example 1: T1 starves under SFQ, and not with readjusted weights. For how long it starves is a claim of the table, which is not
/// judged here.
#[test]
#[ignore = "needs the test VM: make test-vm"]
fn a_thread_starves_unless_weights_are_readjusted() {
    let arguments = ["paper", "sfs-1", "--kernel=vm", "--small", "--format", "json"];
    let output = on_its_own(2, Command::new(divvy()).args(arguments).current_dir(tree()));
    let said = String::from_utf8_lossy(&output.stderr);
    let figure: Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {said}"));
    assert!(said.contains("4 of 4: linux"), "it says how far it is: {said}");
    let claims = figure["claims"].as_array().expect("claims");
    for (spec, starves) in [("sfq", true), ("sfq+feasible", false), ("sfs", false)] {
        let name = format!("{spec}: T3's CPU time less T1's, 1 s to 3 s (quanta)");
        let claim =
            claims.iter().find(|claim| claim["name"] == name.as_str()).expect("a claim of each policy");
        for way in ["simulated", "measured"] {
            let quanta = claim[way].as_f64().expect("a number");
            assert_eq!(quanta > EQUAL_QUANTA, starves, "{spec}, {way}: {quanta}: {figure}");
            assert!(quanta > -EQUAL_QUANTA, "{spec}, {way}: {quanta}: {figure}");
        }
    }
}
