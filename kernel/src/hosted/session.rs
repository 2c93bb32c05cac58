//! The process in which the model runs, and the pipes to it.

use std::io::{self, BufReader, Read as _, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command as Process, Stdio};

use super::error::HostedError;
use super::message::{self, Answer, Change, Command, Opening};

/// The model's answer to a request.
pub(super) struct Reply {
    pub answer: Answer,
    pub changes: Vec<Change>,
    pub records: Vec<u8>,
    /// Why it schedules no longer.
    pub error: Option<String>,
}

/// A session with the model.
pub(super) struct Session {
    child: Child,
    to: Option<ChildStdin>,
    from: BufReader<ChildStdout>,
    commands: Vec<u8>,
    ncommands: u32,
}

impl Session {
    /// Starts the program, whose host has this configuration.
    pub fn start(program: &Path, opening: Opening, config: &[u8]) -> Result<Session, HostedError> {
        let failed = |error: io::Error| HostedError::Start { program: program.display().to_string(), error };
        let mut process = Process::new(program);
        let mut child = process.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().map_err(failed)?;
        let (to, from) = (child.stdin.take(), child.stdout.take());
        let from = from.ok_or_else(|| failed(io::ErrorKind::BrokenPipe.into()))?;
        let mut session =
            Session { child, to, from: BufReader::new(from), commands: Vec::new(), ncommands: 0 };
        session.send(&[opening.bytes(), config.to_vec()].concat()).map_err(failed)?;
        Ok(session)
    }

    /// Says that something happens now; sent with the next [`Session::run`].
    pub fn tell(&mut self, command: Command) {
        command.write(&mut self.commands);
        self.ncommands += 1;
    }

    /// Runs on from `now_ns` until `until_ns`, or until something changes.
    pub fn run(&mut self, now_ns: u64, until_ns: u64) -> Result<Reply, String> {
        let mut message = message::request(now_ns, until_ns, self.ncommands);
        message.append(&mut self.commands);
        self.ncommands = 0;
        let answer = self.send(&message).and_then(|()| self.receive());
        answer.map_err(|error| match self.child.try_wait() {
            Ok(Some(status)) => format!("the model of Linux ended: {status}; this is a defect of divvy"),
            _ => format!("the model of Linux does not answer: {error}; this is a defect of divvy"),
        })
    }

    fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        let to = self.to.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
        to.write_all(bytes)?;
        to.flush()
    }

    fn receive(&mut self) -> io::Result<Reply> {
        let answer = Answer::read(&self.read(Answer::SIZE)?);
        let changes = self.read(answer.changes as usize * Change::SIZE)?;
        let records = self.read(answer.record_bytes as usize)?;
        let error = self.read(answer.error_bytes as usize)?;
        Ok(Reply {
            answer,
            changes: changes.chunks_exact(Change::SIZE).map(Change::read).collect(),
            records,
            error: (!error.is_empty()).then(|| String::from_utf8_lossy(&error).into_owned()),
        })
    }

    fn read(&mut self, bytes: usize) -> io::Result<Vec<u8>> {
        let mut read = vec![0; bytes];
        self.from.read_exact(&mut read)?;
        Ok(read)
    }
}

impl Drop for Session {
    /// The model ends when nobody writes any more. One that does not read is ended.
    fn drop(&mut self) {
        drop(self.to.take());
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
