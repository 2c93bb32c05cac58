//! `divvy load SPEC`.

use std::io::Write as _;
use std::ops::ControlFlow;
use std::time::Duration;

use divvy_kernel::load::{self, End, Grouping, LoadError, Options, Period, Watch};
use divvy_policy::spec;

use crate::args::{LoadArgs, LoadFormat, SchedulerArgs};
use crate::output::Output;
use crate::view::live;

/// The command under the scheduler failed, with this exit code.
#[derive(Debug, thiserror::Error)]
#[error("the command ended with exit code {0}")]
pub struct CommandFailed(pub u8);

/// Loads the policy, and shows what it does.
pub fn run(args: &LoadArgs, output: Output) -> anyhow::Result<()> {
    let options = options(args)?;
    let mut watch = Screen { format: args.watch.format, output, failed: None };
    let end = load::load(&options, &mut watch).inspect_err(dump)?;
    watch.failed.map_or(Ok(()), Err)?;
    match end {
        End::Asked | End::Command(0) => Ok(()),
        End::Command(code) => Err(CommandFailed(code).into()),
    }
}

fn grouping(args: &SchedulerArgs) -> Option<Grouping> {
    match (args.cgroups, args.users) {
        (true, _) => Some(Grouping::Cgroups),
        (false, true) => Some(Grouping::Users),
        (false, false) => None,
    }
}

fn options(args: &LoadArgs) -> anyhow::Result<Options> {
    let command = if args.exec.is_empty() { &args.command } else { &args.exec };
    Ok(Options {
        spec: spec::parse(&args.spec, divvy_policy::all())?,
        quantum: Duration::from_nanos(args.scheduler.quantum),
        timeout: Duration::from_nanos(args.scheduler.timeout),
        starvation_limit: Duration::from_nanos(args.scheduler.patience.unwrap_or(args.scheduler.timeout / 2)),
        grouping: grouping(&args.scheduler),
        pool: u32::try_from(args.scheduler.pool)?,
        interval: Duration::from_nanos(args.watch.interval),
        duration: args.duration.map(Duration::from_nanos),
        command: command.clone(),
        log: args.watch.log.clone(),
        db: args.scheduler.db.clone(),
        group: args.scheduler.group.clone(),
        top: args.watch.top,
        fail_every: args.scheduler.fail_every,
    })
}

/// What the kernel knew when it threw the scheduler out, for who looks for the reason.
fn dump(error: &LoadError) {
    if let LoadError::ThrownOut { dump, .. } = error {
        let _ = writeln!(anstream::stderr(), "{}", dump.trim_end());
    }
}

struct Screen {
    format: LoadFormat,
    output: Output,
    /// Nobody reads any more, or the like.
    failed: Option<anyhow::Error>,
}

impl Screen {
    fn show(&mut self, interval: &Period, is_total: bool) {
        let text = match self.format {
            LoadFormat::Table => Ok(live::table(interval, is_total, self.output.columns(None))),
            LoadFormat::Json => live::json(interval, is_total),
        };
        let written = text.map_err(anyhow::Error::from).and_then(|text| self.output.write(&text, None));
        if let Err(error) = written {
            self.failed.get_or_insert(error);
        }
    }
}

impl Watch for Screen {
    fn note(&mut self, text: &str) {
        self.output.note(text);
    }

    fn interval(&mut self, interval: &Period) -> ControlFlow<()> {
        if !self.output.is_quiet() {
            self.show(interval, false);
        }
        if self.failed.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    fn total(&mut self, total: &Period) {
        if self.failed.is_none() {
            self.show(total, true);
        }
    }
}
