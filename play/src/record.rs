//! The log of a run: a file in memory that all processes share. Each thread appends its observations when it ends.

use std::fs::File;
use std::io::{self, Write as _};
use std::os::unix::fs::FileExt as _;

use crate::measured::{MeasuredThread, Observation};
use rustix::fs::{MemfdFlags, OFlags, fcntl_setfl, memfd_create};

/// Words of an observation.
const OBSERVATION_WORDS: usize = 5;
/// Words of a thread before its observations.
const HEAD: usize = 9;

/// The file in memory.
#[derive(Debug)]
pub struct Log(File);

/// The contents of the log.
#[derive(Debug, Default)]
pub struct LogContents {
    /// All threads that ended.
    pub threads: Vec<MeasuredThread>,
    /// The failures, in the order of writing.
    pub failures: Vec<String>,
    /// CPU time that divvy itself used during the run.
    pub overhead_ns: u64,
}

const THREAD: u64 = 1;
const FAILURE: u64 = 2;
const OVERHEAD: u64 = 3;

impl Log {
    pub fn new() -> io::Result<Log> {
        let file = memfd_create("divvy-play", MemfdFlags::CLOEXEC)?;
        Log::again(file.into())
    }

    /// The log that is in this file already.
    pub fn again(file: File) -> io::Result<Log> {
        // The kernel locks the end of a file in memory, but not the position that processes share.
        fcntl_setfl(&file, OFlags::APPEND)?;
        Ok(Log(file))
    }

    /// The file.
    pub fn file(&self) -> &File {
        &self.0
    }

    /// Writes the measurements of one thread.
    pub fn thread(&self, thread: &MeasuredThread) -> io::Result<()> {
        let mut words = Vec::with_capacity(HEAD + OBSERVATION_WORDS * thread.observations.len());
        words.extend([
            thread.class as u64,
            thread.number.into(),
            thread.started_ns,
            thread.ended_ns,
            thread.received_ns,
            thread.switches,
            thread.migrations.is_some().into(),
            thread.migrations.unwrap_or(0),
            thread.observations.len() as u64,
        ]);
        thread.observations.iter().for_each(|observation| words.extend(encode(observation)));
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        self.append(THREAD, &bytes)
    }

    /// Writes a failure, as a message for the user.
    pub fn failure(&self, what: &str) -> io::Result<()> {
        self.append(FAILURE, what.as_bytes())
    }

    /// Adds to the CPU time that divvy itself used during the run.
    pub fn overhead(&self, cpu_ns: u64) -> io::Result<()> {
        self.append(OVERHEAD, &cpu_ns.to_le_bytes())
    }

    /// Appends an entry by one write, which the kernel does not mix with other writes.
    fn append(&self, kind: u64, body: &[u8]) -> io::Result<()> {
        let mut bytes = Vec::with_capacity(16 + body.len());
        bytes.extend(kind.to_le_bytes());
        bytes.extend((body.len() as u64).to_le_bytes());
        bytes.extend(body);
        match (&self.0).write(&bytes)? {
            n if n == bytes.len() => Ok(()),
            _ => Err(io::ErrorKind::StorageFull.into()),
        }
    }

    /// Reads the whole log.
    pub fn read(&self) -> io::Result<LogContents> {
        let mut bytes = vec![0; self.0.metadata()?.len() as usize];
        self.0.read_exact_at(&mut bytes, 0)?;
        parse(&bytes).ok_or_else(|| io::ErrorKind::InvalidData.into())
    }
}

fn parse(mut bytes: &[u8]) -> Option<LogContents> {
    let mut contents = LogContents::default();
    while !bytes.is_empty() {
        let (head, rest) = bytes.split_at_checked(16)?;
        let head = words(head);
        let (body, rest) = rest.split_at_checked(head[1] as usize)?;
        match head[0] {
            THREAD => contents.threads.push(decode_thread(&words(body))?),
            FAILURE => contents.failures.push(String::from_utf8_lossy(body).into_owned()),
            OVERHEAD => contents.overhead_ns += words(body).first()?,
            _ => return None,
        }
        bytes = rest;
    }
    Some(contents)
}

