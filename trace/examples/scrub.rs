//! Makes a recording fit to be shown: `scrub IN.perf.data OUT.perf.data NAME` keeps the threads called NAME and all that they forked.

use divvy_trace::{Filter, ReadOptions, read, scrub};
use std::collections::BTreeSet;
use std::fs::File;
use std::path::Path;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [input, output, name] = args.as_slice() else {
        return Err("usage: scrub IN.perf.data OUT.perf.data NAME".into());
    };
    let filter = Filter { names: vec![name.clone()], descendants: true, ..Filter::default() };
    let kept = read(Path::new(input), &ReadOptions::default())?.keep(&filter);
    let tids: BTreeSet<i32> = kept.threads.iter().map(|thread| thread.tid).collect();
    let counts = scrub(File::open(input)?, File::create(output)?, &tids)?;
    println!("kept {} threads and {} of {} samples", tids.len(), counts.kept, counts.samples);
    Ok(())
}
