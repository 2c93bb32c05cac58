//! PBS, figures 7 to 9: users who think and wait, alpha by beta, beside round-robin and the schedulers of kernels.
//!
//! Figure 7 is the paper's own model. It says less of the others: what is assumed is in the functions that write their
//! workloads.

use std::fmt::Write as _;

use divvy_results::stats::ConfidenceInterval;
use divvy_workload::Workload;

use crate::error::LabError;
use crate::measured::{Measured, difference, ratio};
use crate::measurements::Measurements;
use crate::requests::{self, Requests};
use crate::run::{self, missing};
use crate::setting::Setting;
use divvy_pages::plot::Chart;

pub(crate) const FIGURE_7: &str = include_str!("../../workloads/pbs-7.toml");

const ALPHAS: [f64; 12] = [0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 4.0];
const SMALL_ALPHAS: [f64; 3] = [0.2, 1.0, 4.0];
const BETAS: [&str; 3] = ["inf", "-3", "0"];
/// Round-robin, and what kernels have had: the paper's Linux 2.6.15 has o1. As Linux hands out turns they have their own.
const OTHERS: [&str; 4] = ["rr", "o1", "cfs", "eevdf"];
const REPS: u32 = 30;
const SMALL_REPS: u32 = 2;
const ANY: f64 = f64::INFINITY;

/// All alphas under all betas, and the others.
struct Sweep {
    alphas: Vec<f64>,
    /// By beta, then alpha; then the others.
    all: Vec<Requests>,
}

fn spec(alpha: f64, beta: &str) -> String {
    format!("pbs:alpha={alpha}:beta={beta}")
}

impl Sweep {
    fn run(workload: &Workload, setting: &Setting) -> Result<Sweep, LabError> {
        let alphas = if setting.small { SMALL_ALPHAS.to_vec() } else { ALPHAS.to_vec() };
        let reps = if setting.small { SMALL_REPS } else { REPS };
        let mut specs: Vec<String> =
            BETAS.iter().flat_map(|beta| alphas.iter().map(|&alpha| spec(alpha, beta))).collect();
        specs.extend(OTHERS.iter().filter(|spec| missing(spec).is_none()).map(|spec| (*spec).to_owned()));
        let all = requests::run(workload, &specs, reps, setting)?;
        Ok(Sweep { alphas, all })
    }

    fn of(&self, spec: &str) -> Result<&Requests, LabError> {
        let found = self.all.iter().find(|requests| requests.spec == spec);
        found.ok_or_else(|| LabError::Run(format!("{spec} was not run")))
    }

    fn others(&self) -> impl Iterator<Item = &Requests> {
        self.all.iter().filter(|requests| !requests.spec.starts_with("pbs:"))
    }

    /// The least and greatest value of the policies with this beta and an alpha in the range.
    fn extremes(
        &self,
        beta: &str,
        alphas: std::ops::RangeInclusive<f64>,
        of: impl Fn(&Requests) -> ConfidenceInterval,
    ) -> Result<(ConfidenceInterval, ConfidenceInterval), LabError> {
        let within = self.alphas.iter().filter(|alpha| alphas.contains(alpha));
        let all = within.map(|&alpha| Ok(of(self.of(&spec(alpha, beta))?))).collect::<Result<Vec<_>, _>>()?;
        let by_mean = |a: &&ConfidenceInterval, b: &&ConfidenceInterval| a.mean.total_cmp(&b.mean);
        let none = || LabError::Run("no alpha is in the range".to_owned());
        let least = all.iter().min_by(by_mean).ok_or_else(none)?;
        Ok((*least, *all.iter().max_by(by_mean).ok_or_else(none)?))
    }

