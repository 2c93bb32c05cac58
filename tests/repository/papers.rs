//! The pages of papers/, the code of policy/ and the tests agree: each rule is cited where it is programmed and
//! named by a test, each citation and each test's name is of a rule that there is, and the build has read from the
//! pages what each policy promises and where it deviates.
//!
//! A page has entries `- **R1** ..` (rules), `- **C1** ..` (claims, each with the tests that show it in backticks,
//! `name_..` for all that begin so) and `- **D1** ..` (deviations); those of a section `## In short: POLICY` have words
//! for numbers (policy/src/page.rs). The code cites `(page R1)`; a test is called `page_r1_what_it_shows`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use crate::root;

/// 'R', 'C' or 'D' and its number
type Tag = (char, u32);
/// Text by tag
type Page = BTreeMap<Tag, String>;

/// All files below a folder with this ending, by path
fn files(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let mut found = Vec::new();
    for entry in entries {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path, ending));
        } else if path.to_str().unwrap().ends_with(ending) {
            found.push(path);
        }
    }
    found.sort();
    found
}

fn stem(path: &Path) -> String {
    path.file_stem().unwrap().to_str().unwrap().to_owned()
}

/// `R12` as a tag
fn tag(word: &str) -> Option<Tag> {
    let kind = word.chars().next().filter(|c| "RCD".contains(*c))?;
    Some((kind, word[1..].parse().ok()?))
}

fn pages() -> BTreeMap<String, Page> {
    let read = |path: PathBuf| (stem(&path), page(&fs::read_to_string(&path).unwrap(), &stem(&path)));
    files(&root().join("papers"), ".md").into_iter().map(read).collect()
}

/// Entries of the sections `## In short: POLICY`, which the build reads.
const IN_SHORT: [&str; 4] = ["Paper", "Guarantee", "Cost", "Deviations"];

fn page(text: &str, name: &str) -> Page {
    let mut page = Page::new();
    let mut current = None;
    for line in text.lines() {
        if let Some((number, rest)) = line.strip_prefix("- **").and_then(|l| l.split_once("** ")) {
            if IN_SHORT.contains(&number) {
                current = None;
                continue;
            }
            let tag = tag(number).unwrap_or_else(|| panic!("{name}.md: no entry is called {number}"));
            assert!(page.insert(tag, rest.to_owned()).is_none(), "{name}.md: {number} is there twice");
            current = Some(tag);
        } else if let Some(more) = line.strip_prefix("  ") {
            if let Some(tag) = current {
                let entry = page.entry(tag).or_default();
                entry.push(' ');
                entry.push_str(more.trim());
            }
        } else {
            current = None;
        }
    }
    page
}

/// Citations of the comments of C code: `gr3 R3`, `(sfs R1, gr3 R8)`, `(procfair R1; Eq. 6, with R2)`
fn citations(code: &str, pages: &BTreeMap<String, Page>) -> BTreeSet<(String, Tag)> {
    let mut cited = BTreeSet::new();
    for comment in code.split("/*").skip(1).filter_map(|rest| rest.split("*/").next()) {
        let mut current = None;
        for word in comment.split(|c: char| !c.is_ascii_alphanumeric() && c != '_') {
            if pages.contains_key(word) {
                current = Some(word);
            } else if let (Some(page), Some(tag)) = (current, tag(word)) {
                cited.insert((page.to_owned(), tag));
            }
        }
    }
    cited
}

/// Names of the test functions in a Rust file
fn tests(code: &str) -> Vec<&str> {
    let mut names = Vec::new();
    let mut is_test = false;
    for line in code.lines().map(str::trim) {
        if line == "#[test]" {
            is_test = true;
        } else if let Some(rest) = line.strip_prefix("fn ") {
            if is_test {
                names.extend(rest.split('(').next());
            }
            is_test = false;
        }
    }
    names
}

/// The rules that a test shows by its name: `sfs_r1_gr3_r8_is_so`
fn shown(name: &str, pages: &BTreeMap<String, Page>) -> BTreeSet<(String, Tag)> {
    let mut shown = BTreeSet::new();
    let mut current = None;
    for part in name.split('_') {
        if pages.contains_key(part) {
            current = Some(part);
        } else if let (Some(page), Some(tag)) = (current, tag(&part.to_ascii_uppercase())) {
            shown.insert((page.to_owned(), tag));
        }
    }
    shown
}

