//! pbs against the fluid solution of the paper's Appendix A.1, the policies at its ends, and its properties.

mod choice;
mod ends;
mod example;
mod formula;
mod last_event;
mod log2;
mod properties;
mod seniority;
mod sessions;

use divvy_policy::TaskId;
use divvy_tests::bench::{MS, Nobody, Program, SEC, Segment, State, Task, Watch, four_jobs};
use divvy_tests::random::Rng;

use self::formula::{INF, error, pbs, rank};

/// Completion times of Figure 2's tasks in the fluid limit: Eq. 8 stepped and bisected, in another program.
const FLUID: [(f64, [f64; 4]); 10] = [
    (0.0, [4.5, 7.0, 10.0, 12.0]),
    (0.01, [4.5, 7.0, 10.0, 12.0]),
    (0.1, [4.978414, 7.045046, 10.110335, 12.0]),
    (0.4, [9.392796, 7.273593, 11.539590, 12.0]),
    (0.5, [10.549980, 7.368978, 11.790141, 12.0]),
    (0.7, [11.981300, 7.752610, 12.0, 11.790824]),
    (1.0, [12.0, 8.283882, 11.552343, 10.880678]),
    (2.0, [12.0, 9.097682, 11.016806, 9.749642]),
    (100.0, [12.0, 9.496082, 10.510100, 8.046481]),
    (INF, [12.0, 9.5, 10.5, 8.0]),
];

#[test]
fn pbs_r1_r2_c1_completes_with_the_fluid_solution() {
    for (alpha, expected) in FLUID {
        let mut bench = pbs(&[alpha], 1, MS, &four_jobs(), Nobody);
        bench.run(12 * SEC);
        for (c, e) in bench.completions().iter().zip(expected) {
            assert!((c - e).abs() <= 0.005, "alpha {alpha}: {:?}, not {expected:?}", bench.completions());
        }
    }
}

/// At alpha = 1 until the third arrival, in closed form.
#[test]
fn pbs_r1_equalizes_slowdown_at_alpha_1() {
    let mut bench = pbs(&[1.0], 1, MS, &four_jobs(), Nobody);
    for t in [1.5, 2.0, 2.5, 2.9_f64] {
        bench.run((t * SEC as f64) as u64);
        let s = |id: usize| bench.tasks[id].service as f64 / SEC as f64;
        assert!((s(1) - t * t / (2.0 * t - 1.0)).abs() <= 0.001, "S1 at {t}: {}", s(1));
        assert!((s(2) - t * (t - 1.0) / (2.0 * t - 1.0)).abs() <= 0.001, "S2 at {t}: {}", s(2));
    }
}

/// Figure 3: one task from 0 s, four more from 2.5 s on. From when until when the first does not run.
#[test]
fn pbs_c2_interrupts_the_oldest_as_in_figure_3() {
    let seconds = |x: f64| (x * SEC as f64) as u64;
    let programs: Vec<Program> =
        [0.0, 2.5, 3.0, 3.5, 4.0].iter().map(|a| Program::new(seconds(*a), 1024, &[100 * SEC])).collect();
    let expected =
        [(0.4, 5.41, 6.51), (0.5, 4.23, 8.00), (1.0, 3.00, 9.24), (2.0, 2.50, 10.87), (10.0, 2.50, 12.19)];
    for (alpha, from, to) in expected {
        let mut bench = pbs(&[alpha], 1, MS / 10, &programs, Nobody);
        bench.run(14 * SEC);
        let first: Vec<&Segment> = bench.segments.iter().filter(|s| s.task == 1).collect();
        let gap = first.windows(2).map(|w| (w[1].from - w[0].to, w[0].to, w[1].from)).max().unwrap();
        let (left, back) = (gap.1 as f64 / SEC as f64, gap.2 as f64 / SEC as f64);
        assert!((left - from).abs() < 0.06 && (back - to).abs() < 0.06, "alpha {alpha}: {left} to {back}");
    }
}

/// Compares every pick with the formula on the bench's own account.
struct Formula {
    alpha: f64,
}

