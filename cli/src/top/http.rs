//! As much of HTTP as a scrape on this machine needs: one request a connection, a few connections at a time.

use std::io::{self, Read as _, Write as _};
use std::net::{IpAddr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// A scraper sends no longer request.
const LONGEST_REQUEST: usize = 8192;
/// A client that takes longer to send a request, or to read the answer, is disconnected.
const TIMEOUT: Duration = Duration::from_secs(2);
/// Clients that are waited for at once, each by a thread; more are sent away.
const MOST_CLIENTS: usize = 16;
/// Before the next try, where the system has no more of what a connection needs.
const PAUSE: Duration = Duration::from_millis(100);

/// Answers one path.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    path: &'static str,
}

impl Server {
    pub fn listen(address: SocketAddr, path: &'static str) -> io::Result<Self> {
        Ok(Self { listener: TcpListener::bind(address)?, path })
    }

    /// Port 0 means any port, so this may differ from the requested address.
    pub fn url(&self) -> String {
        let address = self.listener.local_addr().map(|address| address.to_string()).unwrap_or_default();
        format!("http://{address}{}", self.path)
    }

    /// Answers clients for as long as any can come. A client's error ends only its own connection.
    pub fn serve_forever(&self, body: impl Fn() -> String + Sync) -> io::Error {
        let clients = AtomicUsize::new(0);
        let (clients, body) = (&clients, &body);
        thread::scope(|scope| {
            loop {
                let stream = match self.accept() {
                    Ok(stream) => stream,
                    Err(error) => return error,
                };
                let Some(client) = Client::of(clients) else { continue };
                let answer = move || {
                    let _client = client;
                    answer(stream, self.path, body);
                };
                // Where there can be no thread, the connection is closed as well.
                let _ = thread::Builder::new().spawn_scoped(scope, answer);
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

fn answer(mut stream: TcpStream, path: &str, body: impl FnOnce() -> String) {
    let response = match read_request(&mut stream, Instant::now() + TIMEOUT) {
        Ok(request) => response(&request, path, body),
        Err(_) => plain("400 Bad Request", "that is no request\n"),
    };
    let _ = write(&mut stream, response.as_bytes(), Instant::now() + TIMEOUT);
}

/// None is left at the deadline.
fn time_left(deadline: Instant) -> io::Result<Duration> {
    let left = deadline.saturating_duration_since(Instant::now());
    if left.is_zero() { Err(io::ErrorKind::TimedOut.into()) } else { Ok(left) }
}

/// All lines before the empty one.
fn read_request(stream: &mut TcpStream, deadline: Instant) -> io::Result<String> {
    let mut request = Vec::new();
    let mut piece = [0; 1024];
    while !request.windows(4).any(|end| end == b"\r\n\r\n") {
        if request.len() > LONGEST_REQUEST {
            return Err(io::ErrorKind::InvalidData.into());
        }
        stream.set_read_timeout(Some(time_left(deadline)?))?;
        match stream.read(&mut piece) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(size) => request.extend(&piece[..size]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    String::from_utf8(request).map_err(|_| io::ErrorKind::InvalidData.into())
}

/// Writes all of it by the deadline, which a client that reads slowly does not put off.
fn write(stream: &mut TcpStream, mut bytes: &[u8], deadline: Instant) -> io::Result<()> {
    while !bytes.is_empty() {
        stream.set_write_timeout(Some(time_left(deadline)?))?;
        match stream.write(bytes) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(size) => bytes = &bytes[size..],
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn response(request: &str, path: &str, body: impl FnOnce() -> String) -> String {
    let mut lines = request.split("\r\n");
    let mut words = lines.next().unwrap_or_default().split(' ');
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let host = lines.find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("host").then_some(value.trim())
    });
    match (method, target.split('?').next()) {
        // A page of the web whose name leads here would be answered else, and read what runs on this machine.
        _ if !host.is_none_or(is_this_machine) => plain("403 Forbidden", "ask for 127.0.0.1 or localhost\n"),
        ("GET", Some(asked)) if asked == path => {
            page("200 OK", "text/plain; version=0.0.4; charset=utf-8", &body())
        }
        ("GET", _) => plain("404 Not Found", &format!("there is {path}\n")),
        _ => plain("405 Method Not Allowed", "GET is\n"),
    }
}

/// Whether a `Host` field names this machine, by a loopback address or as localhost.
fn is_this_machine(host: &str) -> bool {
    if let Ok(address) = host.parse::<SocketAddr>() {
        return address.ip().is_loopback();
    }
    if let Some(number) = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        return number.parse::<Ipv6Addr>().is_ok_and(|ip| ip.is_loopback());
    }
    let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
    name.eq_ignore_ascii_case("localhost") || host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

fn plain(status: &str, text: &str) -> String {
    page(status, "text/plain; charset=utf-8", text)
}

fn page(status: &str, kind: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    )
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    fn status(request: &str) -> String {
        let said = response(request, "/metrics", || "divvy_up 1\n".to_owned());
        said.split("\r\n").next().unwrap_or_default().to_owned()
    }

    #[test]
    fn one_path_is_answered_to_this_machine() {
        for (request, says) in [
            ("GET /metrics HTTP/1.1\r\nHost: localhost:9123\r\n\r\n", "200 OK"),
            ("GET /metrics?x=1 HTTP/1.0\r\n\r\n", "200 OK"),
            ("GET /metrics HTTP/1.1\r\nhost: [::1]:9123\r\n\r\n", "200 OK"),
            ("GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", "200 OK"),
            ("GET /metrics HTTP/1.1\r\nHost: [::1]\r\n\r\n", "200 OK"),
            ("GET /metrics HTTP/1.1\r\nHost: [2001:db8::1]\r\n\r\n", "403 Forbidden"),
            ("GET /metrics HTTP/1.1\r\nHost: [localhost]\r\n\r\n", "403 Forbidden"),
            ("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", "404 Not Found"),
            ("POST /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n", "405 Method Not Allowed"),
            ("GET /metrics HTTP/1.1\r\nHost: evil.example:9123\r\n\r\n", "403 Forbidden"),
            ("GET /metrics HTTP/1.1\r\nHost: 192.0.2.1:9123\r\n\r\n", "403 Forbidden"),
            ("\r\n\r\n", "405 Method Not Allowed"),
        ] {
            assert_eq!(status(request), format!("HTTP/1.1 {says}"), "{request}");
        }
    }

    /// The server's address. It runs until the tests end.
    fn start(body: &'static str) -> SocketAddr {
        let server = Server::listen("127.0.0.1:0".parse().expect("an address"), "/metrics").expect("a port");
        let address = server.listener.local_addr().expect("an address");
        thread::spawn(move || server.serve_forever(|| body.to_owned()));
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
        ask(address, &[b'x'; 2 * LONGEST_REQUEST]);
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
