//! Runs a workload under a policy and keeps every stretch of service.

use divvy_policy::spec;
use divvy_policy::spec::Spec;
use divvy_results::observation::{Observation, Service};
use divvy_results::report::Run;
use divvy_sim::engine::{Engine, Scheduler, Setup};
use divvy_sim::placement::Sharded;
use divvy_sim::run::{Rows, machine};
use divvy_sim::sharing::Sharing;
use divvy_workload::Workload;

use crate::watched::{Note, Watched};

/// A run and its slices, in the order in which they were told.
pub struct Record {
    /// The run's part of the report.
    pub run: Run,
    /// Each stretch in which a task ran on a CPU.
    pub slices: Vec<Service>,
}

/// Runs to the end (or to the workload's duration); the engine's own checks must pass.
pub fn run(workload: &Workload, spec_text: &str, seed: u64) -> Record {
    let spec = spec::parse(spec_text, divvy_policy::all()).expect("a known spec");
    let Some(placement) = spec.placement else {
        return run_under(machine(&spec, workload, seed, 0).expect("a machine"), workload, &spec, seed);
    };
    let sharded = Sharded::new(&spec, placement, workload).unwrap_or_else(|e| panic!("{spec_text}: {e}"));
    run_under(sharded, workload, &spec, seed)
}

/// The same, with notes of what each CPU was told to run.
pub fn run_watched(workload: &Workload, spec_text: &str, seed: u64) -> (Record, Vec<Note>) {
    let spec = spec::parse(spec_text, divvy_policy::all()).expect("a known spec");
    let Some(placement) = spec.placement else {
        let machine = machine(&spec, workload, seed, 0).expect("a machine");
        return watch(machine, workload, &spec, seed);
    };
    let sharded = Sharded::new(&spec, placement, workload).unwrap_or_else(|e| panic!("{spec_text}: {e}"));
    watch(sharded, workload, &spec, seed)
}

fn watch<S: Scheduler>(scheduler: S, workload: &Workload, spec: &Spec, seed: u64) -> (Record, Vec<Note>) {
    let (watched, notes) = Watched::new(scheduler, workload.cpus);
    let record = run_under(watched, workload, spec, seed);
    (record, notes.take())
}

fn run_under<S: Scheduler>(scheduler: S, workload: &Workload, spec: &Spec, seed: u64) -> Record {
    let spec_text = &spec.to_string();
    let setup = Setup {
        seed,
        rep: 0,
        until_ns: workload.duration_ns,
        schedule: 0,
        rows: Rows::EachInstance,
        sharing: Sharing::of(spec),
    };
    let mut slices = Vec::new();
    let mut keep = |observation: Observation| {
        if let Observation::Served(slice) = observation {
            slices.push(slice);
        }
    };
    let mut engine = Engine::new(workload, scheduler, setup);
    engine.observe(&mut keep);
    let run = engine.run(spec_text, &|_| true).unwrap_or_else(|violation| panic!("{spec_text}: {violation}"));
    Record { run, slices }
}
