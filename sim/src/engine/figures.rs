//! What pictures are drawn from, looked at while a run goes on. Nothing here changes what happens, nor any other number
//! of the report.

use super::*;
use divvy_policy::Shown;
use divvy_results::figures::{Figures, MOST_TASK_CCDFS, Standing, TaskCcdfs};

impl Engine<'_> {
    /// Keeps series over time for the report's pictures. Before the run.
    pub fn keep_series(&mut self) {
        self.keeps_series = true;
        self.restart_samples();
    }

    /// Tells the observer what the policy keeps of each task. Before the run.
    pub fn tell_of_values(&mut self) -> Vec<Shown> {
        let shown = self.machine.shown();
        self.values = shown.len() as u32;
        shown
    }

    /// What the policy keeps of this task may have changed.
    pub(super) fn touch(&mut self, task: TaskId) {
        if self.values > 0 && task != 0 {
            self.touched.push(task);
        }
    }

    /// Of the tasks to which something happened at this instant, those that are still there.
    pub(super) fn tell_values(&mut self) {
        let mut touched = std::mem::take(&mut self.touched);
        touched.sort_unstable();
        touched.dedup();
        for &task in &touched {
            if self.tasks[task as usize].state == State::Vacant {
                continue;
            }
            for value in 0..self.values {
                let number = self.machine.value(value, task, self.now);
                self.tell(Observation::Value { task, value, at_ns: self.now, number });
            }
        }
        touched.clear();
        self.touched = touched; // to be filled again
    }

    /// Statistics begin now, if at all.
    pub(super) fn restart_samples(&mut self) {
        if self.keeps_series && self.warm {
            let samples = Samples::new(self.now, self.setup.until_ns, self.rows.len());
            self.sample_due = samples.due_ns();
            self.samples = Some(samples);
        }
    }

    /// Looks at all times that are due; nothing happens between the last instant and this.
    pub(super) fn sample_until(&mut self, at_ns: u64) {
        while self.sample_due <= at_ns {
            let standing = self.standing(self.sample_due);
            let Some(samples) = &mut self.samples else { return };
            samples.take(standing);
            self.sample_due = samples.due_ns();
        }
    }

    /// What each row has received and was entitled to. A copy of the fluid model goes ahead, so that its roundings are
    /// the same whether somebody looks or not.
    fn standing(&self, at_ns: u64) -> Standing {
        let mut fluid = self.entitled.clone();
        let mut standing = Standing {
            at_ns,
            received_ns: self.rows.iter().map(|row| row.service_ns).collect(),
            entitled_ns: self.rows.iter().map(|row| row.entitled_ns).collect(),
        };
        for (id, t) in self.tasks.iter().enumerate().filter(|(_, t)| t.state != State::Vacant) {
            let row = t.row as usize;
            standing.received_ns[row] += t.received_ns;
            standing.entitled_ns[row] += fluid.service_ns(id as TaskId, at_ns) - t.entitled_before_ns;
        }
        for cpu in self.cpus.iter().filter(|cpu| cpu.task != 0) {
            let row = self.tasks[cpu.task as usize].row as usize;
            standing.received_ns[row] += at_ns.saturating_sub(cpu.served_until);
        }
        standing
    }

    /// All but the timeline, which an observer keeps. Rows have collected what their tasks got.
    pub(super) fn figures(&mut self, end: u64) -> Option<Figures> {
        let samples = self.samples.take()?;
        let end = Standing {
            at_ns: end,
            received_ns: self.rows.iter().map(|row| row.service_ns).collect(),
            entitled_ns: self.rows.iter().map(|row| row.entitled_ns).collect(),
        };
        let few = self.rows.len() <= MOST_TASK_CCDFS;
        let ccdfs =
            |row: &Row| TaskCcdfs { response: row.delays.response.ccdf(), wait: row.delays.wait.ccdf() };
        Some(Figures {
            series: samples.finish(end, self.cpus.len()),
            response: self.delays.response.ccdf(),
            wait: self.delays.wait.ccdf(),
            tasks: if few { self.rows.iter().map(ccdfs).collect() } else { Vec::new() },
            timeline: None,
        })
    }
}