    /// Least and greatest as two claims, with the intervals beside them.
    fn claim(
        &self,
        found: &mut Measurements,
        name: &str,
        beta: &str,
        alphas: std::ops::RangeInclusive<f64>,
        of: impl Fn(&Requests) -> ConfidenceInterval,
    ) -> Result<(), LabError> {
        let (least, greatest) = self.extremes(beta, alphas, of)?;
        for (which, interval) in [("least", least), ("greatest", greatest)] {
            found.is(format!("{name}, {which} over alpha"), interval);
        }
        Ok(())
    }

    /// Mean responses over alpha, a curve for each beta, a line for each of the others.
    fn plot(
        &self,
        name: &str,
        title: &str,
        y: &str,
        of: impl Fn(&Requests) -> ConfidenceInterval,
    ) -> Result<Chart, LabError> {
        let mut chart = Chart::lines(name, title, "alpha", y);
        for beta in BETAS {
            let point = |&alpha: &f64| Ok(Measured::from(of(self.of(&spec(alpha, beta))?)).at(alpha));
            let points = self.alphas.iter().map(point).collect::<Result<Vec<_>, LabError>>()?;
            chart.add_measured(format!("beta {beta}"), &points);
        }
        let ends = [self.alphas[0], self.alphas[self.alphas.len() - 1]];
        for other in self.others() {
            chart.add_measured(&other.spec, &ends.map(|alpha| Measured::from(of(other)).at(alpha)));
        }
        Ok(chart)
    }

    /// The whole sweep, for those who want to see more than what is claimed.
    fn list(&self, found: &mut Measurements, most_size_s: f64, what: &str) {
        for requests in &self.all {
            found.is(format!("{}: {what} (s)", requests.spec), requests.response_s(most_size_s));
            found.is(format!("{}: {what}, standard deviation (s)", requests.spec), requests.deviation_s());
        }
    }
}

/// Baselines: the paper compares with Linux 2.6.15, which `o1` is; newer ones of this build are added.
const NATIVE: [&str; 4] = OTHERS;

/// Section 4.2.1. A task takes 3 s and 50 ms for the disk; what a response has beyond 3 s is additional delay.
pub fn figure_7(setting: &Setting) -> Result<Measurements, LabError> {
    const TASK_S: f64 = 3.0;
    let workload = run::workload("pbs-7.toml", FIGURE_7)?;
    let sweep = Sweep::run(&workload, setting)?;
    let mut found = Measurements::default();
    for other in NATIVE.iter().filter(|other| missing(other).is_none()) {
        let other = sweep.of(other)?;
        let less = |own: &Requests| own.less_than(other, TASK_S, ANY);
        let than = &other.spec;
        let mut claim = |text: &str, beta: &str, alphas| {
            let name = format!("{text}: additional delay less than {than}'s by (%)");
            sweep.claim(&mut found, &name, beta, alphas, less)
        };
        claim("beta inf", "inf", 0.0..=ANY)?;
        claim("beta -3, alpha < 0.5", "-3", 0.0..=0.49)?;
        claim("beta 0, alpha < 1", "0", 0.0..=0.99)?;
    }
    for other in sweep.others() {
        found.is(format!("{}: standard deviation of a response (s)", other.spec), other.deviation_s());
    }
    for beta in BETAS {
        let name = format!("beta {beta}: standard deviation of a response (s)");
        sweep.claim(&mut found, &name, beta, 0.0..=ANY, Requests::deviation_s)?;
    }
    let best = sweep.extremes("-3", 0.0..=0.4, |own| own.response_s(ANY))?.0;
    found.is("beta -3, alpha <= 0.4: least mean response (s)", best);
    let spread = |beta: &str| -> Result<ConfidenceInterval, LabError> {
        let (least, greatest) = sweep.extremes(beta, 0.0..=ANY, |own| own.response_s(ANY))?;
        Ok(difference(greatest, least))
    };
    let (inf, zero) = (spread("inf")?, spread("0")?);
    let others = if inf.mean > zero.mean { inf } else { zero };
    found.is(
        "beta -3: range of mean responses over alpha, for each s of the next beta's",
        ratio(spread("-3")?, others),
    );
    sweep.list(&mut found, ANY, "mean response");
    let title = "PBS, Figure 7: eight users, tasks of 3 s";
    let mean = |own: &Requests| own.response_s(ANY);
    found.plots.push(sweep.plot("pbs-7", title, "mean response time (s)", mean)?.draw());
    let title = "PBS, Figure 7: eight users, deviations";
    let y = "standard deviation (s)";
    found.plots.push(sweep.plot("pbs-7-deviation", title, y, Requests::deviation_s)?.draw());
    Ok(found)
}

