//! Plans a sweep: the list of rows, each a policy at a point, in a fixed order.

use divvy_policy::nearest;
use divvy_policy::spec;
use divvy_policy::spec::{Part, Spec};
use divvy_sim::run::{Options, adapted, row_names};
use divvy_workload::Workload;
use std::collections::{BTreeMap, BTreeSet};

use super::toml_value::{self, Position};
use super::vary::Vary;
use super::warm_up::WarmUp;
use super::{SweepError, load};

/// The parameters of a sweep.
pub struct SweepOptions<'a> {
    /// The workload's text.
    pub text: &'a str,
    /// Its file, for errors and as its name.
    pub file: &'a str,
    /// The policies, none twice.
    pub specs: &'a [Spec],
    /// The varied keys; the first changes slowest.
    pub varied: &'a [Vary],
    /// Seed, repetitions, and what the machine is unless varied.
    pub options: &'a Options,
    /// The warm-up. Without it, that of the workload; else a tenth of a run that does not end by itself.
    pub warm_up: Option<WarmUp>,
    /// Whether each task has rows as well.
    pub per_task: bool,
    /// The policy, one of those above, that others are compared with, repetition by repetition.
    pub baseline: Option<&'a Spec>,
    /// Largest number of rows.
    pub most: u64,
}

const DEFAULT_WARM_UP: f64 = 0.1;

/// The target of a key.
pub(super) enum Target {
    /// A value of the workload's text.
    TomlValue(Position),
    /// The load of its open arrivals.
    Load,
    /// A parameter, only of the policies with this name if there is one.
    Param { of: Option<String>, name: String },
}

/// A sweep that is ready to run.
pub struct Plan {
    /// The workload's name.
    pub workload: String,
    /// The varied keys.
    pub varied: Vec<Vary>,
    /// Seed and repetitions.
    pub(super) options: Options,
    /// Identifies the sweep: the same for the same request to the same version of divvy.
    pub id: String,
    /// Each point's workload.
    pub(super) workloads: Vec<Workload>,
    /// Whether each task has rows as well.
    pub(super) per_task: bool,
    /// The simulations, in the order in which they are first needed.
    pub(super) sims: Vec<Simulated>,
    /// In the order of the result.
    pub(super) rows: Vec<Planned>,
    /// Rows of the whole sweep; a part has some of them.
    pub(super) total: usize,
}

/// A row of the result.
#[derive(Clone, Copy)]
pub(super) struct Planned {
    /// Its number in the whole sweep, from 1.
    pub point: usize,
    /// The simulation: an index into `sims`.
    pub sim: usize,
    /// The simulation whose numbers are subtracted.
    pub baseline: Option<usize>,
    /// Which of the tasks.
    pub task: Option<usize>,
    /// Rows of one group are in one shard, as they need the same runs.
    pub group: usize,
}

/// A policy at a point.
pub(super) struct Simulated {
    /// Index into the policies that were asked for.
    pub index: usize,
    /// The policy as it was asked for.
    pub policy: String,
    /// As it runs.
    pub spec: Spec,
    /// Index into the workloads.
    pub workload: usize,
    /// For each key the index of its value; none if this policy does not have the key.
    pub values: Vec<Option<usize>>,
}

