//! A look at a loaded scheduler from another process. Viewers get cumulative counters since loading, and make intervals of
//! their own; the scheduler's loader keeps nothing for viewers.
//!
//! The answer is a line of JSON with the counts and the number of tasks, and then a line for each task.

use std::io;
use std::rc::Rc;
use std::time::{Duration, Instant};

use serde::Serialize;

use super::host::{Account, MAX_POOL};
use super::protocol::{Head, Reply};
use super::statistics::{History, Period, Sample};

/// Viewers that ask within this time of each other get the same answer, because each sample costs time of the loader, which
/// is a real-time task.
const FRESH: Duration = Duration::from_millis(50);

/// The statistics that a viewer received.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Look {
    /// The policy with its parameters, as they now are.
    pub policy: String,
    /// The time of loading, by the system's monotonic clock. Another time means another scheduler.
    pub loaded_ns: u64,
    sample: Sample,
}

/// Answers viewers.
#[derive(Debug, Default)]
pub(super) struct Looks {
    last: Option<(Instant, Rc<[u8]>)>,
}

impl Looks {
    /// Returns the last answer, or a new one if that is too old.
    pub fn answer<E>(
        &mut self,
        policy: &str,
        loaded_ns: u64,
        sample: impl FnOnce() -> Result<Sample, E>,
    ) -> Result<Rc<[u8]>, E> {
        if let Some((made, answer)) = &self.last
            && made.elapsed() < FRESH
        {
            return Ok(Rc::clone(answer));
        }
        let answer: Rc<[u8]> = write(policy, loaded_ns, &sample()?).into();
        self.last = Some((Instant::now(), Rc::clone(&answer)));
        Ok(answer)
    }
}

fn write(policy: &str, loaded_ns: u64, sample: &Sample) -> Vec<u8> {
    let rows: Vec<(usize, &Account)> =
        sample.accounts.iter().enumerate().filter(|(_, row)| row.pid != 0 || row.received_ns > 0).collect();
    let head = Head {
        policy: policy.to_owned(),
        loaded_ns,
        at_ns: sample.at_ns,
        cpus: sample.cpus,
        tasks: rows.len(),
        stats: sample.stats,
        shards: sample.shards.clone(),
    };
    let mut bytes = Vec::new();
    line(&mut bytes, &Reply::Look(head.into()));
    for row in rows {
        line(&mut bytes, &row);
    }
    bytes
}

fn line(bytes: &mut Vec<u8>, value: &impl Serialize) {
    // Numbers and text in memory: nothing that can fail.
    let _ = serde_json::to_writer(&mut *bytes, value);
    bytes.push(b'\n');
}

/// Reads the lines after the first.
pub(super) fn read(head: Head, mut next: impl FnMut() -> io::Result<String>) -> io::Result<Look> {
    let bad = |problem: String| io::Error::new(io::ErrorKind::InvalidData, problem);
    let most = MAX_POOL as usize;
    if head.tasks > most {
        return Err(bad(format!("{} tasks, there are {most} at most", head.tasks)));
    }
    let mut accounts = Vec::new();
    for _ in 0..head.tasks {
        let (id, account): (usize, Account) = serde_json::from_str(&next()?)?;
        if id >= most {
            return Err(bad(format!("a task has the number {id}")));
        }
        accounts.resize(accounts.len().max(id + 1), Account::default());
        accounts[id] = account;
    }
    let sample =
        Sample { at_ns: head.at_ns, cpus: head.cpus, stats: head.stats, shards: head.shards, accounts };
    Ok(Look { policy: head.policy, loaded_ns: head.loaded_ns, sample })
}

/// Makes intervals from looks.
#[derive(Debug)]
pub struct Viewer {
    history: History,
    loaded_ns: Option<u64>,
}

impl Default for Viewer {
    fn default() -> Self {
        Self { history: History::of_all(), loaded_ns: None }
    }
}

impl Viewer {
    /// The interval since the last look, of all tasks; since loading if there was none at this scheduler.
    pub fn interval(&mut self, look: Look) -> Period {
        self.begin(&look);
        self.history.interval(look.sample)
    }

    /// All since loading.
    pub fn since_loading(&mut self, look: Look) -> Period {
        self.begin(&look);
        self.history.since_loading(look.sample)
    }

    fn begin(&mut self, look: &Look) {
        if self.loaded_ns != Some(look.loaded_ns) {
            *self = Self { loaded_ns: Some(look.loaded_ns), ..Self::default() };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::host::Stats;

    fn sample(pids: &[u32]) -> Sample {
        let account = |pid: &u32| Account { pid: *pid, tgid: 7, received_ns: 100, ..Account::default() };
        let accounts = pids.iter().map(account).collect();
        Sample {
            at_ns: 5,
            cpus: 2,
            stats: Stats { decisions: 3, ..Stats::default() },
            accounts,
            ..Sample::default()
        }
    }

    fn read_back(bytes: &[u8]) -> io::Result<Look> {
        let mut lines = std::str::from_utf8(bytes).expect("UTF-8").lines().map(str::to_owned);
        let mut next = || lines.next().ok_or_else(|| io::ErrorKind::UnexpectedEof.into());
        match serde_json::from_str(&next()?)? {
            Reply::Look(head) => read(*head, next),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_look_reads_back_as_it_was() {
        let sample = sample(&[11, 0, 13]);
        let look = read_back(&write("pbs:alpha=2", 9, &sample)).expect("a look");
        assert_eq!(look, Look { policy: "pbs:alpha=2".to_owned(), loaded_ns: 9, sample });
    }

    #[test]
    fn rows_that_nobody_ever_had_are_left_out() {
        let mut sample = sample(&[11, 12]);
        sample.accounts.push(Account::default());
        assert_eq!(write("rr", 9, &sample).iter().filter(|byte| **byte == b'\n').count(), 3);
    }

    #[test]
    fn an_answer_that_cannot_be_is_refused() {
        let text = String::from_utf8(write("rr", 9, &sample(&[11]))).expect("UTF-8");
        for (from, to) in
            [("\"tasks\":1,", "\"tasks\":16385,"), ("\"tasks\":1,", "\"tasks\":2,"), ("[0,", "[16384,")]
        {
            assert!(text.contains(from), "{text}");
            assert!(read_back(text.replacen(from, to, 1).as_bytes()).is_err(), "{to}");
        }
    }

    #[test]
    fn viewers_at_the_same_time_get_the_same_answer() {
        let (mut looks, mut made) = (Looks::default(), 0);
        let mut ask = || {
            let answer = looks.answer("rr", 9, || {
                made += 1;
                Ok::<_, ()>(sample(&[11]))
            });
            answer.expect("made")
        };
        let (first, second) = (ask(), ask());
        assert!(Rc::ptr_eq(&first, &second));
        std::thread::sleep(FRESH);
        ask();
        assert_eq!(made, 2);
    }

    #[test]
    fn a_viewer_begins_anew_at_another_scheduler() {
        let mut viewer = Viewer::default();
        let mut see = |loaded_ns, at_ns| {
            let sample = Sample { at_ns, ..sample(&[900_000_011]) };
            viewer.interval(Look { policy: "rr".to_owned(), loaded_ns, sample }).duration_ns
        };
        assert_eq!([see(1, 50), see(1, 70), see(2, 30), see(2, 31)], [50, 20, 30, 1]);
    }
}
