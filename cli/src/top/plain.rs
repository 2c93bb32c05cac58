//! An interval without a screen: as a table, or for programs.

use std::fmt::Write as _;

use divvy_results::csv::field;
use divvy_results::text;
use serde_json::json;

use super::cells::Layout;
use super::options::Query;
use super::poller::Observation;
use super::rows::Row;
use crate::view::{interval, safe};

const BOLD: anstyle::Style = anstyle::Style::new().bold();

/// For people.
pub fn table(
    observation: &Observation,
    rows: &[Row],
    query: &Query,
    columns: usize,
    is_styled: bool,
) -> String {
    let interval = &observation.interval;
    let mut out = String::new();
    let head = format!(
        "{} on {}: interval of {}, {} {}",
        text::escape(&observation.policy),
        text::cpus(interval.cpus),
        text::time(interval.duration_ns as f64),
        text::time(interval.end_ns as f64),
        observation.since()
    );
    let _ = writeln!(out, "{BOLD}{}{BOLD:#}", text::fit(&head, columns));
    let lines = [interval::rates(interval), interval::troubles(interval)];
    for line in lines.iter().filter(|_| observation.is_loaded()) {
        let _ = writeln!(out, "{}", text::wrap(line, columns, 4));
    }
    for line in interval::shards(interval).iter().filter(|_| observation.is_loaded()) {
        let _ = writeln!(out, "{}", text::fit(line, columns));
    }
    let layout = Layout::new(columns, query.by);
    let _ = writeln!(out, "{}", layout.head(query.sort, false));
    for row in rows {
        let _ = writeln!(out, "{}", layout.line(row, is_styled));
    }
    out.push('\n');
    out
}

/// For programs: one line. What a terminal would obey is escaped, which is the same in JSON.
pub fn json(observation: &Observation, rows: &[Row], query: &Query) -> serde_json::Result<String> {
    let interval = &observation.interval;
    let value = json!({
        "schema_version": 1,
        "policy": observation.policy,
        "cpus": interval.cpus,
        "end_ns": interval.end_ns,
        "duration_ns": interval.duration_ns,
        "counts": interval.counts,
        "shards": interval.shards,
        "by": query.by,
        "rows": rows,
    });
    serde_json::to_string(&value).map(|line| safe::json(&line) + "\n")
}

/// The columns of [`csv`].
pub const CSV_HEAD: &str = "end_ns,duration_ns,pid,tgid,user,cgroup,name,threads,runnable,weight,effective_weight,\
    entitled_ns,received_ns,entitled_share,received_share,error_ns,waited_ns,waits,turns\r\n";

/// A line a row (RFC 4180). What does not apply is empty. Names are as they are, but escaped for a terminal.
pub fn csv(observation: &Observation, rows: &[Row], is_terminal: bool) -> String {
    let mut out = String::new();
    let number = |value: Option<u32>| value.map_or_else(String::new, |value| value.to_string());
    let name = |value: Option<&str>| {
        let value = value.unwrap_or_default();
        if is_terminal { field(&text::escape(value)) } else { field(value) }
    };
    for row in rows {
        let _ = write!(out, "{},{}", observation.interval.end_ns, observation.interval.duration_ns);
        let _ = write!(out, ",{},{}", number(row.pid), number(row.tgid));
        let _ = write!(out, ",{},{}", name(row.user.as_deref()), name(row.cgroup.as_deref()));
        let _ = write!(out, ",{},{},{}", name(Some(&row.name)), row.threads, row.runnable);
        let _ = write!(out, ",{},{}", row.weight, row.effective_weight);
        let _ = write!(out, ",{},{}", row.entitled_ns, row.received_ns);
        let _ = write!(out, ",{},{}", row.entitled_share, row.received_share);
        let _ = write!(out, ",{},{},{},{}\r\n", row.error_ns, row.waited_ns, row.waits, row.turns);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::options::tests::query;
    use super::super::poller::tests::observation;
    use super::super::rows::{By, Column};
    use super::*;

    #[test]
    fn the_table_fits_and_obeys_no_name() {
        let (observation, query) = (observation(), query(By::Thread));
        for columns in [20, 40, 80, 132] {
            let text = table(&observation, &query.rows(&observation.interval), &query, columns, false);
            let plain = anstream::adapter::strip_str(&text).to_string();
            assert!(plain.lines().all(|line| text::width(line) <= columns.max(24)), "{plain}");
            assert!(!plain.contains('\u{1b}'));
        }
    }

    #[test]
    fn json_has_what_the_table_has() {
        let (observation, query) = (observation(), query(By::Process));
        let line = json(&observation, &query.rows(&observation.interval), &query).expect("JSON");
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
        let (observation, mut query) = (observation(), query(By::Thread));
        query.sort = Column::Name;
        let text = csv(&observation, &query.rows(&observation.interval), false);
        let fields = CSV_HEAD.matches(',').count();
        assert!(text.lines().all(|line| line.matches(',').count() == fields), "{text}");
        assert!(
            text.starts_with("3000000000,1000000000,,,,,(ended),1,1,1024,512,500000000,10000000,"),
            "{text}"
        );
    }

    #[test]
    fn programs_get_a_name_as_it_is_and_a_terminal_nothing_that_it_obeys() {
        let (mut observation, query) = (observation(), query(By::Thread));
        let odd = "a\u{1b}[31m,\"b\"\u{7f}\r\n\u{9b}2J\u{202e}";
        observation.interval.tasks[0].comm = odd.to_owned();
        let rows = query.rows(&observation.interval);
        let exact = csv(&observation, &rows, false);
        assert!(exact.contains(",\"a\u{1b}[31m,\"\"b\"\"\u{7f}\r\n\u{9b}2J\u{202e}\","), "{exact:?}");
        let shown = csv(&observation, &rows, true);
        assert!(shown.split("\r\n").all(|line| !line.contains(text::is_obeyed)), "{shown:?}");
        assert!(shown.contains(",\"a\\u{1b}[31m,\"\"b\"\"\\u{7f}\\r\\n\\u{9b}2J\\u{202e}\","), "{shown}");
        let line = json(&observation, &rows, &query).expect("JSON");
        assert!(!line.trim_end().contains(text::is_obeyed), "{line:?}");
        let value: serde_json::Value = serde_json::from_str(&line).expect("JSON");
        assert_eq!(value["rows"][0]["name"], odd);
    }
}
