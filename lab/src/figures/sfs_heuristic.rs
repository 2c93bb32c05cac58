//! Surplus fair scheduling, figure 3: how often the heuristic of section 3.2 runs a thread with the least surplus.
use divvy_policy::spec;
use divvy_policy::{CpuId, Machine, TaskId, Weight};
use divvy_workload::{Purpose, Stream, stream};
use rayon::prelude::*;

use crate::error::LabError;
use crate::measured::Measured;
use crate::measurements::Measurements;
use crate::run::MS;
use crate::setting::Setting;
use divvy_pages::plot::{Chart, Point};
use divvy_results::stats::t975;

/// "In a quad-processor system".
const CPUS: usize = 4;
const QUANTUM_NS: u64 = 200 * MS;
/// Threads of each queue that are looked at.
const LOOKED_AT: [u64; 7] = [1, 2, 5, 10, 20, 40, 60];
const RUNNABLE: [usize; 5] = [100, 500, 1000, 2000, 5000];
const SMALL_RUNNABLE: [usize; 2] = [100, 500];
/// Decisions between two times that all surpluses are computed; the paper says "every so often".
const UPDATE: [u64; 3] = [10, 100, 1000];
/// Weights of threads: uniform from 1 on. The paper does not give them.
const MOST_WEIGHT: u64 = 20;
/// Tags are whole ns, and rounded: surpluses that are no more apart than this (in ns of service) are equal.
const EQUAL_NS: i128 = 1000;

/// Threads as equation 4 sees them, without tags: start tag S is service over weight, as all came at once and none sleeps.
struct Threads {
    weight: Vec<u64>,
    /// When the thread was last off its CPU, in ns.
    service_ns: Vec<u64>,
    runs: Vec<bool>,
}

impl Threads {
    fn less(&self, a: usize, b: usize) -> bool {
        u128::from(self.service_ns[a]) * u128::from(self.weight[b])
            < u128::from(self.service_ns[b]) * u128::from(self.weight[a])
    }

    /// The thread with the least S: its S is v.
    fn first(&self) -> usize {
        (1..self.weight.len()).fold(0, |first, id| if self.less(id, first) { id } else { first })
    }

    /// phi (S - v), in ns.
    fn surplus_ns(&self, id: usize, first: usize) -> i128 {
        let v =
            i128::from(self.service_ns[first]) * i128::from(self.weight[id]) / i128::from(self.weight[first]);
        i128::from(self.service_ns[id]) - v
    }

    /// Whether none that waits has less surplus.
    fn is_least(&self, id: usize) -> bool {
        let first = self.first();
        let own = self.surplus_ns(id, first);
        let waiting = (0..self.weight.len()).filter(|&other| !self.runs[other]);
        waiting.into_iter().all(|other| own <= self.surplus_ns(other, first) + EQUAL_NS)
    }
}

/// Percent of decisions that are right.
fn accuracy(n: usize, k: u64, update: u64, decisions: usize, seed: u64) -> Result<f64, LabError> {
    let text = format!("sfs:k={k}:update={update}");
    let broken = |what: String| LabError::Run(format!("{text}: {what}"));
    let spec = spec::parse(&text, divvy_policy::all()).map_err(|error| broken(error.to_string()))?;
    let mut machine =
        Machine::from_spec(&spec, CPUS as u32, QUANTUM_NS).map_err(|error| broken(error.to_string()))?;
    let mut random = stream(seed, 0, n as u64, Purpose::Run);
    let weight: Vec<u64> = (0..n).map(|_| 1 + random.below(MOST_WEIGHT)).collect();
    for (id, weight) in TaskId::all().zip(&weight) {
        machine.add(id, id, weight * Weight::ONE, 0);
        machine.wake(id, true, 0);
    }
    let mut run = Running {
        machine,
        threads: Threads { weight, service_ns: vec![0; n], runs: vec![false; n] },
        on: [(None, 0); CPUS],
        now_ns: 0,
    };
    // In the first rounds all have the same tags.
    for i in 0..2 * n {
        run.decide(i % CPUS, &mut random, false);
    }
    let right = (0..decisions).filter(|i| run.decide(i % CPUS, &mut random, true)).count();
    Ok(100.0 * right as f64 / decisions as f64)
}

struct Running {
    machine: Machine,
    threads: Threads,
    /// The thread on each CPU, and its start.
    on: [(Option<TaskId>, u64); CPUS],
    now_ns: u64,
}

