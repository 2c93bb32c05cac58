//! Shared by both ends of the socket: its path, and how lines are written and read.

use std::env;
use std::io;
use std::path::PathBuf;

/// The path of the socket unless $DIVVY_SOCKET is set.
const PATH: &str = "/run/divvy.sock";
/// The most bytes of a request, or of a line of an answer.
pub(super) const LONGEST_LINE: usize = 4096;

pub(super) fn path() -> PathBuf {
    env::var_os("DIVVY_SOCKET").filter(|path| !path.is_empty()).map_or_else(|| PATH.into(), PathBuf::from)
}

pub(super) fn write_line(mut stream: impl io::Write, message: &impl serde::Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    stream.write_all(&line)
}

/// Takes the first line out of the bytes that were read, without its end. The first `looked` bytes have no line end.
pub(super) fn take_line(read: &mut Vec<u8>, looked: usize) -> io::Result<Option<String>> {
    let bad = |problem: &str| io::Error::new(io::ErrorKind::InvalidData, problem.to_owned());
    match read[looked..].iter().position(|byte| *byte == b'\n') {
        Some(end) => {
            let line = read.drain(..=looked + end).take(looked + end).collect();
            String::from_utf8(line).map(Some).map_err(|_| bad("not UTF-8"))
        }
        None if read.len() > LONGEST_LINE => Err(bad("the line is too long")),
        None => Ok(None),
    }
}
