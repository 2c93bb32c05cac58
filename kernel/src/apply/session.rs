//! Applies until a signal comes or the time is over.

use std::path::Path;
use std::time::{Duration, Instant};

use super::applier::{Applier, Step, look};
use super::error::ApplyError;
use super::groups;
use super::journal::Journal;
use super::machine::{Kernel, Machine, Rights, SetNice};
use super::notes;
use super::options::{Mechanism, Options, Rule, Watch};
use super::restore::restore;
use super::survey::Survey;
use crate::load::{Missing, Signals, check, ready};

/// Applies a rule, and restores what it changed. Gives the number of restored values.
///
/// # Errors
/// If a permission is missing, another one is at work, or something could not be restored.
pub fn apply(options: &Options, watch: &mut dyn Watch) -> Result<usize, ApplyError> {
    // Under another scheduler neither nice values nor cpu.weight need mean anything.
    check::no_other_scheduler()?;
    fits(options)?;
    let machine = Machine::here(Rights::now());
    // Among many busy threads its turn would come late, and it takes little. Whoever may not do that goes on as they are.
    let _ = rustix::process::setpriority_process(None, -20);
    let mut signals =
        Signals::block().map_err(|error| ApplyError::Io("cannot wait for signals".to_owned(), error))?;
    let mut journal = Journal::lock(&options.journal, &machine.boot())?;
    let left = undo(&machine, &mut journal)?;
    if left > 0 {
        watch.note(&format!("an earlier divvy apply left {left} values, which are restored now"));
    }
    let mut applier = Applier::new(machine, options.rule, Mechanism::Nice, journal);
    let survey = look(&mut applier.surveyor)?;
    applier.mechanism = choose(&applier.machine, options, &survey, false)?;
    let status = began(&applier, options, &survey);
    watch.note(&status);
    // Without a service manager nobody listens.
    let _ = ready::tell(&status);
    let ended = run(&mut applier, &mut signals, options, watch);
    let Applier { machine, mut journal, mut changes, mut groups, .. } = applier;
    let restored = restore(&machine, &mut changes, &mut groups, &mut journal);
    ended?;
    restored
}

/// Restores what the journal of a killed `divvy apply` says. Gives the number of values.
///
/// # Errors
/// If another one is at work, the journal is damaged, or something could not be restored.
pub fn restore_journal(path: &Path) -> Result<usize, ApplyError> {
    let machine = Machine::here(Rights::now());
    let mut journal = Journal::lock(path, &machine.boot())?;
    undo(&machine, &mut journal)
}

fn undo<S: SetNice>(machine: &Machine<S>, journal: &mut Journal) -> Result<usize, ApplyError> {
    let (mut changes, mut groups) = journal.read()?;
    restore(machine, &mut changes, &mut groups, journal)
}

/// The mechanism that was asked for, or that fits, if the caller may use it. A preview needs no permission.
pub fn choose<S: SetNice>(
    machine: &Machine<S>,
    options: &Options,
    survey: &Survey,
    is_preview: bool,
) -> Result<Mechanism, ApplyError> {
    let groups = match options.rule {
        Rule::UserFair if options.with != Some(Mechanism::Nice) => groups::of_users(machine, &survey.threads),
        _ => Vec::new(),
    };
    let may_weigh = || is_preview || groups.iter().all(|group| machine.may_weigh(&group.path));
    match options.with {
        None if groups.len() > 1 && may_weigh() => Ok(Mechanism::Cgroup),
        Some(Mechanism::Cgroup) if groups.is_empty() => Err(Missing::new(
            "no user has a cgroup with a cpu.weight",
            "let systemd make them, as in: systemctl set-property user-1000.slice CPUWeight=100; or leave out --with cgroup",
        )
        .into()),
        Some(Mechanism::Cgroup) if !may_weigh() => Err(Missing::new(
            format!("no permission to write cpu.weight of {}", groups[0].path),
            "run it as root, as in: sudo divvy apply user-fair",
        )
        .into()),
        Some(Mechanism::Cgroup) => Ok(Mechanism::Cgroup),
        _ => may_renice(machine, options.rule).map(|()| Mechanism::Nice).map_err(ApplyError::from),
    }
}

