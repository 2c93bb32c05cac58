//! Values in the text of a workload file: finds them by path, as in `task.web.weight`, and replaces them.

use std::ops::Range;

use divvy_policy::nearest;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Keys at the top of a workload file.
pub const TOP: [&str; 7] = ["cpus", "quantum", "duration", "warmup", "tick", "switch_cost", "migration_cost"];
/// Keys of a task with a single value.
const TASK: [&str; 6] = ["weight", "nice", "count", "start", "stop", "process"];
const GROUP: [&str; 2] = ["weight", "nice"];

/// The position of a value in a text, or where it would be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Position {
    span: Range<usize>,
    /// Text before and after the value, if the file does not have it yet.
    before: String,
    after: &'static str,
    /// Whether the value in the text is in quotes.
    quoted: bool,
}

impl Position {
    /// Whether the text has the value.
    pub fn is_there(&self) -> bool {
        self.before.is_empty()
    }
}

/// Finds `key` in a workload's text.
///
/// # Errors
/// A sentence that says which keys exist.
pub fn find(text: &str, key: &str) -> Result<Position, String> {
    let table = DeTable::parse(text).map_err(|error| error.message().to_owned())?;
    let table = table.get_ref();
    if TOP.contains(&key) {
        let top = || Position { span: 0..0, before: format!("{key} = "), after: "\n", quoted: false };
        return table.get(key).map_or(Ok(top()), |value| there(key, value));
    }
    let (list, rest) = key.split_once('.').unwrap_or((key, ""));
    match list {
        "task" => entry(table, text, "task", rest, &TASK),
        "group" => entry(table, text, "group", rest, &GROUP),
        "barrier" => {
            let all = table.get("barrier").ok_or("the workload has no [barrier.NAME]")?;
            descend(all, "barrier", rest)
        }
        "topology" => {
            let all = table.get("topology").ok_or("the workload has no [topology]")?;
            descend(all, "topology", rest)
        }
        _ => Err(format!("no key `{list}`")),
    }
}

/// The text with these values at these positions.
pub fn replaced(text: &str, edits: &[(&Position, &str)]) -> String {
    let mut edits = edits.to_vec();
    edits.sort_by_key(|(position, _)| position.span.start);
    let mut out = String::with_capacity(text.len() + 64);
    let mut at = 0;
    for (position, value) in edits {
        out.push_str(&text[at..position.span.start]);
        out.push_str(&position.before);
        // A word without quotes is not TOML; the workload's own error is better.
        let is_bare = value.parse::<f64>().is_ok() && !position.quoted;
        out.push_str(&if is_bare { value.to_owned() } else { format!("\"{value}\"") });
        out.push_str(position.after);
        at = position.span.end;
    }
    out.push_str(&text[at..]);
    out
}

/// Finds a key in the entry whose name `rest` begins with.
fn entry(table: &DeTable, text: &str, list: &str, rest: &str, scalars: &[&str]) -> Result<Position, String> {
    let entries = table.get(list).and_then(|all| all.get_ref().as_array());
    let named = |entry| name_of(entry).map(|name| (name, entry));
    let entries: Vec<_> = entries.into_iter().flatten().filter_map(named).collect();
    // Names may contain points: the longest match counts.
    let fits =
        |name: &str| rest.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
    let found =
        entries.iter().filter(|(name, _)| fits(name.get_ref())).max_by_key(|(n, _)| n.get_ref().len());
    let Some((name, entry)) = found else {
        let typed = rest.split('.').next().unwrap_or(rest);
        let names = || entries.iter().map(|(name, _)| *name.get_ref());
        return Err(unknown(&format!("{list} named"), typed, names()));
    };
    let path = rest[name.get_ref().len()..].trim_start_matches('.');
    let around = format!("{list}.{}", name.get_ref());
    if path.is_empty() {
        return Err(format!("`{around}` is a whole {list}; vary one of its keys, as in {around}.weight"));
    }
    let is_absent = !path.contains('.') && entry.get_ref().get(path).is_none();
    if is_absent && scalars.contains(&path) {
        // Every entry has a name, and another key can follow it.
        let is_inline = text[entry.span().start..].starts_with('{');
        let before = format!("{}{path} = ", if is_inline { ", " } else { "\n" });
        return Ok(Position { span: name.span().end..name.span().end, before, after: "", quoted: false });
    }
    if is_absent {
        let table = entry.get_ref().as_table();
        let keys = table.into_iter().flat_map(|table| table.keys().map(|key| key.get_ref().as_ref()));
        return Err(unknown("key", path, keys.chain(scalars.iter().copied())));
    }
    descend(entry, &around, path)
}

fn name_of<'a>(entry: &'a Spanned<DeValue<'a>>) -> Option<Spanned<&'a str>> {
    let name = entry.get_ref().get("name")?;
    name.get_ref().as_str().map(|text| Spanned::new(name.span(), text))
}

