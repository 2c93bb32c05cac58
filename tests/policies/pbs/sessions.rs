//! Sessions of pbs: when one begins, and how sleep counts in it.

use divvy_policy::{RATIO_INF, TaskId};
use divvy_tests::bench::{MS, Nobody, Program, SEC, State, Task, Watch};
use divvy_tests::example;
use divvy_tests::random::Rng;

use super::formula::{INF, error, pbs, rank, ratio};

/// The schedule of task 1 and a rival with a quantum of 5 ms: (task, from, to) in ms.
fn against_a_rival(params: &[f64], steps: &[u64], rival: (u64, u64)) -> Vec<(u32, u64, u64)> {
    let steps: Vec<u64> = steps.iter().map(|s| s * MS).collect();
    let programs = [Program::new(0, 1024, &steps), Program::new(rival.0 * MS, 1024, &[rival.1 * MS])];
    let mut bench = pbs(params, 1, 5 * MS, &programs, Nobody);
    bench.run(SEC);
    bench.segments.iter().map(|s| (s.task.get(), s.from / MS, s.to / MS)).collect()
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
    deviations: f64,
    of: Vec<Session>,
    /// A sleep was so near its limit that roundings decide: nothing is known of what follows.
    unsure: bool,
}

#[derive(Clone, Default)]
struct Session {
    tau: u64,
    s: u64,
    order: u64,
    left: u64,
    notified: bool,
    sleeps: Vec<u64>,
}

impl Sessions {
    fn new(alpha: f64, beta: f64, deviations: f64) -> Sessions {
        let of = vec![Session::default(); 9];
        Sessions { alpha, beta: ratio(beta), deviations, of, unsure: false }
    }

    /// The text's condition with the standard deviation of all sleeps so far.
    fn is_long(&mut self, id: TaskId, sleep: u64) -> bool {
        let sleeps = &self.of[id.index()].sleeps;
        let (n, total) = (sleeps.len() as u128, sleeps.iter().map(|s| u128::from(*s)).sum::<u128>());
        if self.deviations == 0.0 {
            let times = u128::from(self.beta.unsigned_abs());
            return (u128::from(sleep) * n) << 16 >= times * total;
        }
        let squares: u128 = sleeps.iter().map(|s| u128::from(*s).pow(2)).sum();
        let n = n.max(1) as f64;
        let deviation = ((n as u128 * squares - total * total) as f64).sqrt() / n;
        let limit =
            self.beta.unsigned_abs() as f64 / 65536.0 * total as f64 / n + self.deviations * deviation;
        // Steps of 1024 ns, for the mean and for the deviation.
        self.unsure |= (sleep as f64 - limit).abs() < self.deviations * (3000.0 + deviation * 0.002);
        sleep as f64 >= limit
    }

    fn begin(&mut self, id: TaskId, now: u64) {
        let order = self.of.iter().map(|o| o.order).max().unwrap_or(0) + 1;
        let o = &mut self.of[id.index()];
        (o.tau, o.s, o.order, o.notified) = (now, 0, order, false);
    }
}

impl Watch for Sessions {
    fn join(&mut self, id: TaskId, new: bool, now: u64) {
        let sleep = now - if new { now } else { self.of[id.index()].left };
        if new || self.of[id.index()].notified || self.beta.abs() != RATIO_INF && self.is_long(id, sleep) {
            self.begin(id, now);
        } else if self.beta < 0 {
            self.of[id.index()].tau += sleep;
        }
        if !new {
            self.of[id.index()].sleeps.push(sleep);
        }
    }

    fn session(&mut self, id: TaskId, is_runnable: bool, now: u64) {
        if is_runnable {
            self.begin(id, now);
        } else {
            self.of[id.index()].notified = true;
        }
    }

    fn leave(&mut self, id: TaskId, _exits: bool, now: u64) {
        self.of[id.index()].left = now;
    }

    fn charge(&mut self, id: TaskId, ran: u64, _now: u64) {
        self.of[id.index()].s += ran;
    }

    fn pick(&mut self, _cpu: usize, chosen: Option<TaskId>, tasks: &[Task], now: u64) {
        let rank = |id: usize| {
            let o = &self.of[id];
            rank(self.alpha, now - o.tau, o.s, tasks[id].weight, (o.tau, o.order))
        };
        let waiting = (1..tasks.len()).filter(|id| tasks[*id].state == State::Waiting);
        let Some(best) = waiting.map(rank).max_by(|a, b| a.partial_cmp(b).unwrap()) else { return };
        let got = rank(chosen.expect("a task waits").index());
        let exact = self.alpha == INF || got.0 == INF;
        assert!(
            self.unsure || got == best || !exact && best.0 - got.0 <= error(self.alpha),
            "beta {}: {got:?}, {best:?}",
            self.beta
        );
    }
}

