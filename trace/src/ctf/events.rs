//! From an event's fields to what it says of scheduling.

use super::schema::Schema;
use super::types::Value;
use crate::event::{Comm, Context, Kind, TaskRef};
use crate::perf_data::tracepoints::IN_INTERRUPT;
use crate::state::StateTable;
use divvy_policy::CpuId;

/// The tracepoints that are read, of LTTng and of perf.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tracepoint {
    Switch,
    Waking,
    Woken,
    WokenNew,
    Fork,
    Exec,
    Rename,
    Exit,
    Runtime,
    /// LTTng's list of the threads that were there before.
    ProcessState,
}

impl Tracepoint {
    /// By its name, perf's with its system in front.
    pub fn of(name: &str) -> Option<Tracepoint> {
        Some(match name.rsplit(':').next()? {
            "sched_switch" => Tracepoint::Switch,
            "sched_waking" => Tracepoint::Waking,
            "sched_wakeup" => Tracepoint::Woken,
            "sched_wakeup_new" => Tracepoint::WokenNew,
            "sched_process_fork" => Tracepoint::Fork,
            "sched_process_exec" => Tracepoint::Exec,
            "task_rename" => Tracepoint::Rename,
            "sched_process_exit" => Tracepoint::Exit,
            "sched_stat_runtime" => Tracepoint::Runtime,
            "lttng_statedump_process_state" => Tracepoint::ProcessState,
            _ => return None,
        })
    }
}

/// What an event says.
pub(super) struct Found {
    pub cpu: Option<CpuId>,
    pub context: Context,
    pub kind: Kind,
}

pub(super) struct Reader<'s> {
    schema: &'s Schema,
    states: StateTable,
    /// LTTng counts priorities from the first that is not real-time.
    first_prio: i64,
    /// Events without what they should have.
    pub malformed: u64,
}

/// The values of an event, and the packet that has its texts.
#[derive(Clone, Copy)]
struct Values<'a> {
    values: &'a [(&'a str, Value<'a>)],
    packet: &'a [u8],
}

impl<'a> Values<'a> {
    /// The first of one of these names. LTTng puts an underscore before its names.
    fn find(self, names: &[&str]) -> Option<Value<'a>> {
        let is_one = |name: &str| names.contains(&name.strip_prefix('_').unwrap_or(name));
        self.values.iter().find(|(name, _)| is_one(name)).map(|(_, value)| *value)
    }

    fn number(self, names: &[&str]) -> Option<i64> {
        match self.find(names)? {
            Value::Number(number) => Some(number),
            Value::Named(number, _) => i64::try_from(number).ok(),
            Value::Text(..) => None,
        }
    }

    fn tid(self, names: &[&str]) -> Option<i32> {
        self.number(names)?.try_into().ok()
    }

    fn text(self, names: &[&str]) -> Option<&'a [u8]> {
        match self.find(names)? {
            Value::Text(start, end) => self.packet.get(start..end),
            _ => None,
        }
    }
}

impl<'s> Reader<'s> {
    pub fn new(schema: &'s Schema) -> Reader<'s> {
        let is_lttng = schema.environment.get("tracer_name").is_some_and(|name| name.starts_with("lttng"));
        let mut reader = Reader {
            schema,
            states: StateTable::of_release(""),
            first_prio: if is_lttng { 100 } else { 0 },
            malformed: 0,
        };
        reader.states = StateTable::of_release(reader.release());
        reader
    }

    /// The kernel's release.
    pub fn release(&self) -> &'s str {
        let value = |key: &str| self.schema.environment.get(key).map(String::as_str);
        value("kernel_release").or_else(|| value("release")).unwrap_or_default()
    }

    pub fn has_switch(&self) -> bool {
        let mut classes = self.schema.streams.values().flat_map(|stream| stream.events.values());
        classes.any(|class| class.tracepoint == Some(Tracepoint::Switch))
    }

    /// `context` is what the tracer adds to each event, such as the current thread; `fields` are the event's own.
    pub fn event(
        &mut self,
        tracepoint: Tracepoint,
        context: &[(&str, Value)],
        fields: &[(&str, Value)],
        packet: &[u8],
    ) -> Option<Found> {
        let (context, values) = (Values { values: context, packet }, Values { values: fields, packet });
        let Some(kind) = self.kind(tracepoint, values) else {
            self.malformed += 1;
            return None;
        };
        let cpu = values.number(&["perf_cpu"]).and_then(|cpu| u32::try_from(cpu).ok()).map(CpuId::new);
        let context = Context {
            tid: values.tid(&["common_pid"]).or_else(|| context.tid(&["tid"])).unwrap_or(-1),
            process: values.tid(&["perf_pid"]).or_else(|| context.tid(&["pid"])).unwrap_or(-1),
            interrupt: values.number(&["common_flags"]).map(|flags| flags & IN_INTERRUPT != 0),
        };
        Some(Found { cpu, context, kind })
    }

    fn kind(&self, tracepoint: Tracepoint, values: Values) -> Option<Kind> {
        let prio = |name: &str| {
            let prio = values.number(&[name])?.checked_add(self.first_prio)?;
            i16::try_from(prio).ok()
        };
        let task = |comm: &str, tid: &[&str], prio_name: &str| {
            let comm = Comm::new(values.text(&[comm]).unwrap_or_default());
            Some(TaskRef { tid: values.tid(tid)?, comm, prio: prio(prio_name) })
        };
        let own = || task("comm", &["tid", "pid"], "prio");
        Some(match tracepoint {
            Tracepoint::Switch => Kind::Switch {
                prev: task("prev_comm", &["prev_tid", "prev_pid"], "prev_prio")?,
                state: self.states.decode(values.number(&["prev_state"])? as u64),
                next: task("next_comm", &["next_tid", "next_pid"], "next_prio")?,
            },
            Tracepoint::Waking => Kind::Waking { task: own()? },
            Tracepoint::Woken => Kind::Woken { task: own()? },
            Tracepoint::WokenNew => Kind::WokenNew { task: own()? },
            Tracepoint::Fork => {
                // LTTng has the number of the thread and that of its process; what perf calls `pid` is the thread's.
                let is_lttng = values.find(&["child_tid"]).is_some();
                Kind::Fork {
                    parent: values.tid(&["parent_tid"]).or_else(|| values.tid(&["parent_pid"]))?,
                    child: task("child_comm", if is_lttng { &["child_tid"] } else { &["child_pid"] }, "")?,
                    process: values.tid(&["child_pid"]).filter(|_| is_lttng).unwrap_or(-1),
                }
            }
            Tracepoint::Exec => {
                let path = values.text(&["filename"])?;
                let name = path.rsplit(|byte| *byte == b'/').next()?;
                Kind::Rename { task: TaskRef::named(values.tid(&["tid", "pid"])?, name) }
            }
            Tracepoint::Rename => Kind::Rename {
                task: TaskRef::named(values.tid(&["tid", "pid", "common_pid"])?, values.text(&["newcomm"])?),
            },
            Tracepoint::Exit => Kind::Exit { tid: own()?.tid },
            Tracepoint::Runtime => {
                let ns = u64::try_from(values.number(&["runtime"])?).ok()?;
                Kind::Runtime { task: TaskRef { prio: None, ..own()? }, ns }
            }
            Tracepoint::ProcessState => Kind::Identity {
                task: TaskRef::named(values.tid(&["tid"])?, values.text(&["name"])?),
                process: values.tid(&["pid"]).unwrap_or(-1),
            },
        })
    }
}
