//! o1: papers/o1.md.

use divvy_policy::{CpuId, Event, Machine, MachineConfig, TaskId, Weight};
use divvy_tests::bench::{Bench, MS, Nobody, Program, SEC};
use divvy_tests::example;
use divvy_tests::nice::{NICE_0, NICE_19, NICE_MINUS_20, hogs, turns};
use divvy_tests::random::Rng;

const O1: (&str, &[i64]) = ("o1", &[]);

#[test]
fn o1_r2_r4_r7_shares_are_time_slices() {
    let mut bench = Bench::new(O1, 1, MS, &hogs(&[NICE_MINUS_20, NICE_0, NICE_19]), Nobody);
    bench.run(905 * 40 * MS);
    for (task, ms) in bench.tasks[1..].iter().zip([800, 100, 5]) {
        assert!(task.service.abs_diff(40 * ms * MS) <= ms * MS, "{}", task.service);
    }
    assert_eq!(turns(&bench)[..4], [(1, 800), (2, 100), (3, 5), (1, 800)]);
}

/// 5 ms of work, 50 of sleep: after some time it is interactive, and takes the CPU from hogs whenever it wakes.
#[test]
fn o1_r1_r3_r8_sleepers_preempt() {
    let mut programs = hogs(&[NICE_0; 3]);
    programs.push(Program::new(0, NICE_0, &[5 * MS, 50 * MS].repeat(300)));
    let mut bench = Bench::new(O1, 1, MS, &programs, Nobody);
    bench.run(10 * SEC);
    let of_4: Vec<_> = bench.segments.iter().filter(|s| s.task == 4 && s.from > 3 * SEC).collect();
    assert!(of_4.len() > 100, "{}", of_4.len());
    for pair in of_4.windows(2) {
        assert_eq!(pair[1].from, pair[0].to + 50 * MS);
    }
}

/// Six tasks that ask for 20 % each, and would stay interactive, beside a hog: an expired task runs after at most a
/// second a task.
#[test]
fn o1_r5_r6_nobody_starves() {
    let mut programs = hogs(&[NICE_0]);
    programs.extend(vec![Program::new(0, NICE_0, &[7 * MS, 28 * MS].repeat(2000)); 6]);
    let mut bench = Bench::new(O1, 1, MS, &programs, Nobody);
    bench.run(60 * SEC);
    let of_1: Vec<_> = bench.segments.iter().filter(|s| s.task == 1).collect();
    let longest = of_1.windows(2).map(|pair| pair[1].from - pair[0].to).max().unwrap();
    assert!(longest < 9 * SEC, "{longest}");
    assert!(of_1.last().unwrap().to > 50 * SEC);
}

/// A task that yields is expired: it goes on with the rest of its time slice after all others have had theirs.
#[test]
fn o1_r6_yields() {
    let mut bench = Bench::new(O1, 1, MS, &hogs(&[NICE_0; 3]), Nobody);
    bench.run(10 * MS);
    bench.yield_on(0);
    bench.run(400 * MS);
    assert_eq!(turns(&bench)[..4], [(1, 10), (2, 100), (3, 100), (1, 90)]);
}

/// R3 and R9 in another program, for tasks of nice 0 on a CPU where each event charges what ran until then.
#[derive(Clone, Copy, Default, PartialEq, Debug)]
struct Kin {
    sleep_avg: u64,
    time_slice: u64,
    slept: u64,
    first_time_slice: bool,
    parent: Option<usize>,
    runnable: bool,
    gone: bool,
}

impl Kin {
    fn bonus(&self) -> u64 {
        self.sleep_avg / (100 * MS)
    }

    fn ran(&mut self, ns: u64) {
        let less = ns.min(SEC) / self.bonus().max(1);
        self.sleep_avg = self.sleep_avg.saturating_sub(less);
        self.time_slice = self.time_slice.saturating_sub(ns);
    }

