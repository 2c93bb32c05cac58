//! Entitled service, as it accrues: what the GMS fluid model gives each task of the work that it brought.
//!
//! Generalized multiprocessor sharing (SFS paper, section 2.2): at any moment each backlogged task is served at
//! a rate in proportion to its weight, but at no more than one CPU; what the capped ones leave goes to the others by
//! weight. The fluid system gets each burst of CPU demand when the simulated task comes to it, and serves it in its
//! own time: a task is backlogged there until all that it brought is served, however long the policy takes.
//! It does not know what switches cost.
//!
//! Kept incrementally. Tasks that are served alike are a bundle (`bundle.rs`), and bundles with the same group and the same CPUs are
//! a cell. There a task of weight w has the rate min(most, level x w): with V the virtual time of the cell, dV/dt = level, its
//! service is w times the distance. So a change of the backlogged set changes a number for each group (`hierarchy.rs`)
//! and each cell, and touches only the bundles that get a whole CPU by it, or no longer have one (`split.rs`).
//! The cost of a change is O(log tasks + groups); where tasks may not run everywhere (`affinity.rs`), that of a flow through their
//! distinct masks as well, whose rates in the hierarchy are their weights.
//!
//! `oracle::gms`, `oracle::affinity` and `oracle::hierarchy` compute the same in exact fractions, by another method; tests compare the two.

mod affinity;
mod bundle;
mod hierarchy;
mod queue;
mod split;
mod virtual_time;

use std::collections::BTreeMap;

use crate::sharing::{Division, Sharing};
use affinity::{Affinity, Demand};
use bundle::{Bundle, Cell, Kind, Line};
use divvy_policy::{CpuMask, TaskId, Weight};
use divvy_workload::Group;
use hierarchy::Hierarchy;
use queue::{Places, Queue};
use virtual_time::Virtual;

#[derive(Clone, Copy, Debug, Default)]
struct Share {
    /// Service until that of its bundle was `from`, in ns.
    received_ns: f64,
    /// Work left then, in ns; infinite for a hog.
    left_ns: f64,
    from: Virtual,
    bundle: u32,
    backlogged: bool,
}

