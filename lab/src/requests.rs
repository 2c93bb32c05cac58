//! Closed workloads: users think, send a request, and wait for its end. How long requests take, over repetitions in
//! which every policy sees the same thoughts and sizes.
//!
//! Tasks `user..` send requests: their jobs are the requests. Tasks `serve..` work for the user of the same number; what
//! they receive until the request ends is part of its size.

use divvy_results::stats::{ConfidenceInterval, interval95};
use divvy_workload::Workload;
use rayon::prelude::*;

use crate::error::LabError;
use crate::run::{self, S, seconds};
use crate::setting::Setting;

/// A finished request.
#[derive(Clone, Copy, Debug)]
pub struct WebRequest {
    /// From the request to its end, in s.
    pub response_s: f64,
    /// CPU time that it took, in s.
    pub size_s: f64,
}

/// Requests of a policy, by repetition.
pub struct Requests {
    /// As in a policy's spec.
    pub spec: String,
    reps: Vec<Vec<WebRequest>>,
}

/// Responses that are counted: requests sent before this much of the end is left.
const RAMP_DOWN_NS: u64 = 100 * S;

/// Runs a workload under each policy so many times, on all cores.
pub fn run(
    workload: &Workload,
    specs: &[String],
    reps: u32,
    setting: &Setting,
) -> Result<Vec<Requests>, LabError> {
    let jobs: Vec<(&String, u32)> =
        specs.iter().flat_map(|spec| (0..reps).map(move |rep| (spec, rep))).collect();
    setting.progress.begin(Some(jobs.len() as u64));
    let one = |&(spec, rep): &(&String, u32)| {
        let requests = requests(workload, spec, setting.seed, rep);
        setting.progress.advance(1);
        requests
    };
    let all = jobs.par_iter().map(one).collect::<Result<Vec<_>, _>>()?;
    let mut all = all.into_iter();
    let of =
        |spec: &String| Requests { spec: spec.clone(), reps: all.by_ref().take(reps as usize).collect() };
    Ok(specs.iter().map(of).collect())
}

/// The number in a row's name, as in `user/3` and `serve 3`.
fn number(name: &str) -> usize {
    name.trim_start_matches(|c: char| !c.is_ascii_digit()).parse().unwrap_or(0)
}

fn requests(workload: &Workload, spec: &str, seed: u64, rep: u32) -> Result<Vec<WebRequest>, LabError> {
    let jobs = run::jobs(workload, spec, seed, rep)?;
    let most = jobs.names.iter().map(|name| number(name)).max().unwrap_or(0);
    let mut served_ns = vec![0; most + 1];
    let last = workload.duration_ns.unwrap_or(0).saturating_sub(RAMP_DOWN_NS);
    let mut requests = Vec::new();
    for job in &jobs.done {
        let name = &jobs.names[job.row];
        let served = &mut served_ns[number(name)];
        *served += job.service_ns;
        if name.starts_with("user") {
            let size_s = seconds(std::mem::take(served));
            if job.from_ns >= workload.warmup_ns && job.from_ns <= last {
                requests.push(WebRequest { response_s: seconds(job.to_ns - job.from_ns), size_s });
            }
        }
    }
    if requests.is_empty() {
        return Err(LabError::Run(format!("{} under {spec}: no request ends", workload.name)));
    }
    Ok(requests)
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (mut sum, mut n) = (0.0, 0.0);
    for value in values {
        sum += value;
        n += 1.0;
    }
    sum / n
}

fn interval(values: Vec<f64>) -> ConfidenceInterval {
    let alone = ConfidenceInterval { mean: values[0], half_width: f64::INFINITY };
    interval95(&values).unwrap_or(alone)
}

impl Requests {
    /// Mean size of a request, in s, over all repetitions.
    pub fn mean_size_s(&self) -> f64 {
        mean(self.reps.iter().flatten().map(|request| request.size_s))
    }

    /// Mean size of a request, in s: of each repetition, and their mean's interval.
    pub fn size_s(&self) -> ConfidenceInterval {
        interval(self.reps.iter().map(|rep| mean(rep.iter().map(|request| request.size_s))).collect())
    }

    /// Mean response of requests up to this size, in s: of each repetition, and their mean's interval.
    pub fn response_s(&self, most_size_s: f64) -> ConfidenceInterval {
        interval(self.means(most_size_s))
    }

    fn means(&self, most_size_s: f64) -> Vec<f64> {
        let counted = |rep: &Vec<WebRequest>| {
            mean(rep.iter().filter(|r| r.size_s <= most_size_s).map(|r| r.response_s))
        };
        self.reps.iter().map(counted).collect()
    }

    /// Standard deviation of the responses of a repetition, in s.
    pub fn deviation_s(&self) -> ConfidenceInterval {
        let deviation = |rep: &Vec<WebRequest>| {
            let center = mean(rep.iter().map(|r| r.response_s));
            mean(rep.iter().map(|r| (r.response_s - center).powi(2))).sqrt()
        };
        interval(self.reps.iter().map(deviation).collect())
    }

    /// How much less than another's the mean is by which responses exceed `base_s`, in percent: of repetitions with the
    /// same numbers each, so that what they have in common does not widen the interval.
    pub fn less_than(&self, other: &Requests, base_s: f64, most_size_s: f64) -> ConfidenceInterval {
        let pairs = self.means(most_size_s).into_iter().zip(other.means(most_size_s));
        interval(pairs.map(|(own, other)| 100.0 * (1.0 - (own - base_s) / (other - base_s))).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(reps: &[&[(f64, f64)]]) -> Requests {
        let request = |&(response_s, size_s): &(f64, f64)| WebRequest { response_s, size_s };
        let reps = reps.iter().map(|rep| rep.iter().map(request).collect()).collect();
        Requests { spec: String::new(), reps }
    }

    /// By hand.
    #[test]
    fn reductions_are_paired() {
        let own = of(&[&[(4.0, 1.0), (6.0, 3.0)], &[(5.0, 1.0), (7.0, 3.0)]]);
        let other = of(&[&[(7.0, 1.0), (9.0, 3.0)], &[(9.0, 1.0), (11.0, 3.0)]]);
        // Beyond 2 s: 3 instead of 6, 4 instead of 8.
        let less = own.less_than(&other, 2.0, f64::INFINITY);
        assert!((less.mean - 50.0).abs() < 1e-9 && less.half_width < 1e-9, "{less:?}");
        assert_eq!(own.response_s(2.0).mean, 4.5);
        assert_eq!(own.deviation_s(), ConfidenceInterval { mean: 1.0, half_width: 0.0 });
        assert_eq!(own.mean_size_s(), 2.0);
    }

    #[test]
    fn rows_have_numbers() {
        assert_eq!(["user/3", "serve 12", "user"].map(number), [3, 12, 0]);
    }
}
