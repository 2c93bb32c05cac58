//! Where a loaded scheduler takes commands: a line of JSON each, answered by one.

use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use std::{env, fs};

use rustix::fs::Mode;
use rustix::process::{geteuid, umask};

use super::commands::{Reply, Request};
use super::error::Missing;

/// Where it is if $DIVVY_SOCKET does not say.
const PATH: &str = "/run/divvy.sock";
/// Of a request or an answer.
const LONGEST_LINE: usize = 4096;
/// A client that takes longer than this for its line is not waited for: the log is to be drained as well.
const PATIENCE: Duration = Duration::from_millis(100);
/// Until the scheduler answers.
const ANSWER: Duration = Duration::from_secs(5);
/// Clients that are answered before anything else is looked at.
const AT_ONCE: usize = 16;

fn path() -> PathBuf {
    env::var_os("DIVVY_SOCKET").filter(|path| !path.is_empty()).map_or_else(|| PATH.into(), PathBuf::from)
}

/// Listens, until it is dropped.
#[derive(Debug)]
pub(super) struct Server {
    listener: UnixListener,
    path: PathBuf,
    has_group: bool,
}

impl Server {
    /// For root, and for the members of a group if it is given.
    pub fn listen(group: Option<u32>) -> io::Result<Self> {
        Self::listen_at(path(), group)
    }

    fn listen_at(path: PathBuf, group: Option<u32>) -> io::Result<Self> {
        remove_stale(&path)?;
        let before = umask(Mode::from_raw_mode(0o177));
        let listener = UnixListener::bind(&path);
        umask(before);
        let server = Self { listener: listener?, path, has_group: group.is_some() };
        if let Some(group) = group {
            chown(&server.path, None, Some(group))?;
            fs::set_permissions(&server.path, fs::Permissions::from_mode(0o660))?;
        }
        server.listener.set_nonblocking(true)?;
        Ok(server)
    }

    /// Answers who waits. What a client does wrong is the client's.
    pub fn serve(&self, mut answer: impl FnMut(&str) -> Reply) {
        for _ in 0..AT_ONCE {
            let Ok((mut stream, _)) = self.listener.accept() else { return };
            let reply = match read_line(&mut stream, PATIENCE) {
                _ if !self.may(&stream) => Reply::Denied,
                Ok(line) => answer(&line),
                Err(error) => Reply::Bad { problem: format!("no request came: {error}") },
            };
            let _ = stream.set_write_timeout(Some(PATIENCE)).and_then(|()| write_line(&mut stream, &reply));
        }
    }

    /// The socket's mode lets in who may; this holds where somebody changed it, or passed a connection on.
    fn may(&self, stream: &UnixStream) -> bool {
        let Ok(peer) = rustix::net::sockopt::socket_peercred(stream) else { return false };
        peer.uid.is_root() || peer.uid == geteuid() || self.has_group
    }
}

