//! `--jobs P1:0:8,P2:1:4`: a workload of jobs that come once, as textbooks list them.

use std::fmt::Write as _;
use std::str::FromStr;

use divvy_policy::quantity::{format_time_ns, parse_time_ns};
use divvy_workload::{Workload, WorkloadError};

/// Where errors say that they are.
const NAME: &str = "--jobs";
/// Jobs that a person would write on a command line.
const MOST_JOBS: usize = 1000;

/// The jobs, in the order given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Jobs(Vec<Job>);

/// A job that comes once and runs without a pause.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    /// Its name.
    pub name: String,
    /// When it comes, in ns.
    pub arrival_ns: u64,
    /// CPU time that it needs, in ns.
    pub burst_ns: u64,
    /// Its nice value: the least is the highest priority.
    pub priority: i8,
}

impl Jobs {
    /// Jobs that were not written on a command line.
    pub fn new(jobs: Vec<Job>) -> Jobs {
        Jobs(jobs)
    }

    /// The jobs.
    pub fn list(&self) -> &[Job] {
        &self.0
    }

    /// The workload that they are, on one CPU.
    pub fn workload(&self) -> Result<Workload, WorkloadError> {
        let mut toml = "cpus = 1\n".to_owned();
        for Job { name, arrival_ns, burst_ns, priority } in &self.0 {
            let time = |ns: u64| format_time_ns(i64::try_from(ns).unwrap_or(i64::MAX));
            let (start, burst) = (time(*arrival_ns), time(*burst_ns));
            let _ = write!(
                toml,
                "[[task]]\nname = \"{name}\"\nnice = {priority}\nstart = \"{start}\"\nprogram = [ {{ run = \"{burst}\" }} ]\n"
            );
        }
        Workload::parse(&toml, NAME)
    }
}

impl FromStr for Jobs {
    type Err = String;

    fn from_str(text: &str) -> Result<Jobs, String> {
        let jobs: Vec<Job> = text.split(',').map(job).collect::<Result<_, _>>()?;
        if jobs.len() > MOST_JOBS {
            return Err(format!("{} jobs: at most {MOST_JOBS}; write more into a workload file", jobs.len()));
        }
        match jobs.iter().enumerate().find(|(i, job)| jobs[..*i].iter().any(|other| other.name == job.name)) {
            Some((_, twice)) => Err(format!("two jobs are called {}", twice.name)),
            None => Ok(Jobs(jobs)),
        }
    }
}

fn job(text: &str) -> Result<Job, String> {
    let wrong = |what: &str| {
        format!(
            "`{}`: {what}; write NAME:ARRIVAL:BURST[:PRIORITY], as in P1:0:8 or P1:0:8:3",
            text.escape_debug()
        )
    };
    let fields: Vec<&str> = text.trim().split(':').collect();
    let (name, arrival, burst, priority) = match fields[..] {
        [name, arrival, burst] => (name, arrival, burst, "0"),
        [name, arrival, burst, priority] => (name, arrival, burst, priority),
        _ => return Err(wrong("three or four fields are needed")),
    };
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
    if name.is_empty() || !name.chars().all(is_plain) {
        return Err(wrong("the name has letters, digits, _, - and ."));
    }
    let arrival_ns = time_ns(arrival).ok_or_else(|| wrong("the arrival is no time"))?;
    let burst_ns =
        time_ns(burst).filter(|ns| *ns > 0).ok_or_else(|| wrong("the burst is no time above 0"))?;
    let priority = priority.parse().ok().filter(|nice| (-20..=19).contains(nice));
    let priority = priority.ok_or_else(|| wrong("the priority is a nice value, -20 (highest) to 19"))?;
    Ok(Job { name: name.to_owned(), arrival_ns, burst_ns, priority })
}

/// A time with a unit, or a number of milliseconds.
fn time_ns(text: &str) -> Option<u64> {
    let is_bare = text.ends_with(|c: char| c.is_ascii_digit());
    let text = if is_bare { format!("{text}ms") } else { text.to_owned() };
    u64::try_from(parse_time_ns(&text).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_are_read_in_milliseconds_unless_they_have_units() {
        let jobs: Jobs = "P1:0:8,P2:1:4.5:-3,x:2us:1s".parse().expect("jobs");
        let times: Vec<_> = jobs.0.iter().map(|j| (j.arrival_ns, j.burst_ns, j.priority)).collect();
        assert_eq!(times, [(0, 8_000_000, 0), (1_000_000, 4_500_000, -3), (2_000, 1_000_000_000, 0)]);
        let workload = jobs.workload().expect("a workload");
        assert_eq!((workload.tasks.len(), workload.cpus, workload.tasks[1].start_ns), (3, 1, 1_000_000));
    }

    #[test]
    fn refusals_say_what_to_write() {
        let refusal = |text: &str| text.parse::<Jobs>().expect_err("must be refused");
        for (text, expected) in [
            ("", "``: three or four fields are needed; write NAME:ARRIVAL:BURST[:PRIORITY], as in P1:0:8"),
            ("P1:0", "`P1:0`: three or four fields"),
            ("P1:0:0", "`P1:0:0`: the burst is no time above 0"),
            ("P1:-1:4", "`P1:-1:4`: the arrival is no time"),
            ("P1:0:4:20", "`P1:0:4:20`: the priority is a nice value, -20 (highest) to 19"),
            ("P\"1:0:4", "`P\\\"1:0:4`: the name has letters"),
            ("P1:0:4,P1:1:4", "two jobs are called P1"),
        ] {
            assert!(refusal(text).starts_with(expected), "{}", refusal(text));
        }
        let many: Vec<String> = (0..1001).map(|i| format!("P{i}:0:1")).collect();
        assert!(refusal(&many.join(",")).starts_with("1001 jobs: at most 1000"));
    }
}
