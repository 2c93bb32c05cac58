//! A small event loop around a `Machine`: just enough to run programs of bursts and sleeps, watched.

use divvy_policy::{CpuId, Event, Machine, MachineConfig, TaskId, Weight};

/// A millisecond, in ns.
pub const MS: u64 = 1_000_000;
/// A second, in ns.
pub const SEC: u64 = 1_000 * MS;

/// The program of a task after it arrives: run, sleep, run, ... for so many ns each, then exit.
#[derive(Clone)]
pub struct Program {
    /// Time of arrival, in ns.
    pub arrival: u64,
    /// In the kernel's table: nice 0 is 1024.
    pub weight: u64,
    /// Bursts and sleeps in turn, in ns; the first and the last are bursts.
    pub steps: Vec<u64>,
}

impl Program {
    /// A program from its three parts.
    pub fn new(arrival: u64, weight: u64, steps: &[u64]) -> Program {
        Program { arrival, weight, steps: steps.to_vec() }
    }
}

/// Where a task is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It has not come, or it sleeps.
    Away,
    /// It is runnable and has no CPU.
    Waiting,
    /// It is on a CPU.
    Running,
    /// It has exited.
    Done,
}

/// The bench's own account of a task, from events only.
pub struct Task {
    /// Where it is now.
    pub state: State,
    /// In the kernel's table.
    pub weight: u64,
    /// When it last became runnable, in ns.
    pub arrived: u64,
    /// Its place among the tasks that became runnable.
    pub order: u64,
    /// Service in all, in ns.
    pub service: u64,
    /// Service since it last became runnable, in ns.
    pub burst: u64,
    /// When its last burst so far ended, in ns.
    pub completion: u64,
    steps: std::vec::IntoIter<u64>,
    left: u64,
    next_wake: Option<u64>,
}

/// A stretch of time in which one CPU ran one task.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Segment {
    /// The CPU.
    pub cpu: usize,
    /// The task.
    pub task: TaskId,
    /// Its begin, in ns.
    pub from: u64,
    /// Its end, in ns.
    pub to: u64,
}

/// A watcher sees the events that the machine is told, in the same order.
pub trait Watch {
    /// A task becomes runnable; `new` if it does so for the first time.
    fn join(&mut self, _id: TaskId, _new: bool, _now: u64) {}
    /// A task blocks or exits.
    fn leave(&mut self, _id: TaskId, _exits: bool, _now: u64) {}
    /// The turn on `cpu` is over, as its task waits again; service is charged up to here.
    fn stop(&mut self, _id: TaskId, _now: u64) {}
    /// A task is charged for `ran` ns.
    fn charge(&mut self, _id: TaskId, _ran: u64, _now: u64) {}
    /// The turn that ends next does so because its task yields.
    fn yields(&mut self, _id: TaskId) {}
    /// A task gets another weight, in the machine's unit.
    fn reweigh(&mut self, _id: TaskId, _weight: u64, _now: u64) {}
    /// A task's program says that it begins a session; it is runnable or not.
    fn session(&mut self, _id: TaskId, _is_runnable: bool, _now: u64) {}
    /// A task joined when all CPUs were busy, and took a CPU or not.
    fn preempts(&mut self, _woken: TaskId, _cpu: Option<usize>, _now: u64) {}
    /// `chosen` is `None` when nobody waited. It and `tasks` are as they were before the choice.
    fn pick(&mut self, _cpu: usize, _chosen: Option<TaskId>, _tasks: &[Task], _now: u64) {}
}

/// Watches nothing.
pub struct Nobody;
impl Watch for Nobody {}

struct Turn {
    task: TaskId,
    began: u64,
    charged: u64,
    ends: u64,
}

/// A machine, the tasks on it, and the time.
pub struct Bench<W> {
    /// The machine under test.
    pub machine: Machine,
    /// By id; the first is no task's.
    pub tasks: Vec<Task>,
    /// Which CPU ran which task, in order of time.
    pub segments: Vec<Segment>,
    /// How often a CPU went from one task to another.
    pub switches: u64,
    /// The watcher.
    pub watch: W,
    /// The time, in ns.
    pub now: u64,
    /// Turns end at multiples of this; 0 is exactly at the end of a slice.
    pub tick: u64,
    turns: Vec<Option<Turn>>,
    last: Vec<Option<TaskId>>,
    joins: u64,
}

/// `spec`: a policy and its parameters by index, raw.
pub fn machine(spec: (&str, &[i64]), cpus: usize, quantum: u64) -> Machine {
    let params: Vec<_> = spec.1.iter().enumerate().map(|(i, v)| (spec.0, i, *v)).collect();
    Machine::new(&MachineConfig::new(spec.0, cpus as u32, quantum).with_params(&params)).unwrap()
}

