//! A run as a schedule that the trace writers take.

use std::collections::BTreeMap;

use divvy_trace::{Counter, FIRST_TID, OutRun, OutThread, OutWake, Outgoing, State};

use divvy_results::course::{Course, Stretch, What};
use divvy_results::report::{Run, TaskResult};

/// Priority of nice 0.
const NICE_0: i16 = 120;
const NICE_0_WEIGHT: f64 = 1024.0;
/// A step of nice is a factor of about this.
const NICE_STEP: f64 = 1.25;

/// Each task that ran or was woken is a thread; none if the run kept no course. What a switch costs is idle time there:
/// slices are service, to the nanosecond. With series among the figures, service errors are counters, and so is what the
/// policy keeps of each task, if the course has that.
pub fn outgoing(run: &Run) -> Option<Outgoing> {
    let course = run.course.as_ref()?;
    let mut processes: BTreeMap<&str, i32> = BTreeMap::new();
    let mut threads = Vec::with_capacity(course.rows.len());
    for (&row, tid) in course.rows.iter().zip(FIRST_TID..) {
        let task = &run.tasks[row];
        threads.push(OutThread {
            tid,
            process: *processes.entry(&task.process).or_insert(tid),
            name: task.name.clone(),
            process_name: task.process.clone(),
            prio: prio(task.weight),
        });
    }
    let rests = Rests::of(course);
    let runs = |cpu: &Vec<Stretch>| {
        let run = |s: &Stretch| OutRun {
            thread: s.task as usize,
            from_ns: s.from_ns,
            to_ns: s.to_ns,
            left: rests.state(s.task, s.to_ns),
        };
        cpu.iter().map(run).collect()
    };
    let counters = service_errors(run).into_iter().chain(values(course, &threads)).collect();
    Some(Outgoing { cpus: course.cpus.iter().map(runs).collect(), wakes: wakes(course), counters, threads })
}

/// What tasks did when they left their CPU: the state by task and time.
struct Rests(BTreeMap<(u32, u64), State>);

impl Rests {
    /// Who is woken at the time at which it went to rest did not rest.
    fn of(course: &Course) -> Rests {
        let mut rests = BTreeMap::new();
        for moment in &course.moments {
            let key = (moment.task, moment.at_ns);
            match moment.what {
                What::Rests => drop(rests.insert(key, State::Sleep)),
                What::Gone => drop(rests.insert(key, State::Dead)),
                What::Woken(_) => drop(rests.remove(&key)),
            }
        }
        Rests(rests)
    }

    fn state(&self, task: u32, at_ns: u64) -> State {
        self.0.get(&(task, at_ns)).copied().unwrap_or(State::Runnable)
    }
}

/// All but those that ended no rest.
fn wakes(course: &Course) -> Vec<OutWake> {
    let mut rested_ns: Vec<Option<u64>> = vec![None; course.rows.len()];
    let mut seen = vec![false; course.rows.len()];
    let mut wakes = Vec::new();
    for moment in &course.moments {
        let task = moment.task as usize;
        match moment.what {
            What::Woken(by) => {
                if rested_ns[task] != Some(moment.at_ns) {
                    let is_new = course.from_ns == 0 && !seen[task];
                    wakes.push(OutWake { thread: task, at_ns: moment.at_ns, by, is_new });
                }
            }
            What::Rests | What::Gone => rested_ns[task] = Some(moment.at_ns),
        }
        seen[task] = true;
    }
    wakes
}

/// The nice value of a weight, if it has one.
fn prio(weight: f64) -> i16 {
    let nice = (libm::log(NICE_0_WEIGHT / weight) / libm::log(NICE_STEP)).round();
    let is_near = (weight * libm::pow(NICE_STEP, nice) / NICE_0_WEIGHT - 1.0).abs() < 0.1;
    if (-20.0..=19.0).contains(&nice) && is_near { NICE_0 + nice as i16 } else { NICE_0 }
}

/// What the policy keeps, a counter for each of its numbers and each task.
fn values(course: &Course, threads: &[OutThread]) -> Vec<Counter> {
    let mut counters: BTreeMap<(u32, u32), Vec<(u64, i64)>> = BTreeMap::new();
    for change in &course.changes {
        counters.entry((change.value, change.task)).or_default().push((change.at_ns, change.number));
    }
    let counter = |((value, task), points): ((u32, u32), Vec<(u64, i64)>)| {
        let shown = course.shown.get(value as usize)?;
        let name = format!("{} of {}", shown.name, threads[task as usize].name);
        Some(Counter { name, unit: shown.unit, points })
    };
    counters.into_iter().filter_map(counter).collect()
}

fn service_errors(run: &Run) -> Vec<Counter> {
    let Some(figures) = &run.figures else { return Vec::new() };
    let times = &figures.series.times_ns;
    let counter = |name: &TaskResult, errors: &[i64]| Counter {
        name: format!("service error of {}", name.name),
        unit: "ns",
        points: times.iter().copied().zip(errors.iter().copied()).collect(),
    };
    figures.series.tasks.iter().map(|series| counter(&run.tasks[series.task], &series.error_ns)).collect()
}
