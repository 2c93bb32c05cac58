//! Rows of `divvy top`: threads, or processes, users and cgroups with the sums of their threads.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use clap::ValueEnum;
use divvy_kernel::load::{Period, TaskRow};
use serde::Serialize;

use super::users::Users;

/// The kind of rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum By {
    /// A row a thread
    #[default]
    Thread,
    /// A row a process
    Process,
    /// A row a user, the real one
    User,
    /// A row a cgroup
    Cgroup,
}

/// The row's identity; it stays the same as long as the row exists.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Key {
    Thread(u32),
    Process(u32),
    User(Option<u32>),
    Cgroup(String),
}

/// A thread in an interval, or several.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    #[serde(skip)]
    pub key: Key,
    /// For a process, that of its first thread; for users and cgroups, none.
    pub pid: Option<u32>,
    pub tgid: Option<u32>,
    /// None for a cgroup.
    pub user: Option<String>,
    pub name: String,
    /// Only for threads and cgroups.
    pub cgroup: Option<String>,
    pub threads: u32,
    /// Those runnable at the end.
    pub runnable: u32,
    /// Nice 0 is 1024. Of several threads, the sum over those that ran or waited in the interval.
    pub weight: f64,
    /// After the modifiers.
    pub effective_weight: f64,
    pub entitled_ns: u64,
    pub received_ns: u64,
    /// As a part of all CPU time.
    pub entitled_share: f64,
    pub received_share: f64,
    /// Received minus entitled CPU time since loading, in ns, for threads that exist.
    pub error_ns: i64,
    /// For a CPU, before turns that they got.
    pub waited_ns: u64,
    pub waits: u64,
    pub turns: u64,
    pub turns_per_second: f64,
}

impl Row {
    /// The mean time from becoming runnable, or losing the CPU, to getting one.
    pub fn wait_ns(&self) -> Option<f64> {
        (self.waits > 0).then(|| self.waited_ns as f64 / self.waits as f64)
    }

    /// Whether it had or wanted a CPU.
    pub fn is_active(&self) -> bool {
        self.received_ns > 0 || self.entitled_ns > 0 || self.runnable > 0
    }

    /// Whether this text is in its name, user, cgroup or number, in any case of letters. It is in lower case.
    pub fn has(&self, text: &str) -> bool {
        let within = |field: &str| field.to_lowercase().contains(text);
        within(&self.name)
            || self.user.as_deref().is_some_and(within)
            || self.cgroup.as_deref().is_some_and(within)
            || self.pid.is_some_and(|pid| within(&pid.to_string()))
    }

    fn of(key: Key, task: &TaskRow, users: &Users) -> Self {
        let user = task.uid.map(|uid| users.name(uid));
        let cgroup = Some(task.cgroup.clone());
        let (pid, name, user, cgroup) = match &key {
            Key::Thread(pid) => (Some(*pid).filter(|pid| *pid > 0), thread_name(task), user, cgroup),
            Key::Process(tgid) => (Some(*tgid), thread_name(task), user, None),
            Key::User(_) => {
                let name = user.unwrap_or_else(|| "(ended)".to_owned());
                (None, name.clone(), Some(name), None)
            }
            Key::Cgroup(path) if path.is_empty() => (None, "(ended)".to_owned(), None, None),
            Key::Cgroup(path) => (None, path.clone(), None, cgroup),
        };
        let tgid = pid.is_some().then_some(task.tgid);
        Self {
            key,
            pid,
            tgid,
            user,
            name,
            cgroup,
            threads: 0,
            runnable: 0,
            weight: 0.0,
            effective_weight: 0.0,
            entitled_ns: 0,
            received_ns: 0,
            entitled_share: 0.0,
            received_share: 0.0,
            error_ns: 0,
            waited_ns: 0,
            waits: 0,
            turns: 0,
            turns_per_second: 0.0,
        }
    }

