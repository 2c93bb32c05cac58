//! Exit codes: the one place where errors become numbers.

use std::error::Error;
use std::io::{self, Write as _};
use std::process::ExitCode;

use divvy_kernel::apply::ApplyError;
use divvy_kernel::flow::StoreError;
use divvy_kernel::hosted::HostedError;
use divvy_kernel::load::{AskError, LoadError, Missing};
use divvy_kernel::record::RecordError;
use divvy_kernel::service::ServiceError;
use divvy_kernel::stock::SampleError;
use divvy_lab::LabError;
use divvy_log::LogError;
use divvy_pages::drawing::NoFigure;
use divvy_pages::plot::TooSmall;
use divvy_play::PlayError;
use divvy_policy::file::FileError;
use divvy_policy::spec::SpecError;
use divvy_policy::{ChoiceError, Failure, FailureKind};
use divvy_sim::run::RunError;
use divvy_sweep::{ClusterError, SweepError, TableError};
use divvy_trace::{TraceError, Unfit};
use divvy_workload::WorkloadError;
use divvy_workload::rtapp::Inexpressible;

use crate::args::output::BadOutputArgs;
use crate::assert::{ClaimError, NotMet};
use crate::commands::convert::{NoJobLog, UnknownFormat};
use crate::commands::enable::BadSettings;
use crate::commands::exercise::{BadAnswer, NotAllRight};
use crate::commands::flow::NoProgram;
use crate::commands::load::{CommandFailed, Unread};
use crate::commands::paper::{ClaimsNotMet, OnlyInKernel, UnknownFigure};
use crate::commands::paper_kernel::{NotMeasured, OnlySimulated};
use crate::commands::policies::UnknownPolicy;
use crate::commands::report::BadReport;
use crate::commands::set::BadSetting;
use crate::commands::sweep::{BadOutput, NoTable};
use crate::commands::verify::{Incomplete, Mismatched};
use crate::output_path::BadOutputPath;
use crate::top::poller::Unloaded;
use crate::view::jobs_csv::TooManyJobs;
use crate::view::perfetto::NoTrace;
use crate::view::safe;
use crate::view::textbook::NoJobs;

/// The codes, for the end of the help.
pub const HELP: &str = "\
Exit codes:
  0  done
  1  failure
  2  usage
  3  a claim or --assert is not met
  4  bad input
  5  the kernel lacks something, or permission is missing";

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
    if error.is::<Unread>() {
        // It has said so, and to say it again could wait for the same reader.
        return ExitCode::FAILURE;
    }
    say(error);
    ExitCode::from(number(error))
}

/// Prints an error, unless it is that nobody reads.
pub fn say(error: &anyhow::Error) {
    if !is_broken_pipe(error) {
        // If stderr is closed, the code is all there is.
        let _ = writeln!(anstream::stderr(), "{ERROR_STYLE}error:{ERROR_STYLE:#} {}", text(error));
    }
}

/// The error and its causes. Some have words of the kernel and names of tasks, which a terminal must not obey.
fn text(error: &anyhow::Error) -> String {
    safe::lines(&format!("{error:#}"))
}

const ERROR_STYLE: anstyle::Style = anstyle::AnsiColor::Red.on_default().bold();

/// The code of an error: that of the greatest kind among its causes, as far as they are failures that the command knows. The unit's
/// command is this one as well, so its code says the same here.
fn number(error: &anyhow::Error) -> u8 {
    if let Some(code) = error.chain().find_map(|cause| cause.downcast_ref::<ServiceError>()?.code_of_load()) {
        return code;
    }
    let kinds = error.chain().flat_map(|cause| KINDS.iter().filter_map(move |kind| kind(cause)));
    kinds.max().unwrap_or(FailureKind::Failed).exit_code()
}

type KindOf = fn(&(dyn Error + 'static)) -> Option<FailureKind>;

/// The kind of each error that has one. An error's type says its kind; the list is needed because a trait cannot be asked of
/// an error whose type was erased.
const KINDS: [KindOf; 55] = [
    kind::<crate::advise::Problem>,
    kind::<ApplyError>,
    kind::<AskError>,
    kind::<crate::commands::exercise::NoAnswers>,
    kind::<crate::commands::latency::NeedsRecording>,
    kind::<BadAnswer>,
    kind::<BadOutput>,
    kind::<BadOutputArgs>,
    kind::<BadOutputPath>,
    kind::<BadReport>,
    kind::<BadSetting>,
    kind::<BadSettings>,
    kind::<ChoiceError>,
    kind::<ClaimError>,
    kind::<ClaimsNotMet>,
    kind::<ClusterError>,
    kind::<crate::cluster::part::Damaged>,
    kind::<FileError>,
    kind::<HostedError>,
    kind::<Incomplete>,
    kind::<Inexpressible>,
    kind::<LabError>,
    kind::<LoadError>,
    kind::<LogError>,
    kind::<Mismatched>,
    kind::<Missing>,
    kind::<NoFigure>,
    kind::<NoJobLog>,
    kind::<NoJobs>,
    kind::<NoProgram>,
    kind::<NotAllRight>,
    kind::<NotMet>,
    kind::<NotMeasured>,
    kind::<OnlyInKernel>,
    kind::<OnlySimulated>,
    kind::<NoTable>,
    kind::<NoTrace>,
    kind::<PlayError>,
    kind::<RecordError>,
    kind::<RunError>,
    kind::<SampleError>,
    kind::<ServiceError>,
    kind::<SpecError>,
    kind::<StoreError>,
    kind::<SweepError>,
    kind::<TableError>,
    kind::<TooManyJobs>,
    kind::<TooSmall>,
    kind::<TraceError>,
    kind::<Unfit>,
    kind::<UnknownFigure>,
    kind::<UnknownFormat>,
    kind::<UnknownPolicy>,
    kind::<Unloaded>,
    kind::<WorkloadError>,
];

fn kind<E: Failure + 'static>(cause: &(dyn Error + 'static)) -> Option<FailureKind> {
    cause.downcast_ref::<E>().map(Failure::kind)
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
    fn enable_fails_with_the_code_of_the_units_load() {
        let refused = |code| {
            let (what, said) = ("divvy.service did not load the policy".to_owned(), String::new());
            ServiceError::NotEnabled { what, after: "settings and unit are as before", said, code }
        };
        for code in [2, 4, 5] {
            assert_eq!(number_of(refused(Some(code))), code);
        }
        assert_eq!(number_of(refused(None)), 1);
    }

    #[test]
    fn no_error_of_the_kernel_is_obeyed() {
        let odd = || "runnable task stall (\u{1b}]0;x\u{7}[7])".to_owned();
        let thrown_out = LoadError::ThrownOut { reason: odd(), message: odd(), dump: String::new() };
        let text = text(&anyhow::Error::from(thrown_out));
        assert!(
            text.contains("stall (\\u{1b}]0;x\\u{7}[7])") && !text.contains(['\u{1b}', '\u{7}']),
            "{text}"
        );
    }

    #[test]
    fn a_closed_pipe_is_not_a_failure() {
        let error = anyhow::Error::from(io::Error::from(io::ErrorKind::BrokenPipe)).context("cannot write");
        assert!(is_broken_pipe(&error));
    }
}
