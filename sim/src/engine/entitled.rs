//! Entitled service, as it accrues: what the GMS fluid model gives each runnable task.
//!
//! Generalized multiprocessor sharing (SFS paper, section 2.2): at any moment each runnable task is served
//! at a rate in proportion to its weight, but at no more than one CPU; what the capped ones leave goes to the
//! others by weight. Kept incrementally: with `rest` the weight of the tasks that are not capped and `q` the
//! CPUs that these share, all of them advance along one virtual time, dV/dt = q / rest, and a task's service
//! is its weight times the distance. A change of the runnable set touches the capped tasks only.
//!
//! `oracle::gms` computes the same in exact fractions, by another method; tests compare the two.

use crate::policy::TaskId;

const ORDERS: usize = 64;
const NONE: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
struct Share {
    weight: u64,
    /// Service until `from`, in ns.
    received_ns: f64,
    /// V when it began to advance along it; the time in ns, if capped.
    from: f64,
    capped: bool,
    runnable: bool,
    next: u32,
    prev: u32,
}

/// The fluid model's state.
#[derive(Debug)]
pub(super) struct Entitled {
    cpus: u64,
    tasks: Vec<Share>,
    /// Runnable tasks by order of magnitude of their weight: those in `[2^i, 2^(i+1))`.
    first: [u32; ORDERS],
    size: [u64; ORDERS],
    sum: [u64; ORDERS],
    /// Bit `i`: `first[i]` is not empty.
    orders: u64,
    total: u64,
    runnable: u64,
    capped: Vec<TaskId>,
    now_ns: u64,
    v: f64,
    /// dV/dt.
    rate: f64,
}

impl Entitled {
    pub(super) fn new(cpus: u32) -> Entitled {
        Entitled {
            cpus: cpus.into(),
            tasks: Vec::new(),
            first: [NONE; ORDERS],
            size: [0; ORDERS],
            sum: [0; ORDERS],
            orders: 0,
            total: 0,
            runnable: 0,
            capped: Vec::new(),
            now_ns: 0,
            v: 0.0,
            rate: 0.0,
        }
    }

    /// A new task with no service yet.
    pub(super) fn add(&mut self, task: TaskId, weight: u64) {
        let fresh = Share {
            weight,
            received_ns: 0.0,
            from: 0.0,
            capped: false,
            runnable: false,
            next: NONE,
            prev: NONE,
        };
        let i = task as usize;
        if i >= self.tasks.len() {
            self.tasks.resize(i + 1, fresh);
        }
        self.tasks[i] = fresh;
    }

    /// The task becomes runnable.
    pub(super) fn join(&mut self, task: TaskId, now_ns: u64) {
        self.advance(now_ns);
        let v = self.v;
        let share = &mut self.tasks[task as usize];
        share.runnable = true;
        share.from = v;
        self.link(task);
        self.cap();
    }

    /// The task is no longer runnable.
    pub(super) fn leave(&mut self, task: TaskId, now_ns: u64) {
        self.advance(now_ns);
        self.settle(task);
        self.unlink(task);
        let share = &mut self.tasks[task as usize];
        share.runnable = false;
        if share.capped {
            share.capped = false;
            self.capped.retain(|&t| t != task);
        }
        self.cap();
    }

    /// The task's weight becomes `weight`.
    pub(super) fn reweigh(&mut self, task: TaskId, weight: u64, now_ns: u64) {
        if self.tasks[task as usize].weight == weight {
            return;
        }
        let runnable = self.tasks[task as usize].runnable;
        if runnable {
            self.leave(task, now_ns);
        }
        self.tasks[task as usize].weight = weight;
        if runnable {
            self.join(task, now_ns);
        }
    }

    /// What the task is entitled to since it was added, in ns.
    pub(super) fn service_ns(&mut self, task: TaskId, now_ns: u64) -> f64 {
        self.advance(now_ns);
        let share = &self.tasks[task as usize];
        share.received_ns + self.since_settled(share)
    }

    fn since_settled(&self, share: &Share) -> f64 {
        match (share.runnable, share.capped) {
            (false, _) => 0.0,
            (true, true) => self.now_ns as f64 - share.from,
            (true, false) => share.weight as f64 * (self.v - share.from),
        }
    }

    fn advance(&mut self, now_ns: u64) {
        if now_ns > self.now_ns {
            self.v += (now_ns - self.now_ns) as f64 * self.rate;
            self.now_ns = now_ns;
        }
    }

    /// Adds what it got since the last time, so that its rate may change.
    fn settle(&mut self, task: TaskId) {
        let share = &self.tasks[task as usize];
        let got = self.since_settled(share);
        let from = if share.capped { self.now_ns as f64 } else { self.v };
        let share = &mut self.tasks[task as usize];
        share.received_ns += got;
        share.from = from;
    }