/// A process or a group whose threads divide their weights.
#[derive(Clone, Debug, Default)]
struct Owner {
    /// Threads that are backlogged, and all that exist.
    backlogged: u64,
    threads: u64,
    bundles: Vec<u32>,
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
    hierarchy: Hierarchy,
    affinity: Affinity,
    bundles: Vec<Bundle>,
    by_kind: BTreeMap<Kind, u32>,
    cells: Vec<Cell>,
    /// By group and mask.
    by_place: BTreeMap<(usize, usize), usize>,
    /// By mask.
    by_mask: Vec<Vec<usize>>,
    task_places: Places,
    bundle_places: Places,
    /// Where time has come to, and the same while tasks are served on the way there.
    clock_ns: u64,
    now_ns: f64,
    /// When the work of a task is served next, and the cell of that task.
    next_ns: f64,
    next_cell: usize,
    /// Changes of rates so far.
    changes: u64,
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
            hierarchy: Hierarchy::new(groups, sharing.groups),
            affinity: Affinity::new(cpus),
            bundles: Vec::new(),
            by_kind: BTreeMap::new(),
            cells: Vec::new(),
            by_place: BTreeMap::new(),
            by_mask: Vec::new(),
            task_places: Places::default(),
            bundle_places: Places::default(),
            clock_ns: 0,
            now_ns: 0.0,
            next_ns: f64::INFINITY,
            next_cell: 0,
            changes: 0,
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
        let group = if self.hierarchy.has_groups() { group } else { 0 };
        let bundle = self.bundle(Kind { group, mask: 0, owner, nominal: weight.fixed() });
        let i = task.index();
        if i >= self.tasks.len() {
            self.tasks.resize(i + 1, Share::default());
        }
        self.task_places.add(i);
        self.tasks[i] = Share { bundle, ..Share::default() };
        if let Some(owner) = owner {
            self.owners[owner].threads += 1;
            self.count_anew(owner);
        }
    }

    /// From now on the task, which has brought no work yet, may run only there.
    pub fn restrict(&mut self, task: TaskId, allowed: &CpuMask) {
        let mask = self.affinity.number(allowed);
        let share = self.tasks[task.index()];
        let kind = Kind { mask, ..self.bundles[share.bundle as usize].kind };
        self.tasks[task.index()].bundle = self.bundle(kind);
    }

    /// A thread of this owner exists, or no longer does.
    fn count_anew(&mut self, owner: usize) {
        if self.sharing.all && self.owners[owner].backlogged > 0 {
            self.divide(owner);
            self.find_rates();
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
            self.expect(task);
            let cell = self.bundles[self.tasks[task.index()].bundle as usize].cell;
            self.cells[cell].find_next();
            self.find_next();
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
        let bundle = &self.bundles[self.tasks[task.index()].bundle as usize];
        if let Some(owner) = bundle.kind.owner {
            self.owners[owner].threads -= 1;
            self.count_anew(owner);
        }
    }

    /// The service to which the task is entitled since it was added, in ns.
    #[inline(always)]
    pub fn service_ns(&mut self, task: TaskId, now_ns: u64) -> f64 {
        self.advance(now_ns);
        let share = &self.tasks[task.index()];
        if !share.backlogged {
            return share.received_ns;
        }
        let bundle = &mut self.bundles[share.bundle as usize];
        if bundle.line.change != self.changes {
            bundle.line = self.cells[bundle.cell].line(bundle, self.changes);
        }
        let got = bundle.service.since(share.from) + bundle.line.at(self.now_ns);
        // f64::min would ask for numbers that are none as well.
        share.received_ns + if got < share.left_ns { got } else { share.left_ns }
    }

    // ---- time ----

    /// Goes on to `now_ns`, by way of all tasks that are served before.
    #[inline]
    fn advance(&mut self, now_ns: u64) {
        if now_ns > self.clock_ns {
            self.clock_ns = now_ns;
            let now_ns = now_ns as f64;
            while self.next_ns <= now_ns {
                self.serve_next();
            }
            self.now_ns = now_ns;
        }
    }

    /// The work of a task is served.
    #[inline(never)]
    fn serve_next(&mut self) {
        self.now_ns = self.now_ns.max(self.next_ns);
        let bundle = self.cells[self.next_cell].next().expect("a task is served there");
        let (_, task) = self.bundles[bundle as usize].queue.first().expect("one of its tasks is served");
        // All of it, whatever the last digits of V say.
        let share = &mut self.tasks[task as usize];
        share.received_ns += std::mem::take(&mut share.left_ns);
        self.leave(TaskId::new(task));
    }

    fn find_next(&mut self) {
        self.next_ns = f64::INFINITY;
        for (number, cell) in self.cells.iter().enumerate() {
            if cell.next_ns < self.next_ns {
                (self.next_ns, self.next_cell) = (cell.next_ns, number);
            }
        }
    }

    /// Adds what it got since the last time.
    fn settle(&mut self, task: TaskId) {
        let share = &mut self.tasks[task.index()];
        let bundle = &mut self.bundles[share.bundle as usize];
        self.cells[bundle.cell].settle(bundle, self.now_ns);
        let got = bundle.service.since(share.from).min(share.left_ns);
        share.received_ns += got;
        share.left_ns -= got;
        share.from = bundle.service;
    }

    /// The task, which was settled now, is served when all that is left is.
    fn expect(&mut self, task: TaskId) {
        let share = &self.tasks[task.index()];
        let bundle = &mut self.bundles[share.bundle as usize];
        if share.left_ns.is_finite() {
            bundle.queue.set(&mut self.task_places, task.get(), share.from.after(share.left_ns));
        } else {
            bundle.queue.remove(&mut self.task_places, task.get());
        }
        self.cells[bundle.cell].expect(bundle, &mut self.bundle_places);
    }

    // ---- the backlogged set ----

    /// The number of the bundle.
    fn bundle(&mut self, kind: Kind) -> u32 {
        if let Some(&known) = self.by_kind.get(&kind) {
            return known;
        }
        let id = self.bundles.len() as u32;
        let cell = self.cell(kind.group, kind.mask);
        self.bundles.push(Bundle {
            kind,
            id,
            cell,
            weight: kind.nominal,
            tasks: 0,
            full_in_group: false,
            full: false,
            service: Virtual::default(),
            from: Virtual::default(),
            queue: Queue::default(),
            line: Line::default(),
        });
        self.bundle_places.add(id as usize);
        self.by_kind.insert(kind, id);
        if let Some(owner) = kind.owner {
            let n = self.owners.len().max(owner + 1);
            self.owners.resize_with(n, Owner::default);
            self.owners[owner].bundles.push(id);
        }
        id
    }

    fn cell(&mut self, group: usize, mask: usize) -> usize {
        if let Some(&known) = self.by_place.get(&(group, mask)) {
            return known;
        }
        let cell = self.cells.len();
        self.cells.push(Cell::new(group));
        self.by_place.insert((group, mask), cell);
        self.by_mask.resize_with(self.by_mask.len().max(mask + 1), Vec::new);
        self.by_mask[mask].push(cell);
        cell
    }

    fn join(&mut self, task: TaskId) {
        let share = &mut self.tasks[task.index()];
        share.backlogged = true;
        let bundle = &mut self.bundles[share.bundle as usize];
        let (cell, owner, group) = (&mut self.cells[bundle.cell], bundle.kind.owner, bundle.kind.group);
        let own = self.hierarchy.level(group).is_infinite();
        let split = self.hierarchy.own(group);
        if bundle.tasks == 0 {
            (bundle.full_in_group, bundle.full) = (own, cell.level.is_infinite());
            bundle.from = cell.now(bundle.full, self.now_ns);
            split.enter(bundle.weight, bundle.id, bundle.full_in_group);
            cell.split.enter(bundle.weight, bundle.id, bundle.full);
        } else {
            cell.settle(bundle, self.now_ns);
        }
        bundle.tasks += 1;
        split.add(bundle.one(), bundle.full_in_group);
        cell.split.add(bundle.one(), bundle.full);
        share.from = bundle.service;
        self.expect(task);
        self.hierarchy.count(group, true);
        if let Some(owner) = owner {
            self.owners[owner].backlogged += 1;
            self.divide(owner);
        }
        self.find_rates();
    }

    /// The rest of its work is served, or withdrawn.
    fn leave(&mut self, task: TaskId) {
        self.settle(task);
        let share = &mut self.tasks[task.index()];
        share.backlogged = false;
        let bundle = &mut self.bundles[share.bundle as usize];
        let (cell, owner, group) = (&mut self.cells[bundle.cell], bundle.kind.owner, bundle.kind.group);
        let split = self.hierarchy.own(group);
        bundle.queue.remove(&mut self.task_places, task.get());
        split.take(bundle.one(), bundle.full_in_group);
        cell.split.take(bundle.one(), bundle.full);
        bundle.tasks -= 1;
        cell.expect(bundle, &mut self.bundle_places);
        if bundle.tasks == 0 {
            split.exit(bundle.weight, bundle.id, bundle.full_in_group);
            cell.split.exit(bundle.weight, bundle.id, bundle.full);
        }
        self.hierarchy.count(group, false);
        if let Some(owner) = owner {
            self.owners[owner].backlogged -= 1;
            self.divide(owner);
        }
        self.find_rates();
    }

    /// The threads of this owner divide their weights.
    fn divide(&mut self, owner: usize) {
        let Owner { backlogged, threads, bundles } = &self.owners[owner];
        let among = if self.sharing.all { *threads } else { *backlogged };
        for &bundle in bundles {
            let bundle = &mut self.bundles[bundle as usize];
            let weight = self.sharing.division.part(bundle.kind.nominal, among, self.cpus);
            if bundle.tasks == 0 || weight == bundle.weight {
                bundle.weight = weight;
                continue;
            }
            let split = self.hierarchy.own(bundle.kind.group);
            split.take(bundle.part(), bundle.full_in_group);
            split.exit(bundle.weight, bundle.id, bundle.full_in_group);
            self.cells[bundle.cell].reweigh(bundle, weight, self.now_ns, &mut self.bundle_places);
            split.enter(weight, bundle.id, bundle.full_in_group);
            split.add(bundle.part(), bundle.full_in_group);
        }
    }

    // ---- rates ----

    /// Finds the rates anew, after a change of the backlogged set or of weights.
    fn find_rates(&mut self) {
        self.changes += 1;
        self.hierarchy.fill(self.cpus, &mut self.bundles);
        if self.affinity.binds() {
            self.find_bound_rates();
        } else {
            for cell in &mut self.cells {
                let level = self.hierarchy.level(cell.group);
                cell.set_rates(level, 1.0, self.now_ns, &mut self.bundles, &mut self.bundle_places);
            }
        }
        self.find_next();
    }

    /// The rates in the hierarchy are weights: min(1, level x min(1, that in the group x w)). What nobody may use stays idle. Where a group
    /// has a limit, they are also the most that anybody gets (groups D2).
    fn find_bound_rates(&mut self) {
        let levels = self.affinity.levels(&Asked { entitled: self });
        let highest = if self.hierarchy.is_limited() { 1.0 } else { f64::INFINITY };
        for (cells, &level) in self.by_mask.iter().zip(&levels) {
            let level = level.min(highest);
            for &cell in cells {
                let cell = &mut self.cells[cell];
                let (level, most) = match self.hierarchy.has_groups() {
                    true => (level * self.hierarchy.level(cell.group), level.min(1.0)),
                    false => (level, 1.0),
                };
                cell.set_rates(level, most, self.now_ns, &mut self.bundles, &mut self.bundle_places);
            }
        }
    }
}

