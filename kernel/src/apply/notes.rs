//! Notes besides the values: where they count little, and what stands in the way of a run.

use std::collections::BTreeSet;

use super::error::ApplyError;
use super::journal::{Journal, Left};
use super::machine::{Group, Machine, SetNice};
use super::options::Options;
use super::survey::{Survey, may_touch};
use crate::load::check;
use crate::stock::threads::Thread;

/// Sessions are divided first.
pub fn autogroups<S: SetNice>(machine: &Machine<S>) -> Option<String> {
    machine.has_autogroups().then(|| {
        "note: autogroups are on, and nice values count only within a session: sysctl kernel.sched_autogroup_enabled=0".to_owned()
    })
}

/// Nice values count only where threads compete with each other directly.
pub fn levels<S: SetNice>(machine: &Machine<S>, threads: &[&Thread]) -> Option<String> {
    let cgroups: BTreeSet<&str> = threads.iter().map(|thread| thread.cgroup.as_str()).collect();
    let levels: BTreeSet<&str> = cgroups.into_iter().map(|cgroup| level(machine, cgroup)).collect();
    levels.iter().nth(1).map(|other| {
        format!(
            "note: threads are in cgroups with a cpu.weight, as {other}; nice values count only within one, so shares between \
             cgroups do not change"
        )
    })
}

/// Threads outside of the users' cgroups have the weights that they had.
pub fn strays(survey: &Survey, groups: &[Group]) -> Option<String> {
    let is_inside = |thread: &Thread, group: &Group| {
        thread.uid == Some(group.uid)
            && thread
                .cgroup
                .strip_prefix(&group.path)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    let strays = survey.threads.values().filter(|thread| {
        survey.demand(thread.tid) > 0.0
            && may_touch(thread)
            && !groups.iter().any(|group| is_inside(thread, group))
    });
    strays.min_by_key(|thread| thread.tid).map(|stray| {
        format!(
            "note: some threads, as {} ({}), are in no cgroup of their user; what they receive does not change",
            stray.tid, stray.comm
        )
    })
}

/// The deepest cgroup with a weight in which a thread is.
fn level<'a, S: SetNice>(machine: &Machine<S>, cgroup: &'a str) -> &'a str {
    let mut path = cgroup;
    while path.len() > 1 && !machine.has_weight(path) {
        path = path.rsplit_once('/').map_or("", |(above, _)| above);
    }
    path
}

/// The things that a run would find before it sets anything: another scheduler, another run, or what an earlier one left.
pub fn in_the_way<S: SetNice>(machine: &Machine<S>, options: &Options) -> Vec<String> {
    let refused = |error: &ApplyError| format!("note: a run would be refused now: {error}");
    let scheduler = check::no_other_scheduler().err().map(|error| refused(&error.into()));
    let earlier = match Journal::left(&options.journal, &machine.boot()) {
        Ok(Left::Nothing) => None,
        Ok(Left::Values(values)) => Some(format!(
            "note: an earlier divvy apply left {values} values, which a run restores first; this takes them as they are"
        )),
        Err(error) => Some(refused(&error)),
    };
    scheduler.into_iter().chain(earlier).collect()
}
