//! The server's side of the socket, where a loaded scheduler takes requests. It never waits for a client: a policy may let
//! a client wait long between connecting and asking.

use std::fs;
use std::io::{self, Read as _};
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use divvy_policy::FailureKind;
use rustix::event::{PollFd, PollFlags};
use rustix::fs::{Mode, fchmod};
use rustix::net::{
    AddressFamily, RecvFlags, SocketAddrUnix, SocketFlags, SocketType, bind, listen, recv, socket_with,
};

use super::commands::Answer;
use super::error::Missing;
use super::peer::{Admission, GroupMay, Rights};
use super::protocol::Reply;
use super::send_queue::SendQueue;
use super::socket::{LONGEST_LINE, make_directory, path, take_line, write_line};

/// How long a client may take to send its line. Nothing waits for it meanwhile.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);
/// The most clients that have not asked yet.
const AT_ONCE: u8 = 64;

/// A server that listens until it is dropped.
#[derive(Debug)]
pub(super) struct Server {
    listener: UnixListener,
    path: PathBuf,
    admission: Admission,
    clients: Vec<Client>,
    send_queue: SendQueue,
    /// A client that asked for another policy, and its words.
    asked: Option<(UnixStream, Vec<String>)>,
}

impl Server {
    /// Serves root, and the members of the group if one is given.
    pub fn listen(group: Option<(u32, GroupMay)>) -> io::Result<Self> {
        let path = path();
        make_directory(&path)?;
        Self::listen_at(path, group)
    }

    fn listen_at(path: PathBuf, group: Option<(u32, GroupMay)>) -> io::Result<Self> {
        remove_stale(&path)?;
        let server = Self {
            listener: bind_private(&path)?,
            path,
            admission: Admission::new(group),
            clients: Vec::new(),
            send_queue: SendQueue::default(),
            asked: None,
        };
        if let Some((group, _)) = group {
            chown(&server.path, None, Some(group))?;
            fs::set_permissions(&server.path, fs::Permissions::from_mode(0o660))?;
        }
        server.listener.set_nonblocking(true)?;
        Ok(server)
    }

    /// Answers all requests that have arrived. A client's mistake is an answer to that client, not an error.
    pub fn serve(&mut self, mut answer: impl FnMut(&str, Rights) -> Answer) {
        self.send_queue.send();
        self.accept();
        for mut client in std::mem::take(&mut self.clients) {
            match client.request() {
                None => self.clients.push(client),
                Some(Ok(line)) => self.reply(client.stream, answer(&line, client.rights)),
                Some(Err(error)) => {
                    let problem = format!("no request came: {error}");
                    self.reply(client.stream, Answer::Reply(Reply::Bad { problem }));
                }
            }
        }
    }

    /// Accepts new clients. If too many have not asked yet, the oldest is disconnected.
    fn accept(&mut self) {
        for _ in 0..AT_ONCE {
            let Ok((stream, _)) = self.listener.accept() else { return };
            if stream.set_nonblocking(true).is_err() {
                continue;
            }
            let Some(rights) = self.admission.rights(&stream) else {
                self.reply(stream, Answer::Reply(Reply::Denied));
                continue;
            };
            if self.clients.len() == usize::from(AT_ONCE) {
                self.clients.remove(0);
            }
            self.clients.push(Client {
                stream,
                rights,
                read: Vec::new(),
                deadline: Instant::now() + REQUEST_TIMEOUT,
            });
        }
    }

    fn reply(&mut self, stream: UnixStream, answer: Answer) {
        let reply = match answer {
            Answer::Look(lines) if !self.send_queue.is_full() => return self.send_queue.push(stream, lines),
            Answer::Look(_) => {
                Reply::Failed { problem: "too many viewers read statistics at once; try again".to_owned() }
            }
            Answer::Replace(words) => return self.ask(stream, words),
            Answer::Reply(reply) => reply,
        };
        self::reply(&stream, &reply);
    }

    /// Keeps a request for another policy. A client that has gone meanwhile delays nobody.
    fn ask(&mut self, client: UnixStream, words: Vec<String>) {
        self.asked.take_if(|(client, _)| withdraw_if_gone(client));
        match &self.asked {
            None => self.asked = Some((client, words)),
            Some(_) => self::reply(&client, &busy()),
        }
    }

    /// Takes the request for another policy, if there is one. Whoever takes it replies.
    pub fn asked(&mut self) -> Option<(UnixStream, Vec<String>)> {
        self.asked.take()
    }

    /// File descriptors to poll.
    pub fn waits(&self) -> impl Iterator<Item = PollFd<'_>> {
        let clients = self.clients.iter().map(|client| PollFd::new(&client.stream, PollFlags::IN));
        let readers = self.send_queue.fds().map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::OUT));
        std::iter::once(PollFd::new(&self.listener, PollFlags::IN)).chain(clients).chain(readers)
    }
}

