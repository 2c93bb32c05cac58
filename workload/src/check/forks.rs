//! Checks across tasks: who starts whom and how often, who wakes whom, who meets at barriers.

use super::problem::{Place, Problem};
use crate::{Arrivals, MAX_INSTANCES, Step, Task, Workload};

/// A reference from a program to another task or to a barrier.
struct Mention {
    task: usize,
    path: Vec<usize>,
    /// How often the step runs in one run of the program; `None` without end.
    times: Option<u64>,
    step: Target,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Target {
    Fork(usize),
    Wake(usize),
    Wait,
    Post(usize),
    Take(usize),
    Barrier(usize),
}

/// Checks forks, wake-ups and barriers of a workload whose references all exist.
pub(super) fn check(workload: &Workload) -> Result<(), Problem> {
    let tasks = &workload.tasks;
    let mentions = mentions(tasks);
    check_starts(tasks, &mentions)?;
    let order = fork_order(tasks, &mentions);
    if order.len() < tasks.len() {
        return Err(fork_cycle(tasks, &mentions, &order));
    }
    let instances = instances(tasks, &mentions, &order);
    let total = instances.iter().flatten().fold(0_u64, |sum, n| sum.saturating_add(*n));
    if total > MAX_INSTANCES {
        let message = format!("the tasks have {total} instances in all");
        return Err(Problem::new(Place::Workload("task"), message, format!("the most is {MAX_INSTANCES}")));
    }
    check_wakes(tasks, &mentions, &instances)?;
    check_semaphores(workload, &mentions)?;
    check_barriers(workload, &mentions, &instances)
}

/// For each of `barriers` barriers, the number of instances whose programs name it; `None` if there is no bound.
pub(crate) fn barrier_users(tasks: &[Task], barriers: usize) -> Vec<Option<u64>> {
    let mentions = mentions(tasks);
    let order = fork_order(tasks, &mentions);
    users(barriers, &mentions, &instances(tasks, &mentions, &order))
}

fn mentions(tasks: &[Task]) -> Vec<Mention> {
    let mut mentions = Vec::new();
    for (task, entry) in tasks.iter().enumerate() {
        collect(task, &entry.program, Some(1), &mut Vec::new(), &mut mentions);
    }
    mentions
}

fn collect(
    task: usize,
    program: &[Step],
    times: Option<u64>,
    path: &mut Vec<usize>,
    mentions: &mut Vec<Mention>,
) {
    for (i, step) in program.iter().enumerate() {
        path.push(i);
        let target = match step {
            Step::Fork(other) => Some(Target::Fork(*other)),
            Step::Wake(other) => Some(Target::Wake(*other)),
            Step::Wait => Some(Target::Wait),
            Step::Post(semaphore) => Some(Target::Post(*semaphore)),
            Step::Take(semaphore) => Some(Target::Take(*semaphore)),
            Step::Barrier(barrier) => Some(Target::Barrier(*barrier)),
            Step::Loop { times: rounds, body } => {
                let inner = times.zip(*rounds).map(|(a, b)| a.saturating_mul(b));
                collect(task, body, inner, path, mentions);
                None
            }
            _ => None,
        };
        if let Some(step) = target {
            mentions.push(Mention { task, path: path.clone(), times, step });
        }
        path.pop();
    }
}

/// The forks among the mentions, as (forker, forked, times).
fn forks(mentions: &[Mention]) -> impl Iterator<Item = (usize, usize, Option<u64>)> {
    mentions.iter().filter_map(|mention| match mention.step {
        Target::Fork(target) => Some((mention.task, target, mention.times)),
        _ => None,
    })
}

/// Tasks that forks start say so, and tasks that say so are forked.
fn check_starts(tasks: &[Task], mentions: &[Mention]) -> Result<(), Problem> {
    let mut forked = vec![false; tasks.len()];
    for mention in mentions {
        let Target::Fork(target) = mention.step else {
            continue;
        };
        forked[target] = true;
        if !matches!(tasks[target].arrivals, Arrivals::Forked { .. }) {
            let message = format!("task `{}` starts by itself", tasks[target].name);
            let place = Place::Step(mention.task, mention.path.clone());
            return Err(Problem::new(place, message, "give it start = \"fork\" to start it from here"));
        }
    }
    let orphan = tasks
        .iter()
        .zip(forked)
        .position(|(task, forked)| matches!(task.arrivals, Arrivals::Forked { .. }) && !forked);
    match orphan {
        Some(index) => {
            let help = format!("add a step {{ fork = {:?} }} to another task", tasks[index].name);
            Err(Problem::new(Place::Task(index, "start"), "no task forks this one", help))
        }
        None => Ok(()),
    }
}

/// Whether forks start this task only so many times in all: then it does not matter who forks it.
fn has_limit(task: &Task) -> bool {
    matches!(task.arrivals, Arrivals::Forked { limit: Some(_) })
}

/// The tasks, each after all those that fork it (Kahn), unless it has a limit; those on a cycle without a limit or behind
/// one are missing.
fn fork_order(tasks: &[Task], mentions: &[Mention]) -> Vec<usize> {
    let mut waiting_for = vec![0_usize; tasks.len()];
    let mut forked_by = vec![Vec::new(); tasks.len()];
    for (forker, target, _) in forks(mentions).filter(|&(_, target, _)| !has_limit(&tasks[target])) {
        waiting_for[target] += 1;
        forked_by[forker].push(target);
    }
    let mut order: Vec<usize> = (0..tasks.len()).filter(|&task| waiting_for[task] == 0).collect();
    let mut next = 0;
    while let Some(&forker) = order.get(next) {
        next += 1;
        for &target in &forked_by[forker] {
            waiting_for[target] -= 1;
            if waiting_for[target] == 0 {
                order.push(target);
            }
        }
    }
    order
}

/// The problem of some task that forks itself, perhaps through others.
fn fork_cycle(tasks: &[Task], mentions: &[Mention], order: &[usize]) -> Problem {
    let mut ordered = vec![false; tasks.len()];
    order.iter().for_each(|&task| ordered[task] = true);
    let mut forker_of = vec![None; tasks.len()];
    let unlimited =
        |&(forker, target, _): &(usize, usize, Option<u64>)| !ordered[forker] && !has_limit(&tasks[target]);
    for (forker, target, _) in forks(mentions).filter(unlimited) {
        forker_of[target] = Some(forker);
    }
    // Every task that is left has a forker that is left, so going back often enough ends on a cycle.
    let first = ordered.iter().position(|done| !done).unwrap_or(0);
    let on_cycle = (0..tasks.len()).fold(first, |task, _| forker_of[task].unwrap_or(task));
    let message = format!("task `{}` forks itself, directly or through others", tasks[on_cycle].name);
    let help = "its instances would multiply without end: give a task of the circle a `limit`";
    Problem::new(Place::Task(on_cycle, "program"), message, help)
}

/// How many instances each task ever has; `None` if there is no bound.
fn instances(tasks: &[Task], mentions: &[Mention], order: &[usize]) -> Vec<Option<u64>> {
    let mut forked_by = vec![Vec::new(); tasks.len()];
    for (forker, target, times) in forks(mentions) {
        forked_by[target].push((forker, times));
    }
    let mut instances = vec![None; tasks.len()];
    for &index in order {
        let count = u64::from(tasks[index].count);
        instances[index] = match tasks[index].arrivals {
            Arrivals::Once | Arrivals::Closed { .. } => Some(count),
            Arrivals::Open { limit, .. } => limit,
            Arrivals::Forked { limit: Some(limit) } => Some(limit),
            Arrivals::Forked { limit: None } => {
                forked_by[index].iter().try_fold(0_u64, |sum, &(forker, times)| {
                    let repeats = matches!(tasks[forker].arrivals, Arrivals::Closed { .. });
                    let runs = instances[forker].filter(|_| !repeats)?.saturating_mul(times?);
                    Some(sum.saturating_add(runs.saturating_mul(count)))
                })
            }
        };
    }
    instances
}

/// Tokens go from task to task, so the receiver must be a single instance, and somebody must send.
fn check_wakes(tasks: &[Task], mentions: &[Mention], instances: &[Option<u64>]) -> Result<(), Problem> {
    let mut woken = vec![false; tasks.len()];
    for mention in mentions {
        let receiver = match mention.step {
            Target::Wake(target) => target,
            Target::Wait => mention.task,
            Target::Fork(_) | Target::Barrier(_) | Target::Post(_) | Target::Take(_) => continue,
        };
        if mention.step != Target::Wait {
            woken[receiver] = true;
        }
        if instances[receiver] != Some(1) {
            let message =
                format!("task `{}` has several instances: which one is woken?", tasks[receiver].name);
            let place = Place::Step(mention.task, mention.path.clone());
            return Err(Problem::new(
                place,
                message,
                "wake and wait are between single instances; use a barrier",
            ));
        }
    }
    let starving = mentions.iter().find(|mention| mention.step == Target::Wait && !woken[mention.task]);
    match starving {
        Some(mention) => {
            let name = &tasks[mention.task].name;
            let place = Place::Step(mention.task, mention.path.clone());
            let help = format!("add a step {{ wake = {name:?} }} to another task");
            Err(Problem::new(place, format!("task `{name}` would wait for ever: nobody wakes it"), help))
        }
        None => Ok(()),
    }
}

/// Somebody posts each semaphore that is taken.
fn check_semaphores(workload: &Workload, mentions: &[Mention]) -> Result<(), Problem> {
    let posts = |mention: &Mention, taken| mention.step == Target::Post(taken);
    for mention in mentions {
        let Target::Take(taken) = mention.step else { continue };
        if !mentions.iter().any(|other| posts(other, taken)) {
            let name = &workload.semaphores[taken];
            let place = Place::Step(mention.task, mention.path.clone());
            let help = format!("add a step {{ post = {name:?} }} to another task");
            return Err(Problem::new(place, format!("nobody posts the semaphore `{name}`"), help));
        }
    }
    Ok(())
}

fn users(barriers: usize, mentions: &[Mention], instances: &[Option<u64>]) -> Vec<Option<u64>> {
    let mut users = vec![Some(0_u64); barriers];
    let mut counted = std::collections::BTreeSet::new();
    for mention in mentions {
        let Target::Barrier(barrier) = mention.step else {
            continue;
        };
        if counted.insert((barrier, mention.task)) {
            users[barrier] = users[barrier].zip(instances[mention.task]).map(|(a, b)| a.saturating_add(b));
        }
    }
    users
}

fn check_barriers(
    workload: &Workload,
    mentions: &[Mention],
    instances: &[Option<u64>],
) -> Result<(), Problem> {
    let users = users(workload.barriers.len(), mentions, instances);
    for (index, (barrier, users)) in workload.barriers.iter().zip(users).enumerate() {
        let name = &barrier.name;
        let problem = |message: String, help: String| Err(Problem::new(Place::Barrier(index), message, help));
        match users {
            _ if barrier.parties > 0 && users.is_none_or(|users| u64::from(barrier.parties) <= users) => {}
            Some(users) if barrier.parties > 0 => {
                let message = format!("barrier `{name}` waits for {} but only {users} come", barrier.parties);
                return problem(message, "it would never open".to_owned());
            }
            _ => {
                let help = format!("say for how many it waits: [barrier.{name}] with parties = 2, say");
                return problem(
                    format!("barrier `{name}` is used by tasks that start again and again"),
                    help,
                );
            }
        }
    }
    Ok(())
}
