//! `divvy sweep --cluster dask://HOST:PORT`: parts of a sweep on the workers of a Dask cluster.
//!
//! Dask's client is a Python package, so a Python process beside divvy speaks with the scheduler (`dask.py`), in lines of JSON. It ends
//! when its stdin does: then it cancels all parts. So nothing is left behind, however divvy ends.

mod address;
pub mod part;

use std::io::{self, BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::Arc;

use anyhow::Context as _;
use divvy_results::progress::Progress as _;
use divvy_sweep::{Answer, Dispatch, Plan, Request, SweepOptions, identity};
use serde::{Deserialize, Serialize};

pub use self::address::Address;
use crate::output::Output;
use crate::progress::ProgressBar;

const SCRIPT: &str = include_str!("dask.py");
/// Seconds in which a scheduler must answer.
const PATIENCE_S: u32 = 10;

/// A cluster, and how divvy is called there.
pub struct Cluster<'a> {
    /// Its scheduler.
    pub address: &'a Address,
    /// The command on the workers.
    pub command: &'a str,
}

/// Why the cluster cannot be used, or broke off.
#[derive(Debug, thiserror::Error)]
enum Broken {
    #[error(
        "cannot start `{python}`, which speaks with Dask; --cluster needs Python 3 with the package distributed: \
         pip install distributed, and set DIVVY_PYTHON if it is not the `python3` of PATH"
    )]
    NoPython { python: String, source: io::Error },
    #[error("{0}")]
    Said(String),
    #[error("the Python process that speaks with Dask ended early ({0}); its own message is above")]
    Ended(ExitStatus),
    #[error("`{command}` on worker {worker} cannot run parts of a sweep: {what}\n\
             install divvy {} there, in the PATH of `dask worker`, or say where it is with --cluster-command", env!("CARGO_PKG_VERSION"))]
    NoDivvy { command: String, worker: String, what: String },
    #[error("{points}: {what}")]
    Part { points: String, what: String },
}

/// The first line for the script.
#[derive(Serialize)]
struct Shared<'a> {
    address: String,
    shown: String,
    patience_s: u32,
    command: &'a str,
    request: String,
}

/// A part for the script.
#[derive(Serialize)]
struct Given {
    part: usize,
    text: String,
}

/// A line from the script.
#[derive(Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
enum Said {
    Workers {
        workers: usize,
        threads: usize,
    },
    Answer {
        part: usize,
        worker: String,
        seconds: Option<f64>,
        answer: Option<Answer>,
        cannot: Option<String>,
    },
    Failed {
        part: usize,
        text: String,
    },
    Error {
        text: String,
    },
}

/// Runs these rows of the plan, and gives their lines to `take` in order.
pub fn run(
    plan: &Arc<Plan>,
    rows: &[usize],
    request: &SweepOptions,
    cluster: &Cluster,
    output: Output,
    mut take: impl FnMut(&str) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let mut parts = Dispatch::new(plan, rows, identity(request.specs));
    let mut script = Script::start()?;
    script.say(&Shared {
        address: cluster.address.of_dask(),
        shown: cluster.address.to_string(),
        patience_s: PATIENCE_S,
        command: cluster.command,
        request: serde_json::to_string(&Request::new(request))?,
    })?;
    let shown = Shown { bar: ProgressBar::new("sweep", output), output, address: cluster.address };
    shown.bar.begin(Some(rows.len() as u64));
    let mut known = None;
    while !parts.is_complete() {
        match script.listen()? {
            Said::Workers { workers, threads } => {
                shown.workers(workers, threads);
                known = Some(threads);
            }
            Said::Answer { part, worker, seconds, answer: Some(answer), .. } => {
                match parts.take(part, answer, &worker, seconds.unwrap_or(0.0)) {
                    Ok(lines) => take(&lines)?,
                    Err((lines, error)) => {
                        take(&lines)?;
                        return Err(error.into());
                    }
                }
                shown.bar.set_position(parts.done() as u64);
            }
            Said::Answer { worker, cannot, .. } => {
                let what = cannot.unwrap_or_else(|| "there is no answer".to_owned());
                return Err(Broken::NoDivvy { command: cluster.command.to_owned(), worker, what }.into());
            }
            Said::Failed { part, text } => {
                return Err(Broken::Part { points: parts.part_points(part), what: text }.into());
            }
            Said::Error { text } => return Err(Broken::Said(text).into()),
        }
        while let Some((part, one)) = known.and_then(|threads| parts.next(threads)) {
            script.say(&Given { part, text: serde_json::to_string(&one)? })?;
        }
    }
    Ok(())
}

/// The workers, on stderr.
struct Shown<'a> {
    bar: ProgressBar,
    output: Output,
    address: &'a Address,
}

impl Shown<'_> {
    fn workers(&self, workers: usize, threads: usize) {
        let note = match workers {
            0 => format!(
                "{} has no workers now: the sweep waits for some (dask worker {})",
                self.address,
                self.address.of_dask()
            ),
            1 => format!("{}: 1 worker, {} at a time", self.address, parts(threads)),
            _ => format!("{}: {workers} workers, {} at a time", self.address, parts(threads)),
        };
        self.bar.suspend(|| self.output.note(&note));
        self.bar.beside(&if workers == 1 { "1 worker".to_owned() } else { format!("{workers} workers") });
    }
}

fn parts(threads: usize) -> String {
    if threads == 1 { "1 part".to_owned() } else { format!("{threads} parts") }
}

/// The Python process. It ends when this is dropped.
struct Script {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
}

impl Script {
    fn start() -> anyhow::Result<Script> {
        let python = std::env::var("DIVVY_PYTHON").ok().filter(|python| !python.is_empty());
        let python = python.unwrap_or_else(|| "python3".to_owned());
        let mut child = Command::new(&python)
            .args(["-c", SCRIPT])
            // The directory in which divvy runs is no place for Python's modules.
            .env("PYTHONSAFEPATH", "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|source| Broken::NoPython { python, source })?;
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
        let stdout = BufReader::new(stdout.context("the Python process has no stdout")?);
        Ok(Script { child, stdin, stdout })
    }

    fn say(&mut self, what: &impl Serialize) -> anyhow::Result<()> {
        let line = serde_json::to_string(what)? + "\n";
        let Some(stdin) = &mut self.stdin else { return Ok(()) };
        match stdin.write_all(line.as_bytes()) {
            // It has said why, and that is read next.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            written => written.context("cannot write to the Python process"),
        }
    }

    fn listen(&mut self) -> anyhow::Result<Said> {
        let mut line = String::new();
        if self.stdout.read_line(&mut line).context("cannot read from the Python process")? == 0 {
            return Err(Broken::Ended(self.child.wait()?).into());
        }
        serde_json::from_str(&line).context("the Python process said something else than a line of JSON")
    }
}

impl Drop for Script {
    fn drop(&mut self) {
        self.stdin = None;
        // It takes a few seconds at most to cancel what is under way.
        let _ = self.child.wait();
    }
}
