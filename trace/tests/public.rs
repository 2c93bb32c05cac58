//! Recordings that others made and published, and an account of them that shares no code with divvy (`public/account.py`).
//! The recordings are not in the repository: `public/fetch DIR` gets those of `public/traces.tsv`.

use divvy_trace::{Activity, ReadOptions, Recording, read};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Run time and waits of each thread, in ns.
type Account = BTreeMap<i32, [u64; 2]>;

fn here(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/public").join(name)
}

/// The columns of a line of traces.tsv.
const HASH: usize = 1;
const FORMAT: usize = 5;

fn rows() -> Vec<Vec<String>> {
    let text = std::fs::read_to_string(here("traces.tsv")).expect("the table");
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| line.split('\t').map(str::to_owned).collect()).collect()
}

/// The account of the script.
fn independent(path: &Path) -> Account {
    let python = std::env::var("DIVVY_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let output = Command::new(python).arg(here("account.py")).arg(path).output().expect("python3");
    assert!(output.status.success(), "{}: {}", path.display(), String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("text");
    let number = |field: Option<&str>| field.and_then(|text| text.parse::<u64>().ok()).expect("a number");
    text.lines()
        .map(|line| {
            let mut fields = line.split(',');
            let tid = number(fields.next()).try_into().expect("a thread's number");
            (tid, [number(fields.next()), number(fields.next())])
        })
        .collect()
}

/// The same of a reconstruction: intervals whose two ends are in the recording. A wait ends with a run that begins in it.
fn reconstructed(recording: &Recording) -> Account {
    let mut account = Account::new();
    for thread in &recording.threads {
        let sums = account.entry(thread.tid).or_default();
        for (at, interval) in thread.intervals.iter().enumerate() {
            let next_is_certain = thread.intervals.get(at + 1).is_none_or(|next| !next.inferred);
            match interval.activity {
                _ if interval.inferred || interval.censored => {}
                Activity::Run { .. } => sums[0] += interval.len_ns(),
                Activity::Wait { .. } if next_is_certain => sums[1] += interval.len_ns(),
                Activity::Wait { .. } | Activity::Blocked { .. } | Activity::Unknown => {}
            }
        }
    }
    account
}

/// The sum over threads of what two accounts differ by: of run time, and of waits.
fn difference(one: &Account, other: &Account) -> [u64; 2] {
    let tids: std::collections::BTreeSet<i32> = one.keys().chain(other.keys()).copied().collect();
    let of = |account: &Account, tid| account.get(&tid).copied().unwrap_or_default();
    [0, 1].map(|which| tids.iter().map(|&tid| of(one, tid)[which].abs_diff(of(other, tid)[which])).sum())
}

/// Grade, threads, CPU time in us, the share of it that was inferred, differences of run time and of waits in us; or the error.
fn measure(path: &Path) -> Vec<String> {
    let recording = match read(path, &ReadOptions::default()) {
        Ok(recording) => recording,
        Err(error) => {
            let text = error.to_string();
            let reason = text.lines().next().unwrap_or_default();
            let reason = reason.strip_prefix(&format!("{}: ", path.display())).unwrap_or(reason);
            return vec!["refused".to_owned(), reason.to_owned()];
        }
    };
    let quality = &recording.quality;
    let [run, wait] = difference(&reconstructed(&recording), &independent(path));
    let inferred = 100.0 * quality.inferred_ns as f64 / quality.all_run_ns.max(1) as f64;
    vec![
        format!("{:?}", quality.grade()),
        recording.threads.iter().filter(|thread| thread.run_ns > 0).count().to_string(),
        (quality.all_run_ns / 1000).to_string(),
        format!("{inferred:.2}"),
        (run / 1000).to_string(),
        (wait / 1000).to_string(),
    ]
}

/// The page shows what the table has, and the table has no row twice.
#[test]
fn the_page_shows_the_table() {
    let page = here("../../../docs/reference/public-traces.md");
    let page = std::fs::read_to_string(page).expect("the page");
    let rows = rows();
    let hashes: std::collections::BTreeSet<&String> = rows.iter().map(|row| &row[HASH]).collect();
    assert_eq!(hashes.len(), rows.len());
    let shown = page.lines().filter(|line| line.contains("](https://github.com/")).count();
    assert_eq!(shown, rows.len());
    for row in &rows {
        let [_, _, repository, commit, path] = &row[..FORMAT] else { panic!("{row:?}") };
        let cells = row[FORMAT..].join(" | ");
        let line = format!(
            "| [{repository}: {path}](https://github.com/{repository}/blob/{commit}/{path}) | {cells} |"
        );
        let line = line.replace(" | refused | ", " | "); // has a table of its own
        assert!(page.contains(&line), "not on the page: {line}");
    }
}

/// The recording that is kept, as text: the same account to the nanosecond.
#[test]
fn the_kept_recording_has_the_same_account() {
    let path = here("../../../examples/compile-beside-interactive.perf.txt");
    let recording = read(&path, &ReadOptions::default()).expect("the committed recording");
    let (found, independent) = (reconstructed(&recording), independent(&path));
    let total: u64 = independent.values().map(|sums| sums[0]).sum();
    assert!(total > 1_000_000_000, "the script found {total} ns");
    assert_eq!(difference(&found, &independent), [0, 0]);
}

/// Needs the recordings in DIVVY_TRACES, trace-cmd, and Perfetto's classes in DIVVY_PYTHON: `make test-traces`.
#[test]
#[ignore = "the recordings are not in the repository: make test-traces"]
fn published_recordings_are_read_as_the_table_says() {
    let dir = std::env::var_os("DIVVY_TRACES").map(PathBuf::from).expect("DIVVY_TRACES names a directory");
    let mut wrong = Vec::new();
    for row in rows() {
        let found = measure(&dir.join(&row[HASH]));
        println!("{}\t{}", row[..=FORMAT].join("\t"), found.join("\t"));
        if row[FORMAT + 1..] != found[..] {
            wrong.push(row[0].clone());
        }
    }
    assert!(wrong.is_empty(), "other than in the table: {wrong:?}");
}
