//! Exit codes: the one place where errors become numbers.

use std::error::Error;
use std::io::{self, Write as _};
use std::process::ExitCode;

use divvy_kernel::flow::StoreError;
use divvy_kernel::load::{AskError, LoadError, Missing};
use divvy_log::LogError;
use divvy_pages::drawing::NoFigure;
use divvy_play::PlayError;
use divvy_policy::spec::SpecError;
use divvy_sim::run::RunError;
use divvy_sweep::{SweepError, TableError};
use divvy_trace::TraceError;
use divvy_workload::WorkloadError;
use divvy_workload::rtapp::Inexpressible;

use crate::assert::{ClaimError, NotMet};
use crate::commands::convert::UnknownFormat;
use crate::commands::flow::NoProgram;
use crate::commands::load::CommandFailed;
use crate::commands::paper::{ClaimsNotMet, UnknownFigure};
use crate::commands::policies::UnknownPolicy;
use crate::commands::replay::Unfit;
use crate::commands::report::BadReport;
use crate::commands::set::BadSetting;
use crate::commands::sweep::BadOutput;
use crate::commands::verify::{Incomplete, Mismatched};
use crate::output_path::BadOutputPath;
use crate::top::poller::Unloaded;
use crate::view::perfetto::NoTrace;

/// The codes, for the end of the help.
pub const HELP: &str = "\
Exit codes:
  0  done
  1  failure
  2  usage
  3  a claim or --assert is not met
  4  bad input
  5  the kernel lacks something, or permission is missing";

const FAILURE: u8 = 1;
const USAGE: u8 = 2;
const NOT_MET: u8 = 3;
const BAD_INPUT: u8 = 4;
const LACKING: u8 = 5;

/// Prints the error on stderr, and gives the code. A reader that closes the pipe is not an error.
pub fn code(result: &anyhow::Result<()>) -> ExitCode {
    let Err(error) = result else { return ExitCode::SUCCESS };
    if is_broken_pipe(error) {
        return ExitCode::SUCCESS;
    }
    if let Some(CommandFailed(code)) = error.downcast_ref() {
        // The command has printed its own error.
        return ExitCode::from(*code);
    }
    // If stderr is closed, the code is all there is.
    let _ = writeln!(anstream::stderr(), "{ERROR_STYLE}error:{ERROR_STYLE:#} {error:#}");
    ExitCode::from(number(error))
}

const ERROR_STYLE: anstyle::Style = anstyle::AnsiColor::Red.on_default().bold();

fn number(error: &anyhow::Error) -> u8 {
    let codes = error.chain().filter_map(|cause| {
        if cause.is::<SpecError>() || cause.is::<ClaimError>() || cause.is::<UnknownPolicy>() {
            Some(USAGE)
        } else if cause.is::<NotMet>() || cause.is::<Incomplete>() || cause.is::<ClaimsNotMet>() {
            Some(NOT_MET)
        } else if is_bad_input(cause) {
            Some(BAD_INPUT)
        } else if is_misused(cause) {
            Some(USAGE)
        } else if is_missing(cause) {
            Some(LACKING)
        } else if let Some(error) = cause.downcast_ref::<PlayError>() {
            Some(play_number(error))
        } else if let Some(error) = cause.downcast_ref::<SweepError>() {
            Some(sweep_number(error))
        } else if cause.is::<TableError>() {
            Some(BAD_INPUT)
        } else if cause.is::<Mismatched>() {
            Some(FAILURE)
        } else if let Some(error) = cause.downcast_ref::<LogError>() {
            Some(log_number(error))
        } else {
            cause.downcast_ref::<RunError>().map(run_number)
        }
    });
    codes.max().unwrap_or(FAILURE)
}

