//! Reads an rt-app file: its top level, and then the workload that is made of its tasks.

use std::collections::BTreeSet;

use super::build::Builder;
use super::event::{Reading, find};
use super::json::{self, Json, Member, Value};
use super::task::RtTask;
use crate::error::{Source, WorkloadError};
use crate::notes::Notes;
use crate::{DEFAULT_QUANTUM_NS, MAX_CPUS, Workload};
use divvy_policy::units::parse_duration_ns;

/// Reads a workload from rt-app's JSON. Returns it with notes for the user: what is not as in rt-app. `file` is the
/// file's name, for errors.
///
/// # Errors
/// With file, line and column, and with what to do.
pub(crate) fn parse(text: &str, file: &str) -> Result<(Workload, Vec<String>), WorkloadError> {
    let source = &Source { file, text };
    let root = json::parse(source)?;
    let mut reading = Reading { source, notes: Notes::default() };
    let (plans, machine) = top(&mut reading, &root)?;
    let mut builder = Builder::new(plans);
    builder.number(&mut reading);
    let mut workload = Workload {
        name: file.to_owned(),
        cpus: 1,
        quantum_ns: DEFAULT_QUANTUM_NS,
        duration_ns: machine.duration_ns,
        warmup_ns: 0,
        tick_ns: None,
        switch_cost_ns: 0,
        migration_cost_ns: 0,
        topology: None,
        groups: Vec::new(),
        tasks: Vec::new(),
        locks: Vec::new(),
        semaphores: Vec::new(),
        barriers: Vec::new(),
    };
    builder.find_waits(&mut workload);
    builder.build(&mut workload, &mut reading)?;
    let named = workload.tasks.iter().filter_map(|task| task.affinity.as_ref()?.last()).max();
    let least = named.map_or(1, |cpu| cpu.get() + 1);
    workload.cpus = machine.cpus.unwrap_or(least);
    if machine.cpus.is_none() {
        let what = format!(
            "rt-app's files do not say how many CPUs there are: {least} here, unless --cpus says otherwise"
        );
        reading.notes.say(root.span.start, what);
    }
    workload.check().map_err(|problem| {
        let span = builder.span(&problem.place).unwrap_or(root.span.start..root.span.start + 1);
        source.error(span, problem.message, problem.help)
    })?;
    Ok((workload, reading.notes.lines(source)))
}

/// Settings of the file apart from its tasks.
struct Machine {
    cpus: Option<u32>,
    duration_ns: Option<u64>,
}

fn top<'j>(
    reading: &mut Reading<'j>,
    root: &'j Json<'j>,
) -> Result<(Vec<RtTask<'j>>, Machine), WorkloadError> {
    let Value::Object(members) = &root.value else {
        return Err(reading.error(
            &root.span,
            "this is no workload of rt-app",
            "its files are one object with `tasks`",
        ));
    };
    let Some(tasks) = find(members, "tasks") else {
        let help = match find(members, "traceEvents") {
            Some(_) => "these are Chrome's trace events, which are written here and not read",
            None => "a workload of rt-app has \"tasks\" : { \"NAME\" : { \"run\" : 1000, .. } }",
        };
        return Err(reading.error(&(root.span.start..root.span.start + 1), "there are no `tasks`", help));
    };
    let mut machine = Machine { cpus: None, duration_ns: None };
    let mut policy = "SCHED_OTHER";
    for member in members {
        match member.key.as_ref() {
            "global" => {
                let fields = reading.object(member)?;
                machine.duration_ns = duration(reading, fields)?;
                if let Some(field) = find(fields, "default_policy") {
                    policy = reading.policy(field)?;
                }
                if find(fields, "pi_enabled")
                    .is_some_and(|field| matches!(field.json.value, Value::Bool(true)))
                {
                    reading
                        .notes
                        .say(member.span.start, "`pi_enabled`: there is no priority inheritance here");
                }
            }
            "divvy" => {
                if let Some(field) = find(reading.object(member)?, "cpus") {
                    machine.cpus = Some(reading.integer(&field.json, "cpus", 1, MAX_CPUS.into())? as u32);
                }
            }
            "tasks" | "resources" => {}
            other => {
                let what = format!("`{}` is ignored, by rt-app as well", other.escape_debug());
                reading.notes.say(member.span.start, what);
            }
        }
    }
    let mut plans: Vec<RtTask> = Vec::new();
    let mut names = BTreeSet::new();
    for member in reading.object(tasks)? {
        if !names.insert(member.key.as_ref()) {
            return Err(reading.error(&member.span, "another task has this name", "give each task its own"));
        }
        plans.push(reading.task(member, policy)?);
    }
    Ok((plans, machine))
}

/// The duration in ns. The file has seconds; -1 is without end.
fn duration(reading: &Reading, fields: &[Member]) -> Result<Option<u64>, WorkloadError> {
    let Some(field) = find(fields, "duration") else { return Ok(None) };
    match field.json.value {
        Value::Number("-1") => Ok(None),
        Value::Number(text) => parse_duration_ns(&format!("{text}s")).map(Some).map_err(|_| {
            let help = "it must be a number of seconds, or -1 for no end";
            reading.error(&field.json.span, format!("`duration` is {text}"), help)
        }),
        _ => Err(reading.mistyped(field, "a number of seconds")),
    }
}
