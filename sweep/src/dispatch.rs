//! Divides a sweep into parts for the workers of a cluster, and puts the answers together in the order of rows.
//!
//! It knows nothing of how parts travel. A caller takes parts with [`Dispatch::next`] as long as there are some, and hands in
//! each answer with [`Dispatch::take`], which gives the lines that can be written now.

use std::collections::BTreeMap;
use std::sync::Arc;

use divvy_policy::{Failure, FailureKind};

use super::answer::{Answer, Refused};
use super::part::Part;
use super::plan::Plan;
use super::table;

/// Parts take about so long, in seconds: long beside the milliseconds that a scheduler needs for each, and short enough to lose.
const PART_S: f64 = 4.0;
/// A part has at most so many times the rows of the largest that was answered: the first rows may be the cheap ones.
const GROWTH: usize = 4;
/// Parts that are under way for each thread: one runs, and one waits beside it.
const AHEAD: usize = 2;
/// The weight of the newest part in the time that a row is said to take.
const NEWEST: f64 = 0.3;

/// A sweep on its way through a cluster.
pub struct Dispatch {
    plan: Arc<Plan>,
    /// All rows to run, by index.
    rows: Vec<usize>,
    identity: String,
    /// The first row, as an index into `rows`, that no part has yet.
    next: usize,
    /// The first row that is not written yet.
    written: usize,
    /// Parts without an answer, by their first row: where each ends.
    under_way: BTreeMap<usize, usize>,
    /// Answers that wait for one before them: where each ends, and its text.
    waiting: BTreeMap<usize, (usize, Answered)>,
    done: usize,
    row_s: Option<f64>,
    largest: usize,
    is_broken: bool,
}

/// Lines, and the reason why there are no more.
struct Answered {
    lines: String,
    error: Option<Refused>,
}

/// Why a sweep on a cluster breaks off.
#[derive(Debug, thiserror::Error)]
pub enum ClusterError {
    /// It would compute something else.
    #[error(
        "the divvy of worker {worker} is {theirs}, and this one is {ours}: their rows may differ; install the same divvy on all workers"
    )]
    Identity {
        /// The worker's address.
        worker: String,
        /// Its version.
        theirs: String,
        /// The version here.
        ours: String,
    },
    /// The lines are not those of the part.
    #[error("worker {worker} has sent other rows than {points}: {what}")]
    Rows {
        /// The worker's address.
        worker: String,
        /// The rows that were asked for.
        points: String,
        /// The difference.
        what: String,
    },
    /// A row has no result there, and would have none here.
    #[error("{}", .0.text)]
    Refused(Refused),
}

impl Failure for ClusterError {
    fn kind(&self) -> FailureKind {
        let ClusterError::Refused(Refused { code, .. }) = self else { return FailureKind::Failed };
        let kinds = [FailureKind::Usage, FailureKind::BadInput, FailureKind::Missing];
        kinds.into_iter().find(|kind| kind.exit_code() == *code).unwrap_or(FailureKind::Failed)
    }
}

impl Dispatch {
    /// These rows of the plan, by index, for workers with this identity.
    #[must_use]
    pub fn new(plan: &Arc<Plan>, rows: &[usize], identity: String) -> Dispatch {
        Dispatch {
            plan: Arc::clone(plan),
            rows: rows.to_vec(),
            identity,
            next: 0,
            written: 0,
            under_way: BTreeMap::new(),
            waiting: BTreeMap::new(),
            done: 0,
            row_s: None,
            largest: 0,
            is_broken: false,
        }
    }

    /// A part, and its name here, if so many threads of workers can use one more. What comes first is always given first.
    pub fn next(&mut self, threads: usize) -> Option<(usize, Part)> {
        let left = self.rows.len() - self.next;
        let places = AHEAD.saturating_mul(threads);
        if left == 0 || self.is_broken || self.under_way.len() >= places {
            return None;
        }
        let first = self.next;
        let size = self.size(left.div_ceil(places));
        let mut end = first;
        while end < self.rows.len() && (end == first || end - first < size) {
            end = Part::end_of_group(&self.plan, &self.rows, end);
        }
        self.next = end;
        self.under_way.insert(first, end);
        Some((first, Part::new(&self.plan, &self.rows[first..end])))
    }

