//! GR3, figures 4 to 11 and what the text of section 5.1 says beside them.

use crate::error::LabError;
use crate::measured::{Value, difference, ratio};
use crate::measurements::Measurements;
use crate::run::missing;
use crate::setting::Setting;
use crate::study::{
    Cell, Range, Study, greatest_mean, greatest_of_all, least_mean, least_of_all, most_selections,
};
use divvy_pages::plot::{Plot, Sheet, Sides, Surface};
use divvy_results::stats::ConfidenceInterval;

/// Sets of weights in a cell, as in the paper.
const SETS: u32 = 2500;
/// Where the extremes hardly depend on the sets (they have closed forms), or a decision costs far more.
const FEW_SETS: u32 = 4;
const SMALL_SETS: u32 = 2;

pub fn figure_4(setting: &Setting) -> Result<Measurements, LabError> {
    one("gr3-4", "wrr:unit=1", SETS, setting)
}

pub fn figure_5(setting: &Setting) -> Result<Measurements, LabError> {
    one("gr3-5", "wfq", FEW_SETS, setting)
}

pub fn figure_6(setting: &Setting) -> Result<Measurements, LabError> {
    one("gr3-6", "sfq", FEW_SETS, setting)
}

pub fn figure_7(setting: &Setting) -> Result<Measurements, LabError> {
    one("gr3-7", "vtrr", SETS, setting)
}

pub fn figure_8(setting: &Setting) -> Result<Measurements, LabError> {
    one("gr3-8", "srr", SETS, setting)
}

pub fn figure_9(setting: &Setting) -> Result<Measurements, LabError> {
    one("gr3-9", "gr3", SETS, setting)
}

/// "WF2Q error is not shown since the results simply verify its known bounds."
pub fn wf2q(setting: &Setting) -> Result<Measurements, LabError> {
    one("gr3-wf2q", "wf2q", FEW_SETS, setting)
}

fn sets(full: u32, setting: &Setting) -> u32 {
    if setting.small { SMALL_SETS.min(full) } else { full }
}

/// The 10 % study of one policy.
fn one(id: &str, spec: &str, full: u32, setting: &Setting) -> Result<Measurements, LabError> {
    let study = Study { spec, cpus: 1, skew: 10, sets: sets(full, setting), counts_decisions: false };
    setting.progress.begin(Some(study.steps(setting.small)));
    let cells = study.run(setting)?;
    let mut found = Measurements::default();
    ranges(&mut found, "", &cells);
    let open: u32 = cells.iter().map(|cell| cell.open).sum();
    found.is("sets in which not each client got its shares", f64::from(open));
    found.plots.push(surfaces(id, spec, &cells, "worst case", |cell| cell.worst));
    found.plots.push(surfaces(&format!("{id}-mean"), spec, &cells, "mean", |cell| cell.mean));
    Ok(found)
}

fn ranges(found: &mut Measurements, prefix: &str, cells: &[Cell]) {
    found.is(format!("{prefix}least error, worst case (quanta)"), least_of_all(cells));
    found.is(format!("{prefix}greatest error, worst case (quanta)"), greatest_of_all(cells));
    found.is(format!("{prefix}least error, mean of a cell (quanta)"), least_mean(cells));
    found.is(format!("{prefix}greatest error, mean of a cell (quanta)"), greatest_mean(cells));
}

/// The greatest and the least error over N and the sum of weights, as the paper draws them.
fn surfaces(name: &str, spec: &str, cells: &[Cell], statistic: &str, of: fn(&Cell) -> Range) -> Plot {
    let z = "service time error (quanta)".to_owned();
    let title = format!("GR3, section 5.1: {spec}, {statistic}");
    let sheets = vec![
        Sheet { name: "greatest".to_owned(), heights: grid(cells, |cell| of(cell).most) },
        Sheet { name: "least".to_owned(), heights: grid(cells, |cell| of(cell).least) },
    ];
    surface(name, title, z, sheets, cells)
}

fn surface(name: &str, title: String, z: String, sheets: Vec<Sheet>, cells: &[Cell]) -> Plot {
    let x = distinct(cells.iter().map(|cell| cell.n as f64));
    let y = distinct(cells.iter().map(|cell| cell.total as f64 / 1024.0));
    let side = |name: &str, values| Sides { name: name.to_owned(), values };
    let (x, y) = (side("clients N", x), side("sum of weights (1024)", y));
    Surface { name: name.to_owned(), title, x, y, z, sheets }.draw()
}

fn distinct(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.dedup();
    values
}

/// By the sum of weights, then by N. Cells are by N, then by the sum.
fn grid(cells: &[Cell], of: impl Fn(&Cell) -> f64) -> Vec<Vec<f64>> {
    let mut totals: Vec<u64> = cells.iter().map(|cell| cell.total).collect();
    totals.sort_unstable();
    totals.dedup();
    let row = |total: u64| cells.iter().filter(|cell| cell.total == total).map(&of).collect();
    totals.into_iter().map(row).collect()
}

/// "Increasing the skew from 10 to 50 percent": policies, sets of each.
const SKEWED: [(&str, u32); 6] = [
    ("gr3", SETS),
    ("srr", SETS),
    ("wrr:unit=1", SETS),
    ("vtrr", SETS),
    ("wfq", FEW_SETS),
    ("sfq", FEW_SETS),
];

