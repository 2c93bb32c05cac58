//! Opens a trace of whatever kind.

use crate::error::{ErrorKind, TraceError};
use crate::folder::is_archive;
use crate::perf_data::file::Header;
use crate::reconstruct::{ReadOptions, reconstruct};
use crate::recording::Recording;
use crate::unpack::{self, Packing};
use crate::{directory, known, perf_data, perf_script, perfetto, trace_dat};
use std::fs::File;
use std::io::{BufRead, BufReader, Cursor, Read};
use std::path::Path;

/// The format of a file, by its first bytes.
enum Format {
    PerfFile,
    PerfPipe,
    Perfetto,
    TraceDat,
    Archive,
    Text,
    Packed(Packing),
}

/// Reads a trace file, or a directory of `perf record --threads`, LTTng or SchedViz, or an archive of one. Its content tells the
/// format, not its name; it may be compressed with gzip or zstd.
///
/// # Errors
/// If the trace cannot be read, has an unknown or damaged format, or exceeds a limit of `options`.
pub fn read(path: &Path, options: &ReadOptions) -> Result<Recording, TraceError> {
    let name = path.display().to_string();
    let open = || -> Result<Recording, TraceError> {
        let file = File::open(path)?;
        if file.metadata()?.is_dir() {
            return directory::read(path, options);
        }
        let mut input = BufReader::with_capacity(1 << 18, file);
        match sniff(&mut input)? {
            Format::PerfFile => reconstruct(options, |sink| perf_data::import_file(input, sink)),
            Format::TraceDat => reconstruct(options, |sink| trace_dat::import(input, sink)),
            Format::Archive => directory::archive(input.into_inner(), options),
            format => stream(format, input, options),
        }
    };
    open().map_err(|e| e.in_file(&name))
}

/// Reads a trace from a stream, such as standard input: everything but `perf.data` in its file form. `name` is for errors.
///
/// # Errors
/// If the trace cannot be read, has an unknown or damaged format, or exceeds a limit of `options`.
pub fn read_from(input: impl Read, name: &str, options: &ReadOptions) -> Result<Recording, TraceError> {
    let mut input = BufReader::with_capacity(1 << 18, input);
    sniff(&mut input).and_then(|format| stream(format, input, options)).map_err(|e| e.in_file(name))
}

/// Reads a trace that is in memory. `name` is for errors.
///
/// # Errors
/// If the trace cannot be read, has an unknown or damaged format, or exceeds a limit of `options`.
pub fn read_bytes(bytes: &[u8], name: &str, options: &ReadOptions) -> Result<Recording, TraceError> {
    let read = |format| match format {
        Format::PerfFile => reconstruct(options, |sink| perf_data::import_file(Cursor::new(bytes), sink)),
        Format::TraceDat => reconstruct(options, |sink| trace_dat::import(Cursor::new(bytes), sink)),
        format => stream(format, bytes, options),
    };
    sniff(&mut &*bytes).and_then(read).map_err(|e| e.in_file(name))
}

fn stream(format: Format, input: impl BufRead, options: &ReadOptions) -> Result<Recording, TraceError> {
    let Format::Packed(packing) = format else { return plain(format, input, options) };
    let mut content = packing.unpack(input);
    match sniff(&mut content)? {
        Format::Packed(_) => Err(unpack::packed_twice()),
        Format::PerfFile => {
            let file = unpack::spool(&mut content)?;
            reconstruct(options, |sink| perf_data::import_file(file, sink))
        }
        format => plain(format, content, options),
    }
}

fn plain(format: Format, mut input: impl BufRead, options: &ReadOptions) -> Result<Recording, TraceError> {
    if let Format::Archive = format {
        return directory::archive(unpack::spool(&mut input)?.into_inner(), options);
    }
    reconstruct(options, |sink| match format {
        Format::TraceDat => trace_dat::import(unpack::spool(&mut input)?, sink),
        Format::Perfetto => perfetto::read::import(input, sink),
        Format::PerfFile | Format::PerfPipe => perf_data::import_pipe(input, sink),
        Format::Text | Format::Archive | Format::Packed(_) => perf_script::import(input, sink),
    })
}

/// Tells the format by the first bytes.
fn sniff(input: &mut impl BufRead) -> Result<Format, TraceError> {
    let start = input.fill_buf()?;
    if start.is_empty() {
        return Err(TraceError::new(ErrorKind::Empty, "the file is empty"));
    }
    if start.starts_with(b"PERFILE2") || start.starts_with(b"2ELIFREP") {
        return match Header::sniff(start) {
            Some((_, true)) => Ok(Format::PerfPipe),
            Some((_, false)) => Ok(Format::PerfFile),
            None => Err(perf_data::bytes::truncated("its header", start.len() as u64)),
        };
    }
    if let Some(packing) = Packing::of(start) {
        return Ok(Format::Packed(packing));
    }
    if start.starts_with(trace_dat::MAGIC) {
        return Ok(Format::TraceDat);
    }
    if perfetto::read::is_perfetto(start) {
        return Ok(Format::Perfetto);
    }
    if is_archive(start) {
        return Ok(Format::Archive);
    }
    known::refuse(start)?;
    Ok(Format::Text)
}
