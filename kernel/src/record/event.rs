//! The slots of a ring, as `bpf/record.h` lays them out, and what they become in the recording.

use std::io::Write;

use divvy_trace::{Named, PerfWriter, Stamp};

/// Size of `struct event`.
pub const SIZE: usize = 96;
/// The bytes of a slot behind its sequence number.
pub type Slot = [u8; SIZE - 8];

const SWITCH: u8 = 1;
const WAKING: u8 = 2;
const WAKEUP_NEW: u8 = 3;
const MIGRATE: u8 = 4;
const FORK: u8 = 5;
const EXIT: u8 = 6;
const RENAME: u8 = 7;
const EXEC: u8 = 8;

const PREEMPTED: u8 = 1;
const HAS_RUNTIME: u8 = 2;

/// The states that `sched_switch` tells: S, D, T, t, X, Z, P. Then I, and "it would have gone on".
const REPORTED: u32 = 0x7f;
const REPORT_IDLE: u64 = 0x80;
const REPORT_PREEMPTED: u64 = 0x100;
const UNINTERRUPTIBLE: u64 = 0x2;
/// `TASK_UNINTERRUPTIBLE | TASK_NOLOAD`.
const TASK_IDLE: u32 = 0x402;
/// Real-time locks and the freezer, which the kernel tells as D.
const TOLD_AS_D: u32 = 0x1000 | 0x8000;

/// The events that a recording has, by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// All.
    pub events: u64,
    /// Changes of the running thread.
    pub switches: u64,
    /// Wake-ups.
    pub wakes: u64,
    /// Slots that hold no event: a defect of the recorder.
    pub unknown: u64,
}

/// Reads numbers of a slot by the offsets in `struct event`.
struct Reader<'a>(&'a Slot);

impl Reader<'_> {
    fn bytes<const N: usize>(&self, at: usize) -> [u8; N] {
        let mut bytes = [0; N];
        bytes.copy_from_slice(&self.0[at - 8..at - 8 + N]);
        bytes
    }

    fn byte(&self, at: usize) -> u8 {
        self.0[at - 8]
    }

    fn s16(&self, at: usize) -> i32 {
        i16::from_ne_bytes(self.bytes(at)).into()
    }

    fn s32(&self, at: usize) -> i32 {
        i32::from_ne_bytes(self.bytes(at))
    }

    fn u32(&self, at: usize) -> u32 {
        u32::from_ne_bytes(self.bytes(at))
    }

    fn u64(&self, at: usize) -> u64 {
        u64::from_ne_bytes(self.bytes(at))
    }

    /// The thread that an event other than a switch is about.
    fn task(&self) -> Named {
        Named { tid: self.s32(32), prio: self.s32(40), comm: self.bytes(64) }
    }
}

/// Writes the event of a slot, and what was lost before it. `rename` gives the name that is written for one.
pub fn write<W: Write>(
    slot: &Slot,
    cpu: u32,
    out: &mut PerfWriter<W>,
    counts: &mut Counts,
    rename: &mut impl FnMut(&mut [u8; 16]),
) -> u64 {
    let slot = Reader(slot);
    let stamp =
        Stamp { t_ns: slot.u64(8), cpu, process: slot.s32(24), tid: slot.s32(28), flags: slot.byte(18) };
    let lost = u64::from(slot.u32(20));
    if lost > 0 {
        out.lost(&stamp, lost);
    }
    counts.events += 1;
    let kind = slot.byte(16);
    if kind == SWITCH {
        switch(&slot, &stamp, out, rename);
        counts.switches += 1;
        return lost;
    }
    let mut task = slot.task();
    rename(&mut task.comm);
    let (process, on) = (slot.s32(36), slot.s32(44));
    match kind {
        WAKING => out.waking(&stamp, &task, on),
        WAKEUP_NEW => out.woken_new(&stamp, &task, on),
        MIGRATE => out.migrate(&stamp, &task, on, slot.s32(48)),
        FORK => {
            out.fork(&stamp, process, task.tid);
            out.comm(&stamp, process, task.tid, &task.comm, false);
        }
        EXIT => out.exit(&stamp, process, task.tid),
        RENAME => out.comm(&stamp, process, task.tid, &task.comm, false),
        EXEC => out.comm(&stamp, process, task.tid, &task.comm, true),
        _ => counts.unknown += 1,
    }
    counts.wakes += u64::from(matches!(kind, WAKING | WAKEUP_NEW));
    lost
}

fn switch<W: Write>(
    slot: &Reader<'_>,
    stamp: &Stamp,
    out: &mut PerfWriter<W>,
    rename: &mut impl FnMut(&mut [u8; 16]),
) {
    let flags = slot.byte(17);
    let mut prev = Named { tid: stamp.tid, prio: slot.s16(44), comm: slot.bytes(64) };
    let mut next = Named { tid: slot.s32(40), prio: slot.s16(46), comm: slot.bytes(80) };
    rename(&mut prev.comm);
    rename(&mut next.comm);
    if flags & HAS_RUNTIME != 0 {
        out.runtime(stamp, &prev, slot.u64(48));
    }
    let state = state(slot.u32(32), slot.u32(36), flags & PREEMPTED != 0);
    out.switch(stamp, &prev, state, &next, slot.u64(56));
}

/// The state as the tracepoint's text tells it: `__trace_sched_switch_state` of the kernel.
fn state(state: u32, exit_state: u32, is_preempted: bool) -> u64 {
    if is_preempted {
        return REPORT_PREEMPTED;
    }
    if state == TASK_IDLE {
        return REPORT_IDLE;
    }
    if state & TOLD_AS_D != 0 {
        return UNINTERRUPTIBLE;
    }
    match (state | exit_state) & REPORTED {
        0 => 0,
        states => 1 << states.ilog2(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_are_told_as_the_kernel_tells_them() {
        assert_eq!(state(0, 0, true), 0x100, "taken away");
        assert_eq!(state(1, 0, true), 0x100, "taken away on its way to sleep");
        assert_eq!(state(0, 0, false), 0, "it yields");
        assert_eq!(state(1, 0, false), 1);
        assert_eq!(state(0x2, 0, false), 2);
        assert_eq!(state(0x102, 0, false), 2, "killable");
        assert_eq!(state(0x402, 0, false), 0x80, "idle");
        assert_eq!(state(0x8000, 0, false), 2, "frozen");
        assert_eq!(state(0x80, 0x10, false), 0x10, "dead");
        assert_eq!(state(0x80, 0x20, false), 0x20, "a zombie");
        assert_eq!(state(0x40, 0, false), 0x40, "parked");
    }
}
