//! Hogs by their nice values, and the slices that they get.

use crate::bench::{Bench, MS, Nobody, Program, SEC};

/// The weight of nice -20 in the kernel's table.
pub const NICE_MINUS_20: u64 = 88_761;

/// The weight of nice -5.
pub const NICE_MINUS_5: u64 = 3121;

/// The weight of nice 0.
pub const NICE_0: u64 = 1024;

/// The weight of nice 5.
pub const NICE_5: u64 = 335;

/// The weight of nice 19.
pub const NICE_19: u64 = 15;

/// Programs of these weights that run all the time.
pub fn hogs(weights: &[u64]) -> Vec<Program> {
    weights.iter().map(|&w| Program::new(0, w, &[1000 * SEC])).collect()
}

/// (task, ms) of each turn; those of a task that follow each other are one.
pub fn turns(bench: &Bench<Nobody>) -> Vec<(u32, u64)> {
    let mut turns: Vec<(u32, u64)> = Vec::new();
    for segment in &bench.segments {
        let ms = (segment.to - segment.from) / MS;
        match turns.last_mut() {
            Some((task, so_far)) if segment.task == *task => *so_far += ms,
            _ => turns.push((segment.task.get(), ms)),
        }
    }
    turns
}
