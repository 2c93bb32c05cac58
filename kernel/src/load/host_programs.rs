//! The structs of `bpf/host.h` about programs, for the modifier flow.

use super::host::Words;
use crate::flow::{Predictions, Seen, command_line};

/// The programs of the exec tracepoint, for the modifier flow and for rules; libbpf loads them only on request.
pub const TRACER: &str = "host_exec";
pub const RULE_TRACER: &str = "host_exec_rule";
/// `HOST_ENTRIES` of `bpf/host.h`: entries of a sequence in one answer.
pub const ENTRIES: usize = 64;

/// `FLOW_CHUNK` of `policy/slice/flow/state.h`: programs get entries in chunks of this size.
const CHUNK: usize = 16;
/// All but the first of `FLOW_CHUNKS`.
const CHUNKS: usize = 16_383;

/// How many of these sequences, the last of which matters most, the scheduler has room for.
pub fn fitting<'a>(lengths: impl DoubleEndedIterator<Item = &'a usize>) -> usize {
    let mut left = CHUNKS;
    let fits = |length: &&usize| match left.checked_sub(length.div_ceil(CHUNK)) {
        Some(rest) => {
            left = rest;
            true
        }
        None => false,
    };
    lengths.rev().take_while(fits).count()
}

/// The bytes of a `struct host_learn`.
pub fn learn_bytes(identity: u64, at: usize, (run_ns, wait_ns): (u64, u64)) -> [u8; 32] {
    let mut bytes = [0; 32];
    for (index, word) in [identity, run_ns, wait_ns, at as u64].into_iter().enumerate() {
        bytes[index * 8..index * 8 + 8].copy_from_slice(&word.to_ne_bytes());
    }
    bytes
}

/// Bytes of `struct host_program`.
const PROGRAM_SIZE: usize = 24 + 96 + ENTRIES * 16;

/// The bytes of a `struct host_program` that asks for a program's entries from `from` on.
pub fn program_bytes(identity: u64, from: usize) -> [u8; PROGRAM_SIZE] {
    let mut bytes = [0; PROGRAM_SIZE];
    bytes[..8].copy_from_slice(&identity.to_ne_bytes());
    bytes[8..16].copy_from_slice(&(from as u64).to_ne_bytes());
    bytes
}

/// The contents of a `struct host_program`.
pub struct Answer {
    /// All but the name, and with the entries of this answer only.
    pub seen: Seen,
    /// Entries of the whole sequence.
    pub entries: usize,
}

/// Reads a `struct host_program`. None if there is no such program, or it has no sequence yet.
pub fn answer(bytes: &[u8]) -> Option<Answer> {
    let mut words = Words(bytes);
    let (_identity, from, known) = (words.u64(), words.u64(), words.u64());
    if known == 0 {
        return None;
    }
    let _identity_and_begun = (words.u64(), words.u64());
    let (actual_ns, error_ns) = (words.u64(), words.u64());
    let (last_actual_ns, last_error_ns) = (words.u64(), words.u64());
    let (runs, last_runs) = (words.u32(), words.u32());
    let (executions, _executing, logger, n) = (words.u32(), words.u32(), words.u32(), words.u32());
    let (_period, delays, met, _earlies) = (words.u32(), words.u32(), words.u32(), words.u32());
    let _first_and_last_chunk = (words.u32(), words.u32());
    let here = u64::from(n).saturating_sub(from).min(ENTRIES as u64);
    let sequence = (0..here).map(|_| (words.u64(), words.u64())).collect();
    let seen = Seen {
        name: String::new(),
        sequence,
        executions: executions.into(),
        predictions: Predictions { runs: runs.into(), actual_ns, error_ns },
        last: Predictions { runs: last_runs.into(), actual_ns: last_actual_ns, error_ns: last_error_ns },
        delays: delays.into(),
        delays_met: met.into(),
    };
    (logger == 0 && n > 0).then_some(Answer { seen, entries: n as usize })
}

/// Reads the command line in a `struct host_name`.
pub fn name(bytes: &[u8]) -> String {
    let (comm, rest) = bytes.split_at(bytes.len().min(16));
    let mut words = Words(rest);
    let length = words.u32() as usize;
    let args = words.0;
    match command_line(&args[..length.min(args.len())]) {
        line if line.is_empty() => command_line(comm),
        line => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_sequences_fit() {
        assert_eq!(fitting([].iter()), 0);
        assert_eq!(fitting([65_535, 1, 65_535, 65_535, 65_535].iter()), 4);
        assert_eq!(fitting([200, 65_535, 65_535, 65_535, 65_535].iter()), 3);
    }

    /// Bytes as the kernel writes them: 130 entries, of which the third answer has two.
    #[test]
    fn an_answer_is_read() {
        let mut bytes = program_bytes(7, 128);
        assert_eq!(bytes[..16], [7, 0, 0, 0, 0, 0, 0, 0, 128, 0, 0, 0, 0, 0, 0, 0]);
        assert!(answer(&bytes).is_none(), "no such program");
        bytes[16] = 1;
        let executions = 24 + 48 + 8;
        bytes[executions] = 3;
        bytes[executions + 12] = 130;
        bytes[24 + 96] = 5;
        bytes[24 + 96 + 24] = 9;
        let read = answer(&bytes).expect("a program");
        assert_eq!((read.entries, read.seen.executions), (130, 3));
        assert_eq!(read.seen.sequence, [(5, 0), (0, 9)]);
        bytes[executions + 8] = 1;
        assert!(answer(&bytes).is_none(), "it is being logged");
    }
}
