//! The cases of `sim/peers/run` in NeXosim; `sim/peers/case.py` says what each is, and what is printed.
//!
//! A model is the CPUs with their queue. It sets events for itself: jobs that come, and turns that end.

use std::collections::VecDeque;
use std::fmt::Display;
use std::time::Duration;

use nexosim::model::{Context, Model, schedulable};
use nexosim::ports::{EventSinkReader, Output, SinkState, event_queue};
use nexosim::simulation::{Mailbox, SimInit};
use nexosim::time::MonotonicTime;
use serde::{Deserialize, Serialize};

const SERVICE_NS: f64 = 1e6;
const INTERARRIVAL_NS: f64 = 1.25e6;
const QUANTUM_NS: u64 = 1_000_000;
const PERIODIC_CPUS: usize = 2;

/// The load of the model.
#[derive(Clone, Debug, Serialize, Deserialize)]
enum Load {
    /// Jobs that come at random, so many.
    Random { left: u64, arrivals: Random, work: Random },
    /// The work of tasks that all come at once.
    Together(Vec<u64>),
    /// Offset, period and work.
    Periodic(Vec<[u64; 3]>),
}

/// SplitMix64.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Random(u64);

impl Random {
    fn exponential(&mut self, mean: f64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        let uniform = ((z ^ z >> 31) >> 11) as f64 / (1_u64 << 53) as f64;
        (-mean * (1.0 - uniform).ln()) as u64 + 1
    }
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Job {
    task: usize,
    came_ns: u64,
    left_ns: u64,
}

/// A job that is done: its task, and when it came and ended.
type Done = (usize, u64, u64);

#[derive(Serialize, Deserialize)]
struct Cpus {
    done: Output<Done>,
    load: Load,
    idle: usize,
    quantum_ns: u64,
    queue: VecDeque<Job>,
}

#[Model]
impl Cpus {
    #[nexosim(init)]
    async fn init(&mut self, cx: &Context<Self>) {
        match self.load.clone() {
            Load::Random { .. } => self.expect(cx),
            Load::Together(works) => {
                let job = |(task, left_ns)| Job { task, came_ns: 0, left_ns };
                self.queue.extend(works.into_iter().enumerate().map(job));
                self.give(cx);
            }
            Load::Periodic(tasks) => {
                for (task, [offset, ..]) in tasks.into_iter().enumerate() {
                    cx.schedule_event(Duration::from_nanos(offset.max(1)), schedulable!(Self::comes), task).unwrap();
                }
            }
        }
    }

    /// The next random job.
    fn expect(&mut self, cx: &Context<Self>) {
        let Load::Random { left, arrivals, .. } = &mut self.load else { return };
        if *left > 0 {
            *left -= 1;
            let after = Duration::from_nanos(arrivals.exponential(INTERARRIVAL_NS));
            cx.schedule_event(after, schedulable!(Self::comes), 0).unwrap();
        }
    }

    #[nexosim(schedulable)]
    async fn comes(&mut self, task: usize, cx: &Context<Self>) {
        let left_ns = match &mut self.load {
            Load::Random { work, .. } => work.exponential(SERVICE_NS),
            Load::Periodic(tasks) => {
                let [_, period, work] = tasks[task];
                cx.schedule_event(Duration::from_nanos(period), schedulable!(Self::comes), task).unwrap();
                work
            }
            Load::Together(_) => 0,
        };
        self.queue.push_back(Job { task, came_ns: now_ns(cx), left_ns });
        self.expect(cx);
        self.give(cx);
    }

    /// Idle CPUs take jobs.
    fn give(&mut self, cx: &Context<Self>) {
        while self.idle > 0 {
            let Some(job) = self.queue.pop_front() else { return };
            self.idle -= 1;
            let turn_ns = job.left_ns.min(self.quantum_ns);
            let rest = Job { left_ns: job.left_ns - turn_ns, ..job };
            cx.schedule_event(Duration::from_nanos(turn_ns), schedulable!(Self::ends), rest).unwrap();
        }
    }

    /// A turn is over.
    #[nexosim(schedulable)]
    async fn ends(&mut self, job: Job, cx: &Context<Self>) {
        self.idle += 1;
        if job.left_ns > 0 {
            self.queue.push_back(job);
        } else {
            self.done.send((job.task, job.came_ns, now_ns(cx))).await;
        }
        self.give(cx);
    }
}

fn now_ns(cx: &Context<Cpus>) -> u64 {
    cx.time().duration_since(MonotonicTime::EPOCH).as_nanos() as u64
}

/// Runs until nothing is left to do, or until then. `take` gets all jobs that are done.
fn simulate(load: Load, idle: usize, quantum_ns: u64, until_ns: u64, mut take: impl FnMut(Done)) {
    let mut cpus = Cpus { done: Output::default(), load, idle, quantum_ns, queue: VecDeque::new() };
    let mailbox = Mailbox::new();
    let (sink, mut done) = event_queue(SinkState::Enabled);
    cpus.done.connect_sink(sink);
    let bench = SimInit::with_num_threads(1).add_model(cpus, mailbox, "CPUs");
    let mut simulation = bench.init(MonotonicTime::EPOCH).expect("a simulation");
    match until_ns {
        u64::MAX => simulation.run().expect("a run"),
        until_ns => simulation.step_until(Duration::from_nanos(until_ns)).expect("a run"),
    }
    while let Some(one) = done.try_read() {
        take(one);
    }
}

fn mm1(seed: u64, jobs: u64) -> String {
    let load = Load::Random { left: jobs, arrivals: Random(seed << 32), work: Random((seed << 32) + (1 << 31)) };
    let mut sum = 0;
    simulate(load, 1, u64::MAX, u64::MAX, |(_, came, ended)| sum += ended - came);
    (sum as f64 / jobs as f64).to_string()
}

fn rr(works: Vec<u64>) -> String {
    let mut ends = vec![0; works.len()];
    simulate(Load::Together(works), 1, QUANTUM_NS, u64::MAX, |(task, _, ended)| ends[task] = ended);
    list(&ends)
}

fn periodic(until_ns: u64, tasks: Vec<[u64; 3]>) -> String {
    let mut sums = vec![[0, 0]; tasks.len()];
    simulate(Load::Periodic(tasks), PERIODIC_CPUS, u64::MAX, until_ns, |(task, came, ended)| {
        sums[task][0] += ended - came;
        sums[task][1] += 1;
    });
    list(&sums.iter().map(|sum| list(sum)).collect::<Vec<_>>())
}

fn list(items: &[impl Display]) -> String {
    format!("[{}]", items.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "))
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let number = |text: &String| text.parse::<u64>().expect("a number");
    let answer = match args[0].as_str() {
        "mm1" => mm1(number(&args[1]), number(&args[2])),
        "rr" => rr(args[1..].iter().map(number).collect()),
        _ => {
            let task = |text: &String| {
                let mut parts = text.split(':').map(|part| part.parse().expect("a number"));
                std::array::from_fn(|_| parts.next().expect("OFFSET:PERIOD:WORK"))
            };
            periodic(number(&args[1]), args[2..].iter().map(task).collect())
        }
    };
    println!("{answer}");
}
