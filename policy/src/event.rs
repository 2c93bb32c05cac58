//! The machine's events as data, as in `policy/event.h`, to tell it again what another machine was told.

use crate::host::RawEvent;
use crate::id::{CpuId, CpuMask, TaskId};
use crate::weight::Weight;

/// An event that a machine is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A task exists.
    New {
        /// The task.
        task: TaskId,
        /// The task that stands for its process.
        process: TaskId,
        /// Its weight.
        weight: Weight,
    },
    /// It is gone.
    Exit {
        /// The task.
        task: TaskId,
        /// To another machine.
        moves: bool,
    },
    /// It became runnable.
    Runnable {
        /// The task.
        task: TaskId,
        /// For the first time.
        is_new: bool,
    },
    /// It no longer is.
    Quiescent {
        /// The task.
        task: TaskId,
        /// For good.
        exits: bool,
    },
    /// It is in the machine's custody: it may be run.
    Enqueue {
        /// The task.
        task: TaskId,
    },
    /// It is not any more.
    Dequeue {
        /// The task.
        task: TaskId,
    },
    /// A CPU asks for the task to run next.
    Dispatch {
        /// The CPU.
        cpu: CpuId,
    },
    /// It is on its CPU.
    Running {
        /// The task.
        task: TaskId,
    },
    /// It is off its CPU.
    Stopping {
        /// The task.
        task: TaskId,
        /// Service since it came there, ns.
        ran_ns: u64,
    },
    /// The next dispatch of a CPU ends a slice as yielded.
    Yield {
        /// The CPU.
        cpu: CpuId,
    },
    /// Its owner gave it another weight.
    SetWeight {
        /// The task.
        task: TaskId,
        /// Its weight.
        weight: Weight,
    },
    /// Where it may run.
    SetAllowed {
        /// The task.
        task: TaskId,
        /// The CPUs.
        mask: CpuMask,
    },
    /// A parameter of the policy has another value.
    SetParam {
        /// 0 the policy, else a modifier's bit.
        owner: u32,
        /// Which of its parameters.
        index: u32,
        /// Raw; see [`super::ParamKind`].
        value: i64,
    },
    /// It is a thread of another process.
    SetProcess {
        /// The task.
        task: TaskId,
        /// The task, or whatever else, that stands for its process.
        process: TaskId,
    },
    /// A group of tasks exists, or has another weight.
    SetGroup {
        /// The group, from 1; below [`super::MAX_GROUPS`].
        group: u32,
        /// The one that it is in, 0 for none; may be another than before only while none of its tasks is runnable.
        parent: u32,
        /// Its weight.
        weight: Weight,
    },
    /// A task is in another group.
    EnterGroup {
        /// The task.
        task: TaskId,
        /// Its group, 0 for none.
        group: u32,
    },
    /// It executes a program from now on, from its beginning.
    SetProgram {
        /// The task.
        task: TaskId,
        /// The program's identity; 0 is none that is known.
        program: u64,
    },
    /// An entry of a program's sequence, from an earlier run. Told in order, from the first.
    Learn {
        /// The program's identity.
        program: u64,
        /// Which of its entries, from 0.
        at: u16,
        /// T_p, the CPU time from one voluntary release of the CPU to the next.
        run_ns: u64,
        /// How long it then waited; nothing that is decided depends on it.
        wait_ns: u64,
    },
    /// A task that is new, and was not runnable yet, was made by another one.
    Fork {
        /// The new task.
        task: TaskId,
        /// The one that made it; `None` if that is not known.
        parent: Option<TaskId>,
    },
    /// Its program says that it begins a session: what it does from now on is for another request.
    Session {
        /// The task.
        task: TaskId,
    },
    /// Something that the machine does not schedule runs on a CPU, until that CPU dispatches.
    TakeCpu {
        /// The CPU.
        cpu: CpuId,
    },
    /// The slice of a task that stopped is over, and its CPU goes to something that the machine does not schedule, without a dispatch.
    Expire {
        /// The task.
        task: TaskId,
    },
    /// A task that became runnable, and is not enqueued yet, comes from another machine.
    Carry {
        /// The task.
        task: TaskId,
        /// How much later its tags were there, ns of a nice-0 task, modulo 2^64.
        by_ns: i64,
    },
}

