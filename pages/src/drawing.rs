//! A report as one SVG drawing, for pages and papers: the numbers are those of the JSON.

use crate::plot::{Chart, Gantt, Kind, Look, Plot, TooSmall};
use divvy_policy::{Failure, FailureKind};
use divvy_results::figures::{Ccdf, Figures, TaskSeries};
use divvy_results::report::{Report, Run};

use divvy_results::text;

/// Height of a drawing that has others below it.
const PANEL_HEIGHT: f64 = 260.0;
/// More lines than these are not told apart.
const MOST_LINES: usize = 8;
/// Most tasks whose jobs have a panel each.
const MOST_TASK_PANELS: usize = 3;

/// A drawing of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Figure {
    /// CPU time of each process over time, a panel a policy.
    Share,
    /// Service errors over time, a panel a policy.
    Error,
    /// The share of jobs that took at least a given time, a line a policy.
    Response,
    /// The same of the time that they waited.
    Wait,
    /// Which task ran on which CPU.
    Timeline,
}

/// Nothing to draw, or no room for it.
#[derive(Debug, thiserror::Error)]
pub enum NoFigure {
    /// The report has no data for it.
    #[error("there is no {0} to draw: {1}; give another --figure")]
    NoData(&'static str, &'static str),
    /// It does not fit its size.
    #[error(transparent)]
    TooSmall(#[from] TooSmall),
}

impl Failure for NoFigure {
    fn kind(&self) -> FailureKind {
        FailureKind::Usage
    }
}

/// Draws a report as SVG. Without a wish it draws response times if jobs end, else shares.
///
/// # Errors
/// If the report has no data for this figure, or it does not fit.
pub fn draw(report: &Report, wish: Option<Figure>, look: &Look) -> Result<String, NoFigure> {
    let runs: Vec<(&Run, &Figures)> =
        report.runs.iter().filter_map(|run| Some((run, run.figures.as_ref()?))).collect();
    let has_jobs = runs.iter().any(|(_, figures)| is_drawn(&figures.response));
    let figure = wish.unwrap_or(if has_jobs { Figure::Response } else { Figure::Share });
    let plots = match figure {
        Figure::Share => shares(&runs)?,
        Figure::Error => errors(&runs),
        Figure::Response => tails("response", &runs, |figures| &figures.response, |task| &task.response)?,
        Figure::Wait => tails("wait", &runs, |figures| &figures.wait, |task| &task.wait)?,
        Figure::Timeline => timelines(report),
    };
    if plots.is_empty() {
        return Err(NoFigure::NoData("figure", "a run of real threads keeps nothing that one is drawn from"));
    }
    Ok(look.figure(&plots)?)
}

fn plain(chart: &mut Chart, panels: usize) {
    if panels > 1 {
        chart.height = PANEL_HEIGHT;
    }
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

// ---- Over time

/// The service received, as bands of processes, or of tasks if each is its own process. One panel for each policy.
fn shares(runs: &[(&Run, &Figures)]) -> Result<Vec<Plot>, NoFigure> {
    let panel = |(run, figures): &(&Run, &Figures)| {
        if figures.series.tasks.len() < run.tasks.len() {
            return Err(NoFigure::NoData("share of all tasks", "they are too many"));
        }
        let title = format!("{}: share of CPU time", text::escape(&run.policy));
        let mut chart = Chart::lines("share", &title, "time (s)", "share (%)");
        chart.kind = Kind::Stacked;
        plain(&mut chart, runs.len());
        for (name, tasks) in by_process(run, &figures.series.tasks) {
            chart.add(
                name,
                windows(figures, |window| tasks.iter().map(|task| 100.0 * task.share[window]).sum()),
            );
        }
        Ok(chart.draw())
    };
    runs.iter().map(panel).collect()
}

/// The series of each process, in the order of its first task.
fn by_process<'a>(run: &Run, series: &'a [TaskSeries]) -> Vec<(String, Vec<&'a TaskSeries>)> {
    let mut found: Vec<(String, Vec<&TaskSeries>)> = Vec::new();
    for one in series {
        let name = text::escape(&run.tasks[one.task].process);
        match found.iter_mut().find(|(known, _)| *known == name) {
            Some((_, tasks)) => tasks.push(one),
            None => found.push((name, vec![one])),
        }
    }
    found
}

/// A number for each window, as steps from its beginning to its end.
fn windows(figures: &Figures, value: impl Fn(usize) -> f64) -> Vec<(f64, f64)> {
    let ends = &figures.series.times_ns;
    let begin = |window: usize| if window == 0 { figures.series.from_ns } else { ends[window - 1] };
    let step =
        |window: usize| [(seconds(begin(window)), value(window)), (seconds(ends[window]), value(window))];
    (0..ends.len()).flat_map(step).collect()
}

/// The errors of each task, or their distribution if there are many tasks. One panel for each policy, all on one scale.
fn errors(runs: &[(&Run, &Figures)]) -> Vec<Plot> {
    let ms = |ns: &[i64], figures: &Figures| -> Vec<(f64, f64)> {
        let times = figures.series.times_ns.iter().map(|&ns| seconds(ns));
        times.zip(ns.iter().map(|&ns| ns as f64 / 1e6)).collect()
    };
    let mut charts: Vec<Chart> = Vec::new();
    for (run, figures) in runs {
        let title = format!("{}: service error", text::escape(&run.policy));
        let mut chart = Chart::lines("error", &title, "time (s)", "received minus entitled (ms)");
        plain(&mut chart, runs.len());
        let (series, spread) = (&figures.series, &figures.series.error_spread);
        if run.tasks.len() <= MOST_LINES {
            for task in &series.tasks {
                chart.add(text::escape(&run.tasks[task.task].name), ms(&task.error_ns, figures));
            }
        } else {
            let lines = [
                ("furthest ahead", &spread.most_ns),
                ("nine tenths", &spread.p90_ns),
                ("half", &spread.p50_ns),
                ("one tenth", &spread.p10_ns),
                ("furthest behind", &spread.least_ns),
            ];
            lines.into_iter().for_each(|(name, ns)| chart.add(name, ms(ns, figures)));
        }
        charts.push(chart);
    }
    Chart::on_one_scale(&mut charts);
    charts.iter().map(Chart::draw).collect()
}

// ---- Distributions

fn is_drawn(ccdf: &Ccdf) -> bool {
    ccdf.value_ns.iter().any(|value| *value > 0.0)
}

/// The share of jobs that took at least a given time, a line a policy: of all jobs, or of each task's if those are few.
fn tails(
    what: &'static str,
    runs: &[(&Run, &Figures)],
    of_run: fn(&Figures) -> &Ccdf,
    of_task: fn(&divvy_results::figures::TaskCcdfs) -> &Ccdf,
) -> Result<Vec<Plot>, NoFigure> {
    let tasks = runs.first().map_or(0, |(_, figures)| figures.tasks.len());
    let task = |index: usize| {
        move |figures: &Figures| {
            figures.tasks.get(index).map(|task| of_task(task).clone()).unwrap_or_default()
        }
    };
    let with_jobs: Vec<usize> =
        (0..tasks).filter(|&index| runs.iter().any(|(_, figures)| is_drawn(&task(index)(figures)))).collect();
    let plots: Vec<Plot> = if (1..=MOST_TASK_PANELS).contains(&with_jobs.len()) {
        let name = |index: usize| text::escape(&runs[0].0.tasks[index].name);
        let panel = |&index: &usize| tail(what, &name(index), runs, with_jobs.len(), task(index));
        with_jobs.iter().map(panel).collect()
    } else {
        vec![tail(what, "all jobs", runs, 1, |figures| of_run(figures).clone())]
    };
    if runs.iter().any(|(_, figures)| is_drawn(of_run(figures))) {
        Ok(plots)
    } else {
        Err(NoFigure::NoData(what, "no job took any time"))
    }
}

fn tail(
    what: &str,
    whose: &str,
    runs: &[(&Run, &Figures)],
    panels: usize,
    of: impl Fn(&Figures) -> Ccdf,
) -> Plot {
    let y = "jobs that took at least so long (%)";
    let mut chart = Chart::lines(what, &format!("{whose}: {what}"), &format!("{what} (ms)"), y);
    plain(&mut chart, panels);
    (chart.log_x, chart.log_y, chart.kind) = (true, true, Kind::Steps);
    for (run, figures) in runs {
        chart.add(text::escape(&run.policy), steps(&of(figures)));
    }
    chart.series.retain(|series| !series.points.is_empty());
    chart.draw()
}

/// For each value, the share of samples that are at least as large. Zeros have no place on a logarithmic axis.
fn steps(ccdf: &Ccdf) -> Vec<(f64, f64)> {
    let points = ccdf.value_ns.iter().zip(&ccdf.share).filter(|(value, _)| **value > 0.0);
    let points: Vec<(f64, f64)> = points.map(|(value, share)| (value / 1e6, 100.0 * share)).collect();
    let falls = points.windows(2).flat_map(|pair| [(pair[0].0, pair[1].1), pair[1]]);
    points.first().copied().into_iter().chain(falls).collect()
}

// ---- Schedules

fn timelines(report: &Report) -> Vec<Plot> {
    let scheduled = report.runs.iter().filter_map(|run| Some((run, run.schedule.as_ref()?)));
    scheduled
        .map(|(run, schedule)| Gantt::of(schedule, "timeline", text::escape(&run.policy)).draw())
        .collect()
}
