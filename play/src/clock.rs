//! Reads clocks, sleeps until a time, and waits on futex words.

use std::num::NonZeroU32;
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::thread::{ClockId as SleepClock, clock_nanosleep_absolute, futex};
use rustix::time::{ClockId, Timespec, clock_gettime};

/// CLOCK_MONOTONIC in ns; all processes share it.
pub fn monotonic_ns() -> u64 {
    nanoseconds(clock_gettime(ClockId::Monotonic))
}

/// CPU time of the calling thread, in ns.
pub fn thread_cpu_ns() -> u64 {
    nanoseconds(clock_gettime(ClockId::ThreadCPUTime))
}

/// CPU time of the calling process, in ns.
pub fn process_cpu_ns() -> u64 {
    nanoseconds(clock_gettime(ClockId::ProcessCPUTime))
}

/// Sleeps until CLOCK_MONOTONIC reaches `at_ns`.
pub fn sleep_until(at_ns: u64) {
    // A signal may interrupt it; no other error is possible.
    while clock_nanosleep_absolute(SleepClock::Monotonic, &timespec(at_ns)) == Err(rustix::io::Errno::INTR) {}
}

/// Waits until `word` is no longer `value`, or until CLOCK_MONOTONIC reaches `until_ns`. Returns whether the word changed.
/// It may return late after a change, but never before one.
pub fn wait_while(word: &AtomicU32, value: u32, until_ns: u64) -> bool {
    let timeout = (until_ns != u64::MAX).then(|| timespec(until_ns));
    while word.load(Ordering::Acquire) == value {
        let any = NonZeroU32::MAX;
        let waited = futex::wait_bitset(word, futex::Flags::empty(), value, timeout.as_ref(), any);
        if waited == Err(rustix::io::Errno::TIMEDOUT) {
            return word.load(Ordering::Acquire) != value;
        }
    }
    true
}

/// Wakes all threads that wait for `word`.
pub fn wake_all(word: &AtomicU32) {
    // It fails only for an address that is not a word.
    let _ = futex::wake(word, futex::Flags::empty(), i32::MAX as u32);
}

fn nanoseconds(time: Timespec) -> u64 {
    time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_nsec.unsigned_abs()
}

fn timespec(ns: u64) -> Timespec {
    Timespec { tv_sec: (ns / 1_000_000_000) as i64, tv_nsec: (ns % 1_000_000_000) as i64 }
}
