//! Random workloads that end by themselves. They are made of pieces that cannot deadlock: a piece is a task or
//! a few that need each other.

use divvy_policy::{CpuId, Weight};
use divvy_workload::{Arrivals, Barrier, Dist, Group, Step, Task, WeightSetting, Workload};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

/// A microsecond, in ns.
pub const US: u64 = 1_000;
/// A millisecond, in ns.
pub const MS: u64 = 1_000_000;

/// The settings that all tasks have.
#[derive(Clone, Debug)]
struct Common {
    weight: WeightSetting,
    process: Option<u8>,
    group: Option<usize>,
    count: u32,
    start_ns: u64,
    /// Bits of the CPUs that it may use; those that the machine lacks do not count.
    affinity: Option<u8>,
    stop_after_ns: Option<u64>,
}

/// One task, or a few that need each other.
#[derive(Clone, Debug)]
enum Piece {
    /// Runs, sleeps, yields.
    Plain(Common, Vec<Step>),
    /// Always runnable, until it is stopped.
    Hog(Common, u64),
    /// Takes one or both locks around its work.
    Locker(Common, u64, Vec<(usize, Dist)>),
    /// `count` tasks that meet after each round.
    Crew(Common, u64, Vec<Step>),
    /// A parent, how often it forks, the children.
    Family(Common, u64, Common, Vec<Step>),
    /// A producer that wakes a consumer for each token.
    Pipe(Common, Common, u64, Dist, Dist),
    /// Open arrivals.
    Source(Common, Dist, u64, Vec<Step>),
    /// Closed arrivals, until they are stopped.
    Users(Common, Dist, u64, Vec<Step>),
}

/// The kinds of tasks that a workload has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kinds {
    /// All of them, with costs, ticks and random times.
    All,
    /// Those whose runnable intervals can be told from the slices: programs of constant runs and sleeps, and
    /// open arrivals of constant jobs; no affinity, nothing stopped, switching is free.
    Plain,
    /// Plain, and no open arrivals: each task has a row of the result.
    Tasks,
    /// Plain, and nobody sleeps: when work arrives does not depend on the policy.
    OpenLoop,
}

/// Workloads of these kinds on CPUs in this range, with at most so many pieces of up to four tasks.
pub fn workloads(
    kinds: Kinds,
    cpus: std::ops::RangeInclusive<u32>,
    pieces: usize,
) -> BoxedStrategy<Workload> {
    let machine = (cpus, prop::sample::select(vec![100 * US, MS, 4 * MS, 1_234_567]));
    let costs = match kinds {
        Kinds::All => (
            option::of(prop::sample::select(vec![MS, 333_333])),
            prop::sample::select(vec![0, 0, 5 * US]),
            prop::sample::select(vec![0, 0, 20 * US]),
        )
            .boxed(),
        _ => (option::of(Just(MS)), Just(0), Just(0)).boxed(),
    };
    (machine, costs, vec(piece(kinds), 1..=pieces))
        .prop_map(|((cpus, quantum_ns), (tick_ns, switch_cost_ns, migration_cost_ns), pieces)| {
            let mut workload = Workload {
                name: "random".into(),
                cpus,
                quantum_ns,
                duration_ns: None,
                warmup_ns: 0,
                tick_ns,
                switch_cost_ns,
                migration_cost_ns,
                topology: None,
                groups: groups(),
                tasks: Vec::new(),
                locks: vec!["a".into(), "b".into()],
                semaphores: Vec::new(),
                barriers: Vec::new(),
            };
            for piece in pieces {
                piece.add_to(&mut workload);
            }
            workload.check().expect("the pieces make sense");
            workload
        })
        .boxed()
}

const GROUPS: usize = 5;

/// a (1), a/b (3), c (2), c/d (1), c/d/e (8)
fn groups() -> Vec<Group> {
    let group = |(name, parent, units): (&str, Option<usize>, u64)| Group {
        name: name.into(),
        weight: WeightSetting::Units(units * Weight::ONE),
        parent,
        cpu_max: None,
    };
    let all: [_; GROUPS] =
        [("a", None, 1), ("a/b", Some(0), 3), ("c", None, 2), ("c/d", Some(2), 1), ("c/d/e", Some(3), 8)];
    all.map(group).into()
}

