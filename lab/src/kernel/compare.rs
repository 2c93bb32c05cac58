//! The paper, the simulation and the kernel side by side.

use divvy_pages::plot::{Chart, Plot};
use divvy_results::report::Run;

use crate::claim::{Claim, Tolerance};
use crate::drawing::Drawing;
use crate::error::LabError;
use crate::expected::{Row, Table};
use crate::kernel::case::{Also, Beside, Case, Means, Values, beside, exact, means, numbers, simulated};
use crate::kernel::kept::{Found, Kept};
use crate::kernel::machine::{Machine, Play};
use crate::kernel::pbs_clients::Clients;
use crate::kernel::{KernelFigure, Kind, Played, count, flow_programs, web};
use crate::measured::Measured;
use crate::reproduce::judged;

/// Repetitions of each case: of the small version, and of the full one. The interval of two would be so wide that it decides nothing.
const REPS: (u32, u32) = (1, 5);

/// A claim on what the kernel does, and the simulation of the same.
pub struct KernelClaim {
    /// The paper's value, the kernel's, and the verdict on the kernel.
    pub claim: Claim,
    /// The same quantity in the simulation. Nothing simulates instructions.
    pub simulated: Option<f64>,
    /// How far the two may be apart: a part of the simulated value, or in the claim's unit.
    pub limit: Tolerance,
    /// Why they are farther apart, if that is known.
    pub differs: Option<String>,
}

impl KernelClaim {
    /// The kernel's value less the simulated one, in the claim's unit.
    #[must_use]
    pub fn difference(&self) -> Option<f64> {
        self.simulated.map(|simulated| self.claim.measured.number() - simulated)
    }

    /// Whether both are within the limit.
    #[must_use]
    pub fn agrees(&self) -> Option<bool> {
        let difference = self.difference()?.abs();
        self.simulated.map(|simulated| difference <= self.limit.of(simulated))
    }
}

/// A figure with its verdicts.
pub struct Compared {
    /// The figure.
    pub figure: &'static KernelFigure,
    /// Whether it was the quick version.
    pub small: bool,
    /// In the table's order.
    pub claims: Vec<KernelClaim>,
    /// Measured as well, which the paper says nothing about.
    pub also: Vec<Also>,
    /// To be drawn: the simulation, then the kernel.
    pub plots: Vec<Plot>,
}

/// Simulates a figure's cases, plays them, and compares; or counts. What was kept of it is taken instead.
///
/// # Errors
/// When a case cannot be simulated or played, or kept values do not read; a claim that is not met is a result.
pub fn compare(
    figure: &'static KernelFigure,
    small: bool,
    play: &Play,
    kept: Option<&Kept>,
) -> Result<Compared, LabError> {
    let own = |what: String| LabError::Own { file: format!("expected/kernel/{}.toml", figure.id), what };
    let table = Table::parse(figure.table).map_err(own)?;
    let found = kept.map_or(Ok(Found::Nothing), |kept| kept.get(figure.id, small, play))?;
    if let Found::Values(values) = found {
        (play.tell)("was measured before");
        return judge(figure, small, table, values).map_err(own);
    }
    if matches!(found, Found::Other) {
        (play.tell)("what was kept is from another build or machine");
    }
    let seconds = if small { figure.seconds.0 } else { figure.seconds.1 };
    (play.tell)(&format!("{}, {}; about {seconds} s", play.machine, figure.cpus_text()));
    let values = values(figure, small, play)?;
    // The values are there all the same.
    if let Some(Err(error)) = kept.map(|kept| kept.put(figure.id, small, play, &values)) {
        (play.tell)(&format!("not kept: {error}"));
    }
    judge(figure, small, table, values).map_err(own)
}

/// In the simulation and in the kernel.
fn values(figure: &KernelFigure, small: bool, play: &Play) -> Result<Vec<Also>, LabError> {
    let reps = if small { REPS.0 } else { REPS.1 };
    Ok(match &figure.kind {
        Kind::Played(played) => also(beside_simulation(played, figure.cpus, small, reps, play)?),
        Kind::Served(sites) => also(web::beside_simulation(&sites(small, reps), reps, figure.cpus, play)?),
        Kind::Asked(site) => also(Clients::new(site, small, reps).beside_simulation(play)?),
        Kind::Mixed(mix) => also(mix.beside_simulation(small, reps, figure.cpus, play)?),
        Kind::Executed => also(flow_programs::beside_simulation(small, play)?),
        Kind::Counted(counted) => {
            let counts = count::all(&(counted.runs)(small), play)?;
            let values = (counted.values)(&counts).into_iter();
            values.map(|(name, value)| Also { name, simulated: None, measured: value.into() }).collect()
        }
    })
}

