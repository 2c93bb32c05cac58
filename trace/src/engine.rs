//! From events to intervals.
//!
//! For each CPU it keeps the thread that runs there, and since when; for each thread its phase, and since when. A trace may lack
//! switches. An interval whose start is unknown is then neither counted whole for the thread nor dropped whole; inferred times are
//! marked, and everything is counted.
//! Memory is bounded by threads and CPUs.

#[cfg(test)]
mod bounded;
mod cpu;
mod thread;
mod wakes;

use crate::error::{ErrorKind, TraceError};
use crate::event::{Comm, Context, Event, Kind, TaskRef};
use crate::interval::{Activity, Interval, Queued, Wake};
use crate::quality::Quality;
use cpu::{Cpu, Occupant};
use divvy_policy::CpuId;
use divvy_results::schedule::{Loss, State};
use std::collections::{BTreeMap, HashMap};
pub(crate) use thread::{Life, Phase};

/// More CPUs than any Linux kernel is built for.
const MOST_CPUS: u32 = 8192;

/// Longer recordings (39 hours) are damaged: at the most intervals that are kept, that would be an event each millisecond or two.
const MOST_SPAN_NS: u64 = 1 << 47;

/// A time without a single event on any CPU after which nobody knows who ran: the machine slept, or the recorder stood still.
const LONGEST_SILENCE_NS: u64 = 600 * 1_000_000_000;

/// Losses that are kept one by one; more of them count for the last.
const MOST_LOSSES: usize = 1 << 16;

/// Receives each interval once it is over, in order for each thread.
pub(crate) trait Keep {
    fn keep(&mut self, thread: usize, interval: Interval) -> Result<(), TraceError>;
}

/// The reconstruction.
pub(crate) struct Engine<K> {
    pub keep: K,
    pub threads: Vec<Life>,
    pub quality: Quality,
    /// Where events were lost, in the order of the file.
    pub losses: Vec<Loss>,
    max_threads: usize,
    cpus: Vec<Cpu>,
    /// Threads alive by number. Looked up, never iterated.
    by_tid: HashMap<i32, usize>,
    /// Facts about threads that no event has named yet.
    identities: BTreeMap<i32, (i32, Comm)>,
    /// The trace's clock at the first event.
    pub origin_ns: Option<u64>,
    now_ns: u64,
    has_waking: bool,
}

impl<K: Keep> Engine<K> {
    pub fn new(keep: K, max_threads: usize) -> Self {
        Engine {
            keep,
            threads: Vec::new(),
            quality: Quality::default(),
            losses: Vec::new(),
            max_threads,
            cpus: Vec::new(),
            by_tid: HashMap::new(),
            identities: BTreeMap::new(),
            origin_ns: None,
            now_ns: 0,
            has_waking: false,
        }
    }

    /// How many CPUs there are: the highest number seen, and one.
    pub fn cpu_count(&self) -> u32 {
        self.cpus.len() as u32
    }

    /// Takes the next event.
    pub fn event(&mut self, event: &Event) -> Result<(), TraceError> {
        if let Kind::Identity { task, process } = event.kind {
            self.identify(task, process);
            return Ok(());
        }
        if let Kind::Cgroup { tid, cgroup } = event.kind {
            if let Some(&thread) = self.by_tid.get(&tid) {
                self.threads[thread].cgroup = Some(cgroup);
            }
            return Ok(());
        }
        if self.origin_ns.is_none()
            && matches!(event.kind, Kind::Fork { .. } | Kind::Rename { .. } | Kind::Exit { .. })
        {
            self.learn_early(event); // perf notes its own threads before it switches the events on
            return Ok(());
        }
        let too_far = self.origin_ns.is_some_and(|origin| event.t_ns.saturating_sub(origin) > MOST_SPAN_NS);
        if event.cpu.get() >= MOST_CPUS || too_far {
            self.quality.malformed += 1;
            return Ok(());
        }
        self.quality.events += 1;
        self.notice_silence(event)?;
        let t = self.advance(event);
        let cpu = event.cpu;
        if self.cpus.len() <= cpu.index() {
            self.cpus.resize_with(cpu.index() + 1, Cpu::default);
        }
        self.cpus[cpu.index()].first_ns.get_or_insert(t);
        self.learn_context(event, t);
        match event.kind {
            Kind::Switch { prev, state, next } => self.switch(t, cpu, &prev, state, &next),
            Kind::Waking { task } => self.waking(t, &task, &event.context),
            Kind::Woken { task } => self.woken(t, &task, &event.context),
            Kind::WokenNew { task } => self.woken_new(t, &task, &event.context),
            Kind::Fork { parent, child, process } => self.fork(t, parent, &child, process),
            Kind::Rename { task } => self.alive(&task).map(drop),
            Kind::Exit { tid } => self.exit(tid),
            Kind::Runtime { task, ns } => self.runtime(t, cpu, &task, ns),
            Kind::Lost { events } => self.lost(cpu, events),
            Kind::Identity { .. } | Kind::Cgroup { .. } | Kind::Other => Ok(()),
        }
    }

