//! The functions that Python's half calls.

use std::path::PathBuf;
use std::sync::Arc;

use divvy_lab::{Setting, reproduce};
use divvy_pages::palette::{DASHES, LIGHT, PLAIN};
use divvy_policy::compile::POLICY_SOURCES;
use divvy_policy::units::parse_duration_ns;
use divvy_policy::{Description, file, nearest};
use divvy_results::figures::Limits;
use divvy_results::schedule::Window;
use divvy_sim::replay::ReplayOptions;
use divvy_sim::run::{Options, simulate_with_machines};
use divvy_sim::theory;
use divvy_sweep::{Plan, SweepOptions, Vary, WarmUp, overload, overload_note, run_into, table};
use divvy_trace::{Grade, ReadOptions, WakePolicy};
use pyo3::prelude::*;

use crate::cluster::Job;
use crate::error::{InternalError, raised, usage};
use crate::input::{Run, Source, policies, positive_ns, warn};
use crate::own::{Asked, Chosen, Failed, Progressing};
use crate::report::Report;
use crate::sweep::Sweep;
use crate::table::Table;
use crate::{tables, work};

/// Simulates a workload under policies.
#[pyfunction]
pub fn simulate(
    py: Python<'_>,
    workload: Source,
    asked: Vec<Asked>,
    run: Run,
    keep: bool,
    with_theory: bool,
) -> PyResult<Report> {
    let failed = Arc::<Failed>::default();
    let options = Options { schedule: keep.then_some(WINDOW), figures: figures_if(keep), ..run.options()? };
    let work = |stop: &work::Stop| {
        let (workload, mut notes) = workload.workload().map_err(raised)?;
        notes.extend(overload(&workload, options.cpus.unwrap_or(workload.cpus)).map(overload_note));
        notes.extend(workload.heavy_tail_note());
        let chosen = Chosen::read(asked, &failed)?;
        let make = |workload: &_, spec: &_, _| chosen.machine(workload, spec);
        let progress = Progressing(stop, &failed);
        let ran = simulate_with_machines(&workload, &chosen.specs, &options, &make, &progress);
        let mut report = chosen.outcome(ran)?;
        if with_theory {
            theory::add_to(&mut report, &workload, &chosen.specs);
        }
        Ok((Report::new(report, keep), notes))
    };
    let (report, notes) = work::done_unless(py, work, |py| failed.interrupt(py))?;
    warn(py, notes)?;
    Ok(report)
}

/// All jobs, slices and wake-ups of the first repetition, if there is room for them.
const WINDOW: Window = Window { values: false, jobs: true, ..Window::WHOLE };

fn figures_if(keep: bool) -> Option<Limits> {
    keep.then(Limits::default)
}

/// How to read a recording.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Reading {
    wakes: String,
    tick: Option<String>,
    strict: Option<String>,
    names: Vec<String>,
    per_thread: bool,
}

/// Replays a recording under policies.
#[pyfunction]
pub fn replay(
    py: Python<'_>,
    recording: PathBuf,
    specs: Vec<String>,
    run: Run,
    reading: Reading,
    keep: bool,
) -> PyResult<Report> {
    let run = Options { schedule: keep.then_some(WINDOW), figures: figures_if(keep), ..run.options()? };
    let Reading { wakes, tick, strict, names, per_thread } = reading;
    let wakes = one_of("wakes", &wakes, &WAKES)?;
    let least = strict.as_deref().map(|grade| one_of("strict", grade, &GRADES)).transpose()?;
    let tick_ns = positive_ns("tick", tick.as_deref())?;
    let options = ReplayOptions { run, wakes, per_thread, tick_ns };
    work::done(py, |stop| {
        let specs = policies(&specs, None)?.specs;
        let read = divvy_trace::read(&recording, &ReadOptions::default()).map_err(raised)?;
        let read = read.at_least(least).and_then(|read| read.named(&names)).map_err(raised)?;
        let name = recording.display().to_string();
        let report = divvy_sim::replay::replay(&name, &read, &specs, &options, stop).map_err(raised)?;
        Ok(Report::new(report, keep))
    })
}

const WAKES: [(&str, WakePolicy); 3] =
    [("dep", WakePolicy::Dependency), ("fixed", WakePolicy::Fixed), ("open", WakePolicy::Open)];
const GRADES: [(&str, Grade); 4] = [("A", Grade::A), ("B", Grade::B), ("C", Grade::C), ("D", Grade::D)];

fn one_of<T: Copy>(name: &str, word: &str, choices: &[(&str, T)]) -> PyResult<T> {
    let found = choices.iter().find(|(choice, _)| *choice == word);
    found.map(|(_, value)| *value).ok_or_else(|| {
        let known: Vec<&str> = choices.iter().map(|(choice, _)| *choice).collect();
        usage(format!("{name}={word:?}: it is one of {}", known.join(", ")))
    })
}

/// Keys to vary with their values, and how rows are made.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Varying {
    vary: Vec<String>,
    baseline: Option<String>,
    warm_up: Option<String>,
    per_task: bool,
    max_points: u64,
}

