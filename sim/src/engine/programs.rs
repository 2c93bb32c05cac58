//! The programs that tasks execute, for the modifier that knows them (`policy/slice/flow.h`).

use std::collections::HashMap;

use super::scheduler::Scheduler;
use divvy_policy::program_identity;
use divvy_results::report::{MOST_EXECUTIONS, PredictionResult, ProgramResult};

/// One program of the workload.
struct Known {
    name: String,
    identity: u64,
    /// Executions that ended, as the machine counts them.
    executions: u64,
    by_execution: Vec<PredictionResult>,
}

/// The programs of a workload, by number.
#[derive(Default)]
pub(super) struct Programs {
    known: Vec<Known>,
    by_name: HashMap<String, usize>,
}

impl Programs {
    /// The number of the program of this name.
    pub(super) fn number(&mut self, name: String) -> usize {
        if let Some(&found) = self.by_name.get(&name) {
            return found;
        }
        let identity = program_identity(&name);
        self.by_name.insert(name.clone(), self.known.len());
        self.known.push(Known { name, identity, executions: 0, by_execution: Vec::new() });
        self.known.len() - 1
    }

    pub(super) fn identity(&self, number: usize) -> u64 {
        self.known[number].identity
    }

    /// An execution may have ended: how well it was predicted.
    pub(super) fn note_execution(&mut self, number: usize, scheduler: &impl Scheduler) {
        let known = &mut self.known[number];
        let Some(state) = scheduler.program(known.identity) else { return };
        if state.executions > known.executions && known.by_execution.len() < MOST_EXECUTIONS {
            known.by_execution.push(state.last.into());
        }
        known.executions = state.executions;
    }

    /// The results of the programs that the scheduler knows.
    pub(super) fn results(&self, scheduler: &impl Scheduler) -> Vec<ProgramResult> {
        let result = |known: &Known| {
            let state = scheduler.program(known.identity)?;
            Some(ProgramResult {
                name: known.name.clone(),
                executions: state.executions,
                predictions: state.predictions.into(),
                by_execution: known.by_execution.clone(),
                delays: state.delays,
                delays_met: state.met,
                early_switches: state.early_switches,
                sequence_ns: state.sequence.iter().map(|&(run_ns, _)| run_ns).collect(),
            })
        };
        self.known.iter().filter_map(result).collect()
    }
}
