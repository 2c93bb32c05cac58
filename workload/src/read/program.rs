//! Programs in TOML: lists of steps, each a table of one key (a loop of two).

use std::collections::BTreeMap;

use super::dists::dist;
use super::fields::Field;
use crate::Step;
use crate::error::WorkloadError;
use divvy_policy::nearest;

const KINDS: [&str; 15] = [
    "run", "sleep", "period", "until", "lock", "unlock", "barrier", "fork", "yield", "wake", "wait", "post",
    "take", "session", "loop",
];

/// The things to which steps refer by name.
#[derive(Default)]
pub(super) struct Names<'a> {
    /// All tasks, in the file's order.
    pub(super) tasks: Index<'a>,
    /// Mutexes, in the order in which programs name them.
    pub(super) locks: Index<'a>,
    /// Semaphores, in the order in which programs name them.
    pub(super) semaphores: Index<'a>,
    /// Barriers, in the order in which programs name them.
    pub(super) barriers: Index<'a>,
}

/// Names, numbered in the order in which they came.
#[derive(Default)]
pub(super) struct Index<'a> {
    /// The names by number.
    pub(super) names: Vec<&'a str>,
    numbers: BTreeMap<&'a str, usize>,
}

impl<'a> Index<'a> {
    /// The name's number, the next one if it is new.
    pub(super) fn number(&mut self, name: &'a str) -> usize {
        *self.numbers.entry(name).or_insert_with(|| {
            self.names.push(name);
            self.names.len() - 1
        })
    }
}

/// Reads a list of steps.
pub(super) fn program<'a>(field: Field<'a>, names: &mut Names<'a>) -> Result<Vec<Step>, WorkloadError> {
    field.list()?.map(|entry| step(entry, names)).collect()
}

fn step<'a>(entry: Field<'a>, names: &mut Names<'a>) -> Result<Step, WorkloadError> {
    if entry.value.get_ref().as_table().is_none() {
        return Err(entry.mistyped("a list of steps such as { run = \"75ms\" } or { sleep = \"1s\" }"));
    }
    if entry.value.get_ref().get("loop").is_some() || entry.value.get_ref().get("do").is_some() {
        return repetition(entry, names);
    }
    let field = entry.variant("a step", &KINDS)?;
    Ok(match field.key {
        "run" if field.value.get_ref().as_str() == Some("forever") => Step::RunForever,
        "run" => Step::Run(dist(field)?),
        "sleep" => Step::Sleep(dist(field)?),
        "period" => Step::Period(field.duration()?),
        "until" => Step::Until(field.duration()?),
        "lock" => Step::Lock(names.locks.number(field.string()?)),
        "unlock" => Step::Unlock(names.locks.number(field.string()?)),
        "barrier" => Step::Barrier(names.barriers.number(field.string()?)),
        "fork" => Step::Fork(task(field, names)?),
        "wake" => Step::Wake(task(field, names)?),
        "wait" => flag(field).map(|()| Step::Wait)?,
        "post" => Step::Post(names.semaphores.number(field.string()?)),
        "take" => Step::Take(names.semaphores.number(field.string()?)),
        "session" => flag(field).map(|()| Step::Session)?,
        _ => flag(field).map(|()| Step::Yield)?,
    })
}

/// `{ loop = 20, do = [ .. ] }` or `{ loop = "forever", do = [ .. ] }`.
fn repetition<'a>(entry: Field<'a>, names: &mut Names<'a>) -> Result<Step, WorkloadError> {
    let fields = entry.fields("a loop", &["loop", "do"])?;
    let times = fields.require("loop", "20 or loop = \"forever\"")?;
    let body = fields.require("do", "[ { run = \"75ms\" }, { sleep = \"1s\" } ]")?;
    let times = match times.value.get_ref().as_str() {
        Some("forever") => None,
        Some(_) => return Err(times.mistyped("a number of times, or \"forever\"")),
        None => Some(times.unsigned(1, u64::MAX)?),
    };
    Ok(Step::Loop { times, body: program(body, names)? })
}

/// The task that is named.
fn task(field: Field, names: &Names) -> Result<usize, WorkloadError> {
    let name = field.string()?;
    names.tasks.numbers.get(name).copied().ok_or_else(|| {
        let help = match nearest(name, names.tasks.names.iter().copied()) {
            Some(meant) => format!("did you mean `{meant}`?"),
            None => format!("add a [[task]] with name = {name:?}"),
        };
        field.error(format!("`{}`: there is no task named `{}`", field.key, name.escape_debug()), help)
    })
}

/// `true`; a step that is not wanted is left out instead.
fn flag(field: Field) -> Result<(), WorkloadError> {
    if field.value.get_ref().as_bool() == Some(true) { Ok(()) } else { Err(field.mistyped("true")) }
}