    /// Rows of the next part. Near the end they are shared among all, so that no worker is the last for long.
    fn size(&self, fair: usize) -> usize {
        let timed = self.row_s.map_or(1, |row_s| (PART_S / row_s.max(1e-6)) as usize);
        timed.min(self.largest.saturating_mul(GROWTH)).min(fair).max(1)
    }

    /// Takes the answer to a part, which a worker needed some seconds for, and returns the lines that follow those before.
    ///
    /// # Errors
    /// If the answer is not of the same divvy, has other rows, or is an error. An error comes when all rows before it are
    /// returned: it is the one that a single machine reports.
    pub fn take(
        &mut self,
        first: usize,
        answer: Answer,
        worker: &str,
        seconds: f64,
    ) -> Result<String, (String, ClusterError)> {
        let Some(end) = self.under_way.remove(&first) else { return Ok(String::new()) };
        let answered = self.check(first, end, answer, worker).map_err(|error| (String::new(), error))?;
        let rows = end - first;
        let now_s = seconds / rows as f64;
        self.row_s = Some(self.row_s.map_or(now_s, |row_s| row_s + (now_s - row_s) * NEWEST));
        self.largest = self.largest.max(rows);
        self.done += rows;
        self.is_broken |= answered.error.is_some();
        self.waiting.insert(first, (end, answered));
        let mut lines = String::new();
        while let Some((end, answered)) = self.waiting.remove(&self.written) {
            lines.push_str(&answered.lines);
            if let Some(error) = answered.error {
                return Err((lines, ClusterError::Refused(error)));
            }
            self.written = end;
        }
        Ok(lines)
    }

    fn check(
        &self,
        first: usize,
        end: usize,
        answer: Answer,
        worker: &str,
    ) -> Result<Answered, ClusterError> {
        let worker = worker.to_owned();
        // Without an identity it could not even read the request: the error says why.
        if answer.identity != self.identity && !(answer.identity.is_empty() && answer.error.is_some()) {
            let (theirs, ours) = (answer.identity, self.identity.clone());
            return Err(ClusterError::Identity { worker, theirs, ours });
        }
        let rows = &self.rows[first..end];
        let wrong = |what: String| ClusterError::Rows { worker, points: self.points(first, end), what };
        let text = table::header(&self.plan) + &answer.rows;
        match table::done(&self.plan, rows, "the answer", &text) {
            Err(error) => Err(wrong(error.to_string())),
            Ok(done) if done.bytes != text.len() => Err(wrong("the last line is cut off".to_owned())),
            Ok(done) if done.rows != rows.len() && answer.error.is_none() => {
                Err(wrong(format!("{} of {} rows came", done.rows, rows.len())))
            }
            Ok(_) => Ok(Answered { lines: answer.rows, error: answer.error }),
        }
    }

    /// The rows of a part that is under way, for people; of another its number.
    #[must_use]
    pub fn part_points(&self, first: usize) -> String {
        self.under_way.get(&first).map_or_else(|| format!("part {first}"), |&end| self.points(first, end))
    }

    fn points(&self, first: usize, end: usize) -> String {
        let [one, last] = [first, end - 1].map(|at| self.rows[at] + 1);
        let at = self.plan.at_row(self.rows[first]);
        if one == last {
            format!("point {one} ({at})")
        } else {
            format!("points {one} to {last} (from {at} on)")
        }
    }

    /// Rows that came, also those that wait for others.
    #[must_use]
    pub fn done(&self) -> usize {
        self.done
    }

    /// Whether all rows were returned.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.written == self.rows.len()
    }
}