/// The answer of a machine; empty for most events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// To dispatch: the task to run.
    pub task: Option<TaskId>,
    /// To dispatch, with a task: its slice, in ns. To expire: for how long the slice goes on, or 0.
    pub slice_ns: u64,
    /// To dispatch, enqueue, set_allowed and take_cpu: another CPU that is to dispatch.
    pub asked: Option<CpuId>,
}

// enum why of policy.h
const NEW: u32 = 0;
const WOKEN: u32 = 1;
const BLOCKED: u32 = 2;
const EXITED: u32 = 3;

// policy/event.h
const MOVES: u32 = 1;

impl Event {
    /// Names of the kinds, by their numbers in `policy/event.h`.
    pub const KINDS: [&str; 23] = [
        "new",
        "exit",
        "runnable",
        "quiescent",
        "enqueue",
        "dequeue",
        "dispatch",
        "running",
        "stopping",
        "yield",
        "set_weight",
        "set_allowed",
        "set_param",
        "set_process",
        "set_group",
        "enter_group",
        "set_program",
        "learn",
        "fork",
        "session",
        "take_cpu",
        "expire",
        "carry",
    ];

    /// Its number in `policy/event.h`.
    #[must_use]
    pub fn kind(&self) -> u8 {
        match self {
            Event::New { .. } => 0,
            Event::Exit { .. } => 1,
            Event::Runnable { .. } => 2,
            Event::Quiescent { .. } => 3,
            Event::Enqueue { .. } => 4,
            Event::Dequeue { .. } => 5,
            Event::Dispatch { .. } => 6,
            Event::Running { .. } => 7,
            Event::Stopping { .. } => 8,
            Event::Yield { .. } => 9,
            Event::SetWeight { .. } => 10,
            Event::SetAllowed { .. } => 11,
            Event::SetParam { .. } => 12,
            Event::SetProcess { .. } => 13,
            Event::SetGroup { .. } => 14,
            Event::EnterGroup { .. } => 15,
            Event::SetProgram { .. } => 16,
            Event::Learn { .. } => 17,
            Event::Fork { .. } => 18,
            Event::Session { .. } => 19,
            Event::TakeCpu { .. } => 20,
            Event::Expire { .. } => 21,
            Event::Carry { .. } => 22,
        }
    }