    fn add(&mut self, task: &TaskRow) {
        let is_active = task.received_ns > 0 || task.entitled_ns > 0 || task.is_runnable;
        if is_active || matches!(self.key, Key::Thread(_)) {
            self.weight += task.weight;
            self.effective_weight += task.effective_weight;
        }
        self.threads += 1;
        self.runnable += u32::from(task.is_runnable);
        self.entitled_ns += task.entitled_ns;
        self.received_ns += task.received_ns;
        self.error_ns = self.error_ns.saturating_add(task.error_ns);
        self.waited_ns += task.waited_ns;
        self.waits += u64::from(task.waits);
        self.turns += u64::from(task.turns);
    }
}

/// A thread that ended before it was seen has no name.
fn thread_name(task: &TaskRow) -> String {
    if task.comm.is_empty() { "(ended)".to_owned() } else { task.comm.clone() }
}

/// By key.
pub fn rows(interval: &Period, by: By, users: &Users) -> Vec<Row> {
    let mut rows: BTreeMap<Key, Row> = BTreeMap::new();
    for task in &interval.tasks {
        let key = match by {
            By::Thread => Key::Thread(task.pid),
            By::Process => Key::Process(task.tgid),
            By::User => Key::User(task.uid),
            By::Cgroup => Key::Cgroup(task.cgroup.clone()),
        };
        let row = rows.entry(key).or_insert_with_key(|key| Row::of(key.clone(), task, users));
        if by == By::Process && task.pid == task.tgid {
            row.name = thread_name(task);
        }
        row.add(task);
    }
    let mut rows: Vec<Row> = rows.into_values().collect();
    for row in &mut rows {
        row.entitled_share = interval.share(row.entitled_ns);
        row.received_share = interval.share(row.received_ns);
        row.turns_per_second = interval.rate(row.turns);
    }
    rows
}

/// A column: rows can be ordered by it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Column {
    /// Thread or process; the number of threads of a user or cgroup
    Pid,
    /// Its real user
    User,
    /// The weight as it was set, the largest first; nice 0 is 1024
    Weight,
    /// The weight after the modifiers
    Effective,
    /// CPU time entitled to
    Entitled,
    /// CPU time received
    #[default]
    Received,
    /// Service error, who received the least of what it was entitled to first
    Error,
    /// Mean wait for a CPU before a turn
    Wait,
    /// Turns a second
    Turns,
    /// Name
    Name,
}

impl Column {
    /// In the order of the screen.
    pub const ALL: [Self; 10] = [
        Self::Pid,
        Self::User,
        Self::Weight,
        Self::Effective,
        Self::Entitled,
        Self::Received,
        Self::Error,
        Self::Wait,
        Self::Turns,
        Self::Name,
    ];

    /// The interesting rows come first: the largest values, or the first name; for errors, those that received too little.
    fn order(self, a: &Row, b: &Row) -> Ordering {
        match self {
            Self::Pid => a.pid.cmp(&b.pid).then(b.threads.cmp(&a.threads)),
            Self::User => a.user.cmp(&b.user),
            Self::Weight => b.weight.total_cmp(&a.weight),
            Self::Effective => b.effective_weight.total_cmp(&a.effective_weight),
            Self::Entitled => b.entitled_ns.cmp(&a.entitled_ns),
            Self::Received => b.received_ns.cmp(&a.received_ns),
            Self::Error => a.error_ns.cmp(&b.error_ns),
            Self::Wait => b.wait_ns().unwrap_or(-1.0).total_cmp(&a.wait_ns().unwrap_or(-1.0)),
            Self::Turns => b.turns.cmp(&a.turns),
            Self::Name => a.name.cmp(&b.name),
        }
    }
}

