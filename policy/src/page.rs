//! Reads from a page of `papers/` what `divvy policies NAME` prints: build.rs compiles it into the library.
//!
//! A page has a section for each policy that it describes, and entries for its deviations:
//!
//! ```text
//! ## In short: NAME
//! - **Paper** authors: title, where and when
//! - **Guarantee** what it promises, under which condition (any number of these)
//! - **Cost** of a decision or change
//! - **Deviations** D1, D3 (only if they are not all of the page's)
//! ..
//! ## Deviations
//! - **D1** the first sentence is what is printed. The others are the reason.
//! ```

/// The summary of a policy on its page.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Summary {
    /// As in specs.
    pub policy: String,
    /// Where it was published.
    pub paper: String,
    /// Its promises.
    pub guarantees: Vec<String>,
    /// Cost of a decision or change.
    pub cost: String,
    /// `D1: what is not as in the paper`.
    pub deviations: Vec<String>,
}

const SECTION: &str = "## In short: ";

/// An entry `- **Key** text`, with the lines that go on with it.
struct Entry {
    line: usize,
    policy: Option<String>,
    key: String,
    text: String,
}

/// The policies of a page.
///
/// # Errors
/// A message that begins with the number of a line, if the page does not say what is needed.
pub(crate) fn summaries(page: &str) -> Result<Vec<Summary>, String> {
    let entries = entries(page);
    let mut found = Vec::new();
    for (index, line) in page.lines().enumerate() {
        if let Some(policy) = line.strip_prefix(SECTION) {
            let at = |message| format!("{}: {policy}: {message}", index + 1);
            found.push(summary(policy, &entries).map_err(at)?);
        }
    }
    Ok(found)
}

fn entries(page: &str) -> Vec<Entry> {
    let mut entries: Vec<Entry> = Vec::new();
    let mut policy = None;
    let mut goes_on = false;
    for (index, line) in page.lines().enumerate() {
        if line.starts_with("## ") {
            policy = line.strip_prefix(SECTION).map(str::to_owned);
        }
        if let Some((key, text)) = line.strip_prefix("- **").and_then(|rest| rest.split_once("** ")) {
            let (key, text) = (key.to_owned(), text.to_owned());
            entries.push(Entry { line: index + 1, policy: policy.clone(), key, text });
            goes_on = true;
        } else if let (true, Some(more), Some(last)) = (goes_on, line.strip_prefix("  "), entries.last_mut())
        {
            last.text.push(' ');
            last.text.push_str(more.trim());
        } else {
            goes_on = false;
        }
    }
    entries
}

fn summary(policy: &str, entries: &[Entry]) -> Result<Summary, String> {
    let mut summary = Summary { policy: policy.to_owned(), ..Summary::default() };
    let mut chosen = None;
    for entry in entries.iter().filter(|entry| entry.policy.as_deref() == Some(policy)) {
        match entry.key.as_str() {
            "Paper" => once(&mut summary.paper, entry)?,
            "Cost" => once(&mut summary.cost, entry)?,
            "Guarantee" => summary.guarantees.push(entry.text.clone()),
            "Deviations" => chosen = Some(entry),
            other => {
                return Err(format!(
                    "line {}: **{other}** is not known here; write **Paper**, **Guarantee**, **Cost** or **Deviations**",
                    entry.line
                ));
            }
        }
    }
    for (key, missing) in [
        ("Paper", summary.paper.is_empty()),
        ("Guarantee", summary.guarantees.is_empty()),
        ("Cost", summary.cost.is_empty()),
    ] {
        if missing {
            return Err(format!("has no entry **{key}**; add a line `- **{key}** ..`"));
        }
    }
    let deviations = entries.iter().filter(|entry| is_deviation(&entry.key));
    summary.deviations = match chosen {
        None => deviations.map(row).collect(),
        Some(list) => {
            list.text.split(", ").map(|key| chosen_row(list, key, entries)).collect::<Result<_, _>>()?
        }
    };
    Ok(summary)
}

fn once(field: &mut String, entry: &Entry) -> Result<(), String> {
    if !field.is_empty() {
        return Err(format!("line {}: a second **{}**; keep one", entry.line, entry.key));
    }
    field.clone_from(&entry.text);
    Ok(())
}

fn is_deviation(key: &str) -> bool {
    key.strip_prefix('D').is_some_and(|number| number.parse::<u32>().is_ok())
}

fn chosen_row(list: &Entry, key: &str, entries: &[Entry]) -> Result<String, String> {
    let wanted = entries.iter().find(|entry| is_deviation(&entry.key) && entry.key == key);
    wanted.map(row).ok_or_else(|| format!("line {}: the page has no entry **{key}**", list.line))
}

/// The first sentence.
fn row(entry: &Entry) -> String {
    let text = entry.text.split_once(". ").map_or(entry.text.as_str(), |(sentence, _)| sentence);
    format!("{}: {}", entry.key, text.strip_suffix('.').unwrap_or(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "# mine\n\n## In short: mine\n- **Paper** A: B,\n  1999\n- **Guarantee** one\n- **Guarantee** two\n\
                        - **Cost** O(1)\n\n## Deviations\n- **D1** first. Because.\n- **D2** second\n  line\n\n  no more\n";

    #[test]
    fn a_page_is_read() {
        let expected = Summary {
            policy: "mine".into(),
            paper: "A: B, 1999".into(),
            guarantees: vec!["one".into(), "two".into()],
            cost: "O(1)".into(),
            deviations: vec!["D1: first".into(), "D2: second line".into()],
        };
        assert_eq!(summaries(PAGE), Ok(vec![expected]));
        assert_eq!(summaries("# nothing\n"), Ok(vec![]));
    }

    #[test]
    fn a_page_with_two_policies_says_which_deviations_are_whose() {
        let page = PAGE.replace(
            "\n\n## Deviations",
            "\n- **Deviations** D2\n\n## In short: other\n- **Paper** C\n- **Guarantee** x\n- **Cost** y\n\n## Deviations",
        );
        let found = summaries(&page).expect("both are whole");
        assert_eq!(found[0].deviations, ["D2: second line"]);
        assert_eq!(found[1].deviations, ["D1: first", "D2: second line"]);
    }

    #[test]
    fn what_is_missing_is_said() {
        let error = |from: &str, to: &str| summaries(&PAGE.replace(from, to)).expect_err("it is not whole");
        assert_eq!(
            error("- **Cost** O(1)\n", ""),
            "3: mine: has no entry **Cost**; add a line `- **Cost** ..`"
        );
        assert_eq!(
            error("- **Guarantee** one", "- **Cost** O(2)"),
            "3: mine: line 8: a second **Cost**; keep one"
        );
        assert!(
            error("**Guarantee** two", "**Promise** two").contains("line 7: **Promise** is not known here")
        );
        let error = error("O(1)\n", "O(1)\n- **Deviations** D1, D3\n");
        assert_eq!(error, "3: mine: line 9: the page has no entry **D3**");
    }
}
