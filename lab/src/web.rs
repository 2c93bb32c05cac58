//! Web servers whose processes have different weights, as in section 5.2 of GR3, figures 14 to 19: what is served, by whom, and what is measured.
//! Simulation and kernel have the same servers, and both give [`Curves`].

use divvy_policy::NICE_WEIGHTS;

use crate::error::LabError;
use crate::run::{self, MS, Record};

/// Turns of all processes. It is the tick of the paper's Linux.
pub const QUANTUM_NS: u64 = 10 * MS;
/// From one reading of the curves to the next.
pub const STEP_NS: u64 = 20 * MS;
/// Cycles from the first readings of a window to the last: in a cycle each process has its weight in quanta.
const CYCLES: u64 = 4;
const SMALL_CYCLES: u64 = 2;
/// The kernel's own scheduler.
const LINUX: &str = "linux";

/// The three experiments of the paper. What it shows is of the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Experiment {
    /// Six servers, one of which has processes of weight 10, and the others of weight 1.
    Heavy,
    /// Five servers, whose processes have weights 1, 2, 3, 4 and 5.
    Ladder,
    /// Five servers, each of whose processes has a random weight from 1 to 10.
    Random,
}

impl Experiment {
    /// Behind the policy in names of values.
    fn words(self) -> &'static str {
        match self {
            Experiment::Heavy => "",
            Experiment::Ladder => ", weights 1 to 5",
            Experiment::Random => ", random weights",
        }
    }
}

/// The servers of an experiment under a policy.
pub struct Site {
    /// The policy, or `linux`.
    pub spec: &'static str,
    pub experiment: Experiment,
    pub cpus: u64,
    /// Processes of each server.
    workers: usize,
    cycles: u64,
    windows: u64,
}

impl Site {
    /// Watched in so many windows, one after the other.
    pub fn new(
        spec: &'static str,
        experiment: Experiment,
        cpus: u64,
        workers: usize,
        windows: u32,
        small: bool,
    ) -> Site {
        let cycles = if small { SMALL_CYCLES } else { CYCLES };
        Site { spec, experiment, cpus, workers, cycles, windows: windows.into() }
    }

    /// Weights of the processes, server by server.
    pub fn weights(&self) -> Vec<u64> {
        let of_servers = |weights: &[u64]| weights.iter().flat_map(|&w| vec![w; self.workers]).collect();
        match self.experiment {
            Experiment::Heavy => of_servers(&[10, 1, 1, 1, 1, 1]),
            Experiment::Ladder => of_servers(&[1, 2, 3, 4, 5]),
            // The same in each run: the numbers of D. Lehmer's generator.
            Experiment::Random => std::iter::successors(Some(48271_u64), |n| Some(n * 48271 % 2_147_483_647))
                .map(|n| 1 + n % 10)
                .take(5 * self.workers)
                .collect(),
        }
    }

    pub fn servers(&self) -> usize {
        self.weights().len() / self.workers
    }

    pub fn workers(&self) -> usize {
        self.workers
    }

    /// Nice values for schedulers that know no others: "for the Linux scheduler, weights were assigned by selecting nice values appropriately". The time that a process
    /// has in an epoch of `linux24`, in ticks, is then its weight, and under `o1` in units of 10 ms. Under the kernel's own the weight is the nearest in its table.
    pub fn nices(&self) -> Option<Vec<i64>> {
        let nice: fn(i64) -> i64 = match self.spec {
            "linux24" => |weight| (24 - 4 * weight).min(19),
            "o1" => |weight| 20 - 2 * weight,
            LINUX => |weight| nearest_nice(weight),
            _ => return None,
        };
        Some(self.weights().into_iter().map(|weight| nice(weight.cast_signed())).collect())
    }

    /// The parts that the processes are to have.
    fn parts(&self) -> Vec<f64> {
        match self.nices() {
            Some(nices) if self.spec == LINUX => {
                nices.iter().map(|nice| f64::from(NICE_WEIGHTS[(nice + 20) as usize])).collect()
            }
            _ => self.weights().into_iter().map(|weight| weight as f64).collect(),
        }
    }

    fn cycle_ns(&self) -> u64 {
        self.weights().iter().sum::<u64>() * QUANTUM_NS
    }

    /// CPU time that all processes have together before they are watched. In it `linux24` forgets how long they waited before their first request: a cycle is an epoch.
    pub fn warm_up_ns(&self) -> u64 {
        let cycles = if self.cycles == SMALL_CYCLES { 1 } else { 2 };
        cycles * self.cycle_ns()
    }