    /// As in the kernel's documentation of sched_ext, where it is from there.
    #[must_use]
    pub fn name(&self) -> &'static str {
        Event::KINDS[usize::from(self.kind())]
    }

    /// Whether the machine decides something: its answer counts.
    #[must_use]
    pub fn is_answered(&self) -> bool {
        matches!(
            self,
            Event::Dispatch { .. }
                | Event::Enqueue { .. }
                | Event::SetAllowed { .. }
                | Event::TakeCpu { .. }
                | Event::Expire { .. }
        )
    }

    pub(super) fn raw(&self, now: u64) -> (u32, RawEvent) {
        let mut raw = RawEvent::at(now);
        match *self {
            Event::New { task, process, weight } => {
                (raw.id, raw.process, raw.amount) = (task.get(), process.get(), weight.fixed());
            }
            Event::Runnable { task, is_new } => {
                (raw.id, raw.why) = (task.get(), if is_new { NEW } else { WOKEN })
            }
            Event::Quiescent { task, exits } => {
                (raw.id, raw.why) = (task.get(), if exits { EXITED } else { BLOCKED })
            }
            Event::Exit { task, moves } => (raw.id, raw.why) = (task.get(), if moves { MOVES } else { 0 }),
            Event::Enqueue { task }
            | Event::Dequeue { task }
            | Event::Running { task }
            | Event::Session { task }
            | Event::Expire { task } => {
                raw.id = task.get();
            }
            Event::Stopping { task, ran_ns } => (raw.id, raw.amount) = (task.get(), ran_ns),
            Event::Carry { task, by_ns } => (raw.id, raw.amount) = (task.get(), by_ns.cast_unsigned()),
            Event::Dispatch { cpu } | Event::Yield { cpu } | Event::TakeCpu { cpu } => raw.cpu = cpu.get(),
            Event::SetWeight { task, weight } => (raw.id, raw.amount) = (task.get(), weight.fixed()),
            Event::SetAllowed { task, ref mask } => {
                raw.id = task.get();
                raw.allowed[..mask.words().len()].copy_from_slice(mask.words());
            }
            Event::SetProcess { task, process } => (raw.id, raw.process) = (task.get(), process.get()),
            Event::SetGroup { group, parent, weight } => {
                (raw.process, raw.cpu, raw.amount) = (group, parent, weight.fixed());
            }
            Event::EnterGroup { task, group } => (raw.id, raw.process) = (task.get(), group),
            Event::Fork { task, parent } => {
                (raw.id, raw.process) = (task.get(), parent.map_or(0, TaskId::get));
            }
            Event::SetProgram { task, program } => (raw.id, raw.amount) = (task.get(), program),
            Event::Learn { program, at, run_ns, wait_ns } => {
                (raw.process, raw.why) = (program as u32, (program >> 32) as u32);
                (raw.cpu, raw.amount, raw.slice) = (at.into(), run_ns, wait_ns);
            }
            Event::SetParam { owner, index, value } => {
                (raw.process, raw.cpu, raw.amount) = (owner, index, value.cast_unsigned());
            }
        }
        (self.kind().into(), raw)
    }

    pub(super) fn answer(&self, raw: &RawEvent) -> Answer {
        match self {
            Event::Dispatch { .. } => Answer {
                task: TaskId::from_raw(raw.id),
                slice_ns: raw.slice,
                asked: CpuId::from_answer(raw.cpu),
            },
            Event::Enqueue { .. } | Event::SetAllowed { .. } | Event::TakeCpu { .. } => {
                Answer { asked: CpuId::from_answer(raw.cpu), ..Answer::default() }
            }
            Event::Expire { .. } => Answer { slice_ns: raw.slice, ..Answer::default() },
            _ => Answer::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Machine, MachineConfig, host, text};

    const ONE: TaskId = TaskId::new(1);
    const CPU: CpuId = CpuId::new(0);

    #[test]
    fn kinds_and_size_are_those_of_event_h() {
        for host in host::all() {
            // SAFETY: the table's own length, and string constants.
            let names: Vec<&str> = unsafe {
                std::slice::from_raw_parts(host.events, host.nevents as usize)
                    .iter()
                    .map(|name| text(*name))
                    .collect()
            };
            assert_eq!(names, Event::KINDS);
            assert_eq!(host.event_size as usize, size_of::<RawEvent>());
            assert_eq!(host.max_cpus, crate::MAX_CPUS);
            assert_eq!(host.program_size as usize, size_of::<host::RawProgram>());
        }
    }

    #[test]
    fn events_do_what_the_functions_do() {
        let config = MachineConfig::new("eevdf", 2, 1000).with_modifiers(&["procfair"]);
        let mut told = Machine::new(&config).unwrap();
        let mut called = Machine::new(&config).unwrap();
        told.tell(&Event::New { task: ONE, process: ONE, weight: Weight::NICE_0 }, 5);
        called.add(ONE, ONE, Weight::NICE_0, 5);
        assert_eq!(told.tell(&Event::Runnable { task: ONE, is_new: true }, 7), Answer::default());
        let enqueued = told.tell(&Event::Enqueue { task: ONE }, 7);
        assert_eq!(enqueued.asked, called.wake(ONE, true, 7));
        let decision = called.dispatch(CPU, 9).expect("a task waits");
        let expected = Answer { task: Some(ONE), slice_ns: decision.slice_ns, asked: None };
        assert_eq!(told.tell(&Event::Dispatch { cpu: CPU }, 9), expected);
        assert!(decision.slice_ns > 1000, "eevdf has its own");
        told.tell(&Event::SetParam { owner: 0, index: 0, value: 1234 }, 10);
        told.tell(&Event::Running { task: ONE }, 10);
        let again = told.tell(&Event::Dispatch { cpu: CPU }, 10_000_010);
        assert_eq!((again.task, again.slice_ns), (Some(ONE), 1234));
    }
}
