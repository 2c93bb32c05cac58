//! Watches all threads of the machine for some time.

use std::path::Path;
use std::time::{Duration, Instant};

use divvy_trace::Per;

use super::SampleError;
use super::threads::Threads;
use super::waits::{Step, Watched};
use crate::load::Signals;
use crate::proc_text::ticks;

/// Time between two looks. If a thread waited once meanwhile, its wait is known.
const STEP: Duration = Duration::from_millis(100);
/// No more than one part in so many of the time goes to reading `/proc`, however many threads there are.
const PART_FOR_READING: u32 = 5;

/// Watches all threads for this time, or until a signal ends it, which is no error. Call it while the process has one thread.
/// `progress` gets the time so far.
///
/// # Errors
/// If `/proc` cannot be read, or the kernel does not count what threads use.
pub fn watch(
    per: Per,
    duration: Duration,
    mut progress: impl FnMut(Duration),
) -> Result<Watched, SampleError> {
    let mut signals = Signals::block().map_err(SampleError::Wait)?;
    let proc = Path::new("/proc");
    let mut threads = Threads::new(proc);
    let (mut reading, mut from_ticks) = (Instant::now(), ticks(proc));
    let now = threads.read()?;
    let began = Instant::now();
    let mut watched = Watched::new(per, began);
    watched.look(now, began, None);
    let used_before = used_ns();
    let mut cost = began - reading;
    loop {
        let left = duration.saturating_sub(began.elapsed());
        let step = STEP.max(cost * PART_FOR_READING);
        let signalled = signals.wait_until(Instant::now() + step.min(left)).map_err(SampleError::Wait)?;
        let (start, start_ticks) = (Instant::now(), ticks(proc));
        let now = threads.read()?;
        let end = Instant::now();
        watched.look(now, end, Some(Step { longest: end - reading, from_ticks }));
        (reading, from_ticks, cost) = (start, start_ticks, end - start);
        progress(began.elapsed());
        if signalled || step >= left {
            watched.end(end);
            watched.duration_ns = (end - began).as_nanos() as u64;
            break;
        }
    }
    watched.used_ns = used_ns().zip(used_before).map(|(after, before)| after.saturating_sub(before));
    watched.cpus = super::online();
    Ok(watched)
}

/// CPU time that all programs have received since the machine started, in ns.
fn used_ns() -> Option<u64> {
    used_ticks(&std::fs::read_to_string("/proc/stat").ok()?)
        .map(|ticks| ticks.saturating_mul(1_000_000_000 / rustix::param::clock_ticks_per_second()))
}

/// proc_stat(5): of all CPUs together, in programs, in programs of positive nice values, and in the kernel for them.
fn used_ticks(stat: &str) -> Option<u64> {
    let mut fields = stat.lines().next()?.strip_prefix("cpu ")?.split_whitespace();
    let mut next = || fields.next()?.parse::<u64>().ok();
    Some(next()?.saturating_add(next()?).saturating_add(next()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machines_clocks_are_read() {
        assert_eq!(used_ticks("cpu  10 20 30 400 5 6 7\ncpu0 1 1 1\n"), Some(60));
        assert_eq!(used_ticks("cpu  10 20"), None);
        assert_eq!(used_ticks("intr 5"), None);
        assert!(used_ns().is_some_and(|ns| ns > 0), "Linux says so");
        // This process began after the machine did, and before now.
        let stat = std::fs::read_to_string("/proc/self/stat").expect("it is there");
        let started = crate::stock::threads::parse_stat(&stat).expect("a line of stat").started;
        let now = ticks(Path::new("/proc"));
        assert!(started > 0 && started <= now, "{started} {now}");
    }
}
