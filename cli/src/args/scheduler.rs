//! The options of a scheduler in the kernel, of `divvy load` and `divvy enable`.

use std::path::{Path, PathBuf, absolute};
use std::time::Duration;

use clap::{Args, ValueHint};
use divvy_kernel::flow::DEFAULT_DB;
use divvy_kernel::load::{self, GroupMay, Grouping, MAX_POOL, Options};
use divvy_policy::spec::{self, Spec};
use divvy_policy::units::show_duration;

use crate::args::choice::{Choice, one_of};
use crate::args::durations::{duration, positive_duration};
use crate::args::presets;

/// Defaults.
const QUANTUM: &str = "4ms";
const TIMEOUT: &str = "30s";
const MOST_TASKS: i64 = MAX_POOL as i64 - 1;

/// Settings of a scheduler in the kernel.
#[derive(Debug, Args)]
#[command(next_help_heading = "Scheduler")]
pub struct SchedulerArgs {
    /// Slice of policies that do not set their own
    #[arg(long, value_name = "TIME", default_value = QUANTUM, value_parser = positive_duration)]
    pub quantum: Duration,

    /// How long a task may wait for a CPU before the kernel unloads the policy; at most 30s
    #[arg(long, value_name = "TIME", default_value = TIMEOUT, value_parser = watchdog)]
    pub timeout: Duration,

    /// A task that waits this long runs next, once; 0s means never [default: half of --timeout]
    #[arg(long, alias = "patience", value_name = "TIME", value_parser = duration)]
    pub starvation_limit: Option<Duration>,

    /// Honour cpu.weight and cpu.max: divide the CPUs among cgroups, and a cgroup's part among its tasks and cgroups (adds +groups)
    ///
    /// At each level tasks count by their own weights, and cgroups by cpu.weight, where 100 is nice 0. A cgroup gets no
    /// more CPUs than it has runnable tasks, and others get the rest. A cgroup without the controller cpu belongs to
    /// the one above it. Limits (cpu.max) are kept down to eight levels; one that is set while the policy is loaded holds within a second. Not
    /// honoured: cpu.idle (such a cgroup has weight 1, as its cpu.weight says), cpu.uclamp.
    #[arg(long, conflicts_with = "users")]
    pub cgroups: bool,

    /// Divide the CPUs equally among users, and a user's part among the user's tasks (adds +groups)
    #[arg(long)]
    pub users: bool,

    /// Load although cgroups have limits of CPU time (cpu.max), which do not hold while the policy is loaded
    ///
    /// Without it, and without --cgroups, such cgroups are named, and nothing is loaded. A limit that is set later does not hold either.
    /// With --cgroups limits are not kept.
    #[arg(long)]
    pub ignore_cpu_max: bool,

    /// Most tasks that the policy takes; further ones wait in a separate queue
    #[arg(long, value_name = "N", default_value_t = MOST_TASKS,
        value_parser = clap::value_parser!(i64).range(1..i64::from(MAX_POOL)))]
    pub pool: i64,

    /// The same, for policies that may look at every task to choose one (linux24, pbs, vtrr): they are not loaded without it
    ///
    /// All CPUs wait for such a decision. `divvy policies NAME` says how long it may take for each task. Tasks beyond
    /// this number wait in one queue, and together get what one task of nice 0 gets, or more if that is too little for
    /// --starvation-limit.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..i64::from(MAX_POOL)))]
    pub max_tasks: Option<u32>,

    /// Where +flow keeps what it learns of programs; `divvy flow` shows it
    #[arg(long, value_name = "FILE", default_value = DEFAULT_DB, value_hint = ValueHint::FilePath)]
    pub db: PathBuf,

    /// Weights by executable, service, cgroup and user [default: /etc/divvy.toml, if it is there]
    ///
    /// A weight takes the place of nice 0's, which is 1024. The file is read again when it changes. `man divvy-load` has its format.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub rules: Option<PathBuf>,

    /// Members of this group may also watch it, and change the weights of their own threads (divvy top, divvy set)
    #[arg(long, value_name = "NAME", value_hint = ValueHint::Other)]
    pub group: Option<String>,

    /// Rights of the members of --group, who may always watch
    #[arg(long, value_parser = one_of(RIGHTS), value_name = "WHAT", default_value = "own", requires = "group")]
    pub group_may: GroupMay,

    /// For tests: each N-th task gets no place
    #[arg(long, value_name = "N", default_value_t = 0, hide = true)]
    pub fail_every: u32,
}

/// The path from the root on: the unit has another directory.
pub fn full(path: &Path) -> PathBuf {
    absolute(path).unwrap_or_else(|_| path.to_owned())
}

