//! A small event loop around a `Machine`: just enough to run programs of bursts and sleeps, watched.

use divvy_policy::{Event, Machine, MachineConfig, TaskId, Weight};

pub const MS: u64 = 1_000_000;
pub const SEC: u64 = 1_000 * MS;

/// What a task does after it arrives: run, sleep, run, ... for so many ns each, then exit.
#[derive(Clone)]
pub struct Program {
    pub arrival: u64,
    /// In the kernel's table: nice 0 is 1024.
    pub weight: u64,
    pub steps: Vec<u64>,
}

impl Program {
    pub fn new(arrival: u64, weight: u64, steps: &[u64]) -> Program {
        Program { arrival, weight, steps: steps.to_vec() }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    Away,
    Waiting,
    Running,
    Done,
}

/// The bench's own account of a task, from events only.
pub struct Task {
    pub state: State,
    pub weight: u64,
    /// When it last became runnable, and its place among those that did.
    pub arrived: u64,
    pub order: u64,
    /// Service in all, and since it last became runnable.
    pub service: u64,
    pub burst: u64,
    pub completion: u64,
    steps: std::vec::IntoIter<u64>,
    left: u64,
    next_wake: Option<u64>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Segment {
    pub cpu: usize,
    pub task: TaskId,
    pub from: u64,
    pub to: u64,
}

/// Told what the machine is told, in the same order.
pub trait Watch {
    fn join(&mut self, _id: TaskId, _new: bool, _now: u64) {}
    fn leave(&mut self, _id: TaskId, _exits: bool, _now: u64) {}
    /// The turn on `cpu` is over, as its task waits again; service is charged up to here.
    fn stop(&mut self, _id: TaskId, _now: u64) {}
    fn charge(&mut self, _id: TaskId, _ran: u64, _now: u64) {}
    /// The turn that ends next does so because its task yields.
    fn yields(&mut self, _id: TaskId) {}
    fn reweigh(&mut self, _id: TaskId, _weight: u64, _now: u64) {}
    /// A task joined when all CPUs were busy, and took a CPU or not.
    fn preempts(&mut self, _woken: TaskId, _cpu: Option<usize>, _now: u64) {}
    /// `chosen` is 0 when nobody waited. It and `tasks` are as they were before the choice.
    fn pick(&mut self, _cpu: usize, _chosen: TaskId, _tasks: &[Task], _now: u64) {}
}

pub struct Nobody;
impl Watch for Nobody {}

struct Turn {
    task: TaskId,
    began: u64,
    charged: u64,
    ends: u64,
}

pub struct Bench<W> {
    pub machine: Machine,
    /// By id; 0 is nobody.
    pub tasks: Vec<Task>,
    pub segments: Vec<Segment>,
    pub switches: u64,
    pub watch: W,
    pub now: u64,
    /// Turns end at multiples of this; 0 is exactly at the end of a slice.
    pub tick: u64,
    turns: Vec<Option<Turn>>,
    last: Vec<TaskId>,
    joins: u64,
}

/// `spec`: a policy and its parameters by index, raw.
pub fn machine(spec: (&str, &[i64]), cpus: usize, quantum: u64) -> Machine {
    let params: Vec<_> = spec.1.iter().enumerate().map(|(i, v)| (spec.0, i, *v)).collect();
    Machine::new(&MachineConfig::new(spec.0, cpus as u32, quantum).with_params(&params)).unwrap()
}

impl<W: Watch> Bench<W> {
    pub fn new(spec: (&str, &[i64]), cpus: usize, quantum: u64, programs: &[Program], watch: W) -> Bench<W> {
        let nobody = Program::new(u64::MAX, 1024, &[]);
        let tasks = std::iter::once(&nobody).chain(programs).map(|p| Task {
            state: State::Away,
            weight: p.weight,
            arrived: 0,
            order: 0,
            service: 0,
            burst: 0,
            completion: 0,
            steps: p.steps.clone().into_iter(),
            left: 0,
            next_wake: Some(p.arrival),
        });
        let mut bench = Bench {
            machine: machine(spec, cpus, quantum),
            tasks: tasks.collect(),
            segments: Vec::new(),
            switches: 0,
            watch,
            now: 0,
            tick: 0,
            turns: (0..cpus).map(|_| None).collect(),
            last: vec![0; cpus],
            joins: 0,
        };
        for id in 1..bench.tasks.len() {
            let weight = bench.tasks[id].weight * Weight::ONE;
            bench.machine.add(id as TaskId, id as TaskId, weight, 0);
        }
        bench
    }

