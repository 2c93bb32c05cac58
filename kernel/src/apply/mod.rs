//! Fair shares under the kernel's own scheduler: writes weights, `cpu.weight` of users' cgroups or nice values of threads, again and again, and
//! restores what it changed, also after it was killed.

mod applier;
mod changed;
mod error;
mod group_changes;
mod groups;
mod journal;
mod machine;
mod notes;
mod options;
mod preview;
mod record;
mod restore;
mod session;
mod shares;
mod survey;
#[cfg(test)]
mod tests;

pub use error::ApplyError;
pub use options::{Mechanism, Options, Rule, Watch, default_journal};
pub use preview::{Preview, Row, preview};
pub use session::{apply, restore_journal};
