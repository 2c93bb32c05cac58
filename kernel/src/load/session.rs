//! From loading to unloading: one thread waits for signals, the command, commands, records, and the time.

use std::cell::RefCell;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Child, Command};
use std::rc::Rc;
use std::time::{Duration, Instant};
use std::{io, thread};

use libbpf_rs::{RingBuffer, RingBufferBuilder};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use super::check;
use super::cpus::Cpus;
use super::end::{End, Verdict};
use super::error::LoadError;
use super::host::{Config, Stats};
use super::object::Scheduler;
use super::privileges;
use super::statistics::{History, Sample};
use super::sys::{self, Signals};
use super::{Options, Watch};
use crate::log::{Header, LogError, LogWriter};

/// How often the kernel is asked whether the scheduler is still there.
const LOOK: Duration = Duration::from_millis(200);
/// How long the kernel may take until its own scheduler is back.
const BACK: Duration = Duration::from_secs(10);
/// One of so many events measures its wait for the lock.
const LOCK_SAMPLE: u32 = 64;

/// Runs until somebody wants it to end.
pub fn run(options: &Options, watch: &mut dyn Watch) -> Result<End, LoadError> {
    check::all()?;
    let mut session = Session {
        options,
        signals: Signals::block().map_err(|error| LoadError::Io("cannot wait for signals".into(), error))?,
        lives: 0,
        command: None,
        begun: Instant::now(),
    };
    loop {
        match session.schedule(watch)? {
            Some(end) => return Ok(end),
            None => privileges::raise(),
        }
    }
}

type Log = Rc<RefCell<LogFile>>;

/// The log, and what went wrong with it: a callback of the ring buffer cannot return an error.
struct LogFile {
    writer: Option<LogWriter>,
    failed: Option<LogError>,
}

/// Each life of the scheduler has its log, because its machine begins anew: FILE, then FILE.2, FILE.3..
fn create_log(path: &Path, life: u32, config: &Config<'_>) -> Result<Log, LoadError> {
    let mut path = path.to_owned();
    if life > 1 {
        path.as_mut_os_string().push(format!(".{life}"));
    }
    let header = Header {
        spec: config.spec.to_string(),
        cpus: config.cpus.count(),
        pool: config.pool,
        quantum_ns: config.quantum_ns,
    };
    let writer = LogWriter::create(&path, &header).map_err(LoadError::Log)?;
    Ok(Rc::new(RefCell::new(LogFile { writer: Some(writer), failed: None })))
}

struct Session<'a> {
    options: &'a Options,
    signals: Signals,
    /// How often it was loaded.
    lives: u32,
    command: Option<Running>,
    begun: Instant,
}

/// The command under the scheduler.
struct Running {
    child: Child,
    /// Readable when it has ended.
    pidfd: OwnedFd,
}

