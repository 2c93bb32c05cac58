//! CPU time, used up exactly: a loop in registers, measured by the thread's own CPU clock.

use std::hint::black_box;
use std::sync::atomic::{AtomicU32, Ordering};

use super::clock;

/// CPU time between two looks at the clocks, which are system calls.
pub const CHUNK_NS: u64 = 200_000;

/// A rest as short as this is carried over to the next burst: looking at the clock costs as much.
const SLACK_NS: u64 = 1_000;

/// Turns of the loop between two looks at the flag.
const LAP: u64 = 16;

/// How fast the loop is, learnt as it runs: clocks of processors change.
#[derive(Clone, Copy, Debug)]
pub struct Speed {
    laps_per_ns: f64,
}

/// A look at both clocks of a thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stamp {
    /// CLOCK_MONOTONIC.
    pub at_ns: u64,
    /// CPU time of the thread.
    pub cpu_ns: u64,
}

impl Stamp {
    /// Now, of the calling thread.
    pub fn now() -> Stamp {
        let cpu_ns = clock::thread_cpu_ns();
        Stamp { at_ns: clock::monotonic_ns(), cpu_ns }
    }
}

impl Speed {
    /// Measures it in a few milliseconds.
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
        // Short pieces say more about the clocks than about the loop, and an interrupted one is slower, once.
        if took_ns >= CHUNK_NS / 4 {
            let seen = laps as f64 / took_ns as f64;
            self.laps_per_ns +=
                (seen.clamp(self.laps_per_ns / 2.0, self.laps_per_ns * 2.0) - self.laps_per_ns) / 8.0;
        }
    }
}

/// Uses CPU time until the thread's clock is at `target_ns` (`u64::MAX` never is), or `stop` is not 0. `stamp` is the
/// last look at the clocks, and is kept up; `seen` is told each look, the one before and whether to go on.
pub fn burn(
    speed: &mut Speed,
    target_ns: u64,
    stop: &AtomicU32,
    stamp: &mut Stamp,
    seen: &mut dyn FnMut(Stamp, Stamp) -> bool,
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
        if !seen(before, now) {
            return;
        }
    }
}

/// Turns of a loop that nothing can shorten: each needs the one before. Gives the laps done, all unless stopped.
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

    /// The clock that it is measured by is the thread's own, so no load on the machine can make this fail; only what
    /// the kernel charges to the thread between two looks can, once. Hence the least of several.
    #[test]
    fn demand_is_met_in_sum_and_each_time() {
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
        let mut looks = 0;
        burn(&mut Speed::measure(), u64::MAX, &stop, &mut stamp, &mut |_, _| {
            looks += 1;
            stop.store(u32::from(looks == 3), Ordering::Relaxed);
            true
        });
        assert_eq!(looks, 3);
    }
}
