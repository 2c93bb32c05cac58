//! Starts instances: those that the workload starts with, those that arrive, and those that others fork.
//!
//! A process with a name starts its own threads. The supervisor forks one process for each other instance.
//! `RunSetup::spawner` gives each task exactly one spawner, which numbers its instances as the simulation does.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use divvy_workload::{Arrivals, Purpose, Stream, instance, stream};

use super::context::Context;
use super::run_setup::Launch;
use super::shared_state::Failure;

/// Starts the instances of the tasks that belong to one process.
pub struct Spawner<'a> {
    context: Context<'a>,
    number: usize,
    classes: Vec<Class>,
    /// The next arrival of each task: its time in ns of the run, and the index of the task.
    arrivals: BinaryHeap<Reverse<(u64, usize)>>,
}

struct Class {
    /// Instances started so far.
    started: u32,
    stream: Stream,
    /// Arrivals that have not been drawn yet.
    left: u64,
}

/// Starts a thread (or a process) for an instance.
pub type Spawn<'a> = &'a mut dyn FnMut(Launch) -> Result<(), Failure>;

impl<'a> Spawner<'a> {
    /// Makes the spawner with this number.
    pub fn new(context: Context<'a>, number: usize) -> Spawner<'a> {
        let setup = context.setup;
        let class = |(i, task): (usize, &divvy_workload::Task)| Class {
            started: 0,
            stream: stream(setup.seed, setup.rep, instance(i, 0), Purpose::Arrival),
            left: match task.arrivals {
                Arrivals::Open { limit, .. } if setup.spawner(i) == number => limit.unwrap_or(u64::MAX),
                _ => 0,
            },
        };
        let classes = setup.workload.tasks.iter().enumerate().map(class).collect();
        Spawner { context, number, classes, arrivals: BinaryHeap::new() }
    }

    /// Starts the instances that the workload starts with, and draws the first arrivals.
    ///
    /// # Errors
    /// When there are too many instances, or `spawn` fails.
    pub fn begin(&mut self, spawn: Spawn) -> Result<(), Failure> {
        let Context { setup, shared, .. } = self.context;
        let number = self.number;
        for class in (0..setup.workload.tasks.len()).filter(|&class| setup.spawner(class) == number) {
            let count = setup.initial(class);
            shared.expect(count)?;
            self.spawn_all(class, count, setup.workload.tasks[class].start_ns, spawn)?;
            if self.classes[class].left > 0 {
                shared.add_source();
                self.draw_arrival(class, setup.workload.tasks[class].start_ns);
            }
        }
        Ok(())
    }

    /// Starts all instances that were requested or have arrived by `now_ns`, in ns of the run. Returns the time of the next
    /// arrival; `u64::MAX` means that there is none.
    ///
    /// # Errors
    /// When there are too many instances, or `spawn` fails.
    pub fn serve(&mut self, now_ns: u64, spawn: Spawn) -> Result<u64, Failure> {
        let Context { setup, shared, .. } = self.context;
        while let Some(request) = shared.take_request(self.number) {
            let asked = setup.workload.tasks[request.class].count;
            let count = self.forks_left(request.class, asked);
            shared.cancel_expected(asked - count);
            if request.due_ns >= setup.deadline_ns(request.class) || shared.is_over() {
                shared.cancel_expected(count);
            } else {
                self.spawn_all(request.class, count, request.due_ns, spawn)?;
            }
        }
        while let Some(&Reverse((due_ns, class))) = self.arrivals.peek() {
            if due_ns > now_ns {
                return Ok(due_ns);
            }
            self.arrivals.pop();
            let count = setup.workload.tasks[class].count;
            shared.expect(count)?;
            self.spawn_all(class, count, due_ns, spawn)?;
            self.draw_arrival(class, due_ns);
        }
        Ok(u64::MAX)
    }

    /// How many of `asked` instances a fork starts: fewer, if the task's limit is reached.
    fn forks_left(&self, class: usize, asked: u32) -> u32 {
        match self.context.setup.workload.tasks[class].arrivals {
            Arrivals::Forked { limit: Some(limit) } => {
                asked.min((limit - u64::from(self.classes[class].started)) as u32)
            }
            _ => asked,
        }
    }

    fn draw_arrival(&mut self, index: usize, after_ns: u64) {
        let Context { setup, shared, .. } = self.context;
        let class = &mut self.classes[index];
        let Arrivals::Open { interarrival, .. } = &setup.workload.tasks[index].arrivals else { return };
        if class.left > 0 {
            class.left -= 1;
            let due_ns = after_ns.saturating_add(interarrival.sample_ns(&mut class.stream));
            if due_ns < setup.deadline_ns(index) {
                self.arrivals.push(Reverse((due_ns, index)));
                return;
            }
        }
        shared.remove_source();
    }

    fn spawn_all(&mut self, class: usize, count: u32, due_ns: u64, spawn: Spawn) -> Result<(), Failure> {
        for _ in 0..count {
            let number = self.classes[class].started;
            self.classes[class].started += 1;
            spawn(Launch { class, number, due_ns })?;
        }
        Ok(())
    }
}
