//! Shares and service errors over time.

use serde::{Deserialize, Serialize};

/// Most points in time; where the end is not known before, at least half as many.
const MOST_POINTS: usize = 200;
/// Most points of all tasks together, while they are collected.
const MOST_NUMBERS: usize = 1_000_000;
/// The first interval, where the end is not known before.
const FIRST_INTERVAL_NS: u64 = 1_000;

/// Shares and errors of tasks at regular times. A window is the time from one to the next.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Series {
    /// Where the first window begins: when statistics do.
    pub from_ns: u64,
    /// Ends of the windows.
    pub times_ns: Vec<u64>,
    /// The tasks with the greatest service errors in any run of the report.
    pub tasks: Vec<TaskSeries>,
    /// Service errors of all tasks.
    pub error_spread: ErrorSpread,
}

/// One task's series: a number for each window.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct TaskSeries {
    /// Index into the run's tasks.
    pub task: usize,
    /// CPU time received in the window, as a share of all CPU time in it.
    pub share: Vec<f64>,
    /// The same of the CPU time that it was entitled to.
    pub entitled_share: Vec<f64>,
    /// Received minus entitled since statistics began, at the end of the window.
    pub error_ns: Vec<i64>,
}

/// How service errors are spread over the tasks, at the end of each window.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ErrorSpread {
    /// The error of the task furthest behind.
    pub least_ns: Vec<i64>,
    /// A tenth of the tasks is at most there.
    pub p10_ns: Vec<i64>,
    /// Half of the tasks is at most there.
    pub p50_ns: Vec<i64>,
    /// Nine tenths of the tasks are at most there.
    pub p90_ns: Vec<i64>,
    /// The error of the task furthest ahead.
    pub most_ns: Vec<i64>,
}

/// Received and entitled service of every task since statistics began.
#[derive(Clone, Debug)]
pub struct Standing {
    /// When, in ns.
    pub at_ns: u64,
    /// CPU time that each task received until then, in ns.
    pub received_ns: Vec<u64>,
    /// CPU time that each task was entitled to until then, in ns.
    pub entitled_ns: Vec<f64>,
}

/// Collects standings at regular times during a run.
#[derive(Clone, Debug)]
pub struct Samples {
    from_ns: u64,
    interval_ns: u64,
    most: usize,
    taken: Vec<Standing>,
}

impl Samples {
    /// From `from_ns` on, of so many tasks; `until_ns` is the end, if it is known.
    pub fn new(from_ns: u64, until_ns: Option<u64>, tasks: usize) -> Samples {
        let most = (MOST_NUMBERS / tasks.max(1)).clamp(20, MOST_POINTS);
        let interval_ns = match until_ns {
            Some(until_ns) => until_ns.saturating_sub(from_ns).div_ceil(most as u64).max(1),
            None => FIRST_INTERVAL_NS,
        };
        Samples { from_ns, interval_ns, most, taken: Vec::new() }
    }

    /// When to look next.
    pub fn due_ns(&self) -> u64 {
        self.from_ns.saturating_add(self.interval_ns.saturating_mul(self.taken.len() as u64 + 1))
    }

    /// Standings are taken in order, when they are due.
    pub fn take(&mut self, standing: Standing) {
        self.taken.push(standing);
        if self.taken.len() >= self.most && self.interval_ns < u64::MAX / 2 {
            self.halve();
        }
    }

    /// Windows of twice the length.
    fn halve(&mut self) {
        let mut index = 0;
        self.taken.retain(|_| {
            index += 1;
            index % 2 == 0
        });
        self.interval_ns *= 2;
    }

    /// The run has ended, with this.
    pub fn finish(mut self, end: Standing, cpus: usize) -> Series {
        self.taken.retain(|standing| standing.at_ns < end.at_ns);
        if end.at_ns > self.from_ns {
            self.taken.push(end);
        }
        let tasks = self.taken.first().map_or(0, |standing| standing.received_ns.len());
        Series {
            from_ns: self.from_ns,
            times_ns: self.taken.iter().map(|standing| standing.at_ns).collect(),
            tasks: (0..tasks).map(|task| self.task(task, cpus)).collect(),
            error_spread: self.spread(),
        }
    }