/// The answer to a request for another policy while one is being loaded.
pub(super) fn busy() -> Reply {
    let problem = "another policy is just being loaded; try again".to_owned();
    Reply::NotReplaced { problem, code: FailureKind::Failed.exit_code() }
}

/// Replies to a client. The socket has room for one line.
pub(super) fn reply(client: &UnixStream, reply: &Reply) {
    let _ = write_line(client, reply);
}

/// Answers a client that took its request back. Returns whether it did.
pub(super) fn withdraw_if_gone(client: &UnixStream) -> bool {
    let gone = !is_connected(client);
    if gone {
        reply(client, &Reply::Withdrawn);
    }
    gone
}

/// Whether the client still waits: one that takes its request back ends its side of the connection.
fn is_connected(client: &UnixStream) -> bool {
    let mut byte = [0; 1];
    match recv(client, &mut byte, RecvFlags::PEEK | RecvFlags::DONTWAIT) {
        Ok((_, length)) => length > 0,
        Err(error) => error == rustix::io::Errno::WOULDBLOCK,
    }
}

/// A client that has connected and not yet asked.
#[derive(Debug)]
struct Client {
    stream: UnixStream,
    rights: Rights,
    read: Vec<u8>,
    deadline: Instant,
}

impl Client {
    /// The request line, once all of it has arrived.
    fn request(&mut self) -> Option<io::Result<String>> {
        let mut piece = [0; LONGEST_LINE];
        match self.stream.read(&mut piece) {
            Ok(0) => return Some(Err(io::ErrorKind::UnexpectedEof.into())),
            Ok(size) => self.read.extend(&piece[..size]),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                return (Instant::now() >= self.deadline).then(|| Err(io::ErrorKind::TimedOut.into()));
            }
            Err(error) => return Some(Err(error)),
        }
        take_line(&mut self.read, 0).transpose()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// A socket that only its owner may write to from the moment it has a name. The mode of the open file becomes that of the name, less the
/// umask; the umask itself is that of the whole process, so it is left alone.
fn bind_private(path: &Path) -> io::Result<UnixListener> {
    let open = socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    fchmod(&open, Mode::from_raw_mode(0o600))?;
    bind(&open, &SocketAddrUnix::new(path)?)?;
    listen(&open, AT_ONCE.into())?;
    Ok(open.into())
}

/// Removes the socket of a loader that was killed. A socket where somebody listens, and any other file, stays.
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

/// The number of a group by its name in /etc/group; a number is taken as it is.
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

#[cfg(test)]
mod tests {
    use divvy_policy::spec;
    use std::env;
    use std::io::Write as _;
    use std::os::unix::fs::MetadataExt as _;
    use std::thread;

    use super::*;
    use crate::load::client::{ANSWER, AskError, Lines, ask_at, look_at};
    use crate::load::commands::answer;
    use crate::load::commands::tests::Fake;
    use crate::load::host::Account;
    use crate::load::look::Viewer;
    use crate::load::protocol::Request;
    use crate::load::statistics::Sample;

    /// More tasks than a socket takes at once.
    const TASKS: u32 = 5000;

    fn temporary(name: &str) -> PathBuf {
        env::temp_dir().join(format!("divvy-test-{}-{name}", std::process::id()))
    }

