//! Limits of CPU time on groups (papers/groups.md, R7 to R10), under every selection: what the slices say, without the engine's
//! or the machine's own count.

use crate::model;
use divvy_policy::{CpuLimit, Weight};
use divvy_tests::cases::for_all;
use divvy_tests::record::{Record, run};
use divvy_tests::specs::selections;
use divvy_tests::workloads::{Kinds, MS, workloads};
use divvy_workload::{Group, Workload};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

fn limit() -> impl Strategy<Value = CpuLimit> {
    let period = prop::sample::select(vec![5 * MS, 20 * MS, 100 * MS]);
    (period, 1..250_u64, prop::sample::select(vec![0, 0, 50, 100])).prop_map(
        |(period_ns, percent, burst_percent)| {
            let quota_ns = (period_ns * percent / 100).max(MS);
            CpuLimit { quota_ns, period_ns, burst_ns: quota_ns * burst_percent / 100 }
        },
    )
}

/// Whether a group is another one, or is in it
fn is_within(groups: &[Group], group: usize, outer: usize) -> bool {
    std::iter::successors(Some(group), |&at| groups[at].parent).any(|at| at == outer)
}

/// The service of a group in each of its periods
fn by_period(workload: &Workload, record: &Record, group: usize, period_ns: u64) -> Vec<u64> {
    let owners = model::owner_of_rows(workload);
    let is_inside = |row: usize| owners[row].group.is_some_and(|own| is_within(&workload.groups, own, group));
    let mut periods = Vec::new();
    for slice in record.slices.iter().filter(|slice| is_inside(slice.row)) {
        let (mut from, to) = (slice.from_ns, slice.to_ns);
        while from < to {
            let at = from / period_ns;
            let end = to.min((at + 1) * period_ns);
            periods.resize(periods.len().max(at as usize + 1), 0);
            periods[at as usize] += end - from;
            from = end;
        }
    }
    periods
}

/// In each window of whole periods a group gets its quota for each of them, what it had saved up, and what slices had to overrun:
/// they begin late by the cost of switches, and end at ticks.
fn check_windows(workload: &Workload, record: &Record, spec: &str) {
    let cost = workload.switch_cost_ns + workload.migration_cost_ns;
    let overrun = u64::from(workload.cpus) * (cost + workload.tick_ns.unwrap_or(0));
    for (index, group) in workload.groups.iter().enumerate() {
        let Some(limit) = group.cpu_max else { continue };
        let periods = by_period(workload, record, index, limit.period_ns);
        for n in 1..=4 {
            for (at, window) in periods.windows(n).enumerate() {
                let most = n as u64 * limit.quota_ns + limit.burst_ns + overrun;
                let got: u64 = window.iter().sum();
                let name = &group.name;
                assert!(
                    got <= most,
                    "{spec}: {name} got {got} ns, not {most}, from period {at} on: {limit:?}"
                );
            }
        }
    }
}

/// Locks, barriers, forks, sleeps, affinity, ticks, costs: all at once, in nested groups. Nobody gets too much, and all get in the end
/// what they came for; the engine checks that no CPU idles beside a task that may run.
#[test]
fn limited_groups_keep_to_their_quotas() {
    let limits = vec(option::weighted(0.6, limit()), 5);
    for_all(
        25,
        71,
        (workloads(Kinds::All, 1..=4, 8), limits, any::<u64>()),
        |(mut workload, limits, seed)| {
            for (group, limit) in workload.groups.iter_mut().zip(limits) {
                group.cpu_max = limit;
            }
            for spec in selections().flat_map(|name| [name.to_owned(), format!("{name}+groups")]) {
                let record = run(&workload, &spec, seed);
                check_windows(&workload, &record, &spec);
                model::check_slices(&workload, &record);
                model::check_service(&workload, &record);
                model::check_demands(&workload, &record);
            }
        },
    );
}

/// The service of a group of hogs in one period if there is a CPU for each of them: what those in it get together, and no more than its
/// quota. Its limits all have that period.
fn expected(workload: &Workload, group: usize, period_ns: u64) -> u64 {
    let own =
        workload.tasks.iter().filter(|task| task.group == Some(group)).map(|task| u64::from(task.count));
    let own = own.sum::<u64>() * period_ns;
    let inner = (0..workload.groups.len()).filter(|&at| workload.groups[at].parent == Some(group));
    let all = own + inner.map(|at| expected(workload, at, period_ns)).sum::<u64>();
    workload.groups[group].cpu_max.map_or(all, |limit| all.min(limit.quota_ns))
}

/// Hogs in nested groups, a CPU for each: in each period an outermost group gets all of its quota and nothing more, whatever the policy;
/// one in it gets no more.
#[test]
fn groups_get_all_of_their_quotas() {
    let quotas = vec(option::weighted(0.7, 1..300_u64), 5);
    let hogs = vec((option::of(0..5_usize), 1..4_u32), 1..5);
    for_all(40, 72, (quotas, hogs), |(quotas, hogs)| {
        let period_ns = 50 * MS;
        let toml = hogs.iter().enumerate().map(|(i, (group, n))| {
            let names = ["a", "a/b", "c", "c/d", "c/d/e"];
            let group = group.map_or(String::new(), |at| format!("group = \"{}\"\n", names[at]));
            format!("[[task]]\nname = \"t{i}\"\ncount = {n}\n{group}program = [{{ run = \"forever\" }}]\n")
        });
        let cpus: u32 = hogs.iter().map(|(_, n)| n).sum();
        let text = format!("cpus = {cpus}\nduration = \"400ms\"\n{}", toml.collect::<String>());
        let mut workload = divvy_tests::example::workload(&text);
        for (group, quota) in workload.groups.iter_mut().zip(quotas) {
            group.cpu_max = quota.map(|percent| CpuLimit {
                quota_ns: percent * period_ns / 100 + MS,
                period_ns,
                burst_ns: 0,
            });
            group.weight = divvy_workload::WeightSetting::Units(Weight::ONE * (1 + percent_of(&group.name)));
        }
        for spec in selections() {
            let record = run(&workload, spec, 1);
            for group in 0..workload.groups.len() {
                let expected = expected(&workload, group, period_ns);
                for (at, got) in by_period(&workload, &record, group, period_ns).iter().enumerate() {
                    let (name, outer) =
                        (&workload.groups[group].name, workload.groups[group].parent.is_none());
                    let is_right = if outer { *got == expected } else { *got <= expected };
                    assert!(is_right, "{spec}: {name} in period {at}: {got}, not {expected}: {workload:?}");
                }
            }
        }
    });
}

fn percent_of(name: &str) -> u64 {
    name.len() as u64 % 3
}