impl SchedulerArgs {
    /// The words of a command line that says the same, without those that say a default.
    pub fn words(&self) -> Vec<String> {
        // Each field by its name, so that a new one is not forgotten here.
        let Self {
            quantum,
            timeout,
            starvation_limit,
            cgroups,
            users,
            ignore_cpu_max,
            pool,
            max_tasks,
            db,
            rules,
            group,
            group_may,
            fail_every,
        } = self;
        let given = |name: &str, value: Option<String>| value.map(|value| format!("--{name}={value}"));
        let time = |time: Duration, default: &str| Some(show(time)).filter(|text| text != default);
        let switch = |name: &str, is_on: bool| is_on.then(|| format!("--{name}"));
        let may = RIGHTS.iter().find(|(_, right, _)| right == group_may && *right != GroupMay::Own);
        let shown = |path: &PathBuf| full(path).display().to_string();
        let db = shown(db);
        let words = [
            given("quantum", time(*quantum, QUANTUM)),
            given("timeout", time(*timeout, TIMEOUT)),
            given("starvation-limit", starvation_limit.map(show)),
            switch("cgroups", *cgroups),
            switch("users", *users),
            switch("ignore-cpu-max", *ignore_cpu_max),
            given("pool", Some(*pool).filter(|pool| *pool != MOST_TASKS).map(|pool| pool.to_string())),
            given("max-tasks", max_tasks.map(|tasks| tasks.to_string())),
            given("db", Some(db).filter(|db| db != DEFAULT_DB)),
            given("rules", rules.as_ref().map(shown)),
            given("group", group.clone()),
            given("group-may", may.map(|(name, ..)| (*name).to_owned())),
            given("fail-every", Some(*fail_every).filter(|every| *every != 0).map(|every| every.to_string())),
        ];
        words.into_iter().flatten().collect()
    }
}

/// As an option is given.
fn show(time: Duration) -> String {
    show_duration(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX))
}

/// Rights of the group's members.
const RIGHTS: &[Choice<GroupMay>] = &[
    ("watch", GroupMay::Watch, "Nothing"),
    ("own", GroupMay::Own, "Change the weights of threads whose user they are"),
    ("all", GroupMay::All, "Change all weights, and parameters of the policy"),
];

/// Reads the watchdog's time; the kernel has its own limit.
fn watchdog(text: &str) -> Result<Duration, String> {
    match positive_duration(text)? {
        time if time > Duration::from_secs(30) => Err("the kernel takes at most 30s".to_owned()),
        time if time < Duration::from_millis(1) => Err("it must be at least 1ms".to_owned()),
        time => Ok(time),
    }
}

fn grouping(args: &SchedulerArgs) -> Option<Grouping> {
    match (args.cgroups, args.users) {
        (true, _) => Some(Grouping::Cgroups),
        (false, true) => Some(Grouping::Users),
        (false, false) => None,
    }
}

/// A preset stands for a policy and more, so nothing can follow it.
fn parse(spec: &str) -> anyhow::Result<Spec> {
    spec::parse(spec, divvy_policy::all()).map_err(|error| {
        let name = spec.split(['+', '@', ':']).next().unwrap_or(spec);
        let Some(preset) = presets::find(name) else { return error.into() };
        anyhow::Error::new(error).context(format!(
            "nothing can follow a preset: `{name}` stands for `{}`, so write that with what you add",
            preset.words()
        ))
    })
}

/// The options of a scheduler alone, of which nothing is shown.
pub fn options(spec: &str, args: &SchedulerArgs) -> anyhow::Result<Options> {
    let preset = presets::find(spec);
    let spec = preset.map_or(spec, |preset| preset.spec);
    Ok(Options {
        spec: parse(spec)?,
        quantum: args.quantum,
        timeout: args.timeout,
        starvation_limit: args.starvation_limit.unwrap_or(args.timeout / 2),
        grouping: grouping(args).or_else(|| preset?.grouping),
        ignore_cpu_max: args.ignore_cpu_max,
        pool: u32::try_from(args.pool)?,
        max_tasks: args.max_tasks,
        interval: Duration::MAX,
        duration: None,
        command: Vec::new(),
        log: None,
        db: args.db.clone(),
        rules: args.rules.clone(),
        group: args.group.clone(),
        group_may: args.group_may,
        top: 0,
        fail_every: args.fail_every,
    })
}

/// Whether this policy or preset would be loaded with these options, on a machine that has everything.
pub fn loadable(spec: &str, args: &SchedulerArgs) -> anyhow::Result<()> {
    Ok(load::loadable(&options(spec, args)?)?)
}
