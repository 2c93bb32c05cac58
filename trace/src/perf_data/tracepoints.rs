//! From a tracepoint's raw bytes to an `Event`'s kind.

use super::bytes::Endian;
use super::format::{Field, Format};
use crate::event::{Comm, Kind, TaskRef};
use crate::state::StateTable;
use divvy_results::schedule::State;
use std::collections::BTreeMap;
use std::ops::Range;

/// `irqentry` flags of `common_flags`: hard interrupt, soft interrupt, NMI.
pub(crate) const IN_INTERRUPT: i64 = 0x08 | 0x10 | 0x40;

/// The decoders of all tracepoints of a recording, by their number in this kernel.
pub(crate) struct Decoders {
    endian: Endian,
    by_id: BTreeMap<u64, Decoder>,
}

struct Decoder {
    flags: Option<Field>,
    tid: Option<Field>,
    shape: Shape,
    /// Every thread that a record names, for rewriting.
    parties: Vec<TaskFields>,
}

enum Shape {
    Switch { prev: TaskFields, state: Field, table: StateTable, next: TaskFields },
    Waking(TaskFields),
    Woken(TaskFields),
    WokenNew(TaskFields),
    Fork { parent: Field, child: TaskFields },
    Rename { tid: Field, comm: Field },
    Exit(Field),
    Runtime { task: TaskFields, ns: Field },
    Other,
}

#[derive(Clone)]
struct TaskFields {
    tid: Field,
    comm: Option<Field>,
    prio: Option<Field>,
}

/// A decoded tracepoint: its kind, the current thread, and whether it happened in an interrupt.
pub(crate) struct Decoded {
    pub kind: Kind,
    pub tid: Option<i32>,
    pub interrupt: Option<bool>,
}

/// A thread that a record names, and the bytes that do so.
pub(crate) struct Party {
    pub tid: i32,
    pub tid_at: Range<usize>,
    pub comm_at: Option<Range<usize>>,
    pub prio_at: Option<Range<usize>>,
}

impl Decoders {
    /// `release` decides how states are numbered where the format itself does not say.
    pub fn new(formats: &[Format], release: &str, endian: Endian) -> Self {
        let by_id = formats.iter().filter_map(|f| Some((f.id, Decoder::new(f, release)?))).collect();
        Decoders { endian, by_id }
    }

    /// True if switches can be decoded, without which there is nothing to reconstruct.
    pub fn has_switch(&self) -> bool {
        self.by_id.values().any(|d| matches!(d.shape, Shape::Switch { .. }))
    }

    /// `None` for another tracepoint, or for a record too short for its own format.
    pub fn decode(&self, raw: &[u8]) -> Option<Decoded> {
        let decoder = self.decoder(raw)?;
        let number = |field: &Option<Field>| field.as_ref().and_then(|f| f.number(raw, self.endian));
        let tid = number(&decoder.tid).map(|n| n as i32);
        let interrupt = number(&decoder.flags).map(|n| n & IN_INTERRUPT != 0);
        Some(Decoded { kind: decoder.kind(raw, self.endian)?, tid, interrupt })
    }

    /// True if this is a tracepoint that [`Decoders::decode`] knows.
    pub fn knows(&self, raw: &[u8]) -> bool {
        self.decoder(raw).is_some()
    }

    /// The threads that a record names.
    pub fn parties(&self, raw: &[u8]) -> Vec<Party> {
        let Some(decoder) = self.decoder(raw) else {
            return Vec::new();
        };
        let party = |fields: &TaskFields| {
            Some(Party {
                tid: fields.tid.number(raw, self.endian)? as i32,
                tid_at: fields.tid.range(),
                comm_at: fields.comm.as_ref().and_then(|c| c.text_range(raw, self.endian)),
                prio_at: fields.prio.as_ref().map(Field::range),
            })
        };
        decoder.parties.iter().filter_map(party).collect()
    }

    /// Where a record holds the current thread's number.
    pub fn current_at(&self, raw: &[u8]) -> Option<Range<usize>> {
        self.decoder(raw)?.tid.as_ref().map(Field::range)
    }

