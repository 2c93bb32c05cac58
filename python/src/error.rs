//! Errors as Python's exceptions: the class says the kind, as the command's exit code does.

use std::error::Error;

use divvy_policy::{Failure, FailureKind};
use pyo3::exceptions::PyException;
use pyo3::{PyErr, create_exception};

create_exception!(divvy, DivvyError, PyException, "The base of all errors of divvy.");
create_exception!(
    divvy,
    UsageError,
    DivvyError,
    "An argument is wrong: an unknown policy, a time without a unit."
);
create_exception!(
    divvy,
    BadInput,
    DivvyError,
    "A workload or a recording is wrong; the message has file and place."
);
create_exception!(divvy, RunError, DivvyError, "A run broke off.");
create_exception!(divvy, InternalError, DivvyError, "A fault of divvy itself.");

/// The exception of an error, with its causes.
pub fn raised<E: Failure>(error: E) -> PyErr {
    let mut text = error.to_string();
    let mut cause: Option<&dyn Error> = error.source();
    while let Some(one) = cause {
        let said = one.to_string();
        if !text.contains(&said) {
            text.push_str(&format!(": {said}"));
        }
        cause = one.source();
    }
    let text = in_python(&text);
    match error.kind() {
        FailureKind::Usage => UsageError::new_err(text),
        FailureKind::BadInput => BadInput::new_err(text),
        _ => RunError::new_err(text),
    }
}

/// An argument that is wrong.
pub fn usage(text: impl AsRef<str>) -> PyErr {
    UsageError::new_err(in_python(text.as_ref()))
}

/// Options of the command that are arguments here: messages call them `--cpus`, and a call `cpus=`.
const ARGUMENTS: [&str; 11] = [
    "baseline",
    "cpus",
    "duration",
    "keep",
    "max-points",
    "quantum",
    "resume",
    "strict",
    "vary",
    "wakes",
    "warm-up",
];

fn in_python(text: &str) -> String {
    ARGUMENTS.iter().fold(text.to_owned(), |text, name| {
        text.replace(&format!("--{name}"), &format!("{}=", name.replace('-', "_")))
    })
}
