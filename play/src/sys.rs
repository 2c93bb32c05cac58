//! What has no safe wrapper: memory that processes share, `fork`, and three calls of the C library.
//!
//! With `load/sys.rs` the only place with `unsafe` beside the seams to the policies' C. Everything that leaves this file is safe to
//! use: shared memory is only seen as atomics, and a child of `fork` only ever runs one function.

use std::io;
use std::ops::Deref;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU32, AtomicU64};

use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};
use rustix::process::Pid;

/// A type that may be shared with other processes, and of which zero bytes are a value: an atomic integer.
pub trait SharedWord: sealed::Sealed + Sync + 'static {}
impl SharedWord for AtomicU32 {}
impl SharedWord for AtomicU64 {}
mod sealed {
    pub trait Sealed {}
    impl Sealed for std::sync::atomic::AtomicU32 {}
    impl Sealed for std::sync::atomic::AtomicU64 {}
}

/// Words that a process shares with the children that it forks afterwards; 0 at first.
pub struct Shared<T: SharedWord> {
    words: NonNull<T>,
    count: usize,
}

impl<T: SharedWord> Shared<T> {
    pub fn new(count: usize) -> io::Result<Shared<T>> {
        let count = count.max(1);
        let len = count.checked_mul(size_of::<T>()).ok_or(io::ErrorKind::OutOfMemory)?;
        // SAFETY: a new mapping, at an address that the kernel chooses, overlaps nothing that Rust knows of.
        let start = unsafe {
            mmap_anonymous(ptr::null_mut(), len, ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED)
        }?;
        let words = NonNull::new(start.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Shared { words, count })
    }
}

impl<T: SharedWord> Deref for Shared<T> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        // SAFETY: the mapping is page-aligned, `count` words long, zeroed by the kernel and lives as long as `self`.
        // Zero is a value of every `SharedWord`, which is an atomic: other processes may write at any time.
        unsafe { std::slice::from_raw_parts(self.words.as_ptr(), self.count) }
    }
}

impl<T: SharedWord> Drop for Shared<T> {
    fn drop(&mut self) {
        // SAFETY: this mapping is `self`'s alone, and no reference outlives it. (In a child it is the child's copy.)
        let _ = unsafe { munmap(self.words.as_ptr().cast(), self.count * size_of::<T>()) };
    }
}

// SAFETY: it owns its mapping and only gives out shared references to atomics.
unsafe impl<T: SharedWord> Send for Shared<T> {}
// SAFETY: as above.
unsafe impl<T: SharedWord> Sync for Shared<T> {}

/// Exit code of a child that panicked: a defect.
pub const PANICKED: i32 = 70;

/// This process has one thread only, so that it may be forked: a child has no other threads, but would inherit the
/// locks that they hold.
pub struct SingleThreaded(());

impl SingleThreaded {
    /// `None` if there are other threads. (Whoever holds this starts none.)
    pub fn check() -> Option<SingleThreaded> {
        let threads = std::fs::read_dir("/proc/self/task").ok()?.count();
        (threads == 1).then_some(SingleThreaded(()))
    }

    /// Starts a child process that runs `body` and exits, with [`PANICKED`] if it panics.
    pub fn fork(&self, body: impl FnOnce()) -> io::Result<Pid> {
        fork(body)
    }
}

fn fork(body: impl FnOnce()) -> io::Result<Pid> {
    // SAFETY: the child has a copy of this process's only thread, so that no lock is held by a thread that it
    // lacks. It never returns from here: destructors and exit handlers are the parent's to run.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => {
            let code = if catch_unwind(AssertUnwindSafe(body)).is_ok() { 0 } else { PANICKED };
            // SAFETY: ends the process, whatever state it is in.
            unsafe { libc::_exit(code) }
        }
        pid => Pid::from_raw(pid).ok_or_else(|| io::ErrorKind::InvalidData.into()),
    }
}

/// Times that the calling thread has left its CPU, by its own will or not.
pub fn thread_switches() -> u64 {
    // SAFETY: all-zero is a value of this struct of integers, and the call writes no more than the struct.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage);
        usage
    };
    u64::try_from(usage.ru_nvcsw + usage.ru_nivcsw).unwrap_or(0)
}

/// Asks for real-time priority for this thread, so that it is on time beside any load; children do not inherit it.
/// Whether it was granted.
pub fn be_real_time() -> bool {
    let param = libc::sched_param { sched_priority: 1 };
    // SAFETY: reads the struct.
    unsafe {
        libc::sched_setscheduler(0, libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK, &raw const param) == 0
    }
}

/// Undoes [`be_real_time`].
pub fn be_ordinary() {
    let param = libc::sched_param { sched_priority: 0 };
    // SAFETY: reads the struct.
    unsafe { libc::sched_setscheduler(0, libc::SCHED_OTHER, &raw const param) };
}
