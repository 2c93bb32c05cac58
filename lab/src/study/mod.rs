//! The study of section 5.1 of the GR3 paper: N clients that always run, one with a fixed part of all shares and the
//! others with random parts of the rest, in unit quanta until each has had its shares; and how far from its due each
//! was on the way.

mod decisions;
mod errors;
mod saved;
mod variation;
mod weights;

use divvy_policy::spec::{self, Spec};
use divvy_policy::{CpuId, Machine, MachineError, TaskId, Turns, Weight};
use divvy_workload::{Purpose, stream};
use rayon::prelude::*;

use crate::error::LabError;
use crate::setting::Setting;
use decisions::Decisions;
use errors::Errors;
pub use errors::Range;
use saved::{Saved, SetResult};
pub use variation::{greatest_mean, greatest_of_all, least_mean, least_of_all, most_selections};

/// Numbers of clients.
pub const CLIENTS: [usize; 9] = [32, 64, 128, 256, 512, 1024, 2048, 4096, 8192];
/// Sums of all shares.
pub const TOTALS: [u64; 5] = [16_384, 32_768, 65_536, 131_072, 262_144];
const QUANTUM_NS: u64 = 1_000_000;
/// Quanta that are scheduled at a time, for each CPU.
const BATCH: usize = 4096;

/// Parameters of a study.
pub struct Study<'a> {
    /// The policy.
    pub spec: &'a str,
    /// Number of CPUs.
    pub cpus: u32,
    /// The first client's part of all shares, in percent.
    pub skew: u64,
    /// Sets of weights in each cell.
    pub sets: u32,
    /// Whether to count selections from GR3MP's queue.
    pub counts_decisions: bool,
}

/// A number of clients and a sum of shares.
#[derive(Clone, Debug)]
pub struct Cell {
    /// Clients.
    pub n: usize,
    /// Sum of all shares.
    pub total: u64,
    /// Extremes over all sets, quanta.
    pub worst: Range,
    /// Means of the extremes of each set, quanta.
    pub mean: Range,
    /// Extremes of each set, quanta.
    pub ranges: Vec<Range>,
    /// Most selections of each set.
    pub selections: Vec<u32>,
    /// Sets after which not each client had had its shares.
    pub open: u32,
    /// Most selections from the queue for one quantum, where they were counted.
    pub decisions: u32,
}

