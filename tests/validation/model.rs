//! Workloads whose mean response time is known, and the comparison with it.

use divvy_policy::Kind;
use divvy_policy::spec::parse;
use divvy_results::report::Quantiles;
use divvy_sim::run::{Options, Rows, simulate_rows};
use divvy_workload::Workload;

/// Mean job size of all models here.
pub const MEAN_MS: f64 = 10.0;

/// Greatest distance from the exact value, in half-widths of the run's 95 % interval: 3.1 standard deviations.
pub const FAR: f64 = 1.6;

/// Open arrivals of one class, or closed ones: what to write in TOML.
pub struct Model {
    pub cpus: u32,
    pub quantum: &'static str,
    /// The `[[task]]` tables.
    pub tasks: String,
    pub duration_s: f64,
}

impl Model {
    /// Poisson arrivals at this load of each CPU, jobs of this size (of mean 10 ms), about so many of them.
    pub fn open(cpus: u32, load: f64, size: &str, quantum: &'static str, jobs: f64) -> Model {
        let between_ms = MEAN_MS / (load * f64::from(cpus));
        Model {
            cpus,
            quantum,
            tasks: class("jobs", 1, between_ms, size),
            duration_s: jobs * between_ms / 1000.0,
        }
    }

    pub fn workload(&self) -> Workload {
        let toml = format!(
            "cpus = {}\nquantum = \"{}\"\nduration = \"{:.3}s\"\nwarmup = \"{:.3}s\"\n{}",
            self.cpus,
            self.quantum,
            self.duration_s,
            self.duration_s * 0.02,
            self.tasks
        );
        Workload::parse(&toml, "model.toml").unwrap_or_else(|e| panic!("{e}"))
    }

    pub fn run(&self, spec: &str, seed: u64) -> divvy_results::report::Run {
        let workload = self.workload();
        let names = workload.tasks.iter().map(|t| t.name.clone()).collect();
        let spec = parse(spec, divvy_policy::all()).expect("a known spec");
        let options = Options { seed, ..Options::default() };
        let report = simulate_rows(&workload, &[spec], &options, &Rows::Named(names), &());
        report.unwrap_or_else(|e| panic!("{e}")).runs.remove(0)
    }

    /// The responses of its only class.
    pub fn responses(&self, spec: &str, seed: u64) -> Quantiles {
        self.run(spec, seed).tasks.remove(0).response_ns
    }
}

/// A class of Poisson arrivals.
pub fn class(name: &str, weight: u32, between_ms: f64, size: &str) -> String {
    format!(
        "[[task]]\nname = \"{name}\"\nweight = {weight}\narrivals = {{ open = {{ exp = \"{}ns\" }} }}\n\
         program = [ {{ run = {size} }} ]\n",
        (between_ms * 1e6).round()
    )
}

/// The mean is near the exact one, and the interval narrow enough to tell it from the other, wrong one.
pub fn assert_mean(what: &str, got: &Quantiles, exact_ms: f64, wrong_ms: f64) {
    let (mean, half) = (got.mean.expect("jobs ended") / 1e6, got.ci95.expect("enough of them") / 1e6);
    let off = (mean - exact_ms).abs() / half;
    let told = format!("{what}: {mean:.3} +- {half:.3} ms of {} jobs, exact {exact_ms:.3} ms", got.count);
    println!("{told}, {off:.2} half-widths off");
    assert!(off <= FAR, "{told}");
    assert!(half <= 0.06 * exact_ms, "{told}: the interval is wide");
    assert!((mean - wrong_ms).abs() > FAR * half, "{told}: cannot be told from {wrong_ms:.3} ms");
}

/// The selections that do not know how long jobs will run.
pub fn selections() -> impl Iterator<Item = &'static str> {
    divvy_policy::all().iter().filter(|p| p.kind == Kind::Selection && !p.is_clairvoyant).map(|p| p.name)
}

pub const EXP: &str = "{ exp = \"10ms\" }";
pub const H2: &str = "{ hyper = { mean = \"10ms\", scv = 4 } }";
pub const CONSTANT: &str = "\"10ms\"";
pub const ERLANG: &str = "{ erlang = { k = 4, mean = \"10ms\" } }";
/// A fiftieth of the mean size: nearly the limit of quanta of 0.
pub const TINY: &str = "200us";