    /// Ends with the recording.
    pub fn finish(&mut self) -> Result<(), TraceError> {
        let end = self.now_ns;
        for thread in 0..self.threads.len() {
            self.settle_losses(thread);
            self.close(thread, end, Wake::Never, true)?;
        }
        let all = self.threads.iter().map(|life| life.run_ns);
        self.quality.all_run_ns = all.fold(0, u64::saturating_add);
        let accounted = self.threads.iter().filter(|life| life.kernel_ns > 0);
        let sums = accounted.map(|life| (life.run_ns, life.kernel_ns, life.unclaimed_ns));
        for (run_ns, kernel_ns, unclaimed_ns) in sums {
            self.quality.run_ns = self.quality.run_ns.saturating_add(run_ns);
            self.quality.kernel_run_ns = self.quality.kernel_run_ns.saturating_add(kernel_ns);
            self.quality.unseen_run_ns = self.quality.unseen_run_ns.saturating_add(unclaimed_ns);
        }
        self.quality.threads = self.threads.len() as u64;
        self.quality.span_ns = end;
        self.quality.cpus = self.cpu_count();
        self.quality.first_valid_ns = self.cpus.iter().filter_map(|c| c.first_ns).max().unwrap_or(0);
        Ok(())
    }

    /// After a long silence nothing is known about any CPU.
    fn notice_silence(&mut self, event: &Event) -> Result<(), TraceError> {
        let now_ns = self.origin_ns.map_or(event.t_ns, |origin| origin.saturating_add(self.now_ns));
        if event.t_ns.saturating_sub(now_ns) <= LONGEST_SILENCE_NS {
            return Ok(());
        }
        self.quality.silences += 1;
        for cpu in 0..self.cpus.len() {
            self.vacate(CpuId::at(cpu))?;
            self.cpus[cpu].lose();
            self.cpus[cpu].last_known_ns = event.t_ns - self.origin_ns.unwrap_or(event.t_ns);
        }
        Ok(())
    }

    /// Time since the first event. A clock that runs backwards stands still here, and is counted.
    fn advance(&mut self, event: &Event) -> u64 {
        if event.t_ns == 0 && matches!(event.kind, Kind::Lost { .. }) {
            return self.now_ns; // a loss without a time belongs where it stands
        }
        let origin = *self.origin_ns.get_or_insert(event.t_ns);
        let back = origin.saturating_add(self.now_ns).saturating_sub(event.t_ns);
        if back > 0 {
            self.quality.clock_backwards += 1;
            self.quality.clock_backwards_max_ns = self.quality.clock_backwards_max_ns.max(back);
        } else {
            self.now_ns = event.t_ns - origin;
        }
        self.now_ns
    }

    /// Every event shows who holds its CPU.
    fn learn_context(&mut self, event: &Event, t: u64) {
        let context = &event.context;
        self.quality.interrupts_known |= context.interrupt.is_some();
        if matches!(event.kind, Kind::Lost { .. }) || context.tid < 0 {
            return;
        }
        if let Some(&thread) = self.by_tid.get(&context.tid) {
            let life = &mut self.threads[thread];
            if context.process > 0 {
                life.process = Some(context.process);
            }
        } else if context.tid > 0 && context.process > 0 && self.identities.len() < self.max_threads {
            self.identities.entry(context.tid).or_insert((context.process, Comm::default())).0 =
                context.process;
        }
        self.succeed(event.cpu, context);
        if !matches!(event.kind, Kind::Switch { .. }) {
            self.cpus[event.cpu.index()].witness(context.tid, t, &self.threads);
        }
    }