pub fn skew(setting: &Setting) -> Result<Measurements, LabError> {
    let study = |(spec, full): (&'static str, u32), skew| Study {
        spec,
        cpus: 1,
        skew,
        sets: sets(full, setting),
        counts_decisions: false,
    };
    let there = |spec: &str| missing(spec).is_none();
    let both = |&(spec, full): &(&'static str, u32)| 2 * study((spec, full), 50).steps(setting.small);
    setting.progress.begin(Some(SKEWED.iter().filter(|(spec, _)| there(spec)).map(both).sum()));
    let mut found = Measurements::default();
    for (spec, full) in SKEWED {
        let policy = spec.split(':').next().unwrap_or(spec);
        let growth = format!("{policy}: mean error at 50 % for each at 10 %");
        if let Some(missing) = missing(spec) {
            found.is(growth, Value::Missing(missing));
            continue;
        }
        let cells = study((spec, full), 50).run(setting)?;
        let before = study((spec, full), 10).run(setting)?;
        found.is(growth, ratio(magnitude(&cells), magnitude(&before)));
        ranges(&mut found, &format!("{policy}: "), &cells);
    }
    Ok(found)
}

/// The greater one of both means, whatever its sign.
fn magnitude(cells: &[Cell]) -> ConfidenceInterval {
    let (least, most) = (least_mean(cells), greatest_mean(cells));
    if most.mean > -least.mean { most } else { ConfidenceInterval { mean: -least.mean, ..least } }
}

/// Eight CPUs: errors, and selections from the queue for a quantum.
pub fn figures_10_11(setting: &Setting) -> Result<Measurements, LabError> {
    let study = Study { spec: "gr3", cpus: 8, skew: 10, sets: sets(1000, setting), counts_decisions: true };
    setting.progress.begin(Some(study.steps(setting.small)));
    let cells = study.run(setting)?;
    let mut found = Measurements::default();
    ranges(&mut found, "", &cells);
    found.is("most selections for a quantum", most_selections(&cells));
    found.plots.push(surfaces("gr3-10", "GR3MP on 8 CPUs", &cells, "worst case", |cell| cell.worst));
    let heights = grid(&cells, |cell| f64::from(cell.decisions));
    let sheets = vec![Sheet { name: "most".to_owned(), heights }];
    let title = "GR3, Figure 11: GR3MP on 8 CPUs".to_owned();
    found.plots.push(surface("gr3-11", title, "selections for a quantum".to_owned(), sheets, &cells));
    Ok(found)
}

/// EEVDF without what Linux added.
const AS_PUBLISHED: &str = "eevdf:slice=1ms:parity=off:delay=off:initial=off";

/// Policies that the paper's study does not have.
const RIVALS: [(&str, u32); 9] = [
    ("stride", FEW_SETS),
    ("strr", 100),
    ("drr:unit=1", 100),
    ("lottery", FEW_SETS),
    ("bvt", FEW_SETS),
    ("eevdf:slice=1ms", FEW_SETS),
    (AS_PUBLISHED, FEW_SETS),
    ("cfs", FEW_SETS),
    ("qfq", FEW_SETS),
];

fn policy_of(spec: &str) -> &str {
    spec.split(':').next().unwrap_or(spec)
}

/// "Well over two orders of magnitude better proportional sharing accuracy" than those without a bound of their own:
/// the range of errors of others for each quantum of GR3's, over the same sets.
pub fn rivals(setting: &Setting) -> Result<Measurements, LabError> {
    let study =
        |spec, full| Study { spec, cpus: 1, skew: 10, sets: sets(full, setting), counts_decisions: false };
    let all = || [("gr3", 100)].into_iter().chain(RIVALS);
    let there = all().filter(|(spec, _)| missing(spec).is_none());
    setting.progress.begin(Some(there.map(|(spec, full)| study(spec, full).steps(setting.small)).sum()));
    let width = |cells: &[Cell]| difference(greatest_of_all(cells), least_of_all(cells));
    let mut found = Measurements::default();
    let own = width(&study("gr3", 100).run(setting)?);
    for (spec, full) in RIVALS {
        let policy = if spec == AS_PUBLISHED { "eevdf as published" } else { policy_of(spec) };
        let name = format!("{policy}: range of errors for each quantum of gr3's");
        if let Some(missing) = missing(spec) {
            found.is(name, Value::Missing(missing));
            continue;
        }
        let cells = study(spec, full).run(setting)?;
        found.is(name, ratio(width(&cells), own));
        ranges(&mut found, &format!("{policy}: "), &cells);
    }
    Ok(found)
}

/// Section 6: N + 1 clients, the first N times as heavy as each of the others.
pub fn heavy_and_light(setting: &Setting) -> Result<Measurements, LabError> {
    const N: u64 = 1024;
    let mut weights = vec![N];
    weights.extend(vec![1; N as usize]);
    setting.progress.begin(Some(0));
    let mut found = Measurements::default();
    for spec in ["drr:unit=1", "wrr:unit=1", "srr", "vtrr", "wfq", "sfq", "gr3"] {
        let policy = spec.split(':').next().unwrap_or(spec);
        let names = [format!("{policy}: least error (quanta)"), format!("{policy}: greatest error (quanta)")];
        found.under(spec, &names, |_| {
            let study = Study { spec, cpus: 1, skew: 50, sets: 1, counts_decisions: false };
            let range = study.of_weights(&weights)?;
            Ok(vec![range.least, range.most])
        })?;
    }
    Ok(found)
}
