//! `divvy flow`: the database of programs that the modifier flow fills.

use divvy_policy::{Failure, FailureKind};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, IsTerminal as _};
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum, ValueHint};
use divvy_kernel::flow::DEFAULT_DB;
use divvy_kernel::flow::{Predictions, Program, Store};
use divvy_results::text;
use serde_json::json;

use crate::output::Output;
use crate::view::safe;

/// List, show, remove or export what the modifier flow learned about programs
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  divvy flow ls
  sudo divvy flow rm 3f9a
  divvy flow export --format csv > programs.csv")]
pub struct FlowArgs {
    /// The command.
    #[command(subcommand)]
    pub command: FlowCommand,

    /// The database, as `divvy load --db` wrote it
    #[arg(long, value_name = "FILE", global = true, default_value = DEFAULT_DB, value_hint = ValueHint::FilePath)]
    pub db: PathBuf,
}

/// Commands on the database of programs.
#[derive(Debug, Subcommand)]
pub enum FlowCommand {
    /// List the programs, the newest first
    Ls,
    /// Show a program's sequence, and how well it was predicted
    Show {
        /// The beginning of its identity, or a part of its command line
        #[arg(value_name = "PROGRAM", value_hint = ValueHint::Other)]
        program: String,
    },
    /// Remove programs; the scheduler learns them again
    Rm {
        /// The beginning of a program's identity, or a part of its command line; removes every program that matches
        #[arg(value_name = "PROGRAM", required_unless_present = "all", value_hint = ValueHint::Other)]
        programs: Vec<String>,

        /// Remove all programs
        #[arg(long, conflicts_with = "programs")]
        all: bool,
    },
    /// Print everything, for other programs
    Export {
        /// How to print it
        #[arg(long, value_enum, default_value = "json", help_heading = "Output")]
        format: ExportFormat,
    },
}

/// Formats of an export.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ExportFormat {
    /// Everything
    Json,
    /// One line per run
    Csv,
}

/// No program matches.
#[derive(Debug, thiserror::Error)]
#[error("{}: no program matches `{}`; `divvy flow ls` lists them", file.display(), program.escape_debug())]
pub struct NoProgram {
    file: PathBuf,
    program: String,
}

impl Failure for NoProgram {
    fn kind(&self) -> FailureKind {
        FailureKind::BadInput
    }
}

const BOLD: anstyle::Style = anstyle::Style::new().bold();

/// Shows or changes the database.
pub fn run(args: &FlowArgs, output: Output) -> anyhow::Result<()> {
    let store = Store::at(&args.db);
    let known = store.read()?;
    let text = match &args.command {
        FlowCommand::Ls => list(&known, output.columns(None)),
        FlowCommand::Show { program } => show(&known, &fitting(&store, &known, program)?),
        FlowCommand::Rm { programs, all } => {
            let mut gone: Vec<u64> = if *all { known.keys().copied().collect() } else { Vec::new() };
            for program in programs {
                gone.extend(fitting(&store, &known, program)?);
            }
            gone.sort_unstable();
            gone.dedup();
            if !gone.is_empty() {
                store.remove(&gone)?;
            }
            output.note(&format!("{} of {} programs removed", gone.len(), known.len()));
            String::new()
        }
        FlowCommand::Export { format: ExportFormat::Json } => json_of(&known)?,
        FlowCommand::Export { format: ExportFormat::Csv } => csv(&known, io::stdout().is_terminal()),
    };
    output.write(&text, None)
}

/// Programs whose identity begins with the text; if there is none, programs whose command line contains it.
fn fitting(store: &Store, known: &BTreeMap<u64, Program>, asked: &str) -> Result<Vec<u64>, NoProgram> {
    let begins = |identity: &u64| name(*identity).starts_with(asked);
    let mut found: Vec<u64> = known.keys().copied().filter(begins).collect();
    if found.is_empty() {
        let has = known.iter().filter(|(_, program)| program.name.contains(asked));
        found = has.map(|(identity, _)| *identity).collect();
    }
    let none = || NoProgram { file: store.path().to_owned(), program: asked.to_owned() };
    if found.is_empty() { Err(none()) } else { Ok(found) }
}

