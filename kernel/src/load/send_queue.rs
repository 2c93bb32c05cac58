//! Answers that are longer than a socket takes at once are sent piece by piece. A client that stops reading is
//! disconnected; nobody waits for it.

use std::io::{self, Write as _};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::rc::Rc;
use std::time::{Duration, Instant};

/// The most answers that are being sent at a time.
const MOST: usize = 16;
/// A client that has not read its answer after this time is disconnected.
const TIMEOUT: Duration = Duration::from_secs(10);

#[derive(Debug)]
struct Pending {
    stream: UnixStream,
    bytes: Rc<[u8]>,
    sent: usize,
    deadline: Instant,
}

impl Pending {
    /// Sends as much as the client takes now. Returns whether there is more.
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

/// Answers that are not sent completely.
#[derive(Debug, Default)]
pub(super) struct SendQueue(Vec<Pending>);

impl SendQueue {
    /// Whether there is no room for another answer.
    pub fn is_full(&self) -> bool {
        self.0.len() >= MOST
    }

    pub fn push(&mut self, stream: UnixStream, bytes: Rc<[u8]>) {
        if stream.set_nonblocking(true).is_ok() {
            self.0.push(Pending { stream, bytes, sent: 0, deadline: Instant::now() + TIMEOUT });
            self.send();
        }
    }

    /// Sends as much as the clients take now.
    pub fn send(&mut self) {
        let now = Instant::now();
        self.0.retain_mut(|pending| pending.send(now));
    }

    /// The sockets to poll until they are writable.
    pub fn fds(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.0.iter().map(|pending| pending.stream.as_fd())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;

    /// A longer answer than a socket takes at once.
    fn long() -> Rc<[u8]> {
        (0..3_000_000u32).map(|n| n as u8).collect()
    }

    #[test]
    fn a_long_answer_arrives_whole() {
        let (ours, mut theirs) = UnixStream::pair().expect("a pair");
        let (mut send_queue, bytes) = (SendQueue::default(), long());
        send_queue.push(ours, Rc::clone(&bytes));
        assert_eq!(send_queue.fds().count(), 1, "it is not sent at once");
        let reader = std::thread::spawn(move || {
            let mut read = Vec::new();
            theirs.read_to_end(&mut read).map(|_| read)
        });
        while send_queue.fds().count() > 0 {
            send_queue.send();
        }
        assert!(reader.join().expect("read").expect("all of it") == *bytes);
    }

    #[test]
    fn a_client_that_does_not_read_is_disconnected() {
        let (ours, theirs) = UnixStream::pair().expect("a pair");
        let mut send_queue = SendQueue::default();
        send_queue.push(ours, long());
        send_queue.send();
        assert_eq!(send_queue.fds().count(), 1);
        send_queue.0[0].deadline = Instant::now();
        send_queue.send();
        assert_eq!(send_queue.fds().count(), 0);
        drop(theirs);
    }

    #[test]
    fn a_client_that_went_away_is_dropped() {
        let (ours, theirs) = UnixStream::pair().expect("a pair");
        drop(theirs);
        let mut send_queue = SendQueue::default();
        send_queue.push(ours, long());
        assert_eq!(send_queue.fds().count(), 0);
    }
}
