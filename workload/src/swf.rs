//! Logs of jobs in the Standard Workload Format, as those of the Parallel Workloads Archive.
//!
//! A line is a job: 18 numbers, times in seconds, -1 for what is not known. Lines that begin with `;` are comments, and some
//! of them describe the machine. A job of n processors becomes a task of n instances, threads of one process, and each has
//! the job's run time. `docs/reference/trace-formats.md` says what becomes of each field.

use std::collections::BTreeMap;
use std::ops::Range;

use divvy_policy::units::{MAX_NS, parse_duration_ns, show_duration};

use crate::error::{Source, WorkloadError};
use crate::notes::Notes;
use crate::{
    Arrivals, DEFAULT_QUANTUM_NS, Dist, Group, MAX_CPUS, MAX_INSTANCES, Place, Problem, Step, Task,
    WeightSetting, Workload,
};

/// The fields of a line, in the words of the standard.
const FIELDS: [&str; 18] = [
    "job number",
    "submit time",
    "wait time",
    "run time",
    "number of allocated processors",
    "average CPU time used",
    "used memory",
    "requested number of processors",
    "requested time",
    "requested memory",
    "status",
    "user",
    "group",
    "executable",
    "queue",
    "partition",
    "preceding job",
    "think time",
];
const JOB: usize = 0;
const SUBMIT: usize = 1;
const RUN: usize = 3;
const ALLOCATED: usize = 4;
const REQUESTED: usize = 7;
const STATUS: usize = 10;
const USER: usize = 11;
const EXECUTABLE: usize = 13;

/// Values of the status.
const FAILED: u64 = 0;
const PARTS: Range<u64> = 2..5;
const CANCELLED: u64 = 5;

/// How a log of jobs becomes a workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JobLog {
    /// The time that a second of the log becomes. More than 0.
    pub second_ns: u64,
    /// Leaves out jobs that failed or were cancelled while they ran.
    pub completed_only: bool,
}

impl Default for JobLog {
    /// Jobs of hours are thousands of quanta then, not millions.
    fn default() -> Self {
        Self { second_ns: 1_000_000, completed_only: false }
    }
}

/// Whether a file with this beginning is a log of jobs: a comment of its own kind, or a line of numbers.
pub(crate) fn is_swf(start: &[u8]) -> bool {
    let text = start.trim_ascii_start();
    let line = text.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let is_number =
        |word: &[u8]| word.iter().all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b'-'));
    let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    text.starts_with(b";") || (words.clone().count() > 1 && words.all(is_number))
}

/// Reads a log. Returns the workload with notes for the user: what was left out or assumed. `file` is the file's name.
///
/// # Errors
/// With file, line and column, and with what to do.
pub(crate) fn parse(text: &str, file: &str, log: &JobLog) -> Result<(Workload, Vec<String>), WorkloadError> {
    let source = &Source { file, text };
    let mut reader = Reader {
        source,
        log,
        notes: Notes::default(),
        cpus: None,
        jobs: Vec::new(),
        users: BTreeMap::new(),
        instances: 0,
    };
    let mut at = 0;
    for line in text.split('\n') {
        reader.line(at, line)?;
        at += line.len() + 1;
    }
    reader.workload()
}

/// A job that ran.
struct Job {
    /// Where its line begins.
    at: usize,
    number: u64,
    submit_ns: u64,
    run_ns: u64,
    processors: u32,
    user: Option<usize>,
    executable: Option<u64>,
}

struct Reader<'a> {
    source: &'a Source<'a>,
    log: &'a JobLog,
    notes: Notes,
    cpus: Option<u32>,
    jobs: Vec<Job>,
    /// The group of each user, by the order of the log.
    users: BTreeMap<u64, usize>,
    instances: u64,
}