    /// Exec by a thread that is not the first of its process: the first one ends, and the two exchange their numbers. No switch
    /// tells of it. The first one may still run then: the exchange shows itself on the CPU of either.
    fn succeed(&mut self, cpu: CpuId, context: &Context) {
        let Occupant::Thread(thread) = self.cpus[cpu.index()].occupant else { return };
        let (life, other) = (&self.threads[thread], self.by_tid.get(&context.tid).copied());
        if context.tid <= 0 || life.tid == context.tid || life.process != Some(context.process) {
            return;
        }
        if context.tid == context.process {
            if other.is_none_or(|first| self.threads[first].may_be_succeeded()) {
                self.exchange_numbers(thread, other);
            }
        } else if let Some(successor) = other
            && life.tid == context.process
            && life.may_be_succeeded()
            && self.threads[successor].process == Some(context.process)
            && matches!(self.threads[successor].phase, Phase::Running(_))
        {
            self.exchange_numbers(successor, Some(thread));
        }
    }

    /// The same, if the first thread was preempted before it left for the last time. It comes on a CPU with the number of the second one,
    /// while that runs on another CPU.
    fn succeed_elsewhere(&mut self, cpu: CpuId, tid: i32) {
        let Some(&thread) = self.by_tid.get(&tid) else { return };
        let life = &self.threads[thread];
        let Phase::Running(other) = life.phase else { return };
        if other == cpu
            || life.last_on != Some((other, self.cpus[other.index()].losses))
            || life.process == Some(tid)
        {
            return;
        }
        let first = life.process.and_then(|process| self.by_tid.get(&process).copied());
        if let Some(first) = first.filter(|&first| self.threads[first].is_to_leave_for_good()) {
            self.exchange_numbers(thread, Some(first));
        }
    }

    /// `successor` gets the number of its process, and the first thread of the process gets its number in return.
    fn exchange_numbers(&mut self, successor: usize, first: Option<usize>) {
        let number = self.threads[successor].tid;
        self.by_tid.remove(&number);
        if let Some(first) = first.filter(|&first| self.threads[first].phase != Phase::Dead) {
            self.by_tid.insert(number, first);
            self.threads[first].tid = number;
        }
        if let Some(process) = self.threads[successor].process {
            self.by_tid.insert(process, successor);
            self.threads[successor].tid = process;
        }
    }

    /// Uses a record from before the first scheduler event: it can name threads, but not place them.
    fn learn_early(&mut self, event: &Event) {
        match event.kind {
            Kind::Fork { child, process, .. } => self.identify(child, process),
            Kind::Rename { task } => self.identify(task, -1),
            _ => {}
        }
    }

    fn identify(&mut self, task: TaskRef, process: i32) {
        if self.identities.len() < self.max_threads || self.identities.contains_key(&task.tid) {
            let known = self.identities.entry(task.tid).or_insert((-1, Comm::default()));
            known.0 = if process > 0 { process } else { known.0 };
            known.1 = if task.comm.is_empty() { known.1 } else { task.comm };
        }
    }

    /// The living thread of that number, made if need be; `None` for the idle task.
    fn alive(&mut self, task: &TaskRef) -> Result<Option<usize>, TraceError> {
        if task.tid <= 0 {
            return Ok(None);
        }
        let thread = match self.by_tid.get(&task.tid) {
            Some(&thread) if self.threads[thread].phase != Phase::Dead => thread,
            Some(_) => self.create(task, self.now_ns)?, // its number is in use again, and the fork was not seen
            None => self.create(task, 0)?,
        };
        let life = &mut self.threads[thread];
        life.learn(task);
        self.settle_losses(thread);
        Ok(Some(thread))
    }

    /// A thread of unknown state since `since`.
    fn create(&mut self, task: &TaskRef, since: u64) -> Result<usize, TraceError> {
        if self.threads.len() >= self.max_threads {
            return Err(TraceError::new(
                ErrorKind::TooLarge,
                format!("more than {} threads", self.max_threads),
            )
            .advise("record a shorter time, or raise the limit on threads"));
        }
        let known = self.identities.get(&task.tid).copied();
        self.threads.push(Life::new(task, since, known));
        self.by_tid.insert(task.tid, self.threads.len() - 1);
        Ok(self.threads.len() - 1)
    }

