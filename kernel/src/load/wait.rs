//! Waiting for a time or a signal, whichever comes first.

use std::io;
use std::os::fd::AsFd as _;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::sys::Signals;

impl Signals {
    /// Waits until this time. Returns whether a signal came.
    ///
    /// # Errors
    /// If the system cannot wait.
    pub fn wait_until(&mut self, until: Instant) -> io::Result<bool> {
        loop {
            if self.take().is_some() {
                return Ok(true);
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(false);
            }
            let left = left.min(Duration::from_secs(3600));
            let timeout = Timespec { tv_sec: left.as_secs() as i64, tv_nsec: left.subsec_nanos().into() };
            match poll(&mut [PollFd::from_borrowed_fd(self.as_fd(), PollFlags::IN)], Some(&timeout)) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}