impl Session<'_> {
    /// One life of the scheduler. None: it is to be loaded again.
    fn schedule(&mut self, watch: &mut dyn Watch) -> Result<Option<End>, LoadError> {
        let cpus = Cpus::online()?;
        let config = Config {
            spec: &self.options.spec,
            cpus: &cpus,
            quantum_ns: self.options.quantum.as_nanos() as u64,
            pool: self.options.pool,
            fail_every: self.options.fail_every,
            log: self.options.log.is_some(),
            cgroups: self.options.cgroups,
            patience_ms: self.options.patience.as_millis() as u32,
            sample: LOCK_SAMPLE,
        };
        self.lives += 1;
        let log =
            self.options.log.as_deref().map(|path| create_log(path, self.lives, &config)).transpose()?;
        let mut scheduler = Scheduler::start(&config, self.options.timeout.as_millis() as u32)?;
        watch.note(&format!("{} schedules {}", self.options.spec, count(cpus.count(), "CPU")));
        let records = log.as_ref().map(|log| ring(&scheduler, log)).transpose()?;
        if self.command.is_none() && !self.options.command.is_empty() {
            self.command = Some(start(&self.options.command)?);
        }
        privileges::drop();

        let mut history = History::new(cpus.count(), self.options.top);
        let loaded = Instant::now();
        let drained = Drained { ring: records.as_ref(), log: log.as_ref() };
        let outcome = self.watch(&scheduler, &drained, &mut history, loaded, watch);
        let ended_by_kernel = matches!(outcome, Ok(Outcome::Kernel(_)));
        history.interval(sample(&scheduler, loaded)?);
        scheduler.detach();
        let back = wait_until_back();
        drained.finish(&scheduler.stats()?)?;
        watch.total(&history.total());
        match outcome? {
            Outcome::End(end) => {
                back?;
                watch.note("unloaded: the kernel's own scheduler is back");
                Ok(Some(end))
            }
            Outcome::Kernel(Verdict::Restart(message)) => {
                watch.note(&format!("{message}: loading again"));
                Ok(None)
            }
            Outcome::Kernel(Verdict::Failed(error)) => {
                debug_assert!(ended_by_kernel);
                self.wait_for_command(watch);
                Err(error)
            }
        }
    }

    fn watch(
        &mut self,
        scheduler: &Scheduler,
        records: &Drained<'_>,
        history: &mut History,
        loaded: Instant,
        watch: &mut dyn Watch,
    ) -> Result<Outcome, LoadError> {
        let mut next = loaded + self.options.interval;
        loop {
            let deadline = self.options.duration.map(|duration| self.begun + duration);
            self.wait(records.ring, [Some(next), deadline])?;
            records.drain()?;
            if let Some(verdict) = Verdict::of(scheduler.exit()?) {
                return Ok(Outcome::Kernel(verdict));
            }
            if let Some(end) = self.ended(deadline)? {
                return Ok(Outcome::End(end));
            }
            if Instant::now() >= next {
                watch.interval(&history.interval(sample(scheduler, loaded)?));
                next += self.options.interval;
            }
        }
    }

    /// Sleeps until something happens, or until the first of the times.
    fn wait(&self, records: Option<&RingBuffer<'_>>, times: [Option<Instant>; 2]) -> Result<(), LoadError> {
        let now = Instant::now();
        let until = times.into_iter().flatten().map(|time| time.saturating_duration_since(now));
        let timeout = until.fold(LOOK, Duration::min);
        let timeout = Timespec { tv_sec: 0, tv_nsec: timeout.subsec_nanos().into() };
        let ring = records.map(sys::epoll_fd);
        let fds: Vec<BorrowedFd<'_>> = [Some(self.signals.as_fd()), ring]
            .into_iter()
            .chain([self.command.as_ref().map(|command| command.pidfd.as_fd())])
            .flatten()
            .collect();
        let mut fds: Vec<PollFd<'_>> =
            fds.into_iter().map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)).collect();
        match poll(&mut fds, Some(&timeout)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(error) => Err(LoadError::Io("cannot wait".to_owned(), error.into())),
        }
    }

    /// Whether it is to be unloaded, by anyone but the kernel.
    fn ended(&mut self, deadline: Option<Instant>) -> Result<Option<End>, LoadError> {
        if let Some(command) = &mut self.command
            && let Some(status) =
                command.child.try_wait().map_err(|error| LoadError::Io("cannot wait".into(), error))?
        {
            return Ok(Some(End::Command(exit_code(status))));
        }
        let signal = self.signals.take();
        let is_over = deadline.is_some_and(|deadline| Instant::now() >= deadline);
        match &mut self.command {
            Some(command) => {
                if let Some(signal) = signal.filter(|signal| !signal.from_terminal) {
                    command.signal(signal.number);
                } else if is_over {
                    command.signal(libc::SIGTERM);
                    return command
                        .child
                        .wait()
                        .map(|status| Some(End::Command(exit_code(status))))
                        .map_err(|error| LoadError::Io("cannot wait".into(), error));
                }
                Ok(None)
            }
            None => Ok((signal.is_some() || is_over).then_some(End::Asked)),
        }
    }

    /// It goes on under the kernel's own scheduler: what it does is worth more than what was to be seen of it.
    fn wait_for_command(&mut self, watch: &mut dyn Watch) {
        if let Some(command) = &mut self.command {
            watch.note("the command goes on under the kernel's own scheduler");
            let _ = command.child.wait();
        }
    }
}

