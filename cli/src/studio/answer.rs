//! Runs what a page asks for, and answers with the data of a report, the first decisions, and the sliders that the workload has.

use std::time::Instant;

use divvy_pages::report::{self, Source};
use divvy_results::figures::Limits;
use divvy_results::report::Report;
use divvy_results::schedule::Window;
use divvy_sim::run::{Options, simulate};
use divvy_sweep::toml_value;
use divvy_workload::WeightSetting;
use serde::Serialize;
use serde_json::Value;

use super::asked::{Asked, Checked};
use super::refusal::Refusal;
use super::runs::{LONGEST, Runs, Stopped};
use super::steps::{self, Steps};

/// More tasks have no slider of their own.
const MOST_KNOBS: usize = 24;

/// All that the page draws.
#[derive(Serialize)]
pub struct Answer {
    /// As a report's page has it.
    data: Value,
    /// Those of each run.
    steps: Vec<Steps>,
    /// The workload with what sliders set.
    text: String,
    knobs: Knobs,
    milliseconds: u64,
}

/// Values that sliders begin with.
#[derive(Serialize)]
struct Knobs {
    cpus: u32,
    quantum_ns: u64,
    /// Without one the workload has no load.
    load: Option<f64>,
    tasks: Vec<TaskKnob>,
}

/// A task's weight.
#[derive(Serialize)]
struct TaskKnob {
    /// The place in the text.
    key: String,
    name: String,
    value: f64,
}

/// No answer.
#[derive(Debug)]
pub enum NoAnswer {
    /// The question is wrong.
    Refused(Refusal),
    /// It was given up, or put off.
    Stopped(Stopped),
}

/// Answers.
///
/// # Errors
/// If the question is wrong, or is not answered to its end.
pub fn answer(asked: &Asked, runs: &Runs) -> Result<Answer, NoAnswer> {
    let begun = Instant::now();
    let checked = asked.check().map_err(NoAnswer::Refused)?;
    let turn = runs.begin(asked.viewer).map_err(NoAnswer::Stopped)?;
    let options = Options {
        seed: asked.seed,
        figures: Some(Limits::default()),
        schedule: Some(Window { most: steps::MOST_EVENTS, ..Window::WHOLE }),
        ..Options::default()
    };
    let result = turn.work(|| simulate(&checked.workload, &checked.specs, &options, &turn));
    let mut report: Report = result.map_err(|error| match turn.stopped() {
        Some(Stopped::TooLong) => NoAnswer::Refused(too_long()),
        Some(stopped) => NoAnswer::Stopped(stopped),
        None => NoAnswer::Refused(Refusal::new(error.to_string())),
    })?;
    report.version = Some(env!("CARGO_PKG_VERSION").to_owned());
    let steps =
        report.runs.iter_mut().map(|run| steps::of(run.schedule.take().unwrap_or_default())).collect();
    let data = report::data(&[Source { name: None, report: &report }])
        .map_err(|error| NoAnswer::Refused(Refusal::new(error.to_string())))?;
    let knobs = knobs(&checked);
    let milliseconds = begun.elapsed().as_millis() as u64;
    Ok(Answer { data, steps, text: checked.text, knobs, milliseconds })
}

fn too_long() -> Refusal {
    let message = format!("the run took longer than {} seconds, so it was ended", LONGEST.as_secs());
    let help = "Shorten `duration`, choose fewer policies, or run `divvy sim`.".to_owned();
    Refusal { help, ..Refusal::new(message) }
}

fn knobs(checked: &Checked) -> Knobs {
    let workload = &checked.workload;
    let task = |task: &divvy_workload::Task| {
        let nice = format!("task.{}.nice", task.name);
        let has_nice = toml_value::find(&checked.text, &nice).is_ok_and(|position| position.is_there());
        match task.weight {
            WeightSetting::Nice(value) if has_nice => {
                TaskKnob { key: nice, name: task.name.clone(), value: value.into() }
            }
            weight => TaskKnob {
                key: format!("task.{}.weight", task.name),
                name: task.name.clone(),
                value: weight.units(),
            },
        }
    };
    Knobs {
        cpus: workload.cpus,
        quantum_ns: workload.quantum_ns,
        load: checked.load,
        tasks: workload.tasks.iter().take(MOST_KNOBS).map(task).collect(),
    }
}