/// A line's fields, and where each stands in the text.
struct Fields<'a> {
    source: &'a Source<'a>,
    words: [(usize, &'a str); FIELDS.len()],
}

impl<'a> Reader<'a> {
    fn line(&mut self, at: usize, line: &'a str) -> Result<(), WorkloadError> {
        match line.trim_start().strip_prefix(';') {
            Some(comment) => self.header(at, comment),
            None if line.trim().is_empty() => Ok(()),
            None => {
                let fields = Fields::new(self.source, at, line)?;
                self.job(&fields)
            }
        }
    }

    /// `; MaxProcs: 128` is the number of processors. Other comments say nothing that a workload has.
    fn header(&mut self, at: usize, comment: &str) -> Result<(), WorkloadError> {
        let Some((key, value)) = comment.split_once(':') else { return Ok(()) };
        if !key.trim().eq_ignore_ascii_case("MaxProcs") {
            return Ok(());
        }
        let value = value.split_whitespace().next().unwrap_or_default();
        if value == "-1" {
            return Ok(());
        }
        self.cpus =
            Some(value.parse().ok().filter(|cpus| (1..=MAX_CPUS).contains(cpus)).ok_or_else(|| {
                let message =
                    format!("`MaxProcs` is `{}`", value.chars().take(32).collect::<String>().escape_debug());
                let help = format!("a workload has 1 to {MAX_CPUS} CPUs: write how many it shall have here");
                self.source.error(at..at + 1, message, help)
            })?);
        Ok(())
    }

    fn job(&mut self, fields: &Fields) -> Result<(), WorkloadError> {
        let at = fields.words[JOB].0;
        let status = fields.whole(STATUS)?;
        let (submit, run) = (fields.seconds(SUBMIT)?, fields.seconds(RUN)?);
        let (allocated, requested) = (fields.whole(ALLOCATED)?, fields.whole(REQUESTED)?);
        let (user, executable) = (fields.whole(USER)?, fields.whole(EXECUTABLE)?);
        let number = fields
            .whole(JOB)?
            .ok_or_else(|| fields.error(JOB, "a job without a number", "number the jobs from 1"))?;
        if status.is_some_and(|status| PARTS.contains(&status)) {
            self.notes.say(at, "a part of a job that has a line of its own is left out");
            return Ok(());
        }
        if self.log.completed_only && status.is_some_and(|status| status == FAILED || status == CANCELLED) {
            self.notes.say(at, "a job that failed or was cancelled is left out");
            return Ok(());
        }
        let (Some(submit_ns), Some(run_ns)) = (submit, run.filter(|ns| *ns > 0)) else {
            self.notes.say(at, "a job with no run or submit time is left out");
            return Ok(());
        };
        let used = |count: Option<u64>| count.filter(|&count| count > 0);
        let processors = used(allocated).or(used(requested)).unwrap_or(1);
        if used(allocated).is_none() {
            self.notes
                .say(at, "processors of this job: as requested, or one, for those that it had are not known");
        }
        self.instances = self.instances.saturating_add(processors);
        if self.instances > MAX_INSTANCES {
            let message = format!("the jobs up to here are {} tasks, one for each processor", self.instances);
            let help = format!("the most is {MAX_INSTANCES}: leave out this line and those after it");
            return Err(fields.error(JOB, message, help));
        }
        let groups = self.users.len();
        self.jobs.push(Job {
            at,
            number,
            submit_ns: self.scaled(submit_ns).ok_or_else(|| fields.too_long(SUBMIT))?,
            run_ns: self.scaled(run_ns).ok_or_else(|| fields.too_long(RUN))?.max(1),
            // At most a million, by the check above.
            processors: processors as u32,
            user: user.map(|user| *self.users.entry(user).or_insert(groups)),
            executable,
        });
        Ok(())
    }

    /// `None` if it is longer than a workload may be.
    fn scaled(&self, ns: u64) -> Option<u64> {
        let scaled = u128::from(ns) * u128::from(self.log.second_ns) / 1_000_000_000;
        u64::try_from(scaled).ok().filter(|ns| *ns <= MAX_NS)
    }

    fn workload(mut self) -> Result<(Workload, Vec<String>), WorkloadError> {
        let source = self.source;
        let Some(first_ns) = self.jobs.iter().map(|job| job.submit_ns).min() else {
            let help = "a line has 18 numbers; the fourth, the run time, is more than 0";
            return Err(source.error(0..0, "the log has no job that ran", help));
        };
        let first_at = self.jobs[0].at;
        let scale =
            format!("a second becomes {} (divvy convert --second)", show_duration(self.log.second_ns));
        self.notes.say(first_at, scale);
        let widest = self.jobs.iter().map(|job| job.processors).max().unwrap_or(1);
        let cpus = self.cpus.unwrap_or_else(|| {
            let cpus = widest.min(MAX_CPUS);
            let what = format!(
                "the log has no MaxProcs: {cpus} CPUs, as many as a job has, unless --cpus says otherwise"
            );
            self.notes.say(first_at, what);
            cpus
        });
        for job in self.jobs.iter().filter(|job| job.processors > cpus) {
            self.notes.say(job.at, "this job has more tasks than there are CPUs: not all run at once");
        }
        let mut groups = vec![Group::new(String::new(), None); self.users.len()];
        self.users.iter().for_each(|(user, &index)| groups[index].name = format!("user-{user}"));
        let workload = Workload {
            name: source.file.to_owned(),
            cpus,
            quantum_ns: DEFAULT_QUANTUM_NS,
            duration_ns: None,
            warmup_ns: 0,
            tick_ns: None,
            switch_cost_ns: 0,
            migration_cost_ns: 0,
            topology: None,
            groups,
            tasks: self.jobs.iter().map(|job| task(job, first_ns)).collect(),
            locks: Vec::new(),
            semaphores: Vec::new(),
            barriers: Vec::new(),
        };
        workload.check().map_err(|problem| self.located(problem))?;
        Ok((workload, self.notes.lines(source)))
    }

    fn located(&self, problem: Problem) -> WorkloadError {
        let Problem { place, message, help } = problem;
        match place {
            Place::Task(index, "name") => {
                let at = self.jobs[index].at;
                let help = "give each job its own; parts of a job have status 2, 3 or 4";
                self.source.error(at..at + 1, "another job has this number", help)
            }
            Place::Task(index, _) | Place::Step(index, _) => {
                let at = self.jobs[index].at;
                self.source.error(at..at + 1, message, help)
            }
            _ => self.source.error(0..1, message, help),
        }
    }
}

/// Times count from the first job.
fn task(job: &Job, first_ns: u64) -> Task {
    let name = format!("job-{}", job.number);
    let executable = job.executable.map(|number| format!("app-{number}"));
    let process = (job.processors > 1).then(|| name.clone());
    Task {
        weight: WeightSetting::DEFAULT,
        group: job.user,
        executable: executable.or_else(|| process.clone()),
        process,
        count: job.processors,
        start_ns: job.submit_ns - first_ns,
        stop_ns: None,
        affinity: None,
        arrivals: Arrivals::Once,
        program: vec![Step::Run(Dist::Constant(job.run_ns))],
        name,
    }
}

impl<'a> Fields<'a> {
    /// All are numbers, also those that are not used: else the line is damaged.
    fn new(source: &'a Source<'a>, at: usize, line: &'a str) -> Result<Self, WorkloadError> {
        let line = line.trim_end();
        let mut words = [(at, ""); FIELDS.len()];
        let (mut count, mut begin) = (0, at);
        for word in line.split([' ', '\t']) {
            if !word.is_empty() {
                if let Some(field) = words.get_mut(count) {
                    *field = (begin, word);
                }
                count += 1;
            }
            begin += word.len() + 1;
        }
        if count != FIELDS.len() {
            let message = format!("{count} fields");
            let help = "a job has 18 numbers (Standard Workload Format), with -1 for what is not known";
            return Err(source.error(at..at + line.len(), message, help));
        }
        let fields = Self { source, words };
        match (0..FIELDS.len()).find(|&field| !is_number(fields.words[field].1)) {
            Some(field) => Err(fields.no_number(field, "is no number")),
            None => Ok(fields),
        }
    }

    fn error(&self, field: usize, message: impl Into<String>, help: impl Into<String>) -> WorkloadError {
        let (at, word) = self.words[field];
        self.source.error(at..at + word.len(), message, help)
    }

    fn no_number(&self, field: usize, what: &str) -> WorkloadError {
        let start: String = self.words[field].1.chars().take(32).collect();
        let message = format!("the {} `{}` {what}", FIELDS[field], start.escape_debug());
        self.error(field, message, "write -1 if it is not known")
    }

    fn too_long(&self, field: usize) -> WorkloadError {
        let message = format!("the {} is too long", FIELDS[field]);
        self.error(field, message, "the most is 2^60 ns (36 years), in the log and after --second")
    }

    /// -1, also with decimals.
    fn is_unknown(&self, field: usize) -> bool {
        let rest = self.words[field].1.strip_prefix("-1");
        rest.is_some_and(|rest| {
            rest.is_empty() || rest.starts_with('.') && rest[1..].bytes().all(|digit| digit == b'0')
        })
    }

    /// A whole number; `None` if it is not known.
    fn whole(&self, field: usize) -> Result<Option<u64>, WorkloadError> {
        if self.is_unknown(field) {
            return Ok(None);
        }
        let value = self.words[field].1.parse();
        value.map(Some).map_err(|_| self.no_number(field, "is no whole number from 0 to 2^64"))
    }

    /// A time in ns; `None` if it is not known.
    fn seconds(&self, field: usize) -> Result<Option<u64>, WorkloadError> {
        let word = self.words[field].1;
        if self.is_unknown(field) {
            return Ok(None);
        }
        if word.starts_with('-') {
            return Err(self.no_number(field, "is negative"));
        }
        parse_duration_ns(&format!("{word}s")).map(Some).map_err(|problem| {
            let message = format!("the {}: {problem}", FIELDS[field]);
            self.error(field, message, "it is a number of seconds, or -1 if it is not known")
        })
    }
}

/// A decimal number without an exponent.
fn is_number(word: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let word = word.strip_prefix('-').unwrap_or(word);
    let (whole, fraction) = word.split_once('.').unwrap_or((word, "0"));
    digits(whole) && digits(fraction)
}
