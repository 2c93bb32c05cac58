//! Random tasks come, bring work, may run on some CPUs only, and go. At any moment they got what the exact rates of the oracles
//! give, which are found anew at each change and followed step by step.

use super::*;
use crate::oracle::hierarchy::{self, Node};
use crate::oracle::{Rational, affinity, whole};
use divvy_policy::CpuLimit;
use divvy_workload::WeightSetting;
use num_traits::ToPrimitive;

/// Each number below its argument, from a seed.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }
}

/// A task in the plain model.
#[derive(Clone, Debug)]
struct Plain {
    exists: bool,
    nominal: u64,
    process: Option<u32>,
    group: Option<usize>,
    allowed: u32,
    left: f64,
    service: f64,
}

struct Model {
    cpus: u32,
    sharing: Sharing,
    groups: Vec<Group>,
    tasks: Vec<Plain>,
    now: f64,
}

impl Model {
    fn weight(&self, task: &Plain) -> Rational {
        let by_group = |task: &Plain| task.group.filter(|_| self.sharing.by_group);
        let is_beside = |other: &&Plain| match (by_group(task), by_group(other)) {
            (None, None) => task.process.is_some() && task.process == other.process,
            (a, b) => a == b,
        };
        let counts = |other: &&Plain| other.exists && (self.sharing.all || other.left > 0.0);
        let threads = self.tasks.iter().filter(counts).filter(is_beside).count().max(1) as u64;
        let weight = match self.sharing.division {
            Division::None => task.nominal,
            Division::Evenly => task.nominal / threads,
            Division::UpToCpus => task.nominal * threads.min(self.cpus.into()) / threads,
        };
        whole(weight.max(1))
    }

    fn members(&self, of: Option<usize>) -> Vec<Node> {
        let wants = |task: &&(usize, &Plain)| task.1.left > 0.0 && task.1.group == of;
        let tasks: Vec<(usize, &Plain)> = self.tasks.iter().enumerate().collect();
        let own = tasks.iter().filter(wants).map(|(at, task)| Node::Task(*at, self.weight(task)));
        let inner = self.groups.iter().enumerate().filter(|(_, group)| group.parent == of);
        let group = |(at, group): (usize, &Group)| {
            let inner = Node::Group(whole(group.weight.weight().fixed()), self.members(Some(at)));
            let limited = |limit: CpuLimit| {
                Node::Limited(whole(limit.quota_ns) / whole(limit.period_ns), Box::new(inner.clone()))
            };
            group.cpu_max.map_or_else(|| inner.clone(), limited)
        };
        own.chain(inner.map(group)).collect()
    }

    /// The rate of each task that has work.
    fn rates(&self) -> Vec<(usize, f64)> {
        let mut weights: Vec<(usize, Rational)> = match self.sharing.groups {
            true => hierarchy::rates(&self.members(None), self.cpus),
            false => (0..self.tasks.len())
                .filter(|&at| self.tasks[at].left > 0.0)
                .map(|at| (at, self.weight(&self.tasks[at])))
                .collect(),
        };
        weights.sort();
        if self.groups.iter().any(|group| group.cpu_max.is_some()) {
            let mut rates = match self.sharing.groups {
                true => weights,
                false => hierarchy::rates_within_limits(&self.members(None), self.cpus),
            };
            rates.sort();
            return rates.iter().map(|(at, rate)| (*at, rate.to_f64().expect("a rate"))).collect();
        }
        let bound = |(at, weight): &(usize, Rational)| affinity::Bound {
            weight: weight.clone(),
            allowed: self.tasks[*at].allowed,
        };
        let bound: Vec<affinity::Bound> = weights.iter().map(bound).collect();
        let rates = affinity::rates(&bound, self.cpus);
        weights.iter().zip(rates).map(|((at, _), rate)| (*at, rate.to_f64().expect("a rate"))).collect()
    }

