//! `divvy exercise --seed N`: questions on how policies schedule a few jobs, their answers, and the marking of a student's.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::{Args, ValueHint};
use divvy_policy::{Failure, FailureKind};
use divvy_policy::{spec, text_file};
use divvy_results::report::Run;
use divvy_sim::run::{Options, simulate};
use divvy_workload::{Purpose, Stream, stream};

use crate::args::jobs::{Job, Jobs};
use crate::output::Output;

/// Ask for waiting and completion times of random jobs, and mark the answers
///
/// The same seed asks the same questions. A file of answers has a line `N = NUMBER` for each question; empty lines and lines that begin with #
/// are skipped. Exit code 3 if an answer is wrong or missing.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  divvy exercise --seed 7
  divvy exercise --seed 7 --answers mine.txt
  divvy exercise --seed 7 --solution")]
pub struct ExerciseArgs {
    /// Number that the questions come from
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,

    /// Mark the answers in this file
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with = "solution")]
    pub answers: Option<PathBuf>,

    /// Print the answers, and how each comes about
    #[arg(long)]
    pub solution: bool,
}

/// A file of answers that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("cannot read {}: {reason}", file.display())]
pub struct NoAnswers {
    file: PathBuf,
    reason: String,
}

impl Failure for NoAnswers {
    fn kind(&self) -> FailureKind {
        FailureKind::BadInput
    }
}

/// A line of answers that is none.
#[derive(Debug, thiserror::Error)]
#[error("{}:{line}: `{}` is no answer; write `N = NUMBER`, as in `1 = 5.25`, with N from 1 to {last}", file.display(), text.escape_debug())]
pub struct BadAnswer {
    file: PathBuf,
    line: usize,
    text: String,
    last: usize,
}

impl Failure for BadAnswer {
    fn kind(&self) -> FailureKind {
        FailureKind::BadInput
    }
}

/// Not all answers are right.
#[derive(Debug, thiserror::Error)]
#[error("{right} of {all} answers are right")]
pub struct NotAllRight {
    right: usize,
    all: usize,
}

impl Failure for NotAllRight {
    fn kind(&self) -> FailureKind {
        FailureKind::NotMet
    }
}

/// Answers are rounded to two places.
const ROUNDING: f64 = 0.005_000_1;
/// Bytes of a file of answers.
const MOST_BYTES: u64 = 64 << 10;
const MS: u64 = 1_000_000;

/// A question and its answer, in ms.
struct Question {
    text: String,
    spec: String,
    answer: f64,
}

/// The jobs, the quantum in ms, and what is asked of them.
struct Exercise {
    jobs: Jobs,
    quantum_ms: u64,
    questions: Vec<Question>,
}

/// Prints the questions, the answers, or the marks.
pub fn run(args: &ExerciseArgs, output: Output) -> anyhow::Result<()> {
    let exercise = exercise(args.seed)?;
    let Some(file) = &args.answers else {
        return output.write(&questions(&exercise, args), None);
    };
    let given = answers(file, exercise.questions.len())?;
    let (text, right) = marked(&exercise, &given);
    output.write(&text, None)?;
    let all = exercise.questions.len();
    if right == all { Ok(()) } else { Err(NotAllRight { right, all }.into()) }
}

/// Four jobs. No two come at once, none comes when a slice of whole quanta can end, and the CPU is not idle before the last one came. So the
/// rules decide everything.
fn jobs(numbers: &mut Stream, quantum_ms: u64) -> Jobs {
    let mut arrival_ns = 0;
    let mut work_ms = 0;
    let mut priorities: Vec<i8> = (1..=9).collect();
    let one = |i: u64| {
        let burst = quantum_ms / 2 + 1 + numbers.below(3 * quantum_ms);
        let priority = priorities.remove(numbers.below(priorities.len() as u64) as usize);
        let job = Job { name: format!("P{}", i + 1), arrival_ns, burst_ns: burst * MS, priority };
        // Later than this one, and before the CPU has done all work. Halves, because bursts and quanta are whole.
        work_ms += burst;
        let whole_ms = arrival_ns / MS;
        let next_ms = whole_ms + 1 + numbers.below(quantum_ms.min(work_ms - 1 - whole_ms));
        arrival_ns = next_ms * MS + MS / 2;
        job
    };
    Jobs::new((0..4).map(one).collect())
}