struct Project {
    pages: BTreeMap<String, Page>,
    /// Headers of policies, by name; and all code of policy/
    headers: BTreeMap<String, String>,
    code: String,
    tests: Vec<String>,
}

impl Project {
    fn read() -> Project {
        let root = root();
        let mut headers = BTreeMap::new();
        for folder in ["select", "weight", "slice"] {
            for path in files(&root.join("policy"), ".h") {
                if path.parent().is_some_and(|p| p.ends_with(folder)) {
                    headers.insert(stem(&path), fs::read_to_string(path).unwrap());
                }
            }
        }
        let read = |path: &PathBuf| fs::read_to_string(path).unwrap();
        let mut code: String = files(&root.join("policy"), ".h").iter().map(read).collect();
        // The rules of papers/placement.md are programmed in Rust, around the policies.
        for text in files(&root.join("sim/src/placement"), ".rs").iter().map(read) {
            let comments = text.lines().filter_map(|line| line.split_once("//").map(|(_, comment)| comment));
            comments.for_each(|comment| code += &format!("/*{comment} */\n"));
        }
        let mut names = Vec::new();
        for folder in [
            "tests",
            "sim/tests",
            "sim/src",
            "policy/src",
            "results/src",
            "workload/src",
            "workload/tests",
            "lab/src",
            "lab/tests",
        ] {
            for path in files(&root.join(folder), ".rs") {
                names.extend(tests(&read(&path)).into_iter().map(str::to_owned));
            }
        }
        Project { pages: pages(), headers, code, tests: names }
    }

    fn has(&self, (page, tag): &(String, Tag)) -> bool {
        self.pages[page].contains_key(tag)
    }

    fn all(&self, kind: char) -> impl Iterator<Item = (String, Tag)> {
        let tags = self.pages.iter().flat_map(|(name, page)| page.keys().map(|t| (name.clone(), *t)));
        tags.filter(move |(_, tag)| tag.0 == kind)
    }
}

fn name((page, (kind, number)): &(String, Tag)) -> String {
    format!("{page} {kind}{number}")
}

fn none(problems: Vec<String>) {
    assert!(problems.is_empty(), "\n{}\n", problems.join("\n"));
}

#[test]
fn each_rule_is_cited_and_tested() {
    let project = Project::read();
    let cited = citations(&project.code, &project.pages);
    let shown: BTreeSet<_> = project.tests.iter().flat_map(|t| shown(t, &project.pages)).collect();
    let mut problems = Vec::new();
    for rule in project.all('R') {
        if !cited.contains(&rule) {
            problems.push(format!("{} is not cited in policy/", name(&rule)));
        }
        if !shown.contains(&rule) {
            problems.push(format!("{} is in no test's name", name(&rule)));
        }
    }
    none(problems);
}

#[test]
fn what_is_cited_or_named_is_on_its_page() {
    let project = Project::read();
    let mut problems = Vec::new();
    for citation in citations(&project.code, &project.pages) {
        if !project.has(&citation) {
            problems.push(format!("policy/ cites {}, which is not on its page", name(&citation)));
        }
    }
    for test in &project.tests {
        for citation in shown(test, &project.pages) {
            if !project.has(&citation) {
                problems.push(format!("{test}: there is no {}", name(&citation)));
            }
        }
    }
    none(problems);
}

#[test]
fn each_claim_is_shown_by_tests_that_exist() {
    let project = Project::read();
    let mut problems = Vec::new();
    for claim in project.all('C') {
        let text = &project.pages[&claim.0][&claim.1];
        let mut tests = text.split('`').skip(1).step_by(2).filter(|word| word.contains('_')).peekable();
        if tests.peek().is_none() {
            problems.push(format!("{} names no test", name(&claim)));
        }
        for wanted in tests {
            let found = match wanted.strip_suffix("..") {
                Some(start) => project.tests.iter().any(|t| t.starts_with(start)),
                None => project.tests.iter().any(|t| t == wanted),
            };
            if !found {
                problems.push(format!("{}: there is no test {wanted}", name(&claim)));
            }
        }
    }
    none(problems);
}

