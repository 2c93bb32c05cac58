//! One turn on a CPU after the other: what `perf sched timehist` shows.

use crate::interval::{Activity, Queued};
use crate::recording::Recording;
use divvy_policy::CpuId;
use divvy_results::schedule::State;

/// A thread was on a CPU. Times are in ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Turn {
    /// Index of the thread.
    pub thread: usize,
    /// The CPU.
    pub cpu: CpuId,
    /// When it left the CPU, from the first event.
    pub end_ns: u64,
    /// How long it ran.
    pub run_ns: u64,
    /// How long it waited for a CPU after the wake-up before; `None` if there was none, or it was not seen.
    pub delay_ns: Option<u64>,
    /// How long it slept before, or waited for a CPU that another thread had.
    pub wait_ns: u64,
    /// The state in which it left; `None` if it was still there at the end.
    pub left: Option<State>,
    /// The start or the end was inferred.
    pub inferred: bool,
}

/// All turns, in the order in which they ended; of one time, by CPU.
pub fn history(recording: &Recording) -> Vec<Turn> {
    let mut turns = Vec::new();
    for (index, thread) in recording.threads.iter().enumerate() {
        let (mut delay_ns, mut wait_ns) = (None, 0);
        for (at, interval) in thread.intervals.iter().enumerate() {
            match interval.activity {
                Activity::Wait { why: Queued::Preempted } | Activity::Blocked { .. } => {
                    wait_ns += interval.len_ns();
                }
                Activity::Wait { .. } => delay_ns = Some(interval.len_ns()),
                Activity::Unknown => {}
                Activity::Run { cpu } => {
                    let left = match thread.intervals.get(at + 1).map(|next| next.activity) {
                        Some(Activity::Blocked { state, .. }) => Some(state),
                        Some(Activity::Unknown) => Some(State::Unknown),
                        Some(_) => Some(State::Runnable),
                        None if thread.exited => Some(State::Dead),
                        None => None,
                    };
                    turns.push(Turn {
                        thread: index,
                        cpu,
                        end_ns: interval.end_ns,
                        run_ns: interval.len_ns(),
                        delay_ns: delay_ns.take(),
                        wait_ns: std::mem::take(&mut wait_ns),
                        left,
                        inferred: interval.inferred,
                    });
                }
            }
        }
    }
    turns.sort_by_key(|turn| (turn.end_ns, turn.cpu));
    turns
}
