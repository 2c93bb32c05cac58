//! Cost of a decision: GR3, figures 12 and 13, SFS, figure 7 and table 1, and section 4.1 of the knowledge-based scheduler. Times are
//! this machine's.

use crate::cost::{Case, Clients, per_decision};
use crate::error::LabError;
use crate::measured::{Measured, Value};
use crate::measurements::Measurements;
use crate::run::missing;
use crate::setting::Setting;
use divvy_pages::plot::Chart;
use std::cmp::Ordering;

/// Costs of each case over numbers of clients, in each group of rounds.
struct Costs {
    numbers: Vec<u32>,
    of: Vec<(String, Vec<Vec<f64>>)>,
}

/// The costs of a case in each group of rounds, or the policy that is missing.
type Cost<'a> = Result<&'a [f64], Value>;

/// A function of two costs, group by group.
fn combined(a: Cost<'_>, b: Cost<'_>, of: impl Fn(f64, f64) -> f64) -> Measured {
    match (a, b) {
        (Ok(a), Ok(b)) => Measured::mean(&a.iter().zip(b).map(|(&a, &b)| of(a, b)).collect::<Vec<_>>()),
        (Err(missing), _) | (_, Err(missing)) => missing.into(),
    }
}

fn name(case: &Case) -> String {
    if case.cpus > 1 { format!("{}, {} CPUs", case.spec, case.cpus) } else { case.spec.to_owned() }
}

impl Costs {
    fn measure(
        cases: &[Case],
        numbers: &[u32],
        clients: Clients,
        setting: &Setting,
    ) -> Result<Costs, LabError> {
        let cases: Vec<Case> = cases.iter().copied().filter(|case| missing(case.spec).is_none()).collect();
        let costs = per_decision(&cases, numbers, clients, setting)?;
        Ok(Costs { numbers: numbers.to_vec(), of: cases.iter().map(name).zip(costs).collect() })
    }

    fn at(&self, case: &str, n: u32) -> Cost<'_> {
        let found = self.of.iter().find(|(name, _)| name == case);
        let (_, costs) = found.ok_or_else(|| Value::Missing(case.to_owned()))?;
        let at = self.numbers.iter().position(|&number| number == n);
        Ok(at.map_or(&[f64::NAN], |at| &costs[at]))
    }

    /// One cost for each ns of another.
    fn ratio(&self, a: (&str, u32), b: (&str, u32)) -> Measured {
        combined(self.at(a.0, a.1), self.at(b.0, b.1), |a, b| a / b)
    }

    fn show(&self, found: &mut Measurements, figure: &str, title: &str) {
        let mut chart = Chart::lines(figure, title, "clients", "cost of a decision (ns)");
        for (name, costs) in &self.of {
            let mut points = Vec::new();
            for (&n, cost) in self.numbers.iter().zip(costs) {
                let cost = Measured::mean(cost);
                points.push(cost.at(f64::from(n)));
                found.is(format!("{name}, {n} clients: cost of a decision (ns)"), cost);
            }
            chart.add_measured(name, &points);
        }
        found.plots.push(chart.draw());
    }
}

const fn on_one(spec: &'static str) -> Case {
    Case { spec, cpus: 1 }
}

/// The paper's Linux is 2.4, its later one o1 of 2.6; gr3 on two CPUs is GR3MP.
const GR3_CASES: [Case; 7] = [
    on_one("gr3"),
    Case { spec: "gr3", cpus: 2 },
    on_one("vtrr"),
    on_one("wfq"),
    on_one("linux24"),
    on_one("o1"),
    on_one("eevdf"),
];

pub fn gr3_figure_12(setting: &Setting) -> Result<Measurements, LabError> {
    let numbers: &[u32] = &[10, 50, 100, 200, 300, 400];
    let costs = Costs::measure(&GR3_CASES, numbers, Clients::Stay, setting)?;
    let mut found = Measurements::default();
    for case in ["gr3", "vtrr"] {
        found.is(
            format!("{case}: cost at 400 clients, for each ns at 10"),
            costs.ratio((case, 400), (case, 10)),
        );
    }
    let mp = "gr3, 2 CPUs";
    found.is("gr3, 2 CPUs: cost at 400 clients, for each ns at 10", costs.ratio((mp, 400), (mp, 10)));
    for other in ["vtrr", "wfq", "linux24", "o1"] {
        let name = format!("{other}: cost at 400 clients, for each ns of gr3's");
        found.is(name, costs.ratio((other, 400), ("gr3", 400)));
    }
    found.is(
        "linux24: cost at 400 clients, for each ns at 50",
        costs.ratio(("linux24", 400), ("linux24", 50)),
    );
    costs.show(&mut found, "gr3-12", "GR3, Figure 12: clients that stay");
    Ok(found)
}

