//! Finds the period of the recorded kernel's timer interrupt: there, slices end at ticks only.

use std::collections::{BTreeMap, BTreeSet};

use divvy_policy::CpuId;

use crate::interval::{Activity, Queued};
use crate::recording::Recording;

/// The periods that Linux is built with: HZ of 100, 250, 300 and 1000. The longest that fits is taken, because what fits it fits
/// its parts too.
const PERIODS_NS: [u64; 4] = [10_000_000, 4_000_000, 3_333_333, 1_000_000];
/// Fewer preemptions than this say nothing.
const FEWEST: usize = 30;
/// A period has so many places, and a tick is always at the same one or at the next. Of preemptions at random times a tenth would be
/// at any two.
const PLACES: u64 = 20;
/// The part of the preemptions, in percent, that must be at one place and the one after it. The others are yields, and
/// wake-ups that took longer.
const MOST: usize = 50;
/// A thread that waited for less than this before it ran may have taken the CPU by its wake-up.
const JUST_BEFORE_NS: u64 = 100_000;
/// The next thread runs no later after a switch.
const SWITCH_NS: u64 = 10_000;

/// The period, if preemptions tell it.
pub(crate) fn period_ns(recording: &Recording) -> Option<u64> {
    let times = preemptions(recording);
    if times.len() < FEWEST {
        return None;
    }
    PERIODS_NS.into_iter().find(|&period_ns| at_ticks(&times, period_ns) * 100 >= times.len() * MOST)
}

/// CPU and time of each switch from a thread that could have gone on, except to one that was woken just before: that was the
/// wake-up's doing.
fn preemptions(recording: &Recording) -> Vec<(CpuId, u64)> {
    let (mut times, mut woken) = (Vec::new(), BTreeSet::new());
    for thread in &recording.threads {
        for pair in thread.intervals.windows(2) {
            let [before, after] = pair else { continue };
            match (before.activity, after.activity) {
                (Activity::Run { cpu }, Activity::Wait { why: Queued::Preempted }) if !before.inferred => {
                    times.push((cpu, before.end_ns));
                }
                (Activity::Wait { why: Queued::Woken | Queued::New }, Activity::Run { cpu })
                    if before.len_ns() < JUST_BEFORE_NS =>
                {
                    woken.insert((cpu, after.start_ns));
                }
                _ => {}
            }
        }
    }
    times.retain(|&(cpu, t_ns)| {
        woken.range((cpu, t_ns)..=(cpu, t_ns.saturating_add(SWITCH_NS))).next().is_none()
    });
    times
}

/// How many are at the most frequent place of a period, or at the next one. Each CPU has a place of its own.
fn at_ticks(times: &[(CpuId, u64)], period_ns: u64) -> usize {
    let mut cpus: BTreeMap<CpuId, [usize; PLACES as usize]> = BTreeMap::new();
    for &(cpu, t_ns) in times {
        let place = t_ns % period_ns * PLACES / period_ns;
        cpus.entry(cpu).or_default()[place as usize] += 1;
    }
    let most = |places: &[usize; PLACES as usize]| {
        (0..places.len()).map(|at| places[at] + places[(at + 1) % places.len()]).max().unwrap_or(0)
    };
    cpus.values().map(most).sum()
}
