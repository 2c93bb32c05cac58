//! Mean response times by queueing theory, for workloads to which it applies: `divvy sim --theory`.
//!
//! The formulas are those of [`oracle::queueing`](crate::oracle::queueing). Here it is decided whether one of them applies.

use divvy_policy::spec::Spec;
use divvy_policy::{RATIO_INF, find};
use divvy_results::report::{Report, TaskTheory, Theory};
use divvy_workload::{Arrivals, Dist, Step, Task, Workload};
use thiserror::Error;

use crate::oracle::queueing::Size;
use crate::oracle::queueing::closed::Closed;
use crate::oracle::queueing::dps::{self, Class};
use crate::oracle::queueing::multi::{mgk_ps_response_of, mmk_response};
use crate::oracle::queueing::single::{las_response_among, sjf_response_among, srpt_response_among};

/// Why there is no formula.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum NoFormula {
    /// A task does what no formula covers.
    #[error("task {task} {what}")]
    Task {
        /// Its name.
        task: String,
        /// The reason.
        what: &'static str,
    },
    /// The machine does what no formula covers.
    #[error("{0}")]
    Machine(&'static str),
    /// More work than the CPUs can do.
    #[error("the load is {0:.2}: without bound on the number of jobs there is no mean")]
    Overload(f64),
    /// No formula of ours is about this policy, with these sizes and CPUs.
    #[error("divvy knows none for {policy} on {cpus}{unless}")]
    Unknown {
        /// As given.
        policy: String,
        /// The sizes for which it knows one.
        unless: &'static str,
        /// Their number, with the word.
        cpus: String,
    },
}

/// The order in which jobs are served, as formulas know it.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Discipline {
    FirstCome,
    LastComePreempts,
    ProcessorSharing,
    /// The same in proportion to weights.
    Discriminatory,
    LeastAttained,
    ShortestRemaining,
    ShortestFirst,
    /// Blind to sizes, and never idle beside work.
    Blind,
}

/// Sizes that would do.
const ONE_MEAN: &str = "; with exponential sizes of one mean it does";
const EXPONENTIAL: &str = "; with exponential sizes it does";
const OTHER_SIZES: &str = " with these sizes";

/// Policies that share by weight within a bound that goes to 0 with the quantum: on one CPU, and on several if weights are equal.
const PROPORTIONAL: [&str; 10] =
    ["drr", "gr3", "lottery", "sfq", "sfs", "stride", "wf2q", "wf2qplus", "wfq", "wrr"];

/// Jobs of one task that arrive at random (Poisson).
struct Stream<'a> {
    task: &'a Task,
    /// Arrivals a ns.
    rate: f64,
    size: &'a Dist,
}

/// Adds to a report what theory says about each of its policies, or why it says nothing.
pub fn add_to(report: &mut Report, workload: &Workload, specs: &[Spec]) {
    for spec in specs {
        if report.theory.iter().all(|known| known.policy != spec.to_string()) {
            report.theory.push(theory(workload, spec, report.cpus));
        }
    }
}

/// The mean response under a policy on so many CPUs; without numbers, and with the reason, if there is no formula.
pub fn theory(workload: &Workload, spec: &Spec, cpus: u32) -> Theory {
    let policy = spec.to_string();
    match formula(workload, spec, cpus) {
        Ok(found) => Theory { policy, ..found },
        Err(reason) => Theory { policy, no_formula: Some(reason.to_string()), ..Theory::default() },
    }
}