    fn switch(
        &mut self,
        t: u64,
        cpu: CpuId,
        prev: &TaskRef,
        state: State,
        next: &TaskRef,
    ) -> Result<(), TraceError> {
        self.quality.switches += 1;
        let leaver = self.alive(prev)?;
        self.leave(t, cpu, leaver, state)?;
        self.cpus[cpu.index()].switched(t);
        self.succeed_elsewhere(cpu, next.tid);
        match self.alive(next)? {
            Some(thread) => self.enter(t, cpu, thread, false)?,
            None => self.cpus[cpu.index()].occupant = Occupant::Idle,
        }
        Ok(())
    }

    /// `leaver` comes off the CPU; `None` is the idle task.
    fn leave(&mut self, t: u64, cpu: CpuId, leaver: Option<usize>, state: State) -> Result<(), TraceError> {
        let occupant = self.cpus[cpu.index()].occupant;
        let expected = match leaver {
            Some(thread) => Occupant::Thread(thread),
            None => Occupant::Idle,
        };
        if occupant != expected {
            if occupant != Occupant::Unknown {
                self.quality.mismatches += 1;
                self.quality.idle_exits_missing += u64::from(occupant == Occupant::Idle);
            }
            self.vacate(cpu)?;
            if let Some(thread) = leaver {
                let start = self.infer_start(t, cpu, thread);
                self.enter(start, cpu, thread, true)?;
            }
        }
        let Some(thread) = leaver else { return Ok(()) };
        self.close(thread, t, Wake::Missing, false)?;
        let life = &mut self.threads[thread];
        life.unclaimed_ns = 0;
        life.wake_missing = false;
        life.phase = match state {
            State::Runnable => Phase::Runnable(Queued::Preempted),
            State::Dead => Phase::Dead,
            state => Phase::Blocked(state),
        };
        Ok(())
    }

    /// When a thread came on a CPU that it now leaves, if no event shows it. It cannot be before the CPU's last switch or the
    /// thread's own last change, nor after its first event there; in between, the kernel's account of its CPU time decides.
    fn infer_start(&self, t: u64, cpu: CpuId, thread: usize) -> u64 {
        let (cpu, life) = (&self.cpus[cpu.index()], &self.threads[thread]);
        let earliest = cpu.last_known_ns.max(life.since_ns).min(t);
        let shown =
            cpu.claim.filter(|&(tid, _)| tid == life.tid).map(|(_, first_ns)| first_ns.clamp(earliest, t));
        let latest = shown.unwrap_or(t);
        match (life.unclaimed_ns, shown) {
            (0, Some(shown)) => shown,
            (0, None) => earliest + (t - earliest) / 2,
            (ran, _) => t.saturating_sub(ran).clamp(earliest, latest),
        }
    }

    /// `thread` comes on the CPU.
    fn enter(&mut self, t: u64, cpu: CpuId, thread: usize, inferred: bool) -> Result<(), TraceError> {
        match self.threads[thread].phase {
            Phase::Running(other) => {
                self.quality.overlaps += 1;
                self.cpus[other.index()].forget(t);
            }
            Phase::Blocked(_) => self.wake_unseen(thread)?,
            _ => {}
        }
        self.close(thread, t, Wake::Missing, false)?;
        let life = &mut self.threads[thread];
        if !inferred {
            let unseen_ns = std::mem::take(&mut life.unclaimed_ns);
            self.quality.unseen_run_ns = self.quality.unseen_run_ns.saturating_add(unseen_ns);
        }
        life.come_on(cpu, self.cpus[cpu.index()].losses, inferred);
        self.quality.inferred_runs += u64::from(inferred);
        self.cpus[cpu.index()].occupant = Occupant::Thread(thread);
        self.cpus[cpu.index()].seen_ns = t;
        Ok(())
    }

