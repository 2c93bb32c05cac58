//! Uses an exact amount of CPU time: a loop in registers, measured by the thread's own CPU clock.

use std::hint::black_box;
use std::sync::atomic::{AtomicU32, Ordering};

use super::clock;

/// CPU time between two reads of the clocks. A read is a system call, so reading more often costs more.
pub const CHUNK_NS: u64 = 200_000;

/// A remainder up to this is carried over to the next burst, because reading the clock costs as much.
const SLACK_NS: u64 = 1_000;

/// Iterations of the loop between two reads of the flag.
const LAP: u64 = 16;

/// How fast the loop is. It is updated as the loop runs, because processors change their clock rate.
#[derive(Clone, Copy, Debug)]
pub struct Speed {
    pub laps_per_ns: f64,
}

/// Both clocks of a thread at one moment, in ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stamp {
    /// CLOCK_MONOTONIC.
    pub at_ns: u64,
    /// CPU time of the thread.
    pub cpu_ns: u64,
}

impl Stamp {
    /// Reads the clocks of the calling thread.
    pub fn now() -> Stamp {
        let cpu_ns = clock::thread_cpu_ns();
        Stamp { at_ns: clock::monotonic_ns(), cpu_ns }
    }
}

impl Speed {
    /// Measures the speed in a few milliseconds.
    pub fn measure() -> Speed {
        const ENOUGH_NS: u64 = 2_000_000;
        let flag = AtomicU32::new(0);
        let mut laps = 1_000;
        loop {
            let before = clock::thread_cpu_ns();
            spin(laps, &flag);
            let took = clock::thread_cpu_ns() - before;
            if took >= ENOUGH_NS || laps > 1 << 40 {
                return Speed { laps_per_ns: laps as f64 / took.max(1) as f64 };
            }
            laps *= 2;
        }
    }

    fn laps(self, ns: u64) -> u64 {
        ((ns as f64 * self.laps_per_ns) as u64).max(1)
    }

    fn learn(&mut self, laps: u64, took_ns: u64) {
        // In a short piece the cost of reading the clocks dominates. An interrupted piece is slower, but only once, so one
        // measurement changes the speed little.
        if took_ns >= CHUNK_NS / 4 {
            let measured = laps as f64 / took_ns as f64;
            self.laps_per_ns +=
                (measured.clamp(self.laps_per_ns / 2.0, self.laps_per_ns * 2.0) - self.laps_per_ns) / 8.0;
        }
    }
}

/// Uses CPU time until the thread's CPU clock reaches `target_ns` (`u64::MAX` means never), or `stop` is not 0. `stamp` is
/// the last read of the clocks and is updated. `on_read` gets the previous and the new read each time, and returns whether
/// to go on.
pub fn burn(
    speed: &mut Speed,
    target_ns: u64,
    stop: &AtomicU32,
    stamp: &mut Stamp,
    on_read: &mut dyn FnMut(Stamp, Stamp) -> bool,
) {
    while stop.load(Ordering::Relaxed) == 0 {
        let left = target_ns.saturating_sub(stamp.cpu_ns);
        if left <= SLACK_NS {
            return;
        }
        let laps = speed.laps(left.min(CHUNK_NS));
        let done = spin(laps, stop);
        let now = Stamp::now();
        speed.learn(done, now.cpu_ns.saturating_sub(stamp.cpu_ns));
        let before = std::mem::replace(stamp, now);
        if !on_read(before, now) {
            return;
        }
    }
}

/// Runs a loop that the compiler cannot shorten, because each iteration needs the one before. Returns the number of laps
/// done: all of them unless stopped.
#[inline(never)]
fn spin(laps: u64, stop: &AtomicU32) -> u64 {
    let mut x = black_box(1_u64);
    for lap in 0..laps {
        for _ in 0..LAP {
            x = (x ^ x >> 29).wrapping_mul(6_364_136_223_846_793_005);
        }
        x = black_box(x);
        if stop.load(Ordering::Relaxed) != 0 {
            return lap + 1;
        }
    }
    laps
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The clock is the thread's own, so no load on the machine can make this fail. Only time that the kernel charges to
    /// the thread between two reads can, and rarely. So the test takes the least of several.
    #[test]
    fn each_demand_and_their_sum_are_met() {
        let mut speed = Speed::measure();
        let go = AtomicU32::new(0);
        let mut stamp = Stamp::now();
        let mut target = stamp.cpu_ns;
        let mut least = u64::MAX;
        for demand in [50_000, 1_000_000, 333_000, 5_000_000] {
            target += demand;
            burn(&mut speed, target, &go, &mut stamp, &mut |_, _| true);
            assert!(stamp.cpu_ns + SLACK_NS >= target, "not all was used");
            least = least.min(stamp.cpu_ns.saturating_sub(target));
        }
        assert!(least < 100_000, "{least} ns too many");
    }

    #[test]
    fn a_flag_stops_it() {
        let stop = AtomicU32::new(0);
        let mut stamp = Stamp::now();
        let mut reads = 0;
        burn(&mut Speed::measure(), u64::MAX, &stop, &mut stamp, &mut |_, _| {
            reads += 1;
            stop.store(u32::from(reads == 3), Ordering::Relaxed);
            true
        });
        assert_eq!(reads, 3);
    }
}
