//! Claims of the papers in a running kernel: the paper's value, the simulated one, what the kernel did, and the verdict on it.

use std::fmt::Write as _;

use divvy_lab::csv::{digits, measured_cells};
use divvy_lab::kernel::{Also, Compared, KernelClaim};
use divvy_lab::{Claim, Tolerance, json, number_text};
use divvy_results::{csv, text};
use serde_json::json;

use crate::view::claims::{draw_table, sources, stated, summary};

const BOLD: anstyle::Style = anstyle::Style::new().bold();
/// Columns that a claim's name has at least.
const LEAST_NAME: usize = 14;

/// One figure's claims for people.
pub fn table(one: &Compared, columns: usize) -> String {
    let small = if one.small { ", the small version" } else { "" };
    let cpus = one.figure.cpus_text();
    let mut out = format!("{BOLD}{} in a kernel, {cpus}{small}{BOLD:#}\n\n", one.figure.id);
    let widths = (columns, LEAST_NAME);
    if one.figure.is_counted() {
        let head = ["claim", "source", "expected", "kernel", "verdict"];
        let cells = |one: &KernelClaim| {
            let [claim, source, expected, _, kernel, _, verdict] = cells(one);
            [claim, source, expected, kernel, verdict]
        };
        draw_table(&mut out, head, one.claims.iter(), widths, cells, below);
    } else {
        let head = ["claim", "source", "expected", "sim", "kernel", "beyond", "verdict"];
        draw_table(&mut out, head, one.claims.iter(), widths, cells, below);
    }
    let _ = writeln!(out, "{}", end(one.claims.iter()));
    sources(&mut out, claims(one), columns);
    if !one.also.is_empty() {
        let first = if one.figure.is_counted() { "" } else { ", the simulation first" };
        let _ = writeln!(out, "\nmeasured as well{first}");
    }
    for Also { name, simulated, measured } in &one.also {
        let first = simulated.map(|number| format!("{}, ", number_text(number))).unwrap_or_default();
        let line = format!("  {name}: {first}{measured}");
        let _ = writeln!(out, "{}", text::wrap(&line, columns, 4));
    }
    out
}

/// Without what was simulated.
pub fn claims(one: &Compared) -> impl Iterator<Item = &Claim> + Clone {
    one.claims.iter().map(|one| &one.claim)
}

/// How many are as simulated, of how many that are simulated.
pub fn agreement<'a>(claims: impl Iterator<Item = &'a KernelClaim>) -> (usize, usize) {
    let agree: Vec<bool> = claims.filter_map(KernelClaim::agrees).collect();
    (agree.iter().filter(|agrees| **agrees).count(), agree.len())
}

/// The counts, as in `3 claims: 3 ok; 2 of 3 as simulated`.
pub fn end<'a>(claims: impl Iterator<Item = &'a KernelClaim> + Clone) -> String {
    let all = summary(claims.clone().map(|one| &one.claim));
    match agreement(claims) {
        (_, 0) => all,
        (agree, of) => format!("{all}; {agree} of {of} as simulated"),
    }
}

fn cells(one: &KernelClaim) -> [String; 7] {
    [
        one.claim.name.clone(),
        one.claim.source.kind().to_owned(),
        stated(&one.claim),
        one.simulated.map(number_text).unwrap_or_default(),
        one.claim.measured.to_string(),
        beyond(one),
        one.claim.verdict.to_string(),
    ]
}

/// The kernel's value less the simulated one: in percent where the limit is.
pub fn beyond(one: &KernelClaim) -> String {
    let Some((difference, simulated)) = one.difference().zip(one.simulated) else { return String::new() };
    match one.limit {
        Tolerance::Relative(_) => format!("{:+.1}%", 100.0 * difference / simulated.abs()),
        _ if difference >= 0.0 => format!("+{}", number_text(difference)),
        _ => number_text(difference),
    }
}

/// The reason of a verdict, and of a difference from the simulation that is beyond the limit.
fn below(out: &mut String, one: &KernelClaim, columns: usize) {
    let mut indented = |line: &str| {
        let _ = writeln!(out, "{}", text::wrap(&format!("    {line}"), columns, 6));
    };
    if let Some(analysis) = &one.claim.analysis {
        indented(analysis);
    }
    if let Some(text) = difference_text(one) {
        indented(&text);
    }
}

/// That it is not as simulated, if so, and why.
pub fn difference_text(one: &KernelClaim) -> Option<String> {
    let why = one.differs.as_deref().unwrap_or("no reason is known");
    (one.agrees() == Some(false)).then(|| format!("not as simulated, to within {}: {why}", one.limit))
}

/// For programs: one figure, or a list of all.
pub fn json(done: &[Compared], is_list: bool, seed: u64) -> serde_json::Result<String> {
    json::document(done.iter().map(|one| figure_json(one, seed)).collect(), is_list)
}

fn figure_json(one: &Compared, seed: u64) -> serde_json::Value {
    let also = one.also.iter().map(|Also { name, simulated, measured }| {
        let mut value = json!({ "name": name, "measured": json::value(&measured.value), "interval": json::interval(measured) });
        if let Some(simulated) = simulated {
            value["simulated"] = json!(simulated);
        }
        value
    });
    json!({
        "schema_version": 1,
        "id": one.figure.id,
        "small": one.small,
        "seed": seed,
        "kernel_cpus": one.figure.cpus,
        "claims": one.claims.iter().map(kernel_claim_json).collect::<Vec<_>>(),
        "also": also.collect::<Vec<_>>(),
        "drawings": one.plots.iter().map(|plot| &plot.numbers).collect::<Vec<_>>(),
    })
}

