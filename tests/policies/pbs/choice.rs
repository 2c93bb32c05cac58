//! The two choices: the tournament of pbs against Algorithm 1, which is a scan where it may look at all tasks, and Algorithm 1
//! against the formula.

use std::collections::VecDeque;

use divvy_policy::TaskId;

use super::formula::{rank, ratio};
use divvy_tests::bench::{Bench, MS, Program, SEC, State, Task, Watch};
use divvy_tests::random::Rng;

/// Every choice that a machine made: time, CPU, task.
#[derive(Default)]
struct Choices(Vec<(u64, usize, Option<TaskId>)>);

impl Watch for Choices {
    fn pick(&mut self, cpu: usize, chosen: Option<TaskId>, _tasks: &[Task], now: u64) {
        self.0.push((now, cpu, chosen));
    }

    fn preempts(&mut self, woken: TaskId, cpu: Option<usize>, now: u64) {
        self.0.push((now, cpu.map_or(usize::MAX, |cpu| cpu), Some(woken)));
    }
}

const INF: f64 = f64::INFINITY;
const ALPHAS: [f64; 14] = [1.0, 0.4, 2.0, 0.0, INF, 0.01, 100.0, -0.5, -2.0, -INF, -0.0, 40_000.0, 0.7, 1.3];

/// Runs the programs, and gives those of them that are left another weight on the way.
fn choices(policy: &str, params: &[f64], cpus: usize, quantum: u64, programs: &[Program]) -> Choices {
    choices_of_two(policy, params, params[0], cpus, quantum, programs)
}

/// And the policy another alpha.
fn choices_of_two(
    policy: &str,
    params: &[f64],
    then_alpha: f64,
    cpus: usize,
    quantum: u64,
    programs: &[Program],
) -> Choices {
    let raw: Vec<i64> = params.iter().map(|x| ratio(*x)).collect();
    let mut bench = Bench::new((policy, &raw), cpus, quantum, programs, Choices::default());
    let longest = programs.iter().map(|p| p.arrival).max().unwrap();
    bench.run(longest);
    for id in 1..=programs.len() {
        if bench.tasks[id].state != State::Done {
            bench.set_weight(TaskId::at(id), programs[id - 1].weight ^ 1024 | 16);
        }
    }
    bench.run(longest + 2 * quantum); // a new weight also plays matches again
    bench.set_param(0, ratio(then_alpha));
    bench.run(1 << 55);
    bench.watch
}

/// pbs_o1 with L and M of 64 looks at each of up to 128 tasks: `params` begin with those that pbs has as well.
fn scan(params: &[f64]) -> Vec<f64> {
    let mut all = vec![1.0, 0.0, 0.0, 0.0, 0.0, 1.0, INF];
    all[..params.len()].copy_from_slice(params);
    all.extend([64.0 / 65536.0; 2]);
    all
}

/// Every choice of the tournament is that of a scan. `then`: another alpha on the way.
fn decides_as_the_scan(params: &[f64], then: f64, cpus: usize, quantum: u64, programs: &[Program]) {
    let tree = choices_of_two("pbs", params, then, cpus, quantum, programs).0;
    let scan = choices_of_two("pbs_o1", &scan(params), then, cpus, quantum, programs).0;
    let differs = scan.iter().zip(&tree).position(|(a, b)| a != b);
    assert!(
        differs.is_none() && scan.len() == tree.len(),
        "{params:?}, choice {differs:?}: {:?} {:?}",
        differs.map(|i| scan[i]),
        differs.map(|i| tree[i])
    );
}

const BONUSES: [(f64, f64); 3] = [(0.0, 0.0), (0.07, 0.0), (0.0, 0.03)];

#[test]
fn pbs_r13_the_tree_decides_as_the_scan() {
    let mut rng = Rng(20);
    for round in 0..420 {
        let alpha = ALPHAS[round % 14];
        let beta = [0.0, 3.0, -3.0, INF, -INF][rng.within(0, 4) as usize];
        let (gamma, ratio) = BONUSES[rng.within(0, 2) as usize];
        let longest = [300, 3_000_000, 1 << 40][rng.within(0, 2) as usize];
        let tasks = if round % 7 == 0 { 120 } else { 1 + round as u64 % 40 };
        let programs = rng.programs(tasks, 4, longest);
        let (cpus, quantum) = (1 + round % 3, longest / rng.within(3, 40) + 1);
        let then = if round % 3 == 0 { 3.0 - alpha.clamp(0.0, 2.0) } else { alpha };
        decides_as_the_scan(&[alpha, beta, gamma, ratio], then, cpus, quantum, &programs);
    }
}

