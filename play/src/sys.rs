//! System calls without a safe wrapper in a crate: shared memory, `fork`, and three calls of the C library.
//!
//! All `unsafe` of this crate is in this file, and all that it exports is safe to use: shared memory is visible as atomics
//! only, and a child of `fork` runs one function, which may execute another program, and exits.

use std::fs::File;
use std::io;
use std::ops::Deref;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use rustix::fs::{MemfdFlags, memfd_create};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use rustix::process::Pid;

/// An atomic integer: a type that processes may share, and that is valid when all its bytes are zero.
pub trait SharedWord: sealed::Sealed + Sync + 'static {}
impl SharedWord for AtomicU32 {}
impl SharedWord for AtomicU64 {}
mod sealed {
    pub trait Sealed {}
    impl Sealed for std::sync::atomic::AtomicU32 {}
    impl Sealed for std::sync::atomic::AtomicU64 {}
}

/// A multiple of the size of every system's pages: a mapping begins there.
const PAGES: u64 = 1 << 16;

/// Memory that processes share: a file in memory, which a process finds again after it has executed another program. Its parts are
/// taken one after the other, so equal calls give equal parts.
pub struct SharedMemory {
    file: File,
    taken: AtomicU64,
}

impl SharedMemory {
    /// Makes new memory.
    ///
    /// # Errors
    /// When the system has none.
    pub fn new() -> io::Result<SharedMemory> {
        Ok(SharedMemory::again(memfd_create("divvy-play-state", MemfdFlags::CLOEXEC)?.into()))
    }

    /// The same memory as that of the process that made this file.
    pub fn again(file: File) -> SharedMemory {
        SharedMemory { file, taken: AtomicU64::new(0) }
    }

    /// The file.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Takes the next part. Returns where it begins.
    fn take(&self, bytes: usize) -> io::Result<u64> {
        let bytes = (bytes as u64).next_multiple_of(PAGES);
        let from = self.taken.fetch_add(bytes, Ordering::Relaxed);
        if self.file.metadata()?.len() < from + bytes {
            self.file.set_len(from + bytes)?;
        }
        Ok(from)
    }
}

/// Words that processes share. In new memory they are 0 at first.
pub struct SharedWords<T: SharedWord> {
    words: NonNull<T>,
    count: usize,
}

impl<T: SharedWord> SharedWords<T> {
    /// Maps the next `count` words of the memory, at least one.
    ///
    /// # Errors
    /// When the system has no memory.
    pub fn new(memory: &SharedMemory, count: usize) -> io::Result<SharedWords<T>> {
        let count = count.max(1);
        let len = count.checked_mul(size_of::<T>()).ok_or(io::ErrorKind::OutOfMemory)?;
        let from = memory.take(len)?;
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping, at an address that the kernel chooses, overlaps nothing that Rust knows of.
        let start = unsafe { mmap(ptr::null_mut(), len, access, MapFlags::SHARED, &memory.file, from) }?;
        let words = NonNull::new(start.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(SharedWords { words, count })
    }
}

impl<T: SharedWord> Deref for SharedWords<T> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        // SAFETY: the mapping is page-aligned, `count` words long, and lives as long as `self`. The file is as long: it never shrinks.
        // All bytes are values of every `SharedWord`, which is an atomic: other processes may write at any time.
        unsafe { std::slice::from_raw_parts(self.words.as_ptr(), self.count) }
    }
}

impl<T: SharedWord> Drop for SharedWords<T> {
    fn drop(&mut self) {
        // SAFETY: this mapping is `self`'s alone, and no reference outlives it. (In a child it is the child's copy.)
        let _ = unsafe { munmap(self.words.as_ptr().cast(), self.count * size_of::<T>()) };
    }
}

// SAFETY: it owns its mapping and only gives out shared references to atomics.
unsafe impl<T: SharedWord> Send for SharedWords<T> {}
// SAFETY: as above.
unsafe impl<T: SharedWord> Sync for SharedWords<T> {}

/// Exit code of a child that panicked.
pub const PANICKED: i32 = 70;

/// Proof that this process has only one thread, so that it may fork. (A child of a process with more threads would
/// inherit the locks that they hold, but not the threads.)
pub struct SingleThreaded(());

impl SingleThreaded {
    /// Returns `None` if there are other threads. The owner of the proof must start none.
    pub fn check() -> Option<SingleThreaded> {
        let threads = std::fs::read_dir("/proc/self/task").ok()?.count();
        (threads == 1).then_some(SingleThreaded(()))
    }

    /// Starts a child process that runs `body` and exits; if `body` panics, with [`PANICKED`].
    ///
    /// # Errors
    /// When the system cannot start a process.
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

/// How often the calling thread has left its CPU, voluntarily or not.
pub fn thread_switches() -> u64 {
    // SAFETY: all-zero is a value of this struct of integers, and the call writes no more than the struct.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage);
        usage
    };
    u64::try_from(usage.ru_nvcsw + usage.ru_nivcsw).unwrap_or(0)
}

/// Asks for real-time priority for this thread, so that no load delays it. Children do not inherit it. Returns whether
/// the kernel granted it.
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