/// Follows the names of keys and, in lists, the numbers of entries from 1.
fn descend(from: &Spanned<DeValue>, around: &str, path: &str) -> Result<Position, String> {
    let (mut value, mut so_far) = (from, around.to_owned());
    for step in path.split('.') {
        let next = match value.get_ref() {
            DeValue::Table(table) => table.get(step).ok_or_else(|| {
                format!("{so_far}: {}", unknown("key", step, table.keys().map(|key| key.get_ref().as_ref())))
            }),
            DeValue::Array(list) => {
                let index = step.parse::<usize>().ok().and_then(|n| n.checked_sub(1));
                index.and_then(|index| list.get(index)).ok_or_else(|| {
                    format!("`{so_far}` is a list; `{step}` is no number of an entry, 1 to {}", list.len())
                })
            }
            _ => Err(format!("`{so_far}` is a single value and has no `{step}`")),
        };
        value = next?;
        so_far = format!("{so_far}.{step}");
    }
    there(&so_far, value)
}

/// The place of a value that is there, and is a single one.
fn there(key: &str, value: &Spanned<DeValue>) -> Result<Position, String> {
    let inner = match value.get_ref() {
        DeValue::Table(table) => table.keys().map(|key| key.get_ref().to_string()).collect(),
        DeValue::Array(list) => vec![format!("1 to {}", list.len())],
        _ => Vec::new(),
    };
    if !inner.is_empty() {
        return Err(format!("`{key}` has several values; add a point and {}", inner.join(" or ")));
    }
    let quoted = value.get_ref().is_str();
    Ok(Position { span: value.span(), before: String::new(), after: "", quoted })
}

fn unknown<'a>(what: &str, name: &str, known: impl Iterator<Item = &'a str>) -> String {
    let known: Vec<&str> = known.collect();
    let name_shown = name.escape_debug();
    match nearest(name, known.iter().copied()) {
        Some(meant) => format!("there is no {what} `{name_shown}`; did you mean `{meant}`?"),
        None => format!("there is no {what} `{name_shown}`; there are {}", known.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use divvy_policy::Weight;
    use divvy_workload::{WeightSetting, Workload};

    use super::*;

    const TEXT: &str = r#"
quantum = "4ms"
duration = "1s"
task = [
  { name = "a.b", program = [ { loop = 3, do = [ { sleep = "1ms" }, { run = { exp = "4ms" } } ] } ] },
  { name = "a", weight = 2, program = [ { run = "1ms" } ] },
]
[[group]]
name = "g" # nobody is in it
"#;

    fn with(edits: &[(&str, &str)]) -> String {
        let places: Vec<Position> = edits.iter().map(|(key, _)| find(TEXT, key).expect(key)).collect();
        let edits: Vec<(&Position, &str)> =
            places.iter().zip(edits).map(|(position, (_, value))| (position, *value)).collect();
        replaced(TEXT, &edits)
    }

    #[test]
    fn values_go_where_the_file_has_them_or_could() {
        let text = with(&[
            ("task.a.b.program.1.do.2.run.exp", "7ms"),
            ("task.a.weight", "5"),
            ("quantum", "2ms"),
            ("task.a.b.weight", "3"),
            ("task.a.b.count", "2"),
            ("cpus", "4"),
            ("group.g.weight", "9"),
        ]);
        assert!(text.contains("name = \"g\"\nweight = 9 #"), "{text}");
        let workload = Workload::parse(text.split("[[group]]").next().unwrap(), "x").expect(&text);
        assert_eq!((workload.cpus, workload.quantum_ns), (4, 2_000_000));
        assert_eq!(workload.tasks[0].weight, WeightSetting::Units(3 * Weight::ONE));
        assert_eq!(
            (workload.tasks[0].count, workload.tasks[1].weight),
            (2, WeightSetting::Units(5 * Weight::ONE))
        );
        assert!(text.contains("{ exp = \"7ms\" }"), "{text}");
    }

    #[test]
    fn a_topology_has_values_to_vary() {
        let text = "cpus = 8\n[topology]\nllc = 4\nsame_llc_cost = \"1us\"\n[[task]]\nname = \"a\"\nprogram = [ { run = \"1ms\" } ]";
        let edits = [("topology.llc", "2"), ("topology.same_llc_cost", "7us")];
        let places: Vec<Position> = edits.iter().map(|(key, _)| find(text, key).expect(key)).collect();
        let edits: Vec<(&Position, &str)> =
            places.iter().zip(edits).map(|(at, (_, value))| (at, value)).collect();
        let workload =
            Workload::parse(&replaced(text, &edits), "x").unwrap_or_else(|error| panic!("{error}"));
        let topology = workload.topology.expect("it has one");
        assert_eq!((topology.llc, topology.costs_ns), (2, [0, 7_000, 0, 0]));
        assert!(find(text, "topology.lcc").expect_err("no such key").contains("did you mean `llc`?"));
    }

    #[test]
    fn what_is_not_there_is_said() {
        for (key, part) in [
            ("task.c.weight", "there is no task named `c`"),
            ("task.a.wieght", "did you mean `weight`?"),
            ("task.a", "is a whole task"),
            ("task.a.program", "add a point and"),
            ("task.a.program.2.run", "1 to 1"),
            ("task.a.program.1.sleep", "there is no key `sleep`"),
            ("task.a.weight.x", "is a single value"),
            ("barrier.b.parties", "no [barrier.NAME]"),
            ("topology.llc", "no [topology]"),
        ] {
            let message = find(TEXT, key).expect_err(key);
            assert!(message.contains(part), "{key}: {message}");
        }
    }
}
