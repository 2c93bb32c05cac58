//! cfs by hand-worked schedules, and its shares.

mod queues;

use std::collections::BTreeSet;

use divvy_policy::{CpuId, TaskId, Weight};

use divvy_tests::bench::{Bench, MS, Nobody, Program, SEC, State, Task, Watch, machine};
use divvy_tests::random::Rng;

const LATENCY: usize = 0;
const GRANULARITY: usize = 1;
const WAKEUP: usize = 2;
const MODERN: usize = 3;

fn params(own: &[(usize, i64)]) -> [i64; 4] {
    let mut all = [0; 4];
    own.iter().for_each(|(index, value)| all[*index] = *value);
    all
}

/// The slices that the first tasks get when tasks of these weights are runnable, in ns.
fn slices(own: &[(usize, i64)], cpus: usize, weights: &[u64]) -> Vec<u64> {
    let mut m = machine(("cfs", &params(own)), cpus, MS);
    for (id, w) in (1..).zip(weights) {
        m.add(TaskId::new(id), TaskId::new(id), w * Weight::ONE, 0);
        m.wake(TaskId::new(id), true, 0);
    }
    // Each CPU in turn takes a task, which leaves for the next.
    let mut got = vec![0; weights.len()];
    for cpu in 0..cpus.min(weights.len()) as u32 {
        let d = m.dispatch(CpuId::new(cpu), 0).unwrap();
        got[d.task.index() - 1] = d.slice_ns;
    }
    got.retain(|s| *s > 0);
    got
}

/// The schedule: (task, from, to) in ms. Runs shorter than a ms are rounded away.
fn schedule(own: &[(usize, i64)], tasks: &[(u64, u64, &[u64])], until: u64) -> Vec<(u32, u64, u64)> {
    let programs: Vec<Program> = tasks
        .iter()
        .map(|(arrival, weight, steps)| {
            let steps: Vec<u64> = steps.iter().map(|s| s * MS).collect();
            Program::new(arrival * MS, *weight, &steps)
        })
        .collect();
    let mut bench = Bench::new(("cfs", &params(own)), 1, MS, &programs, Nobody);
    bench.run(until * MS);
    bench.segments.iter().map(|s| (s.task.get(), s.from / MS, s.to / MS)).collect()
}

/// 20 ms shared by weights 1024, 820, 655: 8.2, 6.6, 5.2 ms (section 2.4).
#[test]
fn cfs_r4_c1_slices_of_the_paper() {
    let slice = |first: usize| {
        let mut weights = [1024, 820, 655];
        weights.rotate_left(first);
        slices(&[], 1, &weights)[0]
    };
    // 20 ms * w / 2499, rounded down
    assert_eq!([slice(0), slice(1), slice(2)], [8_195_278, 6_562_625, 5_242_096]);
}

#[test]
fn cfs_r3_r10_the_period_stretches_with_tasks_and_times_grow_with_cpus() {
    let equal = |own: &[(usize, i64)], cpus, n| slices(own, cpus, &vec![1024; n])[0];
    assert_eq!(equal(&[], 1, 1), 20 * MS);
    assert_eq!(equal(&[], 1, 5), 4 * MS);
    assert_eq!(equal(&[], 1, 50), 4 * MS);
    // 4 CPUs: 60 and 12 ms. Two tasks each, ten tasks each, and fewer tasks than CPUs.
    assert_eq!(equal(&[], 4, 8), 30 * MS);
    assert_eq!(equal(&[], 4, 40), 12 * MS);
    assert_eq!(equal(&[], 4, 3), 60 * MS);
    let modern = [(MODERN, 1)];
    assert_eq!(equal(&modern, 1, 2), 3 * MS);
    assert_eq!(equal(&modern, 1, 16), 750_000);
    assert_eq!(equal(&modern, 8, 16), 12 * MS);
    assert_eq!(equal(&modern, 256, 512), 12 * MS, "as for 8 CPUs");
    assert_eq!(equal(&[(LATENCY, 8 * MS as i64), (GRANULARITY, MS as i64)], 2, 4), 4 * MS);
    assert_eq!(equal(&[(LATENCY, 8 * MS as i64), (GRANULARITY, MS as i64)], 1, 9), MS);
}