fn formula(workload: &Workload, spec: &Spec, cpus: u32) -> Result<Theory, NoFormula> {
    check_machine(workload)?;
    if spec.placement.is_some() {
        return Err(NoFormula::Machine("formulas are about one queue, and a placement makes several"));
    }
    let discipline = discipline(spec, cpus);
    let unknown = |unless| NoFormula::Unknown {
        policy: spec.to_string(),
        unless,
        cpus: if cpus == 1 { "one CPU".to_owned() } else { format!("{cpus} CPUs") },
    };
    let Some(discipline) = discipline else { return Err(unknown("")) };
    let found = if let [task @ Task { arrivals: Arrivals::Closed { think }, .. }] = &workload.tasks[..] {
        closed(task, think, only_run(task)?, discipline, cpus)
            .ok_or_else(|| unknown(discipline.unless(cpus)))?
    } else {
        let streams = workload.tasks.iter().map(stream).collect::<Result<Vec<_>, _>>()?;
        let load = streams.iter().map(|s| s.rate * s.size.mean_ns()).sum::<f64>() / f64::from(cpus);
        if load >= 1.0 {
            return Err(NoFormula::Overload(load));
        }
        open(&streams, discipline, cpus).ok_or_else(|| unknown(discipline.unless(cpus)))?
    };
    if found.is_limit && workload.tick_ns.is_some() {
        return Err(NoFormula::Machine("slices end at ticks, and the formula is the limit of short quanta"));
    }
    Ok(found)
}

fn check_machine(workload: &Workload) -> Result<(), NoFormula> {
    if !workload.switches_take_no_time() {
        return Err(NoFormula::Machine("switches or migrations cost time, which formulas do not count"));
    }
    if workload.groups.iter().any(|group| group.cpu_max.is_some()) {
        return Err(NoFormula::Machine("a group has a limit of CPU time (cpu_max)"));
    }
    Ok(())
}

fn discipline(spec: &Spec, cpus: u32) -> Option<Discipline> {
    let setting = |param: &str| spec.selection.settings.iter().find(|s| s.param == param).map(|s| s.raw);
    let clairvoyant = find(spec.selection.name).is_some_and(|policy| policy.is_clairvoyant);
    let is_alone = spec.modifiers.is_empty();
    // A parameter may change the order.
    let plain = is_alone && spec.selection.settings.is_empty();
    Some(match spec.selection.name {
        "fcfs" if plain => Discipline::FirstCome,
        "plcfs" if plain => Discipline::LastComePreempts,
        "ps" if is_alone => Discipline::ProcessorSharing,
        "rr" if plain => Discipline::ProcessorSharing,
        "las" if plain => Discipline::LeastAttained,
        "srpt" if plain => Discipline::ShortestRemaining,
        "sjf" if plain => Discipline::ShortestFirst,
        "pbs" if is_alone && spec.selection.settings.len() == 1 => match setting("alpha") {
            Some(0) => Discipline::FirstCome,
            Some(RATIO_INF) => Discipline::LeastAttained,
            _ => Discipline::Blind,
        },
        name if plain && PROPORTIONAL.contains(&name) => Discipline::Discriminatory,
        // A queue for each CPU leaves CPUs idle beside work.
        _ if clairvoyant || (cpus > 1 && setting("percpu").is_some_and(|on| on != 0)) => return None,
        _ => Discipline::Blind,
    })
}

/// The size of a program that does nothing but use CPU time once, and that no option binds.
fn only_run(task: &Task) -> Result<&Dist, NoFormula> {
    let refuse = |what| NoFormula::Task { task: task.name.clone(), what };
    if task.affinity.is_some() {
        return Err(refuse("may not run on every CPU"));
    }
    if task.start_ns > 0 || task.stop_ns.is_some() {
        return Err(refuse("starts late or is stopped: formulas are about the long run"));
    }
    match &task.program[..] {
        [Step::Run(size)] => Ok(size),
        _ => Err(refuse("does not use CPU time once a job and nothing else")),
    }
}

fn stream(task: &Task) -> Result<Stream<'_>, NoFormula> {
    let size = only_run(task)?;
    match &task.arrivals {
        Arrivals::Open { interarrival: Dist::Exp(mean), limit: None } => {
            Ok(Stream { task, rate: 1.0 / *mean as f64, size })
        }
        _ => Err(NoFormula::Task {
            task: task.name.clone(),
            what: "does not arrive at random without an end: arrivals = { open = { exp = .. } } would",
        }),
    }
}

