//! What the modifier flow learned of programs, kept between runs in an embedded database.

mod store;

use serde::{Deserialize, Serialize};

pub use store::{Store, StoreError};

/// Where it is kept unless somebody says otherwise.
pub const DEFAULT_DB: &str = "/var/lib/divvy/flow.redb";

/// Executions whose accuracy is kept.
const MOST_EXECUTIONS: usize = 32;

/// What is known of a program.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Program {
    /// Its command line, as far as there was room.
    pub name: String,
    /// Each run with the wait after it, in ns.
    pub sequence: Vec<(u64, u64)>,
    /// Executions that ended.
    pub executions: u64,
    /// All predictions.
    pub predictions: Predictions,
    /// Those of the latest executions that were predicted, the latest last; of several that ended between two looks at
    /// the kernel, the last.
    pub latest: Vec<Predictions>,
    /// Times that a timeslice's end was put off.
    pub delays: u64,
    /// Times that the CPU then was released before the delay was over.
    pub delays_met: u64,
    /// When it was last stored, in s since 1970.
    pub stored_s: u64,
}

/// How far predictions were from what they predicted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Predictions {
    /// That were predicted.
    pub runs: u64,
    /// What these runs used.
    pub actual_ns: u64,
    /// The differences from what was predicted, each counted as positive.
    pub error_ns: u64,
}

impl Predictions {
    /// The error as a share of what was used; none where nothing was predicted.
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

/// What a loaded scheduler knows of a program, since it was loaded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// Its command line; empty if it was not executed since.
    pub name: String,
    /// As in [`Program`].
    pub sequence: Vec<(u64, u64)>,
    /// As in [`Program`].
    pub executions: u64,
    /// As in [`Program`].
    pub predictions: Predictions,
    /// Those of the execution that ended last.
    pub last: Predictions,
    /// As in [`Program`].
    pub delays: u64,
    /// As in [`Program`].
    pub delays_met: u64,
}

impl Program {
    /// Adds what was seen since `before`, of the same scheduler.
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

/// A command line from its bytes: arguments, each with a zero behind it. What is not text is shown as such.
#[must_use]
pub fn command_line(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let words = text.trim_end_matches('\0').split('\0');
    let words: Vec<String> = words.map(|word| word.chars().map(visible).collect()).collect();
    words.join(" ")
}

fn visible(c: char) -> char {
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