/// A weight that asks for more than a CPU has the whole period; and every task has something.
#[test]
fn cfs_r4_a_slice_is_at_most_the_period() {
    assert_eq!(slices(&[(LATENCY, 1), (GRANULARITY, 1)], 1, &[15, 88761])[0], 1);
    assert_eq!(slices(&[], 2, &[88761, 15, 15])[0], 40 * MS);
    assert_eq!(slices(&[], 1, &[15, 88761])[0], 20 * MS * 15 / 88776);
}

/// Task 1 is alone and starts 20 ms after min_vruntime. At 30, where it is 50, task 2 comes: 50 + 20/2. Both are 60
/// when the second turn ends, at 40: task 2 waits longer.
#[test]
fn cfs_r1_r6_r8_a_new_task_owes_its_slice() {
    let expected = [(1, 0, 40), (2, 40, 50), (1, 50, 60), (2, 60, 70), (1, 70, 80)];
    assert_eq!(schedule(&[], &[(0, 1024, &[1000]), (30, 1024, &[1000])], 80), expected);
}

/// Weight 2048 joins 1024: W is 3072, so it starts at min + 20/3 and runs for 40/3, which is 20/3 of virtual time.
#[test]
fn cfs_r2_r6_weight_divides_virtual_time() {
    let got = schedule(&[(LATENCY, 21 * MS as i64)], &[(0, 1024, &[1000]), (21, 2048, &[1000])], 77);
    // At 21 the first is at 42 (its debit was 21); the other starts at 42 + 7.
    // The first runs 21 * 1/3 = 7 to 49 and has waited less: the other runs 14 to 56, and so on.
    assert_eq!(got, [(1, 0, 28), (2, 28, 42), (1, 42, 49), (2, 49, 63), (1, 63, 70), (2, 70, 77)]);
}

/// Task 2 starts at 30 when task 1 is at 20, and runs 20..25 (task 1: 40) up to 35. It wakes after 100 ms, when task 1
/// is at 140: at 140 - 20, and 10 behind is enough. At 145 it has caught up; task 1 has waited longer.
#[test]
fn cfs_r6_r7_a_sleeper_is_at_most_a_latency_behind() {
    let got = schedule(&[], &[(0, 1024, &[1000]), (0, 1024, &[5, 100, 30])], 165);
    let expected = [(1, 0, 20), (2, 20, 25), (1, 25, 125), (2, 125, 145), (1, 145, 155), (2, 155, 165)];
    assert_eq!(got, expected);
}

/// The same with sleeps of 5 and 6 ms: it keeps its own 35, and task 1 is at 45 and 46. 10 ms is not more than 10 ms.
#[test]
fn cfs_r5_r6_r7_a_short_sleeper_keeps_its_own() {
    let got = |sleep| schedule(&[], &[(0, 1024, &[1000]), (0, 1024, &[5, sleep, 30])], 60);
    // At 30 task 1 is in its second turn since 25, set to 20 ms when it was alone.
    assert_eq!(got(5)[2..4], [(1, 25, 45), (2, 45, 60)]);
    assert_eq!(got(6)[2..4], [(1, 25, 31), (2, 31, 51)]);
}

/// At 35 task 1 is at 45, in the turn that began when both were at 40. Task 3 comes, at 40 + 20/3, and its CPU chooses again:
/// task 2. If modern (and with the same times) no task is preempted for it.
#[test]
fn cfs_r8_a_new_task_makes_its_cpu_choose_again() {
    let tasks: [(u64, u64, &[u64]); 3] = [(0, 1024, &[1000]), (0, 1024, &[1000]), (35, 1024, &[1000])];
    let got = schedule(&[], &tasks, 60);
    assert_eq!(got[..4], [(1, 0, 20), (2, 20, 30), (1, 30, 35), (2, 35, 41)]);
    let times =
        [(LATENCY, 20 * MS as i64), (GRANULARITY, 4 * MS as i64), (WAKEUP, 10 * MS as i64), (MODERN, 1)];
    assert_eq!(schedule(&times, &tasks, 60)[..3], [(1, 0, 20), (2, 20, 30), (1, 30, 40)]);
}