fn is_misused(cause: &(dyn Error + 'static)) -> bool {
    cause.is::<BadSetting>()
        || cause.is::<UnknownFigure>()
        || cause.is::<BadOutput>()
        || cause.is::<NoTrace>()
        || cause.is::<NoFigure>()
        || matches!(cause.downcast_ref(), Some(BadOutputPath::Input(_) | BadOutputPath::NoDirectory { .. }))
        || cause.is::<UnknownFormat>()
        || is_simulator_only(cause)
}

fn is_bad_input(cause: &(dyn Error + 'static)) -> bool {
    cause.is::<WorkloadError>()
        || cause.is::<TraceError>()
        || cause.is::<Inexpressible>()
        || cause.is::<Unfit>()
        || cause.is::<NoProgram>()
        || cause.is::<BadReport>()
        || cause.downcast_ref().is_some_and(is_bad_store)
        // The variant is transparent, so the error itself is not in the chain.
        || matches!(cause.downcast_ref(), Some(LoadError::Store(error)) if is_bad_store(error))
}

fn is_bad_store(error: &StoreError) -> bool {
    matches!(error, StoreError::File(..) | StoreError::Damaged(..))
}

fn is_missing(cause: &(dyn Error + 'static)) -> bool {
    cause.is::<Missing>()
        || cause.is::<Unloaded>()
        || matches!(cause.downcast_ref(), Some(LoadError::Missing(_)))
        || matches!(cause.downcast_ref(), Some(AskError::Missing(_)))
}

fn is_simulator_only(cause: &(dyn Error + 'static)) -> bool {
    matches!(cause.downcast_ref(), Some(LoadError::SimulatorOnly { .. }))
}

fn run_number(error: &RunError) -> u8 {
    match error {
        RunError::Machine { .. } => USAGE,
        RunError::Endless { .. } | RunError::Workload(_) => BAD_INPUT,
        RunError::Violation { .. } => FAILURE,
    }
}

fn sweep_number(error: &SweepError) -> u8 {
    match error {
        SweepError::Workload { .. } => BAD_INPUT,
        SweepError::Run { error, .. } => run_number(error),
        SweepError::Vary { .. }
        | SweepError::TooMany { .. }
        | SweepError::Options(_)
        | SweepError::Spec { .. } => USAGE,
    }
}

fn play_number(error: &PlayError) -> u8 {
    match error {
        PlayError::Machine(_) => LACKING,
        PlayError::Workload(_) => BAD_INPUT,
        PlayError::Broken(_) => FAILURE,
    }
}

fn log_number(error: &LogError) -> u8 {
    match error {
        LogError::Observer(_) => FAILURE,
        _ => BAD_INPUT,
    }
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<io::Error>())
        .any(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

#[cfg(test)]
mod tests {
    use anyhow::Context as _;

    use super::*;
    use crate::assert::Claim;

    fn number_of<E: std::error::Error + Send + Sync + 'static>(error: E) -> u8 {
        number(&Err::<(), E>(error).context("while testing").expect_err("an error"))
    }

    #[test]
    fn errors_keep_their_code_through_context() {
        let policies = divvy_policy::all();
        assert_eq!(number_of(divvy_policy::spec::parse("nosuch", policies).expect_err("unknown")), 2);
        assert_eq!(number_of(Claim::parse("jain").expect_err("no claim")), 2);
        assert_eq!(number_of(NotMet { failures: vec![] }), 3);
        let file = WorkloadError::File { file: "x".to_owned(), reason: "gone".to_owned() };
        assert_eq!(number_of(file), 4);
        let source = || io::Error::from(io::ErrorKind::NotFound);
        assert_eq!(number_of(BadReport::File { file: "x".to_owned(), source: source() }), 4);
        let damaged = || StoreError::Damaged("x".into(), "cut".to_owned());
        assert_eq!(number_of(damaged()), 4);
        assert_eq!(number_of(LoadError::Store(damaged())), 4);
        assert_eq!(number_of(LogError::Cut { file: "x".into(), at: 1, events: 0 }), 4);
        assert_eq!(number_of(LogError::Observer(io::Error::other("disk full"))), 1);
        assert_eq!(number_of(io::Error::other("disk full")), 1);
    }

    #[test]
    fn what_is_missing_has_its_code_wherever_it_was_found_out() {
        let missing = || divvy_kernel::load::check::not_built();
        assert_eq!(number_of(missing()), 5);
        assert_eq!(number_of(LoadError::from(missing())), 5);
        assert_eq!(number_of(AskError::from(missing())), 5);
        let thrown_out =
            LoadError::ThrownOut { reason: String::new(), message: String::new(), dump: String::new() };
        assert_eq!(number_of(thrown_out), 1);
        assert_eq!(number_of(BadSetting::Refused(String::new())), 2);
    }

    #[test]
    fn a_closed_pipe_is_not_a_failure() {
        let error = anyhow::Error::from(io::Error::from(io::ErrorKind::BrokenPipe)).context("cannot write");
        assert!(is_broken_pipe(&error));
    }
}
