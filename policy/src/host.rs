//! `native/host.h`, field by field.

use std::alloc::{Layout, alloc_zeroed, handle_alloc_error};
use std::ffi::{CStr, c_char, c_void};
use std::ptr::NonNull;

use crate::id::MAX_CPUS;

#[repr(C)]
pub(super) struct RawMachine {
    _opaque: [u8; 0],
}

/// `struct flow` of `policy/slice/flow/state.h`.
#[repr(C)]
pub(super) struct RawFlow {
    _opaque: [u8; 0],
}

#[repr(C)]
pub(super) struct Shown {
    pub name: *const c_char,
    pub unit: *const c_char,
}

#[repr(C)]
pub(super) struct Param {
    pub name: *const c_char,
    pub unit: *const c_char,
    pub help: *const c_char,
    pub kind: u32,
    pub default: i64,
    pub min: i64,
    pub max: i64,
}

#[repr(C)]
pub(super) struct Order {
    pub id: u32,
    pub kick: u32,
    pub slice: u64,
}

/// `struct host_turn` of `native/turn.h`.
#[repr(C)]
pub(super) struct RawTurn {
    pub id: u32,
    pub kick: u16,
    pub left: u16,
    pub slice: u64,
}

/// `struct event` of `policy/event.h`.
#[repr(C)]
pub(super) struct RawEvent {
    pub now: u64,
    pub amount: u64,
    pub slice: u64,
    pub allowed: [u64; MAX_CPUS as usize / 64],
    pub id: u32,
    pub process: u32,
    pub cpu: u32,
    pub why: u32,
    pub seq: u32,
}

impl RawEvent {
    /// With all other fields 0.
    pub(super) fn at(now: u64) -> RawEvent {
        let allowed = [0; MAX_CPUS as usize / 64];
        RawEvent { now, amount: 0, slice: 0, allowed, id: 0, process: 0, cpu: 0, why: 0, seq: 0 }
    }
}

/// `struct flow_program` of `policy/slice/flow.h`.
#[repr(C)]
pub(super) struct RawProgram {
    pub identity: u64,
    pub begun: u64,
    pub actual: u64,
    pub error: u64,
    pub last_actual: u64,
    pub last_error: u64,
    pub runs: u32,
    pub last_runs: u32,
    pub executions: u32,
    pub executing: u32,
    pub logger: u32,
    pub n: u32,
    pub period: u32,
    pub delays: u32,
    pub met: u32,
    pub earlies: u32,
    pub first: u32,
    pub last: u32,
}

type Raw = *mut RawMachine;
/// `rounds` turns of a quantum on each CPU.
pub type TakeTurns = unsafe extern "C" fn(Raw, now: u64, rounds: u64, ran: *mut u32);

/// `struct calls` of `native/called.h`.
#[repr(C)]
pub(super) struct Calls {
    pub has: u64,
    pub join: unsafe extern "C" fn(*mut c_void, id: u32, now: u64, why: u32),
    pub leave: unsafe extern "C" fn(*mut c_void, id: u32, now: u64, why: u32),
    pub pick: unsafe extern "C" fn(*mut c_void, cpu: u32, now: u64) -> u32,
    pub stop: unsafe extern "C" fn(*mut c_void, id: u32, now: u64, why: u32),
    pub charge: unsafe extern "C" fn(*mut c_void, id: u32, ran: u64, now: u64),
    pub reweigh: unsafe extern "C" fn(*mut c_void, id: u32, w: u64, now: u64),
    pub slice: unsafe extern "C" fn(*mut c_void, id: u32) -> u64,
    pub preempts: unsafe extern "C" fn(*mut c_void, woken: u32, running: u32, now: u64) -> bool,
    pub fork: unsafe extern "C" fn(*mut c_void, id: u32, parent: u32, now: u64),
    pub overdrawn: unsafe extern "C" fn(*mut c_void, id: u32) -> u64,
    pub session: unsafe extern "C" fn(*mut c_void, id: u32, now: u64),
    pub bring: unsafe extern "C" fn(*mut c_void, id: u32, work: u64),
}

