//! The schedule in characters: one row per CPU, one letter per task, the same letter under every policy.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use anstyle::{Ansi256Color, Style};
use divvy_policy::quantity;
use divvy_results::report::{Report, Run};
use divvy_results::schedule::{Schedule, Slice};
use divvy_results::text;

/// Letters for tasks; if they are more, those with the most CPU time get them.
const LETTERS: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
/// A task without a letter.
const OTHERS: char = '#';
/// A cell in which the CPU was idle for the most part.
const IDLE: char = '.';
/// Names in the legend are cut to this.
const WIDEST_NAME: usize = 20;
/// Cells from one time on the axis to the next.
const CELLS_A_TICK: usize = 10;
/// Fewer cells than this are no picture, however narrow the terminal.
const FEWEST_CELLS: usize = 10;
/// A cell is a time that people can count in: one of these with zeros.
const ROUND: [u64; 9] = [10, 15, 20, 25, 30, 40, 50, 60, 80];
/// Backgrounds that are told apart in most kinds of colour blindness (Okabe and Ito), of the 256 of terminals.
const COLORS: [u8; 7] = [214, 117, 36, 227, 68, 209, 175];

/// One chart per run with a schedule, within `columns`, and the meaning of the letters; nothing if no run has one. With
/// escape sequences if `styled`, else ASCII but for names.
pub fn draw(report: &Report, columns: usize, styled: bool) -> String {
    let charts: Vec<(&Run, &Schedule)> =
        report.runs.iter().filter_map(|run| Some((run, run.schedule.as_ref()?))).collect();
    let Some(length_ns) = charts.iter().map(|(_, schedule)| schedule.to_ns - schedule.from_ns).max() else {
        return String::new();
    };
    let letters = Letters::of(&charts);
    let labels = label(report.cpus.saturating_sub(1)).len();
    let cell_ns = cell_ns(length_ns, columns.saturating_sub(labels).max(FEWEST_CELLS));
    let mut out = String::new();
    for (run, schedule) in &charts {
        let chart = Chart { schedule, cell_ns, labels, letters: &letters, styled };
        out.push('\n');
        out.push_str(&text::fit(&text::escape(&run.policy), columns));
        out.push('\n');
        chart.draw(&mut out);
    }
    out.push_str(&letters.legend(&charts, columns));
    let meaning = format!("one cell is {}, and shows what had most of it", time(cell_ns));
    out.push_str(&text::wrap(&meaning, columns, 2));
    out.push('\n');
    if let Some((_, cut)) = charts.iter().find(|(_, schedule)| schedule.is_cut) {
        let _ = writeln!(out, "too many events to draw: cut at {}", time(cut.to_ns));
    }
    out
}

/// The least round time for a cell, so that the cells cover the length.
fn cell_ns(length_ns: u64, cells: usize) -> u64 {
    let least_ns = length_ns.div_ceil(cells as u64).max(1);
    let scales = std::iter::successors(Some(1_u64), |scale| scale.checked_mul(10));
    let round = |scale: u64| ROUND.into_iter().map(move |digits| digits.saturating_mul(scale));
    match least_ns {
        ..10 => least_ns,
        _ => scales.flat_map(round).find(|&ns| ns >= least_ns).unwrap_or(least_ns),
    }
}

fn time(ns: u64) -> String {
    quantity::format_time_ns(i64::try_from(ns).unwrap_or(i64::MAX))
}

fn label(cpu: u32) -> String {
    format!("CPU {cpu}  ")
}

/// One policy's CPUs over time.
struct Chart<'a> {
    schedule: &'a Schedule,
    cell_ns: u64,
    /// Columns of the CPUs' names.
    labels: usize,
    letters: &'a Letters,
    styled: bool,
}