impl Formula {
    /// Greater runs: Eq. 2 with Eq. 6 in floats, or exact least service over weight; an exact tie by age.
    fn rank(&self, t: &Task, now: u64) -> (f64, i128, (i128, i128)) {
        rank(self.alpha, now - t.arrived, t.burst, t.weight, (t.arrived, t.order))
    }
}

impl Watch for Formula {
    fn pick(&mut self, _cpu: usize, chosen: Option<TaskId>, tasks: &[Task], now: u64) {
        let waiting = || tasks.iter().filter(|t| t.state == State::Waiting);
        let Some(best) = waiting().map(|t| self.rank(t, now)).max_by(|a, b| a.partial_cmp(b).unwrap()) else {
            assert_eq!(chosen, None);
            return;
        };
        let got = self.rank(&tasks[chosen.expect("a task waits").index()], now);
        let exact = self.alpha == 0.0 || self.alpha.abs() == INF || got.0 == INF;
        assert!(
            got == best || !exact && best.0 - got.0 <= error(self.alpha),
            "alpha {}: {got:?}, {best:?}",
            self.alpha
        );
        assert_eq!(got.0 == INF, best.0 == INF);
    }
}

/// LAS is alpha = inf, exactly; the formula holds for the others up to the logarithm's error. 1 to 8 CPUs, random weights, arrivals,
/// bursts that end within quanta, and sleeps.
#[test]
fn pbs_r1_r3_r4_r9_r10_picks_the_largest_of_the_formula() {
    let mut rng = Rng(2);
    for round in 0..10_000 {
        let alpha = [
            0.0, 0.015625, 0.5, 1.0, 2.0, 100.0, 32768.0, INF, -0.0, -0.015625, -0.5, -1.0, -2.0, -3000.0,
            -INF,
        ][round % 15];
        let longest = [40, 3_000_000, 1 << 45][round % 3];
        let programs = rng.programs(1 + round as u64 % 20, 3, longest);
        let mut bench = pbs(&[alpha], 1 + round % 8, longest / 9 + 1, &programs, Formula { alpha });
        bench.run(1 << 60);
        assert!(bench.tasks[1..].iter().all(|t| t.state == State::Done));
    }
}

/// Without a quantum's end, the last one that came runs, and the one before it after that.
#[test]
fn pbs_r9_minus_0_is_last_come_first_served() {
    for alpha in [-0.0, -1.0 / 16384.0] {
        let mut bench = pbs(&[alpha], 1, MS, &four_jobs(), Nobody);
        bench.run(12 * SEC);
        // The four jobs: 1 from 0, 2 from 1 to 3 s, 3 from 3 to 5, 4 from 5 to 7, 3 until 8, 2 until 8.5.
        assert_eq!(bench.completions(), [12.0, 8.5, 8.0, 7.0], "alpha {alpha}");
    }
}

/// From 0- to -infinity: least service of late comers, in the end least service.
#[test]
fn pbs_r9_minus_infinity_is_least_attained_service() {
    for alpha in [-INF, -32768.0] {
        let mut bench = pbs(&[alpha], 1, MS, &four_jobs(), Nobody);
        bench.run(12 * SEC);
        for (c, e) in bench.completions().iter().zip([12.0, 9.5, 10.5, 8.0]) {
            assert!((c - e).abs() <= 0.005, "alpha {alpha}: {:?}", bench.completions());
        }
    }
}

/// Eq. 6: tasks that stay come to shares in the ratio of their weights, for any finite alpha but 0; with alpha
/// infinite they have them all the time.
#[test]
fn pbs_r10_offsets_give_shares_by_weight() {
    let weights = [3072, 1024, 512, 512];
    let programs: Vec<Program> =
        weights.iter().zip(0..).map(|(w, i)| Program::new(i * SEC, *w, &[4000 * SEC])).collect();
    for alpha in [0.5, 1.0, 3.0, INF, -0.5, -2.0, -INF] {
        let mut bench = pbs(&[alpha], 1, 4 * MS, &programs, Nobody);
        bench.run(500 * SEC);
        let before: Vec<u64> = bench.tasks.iter().map(|t| t.service).collect();
        bench.run(700 * SEC);
        for id in 1..=4 {
            let share = (bench.tasks[id].service - before[id]) as f64 / (200 * SEC) as f64;
            let due = weights[id - 1] as f64 / 5120.0;
            assert!((share / due - 1.0).abs() < 0.02, "alpha {alpha}: {share}, not {due}");
        }
    }
}

