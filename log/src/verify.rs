//! Tells a native machine the events that the kernel's machine was told, and compares the answers.

use divvy_policy::spec::{self, Spec, SpecError, SpecProblem};
use divvy_policy::{Answer, CpuId, CpuMask, Event, MAX_TASKS, Machine, TaskId, Weight, placement};
use std::collections::VecDeque;
use std::io;
use std::path::Path;

use super::error::LogError;
use super::format::{Header, Record, offset};
use super::reader::{Entry, Next, Reader};
use super::reorder::Reorder;
use super::text::AnswerText;
use super::told::Told;
use super::validate::Validator;

/// The kernel's machine has no more CPUs: `MAX_CPUS` of `policy/base.h`.
const MOST_CPUS: u32 = 256;

/// Events before a mismatch that are shown with it.
const SHOWN_BEFORE: usize = 10;

/// The first answer that differs.
#[derive(Clone, Debug)]
pub struct Mismatch {
    /// The event, with the kernel's answer.
    pub told: Told,
    /// The native machine's.
    pub native: Answer,
    /// The last events before it.
    pub before: Vec<Told>,
}

impl Mismatch {
    /// The kernel's answer and the native machine's, in words.
    #[must_use]
    pub fn answers(&self) -> [String; 2] {
        [self.told.answer, self.native].map(|answer| AnswerText(&self.told.event, &answer).to_string())
    }
}

/// Records that are missing, because they found no room in the kernel's ring buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap {
    /// The number of the first event that is missing, if one of them was told before the last one that is there.
    pub at: Option<u64>,
    /// How many are missing there, without a break.
    pub missing: u64,
}

/// The verdict on a log.
#[derive(Clone, Debug)]
pub enum Verdict {
    /// Every answer agrees with the native machine's.
    Ok,
    /// One answer differs; nothing after it was compared.
    Mismatch(Box<Mismatch>),
    /// Every answer up to the gap agrees; after it nothing can be compared.
    Incomplete(Gap),
}

/// The result.
#[derive(Clone, Debug)]
pub struct Report {
    /// The log's.
    pub header: Header,
    /// Events told to the native machine.
    pub events: u64,
    /// The events among them that ask for the next task of a CPU.
    pub decisions: u64,
    /// The events among them whose answers were compared.
    pub answers: u64,
    /// Records in the file, as far as it was read.
    pub records: u64,
    /// Records that found no room, by the kernel's count; 0 until the end of the file was read.
    pub dropped: u64,
    /// Time of the first event, in ns.
    pub first_ns: u64,
    /// Time of the last event, in ns.
    pub last_ns: u64,
    /// Whether they agree.
    pub verdict: Verdict,
}

/// Replays a log through the native build of its policy. `observe` sees each event before it is told.
///
/// # Errors
/// If the file cannot be read, is not a log, is cut off, or has an event that is not valid for a machine; and the errors
/// of `observe`.
pub fn verify(file: &Path, observe: &mut dyn FnMut(&Told) -> io::Result<()>) -> Result<Report, LogError> {
    verify_from(file, 1, observe)
}

/// The first event has this number.
pub(super) fn verify_from(
    file: &Path,
    first: u32,
    observe: &mut dyn FnMut(&Told) -> io::Result<()>,
) -> Result<Report, LogError> {
    let mut reader = Reader::open(file)?;
    let foreign = |what| LogError::Foreign { file: file.to_owned(), what };
    let mut replay = Replay::new(&reader.header, reader.header_size).map_err(foreign)?;
    let mut orders: Vec<Reorder> =
        replay.shards.iter().map(|shard| Reorder::new(first, shard.cpus)).collect();
    let mut lost = false;
    let end = loop {
        let entry = match reader.next()? {
            Next::Record(entry) => entry,
            Next::End(trailer) => break trailer,
            Next::Cut(at) => return Err(LogError::Cut { file: file.to_owned(), at, events: replay.events }),
        };
        if lost {
            continue;
        }
        let at = usize::from(entry.record.shard);
        let order =
            orders.get_mut(at).ok_or_else(|| reader.bad(entry.number, format!("there is no shard {at}")))?;
        lost = !order.push(entry).map_err(|what| reader.bad(entry.number, what))?;
        while let Some((entry, mask)) = order.pop() {
            let told = replay.read(&entry, mask).map_err(|what| reader.bad(entry.number, what))?;
            observe(&told).map_err(LogError::Observer)?;
            if let Some(mismatch) = replay.tell(told) {
                return Ok(replay.report(&reader, 0, Verdict::Mismatch(Box::new(mismatch))));
            }
        }
    };
    if end.records != reader.records {
        let what = format!(
            "the trailer says that the kernel wrote {} records, and the file has {}: the copy is incomplete, or the \
             ring buffer was not emptied",
            end.records, reader.records
        );
        return Err(reader.bad(reader.records + 1, what));
    }
    // The first shard that misses one; what others were told is compared nevertheless.
    let missing = orders.iter().enumerate().find_map(|(at, order)| Some((at, order.missing()?)));
    let verdict = match missing {
        Some((at, missing)) => Verdict::Incomplete(Gap { at: Some(replay.shards[at].events + 1), missing }),
        None if end.dropped > 0 => Verdict::Incomplete(Gap { at: None, missing: end.dropped }),
        None => Verdict::Ok,
    };
    Ok(replay.report(&reader, end.dropped, verdict))
}