    /// Whoever is thought to run on the CPU must have left it unseen, after the last event that showed it there.
    fn vacate(&mut self, cpu: CpuId) -> Result<(), TraceError> {
        let seen_ns = self.cpus[cpu.index()].seen_ns;
        if let Occupant::Thread(thread) = self.cpus[cpu.index()].occupant {
            self.threads[thread].inferred = true;
            self.close(thread, seen_ns, Wake::Missing, false)?;
            self.threads[thread].phase = Phase::Unknown;
        }
        self.cpus[cpu.index()].last_known_ns = self.cpus[cpu.index()].last_known_ns.max(seen_ns);
        self.cpus[cpu.index()].occupant = Occupant::Unknown;
        Ok(())
    }

    /// Ends the thread's present interval at `t` and hands it over; `cut` if it may continue. The caller sets the next phase.
    fn close(&mut self, thread: usize, t: u64, wake: Wake, cut: bool) -> Result<(), TraceError> {
        let life = &mut self.threads[thread];
        let (start, end) = (life.since_ns, life.since_ns.max(t));
        life.since_ns = end;
        let first = life.is_first && !life.born;
        let inferred = std::mem::take(&mut life.inferred);
        let activity = match life.phase {
            Phase::Dead | Phase::Embryo => return Ok(()),
            Phase::Unknown => Activity::Unknown,
            Phase::Running(cpu) => Activity::Run { cpu },
            Phase::Runnable(why) => Activity::Wait { why },
            Phase::Blocked(state) => Activity::Blocked { state, wake },
        };
        if let Activity::Run { .. } = activity {
            life.run_ns += end - start;
            let inferred_ns = if inferred { end - start } else { 0 };
            self.quality.inferred_ns = self.quality.inferred_ns.saturating_add(inferred_ns);
        }
        let censored = first || cut || activity == Activity::Unknown;
        life.is_first = false;
        if end == start && !matches!(activity, Activity::Blocked { .. }) {
            return Ok(());
        }
        let censored_ns = if censored { end - start } else { 0 };
        self.quality.censored_ns = self.quality.censored_ns.saturating_add(censored_ns);
        self.keep.keep(thread, Interval { start_ns: start, end_ns: end, activity, censored, inferred })
    }

    /// The kernel's account of run time. It also shows which thread runs, if no event has shown it yet.
    fn runtime(&mut self, t: u64, cpu: CpuId, task: &TaskRef, ns: u64) -> Result<(), TraceError> {
        let Some(thread) = self.alive(task)? else {
            return Ok(());
        };
        let life = &mut self.threads[thread];
        life.kernel_ns = life.kernel_ns.saturating_add(ns);
        if matches!(life.phase, Phase::Running(_)) {
            return Ok(());
        }
        life.unclaimed_ns = life.unclaimed_ns.saturating_add(ns);
        if self.cpus[cpu.index()].occupant == Occupant::Unknown
            && self.cpus[cpu.index()].claim.is_some_and(|(tid, _)| tid == task.tid)
        {
            let start = self.infer_start(t, cpu, thread);
            self.threads[thread].unclaimed_ns = 0;
            self.enter(start, cpu, thread, true)?;
            self.cpus[cpu.index()].seen_ns = t;
        }
        Ok(())
    }

    /// Events of this CPU were lost: it is no longer known which thread runs there.
    fn lost(&mut self, cpu: CpuId, events: u64) -> Result<(), TraceError> {
        self.quality.lost_records += 1;
        self.quality.lost_events = self.quality.lost_events.saturating_add(events);
        self.vacate(cpu)?;
        let at_ns = self.cpus[cpu.index()].last_known_ns;
        let is_full = self.losses.len() == MOST_LOSSES;
        match self.losses.last_mut().filter(|_| is_full) {
            Some(last) => last.events = last.events.saturating_add(events),
            None => self.losses.push(Loss { cpu, at_ns, events }),
        }
        self.cpus[cpu.index()].lose();
        Ok(())
    }

    /// A thread that was last on a CPU which has lost events since may have run there unseen.
    fn settle_losses(&mut self, thread: usize) {
        let life = &mut self.threads[thread];
        let Some((cpu, losses)) = life.last_on else {
            return;
        };
        if losses != self.cpus[cpu.index()].losses {
            life.last_on = Some((cpu, self.cpus[cpu.index()].losses));
            if matches!(life.phase, Phase::Blocked(_) | Phase::Runnable(_)) {
                life.phase = Phase::Unknown;
                life.early = None;
            }
        }
    }
}
