//! Looks, computes, writes down, changes: once for each interval.

use std::collections::{BTreeMap, BTreeSet};

use super::changed::{Change, Changes, Id};
use super::error::ApplyError;
use super::group_changes::{GroupChange, GroupChanges};
use super::groups;
use super::journal::Journal;
use super::machine::{Group, Machine, Rights, SetNice};
use super::notes;
use super::options::{Mechanism, Rule, Watch};
use super::record;
use super::shares::{Shares, Wants, divide};
use super::survey::{Survey, Surveyor, may_touch};
use crate::stock::threads::Thread;

/// Applies a rule to a machine.
#[derive(Debug)]
pub struct Applier<S> {
    pub machine: Machine<S>,
    pub rule: Rule,
    pub mechanism: Mechanism,
    pub journal: Journal,
    pub surveyor: Surveyor,
    pub changes: Changes,
    pub groups: GroupChanges,
    /// The notes that were said already.
    said: BTreeSet<&'static str>,
}

/// The result of an interval.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Step {
    /// Users or processes that want a CPU.
    pub owners: usize,
    /// Values that were changed.
    pub changed: usize,
    /// The greatest error that steps of nice values leave.
    pub error: f64,
}

/// The threads that may be changed, in the order of their new values.
pub struct Plan<'a> {
    pub threads: Vec<&'a Thread>,
    pub shares: Shares,
}

impl<S: SetNice> Applier<S> {
    /// Has changed nothing yet.
    pub fn new(machine: Machine<S>, rule: Rule, mechanism: Mechanism, journal: Journal) -> Self {
        let surveyor = Surveyor::new(&machine.proc);
        let (changes, groups) = (Changes::default(), GroupChanges::default());
        Self { machine, rule, mechanism, journal, surveyor, changes, groups, said: BTreeSet::new() }
    }

    /// Looks at what changed since the last time, and changes weights.
    ///
    /// # Errors
    /// If the machine cannot be seen, or the journal cannot be written; then nothing is changed.
    pub fn step(&mut self, watch: &mut dyn Watch) -> Result<Step, ApplyError> {
        let survey = look(&mut self.surveyor)?;
        let step = match self.mechanism {
            Mechanism::Nice => self.renice(&survey, watch),
            Mechanism::Cgroup => self.weigh(&survey, watch),
        }?;
        self.journal.tidy(&self.changes, &self.groups)?;
        Ok(step)
    }

    fn renice(&mut self, survey: &Survey, watch: &mut dyn Watch) -> Result<Step, ApplyError> {
        let inherited = self.changes.update(&survey.threads);
        self.journal.append(&lines(&inherited))?;
        let plan = plan(&self.machine, self.rule, &self.changes, survey);
        let ticks = self.machine.ticks();
        let todo: Vec<(&Thread, Change)> = plan
            .threads
            .iter()
            .zip(&plan.shares.nices)
            .filter(|(thread, nice)| thread.nice != **nice)
            .map(|(thread, nice)| (*thread, self.changes.planned(thread, *nice, ticks)))
            .collect();
        let planned: Vec<(Id, Change)> =
            todo.iter().map(|(thread, change)| (Id::of(thread), change.clone())).collect();
        self.journal.append(&lines(&planned))?;
        let mut step = Step { error: plan.shares.worst_error(), ..Step::default() };
        step.owners = plan.shares.owners.values().filter(|share| share.threads > 0).count();
        // Each look would read all cgroups.
        if step.owners > 1
            && !self.said.contains("levels")
            && let Some(what) = notes::levels(&self.machine, &plan.threads)
        {
            self.say("levels", &what, watch);
        }
        for (thread, change) in todo {
            step.changed += usize::from(self.set(thread, change, watch));
        }
        Ok(step)
    }

