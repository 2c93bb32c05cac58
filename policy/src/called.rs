//! A policy that is not written in C: `native/called.h`, whose functions call an [`Author`].
//!
//! It is slower than C by a factor, and nothing of it is in the way of the policies in C: they have machines of their own code.

use std::ffi::c_void;
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, PoisonError};

use crate::host::{Calls, Host, RawMachine};
use crate::id::{CpuId, TaskId};
use crate::weight::Weight;

/// Why a task joins, leaves or stops; `enum why` of `policy.h`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Why {
    /// It joins for the first time.
    New,
    /// It joins again.
    Woken,
    /// It leaves, and may join again.
    Blocked,
    /// It leaves for good.
    Exited,
    /// Its slice was used up.
    Expired,
    /// Another task took its CPU.
    Preempted,
    /// It gave up its CPU.
    Yielded,
}

impl Why {
    /// All, in the order of C.
    pub const ALL: [Why; 7] =
        [Why::New, Why::Woken, Why::Blocked, Why::Exited, Why::Expired, Why::Preempted, Why::Yielded];

    /// As C calls it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        ["NEW", "WOKEN", "BLOCKED", "EXITED", "EXPIRED", "PREEMPTED", "YIELDED"][self as usize]
    }

    fn of(raw: u32) -> Why {
        Why::ALL[raw as usize % Why::ALL.len()]
    }
}

/// A function of the contract that a policy may leave out: its name, and its bit in POLICY_HAS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum Optional {
    /// A task received service.
    Charge = 2,
    /// A task's weight changes.
    Reweigh = 4,
    /// The length of a slice.
    Slice = 8,
    /// Whether a task that joined takes a CPU.
    Preempts = 16,
    /// The work that a program begins.
    Bring = 32,
    /// A task exists.
    Fork = 64,
    /// A program begins a session.
    Session = 128,
    /// Service that was not due.
    Overdrawn = 8192,
}

impl Optional {
    /// All, with their names in the contract.
    pub const ALL: [(&str, Optional); 8] = [
        ("charge", Optional::Charge),
        ("reweigh", Optional::Reweigh),
        ("slice", Optional::Slice),
        ("preempts", Optional::Preempts),
        ("bring", Optional::Bring),
        ("fork", Optional::Fork),
        ("session", Optional::Session),
        ("overdrawn", Optional::Overdrawn),
    ];
}

/// A policy: the functions of `policy.h`, with their names and arguments. Of those that may be left out it is asked the ones that it
/// says it has. A panic in a method ends the process, except in [`Author::init`], where it unwinds.
pub trait Author: Send {
    /// Those that it has.
    fn has(&self) -> Vec<Optional>;
    /// There are no tasks yet. The table answers during each of the calls below.
    fn init(&mut self, table: &Table);
    /// A task became runnable.
    fn join(&mut self, task: TaskId, now_ns: u64, why: Why);
    /// It no longer is.
    fn leave(&mut self, task: TaskId, now_ns: u64, why: Why);
    /// The task that runs next. An answer that breaks the contract is counted, as of a policy in C.
    fn pick(&mut self, cpu: CpuId, now_ns: u64) -> Option<TaskId>;
    /// A slice is over, and its task is still runnable.
    fn stop(&mut self, task: TaskId, now_ns: u64, why: Why);
    /// A task received service.
    fn charge(&mut self, task: TaskId, ran_ns: u64, now_ns: u64);
    /// A task's effective weight becomes this one.
    fn reweigh(&mut self, task: TaskId, weight: Weight, now_ns: u64);
    /// The length of the slice that begins, in ns; `u64::MAX` has no end.
    fn slice(&mut self, task: TaskId) -> u64;
    /// Whether a task that just joined takes the CPU of one that runs.
    fn preempts(&mut self, woken: TaskId, running: TaskId, now_ns: u64) -> bool;
    /// A task exists, and has not joined.
    fn fork(&mut self, task: TaskId, parent: Option<TaskId>, now_ns: u64);
    /// The service that a task that exits received before it was due, in ns.
    fn overdrawn(&mut self, task: TaskId) -> u64;
    /// A task's program begins a session.
    fn session(&mut self, task: TaskId, now_ns: u64);
    /// A task's program begins this much work.
    fn bring(&mut self, task: TaskId, work_ns: u64);
}