    /// CPU time that all processes are to have together while they are watched.
    pub fn total_ns(&self) -> u64 {
        (self.windows * self.cycles + 1) * self.cycle_ns()
    }

    /// The servers' processes as tasks that always run.
    pub fn simulated(&self, seed: u64) -> Result<Curves, LabError> {
        let record = self.record(seed)?;
        let names: Vec<String> = (0..self.weights().len()).map(|i| format!("process {i}")).collect();
        let readings = (record.run.duration_ns / STEP_NS) as usize;
        let mut curves = Curves::of(&record, &names, readings);
        curves.begin_at(self.warm_up_ns());
        Ok(curves)
    }

    fn record(&self, seed: u64) -> Result<Record, LabError> {
        let nices = self.nices();
        let task = |(i, weight): (usize, &u64)| {
            let weight = match &nices {
                Some(nices) => format!("nice = {}", nices[i]),
                None => format!("weight = {weight}"),
            };
            format!("[[task]]\nname = \"process {i}\"\n{weight}\nprogram = [ {{ run = \"forever\" }} ]\n")
        };
        let tasks: String = self.weights().iter().enumerate().map(task).collect();
        let duration_ms = ((self.warm_up_ns() + self.total_ns()) / self.cpus + 2 * STEP_NS).div_ceil(MS);
        let text = format!(
            "cpus = {}\nquantum = \"{}ms\"\nduration = \"{duration_ms}ms\"\n{tasks}",
            self.cpus,
            QUANTUM_NS / MS
        );
        let spec = if self.spec == LINUX { "eevdf" } else { self.spec };
        run::run(&run::workload("web servers", &text)?, spec, seed, 0)
    }
}

fn nearest_nice(weight: i64) -> i64 {
    // Weight 10 is nice 0, which is 1024.
    let wanted = weight as f64 * 102.4;
    let distance = |nice: &i64| (f64::from(NICE_WEIGHTS[(*nice + 20) as usize]) - wanted).abs();
    (-20..20).min_by(|a, b| distance(a).total_cmp(&distance(b))).unwrap_or(0)
}

/// CPU time of each process, read every [`STEP_NS`], in ns.
pub struct Curves {
    used_ns: Vec<Vec<u64>>,
}

impl Curves {
    /// The readings, in order.
    pub fn new(used_ns: Vec<Vec<u64>>) -> Curves {
        Curves { used_ns }
    }

    fn of(record: &Record, names: &[String], readings: usize) -> Curves {
        let place = |row: usize| names.iter().position(|name| *name == record.run.tasks[row].name);
        let places: Vec<Option<usize>> = (0..record.run.tasks.len()).map(place).collect();
        let mut ended = vec![vec![0; names.len()]; readings];
        let mut used_ns = ended.clone();
        for slice in &record.slices {
            let Some(at) = places[slice.row] else { continue };
            for reading in (slice.from_ns / STEP_NS + 1) as usize..readings {
                let now = reading as u64 * STEP_NS;
                if now >= slice.to_ns {
                    ended[reading][at] += slice.to_ns - slice.from_ns;
                    break;
                }
                used_ns[reading][at] += now - slice.from_ns;
            }
        }
        let mut before = vec![0; names.len()];
        for (used, ended) in used_ns.iter_mut().zip(&ended) {
            for ((used, ended), before) in used.iter_mut().zip(ended).zip(&mut before) {
                *before += ended;
                *used += *before;
            }
        }
        Curves { used_ns }
    }

    /// Forgets what was before all processes had so much.
    fn begin_at(&mut self, ns: u64) {
        let is_before = |used: &Vec<u64>| used.iter().sum::<u64>() < ns;
        let first = self.used_ns.iter().position(|used| !is_before(used)).unwrap_or(0);
        self.used_ns.drain(..first);
        let Some(base) = self.used_ns.first().cloned() else { return };
        for used in &mut self.used_ns {
            for (ns, base) in used.iter_mut().zip(&base) {
                *ns -= base;
            }
        }
    }

    /// The curve of one process, in s.
    pub fn of_process(&self, i: usize) -> Vec<(f64, f64)> {
        let point =
            |(at, used): (usize, &Vec<u64>)| ((at as u64 * STEP_NS) as f64 / 1e9, used[i] as f64 / 1e9);
        self.used_ns.iter().enumerate().map(point).collect()
    }

