//! Priority-based blind scheduling in a kernel, figure 7: eight users who think and compute, as real threads, with alpha by beta beside round-robin and
//! the kernel's own scheduler.

use divvy_results::report::Run;
use divvy_workload::{Arrivals, Dist, Step, Workload};

use crate::error::LabError;
use crate::figures::pbs_users::FIGURE_7;
use crate::kernel::case::{Case, LINUX, TICK_NS, Values, faster, to_nearest_tick, window};
use crate::run::{MS, S, workload};

/// The figure is so many times as fast as the paper's: tasks take 30 ms, and not 3 s. PBS does not mind (section 2: stretching time changes no decision).
const TIMES: u64 = 100;
/// A turn that begins at a tick, or soon after, lasts until the next: 100 ms of the paper.
const QUANTUM_NS: u64 = TICK_NS * 9 / 10;
/// A switch, in the simulation: that of sfs with 8 processes, as SFS's Table 1 counts it in the virtual machine. Under linux it is 4.5 us.
const SWITCH_NS: u64 = 6000;
/// When responses begin to count, and the end, in s of the paper.
const WATCHED_S: (u64, u64) = (100, 1300);
/// The end of the small version
const SMALL_END_S: u64 = 600;
/// A task takes so long without others, in s of the paper: the rest of its response is additional delay.
const TASK_S: f64 = 3.0;
/// It is in so many segments, and waits for the disk for so long in all.
const SEGMENTS: f64 = 6.0;
const DISK_S: f64 = 0.05;
/// A user's process begins with this, so all are equally old. A task that begins with its first request is younger than others by thoughts.
const BEGINNING_NS: u64 = MS / 100;
const RR: &str = "rr";

/// Beta, alpha, and the policy with them: a small alpha (the figure's sweep begins at 0.05), one that the text calls small, and the greatest.
const POLICIES: [(&str, &str, &str); 9] = [
    ("inf", "0.1", "pbs:alpha=0.1:beta=inf"),
    ("inf", "0.4", "pbs:alpha=0.4:beta=inf"),
    ("inf", "4", "pbs:alpha=4:beta=inf"),
    ("-3", "0.1", "pbs:alpha=0.1:beta=-3"),
    ("-3", "0.4", "pbs:alpha=0.4:beta=-3"),
    ("-3", "4", "pbs:alpha=4:beta=-3"),
    ("0", "0.1", "pbs:alpha=0.1:beta=0"),
    ("0", "0.4", "pbs:alpha=0.4:beta=0"),
    ("0", "4", "pbs:alpha=4:beta=0"),
];
const SMALL_ALPHA: &str = "0.1";
const GREATEST_ALPHA: &str = "4";
/// The beta for which alpha matters most
const SENSITIVE: &str = "-3";

/// The small version has both ends of alpha for one beta. The paper's Linux, `o1`, is only simulated: its constants are times, and these tasks are
/// a hundred times as short.
pub fn cases_7(small: bool) -> Result<Vec<Case>, LabError> {
    let all = workload("pbs-7.toml", FIGURE_7)?;
    let end_s = if small { SMALL_END_S } else { WATCHED_S.1 };
    let fast = faster(&window(&all, WATCHED_S.0 * S, end_s * S), TIMES)?;
    let users = Workload {
        quantum_ns: QUANTUM_NS,
        tick_ns: Some(TICK_NS),
        switch_cost_ns: SWITCH_NS,
        ..as_processes(fast)
    };
    let simulated_quantum_ns = Some(to_nearest_tick(QUANTUM_NS));
    let case = |spec| Case { simulated_quantum_ns, ..Case::new(spec, 1, users.clone()) };
    let is_played = |(beta, alpha, _): &&(&str, &str, &str)| {
        !small || *beta == SENSITIVE && [SMALL_ALPHA, GREATEST_ALPHA].contains(alpha)
    };
    let policies = POLICIES.iter().filter(is_played).map(|(.., spec)| *spec);
    let others = if small { &[][..] } else { &[RR, LINUX][..] };
    Ok(policies.chain(others.iter().copied()).map(case).collect())
}

/// A user is a process that begins, and then thinks and works again and again.
fn as_processes(mut users: Workload) -> Workload {
    for task in &mut users.tasks {
        let Arrivals::Closed { think } = task.arrivals.clone() else { continue };
        let mut body = vec![Step::Sleep(think)];
        body.append(&mut task.program);
        task.program = vec![Step::Run(Dist::Constant(BEGINNING_NS)), Step::Loop { times: None, body }];
        task.arrivals = Arrivals::Once;
    }
    users
}

pub fn values_7(cases: &[Case], runs: &[Run]) -> Values {
    let response_s = |spec: &str| {
        let found = cases.iter().zip(runs).find(|(case, _)| case.spec == spec);
        // A job is a segment.
        let of_task = |ns: f64| SEGMENTS * ns * TIMES as f64 / S as f64 + DISK_S;
        found.map(|(_, run)| run.response_ns.mean.map_or(f64::NAN, of_task))
    };
    let mut values = Values::new();
    for (name, spec) in labels() {
        values.extend(response_s(spec).map(|own_s| (format!("{name}: mean response (s)"), own_s)));
    }
    for (name, spec) in labels().filter(|(_, spec)| *spec != RR) {
        let less = response_s(spec)
            .zip(response_s(RR))
            .map(|(own_s, than_s)| 100.0 * (1.0 - (own_s - TASK_S) / (than_s - TASK_S)));
        values.extend(less.map(|less| (format!("{name}: additional delay less than rr's by (%)"), less)));
    }
    let growth = |beta: &str| {
        let at = |alpha: &str| response_s(policy(beta, alpha));
        at(GREATEST_ALPHA).zip(at(SMALL_ALPHA)).map(|(great_s, least_s)| 100.0 * (great_s / least_s - 1.0))
    };
    for beta in ["inf", SENSITIVE, "0"] {
        let name = format!("beta {beta}: response at alpha 4 beyond that at alpha 0.1 (%)");
        values.extend(growth(beta).map(|growth| (name, growth)));
    }
    values
}

/// The beginnings of names of values, and the policies.
fn labels() -> impl Iterator<Item = (String, &'static str)> {
    let pbs = POLICIES.iter().map(|(beta, alpha, spec)| (format!("beta {beta}, alpha {alpha}"), *spec));
    pbs.chain([RR, LINUX].map(|spec| (spec.to_owned(), spec)))
}

fn policy(beta: &str, alpha: &str) -> &'static str {
    POLICIES.iter().find(|policy| (policy.0, policy.1) == (beta, alpha)).map_or("", |policy| policy.2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_workload_is_a_hundred_times_as_fast() {
        let cases = cases_7(false).expect("cases");
        assert_eq!(cases.len(), 11);
        let workload = &cases[0].workload;
        assert_eq!((workload.warmup_ns, workload.duration_ns), (S, Some(13 * S)));
        assert!(workload.to_toml().contains("{ sleep = { exp = \"250ms\" } }"), "{}", workload.to_toml());
        assert!(workload.to_toml().contains("run = \"5ms\""), "{}", workload.to_toml());
        assert_eq!(workload.tick_ns, Some(MS), "a turn ends at a tick, as in the kernel");
    }
}
