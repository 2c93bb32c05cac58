//! The machine model: CPUs, time, and tasks that run their programs under a policy.
//!
//! Time is integer nanoseconds. What happens at one instant happens in this order, and again until nothing
//! is left to happen at it:
//!
//! 1. timers, in the order in which they were set: arrivals and wake-ups, so that a decision at an instant
//!    knows who came at that instant;
//! 2. CPUs whose task's turn or burst ends, by number: a burst that ends with the turn ends first, whom the task
//!    then wakes is there before its CPU decides, and while one CPU decides, those with higher numbers still run;
//! 3. CPUs that something above asked to decide (idle ones that work came for, preempted ones), by number.
//!
//! After every instant the invariants of [`checks`] hold, or the run ends with a [`Violation`].

mod checks;
mod deadlock;
pub mod entitled;
mod hierarchy;
mod instance;
mod programs;
mod sync;
mod timers;

use std::collections::{BTreeMap, VecDeque};

pub use checks::Violation;

use crate::run::Rows;
use crate::sharing::Sharing;
use divvy_policy::{CpuMask, Machine, TaskId};
use divvy_results::figures::Samples;
use divvy_results::metrics::{Delays, Job, Row};
use divvy_results::observation::{JobDone, Observation, Observer, Service};
use divvy_results::report::Run;
use divvy_workload::program::{Op, Program};
use divvy_workload::{Arrivals, Purpose, Stream, Workload, stream};
use entitled::Entitled;
use instance::{Instance, State};
use programs::Programs;
use sync::{Meeting, Mutex, Tokens};
use timers::{Timer, Timers};

const NEVER: u64 = u64::MAX;
/// Instructions that tasks may execute without time going on, beside some for each task; more is an endless loop.
const STEPS_AT_AN_INSTANT: u64 = 1_000_000;

/// How to run a workload, beside the workload itself.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Seed of all random streams.
    pub seed: u64,
    /// Repetition: part of the streams' names.
    pub rep: u32,
    /// When to stop; a run also ends when all tasks have.
    pub until_ns: Option<u64>,
    /// Number of first decisions to list for each CPU.
    pub schedule: usize,
    /// What the rows of the result stand for.
    pub rows: Rows,
    /// What tasks are entitled to by their weights.
    pub sharing: Sharing,
}

#[derive(Debug, Default)]
struct Cpu {
    /// 0 when idle.
    task: TaskId,
    /// Who ran here last, to know a switch.
    last: TaskId,
    /// When the task's service began, behind any cost of switching to it; moves on as it is accounted.
    served_until: u64,
    /// Service since the machine was told that it runs.
    ran_ns: u64,
    turn_ends: u64,
    /// Of the switch to its task, what falls in the time that is counted.
    switch_ns: u64,
    /// Since when it has been idle, if it is.
    idle_since: u64,
}

impl Cpu {
    /// What of the switch to its task was done until now: all, unless it is in progress.
    fn switched_ns(&self, now: u64) -> u64 {
        self.switch_ns - self.served_until.saturating_sub(now).min(self.switch_ns)
    }
}

/// What the workload says of a task, ready to use.
struct Class {
    program: Program,
    /// Its result rows: one for each instance, or a single one for a class of short tasks.
    first_row: usize,
    rows: usize,
    weight: u64,
    allowed: Option<CpuMask>,
    /// Its number, if it has a name.
    process: Option<usize>,
    group: Option<usize>,
    /// Index of what its instances execute.
    executable: usize,
    /// Instances so far, which numbers their random streams.
    born: u32,
    arrivals: Stream,
    left: u64,
    stopped: bool,
    /// The instance that tokens go to.
    instance: TaskId,
    tokens: Tokens,
}