    /// From when all processes had one number of ns to when they have another.
    fn between(&self, from_ns: u64, to_ns: u64) -> &[Vec<u64>] {
        let at = |ns: u64| self.used_ns.partition_point(|used| used.iter().sum::<u64>() < ns);
        &self.used_ns[at(from_ns)..at(to_ns).max(at(from_ns))]
    }
}

/// The numbers of a site in one window.
struct Window {
    /// The CPU time of each server, in %.
    shares: Vec<f64>,
    /// The greatest service error less the least, for each process, in quanta.
    ranges: Vec<f64>,
    /// The greatest of all less the least of all, in quanta.
    overall: f64,
}

impl Window {
    fn of(site: &Site, curves: &Curves, window: u64) -> Window {
        let (from_ns, cycle_ns) = (window * site.cycles * site.cycle_ns(), site.cycle_ns());
        let to_ns = from_ns + site.cycles * cycle_ns;
        let errors = errors(site, curves.between(from_ns, to_ns));
        let least = errors.iter().map(|(least, _)| *least).fold(f64::INFINITY, f64::min);
        let greatest = errors.iter().map(|(_, greatest)| *greatest).fold(f64::NEG_INFINITY, f64::max);
        Window {
            shares: shares(site, curves, (from_ns, to_ns)),
            ranges: errors.iter().map(|(least, greatest)| greatest - least).collect(),
            overall: greatest - least,
        }
    }
}

/// From the mean of the readings of the first cycle to the mean of those of the cycle behind the last. So it does not matter where in a cycle the window begins, and
/// little whether a cycle takes as long as it is to.
fn shares(site: &Site, curves: &Curves, (from_ns, to_ns): (u64, u64)) -> Vec<f64> {
    let mean = |from_ns: u64| -> Vec<f64> {
        let readings = curves.between(from_ns, from_ns + site.cycle_ns());
        let of = |server: usize| {
            let processes = server * site.workers..(server + 1) * site.workers;
            let used: u64 = readings.iter().flat_map(|used| &used[processes.clone()]).sum();
            used as f64 / readings.len() as f64
        };
        (0..site.servers()).map(of).collect()
    };
    let used: Vec<f64> = mean(to_ns).iter().zip(mean(from_ns)).map(|(end, begin)| end - begin).collect();
    let all: f64 = used.iter().sum();
    used.iter().map(|used| 100.0 * used / all).collect()
}

/// The least and the greatest service error of each process, in quanta: what it has beyond its part of what all have had.
fn errors(site: &Site, readings: &[Vec<u64>]) -> Vec<(f64, f64)> {
    let parts = site.parts();
    let whole: f64 = parts.iter().sum();
    let mut errors = vec![(f64::INFINITY, f64::NEG_INFINITY); parts.len()];
    let Some(first) = readings.first() else { return errors };
    for used in readings {
        let since = |i: usize| (used[i] - first[i]) as f64;
        let all: f64 = (0..parts.len()).map(since).sum();
        for (i, (least, greatest)) in errors.iter_mut().enumerate() {
            let error = (since(i) - all * parts[i] / whole) / QUANTUM_NS as f64;
            (*least, *greatest) = (least.min(error), greatest.max(error));
        }
    }
    errors
}

/// Names, with their units, and values: those of one window of all sites.
pub fn values(sites: &[Site], curves: &[Curves], window: u64) -> Vec<(String, f64)> {
    let windows: Vec<(&Site, Window)> =
        sites.iter().zip(curves).map(|(site, curves)| (site, Window::of(site, curves, window))).collect();
    let mut values: Vec<(String, f64)> =
        windows.iter().flat_map(|(site, window)| values_of(site, window)).collect();
    for (site, window) in &windows {
        let same = |(other, _): &&(&Site, Window)| other.experiment == site.experiment;
        for (other, than) in windows.iter().filter(same) {
            let Site { spec, experiment, .. } = site;
            let is_compared =
                *spec == "gr3" && other.spec != "gr3" || *spec != LINUX && other.spec == "linux24";
            if !is_compared || spec == &other.spec {
                continue;
            }
            if *experiment == Experiment::Heavy {
                let name =
                    format!("{spec}: errors of a process of weight 10, for each quantum of {}'s", other.spec);
                values.push((name, heavy(site, window) / heavy(other, than)));
            }
            let name =
                format!("{spec}{}: errors of all, for each quantum of {}'s", experiment.words(), other.spec);
            values.push((name, window.overall / than.overall));
        }
    }
    values
}

