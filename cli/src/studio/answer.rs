//! Runs what a page asks for, and answers with the data of a report, the first decisions, and the sliders that the workload has.

use std::fmt::Display;
use std::time::Instant;

use divvy_pages::report::{self, Source};
use divvy_results::figures::Limits;
use divvy_results::report::Report;
use divvy_results::schedule::Window;
use divvy_sim::run::{Options, simulate};
use divvy_sweep::toml_value;
use divvy_workload::WeightSetting;
use serde::Serialize;

use super::asked::{Asked, Checked};
use super::refusal::Refusal;
use super::runs::{LONGEST, Runs, Stopped};
use super::steps::{self, Steps};

/// More tasks have no slider of their own.
const MOST_KNOBS: usize = 24;

/// All that the page draws.
#[derive(Serialize)]
struct Answer<'a> {
    /// As a report's page has it.
    data: &'a report::Data<'a>,
    /// Those of each run.
    steps: Vec<Steps>,
    /// The workload with what sliders set.
    text: String,
    /// The same with the load that was asked for, to be saved; the text cannot have it and keep its comments.
    scaled: Option<String>,
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
    /// The page has asked for another.
    Superseded,
    /// There are too many runs.
    Busy,
}

impl From<Stopped> for NoAnswer {
    fn from(stopped: Stopped) -> Self {
        match stopped {
            Stopped::Superseded => Self::Superseded,
            Stopped::Busy => Self::Busy,
            Stopped::TooLong => Self::Refused(too_long()),
        }
    }
}

/// Answers, in JSON.
///
/// # Errors
/// If the question is wrong, or is not answered to its end.
pub fn answer(asked: &Asked, runs: &Runs) -> Result<Vec<u8>, NoAnswer> {
    let begun = Instant::now();
    let checked = asked.check().map_err(NoAnswer::Refused)?;
    let turn = runs.begin(asked.viewer)?;
    let options = Options {
        seed: asked.seed,
        figures: Some(Limits::default()),
        schedule: Some(Window { most: steps::MOST_EVENTS, ..Window::WHOLE }),
        ..Options::default()
    };
    let result = turn.work(|| simulate(&checked.workload, &checked.specs, &options, &turn));
    let refused = |error: &dyn Display| NoAnswer::Refused(Refusal::new(error.to_string()));
    let mut report: Report =
        result.map_err(|error| turn.stopped().map_or_else(|| refused(&error), NoAnswer::from))?;
    report.version = Some(env!("CARGO_PKG_VERSION").to_owned());
    let steps =
        report.runs.iter_mut().map(|run| steps::of(run.schedule.take().unwrap_or_default())).collect();
    let knobs = knobs(&checked);
    let scaled = checked.is_scaled.then(|| checked.workload.to_toml());
    let written = report::with_data(&[Source { name: None, report: &report }], |data| {
        let milliseconds = begun.elapsed().as_millis() as u64;
        serde_json::to_vec(&Answer { data, steps, text: checked.text, scaled, knobs, milliseconds })
    });
    written.map_err(|error| refused(&error))
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
