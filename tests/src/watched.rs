//! A scheduler between the engine and another one, which writes down what each CPU is told to run, and when its service begins. The
//! engine's own accounts have no part in it.

use std::cell::RefCell;
use std::rc::Rc;

use divvy_policy::{CpuId, CpuLimit, Decision, ProgramState, Shown, TaskId, Weight};
use divvy_sim::engine::{Birth, Scheduler};

/// An answer of a watched scheduler, or something that it was told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Note {
    /// A task of this number came to be.
    Born(TaskId),
    /// A CPU has another task from `at_ns` on, which is served from `served_from_ns` on.
    TakesOver {
        /// The CPU.
        cpu: CpuId,
        /// Its task from now on.
        task: TaskId,
        /// When it was decided.
        at_ns: u64,
        /// When service begins.
        served_from_ns: u64,
    },
    /// A CPU has its task no more.
    Leaves {
        /// The CPU.
        cpu: CpuId,
        /// When.
        at_ns: u64,
    },
}

/// The notes, which are read when the scheduler is gone.
pub type Notes = Rc<RefCell<Vec<Note>>>;

/// A scheduler that is asked, with notes of it.
pub struct Watched<S> {
    inner: S,
    notes: Notes,
    on_cpus: Vec<Option<TaskId>>,
    /// The CPU that decided last, and when.
    decided: (CpuId, u64),
}

impl<S: Scheduler> Watched<S> {
    /// Watches a scheduler of so many CPUs.
    pub fn new(inner: S, cpus: u32) -> (Watched<S>, Notes) {
        assert!(!S::DECIDES_BY_ITSELF, "it is not asked");
        let notes = Notes::default();
        let on_cpus = vec![None; cpus as usize];
        (Watched { inner, notes: Rc::clone(&notes), on_cpus, decided: (CpuId::new(0), 0) }, notes)
    }

    fn leaves(&mut self, cpu: CpuId, at_ns: u64) {
        if self.on_cpus[cpu.index()].take().is_some() {
            self.notes.borrow_mut().push(Note::Leaves { cpu, at_ns });
        }
    }

    fn takes_over(&mut self, task: TaskId, served_from_ns: u64) {
        let (cpu, at_ns) = self.decided;
        self.leaves(cpu, at_ns);
        self.on_cpus[cpu.index()] = Some(task);
        self.notes.borrow_mut().push(Note::TakesOver { cpu, task, at_ns, served_from_ns });
    }
}

impl<S: Scheduler> Scheduler for Watched<S> {
    const DECIDES_BY_ITSELF: bool = false;

    fn set_group(&mut self, group: u32, parent: u32, weight: Weight) {
        self.inner.set_group(group, parent, weight);
    }

    fn set_limit(&mut self, group: u32, limit: CpuLimit) {
        self.inner.set_limit(group, limit);
    }

    fn add(&mut self, birth: &Birth<'_>, now_ns: u64) {
        self.notes.borrow_mut().push(Note::Born(birth.task));
        self.inner.add(birth, now_ns);
    }

    fn wake(&mut self, task: TaskId, is_new: bool, by: Option<CpuId>, now_ns: u64) -> Option<CpuId> {
        self.inner.wake(task, is_new, by, now_ns)
    }

    fn block(&mut self, task: TaskId, ran_ns: u64, exits: bool, now_ns: u64) {
        if let Some(cpu) = self.on_cpus.iter().position(|on| *on == Some(task)) {
            self.leaves(CpuId::at(cpu), now_ns);
        }
        self.inner.block(task, ran_ns, exits, now_ns);
    }

    fn withdraw(&mut self, task: TaskId, now_ns: u64) {
        self.inner.withdraw(task, now_ns);
    }

    fn remove(&mut self, task: TaskId, now_ns: u64) {
        self.inner.remove(task, now_ns);
    }

    fn yielding(&mut self, on: CpuId) {
        self.inner.yielding(on);
    }

    fn decisions(&self) -> u64 {
        self.inner.decisions()
    }

    fn faults(&self) -> u64 {
        self.inner.faults()
    }

    fn also_asked(&mut self) -> Option<CpuId> {
        self.inner.also_asked()
    }

    fn may_take(&self, task: TaskId, cpu: CpuId) -> bool {
        self.inner.may_take(task, cpu)
    }

    fn moved(&self) -> Option<u64> {
        self.inner.moved()
    }

    fn dispatch(&mut self, on: CpuId, now_ns: u64) -> Option<Decision> {
        self.decided = (on, now_ns);
        let decision = self.inner.dispatch(on, now_ns);
        if decision.is_none() {
            self.leaves(on, now_ns);
        }
        decision
    }

    fn requeue(&mut self, task: TaskId, ran_ns: u64, now_ns: u64) -> Option<CpuId> {
        self.inner.requeue(task, ran_ns, now_ns)
    }

    fn running(&mut self, task: TaskId, from_ns: u64) {
        self.takes_over(task, from_ns);
        self.inner.running(task, from_ns);
    }

    fn change(
        &mut self,
        task: TaskId,
        ran_ns: u64,
        now_ns: u64,
        next: TaskId,
        from_ns: u64,
    ) -> Option<CpuId> {
        self.takes_over(next, from_ns);
        self.inner.change(task, ran_ns, now_ns, next, from_ns)
    }

    fn release_due_ns(&self, now_ns: u64) -> Option<u64> {
        self.inner.release_due_ns(now_ns)
    }

    fn release(&mut self, now_ns: u64) -> Option<(TaskId, Option<CpuId>)> {
        self.inner.release(now_ns)
    }

    fn holds(&self, task: TaskId) -> bool {
        self.inner.holds(task)
    }

    fn held(&self) -> u64 {
        self.inner.held()
    }

    fn bring(&mut self, task: TaskId, work_ns: u64) {
        self.inner.bring(task, work_ns);
    }

    fn begin_session(&mut self, task: TaskId, now_ns: u64) {
        self.inner.begin_session(task, now_ns);
    }

    fn knows_programs(&self) -> bool {
        self.inner.knows_programs()
    }

    fn set_program(&mut self, task: TaskId, program: u64, now_ns: u64) {
        self.inner.set_program(task, program, now_ns);
    }

    fn program(&self, identity: u64) -> Option<ProgramState> {
        self.inner.program(identity)
    }

    fn shown(&self) -> Vec<Shown> {
        self.inner.shown()
    }

    fn value(&self, index: u32, task: TaskId, now_ns: u64) -> i64 {
        self.inner.value(index, task, now_ns)
    }
}
