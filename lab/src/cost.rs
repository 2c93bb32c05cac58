//! Cost of scheduling in the native build, in ns on this machine. Results vary between runs: the least of many short
//! batches counts, with all policies in turns, so that ratios within a run mean something on a busy machine too.

use divvy_policy::spec;
use divvy_policy::{CpuId, Event, Machine, TaskId, Weight};
use divvy_workload::{Purpose, stream};
use std::time::Instant;

use crate::error::LabError;
use crate::setting::Setting;

const QUANTUM_NS: u64 = 1_000_000;
/// Rounds of all policies; the least time counts.
const ROUNDS: usize = 40;
const SMALL_ROUNDS: usize = 2;
/// Groups of rounds: the least of each is a repetition, from which the interval comes.
const GROUPS: usize = 5;
/// Decisions of a batch: some 100 us.
const BATCH: usize = 2000;

/// Whether clients come and go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clients {
    /// They always run.
    Stay,
    /// Each blocks after its turn, and one that was blocked for longest wakes: half of all are runnable.
    ComeAndGo,
}

struct Bench {
    machine: Machine,
    cpus: usize,
    n: usize,
    clients: Clients,
    now_ns: u64,
    ran: Vec<Option<TaskId>>,
    /// Those that are blocked, in a ring.
    blocked: Vec<TaskId>,
    at: usize,
    /// The least of each group of rounds.
    least_ns: Vec<f64>,
}

/// A policy on so many CPUs.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// Its spec.
    pub spec: &'static str,
    /// CPUs.
    pub cpus: u32,
}

/// ns for each decision, of each case with each number of clients, in each group of rounds. Weights are uniform from 1 to 40; each client executes a
/// program of its own, again in each batch.
pub fn per_decision(
    cases: &[Case],
    numbers: &[u32],
    clients: Clients,
    setting: &Setting,
) -> Result<Vec<Vec<Vec<f64>>>, LabError> {
    let rounds = if setting.small { SMALL_ROUNDS } else { ROUNDS };
    setting.progress.begin(Some((numbers.len() * rounds) as u64));
    let mut costs = vec![Vec::new(); cases.len()];
    for &n in numbers {
        let benches = cases.iter().map(|case| Bench::new(case, n, clients, setting.seed));
        let mut benches = benches.collect::<Result<Vec<_>, _>>()?;
        for round in 0..rounds {
            benches.iter_mut().for_each(|bench| bench.batch(round * GROUPS.min(rounds) / rounds));
            setting.progress.advance(1);
        }
        costs.iter_mut().zip(benches).for_each(|(costs, bench)| costs.push(bench.least_ns));
    }
    Ok(costs)
}

impl Bench {
    fn new(case: &Case, n: u32, clients: Clients, seed: u64) -> Result<Bench, LabError> {
        let broken = |what: String| LabError::Run(format!("policy {}: {what}", case.spec));
        let spec = spec::parse(case.spec, divvy_policy::all()).map_err(|error| broken(error.to_string()))?;
        let mut machine =
            Machine::from_spec(&spec, case.cpus, QUANTUM_NS).map_err(|error| broken(error.to_string()))?;
        let mut random = stream(seed, 0, u64::from(n), Purpose::Run);
        let runnable = if clients == Clients::Stay { n } else { n / 2 } as usize;
        let n = n as usize;
        for id in TaskId::all().take(n) {
            machine.add(id, id, (1 + random.below(40)) * Weight::ONE, 0);
            machine.wake(id, true, 0);
        }
        let blocked: Vec<TaskId> = TaskId::all().take(n).skip(runnable).collect();
        blocked.iter().for_each(|&id| machine.withdraw(id, false, 0));
        Ok(Bench {
            machine,
            cpus: case.cpus as usize,
            n,
            clients,
            now_ns: 0,
            ran: vec![None; BATCH],
            blocked,
            at: 0,
            least_ns: Vec::new(),
        })
    }

    /// Each client executes its program from the beginning, so that the one before can be known.
    fn execute(&mut self) {
        if !self.machine.knows_programs() {
            return;
        }
        for task in TaskId::all().take(self.n) {
            self.machine.tell(&Event::SetProgram { task, program: task.get().into() }, self.now_ns);
        }
    }

    /// A batch, of the group of this number.
    fn batch(&mut self, group: usize) {
        self.execute();
        let began = Instant::now();
        match self.clients {
            Clients::Stay => self.now_ns = self.machine.turns(self.now_ns, &mut self.ran),
            Clients::ComeAndGo => (0..BATCH).for_each(|_| self.come_and_go()),
        }
        let ns = began.elapsed().as_nanos() as f64 / BATCH as f64;
        self.least_ns.resize(self.least_ns.len().max(group + 1), f64::INFINITY);
        self.least_ns[group] = self.least_ns[group].min(ns);
    }

    /// The first CPU runs somebody for a tenth of a quantum, who then blocks; another wakes.
    fn come_and_go(&mut self) {
        debug_assert_eq!(self.cpus, 1);
        let Some(decision) = self.machine.dispatch(CpuId::new(0), self.now_ns) else { return };
        self.machine.running(decision.task, self.now_ns);
        self.now_ns += QUANTUM_NS / 10;
        self.machine.block(decision.task, QUANTUM_NS / 10, false, self.now_ns);
        let wakes = std::mem::replace(&mut self.blocked[self.at], decision.task);
        self.at = (self.at + 1) % self.blocked.len();
        self.machine.wake(wakes, false, self.now_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_those_that_come_and_go_are_runnable() {
        let case = Case { spec: "gr3", cpus: 1 };
        let mut bench = Bench::new(&case, 40, Clients::ComeAndGo, 1).unwrap();
        bench.batch(0);
        assert_eq!(bench.machine.faults(), 0);
        assert_eq!(bench.machine.decisions(), BATCH as u64);
        let mut blocked = bench.blocked.clone();
        blocked.sort_unstable();
        blocked.dedup();
        assert_eq!(blocked.len(), 20);
        assert!(bench.least_ns[0] > 0.0 && bench.least_ns[0].is_finite());
    }

    #[test]
    fn the_second_execution_is_predicted() {
        let mut bench = Bench::new(&Case { spec: "rr+flow", cpus: 1 }, 10, Clients::ComeAndGo, 1).unwrap();
        (0..3).for_each(|_| bench.batch(0));
        let program = bench.machine.program(1).unwrap();
        assert!(program.executions >= 2 && program.predictions.runs > 0, "{program:?}");
    }
}
