//! `divvy policies [NAME]`.

use divvy_policy::{Description, Failure, FailureKind, file};
use std::fmt::Write as _;

use clap::{Args, ValueHint};
use divvy_policy::nearest;
use divvy_policy::quantity;
use divvy_policy::spec::range_text;
use divvy_policy::{Kind, ParamInfo, ParamKind, PolicyInfo};
use divvy_results::text;
use serde_json::{Value, json};

use crate::args::output::PlainFormat;
use crate::args::presets::{self, PRESETS, Preset};
use crate::output::Output;

/// List the policies and presets, or show one: parameters, paper, guarantees
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  divvy policies
  divvy policies gr3
  divvy policies desktop
  divvy policies ./mine.h
  divvy policies --format json")]
pub struct PoliciesArgs {
    /// The policy or preset to show; a file, as ./mine.h, is compiled, and checked for the contract
    #[arg(value_name = "NAME", value_hint = ValueHint::Other)]
    pub name: Option<String>,

    /// How to print it
    #[arg(long, value_enum, default_value = "table", help_heading = "Output")]
    pub format: PlainFormat,
}

/// The policy does not exist.
#[derive(Debug, thiserror::Error)]
#[error("there is no policy `{}`{} (`divvy policies` lists them)", name.escape_debug(), hint(*nearest))]
pub struct UnknownPolicy {
    name: String,
    nearest: Option<&'static str>,
}

impl Failure for UnknownPolicy {
    fn kind(&self) -> FailureKind {
        FailureKind::Usage
    }
}

fn hint(nearest: Option<&str>) -> String {
    nearest.map(|name| format!("; did you mean `{name}`?")).unwrap_or_default()
}

/// Lists all, or shows one.
pub fn run(args: &PoliciesArgs, output: Output) -> anyhow::Result<()> {
    let columns = output.columns(None);
    if let Some(preset) = args.name.as_deref().and_then(presets::find) {
        let text = match args.format {
            PlainFormat::Table => preset_text(preset, columns),
            PlainFormat::Json => pretty(&preset_json(preset))?,
        };
        return output.write(&text, None);
    }
    let chosen = args.name.as_deref().map(find).transpose()?;
    let text = match (chosen, args.format) {
        (Some(policy), PlainFormat::Table) => one_text(policy, columns),
        (Some(policy), PlainFormat::Json) => pretty(&json!(Description::from(policy)))?,
        (None, PlainFormat::Table) => list_text(columns),
        (None, PlainFormat::Json) => pretty(&json!({
            "schema_version": 1,
            "policies": divvy_policy::all().iter().map(Description::from).collect::<Vec<_>>(),
            "presets": PRESETS.iter().map(preset_json).collect::<Vec<_>>(),
        }))?,
    };
    output.write(&text, None)
}

fn find(name: &str) -> anyhow::Result<&'static PolicyInfo> {
    if file::is_path(name) {
        return Ok(&file::load(name)?.info);
    }
    let unknown = || UnknownPolicy {
        name: name.to_owned(),
        nearest: nearest(name, divvy_policy::all().iter().map(|policy| policy.name)),
    };
    Ok(divvy_policy::find(name).ok_or_else(unknown)?)
}

/// A policy file has no page in papers/, where bounds and their proofs are.
const OF_A_FILE: &str = "measured, no bound: it is a file of yours";

const BOLD: anstyle::Style = anstyle::Style::new().bold();

fn list_text(columns: usize) -> String {
    let policies = divvy_policy::all();
    let widest = policies.iter().map(|policy| text::width(policy.name)).max().unwrap_or(0);
    let mut out = String::new();
    for (kind, is_baseline, head) in [
        (Kind::Selection, false, "Selection policies: who runs next"),
        (Kind::Selection, true, "Baselines: selections that papers compare with"),
        (Kind::Modifier, false, "Modifiers: weights and slices under a selection, as in sfq+feasible"),
    ] {
        let _ = writeln!(out, "{BOLD}{head}{BOLD:#}");
        for policy in
            policies.iter().filter(|policy| (policy.kind, policy.is_baseline) == (kind, is_baseline))
        {
            let line = format!("  {:widest$}  {}", policy.name, policy.title);
            let _ = writeln!(out, "{}", text::wrap(&line, columns, widest + 4));
        }
        out.push('\n');
    }
    let _ = writeln!(out, "{BOLD}Presets: for divvy load and divvy enable{BOLD:#}");
    let widest = PRESETS.iter().map(|preset| text::width(preset.name)).max().unwrap_or(0);
    for preset in PRESETS {
        let line = format!("  {:widest$}  {}: {}", preset.name, preset.words(), lowered(preset.purpose));
        let _ = writeln!(out, "{}", text::wrap(&line, columns, widest + 4));
    }
    out.push('\n');
    out.push_str("divvy policies NAME shows parameters, guarantees and the paper.\n");
    out
}

