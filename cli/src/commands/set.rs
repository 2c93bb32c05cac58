//! `divvy set`: changes a thread's weight or a parameter of the loaded scheduler.

use clap::{Args, ValueHint};
use divvy_kernel::load::{self, Reply, Request};
use divvy_policy::Weight;
use divvy_policy::{Failure, FailureKind};

use crate::output::Output;

/// Change the loaded policy: a thread's weight, or a parameter
///
/// This is for root. Members of the group of `divvy load --group` may read all of it, and change the weights of their own
/// threads, unless `--group-may` says otherwise.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sudo divvy set 1234 weight=2048
  sudo divvy set 1234 weight
  sudo divvy set alpha=0.5")]
pub struct SetArgs {
    /// A thread's number; or a parameter of the policy, with or without =VALUE
    #[arg(value_name = "TID|PARAM", value_hint = ValueHint::Other)]
    pub target: String,

    /// weight=N sets the thread's weight until its nice value changes, weight prints it; nice 0 is 1024
    #[arg(value_name = "weight[=N]", value_hint = ValueHint::Other)]
    pub setting: Option<String>,
}

/// A setting that does not exist.
#[derive(Debug, thiserror::Error)]
pub enum BadSetting {
    /// The command line is wrong.
    #[error("{0}; as in `divvy set 1234 weight=512` or `divvy set alpha=0.5`")]
    Words(String),
    /// The scheduler refuses it.
    #[error("{0}")]
    Refused(String),
}

impl Failure for BadSetting {
    fn kind(&self) -> FailureKind {
        FailureKind::Usage
    }
}

/// The loaded scheduler has no such thread.
#[derive(Debug, thiserror::Error)]
#[error(
    "the loaded scheduler has no thread {0}: it has ended, or is a kernel thread, or is real-time, or another thread than the first of its \
     process executed a program\n  \
     ps -eLo tid,cls,comm shows the threads; those of class FF, RR and DLN are real-time; one that executed a program can have a rule \
     instead: divvy load --rules"
)]
pub struct NoThread(u32);

/// Sends the request, and prints the value that now holds.
pub fn run(args: &SetArgs, output: Output) -> anyhow::Result<()> {
    let request = request(args)?;
    let text = match load::ask(&request)? {
        Reply::Weight { weight } => Weight::from_fixed(weight).units().to_string(),
        Reply::Param { policy, name, value } => format!("{policy}:{name}={value}"),
        Reply::Bad { problem } => return Err(BadSetting::Refused(problem).into()),
        Reply::Failed { problem } => anyhow::bail!("the loaded scheduler failed: {problem}"),
        Reply::NoTask => return Err(NoThread(pid(&args.target).unwrap_or(0)).into()),
        Reply::Denied
        | Reply::Forbidden { .. }
        | Reply::Look(_)
        | Reply::Replaced
        | Reply::NotReplaced { .. }
        | Reply::Withdrawn => {
            anyhow::bail!("the loaded scheduler refuses to answer")
        }
    };
    output.write(&(text + "\n"), None)
}

fn pid(text: &str) -> Option<u32> {
    text.parse().ok().filter(|pid| *pid > 0)
}

fn request(args: &SetArgs) -> Result<Request, BadSetting> {
    let Some(setting) = &args.setting else { return param(&args.target) };
    let pid = pid(&args.target).ok_or_else(|| {
        BadSetting::Words(format!("`{}` is not a thread's number", args.target.escape_debug()))
    })?;
    match setting.split_once('=') {
        None if setting == "weight" => Ok(Request::GetWeight { pid }),
        Some(("weight", value)) => {
            let weight = Weight::parse(value).map_err(BadSetting::Words)?.fixed();
            Ok(Request::SetWeight { pid, weight })
        }
        _ => Err(BadSetting::Words(format!("a thread has no `{}`, only a weight", setting.escape_debug()))),
    }
}

fn param(text: &str) -> Result<Request, BadSetting> {
    if pid(text).is_some() {
        return Err(BadSetting::Words(format!(
            "missing setting for thread {text}: give weight=N, or weight to print it"
        )));
    }
    Ok(match text.split_once('=') {
        None => Request::GetParam { name: text.to_owned() },
        Some((name, value)) => Request::SetParam { name: name.to_owned(), value: value.to_owned() },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(target: &str, setting: Option<&str>) -> Result<Request, String> {
        let args = SetArgs { target: target.to_owned(), setting: setting.map(str::to_owned) };
        request(&args).map_err(|error| error.to_string())
    }

    #[test]
    fn threads_have_weights_in_the_kernels_table() {
        assert_eq!(read("12", Some("weight")), Ok(Request::GetWeight { pid: 12 }));
        assert_eq!(read("12", Some("weight=1024")), Ok(Request::SetWeight { pid: 12, weight: 1 << 20 }));
        assert_eq!(read("12", Some("weight=0.5")), Ok(Request::SetWeight { pid: 12, weight: 512 }));
    }

    #[test]
    fn parameters_are_for_the_scheduler_to_read() {
        assert_eq!(read("alpha", None), Ok(Request::GetParam { name: "alpha".to_owned() }));
        let set = Request::SetParam { name: "alpha".to_owned(), value: "0.5".to_owned() };
        assert_eq!(read("alpha=0.5", None), Ok(set));
    }

    #[test]
    fn what_cannot_be_meant_is_said() {
        for (target, setting, says) in [
            ("12", None, "missing setting for thread 12: give weight=N"),
            ("0", Some("weight=2"), "`0` is not a thread's number"),
            ("make", Some("weight=2"), "`make` is not a thread's number"),
            ("12", Some("nice=2"), "a thread has no `nice=2`, only a weight"),
            ("12", Some("weight=heavy"), "`heavy` is not a weight"),
            ("12", Some("weight=0"), "weight 0 is too small"),
        ] {
            let error = read(target, setting).expect_err(target);
            assert!(error.starts_with(says), "{error}");
        }
    }
}
