//! Why each sleep ended: the question on which a what-if rests.

use crate::interval::{Activity, Interval, Wake};
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

/// The class of each of a thread's sleeps that ended, by the index of its interval. `known` tells whether the recording says which
/// wakes came from interrupts; if it does not, a regular sleep counts as a timer, whichever thread seemed to end it.
pub(crate) fn classes(thread: &Thread, known: bool) -> Vec<(usize, Class)> {
    let mut classes = Vec::new();
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
            suspects.push(classes.len());
        }
        classes.push((index, class));
    }
    let sleeps: Vec<&Interval> = suspects.iter().map(|&s| &thread.intervals[classes[s].0]).collect();
    if let Some((class, fits)) = timer_fit(&sleeps) {
        for (&suspect, _) in suspects.iter().zip(fits).filter(|(_, fits)| *fits) {
            classes[suspect].1 = class;
        }
    }
    classes
}

/// Whether sleeps look like a timer's; the kind of timer, and which of the sleeps fit.
fn timer_fit(sleeps: &[&Interval]) -> Option<(Class, Vec<bool>)> {
    if sleeps.len() < FEWEST {
        return None;
    }
    let relative = residuals_of_durations(sleeps);
    let periodic = residuals_of_period(sleeps);
    let candidates = [(Class::Timer, relative), (Class::Periodic, periodic)];
    let fitting = candidates.into_iter().filter_map(|(class, residuals)| {
        let fits: Vec<bool> = residuals.iter().map(|r| r.is_some()).collect();
        let count = fits.iter().filter(|f| **f).count();
        let spread = median(residuals.into_iter().flatten().collect())?;
        (count * 100 >= fits.len() * MOST_FIT).then_some((spread, class, fits))
    });
    // A thread that works for a constant time has both regularities; the tighter one is its timer's.
    fitting.min_by_key(|(spread, ..)| *spread).map(|(_, class, fits)| (class, fits))
}

/// Distance of each duration from the median; `None` where it is out of tolerance.
fn residuals_of_durations(sleeps: &[&Interval]) -> Vec<Option<u64>> {
    let usual = median(sleeps.iter().map(|s| s.len_ns()).collect()).unwrap_or(0);
    sleeps.iter().map(|s| within(s.len_ns().abs_diff(usual), usual)).collect()
}

/// Distance of each wake from a whole number of periods after the one before; a first wake fits if the second does.
fn residuals_of_period(sleeps: &[&Interval]) -> Vec<Option<u64>> {
    let steps: Vec<u64> = sleeps.windows(2).map(|pair| pair[1].end_ns - pair[0].end_ns).collect();
    let period = median(steps.clone()).unwrap_or(0).max(1);
    let residual = |step: &u64| {
        let whole = (step + period / 2) / period;
        if whole == 0 { None } else { within(step.abs_diff(whole * period), period) }
    };
    let residuals: Vec<Option<u64>> = steps.iter().map(residual).collect();
    residuals.first().copied().into_iter().chain(residuals.iter().copied()).collect()
}

fn within(distance: u64, length: u64) -> Option<u64> {
    let tolerance = (length / 50).max(SLACK_NS).min(length / 10);
    (distance <= tolerance).then_some(distance)
}

fn median(mut values: Vec<u64>) -> Option<u64> {
    let middle = values.len() / 2;
    (!values.is_empty()).then(|| *values.select_nth_unstable(middle).1)
}
