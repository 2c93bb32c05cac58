//! Why each sleep ended: the question on which a what-if rests.

use crate::interval::{Activity, Queued, Wake};
use crate::recording::Thread;
use divvy_results::schedule::State;
use serde::Serialize;

/// Why a sleep ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Class {
    /// Another thread of the workload did it, at a point of its own program.
    Dependency,
    /// A timer that the thread set when it fell asleep: after the same duration again.
    Timer,
    /// A timer with a fixed period: at the same time again.
    Periodic,
    /// A device that the thread waited for without interruption: after the same duration again.
    Device,
    /// The outside world: at the same time again.
    External,
    /// Not known: after the same duration again.
    Unknown,
}

/// How many sleeps ended for which reason: how much of a what-if is known, and how much assumed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct WakeCounts {
    /// By another thread of the workload.
    pub dependency: u64,
    /// By a timer, periodic or not.
    pub timer: u64,
    /// By a device.
    pub device: u64,
    /// By the outside world.
    pub external: u64,
    /// Not known.
    pub unknown: u64,
}

impl WakeCounts {
    pub(crate) fn count(&mut self, class: Class) {
        *match class {
            Class::Dependency => &mut self.dependency,
            Class::Timer | Class::Periodic => &mut self.timer,
            Class::Device => &mut self.device,
            Class::External => &mut self.external,
            Class::Unknown => &mut self.unknown,
        } += 1;
    }

    /// All of them.
    pub fn total(&self) -> u64 {
        self.dependency + self.timer + self.device + self.external + self.unknown
    }
}

/// Sleeps needed before a regularity counts as one.
const FEWEST: usize = 8;
/// The kernel lets a timer of an ordinary thread be late by this much (`timer_slack_ns`).
const SLACK_NS: u64 = 50_000;
/// Percentage of these sleeps that must fit.
const MOST_FIT: usize = 80;

/// A sleep of a thread that ended.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sleep {
    /// The index of its interval.
    pub index: usize,
    pub class: Class,
    /// How long it lasts if nobody takes the thread off its CPU before.
    pub ns: u64,
}

/// A run up to this long after a preemption is only the way to the sleep: the timer was set before.
const WAY_TO_SLEEP_NS: u64 = SLACK_NS;

/// Length of the sleep at `index`, from when the thread was taken off its CPU, if that was on its way to the sleep.
fn since_preemption_ns(thread: &Thread, index: usize) -> Option<u64> {
    let [wait, run] = thread.intervals.get(index.checked_sub(2)?..index)? else { return None };
    let is_on_its_way = matches!(wait.activity, Activity::Wait { why: Queued::Preempted })
        && matches!(run.activity, Activity::Run { .. })
        && run.len_ns() <= WAY_TO_SLEEP_NS;
    is_on_its_way.then(|| thread.intervals[index].end_ns - wait.start_ns)
}

/// The class of each of a thread's sleeps that ended. `known` tells whether the recording says which
/// wakes came from interrupts; if it does not, a regular sleep counts as a timer, whichever thread seemed to end it.
pub(crate) fn sleeps(thread: &Thread, known: bool) -> Vec<Sleep> {
    let mut sleeps = Vec::new();
    let mut suspects = Vec::new();
    for (index, interval) in thread.intervals.iter().enumerate() {
        let Activity::Blocked { state, wake } = interval.activity else {
            continue;
        };
        let class = match wake {
            Wake::Never => continue,
            Wake::By(_) => Class::Dependency,
            Wake::Interrupt if state == State::Disk => Class::Device,
            Wake::Interrupt => Class::External,
            Wake::Removed | Wake::Missing => Class::Unknown,
        };
        let hidden = wake == Wake::Missing && state != State::Disk;
        let may_be_timer = class == Class::External || hidden || (!known && class == Class::Dependency);
        if may_be_timer && !interval.censored {
            suspects.push(sleeps.len());
        }
        sleeps.push(Sleep { index, class, ns: interval.len_ns() });
    }
    let timed: Vec<Timed> = suspects.iter().map(|&at| Timed::of(thread, sleeps[at].index)).collect();
    if let Some((class, fits)) = timer_fit(&timed) {
        for (&suspect, ns) in suspects.iter().zip(fits) {
            if let Some(ns) = ns {
                sleeps[suspect] = Sleep { class, ns, ..sleeps[suspect] };
            }
        }
    }
    sleeps
}

/// A sleep that a timer may have ended.
struct Timed {
    end_ns: u64,
    /// Lengths of which one is the timer's: from the start of the sleep, and from a preemption before it.
    ns: u64,
    since_preemption_ns: Option<u64>,
}

impl Timed {
    fn of(thread: &Thread, index: usize) -> Self {
        let interval = &thread.intervals[index];
        Timed {
            end_ns: interval.end_ns,
            ns: interval.len_ns(),
            since_preemption_ns: since_preemption_ns(thread, index),
        }
    }
}

/// Distance from what is expected, and the length of the sleep; `None` where it is out of tolerance.
type Fit = Option<(u64, u64)>;

/// Whether sleeps look like a timer's; the kind of timer, and the lengths of the sleeps that fit.
fn timer_fit(sleeps: &[Timed]) -> Option<(Class, Vec<Option<u64>>)> {
    if sleeps.len() < FEWEST {
        return None;
    }
    let candidates = [(Class::Timer, fits_of_lengths(sleeps)), (Class::Periodic, fits_of_period(sleeps))];
    let fitting = candidates.into_iter().filter_map(|(class, fits)| {
        let spread = median(fits.iter().flatten().map(|(distance, _)| *distance).collect())?;
        let count = fits.iter().flatten().count();
        let lengths = fits.iter().map(|fit| fit.map(|(_, ns)| ns)).collect();
        (count * 100 >= fits.len() * MOST_FIT).then_some((spread, class, lengths))
    });
    // A thread that works for a constant time has both regularities; the tighter one is its timer's.
    fitting.min_by_key(|(spread, ..)| *spread).map(|(_, class, lengths)| (class, lengths))
}

/// By the distance of each length from the median.
fn fits_of_lengths(sleeps: &[Timed]) -> Vec<Fit> {
    let usual = median(sleeps.iter().map(|sleep| sleep.ns).collect()).unwrap_or(0);
    let fit = |ns: u64| within(ns.abs_diff(usual), usual).map(|distance| (distance, ns));
    sleeps.iter().map(|sleep| fit(sleep.ns).or_else(|| sleep.since_preemption_ns.and_then(fit))).collect()
}

/// By the distance of each wake from a whole number of periods after the one before; a first wake fits if the second does.
fn fits_of_period(sleeps: &[Timed]) -> Vec<Fit> {
    let steps: Vec<u64> = sleeps.windows(2).map(|pair| pair[1].end_ns - pair[0].end_ns).collect();
    let period = median(steps.clone()).unwrap_or(0).max(1);
    let distance = |step: &u64| {
        let whole = (step + period / 2) / period;
        if whole == 0 { None } else { within(step.abs_diff(whole * period), period) }
    };
    let distances: Vec<Option<u64>> = steps.iter().map(distance).collect();
    let all = distances.first().into_iter().chain(&distances);
    all.zip(sleeps).map(|(distance, sleep)| distance.map(|distance| (distance, sleep.ns))).collect()
}

fn within(distance: u64, length: u64) -> Option<u64> {
    let tolerance = (length / 50).max(SLACK_NS).min(length / 10);
    (distance <= tolerance).then_some(distance)
}

fn median(mut values: Vec<u64>) -> Option<u64> {
    let middle = values.len() / 2;
    (!values.is_empty()).then(|| *values.select_nth_unstable(middle).1)
}