    /// Asks a server with a fake backend, and stops when that many were served.
    fn with_server<T: Send>(name: &str, served: usize, client: impl FnOnce(&Path) -> T + Send) -> T {
        let path = temporary(name);
        let mut server = Server::listen_at(path.clone(), None).expect("a socket");
        let mut spec = spec::parse("pbs", divvy_policy::all()).expect("a spec");
        let account = |pid| Account { pid, tgid: 1 << 30, received_ns: 1, ..Account::default() };
        let sample = Sample { cpus: 3, accounts: (0..TASKS).map(account).collect(), ..Sample::default() };
        let mut backend = Fake { sample, ..Fake::default() };
        thread::scope(|scope| {
            let client = scope.spawn(|| client(&path));
            let mut count = 0;
            while (count < served || server.send_queue.fds().count() > 0) && !client.is_finished() {
                server.serve(|line, rights| {
                    count += 1;
                    answer(line, rights, &mut spec, &mut backend)
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

    /// A client that asks for another policy.
    fn ask(path: &Path, words: &[&str]) -> UnixStream {
        let mut client = UnixStream::connect(path).expect("it listens");
        let words = words.iter().map(|&word| word.to_owned()).collect();
        let version = env!("CARGO_PKG_VERSION").to_owned();
        write_line(&mut client, &Request::Replace { words, version }).expect("asked");
        client
    }

    /// A server that was asked for another policy by this client.
    fn asked(name: &str) -> (Server, UnixStream, UnixStream) {
        let path = temporary(name);
        let mut server = Server::listen_at(path.clone(), None).expect("a socket");
        let mut spec = spec::parse("rr", divvy_policy::all()).expect("a spec");
        let [client, second] = [0; 2].map(|_| ask(&path, &["sfq", "--quantum=2ms"]));
        server.serve(|line, rights| answer(line, rights, &mut spec, &mut Fake::default()));
        let (waiting, words) = server.asked().expect("a request");
        assert_eq!((words.join(" ").as_str(), server.asked().is_none()), ("sfq --quantum=2ms", true));
        let line = Lines::new(&second, ANSWER).read().expect("one at a time");
        assert_eq!(serde_json::from_str::<Reply>(&line).expect("a reply"), busy());
        (server, client, waiting)
    }

    #[test]
    fn a_request_for_another_policy_is_answered_when_that_one_schedules() {
        let (_server, client, waiting) = asked("replace");
        assert!(is_connected(&waiting));
        reply(&waiting, &Reply::Replaced);
        let line = Lines::new(&client, ANSWER).read().expect("a reply");
        assert_eq!(line, r#"{"answer":"replaced"}"#);
    }

    #[test]
    fn a_client_takes_its_request_back_and_still_gets_an_answer() {
        let (_server, client, waiting) = asked("withdraw");
        client.shutdown(std::net::Shutdown::Write).expect("connected");
        assert!(!is_connected(&waiting));
        reply(&waiting, &Reply::Withdrawn);
        assert_eq!(Lines::new(&client, ANSWER).read().expect("a reply"), r#"{"answer":"withdrawn"}"#);
        let (_server, client, waiting) = asked("gone");
        drop(client);
        assert!(!is_connected(&waiting));
    }

    #[test]
    fn a_client_that_has_gone_does_not_keep_the_next_from_asking() {
        let path = temporary("next");
        let mut server = Server::listen_at(path.clone(), None).expect("a socket");
        let mut spec = spec::parse("rr", divvy_policy::all()).expect("a spec");
        let [gone, taken_back, _waits] = ["fcfs", "gr3", "sfq"].map(|policy| ask(&path, &[policy]));
        drop(gone);
        taken_back.shutdown(std::net::Shutdown::Write).expect("connected");
        server.serve(|line, rights| answer(line, rights, &mut spec, &mut Fake::default()));
        assert_eq!(server.asked().expect("a request").1, ["sfq"]);
        assert_eq!(Lines::new(&taken_back, ANSWER).read().expect("a reply"), r#"{"answer":"withdrawn"}"#);
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
    fn a_client_that_sends_nothing_or_too_much_does_not_delay_others() {
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
    fn a_look_has_all_tasks() {
        let look = with_server("look", 1, look_at).expect("a look");
        assert_eq!(look.policy, "pbs");
        let interval = Viewer::default().interval(look);
        assert_eq!((interval.cpus, interval.tasks.len()), (3, TASKS as usize));
    }

    #[test]
    fn a_slow_client_is_answered_when_its_request_is_complete() {
        let reply = with_server("slow", 2, |path| {
            let mut slow = UnixStream::connect(path).expect("connected");
            let request = serde_json::to_string(&Request::GetWeight { pid: 7 }).expect("JSON");
            let (first, rest) = request.split_at(5);
            slow.write_all(first.as_bytes()).expect("written");
            assert!(ask_at(path, &Request::GetWeight { pid: 7 }).is_ok(), "it holds up nobody");
            slow.write_all(rest.as_bytes()).and_then(|()| slow.write_all(b"\n")).expect("written");
            Lines::new(&slow, ANSWER).read()
        });
        assert!(reply.expect("an answer").contains("1048576"));
    }

    #[test]
    fn a_loader_that_ends_before_it_answers_is_not_there() {
        let path = temporary("ends");
        let server = Server::listen_at(path.clone(), None).expect("a socket");
        let client = thread::spawn({
            let path = path.clone();
            move || look_at(&path)
        });
        let mut fds: Vec<PollFd<'_>> = server.waits().collect();
        rustix::event::poll(&mut fds, None).expect("somebody connects");
        drop(fds);
        drop(server);
        assert!(matches!(client.join().expect("the client"), Err(AskError::Missing(_))));
    }

    #[test]
    fn a_viewer_that_does_not_read_delays_nobody() {
        let reply = with_server("deaf", 40, |path| {
            let deaf: Vec<UnixStream> = (0..20)
                .map(|_| {
                    let mut stream = UnixStream::connect(path).expect("connected");
                    write_line(&mut stream, &Request::Look).expect("written");
                    stream
                })
                .collect();
            let reply = ask_at(path, &Request::GetWeight { pid: 7 });
            let look = look_at(path).map_err(|error| with_cause(&error));
            drop(deaf);
            (reply.expect("an answer"), look)
        });
        assert_eq!(reply.0, Reply::Weight { weight: 1 << 20 });
        assert!(reply.1.is_err_and(|problem| problem.contains("too many")), "room is for 16");
    }

    fn with_cause(error: &AskError) -> String {
        let cause = std::error::Error::source(error).map(ToString::to_string).unwrap_or_default();
        format!("{error}: {cause}")
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
