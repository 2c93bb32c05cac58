//! A workload as rt-app's JSON, strictly: what rt-app itself takes, without workgen.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::text::quoted;
use crate::{Arrivals, DEFAULT_QUANTUM_NS, Dist, Group, Step, Task, WeightSetting, Workload};
use divvy_policy::units::show_duration;
use divvy_policy::{Failure, FailureKind};
use divvy_policy::{NICE_WEIGHTS, Weight};

/// rt-app's numbers are ints; what is longer is written in pieces of this, in microseconds.
const MOST_MICROS: u64 = 2_000_000_000;
/// Most events of one task: loops within loops within loops are written out up to this.
const MOST_EVENTS: usize = 10_000;
/// Forks by one `fork`, behind which rt-app does no more.
const MOST_FORKS: u64 = 1024;
/// rt-app's numbers are ints.
const MOST_TIMES: u64 = i32::MAX as u64;
const SECOND_NS: u64 = 1_000_000_000;

/// Something that rt-app cannot express.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("task {task}: {what}")]
pub struct Inexpressible {
    /// Its name.
    pub task: String,
    /// Its action, and why rt-app cannot express it.
    pub what: String,
}

/// Writes a workload that has been checked, and says what was lost.
///
/// # Errors
/// If the file would hang or do something else.
pub fn write(workload: &Workload) -> Result<(String, Vec<String>), Inexpressible> {
    let mut writer =
        Writer { workload, tasks: plain_tasks(workload), notes: Vec::new(), mentions: BTreeMap::new() };
    writer.note_machine();
    let nices = writer.nices();
    let mut text = String::from("{\n  \"tasks\": {");
    for (index, nice) in nices.iter().enumerate() {
        text.push_str(if index == 0 { "\n" } else { ",\n" });
        writer.task(index, *nice, &mut text)?;
    }
    writer.check_barriers()?;
    let _ = write!(
        text,
        "\n  }},\n  \"global\": {{ \"duration\": {}, \"calibration\": \"CPU0\", \"default_policy\": \"SCHED_OTHER\" }},",
        writer.seconds()
    );
    let _ = writeln!(text, "\n  \"divvy\": {{ \"cpus\": {} }}\n}}", workload.cpus);
    Ok((text, writer.notes))
}

/// The tasks with arrivals in terms of steps: a task that thinks sleeps, and one that arrives is forked by a task of its own.
fn plain_tasks(workload: &Workload) -> Vec<Task> {
    let mut tasks = workload.tasks.clone();
    for index in 0..tasks.len() {
        let task = &mut tasks[index];
        match std::mem::replace(&mut task.arrivals, Arrivals::Once) {
            Arrivals::Once => {}
            Arrivals::Forked { limit } => task.arrivals = Arrivals::Forked { limit },
            Arrivals::Closed { think } => {
                let think = (think != Dist::Constant(0)).then_some(Step::Sleep(think));
                let body = think.into_iter().chain(std::mem::take(&mut task.program)).collect();
                task.program = vec![Step::Loop { times: None, body }];
            }
            Arrivals::Open { interarrival, limit } => {
                task.arrivals = Arrivals::Forked { limit: None };
                let source = Task {
                    name: source_name(workload, index),
                    start_ns: std::mem::take(&mut task.start_ns),
                    stop_ns: None,
                    arrivals: Arrivals::Once,
                    program: vec![Step::Loop {
                        times: limit,
                        body: vec![Step::Sleep(interarrival), Step::Fork(index)],
                    }],
                    ..task.clone()
                };
                tasks.push(source);
            }
        }
    }
    tasks
}

/// The name of the task that forks the jobs of another: no other task has it.
fn source_name(workload: &Workload, index: usize) -> String {
    let mut name = format!("{} arrives", workload.tasks[index].name);
    // So many tries that one name is left, as there are fewer tasks than that.
    while workload.tasks.iter().any(|task| task.name == name) {
        name.push('\'');
    }
    name
}

struct Writer<'a> {
    workload: &'a Workload,
    tasks: Vec<Task>,
    notes: Vec<String>,
    /// The number of threads for which rt-app waits, by barrier.
    mentions: BTreeMap<usize, u64>,
}

/// Events that are repeated together; `None` for ever.
struct Phase {
    times: Option<u64>,
    events: Vec<(&'static str, String)>,
}

/// The state of one task while it is written.
struct Context {
    task: usize,
    /// Whether the step runs once only.
    once: bool,
    /// Timers of one moment so far.
    moments: usize,
}

impl Writer<'_> {
    fn note(&mut self, what: impl Into<String>) {
        let what = what.into();
        if !self.notes.contains(&what) {
            self.notes.push(what);
        }
    }

