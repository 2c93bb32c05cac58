//! cfs with a queue a CPU: examples by hand, and a model that searches lists from end to end.

use divvy_policy::{CpuId, CpuMask, TaskId, Weight};

use divvy_tests::bench::{Bench, MS, Nobody, Program, SEC, Task, Watch, machine};
use divvy_tests::random::Rng;

const NEVER: i64 = 0;

/// The kernel's times, and how often CPUs balance
fn percpu(balance: i64) -> [i64; 6] {
    [0, 0, 0, 0, 1, balance]
}

fn hogs(weights: &[u64]) -> Vec<Program> {
    weights.iter().map(|&w| Program::new(0, w, &[1000 * SEC])).collect()
}

/// The service of each task after `seconds` on two CPUs, in thousandths of a CPU
fn shares(params: [i64; 6], weights: &[u64], seconds: u64) -> Vec<u64> {
    let mut bench = Bench::new(("cfs", &params), 2, MS, &hogs(weights), Nobody);
    bench.run(seconds * SEC);
    bench.tasks[1..].iter().map(|t| (t.service * 1000).div_ceil(seconds * SEC)).collect()
}

fn near(got: &[u64], expected: &[u64], by: u64) {
    let all = got.iter().zip(expected).all(|(g, e)| g.abs_diff(*e) <= by);
    assert!(all && got.len() == expected.len(), "{got:?}, not {expected:?}");
}

/// The first is alone on CPU 0 and the second on CPU 1 when the third comes, and goes to the first of equal ones.
#[test]
fn cfs_r11_r14_c4_three_hogs_on_two_cpus() {
    near(&shares([0; 6], &[1024; 3], 60), &[667; 3], 2);
    near(&shares(percpu(NEVER), &[1024; 3], 60), &[500, 1000, 500], 2);
    // One task too many goes from CPU to CPU, in a pattern: 4/9 and 7/9 (as measured).
    near(&shares(percpu(64 * MS as i64), &[1024; 3], 60), &[444, 778, 778], 2);
    // However often they are to balance, each has a turn in between.
    for balance in [1, 5, 20, 40] {
        let got = shares(percpu(balance * MS as i64), &[1024; 3], 60);
        assert!(got.iter().all(|share| *share >= 333), "{balance} ms: {got:?}");
    }
}

/// 2048, then 1024 and 1024 where less is; and 2048 and 1024 on each CPU. There is nothing to balance.
#[test]
fn cfs_r4_r11_weights_within_a_queue() {
    for balance in [NEVER, 64 * MS as i64] {
        near(&shares(percpu(balance), &[2048, 1024, 1024], 60), &[1000, 500, 500], 2);
        near(&shares(percpu(balance), &[2048, 2048, 1024, 1024], 60), &[667, 667, 333, 333], 2);
    }
}

/// A load of 5 is 125 % of a load of 4: that is balanced. A load of 4 is more than 125 % of one of 3.
#[test]
fn cfs_r14_a_quarter_more_is_balanced() {
    let nine = shares(percpu(64 * MS as i64), &[1024; 9], 60);
    near(&nine, &[200, 250, 200, 250, 200, 250, 200, 250, 200], 2);
    near(&shares(percpu(64 * MS as i64), &[1024; 7], 60), &[286; 7], 40);
}

/// Odd tasks are on CPU 0. At 100 ms (each CPU's tasks have had 50) the two of CPU 1 are done, and it pulls the one
/// that waits on CPU 0.
#[test]
fn cfs_r13_who_has_nothing_to_run_pulls() {
    let programs = [1000 * SEC, 50 * MS, 1000 * SEC, 50 * MS].map(|run| Program::new(0, 1024, &[run]));
    let mut bench = Bench::new(("cfs", &percpu(NEVER)), 2, MS, &programs, Nobody);
    bench.run(SEC);
    let since = |cpu: usize| bench.segments.iter().rev().find(|s| s.cpu == cpu).unwrap();
    assert_eq!([since(0).to, since(1).to], [SEC; 2]);
    assert_eq!(since(1).from, 100 * MS);
    assert!(since(0).task.get() % 2 == 1 && since(1).task.get() % 2 == 1);
    assert_eq!(bench.tasks[1].service + bench.tasks[3].service, 1900 * MS);
}

/// Tasks 1 and 2 run on CPUs 0 and 1. 3 was on CPU 0 before it slept, and goes back there, unless 2 sleeps when it wakes: then
/// it goes to CPU 1.
#[test]
fn cfs_r11_a_woken_task_goes_where_it_was_or_where_nobody_is() {
    let cpu_of = |second: &[u64]| {
        let programs = [
            Program::new(0, 1024, &[SEC]),
            Program::new(0, 1024, second),
            Program::new(0, 1024, &[2 * MS, 100 * MS, 2 * MS]),
        ];
        let mut bench = Bench::new(("cfs", &percpu(NEVER)), 2, MS, &programs, Nobody);
        bench.run(SEC);
        bench.segments.iter().rev().find(|s| s.task == 3).unwrap().cpu
    };
    assert_eq!(cpu_of(&[SEC]), 0);
    assert_eq!(cpu_of(&[50 * MS, SEC]), 1);
}