/// The machine's table of tasks, for an author: it answers while the author is being called, and `None` else.
#[derive(Clone, Default)]
pub struct Table(Arc<Mutex<Option<Seen>>>);

#[derive(Clone, Copy)]
struct Seen {
    raw: NonNull<RawMachine>,
    fact: unsafe extern "C" fn(*const RawMachine, fact: u32, id: u32, now: u64) -> u64,
}

// SAFETY: it is used under the table's lock, while the machine's own thread waits for the author.
unsafe impl Send for Seen {}

/// `enum fact` of `native/called.h`.
#[repr(u32)]
enum Fact {
    Cpus,
    Runnable,
    Quantum,
    Weight,
    Process,
    Cpu,
    Turn,
    Debit,
    IsRunnable,
    IsPicked,
    Uncharged,
}

impl Table {
    /// Number of CPUs.
    pub fn cpus(&self) -> Option<u64> {
        self.fact(Fact::Cpus, None, 0)
    }

    /// Number of runnable tasks, those that run included.
    pub fn runnable(&self) -> Option<u64> {
        self.fact(Fact::Runnable, None, 0)
    }

    /// The slice of a policy that has none of its own, in ns.
    pub fn quantum_ns(&self) -> Option<u64> {
        self.fact(Fact::Quantum, None, 0)
    }

    /// `weight_of`: a task's effective weight.
    pub fn weight(&self, task: TaskId) -> Option<Weight> {
        self.fact(Fact::Weight, Some(task), 0).map(Weight::from_fixed)
    }

    /// `process_of_task`.
    pub fn process(&self, task: TaskId) -> Option<u64> {
        self.fact(Fact::Process, Some(task), 0)
    }

    /// `cpu_of`: where a task runs or ran last; `Some(None)` if it never ran.
    pub fn cpu(&self, task: TaskId) -> Option<Option<CpuId>> {
        self.fact(Fact::Cpu, Some(task), 0).map(|cpu| CpuId::from_answer(cpu as u32))
    }

    /// `turn_of`: what a task received in its slice and was charged for, in ns.
    pub fn turn_ns(&self, task: TaskId) -> Option<u64> {
        self.fact(Fact::Turn, Some(task), 0)
    }

    /// `debit_of`: what a new task owes, in ns.
    pub fn debit_ns(&self, task: TaskId) -> Option<u64> {
        self.fact(Fact::Debit, Some(task), 0)
    }

    /// `is_runnable`.
    pub fn is_runnable(&self, task: TaskId) -> Option<bool> {
        self.fact(Fact::IsRunnable, Some(task), 0).map(|is| is != 0)
    }

    /// `is_picked`.
    pub fn is_picked(&self, task: TaskId) -> Option<bool> {
        self.fact(Fact::IsPicked, Some(task), 0).map(|is| is != 0)
    }

    /// `uncharged`: what a task received in its slice and was not charged for yet, in ns.
    pub fn uncharged_ns(&self, task: TaskId, now_ns: u64) -> Option<u64> {
        self.fact(Fact::Uncharged, Some(task), now_ns)
    }

    fn fact(&self, fact: Fact, task: Option<TaskId>, now_ns: u64) -> Option<u64> {
        // The lock is held while C reads: the call into the author cannot end meanwhile.
        let seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Seen { raw, fact: ask } = (*seen)?;
        // SAFETY: while it is set the machine lives, and waits for the author; C masks the id and changes nothing.
        Some(unsafe { ask(raw.as_ptr(), fact as u32, task.map_or(0, TaskId::get), now_ns) })
    }

    fn set(&self, seen: Option<Seen>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = seen;
    }
}

/// An author with all that C needs to call it.
struct Attached {
    calls: Calls,
    author: Box<dyn Author>,
    table: Table,
    seen: Option<Seen>,
}

/// An author in a machine. C knows its address, so it does not move.
pub(crate) struct Called(NonNull<Attached>);

// SAFETY: an author may go to another thread, and the machine that has its address goes with it.
unsafe impl Send for Called {}