    fn refuse<T>(&self, task: usize, what: impl Into<String>) -> Result<T, Inexpressible> {
        Err(Inexpressible { task: self.tasks[task].name.clone(), what: what.into() })
    }

    fn note_machine(&mut self) {
        let w = self.workload;
        let settings = [
            ("quantum", w.quantum_ns != DEFAULT_QUANTUM_NS),
            ("warmup", w.warmup_ns != 0),
            ("tick", w.tick_ns.is_some()),
            ("switch_cost", w.switch_cost_ns != 0),
            ("migration_cost", w.migration_cost_ns != 0),
            ("topology", w.topology.is_some()),
        ];
        for (key, _) in settings.iter().filter(|(_, is_set)| *is_set) {
            self.note(format!("`{key}` is left out: the real machine has its own"));
        }
        let is_set = |group: &Group| group.weight != WeightSetting::DEFAULT || group.cpu_max.is_some();
        if w.groups.iter().any(is_set) {
            self.note("weights and limits of groups are left out: rt-app makes the groups, and you set them");
        }
        if w.tasks.iter().any(|task| task.process.is_some() || task.executable.is_some()) {
            self.note("processes are left out: all threads of rt-app are of one");
        }
    }

    fn seconds(&mut self) -> i64 {
        let Some(duration_ns) = self.workload.duration_ns else { return -1 };
        if !duration_ns.is_multiple_of(SECOND_NS) {
            let seconds = duration_ns.div_ceil(SECOND_NS);
            self.note(format!(
                "the run's {} become {seconds}s: rt-app counts seconds",
                show_duration(duration_ns)
            ));
        }
        match duration_ns.div_ceil(SECOND_NS) {
            seconds if seconds <= MOST_TIMES => seconds as i64,
            _ => {
                self.note("the run's duration is left out: rt-app takes none that is so long");
                -1
            }
        }
    }

    /// A nice value for each task. Weights count in relation to each other, so where no task has a nice value of its own
    /// the least and the greatest are put about nice 0.
    fn nices(&mut self) -> Vec<i8> {
        let weights: Vec<WeightSetting> = self.tasks.iter().map(|task| task.weight).collect();
        let fixed = || weights.iter().map(|weight| weight.weight().fixed() as f64);
        let all_own = weights.iter().all(|weight| matches!(weight, WeightSetting::Units(_)));
        let (least, most) = (fixed().fold(f64::MAX, f64::min), fixed().fold(0.0, f64::max));
        let middle = Weight::NICE_0.fixed() as f64;
        let scale = if all_own { middle / (least * most).sqrt() } else { 1.0 };
        let mut nices = Vec::new();
        for (index, weight) in weights.iter().enumerate() {
            let nice = match weight {
                WeightSetting::Nice(nice) => *nice,
                WeightSetting::Units(_) => nearest_nice(weight.units() * scale),
            };
            if matches!(weight, WeightSetting::Units(_)) {
                let (name, units) = (&self.tasks[index].name, weight.units());
                self.note(format!(
                    "weight {units} of {name} becomes nice {nice}: rt-app has nice values only"
                ));
            }
            nices.push(nice);
        }
        nices
    }

    /// rt-app waits for as many threads as the file names the barrier for.
    fn check_barriers(&self) -> Result<(), Inexpressible> {
        for (index, barrier) in self.workload.barriers.iter().enumerate() {
            let counted = self.mentions.get(&index).copied().unwrap_or(0);
            let user = self.workload.tasks.iter().position(|task| mentions(&task.program, index));
            if counted != u64::from(barrier.parties)
                && let Some(user) = user
            {
                let what = format!(
                    "barrier {} waits for {}, and rt-app's would for {counted}: it counts each mention",
                    barrier.name, barrier.parties
                );
                return self.refuse(user, what);
            }
        }
        Ok(())
    }