fn exercise(seed: u64) -> anyhow::Result<Exercise> {
    let mut numbers = stream(seed, 0, 0, Purpose::Arrival);
    let quantum_ms = 2 + numbers.below(3);
    let jobs = jobs(&mut numbers, quantum_ms);
    let asked = jobs.list()[numbers.below(4) as usize].name.clone();
    let mut questions = Vec::new();
    let mut ask = |spec: &str, policy: &str, what: &str, of: &dyn Fn(&Run) -> Option<f64>| {
        let run = simulated(&jobs, spec, quantum_ms)?;
        let answer = of(&run).context("the jobs of an exercise end")? / MS as f64;
        questions.push(Question { text: format!("{policy}: {what}?"), spec: spec.to_owned(), answer });
        anyhow::Ok(())
    };
    let waiting = |run: &Run| run.wait_ns.mean;
    let turnaround = |run: &Run| run.response_ns.mean;
    let completion =
        |run: &Run| run.tasks.iter().find(|task| task.name == asked)?.finished_ns.map(|ns| ns as f64);
    ask("fcfs", "First come, first served", "what is the mean waiting time", &waiting)?;
    ask("sjf", "Shortest job first, not preemptive", "what is the mean waiting time", &waiting)?;
    ask("srpt", "Shortest remaining time first", "what is the mean turnaround time", &turnaround)?;
    let turns = format!("Round-robin with a quantum of {quantum_ms}");
    ask("rr", &turns, &format!("when is {asked} completed"), &completion)?;
    ask("rr", &turns, "what is the mean response time", &|run| run.wake_delay_ns.mean)?;
    ask("priority", "Priority, preemptive (1 is the highest)", "what is the mean waiting time", &waiting)?;
    ask("hrrn", "Highest response ratio next", &format!("when is {asked} completed"), &completion)?;
    Ok(Exercise { jobs, quantum_ms, questions })
}

fn simulated(jobs: &Jobs, spec: &str, quantum_ms: u64) -> anyhow::Result<Run> {
    let specs = [spec::parse(spec, divvy_policy::all())?];
    let options = Options { quantum_ns: Some(quantum_ms * MS), ..Options::default() };
    let mut report = simulate(&jobs.workload()?, &specs, &options, &())?;
    Ok(report.runs.remove(0))
}

fn questions(exercise: &Exercise, args: &ExerciseArgs) -> String {
    let seed = args.seed;
    let mut out = format!("Exercise {seed}: one CPU, no switching costs, all times in ms\n\n");
    out.push_str(
        "Among equal jobs the running one goes on. Otherwise the one that has waited longest runs.\n\n",
    );
    out.push_str("job  arrival  burst  priority\n");
    for Job { name, arrival_ns, burst_ns, priority } in exercise.jobs.list() {
        let (arrival, burst) = (*arrival_ns as f64 / MS as f64, burst_ns / MS);
        let _ = writeln!(out, "{name:3}  {arrival:7}  {burst:5}  {priority:8}");
    }
    out.push('\n');
    for (i, Question { text, spec, answer }) in exercise.questions.iter().enumerate() {
        let _ = writeln!(out, "{}. {text}", i + 1);
        if args.solution {
            let (jobs, quantum_ms) = (list(&exercise.jobs), exercise.quantum_ms);
            let _ = writeln!(out, "   {answer:.2}");
            let _ = writeln!(out, "   divvy sim --jobs {jobs} -p {spec} --quantum {quantum_ms}ms --textbook");
        }
    }
    if !args.solution {
        let _ = writeln!(
            out,
            "\nWrite a line `1 = 5.25` for each answer, rounded to two places, into a file. To mark it:\n\
             divvy exercise --seed {seed} --answers FILE"
        );
    }
    out
}

