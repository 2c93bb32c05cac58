//! Compact sched events, Perfetto's default: a column a field, times as differences, names once.

use super::field::compact;
use super::wire::{Fields, Value, numbers};
use crate::event::TaskRef;

/// Most events of one kind in a bundle. A bundle covers a part of a second of one CPU; usual ones have some ten thousand.
const MOST_EVENTS: usize = 1 << 20;

/// A bundle's events, in order of time.
pub(super) struct Compact {
    pub events: Vec<CompactEvent>,
}

/// One of them.
pub(super) struct CompactEvent {
    pub t_ns: u64,
    /// The thread that comes on the CPU, or is woken.
    pub task: TaskRef,
    pub what: What,
}

/// The kind of event.
pub(super) enum What {
    /// The format says in which state a thread leaves the CPU, but not which thread.
    Switch { prev_state: u64 },
    /// `common_flags`, which old recordings lack.
    Waking { flags: Option<u64> },
}

/// Columns of one kind of event.
#[derive(Default)]
struct Columns {
    times: Vec<u64>,
    tids: Vec<u64>,
    prios: Vec<u64>,
    names: Vec<u64>,
    /// The state of who leaves, or flags.
    extra: Vec<u64>,
}

impl Compact {
    /// `None` if the columns do not fit together, or are longer than [`MOST_EVENTS`].
    pub fn read(data: &[u8]) -> Option<Compact> {
        let (mut names, mut switches, mut wakings) = (Vec::new(), Columns::default(), Columns::default());
        for field in Fields::of(data) {
            let (number, value) = field.ok()?;
            let column = match number {
                compact::NAMES => {
                    names.push(if let Value::Bytes(name, _) = value { name } else { b"" });
                    continue;
                }
                compact::SWITCH_TIMESTAMP => &mut switches.times,
                compact::SWITCH_PREV_STATE => &mut switches.extra,
                compact::SWITCH_NEXT_PID => &mut switches.tids,
                compact::SWITCH_NEXT_PRIO => &mut switches.prios,
                compact::SWITCH_NEXT_NAME => &mut switches.names,
                compact::WAKING_TIMESTAMP => &mut wakings.times,
                compact::WAKING_PID => &mut wakings.tids,
                compact::WAKING_PRIO => &mut wakings.prios,
                compact::WAKING_NAME => &mut wakings.names,
                compact::WAKING_FLAGS => &mut wakings.extra,
                _ => continue,
            };
            numbers(value, column, MOST_EVENTS)?;
        }
        if switches.extra.len() != switches.times.len() {
            return None;
        }
        let waking = |flags| What::Waking { flags };
        let switch = |state: Option<u64>| What::Switch { prev_state: state.unwrap_or(0) };
        let mut events = wakings.events(&names, waking)?;
        events.extend(switches.events(&names, switch)?);
        // At one time, the thread on the CPU wakes others before it leaves.
        events.sort_by_key(|event| event.t_ns);
        Some(Compact { events })
    }
}

impl Columns {
    fn events(&self, names: &[&[u8]], what: impl Fn(Option<u64>) -> What) -> Option<Vec<CompactEvent>> {
        let count = self.times.len();
        let fits = |column: &Vec<u64>| column.is_empty() || column.len() == count;
        if self.tids.len() != count || ![&self.prios, &self.names, &self.extra].into_iter().all(fits) {
            return None;
        }
        let mut t_ns = 0_u64;
        let event = |index: usize| {
            t_ns = t_ns.saturating_add(self.times[index]);
            let name = match self.names.get(index) {
                Some(&name) => names.get(usize::try_from(name).ok()?).copied()?,
                None => b"",
            };
            let mut task = TaskRef::named(self.tids[index] as i32, name);
            task.prio = self.prios.get(index).and_then(|&prio| i16::try_from(prio).ok());
            Some(CompactEvent { t_ns, task, what: what(self.extra.get(index).copied()) })
        };
        (0..count).map(event).collect()
    }
}
