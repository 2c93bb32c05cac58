//! One command at a time changes the unit and its settings: of two, the later one would put back what it found.

use std::fs::File;
use std::io;

use rustix::fs::{FlockOperation, flock};

use super::systemd::ServiceError;

const LOCK: &str = "/run/divvy-enable.lock";

/// Nobody else changes them until the file is closed.
///
/// # Errors
/// When somebody does, or the lock cannot be taken.
pub fn lock() -> Result<File, ServiceError> {
    lock_at(LOCK)
}

fn lock_at(path: &str) -> Result<File, ServiceError> {
    let failed = |error: io::Error| ServiceError::Lock(path.to_owned(), error);
    let file = File::options().write(true).create(true).truncate(false).open(path).map_err(failed)?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(file),
        Err(rustix::io::Errno::WOULDBLOCK) => Err(ServiceError::Busy),
        Err(error) => Err(failed(error.into())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_command_has_it_at_a_time() {
        let path = std::env::temp_dir().join(format!("divvy-enable-{}.lock", std::process::id()));
        let path = path.to_str().expect("it is text");
        let first = lock_at(path).expect("free");
        assert!(matches!(lock_at(path), Err(ServiceError::Busy)));
        drop(first);
        assert!(lock_at(path).is_ok());
        std::fs::remove_file(path).expect("it was made above");
        assert!(matches!(lock_at("/nonexistent/lock"), Err(ServiceError::Lock(..))));
    }
}
