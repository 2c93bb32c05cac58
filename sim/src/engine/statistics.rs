//! Statistics of a run as time goes on: service errors, the end of the warm-up, series over time.

use super::scheduler::Scheduler;
use super::state::Engine;
use super::violation::Violation;
use divvy_policy::TaskId;
use divvy_results::figures::Standing;

impl<S: Scheduler> Engine<'_, S> {
    /// Service to which a task is entitled since it came, for its service error; `None` before statistics begin.
    #[inline(always)]
    pub(super) fn entitled_to(&mut self, task: TaskId) -> Option<f64> {
        self.accounts.warm.then(|| self.entitled.service_ns(task, self.clock.now_ns))
    }

    /// Takes the service error at a moment at which it can be least or greatest: a slice begins or ends.
    pub(super) fn sample_error(&mut self, task: TaskId) {
        let entitled_ns = self.entitled_to(task);
        self.tasks[task].sample_error(entitled_ns);
    }

    /// Adds to its row what a task got.
    pub(super) fn collect(&mut self, task: TaskId) {
        self.sample_error(task);
        let entitled_ns = self.entitled.service_ns(task, self.clock.now_ns);
        self.accounts.collect(&self.tasks[task], entitled_ns);
    }

    /// Statistics begin now.
    pub(super) fn warm_up(&mut self) {
        let now = self.clock.now_ns;
        for cpu in self.cpus.ids() {
            self.account(cpu);
        }
        for task in self.tasks.ids() {
            let t = &mut self.tasks[task];
            if t.is_present() {
                t.received_ns = 0;
                t.entitled_before_ns = self.entitled.service_ns(task, now);
            }
        }
        self.cpus.iter_mut().for_each(|cpu| cpu.restart(now));
        self.accounts.restart(now, self.scheduler.decisions());
        self.accounts.moved_before = self.scheduler.moved().unwrap_or(0);
        self.restart_samples();
    }

    /// The run ends: accounts for what is in progress, and checks the sums.
    pub(super) fn finish(&mut self, end_ns: u64) -> Result<(), Violation> {
        self.clock.now_ns = end_ns;
        for cpu in self.cpus.ids() {
            self.account(cpu);
        }
        for task in self.tasks.ids() {
            if self.tasks[task].is_present() {
                self.collect(task);
            }
        }
        for cpu in self.cpus.iter() {
            match cpu.task {
                None => self.accounts.idle_ns += end_ns.saturating_sub(cpu.idle_since_ns),
                Some(_) => self.accounts.overhead_ns += cpu.switched_ns(end_ns),
            }
        }
        self.check_sums(self.cpu_time_ns(end_ns))?;
        self.scheduler.finish().map_err(|what| self.violation(what))
    }

    /// Time of all CPUs since statistics began; 0 if they never did.
    pub(super) fn cpu_time_ns(&self, end_ns: u64) -> u64 {
        self.accounts.counted_ns(end_ns) * self.cpus.len() as u64
    }

    /// Takes all samples that are due; nothing happens between the last instant and `at_ns`.
    pub(super) fn sample_until(&mut self, at_ns: u64) {
        while self.sampling.due_ns <= at_ns {
            let standing = self.standing(self.sampling.due_ns);
            let Some(samples) = &mut self.sampling.samples else { return };
            samples.take(standing);
            self.sampling.due_ns = samples.due_ns();
        }
    }

    /// The service that each row has received and was entitled to. A copy of the fluid model goes ahead, so that its roundings are
    /// the same whether samples are taken or not.
    fn standing(&self, at_ns: u64) -> Standing {
        let mut fluid = self.entitled.clone();
        let mut standing = self.collected(at_ns);
        for (id, t) in self.tasks.present() {
            standing.received_ns[t.row()] += t.received_ns;
            standing.entitled_ns[t.row()] += fluid.service_ns(id, at_ns) - t.entitled_before_ns;
        }
        for cpu in self.cpus.iter() {
            let Some(task) = cpu.task else { continue };
            let row = self.tasks[task].row();
            standing.received_ns[row] += at_ns.saturating_sub(cpu.served_until_ns);
        }
        standing
    }

    /// The service that the rows have collected from tasks that ended.
    pub(super) fn collected(&self, at_ns: u64) -> Standing {
        let rows = &self.accounts.rows;
        Standing {
            at_ns,
            received_ns: rows.iter().map(|row| row.service_ns).collect(),
            entitled_ns: rows.iter().map(|row| row.entitled_ns).collect(),
        }
    }
}