    /// Runs until nothing is left to do, or `end`. At one instant: bursts end by CPU, tasks wake by id, turns
    /// end by CPU.
    pub fn run(&mut self, end: u64) {
        while let Some(at) = self.next_event().filter(|at| *at <= end) {
            self.advance(at);
            self.finish_bursts();
            self.wake_all();
            for cpu in 0..self.turns.len() {
                if self.turns[cpu].as_ref().is_some_and(|t| t.ends <= at) {
                    self.dispatch(cpu);
                }
            }
        }
        self.advance(end);
        assert_eq!(self.machine.faults(), 0, "the policy broke its contract");
    }

    pub fn completions(&self) -> Vec<f64> {
        self.tasks[1..].iter().map(|t| t.completion as f64 / SEC as f64).collect()
    }

    fn next_event(&self) -> Option<u64> {
        let wakes = self.tasks[1..].iter().filter_map(|t| t.next_wake);
        let turns = self.turns.iter().flatten();
        wakes.chain(turns.map(|t| t.ends.min(self.now + self.tasks[t.task as usize].left))).min()
    }

    fn advance(&mut self, to: u64) {
        if self.turns.iter().all(Option::is_none) && self.next_event().is_none() {
            return;
        }
        let dt = to - self.now;
        for (cpu, turn) in self.turns.iter().enumerate() {
            let Some(turn) = turn else { continue };
            let task = &mut self.tasks[turn.task as usize];
            task.left -= dt;
            task.service += dt;
            task.burst += dt;
            let here = Segment { cpu, task: turn.task, from: self.now, to };
            match self.segments.iter_mut().rev().find(|s| s.cpu == cpu) {
                Some(s) if s.task == here.task && s.to == here.from => s.to = to,
                _ if dt > 0 => self.segments.push(here),
                _ => {}
            }
        }
        self.now = to;
    }

    fn settle(&mut self, cpu: usize) {
        let now = self.now;
        if let Some(turn) = &mut self.turns[cpu] {
            if now > turn.charged {
                self.watch.charge(turn.task, now - turn.charged, now);
            }
            turn.charged = now;
        }
    }

    fn finish_bursts(&mut self) {
        for cpu in 0..self.turns.len() {
            let Some(id) = self.turns[cpu].as_ref().map(|t| t.task) else { continue };
            if self.tasks[id as usize].left > 0 {
                continue;
            }
            self.settle(cpu);
            let now = self.now;
            let task = &mut self.tasks[id as usize];
            task.next_wake = task.steps.next().map(|sleep| now + sleep);
            let exits = task.next_wake.is_none();
            task.state = if exits { State::Done } else { State::Away };
            task.completion = now;
            let ran = now - self.turns[cpu].take().expect("it ran here").began;
            self.machine.block(id, ran, exits, now);
            self.watch.leave(id, exits, now);
            self.dispatch(cpu);
        }
    }

