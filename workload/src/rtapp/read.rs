//! From tasks of the file to a workload: who wakes whom, who is forked, and the programs.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::event::{Event, Reading, find};
use super::json::{self, Json, Member, Value};
use super::notes::Notes;
use super::task::{Phase, Plan};
use crate::error::{Source, WorkloadError};
use crate::{
    Arrivals, Barrier, DEFAULT_QUANTUM_NS, Dist, Group, MAX_CPUS, Place, Step, Task, WeightSetting, Workload,
};
use divvy_policy::units::parse_duration;

/// Most wake-ups that are made of the file's broadcasts, one for each task that waits.
const MOST_WAKES: usize = 1 << 20;

/// Reads a workload from rt-app's JSON, and what is to be told of it. `file` is its name.
///
/// # Errors
/// With file, line and column, and with what to do.
pub(crate) fn parse(text: &str, file: &str) -> Result<(Workload, Vec<String>), WorkloadError> {
    let source = &Source { file, text };
    let root = json::parse(source)?;
    let mut reading = Reading { source, notes: Notes::default() };
    let (plans, machine) = top(&mut reading, &root)?;
    let mut builder = Builder::new(plans);
    builder.number(&mut reading);
    builder.check_waits(&reading)?;
    let mut workload = Workload {
        name: file.to_owned(),
        cpus: 1,
        quantum_ns: DEFAULT_QUANTUM_NS,
        duration_ns: machine.duration_ns,
        warmup_ns: 0,
        tick_ns: None,
        switch_cost_ns: 0,
        migration_cost_ns: 0,
        groups: Vec::new(),
        tasks: Vec::new(),
        locks: Vec::new(),
        barriers: Vec::new(),
    };
    builder.build(&mut workload, &mut reading)?;
    let named = workload.tasks.iter().filter_map(|task| task.affinity.as_ref()?.last()).max();
    let least = named.map_or(1, |cpu| cpu + 1);
    workload.cpus = machine.cpus.unwrap_or(least);
    if machine.cpus.is_none() {
        let what = format!(
            "rt-app's files do not say how many CPUs there are: {least} here, unless --cpus says more"
        );
        reading.notes.say(root.span.start, what);
    }
    workload.check().map_err(|problem| {
        let span = builder.span(&problem.place).unwrap_or(root.span.start..root.span.start + 1);
        source.error(span, problem.message, problem.help)
    })?;
    Ok((workload, reading.notes.lines(source)))
}

/// What the file says beside its tasks.
struct Machine {
    cpus: Option<u32>,
    duration_ns: Option<u64>,
}

fn top<'j>(reading: &mut Reading<'j>, root: &'j Json<'j>) -> Result<(Vec<Plan<'j>>, Machine), WorkloadError> {
    let Value::Object(members) = &root.value else {
        return Err(reading.error(
            &root.span,
            "this is no workload of rt-app",
            "its files are one object with `tasks`",
        ));
    };
    let Some(tasks) = find(members, "tasks") else {
        let help = match find(members, "traceEvents") {
            Some(_) => "these are Chrome's trace events, which are written here and not read",
            None => "a workload of rt-app has \"tasks\" : { \"NAME\" : { \"run\" : 1000, .. } }",
        };
        return Err(reading.error(&(root.span.start..root.span.start + 1), "there are no `tasks`", help));
    };
    let mut machine = Machine { cpus: None, duration_ns: None };
    let mut policy = "SCHED_OTHER";
    for member in members {
        match member.key.as_ref() {
            "global" => {
                let fields = reading.object(member)?;
                machine.duration_ns = duration(reading, fields)?;
                if let Some(field) = find(fields, "default_policy") {
                    policy = reading.policy(field)?;
                }
                if find(fields, "pi_enabled")
                    .is_some_and(|field| matches!(field.json.value, Value::Bool(true)))
                {
                    reading
                        .notes
                        .say(member.span.start, "`pi_enabled`: there is no priority inheritance here");
                }
            }
            "divvy" => {
                if let Some(field) = find(reading.object(member)?, "cpus") {
                    machine.cpus = Some(reading.integer(&field.json, "cpus", 1, MAX_CPUS.into())? as u32);
                }
            }
            "tasks" | "resources" => {}
            other => {
                let what = format!("`{}` is ignored, by rt-app as well", other.escape_debug());
                reading.notes.say(member.span.start, what);
            }
        }
    }
    let mut plans: Vec<Plan> = Vec::new();
    let mut names = BTreeSet::new();
    for member in reading.object(tasks)? {
        if !names.insert(member.key.as_ref()) {
            return Err(reading.error(&member.span, "another task has this name", "give each task its own"));
        }
        plans.push(reading.task(member, policy)?);
    }
    Ok((plans, machine))
}

