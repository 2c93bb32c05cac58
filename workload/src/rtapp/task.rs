//! A task of the file: its phases, and what holds for all of them.

use std::ops::Range;

use super::event::{Event, Reading, find, kind};
use super::json::{Member, Value};
use crate::check::is_path;
use crate::error::WorkloadError;
use crate::{MAX_CPUS, MAX_INSTANCES, WeightSetting};
use divvy_policy::{CpuId, Weight};

/// The weight of `SCHED_IDLE` in Linux.
const IDLE_WEIGHT: WeightSetting = WeightSetting::Units(Weight::from_fixed(3 * Weight::ONE.fixed()));
/// Settings that say nothing about what runs when.
const WITHOUT_MEANING: [&str; 9] = [
    "nodes_membind",
    "util_min",
    "util_max",
    "dl-runtime",
    "dl-period",
    "dl-deadline",
    "runtime",
    "period",
    "deadline",
];
const SETTINGS: [&str; 8] =
    ["loop", "phases", "instance", "delay", "policy", "priority", "cpus", "taskgroup"];

/// A task.
pub(super) struct RtTask<'j> {
    pub name: &'j str,
    pub at: Range<usize>,
    /// Threads that start by themselves.
    pub instances: u32,
    pub start_ns: u64,
    pub standing: Standing<'j>,
    /// How often all phases run; `None` for ever.
    pub times: Option<u64>,
    pub phases: Vec<Phase<'j>>,
}

/// Events that are repeated together.
pub(super) struct Phase<'j> {
    /// `None` for ever.
    pub times: Option<u64>,
    pub at: Range<usize>,
    pub events: Vec<(Event<'j>, Range<usize>)>,
}

/// How a task stands to the others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Standing<'j> {
    policy: &'j str,
    nice: i8,
    pub affinity: Option<Vec<CpuId>>,
    /// Path of its group, without the first `/`.
    pub group: Option<&'j str>,
}

impl Standing<'_> {
    pub fn weight(&self) -> WeightSetting {
        match self.policy {
            "SCHED_IDLE" => IDLE_WEIGHT,
            _ => WeightSetting::Nice(self.nice),
        }
    }
}

impl<'j> RtTask<'j> {
    pub fn events(&self) -> impl Iterator<Item = &(Event<'j>, Range<usize>)> {
        self.phases.iter().flat_map(|phase| &phase.events)
    }
}

impl<'j> Reading<'j> {
    /// Reads a task; `policy` is the default.
    pub fn task(&mut self, member: &'j Member<'j>, policy: &'j str) -> Result<RtTask<'j>, WorkloadError> {
        let fields = self.object(member)?;
        let instances = match find(fields, "instance") {
            Some(field) => self.integer(&field.json, "instance", 0, MAX_INSTANCES as i64)?,
            None => 1,
        };
        let start_ns = find(fields, "delay").map(|field| self.micros(field)).transpose()?.unwrap_or(0);
        let default = Standing { policy, nice: 0, affinity: None, group: None };
        let mut standing = self.standing(&default, fields)?;
        let (times, phases) = match find(fields, "phases") {
            Some(phases) => (self.times(fields)?.unwrap_or(None), self.phases(phases, &mut standing)?),
            None => {
                let times = self.times(fields)?;
                let phase = self.phase(times.unwrap_or(Some(1)), &member.span, fields)?;
                (if times.is_some() { Some(1) } else { None }, vec![phase])
            }
        };
        if find(fields, "phases").is_some() {
            self.note_rest(fields, |key| !SETTINGS.contains(&key));
        }
        let instances = instances as u32;
        Ok(RtTask {
            name: &member.key,
            at: member.span.clone(),
            instances,
            start_ns,
            standing,
            times,
            phases,
        })
    }

    fn phases(
        &mut self,
        phases: &'j Member<'j>,
        standing: &mut Standing<'j>,
    ) -> Result<Vec<Phase<'j>>, WorkloadError> {
        let mut read = Vec::new();
        for (index, member) in self.object(phases)?.iter().enumerate() {
            let fields = self.object(member)?;
            let changed = self.standing(standing, fields)?;
            if index == 0 {
                *standing = changed;
            } else if changed != *standing {
                self.notes.say(
                    member.span.start,
                    "a phase changes policy, priority, CPUs or group: a task keeps those of its first phase here",
                );
            }
            let times = self.times(fields)?.unwrap_or(Some(1));
            read.push(self.phase(times, &member.span, fields)?);
        }
        Ok(read)
    }

