//! Writes the records of the ring buffer to the decision log.

use std::cell::RefCell;
use std::path::Path;
use std::rc::Rc;

use libbpf_rs::{RingBuffer, RingBufferBuilder};

use super::error::LoadError;
use super::host::{Config, Stats};
use super::object::Scheduler;
use divvy_log::{Header, LogError, LogWriter};

/// A decision log that is being written.
pub struct Records {
    ring: RingBuffer<'static>,
    log: Rc<RefCell<Log>>,
}

/// The log and its error: a callback of the ring buffer cannot return one.
struct Log {
    writer: Option<LogWriter>,
    failed: Option<LogError>,
}

/// Creates the log of the n-th loading. Each loading has its own, because it starts with a new machine: FILE, then FILE.2,
/// FILE.3 and so on.
pub fn create(path: &Path, loading: u32, config: &Config<'_>) -> Result<LogWriter, LoadError> {
    let mut path = path.to_owned();
    if loading > 1 {
        path.as_mut_os_string().push(format!(".{loading}"));
    }
    let header = Header {
        spec: config.spec.to_string(),
        cpus: config.cpus.count(),
        pool: config.pool,
        quantum_ns: config.quantum_ns,
        shards: config.cpus.divided().map_or_else(Vec::new, |divided| divided.sizes().to_vec()),
    };
    LogWriter::create(&path, &header).map_err(LoadError::Log)
}

impl Records {
    pub fn of(scheduler: &Scheduler, writer: LogWriter) -> Result<Self, LoadError> {
        let log = Rc::new(RefCell::new(Log { writer: Some(writer), failed: None }));
        let written = Rc::clone(&log);
        let take = move |record: &[u8]| {
            written.borrow_mut().write(record);
            0
        };
        let map = scheduler.records()?;
        let mut builder = RingBufferBuilder::new();
        builder.add(&map, take).map_err(|error| LoadError::Mismatch(error.to_string()))?;
        let ring = builder.build().map_err(|error| LoadError::Mismatch(error.to_string()))?;
        Ok(Self { ring, log })
    }

    pub fn drain(&self) -> Result<(), LoadError> {
        let _ = self.ring.consume_raw();
        self.log.borrow_mut().failed.take().map_or(Ok(()), |error| Err(LoadError::Log(error)))
    }

    /// Completes the log after the scheduler is detached.
    pub fn finish(self, stats: &Stats) -> Result<(), LoadError> {
        self.drain()?;
        let writer = self.log.borrow_mut().writer.take();
        let finished = writer.map_or(Ok(()), |writer| writer.finish(stats.records, stats.dropped));
        finished.map_err(LoadError::Log)
    }
}

impl Log {
    fn write(&mut self, record: &[u8]) {
        let written = self.writer.as_mut().map_or(Ok(()), |writer| writer.records(record));
        if let Err(error) = written {
            self.writer = None;
            self.failed = Some(error);
        }
    }
}
