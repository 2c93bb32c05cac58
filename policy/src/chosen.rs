//! The policies that somebody names, for a command or a call.

use crate::file::{self, FileError};
use crate::spec::{self, Spec, SpecError};
use crate::{Failure, FailureKind};

/// Policies to run.
#[derive(Clone, Debug, PartialEq)]
pub struct Chosen {
    /// Each once, in the order given; the baseline is one of them.
    pub specs: Vec<Spec>,
    /// The policy that the others are compared with, if one was named.
    pub baseline: Option<Spec>,
}

/// A policy that cannot be run.
#[derive(Debug, thiserror::Error)]
pub enum ChoiceError {
    /// Its file cannot be compiled.
    #[error(transparent)]
    File(#[from] FileError),
    /// Its spec is wrong.
    #[error(transparent)]
    Spec(#[from] SpecError),
}

impl Failure for ChoiceError {
    fn kind(&self) -> FailureKind {
        match self {
            ChoiceError::File(error) => error.kind(),
            ChoiceError::Spec(error) => error.kind(),
        }
    }
}

impl Chosen {
    /// Reads comma-separated lists of specs, and the baseline, which is added if the lists do not name it. Policy files are compiled.
    ///
    /// ```
    /// use divvy_policy::Chosen;
    ///
    /// let chosen = Chosen::read(&["rr,sfq".to_owned(), "rr".to_owned()], Some("fcfs"))?;
    /// let names: Vec<String> = chosen.specs.iter().map(ToString::to_string).collect();
    /// assert_eq!(names, ["rr", "sfq", "fcfs"]);
    /// # Ok::<(), divvy_policy::ChoiceError>(())
    /// ```
    ///
    /// # Errors
    /// At the first file or spec that is wrong.
    pub fn read(lists: &[String], baseline: Option<&str>) -> Result<Chosen, ChoiceError> {
        let own: Vec<String> = lists.iter().cloned().chain(baseline.map(str::to_owned)).collect();
        file::load_named(&own)?;
        let baseline = baseline.map(|text| spec::parse(text, crate::all())).transpose()?;
        let mut specs: Vec<Spec> = Vec::new();
        for spec in spec::parse_list(lists, crate::all())?.into_iter().chain(baseline.clone()) {
            if !specs.contains(&spec) {
                specs.push(spec);
            }
        }
        Ok(Chosen { specs, baseline })
    }
}