#[repr(C)]
pub(super) struct Host {
    pub name: *const c_char,
    pub title: *const c_char,
    pub params: *const Param,
    pub nparams: u32,
    pub simulator_only: *const c_char,
    pub is_baseline: u32,
    pub linear: u32,
    pub modifiers: u32,
    pub shown: *const Shown,
    pub nshown: u32,
    pub events: *const *const c_char,
    pub nevents: u32,
    pub event_size: u32,
    pub program_size: u32,
    pub max_cpus: u32,
    pub size: unsafe extern "C" fn(ncpus: u32) -> u64,
    pub pool: u32,
    pub prepare: unsafe extern "C" fn(Raw, modifiers: u32),
    pub set_param: unsafe extern "C" fn(Raw, modifier: u32, index: u32, value: i64),
    pub init: unsafe extern "C" fn(Raw, ncpus: u32, quantum: u64),
    pub new: unsafe extern "C" fn(Raw, id: u32, process: u32, weight: u64, now: u64),
    pub exit: unsafe extern "C" fn(Raw, id: u32, now: u64),
    pub wake: unsafe extern "C" fn(Raw, id: u32, now: u64, is_new: u32) -> u32,
    pub off: unsafe extern "C" fn(Raw, id: u32, ran: u64, now: u64, exits: u32),
    pub quiescent: unsafe extern "C" fn(Raw, id: u32, now: u64, exits: u32),
    pub dispatch: unsafe extern "C" fn(Raw, cpu: u32, now: u64) -> Order,
    pub requeue: unsafe extern "C" fn(Raw, id: u32, ran: u64, now: u64) -> u32,
    pub running: unsafe extern "C" fn(Raw, id: u32, now: u64),
    pub change: unsafe extern "C" fn(Raw, id: u32, ran: u64, now: u64, next: u32, from: u64) -> u32,
    pub turn: unsafe extern "C" fn(Raw, cpu: u32, former: u32, ran: u64, now: u64) -> RawTurn,
    pub yielding: unsafe extern "C" fn(Raw, cpu: u32),
    pub set_weight: unsafe extern "C" fn(Raw, id: u32, weight: u64, now: u64),
    pub set_allowed: unsafe extern "C" fn(Raw, id: u32, words: *const u64, n: u32, now: u64) -> u32,
    pub bring: Option<unsafe extern "C" fn(Raw, id: u32, work: u64)>,
    pub set_calls: Option<unsafe extern "C" fn(Raw, calls: *const Calls, author: *mut c_void)>,
    pub fact: Option<unsafe extern "C" fn(*const RawMachine, fact: u32, id: u32, now: u64) -> u64>,
    pub turns: TakeTurns,
    pub turns_alone: TakeTurns,
    pub tell: unsafe extern "C" fn(Raw, kind: u32, event: *mut RawEvent),
    pub program: unsafe extern "C" fn(Raw, identity: u64) -> *const RawProgram,
    pub sequence: unsafe extern "C" fn(Raw, identity: u64, run: *mut u64, wait: *mut u64, n: u32),
    pub weight: unsafe extern "C" fn(Raw, id: u32) -> u64,
    pub group_parent: unsafe extern "C" fn(Raw, group: u32) -> u32,
    pub show: unsafe extern "C" fn(Raw, index: u32, id: u32, now: u64) -> i64,
    pub carry: unsafe extern "C" fn(Raw, id: u32, by: u64, now: u64),
    pub depart: unsafe extern "C" fn(Raw, id: u32, now: u64),
    pub debit: unsafe extern "C" fn(Raw, id: u32) -> u64,
    pub flow: unsafe extern "C" fn(Raw) -> *mut RawFlow,
    pub share_flow: unsafe extern "C" fn(Raw, flow: *mut RawFlow),
    pub changed: unsafe extern "C" fn(Raw, now: u64) -> u32,
    pub set_limit: unsafe extern "C" fn(Raw, group: u32, quota: u64, period: u64, burst: u64, now: u64),
    pub due: unsafe extern "C" fn(Raw, now: u64) -> u64,
    pub release: unsafe extern "C" fn(Raw, now: u64) -> Order,
    pub holds: unsafe extern "C" fn(Raw, id: u32) -> bool,
    pub held: unsafe extern "C" fn(Raw) -> u32,
    pub decisions: unsafe extern "C" fn(Raw) -> u64,
    pub faults: unsafe extern "C" fn(Raw) -> u64,
}

// SAFETY: constant tables of functions and string constants.
unsafe impl Sync for Host {}

#[repr(C)]
pub(super) struct Modifier {
    pub name: *const c_char,
    pub title: *const c_char,
    pub params: *const Param,
    pub nparams: u32,
    pub bit: u32,
}

// SAFETY: constant tables of string constants.
unsafe impl Sync for Modifier {}

include!(concat!(env!("OUT_DIR"), "/hosts.rs"));

/// The account of weights, which is no policy that a spec can name.
pub(super) fn account() -> &'static Host {
    // SAFETY: a constant of native/host.c.
    unsafe { &divvy_host_account }
}

/// The policy that is not written in C.
pub(super) fn called() -> &'static Host {
    // SAFETY: a constant of native/host.c.
    unsafe { &divvy_host_called }
}

pub(super) fn all() -> Vec<&'static Host> {
    hosts().to_vec()
}

unsafe extern "C" {
    #[link_name = "divvy_modifiers"]
    static MODIFIERS: [Modifier; 0];
}

/// The table ends with a row without a name.
pub(super) fn modifiers() -> &'static [Modifier] {
    // SAFETY: rows up to the first without a name exist.
    unsafe {
        let first = (&raw const MODIFIERS).cast::<Modifier>();
        let mut n = 0;
        while !(*first.add(n)).name.is_null() {
            n += 1;
        }
        std::slice::from_raw_parts(first, n)
    }
}

/// The bit of a modifier.
pub(super) fn modifier_bit(name: &str) -> Option<u32> {
    // SAFETY: a string constant.
    let is_called = |m: &&Modifier| unsafe { CStr::from_ptr(m.name) }.to_bytes() == name.as_bytes();
    modifiers().iter().find(is_called).map(|m| m.bit)
}

/// The memory of a machine.
pub(super) fn layout(host: &Host, cpus: u32) -> Layout {
    // SAFETY: a function of the number alone.
    let size = usize::try_from(unsafe { (host.size)(cpus) }).expect("a machine fits in memory");
    // Not more than malloc's own alignment: beyond it, zeroing touches every page.
    Layout::from_size_align(size, 16).expect("a machine's size is far below isize::MAX")
}

/// Zeroed by the system page by page, so that only tasks in use cost memory.
pub(super) fn allocate(host: &Host, cpus: u32) -> NonNull<RawMachine> {
    let layout = layout(host, cpus);
    // SAFETY: the size is not 0.
    let raw = unsafe { alloc_zeroed(layout) };
    NonNull::new(raw.cast()).unwrap_or_else(|| handle_alloc_error(layout))
}
