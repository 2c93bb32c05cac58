//! Priority-based blind scheduling in a kernel: figure 4, which is figure 2 with real threads on one CPU, quanta of 4 ms, and parameters
//! that are set while the policy is loaded.

use divvy_results::report::Run;

use crate::error::LabError;
use crate::figures::pbs::FIGURE_2;
use crate::kernel::case::{Case, Values, share_percent, window};
use crate::run::{MS, S, workload};

const QUANTUM_NS: u64 = 4 * MS;
/// In s: three tasks run in the first, four in the second, or those of them that have not ended.
const WINDOWS_S: [(u64, u64); 2] = [(3, 5), (5, 7)];
const SPECS: [&str; 5] = ["pbs:alpha=0.01", "pbs:alpha=0.4", "pbs:alpha=1", "pbs:alpha=2", "pbs:alpha=100"];
/// The bonus of section 5.1 against switches, beside the policy that has none.
const BONUS: (&str, &str) = ("pbs:alpha=2", "pbs:alpha=2:gamma=0.07");

/// The small version has the bonus, and the policy without it.
pub fn cases_4(small: bool) -> Result<Vec<Case>, LabError> {
    let all = workload("pbs-2.toml", FIGURE_2)?;
    let of = |spec, (from_s, to_s): (u64, u64)| {
        let workload =
            divvy_workload::Workload { quantum_ns: QUANTUM_NS, ..window(&all, from_s * S, to_s * S) };
        Case { is_set_while_loaded: true, ..Case::new(spec, from_s, workload) }
    };
    let specs = if small { vec![BONUS.0] } else { SPECS.to_vec() };
    let windows = if small { &WINDOWS_S[1..] } else { &WINDOWS_S[..] };
    let mut cases: Vec<Case> =
        specs.iter().flat_map(|spec| windows.iter().map(|window| of(spec, *window))).collect();
    cases.push(of(BONUS.1, WINDOWS_S[1]));
    Ok(cases)
}

pub fn values_4(cases: &[Case], runs: &[Run]) -> Values {
    let all = || cases.iter().zip(runs);
    let mut values: Values = all().flat_map(|(case, run)| shares(case, run)).collect();
    let (without, with) = BONUS;
    let switches = [with, without].map(|spec| {
        let found = all().find(|(case, _)| case.spec == spec && case.point == WINDOWS_S[1].0);
        found.map_or(f64::NAN, |(_, run)| run.switches as f64)
    });
    let period = period(WINDOWS_S[1].0);
    let of = |spec| format!("{}: switches, {period}", words(spec));
    values.push((format!("{} (of those with gamma 0)", of(with)), switches[0] / switches[1]));
    values.extend([(of(with), switches[0]), (of(without), switches[1])]);
    values
}

/// The shares of the tasks that have begun by the end of the window.
fn shares(case: &Case, run: &Run) -> Values {
    let tasks = if case.point == WINDOWS_S[0].0 { 3 } else { 4 };
    let names: Vec<String> = (1..=tasks).map(|task| format!("task {task}")).collect();
    let among: Vec<&str> = names.iter().map(String::as_str).collect();
    let share = |name: &&str| {
        let what = format!("{}: {name}'s share, {} (%)", words(case.spec), period(case.point));
        (what, share_percent(run, name, &among))
    };
    among.iter().map(share).collect()
}

fn period(from_s: u64) -> String {
    format!("{from_s} s to {} s", from_s + 2)
}

/// `alpha 2, gamma 0.07`
fn words(spec: &str) -> String {
    let settings: Vec<String> = spec.split(':').skip(1).map(|setting| setting.replace('=', " ")).collect();
    settings.join(", ")
}
