//! `divvy top`: what the loaded scheduler does, on a screen, as text, or as metrics. It is another process than the loader,
//! which it asks for what happened since loading; differences are made here.

mod batch;
mod cells;
mod http;
pub mod metrics;
mod plain;
pub mod rows;
#[cfg(feature = "top")]
mod screen;
mod users;

use std::net::SocketAddr;
use std::time::Duration;

use divvy_kernel::load::{self, AskError, Period, Viewer};

use crate::args::TopFormat;
use crate::output::Output;

use rows::{By, Column, Row};
use users::Users;

/// What to look at, and how.
#[derive(Debug)]
pub struct Options {
    /// Between looks.
    pub every: Duration,
    /// So many intervals; None: until it is ended.
    pub times: Option<u64>,
    /// None: a screen if there is a terminal, else a table.
    pub format: Option<TopFormat>,
    pub show: Show,
    pub metrics: Option<Metrics>,
}

/// Where metrics are to be had.
#[derive(Clone, Copy, Debug)]
pub struct Metrics {
    pub address: SocketAddr,
    /// Threads at most.
    pub threads: usize,
}

/// Which rows, in which order.
#[derive(Clone, Debug)]
pub struct Show {
    pub by: By,
    pub sort: Column,
    /// In lower case; empty for all.
    pub filter: String,
    /// The first so many, of those that had or wanted a CPU.
    pub top: usize,
    pub users: Users,
}

impl Show {
    /// With the users of this system.
    pub fn new(by: By, sort: Column, filter: &str, top: usize) -> Self {
        Self { by, sort, filter: filter.to_lowercase(), top, users: Users::read() }
    }

    /// Those of an interval that are to be printed.
    fn rows(&self, interval: &Period) -> Vec<Row> {
        let mut rows = rows::rows(interval, self.by, &self.users);
        rows.retain(|row| row.is_active() && row.has(&self.filter));
        rows::sort(&mut rows, self.sort, false);
        rows.truncate(self.top);
        rows
    }
}

/// What was seen of the scheduler.
#[derive(Clone, Debug)]
pub struct Sight {
    pub policy: String,
    pub interval: Period,
}

/// The scheduler that was looked at is there no more.
#[derive(Debug, thiserror::Error)]
#[error("the scheduler was unloaded: the kernel's own is back")]
pub struct Unloaded;

/// Looks again and again.
#[derive(Debug, Default)]
struct Looker {
    viewer: Viewer,
    has_seen: bool,
}

impl Looker {
    /// What happened since the last look; or since loading.
    fn look(&mut self) -> anyhow::Result<Sight> {
        match load::look() {
            Ok(look) => {
                self.has_seen = true;
                let policy = look.policy.clone();
                Ok(Sight { policy, interval: self.viewer.interval(look) })
            }
            Err(AskError::Missing(_)) if self.has_seen => Err(Unloaded.into()),
            Err(error) => Err(error.into()),
        }
    }
}

/// Until it is ended, the scheduler is unloaded, or as often as is asked for.
pub fn run(options: Options, output: Output) -> anyhow::Result<()> {
    let is_batch = options.format.is_some() || options.times.is_some();
    if !is_batch && has_screen() {
        return on_screen(options, output);
    }
    let server = options.metrics.map(metrics::listen).transpose()?;
    match server {
        Some(server) if !is_batch => {
            output.note(&format!("metrics at {}", server.url()));
            server.serve_forever()
        }
        server => {
            if let Some(server) = server {
                std::thread::spawn(move || {
                    if let Err(error) = server.serve_forever() {
                        output.note(&format!("{error:#}"));
                    }
                });
            }
            batch::run(&options, output)
        }
    }
}

fn has_screen() -> bool {
    use std::io::IsTerminal as _;
    let is_dumb = std::env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb");
    cfg!(feature = "top") && !is_dumb && std::io::stdin().is_terminal() && std::io::stdout().is_terminal()
}

#[cfg(feature = "top")]
use screen::run as on_screen;

#[cfg(not(feature = "top"))]
fn on_screen(options: Options, output: Output) -> anyhow::Result<()> {
    batch::run(&options, output)
}

#[cfg(test)]
mod tests {
    use super::*;

    pub fn sight() -> Sight {
        Sight { policy: "gr3".to_owned(), interval: rows::tests::interval() }
    }

    pub fn show(by: By) -> Show {
        let users = Users::parse("root:x:0:0::/:\n");
        Show { by, sort: Column::Received, filter: String::new(), top: usize::MAX, users }
    }

    #[test]
    fn rows_are_those_that_do_something_and_fit() {
        let mut show = show(By::Thread);
        let names = |show: &Show| -> Vec<String> {
            show.rows(&sight().interval).into_iter().map(|row| row.name).collect()
        };
        assert_eq!(names(&show).len(), 4, "one is idle");
        show.top = 2;
        assert_eq!(names(&show), ["web", "worker"]);
        show.filter = "work".to_owned();
        assert_eq!(names(&show), ["worker"]);
    }
}
