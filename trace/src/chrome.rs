//! Writes a schedule as Chrome's trace events (JSON), which many viewers open. The format has no CPUs, so each CPU is a row
//! of one process. Times are in microseconds, exact to three decimals.

use std::io::{self, Write};

use divvy_results::schedule::Schedule;
use serde::Serialize;

/// The process whose threads are the CPUs.
const CPUS: u32 = 1;
/// The process of the counters.
const COUNTERS: u32 = 2;

#[derive(Serialize)]
struct Name<'a> {
    name: &'a str,
}

#[derive(Serialize)]
struct Row<'a> {
    ph: &'static str,
    name: &'static str,
    pid: u32,
    tid: usize,
    args: Name<'a>,
}

#[derive(Serialize)]
struct Thread {
    tid: i32,
    process: i32,
}

#[derive(Serialize)]
struct Slice<'a> {
    ph: &'static str,
    name: &'a str,
    pid: u32,
    tid: usize,
    args: Thread,
}

/// Writes a schedule: a slice for each run, a counter track for each counter.
///
/// # Errors
/// Those of `out`.
pub fn write(schedule: &Schedule, out: &mut impl Write) -> io::Result<()> {
    out.write_all(b"{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n")?;
    let row = |name, tid, value: &str| {
        serde_json::to_string(&Row { ph: "M", name, pid: CPUS, tid, args: Name { name: value } })
    };
    write!(out, "{}", row("process_name", 0, "CPUs")?)?;
    for (cpu, runs) in schedule.cpus.iter().enumerate() {
        write!(out, ",\n{}", row("thread_name", cpu, &format!("CPU {cpu}"))?)?;
        for run in runs {
            let thread = &schedule.tasks[run.task as usize];
            let args = Thread { tid: thread.tid, process: thread.process };
            let slice =
                serde_json::to_string(&Slice { ph: "X", name: &thread.name, pid: CPUS, tid: cpu, args })?;
            let times = format!("\"ts\":{},\"dur\":{}", micros(run.from_ns), micros(run.to_ns - run.from_ns));
            write!(out, ",\n{{{times},{}", &slice[1..])?;
        }
    }
    for loss in &schedule.losses {
        let (ts, tid, events) = (micros(loss.at_ns), loss.cpu, loss.events);
        let name = if events == 0 { "events lost".to_owned() } else { format!("{events} events lost") };
        write!(
            out,
            ",\n{{\"ph\":\"i\",\"s\":\"t\",\"name\":\"{name}\",\"pid\":{CPUS},\"tid\":{tid},\"ts\":{ts}}}"
        )?;
    }
    for counter in &schedule.counters {
        let name = serde_json::to_string(&counter.name())?;
        for &(t_ns, value) in &counter.points {
            let (ts, unit) = (micros(t_ns), counter.unit);
            write!(
                out,
                ",\n{{\"ph\":\"C\",\"name\":{name},\"pid\":{COUNTERS},\"ts\":{ts},\"args\":{{\"{unit}\":{value}}}}}"
            )?;
        }
    }
    out.write_all(b"\n]}\n")
}

/// Microseconds as text, because a float would not be exact.
fn micros(ns: u64) -> String {
    format!("{}.{:03}", ns / 1000, ns % 1000)
}
