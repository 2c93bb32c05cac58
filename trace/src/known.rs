//! Formats that are known and not read: each is named, with what to do.

use crate::error::{ErrorKind, TraceError};

/// A beginning of files, what they are, and advice.
type Known = (&'static [u8], &'static str, &'static str);

const DIRECTORY: &str =
    "give the directory that it is in, or an archive of it: tar -czf TRACE.tar.gz DIRECTORY";

const BY_START: &[Known] = &[
    (b"\xfd7zXZ\0", "this is compressed with xz", "unpack it first: unxz"),
    (b"BZh", "this is compressed with bzip2", "unpack it first: bunzip2"),
    (b"\x04\x22\x4d\x18", "this is compressed with lz4", "unpack it first: unlz4"),
    (b"PK\x03\x04", "this is a zip archive", "unpack it first: unzip"),
    (b"\xc1\x1f\xfc\xc1", "this is one stream of a CTF trace (LTTng, barectf)", DIRECTORY),
    (b"\x75\xd1\x1d\x57", "this is the description of a CTF trace (LTTng)", DIRECTORY),
    (b"/* CTF 1", "this is the description of a CTF trace (LTTng)", DIRECTORY),
    (
        b"SIMPLEPERF",
        "this is a recording of simpleperf",
        "samples say nothing about switches: record with Perfetto",
    ),
    (
        b"\x10\x00\x04FxT\x16\x00",
        "this is a trace of Fuchsia",
        "its kernel is not Linux: there is nothing to compare with",
    ),
    (b"SQLite format 3\0", "this is a database", "give the recording from which it was made"),
    (b"PAR1", "this is a Parquet table", "give the recording from which it was made"),
    (
        b"TRACE:\n\x78",
        "this is packed output of atrace",
        "record without -z, or save a page: systrace -o FILE.html",
    ),
    (b"{\"traceEvents\"", CHROME.0, CHROME.1),
    (b"{\"displayTimeUnit\"", CHROME.0, CHROME.1),
    (b"[{", CHROME.0, CHROME.1),
    (b"[\n{", CHROME.0, CHROME.1),
];

const CHROME: (&str, &str) = (
    "this is a trace in Chrome's JSON, which has no wake-ups and no states",
    "give the recording from which it was made",
);

/// An error if a file with this beginning is not text.
pub(crate) fn refuse(start: &[u8]) -> Result<(), TraceError> {
    let unsupported =
        |what: &str, advice: &str| Err(TraceError::new(ErrorKind::Unsupported, what).advise(advice));
    if let Some((_, what, advice)) = BY_START.iter().find(|(magic, ..)| start.starts_with(magic)) {
        return unsupported(what, advice);
    }
    let is_utf16 = start.starts_with(b"\xff\xfe") || start.starts_with(b"\xfe\xff");
    if is_utf16 {
        return unsupported("this is text in UTF-16", "make it UTF-8: iconv -f UTF-16 -t UTF-8");
    }
    if memchr::memchr(0, &start[..start.len().min(512)]).is_some() {
        return Err(TraceError::new(ErrorKind::Foreign, "this is not a trace: a binary file of an unknown kind")
            .advise("give a perf.data of perf sched record, a trace.dat, the text of perf script, or a Perfetto trace"));
    }
    Ok(())
}
