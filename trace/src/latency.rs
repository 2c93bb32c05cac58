//! How long the threads of a recording ran, and how long they waited for a CPU: what `perf sched latency` shows.

use crate::interval::{Activity, Interval, Queued, Wake};
use crate::measured::Spread;
use crate::recording::{Recording, Thread};
use std::collections::BTreeMap;

/// The threads of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Per {
    /// All threads of a name.
    #[default]
    Name,
    /// A thread.
    Thread,
    /// All threads of a cgroup.
    Cgroup,
}

/// The path of threads whose cgroup is not known.
const NO_CGROUP: &str = "?";

/// The times of one thread, or of several.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Latency {
    /// The threads' name, or their cgroup's path.
    pub name: String,
    /// The thread's number, if the row is of one.
    pub tid: Option<i32>,
    /// How many threads.
    pub threads: u64,
    /// CPU time, in ns.
    pub run_ns: u64,
    /// Times that one came on a CPU.
    pub runs: u64,
    /// Time runnable without a CPU, in ns: after wake-ups, and after others took the CPU away.
    pub wait_ns: u64,
    /// From a wake-up, or the birth, to the CPU, where both were seen.
    pub delay: Spread,
    /// When the longest of these delays ended, in ns from the first event.
    pub longest_ended_ns: u64,
    /// Times that one came on another CPU than it was last on.
    pub migrations: u64,
}

#[derive(Default)]
struct Sum {
    row: Latency,
    delays: Vec<u64>,
    longest: Option<(u64, u64)>,
}

/// The threads that ran: those that used most CPU time first.
pub fn latencies(recording: &Recording, per: Per) -> Vec<Latency> {
    let mut sums: BTreeMap<(&str, usize), Sum> = BTreeMap::new();
    for (index, thread) in recording.threads.iter().enumerate().filter(|(_, thread)| runs(thread) > 0) {
        let name = match per {
            Per::Name | Per::Thread => thread.name.as_str(),
            Per::Cgroup => cgroup(recording, thread),
        };
        let key = (name, if per == Per::Thread { index } else { 0 });
        sums.entry(key).or_default().add(name, thread);
    }
    let mut rows: Vec<Latency> = sums.into_values().map(Sum::row).collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.run_ns)); // stable: names break ties
    rows
}

fn cgroup<'a>(recording: &'a Recording, thread: &Thread) -> &'a str {
    thread.cgroup.and_then(|id| recording.cgroups.get(&id)).map_or(NO_CGROUP, String::as_str)
}

fn runs(thread: &Thread) -> u64 {
    thread.intervals.iter().filter(|interval| matches!(interval.activity, Activity::Run { .. })).count()
        as u64
}

impl Sum {
    fn add(&mut self, name: &str, thread: &Thread) {
        let row = &mut self.row;
        row.threads += 1;
        name.clone_into(&mut row.name);
        row.tid = (row.threads == 1).then_some(thread.tid);
        row.run_ns += thread.run_ns;
        row.runs += runs(thread);
        row.migrations += thread.migrations;
        for (at, interval) in thread.intervals.iter().enumerate() {
            if matches!(interval.activity, Activity::Wait { .. }) {
                row.wait_ns += interval.len_ns();
            }
            let Some((ns, end_ns)) = delay(interval, thread.intervals.get(at + 1)) else { continue };
            self.delays.push(ns);
            if self.longest.is_none_or(|(longest, _)| ns > longest) {
                self.longest = Some((ns, end_ns));
            }
        }
    }

    fn row(self) -> Latency {
        let longest_ended_ns = self.longest.map_or(0, |(_, end_ns)| end_ns);
        Latency { delay: Spread::of(self.delays), longest_ended_ns, ..self.row }
    }
}

/// The delay from a wake-up to the CPU that follows it, and when it ended. A wait of no length is no interval.
fn delay(interval: &Interval, next: Option<&Interval>) -> Option<(u64, u64)> {
    let runs = |next: &Interval| matches!(next.activity, Activity::Run { .. });
    match interval.activity {
        Activity::Wait { why: Queued::Woken | Queued::New } => {
            let known = !interval.censored && next.is_some_and(|next| runs(next) && !next.inferred);
            known.then_some((interval.len_ns(), interval.end_ns))
        }
        Activity::Blocked { wake: Wake::By(_) | Wake::Interrupt | Wake::Removed, .. } => {
            next.filter(|next| runs(next) && !next.inferred).map(|next| (0, next.start_ns))
        }
        _ => None,
    }
}