impl AsFd for Server {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.listener.as_fd()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// What a loader that was killed left behind; but not what somebody listens at, nor what is no socket.
fn remove_stale(path: &Path) -> io::Result<()> {
    match UnixStream::connect(path) {
        Ok(_) => Err(io::Error::new(io::ErrorKind::AddrInUse, "another divvy listens there")),
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused && is_socket(path) => {
            fs::remove_file(path)
        }
        Err(_) => Ok(()),
    }
}

fn is_socket(path: &Path) -> bool {
    use std::os::unix::fs::FileTypeExt as _;
    fs::symlink_metadata(path).is_ok_and(|file| file.file_type().is_socket())
}

/// The number of a group of /etc/group, or the number itself.
pub(super) fn group_id(name: &str) -> Result<u32, Missing> {
    if let Ok(number) = name.parse() {
        return Ok(number);
    }
    let groups = fs::read_to_string("/etc/group").unwrap_or_default();
    find_group(&groups, name).ok_or_else(|| {
        Missing::new(
            format!("there is no group `{}` in /etc/group", name.escape_debug()),
            "make it with groupadd, or give a group's number",
        )
    })
}

fn find_group(groups: &str, name: &str) -> Option<u32> {
    let mut rows = groups.lines().map(|line| line.split(':'));
    rows.find_map(|mut row| if row.next() == Some(name) { row.nth(1)?.parse().ok() } else { None })
}

/// Why a command did not reach a scheduler.
#[derive(Debug, thiserror::Error)]
pub enum AskError {
    /// There is none, or who asks may not.
    #[error(transparent)]
    Missing(#[from] Missing),
    /// The connection broke.
    #[error("the scheduler at {} does not answer", .0.display())]
    Silent(PathBuf, #[source] io::Error),
}

/// Asks the loaded scheduler.
///
/// # Errors
/// When there is none, it does not answer, or who asks may not.
pub fn ask(request: &Request) -> Result<Reply, AskError> {
    ask_at(&path(), request)
}

fn ask_at(path: &Path, request: &Request) -> Result<Reply, AskError> {
    let silent = |error: io::Error| AskError::Silent(path.to_owned(), error);
    let mut stream = UnixStream::connect(path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => AskError::from(not_loaded(path)),
        io::ErrorKind::PermissionDenied => AskError::from(denied(path)),
        _ => silent(error),
    })?;
    write_line(&mut stream, request).map_err(silent)?;
    let line = read_line(&mut stream, ANSWER).map_err(silent)?;
    match serde_json::from_str(&line) {
        Ok(Reply::Denied) => Err(denied(path).into()),
        Ok(reply) => Ok(reply),
        Err(error) => Err(silent(io::Error::new(io::ErrorKind::InvalidData, error))),
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

fn write_line(stream: &mut UnixStream, message: &impl serde::Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    stream.write_all(&line)
}

/// A line, without its end; the whole of it within that time.
fn read_line(stream: &mut UnixStream, patience: Duration) -> io::Result<String> {
    let deadline = Instant::now() + patience;
    let mut line = Vec::new();
    let mut piece = [0; 512];
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        stream.set_read_timeout(Some(left))?;
        let size = match stream.read(&mut piece) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                return Err(io::ErrorKind::TimedOut.into());
            }
            size => size?,
        };
        line.extend(&piece[..size]);
        if let Some(end) = line.iter().position(|byte| *byte == b'\n') {
            line.truncate(end);
            return String::from_utf8(line)
                .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "not UTF-8"));
        }
        if size == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        if line.len() > LONGEST_LINE {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "the line is too long"));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt as _;
    use std::thread;

    use divvy_sim::{policy, spec};

    use super::*;
    use crate::load::commands::answer;
    use crate::load::commands::tests::Fake;

    fn temporary(name: &str) -> PathBuf {
        env::temp_dir().join(format!("divvy-test-{}-{name}", std::process::id()))
    }

    /// Asks a server with a fake backend, and stops when that many were served.
    fn with_server<T: Send>(name: &str, served: usize, client: impl FnOnce(&Path) -> T + Send) -> T {
        let path = temporary(name);
        let server = Server::listen_at(path.clone(), None).expect("a socket");
        let mut spec = spec::parse("pbs", policy::all()).expect("a spec");
        let backend = Fake::default();
        thread::scope(|scope| {
            let client = scope.spawn(|| client(&path));
            let mut count = 0;
            while count < served && !client.is_finished() {
                server.serve(|line| {
                    count += 1;
                    answer(line, &mut spec, &backend)
                });
                thread::sleep(Duration::from_millis(1));
            }
            client.join().expect("the client")
        })
    }

    #[test]
    fn a_request_is_answered() {
        let reply = with_server("answer", 1, |path| ask_at(path, &Request::GetWeight { pid: 7 }));
        assert_eq!(reply.expect("an answer"), Reply::Weight { weight: 1 << 20 });
    }

    #[test]
    fn several_clients_are_answered_in_turn() {
        with_server("several", 20, |path| {
            for _ in 0..20 {
                let request = Request::SetParam { name: "alpha".to_owned(), value: "2".to_owned() };
                assert!(matches!(ask_at(path, &request), Ok(Reply::Param { .. })));
            }
        });
    }

    #[test]
    fn who_sends_nothing_or_too_much_does_not_hold_up_the_others() {
        let reply = with_server("hostile", 1, |path| {
            let _silent = UnixStream::connect(path).expect("connected");
            let mut endless = UnixStream::connect(path).expect("connected");
            let _ = endless.write_all(&vec![b'x'; 100_000]);
            let mut gone = UnixStream::connect(path).expect("connected");
            let _ = gone.write_all(b"{\"comm");
            drop(gone);
            ask_at(path, &Request::GetWeight { pid: 7 })
        });
        assert_eq!(reply.expect("an answer"), Reply::Weight { weight: 1 << 20 });
    }

    #[test]
    fn only_its_owner_may_write_to_the_socket() {
        let path = temporary("mode");
        let server = Server::listen_at(path.clone(), None).expect("a socket");
        assert_eq!(fs::metadata(&path).expect("there").mode() & 0o777, 0o600);
        assert!(Server::listen_at(path.clone(), None).is_err(), "one at a time");
        drop(server);
        assert!(!path.exists());
    }

    #[test]
    fn what_a_killed_loader_left_is_taken_over_but_no_other_file() {
        let path = temporary("stale");
        drop(UnixListener::bind(&path).expect("a socket"));
        drop(Server::listen_at(path.clone(), None).expect("taken over"));
        fs::write(&path, "precious").expect("written");
        assert!(Server::listen_at(path.clone(), None).is_err());
        assert_eq!(fs::read_to_string(&path).expect("still there"), "precious");
        fs::remove_file(&path).expect("removed");
    }

    #[test]
    fn without_a_scheduler_it_says_how_to_load_one() {
        let error = ask_at(&temporary("nobody"), &Request::GetWeight { pid: 7 }).expect_err("nobody");
        assert!(matches!(error, AskError::Missing(missing) if missing.fix.contains("divvy load")));
    }

    #[test]
    fn groups_are_found_by_name_or_number() {
        let groups = "root:x:0:\nusers:x:100:\nsched:x:1001:ann,bob\n";
        assert_eq!(find_group(groups, "sched"), Some(1001));
        assert_eq!(find_group(groups, "sch"), None);
        assert_eq!(group_id("42"), Ok(42));
        assert!(group_id("no such group").is_err());
    }
}
