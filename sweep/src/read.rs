//! A finished result, read from its CSV: what is made of it is the same of one run and of a merge of shards.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::measure::MEASURES;
use super::table::{AFTER, BEFORE, WHOSE};
use divvy_results::csv::{Record, records};

/// The schema of [`Finished`]; it grows by optional fields, and changes its number when a field changes meaning.
pub const SCHEMA_VERSION: u32 = 1;

/// The value of [`Finished::kind`].
pub const KIND: &str = "sweep";

/// All points of a sweep.
#[derive(Debug, Deserialize, Serialize)]
pub struct Finished {
    /// Always `SCHEMA_VERSION`.
    pub schema_version: u32,
    /// Always [`KIND`]: other results have a schema of their own.
    pub kind: String,
    /// Identifies it.
    pub sweep: String,
    /// The workload's name.
    pub workload: String,
    /// Where all random numbers come from.
    pub seed: u64,
    /// Repetitions of each point.
    pub reps: u64,
    /// The varied keys, as in rows; times end in `_ns`.
    pub varied: Vec<String>,
    /// The measures, as in rows; times end in `_ns`.
    pub measures: Vec<String>,
    /// In their order.
    pub rows: Vec<FinishedRow>,
}

/// A row, as the CSV has it.
#[derive(Debug, Deserialize, Serialize)]
pub struct FinishedRow {
    /// Its number, from 1.
    pub point: u64,
    /// The policy.
    pub policy: String,
    /// The task; absent for all tasks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// The policy whose numbers were subtracted, repetition by repetition; absent unless this is a difference.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub baseline: Option<String>,
    /// Values of the varied keys, without those that the policy does not have.
    pub values: BTreeMap<String, Value>,
    /// Number of CPUs.
    pub cpus: u64,
    /// Length of the warm-up, in ns.
    pub warm_up_ns: u64,
    /// Mean length of what counted.
    pub counted_ns: u64,
    /// Jobs that ended, over all repetitions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jobs: Option<u64>,
    /// The measured values.
    pub estimates: BTreeMap<String, FinishedEstimate>,
}

/// A value of what is varied.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(untagged)]
pub enum Value {
    /// A count or a time.
    Whole(i64),
    /// Another number that JSON has.
    Number(f64),
    /// `inf`, or a word.
    Text(String),
}

/// A mean over repetitions, in the unit of its measure: ns if the name ends in `_ns`.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
pub struct FinishedEstimate {
    /// The mean.
    pub mean: f64,
    /// Half-width of its 95 % interval; absent with fewer than two repetitions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ci95: Option<f64>,
}

/// Reads a CSV that is whole, as [`super::table`] writes it.
///
/// # Errors
/// A sentence on what is none.
pub fn read(csv: &str) -> Result<Finished, String> {
    let records = records(csv);
    let (head, lines) = records.split_first().ok_or("there is no first line")?;
    let after =
        head.fields.len().checked_sub(2 * MEASURES.len() + AFTER.len()).ok_or("columns are missing")?;
    let before = BEFORE.len() + WHOSE.len();
    let columns = Columns {
        varied: head.fields.get(before..after).ok_or("columns are missing")?.to_vec(),
        measures: head.fields[after + AFTER.len()..].iter().step_by(2).cloned().collect(),
    };
    let rows = lines.iter().map(|line| columns.row(line)).collect::<Result<_, _>>()?;
    // It has as many fields as the rows before it.
    let first = lines.first().ok_or("there is no row")?;
    Ok(Finished {
        schema_version: SCHEMA_VERSION,
        kind: KIND.to_owned(),
        sweep: first.fields[2].clone(),
        workload: first.fields[3].clone(),
        seed: number(&first.fields[5])?,
        reps: number(&first.fields[6])?,
        rows,
        varied: columns.varied,
        measures: columns.measures,
    })
}

struct Columns {
    varied: Vec<String>,
    measures: Vec<String>,
}

