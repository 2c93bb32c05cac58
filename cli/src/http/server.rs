//! Waits for clients: one request a connection, a few connections at a time.

use std::io::{self, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::request::{self, Request};
use super::response::Response;

/// A client that takes longer to send a request, or to read the answer, is disconnected.
const TIMEOUT: Duration = Duration::from_secs(2);
/// Clients that are waited for at once, each by a thread; more are sent away.
const MOST_CLIENTS: usize = 16;
/// Before the next try, where the system has no more of what a connection needs.
const PAUSE: Duration = Duration::from_millis(100);

/// A port, and the longest body of a request to it.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    most_body: usize,
}

impl Server {
    pub fn listen(address: SocketAddr, most_body: usize) -> io::Result<Self> {
        Ok(Self { listener: TcpListener::bind(address)?, most_body })
    }

    /// The address of a path. Port 0 means any port, so this may differ from the requested address.
    pub fn url(&self, path: &str) -> String {
        let address = self.listener.local_addr().map(|address| address.to_string()).unwrap_or_default();
        format!("http://{address}{path}")
    }

    /// Answers clients for as long as any can come. A client's error ends only its own connection.
    pub fn serve_forever(&self, answer: impl Fn(&Request) -> Response + Sync) -> io::Error {
        let clients = AtomicUsize::new(0);
        let (clients, answer) = (&clients, &answer);
        thread::scope(|scope| {
            loop {
                let stream = match self.accept() {
                    Ok(stream) => stream,
                    Err(error) => return error,
                };
                let Some(client) = Client::of(clients) else { continue };
                let serve = move || {
                    let _client = client;
                    serve(stream, self.most_body, answer);
                };
                // Where there can be no thread, the connection is closed as well.
                let _ = thread::Builder::new().spawn_scoped(scope, serve);
            }
        })
    }

    /// The next client. The server continues if a client has gone, or if there is no room for it.
    fn accept(&self) -> io::Result<TcpStream> {
        loop {
            match self.listener.accept() {
                Ok((stream, _)) => return Ok(stream),
                Err(error) if is_of_listener(&error) => return Err(error),
                // The client has gone: go on. If files or memory are short, wait a little: they may come back.
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
                Err(_) => thread::sleep(PAUSE),
            }
        }
    }
}

/// Whether trying again is useless, because the socket does not listen. Other errors come from one client, or pass, as
/// accept(2) says.
fn is_of_listener(error: &io::Error) -> bool {
    const EBADF: i32 = 9;
    const EINVAL: i32 = 22;
    const ENOTSOCK: i32 = 88;
    matches!(error.raw_os_error(), None | Some(EBADF | EINVAL | ENOTSOCK))
}

/// One of [`MOST_CLIENTS`], until it is dropped.
struct Client<'a>(&'a AtomicUsize);

impl<'a> Client<'a> {
    /// None if the limit is reached. Only one thread asks.
    fn of(clients: &'a AtomicUsize) -> Option<Self> {
        let has_room = clients.load(Ordering::Relaxed) < MOST_CLIENTS;
        has_room.then(|| {
            clients.fetch_add(1, Ordering::Relaxed);
            Self(clients)
        })
    }
}

impl Drop for Client<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

fn serve(mut stream: TcpStream, most_body: usize, answer: impl FnOnce(&Request) -> Response) {
    let response = match request::read(&mut stream, most_body, Instant::now() + TIMEOUT) {
        Ok(request) => answer(&request),
        Err(refusal) => refusal,
    };
    let _ = write(&mut stream, &response.bytes(), Instant::now() + TIMEOUT);
}