/// As hackbench has them: 40 tasks in a group, 1 to 100 groups of it.
pub fn gr3_figure_13(setting: &Setting) -> Result<Measurements, LabError> {
    let numbers: &[u32] =
        if setting.small { &[40, 400, 4000] } else { &[40, 200, 400, 1000, 2000, 4000, 8000] };
    let most = numbers[numbers.len() - 1];
    let cases: Vec<Case> = GR3_CASES.into_iter().filter(|case| case.cpus == 1).collect();
    let costs = Costs::measure(&cases, numbers, Clients::ComeAndGo, setting)?;
    let stay = Costs::measure(&[on_one("gr3")], &[400], Clients::Stay, setting)?;
    let mut found = Measurements::default();
    for case in ["gr3", "vtrr", "wfq", "linux24"] {
        let name = format!("{case}: cost at most clients, for each ns at 40");
        found.is(name, costs.ratio((case, most), (case, 40)));
    }
    let name = "gr3, 400 clients: cost if they come and go, for each ns if they stay";
    found.is(name, combined(costs.at("gr3", 400), stay.at("gr3", 400), |go, stay| go / stay));
    let others = ["vtrr", "wfq", "linux24"].map(|other| costs.ratio((other, most), ("gr3", most)));
    let least =
        others.into_iter().min_by(|a, b| a.range().partial_cmp(&b.range()).unwrap_or(Ordering::Equal));
    let least = least.unwrap_or_else(|| f64::NAN.into());
    found.is("the least of the others' at most clients, for each ns of gr3's", least);
    costs.show(&mut found, "gr3-13", "GR3, Figure 13: clients that come and go");
    Ok(found)
}

/// Threads of context switches: the cost grows with their number, exactly; with the heuristic hardly.
pub fn sfs_figure_7(setting: &Setting) -> Result<Measurements, LabError> {
    let numbers: &[u32] = &[5, 10, 20, 50, 100, 400, 1000, 4000];
    let cases = [on_one("sfs"), on_one("sfs:k=20:update=10000"), on_one("linux24"), on_one("sfq")];
    let costs = Costs::measure(&cases, numbers, Clients::Stay, setting)?;
    let mut found = Measurements::default();
    for (case, most) in
        [("sfs", 50), ("sfs", 4000), ("sfs:k=20:update=10000", 4000), ("linux24", 50), ("linux24", 4000)]
    {
        found.is(
            format!("{case}: cost at {most} threads, for each ns at 5"),
            costs.ratio((case, most), (case, 5)),
        );
    }
    found.is("sfs: cost at 50 threads, for each ns of linux24's", costs.ratio(("sfs", 50), ("linux24", 50)));
    costs.show(&mut found, "sfs-7", "SFS, Figure 7: threads that stay");
    Ok(found)
}

/// As processes in lmbench's ring do: with two of them, one runs at a time, and with more, half of them.
pub fn sfs_table_1(setting: &Setting) -> Result<Measurements, LabError> {
    let numbers: &[u32] = &[2, 8, 16];
    let cases = ["sfs", "sfq", "linux24", "eevdf"].map(on_one);
    let costs = Costs::measure(&cases, numbers, Clients::ComeAndGo, setting)?;
    let mut found = Measurements::default();
    for processes in [2, 16] {
        let name = format!("sfs: cost of a decision with {processes} processes, for each ns of linux24's");
        found.is(name, costs.ratio(("sfs", processes), ("linux24", processes)));
    }
    for case in ["sfs", "linux24"] {
        let name = format!("{case}: cost of a decision with 16 processes, for each ns with 2");
        found.is(name, costs.ratio((case, 16), (case, 2)));
    }
    costs.show(&mut found, "sfs-table-1", "SFS, Table 1: processes that block and wake");
    Ok(found)
}

/// The shortest work of the paper's test program between two sleeps
const WORK_NS: f64 = 75e6;

/// Section 4.1: what is logged, predicted and decided for each run that its program ends.
pub fn flow_overhead(setting: &Setting) -> Result<Measurements, LabError> {
    let numbers: &[u32] = &[4, 10, 40, 100, 400, 1000];
    let cases = [on_one("rr"), on_one("rr+flow")];
    let costs = Costs::measure(&cases, numbers, Clients::ComeAndGo, setting)?;
    let mut found = Measurements::default();
    let added = |of: fn(f64) -> f64| {
        combined(costs.at("rr+flow", 10), costs.at("rr", 10), |with, without| of(with - without))
    };
    found.is("rr+flow: added to a run of 75 ms (%)", added(|ns| 100.0 * ns / WORK_NS));
    found.is("rr+flow: added to a run (ns)", added(|ns| ns));
    costs.show(
        &mut found,
        "flow-overhead",
        "Knowledge-based scheduler, section 4.1: programs that block and wake",
    );
    Ok(found)
}
