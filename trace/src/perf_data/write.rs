//! Writes a `perf.data` while it is being recorded.
//!
//! Everything that describes the records stands before them, and one of the header's fields that no reader of today uses says
//! where: so a recording whose end is missing can be read as well. In a file the header is completed at the end; a stream has perf's
//! pipe mode.
//!
//! A sample has the event's number, process and thread, time, CPU and the tracepoint's fields; a switch also has the cgroup of the
//! thread that leaves.

mod formats;

use super::file::{FEATURE_OSRELEASE, FEATURE_TRACING_DATA, HEADER_SIZE};
use super::layout::{self, CGROUP, CPU, IDENTIFIER, SAMPLE_ID_ALL, TID, TIME};
use super::record;
use formats::{Tracepoint, tracing_data};
use std::io::{self, Seek, SeekFrom, Write};

/// `struct perf_event_attr` up to the clock.
const ATTR_SIZE: usize = 96;
const FEATURE_ARCH: u64 = 6;
const FEATURE_CPUS: u64 = 7;
const TYPE_TRACEPOINT: u32 = 2;
/// A flag of an attribute: the time is that of the clock that is named.
const USE_CLOCKID: u64 = 1 << 25;
const CLOCK_MONOTONIC: u32 = 1;
/// The name comes from exec.
const COMM_EXEC: u16 = 1 << 13;
/// Bytes that are held before they are written.
const HELD: usize = 1 << 18;

/// The place and time of an event: where, when, by whom.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stamp {
    /// The recording's clock; 0 for what was there before.
    pub t_ns: u64,
    /// The CPU.
    pub cpu: u32,
    /// Process of the thread that was on the CPU.
    pub process: i32,
    /// The thread that was on the CPU.
    pub tid: i32,
    /// `common_flags`: 0x08 in an interrupt, 0x10 in a soft one.
    pub flags: u8,
}

/// A thread as an event names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Named {
    /// Thread id.
    pub tid: i32,
    /// The kernel's priority.
    pub prio: i32,
    /// Its name, padded with NUL.
    pub comm: [u8; 16],
}

/// The machine, as far as a recording tells of it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Machine {
    /// The kernel's release.
    pub release: String,
    /// `x86_64`.
    pub architecture: String,
    /// Number of CPUs that there may be.
    pub cpus: u32,
    /// Number of CPUs that are online.
    pub online: u32,
    /// The flags of each [`Stamp`] are known.
    pub knows_interrupts: bool,
}

/// A recording that is being written.
pub struct PerfWriter<W> {
    out: W,
    held: Vec<u8>,
    /// Bytes of records that were handed out.
    written: u64,
    /// Contents of the features, with their places in a file; `None` in a stream.
    file: Option<Parts>,
}

/// The header of a file, as it will be.
struct Parts {
    header: [u8; HEADER_SIZE],
    /// Number, place and size of each feature.
    features: Vec<(u64, u64, u64)>,
}

