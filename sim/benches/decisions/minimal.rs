//! A simulation by hand: what one policy costs when it is written for it alone, with the least that deserves the name of
//! statistics. The loop is compiled for each [`Line`].

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use divvy_workload::{Dist, Purpose, Stream, stream};

/// The statistics that it keeps.
#[derive(Debug)]
pub struct Result {
    pub decisions: u64,
    /// Service of each task.
    pub service_ns: Vec<u64>,
    /// Responses by powers of two.
    pub histogram: [u64; 64],
}

/// The tasks that wait, and the order in which they run.
pub trait Line {
    /// A task becomes runnable.
    fn wakes(&mut self, task: usize, now_ns: u64);

    /// A CPU chooses; its former task ran until now, and is runnable still or not.
    fn turn(&mut self, cpu: usize, former: Option<Former>, now_ns: u64) -> Option<usize>;
}

/// The task whose turn is over.
#[derive(Clone, Copy)]
pub struct Former {
    pub task: usize,
    pub ran_ns: u64,
    pub is_runnable: bool,
}

/// The machine and its load.
#[derive(Clone, Copy)]
pub struct Load {
    pub tasks: u32,
    pub cpus: u32,
    pub quantum_ns: u64,
    pub burst_ns: u64,
    /// Without it tasks never end their bursts.
    pub think_ns: Option<u64>,
    pub until_ns: u64,
}

struct Task {
    left_ns: u64,
    since_ns: u64,
    run: Stream,
    think: Stream,
}

/// A CPU's task, `usize::MAX` when idle, and when its turn or its burst ends.
#[derive(Clone, Copy)]
struct Cpu {
    task: usize,
    began_ns: u64,
    ends_ns: u64,
}

const IDLE: Cpu = Cpu { task: usize::MAX, began_ns: 0, ends_ns: u64::MAX };

pub fn run(load: Load, line: &mut impl Line) -> Result {
    let Load { tasks, cpus, quantum_ns, burst_ns, think_ns, until_ns } = load;
    let (burst, think) = (Dist::Exp(burst_ns), think_ns.map(Dist::Exp));
    let mut all: Vec<Task> = (0..u64::from(tasks))
        .map(|i| Task {
            left_ns: u64::MAX,
            since_ns: 0,
            run: stream(1, 0, i, Purpose::Run),
            think: stream(1, 0, i, Purpose::Sleep),
        })
        .collect();
    let mut sleepers = BinaryHeap::new();
    for (i, task) in all.iter_mut().enumerate() {
        match &think {
            None => line.wakes(i, 0),
            Some(think) => sleepers.push(Reverse((think.sample_ns(&mut task.think), i))),
        }
    }
    let mut on = vec![IDLE; cpus as usize];
    let mut result = Result { decisions: 0, service_ns: vec![0; all.len()], histogram: [0; 64] };
    let mut waiting = if think.is_some() { 0 } else { all.len() };
    let mut now = 0;
    while now <= until_ns {
        while let Some(&Reverse((at, i))) = sleepers.peek().filter(|Reverse((at, _))| *at <= now) {
            sleepers.pop();
            all[i].left_ns = burst.sample_ns(&mut all[i].run);
            all[i].since_ns = at;
            line.wakes(i, now);
            waiting += 1;
        }
        for (number, cpu) in on.iter_mut().enumerate() {
            let mut former = None;
            if cpu.ends_ns <= now {
                let i = cpu.task;
                let ran_ns = now - cpu.began_ns;
                result.service_ns[i] += ran_ns;
                all[i].left_ns -= if think.is_some() { ran_ns } else { 0 };
                let is_runnable = think.is_none() || all[i].left_ns > 0;
                match &think {
                    Some(think) if !is_runnable => {
                        let response = now - all[i].since_ns;
                        result.histogram[response.max(1).ilog2() as usize] += 1;
                        sleepers.push(Reverse((now + think.sample_ns(&mut all[i].think), i)));
                    }
                    _ => waiting += 1,
                }
                *cpu = IDLE;
                former = Some(Former { task: i, ran_ns, is_runnable });
            }
            if cpu.task == usize::MAX && (waiting > 0 || former.is_some()) {
                let Some(task) = line.turn(number, former, now) else { continue };
                let ends_ns = now.saturating_add(all[task].left_ns.min(quantum_ns));
                *cpu = Cpu { task, began_ns: now, ends_ns };
                waiting -= 1;
                result.decisions += 1;
            }
        }
        let next_end = on.iter().map(|cpu| cpu.ends_ns).min().unwrap_or(u64::MAX);
        let next_wake = sleepers.peek().map_or(u64::MAX, |Reverse((at, _))| *at);
        now = next_end.min(next_wake);
    }
    result
}
