//! The repository's files agree with each other: pages of papers/, licences, mutants.txt, docs/ and examples/.

use std::path::{Path, PathBuf};

mod examples;
mod levels;
mod licences;
mod logs;
mod many_cpus;
mod mutants;
mod papers;
mod predictions;
mod tutorial;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}
