//! Arguments that several commands share. Each command's own are in its file.

pub mod choice;
pub mod durations;
pub mod given;
pub mod jobs;
pub mod look;
pub mod machine;
pub mod output;
pub mod policies;
pub mod presets;
pub mod random;
pub mod recording;
pub mod schedule;
pub mod scheduler;