impl Chart<'_> {
    fn draw(&self, out: &mut String) {
        let cells = self.cells();
        let mut times = " ".repeat(self.labels);
        let mut ticks = times.clone();
        let (line, tick) = if self.styled { ('─', '┬') } else { ('-', '|') };
        for cell in 0..cells {
            let is_tick = cell % CELLS_A_TICK == 0;
            ticks.push(if is_tick { tick } else { line });
            let label = time(self.schedule.from_ns + cell as u64 * self.cell_ns);
            let column = self.labels + cell;
            // A time that would go beyond the picture, or into the one before, is left out.
            if is_tick && text::width(&times) <= column && cell + label.len() <= cells {
                times.push_str(&" ".repeat(column - text::width(&times)));
                times.push_str(&label);
                times.push(' ');
            }
        }
        let _ = writeln!(out, "{}\n{ticks}", times.trim_end());
        for (cpu, slices) in self.schedule.cpus.iter().enumerate() {
            let name = label(cpu as u32);
            let _ = write!(out, "{name:<width$}", width = self.labels);
            self.row(out, slices);
        }
    }

    fn cells(&self) -> usize {
        (self.schedule.to_ns - self.schedule.from_ns).div_ceil(self.cell_ns) as usize
    }

    fn row(&self, out: &mut String, slices: &[Slice]) {
        let mut rest = slices;
        for cell in 0..self.cells() as u64 {
            let from_ns = self.schedule.from_ns + cell * self.cell_ns;
            let to_ns = (from_ns + self.cell_ns).min(self.schedule.to_ns);
            rest = &rest[rest.partition_point(|slice| slice.to_ns <= from_ns)..];
            match self.most(rest, from_ns, to_ns) {
                Some(row) => self.letters.write(out, row, self.styled),
                None => out.push(IDLE),
            }
        }
        out.push('\n');
    }

    /// The task that had the most of a cell; none if the CPU was idle for longer. Of equals, the one listed first.
    fn most(&self, slices: &[Slice], from_ns: u64, to_ns: u64) -> Option<usize> {
        let mut had: BTreeMap<usize, u64> = BTreeMap::new();
        for slice in slices.iter().take_while(|slice| slice.from_ns < to_ns) {
            let row = self.schedule.row(slice);
            *had.entry(row).or_default() += slice.to_ns.min(to_ns) - slice.from_ns.max(from_ns);
        }
        let idle_ns = (to_ns - from_ns) - had.values().sum::<u64>();
        let (&row, &most_ns) = had.iter().max_by_key(|&(&row, &ns)| (ns, std::cmp::Reverse(row)))?;
        (most_ns >= idle_ns).then_some(row)
    }
}

/// Which task has which letter.
struct Letters {
    /// By index into the runs' tasks.
    of: BTreeMap<usize, usize>,
    /// Number of tasks that had CPU time and no letter.
    others: usize,
}

impl Letters {
    fn of(charts: &[(&Run, &Schedule)]) -> Letters {
        let mut had: BTreeMap<usize, u64> = BTreeMap::new();
        for (_, schedule) in charts {
            for slice in schedule.cpus.iter().flatten() {
                *had.entry(schedule.row(slice)).or_default() += slice.to_ns - slice.from_ns;
            }
        }
        let mut most: Vec<(usize, u64)> = had.into_iter().collect();
        most.sort_by_key(|&(row, ns)| (std::cmp::Reverse(ns), row));
        let others = most.len().saturating_sub(LETTERS.len());
        most.truncate(LETTERS.len());
        let mut rows: Vec<usize> = most.into_iter().map(|(row, _)| row).collect();
        rows.sort_unstable();
        Letters { of: rows.into_iter().zip(0..).collect(), others }
    }

    fn write(&self, out: &mut String, row: usize, styled: bool) {
        let Some(&number) = self.of.get(&row) else {
            out.push(OTHERS);
            return;
        };
        let letter = char::from(LETTERS.as_bytes()[number]);
        if styled {
            let background = Ansi256Color(COLORS[number % COLORS.len()]);
            let style =
                Style::new().bg_color(Some(background.into())).fg_color(Some(Ansi256Color(16).into()));
            let _ = write!(out, "{style}{letter}{style:#}");
        } else {
            out.push(letter);
        }
    }

