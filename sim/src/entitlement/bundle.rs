//! Tasks that are served alike: they have the same weight, group, process and CPUs, so that at any moment each has
//! the same rate. What each gets is counted once for all, and so are changes of their weight.

use super::queue::{Places, Queue};
use super::split::{Part, Split};
use super::virtual_time::Virtual;

/// The things that tasks of a bundle have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Kind {
    /// 0 is none.
    pub group: usize,
    /// Where they may run, by number.
    pub mask: usize,
    /// The process or group whose threads divide their weights, by number.
    pub owner: Option<usize>,
    /// Their own weight.
    pub nominal: u64,
}

#[derive(Clone, Debug)]
pub(super) struct Bundle {
    pub kind: Kind,
    pub id: u32,
    pub cell: usize,
    /// The weight of each task: their own, divided among the threads of their owner where that is asked for.
    pub weight: u64,
    /// Backlogged tasks.
    pub tasks: u64,
    /// Whether each has all that a task can have: in its group, and in its cell.
    pub full_in_group: bool,
    pub full: bool,
    /// The service of a task that is always backlogged, in ns, until the virtual time of the cell was `from`.
    pub service: Virtual,
    pub from: Virtual,
    /// Tasks by the service at which their work is served.
    pub queue: Queue,
    pub line: Line,
}

/// The gain of a bundle since it was settled, as long as no rate changes: `gained_ns` at `at_ns`, and `rate` for each ns from then on.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Line {
    /// The change of rates after which it was drawn; 0 is none.
    pub change: u64,
    gained_ns: f64,
    at_ns: f64,
    rate: f64,
}

impl Line {
    #[inline]
    pub(super) fn at(&self, now_ns: f64) -> f64 {
        self.gained_ns + self.rate * (now_ns - self.at_ns)
    }
}

impl Bundle {
    /// All backlogged tasks.
    pub(super) fn part(&self) -> Part {
        Part { bundle: self.id, weight: self.weight, tasks: self.tasks }
    }

    /// One of them.
    pub(super) fn one(&self) -> Part {
        Part { tasks: 1, ..self.part() }
    }
}

/// The bundles of a group with the same CPUs. Those that share advance along one virtual time, the others along a second one.
#[derive(Clone, Debug, Default)]
pub(super) struct Cell {
    pub group: usize,
    pub split: Split,
    /// A task of weight w has the rate `level` * w, at most `most`.
    pub level: f64,
    pub most: f64,
    /// Both virtual times at `at_ns`, and what they gain in each ns.
    at_ns: f64,
    shared: Virtual,
    full: Virtual,
    pace: f64,
    /// Bundles by the virtual time at which the first of their tasks is served.
    shared_queue: Queue,
    full_queue: Queue,
    /// When the next task is served; at infinity if none is.
    pub next_ns: f64,
}

impl Cell {
    pub(super) fn new(group: usize) -> Cell {
        Cell { group, next_ns: f64::INFINITY, ..Cell::default() }
    }

    /// The service of a task that is always backlogged since the bundle was settled.
    fn gained(&self, bundle: &Bundle, now_ns: f64) -> f64 {
        let passed = now_ns - self.at_ns;
        if bundle.full {
            self.full.since(bundle.from) + self.most * passed
        } else {
            bundle.weight as f64 * (self.shared.since(bundle.from) + self.pace * passed)
        }
    }

    /// The gain of a bundle until rates change. Mostly it is known: so this is a call, which leaves [`super::Entitled::service_ns`] small.
    #[inline(never)]
    pub(super) fn line(&self, bundle: &Bundle, change: u64) -> Line {
        let rate = if bundle.full { self.most } else { bundle.weight as f64 * self.pace };
        Line { change, gained_ns: self.gained(bundle, self.at_ns), at_ns: self.at_ns, rate }
    }

    /// Counts the service until now.
    pub(super) fn settle(&self, bundle: &mut Bundle, now_ns: f64) {
        bundle.line.change = 0;
        bundle.service = bundle.service.after(self.gained(bundle, now_ns));
        bundle.from = self.now(bundle.full, now_ns);
    }

    /// Its virtual time.
    pub(super) fn now(&self, full: bool, now_ns: f64) -> Virtual {
        let passed = now_ns - self.at_ns;
        if full { self.full.after(self.most * passed) } else { self.shared.after(self.pace * passed) }
    }

    /// From now on rates are these; bundles that are full or no longer are move.
    pub(super) fn set_rates(
        &mut self,
        level: f64,
        most: f64,
        now_ns: f64,
        bundles: &mut [Bundle],
        places: &mut Places,
    ) {
        let (rates, paced) = ((level, most), self.pace == self.pace_at(level));
        if rates != (self.level, self.most) || !paced || self.split.misplaced(level, most).is_some() {
            (self.shared, self.full) = (self.now(false, now_ns), self.now(true, now_ns));
            self.at_ns = now_ns;
            (self.level, self.most) = (level, most);
            while let Some(bundle) = self.split.misplaced(level, most) {
                let bundle = &mut bundles[bundle as usize];
                self.settle(bundle, now_ns);
                self.queue(bundle.full).remove(places, bundle.id);
                self.split.move_over(bundle.part(), bundle.full);
                bundle.full = !bundle.full;
                bundle.from = if bundle.full { self.full } else { self.shared };
                self.expect(bundle, places);
            }
            self.pace = self.pace_at(level);
        }
        self.find_next();
    }

    /// If nobody shares, the level may be infinite.
    fn pace_at(&self, level: f64) -> f64 {
        if self.split.is_sharing() { level } else { 0.0 }
    }

    fn queue(&mut self, full: bool) -> &mut Queue {
        if full { &mut self.full_queue } else { &mut self.shared_queue }
    }

    /// The first task of the bundle may be another, or its weight.
    pub(super) fn expect(&mut self, bundle: &Bundle, places: &mut Places) {
        let queue = self.queue(bundle.full);
        let Some((first, _)) = bundle.queue.first() else { return queue.remove(places, bundle.id) };
        let left = first.since(bundle.service) / if bundle.full { 1.0 } else { bundle.weight as f64 };
        queue.set(places, bundle.id, bundle.from.after(left));
    }

    /// When the next task is served, by the rates in force.
    pub(super) fn find_next(&mut self) {
        let due = |first: Option<(Virtual, u32)>, now: Virtual, pace: f64| {
            first.map_or(f64::INFINITY, |(v, _)| self.at_ns + v.since(now) / pace)
        };
        let shared_ns = due(self.shared_queue.first(), self.shared, self.pace);
        self.next_ns = shared_ns.min(due(self.full_queue.first(), self.full, self.most));
    }

    /// The bundle whose first task is served at `next_ns`.
    pub(super) fn next(&self) -> Option<u32> {
        let shared_first = self
            .shared_queue
            .first()
            .filter(|(v, _)| self.at_ns + v.since(self.shared) / self.pace <= self.next_ns);
        shared_first.or_else(|| self.full_queue.first()).map(|(_, bundle)| bundle)
    }

    /// The weight of a bundle changes.
    pub(super) fn reweigh(&mut self, bundle: &mut Bundle, weight: u64, now_ns: f64, places: &mut Places) {
        self.settle(bundle, now_ns);
        self.split.take(bundle.part(), bundle.full);
        self.split.exit(bundle.weight, bundle.id, bundle.full);
        bundle.weight = weight;
        self.split.enter(bundle.weight, bundle.id, bundle.full);
        self.split.add(bundle.part(), bundle.full);
        self.expect(bundle, places);
    }
}