impl<W: Write> PerfWriter<W> {
    /// Begins a stream, which ends with its last record.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn stream(mut out: W, machine: &Machine) -> io::Result<Self> {
        out.write_all(b"PERFILE2")?;
        out.write_all(&16u64.to_le_bytes())?;
        let mut writer = PerfWriter { out, held: Vec::with_capacity(2 * HELD), written: 0, file: None };
        for tracepoint in Tracepoint::all() {
            let id = tracepoint.id().to_le_bytes();
            writer.record(record::HEADER_ATTR, 0, &[&attr(tracepoint), &id]);
        }
        for (feature, data) in features(machine) {
            if feature == FEATURE_TRACING_DATA {
                writer.record(record::TRACING_DATA, 0, &[&(data.len() as u32).to_le_bytes(), &[0; 4]]);
                writer.held.extend(&data);
            } else {
                writer.record(record::HEADER_FEATURE, 0, &[&feature.to_le_bytes(), &data]);
            }
        }
        Ok(writer)
    }

    /// The CPU changes threads. `state` is numbered as the tracepoint does; `cgroup` is that of the thread that leaves.
    pub fn switch(&mut self, stamp: &Stamp, prev: &Named, state: u64, next: &Named, cgroup: u64) {
        let mut sample = sample::<{ RAW + 72 + 8 }>(Tracepoint::Switch, stamp);
        put_task(&mut sample, RAW + 4, prev);
        put(&mut sample, RAW + 4 + 32, state.to_le_bytes());
        put_task(&mut sample, RAW + 4 + 32, next);
        put(&mut sample, RAW + 72, cgroup.to_le_bytes());
        self.held.extend_from_slice(&sample);
    }

    /// CPU time that a thread received since the last such event.
    pub fn runtime(&mut self, stamp: &Stamp, task: &Named, ns: u64) {
        let mut sample = sample::<{ RAW + 48 }>(Tracepoint::Runtime, stamp);
        put_task(&mut sample, RAW + 4, task);
        put(&mut sample, RAW + 4 + 32, ns.to_le_bytes());
        self.held.extend_from_slice(&sample);
    }

    /// The current thread wakes another, which was last on the CPU `target`.
    pub fn waking(&mut self, stamp: &Stamp, task: &Named, target: i32) {
        self.wake(Tracepoint::Waking, stamp, task, target);
    }

    /// A new thread is runnable for the first time.
    pub fn woken_new(&mut self, stamp: &Stamp, task: &Named, target: i32) {
        self.wake(Tracepoint::WakeupNew, stamp, task, target);
    }

    fn wake(&mut self, tracepoint: Tracepoint, stamp: &Stamp, task: &Named, target: i32) {
        let mut sample = sample::<{ RAW + 40 }>(tracepoint, stamp);
        put_task(&mut sample, RAW + 4, task);
        put(&mut sample, RAW + 4 + 32, target.to_le_bytes());
        self.held.extend_from_slice(&sample);
    }

    /// A thread goes to another CPU.
    pub fn migrate(&mut self, stamp: &Stamp, task: &Named, from: i32, to: i32) {
        let mut sample = sample::<{ RAW + 48 }>(Tracepoint::Migrate, stamp);
        put_task(&mut sample, RAW + 4, task);
        put(&mut sample, RAW + 4 + 32, from.to_le_bytes());
        put(&mut sample, RAW + 4 + 36, to.to_le_bytes());
        self.held.extend_from_slice(&sample);
    }

    /// A thread's name.
    pub fn comm(&mut self, stamp: &Stamp, process: i32, tid: i32, comm: &[u8; 16], is_exec: bool) {
        let length = comm.iter().position(|&b| b == 0).unwrap_or(15);
        let misc = if is_exec { COMM_EXEC } else { 0 };
        let text = &comm[..(length + 1).next_multiple_of(8)];
        self.side_band(record::COMM, misc, &[&process.to_le_bytes(), &tid.to_le_bytes(), text], stamp);
    }

    /// The current thread made another.
    pub fn fork(&mut self, stamp: &Stamp, process: i32, tid: i32) {
        self.birth_or_death(record::FORK, stamp, process, tid);
    }

    /// A thread ends.
    pub fn exit(&mut self, stamp: &Stamp, process: i32, tid: i32) {
        self.birth_or_death(record::EXIT, stamp, process, tid);
    }

    fn birth_or_death(&mut self, kind: u32, stamp: &Stamp, process: i32, tid: i32) {
        let numbers = [process, stamp.process, tid, stamp.tid].map(i32::to_le_bytes);
        self.side_band(kind, 0, &[numbers.as_flattened(), &stamp.t_ns.to_le_bytes()], stamp);
    }

    /// So many events of this CPU, just before this time, are not in the recording.
    pub fn lost(&mut self, stamp: &Stamp, events: u64) {
        let id = Tracepoint::Switch.id().to_le_bytes();
        self.side_band(record::LOST, 0, &[&id, &events.to_le_bytes()], stamp);
    }

    /// The path of a cgroup that switches name by its number.
    pub fn cgroup(&mut self, id: u64, path: &[u8]) {
        let mut text = path[..path.len().min(4095)].to_vec();
        text.resize((text.len() + 1).next_multiple_of(8), 0);
        self.side_band(record::CGROUP, 0, &[&id.to_le_bytes(), &text], &Stamp::default());
    }

    /// Ends a round: all rings were read once, so no later record is older than the newest of the round before.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn round(&mut self) -> io::Result<()> {
        self.record(record::FINISHED_ROUND, 0, &[]);
        self.flush()
    }

    /// The place that it writes to.
    pub fn output(&mut self) -> &mut W {
        &mut self.out
    }

    /// Bytes of records so far.
    pub fn size(&self) -> u64 {
        self.written + self.held.len() as u64
    }

    /// Hands out what is held, if that is worth it.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn relieve(&mut self) -> io::Result<()> {
        if self.held.len() < HELD { Ok(()) } else { self.flush() }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.write_all(&self.held)?;
        self.written += self.held.len() as u64;
        self.held.clear();
        Ok(())
    }

    fn record(&mut self, kind: u32, misc: u16, parts: &[&[u8]]) {
        let size = 8 + parts.iter().map(|part| part.len()).sum::<usize>();
        self.held.extend(kind.to_le_bytes());
        self.held.extend(misc.to_le_bytes());
        self.held.extend((size as u16).to_le_bytes());
        parts.iter().for_each(|part| self.held.extend(*part));
    }

    /// A record that is not a sample: it ends with thread, time, CPU and number.
    fn side_band(&mut self, kind: u32, misc: u16, parts: &[&[u8]], stamp: &Stamp) {
        let mut trailer = [0; 32];
        trailer[..4].copy_from_slice(&stamp.process.to_le_bytes());
        trailer[4..8].copy_from_slice(&stamp.tid.to_le_bytes());
        trailer[8..16].copy_from_slice(&stamp.t_ns.to_le_bytes());
        trailer[16..20].copy_from_slice(&stamp.cpu.to_le_bytes());
        trailer[24..].copy_from_slice(&Tracepoint::Switch.id().to_le_bytes());
        let parts: Vec<&[u8]> = parts.iter().copied().chain([trailer.as_slice()]).collect();
        self.record(kind, misc, &parts);
    }

    /// Ends a stream; a file is left without its end.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn end(mut self) -> io::Result<W> {
        self.flush()?;
        self.out.flush()?;
        Ok(self.out)
    }
}

