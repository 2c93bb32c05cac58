//! Water-filling: bundles of tasks by weight, split into those that have all that a task can have, and the others, which
//! have a rate in proportion to their weight. The first are the heaviest.

use std::collections::BTreeSet;

/// Weights and rates that differ by less of themselves are equal. A bundle at the limit stays where it is: its rate is the same
/// on both sides.
pub(super) const EPSILON: f64 = 1e-12;

#[derive(Clone, Debug, Default)]
pub(super) struct Split {
    /// Bundles by the weight of each of their tasks.
    sharing: BTreeSet<(u64, u32)>,
    full: BTreeSet<(u64, u32)>,
    /// The heaviest that shares, and the lightest that is full. If any bundle is on the wrong side, one of these is; each change of rates looks at
    /// them.
    heaviest: Option<(u64, u32)>,
    lightest: Option<(u64, u32)>,
    /// All tasks, and their weight.
    pub tasks: u64,
    pub total: u64,
    /// The weight of all tasks of those that share.
    pub weight: u64,
    /// Tasks of those that are full.
    pub full_tasks: u64,
}

/// Some tasks of a bundle.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    pub bundle: u32,
    /// The weight of each.
    pub weight: u64,
    pub tasks: u64,
}

impl Split {
    pub(super) fn is_sharing(&self) -> bool {
        !self.sharing.is_empty()
    }

    /// All bundles, the heaviest first.
    pub(super) fn heaviest_first(&self) -> impl Iterator<Item = (u64, u32)> {
        let (mut full, mut sharing) =
            (self.full.iter().rev().peekable(), self.sharing.iter().rev().peekable());
        std::iter::from_fn(move || match full.peek() >= sharing.peek() {
            true => full.next().copied(),
            false => sharing.next().copied(),
        })
    }

    /// A bundle comes, without tasks.
    pub(super) fn enter(&mut self, weight: u64, bundle: u32, full: bool) {
        self.change(full, |side| side.insert((weight, bundle)));
    }

    /// A bundle goes, from which all tasks were taken.
    pub(super) fn exit(&mut self, weight: u64, bundle: u32, full: bool) {
        self.change(full, |side| side.remove(&(weight, bundle)));
    }

    fn change(&mut self, full: bool, change: impl FnOnce(&mut BTreeSet<(u64, u32)>) -> bool) {
        if full {
            change(&mut self.full);
            self.lightest = self.full.first().copied();
        } else {
            change(&mut self.sharing);
            self.heaviest = self.sharing.last().copied();
        }
    }

    pub(super) fn add(&mut self, part: Part, full: bool) {
        self.tasks += part.tasks;
        self.total += part.tasks * part.weight;
        if full {
            self.full_tasks += part.tasks;
        } else {
            self.weight += part.tasks * part.weight;
        }
    }

    pub(super) fn take(&mut self, part: Part, full: bool) {
        self.tasks -= part.tasks;
        self.total -= part.tasks * part.weight;
        if full {
            self.full_tasks -= part.tasks;
        } else {
            self.weight -= part.tasks * part.weight;
        }
    }

    /// A bundle that is on the wrong side where a task of weight w gets `level` * w, at most `most`.
    pub(super) fn misplaced(&self, level: f64, most: f64) -> Option<u32> {
        let heaviest = self.heaviest.filter(|&(w, _)| level * w as f64 > most * (1.0 + EPSILON));
        let lightest = || self.lightest.filter(|&(w, _)| level * (w as f64) < most * (1.0 - EPSILON));
        heaviest.or_else(lightest).map(|(_, bundle)| bundle)
    }

    /// The bundle, with all of its tasks, goes to the other side; it was on this one.
    pub(super) fn move_over(&mut self, part: Part, full: bool) {
        self.take(part, full);
        self.exit(part.weight, part.bundle, full);
        self.enter(part.weight, part.bundle, !full);
        self.add(part, !full);
    }
}
