//! Events as lines of text.

use std::fmt;

use divvy_policy::{Answer, CpuId, CpuMask, Event};

use super::told::Told;

impl fmt::Display for Told {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (s, ns) = (self.now_ns / 1_000_000_000, self.now_ns % 1_000_000_000);
        if let Some(shard) = self.shard {
            write!(f, "shard {shard} ")?;
        }
        write!(f, "{:>9} {s:>6}.{ns:09}  {:<11} {}", self.number, self.event.name(), Arguments(&self.event))?;
        match self.event.is_answered() {
            true => write!(f, " -> {}", AnswerText(&self.event, &self.answer)),
            false => Ok(()),
        }
    }
}

struct Arguments<'a>(&'a Event);

impl fmt::Display for Arguments<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Event::New { task, process, weight } => {
                write!(f, "task {task}, process {process}, weight {weight}")
            }
            Event::Runnable { task, is_new: true } => write!(f, "task {task}, for the first time"),
            Event::Quiescent { task, exits: true } => write!(f, "task {task}, for good"),
            Event::Exit { task, moves: true } => write!(f, "task {task}, to another shard"),
            Event::Exit { task, .. }
            | Event::Runnable { task, .. }
            | Event::Quiescent { task, .. }
            | Event::Enqueue { task }
            | Event::Dequeue { task }
            | Event::Running { task }
            | Event::Session { task }
            | Event::Expire { task } => write!(f, "task {task}"),
            Event::Stopping { task, ran_ns } => write!(f, "task {task}, ran {ran_ns} ns"),
            Event::Carry { task, by_ns } => write!(f, "task {task}, tags {by_ns} ns later"),
            Event::Dispatch { cpu } | Event::Yield { cpu } | Event::TakeCpu { cpu } => write!(f, "CPU {cpu}"),
            Event::SetWeight { task, weight } => write!(f, "task {task}, weight {weight}"),
            Event::SetAllowed { task, mask } => write!(f, "task {task}, CPUs {}", Cpus(mask)),
            Event::SetProcess { task, process } => write!(f, "task {task}, process {process}"),
            Event::SetGroup { group, parent, weight } => {
                write!(f, "group {group} in {parent}, weight {weight}")
            }
            Event::EnterGroup { task, group } => write!(f, "task {task}, group {group}"),
            Event::Fork { task, parent: Some(parent) } => write!(f, "task {task}, parent {parent}"),
            Event::Fork { task, parent: None } => write!(f, "task {task}, parent not known"),
            Event::SetProgram { task, program } => write!(f, "task {task}, program {program:016x}"),
            Event::Learn { program, at, run_ns, .. } => {
                write!(f, "program {program:016x}, run {at}: {run_ns} ns")
            }
            Event::SetParam { owner: 0, index, value } => write!(f, "parameter {index} = {value}"),
            Event::SetParam { owner, index, value } => {
                write!(f, "parameter {index} of modifier {owner} = {value}")
            }
        }
    }
}

/// An answer to an event, in words.
pub(super) struct AnswerText<'a>(pub &'a Event, pub &'a Answer);

impl fmt::Display for AnswerText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let AnswerText(event, answer) = self;
        match (event, answer.task) {
            (Event::Dispatch { .. }, Some(task)) => write!(f, "task {task} for {} ns", answer.slice_ns)?,
            (Event::Dispatch { .. }, None) => write!(f, "nothing")?,
            (Event::Expire { .. }, _) if answer.slice_ns == 0 => write!(f, "its slice has ended")?,
            (Event::Expire { .. }, _) => write!(f, "for {} ns more", answer.slice_ns)?,
            (_, _) if answer.asked.is_none() => write!(f, "no CPU asked")?,
            _ => {}
        }
        match (event, answer.asked) {
            (Event::Dispatch { .. }, Some(cpu)) => write!(f, ", CPU {cpu} asked"),
            (_, Some(cpu)) => write!(f, "CPU {cpu} asked"),
            (_, None) => Ok(()),
        }
    }
}

/// As the kernel lists CPUs: 0-3,7
struct Cpus<'a>(&'a CpuMask);

impl fmt::Display for Cpus<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let has = |cpu: usize| self.0.contains(CpuId::at(cpu));
        let (mut cpu, mut comma) = (0, "");
        while cpu < 64 * self.0.words().len() {
            let first = cpu;
            while has(cpu) {
                cpu += 1;
            }
            match cpu - first {
                0 => cpu += 1,
                1 => write!(f, "{comma}{first}")?,
                _ => write!(f, "{comma}{first}-{}", cpu - 1)?,
            }
            if cpu > first && has(first) {
                comma = ",";
            }
        }
        match comma {
            "" => f.write_str("none"),
            _ => Ok(()),
        }
    }
}
