//! `divvy sweep --part`: a worker's end. A request and a part come as two lines on stdin, and one line of JSON is the answer.

use std::io::{self, BufRead as _, Read as _};

use anyhow::Context as _;
use divvy_policy::{Failure, FailureKind};
use divvy_sweep::{Answer, Part, Request};
use serde::de::DeserializeOwned;

use crate::output::Output;

/// A workload of a million tasks has a tenth of it.
const LONGEST_LINE: u64 = 1 << 30;

/// A line that is none of `divvy sweep --cluster`.
#[derive(Debug, thiserror::Error)]
#[error(
    "stdin, line {line}: it is no {what} of `divvy sweep --cluster` ({why}); it was cut off, or divvy there has another version"
)]
pub struct Damaged {
    line: u32,
    what: &'static str,
    why: serde_json::Error,
}

impl Failure for Damaged {
    fn kind(&self) -> FailureKind {
        FailureKind::BadInput
    }
}

/// Runs one part. It ends early when stdin ends: then nobody waits for the answer.
pub fn run(output: Output) -> anyhow::Result<()> {
    let request: Request = line(1, "request")?;
    let part: Part = line(2, "part")?;
    std::thread::spawn(|| {
        let _ = io::stdin().lock().read(&mut [0]);
        std::process::exit(1);
    });
    let answer = Answer::to(request, &part, &());
    output.write(&(serde_json::to_string(&answer)? + "\n"), None)
}

fn line<T: DeserializeOwned>(line: u32, what: &'static str) -> anyhow::Result<T> {
    let mut text = String::new();
    io::stdin().lock().take(LONGEST_LINE).read_line(&mut text).context("cannot read stdin")?;
    Ok(serde_json::from_str(&text).map_err(|why| Damaged { line, what, why })?)
}
