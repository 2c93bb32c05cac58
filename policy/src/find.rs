//! Policies by name.

use crate::{PolicyInfo, all, canonical, file};

/// The policy of that name, if there is one: built in, or [loaded from a file](file::load). `fifo` and `srtf` are fcfs and srpt.
pub fn find(name: &str) -> Option<&'static PolicyInfo> {
    let name = canonical(name);
    all().iter().find(|p| p.name == name).or_else(|| file::find(name).map(|file| &file.info))
}