impl Study<'_> {
    /// The cells of the small or the full version; totals for each number of clients.
    pub fn grid(small: bool) -> Vec<(usize, u64)> {
        let pick = |i: usize, n: usize| !small || i == 0 || i + 1 == n;
        let mut cells = Vec::new();
        for (_, &n) in CLIENTS.iter().enumerate().filter(|(i, _)| pick(*i, CLIENTS.len())) {
            for (_, &total) in TOTALS.iter().enumerate().filter(|(i, _)| pick(*i, TOTALS.len())) {
                cells.push((n, total));
            }
        }
        cells
    }

    /// Quanta to schedule in all.
    pub fn steps(&self, small: bool) -> u64 {
        Study::grid(small).iter().map(|(_, total)| total * u64::from(self.sets) * self.periods()).sum()
    }

    /// On several CPUs two periods are looked at.
    fn periods(&self) -> u64 {
        if self.cpus > 1 { 2 } else { 1 }
    }

    /// All cells, on all cores; the result does not depend on how many there are.
    pub fn run(&self, setting: &Setting) -> Result<Vec<Cell>, LabError> {
        let cells = Study::grid(setting.small);
        let jobs: Vec<(usize, u32)> =
            (0..cells.len()).flat_map(|cell| (0..self.sets).map(move |set| (cell, set))).collect();
        let saved = setting.saved.map(|dir| Saved::open(dir, &self.file_name(setting.seed))).transpose()?;
        let ones = jobs
            .par_iter()
            .map(|&(cell, set)| {
                let (n, total) = cells[cell];
                let one = self.one_or_saved((n, total, set), saved.as_ref(), setting);
                setting.progress.advance(total * self.periods());
                one
            })
            .collect::<Result<Vec<SetResult>, LabError>>()?;
        let sets = ones.chunks(self.sets as usize);
        Ok(cells.iter().zip(sets).map(|(&(n, total), ones)| summary(n, total, ones)).collect())
    }

    /// The file that keeps results of this study.
    fn file_name(&self, seed: u64) -> String {
        let spec = self.spec.replace([':', '=', ',', '+'], "-");
        let decisions = if self.counts_decisions { "-decisions" } else { "" };
        format!("{spec}-{}cpu-{}percent-seed{seed}{decisions}.txt", self.cpus, self.skew)
    }

    /// The errors of a period with these weights.
    pub fn of_weights(&self, weights: &[u64]) -> Result<Range, LabError> {
        let total = weights.iter().sum();
        let ran = queue(&mut self.machine(1, weights, 0)?, total);
        let mut errors = Errors::new(weights, total);
        errors.add(ran);
        Ok(errors.range())
    }

    fn one_or_saved(
        &self,
        key: saved::Key,
        saved: Option<&Saved>,
        setting: &Setting,
    ) -> Result<SetResult, LabError> {
        if let Some(one) = saved.and_then(|saved| saved.get(key)) {
            return Ok(one);
        }
        let one = self.one(key.0, key.1, key.2, setting)?;
        saved.map_or(Ok(()), |saved| saved.add(key, &one))?;
        Ok(one)
    }

    fn one(&self, n: usize, total: u64, set: u32, setting: &Setting) -> Result<SetResult, LabError> {
        // Every policy gets the same sets.
        let mut random = stream(setting.seed, set, (n as u64) << 32 | total, Purpose::Run);
        let weights = weights::weight_set(&mut random, n, total, self.skew);
        let seed = stream(setting.seed, set, (n as u64) << 32 | total, Purpose::Policy).next_u64();
        let mut turns = self.turns(&weights, seed)?;
        let mut decisions = match self.counts_decisions {
            true => Some(Decisions::new(
                queue(&mut self.machine(self.cpus, &weights, seed)?, total),
                self.cpus,
                n,
            )),
            false => None,
        };
        let mut errors = Errors::new(&weights, total);
        let mut ran = vec![None; BATCH * self.cpus as usize];
        let mut left = (total * self.periods()) as usize;
        while left > 0 {
            // Whole rounds: on several CPUs the last may go a little beyond the period.
            let rounds = BATCH.min(left.div_ceil(self.cpus as usize));
            let ran = &mut ran[..rounds * self.cpus as usize];
            turns.next(ran);
            errors.add(ran.iter().copied().flatten());
            if let Some(decisions) = &mut decisions {
                decisions.add(ran).map_err(|what| LabError::Run(format!("{}: {what}", self.spec)))?;
            }
            left = left.saturating_sub(ran.len());
        }
        if turns.faults() > 0 {
            return Err(LabError::Run(format!("{} broke its contract", self.spec)));
        }
        Ok(SetResult {
            range: errors.range(),
            closes: self.cpus > 1 || errors.closes(),
            decisions: decisions.map_or(0, |d| d.most()),
        })
    }

    /// A policy that draws random numbers draws them from `seed`.
    fn seeded(&self, seed: u64) -> Result<Spec, LabError> {
        let spec =
            spec::parse(self.spec, divvy_policy::all()).map_err(|error| LabError::Run(error.to_string()))?;
        Ok(spec.seeded(seed))
    }

    fn broken(&self, error: &MachineError) -> LabError {
        LabError::Run(format!("policy {}: {error}", self.spec))
    }

    /// In the order of their weights' list. VTRR keeps its queue by falling share and looks for a place from its head: told of the
    /// lightest first it has the same queue without N scans.
    fn clients(&self, weights: &[u64]) -> Vec<(TaskId, Weight)> {
        let mut clients: Vec<(TaskId, u64)> = TaskId::all().zip(weights.iter().copied()).collect();
        if self.spec == "vtrr" {
            clients.sort_by_key(|&(_, weight)| weight);
        }
        clients.into_iter().map(|(id, weight)| (id, weight * Weight::ONE)).collect()
    }

    fn turns(&self, weights: &[u64], seed: u64) -> Result<Turns, LabError> {
        Turns::new(&self.seeded(seed)?, self.cpus, QUANTUM_NS, self.clients(weights))
            .map_err(|error| self.broken(&error))
    }

    /// All clients runnable from the start.
    fn machine(&self, cpus: u32, weights: &[u64], seed: u64) -> Result<Machine, LabError> {
        Machine::with_runnable(&self.seeded(seed)?, cpus, QUANTUM_NS, self.clients(weights))
            .map_err(|error| self.broken(&error))
    }
}