/// The native machines, one for each shard, and counts of the events so far.
pub(super) struct Replay {
    shards: Vec<Shard>,
    header_size: u64,
    events: u64,
    decisions: u64,
    answers: u64,
    first_ns: u64,
    last_ns: u64,
}

struct Shard {
    cpus: u32,
    machine: Machine,
    validator: Validator,
    events: u64,
    before: VecDeque<Told>,
}

/// CPUs of each shard; of all, if there is one.
fn sizes(header: &Header, spec: &Spec) -> Result<Vec<u32>, String> {
    if header.shards.is_empty() {
        return Ok(vec![header.cpus]);
    }
    if spec.placement.is_none() {
        return Err(format!("a damaged header: shards, but {:?} has one queue", header.spec));
    }
    let sizes: Vec<u32> = header.shards.iter().map(|cpus| u32::from(*cpus)).collect();
    let is_possible = sizes.len() > 1 && sizes.iter().all(|cpus| (1..=placement::MOST_CPUS).contains(cpus));
    if !is_possible || sizes.iter().sum::<u32>() != header.cpus {
        return Err(format!("a damaged header: {} CPUs in shards of {sizes:?}", header.cpus));
    }
    Ok(sizes)
}

impl Replay {
    pub(super) fn new(header: &Header, header_size: u64) -> Result<Replay, String> {
        if header.pool == 0 || header.pool >= MAX_TASKS || header.cpus == 0 || header.cpus > MOST_CPUS {
            return Err(format!("a damaged header: {} tasks on {} CPUs", header.pool, header.cpus));
        }
        if header.quantum_ns == 0 || header.quantum_ns > i64::MAX.cast_unsigned() {
            return Err(format!("a damaged header: a quantum of {} ns", header.quantum_ns));
        }
        let spec = spec::parse(&header.spec, divvy_policy::all()).map_err(|error| not_here(&error))?;
        let params = divvy_policy::find(spec.selection.name).map_or(&[][..], |policy| &policy.params);
        let sizes = sizes(header, &spec)?;
        // The weights that modifiers make are told to several shards (placement R7).
        let spec = if sizes.len() > 1 { spec.of_a_shard() } else { spec.without_placement() };
        let shard = |cpus: u32| -> Result<Shard, String> {
            Ok(Shard {
                cpus,
                machine: Machine::from_spec(&spec, cpus, header.quantum_ns)
                    .map_err(|error| error.to_string())?,
                validator: Validator::new(cpus, header.pool, params),
                events: 0,
                before: VecDeque::with_capacity(SHOWN_BEFORE + 1),
            })
        };
        Ok(Replay {
            shards: sizes.into_iter().map(shard).collect::<Result<_, _>>()?,
            header_size,
            events: 0,
            decisions: 0,
            answers: 0,
            first_ns: 0,
            last_ns: 0,
        })
    }

    /// Decodes a record, if it is valid for a machine.
    pub(super) fn read(&mut self, entry: &Entry, mask: CpuMask) -> Result<Told, String> {
        let (at, several) = (usize::from(entry.record.shard), self.shards.len() > 1);
        let shard = self.shards.get_mut(at).ok_or_else(|| format!("there is no shard {at}"))?;
        let (event, answer) = decode(&entry.record, mask, &shard.validator)?;
        shard.validator.check(&event, entry.record.now)?;
        Ok(Told {
            number: shard.events + 1,
            record: entry.number,
            offset: offset(self.header_size, entry.number),
            now_ns: entry.record.now,
            shard: several.then_some(at as u32),
            event,
            answer,
        })
    }

    pub(super) fn tell(&mut self, told: Told) -> Option<Mismatch> {
        let shard = &mut self.shards[told.shard.unwrap_or(0) as usize];
        if self.events == 0 || told.now_ns < self.first_ns {
            self.first_ns = told.now_ns;
        }
        self.events += 1;
        shard.events += 1;
        self.last_ns = self.last_ns.max(told.now_ns);
        self.decisions += u64::from(matches!(told.event, Event::Dispatch { .. }));
        self.answers += u64::from(told.event.is_answered());
        let native = shard.machine.tell(&told.event, told.now_ns);
        if let Event::SetGroup { group, .. } = told.event {
            shard.validator.set_parent(group, shard.machine.group_parent(group));
        }
        if native != told.answer {
            let before = std::mem::take(&mut shard.before).into();
            return Some(Mismatch { told, native, before });
        }
        if shard.before.len() == SHOWN_BEFORE {
            shard.before.pop_front();
        }
        shard.before.push_back(told);
        None
    }

