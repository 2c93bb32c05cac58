//! Where in the text a checked workload's problem is.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::check::Place;
use crate::error::Source;
use crate::{Step, Workload};

/// The bytes that `place` refers to, or those of what encloses it when the text leaves it to a default.
pub(super) fn span(source: &Source, table: &DeTable, workload: &Workload, place: &Place) -> Range<usize> {
    let whole = 0..source.text.lines().next().map_or(0, str::len);
    match place {
        Place::Workload(key) => table.get(*key).map_or(whole, Spanned::span),
        Place::Topology(key) => {
            let topology = table.get("topology");
            let setting = topology.and_then(|topology| topology.get_ref().get(*key));
            setting.or(topology).map_or(whole, Spanned::span)
        }
        Place::Group(index) => {
            let name = workload.groups.get(*index).map_or("", |group| group.name.as_str());
            let entries = table.get("group").and_then(|all| all.get_ref().as_array());
            let is_it = |entry: &&Spanned<DeValue>| {
                entry.get_ref().get("name").is_some_and(|found| found.get_ref().as_str() == Some(name))
            };
            entries.and_then(|all| all.iter().find(is_it)).map_or(whole, Spanned::span)
        }
        Place::Barrier(index) => {
            let name = workload.barriers.get(*index).map_or("", |barrier| barrier.name.as_str());
            let explicit = table.get("barrier").and_then(|all| all.get_ref().get(name));
            explicit.map(Spanned::span).or_else(|| barrier_step(table, workload, *index)).unwrap_or(whole)
        }
        Place::Task(task, key) => {
            let Some(entry) = task_entry(table, *task) else {
                return whole;
            };
            entry.get_ref().get(*key).map_or(entry.span(), Spanned::span)
        }
        Place::Step(task, path) => {
            let Some(entry) = task_entry(table, *task) else {
                return whole;
            };
            step(entry, path).map_or(entry.span(), Spanned::span)
        }
    }
}

fn task_entry<'a>(table: &'a DeTable<'a>, task: usize) -> Option<&'a Spanned<DeValue<'a>>> {
    table.get("task")?.get_ref().get(task)
}

/// The step at `path`: an index into the program, then indices into the bodies of loops.
fn step<'a>(task: &'a Spanned<DeValue<'a>>, path: &[usize]) -> Option<&'a Spanned<DeValue<'a>>> {
    let (first, rest) = path.split_first()?;
    let top = task.get_ref().get("program")?.get_ref().get(*first)?;
    rest.iter().try_fold(top, |step, index| step.get_ref().get("do")?.get_ref().get(*index))
}

/// The first step that names a barrier.
fn barrier_step(table: &DeTable, workload: &Workload, barrier: usize) -> Option<Range<usize>> {
    workload.tasks.iter().enumerate().find_map(|(index, task)| {
        let path = path_to(&task.program, barrier)?;
        step(task_entry(table, index)?, &path).map(Spanned::span)
    })
}

fn path_to(program: &[Step], barrier: usize) -> Option<Vec<usize>> {
    program.iter().enumerate().find_map(|(index, step)| match step {
        Step::Barrier(named) if *named == barrier => Some(vec![index]),
        Step::Loop { body, .. } => path_to(body, barrier).map(|rest| [vec![index], rest].concat()),
        _ => None,
    })
}
