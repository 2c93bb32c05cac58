//! Knowledge of the modifier flow about programs, kept between runs in an embedded database.

mod store;

use serde::{Deserialize, Serialize};

pub use store::{Store, StoreError};

/// The default file of the database.
pub const DEFAULT_DB: &str = "/var/lib/divvy/flow.redb";

/// The most executions whose accuracy is kept.
const MOST_EXECUTIONS: usize = 32;

/// A program as the database knows it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Program {
    /// Its command line, cut where there was no more room.
    pub name: String,
    /// Each run with the wait after it, in ns.
    pub sequence: Vec<(u64, u64)>,
    /// Executions that ended.
    pub executions: u64,
    /// All predictions.
    pub predictions: Predictions,
    /// The predictions of the latest executions, the latest last. If several executions ended between two looks at the
    /// kernel, only the last of them is here.
    pub latest: Vec<Predictions>,
    /// Times that the end of a slice was delayed.
    pub delays: u64,
    /// Times that the task then released the CPU before the delay was over.
    pub delays_met: u64,
    /// The time when it was last stored, in s since 1970.
    pub stored_s: u64,
}

/// The accuracy of predictions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Predictions {
    /// The number of predicted runs.
    pub runs: u64,
    /// The CPU time of these runs.
    pub actual_ns: u64,
    /// The sum of the absolute differences from the predictions.
    pub error_ns: u64,
}

impl Predictions {
    /// The error as a share of the CPU time; None if nothing was predicted.
    #[must_use]
    pub fn error(&self) -> Option<f64> {
        (self.actual_ns > 0).then(|| self.error_ns as f64 / self.actual_ns as f64)
    }

    fn add(&mut self, other: &Predictions) {
        self.runs += other.runs;
        self.actual_ns += other.actual_ns;
        self.error_ns += other.error_ns;
    }
}

/// A program as a loaded scheduler knows it, since loading.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// Its command line; empty if it was not executed since loading.
    pub name: String,
    /// See [`Program`].
    pub sequence: Vec<(u64, u64)>,
    /// See [`Program`].
    pub executions: u64,
    /// See [`Program`].
    pub predictions: Predictions,
    /// The predictions of the execution that ended last.
    pub last: Predictions,
    /// See [`Program`].
    pub delays: u64,
    /// See [`Program`].
    pub delays_met: u64,
}

impl Program {
    /// Adds the changes since `before`, which is of the same scheduler.
    pub fn update(&mut self, before: &Seen, now: &Seen, at_s: u64) {
        self.name.clone_from(&now.name);
        self.sequence.clone_from(&now.sequence);
        let executions = now.executions.saturating_sub(before.executions);
        self.executions += executions;
        self.predictions.add(&Predictions {
            runs: now.predictions.runs.saturating_sub(before.predictions.runs),
            actual_ns: now.predictions.actual_ns.saturating_sub(before.predictions.actual_ns),
            error_ns: now.predictions.error_ns.saturating_sub(before.predictions.error_ns),
        });
        self.delays += now.delays.saturating_sub(before.delays);
        self.delays_met += now.delays_met.saturating_sub(before.delays_met);
        if executions > 0 && now.last.runs > 0 {
            self.latest.push(now.last);
            let surplus = self.latest.len().saturating_sub(MOST_EXECUTIONS);
            self.latest.drain(..surplus);
        }
        self.stored_s = at_s;
    }
}

/// A command line from its bytes: arguments, each terminated by a zero. Bytes that are not text become U+FFFD.
#[must_use]
pub fn command_line(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let words = text.trim_end_matches('\0').split('\0');
    let words: Vec<String> = words.map(|word| word.chars().map(visible).collect()).collect();
    words.join(" ")
}

/// A character that no terminal obeys, and that ends no line.
pub(crate) fn visible(c: char) -> char {
    if c.is_control() { '\u{fffd}' } else { c }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn predictions(runs: u64, actual_ns: u64, error_ns: u64) -> Predictions {
        Predictions { runs, actual_ns, error_ns }
    }

    #[test]
    fn a_program_adds_what_is_new() {
        let mut program = Program::default();
        let first =
            Seen { name: "gzip x".to_owned(), sequence: vec![(5, 1)], executions: 1, ..Seen::default() };
        program.update(&Seen::default(), &first, 10);
        assert_eq!((program.executions, program.latest.len(), program.stored_s), (1, 0, 10));
        let second = Seen {
            executions: 3,
            predictions: predictions(2, 10, 4),
            last: predictions(1, 5, 1),
            delays: 2,
            delays_met: 1,
            ..first.clone()
        };
        program.update(&first, &second, 20);
        program.update(&second, &second, 30);
        assert_eq!((program.executions, program.delays, program.delays_met), (3, 2, 1));
        assert_eq!(program.predictions, predictions(2, 10, 4));
        assert_eq!(program.latest, [predictions(1, 5, 1)], "once, although it was looked at twice");
        // The scheduler was loaded again: it counts from 0, and so does what was seen before.
        program.update(&Seen::default(), &second, 40);
        assert_eq!((program.executions, program.predictions.runs, program.latest.len()), (6, 4, 2));
    }

    #[test]
    fn command_lines_are_readable() {
        assert_eq!(command_line(b"gcc\0-c\0a b.c\0"), "gcc -c a b.c");
        assert_eq!(command_line(b"x\x1b[2J\xff\0"), "x\u{fffd}[2J\u{fffd}");
        assert_eq!(command_line(b""), "");
    }
}