/// The demand of the backlogged tasks of each mask.
struct Asked<'a> {
    entitled: &'a Entitled,
}

impl Demand for Asked<'_> {
    fn at(&self, mask: usize, level: f64) -> (f64, f64) {
        let Some(cells) = self.entitled.by_mask.get(mask) else { return (0.0, 0.0) };
        cells
            .iter()
            .map(|&cell| self.in_cell(&self.entitled.cells[cell], level))
            .fold((0.0, 0.0), |sum, own| (sum.0 + own.0, sum.1 + own.1))
    }

    fn tasks(&self, mask: usize) -> u64 {
        let cells = self.entitled.by_mask.get(mask).map_or(&[][..], Vec::as_slice);
        cells.iter().map(|&cell| self.entitled.cells[cell].split.tasks).sum()
    }
}

impl Asked<'_> {
    fn in_cell(&self, cell: &Cell, level: f64) -> (f64, f64) {
        let groups = self.entitled.hierarchy.has_groups();
        let own = if groups { self.entitled.hierarchy.level(cell.group) } else { 1.0 };
        let (mut asked, mut more, mut weight) = (0.0, 0.0, cell.split.total);
        for (each, bundle) in cell.split.heaviest_first() {
            let tasks = self.entitled.bundles[bundle as usize].tasks;
            let rate = if groups { (own * each as f64).min(1.0) } else { each as f64 };
            if level * rate >= 1.0 {
                asked += tasks as f64;
            } else if groups && rate >= 1.0 {
                asked += tasks as f64 * level;
                more += tasks as f64;
            } else {
                break;
            }
            weight -= tasks * each;
        }
        // The level in a group may be infinite, where no weight is left.
        let rest = if weight == 0 { 0.0 } else { own * weight as f64 };
        (asked + level * rest, more + rest)
    }
}

#[cfg(test)]
mod tests;