/// The verdicts of a table on values. The error says which value is missing.
fn judge(
    figure: &'static KernelFigure,
    small: bool,
    table: Table,
    mut also: Vec<Also>,
) -> Result<Compared, String> {
    let is_measured = |name: &String| also.iter().any(|also| also.name == *name);
    let unmeasured = table.drawings.iter().flat_map(Drawing::value_names).find(|name| !is_measured(name));
    // The small version has fewer cases.
    if let Some(name) = unmeasured.filter(|_| !small) {
        return Err(format!("nothing measures {name:?}, which is drawn"));
    }
    let plots = table.drawings.iter().flat_map(|drawing| draw(drawing, figure.id, &also)).collect();
    let mut claims = Vec::new();
    for row in table.rows {
        match also.iter().position(|also| also.name == row.name) {
            Some(at) => claims.push(kernel_claim(row, also.remove(at))),
            None if small => {}
            None => return Err(format!("nothing measures {:?}", row.name)),
        }
    }
    Ok(Compared { figure, small, claims, also, plots })
}

/// As simulated, if it is, and in the kernel, with the same heights.
fn draw(drawing: &Drawing, id: &str, values: &[Also]) -> Vec<Plot> {
    let find = |name: &str| values.iter().find(|value| value.name == name);
    let simulated = drawing.chart(id, "simulated", |name| find(name)?.simulated.map(Measured::from));
    let measured = drawing.chart(id, "kernel", |name| Some(find(name)?.measured.clone()));
    let mut charts = [simulated, measured];
    Chart::on_one_scale(&mut charts);
    charts.iter().filter(|chart| !chart.series.is_empty()).map(Chart::draw).collect()
}

fn also(both: Beside) -> Vec<Also> {
    let both = both.into_iter();
    both.map(|(name, simulated, measured)| Also { name, simulated: Some(simulated), measured }).collect()
}

fn beside_simulation(
    figure: &Played,
    cpus: u32,
    small: bool,
    reps: u32,
    play: &Play,
) -> Result<Beside, LabError> {
    let cases = (figure.cases)(small)?;
    let once = figure.is_constant && matches!(play.machine, Machine::Virtual(_));
    let reps = if once { 1 } else { reps };
    let simulated = simulation(figure, &cases, play.seed, reps)?;
    let measured = repetitions(figure, &cases, &play.all(&cases, (cpus, figure.clock), reps)?);
    Ok(beside(simulated, if once { exact(numbers(measured)) } else { measured }))
}

/// The means over as many repetitions as are played, which have the same random numbers.
fn simulation(figure: &Played, cases: &[Case], seed: u64, reps: u32) -> Result<Values, LabError> {
    let runs = cases.iter().map(|case| simulated(case, seed, reps)).collect::<Result<Vec<_>, _>>()?;
    Ok(numbers(repetitions(figure, cases, &runs)))
}

fn repetitions(figure: &Played, cases: &[Case], played: &[Vec<Run>]) -> Means {
    let reps = played.iter().map(Vec::len).min().unwrap_or(0);
    let of_rep = |rep: usize| -> Values {
        let runs: Vec<Run> = played.iter().map(|runs| runs[rep].clone()).collect();
        (figure.values)(cases, &runs)
    };
    means(&(0..reps).map(of_rep).collect::<Vec<Values>>())
}