impl<W: Write + Seek> PerfWriter<W> {
    /// Begins a file.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn file(mut out: W, machine: &Machine) -> io::Result<Self> {
        let (mut attrs, mut ids) = (Vec::new(), Vec::new());
        let ids_at = HEADER_SIZE + Tracepoint::all().count() * (ATTR_SIZE + 16);
        for tracepoint in Tracepoint::all() {
            attrs.extend(attr(tracepoint));
            attrs.extend(((ids_at + ids.len()) as u64).to_le_bytes());
            attrs.extend(8u64.to_le_bytes());
            ids.extend(tracepoint.id().to_le_bytes());
        }
        let mut front = [attrs.as_slice(), &ids].concat();
        let mut features = features(machine);
        features.sort_by_key(|(feature, _)| *feature);
        let mut places = Vec::new();
        for (feature, content) in &features {
            places.push((*feature, (HEADER_SIZE + front.len()) as u64, content.len() as u64));
            front.extend(content);
            front.resize(front.len().next_multiple_of(8), 0);
        }
        let data = (HEADER_SIZE + front.len()) as u64;
        let mut header = [0; HEADER_SIZE];
        header[..8].copy_from_slice(b"PERFILE2");
        let mut put = |at: usize, value: u64| header[at..at + 8].copy_from_slice(&value.to_le_bytes());
        put(8, HEADER_SIZE as u64);
        put(16, (ATTR_SIZE + 16) as u64);
        put(24, HEADER_SIZE as u64);
        put(32, attrs.len() as u64);
        put(40, data);
        let (_, at, size) = places[0]; // the tracepoints, whose number is the lowest
        put(56, at);
        put(64, size);
        out.write_all(&header)?;
        out.write_all(&front)?;
        let file = Some(Parts { header, features: places });
        Ok(PerfWriter { out, held: Vec::with_capacity(2 * HELD), written: 0, file })
    }

    /// Completes a file.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn finish(mut self) -> io::Result<W> {
        self.flush()?;
        let Some(Parts { mut header, features }) = self.file else { return Ok(self.out) };
        let mut bits = 0u64;
        for (feature, at, size) in features {
            bits |= 1 << feature;
            self.out.write_all(&at.to_le_bytes())?;
            self.out.write_all(&size.to_le_bytes())?;
        }
        header[48..56].copy_from_slice(&self.written.to_le_bytes());
        header[72..80].copy_from_slice(&bits.to_le_bytes());
        self.out.seek(SeekFrom::Start(0))?;
        self.out.write_all(&header)?;
        self.out.flush()?;
        Ok(self.out)
    }
}