fn words(bytes: &[u8]) -> Vec<u64> {
    let (whole, _) = bytes.as_chunks::<8>();
    whole.iter().map(|&word| u64::from_le_bytes(word)).collect()
}

fn decode_thread(words: &[u64]) -> Option<MeasuredThread> {
    let (
        &[class, number, started_ns, ended_ns, received_ns, switches, known, migrations, count],
        observations,
    ) = words.split_first_chunk::<HEAD>()?;
    let (observations, []) = observations.as_chunks::<OBSERVATION_WORDS>() else { return None };
    let observations = observations.iter().map(decode).collect::<Option<Vec<Observation>>>()?;
    (observations.len() as u64 == count).then_some(MeasuredThread {
        class: class as usize,
        number: number as u32,
        started_ns,
        ended_ns,
        received_ns,
        switches,
        migrations: (known == 1).then_some(migrations),
        observations,
    })
}

fn encode(observation: &Observation) -> [u64; OBSERVATION_WORDS] {
    match *observation {
        Observation::WorkArrives { at_ns, work_ns } => [0, at_ns, work_ns, 0, 0],
        Observation::Stamp { at_ns, received_ns } => [1, at_ns, received_ns, 0, 0],
        Observation::Ran { woken_ns, delay_ns } => [2, woken_ns, delay_ns, 0, 0],
        Observation::JobDone { began_ns, ended_ns, service_ns, wait_ns } => {
            [3, began_ns, ended_ns, service_ns, wait_ns]
        }
    }
}

fn decode(words: &[u64; OBSERVATION_WORDS]) -> Option<Observation> {
    let [kind, a, b, c, d] = *words;
    Some(match kind {
        0 => Observation::WorkArrives { at_ns: a, work_ns: b },
        1 => Observation::Stamp { at_ns: a, received_ns: b },
        2 => Observation::Ran { woken_ns: a, delay_ns: b },
        3 => Observation::JobDone { began_ns: a, ended_ns: b, service_ns: c, wait_ns: d },
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_read_back() {
        let observations = vec![
            Observation::WorkArrives { at_ns: 1, work_ns: u64::MAX },
            Observation::Stamp { at_ns: 2, received_ns: 3 },
            Observation::Ran { woken_ns: 4, delay_ns: 5 },
            Observation::JobDone { began_ns: 6, ended_ns: 7, service_ns: 8, wait_ns: 9 },
        ];
        let thread = MeasuredThread {
            class: 3,
            number: 9,
            received_ns: 70,
            migrations: Some(2),
            observations,
            ..MeasuredThread::default()
        };
        let log = Log::new().expect("a file in memory");
        log.thread(&thread).expect("written");
        log.failure("no luck").expect("written");
        log.overhead(5).expect("written");
        log.overhead(6).expect("written");
        log.thread(&MeasuredThread::default()).expect("written");
        let contents = log.read().expect("reads back");
        assert_eq!(
            (contents.failures, contents.overhead_ns, contents.threads.len()),
            (vec!["no luck".to_owned()], 11, 2)
        );
        assert_eq!(
            (&contents.threads[0].observations, contents.threads[0].migrations),
            (&thread.observations, Some(2))
        );
        assert_eq!((contents.threads[0].number, contents.threads[1].migrations), (9, None));
        assert!(super::parse(&[1, 2, 3]).is_none());
    }

    /// Many threads write at a time, and no entry overwrites another.
    #[test]
    fn nothing_is_lost() {
        let log = Log::new().expect("a file in memory");
        let thread = MeasuredThread {
            observations: vec![Observation::Stamp { at_ns: 1, received_ns: 2 }; 500],
            ..MeasuredThread::default()
        };
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..100).for_each(|_| log.thread(&thread).expect("written")));
            }
        });
        assert_eq!(log.read().expect("reads back").threads.len(), 400);
    }
}