/// One class of users, who think between jobs. Under processor sharing only means matter; under other blind policies sizes have
/// to be exponential.
fn closed(task: &Task, think: &Dist, size: &Dist, discipline: Discipline, cpus: u32) -> Option<Theory> {
    let shares = matches!(discipline, Discipline::ProcessorSharing | Discipline::Discriminatory);
    let is_exponential = matches!(size, Dist::Exp(_));
    let is_known = !discipline.knows_sizes() && (shares || is_exponential);
    if !is_known || !size.mean_ns().is_finite() || !think.mean_ns().is_finite() {
        return None;
    }
    let system = Closed { users: task.count, think: think.mean_ns(), size: size.mean_ns(), cpus };
    Some(Theory {
        system: Some(format!(
            "{} users who think, {}",
            task.count,
            if is_exponential { "any blind policy" } else { "PS" }
        )),
        source: Some("machine repair: Reiser, Lavenberg 1980".to_owned()),
        is_limit: !is_exponential,
        // Users who do not think are always there.
        response_mean_ns: Some(if system.think > 0.0 { system.steady() } else { system.bounds() }.response),
        ..Theory::default()
    })
}

impl Discipline {
    fn knows_sizes(self) -> bool {
        matches!(self, Self::ShortestRemaining | Self::ShortestFirst)
    }

    /// The sizes for which there is a formula, where there is none for those at hand.
    fn unless(self, cpus: u32) -> &'static str {
        match self {
            Self::ShortestRemaining | Self::ShortestFirst if cpus > 1 => "",
            Self::ShortestRemaining | Self::ShortestFirst => OTHER_SIZES,
            Self::Discriminatory if cpus == 1 => EXPONENTIAL,
            _ => ONE_MEAN,
        }
    }
}

/// A formula for open streams.
struct Formula {
    system: String,
    source: &'static str,
    is_limit: bool,
    /// The mean response of each stream's jobs, in ns.
    means: Vec<f64>,
    /// Whether these hold for each stream, and not only for all jobs together.
    is_of_each: bool,
}

fn open(streams: &[Stream], discipline: Discipline, cpus: u32) -> Option<Theory> {
    let rate: f64 = streams.iter().map(|s| s.rate).sum();
    let found =
        of_each(streams, discipline, cpus, rate).or_else(|| of_blind(streams, discipline, cpus, rate))?;
    let all = streams.iter().zip(&found.means).map(|(s, mean)| s.rate / rate * mean).sum::<f64>();
    let task =
        |(s, &response_mean_ns): (&Stream, &f64)| TaskTheory { name: s.task.name.clone(), response_mean_ns };
    let tasks = streams.iter().zip(&found.means).filter(|_| found.is_of_each).map(task);
    Some(Theory {
        system: Some(found.system),
        source: Some(found.source.to_owned()),
        is_limit: found.is_limit,
        response_mean_ns: Some(all),
        tasks: tasks.collect(),
        ..Theory::default()
    })
}

const SHARING: &str = "Sakata et al. 1971; Cohen 1979";

