//! Options that no machine would take.

use divvy_policy::Placement;

use super::error::LoadError;
use super::options::Options;
use super::rules::RulesFile;

/// Whether [`super::load`] would take these options, on a machine that has everything.
///
/// # Errors
/// When the policy is for the simulator only, or looks at all tasks and nobody said how many there may be, or the file of rules is
/// damaged.
pub fn loadable(options: &Options) -> Result<(), LoadError> {
    check_options(options)?;
    RulesFile::asked_for(options.rules.as_deref())?;
    bound(options).map(drop)
}

/// The policy can be loaded at all.
pub fn check_options(options: &Options) -> Result<(), LoadError> {
    let policy = options.spec.selection.name;
    if let Some(placement) = options.spec.placement {
        check_placement(placement, options)?;
    }
    match divvy_policy::find(policy).and_then(|policy| policy.simulator_only) {
        Some(why) => Err(LoadError::SimulatorOnly { policy, why }),
        None => Ok(()),
    }
}

/// Refuses what several shards cannot do, however many there are on this machine.
fn check_placement(placement: Placement, options: &Options) -> Result<(), LoadError> {
    if options.spec.knows_programs() {
        let why = "what `+flow` knows of programs is not shared by several shards yet: leave out `+flow`, or what comes after `@`";
        return Err(LoadError::Placement { placement, why: why.to_owned() });
    }
    Ok(())
}

/// Says what a user is to know of a policy that looks at all tasks.
pub fn bound(options: &Options) -> Result<Option<String>, LoadError> {
    let policy = options.spec.selection.name;
    let Some(per_task) = divvy_policy::find(policy).and_then(|policy| policy.linear) else { return Ok(None) };
    let most = options.max_tasks.ok_or(LoadError::Linear { policy, per_task })?.min(options.pool);
    let accesses = u64::from(per_task) * u64::from(most);
    Ok(Some(format!(
        "{policy} may look at every task to choose one: for {most} tasks up to {accesses} accesses to memory, while all CPUs wait"
    )))
}
