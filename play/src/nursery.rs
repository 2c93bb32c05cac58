//! Starting instances: those that are there from the beginning, those that arrive, and those that others fork.
//!
//! Each process that has a name starts its own threads; the first process forks the others, one for each instance.
//! Who starts what is settled by [`PlayPlan::nursery`], so instances are numbered in one place, as in the simulation.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use divvy_workload::{Arrivals, Purpose, Stream, instance, stream};

use super::board::Failure;
use super::life::{Birth, Stage};

/// What one process starts.
pub struct Nursery<'a> {
    stage: Stage<'a>,
    number: usize,
    classes: Vec<Class>,
    /// Next arrivals: when, and of which task.
    arrivals: BinaryHeap<Reverse<(u64, usize)>>,
}

struct Class {
    born: u32,
    stream: Stream,
    /// Arrivals to come.
    left: u64,
}

/// Starts a thread (or a process) for an instance.
pub type Spawn<'a> = &'a mut dyn FnMut(Birth) -> Result<(), Failure>;

impl<'a> Nursery<'a> {
    /// Of the process with this number. Its arrivals are announced to the board.
    pub fn new(stage: Stage<'a>, number: usize) -> Nursery<'a> {
        let plan = stage.plan;
        let class = |(i, task): (usize, &divvy_workload::Task)| Class {
            born: 0,
            stream: stream(plan.seed, plan.rep, instance(i, 0), Purpose::Arrival),
            left: match task.arrivals {
                Arrivals::Open { limit, .. } if plan.nursery(i) == number => limit.unwrap_or(u64::MAX),
                _ => 0,
            },
        };
        let classes = plan.workload.tasks.iter().enumerate().map(class).collect();
        Nursery { stage, number, classes, arrivals: BinaryHeap::new() }
    }

    /// Starts those that are there from the beginning, and draws the first arrivals.
    pub fn begin(&mut self, spawn: Spawn) -> Result<(), Failure> {
        let Stage { plan, board, .. } = self.stage;
        let number = self.number;
        for class in (0..plan.workload.tasks.len()).filter(|&class| plan.nursery(class) == number) {
            let count = plan.initial(class);
            board.expect(count)?;
            self.spawn_all(class, count, plan.workload.tasks[class].start_ns, spawn)?;
            if self.classes[class].left > 0 {
                board.add_source();
                self.draw_arrival(class, plan.workload.tasks[class].start_ns);
            }
        }
        Ok(())
    }

    /// Starts all that is asked for or has arrived until `now_ns`; when the next arrival is, in ns of the run.
    pub fn serve(&mut self, now_ns: u64, spawn: Spawn) -> Result<u64, Failure> {
        let Stage { plan, board, .. } = self.stage;
        while let Some(request) = board.take_request(self.number) {
            let count = plan.workload.tasks[request.class].count;
            if request.due_ns >= plan.deadline_ns(request.class) || board.is_over() {
                board.forgo(count);
            } else {
                self.spawn_all(request.class, count, request.due_ns, spawn)?;
            }
        }
        while let Some(&Reverse((due_ns, class))) = self.arrivals.peek() {
            if due_ns > now_ns {
                return Ok(due_ns);
            }
            self.arrivals.pop();
            let count = plan.workload.tasks[class].count;
            board.expect(count)?;
            self.spawn_all(class, count, due_ns, spawn)?;
            self.draw_arrival(class, due_ns);
        }
        Ok(u64::MAX)
    }

    fn draw_arrival(&mut self, index: usize, after_ns: u64) {
        let Stage { plan, board, .. } = self.stage;
        let class = &mut self.classes[index];
        let Arrivals::Open { interarrival, .. } = &plan.workload.tasks[index].arrivals else { return };
        if class.left > 0 {
            class.left -= 1;
            let due_ns = after_ns.saturating_add(interarrival.sample(&mut class.stream));
            if due_ns < plan.deadline_ns(index) {
                self.arrivals.push(Reverse((due_ns, index)));
                return;
            }
        }
        board.remove_source();
    }

    fn spawn_all(&mut self, class: usize, count: u32, due_ns: u64, spawn: Spawn) -> Result<(), Failure> {
        for _ in 0..count {
            let number = self.classes[class].born;
            self.classes[class].born += 1;
            spawn(Birth { class, number, due_ns })?;
        }
        Ok(())
    }
}
