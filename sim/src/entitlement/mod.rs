//! Entitled service, as it accrues: what the GMS fluid model gives each task of the work that it brought.
//!
//! Generalized multiprocessor sharing (SFS paper, section 2.2): at any moment each backlogged task is served at
//! a rate in proportion to its weight, but at no more than one CPU; what the capped ones leave goes to the others by
//! weight. The fluid system gets each burst of CPU demand when the simulated task comes to it, and serves it in its
//! own time: a task is backlogged there until all that it brought is served, however long the policy takes.
//! It does not know what switches cost.
//!
//! Kept incrementally: with `rest` the weight of the tasks that are not capped and `q` the CPUs that these share,
//! all of them advance along one virtual time, dV/dt = q / rest, and a task's service is its weight times the
//! distance. A change of the backlogged set touches the capped tasks only (`water_filling.rs`).
//!
//! With a hierarchy of groups the weights are those rates themselves, worked out anew at each change of the backlogged set
//! (`hierarchy.rs`): O(tasks and groups) a change.
//!
//! Where tasks may not run everywhere, rates are the lexicographic max-min of rate over weight (`affinity.rs`), worked out anew
//! in the same way; with groups, a task's rate in the hierarchy is its weight there.
//!
//! `oracle::gms`, `oracle::affinity` and `oracle::hierarchy` compute the same in exact fractions, by another method; tests compare the two.

mod affinity;
mod hierarchy;
mod virtual_time;
mod water_filling;

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::sharing::{Division, Sharing};
use affinity::Asks;
use divvy_policy::{CpuId, CpuMask, TaskId, Weight};
use divvy_workload::Group;
use hierarchy::Hierarchy;
use virtual_time::{Finish, Virtual};
use water_filling::{Filled, Orders};

/// One CPU as a weight, where weights are rates: 2^8 of them are exact in an `f64`.
const CPU: f64 = (1_u64 << 44) as f64;

#[derive(Clone, Copy, Debug)]
struct Share {
    /// Its own weight.
    nominal: u64,
    /// The same, divided among the threads of its owner where that is asked for.
    wanted: u64,
    /// The weight in force: `wanted`, or in a hierarchy and with affinity its rate.
    weight: u64,
    /// Where it may run; `None` is everywhere.
    allowed: Option<CpuMask>,
    /// The process or group whose threads divide their weights, by number.
    owner: Option<usize>,
    /// 0 is none.
    group: usize,
    /// Service until `from`, in ns.
    received_ns: f64,
    /// Work left at `from`, in ns; infinite for a hog.
    left_ns: f64,
    /// V when it began to advance along it; or, if capped, the time.
    from: Virtual,
    from_ns: f64,
    capped: bool,
    backlogged: bool,
    /// Version of its entry in `finishing`; other entries are void.
    version: u32,
}

/// A process or a group whose threads divide their weights.
#[derive(Clone, Debug, Default)]
struct Owner {
    backlogged: Vec<TaskId>,
    /// All that exist.
    threads: u64,
}

/// The fluid model's state.
#[derive(Clone, Debug)]
pub struct Entitled {
    cpus: u64,
    sharing: Sharing,
    tasks: Vec<Share>,
    /// By number.
    owners: Vec<Owner>,
    /// By number, the group in which the tasks of each group are.
    joined: Vec<usize>,
    /// The groups, if these have weights.
    hierarchy: Option<Hierarchy>,
    /// Whether some task may not run everywhere.
    bound: bool,
    /// All backlogged tasks, where rates are worked out for all.
    backlog: Vec<TaskId>,
    /// All backlogged tasks, by weight.
    orders: Orders,
    /// The backlogged tasks that are capped at one CPU.
    capped: Vec<TaskId>,
    finishing: BinaryHeap<Reverse<Finish>>,
    /// The task whose work is served next, and when: none, at infinity. `None` if that must be found out anew.
    served_next: Option<(Option<TaskId>, f64)>,
    now_ns: f64,
    v: Virtual,
    /// dV/dt.
    rate: f64,
}