/// The order in which the queue of a machine gives out quanta: what its first CPU runs while the others ask for
/// nothing. (On a machine of one CPU weights would be feasible at once, and clients be in another order.)
fn queue(machine: &mut Machine, total: u64) -> Vec<TaskId> {
    let (mut now, mut on, mut since) = (0, None, 0);
    let mut order = Vec::with_capacity(total as usize);
    for _ in 0..total {
        let next = machine.dispatch(CpuId::new(0), now).expect("all clients are runnable").task;
        if on != Some(next) {
            if let Some(on) = on {
                machine.requeue(on, now - since, now);
            }
            machine.running(next, now);
            (on, since) = (Some(next), now);
        }
        order.push(next);
        now += QUANTUM_NS;
    }
    order
}

fn summary(n: usize, total: u64, ones: &[SetResult]) -> Cell {
    let ranges = || ones.iter().map(|one| one.range);
    let mean = |of: fn(Range) -> f64| ranges().map(of).sum::<f64>() / ones.len() as f64;
    Cell {
        n,
        total,
        worst: ranges().fold(Range::NONE, Range::with),
        mean: Range { least: mean(|r| r.least), most: mean(|r| r.most) },
        ranges: ranges().collect(),
        selections: ones.iter().map(|one| one.decisions).collect(),
        open: ones.iter().filter(|one| !one.closes).count() as u32,
        decisions: ones.iter().map(|one| one.decisions).max().unwrap_or(0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lottery_draws_other_tickets_for_each_set_and_seed() {
        let study = Study { spec: "lottery", cpus: 1, skew: 50, sets: 2, counts_decisions: false };
        // Two clients with half each: all sets of weights are the same.
        let range = |set, seed| {
            let setting = Setting { small: true, seed, progress: &(), saved: None };
            let range = study.one(2, 64, set, &setting).unwrap().range;
            (range.least, range.most)
        };
        assert_eq!(range(0, 1), range(0, 1));
        let others = (1..20).map(|set| range(set, 1)).chain((2..20).map(|seed| range(0, seed)));
        assert!(others.filter(|other| *other != range(0, 1)).count() > 20);
    }

    #[test]
    fn the_grid_has_45_cells() {
        assert_eq!(Study::grid(false).len(), 45);
        assert_eq!(Study::grid(true).len(), 4);
        assert!(Study::grid(true).contains(&(8192, 262_144)));
    }

    /// Section 6: N + 1 clients, the first N times as heavy as the others. Round-robin for it alone would be N/2 off;
    /// GR3 stays within a quantum (by hand: runs of one).
    #[test]
    fn a_heavy_client_beside_light_ones() {
        let study = Study { spec: "gr3", cpus: 1, skew: 50, sets: 1, counts_decisions: false };
        let mut weights = vec![16];
        weights.extend([1; 16]);
        let range = study.of_weights(&weights).unwrap();
        assert!((range.least + 0.9375).abs() < 0.04 && (range.most - 0.96875).abs() < 1e-9, "{range:?}");
    }
}
