//! A report as JSON: exactly [`Report`], the schema of version 1.

use divvy_results::report::Report;

/// Writes the report, indented.
pub fn write(report: &Report) -> serde_json::Result<String> {
    let mut text = serde_json::to_string_pretty(report)?;
    text.push('\n');
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use divvy_results::samples;

    #[test]
    fn reads_back_as_the_same_report() {
        for report in [samples::hostile(), samples::replayed(Some(0.125))] {
            let text = write(&report).expect("serializes");
            let back: Report = serde_json::from_str(&text).expect("reads back");
            assert!(write(&back).expect("serializes") == text);
            assert!(text.starts_with("{\n  \"schema_version\": 1,\n  \"workload\":"));
            assert!(!text.contains('\x1b'));
        }
    }
}