impl Entitled {
    /// A model of `cpus` CPUs, in which nothing is runnable yet.
    #[must_use]
    pub fn new(cpus: u32, sharing: Sharing, groups: &[Group]) -> Entitled {
        Entitled {
            cpus: cpus.into(),
            sharing,
            tasks: Vec::new(),
            owners: Vec::new(),
            joined: hierarchy::joined(groups),
            hierarchy: sharing.groups.then(|| Hierarchy::new(groups)),
            bound: false,
            backlog: Vec::new(),
            orders: Orders::new(),
            capped: Vec::new(),
            finishing: BinaryHeap::new(),
            served_next: None,
            now_ns: 0.0,
            v: Virtual::default(),
            rate: 0.0,
        }
    }

    /// A new task with no service yet. `process` and `group` are numbers; tasks of the same one may divide their
    /// weights, as [`Sharing`] says.
    pub fn add(
        &mut self,
        task: TaskId,
        weight: Weight,
        process: Option<u32>,
        group: Option<usize>,
        now_ns: u64,
    ) {
        self.advance(now_ns);
        let group = group.map_or(0, |group| self.joined[group + 1]);
        let owner = self.owner(process, group);
        let weight = weight.fixed();
        let version = self.tasks.get(task.index()).map_or(0, |former| former.version + 1);
        let fresh = Share {
            nominal: weight,
            wanted: weight,
            weight,
            allowed: None,
            owner,
            group,
            received_ns: 0.0,
            left_ns: 0.0,
            from: Virtual::default(),
            from_ns: 0.0,
            capped: false,
            backlogged: false,
            version,
        };
        let i = task.index();
        if i >= self.tasks.len() {
            self.tasks.resize(i + 1, fresh);
        }
        self.tasks[i] = fresh;
        if let Some(owner) = owner {
            let n = self.owners.len().max(owner + 1);
            self.owners.resize_with(n, Owner::default);
            self.owners[owner].threads += 1;
            self.count_anew(owner);
        }
    }

    /// From now on the task, which has brought no work yet, may run only there.
    pub fn restrict(&mut self, task: TaskId, allowed: &CpuMask) {
        let everywhere = CpuId::first(self.cpus as usize).all(|cpu| allowed.contains(cpu));
        if everywhere {
            return;
        }
        self.tasks[task.index()].allowed = Some(*allowed);
        if !self.bound && self.hierarchy.is_none() {
            let backlogged = (0..self.tasks.len()).filter(|&i| self.tasks[i].backlogged);
            self.backlog = backlogged.map(|i| TaskId::new(i as u32)).collect();
        }
        self.bound = true;
    }

    /// Whether rates are worked out for all backlogged tasks.
    fn jointly(&self) -> bool {
        self.bound || self.hierarchy.is_some()
    }

    /// A thread of this owner exists, or no longer does.
    fn count_anew(&mut self, owner: usize) {
        if self.sharing.all && !self.owners[owner].backlogged.is_empty() {
            self.divide(owner);
            self.share();
            self.cap();
        }
    }

    /// The number of the owner: even for processes, odd for groups.
    fn owner(&self, process: Option<u32>, group: usize) -> Option<usize> {
        if self.sharing.division == Division::None {
            return None;
        }
        let group = (self.sharing.by_group && group > 0).then(|| 2 * group + 1);
        group.or(process.map(|process| 2 * process as usize))
    }

    /// The task brings work; `u64::MAX` has no end.
    pub fn bring(&mut self, task: TaskId, work_ns: u64, now_ns: u64) {
        self.advance(now_ns);
        let work_ns = if work_ns == u64::MAX { f64::INFINITY } else { work_ns as f64 };
        if self.tasks[task.index()].backlogged {
            self.settle(task);
            self.tasks[task.index()].left_ns += work_ns;
            self.expect_finish(task);
        } else {
            self.tasks[task.index()].left_ns = work_ns;
            self.join(task);
        }
    }