/// Where a sample has the length of the tracepoint's fields: behind the head, its number, thread, time and CPU.
const RAW: usize = 8 + 8 + 8 + 8 + 8;

/// A sample of a known size, without the tracepoint's own fields. All sizes and places are constants, because this is done for each
/// event of the machine.
fn sample<const SIZE: usize>(tracepoint: Tracepoint, stamp: &Stamp) -> [u8; SIZE] {
    let behind = if tracepoint == Tracepoint::Switch { 8 } else { 0 };
    let mut sample = [0; SIZE];
    put(&mut sample, 0, record::SAMPLE.to_le_bytes());
    put(&mut sample, 6, (SIZE as u16).to_le_bytes());
    put(&mut sample, 8, tracepoint.id().to_le_bytes());
    put(&mut sample, 16, stamp.process.to_le_bytes());
    put(&mut sample, 20, stamp.tid.to_le_bytes());
    put(&mut sample, 24, stamp.t_ns.to_le_bytes());
    put(&mut sample, 32, stamp.cpu.to_le_bytes());
    put(&mut sample, RAW, ((SIZE - RAW - 4 - behind) as u32).to_le_bytes());
    put(&mut sample, RAW + 4, (tracepoint.id() as u16).to_le_bytes());
    sample[RAW + 4 + 2] = stamp.flags;
    put(&mut sample, RAW + 4 + 4, stamp.tid.to_le_bytes());
    sample
}

#[inline]
fn put<const SIZE: usize, const N: usize>(sample: &mut [u8; SIZE], at: usize, bytes: [u8; N]) {
    sample[at..at + N].copy_from_slice(&bytes);
}

/// A thread's name, number and priority, where most tracepoints have them.
#[inline]
fn put_task<const SIZE: usize>(sample: &mut [u8; SIZE], at: usize, task: &Named) {
    put(sample, at + 8, task.comm);
    put(sample, at + 24, task.tid.to_le_bytes());
    put(sample, at + 28, task.prio.to_le_bytes());
}

/// `struct perf_event_attr`.
fn attr(tracepoint: Tracepoint) -> [u8; ATTR_SIZE] {
    let cgroup = if tracepoint == Tracepoint::Switch { CGROUP } else { 0 };
    let mut attr = [0; ATTR_SIZE];
    attr[..4].copy_from_slice(&TYPE_TRACEPOINT.to_le_bytes());
    attr[4..8].copy_from_slice(&(ATTR_SIZE as u32).to_le_bytes());
    attr[8..16].copy_from_slice(&tracepoint.id().to_le_bytes());
    attr[16..24].copy_from_slice(&1u64.to_le_bytes()); // each event is a sample
    attr[24..32].copy_from_slice(&(IDENTIFIER | TID | TIME | CPU | layout::RAW | cgroup).to_le_bytes());
    attr[40..48].copy_from_slice(&(SAMPLE_ID_ALL | USE_CLOCKID).to_le_bytes());
    attr[92..96].copy_from_slice(&CLOCK_MONOTONIC.to_le_bytes());
    attr
}

fn features(machine: &Machine) -> Vec<(u64, Vec<u8>)> {
    let text = |text: &str| {
        let mut bytes = text.as_bytes().to_vec();
        bytes.resize((text.len() + 1).next_multiple_of(64), 0);
        [&(bytes.len() as u32).to_le_bytes(), bytes.as_slice()].concat()
    };
    let cpus = [machine.cpus, machine.online].map(u32::to_le_bytes);
    vec![
        (FEATURE_TRACING_DATA, tracing_data(machine.knows_interrupts)),
        (FEATURE_OSRELEASE, text(&machine.release)),
        (FEATURE_ARCH, text(&machine.architecture)),
        (FEATURE_CPUS, cpus.concat()),
    ]
}
