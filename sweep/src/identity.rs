//! Tells one divvy from another that would give other rows.

use divvy_policy::compile::POLICY_SOURCES;
use divvy_policy::spec::Spec;
use divvy_sim::run::Options;

use super::plan::{Plan, SweepOptions};
use super::vary::Vary;
use super::{SweepError, run_into, table};

/// Tasks that sleep, arrive, share and differ in weight.
const TRIAL: &str = r#"
duration = "200ms"
quantum = "2ms"

[[task]]
name = "hog"
count = 3
program = [ { run = "forever" } ]

[[task]]
name = "editor"
weight = 3000
program = [ { run = { exp = "700us" } }, { sleep = { exp = "5ms" } } ]

[[task]]
name = "request"
arrivals = { open = { exp = "9ms" } }
program = [ { run = { exp = "3ms" } } ]
"#;

/// The version, and a hash of the policies' C and of the rows of a small sweep under these policies. Two commands with the same identity
/// run the same policies, and their random numbers and floating point agree.
#[must_use]
pub fn identity(specs: &[Spec]) -> String {
    let rows = trial(specs).unwrap_or_else(|error| error.to_string());
    let texts = POLICY_SOURCES.iter().flat_map(|(path, text)| [*path, *text]).chain([rows.as_str()]);
    format!("{} ({:016x})", env!("CARGO_PKG_VERSION"), super::hash::of(texts))
}

fn trial(specs: &[Spec]) -> Result<String, SweepError> {
    let varied = [Vary::parse("cpus=1,2", 2)?];
    let options = Options { seed: 1, reps: 2, ..Options::default() };
    let plan = Plan::new(&SweepOptions {
        text: TRIAL,
        file: "trial",
        specs,
        varied: &varied,
        options: &options,
        warm_up: None,
        per_task: true,
        baseline: None,
        most: 10_000,
    })?;
    let mut lines = String::new();
    run_into(&plan, &table::shard(&plan, 1, 1), &(), &mut lines)?;
    Ok(lines)
}
