//! Long work: without the interpreter's lock, ended by Ctrl-C, and no panic gets out.

use std::any::Any;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, Thread};
use std::time::Duration;

use divvy_results::progress::Progress;
use pyo3::prelude::*;
use rayon::ThreadPoolBuilder;

use crate::error::InternalError;

/// Time between two looks at whether a signal came.
const LOOK: Duration = Duration::from_millis(50);
/// As many threads as the machine has CPUs, or as RAYON_NUM_THREADS says.
const EACH_CPU: usize = 0;

/// Tells the work whether to go on.
#[derive(Default)]
pub struct Stop(AtomicBool);

impl Stop {
    /// Whether it is to go on.
    pub fn goes_on(&self) -> bool {
        !self.0.load(Ordering::Relaxed)
    }
}

impl Progress for Stop {
    fn begin(&self, _: Option<u64>) {}

    fn advance(&self, _: u64) -> bool {
        self.goes_on()
    }
}

/// Does the work on threads of its own, and meanwhile looks for signals: Python's handlers run, and if one raises, as that of Ctrl-C
/// does, the work is told to stop. The threads end with the work, so that a process may fork afterwards.
pub fn done<T: Send>(py: Python<'_>, work: impl FnOnce(&Stop) -> PyResult<T> + Send) -> PyResult<T> {
    done_while(py, EACH_CPU, || py.check_signals(), work)
}

/// As [`done`], on a number of threads. If `look` raises, which is called every now and then, the work is told to stop.
pub fn done_while<T: Send>(
    py: Python<'_>,
    threads: usize,
    look: impl Fn() -> PyResult<()>,
    work: impl FnOnce(&Stop) -> PyResult<T> + Send,
) -> PyResult<T> {
    watched(py, threads, look, |_| (), work)
}

/// As [`done`], of work that calls Python's code, which may run for long: `interrupt` ends that, and is called until the work has ended.
pub fn done_unless<T: Send>(
    py: Python<'_>,
    work: impl FnOnce(&Stop) -> PyResult<T> + Send,
    interrupt: impl Fn(Python<'_>),
) -> PyResult<T> {
    watched(py, EACH_CPU, || py.check_signals(), interrupt, work)
}

fn watched<T: Send>(
    py: Python<'_>,
    threads: usize,
    look: impl Fn() -> PyResult<()>,
    interrupt: impl Fn(Python<'_>),
    work: impl FnOnce(&Stop) -> PyResult<T> + Send,
) -> PyResult<T> {
    let (stop, ended) = (Stop::default(), AtomicBool::new(false));
    thread::scope(|scope| {
        let (stop, end) = (&stop, End(&ended, thread::current()));
        let worker = scope.spawn(move || {
            let _end = end;
            let pool = ThreadPoolBuilder::new()
                .num_threads(threads)
                .build()
                .map_err(|error| InternalError::new_err(error.to_string()))?;
            pool.install(|| work(stop))
        });
        let mut raised = None;
        while !ended.load(Ordering::Acquire) {
            py.detach(|| thread::park_timeout(LOOK));
            if let Err(error) = look() {
                stop.0.store(true, Ordering::Relaxed);
                raised.get_or_insert(error);
            }
            if raised.is_some() {
                interrupt(py);
            }
        }
        let result = py.detach(|| worker.join()).unwrap_or_else(|panic| Err(fault(&*panic)));
        raised.map_or(result, Err)
    })
}

/// Wakes the thread that waits, also after a panic.
struct End<'a>(&'a AtomicBool, Thread);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
        self.1.unpark();
    }
}

fn fault(panic: &(dyn Any + Send)) -> PyErr {
    let text =
        panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
    let text = text.unwrap_or("no reason is known");
    InternalError::new_err(format!(
        "{text}; this is a fault of divvy, please report it with the call that led to it"
    ))
}
