//! Opens reports in headless Chromium, and uses them: `make test-report`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const BROWSERS: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "chrome"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn scratch(name: &str) -> PathBuf {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("report");
    fs::create_dir_all(&dir).expect("a directory");
    dir.join(name)
}

fn divvy(args: &[&str]) {
    let output = Command::new(env!("CARGO_BIN_EXE_divvy")).args(args).output().expect("it runs");
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// A browser without network: names resolve to nothing.
fn browser() -> Command {
    let found = BROWSERS.iter().find(|name| Command::new(name).arg("--version").output().is_ok());
    let mut command = Command::new(found.expect("Chromium is missing: `make test-report` installs it"));
    command.args(["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-extensions", "--mute-audio"]);
    command.args(["--host-resolver-rules=MAP * ~NOTFOUND", "--enable-logging=stderr", "--v=0"]);
    command
}

/// Appends the script to the page, runs it, and gives what it wrote.
fn selftest(page: &Path, width: u32) {
    let text = fs::read_to_string(page).expect("a page");
    let script = include_str!("report/selftest.js");
    let tested = page.with_extension("tested.html");
    fs::write(&tested, text.replace("</body>", &format!("<script>{script}</script></body>")))
        .expect("written");
    let profile = page.with_extension("profile");
    let output = browser()
        .arg(format!("--user-data-dir={}", profile.display()))
        .arg(format!("--window-size={width},900"))
        .args(["--virtual-time-budget=60000", "--dump-dom"])
        .arg(format!("file://{}", tested.display()))
        .output()
        .expect("Chromium runs");
    let dom = String::from_utf8_lossy(&output.stdout);
    let found = dom.split_once("<pre id=\"selftest\">").and_then(|(_, rest)| rest.split_once("</pre>"));
    let log = String::from_utf8_lossy(&output.stderr);
    let (result, _) = found.unwrap_or_else(|| panic!("the script did not end:\n{log}"));
    assert_eq!(result, "all is well", "{}", page.display());
    let console: Vec<&str> = log.lines().filter(|line| line.contains("CONSOLE")).collect();
    assert!(console.is_empty(), "{}", console.join("\n"));
}

#[test]
#[ignore = "needs Chromium: make test-report"]
fn a_comparison_is_drawn_and_can_be_used() {
    let page = scratch("mix.html");
    let workload = root().join("examples/mix.toml");
    let workload = workload.to_str().expect("plain");
    divvy(&["sim", workload, "-p", "rr,eevdf,sfs", "--duration", "10s", "-o", page.to_str().expect("plain")]);
    for width in [1280, 500] {
        selftest(&page, width);
    }
}

#[test]
#[ignore = "needs Chromium: make test-report"]
fn a_replay_is_drawn_and_can_be_used() {
    let page = scratch("replay.html");
    let trace = root().join("examples/compile-beside-interactive.perf.data");
    divvy(&[
        "replay",
        trace.to_str().expect("plain"),
        "-p",
        "eevdf,gr3",
        "-o",
        page.to_str().expect("plain"),
    ]);
    selftest(&page, 1280);
}

/// Names are whatever a program calls itself.
#[test]
#[ignore = "needs Chromium: make test-report"]
fn hostile_names_are_text() {
    let page = scratch("hostile.html");
    let workload = scratch("hostile.toml");
    let names = [
        "</script><script>hacked=1</script>",
        "<img src=x onerror=hacked=1>",
        "\\\"quoted\\\" 'and' `more` ${hacked=1}",
        "🦊 emoji 👩‍👩‍👧",
        "\\u202Eright to left: מעבד",
        "=1+1,comma",
        "__proto__",
    ];
    let tasks: String = names
        .iter()
        .map(|name| format!("[[task]]\nname = \"{name}\"\nprogram = [{{ loop = \"forever\", do = [{{ run = {{ exp = \"4ms\" }} }}, {{ sleep = \"5ms\" }}] }}]\n"))
        .collect();
    fs::write(&workload, format!("cpus = 2\nduration = \"2s\"\n{tasks}")).expect("written");
    divvy(&["sim", workload.to_str().expect("plain"), "-p", "rr,gr3", "-o", page.to_str().expect("plain")]);
    selftest(&page, 1280);
}

/// 1,000 tasks and half a million slices.
#[test]
#[ignore = "needs Chromium: make test-report"]
fn a_large_report_is_small_enough() {
    let page = scratch("large.html");
    let workload = scratch("large.toml");
    let toml = "cpus = 8\nquantum = \"500us\"\nduration = \"34s\"\ntask = [\n\
        { name = \"hog\", count = 500, weight = 512, program = [{ run = \"forever\" }] },\n\
        { name = \"burst\", count = 500, program = [{ loop = \"forever\", do = [\n\
        { sleep = { exp = \"400ms\" } }, { run = { exp = \"3ms\" } } ] }] } ]\n";
    fs::write(&workload, toml).expect("written");
    divvy(&["sim", workload.to_str().expect("plain"), "-p", "sfq", "-o", page.to_str().expect("plain")]);
    let bytes = fs::metadata(&page).expect("a page").len();
    assert!(bytes < 2_000_000, "{bytes}");
    selftest(&page, 1280);
}
