//! Another policy in place of the loaded one. A thread of its own lets the kernel verify it while the loaded one schedules, so that
//! the kernel's own scheduler is in place for a moment only.

use std::error::Error as _;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, TryRecvError};
use std::thread;

use divvy_policy::spec::Spec;
use divvy_policy::{Failure as _, FailureKind};
use rustix::thread::gettid;

use super::configuration;
use super::cpus::{self, Cpus};
use super::error::LoadError;
use super::loadable::{bound, check_options};
use super::object::Scheduler;
use super::options::{Options, Watch};
use super::programs::Programs;
use super::protocol::Reply;
use super::ruling::Ruling;
use super::server::{reply, withdraw_if_gone};
use super::{privileges, quotas};
use crate::flow::Store;

/// A policy that the kernel has verified, and that schedules nothing yet.
pub struct Prepared {
    pub options: Options,
    pub spec: Spec,
    pub cpus: Cpus,
    /// The kernel's count of changes of CPUs, as it was before they were looked at.
    pub hotplug_seq: u64,
    pub ruling: Option<Ruling>,
    /// Programs that `+flow` knows.
    pub programs: Option<Programs>,
    pub scheduler: Scheduler,
}

impl Prepared {
    /// Loads the programs of a spec, which may have other parameters than the options' since `divvy set`.
    pub fn new(options: Options, spec: Spec, ruling: Option<Ruling>) -> Result<Self, LoadError> {
        let hotplug_seq = cpus::hotplug_seq();
        let cpus = Cpus::online(&spec)?;
        let config = configuration::config(&options, &spec, &cpus, ruling.is_some());
        // The database may be damaged.
        let programs = spec.knows_programs().then(|| Programs::open(Store::at(&options.db))).transpose()?;
        let timeout_ms = options.timeout.as_millis() as u32;
        let scheduler = Scheduler::load(&config, timeout_ms, hotplug_seq)?;
        Ok(Self { options, spec, cpus, hotplug_seq, ruling, programs, scheduler })
    }

    /// Tells it the rules: before it is attached, so that a group has its weight from its start.
    pub fn begin(&mut self, watch: &mut dyn Watch) -> Result<(), LoadError> {
        self.ruling.as_mut().map_or(Ok(()), |ruling| ruling.begin(&self.scheduler, watch))
    }

    /// The same for options alone.
    fn of(options: Options) -> Result<Self, LoadError> {
        check_options(&options)?;
        bound(&options)?;
        if !options.ignore_cpu_max {
            quotas::none(options.keeps_limits())?;
        }
        let (spec, ruling) = (configuration::spec(&options)?, Ruling::open(&options)?);
        Self::new(options, spec, ruling)
    }
}

/// Replacements that the kernel verifies at once. One that is taken back goes on to its end, so a client that asks and takes back would
/// have any number.
const MOST_AT_ONCE: usize = 2;

/// Counts the threads that verify: each has a clone.
#[derive(Default)]
pub struct Verifiers(Arc<()>);

impl Verifiers {
    fn has_room(&self) -> bool {
        Arc::strong_count(&self.0) <= MOST_AT_ONCE
    }
}

/// A replacement that is being prepared.
pub struct Replacement {
    client: UnixStream,
    stage: Stage,
}

enum Stage {
    /// No thread is free: requests that were taken back still use them.
    Queued(Box<Options>),
    Begun(Receiver<Heard>),
}

/// The words of the thread that prepares it.
enum Heard {
    /// Its number.
    Thread(u32),
    Prepared(Result<Box<Prepared>, LoadError>),
}

impl Replacement {
    /// To be prepared.
    pub fn new(options: Options, client: UnixStream) -> Self {
        Self { client, stage: Stage::Queued(Box::new(options)) }
    }

    /// Answers its client if that took it back. Returns whether it did.
    pub fn withdraw_if_gone(&self) -> bool {
        withdraw_if_gone(&self.client)
    }

    /// Looks how far it is, and begins as soon as there is room. To be called often.
    pub fn poll(self, verifiers: &Verifiers) -> Progress {
        if self.withdraw_if_gone() {
            return Progress::Refused;
        }
        let Self { client, stage } = self;
        let waits = |client, stage| Progress::Waits(Self { client, stage });
        let heard = match stage {
            Stage::Queued(options) if verifiers.has_room() => {
                return waits(client, Stage::Begun(verify(*options, verifiers)));
            }
            Stage::Queued(_) => return waits(client, stage),
            Stage::Begun(heard) => heard,
        };
        match heard.try_recv() {
            Err(TryRecvError::Empty) => waits(client, Stage::Begun(heard)),
            Ok(Heard::Thread(thread)) => Progress::Begun(Self { client, stage: Stage::Begun(heard) }, thread),
            Err(TryRecvError::Disconnected) => refuse(
                &client,
                &not_replaced("its thread ended without a result".to_owned(), FailureKind::Failed),
            ),
            Ok(Heard::Prepared(Err(error))) => refuse(&client, &not_replaced(chain(&error), error.kind())),
            // CPUs came or went meanwhile.
            Ok(Heard::Prepared(Ok(prepared))) if prepared.hotplug_seq != cpus::hotplug_seq() => {
                Progress::Waits(Self::new(prepared.options, client))
            }
            Ok(Heard::Prepared(Ok(prepared))) => Progress::Ready(prepared, client),
        }
    }
}

fn verify(options: Options, verifiers: &Verifiers) -> Receiver<Heard> {
    let (tell, heard) = mpsc::channel();
    let counted = Arc::clone(&verifiers.0);
    // The thread has this one's capabilities, which are dropped by now, and an ordinary priority.
    let _ = thread::Builder::new().spawn(move || {
        let _ = tell.send(Heard::Thread(gettid().as_raw_nonzero().get().cast_unsigned()));
        privileges::raise();
        let _ = tell.send(Heard::Prepared(Prepared::of(options).map(Box::new)));
        // One that was taken back is unloaded by now.
        drop(counted);
    });
    heard
}

/// The state of a replacement.
pub enum Progress {
    /// This thread prepares it.
    Begun(Replacement, u32),
    Waits(Replacement),
    /// The client was told why.
    Refused,
    /// To be put in place; then the client is told.
    Ready(Box<Prepared>, UnixStream),
}

fn refuse(client: &UnixStream, why: &Reply) -> Progress {
    reply(client, why);
    Progress::Refused
}

fn not_replaced(problem: String, kind: FailureKind) -> Reply {
    Reply::NotReplaced { problem, code: kind.exit_code() }
}

/// An error with its causes.
fn chain(error: &LoadError) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text += &format!(": {error}");
        cause = error.source();
    }
    text
}