fn one_text(policy: &PolicyInfo, columns: usize) -> String {
    let head = text::wrap(&format!("{}: {}", policy.name, policy.title), columns, 2);
    let mut out = format!("{BOLD}{head}{BOLD:#}\n");
    let mut section = |head: &str, lines: &[String]| {
        if lines.is_empty() {
            return;
        }
        let _ = writeln!(out, "\n{BOLD}{head}{BOLD:#}");
        for line in lines {
            let indent = line.len() - line.trim_start().len();
            let _ = writeln!(out, "{}", text::wrap(&format!("  {line}"), columns, indent + 4));
        }
    };
    let points = |lines: &[&str]| lines.iter().map(|line| format!("- {line}")).collect::<Vec<_>>();
    let given = |line: &str| if line.is_empty() { vec![] } else { vec![line.to_owned()] };
    section("Kind", &[kind_text(policy).to_owned()]);
    section("In the simulator only", &given(policy.simulator_only.unwrap_or_default()));
    section(
        "In the kernel only with --max-tasks N",
        &policy.linear.map(linear_text).into_iter().collect::<Vec<_>>(),
    );
    section("Paper", &given(policy.paper));
    let guarantees: &[&str] = if file::is_path(policy.name) { &[OF_A_FILE] } else { &policy.guarantees };
    section("Guarantees", &points(guarantees));
    section("Cost per decision", &given(policy.cost));
    section("Parameters", &policy.params.iter().flat_map(param_lines).collect::<Vec<_>>());
    section("Differs from the paper", &points(&policy.deviations));
    out
}

fn preset_text(preset: &Preset, columns: usize) -> String {
    let head = text::wrap(&format!("{}: {}", preset.name, preset.words()), columns, 2);
    let purpose = text::wrap(&format!("  {}.", preset.purpose), columns, 4);
    let more = text::wrap(
        &format!("sudo divvy load {0} tries it, sudo divvy enable {0} keeps it.", preset.name),
        columns,
        2,
    );
    format!("{BOLD}{head}{BOLD:#}\n{purpose}\n\n{more}\n")
}

fn linear_text(per_task: u32) -> String {
    format!(
        "a decision makes up to {per_task} accesses to memory for each of the N tasks, while all CPUs wait"
    )
}

fn kind_text(policy: &PolicyInfo) -> &'static str {
    match policy.kind {
        Kind::Selection if policy.is_baseline => "selection policy, a baseline; it begins a spec",
        Kind::Selection => "selection policy; it begins a spec",
        Kind::Modifier => "modifier; it follows a + in a spec",
    }
}

/// `quantum=10ms  (time, 1us to 1s)` and the help under it.
fn param_lines(param: &ParamInfo) -> Vec<String> {
    let default = quantity::format(param.kind, param.default);
    let kind = match param.kind {
        ParamKind::Switch => String::new(),
        kind => format!("{}, ", kind.name()),
    };
    vec![format!("{}={default}  ({kind}{})", param.name, range_text(param)), format!("    {}", param.help)]
}

fn preset_json(preset: &Preset) -> Value {
    json!({ "name": preset.name, "spec": preset.spec, "load": preset.words(), "purpose": preset.purpose })
}

/// With a small letter first, for the middle of a sentence.
fn lowered(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|first| first.to_lowercase().chain(chars).collect()).unwrap_or_default()
}

fn pretty(value: &Value) -> serde_json::Result<String> {
    serde_json::to_string_pretty(value).map(|text| text + "\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_has_a_whole_title_a_line_in_eighty_columns() {
        let list = anstream::adapter::strip_str(&list_text(80)).to_string();
        assert!(list.lines().all(|line| text::width(line) <= 80), "{list}");
        for policy in divvy_policy::all() {
            assert!(list.contains(&format!("\n  {} ", policy.name)), "{}", policy.name);
            assert!(list.contains(policy.title), "shorten the title of {}", policy.name);
        }
    }

    #[test]
    fn every_policy_tells_all_of_itself_in_eighty_columns() {
        for policy in divvy_policy::all() {
            let text = anstream::adapter::strip_str(&one_text(policy, 80)).to_string();
            assert!(text.lines().all(|line| text::width(line) <= 80), "{text}");
            for param in &policy.params {
                assert!(text.contains(&format!("\n  {}=", param.name)), "{text}");
            }
        }
    }

    #[test]
    fn an_unknown_policy_names_the_nearest() {
        let error = find("sfqq").expect_err("unknown");
        assert!(error.to_string().starts_with("there is no policy `sfqq`; did you mean `sfq`?"), "{error}");
    }
}
