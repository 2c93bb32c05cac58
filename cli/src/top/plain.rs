//! An interval for those who have no screen: as a table, or for programs.

use std::fmt::Write as _;

use divvy_lab::csv::field;
use serde_json::json;

use super::cells::Layout;
use super::rows::Row;
use super::{Show, Sight};
use crate::view::{live, text};

const BOLD: anstyle::Style = anstyle::Style::new().bold();

/// For people.
pub fn table(sight: &Sight, rows: &[Row], show: &Show, columns: usize, is_styled: bool) -> String {
    let interval = &sight.interval;
    let mut out = String::new();
    let head = format!(
        "{} on {}: interval of {}, {} after loading",
        text::escape(&sight.policy),
        cpus(interval.cpus),
        text::time(interval.duration_ns as f64),
        text::time(interval.end_ns as f64)
    );
    let _ = writeln!(out, "{BOLD}{}{BOLD:#}", text::fit(&head, columns));
    for line in [live::rates(interval), live::troubles(interval)] {
        let _ = writeln!(out, "{}", text::wrap(&line, columns, 4));
    }
    let layout = Layout::new(columns, show.by);
    let _ = writeln!(out, "{}", layout.head(show.sort, false));
    for row in rows {
        let _ = writeln!(out, "{}", layout.line(row, is_styled));
    }
    out.push('\n');
    out
}

/// `2 CPUs`
pub fn cpus(count: u32) -> String {
    format!("{count} CPU{}", if count == 1 { "" } else { "s" })
}

/// For programs: one line.
pub fn json(sight: &Sight, rows: &[Row], show: &Show) -> serde_json::Result<String> {
    let interval = &sight.interval;
    let value = json!({
        "schema_version": 1,
        "policy": sight.policy,
        "cpus": interval.cpus,
        "end_ns": interval.end_ns,
        "duration_ns": interval.duration_ns,
        "counts": interval.counts,
        "by": show.by,
        "rows": rows,
    });
    serde_json::to_string(&value).map(|line| line + "\n")
}

/// The columns of [`csv`].
pub const CSV_HEAD: &str = "end_ns,duration_ns,pid,tgid,user,cgroup,name,threads,runnable,weight,effective_weight,\
    entitled_ns,received_ns,entitled_share,received_share,error_ns,waited_ns,waits,turns\r\n";

/// A line a row (RFC 4180). What does not apply is empty.
pub fn csv(sight: &Sight, rows: &[Row]) -> String {
    let mut out = String::new();
    let number = |value: Option<u32>| value.map_or_else(String::new, |value| value.to_string());
    let name = |value: Option<&str>| field(value.unwrap_or_default());
    for row in rows {
        let _ = write!(out, "{},{}", sight.interval.end_ns, sight.interval.duration_ns);
        let _ = write!(out, ",{},{}", number(row.pid), number(row.tgid));
        let _ = write!(out, ",{},{}", name(row.user.as_deref()), name(row.cgroup.as_deref()));
        let _ = write!(out, ",{},{},{}", field(&row.name), row.threads, row.runnable);
        let _ = write!(out, ",{},{}", row.weight, row.effective_weight);
        let _ = write!(out, ",{},{}", row.entitled_ns, row.received_ns);
        let _ = write!(out, ",{},{}", row.entitled_share, row.received_share);
        let _ = write!(out, ",{},{},{},{}\r\n", row.error_ns, row.waited_ns, row.waits, row.turns);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::rows::{By, Column};
    use super::super::tests::{show, sight};
    use super::*;

    #[test]
    fn the_table_fits_and_obeys_no_name() {
        let (sight, show) = (sight(), show(By::Thread));
        for columns in [20, 40, 80, 132] {
            let text = table(&sight, &show.rows(&sight.interval), &show, columns, false);
            let plain = anstream::adapter::strip_str(&text).to_string();
            assert!(plain.lines().all(|line| text::width(line) <= columns.max(24)), "{plain}");
            assert!(!plain.contains('\u{1b}'));
        }
    }

    #[test]
    fn json_has_what_the_table_has() {
        let (sight, show) = (sight(), show(By::Process));
        let line = json(&sight, &show.rows(&sight.interval), &show).expect("JSON");
        let value: serde_json::Value = serde_json::from_str(&line).expect("JSON");
        assert_eq!(
            (&value["by"], &value["policy"], &value["cpus"]),
            (&"process".into(), &"gr3".into(), &2.into())
        );
        assert_eq!(value["rows"][0]["pid"], 12);
        assert_eq!(value["rows"][0]["received_share"], 0.65);
        assert!(value["rows"][0].get("key").is_none());
        assert_eq!(line.matches('\n').count(), 1);
    }

    #[test]
    fn csv_has_as_many_fields_as_its_head() {
        let (sight, mut show) = (sight(), show(By::Thread));
        show.sort = Column::Name;
        let text = csv(&sight, &show.rows(&sight.interval));
        let fields = CSV_HEAD.matches(',').count();
        assert!(text.lines().all(|line| line.matches(',').count() == fields), "{text}");
        assert!(
            text.starts_with("3000000000,1000000000,,,,,(ended),1,1,1024,512,500000000,10000000,"),
            "{text}"
        );
    }
}
