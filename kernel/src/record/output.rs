//! The file or stream that a recording is written to.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt as _, OpenOptionsExt as _, fchown};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use divvy_trace::{Machine, PerfWriter};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::Errno;

use super::error::RecordError;

/// The variables in which sudo says for whom it runs.
const SUDO: [&str; 2] = ["SUDO_UID", "SUDO_GID"];
/// A pipe that is not full has room for a page, so a write of no more does not wait.
const PIECE: usize = 4096;
/// After a signal a reader has this time to take the next piece.
const PATIENCE: Duration = Duration::from_secs(1);
/// The time between two looks for somebody who reads a named pipe.
const LOOK: Duration = Duration::from_millis(50);

/// A file, or a stream. Nothing is written before it is begun.
pub struct Sink {
    to: File,
    /// Bytes from before the begin.
    held: Option<Vec<u8>>,
    /// A file that was not there before.
    new: Option<PathBuf>,
    /// A stream's writer waits for its reader, so it looks for signals there.
    stream: Option<Waiting>,
}

struct Waiting {
    signals: OwnedFd,
    /// A signal was seen, and no byte was taken since.
    asked: Option<Instant>,
    gave_up: bool,
}

impl Sink {
    /// From here on it writes. What was in a file is gone.
    pub fn begin(&mut self) -> io::Result<()> {
        let Some(held) = self.held.take() else { return Ok(()) };
        if self.stream.is_none() {
            self.to.set_len(0)?;
        }
        self.write_all(&held)
    }

    /// Nothing will be written: a file is as it was.
    pub fn discard(&mut self) {
        if let Some(path) = self.new.take() {
            let _ = fs::remove_file(path);
        }
    }
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if let Some(held) = &mut self.held {
            held.extend_from_slice(bytes);
            return Ok(bytes.len());
        }
        let Some(waiting) = &mut self.stream else { return self.to.write(bytes) };
        waiting.wait_for_reader(&self.to)?;
        let written = self.to.write(&bytes[..bytes.len().min(PIECE)])?;
        waiting.asked = None;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

impl Seek for Sink {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        if self.stream.is_some() { Err(io::ErrorKind::NotSeekable.into()) } else { self.to.seek(to) }
    }
}

impl Waiting {
    /// Returns when a piece can be written, or the reader is gone, or took nothing for too long after a signal.
    fn wait_for_reader(&mut self, to: &File) -> io::Result<()> {
        loop {
            if self.gave_up {
                return Err(nobody_reads());
            }
            let left = self.asked.map(|at| PATIENCE.saturating_sub(at.elapsed()));
            let mut fds = vec![PollFd::new(to, PollFlags::OUT)];
            if left.is_none() {
                fds.push(PollFd::new(&self.signals, PollFlags::IN));
            }
            let timeout = left.map(timespec);
            let ready = match poll(&mut fds, timeout.as_ref()) {
                Err(Errno::INTR) => continue,
                ready => ready?,
            };
            let (can_write, is_asked) =
                (!fds[0].revents().is_empty(), fds.get(1).is_some_and(|fd| !fd.revents().is_empty()));
            if can_write {
                return Ok(());
            }
            if is_asked {
                self.asked = Some(Instant::now());
            }
            self.gave_up = ready == 0;
        }
    }
}

fn timespec(time: Duration) -> Timespec {
    Timespec { tv_sec: time.as_secs().cast_signed(), tv_nsec: time.subsec_nanos().into() }
}

fn nobody_reads() -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, "nobody reads it, and a signal came")
}

/// Opens the recording's file; a stream if it is stdout, or something that has no places, as a named pipe.
pub fn open(path: &Path, machine: &Machine, signals: &impl AsFd) -> Result<PerfWriter<Sink>, RecordError> {
    let failed = |error| RecordError::Io(format!("cannot write {}", path.display()), error);
    let (to, new) = if path == Path::new("-") {
        (io::stdout().as_fd().try_clone_to_owned().map(File::from).map_err(failed)?, None)
    } else {
        let (file, is_new) = create(path, signals).map_err(failed)?;
        (file, is_new.then(|| path.to_owned()))
    };
    let is_file = path != Path::new("-") && to.metadata().is_ok_and(|known| known.is_file());
    let signals = signals.as_fd().try_clone_to_owned().map_err(failed)?;
    let stream = (!is_file).then_some(Waiting { signals, asked: None, gave_up: false });
    let sink = Sink { to, held: Some(Vec::new()), new, stream };
    if is_file { PerfWriter::file(sink, machine) } else { PerfWriter::stream(sink, machine) }.map_err(failed)
}

/// A new file belongs to who called sudo. One that was there keeps its owner: it may be anybody's.
fn create(path: &Path, signals: &impl AsFd) -> io::Result<(File, bool)> {
    match OpenOptions::new().write(true).create_new(true).open(path) {
        Ok(file) => {
            if let [Some(user), Some(group)] = SUDO.map(id) {
                // The recording is worth more than its owner.
                let _ = fchown(&file, Some(user), Some(group));
            }
            Ok((file, true))
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            let is_pipe = fs::metadata(path).is_ok_and(|known| known.file_type().is_fifo());
            let file =
                if is_pipe { pipe(path, signals)? } else { OpenOptions::new().write(true).open(path)? };
            Ok((file, false))
        }
        Err(error) => Err(error),
    }
}

/// Opens a named pipe as soon as somebody reads it. A plain open would not see signals meanwhile.
fn pipe(path: &Path, signals: &impl AsFd) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).custom_flags(OFlags::NONBLOCK.bits().cast_signed());
    loop {
        match options.open(path) {
            Ok(file) => {
                fcntl_setfl(&file, fcntl_getfl(&file)? - OFlags::NONBLOCK)?;
                return Ok(file);
            }
            Err(error) if error.raw_os_error() == Some(Errno::NXIO.raw_os_error()) => {}
            Err(error) => return Err(error),
        }
        let mut fds = [PollFd::new(signals, PollFlags::IN)];
        if !matches!(poll(&mut fds, Some(&timespec(LOOK))), Ok(0) | Err(Errno::INTR)) {
            return Err(nobody_reads());
        }
    }
}

fn id(variable: &str) -> Option<u32> {
    std::env::var(variable).ok()?.parse().ok()
}
