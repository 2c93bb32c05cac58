//! The command under the scheduler.

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, Command, ExitStatus};

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use super::error::LoadError;
use super::sys;

/// A started command.
#[derive(Debug)]
pub struct Running {
    child: Child,
    /// Readable when it has ended.
    pidfd: OwnedFd,
}

impl Running {
    /// The command begins. With `aside` what it prints goes to standard error, because standard output is taken.
    pub fn start(command: &[OsString], aside: bool) -> Result<Option<Self>, LoadError> {
        let Some((program, arguments)) = command.split_first() else { return Ok(None) };
        let failed = |error: io::Error| LoadError::Io(format!("cannot run {}", program.display()), error);
        let mut command = Command::new(program);
        command.args(arguments);
        if aside {
            command.stdout(io::stderr().as_fd().try_clone_to_owned().map_err(failed)?);
        }
        let child = sys::with_signals(&mut command).spawn().map_err(failed)?;
        let pidfd = pidfd_open(Pid::from_child(&child), PidfdFlags::empty());
        Ok(Some(Self { child, pidfd: pidfd.map_err(|error| failed(error.into()))? }))
    }

    /// The exit code as a shell reports it, if the command has ended.
    pub fn exit_code(&mut self) -> Option<u8> {
        self.child.try_wait().ok().flatten().map(exit_code)
    }

    pub fn signal(&self, number: i32) {
        if let Some(signal) = Signal::from_named_raw(number) {
            // An error is no problem: the command may have ended just now, or runs as another user.
            let _ = pidfd_send_signal(&self.pidfd, signal);
        }
    }
}

impl AsFd for Running {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.pidfd.as_fd()
    }
}

fn exit_code(status: ExitStatus) -> u8 {
    status.code().or(status.signal().map(|signal| 128 + signal)).unwrap_or(1) as u8
}
