//! The loader's interface to its caller: options, and events while a scheduler is loaded.

use std::ffi::OsString;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::Duration;

use divvy_policy::spec::Spec;

use super::grouping::Grouping;
use super::peer::GroupMay;
use super::statistics::Period;

/// The policy to load, and how.
#[derive(Clone, Debug)]
pub struct Options {
    /// The policy.
    pub spec: Spec,
    /// The slice under policies that do not set slices of their own.
    pub quantum: Duration,
    /// How long a runnable task may wait before the kernel throws the scheduler out.
    pub timeout: Duration,
    /// How long a runnable task may wait before it gets a slice out of order; zero: no limit but the kernel's watchdog.
    pub starvation_limit: Duration,
    /// How tasks are grouped, if they are; adds the modifier groups.
    pub grouping: Option<Grouping>,
    /// Load although cgroups have limits of CPU time which then do not hold, and do not keep those of cgroups either.
    pub ignore_cpu_max: bool,
    /// The most tasks of the policy; further tasks wait in the fallback queue.
    pub pool: u32,
    /// The same for a policy whose decisions look at all tasks, which is not loaded without it.
    pub max_tasks: Option<u32>,
    /// The time between statistics.
    pub interval: Duration,
    /// When to unload; never by default.
    pub duration: Option<Duration>,
    /// A program to run under the scheduler, which is unloaded when it ends.
    pub command: Vec<OsString>,
    /// Where to write the decisions.
    pub log: Option<PathBuf>,
    /// The database in which the modifier flow keeps what it learned about programs.
    pub db: PathBuf,
    /// The file of rules, which must be there; by default [`super::RULES`], if it is there.
    pub rules: Option<PathBuf>,
    /// The group whose members may connect, besides root.
    pub group: Option<String>,
    /// The members' rights.
    pub group_may: GroupMay,
    /// The number of tasks in the statistics: those that received the most.
    pub top: usize,
    /// For tests: every n-th task gets no id; 0: all get one.
    pub fail_every: u32,
}

impl Options {
    /// Whether the limits of CPU time that cgroups have hold.
    #[must_use]
    pub fn keeps_limits(&self) -> bool {
        let by_cgroup = self.grouping == Some(Grouping::Cgroups);
        by_cgroup && !self.ignore_cpu_max
    }
}

/// Makes options of SPEC and options as those of `divvy enable`; if it cannot, it says why.
pub type ReadOptions<'a> = &'a dyn Fn(&[String]) -> Result<Options, String>;

/// Receives events while a scheduler is loaded.
pub trait Watch {
    /// A message for the user.
    fn note(&mut self, text: &str);
    /// The same of something that does not work: said also to a user who wants results only.
    fn warn(&mut self, text: &str);
    /// The statistics of an interval. On `Break` the scheduler is unloaded, unless there is a command.
    fn interval(&mut self, interval: &Period) -> ControlFlow<()>;
    /// The statistics of the whole run.
    fn total(&mut self, total: &Period);
}