/// As `--jobs` takes them.
fn list(jobs: &Jobs) -> String {
    let one = |job: &Job| {
        let ms = |ns: u64| ns as f64 / MS as f64;
        format!("{}:{}:{}:{}", job.name, ms(job.arrival_ns), ms(job.burst_ns), job.priority)
    };
    jobs.list().iter().map(one).collect::<Vec<_>>().join(",")
}

/// The text of a file, without the mark that some editors write first.
fn read(file: &Path) -> Result<String, NoAnswers> {
    let text = text_file::read(file, MOST_BYTES, "64 KiB; answers are some lines")
        .map_err(|error| NoAnswers { file: file.to_owned(), reason: error.to_string() })?;
    Ok(text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text))
}

/// The answers of a file; the last one counts if a question has several.
fn answers(file: &Path, questions: usize) -> anyhow::Result<Vec<Option<f64>>> {
    let text = read(file)?;
    let mut given = vec![None; questions];
    for (i, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let answer = line.split_once('=').and_then(|(number, answer)| {
            let number: usize = number.trim().parse().ok()?;
            let answer: f64 = answer.trim().parse().ok()?;
            Some((number.checked_sub(1)?, answer)).filter(|_| answer.is_finite())
        });
        match answer.filter(|(number, _)| *number < questions) {
            Some((number, answer)) => given[number] = Some(answer),
            None => {
                let (file, text) = (file.to_owned(), line.chars().take(80).collect());
                return Err(BadAnswer { file, line: i + 1, text, last: questions }.into());
            }
        }
    }
    Ok(given)
}

