//! Text of `divvy apply`: what would be set, and what was restored.

use std::fmt::Write as _;

use divvy_kernel::apply::{Mechanism, Preview, Row, Rule};
use divvy_results::text;

use crate::top::users::Users;

/// The last line of a run.
pub fn restored(values: usize) -> String {
    match values {
        1 => "restored 1 value".to_owned(),
        _ => format!("restored {values} values"),
    }
}

/// A row for each user or process.
pub fn table(rule: Rule, preview: &Preview) -> String {
    let users = Users::read();
    let name = |row: &Row| match rule {
        Rule::UserFair => text::escape(&users.name(row.owner)),
        Rule::ProcessFair => format!("{} {}", row.owner, text::escape(&row.name)),
    };
    let (by, value) = match preview.mechanism {
        Mechanism::Cgroup => ("cpu.weight of users' cgroups", "weight now"),
        Mechanism::Nice => ("nice values", "nice now"),
    };
    let (unit, owners) = match rule {
        Rule::UserFair => ("user", "users"),
        Rule::ProcessFair => ("process", "processes"),
    };
    let cpus = if preview.cpus == 1 { "1 CPU".to_owned() } else { format!("{} CPUs", preview.cpus) };
    let mut out = format!("{} by {by} on {cpus}; nothing is changed\n", rule.name());
    if preview.rows.is_empty() {
        let _ = writeln!(out, "no {owners} want a CPU now");
        return out;
    }
    let names: Vec<String> = preview.rows.iter().map(name).collect();
    let width = names.iter().map(|name| text::width(name)).max().unwrap_or(0).max(unit.len());
    let _ = writeln!(out, "\n{unit:width$}  threads  entitled  {value:>10}     new");
    for (name, row) in names.iter().zip(&preview.rows) {
        let padding = " ".repeat(width - text::width(name));
        let _ = writeln!(
            out,
            "{name}{padding}  {:7}  {:7.1}%  {:>10}  {:>6}",
            row.threads,
            row.entitled * 100.0,
            range(row.now),
            range(row.new)
        );
    }
    if preview.mechanism == Mechanism::Nice {
        let _ = writeln!(
            out,
            "\nweights are exact to within {:.1}%: a step of nice is 25%",
            preview.worst_error * 100.0
        );
    }
    out
}

/// One value, or the least and the greatest.
fn range([least, most]: [i32; 2]) -> String {
    if least == most { least.to_string() } else { format!("{least}..{most}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_says_what_is_and_what_would_be() {
        let row = |owner, threads, new| Row {
            owner,
            name: "cc\u{1b}1".to_owned(),
            threads,
            entitled: 0.5,
            now: [0, 0],
            new,
        };
        let rows = vec![row(4242, 5, [7, 8]), row(17, 1, [0, 0])];
        let preview =
            Preview { mechanism: Mechanism::Nice, cpus: 2, rows, worst_error: 0.05, notes: Vec::new() };
        let table = table(Rule::ProcessFair, &preview);
        assert!(table.starts_with("process-fair by nice values on 2 CPUs; nothing is changed\n"), "{table}");
        assert!(table.contains("        5     50.0%           0    7..8\n"), "{table}");
        assert!(table.contains("within 5.0%: a step") && !table.contains('\u{1b}'), "{table}");
        assert_eq!(
            (restored(1), restored(2)),
            ("restored 1 value".to_owned(), "restored 2 values".to_owned())
        );
    }
}
