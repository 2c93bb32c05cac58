//! Entitled service and service error as reported, against a GMS fluid in exact fractions that is fed with what
//! the programs and the slices say, without the engine.

use std::collections::{BTreeMap, BTreeSet};

use divvy_sim::oracle::gms::rates;
use divvy_sim::oracle::hierarchy::{self, Node};
use divvy_sim::oracle::{Rational, whole};
use divvy_sim::sharing::Division;
use divvy_workload::{Group, Task, Workload};
use num_traits::{ToPrimitive, Zero};

use crate::model::{self, Deed, What};
use divvy_tests::cases::for_all;
use divvy_tests::record::{Record, run};
use divvy_tests::specs::specs;
use divvy_tests::workloads::{Kinds, workloads};

/// A task in the fluid system.
struct Backlog {
    weight: Rational,
    left: Rational,
}

/// How a spec divides the weights of a process's threads.
#[derive(Clone, Copy, Debug)]
struct Rule {
    division: Division,
    /// Those that exist count; else those that are backlogged.
    all: bool,
    /// Those of a task's group, if it is in one, and not those of its process.
    by_group: bool,
}

impl Rule {
    fn of(spec: &str) -> Rule {
        let division = match () {
            () if spec.contains("+tfps") => Division::UpToCpus,
            () if spec.contains("+procfair") => Division::Evenly,
            () => Division::None,
        };
        Rule { division, all: spec.contains(":all=on"), by_group: spec.contains(":group=on") }
    }
}

/// Serves what tasks bring, each until it is served, by the definition of GMS.
struct Fluid<'a> {
    cpus: u32,
    now: Rational,
    /// The task of each row.
    owners: Vec<&'a Task>,
    rule: Rule,
    /// Where groups have weights: all of them.
    groups: Option<&'a [Group]>,
    /// Rows of the tasks that exist.
    exist: BTreeSet<usize>,
    backlog: BTreeMap<usize, Backlog>,
    service: Vec<Rational>,
}

impl Fluid<'_> {
    fn weigh(&mut self) {
        let backlogged: BTreeSet<usize> = self.backlog.keys().copied().collect();
        for &row in &backlogged {
            let counted = if self.rule.all { &self.exist } else { &backlogged };
            let threads = counted.iter().filter(|&&other| self.are_divided(row, other)).count().max(1) as u64;
            let nominal = self.owners[row].weight.weight().fixed();
            let weight = match self.rule.division {
                Division::None => nominal,
                Division::Evenly => nominal / threads,
                Division::UpToCpus => nominal * threads.min(self.cpus.into()) / threads,
            };
            let weight = weight.max(1);
            self.backlog.get_mut(&row).expect("one of its rows").weight = whole(weight);
        }
    }

    /// Whether two tasks divide their weights among them.
    fn are_divided(&self, row: usize, other: usize) -> bool {
        let (a, b) = (self.owners[row], self.owners[other]);
        match (self.rule.by_group, a.group, b.group) {
            (true, Some(a), Some(b)) => a == b,
            (true, None, Some(_)) | (true, Some(_), None) => false,
            _ => a.process.is_some() && a.process == b.process,
        }
    }

    /// The rates of the backlogged rows, in their order
    fn rates(&self) -> Vec<Rational> {
        let Some(groups) = self.groups else {
            let weights: Vec<Rational> = self.backlog.values().map(|b| b.weight.clone()).collect();
            return rates(&weights, self.cpus);
        };
        let of_rows: BTreeMap<usize, Rational> =
            hierarchy::rates(&self.members(groups, None), self.cpus).into_iter().collect();
        of_rows.into_values().collect()
    }

    fn members(&self, groups: &[Group], of: Option<usize>) -> Vec<Node> {
        let own = self.backlog.iter().filter(|(row, _)| self.owners[**row].group == of);
        let own = own.map(|(&row, backlog)| Node::Task(row, backlog.weight.clone()));
        let inner = groups.iter().enumerate().filter(|(_, group)| group.parent == of);
        own.chain(inner.map(|(index, group)| {
            Node::Group(whole(group.weight.weight().fixed()), self.members(groups, Some(index)))
        }))
        .collect()
    }

    fn bring(&mut self, row: usize, work_ns: u64) {
        let fresh = Backlog { weight: Rational::zero(), left: Rational::zero() };
        self.backlog.entry(row).or_insert(fresh).left += whole(work_ns);
        self.weigh();
    }

    fn withdraw(&mut self, row: usize) {
        self.backlog.remove(&row);
        self.exist.remove(&row);
        self.weigh();
    }

    /// The tasks that start until then do, each at its time.
    fn start_until(&mut self, starts: &mut BTreeSet<(u64, usize)>, time_ns: u64) {
        while let Some((start_ns, row)) = starts.pop_first() {
            if start_ns > time_ns {
                starts.insert((start_ns, row));
                return;
            }
            self.advance_to(start_ns);
            self.exist.insert(row);
            self.weigh();
        }
    }

    fn advance_to(&mut self, time_ns: u64) {
        let end = whole(time_ns);
        while self.now < end {
            let rates = self.rates();
            let ends = self.backlog.values().zip(&rates).map(|(b, rate)| &b.left / rate);
            let passed = ends.chain([&end - &self.now]).min().expect("the end of the step at least");
            for ((&row, backlog), rate) in self.backlog.iter_mut().zip(rates) {
                let got = rate * &passed;
                backlog.left -= &got;
                self.service[row] += got;
            }
            self.now += passed;
            let before = self.backlog.len();
            self.backlog.retain(|_, b| !b.left.is_zero());
            if self.backlog.len() < before {
                self.weigh();
            }
        }
    }
}

