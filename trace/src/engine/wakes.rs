//! How threads become runnable: woken, forked; and how they end.

use super::{Engine, Keep, Phase};
use crate::engine::cpu::Occupant;
use crate::error::TraceError;
use crate::event::{Context, TaskRef};
use crate::interval::{Queued, Wake};
use divvy_results::schedule::State;

impl<K: Keep> Engine<K> {
    /// Somebody decided to wake `task`.
    pub(super) fn waking(&mut self, t: u64, task: &TaskRef, context: &Context) -> Result<(), TraceError> {
        self.has_waking = true;
        let Some(thread) = self.alive(task)? else {
            return Ok(());
        };
        let wake = self.waker(task, context)?;
        match self.threads[thread].phase {
            Phase::Running(_) => {
                let life = &mut self.threads[thread];
                if std::mem::take(&mut life.wake_missing) {
                    self.quality.wakes_after_run += 1;
                } else {
                    // A waker on another CPU may see the thread asleep just before the switch is recorded; the next events tell.
                    self.quality.spurious_wakes += 1;
                    life.early = Some((wake, t));
                }
                Ok(())
            }
            Phase::Runnable(_) => {
                self.quality.spurious_wakes += 1;
                Ok(())
            }
            _ => self.make_runnable(t, thread, wake),
        }
    }

    /// `task` is on a run queue. Where wakes are recorded by both events, the first has told it all, but for an early one.
    pub(super) fn woken(&mut self, t: u64, task: &TaskRef, context: &Context) -> Result<(), TraceError> {
        if !self.has_waking {
            self.waking(t, task, context)?;
            self.has_waking = false;
            return Ok(());
        }
        let Some(thread) = self.alive(task)? else {
            return Ok(());
        };
        if let Phase::Blocked(_) | Phase::Unknown | Phase::Embryo = self.threads[thread].phase {
            let wake = match self.threads[thread].take_early() {
                Some(early) => early,
                None => self.waker(task, context)?,
            };
            self.make_runnable(t, thread, wake)?;
        }
        Ok(())
    }

    /// A thread is on a run queue for the first time.
    pub(super) fn woken_new(&mut self, t: u64, task: &TaskRef, context: &Context) -> Result<(), TraceError> {
        if task.tid <= 0 {
            return Ok(());
        }
        let embryo =
            self.by_tid.get(&task.tid).copied().filter(|&thread| self.threads[thread].phase == Phase::Embryo);
        if embryo.is_none() {
            self.fork(t, context.tid, task, -1)?;
        }
        if let Some(thread) = self.alive(task)? {
            self.make_runnable(t, thread, Wake::Missing)?;
        }
        Ok(())
    }

    /// Runnable from `t` on.
    fn make_runnable(&mut self, t: u64, thread: usize, wake: Wake) -> Result<(), TraceError> {
        let life = &mut self.threads[thread];
        if life.phase == Phase::Embryo {
            life.since_ns = t;
            life.start_ns = t;
            life.born = true;
            life.phase = Phase::Runnable(Queued::New);
            return Ok(());
        }
        let unknown = life.phase == Phase::Unknown;
        if unknown {
            life.phase = Phase::Blocked(State::Unknown); // it must have slept, since when is not known
        }
        life.early = None;
        self.quality.wakes += 1;
        self.close(thread, t, wake, unknown)?;
        self.threads[thread].phase = Phase::Runnable(Queued::Woken);
        Ok(())
    }

    /// A sleeping thread runs again and no wake was seen since it fell asleep. If one came just before, that was it: the sleep
    /// was over at once. Else the wake is missing, and its delay counts as none.
    pub(super) fn wake_unseen(&mut self, thread: usize) -> Result<(), TraceError> {
        let life = &mut self.threads[thread];
        let Some(early) = life.take_early() else {
            life.wake_missing = true;
            self.quality.missing_wakes += 1;
            return Ok(());
        };
        let slept_ns = life.since_ns;
        self.quality.spurious_wakes -= 1;
        self.quality.wakes += 1;
        self.close(thread, slept_ns, early, false)?;
        self.threads[thread].phase = Phase::Runnable(Queued::Woken);
        Ok(())
    }

    /// The waker of `task` in this context.
    fn waker(&mut self, task: &TaskRef, context: &Context) -> Result<Wake, TraceError> {
        // Nobody wakes itself but from an interrupt, and ksoftirqd runs soft interrupts on behalf of devices.
        if context.interrupt == Some(true) || context.tid == 0 || context.tid == task.tid {
            return Ok(Wake::Interrupt);
        }
        let current = TaskRef::named(context.tid, b"");
        Ok(match self.alive(&current)? {
            Some(waker) if self.threads[waker].comm.as_bytes().starts_with(b"ksoftirqd/") => Wake::Interrupt,
            Some(waker) => Wake::By(waker as u32),
            None => Wake::Missing,
        })
    }

    /// `child` was made. perf and the tracepoint both report it; the second report only adds.
    pub(super) fn fork(
        &mut self,
        t: u64,
        parent: i32,
        child: &TaskRef,
        process: i32,
    ) -> Result<(), TraceError> {
        if child.tid <= 0 {
            return Ok(());
        }
        let parent = self.alive(&TaskRef::named(parent, b""))?; // first: parents have lower indices than their children
        self.identities.remove(&child.tid); // that was a thread with the same number before
        let old = self.by_tid.get(&child.tid).copied();
        let embryo = old.filter(|&thread| self.threads[thread].phase == Phase::Embryo);
        let thread = match (embryo, old) {
            (Some(thread), _) => thread,
            (None, Some(old)) => {
                self.end(t, old)?;
                self.create(child, t)?
            }
            (None, None) => self.create(child, t)?,
        };
        let life = &mut self.threads[thread];
        life.learn(child);
        life.phase = Phase::Embryo;
        life.parent = life.parent.or(parent.filter(|&parent| parent < thread));
        life.process = if process > 0 { Some(process) } else { life.process };
        life.born = true;
        Ok(())
    }

    /// The number is in use again, so the old thread is gone.
    fn end(&mut self, t: u64, thread: usize) -> Result<(), TraceError> {
        if let Phase::Running(cpu) = self.threads[thread].phase
            && self.cpus[cpu.index()].occupant == Occupant::Thread(thread)
        {
            self.vacate(cpu)?;
        }
        self.close(thread, t, Wake::Never, true)?;
        self.threads[thread].phase = Phase::Dead;
        self.threads[thread].exiting = true;
        Ok(())
    }

    /// It will not come back once it is off its CPU.
    pub(super) fn exit(&mut self, tid: i32) -> Result<(), TraceError> {
        if let Some(&thread) = self.by_tid.get(&tid) {
            self.threads[thread].exiting = true;
        }
        Ok(())
    }
}