/// Values of alpha and beta for a round.
fn alpha_and_beta(round: usize) -> (f64, f64) {
    ([0.5, 1.0, 3.0, INF][round % 4], [0.0, 1.5, -1.5, 3.0, -0.25, INF, -INF][round % 7])
}

#[test]
fn pbs_r5_r6_sessions_on_random_programs() {
    let mut rng = Rng(5);
    for round in 0..4000 {
        let (alpha, beta) = alpha_and_beta(round);
        let programs = rng.programs(8, 8, 40_000);
        let mut bench = pbs(&[alpha, beta], 1, 3000, &programs, Sessions::new(alpha, beta, 0.0));
        bench.run(SEC);
        assert!(bench.tasks[1..].iter().all(|t| t.state == State::Done));
    }
}

/// The parameter deviations, after those of the second priority
fn with_deviations(alpha: f64, beta: f64, deviations: f64) -> [f64; 8] {
    [alpha, beta, 0.0, 0.0, 0.0, 1.0, INF, deviations]
}

#[test]
fn pbs_r14_deviations_on_random_programs() {
    let mut rng = Rng(6);
    let mut unsure = 0;
    for round in 0..4000 {
        let (alpha, beta) = alpha_and_beta(round);
        let deviations = [0.5, 1.0, 3.0][round % 3];
        let programs = rng.programs(8, 8, 40 * MS);
        let watch = Sessions::new(alpha, beta, deviations);
        let params = with_deviations(alpha, beta, deviations);
        let mut bench = pbs(&params, 1 + round % 3, 3 * MS, &programs, watch);
        bench.run(100 * SEC);
        assert!(bench.tasks[1..].iter().all(|t| t.state == State::Done));
        unsure += u64::from(bench.watch.unsure);
    }
    assert!(unsure < 800, "{unsure} cases are not judged to their end");
}

/// Sleeps of 10, 20, 10, 20 ms have a mean of 15 and a standard deviation of 5: with beta = 1 and two deviations, 26 ms
/// begin a session and 24 do not. The rival of 1 ms less service then runs, or not.
#[test]
fn pbs_r14_two_deviations() {
    let last = |deviations, sleep| {
        let steps = [1, 10, 1, 20, 1, 10, 1, 20, 10, sleep, 10];
        let params = with_deviations(0.0, 1.0, deviations);
        against_a_rival(&params, &steps, (76, 100)).last().unwrap().0
    };
    assert_eq!((last(0.0, 24), last(2.0, 24), last(2.0, 26)), (1, 2, 1));
}

/// Tasks say at any moment that they begin a session: asleep, waiting and running.
#[test]
fn pbs_r15_notified_sessions_on_random_programs() {
    let mut rng = Rng(7);
    for round in 0..4000 {
        let (alpha, beta) = alpha_and_beta(round);
        let programs = rng.programs(8, 8, 40_000);
        let watch = Sessions::new(alpha, beta, 0.0);
        let mut bench = pbs(&[alpha, beta], 1 + round % 3, 3000, &programs, watch);
        for _ in 0..60 {
            bench.run(bench.now + rng.within(1, 20_000));
            let id = TaskId::new(rng.within(1, 8) as u32);
            // Before a task's first burst there is nobody who could say so.
            if bench.tasks[id.index()].state != State::Done && bench.tasks[id.index()].order > 0 {
                bench.session(id);
            }
        }
        bench.run(SEC);
        assert!(bench.tasks[1..].iter().all(|t| t.state == State::Done));
    }
}

/// A server beside a hog, by least service since its session began. It sleeps as long between two steps of a request as
/// between two requests, so no beta tells them apart; it says so itself.
#[test]
fn pbs_r15_a_server_says_where_requests_begin() {
    let response = |begins: &str| {
        let text = format!(
            "duration = \"10s\"\nquantum = \"4ms\"\n[[task]]\nname = \"hog\"\nprogram = [ {{ run = \"forever\" }} ]\n\
             [[task]]\nname = \"server\"\nprogram = [ {{ loop = \"forever\", do = [ {begins} {{ run = \"20ms\" }}, \
             {{ sleep = \"5ms\" }} ] }} ]\n"
        );
        let example = example::run(&text, "pbs:alpha=inf:beta=inf");
        example.service("server", 9 * SEC, 10 * SEC)
    };
    // It runs for 20 of 25 ms if each request begins anew, and for half of the time if all its service counts.
    assert!(response("{ session = true },") >= 790 * MS);
    assert!(response("").abs_diff(500 * MS) <= 20 * MS);
}
