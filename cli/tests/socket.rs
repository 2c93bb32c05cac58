//! docs/reference/socket.md: its examples are read as the loader and its clients read them.

use std::path::Path;

use divvy_kernel::load::{Reply, Request};
use serde_json::Value;

fn page() -> String {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/reference/socket.md");
    std::fs::read_to_string(page).expect("the page")
}

/// The lines of the block of this kind.
fn block<'a>(page: &'a str, kind: &str) -> Vec<&'a str> {
    let start = format!("```json {kind}\n");
    let (_, rest) = page.split_once(&start).unwrap_or_else(|| panic!("no block {kind}"));
    rest.lines().take_while(|line| *line != "```").collect()
}

/// divvy writes the line that the page shows, field by field.
fn same<T: serde::Serialize + serde::de::DeserializeOwned>(line: &str) {
    let read: T = serde_json::from_str(line).unwrap_or_else(|error| panic!("{line}: {error}"));
    let written = serde_json::to_value(read).expect("JSON");
    assert_eq!(written, serde_json::from_str::<Value>(line).expect("JSON"), "{line}");
}

#[test]
fn requests_and_answers_of_the_page_are_those_of_the_loader() {
    let page = page();
    let (requests, answers) = (block(&page, "requests"), block(&page, "answers"));
    requests.iter().for_each(|line| same::<Request>(line));
    answers.iter().for_each(|line| same::<Reply>(line));
    // One of each; an answer to a look is shown by itself.
    let count = |source: &str, name: &str| {
        let (_, rest) = source.split_once(&format!("pub enum {name} {{\n")).expect("an enum");
        let body = rest.split("\n}\n").next().unwrap_or(rest);
        body.lines()
            .filter(|line| line.starts_with("    ") && line.as_bytes()[4].is_ascii_uppercase())
            .count()
    };
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../kernel/src/load/protocol.rs");
    let source = std::fs::read_to_string(source).expect("the protocol");
    assert_eq!(requests.len(), count(&source, "Request"));
    assert_eq!(answers.len() + 1, count(&source, "Reply"));
}

#[test]
fn the_answer_to_a_look_has_the_fields_of_the_page() {
    let page = page();
    let [head, task] = block(&page, "look")[..] else { panic!("two lines") };
    let reply: Reply = serde_json::from_str(head).expect("a head");
    let Reply::Look(_) = &reply else { panic!("{head}") };
    let written = serde_json::to_value(&reply).expect("JSON");
    let shown: Value = serde_json::from_str(head).expect("JSON");
    for (field, value) in shown.as_object().expect("an object") {
        if field == "stats" {
            let stats = value.as_object().expect("counts");
            assert!(stats.iter().all(|(name, count)| &written["stats"][name] == count), "{head}");
        } else {
            assert_eq!(&written[field], value, "{field}");
        }
    }
    assert_eq!(shown.as_object().map(|fields| fields.len()), written.as_object().map(|fields| fields.len()));
    let (place, account): (usize, divvy_kernel::load::Account) = serde_json::from_str(task).expect("a task");
    let written = serde_json::to_value((place, account)).expect("JSON");
    assert_eq!(written, serde_json::from_str::<Value>(task).expect("JSON"));
}