impl Plan {
    /// Reads the workload at every point, and checks every value.
    ///
    /// # Errors
    /// At the first value that does not fit, before anything runs.
    pub fn new(request: &SweepOptions) -> Result<Plan, SweepError> {
        let at_start = |error| SweepError::Workload { at: String::new(), error: Box::new(error) };
        let original = Workload::parse(request.text, request.file).map_err(at_start)?;
        let targets = targets(request)?;
        check_size(request, &targets)?;
        let mut plan = Plan {
            workload: original.name,
            varied: request.varied.to_vec(),
            options: request.options.clone(),
            id: id(request),
            workloads: Vec::new(),
            per_task: request.per_task,
            sims: Vec::new(),
            rows: Vec::new(),
            total: 0,
        };
        let mut known = BTreeMap::new();
        let mut grid = Grid::default();
        for (number, point) in points(request.varied).into_iter().enumerate() {
            let at = at(request.varied, &point);
            // Points that differ only in parameters share one workload.
            let of_workload = |i: usize| !matches!(targets[i], Target::Param { .. });
            let first: Vec<usize> =
                (0..point.len()).map(|i| if of_workload(i) { point[i] } else { 0 }).collect();
            let workload = match known.get(&first) {
                Some(&workload) => workload,
                None => {
                    plan.workloads.push(workload(request, &targets, &point, &at)?);
                    known.insert(first, plan.workloads.len() - 1);
                    plan.workloads.len() - 1
                }
            };
            for (index, spec) in request.specs.iter().enumerate() {
                let has = |i: usize| concerns(&targets[i], spec);
                let values: Vec<Option<usize>> =
                    (0..point.len()).map(|i| has(i).then_some(point[i])).collect();
                if grid.sims.contains_key(&(index, values.clone())) {
                    continue;
                }
                let sim = plan.sims.len();
                grid.sims.insert((index, values.clone()), sim);
                let policy = spec.to_string();
                let spec = with_params(spec, &targets, request.varied, &point, &at)?;
                plan.sims.push(Simulated { index, policy, spec, workload, values });
                let group = if request.baseline.is_some() { number } else { sim };
                plan.add_rows(sim, None, group);
            }
            plan.add_differences(request, &targets, &point, number, &mut grid);
            if plan.rows.len() as u64 > request.most {
                return Err(SweepError::TooMany { points: request.most + 1, most: request.most });
            }
        }
        plan.total = plan.rows.len();
        Ok(plan)
    }

    /// Adds a row for all tasks together, and with --per-task one for each.
    fn add_rows(&mut self, sim: usize, baseline: Option<usize>, group: usize) {
        let tasks = row_names(&self.workloads[self.sims[sim].workload]).len();
        let each = (0..tasks).map(Some).filter(|_| self.per_task);
        let row = |(at, task)| Planned { point: at + 1, sim, baseline, task, group };
        let first = self.rows.len();
        self.rows.extend((first..).zip(std::iter::once(None).chain(each)).map(row));
    }

    /// Adds the difference of each policy from the baseline at this point, unless an earlier point has the same two.
    fn add_differences(
        &mut self,
        request: &SweepOptions,
        targets: &[Target],
        point: &[usize],
        group: usize,
        grid: &mut Grid,
    ) {
        let Some(baseline) = request.specs.iter().position(|spec| Some(spec) == request.baseline) else {
            return;
        };
        let sim = |grid: &Grid, index: usize| {
            let spec = &request.specs[index];
            let values = (0..point.len()).map(|i| concerns(&targets[i], spec).then_some(point[i])).collect();
            grid.sims[&(index, values)]
        };
        let base = sim(grid, baseline);
        for index in (0..request.specs.len()).filter(|&index| index != baseline) {
            let own = sim(grid, index);
            if grid.pairs.insert((own, base)) {
                self.add_rows(own, Some(base), group);
            }
        }
    }

    /// Number of rows of the whole sweep.
    #[must_use]
    pub fn len(&self) -> usize {
        self.total
    }

    /// Repetitions of each row.
    #[must_use]
    pub fn reps(&self) -> u32 {
        self.options.reps.max(1)
    }

    /// Where all random numbers come from.
    #[must_use]
    pub fn seed(&self) -> u64 {
        self.options.seed
    }