    /// Where a switch holds the state of the thread that leaves.
    pub fn state_at(&self, raw: &[u8]) -> Option<Range<usize>> {
        match &self.decoder(raw)?.shape {
            Shape::Switch { state, .. } => Some(state.range()),
            _ => None,
        }
    }

    fn decoder(&self, raw: &[u8]) -> Option<&Decoder> {
        self.by_id.get(&u64::from(self.endian.u16(raw, 0)?))
    }
}

impl Decoder {
    fn new(format: &Format, release: &str) -> Option<Decoder> {
        let mut parties = Vec::new();
        let mut task = |tid: &str, comm: &str, prio: &str| {
            let fields =
                TaskFields { tid: format.field(tid)?, comm: format.field(comm), prio: format.field(prio) };
            parties.push(fields.clone());
            Some(fields)
        };
        let shape = match format.name.as_str() {
            "sched_switch" => Shape::Switch {
                prev: task("prev_pid", "prev_comm", "prev_prio")?,
                state: format.field("prev_state")?,
                table: StateTable::from_print_fmt(&format.print_fmt)
                    .unwrap_or_else(|| StateTable::of_release(release)),
                next: task("next_pid", "next_comm", "next_prio")?,
            },
            "sched_waking" => Shape::Waking(task("pid", "comm", "prio")?),
            "sched_wakeup" => Shape::Woken(task("pid", "comm", "prio")?),
            "sched_wakeup_new" => Shape::WokenNew(task("pid", "comm", "prio")?),
            "sched_process_fork" => Shape::Fork {
                parent: task("parent_pid", "parent_comm", "prio")?.tid,
                child: task("child_pid", "child_comm", "prio")?,
            },
            "task_rename" => {
                // Newer kernels leave the number out: then it is the current thread's.
                let tid = format.field("pid").or_else(|| format.field("common_pid"))?;
                let comm = format.field("newcomm")?;
                for comm in [Some(comm.clone()), format.field("oldcomm")] {
                    parties.push(TaskFields { tid: tid.clone(), comm, prio: None });
                }
                Shape::Rename { tid, comm }
            }
            "sched_process_exit" => Shape::Exit(task("pid", "comm", "prio")?.tid),
            "sched_stat_runtime" => {
                Shape::Runtime { task: task("pid", "comm", "prio")?, ns: format.field("runtime")? }
            }
            "sched_migrate_task" => {
                task("pid", "comm", "prio")?;
                Shape::Other
            }
            _ => return None,
        };
        Some(Decoder { flags: format.field("common_flags"), tid: format.field("common_pid"), shape, parties })
    }

    fn kind(&self, raw: &[u8], endian: Endian) -> Option<Kind> {
        let task = |fields: &TaskFields| {
            let comm = fields.comm.as_ref().and_then(|c| c.text(raw, endian)).unwrap_or_default();
            let prio = fields.prio.as_ref().and_then(|p| p.number(raw, endian));
            Some(TaskRef {
                tid: fields.tid.number(raw, endian)? as i32,
                comm: Comm::new(comm),
                prio: prio.and_then(|p| i16::try_from(p).ok()),
            })
        };
        Some(match &self.shape {
            Shape::Switch { prev, state, table, next } => {
                let state: State = table.decode(state.number(raw, endian)? as u64);
                Kind::Switch { prev: task(prev)?, state, next: task(next)? }
            }
            Shape::Waking(fields) => Kind::Waking { task: task(fields)? },
            Shape::Woken(fields) => Kind::Woken { task: task(fields)? },
            Shape::WokenNew(fields) => Kind::WokenNew { task: task(fields)? },
            Shape::Fork { parent, child } => {
                Kind::Fork { parent: parent.number(raw, endian)? as i32, child: task(child)?, process: -1 }
            }
            Shape::Rename { tid, comm } => Kind::Rename {
                task: TaskRef::named(tid.number(raw, endian)? as i32, comm.text(raw, endian)?),
            },
            Shape::Exit(tid) => Kind::Exit { tid: tid.number(raw, endian)? as i32 },
            Shape::Runtime { task: fields, ns } => {
                Kind::Runtime { task: task(fields)?, ns: ns.number(raw, endian)? as u64 }
            }
            Shape::Other => Kind::Other,
        })
    }
}
