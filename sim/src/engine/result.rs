//! From a run to its report.

use super::*;

impl Engine<'_> {
    /// Received minus entitled, at a moment when it can be least or greatest: as a turn begins and ends.
    pub(super) fn sample_error(&mut self, task: TaskId) {
        if !self.warm {
            return;
        }
        let entitled = self.entitled.service_ns(task, self.now);
        let t = &self.tasks[task as usize];
        let error = t.received_ns as f64 - (entitled - t.entitled_before_ns);
        self.rows[t.row as usize].error(error);
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
                self.tasks[task].received_ns = 0;
                self.tasks[task].entitled_before_ns = self.entitled.service_ns(task as TaskId, self.now);
            }
        }
        self.delays = Delays::default();
        self.warm = true;
        self.counted_from = self.now;
        self.switches = 0;
        self.migrations = 0;
        self.busy_ns = 0;
        self.overhead_ns = 0;
        self.decisions_before = self.machine.decisions();
    }

    pub(super) fn finish(&mut self, end: u64) -> Result<(), Violation> {
        self.now = end;
        for cpu in 0..self.cpus.len() {
            self.account(cpu);
        }
        for task in 1..self.tasks.len() as TaskId {
            if self.tasks[task as usize].state == State::Vacant {
                continue;
            }
            self.sample_error(task);
            let entitled = self.entitled.service_ns(task, end);
            let t = &self.tasks[task as usize];
            self.rows[t.row as usize].entitled_ns += entitled - t.entitled_before_ns;
        }
        self.check_sums()
    }

    pub(super) fn report(self, policy: &str, end: u64) -> Run {
        let duration_ns = end - self.counted_from.min(end);
        let cpu_time = duration_ns * self.cpus.len() as u64;
        let entitled = self.rows.iter().filter(|r| r.entitled_ns > 0.0);
        let allotments: Vec<f64> = entitled.map(|r| r.service_ns as f64 / r.entitled_ns).collect();
        Run {
            policy: policy.to_owned(),
            rep: self.setup.rep,
            duration_ns,
            switches: self.switches,
            migrations: self.migrations,
            decisions: self.machine.decisions() - self.decisions_before,
            utilization: if cpu_time == 0 { 0.0 } else { self.busy_ns as f64 / cpu_time as f64 },
            jain: crate::stats::jain(&allotments).unwrap_or(1.0),
            response_ns: self.delays.response.finish(),
            wait_ns: self.delays.wait.finish(),
            wake_delay_ns: self.delays.wake_delay.finish(),
            slowdown: self.delays.slowdown.finish_ratio(),
            tasks: self.rows.iter().map(|r| r.result(cpu_time)).collect(),
            schedule: (self.setup.schedule > 0).then_some(self.schedule),
        }
    }
}