    fn refill(&mut self) {
        if self.time_slice == 0 {
            (self.time_slice, self.first_time_slice) = (100 * MS, false);
        }
    }

    fn wakes(&mut self, now: u64) {
        let sleep = now - self.slept;
        self.sleep_avg = match sleep {
            s if s > 799 * MS => 900 * MS,
            s => (self.sleep_avg + s * (10 - self.bonus()).max(1)).min(SEC),
        };
    }
}

/// A machine with o1 and one CPU, beside the model. Task 1 is there from the start, others are its kin.
struct Family {
    machine: Machine,
    kin: Vec<Kin>,
    now: u64,
    on: Option<usize>,
    since: u64,
    charged: u64,
}

impl Family {
    fn new() -> Family {
        let machine = Machine::new(&MachineConfig::new("o1", 1, MS)).unwrap();
        let mut family =
            Family { machine, kin: vec![Kin::default()], now: 0, on: None, since: 0, charged: 0 };
        family.comes(None, true);
        family
    }

    fn pass(&mut self, ns: u64) {
        self.now += ns;
    }

    /// Each event charges the task that runs.
    fn charge(&mut self) {
        if let Some(task) = self.on {
            self.kin[task].ran(self.now - self.charged);
        }
        self.charged = self.now;
    }

    fn comes(&mut self, parent: Option<usize>, process: bool) -> usize {
        let task = self.kin.len();
        let mut new = Kin { runnable: true, parent, ..Kin::default() };
        let leader = if process { task } else { parent.unwrap() };
        self.machine.add(TaskId::at(task), TaskId::at(leader), Weight::NICE_0, self.now);
        self.charge();
        if let Some(parent) = parent {
            self.machine
                .tell(&Event::Fork { task: TaskId::at(task), parent: Some(TaskId::at(parent)) }, self.now);
            let p = &mut self.kin[parent];
            new.sleep_avg = p.bonus() * 95 / 100 * 100 * MS;
            p.sleep_avg = p.bonus() * 100 * MS;
            new.time_slice = p.time_slice.div_ceil(2);
            new.first_time_slice = true;
            p.time_slice /= 2;
        }
        new.refill();
        self.kin.push(new);
        if self.machine.wake(TaskId::at(task), true, self.now).is_some() {
            self.dispatch();
        }
        task
    }

    fn dispatch(&mut self) {
        self.charge();
        let next = self.machine.dispatch(CpuId::new(0), self.now).map(|d| d.task.index());
        if let Some(task) = self.on {
            self.kin[task].refill();
        }
        if next == self.on {
            return;
        }
        if let Some(task) = self.on {
            self.machine.requeue(TaskId::at(task), self.now - self.since, self.now);
        }
        (self.on, self.since) = (next, self.now);
        if let Some(task) = next {
            self.machine.running(TaskId::at(task), self.now);
        }
    }

    fn leaves(&mut self, exits: bool) {
        let Some(task) = self.on else { return };
        self.charge();
        self.machine.block(TaskId::at(task), self.now - self.since, exits, self.now);
        self.on = None;
        let mut kin = self.kin[task];
        (kin.runnable, kin.slept, kin.gone) = (false, self.now, exits);
        if let (true, Some(parent)) = (exits, kin.parent) {
            let p = &mut self.kin[parent];
            if kin.first_time_slice {
                p.time_slice = (p.time_slice + kin.time_slice).min(100 * MS);
            }
            if kin.sleep_avg < p.sleep_avg {
                p.sleep_avg = p.sleep_avg / 4 * 3 + kin.sleep_avg / 4;
            }
        }
        self.kin[task] = kin;
        self.dispatch();
    }

    fn wakes(&mut self, task: usize) {
        self.charge();
        self.kin[task].wakes(self.now);
        self.kin[task].refill();
        self.kin[task].runnable = true;
        if self.machine.wake(TaskId::at(task), false, self.now).is_some() {
            self.dispatch();
        }
    }