fn kernel_claim(row: Row, of: Also) -> KernelClaim {
    let (limit, differs) = (row.agree, row.differs.clone());
    KernelClaim { claim: judged(row, of.measured, false), simulated: of.simulated, limit, differs }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::figures;

    /// Simulated values of a figure's cases; or values of counts that are all the same.
    fn without_a_kernel(figure: &KernelFigure, small: bool) -> Values {
        match &figure.kind {
            Kind::Played(figure) => {
                let cases = (figure.cases)(small).expect("cases");
                simulation(figure, &cases, 1, if small { REPS.0 } else { REPS.1 }).expect("it runs")
            }
            Kind::Served(sites) => web::simulation(&sites(small, 1), 1, 1).expect("it runs"),
            Kind::Asked(site) => {
                let reps = if small { REPS.0 } else { REPS.1 };
                Clients::new(site, small, reps).simulation(1).expect("it runs")
            }
            Kind::Mixed(mix) => {
                mix.simulation(small, if small { REPS.0 } else { REPS.1 }, 1).expect("it runs")
            }
            Kind::Executed => flow_programs::simulation(small, 1).expect("it runs"),
            Kind::Counted(figure) => (figure.values)(&count::equal(&(figure.runs)(small))),
        }
    }

    /// Claims that the simulation does not meet either.
    const NOT_SIMULATED: [&str; 14] = [
        "gr3-web: gr3, weights 1 to 5: errors of all, for each quantum of wfq's",
        "gr3-web: gr3, weights 1 to 5: errors of all, for each quantum of vtrr's",
        "gr3-web: gr3, random weights: errors of all, for each quantum of wfq's",
        "gr3-web: gr3, random weights: errors of all, for each quantum of vtrr's",
        "pbs-7: beta -3, alpha 0.1: mean response (s)",
        "pbs-7: beta inf, alpha 0.1: additional delay less than rr's by (%)",
        "pbs-7: beta inf, alpha 0.4: additional delay less than rr's by (%)",
        "pbs-7: beta inf, alpha 4: additional delay less than rr's by (%)",
        "pbs-7: beta -3, alpha 0.1: additional delay less than rr's by (%)",
        "pbs-7: beta -3, alpha 0.4: additional delay less than rr's by (%)",
        "sfs-5: sfs:debit=off: T1 for each s of the short threads",
        "sfs-5: sfs:debit=off: T2 to T21 for each s of the short threads",
        "sfs-6c: 10 simulations: response under sfs for each ms under linux24",
        "sfs-6c-real: 10 simulations: response under sfs for each ms under linux24",
    ];

    /// No machine is needed to see that nothing would be left out, and that the simulation is that of the figures.
    #[test]
    fn the_full_version_measures_every_claim_and_the_simulation_meets_it() {
        let mut failed = Vec::new();
        for figure in figures() {
            let table = Table::parse(figure.table).unwrap_or_else(|what| panic!("{}: {what}", figure.id));
            let values = without_a_kernel(figure, false).into_iter();
            let values = values.map(|(name, value)| Also { name, simulated: None, measured: value.into() });
            let judged = judge(figure, false, table, values.collect())
                .unwrap_or_else(|what| panic!("{}: {what}", figure.id));
            let claims = judged.claims.into_iter().map(|one| one.claim);
            let not_met = claims.filter(|claim| !figure.is_counted() && claim.verdict.is_failure());
            failed.extend(not_met.map(|claim| format!("{}: {}", figure.id, claim.name)));
        }
        assert_eq!(failed, NOT_SIMULATED);
    }

    /// The others take times of this machine's clock, so they run alone.
    #[test]
    fn figures_on_the_clock_that_counts_instructions_run_beside_others() {
        let beside: Vec<&str> =
            figures().iter().filter(|one| one.repeats_beside_other_work()).map(|one| one.id).collect();
        assert_eq!(
            beside,
            [
                "gr3-12",
                "gr3-13",
                "gr3-14",
                "gr3-web",
                "pbs-2",
                "pbs-7",
                "pbs-8",
                "pbs-9",
                "sfs-7",
                "sfs-table-1",
                "flow-1",
                "flow-overhead",
                "flow-6",
                "flow-real",
                "procfair-real"
            ]
        );
    }

    #[test]
    fn the_small_version_measures_a_part_of_the_same() {
        for figure in figures() {
            let (small, full) = (without_a_kernel(figure, true), without_a_kernel(figure, false));
            let in_full = |name: &str| full.iter().any(|(other, _)| other == name);
            assert!(!small.is_empty() && small.iter().all(|(name, _)| in_full(name)), "{}", figure.id);
        }
    }
}
