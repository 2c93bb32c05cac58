//! Service, waiting and response times of a recorded thread, as a simulation reports them. The error of a self-replay is the
//! difference of the two.

use crate::interval::{Activity, Interval, Queued, Wake};
use serde::Serialize;

/// A distribution of times.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Spread {
    /// Number of values.
    pub count: u64,
    /// Mean, nanoseconds, rounded down.
    pub mean_ns: u64,
    /// Median (nearest rank).
    pub p50_ns: u64,
    /// 99th percentile (nearest rank).
    pub p99_ns: u64,
    /// Largest.
    pub max_ns: u64,
}

impl Spread {
    /// The spread of some values.
    pub fn of(mut values: Vec<u64>) -> Spread {
        values.sort_unstable();
        let count = values.len();
        let Some(&max_ns) = values.last() else {
            return Spread::default();
        };
        let sum: u128 = values.iter().map(|&v| u128::from(v)).sum();
        let rank = |percent: usize| values[(count * percent).div_ceil(100).max(1) - 1];
        Spread {
            count: count as u64,
            mean_ns: (sum / count as u128) as u64,
            p50_ns: rank(50),
            p99_ns: rank(99),
            max_ns,
        }
    }
}

/// The measured times of one thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Measured {
    /// CPU time, in ns.
    pub service_ns: u64,
    /// Time spent runnable without a CPU, in ns.
    pub wait_ns: u64,
    /// Sleeps that ended.
    pub wakes: u64,
    /// From the wake, or the birth, to the CPU, where both were seen.
    pub wake_delay: Spread,
    /// From the wake, or the birth, to the next sleep or the end, where both were seen.
    pub response: Spread,
    /// The start of its first job is in the recording.
    pub begins: bool,
    /// The end of its last job is in the recording.
    pub ends: bool,
    /// The end of its last run, from the start of the recording.
    pub last_run_ns: u64,
}

impl Measured {
    /// From a thread's intervals.
    pub fn of(intervals: &[Interval]) -> Measured {
        let mut measured = Measured::default();
        let (mut delays, mut responses) = (Vec::new(), Vec::new());
        let mut woken_at = intervals.first().filter(|i| is_birth(i)).map(|i| i.start_ns);
        for interval in intervals {
            match interval.activity {
                Activity::Run { .. } => {
                    measured.begins |= measured.service_ns == 0 && woken_at.is_some();
                    measured.service_ns += interval.len_ns();
                    measured.last_run_ns = interval.end_ns;
                }
                Activity::Wait { why } => {
                    measured.wait_ns += interval.len_ns();
                    if why != Queued::Preempted && !interval.censored && woken_at == Some(interval.start_ns) {
                        delays.push(interval.len_ns());
                    }
                }
                Activity::Blocked { wake, .. } => {
                    responses.extend(woken_at.map(|at| interval.start_ns - at));
                    measured.wakes += u64::from(wake != Wake::Never);
                    let seen = !matches!(wake, Wake::Never | Wake::Missing);
                    woken_at = seen.then_some(interval.end_ns);
                }
                Activity::Unknown => woken_at = None,
            }
        }
        measured.ends = intervals
            .last()
            .is_some_and(|last| !last.censored || matches!(last.activity, Activity::Blocked { .. }));
        if let (Some(at), Some(last)) = (woken_at, intervals.last())
            && !last.censored
        {
            responses.push(last.end_ns - at); // it exited
        }
        measured.wake_delay = Spread::of(delays);
        measured.response = Spread::of(responses);
        measured
    }
}

fn is_birth(interval: &Interval) -> bool {
    interval.activity == (Activity::Wait { why: Queued::New }) && !interval.censored
}
