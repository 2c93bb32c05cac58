//! Round-robin by hand: what a simulation of one policy costs when it is written for it alone.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

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

/// Without `think_ns` tasks never end their bursts.
pub fn run(
    tasks: u32,
    cpus: u32,
    quantum_ns: u64,
    burst_ns: u64,
    think_ns: Option<u64>,
    until_ns: u64,
) -> Result {
    let (burst, think) = (Dist::Exp(burst_ns), think_ns.map(Dist::Exp));
    let mut all: Vec<Task> = (0..u64::from(tasks))
        .map(|i| Task {
            left_ns: u64::MAX,
            since_ns: 0,
            run: stream(1, 0, i, Purpose::Run),
            think: stream(1, 0, i, Purpose::Sleep),
        })
        .collect();
    let mut line: VecDeque<usize> = VecDeque::new();
    let mut sleepers = BinaryHeap::new();
    match &think {
        None => line.extend(0..all.len()),
        Some(think) => {
            for (i, task) in all.iter_mut().enumerate() {
                sleepers.push(Reverse((think.sample_ns(&mut task.think), i)));
            }
        }
    }
    let mut on = vec![IDLE; cpus as usize];
    let mut result = Result { decisions: 0, service_ns: vec![0; all.len()], histogram: [0; 64] };
    let mut idle = on.len();
    let mut now = 0;
    while now <= until_ns {
        while let Some(&Reverse((at, i))) = sleepers.peek().filter(|Reverse((at, _))| *at <= now) {
            sleepers.pop();
            all[i].left_ns = burst.sample_ns(&mut all[i].run);
            all[i].since_ns = at;
            line.push_back(i);
        }
        for cpu in &mut on {
            if cpu.ends_ns <= now {
                let i = cpu.task;
                let ran = now - cpu.began_ns;
                result.service_ns[i] += ran;
                all[i].left_ns -= if think.is_some() { ran } else { 0 };
                match &think {
                    Some(think) if all[i].left_ns == 0 => {
                        let response = now - all[i].since_ns;
                        result.histogram[response.max(1).ilog2() as usize] += 1;
                        sleepers.push(Reverse((now + think.sample_ns(&mut all[i].think), i)));
                    }
                    _ => line.push_back(i),
                }
                *cpu = IDLE;
                idle += 1;
            }
            if idle > 0
                && cpu.task == usize::MAX
                && let Some(i) = line.pop_front()
            {
                *cpu = Cpu {
                    task: i,
                    began_ns: now,
                    ends_ns: now.saturating_add(all[i].left_ns.min(quantum_ns)),
                };
                idle -= 1;
                result.decisions += 1;
            }
        }
        let next_end = on.iter().map(|cpu| cpu.ends_ns).min().unwrap_or(u64::MAX);
        let next_wake = sleepers.peek().map_or(u64::MAX, |Reverse((at, _))| *at);
        now = next_end.min(next_wake);
    }
    result
}