fn piece(kinds: Kinds) -> BoxedStrategy<Piece> {
    let plain = (common(kinds), steps(kinds)).prop_map(|(c, s)| Piece::Plain(c, s));
    let source = (common(kinds), time(kinds), 1..=8_u64, job(kinds))
        .prop_map(|(c, between, n, s)| Piece::Source(c, between, n, s));
    match kinds {
        Kinds::All => {}
        Kinds::Tasks => return plain.boxed(),
        Kinds::Plain | Kinds::OpenLoop => return prop_oneof![3 => plain, 1 => source].boxed(),
    }
    let work = || vec((0..3_usize, time(kinds)), 1..4);
    prop_oneof![
        4 => plain,
        1 => (common(kinds), MS..40 * MS).prop_map(|(c, ns)| Piece::Hog(c, ns)),
        2 => (common(kinds), 1..5_u64, work()).prop_map(|(c, n, w)| Piece::Locker(c, n, w)),
        1 => (common(kinds), 1..5_u64, job(kinds)).prop_map(|(c, n, s)| Piece::Crew(c, n, s)),
        1 => (common(kinds), 1..4_u64, common(kinds), steps(kinds))
            .prop_map(|(c, n, child, s)| Piece::Family(c, n, child, s)),
        1 => (common(kinds), common(kinds), 1..6_u64, time(kinds), time(kinds))
            .prop_map(|(a, b, n, s, r)| Piece::Pipe(a, b, n, s, r)),
        2 => source,
        1 => (common(kinds), time(kinds), MS..40 * MS, steps(kinds))
            .prop_map(|(c, think, ns, s)| Piece::Users(c, think, ns, s)),
    ]
    .boxed()
}

fn common(kinds: Kinds) -> BoxedStrategy<Common> {
    let placed = match kinds {
        Kinds::All => (option::weighted(0.3, any::<u8>()), option::weighted(0.1, MS..40 * MS)).boxed(),
        _ => (Just(None), Just(None)).boxed(),
    };
    let start = prop_oneof![2 => Just(0), 1 => 0..30 * MS, 1 => (0..10_u64).prop_map(|n| n * MS)];
    let of = (option::weighted(0.4, 0..3_u8), option::weighted(0.5, 0..GROUPS));
    (weight(), of, 1..=4_u32, start, placed)
        .prop_map(|(weight, (process, group), count, start_ns, (affinity, stop_after_ns))| Common {
            weight,
            process,
            group,
            count,
            start_ns,
            affinity,
            stop_after_ns,
        })
        .boxed()
}

/// Nice values, and weights from 1/1024 to 100,000 of which small ones are as likely as great ones.
pub fn weight() -> impl Strategy<Value = WeightSetting> {
    let units = (0..27_u32, 0.0..1.0_f64).prop_map(|(bits, x)| {
        WeightSetting::Units(Weight::from_fixed(
            (((1_u64 << bits) as f64 * (1.0 + x)) as u64).min(102_400_000),
        ))
    });
    let whole = (1..=100_000_u64).prop_map(|w| WeightSetting::Units(w * Weight::ONE));
    let small = (1..=12_u64).prop_map(|w| WeightSetting::Units(w * Weight::ONE));
    let nice = (-20..=19_i8).prop_map(WeightSetting::Nice);
    prop_oneof![units, whole, small, nice]
}

/// Constant in workloads that are reconstructed from their slices; else also random.
fn time(kinds: Kinds) -> BoxedStrategy<Dist> {
    let constant = || {
        prop_oneof![
            1 => 1..1000_u64,
            3 => MS / 10..12 * MS,
            2 => (1..10_u64).prop_map(|n| n * MS),
        ]
    };
    match kinds {
        Kinds::All => prop_oneof![
            3 => constant().prop_map(Dist::Constant),
            1 => constant().prop_map(Dist::Exp),
            1 => constant().prop_map(|hi| Dist::Uniform { lo: 0, hi }),
        ]
        .boxed(),
        _ => constant().prop_map(Dist::Constant).boxed(),
    }
}

/// A program that only uses the CPU, which it may yield.
fn job(kinds: Kinds) -> BoxedStrategy<Vec<Step>> {
    let step = prop_oneof![4 => time(kinds).prop_map(Step::Run), 1 => Just(Step::Yield)];
    vec(step, 1..4).boxed()
}

