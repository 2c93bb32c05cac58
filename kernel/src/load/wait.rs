//! Waiting for a time, a signal or input, whichever comes first.

use std::io;
use std::os::fd::{AsFd as _, BorrowedFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::sys::Signals;

/// The first to come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Woken {
    /// A signal, which is taken.
    Signal,
    /// Something can be read, or the other end is closed.
    Input,
    /// The time.
    Time,
}

impl Signals {
    /// Waits until this time. Returns whether a signal came.
    ///
    /// # Errors
    /// If the system cannot wait.
    pub fn wait_until(&mut self, until: Instant) -> io::Result<bool> {
        Ok(self.wait(None, until)? == Woken::Signal)
    }

    /// Waits for input, too.
    ///
    /// # Errors
    /// If the system cannot wait.
    pub fn wait(&mut self, input: Option<BorrowedFd<'_>>, until: Instant) -> io::Result<Woken> {
        loop {
            if self.take().is_some() {
                return Ok(Woken::Signal);
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(Woken::Time);
            }
            let left = left.min(Duration::from_secs(3600));
            let timeout = Timespec { tv_sec: left.as_secs() as i64, tv_nsec: left.subsec_nanos().into() };
            let fds = [Some(self.as_fd()), input].into_iter().flatten();
            let mut fds: Vec<_> = fds.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)).collect();
            match poll(&mut fds, Some(&timeout)) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            if fds.get(1).is_some_and(|fd| !fd.revents().is_empty()) {
                return Ok(Woken::Input);
            }
        }
    }
}