impl Columns {
    fn row(&self, line: &Record) -> Result<FinishedRow, String> {
        let before = BEFORE.len() + WHOSE.len();
        let after = before + self.varied.len();
        if line.fields.len() != after + AFTER.len() + 2 * self.measures.len() {
            return Err(format!("point {}: fields are missing", line.fields[0]));
        }
        let given = |text: &String| (!text.is_empty()).then(|| text.clone());
        let varied = self.varied.iter().zip(&line.fields[before..]);
        let measured = self.measures.iter().zip(line.fields[after + AFTER.len()..].chunks(2));
        Ok(FinishedRow {
            point: number(&line.fields[0])?,
            policy: line.fields[BEFORE.len()].clone(),
            task: given(&line.fields[BEFORE.len() + 1]),
            baseline: given(&line.fields[BEFORE.len() + 2]),
            values: varied.filter_map(|(key, text)| Some((key.clone(), value(&given(text)?)))).collect(),
            cpus: number(&line.fields[4])?,
            warm_up_ns: number(&line.fields[7])?,
            counted_ns: number(&line.fields[8])?,
            jobs: given(&line.fields[after]).map(|text| number(&text)).transpose()?,
            estimates: measured
                .filter(|(_, pair)| !pair[0].is_empty())
                .map(|(name, pair)| Ok((name.clone(), estimate(pair)?)))
                .collect::<Result<_, String>>()?,
        })
    }
}

fn estimate(pair: &[String]) -> Result<FinishedEstimate, String> {
    let ci95 = Some(&pair[1]).filter(|text| !text.is_empty()).map(|text| number(text)).transpose()?;
    Ok(FinishedEstimate { mean: number(&pair[0])?, ci95 })
}

fn number<T: std::str::FromStr>(text: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("`{text}` is no number"))
}

fn value(text: &str) -> Value {
    if let Ok(whole) = text.parse() {
        return Value::Whole(whole);
    }
    match text.parse::<f64>() {
        Ok(number) if number.is_finite() => Value::Number(number),
        _ => Value::Text(text.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two varied keys, and only the first measure has numbers.
    fn csv(rows: &[&str]) -> String {
        let measures: Vec<String> = MEASURES
            .iter()
            .flat_map(|m| [format!("{}{}", m.name, m.unit), format!("{}_ci95", m.name)])
            .collect();
        let head = format!(
            "{},{},alpha,quantum_ns,{},{}\r\n",
            BEFORE.join(","),
            WHOSE.join(","),
            AFTER.join(","),
            measures.join(",")
        );
        let empty = ",".repeat(2 * MEASURES.len() - 2);
        head + &rows.iter().map(|row| format!("{row}{empty}\r\n")).collect::<String>()
    }

    #[test]
    fn a_row_is_what_the_csv_has() {
        let text = csv(&[
            "1,2,ab,q.toml,1,18446744073709551615,3,10,90,pbs,,,0.5,1000000,7,1.5,0.25",
            "2,2,ab,q.toml,1,18446744073709551615,3,10,90,rr,\"a,b\",pbs,inf,,,-2,",
        ]);
        let read = read(&text).expect("whole");
        assert_eq!(
            (read.seed, read.reps, read.varied.join(" ")),
            (u64::MAX, 3, "alpha quantum_ns".to_owned())
        );
        let [one, two] = &read.rows[..] else { panic!("two rows") };
        assert_eq!(one.values["alpha"], Value::Number(0.5));
        assert_eq!(one.values["quantum_ns"], Value::Whole(1_000_000));
        assert_eq!((one.jobs, &one.task, &one.baseline), (Some(7), &None, &None));
        assert_eq!(one.estimates["response_mean_ns"], FinishedEstimate { mean: 1.5, ci95: Some(0.25) });
        assert_eq!(one.estimates.len(), 1);
        assert_eq!(
            (two.task.as_deref(), two.baseline.as_deref(), two.jobs),
            (Some("a,b"), Some("pbs"), None)
        );
        assert_eq!(two.values.get("quantum_ns"), None);
        assert_eq!(two.values["alpha"], Value::Text("inf".to_owned()));
        assert_eq!(two.estimates["response_mean_ns"], FinishedEstimate { mean: -2.0, ci95: None });
    }

    #[test]
    fn what_is_no_sweep_is_refused() {
        assert!(read("").is_err() && read("a,b\r\n").is_err() && read(&csv(&[])).is_err());
        assert!(read(&csv(&["x,2,ab,q.toml,1,1,3,10,90,pbs,,,0.5,1,7,1.5,0.25"])).is_err());
        assert!(read(&csv(&["1,2,ab,q.toml,1,1,3,10,90,pbs,,,0.5,1,7,1.5"])).is_err());
        assert!(read(&csv(&["1,2"])).is_err());
    }
}
