//! From tasks of the file to tasks of a workload: which ones start or are forked, and which one wakes which.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::event::{Event, Reading};
use super::task::RtTask;
use crate::error::WorkloadError;
use crate::{Arrivals, Group, Place, Step, Task, Workload};

/// The thing for which a task waits until another wakes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Channel<'j> {
    Condition(&'j str),
    Semaphore(&'j str),
}

/// Where a step and those in it come from.
pub(super) struct Spot {
    pub at: Range<usize>,
    pub inner: Vec<Spot>,
}

pub(super) struct Builder<'j> {
    pub plans: Vec<RtTask<'j>>,
    /// Names of tasks that another resumes.
    pub resumed: BTreeSet<&'j str>,
    /// Index of the workload's task of each plan: the one that starts by itself, and the one that is forked.
    pub starting: Vec<Option<usize>>,
    pub forked: Vec<Option<usize>>,
    /// Plans that wait for each channel.
    pub waiters: BTreeMap<Channel<'j>, Vec<usize>>,
    /// The semaphores of plans that wait for several channels: a task of a workload has one store of tokens only.
    pub semaphores: BTreeMap<(usize, Channel<'j>), usize>,
    /// The semaphores of channels that wake one of several tasks: the one that waits longest.
    pub shared: BTreeMap<Channel<'j>, usize>,
    /// Where each task of the workload stands in the file, and where its steps do.
    pub spots: Vec<(Range<usize>, Vec<Spot>)>,
    /// Where each barrier is first named.
    pub barrier_spots: Vec<Range<usize>>,
    /// Mutexes, barriers and groups by name.
    pub locks: BTreeMap<&'j str, usize>,
    pub barriers: BTreeMap<&'j str, usize>,
    pub groups: BTreeMap<String, usize>,
    /// The period of each timer of a plan.
    pub timers: BTreeMap<(usize, &'j str), u64>,
    /// How often each plan uses each timer, and how many threads do.
    pub timer_uses: BTreeMap<(usize, &'j str), u64>,
    pub timer_threads: BTreeMap<&'j str, u64>,
    /// The plan of each name.
    pub named: BTreeMap<&'j str, usize>,
    /// Wake-ups so far.
    pub wakes: usize,
}

impl<'j> Builder<'j> {
    pub(super) fn new(plans: Vec<RtTask<'j>>) -> Self {
        let resumed = plans.iter().flat_map(RtTask::events).filter_map(|(event, _)| match event {
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
            semaphores: BTreeMap::new(),
            shared: BTreeMap::new(),
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
    pub(super) fn number(&mut self, reading: &mut Reading<'j>) {
        let targets: BTreeSet<&str> = self
            .plans
            .iter()
            .flat_map(RtTask::events)
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

    /// The thing for which an event of this plan waits.
    pub(super) fn channel(&self, plan: usize, event: &Event<'j>) -> Option<Channel<'j>> {
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

    /// Notes for which channels each task waits. A channel that wakes one of several tasks gets a semaphore; and so do the others of
    /// a task that waits for several channels, each its own.
    pub(super) fn find_waits(&mut self, workload: &mut Workload) {
        let mut waits = Vec::new();
        for index in 0..self.plans.len() {
            if !self.is_there(index) {
                continue;
            }
            let events = self.plans[index].events();
            let channels: BTreeSet<Channel<'j>> =
                events.filter_map(|(event, _)| self.channel(index, event)).collect();
            for &channel in &channels {
                self.waiters.entry(channel).or_default().push(index);
            }
            waits.push((index, channels));
        }
        for channel in self.wakes_of_one() {
            if self.waiters.get(&channel).is_some_and(|waiters| waiters.len() > 1) {
                let (Channel::Condition(name) | Channel::Semaphore(name)) = channel;
                self.shared.insert(channel, workload.semaphores.len());
                workload.semaphores.push(name.to_owned());
            }
        }
        for (index, channels) in waits {
            for &channel in channels.iter().filter(|channel| !self.shared.contains_key(channel)) {
                if channels.len() > 1 {
                    let (Channel::Condition(name) | Channel::Semaphore(name)) = channel;
                    let name = format!("{} waits for {name}", self.plans[index].name);
                    self.semaphores.insert((index, channel), workload.semaphores.len());
                    workload.semaphores.push(name);
                }
            }
        }
    }

    /// The channels by which a task wakes one other where several may wait: not itself, and not all.
    fn wakes_of_one(&self) -> BTreeSet<Channel<'j>> {
        let mut channels = BTreeSet::new();
        for index in (0..self.plans.len()).filter(|&index| self.is_there(index)) {
            for (event, _) in self.plans[index].events() {
                let channel = match *event {
                    Event::Signal(name) | Event::Sync { condition: name, .. } => Channel::Condition(name),
                    Event::Post(name) => Channel::Semaphore(name),
                    _ => continue,
                };
                let waiters = self.waiters.get(&channel).map_or(&[][..], Vec::as_slice);
                let is_post = matches!(channel, Channel::Semaphore(_));
                let may_wake = |waiter: &&usize| is_post || **waiter != index;
                if waiters.iter().filter(may_wake).take(2).count() > 1 {
                    channels.insert(channel);
                }
            }
        }
        channels
    }

    /// A plan's step that waits for a channel.
    pub(super) fn take(&self, plan: usize, channel: Option<Channel<'j>>) -> Step {
        let semaphore = channel
            .and_then(|channel| self.shared.get(&channel).or_else(|| self.semaphores.get(&(plan, channel))));
        semaphore.map_or(Step::Wait, |&semaphore| Step::Take(semaphore))
    }

    pub(super) fn build(
        &mut self,
        workload: &mut Workload,
        reading: &mut Reading<'j>,
    ) -> Result<(), WorkloadError> {
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
                let forked = Arrivals::Forked { limit: None };
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
        groups.push(Group::new(path.to_owned(), parent));
        self.groups.insert(path.to_owned(), groups.len() - 1);
        groups.len() - 1
    }

    // ---- places ----

    /// Where a part of the workload stands in the file.
    pub(super) fn span(&self, place: &Place) -> Option<Range<usize>> {
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
            Place::Workload(_) | Place::Topology(_) | Place::Group(_) => None,
        }
    }
}