    fn advance(&mut self, now: f64) {
        while self.now < now {
            let rates = self.rates();
            let end = rates.iter().map(|&(at, rate)| self.tasks[at].left / rate);
            let passed = end.fold(now - self.now, f64::min);
            for &(at, rate) in &rates {
                let task = &mut self.tasks[at];
                task.service += rate * passed;
                task.left -= rate * passed;
                if task.left < 1e-9 * rate {
                    task.left = 0.0;
                }
            }
            self.now = if now - self.now - passed < 1e-9 { now } else { self.now + passed };
        }
    }
}

fn groups() -> Vec<Group> {
    let group = |name: &str, weight: u64, parent| Group {
        name: name.into(),
        weight: WeightSetting::Units(Weight::from_fixed(weight)),
        parent,
        cpu_max: None,
    };
    vec![group("a", 900, None), group("b", 100, None), group("c", 7, Some(0)), group("d", 5000, Some(2))]
}

fn run(seed: u64, sharing: Sharing, binds: bool, limits: bool) {
    let mut random = Random(seed);
    let cpus = 1 + random.below(5) as u32;
    let mut groups = groups();
    for group in groups.iter_mut().filter(|_| limits) {
        let quota_ns = [0, 1, 30, 100, 170, 300][random.below(6) as usize];
        group.cpu_max = (quota_ns > 0).then_some(CpuLimit { quota_ns, period_ns: 100, burst_ns: 0 });
    }
    let mut model = Model { cpus, sharing, groups: groups.clone(), tasks: Vec::new(), now: 0.0 };
    let mut fluid = Entitled::new(cpus, sharing, &groups);
    let absent =
        Plain { exists: false, nominal: 1, process: None, group: None, allowed: 0, left: 0.0, service: 0.0 };
    model.tasks = vec![absent; 9];
    let mut now = 0;
    for _ in 0..60 {
        now += random.below(40);
        model.advance(now as f64);
        let at = random.below(9) as usize;
        let id = task(at as u32);
        if !model.tasks[at].exists {
            let nominal = [1, 20, 300, 1_000_000][random.below(4) as usize] * (1 + random.below(3));
            let process = (random.below(2) > 0).then(|| random.below(2) as u32);
            let group = (random.below(3) > 0).then(|| random.below(4) as usize);
            let all = (1 << cpus) - 1;
            let allowed =
                if binds && random.below(2) > 0 { 1 + random.below(all) as u32 } else { all as u32 };
            fluid.add(id, weight(nominal), process, group, now);
            if allowed != all as u32 || random.below(2) > 0 {
                fluid
                    .restrict(id, &(0..cpus).filter(|cpu| allowed >> cpu & 1 == 1).map(CpuId::new).collect());
            }
            model.tasks[at] =
                Plain { exists: true, nominal, process, group, allowed, left: 0.0, service: 0.0 };
        } else if random.below(4) == 0 {
            fluid.withdraw(id, now);
            model.tasks[at].left = 0.0;
            model.tasks[at].exists = false;
        } else {
            let work = if random.below(5) == 0 { FOREVER } else { 1 + random.below(60) };
            fluid.bring(id, work, now);
            model.tasks[at].left += if work == FOREVER { f64::INFINITY } else { work as f64 };
        }
        for (at, plain) in model.tasks.iter().enumerate().filter(|(_, plain)| plain.exists) {
            let is = fluid.service_ns(task(at as u32), now);
            assert!(
                (is - plain.service).abs() < 1e-4,
                "seed {seed}, at {now}: {is}, not {plain:?}; {sharing:?}"
            );
        }
    }
}

#[test]
fn random_tasks_get_what_the_definitions_give() {
    let divisions = [Division::None, Division::Evenly, Division::UpToCpus];
    for seed in 0..960 {
        let is = |bit: u64| seed >> bit & 1 == 1;
        let sharing = Sharing {
            division: divisions[(seed / 16 % 3) as usize],
            all: is(0),
            by_group: is(1),
            groups: is(2),
        };
        run(seed, sharing, is(3), false);
        if !is(3) {
            run(seed, sharing, false, true);
        }
    }
}
