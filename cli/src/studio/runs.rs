//! Which runs there are: few at once, and of each page only the newest.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use divvy_results::progress::Progress;
use rayon::{ThreadPool, ThreadPoolBuildError, ThreadPoolBuilder};

/// Runs at once; others wait for a while.
const MOST_RUNS: usize = 4;
const WAIT: Duration = Duration::from_secs(1);
/// Simulations at one time, of all runs. Tasks that come faster than CPUs can serve them take half a gigabyte each before the simulation
/// is ended.
const MOST_THREADS: usize = 4;
/// The longest run.
pub const LONGEST: Duration = Duration::from_secs(5);

/// All runs of a server.
#[derive(Debug)]
pub struct Runs {
    threads: ThreadPool,
    known: Mutex<Known>,
    freed: Condvar,
}

#[derive(Debug, Default)]
struct Known {
    running: usize,
    newest: BTreeMap<u64, Arc<AtomicBool>>,
}

/// Why a run did not begin, or ended early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stopped {
    /// The page has asked for another.
    Superseded,
    /// There are too many others.
    Busy,
    /// It took longer than [`LONGEST`].
    TooLong,
}

/// A run, until it is dropped.
#[derive(Debug)]
pub struct Turn<'a> {
    runs: &'a Runs,
    viewer: u64,
    stop: Arc<AtomicBool>,
    until: Instant,
}

impl Runs {
    /// Starts the threads.
    ///
    /// # Errors
    /// If the system gives none.
    pub fn new() -> Result<Runs, ThreadPoolBuildError> {
        let number = MOST_THREADS.min(rayon::current_num_threads());
        let threads = ThreadPoolBuilder::new().num_threads(number).build()?;
        Ok(Runs { threads, known: Mutex::default(), freed: Condvar::new() })
    }

    /// Ends the page's older run, and begins one when there is room.
    ///
    /// # Errors
    /// If meanwhile it is not the newest any more, or there is no room.
    pub fn begin(&self, viewer: u64) -> Result<Turn<'_>, Stopped> {
        let stop = Arc::new(AtomicBool::new(false));
        let mut known = self.known();
        if let Some(older) = known.newest.insert(viewer, Arc::clone(&stop)) {
            older.store(true, Ordering::Relaxed);
            self.freed.notify_all();
        }
        let is_kept_out = |known: &mut Known| known.running >= MOST_RUNS && !stop.load(Ordering::Relaxed);
        let (mut known, _) =
            self.freed.wait_timeout_while(known, WAIT, is_kept_out).unwrap_or_else(PoisonError::into_inner);
        if stop.load(Ordering::Relaxed) {
            return Err(Stopped::Superseded);
        }
        if known.running >= MOST_RUNS {
            known.newest.remove(&viewer);
            return Err(Stopped::Busy);
        }
        known.running += 1;
        drop(known);
        Ok(Turn { runs: self, viewer, stop, until: Instant::now() + LONGEST })
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Turn<'_> {
    /// Works on the threads of all runs.
    pub fn work<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        self.runs.threads.install(work)
    }

    /// Why it has to end, if it has to.
    pub fn stopped(&self) -> Option<Stopped> {
        match self.stop.load(Ordering::Relaxed) {
            true => Some(Stopped::Superseded),
            false => (Instant::now() >= self.until).then_some(Stopped::TooLong),
        }
    }
}

impl Progress for Turn<'_> {
    fn begin(&self, _: Option<u64>) {}

    fn advance(&self, _: u64) -> bool {
        self.stopped().is_none()
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let mut known = self.runs.known();
        known.running -= 1;
        if known.newest.get(&self.viewer).is_some_and(|newest| Arc::ptr_eq(newest, &self.stop)) {
            known.newest.remove(&self.viewer);
        }
        self.runs.freed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_newer_run_of_a_page_ends_the_older_one() {
        let runs = Runs::new().expect("threads");
        let older = runs.begin(7).expect("room");
        let other = runs.begin(8).expect("room");
        assert!(older.advance(0));
        let newer = runs.begin(7).expect("room");
        assert_eq!(
            (older.stopped(), other.stopped(), newer.stopped()),
            (Some(Stopped::Superseded), None, None)
        );
        drop(older);
        assert_eq!(runs.known().newest.len(), 2);
        drop((other, newer));
        let known = runs.known();
        assert_eq!((known.newest.len(), known.running), (0, 0));
    }

    #[test]
    fn there_are_few_at_once() {
        let runs = Runs::new().expect("threads");
        let mut turns: Vec<_> =
            (0..MOST_RUNS as u64).map(|viewer| runs.begin(viewer).expect("room")).collect();
        assert_eq!(runs.begin(99).err(), Some(Stopped::Busy));
        turns.pop();
        assert!(runs.begin(99).is_ok());
    }
}
