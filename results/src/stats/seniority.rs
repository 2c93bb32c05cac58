//! How often jobs leave in the order in which they came.

use std::collections::VecDeque;

/// Pairs of jobs that were in the system together, of which one came before the other: the part of them of which that one
/// also left first. 1 for first come first served on one CPU, 0 for preemptive last come first served. It is our reading of the
/// criterion "seniority" of Feng, Misra, Rubenstein (2006), section 3.5, after the principle of Raz, Levy, Avi-Itzhak (2004)
/// that of two jobs the one that came first is to be done first.
#[derive(Debug, Default)]
pub struct Seniority {
    /// When the jobs came that are in the system, ns, in order; in blocks, so that one of many thousands can go. None is empty.
    blocks: Vec<VecDeque<u64>>,
    jobs: usize,
    pairs: u64,
    in_order: u64,
}

/// Most jobs of a block.
const BLOCK: usize = if cfg!(test) { 4 } else { 512 };

impl Seniority {
    /// A job came at this time, which may be before that of others.
    pub fn comes(&mut self, came_ns: u64) {
        self.jobs += 1;
        let block = self.first_block(|last| last > came_ns);
        if block == self.blocks.len() && self.blocks.last().is_none_or(|last| last.len() == BLOCK) {
            self.blocks.push(VecDeque::new());
        }
        let block = block.min(self.blocks.len() - 1);
        let jobs = &mut self.blocks[block];
        jobs.insert(jobs.partition_point(|&other| other <= came_ns), came_ns);
        if jobs.len() > BLOCK {
            let rest = jobs.split_off(BLOCK / 2);
            self.blocks.insert(block + 1, rest);
        }
    }

    /// A job that came at this time leaves; `counts` if it was done, and its pairs are counted.
    pub fn leaves(&mut self, came_ns: u64, counts: bool) {
        let block = self.first_block(|last| last >= came_ns);
        let Some(jobs) = self.blocks.get(block) else { return };
        let at = jobs.partition_point(|&other| other < came_ns);
        if jobs[at] != came_ns {
            return;
        }
        if counts {
            let older = self.before(block) + at;
            // Seldom did others come at the same time.
            let is_alone = jobs.get(at + 1).is_some_and(|&next| next > came_ns);
            let younger = self.jobs - if is_alone { older + 1 } else { self.until(came_ns) };
            self.pairs += (older + younger) as u64;
            self.in_order += younger as u64;
        }
        self.jobs -= 1;
        self.blocks[block].remove(at);
        if self.blocks[block].is_empty() {
            self.blocks.remove(block);
        }
    }

    /// Jobs that came until then.
    fn until(&self, came_ns: u64) -> usize {
        let block = self.first_block(|last| last > came_ns);
        let alike = self.blocks.get(block).map_or(0, |jobs| jobs.partition_point(|&other| other <= came_ns));
        self.before(block) + alike
    }

    /// The first block whose last job is so.
    fn first_block(&self, is_so: impl Fn(u64) -> bool) -> usize {
        // Most often all are in one.
        if let [only] = self.blocks.as_slice() {
            return usize::from(only.back().is_some_and(|&last| !is_so(last)));
        }
        self.blocks.partition_point(|jobs| jobs.back().is_some_and(|&last| !is_so(last)))
    }

    /// Jobs of the blocks before this one.
    fn before(&self, block: usize) -> usize {
        self.blocks[..block].iter().map(VecDeque::len).sum()
    }

    /// Pairs are counted from now on; the jobs that are here stay.
    pub fn restart(&mut self) {
        (self.pairs, self.in_order) = (0, 0);
    }

    /// `None` without a pair.
    #[must_use]
    pub fn finish(&self) -> Option<f64> {
        (self.pairs > 0).then(|| self.in_order as f64 / self.pairs as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The definition, pair by pair, of jobs from when to when.
    fn by_definition(jobs: &[(u64, u64)]) -> Option<f64> {
        let (mut pairs, mut in_order) = (0, 0);
        for older in jobs {
            for younger in jobs.iter().filter(|j| j.0 > older.0 && j.0 < older.1 && j.1 != older.1) {
                pairs += 1;
                in_order += u32::from(older.1 < younger.1);
            }
        }
        (pairs > 0).then(|| f64::from(in_order) / f64::from(pairs))
    }

    fn measured(jobs: &[(u64, u64)]) -> Option<f64> {
        let mut seniority = Seniority::default();
        let mut events: Vec<(u64, bool, u64)> = Vec::new();
        for &(came, left) in jobs {
            events.extend([(came, true, came), (left, false, came)]);
        }
        // A job that leaves when another comes was not there with it.
        events.sort_unstable();
        for (_, comes, came) in events {
            if comes { seniority.comes(came) } else { seniority.leaves(came, true) }
        }
        seniority.finish()
    }

    #[test]
    fn order_of_leaving() {
        assert_eq!(measured(&[(0, 10), (1, 20), (2, 30)]), Some(1.0));
        assert_eq!(measured(&[(0, 30), (1, 20), (2, 10)]), Some(0.0));
        assert_eq!(measured(&[(0, 10), (1, 5), (7, 12)]), Some(0.5));
        assert_eq!(
            (measured(&[(0, 5), (5, 9)]), measured(&[(3, 5), (3, 9)]), measured(&[])),
            (None, None, None)
        );
    }

    #[test]
    fn is_its_definition() {
        let mut x = 1_u64;
        for _ in 0..2000 {
            let mut next = |below: u64| {
                x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (x >> 33) % below
            };
            let n = next(12);
            // Ends differ: the order of those that leave at one instant is another question.
            let jobs: Vec<(u64, u64)> = (0..n)
                .map(|i| {
                    let came = next(40);
                    (came, came + 1 + 12 * next(30) + i)
                })
                .collect();
            let mut ends: Vec<u64> = jobs.iter().map(|j| j.1).collect();
            ends.sort_unstable();
            ends.dedup();
            if ends.len() == jobs.len() {
                assert_eq!(measured(&jobs), by_definition(&jobs), "{jobs:?}");
            }
        }
    }
}