    fn set_capped(&mut self, task: TaskId, capped: bool) {
        self.settle(task);
        let from = if capped { self.now_ns as f64 } else { self.v };
        let share = &mut self.tasks[task as usize];
        share.capped = capped;
        share.from = from;
    }

    fn link(&mut self, task: TaskId) {
        let weight = self.tasks[task as usize].weight;
        let order = weight.ilog2() as usize;
        let next = self.first[order];
        self.tasks[task as usize].next = next;
        self.tasks[task as usize].prev = NONE;
        if next != NONE {
            self.tasks[next as usize].prev = task;
        }
        self.first[order] = task;
        self.size[order] += 1;
        self.sum[order] += weight;
        self.orders |= 1 << order;
        self.total += weight;
        self.runnable += 1;
    }

    fn unlink(&mut self, task: TaskId) {
        let Share { weight, next, prev, .. } = self.tasks[task as usize];
        let order = weight.ilog2() as usize;
        match prev {
            NONE => self.first[order] = next,
            _ => self.tasks[prev as usize].next = next,
        }
        if next != NONE {
            self.tasks[next as usize].prev = prev;
        }
        self.size[order] -= 1;
        self.sum[order] -= weight;
        if self.size[order] == 0 {
            self.orders &= !(1 << order);
        }
        self.total -= weight;
        self.runnable -= 1;
    }

    /// Decides anew who is capped at one CPU, and with it the rate of the others.
    fn cap(&mut self) {
        let (mut q, mut rest) = (self.cpus, self.total);
        let mut capped = Vec::new();
        let mut orders = self.orders;
        while let Some(order) = orders.checked_ilog2() {
            // Not even the greatest weight of this order exceeds a CPU's part: then none below does.
            if u128::from(q) << (order + 1) <= u128::from(rest) {
                break;
            }
            orders &= !(1 << order);
            for task in self.heaviest_first(order) {
                let weight = self.tasks[task as usize].weight;
                if u128::from(weight) * u128::from(q) <= u128::from(rest) {
                    orders = 0;
                    break;
                }
                capped.push(task);
                q -= 1;
                rest -= weight;
            }
        }
        if !(capped.is_empty() && self.capped.is_empty()) {
            self.change_capped(capped);
        }
        self.rate = if rest == 0 { 0.0 } else { q as f64 / rest as f64 };
    }

    fn heaviest_first(&self, order: u32) -> Vec<TaskId> {
        let mut found = Vec::with_capacity(self.size[order as usize] as usize);
        let mut task = self.first[order as usize];
        while task != NONE {
            found.push(task);
            task = self.tasks[task as usize].next;
        }
        found.sort_unstable_by_key(|&t| (std::cmp::Reverse(self.tasks[t as usize].weight), t));
        found
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
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shares(cpus: u32, weights: &[u64], after_ns: u64) -> Vec<f64> {
        let mut e = Entitled::new(cpus);
        for (i, &w) in weights.iter().enumerate() {
            e.add(i as TaskId, w);
            e.join(i as TaskId, 0);
        }
        (0..weights.len()).map(|i| e.service_ns(i as TaskId, after_ns)).collect()
    }

    #[test]
    fn one_cpu_is_divided_by_weight() {
        assert_eq!(shares(1, &[5, 2, 1], 800), [500.0, 200.0, 100.0]);
    }

    /// The papers' example: 10:1:1 on two CPUs is 2:1:1.
    #[test]
    fn nobody_gets_more_than_a_cpu() {
        assert_eq!(shares(2, &[10, 1, 1], 100), [100.0, 50.0, 50.0]);
        assert_eq!(shares(4, &[100, 50, 1, 1, 1, 1, 1, 1], 300)[..3], [300.0, 300.0, 100.0]);
        assert_eq!(shares(4, &[7, 3], 9), [9.0, 9.0]);
    }

    #[test]
    fn rates_follow_arrivals_and_departures() {
        let mut e = Entitled::new(2);
        for (id, w) in [(0, 10), (1, 1), (2, 1)] {
            e.add(id, w);
            e.join(id, 0);
        }
        e.leave(1, 100); // 10:1 on two CPUs: both have their own
        e.reweigh(0, 1, 150);
        e.join(1, 200); // 1:1:1 on two CPUs
        let got: Vec<f64> = (0..3).map(|t| e.service_ns(t, 500)).collect();
        assert_eq!(got, [200.0 + 200.0, 50.0 + 200.0, 150.0 + 200.0]);
    }
}
