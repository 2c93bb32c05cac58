//! The table of verified BPF programs.

use std::fmt::Write as _;
use std::time::Duration;

use divvy_kernel::load::VerifiedProgram;
use divvy_results::text;
use serde_json::json;

const BOLD: anstyle::Style = anstyle::Style::new().bold();

/// For people: the programs that cost most first, and the sum.
pub fn table(spec: &str, programs: &[VerifiedProgram]) -> String {
    let mut sorted: Vec<_> = programs.iter().collect();
    sorted.sort_by(|a, b| b.instructions.cmp(&a.instructions).then_with(|| a.name.cmp(&b.name)));
    let mut out = String::new();
    let _ = writeln!(out, "{BOLD}{spec}: this kernel accepts its {} programs{BOLD:#}", programs.len());
    let _ = writeln!(out, "  {:26} {:>12} {:>10} {:>10}", "program", "instructions", "states", "time");
    for program in sorted {
        let _ = writeln!(out, "{}", row(&program.name, program.instructions, program.states, program.time));
    }
    let most = programs.iter().map(|program| program.states).max().unwrap_or(0);
    let time = programs.iter().map(|program| program.time).sum();
    let _ = writeln!(out, "{}", row("all", instructions(programs), most, time));
    out
}

fn row(name: &str, instructions: u64, states: u64, time: Duration) -> String {
    format!("  {name:26} {instructions:>12} {states:>10} {:>10}", text::time(time.as_nanos() as f64))
}

fn instructions(programs: &[VerifiedProgram]) -> u64 {
    programs.iter().map(|program| program.instructions).sum()
}

/// One line.
pub fn json(spec: &str, programs: &[VerifiedProgram]) -> serde_json::Result<String> {
    let rows: Vec<_> = programs
        .iter()
        .map(|program| {
            json!({
                "name": program.name,
                "instructions": program.instructions,
                "peak_states": program.states,
                "time_ns": u64::try_from(program.time.as_nanos()).unwrap_or(u64::MAX),
            })
        })
        .collect();
    let line = json!({ "policy": spec, "instructions": instructions(programs), "programs": rows });
    serde_json::to_string(&line).map(|line| line + "\n")
}