impl Called {
    pub(crate) fn new(author: Box<dyn Author>) -> Called {
        let has = author.has().into_iter().fold(0, |bits, one| bits | one as u64);
        let calls = Calls {
            has,
            join,
            leave,
            pick,
            stop,
            charge,
            reweigh,
            slice,
            preempts,
            fork,
            overdrawn,
            session,
            bring,
        };
        let attached = Box::new(Attached { calls, author, table: Table::default(), seen: None });
        Called(NonNull::from(Box::leak(attached)))
    }

    /// Tells a machine of this policy, which is prepared and not initialised, whom to call.
    pub(crate) fn attach(&self, raw: NonNull<RawMachine>, host: &Host) {
        let (Some(set_calls), Some(fact)) = (host.set_calls, host.fact) else { return };
        let at = self.0.as_ptr();
        // SAFETY: it was leaked in `new`, and nobody calls it yet; the machine keeps the address as long as it lives.
        unsafe {
            (*at).seen = Some(Seen { raw, fact });
            set_calls(raw.as_ptr(), &raw const (*at).calls, at.cast());
        }
    }

    /// The machine is initialised.
    pub(crate) fn begin(&self) {
        // SAFETY: C calls nobody now.
        unsafe { asked(self.0.as_ptr().cast(), |author, table| author.init(table)) }
    }
}

impl Drop for Called {
    fn drop(&mut self) {
        // SAFETY: it was leaked in `new`, and the machine that knew the address is gone.
        drop(unsafe { Box::from_raw(self.0.as_ptr()) });
    }
}

/// Calls the author; meanwhile its table answers.
///
/// # Safety
/// The address is that of an [`Attached`] that no other call uses.
unsafe fn asked<T>(at: *mut c_void, call: impl FnOnce(&mut dyn Author, &Table) -> T) -> T {
    // SAFETY: by contract.
    let Attached { author, table, seen, .. } = unsafe { &mut *at.cast::<Attached>() };
    table.set(*seen);
    let _blind = Blind(table);
    call(&mut **author, table)
}

/// The table answers no more when this is dropped, also if the author panics.
struct Blind<'a>(&'a Table);

impl Drop for Blind<'_> {
    fn drop(&mut self) {
        self.0.set(None);
    }
}

/// The functions that C calls, each with the method of its name. Ids that C passes are of tasks.
macro_rules! functions {
    ($($name:ident($($arg:ident: $type:ty),*) $(-> $result:ty)?: |$author:ident| $call:expr;)*) => {
        $(unsafe extern "C" fn $name(at: *mut c_void, $($arg: $type),*) $(-> $result)? {
            // SAFETY: C passes the address that it was given, and makes one call at a time.
            unsafe { asked(at, |$author, _| $call) }
        })*
    };
}

functions! {
    join(id: u32, now: u64, why: u32): |author| author.join(TaskId::new(id), now, Why::of(why));
    leave(id: u32, now: u64, why: u32): |author| author.leave(TaskId::new(id), now, Why::of(why));
    pick(cpu: u32, now: u64) -> u32: |author| author.pick(CpuId::new(cpu), now).map_or(0, TaskId::get);
    stop(id: u32, now: u64, why: u32): |author| author.stop(TaskId::new(id), now, Why::of(why));
    charge(id: u32, ran: u64, now: u64): |author| author.charge(TaskId::new(id), ran, now);
    reweigh(id: u32, w: u64, now: u64): |author| author.reweigh(TaskId::new(id), Weight::from_fixed(w), now);
    slice(id: u32) -> u64: |author| author.slice(TaskId::new(id));
    preempts(woken: u32, running: u32, now: u64) -> bool:
        |author| author.preempts(TaskId::new(woken), TaskId::new(running), now);
    fork(id: u32, parent: u32, now: u64): |author| author.fork(TaskId::new(id), TaskId::from_raw(parent), now);
    overdrawn(id: u32) -> u64: |author| author.overdrawn(TaskId::new(id));
    session(id: u32, now: u64): |author| author.session(TaskId::new(id), now);
    bring(id: u32, work: u64): |author| author.bring(TaskId::new(id), work);
}