fn of_each(streams: &[Stream], discipline: Discipline, cpus: u32, rate: f64) -> Option<Formula> {
    let mean = streams.iter().map(|s| s.rate / rate * s.size.mean_ns()).sum::<f64>();
    let sharing = || -> Vec<f64> {
        streams.iter().map(|s| mgk_ps_response_of(rate, mean, cpus, s.size.mean_ns())).collect()
    };
    let among = |of: fn(f64, &Size, &Size) -> f64| -> Option<Vec<f64>> {
        let (all, one) = (size_of_all(streams, rate)?, cpus == 1);
        one.then(|| streams.iter().map(|s| Some(of(rate, &all, &size(s.size)?))).collect())?
    };
    let (system, source, is_limit, means) = match discipline {
        Discipline::FirstCome if cpus == 1 => {
            let second = streams.iter().map(|s| s.rate / rate * s.size.second_moment_ns2()).sum::<f64>();
            let wait = rate * second / (2.0 * (1.0 - rate * mean));
            let means = streams.iter().map(|s| s.size.mean_ns() + wait).collect();
            second.is_finite().then_some(("FCFS", "Pollaczek, Khinchine", false, means))?
        }
        Discipline::LastComePreempts if cpus == 1 => ("preemptive LCFS", "Kelly", false, sharing()),
        Discipline::ProcessorSharing => ("PS", SHARING, true, sharing()),
        Discipline::Discriminatory if weights_are_equal(streams) => ("PS", SHARING, true, sharing()),
        Discipline::Discriminatory if cpus == 1 => {
            ("DPS, exponential sizes", "Fayolle et al. 1980", true, dps::responses(&classes(streams)?))
        }
        Discipline::LeastAttained => ("LAS", "Schrage 1967", true, among(las_response_among)?),
        Discipline::ShortestRemaining => ("SRPT", "Schrage, Miller 1966", false, among(srpt_response_among)?),
        Discipline::ShortestFirst => ("SJF", "Phipps 1956", false, among(sjf_response_among)?),
        _ => return None,
    };
    Some(Formula { system: format!("M/G/{cpus} {system}"), source, is_limit, means, is_of_each: true })
}

/// With exponential sizes of one mean no blind policy can change the mean over all jobs. Under FCFS it is that of each stream as well.
fn of_blind(streams: &[Stream], discipline: Discipline, cpus: u32, rate: f64) -> Option<Formula> {
    let mean = common_mean(streams).filter(|_| !discipline.knows_sizes())?;
    Some(Formula {
        system: format!("M/M/{cpus}, any blind policy"),
        source: "Erlang C",
        is_limit: false,
        means: vec![mmk_response(rate, 1.0 / mean, cpus); streams.len()],
        is_of_each: discipline == Discipline::FirstCome || streams.len() == 1,
    })
}

/// The mean size in ns, if all sizes are exponential with the same one.
fn common_mean(streams: &[Stream]) -> Option<f64> {
    let first = streams.first()?.size;
    let alike = matches!(first, Dist::Exp(_)) && streams.iter().all(|s| s.size == first);
    alike.then(|| first.mean_ns())
}

fn weights_are_equal(streams: &[Stream]) -> bool {
    streams.windows(2).all(|pair| pair[0].task.weight.units() == pair[1].task.weight.units())
}

fn classes(streams: &[Stream]) -> Option<Vec<Class>> {
    let class = |s: &Stream| match s.size {
        Dist::Exp(mean) => {
            Some(Class { lambda: s.rate, mu: 1.0 / *mean as f64, weight: s.task.weight.units() })
        }
        _ => None,
    };
    streams.iter().map(class).collect()
}

/// A size as the formulas of one CPU know it: constant, or a mixture of exponentials.
fn size(dist: &Dist) -> Option<Size> {
    match dist {
        Dist::Constant(ns) => Some(Size::Constant(*ns as f64)),
        Dist::Exp(mean) => Some(Size::exponential(*mean as f64)),
        Dist::Hyper { upto, means } => {
            let mut before = 0.0;
            let part = |(&u, &mean): (&f64, &u64)| (u - std::mem::replace(&mut before, u), mean as f64);
            Some(Size::Mixture(upto.iter().zip(means).map(part).collect()))
        }
        _ => None,
    }
}

/// That of a job of any stream; none of constants that differ, or beside others.
fn size_of_all(streams: &[Stream], rate: f64) -> Option<Size> {
    if streams.iter().all(|s| matches!(s.size, Dist::Constant(_)) && s.size == streams[0].size) {
        return size(streams[0].size);
    }
    let mut phases = Vec::new();
    for s in streams {
        let Size::Mixture(own) = size(s.size)? else { return None };
        phases.extend(own.into_iter().map(|(p, mean)| (p * s.rate / rate, mean)));
    }
    Some(Size::Mixture(phases))
}
