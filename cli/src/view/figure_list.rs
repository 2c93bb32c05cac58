//! The figures that can be reproduced: what each shows, how long it takes, which policies it runs.

use std::fmt::Write as _;

use divvy_lab::Figure;
use divvy_lab::kernel::{KernelFigure, figures, find};
use divvy_results::{csv, text};
use serde_json::{Value, json};

const BOLD: anstyle::Style = anstyle::Style::new().bold();

/// A figure: it is simulated, it runs in a kernel, or both.
struct Line {
    id: &'static str,
    title: &'static str,
    page: &'static str,
    policies: &'static [&'static str],
    /// In seconds: the small version, the full one.
    simulated: Option<(u32, u32)>,
    in_kernel: Option<&'static KernelFigure>,
}

/// Paper by paper: first those that are simulated.
fn lines() -> Vec<Line> {
    let mut lines: Vec<Line> = divvy_lab::all().iter().map(simulated).collect();
    for line in figures().iter().filter_map(only_in_kernel) {
        let end = lines.iter().rposition(|before| before.page == line.page).map_or(lines.len(), |at| at + 1);
        lines.insert(end, line);
    }
    lines
}

fn simulated(figure: &'static Figure) -> Line {
    let &Figure { id, title, policies, seconds, .. } = figure;
    Line { id, title, page: figure.page(), policies, simulated: Some(seconds), in_kernel: find(id) }
}

fn only_in_kernel(figure: &'static KernelFigure) -> Option<Line> {
    let real = figure.real.as_ref()?;
    Some(Line {
        id: figure.id,
        title: real.title,
        page: figure.page(),
        policies: real.policies,
        simulated: None,
        in_kernel: Some(figure),
    })
}

/// For people, a line each.
pub fn table(columns: usize) -> String {
    let rows = lines().into_iter().map(|line| {
        [
            line.id.to_owned(),
            line.simulated.map(|(small, _)| about(small)).unwrap_or_default(),
            line.simulated.map(|(_, full)| about(full)).unwrap_or_default(),
            line.in_kernel.map(|figure| about(figure.seconds.1)).unwrap_or_default(),
            line.title.to_owned(),
            line.policies.join(" "),
        ]
    });
    let head = ["ID", "--small", "full", "--kernel", "claim", "policies"].map(str::to_owned);
    let rows: Vec<[String; 6]> = [head].into_iter().chain(rows).collect();
    let widths = [0, 1, 2, 3, 4].map(|i| rows.iter().map(|row| text::width(&row[i])).max().unwrap_or(0));
    let mut out = String::new();
    for row in &rows {
        let [id, small, full, in_kernel, title, policies] = row;
        let cells = format!(
            "{id:w0$}  {small:>w1$}  {full:>w2$}  {in_kernel:>w3$}  {title:w4$}  {policies}",
            w0 = widths[0],
            w1 = widths[1],
            w2 = widths[2],
            w3 = widths[3],
            w4 = widths[4]
        );
        let line = text::fit(cells.trim_end(), columns);
        let _ = if out.is_empty() { writeln!(out, "{BOLD}{line}{BOLD:#}") } else { writeln!(out, "{line}") };
    }
    let end = "divvy paper ID reproduces one, divvy paper all reproduces all that are simulated. With --kernel they run in a running kernel; \
        a figure without a time in that column does not. Times are approximate, on two cores.";
    let _ = writeln!(out, "\n{}", text::wrap(end, columns, 0));
    out
}

fn about(seconds: u32) -> String {
    match seconds {
        0 => "<1s".to_owned(),
        1..90 => format!("{seconds}s"),
        _ => format!("{}min", (seconds + 30) / 60),
    }
}

/// For programs.
pub fn json() -> serde_json::Result<String> {
    let seconds = |(small, full): (u32, u32)| json!({ "small": small, "full": full });
    let figure = |line: &Line| {
        let mut all = json!({
            "id": line.id,
            "title": line.title,
            "page": format!("papers/{}.md", line.page),
            "policies": line.policies,
            "in_kernel": line.in_kernel.is_some(),
        });
        let simulated = line.simulated.map(|times| ("seconds", seconds(times)));
        let in_kernel = line
            .in_kernel
            .map(|figure| ("kernel", json!({ "cpus": figure.cpus, "seconds": seconds(figure.seconds) })));
        for (name, value) in simulated.into_iter().chain(in_kernel) {
            all[name] = value;
        }
        all
    };
    let figures: Vec<Value> = lines().iter().map(figure).collect();
    Ok(serde_json::to_string_pretty(&json!({ "schema_version": 1, "figures": figures }))? + "\n")
}

/// As comma-separated values.
pub fn csv() -> String {
    let header = csv::record(&["figure", "title", "page", "policies"].map(str::to_owned));
    let record = |line: &Line| {
        csv::record(&[line.id, line.title, line.page, &line.policies.join(" ")].map(str::to_owned))
    };
    header + &lines().iter().map(record).collect::<String>()
}