/// A line for each question, and how many answers are right. What is right is not told.
fn marked(exercise: &Exercise, given: &[Option<f64>]) -> (String, usize) {
    let mut out = String::new();
    let mut right = 0;
    for (i, (question, given)) in exercise.questions.iter().zip(given).enumerate() {
        let mark = match given {
            Some(given) if (given - question.answer).abs() <= ROUNDING => {
                right += 1;
                "right".to_owned()
            }
            Some(given) => format!("wrong: {given}"),
            None => "no answer".to_owned(),
        };
        let _ = writeln!(out, "{}. {}  {mark}", i + 1, question.text);
    }
    (out, right)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The rules that are taught, for each half of a millisecond: another way to the same numbers.
    fn completions(jobs: &Jobs, spec: &str, quantum_ms: u64) -> Vec<f64> {
        let jobs = jobs.list();
        let half = MS / 2;
        let mut left: Vec<u64> = jobs.iter().map(|job| job.burst_ns / half).collect();
        let mut ends = vec![0.0; jobs.len()];
        let mut since = vec![0; jobs.len()];
        let (mut line, mut running, mut used, mut now) = (Vec::new(), None::<usize>, 0, 0_u64);
        while left.iter().any(|left| *left > 0) {
            let new: Vec<usize> = (0..jobs.len()).filter(|&i| jobs[i].arrival_ns == now * half).collect();
            new.iter().for_each(|&i| since[i] = now);
            line.extend(new);
            let (ran, over) = (running, spec == "rr" && used == 2 * quantum_ms);
            let preemptive = ["srpt", "priority"].contains(&spec);
            if over || preemptive {
                line.extend(running.take());
            }
            if running.is_none() {
                used = 0;
                let ratio = |i: usize| {
                    let waited = (now * half - jobs[i].arrival_ns) as f64;
                    -(waited + jobs[i].burst_ns as f64) / jobs[i].burst_ns as f64
                };
                let key = |i: usize| match spec {
                    "sjf" | "srpt" => left[i] as f64,
                    "priority" => f64::from(jobs[i].priority),
                    "hrrn" => ratio(i),
                    _ => 0.0,
                };
                // Among equals the running one goes on, else the one that has waited longest.
                let is_line = ["rr", "fcfs"].contains(&spec);
                let place = |i: usize| if is_line { (false, 0) } else { (ran != Some(i), since[i]) };
                let order =
                    |a: &usize, b: &usize| key(*a).total_cmp(&key(*b)).then(place(*a).cmp(&place(*b)));
                if let Some(next) = line.iter().copied().min_by(order) {
                    line.retain(|&i| i != next);
                    running = Some(next);
                    ran.into_iter().filter(|&i| i != next).for_each(|i| since[i] = now);
                }
            }
            now += 1;
            if let Some(i) = running {
                left[i] -= 1;
                used += 1;
                if left[i] == 0 {
                    ends[i] = now as f64 / 2.0;
                    running = None;
                }
            }
        }
        ends
    }

    #[test]
    fn the_answers_are_those_of_the_rules() {
        for seed in 0..60 {
            let Exercise { jobs, quantum_ms, .. } = exercise(seed).expect("an exercise");
            for spec in ["fcfs", "sjf", "srpt", "rr", "priority", "hrrn"] {
                let run = simulated(&jobs, spec, quantum_ms).expect("a run");
                let ends: Vec<f64> =
                    run.tasks.iter().map(|task| task.finished_ns.expect("it ended") as f64 / 1e6).collect();
                assert_eq!(
                    ends,
                    completions(&jobs, spec, quantum_ms),
                    "{spec}, seed {seed}: {}",
                    list(&jobs)
                );
            }
        }
    }

    /// Nothing is decided by the order of the list.
    #[test]
    fn no_two_jobs_come_at_once_and_the_cpu_never_waits_for_one() {
        for seed in 0..1_000 {
            let Exercise { jobs, .. } = exercise(seed).expect("an exercise");
            let mut work_ns = 0;
            for pair in jobs.list().windows(2) {
                work_ns += pair[0].burst_ns;
                assert!(pair[0].arrival_ns < pair[1].arrival_ns, "seed {seed}: {}", list(&jobs));
                assert!(pair[1].arrival_ns < work_ns, "seed {seed}: {}", list(&jobs));
            }
        }
    }

    #[test]
    fn a_file_of_answers_is_read_whole_or_refused() {
        let file = std::env::temp_dir().join(format!("divvy-answers-{}", std::process::id()));
        let try_text = |bytes: &[u8]| {
            std::fs::write(&file, bytes).expect("writable");
            answers(&file, 7).map(|given| given[0]).map_err(|error| error.to_string())
        };
        assert_eq!(try_text("\u{feff}1 = 5\n".as_bytes()), Ok(Some(5.0)));
        let long = format!("{}1 = 5\n", "# no answer\n".repeat(6_000));
        assert!(try_text(long.as_bytes()).is_err_and(|error| error.contains("more than 64 KiB")));
        assert!(try_text(b"1 = \xff\n").is_err_and(|error| error.contains("UTF-8")));
        std::fs::remove_file(&file).expect("it is there");
        assert!(
            answers(&std::env::temp_dir(), 7).is_err_and(|error| error.to_string().contains("plain file"))
        );
    }

    #[test]
    fn right_answers_are_right_and_others_are_not() {
        let exercise = exercise(7).expect("an exercise");
        let rounded: Vec<_> =
            exercise.questions.iter().map(|q| Some((q.answer * 100.0).round() / 100.0)).collect();
        assert_eq!(marked(&exercise, &rounded).1, 7);
        let mut wrong = rounded;
        wrong[2] = wrong[2].map(|answer| answer + 0.02);
        wrong[4] = None;
        let (text, right) = marked(&exercise, &wrong);
        assert_eq!(right, 5);
        assert!(text.contains("wrong: ") && text.contains("no answer"), "{text}");
    }

    #[test]
    fn another_seed_asks_something_else() {
        let answers =
            |seed| exercise(seed).expect("an exercise").questions.iter().map(|q| q.answer).collect();
        let (one, two): (Vec<f64>, Vec<f64>) = (answers(1), answers(2));
        assert_eq!(one, answers(1));
        assert_ne!(one, two);
    }
}
