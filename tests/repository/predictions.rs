//! The page on trust has the measured errors of predictions that reports repeat.

use divvy_results::prediction::{MEAN_RESPONSE, P99_RESPONSE, SHARE};

#[test]
fn the_page_has_these_numbers() {
    let page = include_str!("../../docs/explanation/trust.md");
    for errors in [MEAN_RESPONSE, P99_RESPONSE, SHARE] {
        let start = format!("| {} | another policy | ", errors.metric);
        let row = page.lines().find(|line| line.starts_with(&start)).expect("a row");
        let (median, decile) = (100.0 * errors.median, 100.0 * errors.ninth_decile);
        assert!(row.contains(&format!(" | {median:.1} % | {decile:.1} % | ")), "{row}");
    }
}
