//! `perf.data`, as `perf sched record` writes it: to a file, or to a pipe.
//!
//! Source: `tools/perf/Documentation/perf.data-file-format.txt`. Read record by record; nothing but the layout tables, the embedded
//! tracepoint descriptions and a window of two rounds is held.

pub(crate) mod bytes;
mod compressed;
pub(crate) mod file;
pub(crate) mod format;
mod guess;
pub(crate) mod layout;
pub(crate) mod record;
pub(crate) mod scrub;
pub(crate) mod tracepoints;
pub(crate) mod window;
pub(crate) mod write;

use divvy_policy::CpuId;

use crate::error::{ErrorKind, Place, TraceError};
use crate::event::{Comm, Context, Event, Kind, TaskRef};
use crate::import::Facts;
use bytes::{Endian, Stream};
use compressed::Compressed;
use divvy_results::schedule::State;
use file::{Description, Header, Section};
use format::{MOST_TRACING_DATA, TracingData};
use layout::{Layout, Origin};
use std::collections::HashMap;
use std::io::{Read, Seek, SeekFrom};
use std::path::PathBuf;
use tracepoints::Decoders;
use window::{Sink, Window};

/// Reads a recording from something that can seek: descriptions lie behind the data.
pub(crate) fn import_file<R: Read + Seek>(mut input: R, sink: &mut Sink) -> Result<Facts, TraceError> {
    let mut importer = Importer::new(Endian::Little, sink);
    importer.file(&mut input)?;
    importer.finish()
}

/// Reads the recording of `perf record --threads`: the first file describes, the others have one thread's records each.
pub(crate) fn import_directory<R: Read + Seek, P: Read>(
    mut main: R,
    parts: &[PathBuf],
    open: &dyn Fn(&PathBuf) -> Result<P, TraceError>,
    sink: &mut Sink,
) -> Result<Facts, TraceError> {
    let mut importer = Importer::new(Endian::Little, sink);
    importer.window = Window::whole(); // rounds are those of one file
    importer.file(&mut main)?;
    for path in parts {
        let name = path.display().to_string();
        let read = |importer: &mut Importer| {
            importer.compressed = Compressed::default();
            importer.records(&mut Stream::new(open(path)?, 0), None)
        };
        read(&mut importer).map_err(|e| e.in_file(&name))?;
    }
    importer.finish()
}

/// Reads a recording from a stream in pipe mode (`perf record -o -`): descriptions come as records before they are needed.
pub(crate) fn import_pipe<R: Read>(input: R, sink: &mut Sink) -> Result<Facts, TraceError> {
    let mut stream = Stream::new(input, 0);
    let mut start = [0; 16];
    stream.fill(&mut start, "its header")?;
    let Some((endian, true)) = Header::sniff(&start) else {
        return Err(TraceError::new(
            ErrorKind::Unsupported,
            "perf.data in its file form cannot be read from a stream",
        )
        .advise("its description lies behind the data: save it to a file and give the file's name"));
    };
    let mut importer = Importer::new(endian, sink);
    importer.records(&mut stream, None)?;
    importer.finish()
}

/// Most cgroups whose paths are kept, and the longest path of the kernel.
const MOST_CGROUPS: usize = 1 << 16;
const LONGEST_PATH: usize = 4096;
/// Most threads whose cgroup is kept to tell of changes only.
const MOST_MEMBERS: usize = 1 << 20;

struct Importer<'a, 'b> {
    endian: Endian,
    description: Description,
    decoders: Option<Decoders>,
    window: Window,
    compressed: Compressed,
    sink: &'a mut Sink<'b>,
    facts: Facts,
    /// The cgroups that were told of, by thread.
    cgroups: HashMap<i32, u64>,
}