    /// The task is gone, and with it the work that it brought.
    pub fn withdraw(&mut self, task: TaskId, now_ns: u64) {
        self.advance(now_ns);
        if self.tasks[task.index()].backlogged {
            self.leave(task);
        }
        if let Some(owner) = self.tasks[task.index()].owner {
            self.owners[owner].threads -= 1;
            self.count_anew(owner);
        }
    }

    /// The service to which the task is entitled since it was added, in ns.
    pub fn service_ns(&mut self, task: TaskId, now_ns: u64) -> f64 {
        self.advance(now_ns);
        let share = &self.tasks[task.index()];
        share.received_ns + self.since_settled(share)
    }

    // ---- time ----

    /// Goes on to `now_ns`, by way of all tasks that are served before.
    fn advance(&mut self, now_ns: u64) {
        let now_ns = now_ns as f64;
        if now_ns <= self.now_ns {
            return;
        }
        loop {
            let (task, at_ns) = self.served_next.unwrap_or_else(|| self.find_served_next());
            self.served_next = Some((task, at_ns));
            let Some(task) = task.filter(|_| at_ns <= now_ns) else { break };
            self.pass(at_ns - self.now_ns);
            // All of it, whatever the last digits of V say.
            let share = &mut self.tasks[task.index()];
            share.received_ns += std::mem::take(&mut share.left_ns);
            self.leave(task);
        }
        self.pass(now_ns - self.now_ns);
        self.now_ns = now_ns;
    }

    fn pass(&mut self, ns: f64) {
        let ns = ns.max(0.0);
        self.v = self.v.after(ns * self.rate);
        self.now_ns += ns;
    }

    /// The task whose work is served next, and when; at infinity if there is none.
    fn find_served_next(&mut self) -> (Option<TaskId>, f64) {
        let mut next = (None, f64::INFINITY);
        while let Some(Reverse(top)) = self.finishing.peek() {
            let share = &self.tasks[top.task.index()];
            if share.version == top.version && share.backlogged && !share.capped {
                next = (Some(top.task), self.now_ns + top.v.since(self.v) / self.rate);
                break;
            }
            self.finishing.pop();
        }
        for &task in &self.capped {
            let share = &self.tasks[task.index()];
            let at_ns = share.from_ns + share.left_ns;
            if at_ns < next.1 {
                next = (Some(task), at_ns);
            }
        }
        next
    }

    fn since_settled(&self, share: &Share) -> f64 {
        let served = match (share.backlogged, share.capped) {
            (false, _) => 0.0,
            (true, true) => self.now_ns - share.from_ns,
            (true, false) => share.weight as f64 * self.v.since(share.from),
        };
        served.min(share.left_ns)
    }

    /// Adds what it got since the last time, so that its rate may change.
    fn settle(&mut self, task: TaskId) {
        let share = &self.tasks[task.index()];
        let got = self.since_settled(share);
        let share = &mut self.tasks[task.index()];
        share.received_ns += got;
        share.left_ns -= got;
        (share.from, share.from_ns) = (self.v, self.now_ns);
    }

    fn expect_finish(&mut self, task: TaskId) {
        let v = self.v;
        self.served_next = None;
        let share = &mut self.tasks[task.index()];
        share.version += 1;
        if !share.capped && share.left_ns.is_finite() {
            let v = v.after(share.left_ns / share.weight as f64);
            self.finishing.push(Reverse(Finish { v, task, version: share.version }));
        }
    }

    // ---- the backlogged set ----

    fn join(&mut self, task: TaskId) {
        let v = self.v;
        let share = &mut self.tasks[task.index()];
        share.backlogged = true;
        share.capped = false;
        share.from = v;
        self.orders.insert(task, share.weight);
        if self.jointly() {
            self.backlog.push(task);
        }
        if let Some(owner) = self.tasks[task.index()].owner {
            self.owners[owner].backlogged.push(task);
            self.divide(owner);
        }
        self.share();
        self.expect_finish(task);
        self.cap();
    }

