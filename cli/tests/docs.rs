//! The book in `docs/`: its commands print what it shows, and its links lead to headings that are there.

use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn read(file: &Path) -> String {
    std::fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

/// All pages, the README first.
fn pages() -> Vec<PathBuf> {
    let docs = root().join("docs");
    let directories = [docs.clone(), docs.join("how-to"), docs.join("reference"), docs.join("explanation")];
    let mut pages = vec![root().join("README.md")];
    for directory in directories {
        let entries = std::fs::read_dir(&directory).expect("a directory of the book");
        let mut found: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
        found.retain(|path| path.extension().is_some_and(|extension| extension == "md"));
        found.sort();
        pages.extend(found);
    }
    assert!(pages.len() > 20, "only {} pages", pages.len());
    pages
}

#[test]
fn the_commands_print_what_the_book_shows() {
    // They are run where a reader runs them.
    std::env::set_current_dir(root()).expect("the root of the tree");
    trycmd::TestCases::new().case("docs/*.md").case("docs/*/*.md");
}

#[test]
fn the_tutorial_shows_its_workload() {
    let shown = format!("```toml\n{}```\n", read(&root().join("examples/two-builds.toml")));
    assert!(read(&root().join("docs/tutorial.md")).contains(&shown), "not in docs/tutorial.md:\n{shown}");
}

/// Addresses of links in Markdown, outside of code.
fn links(page: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut in_code = false;
    for line in page.lines() {
        if line.starts_with("```") {
            in_code = !in_code;
        }
        let outside = if in_code { "" } else { line };
        let ends = outside.match_indices("](").map(|(at, _)| &outside[at + 2..]);
        found.extend(ends.filter_map(|rest| rest.split_once(')')).map(|(address, _)| address.to_owned()));
    }
    found
}

/// The part of an address behind `#`, as Markdown makes it of a heading.
fn anchor(heading: &str) -> String {
    let text = heading.trim_start_matches('#').trim().to_lowercase();
    let kept = text.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

/// That the files are there is for `.ci/tidy`.
#[test]
fn links_lead_to_headings() {
    let mut followed = 0;
    for page in pages() {
        for link in links(&read(&page)) {
            let Some((file, place)) = link.split_once('#').filter(|_| !link.starts_with("http")) else {
                continue;
            };
            let target = if file.is_empty() { page.clone() } else { page.with_file_name(file) };
            let text = read(&target);
            let mut headings = text.lines().filter(|line| line.starts_with('#'));
            assert!(headings.any(|line| anchor(line) == place), "{}: no heading for {link}", page.display());
            followed += 1;
        }
    }
    assert!(followed > 5, "{followed} links to headings");
}

/// It is a front door: the rest is in the book.
#[test]
fn the_readme_is_short() {
    let lines = read(&root().join("README.md")).lines().count();
    assert!(lines <= 180, "README.md has {lines} lines");
}

/// Code of the pages that `divvy help` prints fits a terminal of 80 columns, in which it is indented by 6.
#[test]
fn code_of_the_reference_is_narrow() {
    for page in pages().iter().filter(|page| page.to_string_lossy().contains("/reference/")) {
        let text = read(page);
        let mut in_code = false;
        for line in text.lines() {
            if line.starts_with("```") {
                in_code = line.starts_with("```toml") || line == "```text";
            } else if in_code {
                assert!(line.chars().count() <= 74, "{}: {line}", page.display());
            }
        }
    }
}