/// The service that a row was entitled to, and its least and greatest error, in ns.
#[derive(Clone, Copy, Debug, Default)]
struct Exact {
    entitled: f64,
    least: f64,
    greatest: f64,
}

fn exact(workload: &Workload, record: &Record, spec: &str) -> Vec<Exact> {
    let owners = model::owner_of_rows(workload);
    let rows = owners.len();
    let zeros = vec![Rational::zero(); rows];
    let mut fluid = Fluid {
        cpus: workload.cpus,
        now: Rational::zero(),
        owners,
        rule: Rule::of(spec),
        groups: spec.contains("+groups").then_some(&workload.groups),
        exist: BTreeSet::new(),
        backlog: BTreeMap::new(),
        service: zeros,
    };
    let mut received = vec![0_u64; rows];
    let mut found = vec![Exact::default(); rows];
    let mut sample = |fluid: &Fluid, row: usize, received: u64| {
        let error = float(&(whole(received) - &fluid.service[row]));
        found[row].least = found[row].least.min(error);
        found[row].greatest = found[row].greatest.max(error);
    };
    let mut starts: BTreeSet<(u64, usize)> =
        fluid.owners.iter().enumerate().map(|(row, task)| (task.start_ns, row)).collect();
    for Deed { at_ns, row, what } in model::deeds(workload, record) {
        fluid.start_until(&mut starts, at_ns);
        fluid.advance_to(at_ns);
        match what {
            What::Served { ns } => received[row] += ns,
            What::Brings { ns } => fluid.bring(row, ns),
            What::Exits => fluid.withdraw(row),
            What::TurnBegins => {}
        }
        sample(&fluid, row, received[row]);
    }
    fluid.advance_to(record.run.duration_ns);
    for (row, &received) in received.iter().enumerate() {
        sample(&fluid, row, received);
    }
    for (exact, service) in found.iter_mut().zip(&fluid.service) {
        exact.entitled = float(service);
    }
    found
}

fn float(x: &Rational) -> f64 {
    x.to_f64().expect("a finite fraction")
}

fn check(workload: &Workload, spec: &str) {
    let record = run(workload, spec, 0);
    for (task, exact) in record.run.tasks.iter().zip(exact(workload, &record, spec)) {
        let near = |reported: f64, exact: f64| (reported - exact).abs() <= 1.0 + 1e-9 * exact.abs();
        let all = near(task.entitled_ns as f64, exact.entitled)
            && near(task.error_min_ns as f64, exact.least)
            && near(task.error_max_ns as f64, exact.greatest);
        assert!(all, "{spec}: {task:?} and {exact:?}");
    }
}

#[test]
fn entitled_service_and_errors_are_those_of_the_exact_fluid() {
    let specs = specs();
    for_all(60, 11, (workloads(Kinds::Tasks, 1..=4, 4), 0..specs.len()), |(workload, spec)| {
        check(&workload, &specs[spec]);
    });
}

/// All ways to divide weights: among the threads of a process or of a group, those that are runnable or all.
fn divisions() -> Vec<String> {
    let mut found = vec![String::new()];
    for modifier in ["procfair", "tfps"] {
        for params in ["", ":all=on", ":group=on", ":all=on:group=on"] {
            found.push(format!("+{modifier}{params}"));
        }
    }
    found
}

/// Each of them with and without weights of groups and readjustment.
#[test]
fn entitlement_follows_the_equation_in_force() {
    let divisions = divisions();
    for groups in ["", "+groups"] {
        for feasible in ["", "+feasible"] {
            for_all(40, 12, workloads(Kinds::Tasks, 1..=4, 5), |workload| {
                for (division, policy) in divisions.iter().zip(["sfq", "stride", "rr"].iter().cycle()) {
                    check(&workload, &format!("{policy}{division}{groups}{feasible}"));
                }
            });
        }
    }
}
