//! A worker's answer to a part of a sweep.

use divvy_policy::Failure;
use divvy_results::progress::Progress;
use serde::{Deserialize, Serialize};

use super::part::{Part, Request, Unread};
use super::{identity, run_into};

/// The rows of a part, and who computed them.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
pub struct Answer {
    /// As [`identity()`] says it there. It is empty if the request could not be read.
    pub identity: String,
    /// The lines of the rows that are done, in their order.
    pub rows: String,
    /// Why there are no more of them, if some are missing.
    pub error: Option<Refused>,
}

/// An error of another machine.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct Refused {
    /// The whole message.
    pub text: String,
    /// The exit code that the command has for it.
    pub code: u8,
}

impl Refused {
    /// An error with its causes.
    pub fn new(error: &impl Failure) -> Refused {
        Refused { text: error.to_string(), code: error.kind().exit_code() }
    }
}

impl Answer {
    /// Runs a part on the threads of this pool of rayon's.
    #[must_use]
    pub fn to(request: Request, part: &Part, progress: &dyn Progress) -> Answer {
        let mut answer = Answer::default();
        if let Err(error) = answer.fill(request, part, progress) {
            answer.error = Some(Refused::new(&error));
        }
        answer
    }

    fn fill(&mut self, request: Request, part: &Part, progress: &dyn Progress) -> Result<(), Unread> {
        let opened = request.open()?;
        self.identity = identity(opened.specs());
        let plan = opened.plan(part)?;
        Ok(run_into(&plan, &part.rows(), progress, &mut self.rows)?)
    }
}