/// # Errors
/// If the rule cannot be applied in the way that was asked for.
pub fn fits(options: &Options) -> Result<(), ApplyError> {
    if options.rule == Rule::ProcessFair && options.with == Some(Mechanism::Cgroup) {
        return Err(ApplyError::Usage(
            "process-fair is by nice values: processes have no cgroups of their own; leave out --with cgroup",
        ));
    }
    Ok(())
}

fn may_renice<S: SetNice>(machine: &Machine<S>, rule: Rule) -> Result<(), Missing> {
    let sudo = format!("run it as root, as in: sudo divvy apply {}", rule.name());
    match (machine.rights, rule) {
        (Rights::All, _) => Ok(()),
        (Rights::Own(_), Rule::UserFair) => Err(Missing::new(
            "no permission to change the nice values of other users' threads (CAP_SYS_NICE)",
            sudo,
        )),
        (Rights::Own(_), Rule::ProcessFair) if machine.least_nice("self") > 0 => Err(Missing::new(
            "this user may raise nice values, and not lower them again, so that nothing could be restored",
            format!(
                "{sudo}; or permit it by the line `USER - nice 0` in /etc/security/limits.conf, and log in again"
            ),
        )),
        (Rights::Own(_), Rule::ProcessFair) => Ok(()),
    }
}

/// The first line: what is done, among whom, how often and how exactly.
fn began(applier: &Applier<Kernel>, options: &Options, survey: &Survey) -> String {
    let rule = options.rule;
    let time = |time: Duration| divvy_policy::quantity::format_time_ns(time.as_nanos() as i64);
    let every = time(options.interval);
    let end = options
        .duration
        .map_or_else(|| "until Ctrl-C".to_owned(), |duration| format!("for {}", time(duration)));
    match applier.mechanism {
        Mechanism::Cgroup => {
            let users = groups::of_users(&applier.machine, &survey.threads).len();
            format!("{} by cpu.weight of the cgroups of {users} users, every {every}; {end}", rule.name())
        }
        Mechanism::Nice => {
            let plan = super::applier::plan(&applier.machine, rule, &applier.changes, survey);
            let owners = plan.shares.owners.values().filter(|share| share.threads > 0).count();
            let autogroups =
                notes::autogroups(&applier.machine).map(|note| format!("\n{note}")).unwrap_or_default();
            format!(
                "{} by nice values among {owners} runnable {}, every {every}; {end}\n\
                 note: a step of nice is 25 %, so weights are exact to within 12 %{autogroups}",
                rule.name(),
                rule.owners()
            )
        }
    }
}

fn run(
    applier: &mut Applier<Kernel>,
    signals: &mut Signals,
    options: &Options,
    watch: &mut dyn Watch,
) -> Result<(), ApplyError> {
    let end = options.duration.and_then(|duration| Instant::now().checked_add(duration));
    let mut next = Instant::now() + options.interval;
    loop {
        let until = end.map_or(next, |end| end.min(next));
        let signalled =
            signals.wait_until(until).map_err(|error| ApplyError::Io("cannot wait".to_owned(), error))?;
        if signalled || end.is_some_and(|end| Instant::now() >= end) {
            return Ok(());
        }
        let step = applier.step(watch)?;
        watch.interval(&said(applier, &step));
        // After the machine was suspended the missed intervals are left out.
        next = (next + options.interval).max(Instant::now());
    }
}

fn said(applier: &Applier<Kernel>, step: &Step) -> String {
    let owners = format!("{} {}", step.owners, applier.rule.owners());
    let changed = applier.changes.len() + applier.groups.len();
    match applier.mechanism {
        Mechanism::Cgroup => format!("{owners}; {} values set, {changed} known", step.changed),
        Mechanism::Nice => format!(
            "{owners} want a CPU; {} values set, {changed} known; error of the steps {:.1}%",
            step.changed,
            step.error * 100.0
        ),
    }
}