/// Task 1 is at 120 when it sleeps and no task is left. Task 2 comes at 110: at 120 + 20, not at 0 + 20. At 150 it is at 180,
/// and task 1 comes back at 160: enough to preempt.
#[test]
fn cfs_r5_min_vruntime_stays_when_nobody_is_left() {
    let got = schedule(&[], &[(0, 1024, &[100, 50, 1000]), (110, 1024, &[1000])], 165);
    assert_eq!(got, [(1, 0, 100), (2, 110, 150), (1, 150, 165)]);
}

/// Two CPUs, latency 40. Task 1 starts at 40, task 2 at 40 + 40 * 2/3 = 66.7, task 3 at 40 + 40 * 2/4 = 60. At 40 they are at 80,
/// 106.7 and 60, at 66.7 (slices of 40 * 2/3) at 106.7, 106.7 and 86.7. At 93.3 task 3 is at 113.3: task 1 goes first.
#[test]
fn cfs_r6_on_two_cpus_a_new_task_owes_the_slice_of_half_the_tasks() {
    let hogs = vec![Program::new(0, 1024, &[SEC]); 3];
    let no_preemption = [0, 0, 1000 * MS as i64, 1];
    let mut bench = Bench::new(("cfs", &no_preemption), 2, MS, &hogs, Nobody);
    // The modern latency on two CPUs is 12: all times are 0.3 of those above.
    bench.run(30 * MS);
    let first: Vec<_> =
        bench.segments.iter().filter(|s| s.cpu == 0).map(|s| (s.task.get(), s.to / MS)).collect();
    assert_eq!(first, [(1, 12), (3, 28), (1, 30)]);
}

/// A heavy running task is preempted sooner in virtual time: 10 ms / 2. If modern, it is the woken one's weight.
#[test]
fn cfs_r7_granularity_is_scaled_by_weight() {
    let wakeup = (WAKEUP, 10 * MS as i64);
    let preempts = |own: &[(usize, i64)], runs, wakes, sleep| {
        let tasks: [(u64, u64, &[u64]); 2] = [(0, runs, &[10_000]), (0, wakes, &[1, sleep, 9])];
        let got = schedule(own, &tasks, 2000);
        let woke = got.iter().find(|s| s.0 == 2).unwrap().2 + sleep;
        got.iter().filter(|s| s.0 == 2).nth(1).unwrap().1 == woke
    };
    // With latency 8 a long sleeper is 8 behind: enough for 10/2, not for 10.
    let old = [wakeup, (LATENCY, 8 * MS as i64)];
    assert!(preempts(&old, 2048, 1024, 500) && !preempts(&old, 1024, 2048, 500));
    // Half of 16 behind.
    let modern = [wakeup, (LATENCY, 16 * MS as i64), (MODERN, 1)];
    assert!(!preempts(&modern, 2048, 1024, 500) && preempts(&modern, 1024, 2048, 500));
    assert!(!preempts(&modern, 1024, 1024, 500));
}

/// Weights 1024 and 1024; at 100 ms one gets 3072. A yield leaves the least one where it is.
#[test]
fn cfs_r9_reweighing_and_yielding_keep_vruntime() {
    let hog = Program::new(0, 1024, &[1000 * SEC]);
    let mut bench = Bench::new(("cfs", &params(&[])), 1, MS, &[hog.clone(), hog], Nobody);
    bench.run(10 * SEC);
    let before = [bench.tasks[1].service, bench.tasks[2].service];
    bench.machine.set_weight(TaskId::new(1), 3072 * Weight::ONE, bench.now);
    bench.run(50 * SEC);
    let gained = [bench.tasks[1].service - before[0], bench.tasks[2].service - before[1]];
    assert!(gained[0].abs_diff(30 * SEC) <= 20 * MS && gained[1].abs_diff(10 * SEC) <= 20 * MS, "{gained:?}");
    let turns = bench.segments.windows(2).rev().nth(1).unwrap();
    assert_eq!(turns.iter().map(|s| s.to - s.from).sum::<u64>(), 20 * MS, "a turn of 5 and one of 15 ms");

    let mut m = machine(("cfs", &params(&[])), 1, MS);
    for id in 1..=2 {
        m.add(TaskId::new(id), TaskId::new(id), Weight::NICE_0, 0);
        m.wake(TaskId::new(id), true, 0);
    }
    let first = m.dispatch(CpuId::new(0), 0).unwrap().task;
    m.running(first, 0);
    m.yielding(CpuId::new(0));
    assert_eq!(m.dispatch(CpuId::new(0), MS).unwrap().task, first, "1 ms later it is still the least");
}

