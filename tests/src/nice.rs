//! Hogs by their nice values, and the slices that they get.

use crate::bench::{Bench, MS, Nobody, Program, SEC};

/// Weights of these nice values in the kernel's table
pub const NICE_MINUS_20: u64 = 88_761;

pub const NICE_MINUS_5: u64 = 3121;

pub const NICE_0: u64 = 1024;

pub const NICE_5: u64 = 335;

pub const NICE_19: u64 = 15;

pub fn hogs(weights: &[u64]) -> Vec<Program> {
    weights.iter().map(|&w| Program::new(0, w, &[1000 * SEC])).collect()
}

/// (task, ms) of each turn; those of a task that follow each other are one.
pub fn turns(bench: &Bench<Nobody>) -> Vec<(u32, u64)> {
    let mut turns: Vec<(u32, u64)> = Vec::new();
    for segment in &bench.segments {
        let ms = (segment.to - segment.from) / MS;
        match turns.last_mut() {
            Some((task, so_far)) if *task == segment.task => *so_far += ms,
            _ => turns.push((segment.task, ms)),
        }
    }
    turns
}