fn name(identity: u64) -> String {
    format!("{identity:016x}")
}

fn error_text(predictions: &Predictions) -> String {
    predictions.error().map_or("-".to_owned(), |error| text::percent(error, 1))
}

fn last(program: &Program) -> Predictions {
    program.latest.last().copied().unwrap_or_default()
}

/// A line a program.
fn list(known: &BTreeMap<u64, Program>, columns: usize) -> String {
    if known.is_empty() {
        return "no program is known; `divvy load SPEC+flow` learns them\n".to_owned();
    }
    let mut rows: Vec<_> = known.iter().collect();
    rows.sort_by_key(|(identity, program)| (std::cmp::Reverse(program.stored_s), **identity));
    let mut out = format!("{BOLD}identity          times  runs  error   last  program{BOLD:#}\n");
    for (identity, program) in rows {
        let line = format!(
            "{}  {:5}  {:4}  {:>5}  {:>5}  {}",
            name(*identity),
            program.executions,
            program.sequence.len(),
            error_text(&program.predictions),
            error_text(&last(program)),
            text::escape(&program.name),
        );
        let _ = writeln!(out, "{}", text::fit(&line, columns));
    }
    out
}

/// All of some programs.
fn show(known: &BTreeMap<u64, Program>, identities: &[u64]) -> String {
    let mut out = String::new();
    for (index, identity) in identities.iter().enumerate() {
        let program = &known[identity];
        let _ = writeln!(
            out,
            "{}{BOLD}{}{BOLD:#}",
            if index > 0 { "\n" } else { "" },
            text::escape(&program.name)
        );
        let _ = writeln!(out, "identity     {}", name(*identity));
        let _ = writeln!(out, "executions   {}", program.executions);
        let _ = writeln!(
            out,
            "predictions  {} runs, {} of CPU time, error {}",
            program.predictions.runs,
            text::time(program.predictions.actual_ns as f64),
            error_text(&program.predictions)
        );
        let _ = writeln!(out, "delays       {}, {} met", program.delays, program.delays_met);
        let errors: Vec<String> = program.latest.iter().map(error_text).collect();
        let _ = writeln!(
            out,
            "errors       {}",
            if errors.is_empty() { "-".to_owned() } else { errors.join(" ") }
        );
        let _ = writeln!(out, "sequence     run          wait");
        for (at, (run, wait)) in program.sequence.iter().enumerate() {
            let _ = writeln!(out, "{at:11}  {:11}  {}", text::time(*run as f64), text::time(*wait as f64));
        }
    }
    out
}

fn json_of(known: &BTreeMap<u64, Program>) -> anyhow::Result<String> {
    let predictions = |p: &Predictions| json!({ "runs": p.runs, "actual_ns": p.actual_ns, "error_ns": p.error_ns, "error": p.error() });
    let program = |(identity, program): (&u64, &Program)| {
        let sequence: Vec<_> =
            program.sequence.iter().map(|(run, wait)| json!({ "run_ns": run, "wait_ns": wait })).collect();
        json!({
            "identity": name(*identity),
            "name": program.name,
            "executions": program.executions,
            "predictions": predictions(&program.predictions),
            "latest": program.latest.iter().map(predictions).collect::<Vec<_>>(),
            "delays": program.delays,
            "delays_met": program.delays_met,
            "stored_s": program.stored_s,
            "sequence": sequence,
        })
    };
    let programs: Vec<_> = known.iter().map(program).collect();
    let value = json!({ "schema_version": 1, "programs": programs });
    Ok(safe::json(&serde_json::to_string_pretty(&value)?) + "\n")
}