/// In seconds; -1 is without end.
fn duration(reading: &Reading, fields: &[Member]) -> Result<Option<u64>, WorkloadError> {
    let Some(field) = find(fields, "duration") else { return Ok(None) };
    match field.json.value {
        Value::Number("-1") => Ok(None),
        Value::Number(text) => parse_duration(&format!("{text}s")).map(Some).map_err(|_| {
            let help = "it must be a number of seconds, or -1 for no end";
            reading.error(&field.json.span, format!("`duration` is {text}"), help)
        }),
        _ => Err(reading.mistyped(field, "a number of seconds")),
    }
}

/// What a task waits for until another wakes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Channel<'j> {
    Condition(&'j str),
    Semaphore(&'j str),
}

/// Where a step and those in it come from.
struct Spot {
    at: Range<usize>,
    inner: Vec<Spot>,
}

struct Builder<'j> {
    plans: Vec<Plan<'j>>,
    /// Names that somebody resumes.
    resumed: BTreeSet<&'j str>,
    /// Index of the workload's task of each plan: the one that starts by itself, and the one that is forked.
    starting: Vec<Option<usize>>,
    forked: Vec<Option<usize>>,
    /// Plans that wait for each channel.
    waiters: BTreeMap<Channel<'j>, Vec<usize>>,
    /// Of each task of the workload: where it stands, and its steps.
    spots: Vec<(Range<usize>, Vec<Spot>)>,
    /// Where each barrier is first named.
    barrier_spots: Vec<Range<usize>>,
    /// Mutexes, barriers and groups by name.
    locks: BTreeMap<&'j str, usize>,
    barriers: BTreeMap<&'j str, usize>,
    groups: BTreeMap<String, usize>,
    /// The period of each timer of a plan.
    timers: BTreeMap<(usize, &'j str), u64>,
    /// How often each plan uses each timer, and how many threads do.
    timer_uses: BTreeMap<(usize, &'j str), u64>,
    timer_threads: BTreeMap<&'j str, u64>,
    /// The plan of each name.
    named: BTreeMap<&'j str, usize>,
    /// Wake-ups so far.
    wakes: usize,
}

impl<'j> Builder<'j> {
    fn new(plans: Vec<Plan<'j>>) -> Self {
        let resumed = plans.iter().flat_map(Plan::events).filter_map(|(event, _)| match event {
            Event::Broadcast(name) => Some(*name),
            _ => None,
        });
        let mut timer_uses = BTreeMap::new();
        for (index, plan) in plans.iter().enumerate() {
            for (event, _) in plan.events() {
                if let Event::Timer { name, .. } = event {
                    *timer_uses.entry((index, *name)).or_insert(0) += 1;
                }
            }
        }
        let mut timer_threads = BTreeMap::new();
        for &(plan, name) in timer_uses.keys() {
            *timer_threads.entry(name).or_insert(0) += u64::from(plans[plan].instances);
        }
        Builder {
            timer_uses,
            timer_threads,
            named: plans.iter().enumerate().map(|(index, plan)| (plan.name, index)).collect(),
            wakes: 0,
            resumed: resumed.collect(),
            starting: Vec::new(),
            forked: Vec::new(),
            waiters: BTreeMap::new(),
            spots: Vec::new(),
            barrier_spots: Vec::new(),
            locks: BTreeMap::new(),
            barriers: BTreeMap::new(),
            groups: BTreeMap::new(),
            timers: BTreeMap::new(),
            plans,
        }
    }

    /// Which task of the workload each plan becomes: one if it starts, one if it is forked, both if both.
    fn number(&mut self, reading: &mut Reading<'j>) {
        let targets: BTreeSet<&str> = self
            .plans
            .iter()
            .flat_map(Plan::events)
            .filter_map(|(event, _)| match event {
                Event::Fork(name) => Some(*name),
                _ => None,
            })
            .collect();
        let mut next = 0..;
        for plan in &self.plans {
            let is_forked = targets.contains(plan.name);
            self.starting.push((plan.instances > 0).then(|| next.next().unwrap_or(0)));
            self.forked.push(is_forked.then(|| next.next().unwrap_or(0)));
            if plan.instances == 0 && !is_forked {
                reading.notes.say(plan.at.start, "a task without instances that nobody forks is left out");
            }
        }
    }

    fn is_there(&self, plan: usize) -> bool {
        self.starting[plan].or(self.forked[plan]).is_some()
    }

    /// What an event of this plan waits for.
    fn channel(&self, plan: usize, event: &Event<'j>) -> Option<Channel<'j>> {
        let own = self.plans[plan].name;
        Some(match *event {
            Event::Wait { condition, .. } | Event::Sync { condition, .. } => Channel::Condition(condition),
            Event::Take(name) => Channel::Semaphore(name),
            Event::Suspend(Some(other)) if !other.is_empty() && !self.resumed.contains(own) => {
                Channel::Condition(other)
            }
            Event::Suspend(_) => Channel::Condition(own),
            _ => return None,
        })
    }

    /// A task of a workload has one store of tokens, so it can wait for one thing only.
    fn check_waits(&mut self, reading: &Reading) -> Result<(), WorkloadError> {
        for index in 0..self.plans.len() {
            if !self.is_there(index) {
                continue;
            }
            let mut known = None;
            for (event, at) in self.plans[index].events() {
                let Some(channel) = self.channel(index, event) else { continue };
                if known.is_some_and(|known| known != channel) {
                    let message = "this task waits for two things that others wake it for";
                    let help =
                        "a workload's task waits for one: one semaphore, or one condition, or `suspend`";
                    return Err(reading.error(at, message, help));
                }
                known = Some(channel);
            }
            if let Some(channel) = known {
                self.waiters.entry(channel).or_default().push(index);
            }
        }
        Ok(())
    }

    fn build(&mut self, workload: &mut Workload, reading: &mut Reading<'j>) -> Result<(), WorkloadError> {
        for index in 0..self.plans.len() {
            if !self.is_there(index) {
                continue;
            }
            let group = self.plans[index].standing.group.map(|path| self.group(path, &mut workload.groups));
            let (program, mut spots) = self.program(index, reading, workload)?;
            let plan = &self.plans[index];
            let task = Task {
                name: plan.name.to_owned(),
                weight: plan.standing.weight(),
                process: None,
                group,
                executable: None,
                count: plan.instances.max(1),
                start_ns: plan.start_ns,
                stop_ns: None,
                affinity: plan.standing.affinity.clone(),
                arrivals: Arrivals::Once,
                program,
            };
            let at = plan.at.clone();
            if self.starting[index].is_some() {
                workload.tasks.push(task.clone());
            }
            if self.forked[index].is_some() {
                let name = match self.starting[index] {
                    Some(_) => self.free_name(format!("{} forked", task.name)),
                    None => task.name.clone(),
                };
                // rt-app counts it from the run's start, as it does for those that are there from then on.
                let delay = (task.start_ns > 0).then_some(Step::Until(task.start_ns));
                let shifted = delay.is_some();
                let program = delay.into_iter().chain(task.program).collect();
                let forked = Arrivals::Forked;
                workload.tasks.push(Task { name, count: 1, start_ns: 0, arrivals: forked, program, ..task });
                if self.starting[index].is_some() {
                    self.spots.push((at.clone(), Vec::new()));
                }
                if shifted {
                    spots.insert(0, Spot { at: at.clone(), inner: Vec::new() });
                }
            }
            self.spots.push((at, spots));
        }
        Ok(())
    }

    fn free_name(&self, mut name: String) -> String {
        while self.named.contains_key(name.as_str()) {
            name.push('\'');
        }
        name
    }

    /// The group of this path, made if it is new, and so are those around it.
    fn group(&mut self, path: &str, groups: &mut Vec<Group>) -> usize {
        if let Some(&index) = self.groups.get(path) {
            return index;
        }
        let parent = path.rsplit_once('/').map(|(around, _)| self.group(around, groups));
        groups.push(Group { name: path.to_owned(), weight: WeightSetting::DEFAULT, parent });
        self.groups.insert(path.to_owned(), groups.len() - 1);
        groups.len() - 1
    }

    // ---- programs ----

    fn program(
        &mut self,
        plan: usize,
        reading: &mut Reading<'j>,
        workload: &mut Workload,
    ) -> Result<(Vec<Step>, Vec<Spot>), WorkloadError> {
        let (mut steps, mut spots) = (Vec::new(), Vec::new());
        let mut held = Vec::new();
        for index in 0..self.plans[plan].phases.len() {
            if ends_never(&steps) {
                let at = self.plans[plan].phases[index].at.start;
                reading.notes.say(at, "a phase behind one that never ends is left out");
                break;
            }
            let (mut body, mut inner) = (Vec::new(), Vec::new());
            for at in 0..self.plans[plan].phases[index].events.len() {
                let made = self.steps(plan, (index, at), &mut held, reading, workload)?;
                let at = &self.plans[plan].phases[index].events[at].1;
                inner.extend(made.iter().map(|_| Spot { at: at.clone(), inner: Vec::new() }));
                body.extend(made);
            }
            let Phase { times, at, .. } = &self.plans[plan].phases[index];
            repeat(*times, body, inner, at, &mut steps, &mut spots);
        }
        let (mut program, mut all) = (Vec::new(), Vec::new());
        // What never ends is not repeated.
        let times = if ends_never(&steps) { Some(1) } else { self.plans[plan].times };
        repeat(times, steps, spots, &self.plans[plan].at, &mut program, &mut all);
        Ok((program, all))
    }

    /// What an event is as steps: none, or some.
    fn steps(
        &mut self,
        plan: usize,
        (phase, event): (usize, usize),
        held: &mut Vec<&'j str>,
        reading: &mut Reading<'j>,
        workload: &mut Workload,
    ) -> Result<Vec<Step>, WorkloadError> {
        let (event, at) = self.plans[plan].phases[phase].events[event].clone();
        Ok(match event {
            Event::Run(0) | Event::Sleep(0) | Event::Timer { period_ns: 0, .. } => {
                reading.notes.say(at.start, "an event of no time is left out");
                Vec::new()
            }
            Event::Run(ns) => vec![Step::Run(Dist::Constant(ns))],
            Event::Sleep(ns) => vec![Step::Sleep(Dist::Constant(ns))],
            Event::Timer { name, period_ns, is_absolute } => {
                vec![self.timer(plan, phase, name, period_ns, is_absolute, &at, reading)?]
            }
            Event::Lock(name) => {
                held.push(name);
                vec![Step::Lock(self.lock(name, workload))]
            }
            Event::Unlock(name) => {
                held.retain(|other| *other != name);
                vec![Step::Unlock(self.lock(name, workload))]
            }
            Event::Wait { mutex, .. } => self.wait(mutex, held, workload),
            Event::Sync { condition, mutex } => {
                let mut steps = self.wake(plan, condition, false, &at, reading)?;
                steps.extend(self.wait(mutex, held, workload));
                steps
            }
            Event::Signal(name) => self.wake(plan, name, false, &at, reading)?,
            Event::Broadcast(name) => self.wake(plan, name, true, &at, reading)?,
            Event::Barrier(name) => vec![Step::Barrier(self.barrier(name, plan, &at, reading, workload)?)],
            Event::Suspend(name) => {
                if self.channel(plan, &event) != Some(Channel::Condition(self.plans[plan].name)) {
                    let name = name.unwrap_or("").escape_debug();
                    let what =
                        format!("`suspend` until somebody resumes `{name}`: rt-app itself looks at no name");
                    reading.notes.say(at.start, what);
                }
                vec![Step::Wait]
            }
            Event::Post(name) => self.post(name, &at, reading)?,
            Event::Take(_) => vec![Step::Wait],
            Event::Yield => vec![Step::Yield],
            Event::Fork(name) => vec![self.fork(name, &at, reading)?],
        })
    }

    /// A timer that is set once only fires at one moment; else its period counts.
    #[allow(clippy::too_many_arguments)]
    fn timer(
        &mut self,
        plan: usize,
        phase: usize,
        name: &'j str,
        period_ns: u64,
        is_absolute: bool,
        at: &Range<usize>,
        reading: &mut Reading,
    ) -> Result<Step, WorkloadError> {
        let of = &self.plans[plan];
        let is_used_once = self.timer_uses.get(&(plan, name)) == Some(&1);
        let once = of.times == Some(1) && of.phases[phase].times == Some(1) && is_used_once;
        if once {
            return Ok(Step::Until(of.start_ns.saturating_add(period_ns)));
        }
        let threads = self.timer_threads.get(name);
        if !name.starts_with("unique") && threads.is_some_and(|&threads| threads > 1) {
            reading.notes.say(at.start, "threads share this timer in rt-app; here each has its own");
        }
        let overrun = if is_absolute { "catches up with what it missed" } else { "begins anew" };
        let what = format!("a timer that is overrun {overrun} in rt-app; here its next period counts");
        reading.notes.say(at.start, what);
        let known = *self.timers.entry((plan, name)).or_insert(period_ns);
        if known != period_ns {
            let message = "this timer has another period than before";
            return Err(reading.error(at, message, "give each period a timer of its own: another \"ref\""));
        }
        Ok(Step::Period(period_ns))
    }

    fn lock(&mut self, name: &'j str, workload: &mut Workload) -> usize {
        *self.locks.entry(name).or_insert_with(|| {
            workload.locks.push(name.to_owned());
            workload.locks.len() - 1
        })
    }

    /// The mutex is free while the thread waits, if it holds it.
    fn wait(&mut self, mutex: &'j str, held: &[&str], workload: &mut Workload) -> Vec<Step> {
        if !held.contains(&mutex) {
            return vec![Step::Wait];
        }
        let lock = self.lock(mutex, workload);
        vec![Step::Unlock(lock), Step::Wait, Step::Lock(lock)]
    }

    /// Wakes who waits for a condition, but not itself.
    fn wake(
        &mut self,
        plan: usize,
        name: &'j str,
        all: bool,
        at: &Range<usize>,
        reading: &mut Reading,
    ) -> Result<Vec<Step>, WorkloadError> {
        let waiters = self.waiters.get(&Channel::Condition(name)).map_or(&[][..], Vec::as_slice);
        let others: Vec<usize> = waiters.iter().copied().filter(|&other| other != plan).collect();
        if others.len() > 1 && !all {
            let names: Vec<&str> = others.iter().map(|&other| self.plans[other].name).collect();
            let message = format!("several tasks wait for this: {}", names.join(", ").escape_debug());
            return Err(reading.error(
                at,
                message,
                "a workload has to say which one is woken: use a condition each",
            ));
        }
        reading
            .notes
            .say(at.start, "a signal or resume that comes before its wait is kept here; rt-app loses it");
        self.tokens(&others, at, reading)
    }

    fn post(
        &mut self,
        name: &'j str,
        at: &Range<usize>,
        reading: &mut Reading,
    ) -> Result<Vec<Step>, WorkloadError> {
        let waiters = self.waiters.get(&Channel::Semaphore(name)).cloned().unwrap_or_default();
        if waiters.len() > 1 {
            let message = "several tasks wait for this semaphore";
            return Err(reading.error(
                at,
                message,
                "a workload has to say which one is woken: use a semaphore each",
            ));
        }
        self.tokens(&waiters, at, reading)
    }

    fn tokens(
        &mut self,
        plans: &[usize],
        at: &Range<usize>,
        reading: &mut Reading,
    ) -> Result<Vec<Step>, WorkloadError> {
        if plans.is_empty() {
            reading.notes.say(at.start, "nobody waits for this, so it is left out");
        }
        self.wakes += plans.len();
        if self.wakes > MOST_WAKES {
            let message =
                format!("there are more than {MOST_WAKES} wake-ups, one for each task that is woken");
            return Err(reading.error(at, message, "let fewer tasks wait for what is broadcast so often"));
        }
        let both = plans.iter().find(|&&plan| self.starting[plan].is_some() && self.forked[plan].is_some());
        if both.is_some() {
            let message = "the task that waits for this starts by itself and is forked as well";
            return Err(reading.error(at, message, "a workload has to say which one is woken"));
        }
        Ok(plans
            .iter()
            .filter_map(|&plan| self.starting[plan].or(self.forked[plan]))
            .map(Step::Wake)
            .collect())
    }

    /// It waits for as many threads as there are in all tasks that name it, once for each time that they do.
    fn barrier(
        &mut self,
        name: &'j str,
        plan: usize,
        at: &Range<usize>,
        reading: &Reading,
        workload: &mut Workload,
    ) -> Result<usize, WorkloadError> {
        let index = *self.barriers.entry(name).or_insert_with(|| {
            workload.barriers.push(Barrier { name: name.to_owned(), parties: 0 });
            workload.barriers.len() - 1
        });
        if index == self.barrier_spots.len() {
            self.barrier_spots.push(at.clone());
        }
        let parties = workload.barriers[index].parties.checked_add(self.plans[plan].instances);
        workload.barriers[index].parties =
            parties.ok_or_else(|| reading.error(at, "too many threads meet here", "name fewer of them"))?;
        Ok(index)
    }

    fn fork(&self, name: &str, at: &Range<usize>, reading: &Reading) -> Result<Step, WorkloadError> {
        let target = self.named.get(name).and_then(|&plan| self.forked[plan]);
        let message = || format!("there is no task named `{}`", name.escape_debug());
        target.map(Step::Fork).ok_or_else(|| reading.error(at, message(), "it must be one of `tasks`"))
    }

    // ---- places ----

    /// Where a part of the workload stands in the file.
    fn span(&self, place: &Place) -> Option<Range<usize>> {
        match place {
            Place::Task(task, _) => self.spots.get(*task).map(|(at, _)| at.clone()),
            Place::Step(task, path) => {
                let (at, spots) = self.spots.get(*task)?;
                let (mut at, mut spots) = (at, spots);
                for &index in path {
                    let Some(spot) = spots.get(index) else { break };
                    (at, spots) = (&spot.at, &spot.inner);
                }
                Some(at.clone())
            }
            Place::Barrier(index) => self.barrier_spots.get(*index).cloned(),
            Place::Workload(_) | Place::Group(_) => None,
        }
    }
}

fn ends_never(steps: &[Step]) -> bool {
    steps.last().is_some_and(|step| matches!(step, Step::RunForever | Step::Loop { times: None, .. }))
}

/// Adds steps so often. Runs without end are one without end.
fn repeat(
    times: Option<u64>,
    mut body: Vec<Step>,
    mut inner: Vec<Spot>,
    at: &Range<usize>,
    steps: &mut Vec<Step>,
    spots: &mut Vec<Spot>,
) {
    let only_runs = body.iter().all(|step| matches!(step, Step::Run(_)));
    match times {
        _ if body.is_empty() => {}
        Some(1) => {
            steps.append(&mut body);
            spots.append(&mut inner);
        }
        None if only_runs => {
            steps.push(Step::RunForever);
            spots.push(Spot { at: at.clone(), inner: Vec::new() });
        }
        times => {
            steps.push(Step::Loop { times, body });
            spots.push(Spot { at: at.clone(), inner });
        }
    }
}