    fn task(&mut self, index: usize, nice: i8, text: &mut String) -> Result<(), Inexpressible> {
        let task = self.tasks[index].clone();
        if task.stop_ns.is_some() {
            self.note(format!(
                "`stop` of {} is left out: nothing ends a thread of rt-app from outside",
                task.name
            ));
        }
        let (times, phases) = self.phases(index, &task.program)?;
        if matches!(task.arrivals, Arrivals::Forked { limit: Some(_) }) {
            return self.refuse(index, "rt-app does not count forks, so it has no `limit` of them");
        }
        let forked = matches!(task.arrivals, Arrivals::Forked { .. });
        let _ = write!(
            text,
            "    {}: {{\n      \"instance\": {}",
            quoted(&task.name),
            if forked { 0 } else { task.count }
        );
        if task.start_ns > 0 {
            let micros = self.micros(task.start_ns);
            if micros > MOST_MICROS {
                return self.refuse(index, "it starts too late for rt-app, which has 35 minutes");
            }
            let _ = write!(text, ", \"delay\": {micros}");
        }
        if nice != 0 {
            let _ = write!(text, ", \"priority\": {nice}");
        }
        if let Some(cpus) = &task.affinity {
            let numbers: Vec<u32> = cpus.iter().map(|cpu| cpu.get()).collect();
            let _ = write!(text, ", \"cpus\": {numbers:?}");
        }
        if let Some(group) = task.group {
            let _ = write!(
                text,
                ", \"taskgroup\": {}",
                quoted(&format!("/{}", self.workload.groups[group].name))
            );
        }
        let _ = write!(text, ", \"loop\": {},\n      \"phases\": {{", shown(times));
        for (at, phase) in phases.iter().enumerate() {
            let _ = write!(
                text,
                "{}\n        \"p{at}\": {{ \"loop\": {}",
                if at == 0 { "" } else { "," },
                shown(phase.times)
            );
            for (number, (kind, value)) in phase.events.iter().enumerate() {
                let _ = write!(text, ", \"{kind}{number}\": {value}");
            }
            text.push_str(" }");
        }
        text.push_str("\n      }\n    }");
        Ok(())
    }

    // ---- programs ----

    /// A program that is one loop is the thread's; the loops in it, or else in the program, are phases.
    fn phases(&mut self, task: usize, program: &[Step]) -> Result<(Option<u64>, Vec<Phase>), Inexpressible> {
        let (times, steps) = match program {
            [Step::Loop { times, body }] => (*times, body.as_slice()),
            _ => (Some(1), program),
        };
        if times.into_iter().chain(phase_times(steps)).any(|times| times > MOST_TIMES) {
            return self
                .refuse(task, format!("it repeats more than {MOST_TIMES} times, rt-app's greatest number"));
        }
        let mut context = Context { task, once: times == Some(1), moments: 0 };
        let mut phases: Vec<Phase> = Vec::new();
        for step in steps {
            let (repeats, body) = match step {
                Step::Loop { times, body } => (*times, body.as_slice()),
                Step::RunForever => (None, std::slice::from_ref(step)),
                _ => (Some(1), std::slice::from_ref(step)),
            };
            let mut events = Vec::new();
            context.once = times == Some(1) && repeats == Some(1);
            self.events(&mut context, body, &mut events)?;
            match phases.last_mut().filter(|last| last.times == Some(1) && repeats == Some(1)) {
                Some(last) => last.events.append(&mut events),
                None if events.is_empty() => {}
                None => phases.push(Phase { times: repeats, events }),
            }
        }
        if phases.iter().map(|phase| phase.events.len()).sum::<usize>() > MOST_EVENTS {
            return self
                .refuse(task, format!("its program has more than {MOST_EVENTS} events when written out"));
        }
        if phases.is_empty() {
            return self.refuse(task, "nothing is left of its program");
        }
        Ok((times, phases))
    }