    /// Whether there is nothing to run.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.total == 0
    }

    /// The greatest load of open arrivals that is at least 1.
    #[must_use]
    pub fn overload(&self) -> Option<f64> {
        let overload = |workload: &Workload| load::overload(workload, workload.cpus);
        self.workloads.iter().filter_map(overload).reduce(f64::max)
    }

    /// As [`Workload::heavy_tail_note`], of the first point that has one.
    #[must_use]
    pub fn heavy_tail_note(&self) -> Option<String> {
        self.workloads.iter().find_map(Workload::heavy_tail_note)
    }

    /// The rows of shard `i` of `n`, from 1: those of every n-th group.
    #[must_use]
    pub(super) fn shard(&self, i: usize, n: usize) -> Vec<usize> {
        (0..self.rows.len()).filter(|&row| self.rows[row].group % n == i - 1).collect()
    }

    /// The varied values at a row; for a difference, those that either policy has.
    pub(super) fn values(&self, row: &Planned) -> Vec<Option<usize>> {
        let own = &self.sims[row.sim].values;
        match row.baseline {
            Some(base) => own.iter().zip(&self.sims[base].values).map(|(own, base)| own.or(*base)).collect(),
            None => own.clone(),
        }
    }

    /// The policy and the point of a row, for people.
    pub(super) fn at_row(&self, row: usize) -> String {
        let sim = &self.sims[self.rows[row].sim];
        format!("{}: {}", sim.policy, self.at(sim))
    }

    /// The point of a run, for people.
    pub(super) fn at(&self, sim: &Simulated) -> String {
        let point = self.varied.iter().zip(&sim.values);
        let pairs = point.filter_map(|(vary, i)| Some(format!("{}={}", vary.key, vary.values[(*i)?])));
        pairs.collect::<Vec<_>>().join(", ")
    }
}

/// The rows that are planned already.
#[derive(Default)]
struct Grid {
    /// By policy and values.
    sims: BTreeMap<(usize, Vec<Option<usize>>), usize>,
    /// Pairs of a policy and the baseline.
    pairs: BTreeSet<(usize, usize)>,
}

/// All points as indices of values, the first key slowest.
fn points(varied: &[Vary]) -> Vec<Vec<usize>> {
    varied.iter().fold(vec![Vec::new()], |points, vary| {
        let with = |point: Vec<usize>| {
            (0..vary.values.len()).map(move |i| point.iter().copied().chain([i]).collect::<Vec<usize>>())
        };
        points.into_iter().flat_map(with).collect()
    })
}

pub(super) fn at(varied: &[Vary], point: &[usize]) -> String {
    let pairs = varied.iter().zip(point).map(|(vary, &i)| format!("{}={}", vary.key, vary.values[i]));
    pairs.collect::<Vec<_>>().join(", ")
}

fn check_size(request: &SweepOptions, targets: &[Target]) -> Result<(), SweepError> {
    let of = |spec: &Spec| {
        let own = request.varied.iter().zip(targets).filter(|(_, target)| concerns(target, spec));
        own.fold(1_u64, |n, (vary, _)| n.saturating_mul(vary.values.len() as u64))
    };
    // Rows of tasks and differences are counted as they are planned.
    let points = request.specs.iter().map(of).fold(0, u64::saturating_add);
    if points > request.most { Err(SweepError::TooMany { points, most: request.most }) } else { Ok(()) }
}

/// Whether a policy differs by what is varied.
pub(super) fn concerns(target: &Target, spec: &Spec) -> bool {
    match target {
        Target::TomlValue(_) | Target::Load => true,
        Target::Param { of, name } => parts(spec).any(|part| has(part, of.as_deref(), name)),
    }
}

fn parts(spec: &Spec) -> impl Iterator<Item = &Part> {
    std::iter::once(&spec.selection).chain(&spec.modifiers)
}

fn has(part: &Part, of: Option<&str>, param: &str) -> bool {
    of.is_none_or(|name| name == part.name)
        && divvy_policy::find(part.name).is_some_and(|policy| policy.params.iter().any(|p| p.name == param))
}

pub(super) fn targets(request: &SweepOptions) -> Result<Vec<Target>, SweepError> {
    if request.varied.is_empty() {
        return Err(SweepError::Options("nothing is varied; give --vary KEY=VALUES".to_owned()));
    }
    if request.baseline.is_some() && request.specs.len() == 1 {
        let what = "--baseline needs another policy to compare with it; give one more with -p";
        return Err(SweepError::Options(what.to_owned()));
    }
    let one = |(i, vary): (usize, &Vary)| {
        let wrong = |what: String| SweepError::Vary { vary: vary.text.clone(), what };
        if request.varied[..i].iter().any(|earlier| earlier.key == vary.key) {
            return Err(wrong(format!("`{}` is varied twice", vary.key)));
        }
        let options = request.options;
        let fixed = [
            ("cpus", options.cpus.is_some()),
            ("quantum", options.quantum_ns.is_some()),
            ("duration", options.duration_ns.is_some()),
            ("warmup", request.warm_up.is_some()),
        ];
        if fixed.contains(&(vary.key.as_str(), true)) {
            let option = if vary.key == "warmup" { "warm-up" } else { &vary.key };
            return Err(wrong(format!("--{option} says what it is; leave out one of them")));
        }
        target(request, &vary.key).map_err(wrong)
    };
    request.varied.iter().enumerate().map(one).collect()
}

