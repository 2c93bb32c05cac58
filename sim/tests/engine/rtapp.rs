//! rt-app's own examples, and those of Workload Automation: each runs, or is refused for a reason. The files belong to who published
//! them: `trace/tests/public/fetch sim/tests/engine/rtapp.tsv DIR` gets them.

use std::path::{Path, PathBuf};

use divvy_policy::spec;
use divvy_sim::run::{Options, simulate};
use divvy_workload::Workload;

/// The columns of a line of rtapp.tsv.
const HASH: usize = 1;
const FOUND: usize = 5;

fn rows() -> Vec<Vec<&'static str>> {
    let lines = include_str!("rtapp.tsv").lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| line.split('\t').collect()).collect()
}

/// The number of tasks, and of those that get no CPU time in two seconds under `rr`; or the reason of a refusal.
fn measure(path: &Path) -> [String; 2] {
    let (workload, _) = match Workload::load(path) {
        Ok(read) => read,
        Err(error) => {
            let text = error.to_string();
            let first = text.lines().next().unwrap_or_default();
            let (_, reason) = first.split_once(": ").unwrap_or(("", first));
            return ["refused".to_owned(), reason.to_owned()];
        }
    };
    let specs = spec::parse_list(&["rr".to_owned()], divvy_policy::all()).expect("a policy");
    let options = Options { duration_ns: Some(2_000_000_000), ..Options::default() };
    let report = simulate(&workload, &specs, &options, &()).unwrap_or_else(|error| panic!("{error}"));
    let tasks = &report.runs[0].tasks;
    let idle = tasks.iter().filter(|task| task.service_ns == 0).count();
    [tasks.len().to_string(), idle.to_string()]
}

/// The page shows what the table has.
#[test]
fn the_page_shows_the_table_of_rt_apps_files() {
    let page = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../docs/reference/rt-app.md");
    let page = std::fs::read_to_string(page).expect("the page");
    let shown = page.lines().filter(|line| line.contains("](https://github.com/")).count();
    assert_eq!(shown, rows().len());
    for row in rows() {
        let [_, _, repository, commit, path, found @ ..] = &row[..] else { panic!("{row:?}") };
        let line = format!(
            "| [{repository}: {path}](https://github.com/{repository}/blob/{commit}/{path}) | {} |",
            found.join(" | ")
        );
        assert!(page.contains(&line), "not on the page: {line}");
    }
}

/// Needs the files in DIVVY_RTAPP: `make test-traces`.
#[test]
#[ignore = "the files are not in the repository: make test-traces"]
fn rt_apps_files_run_or_are_refused_as_the_table_says() {
    let dir = std::env::var_os("DIVVY_RTAPP").map(PathBuf::from).expect("DIVVY_RTAPP names a directory");
    let mut wrong = Vec::new();
    for row in rows() {
        let found = measure(&dir.join(row[HASH]));
        println!("{}\t{}", row[..FOUND].join("\t"), found.join("\t"));
        if row[FOUND..] != found[..] {
            wrong.push(row[0]);
        }
    }
    assert!(wrong.is_empty(), "other than in the table: {wrong:?}");
}