/// A weight that changes counts at once: with alpha infinite the least S / kappa runs, whatever was before.
#[test]
fn pbs_r10_a_new_weight_is_an_offset_at_once() {
    let programs = [Program::new(0, 1024, &[100 * SEC]), Program::new(0, 1024, &[100 * SEC])];
    for alpha in [1.0, INF] {
        let mut bench = pbs(&[alpha], 1, MS, &programs, Nobody);
        bench.run(2 * SEC);
        bench.set_weight(TaskId::new(1), 2048);
        bench.run(3 * SEC);
        let ran = [1, 2].map(|id| bench.tasks[id].service / MS);
        assert!(ran[0] >= 1990 && ran[1] <= 1010, "alpha {alpha}: {ran:?}");
    }
}

/// Eq. 5 with ratio instead of gamma: a task gives way when it has 1 + ratio times the service of the other.
#[test]
fn pbs_r7_the_ratio_is_that_of_turns() {
    let programs = [Program::new(0, 1024, &[900 * SEC]), Program::new(0, 1024, &[900 * SEC])];
    for alpha in [0.5, 2.0, INF, -1.0] {
        let mut bench = pbs(&[alpha, 0.0, 0.0, 0.25], 1, MS, &programs, Nobody);
        bench.run(100 * SEC);
        let (mut service, mut turns) = ([0.0, 0.0, 0.0], 0);
        for segment in &bench.segments {
            service[segment.task.index()] += (segment.to - segment.from) as f64;
            let ratio = service[segment.task.index()] / service[3 - segment.task.index()];
            if segment.from > SEC && segment.to < 100 * SEC {
                assert!((ratio / 1.25 - 1.0).abs() < 0.003, "alpha {alpha}: {ratio} at {}", segment.to);
                turns += 1;
            }
        }
        assert!(turns >= 9, "alpha {alpha}: {turns}");
    }
}

/// Section 5.3: p = log T - alpha log S + epsilon [log T' - alpha' log S'], each with sessions of its own.
struct Combined {
    alpha: f64,
    epsilon: f64,
    alpha_prime: f64,
}

impl Watch for Combined {
    fn pick(&mut self, _cpu: usize, chosen: Option<TaskId>, tasks: &[Task], now: u64) {
        // beta = 0: since it became runnable; beta' = infinity: since it arrived, at 0.
        let p = |t: &Task| {
            let log = |x: u64| (x as f64).log2();
            match (t.burst, t.service) {
                (0, _) | (_, 0) => INF,
                (s, total) => {
                    log(now - t.arrived) - self.alpha * log(s)
                        + self.epsilon * (log(now) - self.alpha_prime * log(total))
                }
            }
        };
        let waiting = tasks.iter().filter(|t| t.state == State::Waiting);
        let Some(best) = waiting.map(p).max_by(f64::total_cmp) else { return };
        let got = p(&tasks[chosen.expect("a task waits").index()]);
        let error = error(self.alpha) + self.epsilon * error(self.alpha_prime);
        assert!(got == best || best - got <= error, "{got}, {best}");
    }
}

#[test]
fn pbs_r11_combines_two_priorities() {
    let mut rng = Rng(8);
    for round in 0..100 {
        let mut programs = rng.programs(8, 8, 40_000_000);
        programs.iter_mut().for_each(|p| (p.weight, p.arrival) = (1024, 0));
        let (alpha, epsilon, alpha_prime) =
            [(1.0, 0.5, 1.0), (0.25, 2.0, 0.5), (2.0, 0.125, 3.0), (0.5, 4.0, 1.0)][round % 4];
        let watch = Combined { alpha, epsilon, alpha_prime };
        let params = [alpha, 0.0, 0.0, 0.0, epsilon, alpha_prime, INF];
        let mut bench = pbs(&params, 1 + round % 2, 3 * MS, &programs, watch);
        bench.run(100 * SEC);
        assert!(bench.tasks[1..].iter().all(|t| t.state == State::Done));
    }
}

