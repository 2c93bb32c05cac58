//! The files of a recording that is more than one: those of a directory, or of a tar archive.

use crate::error::{ErrorKind, Place, TraceError};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A recording has a few files for each CPU.
const MOST_FILES: usize = 1 << 16;
/// Directories in directories.
const MOST_DEPTH: usize = 4;
/// Most bytes of what stands before a file with a long name.
const MOST_NAME_BYTES: u64 = 1 << 16;
/// The place of a tar archive's magic word.
const TAR_AT: usize = 257;

/// Whether a file with this beginning is a tar archive.
pub(crate) fn is_archive(start: &[u8]) -> bool {
    start.get(TAR_AT..TAR_AT + 5) == Some(b"ustar")
}

/// The path in an extended header: lines such as `30 path=session/kernel/metadata`, with their own length in front.
fn pax_path(content: &[u8]) -> Option<Vec<u8>> {
    let mut lines = content.split(|byte| *byte == b'\n');
    lines.find_map(|line| {
        let at = memchr::memchr(b' ', line)?;
        line[at + 1..].strip_prefix(b"path=").map(<[u8]>::to_vec)
    })
}

/// Files by their names, which have `/` between directories.
#[derive(Debug, Default)]
pub(crate) struct Folder {
    files: BTreeMap<String, Source>,
}

#[derive(Debug)]
enum Source {
    Path(PathBuf),
    /// A part of an archive.
    Within {
        archive: Arc<File>,
        offset: u64,
        size: u64,
    },
}

impl Folder {
    /// The files of a directory.
    pub fn of_directory(path: &Path) -> Result<Folder, TraceError> {
        let mut folder = Folder::default();
        folder.walk(path, "", MOST_DEPTH)?;
        Ok(folder)
    }

    fn walk(&mut self, path: &Path, prefix: &str, depth: usize) -> Result<(), TraceError> {
        for entry in std::fs::read_dir(path)? {
            let entry = entry?;
            let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
            if entry.file_type()?.is_dir() {
                if depth > 0 {
                    self.walk(&entry.path(), &format!("{name}/"), depth - 1)?;
                }
            } else if entry.path().is_file() {
                self.add(name, Source::Path(entry.path()))?;
            }
        }
        Ok(())
    }

    /// The files of a tar archive. They stay where they are in it.
    pub fn of_archive(mut archive: File) -> Result<Folder, TraceError> {
        let size = archive.seek(SeekFrom::End(0))?;
        archive.seek(SeekFrom::Start(0))?;
        let archive = Arc::new(archive);
        let mut folder = Folder::default();
        let mut reader = tar::Archive::new(&*archive);
        let (mut end, mut long_name) = (0, None);
        // Raw entries: a long name is an entry of its own, which could be as long as the archive.
        for entry in reader.entries_with_seek()?.raw(true) {
            let before = end;
            let damaged = |error: io::Error| {
                TraceError::new(ErrorKind::Malformed, format!("the archive is damaged: {error}"))
                    .at(Place::Offset(before))
                    .advise("copy it again, or give the directory of which it was made")
            };
            let mut entry = entry.map_err(damaged)?;
            let (offset, length) = (entry.raw_file_position(), entry.header().entry_size().map_err(damaged)?);
            end = offset;
            let kind = entry.header().entry_type();
            if kind.is_gnu_longname() || kind.is_pax_local_extensions() {
                let mut content = Vec::new();
                (&mut entry).take(MOST_NAME_BYTES).read_to_end(&mut content).map_err(damaged)?;
                long_name = if kind.is_gnu_longname() { Some(content) } else { pax_path(&content) };
                continue;
            }
            let path = long_name.take().unwrap_or_else(|| entry.path_bytes().into_owned());
            if !kind.is_file() {
                continue;
            }
            let path = String::from_utf8_lossy(&path).into_owned();
            let path = path.trim_end_matches('\0');
            let name = path.strip_prefix("./").unwrap_or(path).to_owned();
            let left = size.saturating_sub(offset); // less than its length in an archive that is cut
            folder.add(name, Source::Within { archive: archive.clone(), offset, size: length.min(left) })?;
        }
        Ok(folder)
    }

    fn add(&mut self, name: String, source: Source) -> Result<(), TraceError> {
        if self.files.len() == MOST_FILES {
            return Err(TraceError::new(ErrorKind::TooLarge, format!("more than {MOST_FILES} files")));
        }
        self.files.insert(name, source);
        Ok(())
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.files.keys().map(String::as_str)
    }

    /// A file of that name.
    pub fn open(&self, name: &str) -> Result<Part, TraceError> {
        let source = self.files.get(name).ok_or_else(|| {
            TraceError::new(
                ErrorKind::Malformed,
                format!("the recording has no file {}", name.escape_debug()),
            )
        })?;
        let name = name.to_owned();
        match source {
            Source::Path(path) => {
                let file = File::open(path).map_err(|error| TraceError::from(error).in_file(&name))?;
                let size = file.metadata()?.len();
                Ok(Part { name, file: Arc::new(file), offset: 0, size })
            }
            Source::Within { archive, offset, size } => {
                Ok(Part { name, file: archive.clone(), offset: *offset, size: *size })
            }
        }
    }

    /// The whole content of a small file.
    pub fn content(&self, name: &str, most: u64) -> Result<Vec<u8>, TraceError> {
        let part = self.open(name)?;
        if part.len() > most {
            let what = format!("{} has more than {most} bytes", name.escape_debug());
            return Err(TraceError::new(ErrorKind::TooLarge, what));
        }
        let mut content = Vec::new();
        part.read_at(0, most, &mut content)?;
        Ok(content)
    }
}

/// One file, which may be a part of another.
#[derive(Debug)]
pub(crate) struct Part {
    name: String,
    file: Arc<File>,
    offset: u64,
    size: u64,
}

impl Part {
    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn len(&self) -> u64 {
        self.size
    }

    /// Reads up to `most` bytes from `at` on, fewer at the end. What was in `buffer` goes.
    pub fn read_at(&self, at: u64, most: u64, buffer: &mut Vec<u8>) -> Result<(), TraceError> {
        let wanted = most.min(self.size.saturating_sub(at)) as usize;
        buffer.resize(wanted, 0);
        let mut got = 0;
        while got < wanted {
            match self.file.read_at(&mut buffer[got..], self.offset + at + got as u64) {
                Ok(0) => break,
                Ok(count) => got += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(TraceError::from(error).in_file(&self.name)),
            }
        }
        buffer.truncate(got);
        Ok(())
    }
}

/// Files one behind the other, as if they were one.
pub(crate) struct Chain {
    parts: Vec<Part>,
    at: u64,
}

impl Chain {
    pub fn new(parts: Vec<Part>) -> Chain {
        Chain { parts, at: 0 }
    }
}

impl Read for Chain {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut start = 0;
        for part in &self.parts {
            let within = self.at.wrapping_sub(start);
            if self.at >= start && within < part.size {
                let most = buffer.len().min(usize::try_from(part.size - within).unwrap_or(usize::MAX));
                let got = part.file.read_at(&mut buffer[..most], part.offset + within)?;
                self.at += got as u64;
                return Ok(got);
            }
            start += part.size;
        }
        Ok(0)
    }
}

impl Seek for Chain {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let size: u64 = self.parts.iter().map(|part| part.size).sum();
        let at = match to {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::End(by) => size.checked_add_signed(by),
            SeekFrom::Current(by) => self.at.checked_add_signed(by),
        };
        self.at = at.ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
        Ok(self.at)
    }
}