    /// Every run has the same tasks.
    fn legend(&self, charts: &[(&Run, &Schedule)], columns: usize) -> String {
        let name = |row: usize| {
            let tasks = &charts[0].0.tasks;
            text::fit(&text::escape(tasks.get(row).map_or("?", |task| &task.name)), WIDEST_NAME)
        };
        let mut entries: Vec<String> = self
            .of
            .iter()
            .map(|(&row, &number)| format!("{} {}", char::from(LETTERS.as_bytes()[number]), name(row)))
            .collect();
        if self.others > 0 {
            entries.push(format!("{OTHERS} {} others", self.others));
        }
        entries.push(format!("{IDLE} idle"));
        let mut out = String::new();
        let mut used = 0;
        for entry in entries {
            let wide = text::width(&entry);
            let gap = if used == 0 {
                ""
            } else if used + 3 + wide > columns {
                "\n"
            } else {
                "   "
            };
            used = if gap == "\n" { wide } else { used + gap.len() + wide };
            out.push_str(gap);
            out.push_str(&entry);
        }
        out.push('\n');
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use divvy_results::samples;
    use divvy_results::schedule::{State, Task};

    fn slice(task: u32, from_ns: u64, to_ns: u64) -> Slice {
        Slice { task, from_ns, to_ns, left: State::Runnable }
    }

    fn report(names: &[&str], cpus: Vec<Vec<Slice>>, to_ns: u64) -> Report {
        let mut report = samples::endless(&[("rr", 1)]);
        report.cpus = cpus.len() as u32;
        let run = &mut report.runs[0];
        let task = run.tasks[0].clone();
        run.tasks = names
            .iter()
            .map(|name| (*name).to_owned())
            .map(|name| divvy_results::report::TaskResult { name, ..task.clone() })
            .collect();
        let task = |row: usize| Task {
            tid: 1 + row as i32,
            process: 1,
            name: names[row].into(),
            process_name: names[row].into(),
            prio: 120,
            row,
        };
        let tasks = (0..names.len()).map(task).collect();
        run.schedule = Some(Schedule { to_ns, tasks, cpus, ..Schedule::default() });
        report
    }

    #[test]
    fn a_cell_shows_who_had_most_of_it() {
        let first =
            vec![slice(0, 0, 14), slice(1, 14, 20), slice(0, 24, 40), slice(1, 40, 55), slice(2, 55, 60)];
        let second = vec![slice(2, 8, 11), slice(2, 36, 40)];
        let drawn = draw(&report(&["a", "b", "c"], vec![first, second], 60), 13, false);
        let rows: Vec<&str> = drawn.lines().filter(|line| line.starts_with("CPU")).collect();
        // 60 ns in at least 10 cells: of 6 ns.
        assert_eq!(rows, ["CPU 0  AAB.AAABBC", "CPU 1  .C....C..."], "{drawn}");
    }

    #[test]
    fn it_fits_whatever_the_tasks_are_called() {
        let names = ["日本語のとても長いタスクの名前です", "new\nline\x1b[31m", &"x".repeat(300), "ok"];
        let cpus = vec![
            (0..4)
                .map(|task| slice(task, u64::from(task) * 1_000_000, u64::from(task + 1) * 1_000_000))
                .collect();
            12
        ];
        for columns in [18, 40, 80, 120] {
            let drawn = draw(&report(&names, cpus.clone(), 4_000_000), columns, false);
            for line in drawn.lines() {
                assert!(text::width(line) <= columns.max(22), "{columns}: {line}");
            }
            assert!(!drawn.contains('\x1b') && drawn.contains("A 日本語"), "{drawn}");
        }
    }

    #[test]
    fn those_with_most_time_get_the_letters_when_there_are_too_few() {
        let names: Vec<String> = (0..100).map(|n| format!("t{n}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let cpu: Vec<Slice> =
            (0..100).map(|n| slice(n, u64::from(n) * 100, u64::from(n) * 100 + u64::from(n) + 1)).collect();
        let drawn = draw(&report(&names, vec![cpu], 10_000), 80, false);
        assert!(drawn.contains("# 38 others") && drawn.contains("A t38"), "{drawn}");
    }

    #[test]
    fn cells_are_round_times_and_cover_the_length() {
        for (length_ns, cells, expected) in [
            (200_000_000, 73, 3_000_000),
            (8_000_000, 73, 150_000),
            (5, 73, 1),
            (7, 2, 4),
            (u64::MAX, 10, 2_000_000_000_000_000_000),
        ] {
            assert_eq!(cell_ns(length_ns, cells), expected);
        }
    }
}