/// The mean of the first server's processes, in quanta.
fn heavy(site: &Site, window: &Window) -> f64 {
    window.ranges[..site.workers].iter().sum::<f64>() / site.workers as f64
}

fn values_of(site: &Site, window: &Window) -> Vec<(String, f64)> {
    let label = format!("{}{}", site.spec, site.experiment.words());
    let mut values = Vec::new();
    let mut add = |name: &str, value: f64| values.push((format!("{label}: {name}"), value));
    if site.experiment == Experiment::Heavy {
        let others = || window.shares[1..].iter().copied();
        add("share of the server of weight 10 (%)", window.shares[0]);
        add("the least share of the others (%)", others().fold(f64::INFINITY, f64::min));
        add("the greatest share of the others (%)", others().fold(0.0, f64::max));
        add("errors of a process of weight 10 (quanta)", heavy(site, window));
    } else {
        for (i, share) in window.shares.iter().enumerate() {
            add(&format!("share of server {} (%)", i + 1), *share);
        }
    }
    add("errors of all processes (quanta)", window.overall);
    values
}

#[cfg(test)]
mod tests {
    use super::*;

    fn site(spec: &'static str, experiment: Experiment) -> Site {
        Site::new(spec, experiment, 1, 2, 1, true)
    }

    #[test]
    fn weights_are_ticks_of_linux_and_nice_values_of_its_successors() {
        assert_eq!(site("gr3", Experiment::Heavy).weights(), [10, 10, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]);
        assert_eq!(site("gr3", Experiment::Ladder).nices(), None);
        // ((20 - nice) >> 2) + 1 ticks
        let ticks = |nice: i64| ((20 - nice) >> 2) + 1;
        let nices = site("linux24", Experiment::Ladder).nices().expect("nice values");
        assert_eq!(nices.iter().map(|&nice| ticks(nice)).collect::<Vec<_>>(), [1, 1, 2, 2, 3, 3, 4, 4, 5, 5]);
        assert_eq!(nices.len(), 10);
        assert_eq!(site("o1", Experiment::Heavy).nices().expect("nice values")[1..3], [0, 18]);
        assert_eq!(site("linux", Experiment::Heavy).nices().expect("nice values")[1..3], [0, 10]);
        let random = site("gr3", Experiment::Random).weights();
        assert!(random.len() == 10 && random.iter().all(|weight| (1..=10).contains(weight)));
    }

    /// Two processes of weight 10 have ten quanta each, one after the other; then each of the ten others has one.
    #[test]
    fn curves_of_epochs_have_the_shares_of_weights_and_the_errors_of_turns() {
        let site = site("gr3", Experiment::Heavy);
        let order: Vec<usize> = [0, 1].into_iter().flat_map(|i| [i; 10]).chain(2..12).collect();
        let mut used = vec![0; 12];
        let mut readings = Vec::new();
        for turn in 0..4 * order.len() {
            if turn % 2 == 0 {
                readings.push(used.clone());
            }
            used[order[turn % order.len()]] += QUANTUM_NS;
        }
        let window = Window::of(&site, &Curves::new(readings), 0);
        assert!((window.shares[0] - 200.0 / 3.0).abs() < 0.5, "{:?}", window.shares);
        assert!((window.shares[1] - 20.0 / 3.0).abs() < 0.5, "{:?}", window.shares);
        // After ten of 30 quanta the first is 10 - 10/3 ahead.
        assert!((window.ranges[0] - 20.0 / 3.0).abs() < 0.1, "{:?}", window.ranges);
        assert!(window.ranges[2] < 1.1 && window.overall > 9.9, "{:?}, {}", window.ranges, window.overall);
    }

    /// A part of a turn counts where it is read.
    #[test]
    fn simulated_curves_are_the_slices() {
        let site = site("rr", Experiment::Ladder);
        let curves = site.simulated(1).expect("it runs");
        for used in &curves.used_ns {
            let (least, greatest) =
                (used.iter().min().expect("processes"), used.iter().max().expect("processes"));
            assert!(greatest - least <= 2 * QUANTUM_NS);
        }
        let all: Vec<u64> = curves.used_ns.iter().map(|used| used.iter().sum()).collect();
        assert!(all.windows(2).all(|pair| pair[1] - pair[0] == STEP_NS), "{all:?}");
        assert!(all.last().is_some_and(|&ns| ns >= site.total_ns() - STEP_NS), "{all:?}");
    }
}
