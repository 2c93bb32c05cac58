//! The rules that the slices of a run must keep, without a look at the engine.

use std::collections::BTreeMap;

use divvy_workload::{Arrivals, Dist, Step, Task, Workload};

use divvy_tests::record::Record;

/// Result rows of each task, as the report's documentation has them: instances, or one for a class.
pub fn rows(workload: &Workload) -> Vec<std::ops::Range<usize>> {
    let mut first = 0;
    let width = |task: &Task| match task.arrivals {
        Arrivals::Open { .. } | Arrivals::Forked { .. } => 1,
        Arrivals::Once | Arrivals::Closed { .. } => task.count as usize,
    };
    workload
        .tasks
        .iter()
        .map(|task| {
            let range = first..first + width(task);
            first = range.end;
            range
        })
        .collect()
}

/// The task of each row.
pub fn owner_of_rows(workload: &Workload) -> Vec<&Task> {
    workload.tasks.iter().zip(rows(workload)).flat_map(|(task, rows)| rows.map(move |_| task)).collect()
}

/// Slices are told in order of their ends, none is empty, no two overlap on a CPU or in a task, and each is
/// where its task may run.
pub fn check_slices(workload: &Workload, record: &Record) {
    let owners = owner_of_rows(workload);
    let mut cpu_free = vec![0; workload.cpus as usize];
    let mut task_free = BTreeMap::new();
    let mut last_end = 0;
    for slice in &record.slices {
        assert!(slice.from_ns < slice.to_ns, "an empty {slice:?}");
        assert!(slice.to_ns >= last_end, "{slice:?} comes after one that ended at {last_end}");
        last_end = slice.to_ns;
        let free = std::mem::replace(&mut cpu_free[slice.cpu.index()], slice.to_ns);
        assert!(free <= slice.from_ns, "{slice:?} overlaps another on its CPU, until {free}");
        let free = task_free.insert(slice.task, slice.to_ns).unwrap_or(0);
        assert!(free <= slice.from_ns, "{slice:?} runs elsewhere until {free}");
        let task = owners[slice.row];
        let allowed = task.affinity.as_ref().is_none_or(|cpus| cpus.contains(&slice.cpu));
        assert!(allowed, "{slice:?} is on a CPU that {} may not use", task.name);
        assert!(slice.from_ns >= task.start_ns, "{slice:?} is before its start");
        assert!(task.stop_ns.is_none_or(|stop| slice.to_ns <= stop), "{slice:?} is after its stop");
    }
}

/// Service by row is the sum of its slices, and adds up to the utilization.
pub fn check_service(workload: &Workload, record: &Record) {
    let run = &record.run;
    let mut sums = vec![0; run.tasks.len()];
    for slice in &record.slices {
        sums[slice.row] += slice.to_ns - slice.from_ns;
    }
    let reported: Vec<u64> = run.tasks.iter().map(|t| t.service_ns).collect();
    assert_eq!(sums, reported, "service by slices, and as reported");
    let total: u64 = sums.iter().sum();
    let cpu_time = run.duration_ns * u64::from(workload.cpus);
    assert!(total <= cpu_time, "{total} ns of service in {cpu_time} ns");
    assert!((run.utilization * cpu_time as f64 - total as f64).abs() <= 1e-9 * total as f64 + 1e-6);
}

/// Every task whose program ends got what the program asks for; `None` in `demands` is not known.
pub fn check_demands(workload: &Workload, record: &Record) {
    for ((task, rows), demand) in workload.tasks.iter().zip(rows(workload)).zip(demands(workload)) {
        let Some(demand) = demand else { continue };
        let got: u64 = record.run.tasks[rows].iter().map(|t| t.service_ns).sum();
        assert_eq!(got, demand, "service of {}, and what its program asks for", task.name);
    }
}

/// Work of all instances of each task; `None` where it is random, or where a stop cuts it short.
fn demands(workload: &Workload) -> Vec<Option<u64>> {
    let mut born: Vec<Option<u64>> = workload.tasks.iter().map(by_itself).collect();
    // Forks go to later tasks only, so one pass sees each parent before its children.
    for (i, task) in workload.tasks.iter().enumerate() {
        let forks = count_forks(&task.program);
        for (child, times) in forks {
            assert!(child > i, "children come after their parents");
            let more = born[i].filter(|_| task.stop_ns.is_none());
            let count = u64::from(workload.tasks[child].count);
            born[child] = born[child].zip(more).map(|(n, parents)| n + parents * times * count);
        }
    }
    let work = |(task, born): (&Task, &Option<u64>)| {
        let known = born.filter(|_| task.stop_ns.is_none())?;
        Some(known * work(&task.program)?)
    };
    workload.tasks.iter().zip(&born).map(work).collect()
}

