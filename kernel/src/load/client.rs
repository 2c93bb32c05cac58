//! The client's side of the socket: sends a request to the loaded scheduler, or reads its statistics.

use std::io::{self, Read as _};
use std::net::Shutdown;
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::error::Missing;
use super::look::{self, Look};
use super::protocol::{Reply, Request};
use super::socket::{LONGEST_LINE, path, take_line, write_line};
use super::sys::Signals;
use super::wait::Woken;
use divvy_policy::{Failure, FailureKind};

/// How long the whole answer may take. Under a policy that lets the client wait, reading it takes long as well.
pub(super) const ANSWER: Duration = Duration::from_secs(10);

/// Why a command did not reach a scheduler.
#[derive(Debug, thiserror::Error)]
pub enum AskError {
    /// No scheduler is loaded, or the client has no permission.
    #[error(transparent)]
    Missing(#[from] Missing),
    /// The connection broke.
    #[error("the scheduler at {} does not answer", .0.display())]
    Silent(PathBuf, #[source] io::Error),
}

/// Asks the loaded scheduler.
///
/// # Errors
/// When no scheduler is loaded, it does not answer, or the client has no permission.
pub fn ask(request: &Request) -> Result<Reply, AskError> {
    ask_at(&path(), request)
}

pub(super) fn ask_at(path: &Path, request: &Request) -> Result<Reply, AskError> {
    let stream = connect(path)?;
    first_line(path, &stream, &mut Lines::new(&stream, ANSWER), request)
}

/// How long it may take until another policy schedules; as long as systemd waits for the unit.
const REPLACEMENT: Duration = Duration::from_secs(600);

/// Asks the loaded scheduler to put another policy in its place, and waits until that one schedules. The words are SPEC and options. A
/// signal takes the request back, if it is not too late; what became of it is in the reply. Also returns whether a signal came.
/// Errors are those of [`ask`]; if the scheduler ends instead, it does not answer.
pub fn replace(words: Vec<String>, signals: &mut Signals) -> (Result<Reply, AskError>, bool) {
    let mut signalled = false;
    (replace_at(&path(), words, signals, &mut signalled), signalled)
}

fn replace_at(
    path: &Path,
    words: Vec<String>,
    signals: &mut Signals,
    signalled: &mut bool,
) -> Result<Reply, AskError> {
    let mut stream = connect(path)?;
    let silent = |error: io::Error| silent(path, error);
    let version = env!("CARGO_PKG_VERSION").to_owned();
    write_line(&mut stream, &Request::Replace { words, version }).map_err(silent)?;
    let mut until = Instant::now() + REPLACEMENT;
    loop {
        match signals.wait(Some(stream.as_fd()), until).map_err(silent)? {
            Woken::Input => break,
            Woken::Time => return Err(silent(io::ErrorKind::TimedOut.into())),
            Woken::Signal if *signalled => {}
            Woken::Signal => {
                *signalled = true;
                stream.shutdown(Shutdown::Write).map_err(silent)?;
                until = until.min(Instant::now() + ANSWER);
            }
        }
    }
    reply(path, &Lines::new(&stream, ANSWER).read().map_err(silent)?)
}

/// Reads the statistics of the loaded scheduler.
///
/// # Errors
/// The same as for [`ask`].
pub fn look() -> Result<Look, AskError> {
    look_at(&path())
}

/// A loader that ends closes the connection before it answers. A second try then finds that nobody listens, and that is
/// the better error.
pub(super) fn look_at(path: &Path) -> Result<Look, AskError> {
    match look_once(path) {
        Err(AskError::Silent(_, error)) if has_hung_up(&error) => look_once(path),
        seen => seen,
    }
}

fn has_hung_up(error: &io::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionReset, UnexpectedEof};
    matches!(error.kind(), BrokenPipe | ConnectionReset | UnexpectedEof)
}

fn look_once(path: &Path) -> Result<Look, AskError> {
    let stream = connect(path)?;
    let mut lines = Lines::new(&stream, ANSWER);
    let wrong = |problem: String| silent(path, io::Error::new(io::ErrorKind::InvalidData, problem));
    match first_line(path, &stream, &mut lines, &Request::Look)? {
        Reply::Look(head) => look::read(*head, || lines.read()).map_err(|error| silent(path, error)),
        Reply::Bad { problem } => {
            Err(wrong(format!("the scheduler was loaded by another version of divvy ({problem})")))
        }
        Reply::Failed { problem } => Err(wrong(problem)),
        _ => Err(wrong("the answer does not fit the request".to_owned())),
    }
}

fn silent(path: &Path, error: io::Error) -> AskError {
    AskError::Silent(path.to_owned(), error)
}

fn connect(path: &Path) -> Result<UnixStream, AskError> {
    UnixStream::connect(path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => AskError::from(not_loaded(path)),
        io::ErrorKind::PermissionDenied => AskError::from(denied(path)),
        _ => silent(path, error),
    })
}

fn first_line(
    path: &Path,
    mut stream: &UnixStream,
    lines: &mut Lines<'_>,
    request: &Request,
) -> Result<Reply, AskError> {
    let silent = |error| silent(path, error);
    write_line(&mut stream, request).map_err(silent)?;
    reply(path, &lines.read().map_err(silent)?)
}

fn reply(path: &Path, line: &str) -> Result<Reply, AskError> {
    match serde_json::from_str(line) {
        Ok(Reply::Denied) => Err(denied(path).into()),
        Ok(Reply::Forbidden { problem }) => Err(forbidden(problem).into()),
        Ok(reply) => Ok(reply),
        Err(error) => Err(silent(path, io::Error::new(io::ErrorKind::InvalidData, error))),
    }
}

fn not_loaded(path: &Path) -> Missing {
    Missing::new(
        format!("no scheduler of divvy is loaded: nobody listens at {}", path.display()),
        "load one first, as in: sudo divvy load gr3",
    )
}

fn denied(path: &Path) -> Missing {
    Missing::new(
        format!("no permission to command the scheduler at {}", path.display()),
        "run it as root, or load the scheduler with --group and a group of yours",
    )
}

fn forbidden(problem: String) -> Missing {
    Missing::new(problem, "run it as root, or load the scheduler with --group-may all")
}

/// Reads lines; all of them until a deadline.
pub(super) struct Lines<'a> {
    stream: &'a UnixStream,
    deadline: Instant,
    /// Bytes of the next lines.
    read: Vec<u8>,
}

impl<'a> Lines<'a> {
    pub fn new(stream: &'a UnixStream, timeout: Duration) -> Self {
        Self { stream, deadline: Instant::now() + timeout, read: Vec::new() }
    }

    /// The next line, without its end.
    pub fn read(&mut self) -> io::Result<String> {
        let mut looked = 0;
        loop {
            if let Some(line) = take_line(&mut self.read, looked)? {
                return Ok(line);
            }
            looked = self.read.len();
            self.read_more()?;
        }
    }

    fn read_more(&mut self) -> io::Result<()> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        self.stream.set_read_timeout(Some(left))?;
        let mut piece = [0; LONGEST_LINE];
        match self.stream.read(&mut piece) {
            Ok(0) => Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(size) => {
                self.read.extend(&piece[..size]);
                Ok(())
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Err(io::ErrorKind::TimedOut.into()),
            Err(error) => Err(error),
        }
    }
}

impl Failure for AskError {
    fn kind(&self) -> FailureKind {
        match self {
            AskError::Missing(_) => FailureKind::Missing,
            AskError::Silent(..) => FailureKind::Failed,
        }
    }
}
