//! From a run to its report.

use super::*;

impl Engine<'_> {
    /// Received minus entitled, at a moment when it can be least or greatest: as a turn begins and ends.
    pub(super) fn sample_error(&mut self, task: TaskId) {
        if !self.warm {
            return;
        }
        let entitled = self.entitled.service_ns(task, self.now);
        let t = &mut self.tasks[task as usize];
        let error_ns = t.received_ns as f64 - (entitled - t.entitled_before_ns);
        t.error_min_ns = t.error_min_ns.min(error_ns);
        t.error_max_ns = t.error_max_ns.max(error_ns);
    }

    /// Adds to its row what a task got; it is counted no more. (Rows are touched here and at the ends of jobs only: a
    /// run is as fast as the memory that a decision touches is small.)
    pub(super) fn collect(&mut self, task: TaskId) {
        self.sample_error(task);
        let entitled = self.entitled.service_ns(task, self.now);
        let t = &self.tasks[task as usize];
        let row = &mut self.rows[t.row as usize];
        row.service_ns += t.received_ns;
        row.entitled_ns += entitled - t.entitled_before_ns;
        row.error_min_ns = row.error_min_ns.min(t.error_min_ns);
        row.error_max_ns = row.error_max_ns.max(t.error_max_ns);
    }

    pub(super) fn list_decision(&mut self, cpu: usize, task: TaskId) {
        if self.schedule[cpu].len() < self.setup.schedule {
            let name = self.rows[self.tasks[task as usize].row as usize].name.clone();
            self.schedule[cpu].push(name);
        } else {
            self.schedule_full = self.schedule.iter().all(|s| s.len() >= self.setup.schedule);
        }
    }

    /// Statistics begin now.
    pub(super) fn warm_up(&mut self) {
        for cpu in 0..self.cpus.len() {
            self.account(cpu);
        }
        for row in &mut self.rows {
            row.reset();
        }
        for task in 1..self.tasks.len() {
            if self.tasks[task].state != State::Vacant {
                let t = &mut self.tasks[task];
                t.received_ns = 0;
                t.entitled_before_ns = self.entitled.service_ns(task as TaskId, self.now);
            }
        }
        self.delays = Delays::default();
        self.warm = true;
        self.counted_from = self.now;
        self.switches = 0;
        self.migrations = 0;
        self.busy_ns = 0;
        self.overhead_ns = 0;
        self.idle_ns = 0;
        for cpu in &mut self.cpus {
            cpu.switch_ns -= cpu.switched_ns(self.now);
            cpu.idle_since = self.now;
        }
        self.decisions_before = self.machine.decisions();
        self.restart_samples();
    }

    pub(super) fn finish(&mut self, end: u64) -> Result<(), Violation> {
        self.now = end;
        for cpu in 0..self.cpus.len() {
            self.account(cpu);
        }
        for task in 1..self.tasks.len() as TaskId {
            if self.tasks[task as usize].state != State::Vacant {
                self.collect(task);
            }
        }
        for cpu in &self.cpus {
            match cpu.task {
                0 => self.idle_ns += end.saturating_sub(cpu.idle_since),
                _ => self.overhead_ns += cpu.switched_ns(end),
            }
        }
        self.check_sums(self.cpu_time_ns(end))
    }

    /// Time of all CPUs since statistics began; 0 if they never did.
    fn cpu_time_ns(&self, end: u64) -> u64 {
        end.saturating_sub(self.counted_from) * self.cpus.len() as u64
    }

    pub(super) fn report(mut self, policy: &str, end: u64) -> Run {
        let cpu_time = self.cpu_time_ns(end);
        let figures = self.figures(end);
        Run {
            policy: policy.to_owned(),
            rep: self.setup.rep,
            duration_ns: end.saturating_sub(self.counted_from),
            switches: self.switches,
            migrations: Some(self.migrations),
            decisions: Some(self.machine.decisions() - self.decisions_before),
            utilization: if cpu_time == 0 { 0.0 } else { self.busy_ns as f64 / cpu_time as f64 },
            jain: divvy_results::metrics::jain(&self.rows),
            response_ns: self.delays.response.finish(),
            wait_ns: self.delays.wait.finish(),
            wait_buckets: self.delays.wait_buckets.finish(),
            wake_delay_ns: self.delays.wake_delay.finish(),
            slowdown: self.delays.slowdown.finish_ratio(),
            tasks: self.rows.iter().map(|r| r.result(cpu_time)).collect(),
            programs: self.programs.results(&self.machine),
            first_decisions: (self.setup.schedule > 0).then_some(self.schedule),
            figures,
            schedule: None,
        }
    }
}
