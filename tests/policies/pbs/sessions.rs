//! Sessions of pbs: when one begins, and how sleep counts in it.

use divvy_policy::{RATIO_INF, TaskId};
use divvy_tests::bench::{MS, Nobody, Program, SEC, State, Task, Watch};
use divvy_tests::random::Rng;

use super::formula::{INF, error, pbs, rank, ratio};

/// The schedule of task 1 and a rival with a quantum of 5 ms: (task, from, to) in ms.
fn against_a_rival(params: &[f64], steps: &[u64], rival: (u64, u64)) -> Vec<(TaskId, u64, u64)> {
    let steps: Vec<u64> = steps.iter().map(|s| s * MS).collect();
    let programs = [Program::new(0, 1024, &steps), Program::new(rival.0 * MS, 1024, &[rival.1 * MS])];
    let mut bench = pbs(params, 1, 5 * MS, &programs, Nobody);
    bench.run(SEC);
    bench.segments.iter().map(|s| (s.task, s.from / MS, s.to / MS)).collect()
}

/// Least service runs. Awake again at 20, task 1 has attained 0 in a session of its own, and 10 in one for life:
/// then they are equal at 22, and the earlier arrival goes first.
#[test]
fn pbs_r5_r8_a_session_begins_with_no_service() {
    let runs = |beta| against_a_rival(&[INF, beta], &[10, 10, 10], (12, 13));
    assert_eq!(runs(0.0), [(1, 0, 10), (2, 12, 20), (1, 20, 30), (2, 30, 35)]);
    for beta in [INF, -INF] {
        assert_eq!(runs(beta), [(1, 0, 10), (2, 12, 22), (1, 22, 27), (2, 27, 30), (1, 30, 35)]);
    }
}

/// First come first served. The rival came at 5; task 1 came at 0 if its sleep counts, at 10 if it does not, and at
/// 20 if it begins a session.
#[test]
fn pbs_r6_sleep_within_a_session_counts_with_plus_beta_only() {
    let runs = |beta| against_a_rival(&[0.0, beta], &[10, 10, 10], (5, 20));
    assert_eq!(runs(INF), [(1, 0, 10), (2, 10, 20), (1, 20, 30), (2, 30, 40)]);
    assert_eq!(runs(-INF), [(1, 0, 10), (2, 10, 30), (1, 30, 40)]);
    assert_eq!(runs(0.0), runs(-INF));
}

/// The first sleep, 10 ms, begins a session at 20 (D4). With beta = 3 the second does from 30 ms on; if it does not,
/// task 1 came before the rival, at 40.
#[test]
fn pbs_r5_a_session_begins_after_beta_mean_sleeps() {
    let last =
        |beta, sleep| against_a_rival(&[0.0, beta], &[10, 10, 10, sleep, 10], (40, 100)).last().unwrap().0;
    for beta in [3.0, -3.0] {
        assert_eq!(last(beta, 30), 1, "a session of its own: the rival came first and ends first");
    }
    assert_eq!(last(3.0, 29), 2, "one session: task 1 came first and takes the CPU");
    assert_eq!(last(3.0 + 1.0 / 65536.0, 30), 2);
    assert_eq!(last(-3.0, 19), 2, "19 ms later than 20 is before 40");
}

/// All of it on random programs: sessions accounted here in whole numbers, priorities in floats.
struct Sessions {
    alpha: f64,
    beta: i64,
    of: Vec<Session>,
}

#[derive(Clone, Default)]
struct Session {
    tau: u64,
    s: u64,
    order: u64,
    left: u64,
    sleeps: Vec<u64>,
}

impl Watch for Sessions {
    fn join(&mut self, id: TaskId, new: bool, now: u64) {
        let order = self.of.iter().map(|o| o.order).max().unwrap_or(0) + 1;
        let o = &mut self.of[id as usize];
        let sleep = now - if new { now } else { o.left };
        let total: u128 = o.sleeps.iter().map(|s| u128::from(*s)).sum();
        let times = u128::from(self.beta.unsigned_abs());
        let long = (u128::from(sleep) * o.sleeps.len() as u128) << 16 >= times * total;
        if new || long && self.beta.abs() != RATIO_INF {
            (o.tau, o.s, o.order) = (now, 0, order);
        } else if self.beta < 0 {
            o.tau += sleep;
        }
        if !new {
            o.sleeps.push(sleep);
        }
    }

    fn leave(&mut self, id: TaskId, _exits: bool, now: u64) {
        self.of[id as usize].left = now;
    }

    fn charge(&mut self, id: TaskId, ran: u64, _now: u64) {
        self.of[id as usize].s += ran;
    }

    fn pick(&mut self, _cpu: usize, chosen: TaskId, tasks: &[Task], now: u64) {
        let rank = |id: usize| {
            let o = &self.of[id];
            rank(self.alpha, now - o.tau, o.s, tasks[id].weight, (o.tau, o.order))
        };
        let waiting = (1..tasks.len()).filter(|id| tasks[*id].state == State::Waiting);
        let Some(best) = waiting.map(rank).max_by(|a, b| a.partial_cmp(b).unwrap()) else { return };
        let got = rank(chosen as usize);
        let exact = self.alpha == INF || got.0 == INF;
        assert!(
            got == best || !exact && best.0 - got.0 <= error(self.alpha),
            "beta {}: {got:?}, {best:?}",
            self.beta
        );
    }
}

#[test]
fn pbs_r5_r6_sessions_on_random_programs() {
    let mut rng = Rng(5);
    for round in 0..300 {
        let (alpha, beta) =
            ([0.5, 1.0, 3.0, INF][round % 4], [0.0, 1.5, -1.5, 3.0, -0.25, INF, -INF][round % 7]);
        let programs = rng.programs(8, 8, 40_000);
        let watch = Sessions { alpha, beta: ratio(beta), of: vec![Session::default(); 9] };
        let mut bench = pbs(&[alpha, beta], 1, 3000, &programs, watch);
        bench.run(SEC);
        assert!(bench.tasks[1..].iter().all(|t| t.state == State::Done));
    }
}