    /// The rest of its work is served, or withdrawn.
    fn leave(&mut self, task: TaskId) {
        self.settle(task);
        let share = &mut self.tasks[task.index()];
        self.orders.remove(task, share.weight);
        share.backlogged = false;
        if share.capped {
            share.capped = false;
            self.capped.retain(|&t| t != task);
        }
        self.backlog.retain(|&t| t != task);
        if let Some(owner) = self.tasks[task.index()].owner {
            self.owners[owner].backlogged.retain(|&t| t != task);
            self.divide(owner);
        }
        self.share();
        self.cap();
    }

    fn divide(&mut self, owner: usize) {
        let backlogged = std::mem::take(&mut self.owners[owner].backlogged);
        let alpha = if self.sharing.all { self.owners[owner].threads } else { backlogged.len() as u64 };
        for &thread in &backlogged {
            let nominal = self.tasks[thread.index()].nominal;
            let wanted = self.sharing.division.part(nominal, alpha, self.cpus);
            self.tasks[thread.index()].wanted = wanted;
            if !self.jointly() {
                self.reweigh(thread, wanted);
            }
        }
        self.owners[owner].backlogged = backlogged;
    }

    /// In a hierarchy and with affinity, weights are rates.
    fn share(&mut self) {
        if !self.jointly() {
            return;
        }
        let mut rates = self.unbound_rates();
        if self.bound {
            let allowed = |task: &TaskId| self.tasks[task.index()].allowed;
            let asks = |(task, &weight): (&TaskId, &f64)| Asks { weight, allowed: allowed(task) };
            let asked: Vec<Asks> = self.backlog.iter().zip(&rates).map(asks).collect();
            rates = affinity::rates(self.cpus, &asked);
        }
        for (i, rate) in rates.into_iter().enumerate() {
            self.reweigh(self.backlog[i], ((rate * CPU).round() as u64).max(1));
        }
    }

    /// The rates of all backlogged tasks if each may run everywhere; their weights, where there are no groups.
    fn unbound_rates(&self) -> Vec<f64> {
        let share = |&task: &TaskId| (self.tasks[task.index()].group, self.tasks[task.index()].wanted);
        let backlogged: Vec<(usize, u64)> = self.backlog.iter().map(share).collect();
        match &self.hierarchy {
            Some(hierarchy) => hierarchy.rates(self.cpus, &backlogged),
            None => backlogged.into_iter().map(|(_, weight)| weight as f64).collect(),
        }
    }

    fn reweigh(&mut self, task: TaskId, weight: u64) {
        if self.tasks[task.index()].weight != weight {
            self.settle(task);
            let former = std::mem::replace(&mut self.tasks[task.index()].weight, weight);
            self.orders.remove(task, former);
            self.orders.insert(task, weight);
            self.expect_finish(task);
        }
    }

    // ---- rates ----

    /// Decides anew which tasks are capped at one CPU, and with it the rate of the others.
    fn cap(&mut self) {
        if self.bound {
            // Weights are rates already, and what nobody may use stays idle.
            self.change_capped(Vec::new());
            self.served_next = None;
            self.rate = CPU.recip();
            return;
        }
        let Filled { capped, cpus, weight } =
            self.orders.fill(self.cpus, |task| self.tasks[task.index()].weight);
        if !(capped.is_empty() && self.capped.is_empty()) {
            self.change_capped(capped);
        }
        self.served_next = None;
        self.rate = if weight == 0 { 0.0 } else { cpus as f64 / weight as f64 };
    }

    fn change_capped(&mut self, capped: Vec<TaskId>) {
        let former = std::mem::take(&mut self.capped);
        for &task in former.iter().filter(|t| !capped.contains(t)) {
            self.set_capped(task, false);
        }
        for &task in capped.iter().filter(|t| !former.contains(t)) {
            self.set_capped(task, true);
        }
        self.capped = capped;
    }

    fn set_capped(&mut self, task: TaskId, capped: bool) {
        self.settle(task);
        self.tasks[task.index()].capped = capped;
        self.expect_finish(task);
    }
}

#[cfg(test)]
mod tests;
