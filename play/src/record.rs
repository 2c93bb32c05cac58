//! What threads tell about themselves when they end: appended to a file in memory that all processes share.

use std::fs::File;
use std::io::{self, Write as _};
use std::os::unix::fs::FileExt as _;

use crate::measured::{Life, Sight};
use rustix::fs::{MemfdFlags, OFlags, fcntl_setfl, memfd_create};

/// Words of a sight.
const SIGHT: usize = 5;
/// Words of a life before its sights.
const HEAD: usize = 9;

/// The file.
#[derive(Debug)]
pub struct Log(File);

/// What it says.
#[derive(Debug, Default)]
pub struct Told {
    /// All that ended.
    pub lives: Vec<Life>,
    /// What went wrong, in the order of its telling.
    pub failures: Vec<String>,
    /// CPU time that was spent on the run by others than its tasks.
    pub overhead_ns: u64,
}

const LIFE: u64 = 1;
const FAILURE: u64 = 2;
const OVERHEAD: u64 = 3;

impl Log {
    pub fn new() -> io::Result<Log> {
        let file = memfd_create("divvy-play", MemfdFlags::CLOEXEC)?;
        // The position that processes share is not locked for a file in memory; its end is.
        fcntl_setfl(&file, OFlags::APPEND)?;
        Ok(Log(File::from(file)))
    }

    /// One thread's life.
    pub fn life(&self, life: &Life) -> io::Result<()> {
        let mut words = Vec::with_capacity(HEAD + SIGHT * life.sights.len());
        words.extend([
            life.class as u64,
            life.number.into(),
            life.born_ns,
            life.ended_ns,
            life.received_ns,
            life.switches,
            life.migrations.is_some().into(),
            life.migrations.unwrap_or(0),
            life.sights.len() as u64,
        ]);
        life.sights.iter().for_each(|sight| words.extend(encode(sight)));
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        self.append(LIFE, &bytes)
    }

    /// Something went wrong.
    pub fn failure(&self, what: &str) -> io::Result<()> {
        self.append(FAILURE, what.as_bytes())
    }

    /// CPU time that was spent on the run by others than its tasks.
    pub fn overhead(&self, cpu_ns: u64) -> io::Result<()> {
        self.append(OVERHEAD, &cpu_ns.to_le_bytes())
    }

    /// In one write, which the kernel does not mix with those of others.
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

    /// All that was told.
    pub fn read(&self) -> io::Result<Told> {
        let mut bytes = vec![0; self.0.metadata()?.len() as usize];
        self.0.read_exact_at(&mut bytes, 0)?;
        told(&bytes).ok_or_else(|| io::ErrorKind::InvalidData.into())
    }
}

fn told(mut bytes: &[u8]) -> Option<Told> {
    let mut told = Told::default();
    while !bytes.is_empty() {
        let (head, rest) = bytes.split_at_checked(16)?;
        let head = words(head);
        let (body, rest) = rest.split_at_checked(head[1] as usize)?;
        match head[0] {
            LIFE => told.lives.push(decode_life(&words(body))?),
            FAILURE => told.failures.push(String::from_utf8_lossy(body).into_owned()),
            OVERHEAD => told.overhead_ns += words(body).first()?,
            _ => return None,
        }
        bytes = rest;
    }
    Some(told)
}

fn words(bytes: &[u8]) -> Vec<u64> {
    let (whole, _) = bytes.as_chunks::<8>();
    whole.iter().map(|&word| u64::from_le_bytes(word)).collect()
}

fn decode_life(words: &[u64]) -> Option<Life> {
    let (&[class, number, born_ns, ended_ns, received_ns, switches, known, migrations, count], sights) =
        words.split_first_chunk::<HEAD>()?;
    let (sights, []) = sights.as_chunks::<SIGHT>() else { return None };
    let sights = sights.iter().map(decode).collect::<Option<Vec<Sight>>>()?;
    (sights.len() as u64 == count).then_some(Life {
        class: class as usize,
        number: number as u32,
        born_ns,
        ended_ns,
        received_ns,
        switches,
        migrations: (known == 1).then_some(migrations),
        sights,
    })
}

fn encode(sight: &Sight) -> [u64; SIGHT] {
    match *sight {
        Sight::Brings { at_ns, work_ns } => [0, at_ns, work_ns, 0, 0],
        Sight::Stamp { at_ns, received_ns } => [1, at_ns, received_ns, 0, 0],
        Sight::Ran { woken_ns, delay_ns } => [2, woken_ns, delay_ns, 0, 0],
        Sight::JobDone { began_ns, ended_ns, service_ns, wait_ns } => {
            [3, began_ns, ended_ns, service_ns, wait_ns]
        }
    }
}

fn decode(words: &[u64; SIGHT]) -> Option<Sight> {
    let [kind, a, b, c, d] = *words;
    Some(match kind {
        0 => Sight::Brings { at_ns: a, work_ns: b },
        1 => Sight::Stamp { at_ns: a, received_ns: b },
        2 => Sight::Ran { woken_ns: a, delay_ns: b },
        3 => Sight::JobDone { began_ns: a, ended_ns: b, service_ns: c, wait_ns: d },
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_told_reads_back() {
        let sights = vec![
            Sight::Brings { at_ns: 1, work_ns: u64::MAX },
            Sight::Stamp { at_ns: 2, received_ns: 3 },
            Sight::Ran { woken_ns: 4, delay_ns: 5 },
            Sight::JobDone { began_ns: 6, ended_ns: 7, service_ns: 8, wait_ns: 9 },
        ];
        let life =
            Life { class: 3, number: 9, received_ns: 70, migrations: Some(2), sights, ..Life::default() };
        let log = Log::new().expect("a file in memory");
        log.life(&life).expect("written");
        log.failure("no luck").expect("written");
        log.overhead(5).expect("written");
        log.overhead(6).expect("written");
        log.life(&Life::default()).expect("written");
        let told = log.read().expect("reads back");
        assert_eq!((told.failures, told.overhead_ns, told.lives.len()), (vec!["no luck".to_owned()], 11, 2));
        assert_eq!((&told.lives[0].sights, told.lives[0].migrations), (&life.sights, Some(2)));
        assert_eq!((told.lives[0].number, told.lives[1].migrations), (9, None));
        assert!(super::told(&[1, 2, 3]).is_none());
    }

    /// Many at a time: none is written over another.
    #[test]
    fn nothing_is_lost() {
        let log = Log::new().expect("a file in memory");
        let life = Life { sights: vec![Sight::Stamp { at_ns: 1, received_ns: 2 }; 500], ..Life::default() };
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..100).for_each(|_| log.life(&life).expect("written")));
            }
        });
        assert_eq!(log.read().expect("reads back").lives.len(), 400);
    }
}