/// In order, or the other way round; equal ones by key, so that they stay where they are.
pub fn sort(rows: &mut [Row], column: Column, is_inverted: bool) {
    rows.sort_by(|a, b| {
        let order = column.order(a, b);
        if is_inverted { order.reverse() } else { order }.then_with(|| a.key.cmp(&b.key))
    });
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// One second on 2 CPUs: two threads of one process, another process of another user, and one that ended unseen.
    pub fn interval() -> Period {
        let task = |pid, tgid, comm: &str, uid, cgroup: &str, received_ns| TaskRow {
            pid,
            tgid,
            comm: comm.to_owned(),
            weight: 1024.0,
            effective_weight: 512.0,
            uid,
            cgroup: cgroup.to_owned(),
            received_ns,
            entitled_ns: 500_000_000,
            error_ns: received_ns as i64 - 500_000_000,
            waited_ns: 30_000_000,
            waits: 10,
            turns: 20,
            is_runnable: received_ns > 0,
        };
        let idle = TaskRow { pid: 9, tgid: 9, comm: "idle".to_owned(), weight: 15.0, ..TaskRow::default() };
        Period {
            end_ns: 3_000_000_000,
            duration_ns: 1_000_000_000,
            cpus: 2,
            tasks: vec![
                task(12, 12, "web", Some(0), "/web", 900_000_000),
                task(13, 12, "worker", Some(0), "/web", 400_000_000),
                task(20, 20, "日本\u{1b}[2J", Some(77), "/job", 300_000_000),
                task(0, 33, "", None, "", 10_000_000),
                idle,
            ],
            ..Period::default()
        }
    }

    fn by(by: By) -> Vec<Row> {
        let mut rows = rows(&interval(), by, &Users::parse("root:x:0:0::/root:/bin/sh\n"));
        sort(&mut rows, Column::Received, false);
        rows
    }

    fn names(rows: &[Row]) -> Vec<(&str, u32, u64)> {
        rows.iter().map(|row| (row.name.as_str(), row.threads, row.received_ns / 1_000_000)).collect()
    }

    #[test]
    fn threads_processes_users_and_cgroups_have_what_their_threads_have() {
        let odd = "日本\u{1b}[2J";
        assert_eq!(
            names(&by(By::Thread)),
            [("web", 1, 900), ("worker", 1, 400), (odd, 1, 300), ("(ended)", 1, 10), ("idle", 1, 0)]
        );
        assert_eq!(
            names(&by(By::Process)),
            [("web", 2, 1300), (odd, 1, 300), ("(ended)", 1, 10), ("idle", 1, 0)]
        );
        assert_eq!(names(&by(By::User)), [("root", 2, 1300), ("77", 1, 300), ("(ended)", 2, 10)]);
        assert_eq!(names(&by(By::Cgroup)), [("/web", 2, 1300), ("/job", 1, 300), ("(ended)", 2, 10)]);
    }

    #[test]
    fn sums_shares_and_means() {
        let web = &by(By::Process)[0];
        assert_eq!((web.pid, web.weight, web.effective_weight), (Some(12), 2048.0, 1024.0));
        assert_eq!((web.received_share, web.entitled_share), (0.65, 0.5), "of two CPUs");
        assert_eq!((web.error_ns, web.wait_ns(), web.turns_per_second), (300_000_000, Some(3e6), 40.0));
        let ended = by(By::User).pop().expect("a row");
        assert_eq!(ended.weight, 1024.0, "an idle thread's weight divides nothing");
        let idle = by(By::Thread).pop().expect("a row");
        assert_eq!((idle.weight, idle.wait_ns()), (15.0, None));
    }

    #[test]
    fn every_column_orders() {
        let mut rows = by(By::Thread);
        let mut first = |column, is_inverted| {
            sort(&mut rows, column, is_inverted);
            rows[0].name.clone()
        };
        assert_eq!(first(Column::Received, false), "web");
        assert_eq!(first(Column::Received, true), "idle");
        assert_eq!(first(Column::Error, false), "(ended)");
        assert_eq!(first(Column::Pid, true), "日本\u{1b}[2J");
        assert_eq!(first(Column::Weight, true), "idle");
        assert_eq!(first(Column::Name, false), "(ended)");
        for column in Column::ALL {
            let forth = {
                sort(&mut rows, column, false);
                rows.clone()
            };
            sort(&mut rows, column, true);
            sort(&mut rows, column, false);
            assert_eq!(rows, forth, "{column:?}");
        }
    }

    #[test]
    fn text_is_looked_for_in_all_that_names_a_row() {
        let rows = by(By::Thread);
        let found = |text: &str| rows.iter().filter(|row| row.has(text)).count();
        assert_eq!(
            [found("work"), found("root"), found("/job"), found("20"), found("nobody")],
            [1, 2, 1, 1, 0]
        );
    }
}
