//! Reads all threads of `/proc`.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use divvy_policy::Weight;

use crate::proc_text::{self, cgroup, uids};

/// A thread as it is now.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Thread {
    pub tid: u32,
    pub tgid: u32,
    pub comm: String,
    /// The real user.
    pub uid: Option<u32>,
    /// The path of its cgroup, from the root.
    pub cgroup: String,
    pub nice: i8,
    /// The process that forked this one, or that took its place.
    pub parent: u32,
    pub session: u32,
    /// Whether it belongs to the kernel itself.
    pub is_kernel: bool,
    /// `SCHED_NORMAL` is 0.
    pub class: u32,
    /// When it began, in ticks: another time means another thread with the same number.
    pub started: u64,
    pub ran_ns: u64,
    /// For a CPU, in waits that ended.
    pub waited_ns: u64,
    pub turns: u64,
    pub is_runnable: bool,
}

/// The kernel's numbers of classes.
const SCHED_NORMAL: u32 = 0;
const SCHED_BATCH: u32 = 3;
const SCHED_IDLE: u32 = 5;
/// `PF_KTHREAD` of the kernel.
const KERNEL_THREAD: u64 = 0x0020_0000;
/// The kernel's weight of a task of `SCHED_IDLE`.
const IDLE_WEIGHT: f64 = 3.0;

impl Thread {
    /// By its nice value; nice 0 is 1024.
    pub fn weight(&self) -> f64 {
        if self.class == SCHED_IDLE { IDLE_WEIGHT } else { Weight::from_nice(self.nice).units() }
    }

    /// Whether weights decide when it runs. Real-time tasks go first.
    pub fn is_fair(&self) -> bool {
        matches!(self.class, SCHED_NORMAL | SCHED_BATCH | SCHED_IDLE)
    }

    /// Whether its nice value decides over its weight.
    pub fn has_nice(&self) -> bool {
        matches!(self.class, SCHED_NORMAL | SCHED_BATCH)
    }
}

/// Reads threads, and remembers what seldom changes.
#[derive(Debug)]
pub struct Threads {
    proc: PathBuf,
    known: BTreeMap<u32, Thread>,
}

impl Threads {
    pub fn new(proc: &Path) -> Self {
        Self { proc: proc.to_owned(), known: BTreeMap::new() }
    }

    /// All threads, by number.
    ///
    /// # Errors
    /// If the directory cannot be read, or the kernel does not count what threads use.
    pub fn read(&mut self) -> io::Result<BTreeMap<u32, Thread>> {
        let mut threads = BTreeMap::new();
        let processes = numbers(&self.proc)
            .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", self.proc.display())))?;
        for tgid in processes {
            let tasks = self.proc.join(tgid.to_string()).join("task");
            // A process may have ended since.
            for tid in numbers(&tasks).unwrap_or_default() {
                if let Some(thread) = self.thread(&tasks.join(tid.to_string()), tgid, tid) {
                    threads.insert(tid, thread);
                }
            }
        }
        if threads.is_empty() {
            let text = format!("no thread in {} has a schedstat", self.proc.display());
            return Err(io::Error::new(io::ErrorKind::Unsupported, text));
        }
        self.known = threads.clone();
        Ok(threads)
    }

    fn thread(&self, dir: &Path, tgid: u32, tid: u32) -> Option<Thread> {
        let mut thread = parse_stat(&proc_text::read(dir.join("stat"))?)?;
        (thread.tid, thread.tgid) = (tid, tgid);
        let schedstat = fs::read_to_string(dir.join("schedstat")).ok()?;
        let mut numbers = schedstat.split_whitespace().map(str::parse);
        let mut next = || numbers.next()?.ok();
        (thread.ran_ns, thread.waited_ns, thread.turns) = (next()?, next()?, next()?);
        match self.known.get(&tid).filter(|known| known.started == thread.started) {
            // A thread that did nothing has no new user, and its cgroup does not matter.
            Some(known) if known.turns == thread.turns && known.ran_ns == thread.ran_ns => {
                thread.uid = known.uid;
                thread.cgroup.clone_from(&known.cgroup);
            }
            _ => {
                thread.uid =
                    proc_text::read(dir.join("status")).and_then(|text| uids(&text)).map(|[real, ..]| real);
                thread.cgroup = proc_text::read(dir.join("cgroup"))
                    .map(|text| cgroup(&text).to_owned())
                    .unwrap_or_default();
            }
        }
        Some(thread)
    }
}

