//! The state that all processes of a run share: which instances are alive, what they wait for, which instances must be
//! started, and whether the run is over.
//!
//! All of it is atomic integers in shared memory. One lock protects the values that change together; it is held for some
//! tens of nanoseconds. Each live instance has a *slot*, numbered from 1. A thread that waits sleeps on a word of its
//! slot (a futex), so a mutex can be handed to the thread that has waited longest.
//!
//! - `state`: the memory, its lock, and the start and the end of the run.
//! - `spawning`: requests for new instances, and the number of instances that are alive.
//! - `waiting`: mutexes, barriers and tokens.
//! - `queues`: the lists and rings that these use.

mod queues;
mod spawning;
mod state;
mod waiting;

#[cfg(test)]
mod tests;

pub use spawning::SpawnRequest;
pub use state::{Failure, SharedState};
pub use waiting::Wait;
