//! `divvy sweep --part`: a worker's end. A request and a part come as two lines on stdin, and one line of JSON is the answer.

use std::io::{self, BufRead as _, Read as _};

use anyhow::Context as _;
use divvy_sweep::{Answer, Part, Request};

use crate::output::Output;

/// Runs one part. It ends early when stdin ends: then nobody waits for the answer.
pub fn run(output: Output) -> anyhow::Result<()> {
    let (request, part) = (line()?, line()?);
    let other = "the request is of another version of divvy";
    let request: Request = serde_json::from_str(&request).context(other)?;
    let part: Part = serde_json::from_str(&part).context(other)?;
    std::thread::spawn(|| {
        let _ = io::stdin().lock().read(&mut [0]);
        std::process::exit(1);
    });
    let answer = Answer::to(request, &part, &());
    output.write(&(serde_json::to_string(&answer)? + "\n"), None)
}

fn line() -> anyhow::Result<String> {
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line).context("cannot read stdin")?;
    Ok(line)
}
