//! The rings, which are memory that the kernel writes: the only place of `unsafe` here.

use std::io;
use std::os::fd::BorrowedFd;
use std::ptr::{NonNull, null_mut};
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

use super::event::{SIZE, Slot};

/// Size of `struct cpu`, and the places of `lost`, `lost_paths` and `tail` in it.
const CPU_SIZE: usize = 128;
const LOST: usize = 8;
const LOST_PATHS: usize = 32;
const TAIL: usize = 64;

/// A BPF array in this process's memory.
struct Mapping {
    start: NonNull<u8>,
    length: usize,
}

impl Mapping {
    fn new(map: BorrowedFd<'_>, length: usize) -> io::Result<Self> {
        let length = length.next_multiple_of(rustix::param::page_size());
        // SAFETY: a new mapping at a place that the kernel chooses.
        let start = unsafe {
            mmap(null_mut(), length, ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED, map, 0)?
        };
        let start = NonNull::new(start.cast()).ok_or(io::ErrorKind::Other)?;
        Ok(Self { start, length })
    }

    /// The number at this byte, which BPF programs and this process change.
    fn number(&self, at: usize) -> &AtomicU64 {
        assert!(at.is_multiple_of(8) && at + 8 <= self.length);
        // SAFETY: it lies within the mapping, which lives as long as this, begins at a page, and is only accessed atomically there.
        unsafe { AtomicU64::from_ptr(self.start.as_ptr().add(at).cast()) }
    }

    /// The slot from this byte on.
    ///
    /// # Safety
    /// Nobody may write to it while the result is in use.
    unsafe fn slot(&self, at: usize) -> &Slot {
        assert!(at + size_of::<Slot>() <= self.length);
        // SAFETY: it lies within the mapping, which lives as long as this, and bytes need no alignment.
        unsafe { &*self.start.as_ptr().add(at).cast::<Slot>() }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: it was mapped with this length, and nothing refers to it any more.
        let _ = unsafe { munmap(self.start.as_ptr().cast(), self.length) };
    }
}

/// The ring of each CPU.
pub struct Rings {
    events: Mapping,
    cpus: Mapping,
    count: usize,
    possible: usize,
    slots: usize,
}

impl Rings {
    /// The maps must have as many entries as this says: a slot of [`SIZE`] bytes for each ring and position, and a state for each
    /// CPU that is possible. There are no more rings than that.
    pub fn new(
        [events, cpus]: [BorrowedFd<'_>; 2],
        count: usize,
        possible: usize,
        slots: usize,
    ) -> io::Result<Self> {
        assert!(slots.is_power_of_two() && count <= possible);
        Ok(Self {
            events: Mapping::new(events, count * slots * SIZE)?,
            cpus: Mapping::new(cpus, possible * CPU_SIZE)?,
            count,
            possible,
            slots,
        })
    }

    /// CPUs that have a ring: from 0 on.
    pub fn count(&self) -> usize {
        self.count
    }

    /// CPUs that may lose events.
    pub fn possible(&self) -> usize {
        self.possible
    }

    /// Paths of cgroups that found no room.
    pub fn lost_paths(&self) -> u64 {
        let of = |cpu| self.cpus.number(cpu * CPU_SIZE + LOST_PATHS).load(Ordering::Relaxed);
        (0..self.possible).map(of).sum()
    }

    /// Hands over a CPU's complete slots in their order, and frees them; at most as many as the ring has. Returns how many.
    pub fn take(&self, cpu: usize, mut each: impl FnMut(&Slot)) -> usize {
        let tail = self.cpus.number(cpu * CPU_SIZE + TAIL);
        let from = tail.load(Ordering::Relaxed);
        for taken in 0..self.slots {
            let position = from + taken as u64;
            let at = (cpu * self.slots + (position as usize & (self.slots - 1))) * SIZE;
            if self.events.number(at).load(Ordering::Acquire) != position + 1 {
                tail.store(position, Ordering::Release);
                return taken;
            }
            // SAFETY: the program that wrote it exchanged the number last, and none writes to it again before `tail` has passed it.
            each(unsafe { self.events.slot(at + 8) });
        }
        tail.store(from + self.slots as u64, Ordering::Release);
        self.slots
    }

    /// Events of this CPU that found no slot, and of which no later event has told.
    pub fn lost(&self, cpu: usize) -> u64 {
        self.cpus.number(cpu * CPU_SIZE + LOST).load(Ordering::Relaxed)
    }
}