fn kernel_claim_json(one: &KernelClaim) -> serde_json::Value {
    let mut value = json::claim(&one.claim);
    if let Some((simulated, agrees)) = one.simulated.zip(one.agrees()) {
        value["simulated"] = json!(simulated);
        value["simulated_limit"] = json!(one.limit.to_string());
        value["as_simulated"] = json!(agrees);
        if let Some(differs) = one.differs.as_ref().filter(|_| !agrees) {
            value["differs_because"] = json!(differs);
        }
    }
    value
}

/// A record for each claim.
pub fn csv(done: &[Compared]) -> String {
    let head = [
        "figure",
        "version",
        "claim",
        "source",
        "expected",
        "tolerance",
        "simulated",
        "kernel",
        "low",
        "high",
        "verdict",
        "as_simulated",
    ];
    let mut out = csv::record(&head.map(str::to_owned));
    for one in done {
        for claim in &one.claims {
            out += &csv::record(&record(one, claim));
        }
    }
    out
}

fn record(one: &Compared, row: &KernelClaim) -> [String; 12] {
    let claim = &row.claim;
    let [measured, low, high] = measured_cells(&claim.measured);
    [
        one.figure.id.to_owned(),
        if one.small { "small" } else { "full" }.to_owned(),
        claim.name.clone(),
        claim.source.kind().to_owned(),
        claim.stated.to_string(),
        claim.tolerance.to_string(),
        row.simulated.map(digits).unwrap_or_default(),
        measured,
        low,
        high,
        claim.verdict.to_string(),
        row.agrees().map_or("", |agrees| if agrees { "yes" } else { "no" }).to_owned(),
    ]
}

#[cfg(test)]
pub mod tests {
    use divvy_lab::{Measured, Setting, Value, kernel, reproduce};

    use super::*;

    /// A figure whose kernel did what the simulation of another does.
    pub fn compared(limit: Tolerance, off: f64) -> Compared {
        let setting = Setting { small: true, seed: 1, progress: &(), saved: None };
        let simulated = reproduce(divvy_lab::find("sfs-4").expect("a figure"), &setting).expect("it runs");
        let claims = simulated.claims.into_iter().map(|claim| {
            let Value::Number(number) = claim.measured.value else { panic!("a number") };
            KernelClaim { claim, simulated: Some(number * off), limit, differs: None }
        });
        let figure = kernel::find("sfs-1").expect("a figure");
        let also = vec![Also {
            name: "linux: T2 for each s of T1".to_owned(),
            simulated: Some(2.0),
            measured: Measured::from(1.5),
        }];
        Compared { figure, small: true, claims: claims.collect(), also, plots: simulated.plots }
    }

    #[test]
    fn the_table_fits_in_80_columns_and_says_where_the_kernel_differs() {
        let differs = compared(Tolerance::Relative(0.01), 1.02);
        let shown = anstream::adapter::strip_str(&table(&differs, 80)).to_string();
        for line in shown.lines() {
            assert!(text::width(line) <= 80, "{line}");
        }
        assert!(shown.contains("-2.0%") && shown.contains("0 of 9 as simulated"), "{shown}");
        assert_eq!(shown.matches("no reason is known").count(), 9, "{shown}");
        let agrees = table(&compared(Tolerance::Relative(0.01), 1.009), 80);
        assert!(agrees.contains("9 of 9 as simulated") && !agrees.contains("no reason is known"), "{agrees}");
    }

    /// Costs are not simulated: their table has no columns for that, and what is absent is no zero.
    #[test]
    fn what_is_counted_has_no_simulation_beside_it() {
        let mut one = compared(Tolerance::Exact, 1.0);
        one.figure = kernel::find("gr3-12").expect("a figure");
        one.claims.iter_mut().for_each(|claim| claim.simulated = None);
        one.also.iter_mut().for_each(|also| also.simulated = None);
        let shown = anstream::adapter::strip_str(&table(&one, 80)).to_string();
        assert!(!shown.contains("sim") && shown.contains("linux: T2 for each s of T1: 1.500"), "{shown}");
        let value: serde_json::Value =
            serde_json::from_str(&json(&[one], false, 1).expect("JSON")).expect("JSON");
        assert!(
            value["claims"][0].get("as_simulated").is_none() && value["also"][0].get("simulated").is_none()
        );
    }

    #[test]
    fn programs_get_the_same() {
        let one = [compared(Tolerance::Absolute(0.5), 1.0)];
        let value: serde_json::Value =
            serde_json::from_str(&json(&one, false, 1).expect("JSON")).expect("JSON");
        assert_eq!((&value["kernel_cpus"], &value["claims"][0]["as_simulated"]), (&json!(2), &json!(true)));
        assert_eq!(value["claims"][0]["simulated_limit"], "±0.5");
        let text = csv(&one);
        assert_eq!(
            (text.lines().count(), text.lines().next().map(|line| line.split(',').count())),
            (10, Some(12))
        );
        let first = text.lines().nth(1).expect("a claim");
        assert!(
            first.ends_with(",13.6,13.6,,,ok,yes"),
            "numbers are as in the simulation's records: {first}"
        );
    }
}
