//! `divvy doctor`.

use std::fmt::Write as _;

use clap::Args;
use divvy_kernel::load::doctor::{self, Finding, Serves};
use divvy_results::text;
use serde_json::json;

use crate::args::output::PlainFormat;
use crate::output::Output;

/// Show what works on this machine, and how to get the rest
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  divvy doctor
  sudo divvy doctor
  divvy doctor --format json")]
pub struct DoctorArgs {
    /// How to print it
    #[arg(long, value_enum, default_value = "table", help_heading = "Output")]
    pub format: PlainFormat,
}

const BOLD: anstyle::Style = anstyle::Style::new().bold();
const GOOD: anstyle::Style = anstyle::AnsiColor::Green.on_default();
const BAD: anstyle::Style = anstyle::AnsiColor::Red.on_default().bold();

/// Prints what works here; fails if `divvy load` would not work.
pub fn run(args: &DoctorArgs, output: Output) -> anyhow::Result<()> {
    let mut findings = doctor::examine();
    findings.push(recorder());
    let verdict = doctor::verdict(&findings);
    let text = match args.format {
        PlainFormat::Table => table(&findings, output.columns(None)),
        PlainFormat::Json => {
            let value = json!({ "schema_version": 1, "load": verdict.is_ok(), "checks": findings });
            serde_json::to_string_pretty(&value)? + "\n"
        }
    };
    output.write(&text, None)?;
    Ok(verdict?)
}

/// `divvy record`, beside perf.
fn recorder() -> Finding {
    let ready = divvy_kernel::record::ready();
    let (ok, fix) = (ready.is_ok(), ready.as_ref().err().map(|missing| missing.fix.clone()));
    let found = ready.map_or_else(|missing| missing.what, |()| "it may record here".to_owned());
    Finding { name: "divvy record", serves: Serves::Record, ok, found, fix }
}

fn table(findings: &[Finding], columns: usize) -> String {
    let mut out = String::new();
    let names = findings.iter().map(|finding| finding.name.len()).max().unwrap_or(0);
    let indent = "  missing  ".len() + names + 2;
    for (index, finding) in findings.iter().enumerate() {
        if index == 0 || findings[index - 1].serves != finding.serves {
            let _ = writeln!(out, "{BOLD}For {}{BOLD:#}", finding.serves.text());
        }
        let (style, state) = if finding.ok { (GOOD, "ok") } else { (BAD, "missing") };
        // Wrapped together with the text before it, without the escape sequences.
        let found = text::wrap(&format!("{}{}", " ".repeat(indent), finding.found), columns, indent);
        let _ = writeln!(out, "  {style}{state:7}{style:#}  {:names$}  {}", finding.name, found.trim_start());
        if let Some(fix) = &finding.fix {
            let _ = writeln!(
                out,
                "{}",
                text::wrap(&format!("{}-> {fix}", " ".repeat(indent)), columns, indent + 3)
            );
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_fits_eighty_columns() {
        let table = anstream::adapter::strip_str(&table(&doctor::examine(), 80)).to_string();
        assert!(table.lines().all(|line| text::width(line) <= 80), "{table}");
    }
}