impl<'a, 'b> Importer<'a, 'b> {
    fn new(endian: Endian, sink: &'a mut Sink<'b>) -> Self {
        let facts = Facts { format: "perf.data", ..Facts::default() };
        Importer {
            endian,
            description: Description::default(),
            decoders: None,
            window: Window::default(),
            compressed: Compressed::default(),
            sink,
            facts,
            cgroups: HashMap::new(),
        }
    }

    /// Reads a file. If its end is missing, so are the descriptions of its events; then they are guessed.
    fn file<R: Read + Seek>(&mut self, input: &mut R) -> Result<(), TraceError> {
        let length = input.seek(SeekFrom::End(0))?;
        let header = file::read_header(input, length)?;
        let Section { offset, size } = header.data;
        self.endian = header.endian;
        self.description = file::events(input, &header, length)?;
        let is_whole = size > 0 && offset.checked_add(size).is_some_and(|end| end <= length);
        match is_whole {
            true => match file::features(input, &header, length, &mut self.description) {
                // Behind the one that is needed.
                Err(error) if error.kind == ErrorKind::Truncated && self.description.is_described() => {
                    self.facts.cut_at = Some(length);
                }
                read => read?,
            },
            false if file::early_tracing_data(input, &header, length, &mut self.description) => {
                self.facts.cut_at = Some(length);
            }
            false => {
                input.seek(SeekFrom::Start(offset))?;
                let guessed = guess::formats(&mut *input, offset, &self.description, header.endian);
                self.description.tracing.formats = guessed.ok_or_else(|| file::unfinished(size, length))?;
                (self.facts.cut_at, self.facts.guessed) = (Some(length), true);
            }
        }
        self.decoders = Some(self.description.decoders(self.endian)?);
        input.seek(SeekFrom::Start(offset))?;
        let end = if is_whole { Some(offset + size) } else { None };
        self.records(&mut Stream::new(input, offset), end)
    }

    /// Reads records up to `end`, or to the end of the stream. What came before a cut is used.
    fn records<R: Read>(&mut self, stream: &mut Stream<R>, end: Option<u64>) -> Result<(), TraceError> {
        let is_piped = self.decoders.is_none();
        if let Err(error) = self.whole_records(stream, end, is_piped) {
            // Where the end of the data is not known, what follows it may look like a record.
            let is_end = error.kind == ErrorKind::Truncated
                || (self.facts.guessed && error.kind == ErrorKind::Malformed);
            if !is_end || self.decoders.is_none() {
                return Err(error);
            }
            self.facts.cut_at.get_or_insert(stream.offset);
            self.window.cut();
        }
        self.compressed.end()?;
        self.unpacked_records()
    }

    fn whole_records<R: Read>(
        &mut self,
        stream: &mut Stream<R>,
        end: Option<u64>,
        is_piped: bool,
    ) -> Result<(), TraceError> {
        let mut payload = Vec::new();
        while end.is_none_or(|end| stream.offset < end) {
            let start = stream.offset;
            let mut head = [0; 8];
            if !stream.fill_or_end(&mut head, "a record")? {
                match end {
                    Some(_) => return Err(bytes::truncated("the data section", start)),
                    None => break,
                }
            }
            let (kind, size) = record::head(&head, self.endian).map_err(|e| e.at(Place::Offset(start)))?;
            payload.resize(size, 0);
            stream.fill(&mut payload, "a record")?;
            let read = match kind {
                record::TRACING_DATA if is_piped => self.piped_tracing_data(stream, &payload),
                record::AUXTRACE => stream.skip(self.endian.u64(&payload, 0).unwrap_or(0), "an AUX trace"),
                record::COMPRESSED => self.packed_records(&payload),
                record::COMPRESSED2 => {
                    let size = self.endian.u64(&payload, 0).unwrap_or(0);
                    let data = payload.get(8..).unwrap_or_default();
                    self.packed_records(&data[..data.len().min(usize::try_from(size).unwrap_or(usize::MAX))])
                }
                _ => self.record(kind, &payload),
            };
            read.map_err(|e| e.at(Place::Offset(start)))?;
        }
        Ok(())
    }