/// Keys of the workload come before parameters of the same name, which are `POLICY.PARAM`.
fn target(request: &SweepOptions, key: &str) -> Result<Target, String> {
    if key == "load" {
        return Ok(Target::Load);
    }
    if toml_value::TOP.contains(&key)
        || ["task.", "group.", "barrier.", "topology."].iter().any(|list| key.starts_with(list))
    {
        return toml_value::find(request.text, key).map(Target::TomlValue);
    }
    let (of, name) = match key.split_once('.') {
        Some((of, name)) => (Some(of), name),
        None => (None, key),
    };
    let has_it = |spec: &Spec| parts(spec).any(|part| has(part, of, name));
    if request.specs.iter().any(has_it) {
        return Ok(Target::Param { of: of.map(str::to_owned), name: name.to_owned() });
    }
    Err(unknown(request, key, of, name))
}

fn unknown(request: &SweepOptions, key: &str, of: Option<&str>, name: &str) -> String {
    let elsewhere = divvy_policy::all().iter().filter(|policy| of.is_none_or(|of| of == policy.name));
    let owners = elsewhere.filter(|policy| policy.params.iter().any(|p| p.name == name)).map(|p| p.name);
    let owners: Vec<&str> = owners.collect();
    if !owners.is_empty() {
        return format!("`{name}` is a parameter of {}, which -p does not name", owners.join(", "));
    }
    let mine: Vec<&divvy_policy::PolicyInfo> =
        request.specs.iter().flat_map(parts).filter_map(|part| divvy_policy::find(part.name)).collect();
    let params: Vec<(&str, &str)> =
        mine.iter().flat_map(|policy| policy.params.iter().map(|p| (policy.name, p.name))).collect();
    let long: Vec<String> = params.iter().map(|(policy, param)| format!("{policy}.{param}")).collect();
    let short = params.iter().map(|(_, param)| *param);
    let bare = toml_value::TOP.into_iter().chain(["load", "task"]).chain(short);
    let known: Vec<&str> = bare.chain(long.iter().map(String::as_str)).collect();
    let key = key.escape_debug();
    match nearest(&key.to_string(), known.iter().copied()) {
        Some(meant) => format!("there is no `{key}` to vary; did you mean `{meant}`?"),
        None => {
            let tops = toml_value::TOP.join(", ");
            let own = if long.is_empty() { String::new() } else { format!(", {}", long.join(", ")) };
            format!(
                "there is no `{key}` to vary; there are load, {tops}, task.NAME.KEY, group.NAME.KEY, topology.KEY{own}"
            )
        }
    }
}

pub(super) fn workload(
    request: &SweepOptions,
    targets: &[Target],
    point: &[usize],
    at: &str,
) -> Result<Workload, SweepError> {
    let value = |i: usize| request.varied[i].values[point[i]].as_str();
    let edits: Vec<(&Position, &str)> = targets
        .iter()
        .enumerate()
        .filter_map(|(i, target)| match target {
            Target::TomlValue(position) => Some((position, value(i))),
            _ => None,
        })
        .collect();
    let text = toml_value::replaced(request.text, &edits);
    let parsed = Workload::parse(&text, request.file);
    let mut workload =
        parsed.map_err(|error| SweepError::Workload { at: at.to_owned(), error: Box::new(error) })?;
    let unrun = |error| SweepError::Run { at: at.to_owned(), error };
    workload = adapted(&workload, request.options).map_err(unrun)?;
    for (i, _) in targets.iter().enumerate().filter(|(_, target)| matches!(target, Target::Load)) {
        let wrong = |what: String| SweepError::Vary { vary: request.varied[i].text.clone(), what };
        let load: f64 = value(i).parse().map_err(|_| wrong(format!("{} is no number", value(i))))?;
        workload = load::with_load(&workload, load).map_err(wrong)?;
    }
    let warm_up_is_varied = request.varied.iter().any(|vary| vary.key == "warmup");
    if !warm_up_is_varied {
        workload.warmup_ns = warm_up(&workload, request.warm_up)?;
    }
    Ok(workload)
}