/// One run in progress.
pub struct Engine<'a> {
    workload: &'a Workload,
    setup: Setup,
    machine: Machine,
    observer: Option<Observer<'a>>,
    /// The CPU whose task executes its program.
    acting: Option<u32>,
    now: u64,
    timers: Timers,
    cpus: Vec<Cpu>,
    /// When each CPU's turn or burst ends.
    next: Vec<u64>,
    /// CPUs asked to decide.
    asked: CpuMask,
    asked_any: bool,
    /// Tasks that something at this instant woke, with their generation.
    woken: VecDeque<(TaskId, u32)>,
    /// Instructions executed at this instant.
    steps: u64,
    tasks: Vec<Instance>,
    free: Vec<TaskId>,
    alive: u64,
    /// When the last task so far ended.
    ended_ns: u64,
    runnable: u64,
    running: u64,
    classes: Vec<Class>,
    /// Number of processes with a name. Their ids in the machine are counted down from the greatest, so that none is a task's.
    processes: usize,
    programs: Programs,
    mutexes: Vec<Mutex>,
    meetings: Vec<Meeting>,
    entitled: Entitled,
    rows: Vec<Row>,
    /// Of all rows.
    delays: Delays,
    schedule: Vec<Vec<String>>,
    schedule_full: bool,
    switches: u64,
    migrations: u64,
    decisions_before: u64,
    counted_from: u64,
    /// Whether series over time are wanted; what was seen; when to look next.
    keeps_series: bool,
    samples: Option<Samples>,
    sample_due: u64,
    /// Number of values of the policy that the observer is told, and the tasks whose may have changed at this instant.
    values: u32,
    touched: Vec<TaskId>,
    /// CPU time since statistics began: spent on switches, given to tasks, and of CPUs that had none.
    overhead_ns: u64,
    busy_ns: u64,
    idle_ns: u64,
    warm: bool,
}