    /// Records in a compressed record; the last may be cut, and go on in the next.
    fn packed_records(&mut self, piece: &[u8]) -> Result<(), TraceError> {
        self.window.ignore_rounds(); // they pass before the records that the decoder still keeps
        let mut compressed = std::mem::take(&mut self.compressed);
        let done = compressed.add(piece, |unpacked| self.take_records(unpacked));
        self.compressed = compressed;
        done
    }

    fn unpacked_records(&mut self) -> Result<(), TraceError> {
        let mut unpacked = std::mem::take(&mut self.compressed.unpacked);
        self.take_records(&mut unpacked)?;
        self.facts.malformed += u64::from(!unpacked.is_empty());
        Ok(())
    }

    /// Takes all whole records from the front.
    fn take_records(&mut self, unpacked: &mut Vec<u8>) -> Result<(), TraceError> {
        let mut at = 0;
        while let Some(head) = unpacked.get(at..at + 8).and_then(|head| head.try_into().ok()) {
            let (kind, size) = record::head(head, self.endian)?;
            let Some(payload) = unpacked.get(at + 8..at + 8 + size) else { break };
            self.record(kind, payload)?;
            at += 8 + size;
        }
        unpacked.drain(..at);
        Ok(())
    }

    fn piped_tracing_data<R: Read>(
        &mut self,
        stream: &mut Stream<R>,
        payload: &[u8],
    ) -> Result<(), TraceError> {
        let (start, size) = (stream.offset, u64::from(self.endian.u32(payload, 0).unwrap_or(0)));
        let data = stream.claimed(size, MOST_TRACING_DATA, "the tracepoint description")?;
        self.description.tracing = TracingData::parse(&data).ok_or_else(|| file::bad_tracing_data(start))?;
        self.decoders = Some(self.description.decoders(self.endian)?);
        Ok(())
    }

