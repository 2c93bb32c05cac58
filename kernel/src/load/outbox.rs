//! Answers that are longer than a socket takes at once. Nobody waits for a client that does not read.

use std::io::{self, Write as _};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::rc::Rc;
use std::time::{Duration, Instant};

/// Clients at a time.
const MOST: usize = 16;
/// A client that has not read its answer by then is dropped.
const PATIENCE: Duration = Duration::from_secs(10);

#[derive(Debug)]
struct Pending {
    stream: UnixStream,
    bytes: Rc<[u8]>,
    sent: usize,
    deadline: Instant,
}

impl Pending {
    /// What the client takes now; whether there is more.
    fn send(&mut self, now: Instant) -> bool {
        while self.sent < self.bytes.len() {
            match self.stream.write(&self.bytes[self.sent..]) {
                Ok(0) => return false,
                Ok(size) => self.sent += size,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return error.kind() == io::ErrorKind::WouldBlock && now < self.deadline,
            }
        }
        false
    }
}

/// What is still to be sent.
#[derive(Debug, Default)]
pub(super) struct Outbox(Vec<Pending>);

impl Outbox {
    /// Whether another answer would be too many.
    pub fn is_full(&self) -> bool {
        self.0.len() >= MOST
    }

    pub fn push(&mut self, stream: UnixStream, bytes: Rc<[u8]>) {
        if stream.set_nonblocking(true).is_ok() {
            self.0.push(Pending { stream, bytes, sent: 0, deadline: Instant::now() + PATIENCE });
            self.send();
        }
    }

    /// Sends what the clients take.
    pub fn send(&mut self) {
        let now = Instant::now();
        self.0.retain_mut(|pending| pending.send(now));
    }

    /// Whose being writable is to be waited for.
    pub fn fds(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.0.iter().map(|pending| pending.stream.as_fd())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;

    /// More than a socket takes.
    fn long() -> Rc<[u8]> {
        (0..3_000_000u32).map(|n| n as u8).collect()
    }

    #[test]
    fn a_long_answer_arrives_whole() {
        let (ours, mut theirs) = UnixStream::pair().expect("a pair");
        let (mut outbox, bytes) = (Outbox::default(), long());
        outbox.push(ours, Rc::clone(&bytes));
        assert_eq!(outbox.fds().count(), 1, "it is not sent at once");
        let reader = std::thread::spawn(move || {
            let mut read = Vec::new();
            theirs.read_to_end(&mut read).map(|_| read)
        });
        while outbox.fds().count() > 0 {
            outbox.send();
        }
        assert!(reader.join().expect("read").expect("all of it") == *bytes);
    }

    #[test]
    fn who_does_not_read_is_dropped() {
        let (ours, theirs) = UnixStream::pair().expect("a pair");
        let mut outbox = Outbox::default();
        outbox.push(ours, long());
        outbox.send();
        assert_eq!(outbox.fds().count(), 1);
        outbox.0[0].deadline = Instant::now();
        outbox.send();
        assert_eq!(outbox.fds().count(), 0);
        drop(theirs);
    }

    #[test]
    fn who_goes_away_is_dropped() {
        let (ours, theirs) = UnixStream::pair().expect("a pair");
        drop(theirs);
        let mut outbox = Outbox::default();
        outbox.push(ours, long());
        assert_eq!(outbox.fds().count(), 0);
    }
}
