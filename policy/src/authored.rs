//! A machine with a policy that is not written in C.

use crate::called::{Author, Called};
use crate::config::{MachineConfig, MachineError};
use crate::host;
use crate::machine::Machine;

impl Machine {
    /// A machine without modifiers that asks this author for its decisions.
    ///
    /// # Errors
    /// [`MachineError::Cpus`] if there are none, or too many.
    pub fn of_author(author: Box<dyn Author>, cpus: u32, quantum_ns: u64) -> Result<Machine, MachineError> {
        let config = MachineConfig::new("called", cpus, quantum_ns);
        let machine = Machine::around(host::called(), &config, Some(Called::new(author)))?;
        machine.author.iter().for_each(Called::begin);
        Ok(machine)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::sync::{Arc, Mutex};

    use super::*;
    use crate::called::{Optional, Table, Why};
    use crate::{CpuId, TaskId, Weight, spec};

    /// Round-robin, with tasks of odd numbers for two quanta.
    struct Turns {
        waiting: VecDeque<TaskId>,
        quantum_ns: u64,
        table: Arc<Mutex<Table>>,
        charged_ns: Arc<Mutex<u64>>,
    }

    impl Author for Turns {
        fn has(&self) -> Vec<Optional> {
            vec![Optional::Slice, Optional::Charge]
        }

        fn init(&mut self, table: &Table) {
            let panics = self.quantum_ns == u64::MAX;
            self.quantum_ns = table.quantum_ns().expect("a call");
            *self.table.lock().expect("whole") = table.clone();
            assert!(!panics, "as a test asks");
        }

        fn join(&mut self, task: TaskId, _: u64, why: Why) {
            assert_eq!(why, Why::New);
            let table = self.table.lock().expect("whole");
            assert_eq!(table.weight(task), Some(Weight::ONE));
            assert_eq!(table.cpu(task), Some(None));
            self.waiting.push_back(task);
        }

        fn leave(&mut self, _: TaskId, _: u64, _: Why) {
            unreachable!("nobody leaves");
        }

        fn pick(&mut self, cpu: CpuId, _: u64) -> Option<TaskId> {
            assert_eq!(cpu.get(), 0);
            self.waiting.pop_front()
        }

        fn stop(&mut self, task: TaskId, _: u64, why: Why) {
            assert_eq!(why, Why::Expired);
            self.waiting.push_back(task);
        }

        fn charge(&mut self, _: TaskId, ran_ns: u64, _: u64) {
            *self.charged_ns.lock().expect("whole") += ran_ns;
        }

        fn slice(&mut self, task: TaskId) -> u64 {
            self.quantum_ns * (1 + u64::from(task.get() % 2))
        }

        fn reweigh(&mut self, _: TaskId, _: Weight, _: u64) {
            unreachable!("it is not in the list");
        }

        fn preempts(&mut self, _: TaskId, _: TaskId, _: u64) -> bool {
            unreachable!("it is not in the list");
        }

        fn fork(&mut self, _: TaskId, _: Option<TaskId>, _: u64) {
            unreachable!("it is not in the list");
        }

        fn overdrawn(&mut self, _: TaskId) -> u64 {
            unreachable!("it is not in the list");
        }

        fn session(&mut self, _: TaskId, _: u64) {
            unreachable!("it is not in the list");
        }

        fn bring(&mut self, _: TaskId, _: u64) {
            unreachable!("it is not in the list");
        }
    }

    /// The tasks that run, with the lengths of their slices: so many slices of three tasks.
    fn slices(mut machine: Machine, n: usize) -> Vec<(u32, u64)> {
        for task in TaskId::all().take(3) {
            machine.add(task, task, Weight::ONE, 0);
            machine.bring(task, 5);
            machine.wake(task, true, 0);
        }
        let (mut now_ns, mut ran) = (0, Vec::new());
        let mut running: Option<(TaskId, u64)> = None;
        while ran.len() < n {
            let decision = machine.dispatch(CpuId::new(0), now_ns).expect("somebody waits");
            if let Some((task, slice_ns)) = running {
                machine.change(task, slice_ns, now_ns, decision.task, now_ns);
            } else {
                machine.running(decision.task, now_ns);
            }
            ran.push((decision.task.get(), decision.slice_ns));
            running = Some((decision.task, decision.slice_ns));
            now_ns += decision.slice_ns;
        }
        assert_eq!(machine.faults(), 0);
        ran
    }

    #[test]
    fn the_machine_asks_the_author() {
        let table = Arc::<Mutex<Table>>::default();
        let charged_ns = Arc::<Mutex<u64>>::default();
        let (waiting, quantum_ns) = (VecDeque::new(), 0);
        let author =
            Turns { waiting, quantum_ns, table: Arc::clone(&table), charged_ns: Arc::clone(&charged_ns) };
        let machine = Machine::of_author(Box::new(author), 1, 1000).expect("a machine");
        let ran = slices(machine, 7);
        let expected = [(1, 2000), (2, 1000), (3, 2000), (1, 2000), (2, 1000), (3, 2000), (1, 2000)];
        assert_eq!(ran, expected);
        assert_eq!(*charged_ns.lock().expect("whole"), 10_000);
        // The machine is gone.
        assert_eq!(table.lock().expect("whole").quantum_ns(), None);
    }

    #[test]
    fn a_table_is_blind_after_a_panic() {
        let table = Arc::<Mutex<Table>>::default();
        let quantum = Arc::clone(&table);
        let panics = std::panic::catch_unwind(|| {
            let (waiting, charged_ns) = (VecDeque::new(), Arc::default());
            let author = Turns { waiting, quantum_ns: u64::MAX, table: quantum, charged_ns };
            Machine::of_author(Box::new(author), 1, 1000).map(drop)
        });
        assert!(panics.is_err());
        assert_eq!(table.lock().unwrap_or_else(std::sync::PoisonError::into_inner).cpus(), None);
    }

    #[test]
    fn no_spec_names_it_and_cpus_are_checked() {
        assert!(spec::parse("called", crate::all()).is_err());
        let author = Turns {
            waiting: VecDeque::new(),
            quantum_ns: 0,
            table: Arc::default(),
            charged_ns: Arc::default(),
        };
        let refused = Machine::of_author(Box::new(author), 0, 1000);
        assert_eq!(refused.err(), Some(MachineError::Cpus(0)));
    }
}