enum Outcome {
    End(End),
    Kernel(Verdict),
}

impl Running {
    fn signal(&self, number: i32) {
        let Some(signal) = rustix::process::Signal::from_named_raw(number) else { return };
        // It may have ended just now.
        let _ = rustix::process::pidfd_send_signal(&self.pidfd, signal);
    }
}

fn start(command: &[std::ffi::OsString]) -> Result<Running, LoadError> {
    let (program, arguments) = command.split_first().expect("not empty");
    let mut command = Command::new(program);
    command.args(arguments);
    let failed = |error: io::Error| LoadError::Io(format!("cannot run {}", program.display()), error);
    let child = sys::with_signals(&mut command).spawn().map_err(failed)?;
    let pidfd =
        pidfd_open(Pid::from_child(&child), PidfdFlags::empty()).map_err(|error| failed(error.into()))?;
    Ok(Running { child, pidfd })
}

/// As a shell tells it.
fn exit_code(status: std::process::ExitStatus) -> u8 {
    status.code().or(status.signal().map(|signal| 128 + signal)).unwrap_or(1) as u8
}

fn sample(scheduler: &Scheduler, loaded: Instant) -> Result<Sample, LoadError> {
    Ok(Sample {
        at_ns: loaded.elapsed().as_nanos() as u64,
        stats: scheduler.stats()?,
        accounts: scheduler.accounts()?,
    })
}

fn ring<'a>(scheduler: &Scheduler, log: &Log) -> Result<RingBuffer<'a>, LoadError> {
    let log = Rc::clone(log);
    let take = move |record: &[u8]| {
        let mut log = log.borrow_mut();
        let written = log.writer.as_mut().map_or(Ok(()), |writer| writer.records(record));
        if let Err(error) = written {
            log.writer = None;
            log.failed = Some(error);
        }
        0
    };
    let map = scheduler.records()?;
    let mut builder = RingBufferBuilder::new();
    builder.add(&map, take).map_err(|error| LoadError::Mismatch(error.to_string()))?;
    builder.build().map_err(|error| LoadError::Mismatch(error.to_string()))
}

/// The ring buffer, and the log that it is emptied into.
struct Drained<'a> {
    ring: Option<&'a RingBuffer<'a>>,
    log: Option<&'a Log>,
}

impl Drained<'_> {
    fn drain(&self) -> Result<(), LoadError> {
        if let Some(ring) = self.ring {
            let _ = ring.consume_raw();
        }
        let failed = self.log.and_then(|log| log.borrow_mut().failed.take());
        failed.map_or(Ok(()), |error| Err(LoadError::Log(error)))
    }

    /// After the scheduler is gone
    fn finish(&self, stats: &Stats) -> Result<(), LoadError> {
        self.drain()?;
        let writer = self.log.and_then(|log| log.borrow_mut().writer.take());
        let finished = writer.map_or(Ok(()), |writer| writer.finish(stats.records, stats.dropped));
        finished.map_err(LoadError::Log)
    }
}

fn wait_until_back() -> Result<(), LoadError> {
    let asked = Instant::now();
    while check::state() != "disabled" {
        if asked.elapsed() > BACK {
            return Err(LoadError::NotBack(BACK.as_secs(), check::state()));
        }
        thread::sleep(Duration::from_millis(10));
    }
    Ok(())
}

fn count(n: u32, what: &str) -> String {
    if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") }
}
