//! As much of HTTP as a scrape on this machine needs: one request a connection, one at a time.

use std::io::{self, Read as _, Write as _};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

/// A request that is longer is none of a scraper.
const LONGEST_REQUEST: usize = 8192;
/// Who takes longer for a request, or for its answer, is not waited for.
const PATIENCE: Duration = Duration::from_secs(2);

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

    /// Port 0 is any, so this is not always what was asked for.
    pub fn url(&self) -> String {
        let address = self.listener.local_addr().map(|address| address.to_string()).unwrap_or_default();
        format!("http://{address}{}", self.path)
    }

    /// Answers the next client. What it does wrong is its own affair.
    pub fn serve(&self, body: impl FnOnce() -> String) -> io::Result<()> {
        let (mut stream, _) = self.listener.accept()?;
        let response = match read_request(&mut stream) {
            Ok(request) => response(&request, self.path, body),
            Err(_) => plain("400 Bad Request", "that is no request\n"),
        };
        let _ = stream.set_write_timeout(Some(PATIENCE)).and_then(|()| stream.write_all(response.as_bytes()));
        Ok(())
    }
}

/// All lines before the empty one.
fn read_request(stream: &mut TcpStream) -> io::Result<String> {
    let deadline = Instant::now() + PATIENCE;
    let mut request = Vec::new();
    let mut piece = [0; 1024];
    while !request.windows(4).any(|end| end == b"\r\n\r\n") {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() || request.len() > LONGEST_REQUEST {
            return Err(io::ErrorKind::InvalidData.into());
        }
        stream.set_read_timeout(Some(left))?;
        match stream.read(&mut piece)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            size => request.extend(&piece[..size]),
        }
    }
    String::from_utf8(request).map_err(|_| io::ErrorKind::InvalidData.into())
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
            answer("200 OK", "text/plain; version=0.0.4; charset=utf-8", &body())
        }
        ("GET", _) => plain("404 Not Found", &format!("there is {path}\n")),
        _ => plain("405 Method Not Allowed", "GET is\n"),
    }
}

/// Of a `Host` field: by number, or the name that is always this machine's.
fn is_this_machine(host: &str) -> bool {
    if let Ok(address) = host.parse::<SocketAddr>() {
        return address.ip().is_loopback();
    }
    let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
    name.eq_ignore_ascii_case("localhost") || host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

fn plain(status: &str, text: &str) -> String {
    answer(status, "text/plain; charset=utf-8", text)
}

fn answer(status: &str, kind: &str, body: &str) -> String {
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
            ("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", "404 Not Found"),
            ("POST /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n", "405 Method Not Allowed"),
            ("GET /metrics HTTP/1.1\r\nHost: evil.example:9123\r\n\r\n", "403 Forbidden"),
            ("GET /metrics HTTP/1.1\r\nHost: 192.0.2.1:9123\r\n\r\n", "403 Forbidden"),
            ("\r\n\r\n", "405 Method Not Allowed"),
        ] {
            assert_eq!(status(request), format!("HTTP/1.1 {says}"), "{request}");
        }
    }

    #[test]
    fn who_sends_too_much_or_nothing_is_not_waited_for() {
        let server = Server::listen("127.0.0.1:0".parse().expect("an address"), "/metrics").expect("a port");
        let address = server.listener.local_addr().expect("an address");
        let client = thread::spawn(move || {
            let send = |bytes: &[u8]| {
                let mut stream = TcpStream::connect(address).expect("connected");
                let _ = stream.write_all(bytes).and_then(|()| stream.shutdown(std::net::Shutdown::Write));
                let mut said = String::new();
                let _ = stream.read_to_string(&mut said);
                said
            };
            send(&[b'x'; 2 * LONGEST_REQUEST]);
            (send(b"GET"), send(b"GET /metrics HTTP/1.1\r\n\r\n"))
        });
        for _ in 0..3 {
            server.serve(|| "body".to_owned()).expect("served");
        }
        let (short, whole) = client.join().expect("the client");
        assert!(short.starts_with("HTTP/1.1 400"), "{short}");
        assert!(whole.contains("Content-Length: 4\r\n") && whole.ends_with("\r\n\r\nbody"), "{whole}");
    }
}
