//! The paper, the simulation and the kernel side by side.

use divvy_policy::spec;
use divvy_results::report::Run;
use divvy_sim::run::{Options, simulate};

use crate::claim::{Claim, Tolerance};
use crate::error::LabError;
use crate::expected::{Row, Table};
use crate::kernel::case::{Beside, Case, Means, Values, beside, means, numbers};
use crate::kernel::machine::{Machine, Play};
use crate::kernel::pbs_clients::Clients;
use crate::kernel::{KernelFigure, Kind, Played, count, web};
use crate::measured::Measured;
use crate::reproduce::judged;

/// Repetitions of each case: of the small version, and of the full one.
const REPS: (u32, u32) = (2, 5);

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

/// A quantity, simulated and in the kernel.
pub struct Also {
    /// With its unit.
    pub name: String,
    /// In the simulation, where that has it.
    pub simulated: Option<f64>,
    /// In the kernel.
    pub measured: Measured,
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
}

/// Simulates a figure's cases, plays them, and compares; or counts.
///
/// # Errors
/// When a case cannot be simulated or played; a claim that is not met is a result.
pub fn compare(figure: &'static KernelFigure, small: bool, play: &Play) -> Result<Compared, LabError> {
    let own = |what: String| LabError::Own { file: format!("expected/kernel/{}.toml", figure.id), what };
    let table = Table::parse(figure.table).map_err(own)?;
    let reps = if small { REPS.0 } else { REPS.1 };
    let mut also = match &figure.kind {
        Kind::Played(played) => also(beside_simulation(played, figure.cpus, small, reps, play)?),
        Kind::Served(sites) => also(web::beside_simulation(&sites(small, reps), reps, figure.cpus, play)?),
        Kind::Asked(site) => also(Clients::new(site, small, reps).beside_simulation(play)?),
        Kind::Counted(counted) => {
            let counts = count::all(&(counted.runs)(small), play)?;
            let values = (counted.values)(&counts).into_iter();
            values.map(|(name, value)| Also { name, simulated: None, measured: value.into() }).collect()
        }
    };
    let mut claims = Vec::new();
    for row in table.rows {
        match also.iter().position(|also| also.name == row.name) {
            Some(at) => claims.push(kernel_claim(row, also.remove(at))),
            // The small version has fewer cases.
            None if small => {}
            None => return Err(own(format!("nothing measures {:?}", row.name))),
        }
    }
    Ok(Compared { figure, small, claims, also })
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
    let mut measured = repetitions(figure, &cases, &play.all(&cases, (cpus, figure.clock), reps)?);
    if once {
        measured.iter_mut().for_each(|(_, value)| *value = value.number().into());
    }
    Ok(beside(simulated, measured))
}

/// The means over as many repetitions as are played, which have the same random numbers.
fn simulation(figure: &Played, cases: &[Case], seed: u64, reps: u32) -> Result<Values, LabError> {
    let runs = cases.iter().map(|case| simulated(case, seed, reps)).collect::<Result<Vec<_>, _>>()?;
    Ok(numbers(repetitions(figure, cases, &runs)))
}

fn simulated(case: &Case, seed: u64, reps: u32) -> Result<Vec<Run>, LabError> {
    let broken = |what: String| LabError::Run(format!("{} under {}: {what}", case.workload.name, case.spec));
    let spec =
        spec::parse(case.simulated(), divvy_policy::all()).map_err(|error| broken(error.to_string()))?;
    let options = Options { seed, reps, ..Options::default() };
    let report =
        simulate(&case.workload, &[spec], &options, &()).map_err(|error| broken(error.to_string()))?;
    Ok(report.runs)
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
            Kind::Counted(figure) => (figure.values)(&count::equal(&(figure.runs)(small))),
        }
    }

    /// Claims that the simulation does not meet either.
    const NOT_SIMULATED: [&str; 12] = [
        "gr3-web: gr3, weights 1 to 5: errors of all, for each quantum of wfq's",
        "gr3-web: gr3, weights 1 to 5: errors of all, for each quantum of vtrr's",
        "gr3-web: gr3, random weights: errors of all, for each quantum of wfq's",
        "gr3-web: gr3, random weights: errors of all, for each quantum of vtrr's",
        "pbs-7: beta -3, alpha 0.1: mean response (s)",
        "pbs-7: beta inf, alpha 0.4: additional delay less than rr's by (%)",
        "pbs-7: beta inf, alpha 4: additional delay less than rr's by (%)",
        "pbs-7: beta -3, alpha 0.1: additional delay less than rr's by (%)",
        "pbs-7: beta -3, alpha 0.4: additional delay less than rr's by (%)",
        "sfs-5: sfs:debit=off: T1 for each s of the short threads",
        "sfs-5: sfs:debit=off: T2 to T21 for each s of the short threads",
        "sfs-6c: 10 simulations: response under sfs for each ms under linux24",
    ];

    /// No machine is needed to see that nothing would be left out, and that the simulation is that of the figures.
    #[test]
    fn the_full_version_measures_every_claim_and_the_simulation_meets_it() {
        let mut failed = Vec::new();
        for figure in figures() {
            let table = Table::parse(figure.table).unwrap_or_else(|what| panic!("{}: {what}", figure.id));
            let values = without_a_kernel(figure, false);
            for row in table.rows {
                let value = values.iter().find(|(name, _)| *name == row.name);
                let value =
                    value.unwrap_or_else(|| panic!("{}: nothing measures {:?}", figure.id, row.name)).1;
                let verdict = crate::judge(&value.into(), &row.stated, row.tolerance);
                if !figure.is_counted() && verdict.is_failure() {
                    failed.push(format!("{}: {}", figure.id, row.name));
                }
            }
        }
        assert_eq!(failed, NOT_SIMULATED);
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
