//! The README's examples: what it shows is what is printed.

use std::path::Path;

#[test]
fn the_readme_shows_what_is_printed() {
    // Its commands are run where a reader runs them.
    std::env::set_current_dir(root()).expect("the root of the tree");
    trycmd::TestCases::new().case("README.md");
}

#[test]
fn the_readme_shows_the_example_workload() {
    let read = |file: &str| std::fs::read_to_string(root().join(file)).expect(file);
    let shown = format!("```toml\n{}```\n", read("examples/mix.toml"));
    assert!(read("README.md").contains(&shown), "not in README.md:\n{shown}");
}

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}
