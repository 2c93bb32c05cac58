//! Small files that people write: policies, answers.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

/// Reads a plain file of at most so many bytes as text. A longer one is an error that ends in `too_long`, as in `64 KiB; answers are some
/// lines`. A pipe is not opened, because that could wait without end.
///
/// # Errors
/// If it is none, or cannot be read.
pub fn read(path: &Path, most_bytes: u64, too_long: &str) -> io::Result<String> {
    if !std::fs::metadata(path)?.is_file() {
        return Err(io::Error::other("it is not a plain file"));
    }
    let mut bytes = Vec::new();
    File::open(path)?.take(most_bytes + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most_bytes {
        return Err(io::Error::other(format!("it has more than {too_long}")));
    }
    String::from_utf8(bytes).map_err(|_| io::Error::other("it is not text in UTF-8"))
}