    fn check(&mut self) {
        for (task, kin) in self.kin.iter().enumerate().skip(1).filter(|(_, kin)| !kin.gone) {
            let shown = |what| self.machine.value(what, TaskId::at(task), self.now) as u64;
            assert_eq!((shown(1), shown(2)), (kin.sleep_avg, kin.time_slice), "task {task} at {}", self.now);
        }
        assert_eq!(self.machine.faults(), 0);
        assert_eq!(self.on.is_some(), self.kin.iter().any(|kin| kin.runnable));
    }
}

#[test]
fn o1_r3_r9_averages_and_time_slices_of_families() {
    let mut rng = Rng(31);
    for _ in 0..1000 {
        let mut family = Family::new();
        for _ in 0..60 {
            family.pass([0, 1, 30_000, 7 * MS, 60 * MS, 300 * MS, SEC][rng.within(0, 6) as usize]);
            let asleep: Vec<usize> =
                (1..family.kin.len()).filter(|&t| !family.kin[t].runnable && !family.kin[t].gone).collect();
            match rng.within(0, 7) {
                0 | 1 if family.on.is_some() && family.kin.len() < 12 => {
                    let process = rng.within(0, 1) == 1;
                    family.comes(family.on, process);
                }
                2 if rng.within(0, 2) == 0 => family.leaves(family.kin.len() > 3),
                2 | 3 => family.leaves(false),
                4 | 5 if !asleep.is_empty() => {
                    let i = rng.within(0, asleep.len() as u64 - 1) as usize;
                    family.wakes(asleep[i]);
                }
                _ => {
                    family.charge();
                    family.dispatch();
                }
            }
            family.check();
        }
    }
}

/// A task that slept long has 900 ms, after a run of 20 ms more than 800: of its 8 whole tenths of a second a child has
/// 8 * 95 / 100 = 7, and half of what is left of the time slice, 100 - 20 ms.
#[test]
fn o1_r9_a_child_inherits() {
    let mut family = Family::new();
    family.dispatch();
    family.leaves(false);
    family.pass(2 * SEC);
    family.wakes(1);
    family.pass(20 * MS);
    let child = family.comes(Some(1), true);
    assert_eq!(family.on, Some(child), "a child goes first");
    let of =
        |family: &Family, task: usize| (family.kin[task].sleep_avg / MS, family.kin[task].time_slice / MS);
    assert_eq!((of(&family, child), of(&family, 1)), ((700, 40), (800, 40)));
    family.check();
    family.pass(10 * MS);
    family.leaves(true);
    assert_eq!(family.on, Some(1), "its parent is next");
    assert_eq!(of(&family, 1).1, 70, "what is left of the time slice goes back");
    family.check();
    let thread = family.comes(Some(1), false);
    assert_eq!(family.on, Some(1), "a new thread waits");
    family.dispatch();
    family.leaves(true);
    assert_eq!(family.on, Some(thread));
}

/// Beside hogs, a request that a sleeper's child works for ends at once; that of a task which nobody forked waits for
/// their time slices.
#[test]
fn o1_r9_a_forked_request_is_interactive() {
    let hogs = "[[task]]\nname = \"hog\"\ncount = 4\nprogram = [ { run = \"forever\" } ]\n";
    let ends = |start: &str, fork: &str| {
        let toml = format!(
            "duration = \"20s\"\n{hogs}[[task]]\nname = \"httpd\"\nprogram = [ {{ run = \"1ms\" }}, \
             {{ until = \"10100ms\" }}, {{ run = \"1ms\" }}, {fork} {{ sleep = \"10s\" }} ]\n\
             [[task]]\nname = \"serve\"\n{start}program = [ {{ run = \"40ms\" }} ]\n"
        );
        example::run(&toml, "o1").end_of_process("serve")
    };
    assert_eq!(ends("start = \"fork\"\n", "{ fork = \"serve\" },"), 10_141 * MS);
    let alone = ends("start = \"10101ms\"\n", "");
    assert!(alone > 10_300 * MS, "{alone}");
}