/// Clients of figures 8 and 9.
pub(crate) const CLIENTS: u32 = 30;

/// Group B, so many times as fast as the paper's: each request is a process that reads the file, then works in proportion to its size (CGI). Sizes are Pareto
/// of shape 1.2, up to 1000 times the least; the least takes 50 ms, so the CPU is busy for about 2/3 of the time. The
/// paper gives neither the speed nor the largest file. The last are CPU times: the server's before it has made the process, the process's before it
/// reads, and the server's from its end on, where it has any.
pub(crate) fn web_tasks(times: u64, [before_us, program_us, after_us]: [u64; 3]) -> String {
    let us = |paper_us: u64| format!("{}us", paper_us / times);
    let [think, wait, least, most] = [10_000_000, 10_000, 50_000, 50_000_000].map(us);
    let after = if after_us > 0 { format!(", {{ run = \"{after_us}us\" }}") } else { String::new() };
    let mut text = String::new();
    for i in 1..=CLIENTS {
        let _ = write!(
            text,
            "[[task]]\nname = \"user {i}\"\narrivals = {{ closed = {{ exp = \"{think}\" }} }}\n\
             program = [ {{ run = \"{before_us}us\" }}, {{ fork = \"serve {i}\" }}, {{ wait = true }}{after} ]\n\
             [[task]]\nname = \"serve {i}\"\nstart = \"fork\"\n\
             program = [ {{ run = \"{program_us}us\" }}, {{ sleep = {{ exp = \"{wait}\" }} }}, \
             {{ run = {{ bounded_pareto = {{ shape = 1.2, lo = \"{least}\", hi = \"{most}\" }} }} }}, \
             {{ wake = \"user {i}\" }} ]\n"
        );
    }
    text
}

fn web() -> String {
    "quantum = \"10ms\"\nwarmup = \"400s\"\nduration = \"1700s\"\n".to_owned()
        + &web_tasks(1, [1000, 2000, 0])
}

/// Section 4.2.2.
pub fn figure_8(setting: &Setting) -> Result<Measurements, LabError> {
    let workload = run::workload("pbs-8", &web())?;
    let sweep = Sweep::run(&workload, setting)?;
    let mut found = Measurements::default();
    let small = sweep.of("rr")?.mean_size_s();
    for beta in BETAS {
        let large = sweep.of(&spec(4.0, beta))?;
        let low = sweep.of(&spec(0.2, beta))?;
        for (what, size) in [("all", ANY), ("small", small)] {
            let less = large.less_than(low, 0.0, size);
            found.is(format!("beta {beta}, alpha 4: response of {what} less than alpha 0.2's by (%)"), less);
        }
        for other in sweep.others() {
            let all = large.less_than(other, 0.0, ANY);
            let name = format!("beta {beta}, alpha 4: response of all less than {}'s by (%)", other.spec);
            found.is(name, all);
            let name = format!("beta {beta}, alpha > 2: response of small less than {}'s by (%)", other.spec);
            sweep.claim(&mut found, &name, beta, 2.01..=ANY, |own| own.less_than(other, 0.0, small))?;
        }
    }
    let rr = sweep.of("rr")?;
    for other in sweep.others().filter(|other| other.spec != "rr") {
        for (what, size) in [("all", ANY), ("small", small)] {
            let less = other.less_than(rr, 0.0, size);
            found.is(format!("{}: response of {what} less than rr's by (%)", other.spec), less);
        }
    }
    found.is("rr: mean size of a request (s of CPU time)", rr.size_s());
    sweep.list(&mut found, ANY, "mean response of all");
    sweep.list(&mut found, small, "mean response of small");
    for (letter, what, size) in [("a", "all requests", ANY), ("b", "small requests", small)] {
        let title = format!("PBS, Figure 8({letter}): web server, {what}");
        let mean = |own: &Requests| own.response_s(size);
        found
            .plots
            .push(sweep.plot(&format!("pbs-8{letter}"), &title, "mean response time (s)", mean)?.draw());
    }
    Ok(found)
}

