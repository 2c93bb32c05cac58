//! The papers' worked examples as workloads in TOML, run by the engine: what a reader of the paper would type.

use divvy_workload::Workload;

use crate::record::{self, Record};

/// A millisecond, in ns.
pub const MS: u64 = 1_000_000;
/// A second, in ns.
pub const S: u64 = 1_000 * MS;

/// A workload from its TOML.
pub fn workload(toml: &str) -> Workload {
    Workload::parse(toml, "example.toml").unwrap_or_else(|e| panic!("{e}"))
}

/// A run in which rows are found by their names.
pub struct Example(pub Record);

/// Runs a workload to its end.
pub fn run(toml: &str, spec: &str) -> Example {
    Example(record::run(&workload(toml), spec, 1))
}

impl Example {
    /// The row of the report that has this name.
    pub fn row(&self, name: &str) -> usize {
        let found = self.0.run.tasks.iter().position(|t| t.name == name);
        found.unwrap_or_else(|| panic!("no row {name}"))
    }

    /// Stretches in which a task was served, in order.
    pub fn slices(&self, name: &str) -> impl Iterator<Item = (u64, u64)> {
        let row = self.row(name);
        self.0.slices.iter().filter(move |s| s.row == row).map(|s| (s.from_ns, s.to_ns))
    }

    /// Service of a task from one moment to another.
    pub fn service(&self, name: &str, from_ns: u64, to_ns: u64) -> u64 {
        self.slices(name).map(|(a, b)| b.min(to_ns).saturating_sub(a.max(from_ns))).sum()
    }

    /// Service of all tasks whose names begin so.
    pub fn service_of_all(&self, prefix: &str) -> u64 {
        let rows = self.0.run.tasks.iter().filter(|t| t.name.starts_with(prefix));
        rows.map(|t| t.service_ns).sum()
    }

    /// When the last task of a process ended.
    pub fn end_of_process(&self, process: &str) -> u64 {
        let ends = self.0.run.tasks.iter().filter(|t| t.process == process).map(|t| t.finished_ns);
        ends.map(|end| end.expect("it ended")).max().expect("a process of this name")
    }
}

/// Those of these policies that exist; the first must.
pub fn present<'a>(names: &'a [&'a str]) -> impl Iterator<Item = &'a str> {
    assert!(divvy_policy::find(names[0]).is_some());
    names.iter().copied().filter(|name| divvy_policy::find(name).is_some())
}