/// The warm-up of a run, in ns.
fn warm_up(workload: &Workload, asked: Option<WarmUp>) -> Result<u64, SweepError> {
    let share = |duration_ns: u64, share: f64| (duration_ns as f64 * share).round() as u64;
    let ns = match (asked, workload.duration_ns) {
        (Some(WarmUp::Time(ns)), _) => ns,
        (Some(WarmUp::Share(0.0)), _) => 0,
        (Some(WarmUp::Share(part)), Some(duration_ns)) => share(duration_ns, part),
        (Some(WarmUp::Share(_)), None) => {
            let what = "a warm-up in per cent needs a duration; give --duration, or the warm-up as a time";
            return Err(SweepError::Options(what.to_owned()));
        }
        (None, _) if workload.warmup_ns > 0 => workload.warmup_ns,
        // A run that ends by itself is looked at from its start.
        (None, Some(duration_ns)) if workload.endless_task().is_some() => share(duration_ns, DEFAULT_WARM_UP),
        (None, _) => 0,
    };
    match workload.duration_ns {
        Some(duration_ns) if ns >= duration_ns => Err(SweepError::Options(format!(
            "a warm-up of {}s leaves nothing of {}s",
            ns as f64 / 1e9,
            duration_ns as f64 / 1e9
        ))),
        _ => Ok(ns),
    }
}

/// The spec with this point's parameters.
pub(super) fn with_params(
    spec: &Spec,
    targets: &[Target],
    varied: &[Vary],
    point: &[usize],
    at: &str,
) -> Result<Spec, SweepError> {
    let text = |part: &Part| {
        let mine = |target: &Target| match target {
            Target::Param { of, name } if has(part, of.as_deref(), name) => Some(name.clone()),
            _ => None,
        };
        let chosen: Vec<(String, &str)> = (0..point.len())
            .filter_map(|i| mine(&targets[i]).map(|name| (name, varied[i].values[point[i]].as_str())))
            .collect();
        let kept = part.settings.iter().filter(|s| chosen.iter().all(|(name, _)| name != s.param));
        let kept: String = kept.map(|setting| format!(":{setting}")).collect();
        let chosen: String = chosen.iter().map(|(name, value)| format!(":{name}={value}")).collect();
        format!("{}{kept}{chosen}", part.name)
    };
    let text = parts(spec).map(text).collect::<Vec<_>>().join("+");
    spec::parse(&text, divvy_policy::all())
        .map(|parsed| Spec { placement: spec.placement, ..parsed })
        .map_err(|error| SweepError::Spec { at: at.to_owned(), error: Box::new(error) })
}

/// Hash of everything that the result depends on.
pub(super) fn id(request: &SweepOptions) -> String {
    let mut words =
        vec![env!("CARGO_PKG_VERSION").to_owned(), request.text.to_owned(), request.file.to_owned()];
    words.extend(request.specs.iter().map(ToString::to_string));
    let files = request.specs.iter().filter_map(|spec| divvy_policy::file::find(spec.selection.name));
    words.extend(files.flat_map(|file| file.own_sources().map(|(_, text)| text.to_owned())));
    words.extend(request.varied.iter().map(|vary| format!("{}={}", vary.key, vary.values.join(","))));
    let Options { seed, reps, cpus, duration_ns, quantum_ns, .. } = request.options;
    words.push(format!("{seed} {reps} {cpus:?} {duration_ns:?} {quantum_ns:?} {:?}", request.warm_up));
    words.push(format!("{} {:?}", request.per_task, request.baseline.map(ToString::to_string)));
    format!("{:016x}", super::hash::of(words.iter().map(String::as_str)))
}
