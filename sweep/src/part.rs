//! A part of a sweep for another machine: the request once, and for each part only what its rows need, so that a worker does not plan
//! the whole sweep again.

use divvy_policy::file::{self, FileError};
use divvy_policy::spec::{self, Spec};
use divvy_policy::{Failure, FailureKind};
use divvy_sim::run::{Options, row_names};
use divvy_workload::Workload;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

use super::SweepError;
use super::plan::{self, Plan, Planned, Simulated, SweepOptions};
use super::vary::Vary;
use super::warm_up::WarmUp;

/// [`SweepOptions`] as text.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct Request {
    text: String,
    file: String,
    specs: Vec<String>,
    /// Policies that are not built in: name, and the text of each header with its path.
    policy_files: Vec<(String, Vec<(String, String)>)>,
    varied: Vec<String>,
    seed: u64,
    reps: u32,
    cpus: Option<u32>,
    duration_ns: Option<u64>,
    quantum_ns: Option<u64>,
    warm_up: Option<WarmUp>,
    per_task: bool,
    baseline: Option<usize>,
    most: u64,
}

/// A request with its policies and values read.
pub struct Opened {
    request: Request,
    specs: Vec<Spec>,
    varied: Vec<Vary>,
    options: Options,
}

/// Some rows, and the simulations that they need.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct Part {
    /// Rows of the whole sweep.
    total: usize,
    /// A policy, and for each key the value, by their indices.
    sims: Vec<(usize, Vec<Option<usize>>)>,
    rows: Vec<PartRow>,
}

#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
struct PartRow {
    point: usize,
    sim: usize,
    baseline: Option<usize>,
    task: Option<usize>,
}

/// Why a worker cannot read what it was sent.
#[derive(Debug, thiserror::Error)]
pub enum Unread {
    /// The policy file does not compile there.
    #[error(transparent)]
    File(#[from] FileError),
    /// The policy is not known there.
    #[error(transparent)]
    Spec(#[from] spec::SpecError),
    /// The process keeps a policy that it has loaded.
    #[error(
        "a worker has loaded another {0} before, and keeps it; restart the workers, as with client.restart(), or rename the file"
    )]
    Stale(String),
    /// A value cannot be read.
    #[error(transparent)]
    Sweep(#[from] SweepError),
}

impl Failure for Unread {
    fn kind(&self) -> FailureKind {
        match self {
            Unread::File(error) => error.kind(),
            Unread::Spec(error) => error.kind(),
            Unread::Stale(_) => FailureKind::Failed,
            Unread::Sweep(error) => error.kind(),
        }
    }
}

impl Request {
    /// Everything that another machine must know, with the text of policy files.
    #[must_use]
    pub fn new(of: &SweepOptions) -> Request {
        let own = |spec: &Spec| file::find(spec.selection.name);
        let texts = |file: &file::PolicyFile| {
            let texts = file.own_sources().map(|(path, text)| (path.to_owned(), text.to_owned()));
            (file.info.name.to_owned(), texts.collect())
        };
        Request {
            text: of.text.to_owned(),
            file: of.file.to_owned(),
            specs: of.specs.iter().map(ToString::to_string).collect(),
            policy_files: of.specs.iter().filter_map(own).map(texts).collect(),
            varied: of.varied.iter().map(|vary| vary.text.clone()).collect(),
            seed: of.options.seed,
            reps: of.options.reps,
            cpus: of.options.cpus,
            duration_ns: of.options.duration_ns,
            quantum_ns: of.options.quantum_ns,
            warm_up: of.warm_up,
            per_task: of.per_task,
            baseline: of.specs.iter().position(|spec| Some(spec) == of.baseline),
            most: of.most,
        }
    }

    /// Compiles its policy files, and reads policies and values.
    ///
    /// # Errors
    /// If this machine cannot compile a file, or does not know a policy.
    pub fn open(self) -> Result<Opened, Unread> {
        for (name, sources) in &self.policy_files {
            let loaded = file::load_texts(name, sources)?;
            let sent = sources.iter().map(|(path, text)| (path.as_str(), text.as_str()));
            if !loaded.own_sources().eq(sent) {
                return Err(Unread::Stale(name.clone()));
            }
        }
        let parse = |text: &String| spec::parse(text, divvy_policy::all());
        let specs = self.specs.iter().map(parse).collect::<Result<_, _>>()?;
        let vary = |text: &String| Vary::parse(text, self.most);
        let varied = self.varied.iter().map(vary).collect::<Result<_, _>>()?;
        let Request { seed, reps, cpus, duration_ns, quantum_ns, .. } = self;
        let has_share = |warm_up| !matches!(warm_up, WarmUp::Share(share) if !(0.0..1.0).contains(&share));
        let fits = reps > 0
            && self.warm_up.is_none_or(has_share)
            && self.baseline.is_none_or(|baseline| baseline < self.specs.len());
        if !fits {
            return Err(SweepError::Options("the request of a sweep is damaged".to_owned()).into());
        }
        let options = Options { seed, reps, cpus, duration_ns, quantum_ns, ..Options::default() };
        Ok(Opened { request: self, specs, varied, options })
    }
}

impl Opened {
    /// The policies.
    #[must_use]
    pub fn specs(&self) -> &[Spec] {
        &self.specs
    }