fn by_itself(task: &Task) -> Option<u64> {
    match task.arrivals {
        Arrivals::Once => Some(task.count.into()),
        Arrivals::Open { limit, .. } => limit,
        Arrivals::Forked { .. } => Some(0),
        Arrivals::Closed { .. } => None,
    }
}

fn count_forks(steps: &[Step]) -> BTreeMap<usize, u64> {
    let mut forks = BTreeMap::new();
    for step in steps {
        match step {
            Step::Fork(child) => *forks.entry(*child).or_insert(0) += 1,
            Step::Loop { times: Some(n), body } => {
                for (child, times) in count_forks(body) {
                    *forks.entry(child).or_insert(0) += n * times;
                }
            }
            _ => {}
        }
    }
    forks
}

/// CPU time of a program; `None` if it is random or without end.
fn work(steps: &[Step]) -> Option<u64> {
    steps.iter().try_fold(0, |sum, step| {
        let more = match step {
            Step::Run(Dist::Constant(ns)) => *ns,
            Step::Run(_) | Step::RunForever => return None,
            Step::Loop { times, body } => (*times)? * work(body)?,
            _ => 0,
        };
        Some(sum + more)
    })
}

/// Service of all tasks that nothing stops: the same under every policy, as random times are the tasks' own.
pub fn finite_service(workload: &Workload, record: &Record) -> Vec<u64> {
    let mut fed_by_stopped = vec![false; workload.tasks.len()];
    for task in workload.tasks.iter().filter(|t| t.stop_ns.is_some()) {
        count_forks(&task.program).into_keys().for_each(|child| fed_by_stopped[child] = true);
    }
    let whole = workload.tasks.iter().zip(fed_by_stopped).zip(rows(workload));
    whole
        .filter(|((task, fed), _)| task.stop_ns.is_none() && !fed)
        .map(|(_, rows)| record.run.tasks[rows].iter().map(|t| t.service_ns).sum())
        .collect()
}

/// A stretch of time in which a task was runnable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Runnable {
    pub from_ns: u64,
    pub to_ns: u64,
    pub row: usize,
}

/// When each task of a workload of [`divvy_tests::workloads::Kinds::Plain`] was runnable: it becomes so when it
/// starts, arrives or has slept, and ceases to be when it has received its burst. (Instances of open arrivals
/// share a row and are alike: here the first to arrive is the first to end.)
pub fn runnable(workload: &Workload, record: &Record) -> Vec<Runnable> {
    let mut found = Vec::new();
    for (task, rows) in workload.tasks.iter().zip(rows(workload)) {
        match task.arrivals {
            Arrivals::Open { interarrival: Dist::Constant(between), limit: Some(n) } => {
                let work = work(&task.program).expect("constant runs");
                let mut ends = ends_of_jobs(record, rows.start, work);
                assert_eq!(ends.len() as u64, if work == 0 { 0 } else { n }, "jobs done of {}", task.name);
                ends.sort_unstable();
                let arrivals = (1..=n).map(|k| task.start_ns + k * between);
                let of = |(from_ns, to_ns)| Runnable { from_ns, to_ns, row: rows.start };
                found.extend(arrivals.zip(ends).map(of));
            }
            Arrivals::Once => rows.for_each(|row| found.extend(bursts(task, row, record))),
            _ => panic!("{} is not plain", task.name),
        }
    }
    found.sort_unstable();
    found
}

/// When jobs of this length of a row ended: task ids are used again, one job after the other.
fn ends_of_jobs(record: &Record, row: usize, work: u64) -> Vec<u64> {
    let mut received = BTreeMap::new();
    let mut ends = Vec::new();
    for slice in record.slices.iter().filter(|s| s.row == row) {
        let sum = received.entry(slice.task).or_insert(0);
        *sum += slice.to_ns - slice.from_ns;
        assert!(*sum <= work, "a job received more than its {work} ns");
        if *sum == work {
            ends.push(slice.to_ns);
            *sum = 0;
        }
    }
    ends
}

/// One task's way through a plain program: each run with when the task comes to it and when it is done, and when it exits.
struct Way {
    runs: Vec<Run>,
    exits_ns: u64,
}

struct Run {
    from_ns: u64,
    to_ns: u64,
    work_ns: u64,
    /// The task woke for it, or was new.
    woke: bool,
}