/// From when each of the runnable tasks had a turn until they change, service over weight differs by 2 period / W.
#[derive(Default)]
struct Shares {
    had_a_turn: BTreeSet<usize>,
    base: Vec<u64>,
    checked: u64,
}

impl Shares {
    fn restart(&mut self) {
        self.had_a_turn.clear();
        self.base.clear();
    }
}

impl Watch for Shares {
    fn join(&mut self, _id: TaskId, _new: bool, _now: u64) {
        self.restart();
    }

    fn leave(&mut self, _id: TaskId, _exits: bool, _now: u64) {
        self.restart();
    }

    fn pick(&mut self, _cpu: usize, chosen: Option<TaskId>, tasks: &[Task], _now: u64) {
        let waiting: Vec<usize> = (1..tasks.len()).filter(|id| tasks[*id].state == State::Waiting).collect();
        self.had_a_turn.extend(chosen.map(TaskId::index));
        if waiting.is_empty() || waiting.iter().any(|id| !self.had_a_turn.contains(id)) {
            return;
        }
        if self.base.is_empty() {
            self.base = tasks.iter().map(|t| t.service).collect();
        }
        let total: u64 = waiting.iter().map(|id| tasks[*id].weight).sum();
        let normal = |id: usize| ((tasks[id].service - self.base[id]) * 1024).div_ceil(tasks[id].weight);
        let [least, most] =
            [waiting.iter().map(|id| normal(*id)).min(), waiting.iter().map(|id| normal(*id)).max()];
        let period = (20 * MS).max(waiting.len() as u64 * 4 * MS);
        let spread = most.unwrap() - least.unwrap();
        // Both may be off by a ns of service, at a weight of 15 or more.
        assert!(
            spread <= 2 * period * 1024 / total + 2 * 1024 / 15,
            "{spread}: period {period}, weight {total}"
        );
        self.checked += 1;
    }
}

#[test]
fn cfs_r2_c2_shares_are_as_weights() {
    let mut rng = Rng(7);
    let mut checked = 0;
    for _ in 0..150 {
        let n = rng.within(1, 12);
        let programs = rng.programs(n, 2, 3 * SEC);
        let mut bench = Bench::new(("cfs", &params(&[])), 1, MS, &programs, Shares::default());
        bench.run(1000 * SEC);
        assert!(bench.tasks[1..].iter().all(|t| t.state == State::Done));
        checked += bench.watch.checked;
    }
    assert!(checked > 100_000, "{checked}");
}

/// Programs of 4 and n threads, each with 4 T of work, on 4 CPUs (sections 3 and 4, Eq. 3 and 4): T = 10 s.
#[test]
fn cfs_c3_is_fair_to_threads_not_to_programs() {
    for n in [8u64, 16, 32] {
        let a = std::iter::repeat_n(Program::new(0, 1024, &[10 * SEC]), 4);
        let b = std::iter::repeat_n(Program::new(0, 1024, &[40 * SEC / n]), n as usize);
        let programs: Vec<Program> = a.chain(b).collect();
        let mut bench = Bench::new(("cfs", &params(&[])), 4, MS, &programs, Nobody);
        bench.run(SEC);
        let service = || bench.tasks[1..].iter().map(|t| t.service);
        let spread = service().max().unwrap() - service().min().unwrap();
        assert!(spread <= 2 * 60 * MS, "{n}: {spread}");
        bench.run(100 * SEC);
        let done = bench.completions();
        let last = |of: &[f64]| of.iter().copied().fold(0.0, f64::max);
        assert!((last(&done[..4]) - 20.0).abs() < 0.1, "{n}: {done:?}");
        assert!((last(&done[4..]) - 10.0 * (4.0 / n as f64 + 1.0)).abs() < 0.2, "{n}: {done:?}");
    }
}