    fn wake_all(&mut self) {
        for id in 1..self.tasks.len() {
            let now = self.now;
            let task = &mut self.tasks[id];
            if task.next_wake.is_none_or(|at| at > now) {
                continue;
            }
            let new = task.arrived == 0 && task.order == 0;
            self.joins += 1;
            task.next_wake = None;
            task.left = task.steps.next().expect("a program ends with a burst");
            (task.state, task.arrived, task.order, task.burst) = (State::Waiting, now, self.joins, 0);
            let idle = self.turns.iter().any(Option::is_none);
            self.watch.join(id as TaskId, new, now);
            let kicked = self.machine.wake(id as TaskId, new, now).map(|cpu| cpu as usize);
            if !idle {
                // The machine asked whether tasks give way, CPU by CPU, and charged them for it.
                (0..=kicked.unwrap_or(self.turns.len() - 1)).for_each(|cpu| self.settle(cpu));
                self.watch.preempts(id as TaskId, kicked, now);
            }
            if let Some(cpu) = kicked {
                self.dispatch(cpu);
            }
        }
    }

    /// A task that is not done gets another weight, in the kernel's table.
    /// The policy's own parameters are in the order of its list.
    pub fn set_param(&mut self, index: u32, value: i64) {
        self.machine.tell(&Event::SetParam { owner: 0, index, value }, self.now);
    }

    pub fn set_weight(&mut self, id: TaskId, weight: u64) {
        let running = self.turns.iter().position(|t| t.as_ref().is_some_and(|t| t.task == id));
        running.into_iter().for_each(|cpu| self.settle(cpu));
        self.watch.reweigh(id, weight * Weight::ONE.fixed(), self.now);
        self.tasks[id as usize].weight = weight;
        self.machine.set_weight(id, weight * Weight::ONE, self.now);
    }

    /// The task on this CPU, if there is one, yields.
    pub fn yield_on(&mut self, cpu: usize) {
        if let Some(id) = self.turns[cpu].as_ref().map(|t| t.task) {
            self.settle(cpu);
            self.watch.yields(id);
            self.machine.yielding(cpu as u32);
            self.dispatch(cpu);
        }
    }

    fn dispatch(&mut self, cpu: usize) {
        let now = self.now;
        self.settle(cpu);
        let before = self.turns[cpu].as_ref().map(|t| t.task);
        if let Some(id) = before {
            self.watch.stop(id, now);
            self.tasks[id as usize].state = State::Waiting;
        }
        let order = self.machine.dispatch(cpu as u32, now);
        let chosen = order.map_or(0, |o| o.task);
        self.watch.pick(cpu, chosen, &self.tasks, now);
        let Some(order) = order else {
            assert!(before.is_none(), "idle beside a waiting task");
            return;
        };
        let mut ends = now.saturating_add(order.slice_ns);
        if self.tick > 0 {
            ends = ends.div_ceil(self.tick).saturating_mul(self.tick);
        }
        self.tasks[chosen as usize].state = State::Running;
        if before == Some(chosen) {
            self.turns[cpu].as_mut().expect("it runs here").ends = ends;
            return;
        }
        let old = self.turns[cpu].replace(Turn { task: chosen, began: now, charged: now, ends });
        let kicked = old.and_then(|old| self.machine.requeue(old.task, now - old.began, now));
        self.machine.running(chosen, now);
        if self.last[cpu] != chosen {
            self.switches += u64::from(self.last[cpu] != 0);
            self.last[cpu] = chosen;
        }
        if let Some(other) = kicked {
            self.dispatch(other as usize);
        }
    }
}

/// SplitMix64: pinned, so that a failure is the same everywhere.
pub struct Rng(pub u64);

impl Rng {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// From `low` to `high`, both included.
    pub fn within(&mut self, low: u64, high: u64) -> u64 {
        low + self.next() % (high - low + 1)
    }

    /// Programs that arrive, run, sleep and exit at odd times.
    pub fn programs(&mut self, tasks: u64, bursts: u64, longest: u64) -> Vec<Program> {
        (0..tasks)
            .map(|_| {
                let steps = 2 * self.within(0, bursts) + 1;
                let steps = (0..steps).map(|_| self.within(1, longest)).collect();
                Program { arrival: self.within(0, 5 * longest), weight: self.within(15, 4096), steps }
            })
            .collect()
    }
}
