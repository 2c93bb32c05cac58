//! Which programs tasks execute, for the modifier that knows them (`policy/slice/flow.h`).

use super::*;
use divvy_policy::{Event, program_identity};
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
}

impl Programs {
    /// The number of the program of this name.
    pub(super) fn number(&mut self, name: String) -> usize {
        if let Some(found) = self.known.iter().position(|known| known.name == name) {
            return found;
        }
        let identity = program_identity(&name);
        self.known.push(Known { name, identity, executions: 0, by_execution: Vec::new() });
        self.known.len() - 1
    }

    /// What the machine knows of those that it knows.
    pub(super) fn results(&self, machine: &Machine) -> Vec<ProgramResult> {
        let result = |known: &Known| {
            let state = machine.program(known.identity)?;
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

impl Engine<'_> {
    /// A task executes its program from the beginning.
    pub(super) fn execute(&mut self, task: TaskId) {
        if self.machine.knows_programs() {
            let class = &self.classes[self.tasks[task as usize].class as usize];
            let program = self.programs.known[class.executable].identity;
            self.machine.tell(&Event::SetProgram { task, program }, self.now);
        }
    }

    /// A job begins: where a task repeats jobs, each of them is an execution.
    pub(super) fn execute_again(&mut self, task: TaskId) {
        let class = self.tasks[task as usize].class as usize;
        if self.machine.knows_programs()
            && matches!(self.workload.tasks[class].arrivals, Arrivals::Closed { .. })
        {
            self.execute(task);
            self.note_execution(task);
        }
    }

    /// An execution may have ended: how well it was predicted.
    pub(super) fn note_execution(&mut self, task: TaskId) {
        if !self.machine.knows_programs() {
            return;
        }
        let class = &self.classes[self.tasks[task as usize].class as usize];
        let known = &mut self.programs.known[class.executable];
        let Some(state) = self.machine.program(known.identity) else { return };
        if state.executions > known.executions && known.by_execution.len() < MOST_EXECUTIONS {
            known.by_execution.push(state.last.into());
        }
        known.executions = state.executions;
    }
}