/// Names in the directory that are numbers.
fn numbers(dir: &Path) -> io::Result<Vec<u32>> {
    let entries = fs::read_dir(dir)?;
    Ok(entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect())
}

/// proc_pid_stat(5). The name is in parentheses, and may have some itself.
pub fn parse_stat(text: &str) -> Option<Thread> {
    let (start, end) = (text.find('(')?, text.rfind(')')?);
    let comm = text.get(start + 1..end)?.to_owned();
    let fields: Vec<&str> = text.get(end + 1..)?.split_whitespace().collect();
    // Fields are numbered from 1, and the first one here is the third.
    let field = |number: usize| fields.get(number - 3).copied();
    let is_kernel = field(9)?.parse::<u64>().ok()? & KERNEL_THREAD != 0;
    Some(Thread {
        comm: if is_kernel { own_name(&comm).to_owned() } else { comm },
        is_runnable: field(3)? == "R",
        parent: field(4)?.parse().ok()?,
        // -1 where the session belongs to another namespace.
        session: field(6)?.parse().unwrap_or_default(),
        is_kernel,
        nice: field(19)?.parse().ok()?,
        started: field(22)?.parse().ok()?,
        class: field(41)?.parse().ok()?,
        ..Thread::default()
    })
}

/// To the name of a worker that serves any queue the kernel adds the work that it does now, or did last: `kworker/1:0-events`.
fn own_name(comm: &str) -> &str {
    let Some((pool, rest)) = comm.strip_prefix("kworker/").and_then(|name| name.split_once(':')) else {
        return comm;
    };
    let work = rest.find(['-', '+']).unwrap_or(rest.len());
    &comm[.."kworker/".len() + pool.len() + 1 + work]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_proc_are_read_and_others_refused() {
        let fields = ["0"; 18].join(" ");
        let line = format!("7 (x) y) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 -5 1 0 99 0 0 {fields}\n");
        let thread = parse_stat(&line).expect("a line of stat");
        assert_eq!((thread.comm.as_str(), thread.nice, thread.started), ("x) y", -5, 99));
        assert!(!thread.is_runnable && thread.is_fair() && thread.has_nice() && !thread.is_kernel);
        assert_eq!((thread.parent, thread.session), (1, 1));
        let kernel = parse_stat(&line.replace("-1 0 0", "-1 2129984 0")).expect("a line of stat");
        assert!(kernel.is_kernel);
        for (said, own) in [
            ("kworker/1:0-events", "kworker/1:0"),
            ("kworker/u8:3+flush-8:0", "kworker/u8:3"),
            ("kworker/0:1H", "kworker/0:1H"),
            ("kworker/R-kvfree", "kworker/R-kvfree"),
            ("ksoftirqd/0", "ksoftirqd/0"),
        ] {
            assert_eq!(own_name(said), own);
        }
        for cut in 0..line.len() - 40 {
            assert!(parse_stat(&line[..cut]).is_none(), "{}", &line[..cut]);
        }
        assert_eq!(uids("Name:\tx\nUid:\t5\t0\t0\t0\n").map(|[real, ..]| real), Some(5));
        assert_eq!(cgroup("1:name=x:/old\n0::/user.slice\n"), "/user.slice");
    }

    #[test]
    fn classes_decide_the_weight() {
        let thread = |class| Thread { class, nice: 19, ..Thread::default() };
        assert_eq!((thread(SCHED_IDLE).weight(), thread(SCHED_NORMAL).weight()), (3.0, 15.0));
        assert!(!thread(1).is_fair() && !thread(1).has_nice() && !thread(SCHED_IDLE).has_nice());
    }
}
