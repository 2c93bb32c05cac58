//! The reference and the schema of decision logs have every event of the machine.

use divvy_policy::Event;
use serde_json::Value;

fn read(path: &str) -> String {
    std::fs::read_to_string(crate::root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

#[test]
fn the_schema_has_every_kind_of_event() {
    let schema: Value = serde_json::from_str(&read("docs/schemas/verify.schema.json")).expect("JSON");
    let kinds = schema["$defs"]["event"]["properties"]["kind"]["enum"].as_array().expect("names");
    assert_eq!(kinds.len(), Event::KINDS.len());
    for kind in Event::KINDS {
        assert!(kinds.contains(&kind.into()), "{kind}");
    }
}

#[test]
fn the_reference_has_every_kind_of_event_with_its_number() {
    let page = read("docs/reference/decision-log.md");
    for (number, kind) in Event::KINDS.iter().enumerate() {
        assert!(page.contains(&format!("\n| {number} | `{kind}` |")), "{number} {kind}");
    }
}
