//! Opens reports in headless Chromium, and uses them: `make test-report`.

#[path = "studio/process.rs"]
mod process;
#[path = "report/studio.rs"]
mod studio;

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{ChildStderr, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// How long a busy machine may take to draw.
const TIMEOUT: Duration = Duration::from_secs(120);

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

/// A browser without network: names resolve to nothing. It runs until it is killed.
fn browser() -> Command {
    let found = BROWSERS.iter().find(|name| Command::new(name).arg("--version").output().is_ok());
    let mut command = Command::new(found.expect("Chromium is missing: `make test-report` installs it"));
    command.args(["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-extensions", "--mute-audio"]);
    command.args(["--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", "--remote-debugging-port=0"]);
    command.args(["--enable-logging=stderr", "--v=0"]);
    command
}

fn selftest(page: &Path, width: u32) {
    run_script(page, concat!(include_str!("report/controls.js"), include_str!("report/selftest.js")), width);
}

/// Appends the script to the page, runs it, and looks at what it says. Nothing else may be said on the console.
fn run_script(page: &Path, script: &str, width: u32) {
    let text = fs::read_to_string(page).expect("a page");
    let script =
        format!("(() => {{\n\"use strict\";\n{}\n{script}\n}})();", include_str!("report/common.js"));
    let tested = page.with_extension("tested.html");
    fs::write(&tested, text.replace("</body>", &format!("<script>{script}</script></body>")))
        .expect("written");
    open(&format!("file://{}", tested.display()), &page.with_extension("profile"), width);
}

/// Opens a page with a script, and looks at what it says.
fn open(url: &str, profile: &Path, width: u32) {
    let mut browser = browser()
        .arg(format!("--user-data-dir={}", profile.display()))
        .arg(format!("--window-size={width},900"))
        .arg(url)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("Chromium runs");
    let said = console(browser.stderr.take().expect("a pipe"));
    browser.kill().expect("it runs");
    browser.wait().expect("it ends");
    assert!(
        said.len() == 1 && said[0].contains("\"SELFTEST all is well;"),
        "{url} at width {width}:\n{}",
        said.join("\n")
    );
    // Times depend on the machine: --nocapture shows them.
    println!("{url} at width {width}: {}", said[0]);
}

/// The page's lines on the console, up to the script's verdict. The last line tells if there is none.
fn console(stderr: ChildStderr) -> Vec<String> {
    let (sender, lines) = mpsc::channel();
    thread::spawn(move || {
        let lines = BufReader::new(stderr).lines().map_while(Result::ok);
        lines.filter(|line| line.contains("CONSOLE")).try_for_each(|line| sender.send(line))
    });
    let mut said = Vec::new();
    while !said.last().is_some_and(|line: &String| line.contains("SELFTEST")) {
        match lines.recv_timeout(TIMEOUT) {
            Ok(line) => said.push(line),
            Err(error) => {
                said.push(format!("no word of the script: {error}"));
                break;
            }
        }
    }
    said
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

/// Policies of two results are side by side; what was not asked for is not in them.
#[test]
#[ignore = "needs Chromium: make test-report"]
fn results_become_one_page() {
    let workload = root().join("examples/mix.toml");
    let results: Vec<PathBuf> = ["1", "18446744073709551615"]
        .iter()
        .map(|seed| {
            let result = scratch(&format!("seed-{seed}.json"));
            let file = result.to_str().expect("plain");
            let workload = workload.to_str().expect("plain");
            let args =
                ["sim", workload, "-p", "gr3", "--seed", seed, "--figures", "--format", "json", "-o", file];
            divvy(&args);
            result
        })
        .collect();
    let page = scratch("two.html");
    let files: Vec<&str> = results.iter().map(|file| file.to_str().expect("plain")).collect();
    divvy(&["report", files[0], files[1], "-o", page.to_str().expect("plain")]);
    selftest(&page, 1280);
}

#[test]
#[ignore = "needs Chromium: make test-report"]
fn a_sweep_is_drawn_and_can_be_used() {
    let page = scratch("sweep.html");
    let workload = root().join("examples/queue.toml");
    let args = [
        "--vary",
        "load=0.3..0.9:0.2",
        "--vary",
        "alpha=0,1,4",
        "-p",
        "pbs,las",
        "--baseline",
        "rr",
        "--per-task",
    ];
    let json = scratch("sweep.json");
    let [page_name, json_name] = [&page, &json].map(|path| path.to_str().expect("plain"));
    let run = ["--reps", "4", "--duration", "3s", "--force", "-o", page_name, "-o", json_name];
    divvy(&[&["sweep", workload.to_str().expect("plain")], &args[..], &run[..]].concat());
    run_script(&page, include_str!("report/sweeptest.js"), 1280);
    divvy(&["report", json_name, "-o", page_name]);
    run_script(&page, include_str!("report/sweeptest.js"), 500);
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
    // Random lengths and gaps, of which little can be packed.
    let toml = "cpus = 8\nquantum = \"2ms\"\nduration = \"60s\"\n[[task]]\nname = \"worker\"\ncount = 1000\n\
        program = [{ loop = \"forever\", do = [{ sleep = { exp = \"90ms\" } }, { run = { exp = \"650us\" } }] }]\n";
    fs::write(&workload, toml).expect("written");
    // Several policies share the room, and have a row each for every task.
    for policies in ["sfq,rr,eevdf,gr3", "sfq"] {
        divvy(&[
            "sim",
            workload.to_str().expect("plain"),
            "-p",
            policies,
            "-o",
            page.to_str().expect("plain"),
        ]);
        let bytes = fs::metadata(&page).expect("a page").len();
        println!("{policies}: {bytes} bytes");
        assert!(bytes < 2_000_000, "{policies}: {bytes}");
    }
    selftest(&page, 1280);
}