#[test]
fn each_policy_has_a_page() {
    let project = Project::read();
    let mut problems = Vec::new();
    for (policy, code) in &project.headers {
        let named = pages_of(code);
        if named.is_empty() {
            problems.push(format!("{policy}.h names no page papers/NAME.md"));
        }
        for page in named {
            if !project.pages.contains_key(&page) {
                problems.push(format!("{policy}.h: there is no papers/{page}.md"));
            }
        }
    }
    none(problems);
}

/// The pages that a header names
fn pages_of(code: &str) -> Vec<String> {
    let named = code.split("papers/").skip(1).filter_map(|rest| rest.split_once(".md"));
    named.map(|(page, _)| page.to_owned()).filter(|p| p.chars().all(|c| c.is_ascii_alphanumeric())).collect()
}

/// A row `D1: such and such` is the first sentence of D1 on one of the pages that its header names.
#[test]
fn deviations_are_those_of_the_page() {
    let project = Project::read();
    let mut problems = Vec::new();
    for info in divvy_policy::all() {
        if info.paper.is_empty() || info.guarantees.is_empty() || info.cost.is_empty() {
            problems.push(format!("{}: no page has a section `## In short: {0}`", info.name));
        }
        let named = pages_of(&project.headers[info.name]);
        for row in &info.deviations {
            let entry = row.split_once(": ").and_then(|(number, text)| Some((tag(number)?, text)));
            let Some((tag, text)) = entry else {
                problems.push(format!("{}: no \"D1: ..\": {row}", info.name));
                continue;
            };
            let on_page = |page: &String| {
                let entry = project.pages.get(page)?.get(&tag)?.strip_prefix(text)?;
                Some(entry.is_empty() || entry.starts_with('.'))
            };
            if !named.iter().any(|page| on_page(page) == Some(true)) {
                problems.push(format!("{}: not the text of its page {named:?}: {row}", info.name));
            }
        }
    }
    none(problems);
}

/// A policy that follows the kernel's source has the kernel's licence, in each of its headers, and its page says so.
#[test]
fn licences_are_those_of_the_pages() {
    const KERNELS: &str = "/* SPDX-License-Identifier: GPL-2.0-only */";
    let select = root().join("policy/select");
    let mut problems = Vec::new();
    for path in files(&select, ".h") {
        let within = path.strip_prefix(&select).unwrap().components().next().unwrap();
        let policy = stem(Path::new(&within));
        let page = fs::read_to_string(root().join(format!("papers/{policy}.md"))).unwrap_or_default();
        let is_kernels = fs::read_to_string(&path).unwrap().starts_with(KERNELS);
        if is_kernels != page.contains("\nLicence of the code: GPL-2.0-only,") {
            problems.push(format!("{}: not the licence of papers/{policy}.md", path.display()));
        }
    }
    none(problems);
}

#[test]
fn the_readers_read() {
    let text = "- **Cost** O(1)\n  a time\n- **R1** One\n  and more.\n- **D2** Two\n\n  no more\n";
    let one = page(text, "x");
    assert_eq!(one[&('R', 1)], "One and more.");
    assert_eq!(one[&('D', 2)], "Two");
    let pages = BTreeMap::from([("x".to_owned(), one.clone()), ("y".to_owned(), one)]);
    let tags = |found: BTreeSet<(String, Tag)>| found.iter().map(name).collect::<Vec<_>>().join(",");
    assert_eq!(
        tags(citations("/* (x R1; Eq. 2,\n R2, y D3) */ R4 /* R5 x_y R6 */", &pages)),
        "x R1,x R2,y D3"
    );
    assert_eq!(tags(shown("x_r1_r2_y_d3_is_y_and_r", &pages)), "x R1,x R2,y D3");
    assert_eq!(tests("#[test]\n fn a_b(c: d) {\n fn no() {\n#[test]\n/// x\nfn e() {"), ["a_b", "e"]);
}
