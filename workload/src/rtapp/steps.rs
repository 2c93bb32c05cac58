//! The program of a task: its phases and events as steps.

use std::ops::Range;

use super::build::{Builder, Channel, Spot};
use super::event::{Event, Reading};
use super::task::Phase;
use crate::error::WorkloadError;
use crate::{Barrier, Dist, Step, Workload};

/// Most wake-ups that are made of the file's broadcasts, one for each task that waits.
const MOST_WAKES: usize = 1 << 20;

impl<'j> Builder<'j> {
    pub(super) fn program(
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
        // A program that never ends is not repeated.
        let times = if ends_never(&steps) { Some(1) } else { self.plans[plan].times };
        repeat(times, steps, spots, &self.plans[plan].at, &mut program, &mut all);
        Ok((program, all))
    }

    /// The steps that an event becomes; there may be none.
    fn steps(
        &mut self,
        plan: usize,
        (phase, event): (usize, usize),
        held: &mut Vec<&'j str>,
        reading: &mut Reading<'j>,
        workload: &mut Workload,
    ) -> Result<Vec<Step>, WorkloadError> {
        let (event, at) = self.plans[plan].phases[phase].events[event].clone();
        let take = self.take(plan, self.channel(plan, &event));
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
            Event::Wait { mutex, .. } => self.wait(take, mutex, held, workload),
            Event::Sync { condition, mutex } => {
                let mut steps = self.wake(plan, condition, false, &at, reading)?;
                steps.extend(self.wait(take, mutex, held, workload));
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
                vec![take]
            }
            Event::Post(name) => self.post(name, &at, reading)?,
            Event::Take(_) => vec![take],
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
    fn wait(&mut self, take: Step, mutex: &'j str, held: &[&str], workload: &mut Workload) -> Vec<Step> {
        if !held.contains(&mutex) {
            return vec![take];
        }
        let lock = self.lock(mutex, workload);
        vec![Step::Unlock(lock), take, Step::Lock(lock)]
    }

    /// Wakes the tasks that wait for a condition, but not this one.
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
        if let Some(&semaphore) = self.shared.get(&Channel::Condition(name)) {
            let what = "a signal for which several tasks wait goes to the one that waits longest, or is kept for the next; \
                        rt-app loses it if nobody waits";
            reading.notes.say(at.start, what);
            let count = if all { others.len() } else { 1 };
            self.count_wakes(count, at, reading)?;
            return Ok(vec![Step::Post(semaphore); count]);
        }
        reading
            .notes
            .say(at.start, "a signal or resume that comes before its wait is kept here; rt-app loses it");
        self.tokens(Channel::Condition(name), &others, at, reading)
    }

    fn post(
        &mut self,
        name: &'j str,
        at: &Range<usize>,
        reading: &mut Reading,
    ) -> Result<Vec<Step>, WorkloadError> {
        let waiters = self.waiters.get(&Channel::Semaphore(name)).cloned().unwrap_or_default();
        if let Some(&semaphore) = self.shared.get(&Channel::Semaphore(name)) {
            return Ok(vec![Step::Post(semaphore)]);
        }
        self.tokens(Channel::Semaphore(name), &waiters, at, reading)
    }

    fn count_wakes(
        &mut self,
        count: usize,
        at: &Range<usize>,
        reading: &Reading,
    ) -> Result<(), WorkloadError> {
        self.wakes += count;
        if self.wakes > MOST_WAKES {
            let message =
                format!("there are more than {MOST_WAKES} wake-ups, one for each task that is woken");
            return Err(reading.error(at, message, "let fewer tasks wait for what is broadcast so often"));
        }
        Ok(())
    }

    fn tokens(
        &mut self,
        channel: Channel<'j>,
        plans: &[usize],
        at: &Range<usize>,
        reading: &mut Reading,
    ) -> Result<Vec<Step>, WorkloadError> {
        if plans.is_empty() {
            reading.notes.say(at.start, "nobody waits for this, so it is left out");
        }
        self.count_wakes(plans.len(), at, reading)?;
        let semaphore = |plan| self.semaphores.get(&(plan, channel)).copied();
        let both = plans.iter().find(|&&plan| {
            semaphore(plan).is_none() && self.starting[plan].is_some() && self.forked[plan].is_some()
        });
        if both.is_some() {
            let message = "the task that waits for this starts by itself and is forked as well";
            return Err(reading.error(at, message, "a workload has to say which one is woken"));
        }
        Ok(plans
            .iter()
            .filter_map(|&plan| match semaphore(plan) {
                Some(semaphore) => Some(Step::Post(semaphore)),
                None => self.starting[plan].or(self.forked[plan]).map(Step::Wake),
            })
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
