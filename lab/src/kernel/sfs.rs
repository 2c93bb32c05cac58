//! Surplus fair scheduling in a kernel: example 1 and figure 1, figures 4 and 5. The workloads are those of the simulation.

use divvy_results::report::Run;

use crate::error::LabError;
use crate::figures::sfs::{FIGURE_1, FIGURE_4, FIGURE_5};
use crate::kernel::case::{Case, LINUX, Values, faster, service_s, share_percent, window};
use crate::run::{S, workload};

/// Figures 4 and 5 are so many times as fast as the paper's: their quanta are 20 ms, not 200 ms.
const TIMES: u64 = 10;

/// Service of T3 less that of T1 is how much longer T1 waited: they have equal weights.
fn behind_s(run: &Run) -> f64 {
    service_s(run, "T3") - service_s(run, "T1")
}

/// From when T3 comes to the end. The small version has the policy that lets T1 starve, and SFS.
pub fn cases_1(small: bool) -> Result<Vec<Case>, LabError> {
    let all = workload("sfs-1.toml", FIGURE_1)?;
    let case = |spec: &&'static str| Case::new(spec, 1, window(&all, S, 3 * S));
    let specs: &[&str] = if small { &["sfq", "sfs"] } else { &["sfq", "sfq+feasible", "sfs", LINUX] };
    Ok(specs.iter().map(case).collect())
}

pub fn values_1(cases: &[Case], runs: &[Run]) -> Values {
    let value = |(case, run): (&Case, &Run)| {
        // A quantum is 1 ms.
        (format!("{}: T3's CPU time less T1's, 1 s to 3 s (quanta)", case.spec), behind_s(run) * 1000.0)
    };
    cases.iter().zip(runs).map(value).collect()
}

/// Periods of figure 4 in s of the paper: T3 comes at 15 s, and T2 ends at 30 s.
const PERIODS_S: [u64; 3] = [0, 15, 30];
const PERIOD_S: u64 = 15;

/// The small version has the period in which a thread starves or does not.
pub fn cases_4(small: bool) -> Result<Vec<Case>, LabError> {
    let all = workload("sfs-4.toml", FIGURE_4)?;
    let mut cases = Vec::new();
    for spec in if small { &["sfq", "sfs"][..] } else { &["sfq", "sfq+feasible", "sfs", LINUX][..] } {
        for point in PERIODS_S.into_iter().filter(|&from_s| !small || from_s == PERIOD_S) {
            let period = window(&all, point * S, (point + PERIOD_S) * S);
            cases.push(Case::new(spec, point, faster(&period, TIMES)?));
        }
    }
    Ok(cases)
}

pub fn values_4(cases: &[Case], runs: &[Run]) -> Values {
    cases.iter().zip(runs).flat_map(|(case, run)| values_of_period(case, run)).collect()
}

fn values_of_period(case: &Case, run: &Run) -> Values {
    let &Case { spec, point: from_s, .. } = case;
    let period = format!("{from_s} s to {} s", from_s + PERIOD_S);
    let (shown, among): (&[&str], &[&str]) = match from_s {
        0 => (&["T1"], &["T1", "T2"]),
        PERIOD_S => (&["T1", "T2", "T3"], &["T1", "T2", "T3"]),
        _ => (&["T1"], &["T1", "T3"]),
    };
    let share = |of: &&str| (format!("{spec}: {of}'s share, {period} (%)"), share_percent(run, of, among));
    let mut values: Values = shown.iter().map(share).collect();
    let paper_s = |seconds: f64| seconds * TIMES as f64;
    if from_s == PERIOD_S {
        let name = format!("{spec}: T3's CPU time less T1's, {period} (s)");
        values.push((name, paper_s(behind_s(run))));
    } else if from_s == 0 && spec == "sfq" {
        // By this much T1's tag is before that at which T3 starts.
        let lead_s = service_s(run, "T1") - service_s(run, "T2") / 10.0;
        values.push((format!("{spec}: T1's CPU time less a tenth of T2's, {period} (s)"), paper_s(lead_s)));
    }
    values
}

/// Figure 5, in s of the paper: the small version, and the full one.
const SHORT_THREADS_S: (u64, u64) = (30, 60);

pub fn cases_5(small: bool) -> Result<Vec<Case>, LabError> {
    let all = workload("sfs-5.toml", FIGURE_5)?;
    let (specs, to_s) = if small {
        (&["sfs:debit=off"][..], SHORT_THREADS_S.0)
    } else {
        (&["sfq:debit=off", "sfs:debit=off"][..], SHORT_THREADS_S.1)
    };
    let fast = faster(&window(&all, 0, to_s * S), TIMES)?;
    Ok(specs.iter().map(|spec| Case::new(spec, to_s, fast.clone())).collect())
}

pub fn values_5(cases: &[Case], runs: &[Run]) -> Values {
    let values_of = |(case, run): (&Case, &Run)| {
        let [t1, others] = [("T1", "T1"), ("T2 to T21", "T2-21")].map(|(who, prefix)| {
            let name = format!("{}: {who} for each s of the short threads", case.spec);
            (name, service_s(run, prefix) / service_s(run, "short"))
        });
        let lives = format!("{}: time in which a short thread lives (%)", case.spec);
        [t1, others, (lives, 100.0 * lives_ns(run, "short") / run.duration_ns as f64)]
    };
    cases.iter().zip(runs).flat_map(values_of).collect()
}

/// How long the instances of a task lived, one after the other.
fn lives_ns(run: &Run, name: &str) -> f64 {
    let own = run.tasks.iter().filter(|task| task.name == name);
    own.map(|task| task.response_ns.count as f64 * task.response_ns.mean.unwrap_or(0.0)).sum()
}