/// The second priority's logarithms may cross the first's twice.
#[test]
fn pbs_r11_r13_the_tree_decides_as_the_scan_by_two_priorities() {
    let mut rng = Rng(23);
    for round in 0..420 {
        let alpha = ALPHAS[round % 14];
        let (gamma, ratio) = BONUSES[round % 3];
        let epsilon = [0.05, 1.0, 0.4, 64.0][rng.within(0, 3) as usize];
        let alpha_prime = [0.0, 0.5, 1.0, 3.0][rng.within(0, 3) as usize];
        let beta_prime = [0.0, 2.0, -2.0, INF][rng.within(0, 3) as usize];
        let longest = [300, 3_000_000, 1 << 40][rng.within(0, 2) as usize];
        let programs = rng.programs(1 + round as u64 % 40, 4, longest);
        let (cpus, quantum) = (1 + round % 3, longest / rng.within(3, 40) + 1);
        let params = [alpha, 1.5, gamma, ratio, epsilon, alpha_prime, beta_prime];
        decides_as_the_scan(&params, alpha, cpus, quantum, &programs);
    }
}

/// Tasks whose ages and services differ by a few parts in 2^24, where the logarithms' own error decides.
#[test]
fn pbs_r13_the_tree_decides_as_the_scan_within_the_error_of_the_logarithm() {
    let mut rng = Rng(21);
    for round in 0..120 {
        let alpha = [1.0, 0.5, 2.0, -1.0, 0.1][round % 5];
        let epsilon = if round < 60 { 0.0 } else { 0.3 };
        // Bursts that tasks nearly have by themselves, and short ones when all are nearly equal.
        let programs: Vec<Program> = (0..8)
            .map(|_| {
                let steps = [(1 << 24) + rng.within(0, 30), 9 << 24, 4_000, 1 << 20, 4_000];
                Program::new(rng.within(0, 3000), 1024, &steps)
            })
            .collect();
        let quantum = [1000, 1 << 14, 1 << 20][round % 3];
        decides_as_the_scan(&[alpha, INF, 0.0, 0.0, epsilon], alpha, 2, quantum, &programs);
    }
}

#[test]
fn pbs_r12_of_at_most_l_plus_m_tasks_the_best_runs() {
    let mut rng = Rng(22);
    for round in 0..140 {
        let params = [ALPHAS[round % 14], 3.0, 0.01 * (round % 2) as f64];
        let programs = rng.programs(1 + round as u64 % 16, 4, 3_000_000);
        let (cpus, quantum) = (1 + round % 3, 200_000);
        let once = |policy| choices(policy, &params, cpus, quantum, &programs).0;
        assert_eq!(once("pbs"), once("pbs_o1"), "{params:?}");
    }
}

/// How often the choice was the exact one, once all tasks are there.
struct Agreement {
    alpha: f64,
    all_since: u64,
    picks: u64,
    same: u64,
}

impl Watch for Agreement {
    fn pick(&mut self, _cpu: usize, chosen: Option<TaskId>, tasks: &[Task], now: u64) {
        if now < self.all_since {
            return;
        }
        let of = |t: &Task| rank(self.alpha, now - t.arrived, t.burst, t.weight, (t.arrived, t.order));
        let waiting = tasks.iter().filter(|t| t.state == State::Waiting);
        let best = waiting.map(of).max_by(|a, b| a.partial_cmp(b).unwrap()).unwrap();
        self.picks += 1;
        let chosen = chosen.expect("a task waits");
        self.same += u64::from(best.0 - of(&tasks[chosen.index()]).0 < 1e-6);
    }
}

fn agreement(alpha: f64, l: i64, m: i64, predicted: i64) -> f64 {
    let programs: Vec<Program> = (0..40).map(|i| Program::new(i * 250 * MS, 1024, &[100 * SEC])).collect();
    let watch = Agreement { alpha, all_since: 10 * SEC, picks: 0, same: 0 };
    let params = [ratio(alpha), 0, 0, 0, 0, ratio(1.0), ratio(INF), l, m, predicted];
    let mut bench = Bench::new(("pbs_o1", &params), 1, 4 * MS, &programs, watch);
    bench.run(60 * SEC);
    bench.watch.same as f64 / bench.watch.picks as f64
}

/// The choices for 40 tasks that stay, by current priorities as the text has it, and by predicted ones as the last line of
/// Algorithm 1 prints.
#[test]
fn pbs_c16_algorithm_1_agrees_with_the_exact_choice() {
    for alpha in [0.5, 1.0, 2.0] {
        for ((l, m), range) in [((2, 2), 0.4..0.9), ((4, 4), 0.85..1.0), ((8, 8), 0.99..1.1)] {
            let [current, predicted] = [0, 1].map(|by| agreement(alpha, l, m, by));
            println!("alpha {alpha}, L {l}, M {m}: {current}, predicted {predicted}");
            assert!(range.contains(&current), "alpha {alpha}, L {l}, M {m}: {current}");
            assert!(predicted < current, "alpha {alpha}, L {l}, M {m}: {predicted}, not below {current}");
        }
    }
}