/// Two tasks wake together, and the interactive one has slept more in its life: epsilon favours it, whatever its
/// number. Without epsilon the one that came first goes first.
#[test]
fn pbs_r11_favours_the_interactive() {
    let hog = Program::new(0, 1024, &[500 * MS, MS, 100 * MS]);
    let sleeper = Program::new(0, 1024, &[MS, 500 * MS, 100 * MS]);
    let ends = |epsilon: f64| {
        let params = [0.5, INF, 0.0, 0.0, epsilon, 1.0, INF];
        let mut bench = pbs(&params, 1, MS, &[hog.clone(), sleeper.clone()], Nobody);
        bench.run(SEC);
        bench.completions()
    };
    let (without, with) = (ends(0.0), ends(2.0));
    assert!(with[1] <= without[1] && with[1] < with[0], "{with:?} {without:?}");
}

/// With alpha = 0 the earliest arrival runs however long ago that was: the logarithms of 20 s and 20 s + 1 us are equal.
#[test]
fn pbs_r4_equal_priorities_go_to_the_earliest_arrival() {
    // Task 1 began its session first, but arrived 1 us later: its sleep of 10 ms is not counted.
    let first = Program::new(0, 1024, &[MS, 10 * MS, 50 * SEC]);
    let second = Program::new(10 * MS - 1000, 1024, &[50 * SEC]);
    let mut bench = pbs(&[0.0, -INF], 1, 5 * MS, &[first, second], Nobody);
    bench.run(200 * SEC);
    let got: Vec<_> = bench.segments.iter().map(|s| (s.task.get(), (s.to - s.from) / MS)).collect();
    assert_eq!(got, [(1, 1), (2, 50_000), (1, 50_000)]);
}

#[test]
fn pbs_r1_alpha_above_its_range_is_the_greatest() {
    let mut rng = Rng(6);
    for _ in 0..20 {
        let programs = rng.programs(8, 2, 1 << 45);
        let segments = |alpha| {
            let mut bench = pbs(&[alpha], 1, 1 << 40, &programs, Nobody);
            bench.run(1 << 60);
            bench.segments
        };
        assert_eq!(segments(32768.0), segments(1e12));
    }
}

/// Property 3, and the guarantee: at the end of every turn, an older task has at most a quantum less.
struct Seniority(u64);

impl Watch for Seniority {
    fn pick(&mut self, _cpu: usize, _chosen: Option<TaskId>, tasks: &[Task], _now: u64) {
        let mut active: Vec<&Task> = tasks.iter().filter(|t| t.state == State::Waiting).collect();
        active.sort_by_key(|t| t.order);
        let mut least = u64::MAX;
        for t in active {
            assert!(t.burst <= least.saturating_add(self.0), "a younger task has {} more", t.burst - least);
            least = least.min(t.burst);
        }
    }
}

#[test]
fn pbs_c3_older_tasks_never_have_less_service() {
    let mut rng = Rng(3);
    for round in 0..200 {
        let alpha = [0.0, 0.1, 0.4, 0.9, 1.0, 1.5, 7.0, 1000.0, INF][round % 9];
        let mut programs = rng.programs(12, 2, 500 * MS);
        programs.iter_mut().for_each(|p| p.weight = 1024);
        pbs(&[alpha], 1, 4 * MS, &programs, Seniority(4 * MS)).run(10 * SEC);
    }
}

/// Property 9: while an older task is scheduled, so are all younger ones: none waits much longer than the rest.
#[test]
fn pbs_c4_newcomers_always_have_a_share() {
    for alpha in [0.4, 0.7, 1.0, 2.0, 10.0] {
        let programs: Vec<Program> = (0..5).map(|i| Program::new(i * 700 * MS, 1024, &[100 * SEC])).collect();
        let mut bench = pbs(&[alpha], 1, MS / 10, &programs, Nobody);
        let mut before = vec![0; 6];
        for step in 1..60 {
            bench.run(step * 250 * MS);
            let got: Vec<u64> = (1..=5).map(|id| bench.tasks[id].service - before[id]).collect();
            before = bench.tasks.iter().map(|t| t.service).collect();
            // Whoever was there all the time and older than one that had nothing may have had nothing but a turn.
            let there = (0..5).filter(|i| i * 700 < (step as usize - 1) * 250).count();
            let starved = (0..there).rev().find(|i| got[*i] == 0);
            if let Some(young) = starved {
                assert!(got[..young].iter().all(|g| *g <= 3 * MS), "alpha {alpha}, step {step}: {got:?}");
            }
        }
    }
}