    /// `loop`, if it is there: so often, or for ever.
    fn times(&mut self, fields: &'j [Member<'j>]) -> Result<Option<Option<u64>>, WorkloadError> {
        let Some(field) = find(fields, "loop") else { return Ok(None) };
        let times = self.integer(&field.json, "loop", i64::from(i32::MIN), i64::from(i32::MAX))?;
        if times == 0 {
            let help = "leave out what is not to run, or give -1 for ever";
            return Err(self.error(&field.json.span, "`loop` is 0", help));
        }
        Ok(Some(u64::try_from(times).ok()))
    }

    fn phase(
        &mut self,
        times: Option<u64>,
        at: &Range<usize>,
        fields: &'j [Member<'j>],
    ) -> Result<Phase<'j>, WorkloadError> {
        let mut events = Vec::new();
        for member in fields {
            let Some(kind) = kind(&member.key) else { continue };
            if let Some(event) = self.event(kind, member)? {
                events.push((event, member.span.clone()));
            }
        }
        self.note_rest(fields, |key| kind(key).is_none() && !SETTINGS.contains(&key));
        Ok(Phase { times, at: at.clone(), events })
    }

    /// Notes members that are not read.
    fn note_rest(&mut self, fields: &[Member], is_rest: impl Fn(&str) -> bool) {
        for member in fields.iter().filter(|member| is_rest(&member.key)) {
            let key = member.key.escape_debug();
            let what = match WITHOUT_MEANING.contains(&member.key.as_ref()) {
                true => format!("`{key}` has no meaning here"),
                false => format!("`{key}` is ignored, by rt-app as well"),
            };
            self.notes.say(member.span.start, what);
        }
    }

    /// The value that is set here, or else the one from before.
    fn standing(
        &mut self,
        before: &Standing<'j>,
        fields: &'j [Member<'j>],
    ) -> Result<Standing<'j>, WorkloadError> {
        let mut standing = before.clone();
        if let Some(field) = find(fields, "policy") {
            standing.policy = self.policy(field)?;
            standing.nice = 0;
        }
        if let Some(field) = find(fields, "priority") {
            standing.nice = match standing.policy {
                "SCHED_OTHER" | "SCHED_BATCH" => self.integer(&field.json, "priority", -20, 19)? as i8,
                _ => standing.nice,
            };
        }
        if matches!(standing.policy, "SCHED_FIFO" | "SCHED_RR" | "SCHED_DEADLINE") {
            standing.nice = -20;
        }
        if let Some(field) = find(fields, "cpus") {
            standing.affinity = Some(self.cpus(field)?);
        }
        if let Some(field) = find(fields, "taskgroup") {
            let path = self.text(field)?.trim_matches('/');
            if !path.is_empty() && !is_path(path) {
                let help = "write names with `/` between them, 128 characters in all";
                return Err(self.error(&field.json.span, "this is no path of a group", help));
            }
            standing.group = (!path.is_empty()).then_some(path);
        }
        Ok(standing)
    }

    /// The name of a policy.
    pub fn policy(&mut self, member: &'j Member<'j>) -> Result<&'j str, WorkloadError> {
        let policy = self.text(member)?;
        match policy {
            "SCHED_OTHER" | "SCHED_BATCH" | "SCHED_IDLE" => {}
            "SCHED_FIFO" | "SCHED_RR" | "SCHED_DEADLINE" => {
                self.notes
                    .say(member.span.start, format!("{policy}: real-time tasks weigh as nice -20 here"));
            }
            _ => {
                let help =
                    "it is SCHED_OTHER, SCHED_BATCH, SCHED_IDLE, SCHED_FIFO, SCHED_RR or SCHED_DEADLINE";
                return Err(self.mistyped_policy(member, help));
            }
        }
        Ok(policy)
    }

    fn mistyped_policy(&self, member: &Member, help: &str) -> WorkloadError {
        self.error(&member.json.span, format!("`{}` is no policy", member.key.escape_debug()), help)
    }

    /// CPU numbers in order, each once.
    fn cpus(&self, member: &'j Member<'j>) -> Result<Vec<CpuId>, WorkloadError> {
        let Value::List(list) = &member.json.value else {
            return Err(self.mistyped(member, "a list of CPU numbers"));
        };
        let most = i64::from(MAX_CPUS) - 1;
        let mut cpus = Vec::new();
        for json in list {
            cpus.push(CpuId::new(self.integer(json, "cpus", 0, most)? as u32));
        }
        cpus.sort_unstable();
        cpus.dedup();
        Ok(cpus)
    }
}
