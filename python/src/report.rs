//! The result of a simulation or a replay.

use divvy_pages::report::{Source, write};
use divvy_results::report::{Report as Results, Run};
use divvy_results::schedule::Schedule;
use pyo3::prelude::*;

use crate::error::{InternalError, usage};
use crate::table::Table;
use crate::tables;

/// A report, and the schedule of each policy's first repetition.
#[pyclass(frozen, module = "divvy._divvy")]
pub struct Report {
    results: Results,
    schedules: Vec<(String, Schedule)>,
    /// The numbers of each policy's first repetition are kept: jobs, slices, series.
    keeps: bool,
}

impl Report {
    /// Takes the schedules out of the report.
    pub fn new(mut results: Results, keeps: bool) -> Report {
        results.version = Some(env!("CARGO_PKG_VERSION").to_owned());
        let schedule = |run: &mut Run| Some((run.policy.clone(), run.schedule.take()?));
        let schedules = results.runs.iter_mut().filter_map(schedule).collect();
        Report { results, schedules, keeps }
    }

    fn kept(&self, what: &str) -> PyResult<()> {
        if self.keeps { Ok(()) } else { Err(usage(format!("there are no {what}: keep=False left them out"))) }
    }

    fn schedules(&self, what: &str) -> PyResult<&[(String, Schedule)]> {
        self.kept(what)?;
        match self.schedules.iter().find(|(_, schedule)| schedule.is_cut) {
            None => Ok(&self.schedules),
            Some((policy, _)) => Err(usage(format!(
                "there are no {what}: under {policy} there are more jobs and events than fit, 8 million; give a shorter duration"
            ))),
        }
    }
}

#[pymethods]
impl Report {
    /// The report as `--format json` writes it.
    fn json(&self) -> PyResult<String> {
        let runs = self.results.runs.iter().map(|run| Run { figures: None, ..run.clone() }).collect();
        let plain = Results { runs, ..without_runs(&self.results) };
        serde_json::to_string(&plain).map_err(|error| InternalError::new_err(error.to_string()))
    }

    /// The page that `-o x.html` writes.
    fn html(&self) -> PyResult<String> {
        self.kept("figures for a page")?;
        write(&[Source { name: None, report: &self.results }])
            .map_err(|error| InternalError::new_err(error.to_string()))
    }

    fn tasks(&self) -> PyResult<Table> {
        Table::new(tables::tasks(&self.results))
    }

    fn jobs(&self) -> PyResult<Table> {
        Table::new(tables::jobs(self.schedules("jobs")?))
    }

    fn slices(&self) -> PyResult<Table> {
        Table::new(tables::slices(self.schedules("slices")?))
    }

    fn series(&self) -> PyResult<Table> {
        self.kept("series")?;
        Table::new(tables::series(&self.results))
    }

    fn tails(&self) -> PyResult<Table> {
        self.kept("distributions")?;
        Table::new(tables::tails(&self.results))
    }
}

fn without_runs(results: &Results) -> Results {
    let Results { schema_version, cpus, seed, .. } = *results;
    Results {
        schema_version,
        cpus,
        seed,
        workload: results.workload.clone(),
        host: results.host.clone(),
        version: results.version.clone(),
        command: results.command.clone(),
        trace: results.trace.clone(),
        theory: results.theory.clone(),
        runs: Vec::new(),
    }
}
