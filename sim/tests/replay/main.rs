//! Replays of the recorded example.

mod closed;
mod limits;

use divvy_policy::spec;
use divvy_results::report::Report;
use divvy_sim::replay::{ReplayOptions, replay};
use divvy_sim::run::Options;
use std::path::Path;

fn replayed(options: Options) -> Report {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/compile-beside-interactive.perf.data");
    let recording = divvy_trace::read(&file, &divvy_trace::ReadOptions::default()).expect("the example");
    let spec = spec::parse("rr", divvy_policy::all()).expect("a policy");
    replay("example", &recording, &[spec], &ReplayOptions { run: options, ..ReplayOptions::default() }, &())
        .expect("it runs")
}

/// How well the model does is found on the whole recording, however much of it is asked for.
#[test]
fn the_self_replay_error_does_not_depend_on_the_duration() {
    let error = |duration_ns| {
        let report = replayed(Options { duration_ns, ..Options::default() });
        report.trace.expect("a trace").self_replay_error.expect("jobs")
    };
    assert_eq!(error(Some(200_000_000)), error(None));
}
