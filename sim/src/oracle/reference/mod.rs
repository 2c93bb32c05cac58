//! Schedules of static sets, decision by decision, by scanning the papers' formulas in exact fractions.
//!
//! Time goes in unit quanta, with all CPUs in step: at each boundary CPU 0 decides first, while the others
//! still hold the clients whose quanta have just ended. Clients are numbered from 0, and always runnable.

pub mod gr3;
pub mod tags;

use num_traits::Zero;

use super::{Rational, fraction, whole};

/// The tasks that run: `schedule[quantum][cpu]`, `None` where a CPU is idle.
pub type Schedule = Vec<Vec<Option<usize>>>;

/// The clients of a schedule's first CPU, one a quantum.
pub fn first_cpu(schedule: &Schedule) -> Vec<Option<usize>> {
    schedule.iter().map(|quantum| quantum[0]).collect()
}

/// Least and greatest service error of any client at any time: received quanta minus the share of all quanta
/// handed out that its weight entitles it to. Quanta count one after the other, by CPU.
pub fn service_error(schedule: &Schedule, weights: &[u64]) -> (Rational, Rational) {
    let total: u64 = weights.iter().sum();
    let (mut least, mut greatest) = (Rational::zero(), Rational::zero());
    let mut received = vec![0_u64; weights.len()];
    let mut handed_out = 0_u64;
    let error = |received: u64, handed_out: u64, weight: u64| {
        whole(received) - fraction(handed_out, 1) * fraction(weight, total)
    };
    for client in schedule.iter().flatten().flatten().copied() {
        // Only the client that runs gains, so its error is least just before, and greatest just after.
        least = least.min(error(received[client], handed_out, weights[client]));
        received[client] += 1;
        handed_out += 1;
        greatest = greatest.max(error(received[client], handed_out, weights[client]));
    }
    for (&received, &weight) in received.iter().zip(weights) {
        least = least.min(error(received, handed_out, weight));
    }
    (least, greatest)
}
