//! Options of `divvy top`: rows, order, format, interval.

use std::net::SocketAddr;
use std::time::Duration;

use clap::ValueEnum;
use divvy_kernel::load::Period;

use super::rows::{self, By, Column, Row};
use super::users::Users;

/// Options of `divvy top`.
#[derive(Debug)]
pub struct Options {
    /// Time between updates.
    pub every: Duration,
    /// Number of intervals; None: until it is stopped.
    pub times: Option<u64>,
    /// None: a screen if there is a terminal, else a table.
    pub format: Option<TopFormat>,
    pub query: Query,
    pub metrics: Option<MetricsOptions>,
}

/// The address where metrics are served.
#[derive(Clone, Copy, Debug)]
pub struct MetricsOptions {
    pub address: SocketAddr,
    /// Largest number of threads.
    pub threads: usize,
}

/// The rows to show, and their order.
#[derive(Clone, Debug)]
pub struct Query {
    pub by: By,
    pub sort: Column,
    /// In lower case; empty for all.
    pub filter: String,
    /// Number of rows, of those that had or wanted a CPU.
    pub top: usize,
    pub users: Users,
}

impl Query {
    /// Takes the names of users from this system.
    pub fn new(by: By, sort: Column, filter: &str, top: usize) -> Self {
        Self { by, sort, filter: filter.to_lowercase(), top, users: Users::read() }
    }

    /// The rows of an interval that are printed.
    pub fn rows(&self, interval: &Period) -> Vec<Row> {
        let mut rows = rows::rows(interval, self.by, &self.users);
        rows.retain(|row| row.is_active() && row.has(&self.filter));
        rows::sort(&mut rows, self.sort, false);
        rows.truncate(self.top);
        rows
    }
}

/// Formats of `divvy top`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TopFormat {
    /// For people
    Table,
    /// One line per interval
    Json,
    /// One line per row
    Csv,
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use crate::top::poller::tests::observation;

    pub fn query(by: By) -> Query {
        let users = Users::parse("root:x:0:0::/:\n");
        Query { by, sort: Column::Received, filter: String::new(), top: usize::MAX, users }
    }

    #[test]
    fn rows_are_those_that_do_something_and_fit() {
        let mut query = query(By::Thread);
        let names = |query: &Query| -> Vec<String> {
            query.rows(&observation().interval).into_iter().map(|row| row.name).collect()
        };
        assert_eq!(names(&query).len(), 4, "one is idle");
        query.top = 2;
        assert_eq!(names(&query), ["web", "worker"]);
        query.filter = "work".to_owned();
        assert_eq!(names(&query), ["worker"]);
    }
}