    fn set(&mut self, thread: &Thread, change: Change, watch: &mut dyn Watch) -> bool {
        let id = Id::of(thread);
        match self.machine.renice(id, thread.tgid, thread.nice, change.now) {
            Ok(true) => {
                self.changes.insert(id, change);
                return true;
            }
            Ok(false) => {}
            Err(error) => {
                let what = format!(
                    "note: the kernel refuses to change the nice value of thread {} ({}) from {} to {}: {error}; such threads are left \
                     alone: run divvy apply as root, outside of a container",
                    thread.tid, thread.comm, thread.nice, change.now
                );
                self.say("refused", &what, watch);
                // One that was changed before is still to be restored.
                if !self.changes.is_changed(thread) {
                    self.changes.give_up(id);
                }
            }
        }
        false
    }

    fn weigh(&mut self, survey: &Survey, watch: &mut dyn Watch) -> Result<Step, ApplyError> {
        let found = groups::of_users(&self.machine, &survey.threads);
        let mine: Vec<Group> = found
            .into_iter()
            .filter(|group| self.groups.may_change(&group.path, group.inode, group.weight))
            .collect();
        let now = groups::equal(&mine);
        let todo: Vec<(&Group, GroupChange)> = mine
            .iter()
            .filter(|group| group.weight != now)
            .map(|group| (group, GroupChange { inode: group.inode, original: group.weight, now }))
            .collect();
        let text: String = todo.iter().map(|(group, change)| record::of_group(&group.path, change)).collect();
        self.journal.append(&text)?;
        let mut step = Step { owners: mine.len(), ..Step::default() };
        for (group, change) in todo {
            match self.machine.weigh(&group.path, now) {
                Ok(()) => {
                    self.groups.add(&group.path, change);
                    step.changed += 1;
                }
                Err(error) => {
                    let what = format!(
                        "note: cannot set cpu.weight of {}: {error}; such cgroups are left alone: run divvy apply as root, or let them be \
                         delegated to you",
                        group.path
                    );
                    self.say("refused", &what, watch);
                    self.groups.give_up(&group.path);
                }
            }
        }
        if let Some(what) = notes::strays(survey, &mine) {
            self.say("strays", &what, watch);
        }
        Ok(step)
    }

    fn say(&mut self, about: &'static str, what: &str, watch: &mut dyn Watch) {
        if self.said.insert(about) {
            watch.note(what);
        }
    }
}

fn lines(changes: &[(Id, Change)]) -> String {
    changes.iter().map(|(id, change)| record::of_thread(*id, change)).collect()
}

pub fn look(surveyor: &mut Surveyor) -> Result<Survey, ApplyError> {
    surveyor.look().map_err(|error| ApplyError::Io("cannot look at the threads of /proc".to_owned(), error))
}

/// New nice values for the threads that want a CPU, and for those that were changed before.
pub fn plan<'a, S: SetNice>(
    machine: &Machine<S>,
    rule: Rule,
    changes: &Changes,
    survey: &'a Survey,
) -> Plan<'a> {
    let (mut threads, mut wants) = (Vec::new(), Vec::new());
    let (mut own, mut all) = (0.0, 0.0);
    for thread in survey.threads.values().filter(|thread| may_touch(thread)) {
        let demand = survey.demand(thread.tid);
        all += demand;
        if demand == 0.0 && !changes.is_changed(thread) {
            continue;
        }
        let Some(nice) = changes.original(thread).filter(|nice| machine.may_change(thread, *nice)) else {
            continue;
        };
        let Some(owner) = rule.owner(thread) else { continue };
        own += demand;
        threads.push(thread);
        wants.push(Wants { owner, nice, demand });
    }
    // The others have a part of the CPUs, too.
    let cpus = f64::from(machine.cpus) * if own > 0.0 { own / all } else { 1.0 };
    Plan { threads, shares: divide(&wants, cpus, machine.rights == Rights::All) }
}

/// The number of a user's threads that want a CPU, and how many CPUs they want.
pub fn demands(survey: &Survey) -> BTreeMap<u32, (u32, f64)> {
    let mut demands: BTreeMap<u32, (u32, f64)> = BTreeMap::new();
    for thread in survey.threads.values().filter(|thread| may_touch(thread)) {
        if let Some(uid) = thread.uid.filter(|_| survey.demand(thread.tid) > 0.0) {
            let (threads, demand) = demands.entry(uid).or_default();
            *threads += 1;
            *demand += survey.demand(thread.tid);
        }
    }
    demands
}
