//! `divvy play WORKLOAD`.

use divvy_play::{ByScheduler, Options, play};
use divvy_sim::run::{self, adapted};

use super::common;
use crate::args::PlayArgs;
use crate::output::Output;
use crate::place;
use crate::progress::Bar;
use crate::view::page::Wish;

/// Runs it with real threads, shows, checks.
pub fn run(args: &PlayArgs, verbose: bool, output: Output) -> anyhow::Result<()> {
    place::not_input(std::iter::once(args.workload.as_path()), args.show.output.as_deref())?;
    let claims = common::claims(&args.show)?;
    let options = run::Options { cpus: args.cpus, duration_ns: args.duration, ..run::Options::default() };
    let workload = adapted(&common::workload(&args.workload, output)?, &options)?;
    let chance = &args.chance;
    let options = Options { seed: chance.seed, reps: chance.reps, max_threads: args.max_threads };
    let bar = Bar::new("running", workload.duration_ns, chance.reps.into(), output);
    let played = play(&workload, &options, &mut ByScheduler::new(args.scale_weights), &bar);
    drop(bar);
    let played = played?;
    played.notes.iter().for_each(|note| output.note(&format!("note: {note}")));
    let wish = Wish { baseline: None, all_tasks: verbose };
    common::show(played.report, &wish, &args.show, &claims, output)
}