impl Running {
    /// A slice on a CPU ends, and another begins. Returns whether the choice is right, if it is checked.
    fn decide(&mut self, cpu: usize, random: &mut Stream, look: bool) -> bool {
        let (former, since_ns) = self.on[cpu];
        if let Some(former) = former {
            let thread = former.index() - 1;
            self.threads.service_ns[thread] += self.now_ns - since_ns;
            self.threads.runs[thread] = false;
        }
        let chosen = self.machine.dispatch(CpuId::at(cpu), self.now_ns).map(|decision| decision.task);
        let right = look && chosen.is_some_and(|chosen| self.threads.is_least(chosen.index() - 1));
        if let Some(former) = former.filter(|_| chosen != former) {
            self.machine.requeue(former, self.now_ns - since_ns, self.now_ns);
        }
        if let Some(chosen) = chosen {
            if former != Some(chosen) {
                self.machine.running(chosen, self.now_ns);
            }
            self.threads.runs[chosen.index() - 1] = true;
        }
        self.on[cpu] = (chosen, self.now_ns);
        // Some turns end early, so that tags differ.
        self.now_ns += QUANTUM_NS / 4 - random.below(QUANTUM_NS / 5);
        right
    }
}

/// Percent of so many decisions, with Wilson's interval, which is not empty at 0 and 100 %.
fn proportion(percent: f64, decisions: usize) -> Measured {
    let (p, n, z) = (percent / 100.0, decisions as f64, t975(0x7fff_ffff));
    let center = (p + z * z / (2.0 * n)) / (1.0 + z * z / n);
    let half = z * (p * (1.0 - p) / n + z * z / (4.0 * n * n)).sqrt() / (1.0 + z * z / n);
    Measured::between(percent, 100.0 * (center - half), (100.0 * (center + half)).min(100.0))
}

/// Section 3.2: 20 of each queue are enough, however many threads are runnable.
pub fn figure_3(setting: &Setting) -> Result<Measurements, LabError> {
    let (runnable, decisions): (&[usize], usize) =
        if setting.small { (&SMALL_RUNNABLE, 500) } else { (&RUNNABLE, 4000) };
    let mut cases = Vec::new();
    for update in UPDATE {
        cases.extend(runnable.iter().flat_map(|&n| LOOKED_AT.map(|k| (update, n, k))));
    }
    setting.progress.begin(Some(cases.len() as u64));
    let one = |&(update, n, k): &(u64, usize, u64)| {
        let percent = accuracy(n, k, update, decisions, setting.seed);
        setting.progress.advance(1);
        percent
    };
    let percents = cases.par_iter().map(one).collect::<Result<Vec<f64>, _>>()?;
    let mut found = Measurements::default();
    for (&(update, n, k), percent) in cases.iter().zip(&percents) {
        let name = format!("update {update}, {n} runnable, k = {k}: right (%)");
        found.is(name, proportion(*percent, decisions));
    }
    for update in UPDATE {
        let of_20 = cases.iter().zip(&percents).filter(|((u, _, k), _)| *u == update && *k == 20);
        let least = of_20.map(|(_, percent)| *percent).fold(100.0, f64::min);
        let name = format!("update {update}, k = 20: right, least over runnable (%)");
        found.is(name, proportion(least, decisions));
        let title = format!("SFS, Figure 3: surpluses computed every {update} decisions");
        let mut chart = Chart::lines(
            &format!("sfs-3-update-{update}"),
            &title,
            "threads of each queue that are looked at",
            "least surplus found (%)",
        );
        for &n in runnable {
            let own = cases.iter().zip(&percents).filter(|((u, m, _), _)| *u == update && *m == n);
            let points: Vec<Point> =
                own.map(|((_, _, k), percent)| proportion(*percent, decisions).at(*k as f64)).collect();
            chart.add_measured(format!("{n} runnable"), &points);
        }
        found.plots.push(chart.draw());
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Published: 8 of 10 are 49.0 to 94.3 %; of 10 of 10 the lower end is 72.2 %.
    #[test]
    fn intervals_of_proportions() {
        let of = |percent| proportion(percent, 10).range().expect("a number");
        let (low, high) = of(80.0);
        assert!((low - 49.0).abs() < 0.05 && (high - 94.3).abs() < 0.05, "{low} {high}");
        let (low, high) = of(100.0);
        assert!((low - 72.2).abs() < 0.05 && high == 100.0, "{low} {high}");
    }
}