    fn record(&mut self, kind: u32, payload: &[u8]) -> Result<(), TraceError> {
        match kind {
            record::SAMPLE => self.sample(payload),
            record::COMM | record::FORK | record::EXIT | record::LOST | record::LOST_SAMPLES => {
                self.side_band(kind, payload)
            }
            record::CGROUP => {
                self.cgroup_path(payload);
                Ok(())
            }
            record::FINISHED_ROUND => self.window.end_round(self.sink),
            record::HEADER_ATTR => {
                self.description.add_piped_attr(payload, self.endian);
                Ok(())
            }
            record::HEADER_FEATURE => {
                let (feature, data) = payload.split_at(payload.len().min(8));
                self.description.add_feature(self.endian.u64(feature, 0).unwrap_or(0), data, self.endian);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn sample(&mut self, payload: &[u8]) -> Result<(), TraceError> {
        let Some(decoders) = &self.decoders else {
            return Err(TraceError::new(
                ErrorKind::Malformed,
                "a sample comes before the description of the tracepoints",
            ));
        };
        if self.description.layouts.is_ambiguous() {
            return Err(TraceError::new(
                ErrorKind::Unsupported,
                "its events have different layouts and no identifiers",
            )
            .advise("record again with perf sched record"));
        }
        let layout = self.description.layouts.of_sample(payload, self.endian);
        let Some(layout) = layout.filter(Layout::is_useful) else {
            return Ok(());
        };
        let Some((origin, raw)) = layout.sample(payload, self.endian) else {
            self.facts.malformed += 1;
            return Ok(());
        };
        let Some(decoded) = decoders.decode(raw) else {
            self.facts.malformed += u64::from(decoders.knows(raw));
            return Ok(());
        };
        // A dying thread is already without a number for perf; the tracepoint itself still has it.
        let tid = decoded.tid.unwrap_or(origin.tid);
        let process = if origin.tid == tid { origin.process } else { -1 };
        let context = Context { tid, process, interrupt: decoded.interrupt };
        self.push(origin, context, decoded.kind)?;
        match (decoded.kind, origin.cgroup) {
            (Kind::Switch { prev, state, .. }, Some(cgroup)) => {
                self.cgroup(origin, prev.tid, cgroup, state == State::Dead)
            }
            _ => Ok(()),
        }
    }

    /// Tells of the cgroup of the thread that leaves, if it is another than before.
    fn cgroup(&mut self, origin: Origin, tid: i32, cgroup: u64, is_dead: bool) -> Result<(), TraceError> {
        let is_known = self.cgroups.get(&tid) == Some(&cgroup);
        if is_dead {
            self.cgroups.remove(&tid); // its number will be another's
        } else if self.cgroups.len() < MOST_MEMBERS {
            self.cgroups.insert(tid, cgroup);
        }
        if is_known || tid == 0 {
            return Ok(());
        }
        self.push(origin, Context::UNKNOWN, Kind::Cgroup { tid, cgroup })
    }

    /// The path of a cgroup.
    fn cgroup_path(&mut self, payload: &[u8]) {
        let Some((id, text)) = self.endian.u64(payload, 0).zip(payload.get(8..)) else { return };
        if self.facts.cgroups.len() < MOST_CGROUPS {
            let end = memchr::memchr(0, text).unwrap_or(text.len()).min(LONGEST_PATH);
            self.facts.cgroups.insert(id, String::from_utf8_lossy(&text[..end]).into_owned());
        }
    }

    /// Records about threads and losses that perf writes beside the samples.
    fn side_band(&mut self, kind: u32, payload: &[u8]) -> Result<(), TraceError> {
        let number = |at| self.endian.u32(payload, at).map(|n| n as i32);
        let layout = self.description.layouts.of_other(payload, self.endian);
        let origin = layout.and_then(|l| l.trailer(payload, self.endian)).filter(|o| o.t_ns > 0);
        let said = match kind {
            record::COMM => number(0).zip(number(4)).map(|(process, tid)| {
                let task = TaskRef { tid, comm: Comm::new(&payload[8..]), prio: None };
                if origin.is_some() { Kind::Rename { task } } else { Kind::Identity { task, process } }
            }),
            record::FORK => number(0).zip(number(8)).zip(number(12)).map(|((process, tid), parent)| {
                let child = TaskRef::named(tid, b"");
                if origin.is_some() {
                    Kind::Fork { parent, child, process }
                } else {
                    Kind::Identity { task: child, process }
                }
            }),
            record::EXIT => number(8).map(|tid| Kind::Exit { tid }),
            record::LOST => self.endian.u64(payload, 8).map(|events| Kind::Lost { events }),
            _ => self.endian.u64(payload, 0).map(|events| Kind::Lost { events }),
        };
        match (said, origin) {
            (None, _) => self.facts.malformed += 1,
            (Some(kind), Some(origin)) => {
                let context = Context { tid: origin.tid, process: origin.process, interrupt: None };
                return self.push(origin, context, kind);
            }
            (Some(kind @ Kind::Identity { .. }), None) => {
                return (self.sink)(&Event { t_ns: 0, cpu: CpuId::new(0), context: Context::UNKNOWN, kind });
            }
            (Some(Kind::Lost { events }), None) => {
                self.facts.lost_somewhere = self.facts.lost_somewhere.saturating_add(events)
            }
            (Some(_), None) => {}
        }
        Ok(())
    }

    fn push(&mut self, origin: Origin, context: Context, kind: Kind) -> Result<(), TraceError> {
        let event = Event { t_ns: origin.t_ns, cpu: origin.cpu, context, kind };
        self.window.push(event, self.sink)
    }

    fn finish(mut self) -> Result<Facts, TraceError> {
        self.window.finish(self.sink)?;
        self.facts.clock = self.description.clock;
        self.facts.kernel = self.description.release;
        Ok(self.facts)
    }
}