impl<W: Watch> Bench<W> {
    /// All tasks are added and none has come yet. `spec` is as in [`machine`].
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
            last: vec![None; cpus],
            joins: 0,
        };
        for id in TaskId::all().take(programs.len()) {
            let weight = bench.tasks[id.index()].weight * Weight::ONE;
            bench.machine.add(id, id, weight, 0);
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

    /// When each task ended, in s.
    pub fn completions(&self) -> Vec<f64> {
        self.tasks[1..].iter().map(|t| t.completion as f64 / SEC as f64).collect()
    }

    fn next_event(&self) -> Option<u64> {
        let wakes = self.tasks[1..].iter().filter_map(|t| t.next_wake);
        let turns = self.turns.iter().flatten();
        wakes.chain(turns.map(|t| t.ends.min(self.now + self.tasks[t.task.index()].left))).min()
    }

    fn advance(&mut self, to: u64) {
        if self.turns.iter().all(Option::is_none) && self.next_event().is_none() {
            return;
        }
        let dt = to - self.now;
        for (cpu, turn) in self.turns.iter().enumerate() {
            let Some(turn) = turn else { continue };
            let task = &mut self.tasks[turn.task.index()];
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
            if self.tasks[id.index()].left > 0 {
                continue;
            }
            self.settle(cpu);
            let now = self.now;
            let task = &mut self.tasks[id.index()];
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
        for id in TaskId::all().take(self.tasks.len() - 1) {
            let now = self.now;
            let task = &mut self.tasks[id.index()];
            if task.next_wake.is_none_or(|at| at > now) {
                continue;
            }
            let new = task.arrived == 0 && task.order == 0;
            self.joins += 1;
            task.next_wake = None;
            task.left = task.steps.next().expect("a program ends with a burst");
            (task.state, task.arrived, task.order, task.burst) = (State::Waiting, now, self.joins, 0);
            let idle = self.turns.iter().any(Option::is_none);
            self.watch.join(id, new, now);
            let kicked = self.machine.wake(id, new, now).map(CpuId::index);
            if !idle {
                // The machine asked whether tasks give way, CPU by CPU, and charged them for it.
                (0..=kicked.unwrap_or(self.turns.len() - 1)).for_each(|cpu| self.settle(cpu));
                self.watch.preempts(id, kicked, now);
            }
            if let Some(cpu) = kicked {
                self.dispatch(cpu);
            }
        }
    }

    /// Sets a parameter of the policy, by its place in the policy's list.
    pub fn set_param(&mut self, index: u32, value: i64) {
        self.machine.tell(&Event::SetParam { owner: 0, index, value }, self.now);
    }

    /// A task that is not done gets another weight, in the kernel's table.
    pub fn set_weight(&mut self, id: TaskId, weight: u64) {
        let running = self.turns.iter().position(|t| t.as_ref().is_some_and(|t| t.task == id));
        running.into_iter().for_each(|cpu| self.settle(cpu));
        self.watch.reweigh(id, weight * Weight::ONE.fixed(), self.now);
        self.tasks[id.index()].weight = weight;
        self.machine.set_weight(id, weight * Weight::ONE, self.now);
    }

    /// The program of a task that is not done says that it begins a session.
    pub fn session(&mut self, id: TaskId) {
        let running = self.turns.iter().position(|t| t.as_ref().is_some_and(|t| t.task == id));
        running.into_iter().for_each(|cpu| self.settle(cpu));
        let is_runnable = matches!(self.tasks[id.index()].state, State::Waiting | State::Running);
        self.watch.session(id, is_runnable, self.now);
        self.machine.tell(&Event::Session { task: id }, self.now);
    }

    /// The task on this CPU, if there is one, yields.
    pub fn yield_on(&mut self, cpu: usize) {
        if let Some(id) = self.turns[cpu].as_ref().map(|t| t.task) {
            self.settle(cpu);
            self.watch.yields(id);
            self.machine.yielding(CpuId::at(cpu));
            self.dispatch(cpu);
        }
    }

    fn dispatch(&mut self, cpu: usize) {
        let now = self.now;
        self.settle(cpu);
        let before = self.turns[cpu].as_ref().map(|t| t.task);
        if let Some(id) = before {
            self.watch.stop(id, now);
            self.tasks[id.index()].state = State::Waiting;
        }
        let order = self.machine.dispatch(CpuId::at(cpu), now);
        self.watch.pick(cpu, order.map(|order| order.task), &self.tasks, now);
        let Some(order) = order else {
            assert!(before.is_none(), "idle beside a waiting task");
            return;
        };
        let chosen = order.task;
        let mut ends = now.saturating_add(order.slice_ns);
        if self.tick > 0 {
            ends = ends.div_ceil(self.tick).saturating_mul(self.tick);
        }
        self.tasks[chosen.index()].state = State::Running;
        if before == Some(chosen) {
            self.turns[cpu].as_mut().expect("it runs here").ends = ends;
            return;
        }
        let old = self.turns[cpu].replace(Turn { task: chosen, began: now, charged: now, ends });
        let kicked = old.and_then(|old| self.machine.requeue(old.task, now - old.began, now));
        self.machine.running(chosen, now);
        let last = self.last[cpu].replace(chosen);
        self.switches += u64::from(last.is_some_and(|last| last != chosen));
        if let Some(other) = kicked {
            self.dispatch(other.index());
        }
    }
}

/// The example of the PBS paper's Figure 2: arrivals and demands.
pub fn four_jobs() -> Vec<Program> {
    let jobs = [(0, 4500), (1, 2500), (3, 3000), (5, 2000)];
    jobs.map(|(at, ms)| Program::new(at * SEC, 1024, &[ms * MS])).to_vec()
}

/// When each of the [`four_jobs`] ends on one CPU with quanta of 1 ms, in s.
pub fn ends_of_four_jobs(spec: (&str, &[i64])) -> Vec<f64> {
    let mut bench = Bench::new(spec, 1, MS, &four_jobs(), Nobody);
    bench.run(12 * SEC);
    bench.completions()
}
