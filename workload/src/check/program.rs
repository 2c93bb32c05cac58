//! Checks of one task's program, step by step.

use super::problem::{Place, Problem};
use crate::{Dist, Step, Task, Workload};

/// Most steps that a program may take in a row without any time passing.
const MAX_INSTANT_STEPS: u64 = 1_000_000;

/// Whether the program never comes to its end.
pub(crate) fn is_endless(program: &[Step]) -> bool {
    program.iter().any(|step| match step {
        Step::RunForever | Step::Loop { times: None, .. } => true,
        Step::Loop { body, .. } => is_endless(body),
        _ => false,
    })
}

/// Number of steps that the program takes if it certainly lets no time pass; `None` if it runs, sleeps or waits.
pub(super) fn instant_steps(program: &[Step]) -> Option<u64> {
    program.iter().try_fold(0_u64, |sum, step| {
        let steps = match step {
            Step::Run(_)
            | Step::RunForever
            | Step::Sleep(_)
            | Step::Period(_)
            | Step::Wait
            | Step::Take(_) => {
                return None;
            }
            Step::Loop { times, body } => instant_steps(body)?.saturating_mul(times.unwrap_or(u64::MAX)),
            _ => 1,
        };
        Some(sum.saturating_add(steps))
    })
}

/// Checks the program of the task of this index.
pub(super) fn check(workload: &Workload, index: usize) -> Result<(), Problem> {
    let task = &workload.tasks[index];
    let mut walk = Walk { workload, index, task, path: Vec::new(), held: Vec::new() };
    walk.block(&task.program)?;
    match walk.held.pop() {
        // A program that never ends keeps what it holds on purpose.
        Some(held) if !is_endless(&task.program) => {
            let message = format!("lock `{}` is still held when the program ends", workload.locks[held.lock]);
            Err(Problem::new(Place::Step(index, held.path), message, "add an unlock step"))
        }
        _ => Ok(()),
    }
}

/// A walk through a program, in the order in which its steps run.
struct Walk<'a> {
    workload: &'a Workload,
    index: usize,
    task: &'a Task,
    path: Vec<usize>,
    held: Vec<Held>,
}

/// A lock, and the step that took it.
struct Held {
    lock: usize,
    path: Vec<usize>,
}

impl Walk<'_> {
    fn problem<T>(&self, message: impl Into<String>, help: impl Into<String>) -> Result<T, Problem> {
        Err(Problem::new(Place::Step(self.index, self.path.clone()), message, help))
    }

    fn block(&mut self, steps: &[Step]) -> Result<(), Problem> {
        if steps.is_empty() && self.path.is_empty() {
            let place = Place::Task(self.index, "program");
            return Err(Problem::new(place, "the program is empty", "add a step such as { run = \"75ms\" }"));
        }
        let mut ended = false;
        for (i, step) in steps.iter().enumerate() {
            self.path.push(i);
            if ended {
                return self.problem("this step is never reached", "the step before it never ends");
            }
            self.step(step)?;
            ended = is_endless(std::slice::from_ref(step));
            self.path.pop();
        }
        Ok(())
    }

    fn step(&mut self, step: &Step) -> Result<(), Problem> {
        match step {
            Step::Run(dist) => self.takes_time(dist, "run"),
            Step::Sleep(dist) => self.takes_time(dist, "sleep"),
            Step::Period(ns) => self.takes_time(&Dist::Constant(*ns), "period"),
            Step::Until(ns) => match Dist::Constant(*ns).check() {
                Ok(()) => Ok(()),
                Err(message) => self.problem(message, ""),
            },
            Step::RunForever | Step::Yield | Step::Session => Ok(()),
            Step::Lock(lock) => self.lock(*lock),
            Step::Unlock(lock) => self.unlock(*lock),
            Step::Barrier(barrier) => self.known(*barrier, self.workload.barriers.len(), "barrier"),
            Step::Fork(task) => self.known(*task, self.workload.tasks.len(), "task"),
            Step::Wake(task) => self.known(*task, self.workload.tasks.len(), "task"),
            Step::Wait => Ok(()),
            Step::Post(semaphore) | Step::Take(semaphore) => {
                self.known(*semaphore, self.workload.semaphores.len(), "semaphore")
            }
            Step::Loop { times, body } => self.repetition(*times, body),
        }
    }

    fn takes_time(&self, dist: &Dist, what: &str) -> Result<(), Problem> {
        match dist.check() {
            Err(message) => self.problem(message, ""),
            Ok(()) if *dist == Dist::Constant(0) => {
                self.problem(format!("`{what}` takes no time"), "leave it out, or use { yield = true }")
            }
            Ok(()) => Ok(()),
        }
    }

    fn known(&self, index: usize, len: usize, what: &str) -> Result<(), Problem> {
        if index < len { Ok(()) } else { self.problem(format!("there is no {what} number {index}"), "") }
    }

    fn lock(&mut self, lock: usize) -> Result<(), Problem> {
        self.known(lock, self.workload.locks.len(), "lock")?;
        if self.held.iter().any(|held| held.lock == lock) {
            let message = format!("lock `{}` is taken while already held", self.workload.locks[lock]);
            return self.problem(message, "the task would wait for itself; unlock it before");
        }
        self.held.push(Held { lock, path: self.path.clone() });
        Ok(())
    }

    fn unlock(&mut self, lock: usize) -> Result<(), Problem> {
        self.known(lock, self.workload.locks.len(), "lock")?;
        let name = &self.workload.locks[lock];
        let Some(position) = self.held.iter().position(|held| held.lock == lock) else {
            return self.problem(format!("lock `{name}` is not held here"), "take it first: { lock = .. }");
        };
        if self.held[position].path.len() != self.path.len() {
            let help =
                "the next round would not hold it; take and give it back inside the loop, or both outside";
            return self.problem(format!("lock `{name}` was taken outside this loop"), help);
        }
        self.held.remove(position);
        Ok(())
    }

    fn repetition(&mut self, times: Option<u64>, body: &[Step]) -> Result<(), Problem> {
        if body.is_empty() || times == Some(0) {
            return self.problem("the loop does nothing", "repeat at least once at least one step");
        }
        self.block(body)?;
        let name = &self.task.name;
        match instant_steps(body).map(|steps| steps.saturating_mul(times.unwrap_or(u64::MAX))) {
            Some(u64::MAX) => {
                let message =
                    format!("the loop never ends and never lets time pass: `{name}` makes no progress");
                return self.problem(message, "add a run or a sleep step to it");
            }
            Some(steps) if steps > MAX_INSTANT_STEPS => {
                let message = format!("the loop takes {steps} steps without any time passing");
                return self
                    .problem(message, format!("add a run or a sleep step (at most {MAX_INSTANT_STEPS})"));
            }
            _ => {}
        }
        match self.held.iter().position(|held| held.path.len() > self.path.len()) {
            Some(position) => {
                let held = self.held.swap_remove(position);
                let message =
                    format!("lock `{}` is still held when the loop repeats", self.workload.locks[held.lock]);
                Err(Problem::new(Place::Step(self.index, held.path), message, "unlock it inside the loop"))
            }
            None => Ok(()),
        }
    }
}