/// Names are as they are, but escaped for a terminal.
fn csv(known: &BTreeMap<u64, Program>, is_terminal: bool) -> String {
    let mut out = "identity,name,run,run_ns,wait_ns\n".to_owned();
    for (identity, program) in known {
        let shown = if is_terminal { text::escape(&program.name) } else { program.name.clone() };
        let quoted = shown.replace('"', "\"\"");
        for (at, (run, wait)) in program.sequence.iter().enumerate() {
            let _ = writeln!(out, "{},\"{quoted}\",{at},{run},{wait}", name(*identity));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known() -> BTreeMap<u64, Program> {
        let last = Predictions { runs: 2, actual_ns: 1_000_000, error_ns: 20_000 };
        let gzip = Program {
            name: "gzip -k \"a,b\" \u{1b}[2J".to_owned(),
            sequence: vec![(1_500_000, 20_000_000), (300_000, 0)],
            executions: 3,
            predictions: Predictions { runs: 4, actual_ns: 2_000_000, error_ns: 100_000 },
            latest: vec![Predictions { error_ns: 80_000, ..last }, last],
            delays: 2,
            delays_met: 1,
            stored_s: 10,
        };
        let make =
            Program { name: "make".to_owned(), sequence: vec![(7, 0)], stored_s: 20, ..Program::default() };
        BTreeMap::from([(0x3f << 56, gzip), (5, make)])
    }

    #[test]
    fn the_list_is_newest_first_and_fits() {
        let text = anstream::adapter::strip_str(&list(&known(), 80)).to_string();
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[1].starts_with("0000000000000005      0     1      -      -  make"), "{text}");
        assert!(lines[2].starts_with("3f00000000000000      3     2   5.0%   2.0%  gzip"), "{text}");
        assert!(!text.contains('\u{1b}') && lines.iter().all(|line| text::width(line) <= 80), "{text}");
        assert!(list(&BTreeMap::new(), 80).contains("divvy load SPEC+flow"));
    }

    #[test]
    fn programs_are_found_by_identity_or_name() {
        let store = Store::at(std::path::Path::new("x.redb"));
        assert_eq!(fitting(&store, &known(), "3f").unwrap(), [0x3f << 56]);
        assert_eq!(fitting(&store, &known(), "ak").unwrap(), [5]);
        let said = fitting(&store, &known(), "cc1").unwrap_err().to_string();
        assert_eq!(said, "x.redb: no program matches `cc1`; `divvy flow ls` lists them");
    }

    #[test]
    fn a_program_is_shown_with_its_errors_and_runs() {
        let text = anstream::adapter::strip_str(&show(&known(), &[0x3f << 56])).to_string();
        assert!(text.contains("errors       8.0% 2.0%\n"), "{text}");
        assert!(text.contains("delays       2, 1 met\n"), "{text}");
        assert!(text.contains("          0  1.50ms       20.0ms\n"), "{text}");
    }

    #[test]
    fn exports_read_back() {
        let value: serde_json::Value = serde_json::from_str(&json_of(&known()).unwrap()).unwrap();
        assert_eq!(value["programs"][1]["latest"][1]["error"], 0.02);
        assert_eq!(value["programs"][0]["sequence"][0]["run_ns"], 7);
        assert!(
            csv(&known(), false).contains("3f00000000000000,\"gzip -k \"\"a,b\"\" \u{1b}[2J\",1,300000,0\n")
        );
    }

    #[test]
    fn no_command_line_is_obeyed() {
        let mut known = known();
        known.get_mut(&5).unwrap().name = "\u{9b}2J\u{7f}\n\u{1b}c".to_owned();
        let shown = [list(&known, 200), show(&known, &[5, 0x3f << 56])];
        let plain = shown.map(|text| anstream::adapter::strip_str(&text).to_string());
        assert!(plain.iter().all(|text| text.contains("\\u{9b}2J\\u{7f}\\n\\u{1b}c")), "{plain:?}");
        for text in plain.into_iter().chain([csv(&known, true), json_of(&known).unwrap()]) {
            assert!(!text.replace('\n', "").contains(text::is_obeyed), "{text:?}");
        }
        let value: serde_json::Value = serde_json::from_str(&json_of(&known).unwrap()).unwrap();
        assert_eq!(value["programs"][0]["name"], known[&5].name);
    }
}