/// Task 1 is alone on CPU 0 and 2 on CPU 1; each begins at its debit, 40 ms. 3 joins CPU 0 (the first of equal ones) at 40 + 40/2.
/// At 100 ms task 2 ends, at 140, which CPU 1's min_vruntime then is. CPU 0's is 60, of 3, which waits: CPU 1 pulls it, to 140
/// as well. So a new task there, at 140 + 20, is before it once it has run for 20 ms.
#[test]
fn cfs_r12_vruntime_is_relative_to_the_queue() {
    let mut m = machine(("cfs", &percpu(NEVER)), 2, MS);
    for id in 1..=4 {
        m.add(TaskId::new(id), TaskId::new(id), (if id == 1 { 4 } else { 1 }) * 1024 * Weight::ONE, 0);
    }
    m.set_weight(TaskId::new(1), 1024 * Weight::ONE, 0);
    for (id, cpu) in [(1, 0), (2, 1)] {
        m.wake(TaskId::new(id), true, 0);
        assert_eq!(m.dispatch(CpuId::new(cpu), 0).unwrap().task, id);
        m.running(TaskId::new(id), 0);
    }
    m.wake(TaskId::new(3), true, 0);
    m.block(TaskId::new(2), 100 * MS, true, 100 * MS);
    assert_eq!(m.dispatch(CpuId::new(1), 100 * MS).unwrap().task, 3);
    m.running(TaskId::new(3), 100 * MS);
    // Heavier now, task 1 leaves CPU 1 as the place for a new one.
    m.set_weight(TaskId::new(1), 4096 * Weight::ONE, 100 * MS);
    m.wake(TaskId::new(4), true, 100 * MS);
    assert_eq!(m.dispatch(CpuId::new(1), 119 * MS).unwrap().task, 3, "at 159, before 160");
    assert_eq!(m.dispatch(CpuId::new(1), 121 * MS).unwrap().task, 4, "3 is at 161");
}

/// Four tasks that may run on CPU 1 only: they share it equally, whatever queue they are put into. The task
/// that may run anywhere has CPU 0.
#[test]
fn cfs_d4_pinned_tasks_have_their_cpu() {
    let mut one = divvy_tests::lockstep::Lockstep::with_params("cfs", &percpu(20 * MS as i64), 2);
    let only_1 = CpuMask::from_iter([CpuId::new(1)]);
    for _ in 0..5 {
        one.add(1024);
    }
    for id in 2..=5 {
        one.machine.set_allowed(TaskId::new(id), &only_1, 0);
    }
    one.run(2000);
    assert_eq!(one.quanta[1], 2000, "{:?}", one.quanta);
    assert!(one.quanta[2..].iter().all(|q| q.abs_diff(500) <= 60), "{:?}", one.quanta);
}

// ---- the model ----

const FINE: u64 = Weight::ONE.fixed();
const NICE_0: i128 = 1 << 20;

#[derive(Clone, Default)]
struct Known {
    queue: usize,
    /// vruntime is base + served * 1024 / weight.
    base: i128,
    served: u64,
    weight: u64,
    runnable: bool,
    fresh: bool,
    last_cpu: Option<usize>,
    began_to_wait: u64,
}

impl Known {
    fn v(&self) -> i128 {
        self.base + (u128::from(self.served) * 1024 / u128::from(self.weight)) as i128
    }

    fn load(&self) -> i128 {
        i128::from(self.weight * FINE)
    }
}

/// Lists and sums over all tasks; nothing is kept that can be looked up.
struct Queues {
    tasks: Vec<Known>,
    waiting: Vec<TaskId>,
    /// For each CPU: the running task, and the time up to which it was charged
    turn: Vec<Option<(TaskId, u64)>>,
    min: Vec<i128>,
    balanced: Vec<u64>,
    balance: u64,
    waits: u64,
    pulls: u64,
    preemptions: u64,
}

impl Queues {
    fn new(weights: impl Iterator<Item = u64>, cpus: usize, balance: u64) -> Queues {
        let tasks = weights.map(|weight| Known { weight, ..Known::default() });
        Queues {
            tasks: std::iter::once(Known::default()).chain(tasks).collect(),
            waiting: Vec::new(),
            turn: vec![None; cpus],
            min: vec![0; cpus],
            balanced: vec![0; cpus],
            balance,
            waits: 0,
            pulls: 0,
            preemptions: 0,
        }
    }

