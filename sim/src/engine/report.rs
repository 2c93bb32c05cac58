//! From a run that ended to its report.

use super::accounting::Accounting;
use super::scheduler::Scheduler;
use super::state::Engine;
use divvy_results::figures::{Figures, MOST_TASK_CCDFS, TaskCcdfs};
use divvy_results::metrics::{DelayResults, Row, jain, results};
use divvy_results::report::Run;

impl<S: Scheduler> Engine<'_, S> {
    pub(super) fn report(mut self, policy: &str, end_ns: u64) -> Run {
        let cpu_time = self.cpu_time_ns(end_ns);
        let figures = self.figures(end_ns);
        let decisions = self.scheduler.decisions() - self.accounts.decisions_before;
        let host_calls = self.scheduler.host_calls();
        let shard_migrations = self.scheduler.moved().map(|moved| moved - self.accounts.moved_before);
        let migrations_by_distance = self.workload.topology.map(|_| self.accounts.by_distance.into());
        let programs = self.programs.results(&self.scheduler);
        let rep = self.setup.rep;
        let mut accounts = self.into_accounts();
        let DelayResults { response_ns, wait_ns, wait_buckets, wake_delay_ns, slowdown } =
            std::mem::take(&mut accounts.delays).finish();
        Run {
            policy: policy.to_owned(),
            rep,
            deterministic: None,
            duration_ns: accounts.counted_ns(end_ns),
            switches: accounts.switches,
            migrations: Some(accounts.migrations),
            migrations_by_distance,
            shard_migrations,
            decisions: Some(decisions),
            host_calls,
            utilization: if cpu_time == 0 { 0.0 } else { accounts.busy_ns as f64 / cpu_time as f64 },
            jain: jain(&accounts.rows),
            seniority: accounts.seniority.finish(),
            response_ns,
            wait_ns,
            wait_buckets,
            wake_delay_ns,
            slowdown,
            tasks: results(accounts.rows, cpu_time),
            programs,
            first_decisions: accounts.first_decisions.finish(),
            figures,
            schedule: None,
        }
    }

    /// Gives up the rest: the machine and the tasks need as much memory as the report.
    fn into_accounts(self) -> Accounting {
        self.accounts
    }

    /// The data of all figures but the timeline, which an observer keeps.
    fn figures(&mut self, end_ns: u64) -> Option<Figures> {
        let samples = self.sampling.samples.take()?;
        let (rows, delays) = (&self.accounts.rows, &self.accounts.delays);
        let few = rows.len() <= MOST_TASK_CCDFS;
        let TaskCcdfs { response, wait } = delays.ccdfs();
        let ccdfs = |row: &Row| row.delays.ccdfs();
        Some(Figures {
            series: samples.finish(self.collected(end_ns), self.cpus.len()),
            response,
            wait,
            tasks: if few { rows.iter().map(ccdfs).collect() } else { Vec::new() },
            timeline: None,
        })
    }
}