    fn report(self, reader: &Reader, dropped: u64, verdict: Verdict) -> Report {
        Report {
            header: reader.header.clone(),
            events: self.events,
            decisions: self.decisions,
            answers: self.answers,
            records: reader.records,
            dropped,
            first_ns: self.first_ns,
            last_ns: self.last_ns,
            verdict,
        }
    }
}

/// Why the policy of a log cannot decide here. A log may come from anywhere, so it does not choose a file that is compiled and run.
fn not_here(error: &SpecError) -> String {
    match &error.problem {
        SpecProblem::NotLoaded(file) => format!(
            "its policy is the file {file}, which is compiled and run to verify the log: if you trust it, add -p {file}"
        ),
        _ => format!("its policy is not one of this divvy: {error}"),
    }
}

fn decode(record: &Record, mask: CpuMask, validator: &Validator) -> Result<(Event, Answer), String> {
    let task = || validator.task(record.id);
    let process = || validator.process(record.id, record.answer);
    let answered = |cpu: u32| Answer { asked: CpuId::from_answer(cpu), ..Answer::default() };
    let silent = |event| Ok((event, Answer::default()));
    match record.kind {
        0 => silent(Event::New {
            task: task()?,
            process: process()?,
            weight: Weight::from_fixed(record.value),
        }),
        1 => silent(Event::Exit { task: task()?, moves: one_of(record.why, [0, 1])? }),
        2 => silent(Event::Runnable { task: task()?, is_new: one_of(record.why, [1, 0])? }),
        3 => silent(Event::Quiescent { task: task()?, exits: one_of(record.why, [2, 3])? }),
        4 => Ok((Event::Enqueue { task: task()? }, answered(record.cpu.into()))),
        5 => silent(Event::Dequeue { task: task()? }),
        6 if record.id != record.answer => Err("a dispatch of two tasks".to_owned()),
        6 => {
            let answer = Answer {
                task: TaskId::from_raw(record.answer),
                slice_ns: record.value,
                ..answered(record.cpu.into())
            };
            Ok((Event::Dispatch { cpu: CpuId::new(record.why.into()) }, answer))
        }
        7 => silent(Event::Running { task: task()? }),
        8 => silent(Event::Stopping { task: task()?, ran_ns: record.value }),
        9 => silent(Event::Yield { cpu: CpuId::new(record.cpu.into()) }),
        10 => silent(Event::SetWeight { task: task()?, weight: Weight::from_fixed(record.value) }),
        11 => Ok((Event::SetAllowed { task: task()?, mask }, answered(record.answer))),
        12 => silent(Event::SetParam {
            owner: record.answer,
            index: record.cpu.into(),
            value: record.value.cast_signed(),
        }),
        13 => silent(Event::SetProcess { task: task()?, process: process()? }),
        14 => silent(Event::SetGroup {
            group: record.answer,
            parent: record.cpu.into(),
            weight: Weight::from_fixed(record.value),
        }),
        15 => silent(Event::EnterGroup { task: task()?, group: record.answer }),
        16 => silent(Event::SetProgram { task: task()?, program: record.value }),
        // Waits are not in the log: nothing that is decided depends on them.
        17 => silent(Event::Learn {
            program: u64::from(record.id) << 32 | u64::from(record.answer),
            at: record.cpu,
            run_ns: record.value,
            wait_ns: 0,
        }),
        18 => {
            let parent = match record.answer {
                0 => None, // it got its id late, or was made by one that has none
                number => Some(validator.task(number)?),
            };
            silent(Event::Fork { task: task()?, parent })
        }
        19 => silent(Event::Session { task: task()? }),
        20 => Ok((Event::TakeCpu { cpu: CpuId::new(record.why.into()) }, answered(record.cpu.into()))),
        21 => Ok((Event::Expire { task: task()? }, Answer { slice_ns: record.value, ..Answer::default() })),
        22 => silent(Event::Carry { task: task()?, by_ns: record.value.cast_signed() }),
        kind => Err(format!("there is no event of kind {kind}")),
    }
}

/// Whether `why` is the second of the two that it may be.
fn one_of(why: u8, which: [u8; 2]) -> Result<bool, String> {
    match why {
        why if why == which[0] => Ok(false),
        why if why == which[1] => Ok(true),
        why => Err(format!("there is no such reason: {why}")),
    }
}