/// Simulates a workload at every combination of values.
#[pyfunction]
pub fn sweep(
    py: Python<'_>,
    workload: Source,
    specs: Vec<String>,
    run: Run,
    varying: Varying,
) -> PyResult<Sweep> {
    let options = run.options()?;
    let (csv, notes) = work::done(py, |stop| {
        let (plan, notes) = planned(&workload, &specs, &options, &varying, |_, plan| plan)?;
        let mut csv = table::header(&plan);
        run_into(&plan, &table::shard(&plan, 1, 1), stop, &mut csv).map_err(raised)?;
        Ok((csv, notes))
    })?;
    warn(py, notes)?;
    Sweep::read(csv)
}

/// The same sweep for the workers of a cluster.
#[pyfunction]
pub fn job(
    py: Python<'_>,
    workload: Source,
    specs: Vec<String>,
    run: Run,
    varying: Varying,
) -> PyResult<Job> {
    let options = run.options()?;
    let (job, notes) = work::done(py, |_| {
        let (job, notes) = planned(&workload, &specs, &options, &varying, Job::new)?;
        Ok((job?, notes))
    })?;
    warn(py, notes)?;
    Ok(job)
}

/// Plans a sweep, and says what is to be known about it.
fn planned<T>(
    workload: &Source,
    specs: &[String],
    options: &Options,
    varying: &Varying,
    then: impl FnOnce(&SweepOptions, Plan) -> T,
) -> PyResult<(T, Vec<String>)> {
    let Varying { vary, baseline, warm_up, per_task, max_points } = varying;
    let warm_up = warm_up.as_ref().map(|text| text.parse::<WarmUp>()).transpose();
    let warm_up = warm_up.map_err(|what| usage(format!("warm_up: {what}")))?;
    let chosen = policies(specs, baseline.as_deref())?;
    let varied = vary.iter().map(|text| Vary::parse(text, *max_points));
    let varied: Vec<Vary> = varied.collect::<Result<_, _>>().map_err(raised)?;
    let (text, file) = workload.text().map_err(raised)?;
    let request = SweepOptions {
        text: &text,
        file: &file,
        specs: &chosen.specs,
        varied: &varied,
        options,
        warm_up,
        per_task: *per_task,
        baseline: chosen.baseline.as_ref(),
        most: *max_points,
    };
    let plan = Plan::new(&request).map_err(raised)?;
    let notes = plan.overload().map(overload_note).into_iter().chain(plan.heavy_tail_note()).collect();
    Ok((then(&request, plan), notes))
}

/// Reproduces a figure of a paper: JSON, claims, points.
#[pyfunction]
pub fn claims(py: Python<'_>, id: &str, small: bool, seed: u64) -> PyResult<(String, Table, Table)> {
    let figure = divvy_lab::find(id)
        .ok_or_else(|| unknown("figure", id, divvy_lab::all().iter().map(|one| one.id)))?;
    work::done(py, |stop| {
        let setting = Setting { small, seed, progress: stop, saved: None };
        let found = reproduce(figure, &setting).map_err(raised)?;
        let json = divvy_lab::json::figure(&found, seed).to_string();
        Ok((json, Table::new(tables::claims(&found))?, Table::new(tables::points(&found.plots))?))
    })
}

/// The figures that can be reproduced: ID, title, policies.
#[pyfunction]
pub fn figures() -> Vec<(&'static str, &'static str, Vec<&'static str>)> {
    divvy_lab::all().iter().map(|figure| (figure.id, figure.title, figure.policies.to_vec())).collect()
}

/// All policies, as `divvy policies --format json` describes them.
#[pyfunction]
pub fn descriptions() -> PyResult<String> {
    json(&divvy_policy::all().iter().map(Description::from).collect::<Vec<_>>())
}

/// One of them, or a file of one's own, which is compiled.
#[pyfunction]
pub fn description(py: Python<'_>, name: &str) -> PyResult<String> {
    if file::is_path(name) {
        let own = work::done(py, |_| file::load(name).map_err(raised))?;
        return json(&Description::from(&own.info));
    }
    let all = || divvy_policy::all().iter().map(|policy| policy.name);
    let policy = divvy_policy::find(name).ok_or_else(|| unknown("policy", name, all()))?;
    json(&Description::from(policy))
}

/// The headers that policies are made of: path and text.
#[pyfunction]
pub fn headers() -> Vec<(&'static str, &'static str)> {
    POLICY_SOURCES.to_vec()
}

fn unknown(what: &str, name: &str, known: impl Iterator<Item = &'static str>) -> PyErr {
    let hint = nearest(name, known).map(|one| format!("; did you mean `{one}`?")).unwrap_or_default();
    usage(format!("there is no {what} `{}`{hint}", name.escape_debug()))
}

fn json<T: serde::Serialize>(value: &T) -> PyResult<String> {
    serde_json::to_string(value).map_err(|error| InternalError::new_err(error.to_string()))
}

/// Pairs of constants.
type Pairs = Vec<(&'static str, &'static str)>;

/// Colours and dashes of lines, and the colours of what is no data, on a light ground.
#[pyfunction]
pub fn palette() -> (Pairs, Pairs) {
    let lines = LIGHT.into_iter().zip(DASHES).collect();
    (lines, PLAIN.iter().map(|(name, light, _)| (*name, *light)).collect())
}

/// A time in nanoseconds.
#[pyfunction]
pub fn nanoseconds(text: &str) -> PyResult<u64> {
    parse_duration_ns(text).map_err(usage)
}
