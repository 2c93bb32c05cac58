//! Exact weights, given to a divvy scheduler that is loaded.

use std::io;

use divvy_policy::Weight;
use divvy_workload::Workload;
use rustix::process::Pid;
use rustix::thread::gettid;

use super::error::PlayError;
use super::scheduler;
use super::weight::{ByNice, Scale, SetWeight};
use divvy_kernel::load::{Reply, Request, ask};

/// Start of the policy name of a run under a divvy scheduler.
const OURS: &str = "kernel:divvy_";

/// Sets exact weights if a divvy scheduler is loaded and takes commands from this user; otherwise nice values.
#[derive(Debug)]
pub struct ByScheduler {
    by_nice: ByNice,
    is_exact: bool,
}

impl ByScheduler {
    /// Makes one that is not prepared yet. `scale` is for nice values.
    pub fn new(scale: Scale) -> ByScheduler {
        ByScheduler { by_nice: ByNice::new(scale), is_exact: false }
    }
}

impl SetWeight for ByScheduler {
    fn prepare(&mut self, workload: &Workload) -> Result<Option<String>, PlayError> {
        let by_nice = self.by_nice.prepare(workload);
        let is_exact = matches!(by_nice, Ok(None));
        if is_exact || !scheduler::name().starts_with(OURS) {
            return by_nice;
        }
        match command(&Request::GetWeight { pid: number(gettid()) }) {
            Ok(()) => {
                self.is_exact = true;
                Ok(Some("weights are exact, set by the scheduler".to_owned()))
            }
            Err(problem) => without(by_nice, &problem),
        }
    }

    fn set(&self, tid: Pid, class: usize, weight: Weight) -> io::Result<()> {
        if !self.is_exact {
            return self.by_nice.set(tid, class, weight);
        }
        // A weight that has a nice value needs no request to the scheduler, which is another process and takes longer.
        if weight.nice().is_some_and(|nice| set_nice(tid, nice)) {
            return Ok(());
        }
        command(&Request::SetWeight { pid: number(tid), weight: weight.fixed() }).map_err(io::Error::other)
    }
}

/// The result of preparing nice values, with the reason why weights are not exact.
fn without(by_nice: Result<Option<String>, PlayError>, problem: &str) -> Result<Option<String>, PlayError> {
    let reason = format!("the loaded scheduler would have set weights exactly, but {problem}");
    match by_nice {
        Ok(told) => Ok(Some(told.map_or(reason.clone(), |told| format!("{told}; {reason}")))),
        Err(PlayError::Machine(error)) => Err(PlayError::Machine(format!("{error}\n  {reason}"))),
        Err(error) => Err(error),
    }
}

fn set_nice(tid: Pid, nice: i8) -> bool {
    rustix::process::setpriority_process(Some(tid), nice.into()).is_ok()
}

fn number(tid: Pid) -> u32 {
    tid.as_raw_nonzero().get().unsigned_abs()
}

/// Sends a command to the scheduler.
///
/// # Errors
/// Why the scheduler did not obey.
fn command(request: &Request) -> Result<(), String> {
    match ask(request) {
        Ok(Reply::Weight { .. }) => Ok(()),
        Ok(Reply::NoTask) => {
            Err("it has no room for this thread: load it with a larger --pool (divvy load)".to_owned())
        }
        Ok(Reply::Bad { problem } | Reply::Failed { problem }) => Err(problem),
        Ok(reply) => Err(format!(
            "it gave an unexpected answer, {reply:?}: load the scheduler of this version of divvy"
        )),
        Err(error) => Err(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_permission_nice_values_are_used_and_the_reason_is_given() {
        let told = |by_nice| without(by_nice, "no permission");
        let reason = "the loaded scheduler would have set weights exactly, but no permission";
        assert_eq!(told(Ok(Some("to 1%".to_owned()))), Ok(Some(format!("to 1%; {reason}"))));
        let error = told(Err(PlayError::Machine("misfit".to_owned())));
        assert_eq!(error, Err(PlayError::Machine(format!("misfit\n  {reason}"))));
    }
}