/// TPC-W's shopping mix, so many times as fast as the paper's, by what an interaction asks of the database: 73 % little (mean 20 ms), 22 % searches and
/// new products (150 ms), 5 % best sellers (1 s), each after an access to the disk (10 ms). The paper gives no times; proportions are those of the
/// benchmark's specification.
pub(crate) fn queries(times: u64) -> String {
    let [little, searches, best] = [20_000, 150_000, 1_000_000].map(|paper_us: u64| paper_us / times);
    format!(
        "{{ hyper = {{ p = [0.73, 0.22, 0.05], means = [\"{little}us\", \"{searches}us\", \"{best}us\"] }} }}"
    )
}

/// CPU time of the container for a page, before it asks the database and after.
pub(crate) fn page(times: u64) -> [String; 2] {
    [30_000, 50_000].map(|paper_us: u64| format!("{{ exp = \"{}us\" }}", paper_us / times))
}

/// Group C: a thread of the servlet container and one of the database for each client. The CPU is busy for about 2/3 of the time.
fn tpc_w() -> String {
    let mut text = "quantum = \"10ms\"\nwarmup = \"600s\"\nduration = \"2500s\"\n".to_owned();
    let ([before, after], queries) = (page(1), queries(1));
    for i in 1..=CLIENTS {
        let _ = write!(
            text,
            "[[task]]\nname = \"user {i}\"\narrivals = {{ closed = {{ exp = \"7s\" }} }}\n\
             program = [ {{ run = {before} }}, {{ wake = \"serve {i}\" }}, {{ wait = true }}, {{ run = {after} }} ]\n\
             [[task]]\nname = \"serve {i}\"\n\
             program = [ {{ loop = \"forever\", do = [ {{ wait = true }}, {{ sleep = {{ exp = \"10ms\" }} }}, \
             {{ run = {queries} }}, {{ wake = \"user {i}\" }} ] }} ]\n"
        );
    }
    text
}

/// Section 4.2.3.
pub fn figure_9(setting: &Setting) -> Result<Measurements, LabError> {
    let workload = run::workload("pbs-9", &tpc_w())?;
    let sweep = Sweep::run(&workload, setting)?;
    let mut found = Measurements::default();
    let rr = sweep.of("rr")?;
    for other in sweep.others().filter(|other| other.spec != "rr") {
        let less = rr.less_than(other, 0.0, ANY);
        found.is(format!("rr: response less than {}'s by (%)", other.spec), less);
    }
    for beta in BETAS {
        let large = sweep.of(&spec(4.0, beta))?;
        for other in sweep.others() {
            let less = large.less_than(other, 0.0, ANY);
            found.is(format!("beta {beta}, alpha 4: response less than {}'s by (%)", other.spec), less);
        }
        let low = sweep.of(&spec(0.2, beta))?.less_than(large, 0.0, ANY);
        let name = format!("beta {beta}, alpha 0.2: response more than alpha 4's by (%)");
        found.is(name, ConfidenceInterval { mean: -low.mean, ..low });
    }
    sweep.list(&mut found, ANY, "mean response");
    let title = "PBS, Figure 9: three tiers, 30 clients";
    let mean = |own: &Requests| own.response_s(ANY);
    found.plots.push(sweep.plot("pbs-9", title, "mean response time (s)", mean)?.draw());
    Ok(found)
}