    fn of(&self, queue: usize) -> impl Iterator<Item = &Known> {
        self.tasks.iter().filter(move |t| t.runnable && t.queue == queue)
    }

    fn load(&self, queue: usize) -> i128 {
        self.of(queue).map(Known::load).sum()
    }

    fn n(&self, queue: usize) -> i128 {
        self.of(queue).count() as i128
    }

    /// The tasks that wait there, first to last
    fn line(&self, queue: usize) -> Vec<TaskId> {
        let here = |id: &TaskId| self.tasks[id.index()].queue == queue;
        let mut line: Vec<TaskId> = self.waiting.iter().copied().filter(here).collect();
        line.sort_by_key(|id| (self.tasks[id.index()].v(), self.tasks[id.index()].began_to_wait));
        line
    }

    /// 1 + log2 of the CPUs, as all times
    fn scale(&self) -> u64 {
        1 + u64::from(self.turn.len().ilog2())
    }

    fn running_v(&self, cpu: usize, now: u64) -> Option<i128> {
        let (id, charged) = self.turn[cpu]?;
        let mut t = self.tasks[id.index()].clone();
        t.served += now - charged;
        Some(t.v())
    }

    fn update_min(&mut self, queue: usize, now: u64) {
        let waiting = self.line(queue).first().map(|id| self.tasks[id.index()].v());
        if let Some(least) = waiting.into_iter().chain(self.running_v(queue, now)).min() {
            self.min[queue] = self.min[queue].max(least);
        }
    }

    fn wait(&mut self, id: TaskId) {
        self.waits += 1;
        self.tasks[id.index()].began_to_wait = self.waits;
        self.waiting.push(id);
    }

    fn goes_out(&mut self, id: TaskId) {
        self.waiting.retain(|w| *w != id);
        self.tasks[id.index()].runnable = false;
        let Known { queue, .. } = self.tasks[id.index()];
        if self.n(queue) == 0 {
            self.min[queue] = self.min[queue].max(self.tasks[id.index()].v());
        }
    }

    fn pull(&mut self, id: TaskId, to: usize) {
        let ahead = self.min[to] - self.min[self.tasks[id.index()].queue];
        self.goes_out(id);
        let t = &mut self.tasks[id.index()];
        (t.queue, t.base, t.runnable) = (to, t.base + ahead, true);
        self.wait(id);
        self.pulls += 1;
    }

    fn imbalance(&self, own: usize, busiest: usize) -> i128 {
        let all: i128 = (0..self.min.len()).map(|q| self.load(q)).sum();
        let (mean, less, more) = (all / self.min.len() as i128, self.load(own), self.load(busiest));
        if less >= mean || more <= mean || more * 100 <= less * 125 {
            return 0;
        }
        let task = more / self.n(busiest);
        let own_task = if self.n(own) > 0 { less / self.n(own) } else { i128::MAX };
        match (more - mean).min(mean - less) {
            enough if enough >= task => enough,
            _ if more - less + NICE_0 >= task * (2 - i128::from(task > own_task)) => task,
            _ => 0,
        }
    }

    fn look_around(&mut self, own: usize, now: u64) {
        let period = (20 * MS).max(self.n(own) as u64 * 4 * MS) * self.scale();
        let due = self.balance > 0 && now - self.balanced[own] >= self.balance.max(period);
        if !self.line(own).is_empty() && !due {
            return;
        }
        self.balanced[own] = now;
        let others = (0..self.min.len()).filter(|q| *q != own && !self.line(*q).is_empty());
        // The first of equal ones
        let Some(busiest) = others.rev().max_by_key(|q| self.load(*q)) else { return };
        self.update_min(busiest, now);
        self.update_min(own, now);
        let (mut left, has_less) = (self.imbalance(own, busiest), self.n(own) <= self.n(busiest));
        for id in self.line(busiest) {
            let w = self.tasks[id.index()].load();
            if left > 0 && w <= 2 * (left + NICE_0) {
                left -= w;
                self.pull(id, own);
            }
        }
        if let ([], [first, ..]) = (&self.line(own)[..], &self.line(busiest)[..]) {
            self.pull(*first, own);
        }
        if has_less {
            self.must_be_balanced(own, busiest);
        }
    }

    /// Two CPUs, equal weights: numbers differ by one, or the greater is at most 5/4 of the lesser.
    fn must_be_balanced(&self, own: usize, busiest: usize) {
        let equal = self.tasks[1..].iter().all(|t| t.weight == self.tasks[1].weight);
        let (a, b) = (self.n(own), self.n(busiest));
        if self.min.len() == 2 && equal {
            assert!((a - b).abs() <= 1 || 4 * a.max(b) <= 5 * a.min(b), "{a} and {b}");
        }
    }

