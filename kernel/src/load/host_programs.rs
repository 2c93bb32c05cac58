//! The structs of `bpf/host.h` about programs, for the modifier flow.

use divvy_policy::spec::Spec;

use super::host::Words;
use crate::flow::{Predictions, Seen, command_line};

/// The modifier that needs programs.
const MODIFIER: &str = "flow";
/// The program of the exec tracepoint; libbpf loads it only on request.
pub const TRACER: &str = "host_exec";
/// `FLOW_LENGTH` of `policy/slice/flow.h`.
pub const LENGTH: usize = 64;

/// True if the spec has the modifier flow.
pub fn knows_programs(spec: &Spec) -> bool {
    spec.modifiers.iter().any(|part| part.name == MODIFIER)
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
pub const PROGRAM_SIZE: usize = 16 + 88 + LENGTH * 16;

/// Reads a `struct host_program`. None if there is no such program, or it has no sequence yet.
pub fn seen(bytes: &[u8], name: String) -> Option<Seen> {
    let mut words = Words(bytes.get(8..)?);
    if words.u64() == 0 {
        return None;
    }
    let _identity_and_begun = (words.u64(), words.u64());
    let (actual_ns, error_ns) = (words.u64(), words.u64());
    let (last_actual_ns, last_error_ns) = (words.u64(), words.u64());
    let (runs, last_runs) = (words.u32(), words.u32());
    let (executions, _executing, logger, n) = (words.u32(), words.u32(), words.u32(), words.u32());
    let (_period, delays, met, _earlies) = (words.u32(), words.u32(), words.u32(), words.u32());
    let sequence = (0..(n as usize).min(LENGTH)).map(|_| (words.u64(), words.u64())).collect();
    (logger == 0 && n > 0).then_some(Seen {
        name,
        sequence,
        executions: executions.into(),
        predictions: Predictions { runs: runs.into(), actual_ns, error_ns },
        last: Predictions { runs: last_runs.into(), actual_ns: last_actual_ns, error_ns: last_error_ns },
        delays: delays.into(),
        delays_met: met.into(),
    })
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