fn way(task: &Task, row: usize, record: &Record) -> Way {
    let mut slices = record.slices.iter().filter(|s| s.row == row).peekable();
    let mut runs = Vec::new();
    let mut at = task.start_ns;
    let mut used = 0; // of the slice at hand
    let mut woke = true;
    for step in flat(&task.program) {
        let work_ns = match step {
            Flat::Sleep(ns) => {
                assert_eq!(used, 0, "{} ran on while it slept from {at} on", task.name);
                at += ns;
                woke = true;
                continue;
            }
            Flat::Run(ns) => ns,
        };
        let from_ns = at;
        let mut left = work_ns;
        while left > 0 {
            let slice = slices.peek().unwrap_or_else(|| panic!("{} lost {left} ns of work", task.name));
            assert!(slice.from_ns + used >= at, "{} ran before it woke at {at}: {slice:?}", task.name);
            let ran = left.min(slice.to_ns - slice.from_ns - used);
            left -= ran;
            used += ran;
            at = slice.from_ns + used;
            if at == slice.to_ns {
                slices.next();
                used = 0;
            }
        }
        runs.push(Run { from_ns, to_ns: at, work_ns, woke });
        woke = false;
    }
    assert_eq!(slices.next(), None, "{} ran after its end", task.name);
    Way { runs, exits_ns: at }
}

fn bursts(task: &Task, row: usize, record: &Record) -> Vec<Runnable> {
    let mut found: Vec<Runnable> = Vec::new();
    for Run { from_ns, to_ns, woke, .. } in way(task, row, record).runs {
        match found.last_mut() {
            Some(last) if !woke => last.to_ns = to_ns,
            _ => found.push(Runnable { from_ns, to_ns, row }),
        }
    }
    found
}

/// The step that a task takes at a moment, for a judge that follows all of them through time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Deed {
    pub at_ns: u64,
    pub what: What,
    pub row: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum What {
    /// A slice ends.
    Served {
        ns: u64,
    },
    /// It comes to a run of this length.
    Brings {
        ns: u64,
    },
    Exits,
    TurnBegins,
}

/// All that the tasks of a workload of [`divvy_tests::workloads::Kinds::Tasks`] do, in order.
pub fn deeds(workload: &Workload, record: &Record) -> Vec<Deed> {
    let mut deeds = Vec::new();
    for (row, task) in owner_of_rows(workload).into_iter().enumerate() {
        let way = way(task, row, record);
        let brings = way.runs.iter().map(|r| (r.from_ns, What::Brings { ns: r.work_ns }));
        let of = |(at_ns, what)| Deed { at_ns, what, row };
        deeds.extend(brings.chain([(way.exits_ns, What::Exits)]).map(of));
    }
    for s in &record.slices {
        deeds.push(Deed { at_ns: s.from_ns, what: What::TurnBegins, row: s.row });
        deeds.push(Deed { at_ns: s.to_ns, what: What::Served { ns: s.to_ns - s.from_ns }, row: s.row });
    }
    deeds.sort_unstable();
    deeds
}

enum Flat {
    Run(u64),
    Sleep(u64),
}

/// A plain program without its loops and yields.
fn flat(steps: &[Step]) -> Vec<Flat> {
    fn walk(steps: &[Step], out: &mut Vec<Flat>) {
        for step in steps {
            match step {
                Step::Run(Dist::Constant(ns)) => out.push(Flat::Run(*ns)),
                Step::Sleep(Dist::Constant(ns)) => out.push(Flat::Sleep(*ns)),
                Step::Yield => {}
                Step::Loop { times: Some(n), body } => (0..*n).for_each(|_| walk(body, out)),
                other => panic!("{other:?} is not plain"),
            }
        }
    }
    let mut out = Vec::new();
    walk(steps, &mut out);
    out
}

/// At every moment as many CPUs are busy as there are runnable tasks, or all.
pub fn check_work_conserving(workload: &Workload, record: &Record, runnable: &[Runnable]) {
    let mut changes: BTreeMap<u64, (i64, i64)> = BTreeMap::new();
    for r in runnable {
        changes.entry(r.from_ns).or_default().0 += 1;
        changes.entry(r.to_ns).or_default().0 -= 1;
    }
    for s in &record.slices {
        changes.entry(s.from_ns).or_default().1 += 1;
        changes.entry(s.to_ns).or_default().1 -= 1;
    }
    let (mut present, mut busy) = (0, 0);
    for (at, (more, busier)) in changes {
        present += more;
        busy += busier;
        let most = i64::from(workload.cpus).min(present);
        assert_eq!(busy, most, "busy CPUs of {} from {at} ns on, with {present} runnable", workload.cpus);
    }
}

/// Stretches of time in which some CPU is busy.
pub fn busy_periods(record: &Record) -> Vec<(u64, u64)> {
    let mut slices: Vec<(u64, u64)> = record.slices.iter().map(|s| (s.from_ns, s.to_ns)).collect();
    slices.sort_unstable();
    let mut periods: Vec<(u64, u64)> = Vec::new();
    for (from, to) in slices {
        match periods.last_mut() {
            Some((_, end)) if from <= *end => *end = (*end).max(to),
            _ => periods.push((from, to)),
        }
    }
    periods
}
