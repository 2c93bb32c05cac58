//! The values that would be set, without setting them.

use super::applier::{demands, look, plan};
use super::changed::Changes;
use super::error::ApplyError;
use super::groups;
use super::machine::{Machine, Rights, SetNice};
use super::notes;
use super::options::{Mechanism, Options, Rule};
use super::session::{choose, fits};
use super::survey::{Survey, Surveyor};
use crate::stock::entitled::fill;

/// All that would be set.
#[derive(Clone, Debug)]
pub struct Preview {
    /// By which mechanism.
    pub mechanism: Mechanism,
    /// Number of CPUs.
    pub cpus: u32,
    /// Users or processes, the one with the most threads first.
    pub rows: Vec<Row>,
    /// The greatest error that steps of nice values leave: 0.1 is 10 %.
    pub worst_error: f64,
    /// The notes of a run: where the values count little, and what stands in its way now.
    pub notes: Vec<String>,
}

/// A user or a process.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The user, or the process.
    pub owner: u32,
    /// The name of a process.
    pub name: String,
    /// Threads that want a CPU.
    pub threads: u32,
    /// The part of all CPUs to which it is entitled.
    pub entitled: f64,
    /// The least and the greatest weight or nice value now.
    pub now: [i32; 2],
    /// The same afterwards.
    pub new: [i32; 2],
}

/// Looks for an interval, and computes. It needs no permission: it shows what root would do.
///
/// # Errors
/// If the machine cannot be seen, or has not what was asked for.
pub fn preview(options: &Options) -> Result<Preview, ApplyError> {
    fits(options)?;
    let machine = Machine::here(Rights::All);
    let mut surveyor = Surveyor::new(&machine.proc);
    look(&mut surveyor)?;
    std::thread::sleep(options.interval);
    let survey = look(&mut surveyor)?;
    let mechanism = choose(&machine, options, &survey, true)?;
    let mut preview = match mechanism {
        Mechanism::Nice => of_nice(&machine, options.rule, &survey),
        Mechanism::Cgroup => of_groups(&machine, &survey),
    };
    preview.notes.extend(notes::in_the_way(&machine, options));
    Ok(preview)
}

pub fn of_nice<S: SetNice>(machine: &Machine<S>, rule: Rule, survey: &Survey) -> Preview {
    let changes = Changes::default();
    let plan = plan(machine, rule, &changes, survey);
    let row = |(owner, share): (&u32, &super::shares::Share)| {
        let own = || {
            plan.threads
                .iter()
                .zip(&plan.shares.nices)
                .filter(|(thread, _)| rule.owner(thread) == Some(*owner))
        };
        let name = match rule {
            Rule::UserFair => String::new(),
            // The process is the thread with its number.
            Rule::ProcessFair => {
                survey.threads.get(owner).map(|thread| thread.comm.clone()).unwrap_or_default()
            }
        };
        Row {
            owner: *owner,
            name,
            threads: share.threads,
            entitled: share.entitled / f64::from(machine.cpus),
            now: range(own().map(|(thread, _)| thread.nice.into())),
            new: range(own().map(|(_, nice)| (*nice).into())),
        }
    };
    let rows: Vec<Row> = plan.shares.owners.iter().map(row).collect();
    let worst_error = plan.shares.worst_error();
    // Shares among one owner do not change anyway.
    let levels = (rows.len() > 1).then(|| notes::levels(machine, &plan.threads)).flatten();
    let notes = notes::autogroups(machine).into_iter().chain(levels).collect();
    Preview { mechanism: Mechanism::Nice, cpus: machine.cpus, rows: sorted(rows), worst_error, notes }
}

pub fn of_groups<S: SetNice>(machine: &Machine<S>, survey: &Survey) -> Preview {
    let groups = groups::of_users(machine, &survey.threads);
    let demands = demands(survey);
    let demand = |uid: u32| demands.get(&uid).copied().unwrap_or_default();
    let wanted: Vec<(f64, f64)> = groups.iter().map(|group| (1.0, demand(group.uid).1)).collect();
    let new = groups::equal(&groups) as i32;
    let rows = groups.iter().zip(fill(machine.cpus.into(), &wanted)).map(|(group, entitled)| Row {
        owner: group.uid,
        name: String::new(),
        threads: demand(group.uid).0,
        entitled: entitled / f64::from(machine.cpus),
        now: [group.weight as i32; 2],
        new: [new; 2],
    });
    Preview {
        mechanism: Mechanism::Cgroup,
        cpus: machine.cpus,
        rows: sorted(rows.collect()),
        worst_error: 0.0,
        notes: notes::strays(survey, &groups).into_iter().collect(),
    }
}

fn sorted(mut rows: Vec<Row>) -> Vec<Row> {
    rows.sort_by_key(|row| (std::cmp::Reverse(row.threads), row.owner));
    rows
}

fn range(values: impl Iterator<Item = i32> + Clone) -> [i32; 2] {
    [values.clone().min().unwrap_or_default(), values.max().unwrap_or_default()]
}
