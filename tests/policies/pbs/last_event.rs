//! Section 4: tau as the last event of the whole system, which makes PBS processor sharing.

use divvy_policy::TaskId;
use divvy_tests::bench::{Nobody, Program, State, Task, Watch};
use divvy_tests::random::Rng;

use super::formula::{INF, pbs};

/// The parameters of pbs with last_event, which is the last of them, raw 1
fn params(alpha: f64) -> [f64; 9] {
    [alpha, 0.0, 0.0, 0.0, 0.0, 1.0, INF, 0.0, 1.0 / 65536.0]
}

/// Service since the last event, and who gave the CPU up last, in another program.
#[derive(Default)]
struct SinceTheLastEvent {
    event: u64,
    served: Vec<u64>,
    order: Vec<u64>,
    orders: u64,
}

impl SinceTheLastEvent {
    fn event(&mut self, now: u64) {
        self.event = now;
        self.served.fill(0);
    }

    fn last(&mut self, id: TaskId) {
        self.orders += 1;
        self.order[id.index()] = self.orders;
    }
}

impl Watch for SinceTheLastEvent {
    fn join(&mut self, id: TaskId, _new: bool, now: u64) {
        self.event(now);
        self.last(id);
    }

    fn leave(&mut self, _id: TaskId, _exits: bool, now: u64) {
        self.event(now);
    }

    fn charge(&mut self, id: TaskId, ran: u64, now: u64) {
        self.served[id.index()] += ran.min(now - self.event);
    }

    fn stop(&mut self, id: TaskId, _now: u64) {
        self.last(id);
    }

    fn preempts(&mut self, _woken: TaskId, cpu: Option<usize>, now: u64) {
        assert_eq!(cpu, None, "at {now}: all begin anew, and the one that runs came first");
    }

    fn pick(&mut self, _cpu: usize, chosen: Option<TaskId>, tasks: &[Task], now: u64) {
        let key = |id: usize| (self.served[id], self.order[id]);
        let waiting = (1..tasks.len()).filter(|id| tasks[*id].state == State::Waiting);
        let best = waiting.min_by_key(|id| key(*id));
        assert_eq!(chosen.map(TaskId::index), best, "at {now}");
    }
}

#[test]
fn pbs_r16_picks_the_least_service_since_the_last_event() {
    let mut rng = Rng(41);
    for round in 0..2000 {
        let alpha = [0.5, 1.0, 2.0, INF][round % 4];
        let tasks = 1 + round as u64 % 9;
        let mut programs = rng.programs(tasks, 4, [12, 4000, 40_000][round % 3]);
        programs.iter_mut().for_each(|p| p.weight = 1024);
        let none = vec![0; tasks as usize + 1];
        let watch = SinceTheLastEvent { served: none.clone(), order: none, ..SinceTheLastEvent::default() };
        let mut bench = pbs(&params(alpha), 1 + round % 8, 1000, &programs, watch);
        bench.run(1 << 40);
        assert!(bench.tasks[1..].iter().all(|t| t.state == State::Done));
    }
}

/// When jobs end whose n share P CPUs equally, each at most one.
fn processor_sharing(programs: &[Program], cpus: usize) -> Vec<f64> {
    let mut left: Vec<f64> = programs.iter().map(|p| p.steps[0] as f64).collect();
    let mut ends = vec![0.0; left.len()];
    let mut now = 0.0;
    while left.iter().any(|&l| l > 0.0) {
        let here: Vec<usize> =
            (0..left.len()).filter(|&i| left[i] > 0.0 && programs[i].arrival as f64 <= now).collect();
        let rate = (cpus as f64 / here.len() as f64).min(1.0);
        let ends_next = here.iter().map(|&i| now + left[i] / rate);
        let comes_next = programs.iter().map(|p| p.arrival as f64).filter(|&at| at > now);
        let next = ends_next.chain(comes_next).min_by(f64::total_cmp).unwrap();
        for i in here {
            left[i] -= (next - now) * rate;
            if left[i] < 1e-6 {
                (left[i], ends[i]) = (0.0, next);
            }
        }
        now = next;
    }
    ends
}

/// "Equivalent to the PS policy": ends are those of processor sharing to within a round of quanta for each event.
#[test]
fn pbs_r16_is_processor_sharing() {
    const QUANTUM: u64 = 100;
    let mut rng = Rng(42);
    for round in 0..200 {
        let cpus = 1 + round % 3;
        let programs: Vec<Program> = (0..2 + round % 6)
            .map(|_| Program::new(rng.within(0, 300_000), 1024, &[rng.within(1, 200_000)]))
            .collect();
        let mut bench = pbs(&params(1.0), cpus, QUANTUM, &programs, Nobody);
        bench.run(1 << 40);
        let n = programs.len() as f64;
        for (task, end) in bench.tasks[1..].iter().zip(processor_sharing(&programs, cpus)) {
            let off = (task.completion as f64 - end).abs() / QUANTUM as f64;
            assert!(off <= 2.0 * n * n, "round {round}: {off} quanta off");
        }
    }
}
