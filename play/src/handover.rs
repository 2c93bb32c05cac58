//! Tasks that execute a program: a task with an `executable`, whose instances are processes of their own. The kernel tells programs
//! apart by file and arguments, so each instance executes the command of [`Options::command`](super::Options) with the executable's name
//! as its only argument, and the same program runs again when the same name does.
//!
//! The process is then another one, with the same shared memory and log: it reads from the environment which files these are, and which
//! instance it is.

use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::{AsFd as _, AsRawFd as _};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;
use std::str::FromStr;

use divvy_workload::Task;
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::io::{FdFlags, fcntl_setfd};

use super::burn::Speed;
use super::record::Log;
use super::run_setup::{Launch, RunSetup};
use super::shared_state::{Failure, SharedState};

/// The variable that says which instance a process is: see [`Instance`].
pub const VARIABLE: &str = "DIVVY_PLAYED_INSTANCE";

/// A run for the processes that execute: all that they need beside the shared memory and the log, in a file in memory.
pub struct Handover<'a> {
    command: &'a Path,
    pub file: File,
}

/// An instance, and the numbers of the files that it needs.
pub struct Instance {
    pub launch: Launch,
    pub slot: u32,
    /// The CPU time that its thread had used before it executed.
    pub cpu_ns: u64,
    pub state: i32,
    pub log: i32,
    pub setup: i32,
}

/// Whether the instances of a task execute its program. Threads cannot: their process would lose the others.
pub fn executes(task: &Task) -> bool {
    task.executable.is_some() && task.process.is_none()
}

impl<'a> Handover<'a> {
    /// Writes the run down, if there is a command to execute, and a task that does.
    ///
    /// # Errors
    /// When there is no memory.
    pub fn new(setup: &RunSetup<'a>, most: u32) -> io::Result<Option<Handover<'a>>> {
        let Some(command) = setup.command.filter(|_| setup.workload.tasks.iter().any(executes)) else {
            return Ok(None);
        };
        let mut file = File::from(memfd_create("divvy-play-setup", MemfdFlags::CLOEXEC)?);
        let cpus: Vec<String> = setup.cpus.iter().map(usize::to_string).collect();
        let Speed { laps_per_ns } = setup.speed;
        let (seed, rep, cpus) = (setup.seed, setup.rep, cpus.join(","));
        writeln!(file, "{seed} {rep} {most} {laps_per_ns} {cpus}")?;
        file.write_all(setup.workload.to_toml().as_bytes())?;
        Ok(Some(Handover { command, file }))
    }

    /// Executes the program as an instance. Returns only if it cannot.
    pub fn execute(
        &self,
        name: &str,
        (shared, log): (&SharedState, &Log),
        launch: Launch,
        slot: u32,
        cpu_ns: u64,
    ) -> Failure {
        let files = [shared.file(), log.file(), &self.file];
        let kept = files.iter().try_for_each(|file| fcntl_setfd(file.as_fd(), FdFlags::empty()));
        let [state, log, setup] = files.map(|file| file.as_raw_fd());
        let error = match kept {
            Ok(()) => Command::new(self.command)
                .arg0(name)
                .env(VARIABLE, Instance { launch, slot, cpu_ns, state, log, setup }.to_text())
                .exec(),
            Err(error) => error.into(),
        };
        format!("cannot execute {} as program {name}: {error}", self.command.display())
    }
}

impl Instance {
    /// As the value of [`VARIABLE`].
    pub fn to_text(&self) -> String {
        let Instance { launch: Launch { class, number, due_ns }, slot, cpu_ns, state, log, setup } = self;
        format!("{class} {number} {due_ns} {slot} {cpu_ns} {state} {log} {setup}")
    }

    /// Reads what [`Instance::to_text`] wrote.
    pub fn from_text(text: &str) -> Option<Instance> {
        let mut words = text.split(' ');
        let launch =
            Launch { class: next(&mut words)?, number: next(&mut words)?, due_ns: next(&mut words)? };
        let (slot, cpu_ns, state) = (next(&mut words)?, next(&mut words)?, next(&mut words)?);
        Some(Instance { launch, slot, cpu_ns, state, log: next(&mut words)?, setup: next(&mut words)? })
    }
}

/// Reads the next word.
pub fn next<'a, T: FromStr>(words: &mut impl Iterator<Item = &'a str>) -> Option<T> {
    words.next()?.parse().ok()
}