    fn task(&self, task: usize, cpus: usize) -> TaskSeries {
        let mut series = TaskSeries { task, ..TaskSeries::default() };
        let (mut at_ns, mut received_ns, mut entitled_ns) = (self.from_ns, 0, 0.0);
        for now in &self.taken {
            let cpu_time_ns = (now.at_ns - at_ns) as f64 * cpus as f64;
            series.share.push(rounded((now.received_ns[task] - received_ns) as f64 / cpu_time_ns));
            series.entitled_share.push(rounded((now.entitled_ns[task] - entitled_ns) / cpu_time_ns));
            series.error_ns.push(now.error_ns(task));
            (at_ns, received_ns, entitled_ns) = (now.at_ns, now.received_ns[task], now.entitled_ns[task]);
        }
        series
    }

    fn spread(&self) -> ErrorSpread {
        let mut spread = ErrorSpread::default();
        for standing in &self.taken {
            let mut errors: Vec<i64> =
                (0..standing.received_ns.len()).map(|task| standing.error_ns(task)).collect();
            errors.sort_unstable();
            let Some(last) = errors.len().checked_sub(1) else { continue };
            let at = |tenths: usize| errors[(errors.len() * tenths).div_ceil(10).saturating_sub(1).min(last)];
            spread.least_ns.push(errors[0]);
            spread.p10_ns.push(at(1));
            spread.p50_ns.push(at(5));
            spread.p90_ns.push(at(9));
            spread.most_ns.push(errors[last]);
        }
        spread
    }
}

impl Standing {
    fn error_ns(&self, task: usize) -> i64 {
        (self.received_ns[task] as f64 - self.entitled_ns[task]).round() as i64
    }
}

/// To a millionth, which is more than a picture shows.
fn rounded(share: f64) -> f64 {
    (share * 1e6).round() / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    fn standing(at_ns: u64, received_ns: &[u64], entitled_ns: &[f64]) -> Standing {
        Standing { at_ns, received_ns: received_ns.to_vec(), entitled_ns: entitled_ns.to_vec() }
    }

    #[test]
    fn windows_have_their_own_shares_and_errors_add_up() {
        let mut samples = Samples::new(1000, Some(1000 + 100 * MOST_POINTS as u64), 2);
        assert_eq!(samples.due_ns(), 1100);
        samples.take(standing(1100, &[60, 100], &[80.0, 80.0]));
        assert_eq!(samples.due_ns(), 1200);
        let series = samples.finish(standing(1150, &[110, 100], &[110.0, 100.0]), 2);
        assert_eq!((series.from_ns, series.times_ns), (1000, vec![1100, 1150]));
        let first = &series.tasks[0];
        assert_eq!((&first.share[..], &first.entitled_share[..]), (&[0.3, 0.5][..], &[0.4, 0.3][..]));
        assert_eq!(first.error_ns, [-20, 0]);
        assert_eq!((series.error_spread.least_ns, series.error_spread.most_ns), (vec![-20, 0], vec![20, 0]));
    }

    #[test]
    fn a_run_without_a_known_end_has_a_bounded_number_of_even_windows() {
        let mut samples = Samples::new(0, None, 1);
        let end = 7_777_777;
        while samples.due_ns() < end {
            let at = samples.due_ns();
            samples.take(standing(at, &[at / 2], &[at as f64 / 2.0]));
        }
        let series = samples.finish(standing(end, &[end / 2], &[end as f64 / 2.0]), 1);
        let n = series.times_ns.len();
        assert!((MOST_POINTS / 2..=MOST_POINTS).contains(&n), "{n}");
        let steps: Vec<u64> = series.times_ns[..n - 1].windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert!(steps.iter().all(|step| *step == steps[0]), "{steps:?}");
        assert!(series.tasks[0].share.iter().all(|share| (share - 0.5).abs() < 1e-4));
    }

    /// Nearest rank of ten tasks: the first, the fifth and the ninth.
    #[test]
    fn the_spread_is_that_of_all_tasks() {
        let received: Vec<u64> = (1..=10).map(|n| 100 + 10 * n).collect();
        let series = Samples::new(0, Some(10), 10).finish(standing(10, &received, &[100.0; 10]), 1);
        let spread = series.error_spread;
        let all = [spread.least_ns, spread.p10_ns, spread.p50_ns, spread.p90_ns, spread.most_ns];
        assert_eq!(all.map(|numbers| numbers[0]), [10, 10, 50, 90, 100]);
    }
}