/// Algorithm 1 with lists, for alpha = 0 and infinity, where priorities are exact and predicted ones have the same order.
struct Algorithm1 {
    fcfs: bool,
    l: usize,
    m: usize,
    kept: Vec<TaskId>,
    others: VecDeque<TaskId>,
    was_kept: Vec<bool>,
    /// Service and order of each session.
    of: Vec<(u64, u64)>,
}

impl Algorithm1 {
    fn key(&self, id: TaskId) -> (u64, u64) {
        let (service, order) = self.of[id.index()];
        (if self.fcfs { 0 } else { service }, order)
    }

    /// If more than `most` are kept, the least goes.
    fn keep(&mut self, id: TaskId, most: usize) {
        self.kept.push(id);
        if self.kept.len() > most {
            let least = *self.kept.iter().max_by_key(|&&id| self.key(id)).unwrap();
            self.kept.retain(|&id| id != least);
            self.others.push_back(least);
        }
    }
}

impl Watch for Algorithm1 {
    fn join(&mut self, id: TaskId, _new: bool, _now: u64) {
        let order = self.of.iter().map(|o| o.1).max().unwrap() + 1;
        self.of[id.index()] = (0, order);
        self.keep(id, self.l - 1); // if |L| >= L
    }

    fn stop(&mut self, id: TaskId, _now: u64) {
        if self.was_kept[id.index()] {
            self.keep(id, self.l);
        } else {
            self.others.push_back(id);
        }
    }

    fn charge(&mut self, id: TaskId, ran: u64, _now: u64) {
        self.of[id.index()].0 += ran;
    }

    fn pick(&mut self, _cpu: usize, chosen: Option<TaskId>, _tasks: &[Task], now: u64) {
        let mut seen = self.kept.clone();
        for _ in 0..self.m + self.l.saturating_sub(self.kept.len()) {
            let Some(id) = self.others.pop_front() else { break };
            seen.push(id);
            self.keep(id, self.l);
        }
        let best = seen.into_iter().min_by_key(|&id| self.key(id));
        assert_eq!(chosen, best, "at {now}");
        if let Some(best) = best {
            self.was_kept[best.index()] = self.kept.contains(&best);
            self.kept.retain(|&id| id != best);
            self.others.retain(|&id| id != best);
        }
    }
}

#[test]
fn pbs_r12_is_algorithm_1() {
    let mut rng = Rng(24);
    for round in 0..1500 {
        let tasks = 1 + round % 30;
        let mut programs = rng.programs(tasks as u64, 3, [20, 9000][round % 2]);
        programs.iter_mut().for_each(|p| p.weight = 1024);
        let (l, m) = (rng.within(2, 6) as usize, rng.within(2, 6) as usize);
        let alpha = [0.0, INF][rng.within(0, 1) as usize];
        let watch = Algorithm1 {
            fcfs: alpha == 0.0,
            l,
            m,
            kept: Vec::new(),
            others: VecDeque::new(),
            was_kept: vec![false; tasks + 1],
            of: vec![(0, 0); tasks + 1],
        };
        let params = [ratio(alpha), 0, 0, 0, 0, ratio(1.0), ratio(INF), l as i64, m as i64];
        let mut bench = Bench::new(("pbs_o1", &params), 1, 1000, &programs, watch);
        bench.run(1 << 40);
        assert!(bench.tasks[1..].iter().all(|t| t.state == State::Done));
    }
}

/// Mean response of 400 jobs with the least L and M, against that of pbs.
#[test]
fn pbs_c16_algorithm_1_has_the_response_times_of_the_exact_choice() {
    let mut rng = Rng(23);
    let mut arrival = 0;
    let mut exponential =
        |mean: f64| (-(rng.within(1, 1 << 40) as f64 / (1_u64 << 40) as f64).ln() * mean) as u64 + 1;
    let programs: Vec<Program> = (0..400)
        .map(|_| {
            arrival += exponential(100e6);
            Program::new(arrival, 1024, &[exponential(95e6)])
        })
        .collect();
    for alpha in [0.5, 1.0, 2.0] {
        let mean = |policy, params: &[i64]| {
            let mut bench = Bench::new((policy, params), 1, 4 * MS, &programs, divvy_tests::bench::Nobody);
            bench.run(1000 * SEC);
            let response = |(t, p): (&Task, &Program)| (t.completion - p.arrival) as f64;
            bench.tasks[1..].iter().zip(&programs).map(response).sum::<f64>() / 400.0
        };
        let exact = mean("pbs", &[ratio(alpha)]);
        let near = mean("pbs_o1", &[ratio(alpha), 0, 0, 0, 0, ratio(1.0), ratio(INF), 2, 2]);
        assert!((near / exact - 1.0).abs() < 0.02, "alpha {alpha}: {near} and {exact} ns");
    }
}