/// Writes all of it by the deadline, which a client that reads slowly does not put off.
fn write(stream: &mut TcpStream, mut bytes: &[u8], deadline: Instant) -> io::Result<()> {
    while !bytes.is_empty() {
        stream.set_write_timeout(Some(request::time_left(deadline)?))?;
        match stream.write(bytes) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(size) => bytes = &bytes[size..],
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;

    /// The server's address. It runs until the tests end.
    fn start(body: &'static str) -> SocketAddr {
        let server = Server::listen("127.0.0.1:0".parse().expect("an address"), 9).expect("a port");
        let address = server.listener.local_addr().expect("an address");
        thread::spawn(move || server.serve_forever(|_| Response::plain("200 OK", body)));
        address
    }

    fn ask(address: SocketAddr, bytes: &[u8]) -> String {
        let mut stream = TcpStream::connect(address).expect("connected");
        let _ = stream.write_all(bytes).and_then(|()| stream.shutdown(std::net::Shutdown::Write));
        let mut said = String::new();
        let _ = stream.read_to_string(&mut said);
        said
    }

    const SCRAPE: &[u8] = b"GET /metrics HTTP/1.1\r\n\r\n";

    #[test]
    fn who_sends_too_much_or_nothing_is_not_waited_for() {
        let address = start("body");
        ask(address, &[b'x'; 2 * request::LONGEST_HEAD]);
        let (short, whole) = (ask(address, b"GET"), ask(address, SCRAPE));
        assert!(short.starts_with("HTTP/1.1 400"), "{short}");
        assert!(whole.contains("Content-Length: 4\r\n") && whole.ends_with("\r\n\r\nbody"), "{whole}");
    }

    #[test]
    fn who_is_idle_keeps_nobody_waiting() {
        let address = start("body");
        let idle = || TcpStream::connect(address).expect("connected");
        // One after the other, they would be waited for twice as long as is asserted.
        let _idle: Vec<TcpStream> = (0..MOST_CLIENTS - 6).map(|_| idle()).collect();
        let began = Instant::now();
        assert!(ask(address, SCRAPE).ends_with("body"));
        assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
    }

    #[test]
    fn of_too_many_clients_the_last_are_sent_away_until_others_are_gone() {
        let address = start("body");
        let mut idle: Vec<TcpStream> =
            (0..MOST_CLIENTS).map(|_| TcpStream::connect(address).expect("connected")).collect();
        assert_eq!(ask(address, SCRAPE), "", "closed");
        for stream in &mut idle {
            let mut said = String::new();
            let _ = stream.read_to_string(&mut said);
            assert!(said.starts_with("HTTP/1.1 400"), "{said}");
        }
        let deadline = Instant::now() + Duration::from_secs(30);
        while !ask(address, SCRAPE).ends_with("body") {
            assert!(Instant::now() < deadline, "nobody makes room");
        }
    }

    #[test]
    fn an_answer_has_one_deadline_however_it_is_read() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let mut reader = TcpStream::connect(listener.local_addr().expect("an address")).expect("connected");
        let (mut stream, _) = listener.accept().expect("a client");
        let client = thread::spawn(move || {
            let (mut piece, mut all) = (vec![0; 1 << 16], 0);
            while let Ok(size @ 1..) = reader.read(&mut piece) {
                all += size;
                thread::sleep(Duration::from_millis(5));
            }
            all
        });
        // More than the system keeps for a reader; it would take it five seconds at least.
        let bytes = vec![0; 1 << 26];
        let error = write(&mut stream, &bytes, Instant::now() + Duration::from_millis(300));
        let error = error.expect_err("too slow").kind();
        assert!(matches!(error, io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock), "{error}");
        drop(stream);
        assert!(client.join().expect("the client") < bytes.len());
    }

    #[test]
    fn only_what_is_wrong_with_the_listener_ends_it() {
        let (aborted, interrupted, too_many_files, not_a_socket) = (103, 4, 24, 88);
        for passing in [aborted, interrupted, too_many_files] {
            assert!(!is_of_listener(&io::Error::from_raw_os_error(passing)), "{passing}");
        }
        assert!(is_of_listener(&io::Error::from_raw_os_error(not_a_socket)));
    }
}
