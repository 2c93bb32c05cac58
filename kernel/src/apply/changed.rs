//! The threads whose nice values divvy changed, and what they had before.

use std::collections::{BTreeMap, BTreeSet};

use crate::stock::threads::Thread;

/// A thread for as long as it lives: numbers are used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Id {
    pub tid: u32,
    /// When it began, in ticks since the machine was booted.
    pub started: u64,
}

impl Id {
    pub fn of(thread: &Thread) -> Self {
        Self { tid: thread.tid, started: thread.started }
    }
}

/// A changed thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    pub tgid: u32,
    pub session: u32,
    /// When it was changed first, in ticks: what it forked before has not inherited the value.
    pub since: u64,
    pub original: i8,
    /// The value that it has if nobody else changed it.
    pub now: i8,
    /// All values that divvy gave it: children may have inherited any.
    pub given: BTreeSet<i8>,
}

impl Change {
    fn is_own(&self, nice: i8) -> bool {
        nice == self.original || self.given.contains(&nice)
    }
}

/// All changed threads.
#[derive(Debug, Default)]
pub struct Changes {
    by_id: BTreeMap<Id, Change>,
    /// Somebody else changed these, or the kernel refused to: they are left alone.
    others: BTreeSet<Id>,
}

impl Changes {
    /// Brings it up to date: finds the new threads that inherited a value from a changed one, and forgets threads that ended, or that
    /// somebody else changed. Returns the found ones.
    pub fn update(&mut self, threads: &BTreeMap<u32, Thread>) -> Vec<(Id, Change)> {
        let mut inherited = Vec::new();
        // Again for the children of those that were found.
        loop {
            let found = self.heirs(threads);
            if found.is_empty() {
                break;
            }
            self.by_id.extend(found.iter().cloned());
            inherited.extend(found);
        }
        let lives = |id: &Id| threads.get(&id.tid).filter(|thread| thread.started == id.started);
        for (id, change) in &self.by_id {
            // One that has its own value again may be given another one by anybody.
            let is_set = change.now != change.original;
            if is_set && lives(id).is_some_and(|thread| thread.nice != change.now) {
                self.others.insert(*id);
            }
        }
        self.by_id.retain(|id, change| lives(id).is_some_and(|thread| thread.nice == change.now));
        self.others.retain(|id| lives(id).is_some());
        inherited
    }

    fn heirs(&self, threads: &BTreeMap<u32, Thread>) -> Vec<(Id, Change)> {
        let given: BTreeSet<i8> = self.by_id.values().flat_map(|change| &change.given).copied().collect();
        // A process whose parent has ended has another one, of another session.
        let sessions: BTreeSet<(u32, u32)> =
            threads.values().map(|thread| (thread.tgid, thread.session)).collect();
        let unknown = threads.values().filter(|thread| {
            let id = Id::of(thread);
            given.contains(&thread.nice) && !self.by_id.contains_key(&id) && !self.others.contains(&id)
        });
        let kin = Kin::of(self.by_id.values());
        unknown
            .filter_map(|thread| {
                let change = kin.ancestor(thread, !sessions.contains(&(thread.parent, thread.session)))?;
                let change =
                    Change { tgid: thread.tgid, session: thread.session, now: thread.nice, ..change.clone() };
                Some((Id::of(thread), change))
            })
            .collect()
    }

    /// The value without divvy; nothing if the thread is to be left alone.
    pub fn original(&self, thread: &Thread) -> Option<i8> {
        let id = Id::of(thread);
        if self.others.contains(&id) {
            return None;
        }
        Some(self.by_id.get(&id).map_or(thread.nice, |change| change.original))
    }

    pub fn is_changed(&self, thread: &Thread) -> bool {
        self.by_id.contains_key(&Id::of(thread))
    }

    /// A change of this thread to this value; it becomes known by [`Changes::insert`].
    pub fn planned(&self, thread: &Thread, nice: i8, ticks: u64) -> Change {
        let new = || Change {
            tgid: thread.tgid,
            session: thread.session,
            since: ticks,
            original: thread.nice,
            now: nice,
            given: BTreeSet::new(),
        };
        let mut change = self.by_id.get(&Id::of(thread)).cloned().unwrap_or_else(new);
        change.now = nice;
        change.given.insert(nice);
        change
    }

    pub fn get(&self, id: Id) -> Option<&Change> {
        self.by_id.get(&id)
    }

    pub fn insert(&mut self, id: Id, change: Change) {
        self.by_id.insert(id, change);
    }

    /// Leaves this thread alone from now on.
    pub fn give_up(&mut self, id: Id) {
        self.by_id.remove(&id);
        self.others.insert(id);
    }

    /// Believes what threads have, if it is one of the values that divvy gave them or their own: whoever wrote them down may have been
    /// killed before the last one was set.
    pub fn settle(&mut self, threads: &BTreeMap<u32, Thread>) {
        for (id, change) in &mut self.by_id {
            let thread = threads.get(&id.tid).filter(|thread| thread.started == id.started);
            if let Some(thread) = thread.filter(|thread| change.is_own(thread.nice)) {
                change.now = thread.nice;
            }
        }
    }