/// A program that may also sleep.
fn steps(kinds: Kinds) -> BoxedStrategy<Vec<Step>> {
    if kinds == Kinds::OpenLoop {
        return job(kinds);
    }
    let sleep = match kinds {
        Kinds::All => prop_oneof![
            3 => time(kinds).prop_map(Step::Sleep),
            1 => (MS..20 * MS).prop_map(Step::Until),
            1 => (MS..9 * MS).prop_map(Step::Period),
        ]
        .boxed(),
        _ => time(kinds).prop_map(Step::Sleep).boxed(),
    };
    let step = prop_oneof![
        3 => time(kinds).prop_map(Step::Run),
        2 => sleep,
        1 => Just(Step::Yield),
    ];
    let leaf = step.clone();
    let repeated = (1..4_u64, vec(leaf, 1..4)).prop_map(|(n, body)| Step::Loop { times: Some(n), body });
    vec(prop_oneof![4 => step, 1 => repeated], 1..6).boxed()
}

impl Piece {
    fn add_to(self, w: &mut Workload) {
        match self {
            Self::Plain(c, steps) => c.task(w, Arrivals::Once, steps),
            Self::Hog(c, ns) => {
                let c = Common { stop_after_ns: Some(ns), ..c };
                c.task(w, Arrivals::Once, vec![Step::RunForever]);
            }
            Self::Locker(c, rounds, work) => {
                let body = work.into_iter().flat_map(|(locks, d)| locked(locks, d)).collect();
                c.task(w, Arrivals::Once, vec![Step::Loop { times: Some(rounds), body }]);
            }
            Self::Crew(c, rounds, mut body) => {
                body.push(Step::Barrier(w.barriers.len()));
                let name = format!("crew{}", w.barriers.len());
                w.barriers.push(Barrier { name, parties: c.count });
                c.task(w, Arrivals::Once, vec![Step::Loop { times: Some(rounds), body }]);
            }
            Self::Family(c, rounds, child, steps) => {
                let body = vec![Step::Run(Dist::Constant(MS)), Step::Fork(w.tasks.len() + 1)];
                c.task(w, Arrivals::Once, vec![Step::Loop { times: Some(rounds), body }]);
                Common { start_ns: 0, stop_after_ns: None, ..child }.task(
                    w,
                    Arrivals::Forked { limit: None },
                    steps,
                );
            }
            Self::Pipe(producer, consumer, tokens, pause, work) => {
                let give = vec![Step::Sleep(pause), Step::Wake(w.tasks.len() + 1)];
                let take = vec![Step::Wait, Step::Run(work)];
                let alone = |c| Common { count: 1, stop_after_ns: None, ..c };
                let times = Some(tokens);
                alone(producer).task(w, Arrivals::Once, vec![Step::Loop { times, body: give }]);
                alone(consumer).task(w, Arrivals::Once, vec![Step::Loop { times, body: take }]);
            }
            Self::Source(c, interarrival, n, steps) => {
                let c = Common { count: 1, ..c };
                c.task(w, Arrivals::Open { interarrival, limit: Some(n) }, steps);
            }
            Self::Users(c, think, ns, steps) => {
                let c = Common { stop_after_ns: Some(ns), ..c };
                c.task(w, Arrivals::Closed { think }, steps);
            }
        }
    }
}

/// Work under neither, one, or both locks, always taken in the same order.
fn locked(locks: usize, work: Dist) -> Vec<Step> {
    let inner = vec![Step::Run(work)];
    (0..locks).rev().fold(inner, |mut steps, lock| {
        steps.insert(0, Step::Lock(lock));
        steps.push(Step::Unlock(lock));
        steps
    })
}

impl Common {
    fn task(self, w: &mut Workload, arrivals: Arrivals, program: Vec<Step>) {
        let is_allowed = |cpu: &CpuId| self.affinity.is_some_and(|bits| bits >> (cpu.index() % 8) & 1 == 1);
        let allowed: Vec<CpuId> = CpuId::first(w.cpus as usize).filter(is_allowed).collect();
        w.tasks.push(Task {
            name: format!("T{}", w.tasks.len()),
            weight: self.weight,
            process: self.process.map(|p| format!("P{p}")),
            group: self.group,
            count: self.count,
            start_ns: self.start_ns,
            stop_ns: self.stop_after_ns.map(|ns| self.start_ns + ns),
            executable: None,
            affinity: Some(allowed).filter(|cpus| !cpus.is_empty()),
            arrivals,
            program,
        });
    }
}