/// For alpha > 0 all tasks come to equal shares (section 3.2, last paragraph).
#[test]
fn pbs_c5_shares_become_equal() {
    for alpha in [0.5, 1.0, 3.0] {
        let programs: Vec<Program> = (0..5).map(|i| Program::new(i * SEC, 1024, &[4000 * SEC])).collect();
        let mut bench = pbs(&[alpha], 1, 4 * MS, &programs, Nobody);
        bench.run(300 * SEC);
        let before: Vec<u64> = bench.tasks.iter().map(|t| t.service).collect();
        bench.run(400 * SEC);
        for (task, before) in bench.tasks[1..].iter().zip(&before[1..]) {
            let share = (task.service - before) as f64 / (100 * SEC) as f64;
            assert!((share - 0.2).abs() < 0.002, "alpha {alpha}: {share}");
        }
    }
}

/// Eq. 2 under a stretch of time by K: each priority changes by (1 - alpha) log K, no decision does.
#[test]
fn pbs_c6_stretching_time_changes_no_decision() {
    let mut rng = Rng(4);
    for round in 0..20 {
        let programs = rng.programs(8, 3, 1 << 20);
        let stretched: Vec<Program> = programs
            .iter()
            .map(|p| Program {
                arrival: p.arrival << 13,
                steps: p.steps.iter().map(|s| s << 13).collect(),
                ..p.clone()
            })
            .collect();
        for alpha in [0.0, 0.3, 1.0, 2.5, INF] {
            for beta in [0.0, 3.0, -3.0] {
                let once = |programs: &[Program], quantum| {
                    let mut bench = pbs(&[alpha, beta], 1 + round % 2, quantum, programs, Nobody);
                    bench.run(1 << 50);
                    bench.segments
                };
                let mut slow = once(&stretched, 1 << 25);
                slow.iter_mut().for_each(|s| (s.from, s.to) = (s.from >> 13, s.to >> 13));
                assert_eq!(once(&programs, 1 << 12), slow, "alpha {alpha}, beta {beta}");
            }
        }
    }
}

/// How often a second four tasks switch at alpha = 2 and a quantum of 4 ms (Figure 4, section 5.1).
#[test]
fn pbs_r7_the_bonus_makes_switches_rare() {
    for (gamma, expected) in [(0.0, 166.0), (0.07, 10.9), (0.2, 4.4)] {
        let mut bench = pbs(&[2.0, 0.0, gamma], 1, 4 * MS, &four_jobs(), Nobody);
        bench.run(12 * SEC);
        let rate = bench.switches as f64 / 12.0;
        assert!(
            (rate / expected - 1.0).abs() < 0.05,
            "gamma {gamma}: {rate} switches a second, not {expected}"
        );
    }
}

/// A turn lasts until its task has 2^(gamma/alpha) times the service of the one that waits (Eq. 5, Appendix A.3).
#[test]
fn pbs_r7_turns_grow_with_service() {
    let programs = [Program::new(0, 1024, &[900 * SEC]), Program::new(0, 1024, &[900 * SEC])];
    let mut bench = pbs(&[2.0, 0.0, 0.07], 1, MS, &programs, Nobody);
    bench.run(400 * SEC);
    let (mut service, mut turns) = ([0.0, 0.0, 0.0], 0);
    for segment in &bench.segments {
        service[segment.task.index()] += (segment.to - segment.from) as f64;
        let ratio = service[segment.task.index()] / service[3 - segment.task.index()];
        if segment.from > 10 * SEC && segment.to < 400 * SEC {
            assert!((ratio / 2f64.powf(0.07 / 2.0) - 1.0).abs() < 0.001, "{ratio} at {}", segment.to);
            turns += 1;
        }
    }
    assert!(turns > 50, "{turns}");
}
