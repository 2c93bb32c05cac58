//! Perfetto's protobuf traces: sched events in bundles, names in a process tree, counters as tracks.
//!
//! The format has hundreds of messages. These are the few that say which thread ran where. Their numbers are Perfetto's
//! (`protos/perfetto/trace`) and do not change.

mod compact;
pub(crate) mod read;
mod wire;
pub mod write;

/// Numbers of fields, a module a message.
mod field {
    pub mod trace {
        pub const PACKET: u32 = 1;
    }
    pub mod packet {
        pub const FTRACE_EVENTS: u32 = 1;
        pub const PROCESS_TREE: u32 = 2;
        pub const TIMESTAMP: u32 = 8;
        pub const SEQUENCE: u32 = 10;
        pub const TRACK_EVENT: u32 = 11;
        pub const FTRACE_STATS: u32 = 34;
        pub const SYSTEM_INFO: u32 = 45;
        pub const COMPRESSED: u32 = 50;
        pub const TRACK_DESCRIPTOR: u32 = 60;
        pub const ZSTD_COMPRESSED: u32 = 133;
    }
    pub mod bundle {
        pub const CPU: u32 = 1;
        pub const EVENT: u32 = 2;
        pub const LOST: u32 = 3;
        pub const COMPACT: u32 = 4;
    }
    pub mod stats {
        pub const PHASE: u32 = 1;
        pub const CPU: u32 = 2;
    }
    pub mod cpu_stats {
        pub const CPU: u32 = 1;
        pub const OVERRUN: u32 = 3;
        pub const DROPPED: u32 = 8;
    }
    pub mod compact {
        pub const SWITCH_TIMESTAMP: u32 = 1;
        pub const SWITCH_PREV_STATE: u32 = 2;
        pub const SWITCH_NEXT_PID: u32 = 3;
        pub const SWITCH_NEXT_PRIO: u32 = 4;
        pub const NAMES: u32 = 5;
        pub const SWITCH_NEXT_NAME: u32 = 6;
        pub const WAKING_TIMESTAMP: u32 = 7;
        pub const WAKING_PID: u32 = 8;
        pub const WAKING_PRIO: u32 = 10;
        pub const WAKING_NAME: u32 = 11;
        pub const WAKING_FLAGS: u32 = 12;
    }
    pub mod event {
        pub const TIMESTAMP: u32 = 1;
        pub const PID: u32 = 2;
        pub const SWITCH: u32 = 4;
        pub const FLAGS: u32 = 5;
        pub const WAKEUP: u32 = 17;
        pub const WAKING: u32 = 20;
        pub const WAKEUP_NEW: u32 = 114;
    }
    pub mod switch {
        pub const PREV_COMM: u32 = 1;
        pub const PREV_PID: u32 = 2;
        pub const PREV_PRIO: u32 = 3;
        pub const PREV_STATE: u32 = 4;
        pub const NEXT_COMM: u32 = 5;
        pub const NEXT_PID: u32 = 6;
        pub const NEXT_PRIO: u32 = 7;
    }
    pub mod wake {
        pub const COMM: u32 = 1;
        pub const PID: u32 = 2;
        pub const PRIO: u32 = 3;
        pub const TARGET_CPU: u32 = 5;
    }
    pub mod tree {
        pub const PROCESS: u32 = 1;
        pub const THREAD: u32 = 2;
    }
    pub mod process {
        pub const PID: u32 = 1;
        pub const CMDLINE: u32 = 3;
    }
    pub mod thread {
        pub const TID: u32 = 1;
        pub const NAME: u32 = 2;
        pub const TGID: u32 = 3;
    }
    pub mod system {
        pub const UTSNAME: u32 = 1;
    }
    pub mod utsname {
        pub const SYSNAME: u32 = 1;
        pub const RELEASE: u32 = 3;
    }
    pub mod track {
        pub const UUID: u32 = 1;
        pub const NAME: u32 = 2;
        pub const COUNTER: u32 = 8;
    }
    pub mod counter {
        pub const UNIT_NAME: u32 = 6;
    }
    pub mod track_event {
        pub const TYPE: u32 = 9;
        pub const TRACK: u32 = 11;
        pub const VALUE: u32 = 30;
    }
}

/// `FtraceStats.Phase` of the end of the recording. At the start the counters hold what was lost before.
const PHASE_END: u64 = 2;
/// `common_flags` of an event in a hard or soft interrupt.
const HARD_INTERRUPT: u64 = 0x08;
const ANY_INTERRUPT: u64 = 0x18;
