//! An answer, and its bytes.

/// A whole answer; the connection ends with it.
#[derive(Debug)]
pub struct Response {
    /// Number and words, as in `200 OK`.
    pub status: &'static str,
    kind: &'static str,
    /// The content.
    pub body: Vec<u8>,
}

impl Response {
    /// An answer of a media type.
    pub fn new(status: &'static str, kind: &'static str, body: impl Into<Vec<u8>>) -> Self {
        Self { status, kind, body: body.into() }
    }

    /// A line of text.
    pub fn plain(status: &'static str, text: &str) -> Self {
        Self::new(status, "text/plain; charset=utf-8", text)
    }

    /// Nobody keeps it, or shows it in a frame of theirs.
    pub(super) fn bytes(&self) -> Vec<u8> {
        let (status, kind, length) = (self.status, self.kind, self.body.len());
        let head = format!(
            "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\
             Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nX-Frame-Options: DENY\r\n\r\n"
        );
        [head.as_bytes(), &self.body].concat()
    }
}