    /// The part as a plan, all of whose rows are to be run.
    ///
    /// # Errors
    /// If the part is not of this request.
    pub fn plan(&self, part: &Part) -> Result<Plan, SweepError> {
        part.plan(&SweepOptions {
            text: &self.request.text,
            file: &self.request.file,
            specs: &self.specs,
            varied: &self.varied,
            options: &self.options,
            warm_up: self.request.warm_up,
            per_task: self.request.per_task,
            baseline: self.request.baseline.and_then(|at| self.specs.get(at)),
            most: self.request.most,
        })
    }
}

impl Part {
    /// These rows of a plan, by index, and the simulations that they need.
    #[must_use]
    pub fn new(plan: &Plan, rows: &[usize]) -> Part {
        let mut part = Part { total: plan.total, sims: Vec::new(), rows: Vec::new() };
        let mut places = BTreeMap::new();
        for &row in rows {
            let Planned { point, sim, baseline, task, .. } = plan.rows[row];
            let mut place = |sim: usize| {
                *places.entry(sim).or_insert_with(|| {
                    let Simulated { index, values, .. } = &plan.sims[sim];
                    part.sims.push((*index, values.clone()));
                    part.sims.len() - 1
                })
            };
            let (sim, baseline) = (place(sim), baseline.map(place));
            part.rows.push(PartRow { point, sim, baseline, task });
        }
        part
    }

    /// The end of the rows from `first` on that belong together, as they need the same simulations: an index into `rows`.
    #[must_use]
    pub fn end_of_group(plan: &Plan, rows: &[usize], first: usize) -> usize {
        let group = |at: usize| rows.get(at).map(|&row| plan.rows[row].group);
        (first + 1..rows.len()).find(|&at| group(at) != group(first)).unwrap_or(rows.len())
    }

    fn plan(&self, request: &SweepOptions) -> Result<Plan, SweepError> {
        let unfit = || SweepError::Options("the part of a sweep is damaged".to_owned());
        let original = Workload::parse(request.text, request.file)
            .map_err(|error| SweepError::Workload { at: String::new(), error: Box::new(error) })?;
        let targets = plan::targets(request)?;
        let mut plan = Plan {
            workload: original.name,
            varied: request.varied.to_vec(),
            options: request.options.clone(),
            id: plan::id(request),
            workloads: Vec::new(),
            per_task: request.per_task,
            sims: Vec::new(),
            rows: Vec::new(),
            total: self.total,
        };
        let mut known: BTreeMap<Vec<usize>, usize> = BTreeMap::new();
        for (index, values) in &self.sims {
            let spec = request.specs.get(*index).ok_or_else(unfit)?;
            // A key that the policy does not have is none of the workload's: any value does.
            let point: Vec<usize> = values.iter().map(|value| value.unwrap_or(0)).collect();
            let fits = point.iter().zip(request.varied).all(|(&value, vary)| value < vary.values.len());
            if point.len() != request.varied.len() || !fits {
                return Err(unfit());
            }
            let at = plan::at(request.varied, &point);
            let workload = match known.get(&point) {
                Some(&workload) => workload,
                None => {
                    plan.workloads.push(plan::workload(request, &targets, &point, &at)?);
                    known.insert(point.clone(), plan.workloads.len() - 1);
                    plan.workloads.len() - 1
                }
            };
            let policy = spec.to_string();
            let spec = plan::with_params(spec, &targets, request.varied, &point, &at)?;
            plan.sims.push(Simulated { index: *index, policy, spec, workload, values: values.clone() });
        }
        let tasks: Vec<usize> = plan.workloads.iter().map(|workload| row_names(workload).len()).collect();
        for &PartRow { point, sim, baseline, task } in &self.rows {
            let fits = |sim: usize| {
                plan.sims.get(sim).is_some_and(|sim| task.is_none_or(|task| task < tasks[sim.workload]))
            };
            if !(1..=self.total).contains(&point) || !fits(sim) || !baseline.is_none_or(fits) {
                return Err(unfit());
            }
            plan.rows.push(Planned { point, sim, baseline, task, group: 0 });
        }
        Ok(plan)
    }

    /// The indices of its rows in the plan of [`Opened::plan`].
    #[must_use]
    pub fn rows(&self) -> Vec<usize> {
        (0..self.rows.len()).collect()
    }
}
