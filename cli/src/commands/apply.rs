//! `divvy apply`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueHint};
use divvy_kernel::apply::{self, Mechanism, Options, Rule, Watch};

use crate::args::choice::{Choice, one_of};
use crate::args::durations::{duration, positive_duration};
use crate::output::Output;
use crate::view::applied;

/// Make the kernel's own scheduler fair by weights, also without sched_ext
#[derive(Debug, Args)]
#[command(
    after_help = "\
Examples:
  divvy apply user-fair --dry-run
  sudo divvy apply user-fair
  sudo divvy apply process-fair --interval 500ms --duration 1h
  sudo divvy apply --restore",
    after_long_help = APPLY_HELP
)]
pub struct ApplyArgs {
    /// Among whom the CPUs are divided
    #[arg(value_name = "SPEC", value_parser = one_of(RULES), required_unless_present = "restore")]
    pub rule: Option<Rule>,

    /// The values to set [default: cpu.weight where users have cgroups, nice values elsewhere]
    #[arg(long, value_name = "WHAT", value_parser = one_of(MECHANISMS))]
    pub with: Option<Mechanism>,

    /// Time between two looks at the threads
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = interval)]
    pub interval: Duration,

    /// End after this time; without it, at Ctrl-C
    #[arg(long, value_name = "TIME", value_parser = positive_duration)]
    pub duration: Option<Duration>,

    /// Look for an interval, print what would be set, and change nothing
    #[arg(long, conflicts_with = "duration")]
    pub dry_run: bool,

    /// Only restore what a killed divvy apply left
    #[arg(long, conflicts_with_all = ["rule", "with", "duration", "dry_run"])]
    pub restore: bool,

    /// Where it is written down what was changed [default: /run/divvy-apply/journal, or in $XDG_RUNTIME_DIR]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub journal: Option<PathBuf>,
}

const RULES: &[Choice<Rule>] = &[
    ("user-fair", Rule::UserFair, "Users with runnable threads receive the same, however many threads"),
    ("process-fair", Rule::ProcessFair, "Processes with runnable threads receive the same"),
];

const MECHANISMS: &[Choice<Mechanism>] = &[
    ("cgroup", Mechanism::Cgroup, "cpu.weight of the users' cgroups"),
    ("nice", Mechanism::Nice, "Nice values of threads: a step is 25 %, so weights are exact to within 12 %"),
];

const APPLY_HELP: &str = "\
It looks at the threads of /proc, sets weights so that users or processes are equal, and goes on doing so, because threads come and go. Nobody is entitled \
to more CPUs than its threads can use. Threads of one user stay in proportion to each other. Kernel, real-time and idle threads are not touched, and neither is \
what somebody else changes meanwhile. With -v it prints a line for each interval.

At the end, at Ctrl-C, SIGTERM and SIGHUP, it puts back what was there before. The journal says what was changed; after kill -9, the next \
divvy apply or divvy apply --restore puts it back. It needs root; an ordinary user may apply process-fair to their own processes, where the limit of \
nice values permits to lower them again.

Examples:
  divvy apply user-fair --dry-run
  sudo divvy apply user-fair
  sudo divvy apply process-fair --interval 500ms --duration 1h
  sudo divvy apply --restore";

/// Applies until it is ended, shows what it would do, or restores.
pub fn run(args: &ApplyArgs, verbose: bool, output: Output) -> anyhow::Result<()> {
    let Some(rule) = args.rule else {
        let restored = apply::restore_journal(&journal(args)?)?;
        return output.write(&(applied::restored(restored) + "\n"), None);
    };
    let mut options = Options {
        rule,
        with: args.with,
        interval: args.interval,
        duration: args.duration,
        journal: PathBuf::new(),
    };
    if args.dry_run {
        // Without a place for it there is none that an earlier run left.
        options.journal = journal(args).unwrap_or_default();
        let preview = apply::preview(&options)?;
        preview.notes.iter().for_each(|note| output.note(note));
        return output.write(&applied::table(rule, &preview), None);
    }
    options.journal = journal(args)?;
    let restored = apply::apply(&options, &mut Screen { output, verbose })?;
    output.note(&applied::restored(restored));
    Ok(())
}

fn journal(args: &ApplyArgs) -> anyhow::Result<PathBuf> {
    Ok(args.journal.clone().map_or_else(apply::default_journal, Ok)?)
}

struct Screen {
    output: Output,
    verbose: bool,
}

impl Watch for Screen {
    fn note(&mut self, text: &str) {
        self.output.note(text);
    }

    fn interval(&mut self, text: &str) {
        if self.verbose {
            self.output.note(text);
        }
    }
}

/// A look costs as much as `divvy top`.
fn interval(text: &str) -> Result<Duration, String> {
    match duration(text)? {
        time if time < Duration::from_millis(100) => Err("at least 100ms".to_owned()),
        time => Ok(time),
    }
}