impl<'a> Engine<'a> {
    /// A run of `workload` on `machine`, which must be new and have the workload's number of CPUs.
    pub fn new(workload: &'a Workload, machine: Machine, setup: Setup) -> Engine<'a> {
        let n = workload.cpus as usize;
        let mut engine = Engine {
            workload,
            machine,
            observer: None,
            acting: None,
            now: 0,
            timers: Timers::default(),
            cpus: std::iter::repeat_with(Cpu::default).take(n).collect(),
            next: vec![NEVER; n],
            asked: CpuMask::default(),
            asked_any: false,
            woken: VecDeque::new(),
            steps: 0,
            tasks: vec![Instance::vacant()],
            free: Vec::new(),
            alive: 0,
            ended_ns: 0,
            runnable: 0,
            running: 0,
            classes: Vec::new(),
            processes: 0,
            programs: Programs::default(),
            mutexes: workload.locks.iter().map(|_| Mutex::default()).collect(),
            meetings: workload.barriers.iter().map(|b| Meeting::new(b.parties)).collect(),
            entitled: Entitled::new(workload.cpus, setup.sharing, &workload.groups),
            rows: Vec::new(),
            delays: Delays::default(),
            schedule: vec![Vec::new(); n],
            schedule_full: setup.schedule == 0,
            switches: 0,
            migrations: 0,
            decisions_before: 0,
            counted_from: 0,
            keeps_series: false,
            samples: None,
            sample_due: NEVER,
            values: 0,
            touched: Vec::new(),
            overhead_ns: 0,
            busy_ns: 0,
            idle_ns: 0,
            warm: workload.warmup_ns == 0,
            setup,
        };
        engine.make_groups();
        engine.make_classes();
        engine
    }

    /// Tells `observer` what happens to tasks.
    pub fn observe(&mut self, observer: Observer<'a>) {
        self.observer = Some(observer);
    }

    fn tell(&mut self, observation: Observation) {
        if let Some(observer) = &mut self.observer {
            observer(observation);
        }
    }

    /// Runs to the end. `progress` is told the simulated time now and then, and stops the run by `false`.
    pub fn run(mut self, policy: &str, progress: &dyn Fn(u64) -> bool) -> Result<Run, Violation> {
        let until = self.setup.until_ns.unwrap_or(NEVER);
        self.check_countable(self.setup.until_ns.unwrap_or(0))?;
        let mut instants = 0_u64;
        loop {
            let (at, cpu) = self.next_instant();
            if at == NEVER {
                self.check_stuck()?;
            }
            if at > until || at == NEVER {
                break;
            }
            self.check_countable(at)?;
            if self.sample_due <= at {
                self.sample_until(at);
            }
            self.now = at;
            self.steps = 0;
            self.instant(cpu)?;
            instants += 1;
            if instants & 0xffff == 0 && !progress(self.now) {
                return Err(self.violation("the run was interrupted".into()));
            }
        }
        let end = match until {
            _ if self.alive == 0 && !self.more_to_come() => self.ended_ns,
            NEVER => self.now,
            _ => until,
        };
        self.sample_until(end);
        self.finish(end)?;
        Ok(self.report(policy, end))
    }

    /// Whether tasks are to start or to arrive. (Other timers may be left of tasks that are gone.)
    fn more_to_come(&self) -> bool {
        self.timers.pending().any(|timer| match timer {
            Timer::Start { class } | Timer::Arrival { class } => !self.classes[class as usize].stopped,
            Timer::Wake { .. } | Timer::Stop { .. } | Timer::WarmedUp => false,
        })
    }

    /// The next time at which something happens, and the first CPU to which it does.
    fn next_instant(&self) -> (u64, usize) {
        let (mut at, mut cpu) = (self.timers.next_ns(), self.next.len());
        for (i, &t) in self.next.iter().enumerate() {
            if t < at {
                at = t;
                cpu = i;
            }
        }
        (at, cpu)
    }

    /// All that happens now. `first` is the first CPU that is due, if no timer is due before.
    fn instant(&mut self, first: usize) -> Result<(), Violation> {
        let mut from = first;
        loop {
            if self.timers.next_ns() <= self.now {
                from = 0;
                while let Some(timer) = self.timers.pop_due(self.now) {
                    self.fire(timer)?;
                    self.wake_woken()?;
                }
            }
            for cpu in from..self.next.len() {
                if self.next[cpu] <= self.now {
                    self.due(cpu)?;
                    self.wake_woken()?;
                }
            }
            if self.asked_any {
                self.decide_where_asked()?;
            }
            // Work is at least 1 ns and so is a turn: no CPU is due again at this instant.
            if !self.asked_any && self.timers.next_ns() > self.now {
                self.tell_values();
                return self.check();
            }
            from = self.next.len();
        }
    }

    // ---- timers ----

    fn fire(&mut self, timer: Timer) -> Result<(), Violation> {
        match timer {
            Timer::Start { class } => self.start(class as usize),
            Timer::Arrival { class } => self.arrive(class as usize),
            Timer::Wake { task, generation } => {
                let t = &self.tasks[task as usize];
                if t.generation == generation && t.state == State::Asleep {
                    self.wake(task)?;
                }
                Ok(())
            }
            Timer::Stop { class } => self.stop_class(class as usize),
            Timer::WarmedUp => {
                self.warm_up();
                Ok(())
            }
        }
    }

    fn start(&mut self, class: usize) -> Result<(), Violation> {
        if matches!(self.workload.tasks[class].arrivals, Arrivals::Open { .. }) {
            self.next_arrival(class);
            return Ok(());
        }
        self.spawn_all(class)
    }

    fn next_arrival(&mut self, index: usize) {
        let Arrivals::Open { interarrival, .. } = &self.workload.tasks[index].arrivals else { return };
        let class = &mut self.classes[index];
        if class.left == 0 || class.stopped {
            return;
        }
        class.left -= 1;
        let at = self.now.saturating_add(interarrival.sample(&mut class.arrivals));
        self.timers.set(at, Timer::Arrival { class: index as u32 });
    }

    fn arrive(&mut self, class: usize) -> Result<(), Violation> {
        if self.classes[class].stopped {
            return Ok(());
        }
        self.spawn_all(class)?;
        self.next_arrival(class);
        Ok(())
    }

    fn stop_class(&mut self, class: usize) -> Result<(), Violation> {
        self.classes[class].stopped = true;
        for task in 1..self.tasks.len() as TaskId {
            let t = &self.tasks[task as usize];
            if t.state != State::Vacant && t.class as usize == class {
                self.end_from_outside(task)?;
            }
        }
        Ok(())
    }

    // ---- CPUs ----

    /// A CPU's turn or burst ends now.
    fn due(&mut self, cpu: usize) -> Result<(), Violation> {
        self.account(cpu);
        let task = self.cpus[cpu].task;
        if self.tasks[task as usize].demand_ns == 0 {
            self.acting = Some(cpu as u32);
            let done = self.advance_on_cpu(cpu);
            self.acting = None;
            return done;
        }
        self.decide(cpu)
    }

    /// Gives the task on a CPU the service since the last time.
    fn account(&mut self, cpu: usize) {
        let c = &mut self.cpus[cpu];
        if c.task == 0 || self.now <= c.served_until {
            return;
        }
        let ran = self.now - c.served_until;
        let from_ns = std::mem::replace(&mut c.served_until, self.now);
        c.ran_ns += ran;
        let task = c.task;
        let t = &mut self.tasks[task as usize];
        t.serve(ran);
        self.busy_ns += ran;
        let row = t.row as usize;
        self.tell(Observation::Served(Service { cpu: cpu as u32, row, task, from_ns, to_ns: self.now }));
    }

    fn ask(&mut self, cpu: Option<u32>) {
        if let Some(cpu) = cpu {
            self.asked[cpu as usize / 64] |= 1 << (cpu % 64);
            self.asked_any = true;
        }
    }

    fn decide_where_asked(&mut self) -> Result<(), Violation> {
        let asked = std::mem::take(&mut self.asked);
        self.asked_any = false;
        for (word, mut bits) in asked.into_iter().enumerate() {
            while bits != 0 {
                let cpu = word * 64 + bits.trailing_zeros() as usize;
                bits &= bits - 1;
                // Work is left here: a burst that ends now was due before, and its task is on with the next.
                self.account(cpu);
                self.decide(cpu)?;
            }
        }
        Ok(())
    }

    /// The policy says who runs here next. Whoever ran here is accounted and has work left.
    fn decide(&mut self, cpu: usize) -> Result<(), Violation> {
        self.asked[cpu / 64] &= !(1 << (cpu % 64));
        let former = self.cpus[cpu].task;
        let decision = self.machine.dispatch(cpu as u32, self.now);
        self.touch(former);
        let chosen = decision.map_or(0, |d| d.task);
        if former != 0 && chosen != former {
            self.sample_error(former);
            self.put_back(cpu, former);
        }
        let Some(decision) = decision else {
            if former != 0 {
                self.vacate(cpu);
            }
            self.next[cpu] = NEVER;
            return Ok(());
        };
        self.ask(decision.asked);
        if !self.schedule_full {
            self.list_decision(cpu, chosen);
        }
        if chosen != former {
            self.take_over(cpu, chosen)?;
        }
        let began = self.cpus[cpu].served_until.max(self.now);
        self.cpus[cpu].turn_ends = self.end_of_turn(began, decision.slice_ns);
        self.set_next(cpu);
        Ok(())
    }

    /// The task's turn is over and another's begins.
    fn put_back(&mut self, cpu: usize, task: TaskId) {
        let t = &mut self.tasks[task as usize];
        t.state = State::Waiting;
        t.since_ns = self.now;
        self.running -= 1;
        self.overhead_ns += self.cpus[cpu].switched_ns(self.now);
        let asked = self.machine.requeue(task, self.cpus[cpu].ran_ns, self.now);
        self.ask(asked);
    }

    fn take_over(&mut self, cpu: usize, task: TaskId) -> Result<(), Violation> {
        if self.tasks[task as usize].state != State::Waiting {
            let state = self.tasks[task as usize].state;
            return Err(self.violation(format!("CPU {cpu} was given task {task}, which is {state:?}")));
        }
        let c = &mut self.cpus[cpu];
        let t = &mut self.tasks[task as usize];
        let mut cost = 0;
        // A task that never ran is not the one that ran here last, even if it has its id.
        if c.last != 0 && (c.last != task || t.last_cpu == u32::MAX) {
            self.switches += 1;
            cost += self.workload.switch_cost_ns;
        }
        if t.last_cpu != cpu as u32 && t.last_cpu != u32::MAX {
            self.migrations += 1;
            cost += self.workload.migration_cost_ns;
        }
        let waited = self.now - t.since_ns;
        t.wait_ns += waited;
        if std::mem::take(&mut t.woken) && t.counts && t.demand_ns != NEVER {
            self.rows[t.row as usize].delays.wake_delay.record(waited);
            self.delays.wake_delay.record(waited);
        }
        t.state = State::Running;
        t.last_cpu = cpu as u32;
        if c.task == 0 {
            self.idle_ns += self.now - c.idle_since;
        }
        c.task = task;
        c.last = task;
        c.ran_ns = 0;
        c.served_until = self.now.saturating_add(cost);
        c.switch_ns = c.served_until - self.now;
        self.running += 1;
        self.machine.running(task, self.now.saturating_add(cost));
        self.touch(task);
        self.sample_error(task);
        Ok(())
    }

    fn end_of_turn(&self, began: u64, slice_ns: u64) -> u64 {
        let end = began.saturating_add(slice_ns.max(1));
        match self.workload.tick_ns {
            Some(tick) if end != NEVER => end.div_ceil(tick).saturating_mul(tick),
            _ => end,
        }
    }

    fn set_next(&mut self, cpu: usize) {
        let c = &self.cpus[cpu];
        let began = c.served_until.max(self.now);
        let burst_ends = began.saturating_add(self.tasks[c.task as usize].demand_ns);
        self.next[cpu] = c.turn_ends.min(burst_ends);
    }

    /// The task on this CPU has no work left: on with its program.
    fn advance_on_cpu(&mut self, cpu: usize) -> Result<(), Violation> {
        let task = self.cpus[cpu].task;
        match self.advance(task)? {
            Outcome::Works if self.now < self.cpus[cpu].turn_ends => {
                self.set_next(cpu);
                Ok(())
            }
            Outcome::Works => self.wake_and_decide(cpu),
            Outcome::Yields => {
                self.wake_woken()?;
                self.machine.yielding(cpu as u32);
                self.decide(cpu)
            }
            outcome => {
                self.leave_cpu(cpu, outcome == Outcome::Exits);
                if outcome == Outcome::Exits {
                    self.bury(task);
                }
                self.wake_and_decide(cpu)
            }
        }
    }

    /// As in a kernel, whom a task wakes before it gives up its CPU can be chosen for that CPU.
    fn wake_and_decide(&mut self, cpu: usize) -> Result<(), Violation> {
        self.wake_woken()?;
        self.decide(cpu)
    }

    fn leave_cpu(&mut self, cpu: usize, exits: bool) {
        let task = self.cpus[cpu].task;
        self.sample_error(task);
        self.running -= 1;
        self.runnable -= 1;
        self.machine.block(task, self.cpus[cpu].ran_ns, exits, self.now);
        self.touch(task);
        self.tell(Observation::Rests { task, at_ns: self.now });
        self.overhead_ns += self.cpus[cpu].switched_ns(self.now);
        self.vacate(cpu);
    }

    fn vacate(&mut self, cpu: usize) {
        self.cpus[cpu].task = 0;
        self.cpus[cpu].idle_since = self.now;
    }
}

/// What a task does after the instructions that take no time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    Works,
    Yields,
    Blocks,
    Exits,
}

mod figures;
mod life;
mod result;
