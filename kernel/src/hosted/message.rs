//! The messages of `model/session.h`, field by field. A session fails at its first message if the two differ.

use divvy_policy::CpuLimit;
use divvy_results::report::HostCalls;

use crate::load::host::Words;

/// In a field for a task: none.
pub(super) const NO_TASK: u32 = u32::MAX;

/// `struct opening`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Opening {
    pub tick_ns: u64,
    pub seed: u64,
    pub cpus: u32,
    pub config_bytes: u32,
    pub log: bool,
}

impl Opening {
    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for word in [self.tick_ns, self.seed] {
            bytes.extend(word.to_ne_bytes());
        }
        for word in [self.cpus, self.config_bytes, self.log.into(), 0] {
            bytes.extend(word.to_ne_bytes());
        }
        bytes
    }
}

/// `struct command`.
#[derive(Clone, Copy, Debug)]
pub(super) enum Command {
    Group { number: u32, parent: u32, cpu_weight: u64 },
    Create { task: u32, parent: Option<u32>, leader: u32, nice: i32, weight: u64, group: u32, mask: u64 },
    Wake { task: u32, by: Option<u32> },
    Block { task: u32 },
    Exit { task: u32, lingers: bool },
    Yield { task: u32 },
    Kill { task: u32, lingers: bool },
    Reap { task: u32 },
    Limit { group: u32, limit: CpuLimit },
}

#[derive(Clone, Copy)]
struct Fields {
    kind: u32,
    task: u32,
    other: u32,
    leader: u32,
    cpu: u32,
    nice: i32,
    group: u32,
    weight: u64,
    mask: u64,
    limit: CpuLimit,
}

const NO_LIMIT: CpuLimit = CpuLimit { quota_ns: 0, period_ns: 0, burst_ns: 0 };

impl Command {
    fn fields(self) -> Fields {
        let of = |kind, task| Fields {
            kind,
            task,
            other: 0,
            leader: 0,
            cpu: NO_TASK,
            nice: 0,
            group: 0,
            weight: 0,
            mask: 0,
            limit: NO_LIMIT,
        };
        match self {
            Command::Group { number, parent, cpu_weight } => {
                Fields { other: parent, weight: cpu_weight, ..of(0, number) }
            }
            Command::Create { task, parent, leader, nice, weight, group, mask } => {
                let other = parent.unwrap_or(NO_TASK);
                Fields { other, leader, nice, group, weight, mask, ..of(1, task) }
            }
            Command::Wake { task, by } => Fields { cpu: by.unwrap_or(NO_TASK), ..of(2, task) },
            Command::Block { task } => of(3, task),
            Command::Exit { task, lingers } => Fields { other: lingers.into(), ..of(4, task) },
            Command::Yield { task } => of(5, task),
            Command::Kill { task, lingers } => Fields { other: lingers.into(), ..of(6, task) },
            Command::Reap { task } => of(7, task),
            Command::Limit { group, limit } => Fields { limit, ..of(8, group) },
        }
    }

    pub fn write(self, bytes: &mut Vec<u8>) {
        let f = self.fields();
        for word in [f.kind, f.task, f.other, f.leader, f.cpu, f.nice.cast_unsigned(), f.group, 0] {
            bytes.extend(word.to_ne_bytes());
        }
        let CpuLimit { quota_ns, period_ns, burst_ns } = f.limit;
        for word in [f.weight, f.mask, quota_ns, period_ns, burst_ns] {
            bytes.extend(word.to_ne_bytes());
        }
    }
}

/// `struct request`, without its commands.
pub(super) fn request(now_ns: u64, until_ns: u64, commands: u32) -> Vec<u8> {
    let mut bytes = Vec::new();
    for word in [now_ns, until_ns] {
        bytes.extend(word.to_ne_bytes());
    }
    for word in [commands, 0] {
        bytes.extend(word.to_ne_bytes());
    }
    bytes
}

/// `struct answer`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Answer {
    pub now_ns: u64,
    pub decisions: u64,
    pub faults: u64,
    pub calls: HostCalls,
    pub changes: u32,
    pub record_bytes: u32,
    pub error_bytes: u32,
}

impl Answer {
    pub const SIZE: usize = 64;

    pub fn read(bytes: &[u8]) -> Answer {
        let mut words = Words(bytes);
        Answer {
            now_ns: words.u64(),
            decisions: words.u64(),
            faults: words.u64(),
            calls: HostCalls { enqueue: words.u64(), dequeue: words.u64(), taken_back: words.u64() },
            changes: words.u32(),
            record_bytes: words.u32(),
            error_bytes: words.u32(),
        }
    }
}

/// `struct change`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// The CPU has another task now, or none.
    Runs { cpu: u32, task: Option<u32> },
    /// The task is gone, and its number is free.
    Gone { task: u32 },
}

impl Change {
    pub const SIZE: usize = 8;

    pub fn read(bytes: &[u8]) -> Change {
        let mut words = Words(bytes);
        let (cpu, task) = (words.u32(), words.u32());
        match cpu {
            NO_TASK => Change::Gone { task },
            cpu => Change::Runs { cpu, task: Some(task).filter(|&task| task != NO_TASK) },
        }
    }
}