    fn events(
        &mut self,
        context: &mut Context,
        steps: &[Step],
        events: &mut Vec<(&'static str, String)>,
    ) -> Result<(), Inexpressible> {
        for step in steps {
            if events.len() > MOST_EVENTS {
                let what =
                    format!("loops in loops in loops: written out they are more than {MOST_EVENTS} events");
                return self.refuse(context.task, what);
            }
            match step {
                Step::Loop { times: Some(times), body } => {
                    let outer = context.once;
                    context.once &= *times == 1;
                    for _ in 0..*times {
                        self.events(context, body, events)?;
                        if events.is_empty() {
                            break;
                        }
                    }
                    context.once = outer;
                }
                Step::Loop { times: None, .. } => {
                    return self.refuse(context.task, "a loop for ever is inside two other loops");
                }
                step => self.event(context, step, events)?,
            }
        }
        Ok(())
    }

    fn event(
        &mut self,
        context: &mut Context,
        step: &Step,
        events: &mut Vec<(&'static str, String)>,
    ) -> Result<(), Inexpressible> {
        let task = context.task;
        match step {
            Step::Run(dist) => self.pieces(task, "run", dist, events)?,
            Step::Sleep(dist) => self.pieces(task, "sleep", dist, events)?,
            Step::RunForever => events.push(("run", "1000000".to_owned())),
            Step::Period(ns) => {
                self.note("a period that is overrun begins anew in rt-app; here the next multiple counts");
                let period = self.timer_micros(task, *ns)?;
                events.push(("timer", format!("{{ \"ref\": \"unique_{period}us\", \"period\": {period} }}")));
            }
            Step::Until(at_ns) if !context.once => {
                let what = format!("it sleeps until {} in a loop", show_duration(*at_ns));
                return self.refuse(task, what);
            }
            Step::Until(at_ns) => {
                let from_ns = self.tasks[task].start_ns;
                if *at_ns > from_ns {
                    context.moments += 1;
                    let (name, period) = (context.moments, self.timer_micros(task, at_ns - from_ns)?);
                    events.push(("timer", format!("{{ \"ref\": \"unique_{name}\", \"period\": {period} }}")));
                }
            }
            Step::Lock(lock) => events.push(("lock", quoted(&self.workload.locks[*lock]))),
            Step::Unlock(lock) => events.push(("unlock", quoted(&self.workload.locks[*lock]))),
            Step::Barrier(barrier) => {
                let threads = if matches!(self.tasks[task].arrivals, Arrivals::Forked { .. }) {
                    0
                } else {
                    self.tasks[task].count
                };
                *self.mentions.entry(*barrier).or_insert(0) += u64::from(threads);
                events.push(("barrier", quoted(&self.workload.barriers[*barrier].name)));
            }
            Step::Fork(target) => {
                let (name, count) = (quoted(&self.tasks[*target].name), self.tasks[*target].count);
                self.note(format!("rt-app forks at most {MOST_FORKS} times at each `fork`"));
                events.extend((0..count).map(|_| ("fork", name.clone())));
            }
            Step::Yield => events.push(("yield", "\"\"".to_owned())),
            Step::Session => self.note("rt-app has no `session`: it is left out"),
            Step::Wake(target) => events.push(("sem_post", quoted(&self.tasks[*target].name))),
            Step::Wait => events.push(("sem_wait", quoted(&self.tasks[task].name))),
            Step::Post(semaphore) => events.push(("sem_post", quoted(&self.semaphore(*semaphore)))),
            Step::Take(semaphore) => events.push(("sem_wait", quoted(&self.semaphore(*semaphore)))),
            Step::Loop { .. } => {}
        }
        Ok(())
    }

    /// A semaphore's name, which is that of no task: those are the semaphores of `wake` and `wait`.
    fn semaphore(&self, number: usize) -> String {
        let mut name = self.workload.semaphores[number].clone();
        while self.tasks.iter().any(|task| task.name == name) {
            name.push('\'');
        }
        name
    }

    /// A time as events that are short enough.
    fn pieces(
        &mut self,
        task: usize,
        kind: &'static str,
        dist: &Dist,
        events: &mut Vec<(&'static str, String)>,
    ) -> Result<(), Inexpressible> {
        let mut left = match dist {
            Dist::Constant(ns) => self.micros(*ns),
            _ if dist.mean_ns().is_finite() => {
                self.note("random times are written as their means");
                self.micros(dist.mean_ns().round() as u64)
            }
            _ => return self.refuse(task, "its times are random without a mean"),
        };
        if left / MOST_MICROS > MOST_EVENTS as u64 {
            return self.refuse(task, format!("a {kind} is too long for rt-app"));
        }
        while left > 0 {
            let piece = left.min(MOST_MICROS);
            events.push((kind, piece.to_string()));
            left -= piece;
        }
        Ok(())
    }

    fn timer_micros(&mut self, task: usize, ns: u64) -> Result<u64, Inexpressible> {
        match self.micros(ns) {
            micros if micros <= MOST_MICROS => Ok(micros),
            _ => self.refuse(task, format!("a timer of {} is too long for rt-app", show_duration(ns))),
        }
    }

    /// To the nearest, at least 1.
    fn micros(&mut self, ns: u64) -> u64 {
        if !ns.is_multiple_of(1000) {
            self.note("times are rounded to whole microseconds");
        }
        (ns.saturating_add(500) / 1000).max(1)
    }
}

/// How often those loops are repeated that become phases.
fn phase_times(steps: &[Step]) -> impl Iterator<Item = u64> {
    steps.iter().filter_map(|step| match step {
        Step::Loop { times, .. } => *times,
        _ => None,
    })
}

/// How often, as rt-app has it.
fn shown(times: Option<u64>) -> i64 {
    times.map_or(-1, |times| i64::try_from(times).unwrap_or(-1))
}

fn mentions(program: &[Step], barrier: usize) -> bool {
    program.iter().any(|step| match step {
        Step::Barrier(named) => *named == barrier,
        Step::Loop { body, .. } => mentions(body, barrier),
        _ => false,
    })
}

/// The nice value whose weight is nearest by ratio.
fn nearest_nice(weight: f64) -> i8 {
    let distance = |nice: &i8| {
        let ratio = f64::from(NICE_WEIGHTS[usize::from(nice.abs_diff(-20))]) / weight;
        ratio.max(1.0 / ratio)
    };
    (-20..=19).min_by(|a, b| distance(a).total_cmp(&distance(b))).unwrap_or(0)
}

impl Failure for Inexpressible {
    fn kind(&self) -> FailureKind {
        FailureKind::BadInput
    }
}
