//! Reads a request, within limits of size and time.

use std::io::{self, Read as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use super::response::Response;

/// No client of ours sends more before the body.
pub(super) const LONGEST_HEAD: usize = 8192;
/// The same for the number of fields.
const MOST_FIELDS: usize = 64;

/// A whole request.
#[derive(Debug, Default)]
pub struct Request {
    /// As in `GET`.
    pub method: String,
    /// As it was sent, with what follows `?`.
    target: String,
    fields: Vec<(String, String)>,
    /// Empty if there is none.
    pub body: Vec<u8>,
}

impl Request {
    /// The target without what follows `?`.
    pub fn path(&self) -> &str {
        self.target.split('?').next().unwrap_or_default()
    }

    /// The content of a field, by its name in small letters.
    pub fn field(&self, name: &str) -> Option<&str> {
        let found = self.fields.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.trim())
    }

    /// How long the body is said to be; an error if it is not said in digits, or said twice.
    fn body_length(&self) -> Result<usize, ()> {
        let mut said = self.fields.iter().filter(|(name, _)| name.eq_ignore_ascii_case("content-length"));
        if self.field("transfer-encoding").is_some() {
            return Err(());
        }
        match (said.next(), said.next()) {
            (None, _) => Ok(0),
            (Some((_, length)), None) => length.trim().parse().map_err(|_| ()),
            _ => Err(()),
        }
    }

    #[cfg(test)]
    pub fn of(method: &str, target: &str, fields: &[(&str, &str)], body: &str) -> Self {
        let fields = fields.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Self { method: method.to_owned(), target: target.to_owned(), fields, body: body.into() }
    }
}

/// Reads a request, whose body has at most so many bytes.
///
/// # Errors
/// What to answer instead.
pub fn read(stream: &mut TcpStream, most_body: usize, deadline: Instant) -> Result<Request, Response> {
    let bad = |_| Response::plain("400 Bad Request", "that is no request\n");
    let mut bytes = Vec::new();
    let (mut request, start) = loop {
        if let Some(found) = parse(&bytes).map_err(bad)? {
            break found;
        }
        if bytes.len() > LONGEST_HEAD {
            return Err(bad(()));
        }
        more(stream, &mut bytes, LONGEST_HEAD, deadline).map_err(|_| bad(()))?;
    };
    let length = request.body_length().map_err(bad)?;
    if length > most_body {
        let text = format!("a request has at most {most_body} bytes: shorten the workload\n");
        return Err(Response::plain("413 Content Too Large", &text));
    }
    let mut body = bytes.split_off(start);
    while body.len() < length {
        let left = length - body.len();
        more(stream, &mut body, left, deadline).map_err(|_| bad(()))?;
    }
    body.truncate(length);
    request.body = body;
    Ok(request)
}

/// The head of a request, and where its body begins; `None` if it is not whole yet.
fn parse(bytes: &[u8]) -> Result<Option<(Request, usize)>, ()> {
    let mut fields = [httparse::EMPTY_HEADER; MOST_FIELDS];
    let mut found = httparse::Request::new(&mut fields);
    let start = match found.parse(bytes).map_err(|_| ())? {
        httparse::Status::Complete(start) => start,
        httparse::Status::Partial => return Ok(None),
    };
    let text = |value: &[u8]| String::from_utf8(value.to_vec()).map_err(|_| ());
    let fields = found.headers.iter().map(|field| Ok((field.name.to_owned(), text(field.value)?)));
    let request = Request {
        method: found.method.unwrap_or_default().to_owned(),
        target: found.path.unwrap_or_default().to_owned(),
        fields: fields.collect::<Result<_, ()>>()?,
        body: Vec::new(),
    };
    Ok(Some((request, start)))
}

/// Reads once, at most so many bytes.
fn more(stream: &mut TcpStream, bytes: &mut Vec<u8>, most: usize, deadline: Instant) -> io::Result<()> {
    let mut piece = [0; 4096];
    let most = most.min(piece.len());
    stream.set_read_timeout(Some(time_left(deadline)?))?;
    match stream.read(&mut piece[..most]) {
        Ok(0) => Err(io::ErrorKind::UnexpectedEof.into()),
        Ok(size) => {
            bytes.extend(&piece[..size]);
            Ok(())
        }
        Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(()),
        Err(error) => Err(error),
    }
}

/// An error at the deadline.
pub(super) fn time_left(deadline: Instant) -> io::Result<Duration> {
    let left = deadline.saturating_duration_since(Instant::now());
    if left.is_zero() { Err(io::ErrorKind::TimedOut.into()) } else { Ok(left) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn length(text: &str) -> Result<usize, ()> {
        parse(text.as_bytes()).expect("a request").expect("whole").0.body_length()
    }

    #[test]
    fn the_length_of_a_body_is_said_once_and_in_digits() {
        assert_eq!(length("POST /run HTTP/1.1\r\nContent-Length: 12\r\n\r\n"), Ok(12));
        assert_eq!(length("GET / HTTP/1.1\r\n\r\n"), Ok(0));
        for fields in
            ["Content-Length: -1", "Content-Length: 1\r\nContent-Length: 1", "Transfer-Encoding: chunked"]
        {
            assert_eq!(length(&format!("POST / HTTP/1.1\r\n{fields}\r\n\r\n")), Err(()), "{fields}");
        }
        assert!(parse(b"GET / HTTP/1.1\r\nHost").expect("so far").is_none());
        assert!(parse(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03").is_err());
    }
}