    fn place(&self, id: TaskId, new: bool) -> usize {
        let idlest = (0..self.min.len()).min_by_key(|q| self.load(*q)).unwrap();
        let t = &self.tasks[id.index()];
        let last = t.last_cpu.unwrap_or(t.queue);
        if new || (self.n(last) > 0 && self.n(idlest) == 0) { idlest } else { last }
    }
}

impl Watch for Queues {
    fn join(&mut self, id: TaskId, new: bool, now: u64) {
        let queue = self.place(id, new);
        let from = self.tasks[id.index()].queue;
        self.update_min(from, now);
        self.update_min(queue, now);
        let ahead = self.min[queue] - self.min[from];
        let latency = 20 * MS * self.scale();
        let t = &mut self.tasks[id.index()];
        (t.queue, t.runnable, t.fresh, t.base) = (queue, true, new, t.base + ahead);
        let period = latency.max(self.n(queue) as u64 * 4 * MS * self.scale());
        let debit = i128::from(period) * NICE_0 / self.load(queue);
        let (min, t) = (self.min[queue], &mut self.tasks[id.index()]);
        if new {
            (t.base, t.served) = (min + debit, 0);
        } else if t.v() < min - i128::from(latency) {
            (t.base, t.served) = (min - i128::from(latency), 0);
        }
        self.wait(id);
    }

    fn leave(&mut self, id: TaskId, _exits: bool, _now: u64) {
        for turn in self.turn.iter_mut().filter(|t| t.is_some_and(|(task, _)| task == id)) {
            *turn = None;
        }
        self.goes_out(id);
    }

    fn stop(&mut self, id: TaskId, _now: u64) {
        for turn in self.turn.iter_mut().filter(|t| t.is_some_and(|(task, _)| task == id)) {
            *turn = None;
        }
        self.wait(id);
    }

    fn charge(&mut self, id: TaskId, ran: u64, now: u64) {
        self.tasks[id.index()].served += ran;
        for (task, charged) in self.turn.iter_mut().flatten() {
            if *task == id {
                *charged = now;
            }
        }
    }

    fn preempts(&mut self, woken: TaskId, cpu: Option<usize>, now: u64) {
        let t = &self.tasks[woken.index()];
        let (running, _) = self.turn[t.queue].expect("all CPUs are busy");
        let ahead = self.running_v(t.queue, now).unwrap();
        let first = self.line(t.queue)[0];
        let granularity = i128::from(10 * MS * self.scale()) * NICE_0 / self.tasks[running.index()].load();
        let gives_way = match t.fresh {
            true => self.tasks[first.index()].v() < ahead,
            false => t.v() + granularity < ahead,
        };
        assert_eq!(cpu, gives_way.then_some(t.queue), "at {now}, {woken}");
        self.preemptions += u64::from(gives_way);
    }

    fn pick(&mut self, cpu: usize, chosen: Option<TaskId>, _tasks: &[Task], now: u64) {
        self.look_around(cpu, now);
        assert_eq!(chosen, self.line(cpu).first().copied(), "CPU {cpu} at {now}");
        if let Some(chosen) = chosen {
            self.waiting.retain(|w| *w != chosen);
            self.tasks[chosen.index()].last_cpu = Some(cpu);
            self.turn[cpu] = Some((chosen, now));
        }
    }
}

/// Pulls and preemptions that were seen
fn follow(cpus: usize, balance: u64, programs: &[Program]) -> (u64, u64) {
    let model = Queues::new(programs.iter().map(|p| p.weight), cpus, balance);
    let mut bench = Bench::new(("cfs", &percpu(balance as i64)), cpus, MS, programs, model);
    bench.run(100 * SEC);
    (bench.watch.pulls, bench.watch.preemptions)
}

#[test]
fn cfs_r1_r5_r6_r7_r8_r11_r12_r13_r14_c5_as_the_model() {
    let mut rng = Rng(26);
    let (mut pulls, mut preemptions) = (0, 0);
    for round in 0..120 {
        let (cpus, n) = (rng.within(2, 5) as usize, rng.within(2, 20));
        let balance = [0, 64 * MS, 7 * MS][round % 3];
        let mut programs = rng.programs(n, 6, 300 * MS);
        if round % 2 == 0 {
            programs.iter_mut().for_each(|p| p.weight = 1024);
        }
        let (cpus, seen) = (if round % 4 == 0 { 2 } else { cpus }, &programs);
        let (more_pulls, more_preemptions) = follow(cpus, balance, seen);
        pulls += more_pulls;
        preemptions += more_preemptions;
    }
    assert!(pulls > 1000 && preemptions > 300, "{pulls} pulls, {preemptions} preemptions");
}