    /// Keeps only those that do not have their original value.
    pub fn forget_restored(&mut self) {
        self.by_id.retain(|_, change| change.now != change.original);
    }

    pub fn iter(&self) -> impl Iterator<Item = (&Id, &Change)> {
        self.by_id.iter()
    }

    pub fn len(&self) -> usize {
        self.by_id.len()
    }
}

/// Changed threads by what a value is inherited over, each in the order of all. To search all of them for each new thread would take
/// time by the product, where a machine starts thousands.
#[derive(Default)]
struct Kin<'a> {
    processes: BTreeMap<u32, Vec<&'a Change>>,
    sessions: BTreeMap<u32, Vec<&'a Change>>,
}

impl<'a> Kin<'a> {
    fn of(changes: impl Iterator<Item = &'a Change>) -> Self {
        let mut kin = Self::default();
        for change in changes {
            kin.processes.entry(change.tgid).or_default().push(change);
            kin.sessions.entry(change.session).or_default().push(change);
        }
        kin
    }

    /// The changed thread from which this one has its value: of the same process or its parent, or else, if it is an orphan, of the same
    /// session.
    fn ancestor(&self, thread: &Thread, is_orphan: bool) -> Option<&'a Change> {
        let gave = |change: &&Change| {
            change.given.contains(&thread.nice)
                && change.original != thread.nice
                && thread.started >= change.since
        };
        let first = |of: Option<&Vec<&'a Change>>| of.into_iter().flatten().copied().find(gave);
        let session = Some(thread.session).filter(|session| is_orphan && *session != 0);
        first(self.processes.get(&thread.tgid))
            .or_else(|| first(self.processes.get(&thread.parent)))
            .or_else(|| first(session.and_then(|session| self.sessions.get(&session))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn thread(tid: u32, tgid: u32, parent: u32, nice: i8, started: u64) -> Thread {
        Thread { tid, tgid, parent, session: 100, nice, started, ..Thread::default() }
    }

    fn all(threads: &[Thread]) -> BTreeMap<u32, Thread> {
        threads.iter().map(|thread| (thread.tid, thread.clone())).collect()
    }

    /// 10 was changed from 0 to 7 at tick 50.
    fn changed() -> Changes {
        let mut changes = Changes::default();
        let leader = thread(10, 10, 1, 0, 5);
        let change = changes.planned(&leader, 7, 50);
        changes.insert(Id::of(&leader), change);
        changes
    }

    #[test]
    fn children_of_changed_threads_have_the_parents_original() {
        let mut changes = changed();
        let leader = thread(10, 10, 1, 7, 5);
        let known = [
            leader.clone(),
            thread(11, 10, 1, 7, 60),                            // a thread of it
            thread(12, 12, 10, 7, 60),                           // a child
            Thread { session: 13, ..thread(13, 13, 12, 7, 61) }, // a child of that, in a session of its own
            thread(14, 14, 1, 7, 62),                            // whose parent has ended
            thread(15, 15, 10, 7, 40),                           // older than the change
            thread(16, 16, 10, 3, 60),                           // with a value of its own
            Thread { session: 200, ..thread(17, 17, 1, 7, 60) }, // of somebody else
            thread(18, 18, 19, 7, 63), // `nice -n 7` of a shell that has its own value
            thread(19, 19, 1, 0, 30),  // the shell
        ];
        let found: Vec<u32> = changes.update(&all(&known)).iter().map(|(id, _)| id.tid).collect();
        assert_eq!(found, [11, 12, 14, 13]);
        let originals: Vec<Option<i8>> = known.iter().map(|thread| changes.original(thread)).collect();
        assert_eq!(originals, [0, 0, 0, 0, 0, 7, 3, 7, 7, 0].map(Some));
        assert!(changes.update(&all(&known)).is_empty(), "they are known now");
    }

    #[test]
    fn a_value_that_somebody_else_set_is_left_alone() {
        let mut changes = changed();
        changes.update(&all(&[thread(10, 10, 1, 3, 5)]));
        assert_eq!((changes.original(&thread(10, 10, 1, 3, 5)), changes.len()), (None, 0));
        // Another thread with this number is another thread.
        changes.update(&all(&[thread(10, 10, 1, 3, 99)]));
        assert_eq!(changes.original(&thread(10, 10, 1, 3, 99)), Some(3));
    }

    #[test]
    fn what_ended_is_forgotten_after_its_children_were_found() {
        let mut changes = changed();
        let child = thread(12, 12, 1, 7, 60);
        assert_eq!(changes.update(&all(std::slice::from_ref(&child))).len(), 1);
        assert_eq!((changes.len(), changes.original(&child)), (1, Some(0)));
    }
}
