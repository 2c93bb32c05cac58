//! The Debian package, on a fresh Debian: the session that docs/how-to/install.md shows is typed there, and compared with it.

use std::path::Path;
use std::process::Command;

use crate::machine::{assert_calm, divvy, tree};
use crate::terminal::Terminal;

/// Makes a package of the program under test.
fn package(version: &str, into: &Path) {
    let made = Command::new(tree().join("package/deb"))
        .arg(divvy())
        .arg(into)
        .arg(version)
        .env("DIVVY_COMPRESSION", "zstd")
        .output()
        .expect("package/deb runs");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
}

/// A command of the page, and the lines that the page shows below it.
struct Step {
    command: String,
    shown: Vec<String>,
}

/// The page's only block of this kind.
fn steps(page: &str) -> Vec<Step> {
    let (_, rest) = page.split_once("```console root\n").expect("the session");
    let block = rest.split("```\n").next().unwrap_or_default();
    let mut steps: Vec<Step> = Vec::new();
    for line in block.lines() {
        if let Some(command) = line.strip_prefix("# ") {
            steps.push(Step { command: command.to_owned(), shown: Vec::new() });
        } else {
            steps.last_mut().expect("a command comes first").shown.push(line.to_owned());
        }
    }
    steps
}

/// The words of a line; one number is as good as another.
fn words(line: &str) -> Vec<&str> {
    let is_number = |word: &str| word.trim_start_matches('-').starts_with(|c: char| c.is_ascii_digit());
    line.split_whitespace().map(|word| if is_number(word) { "0" } else { word }).collect()
}

/// Whether the page shows these lines: `...` stands for any number of them.
fn shows(page: &[String], lines: &[String]) -> bool {
    match page.split_first() {
        None => lines.is_empty(),
        Some((first, rest)) if first == "..." => {
            (0..=lines.len()).any(|left_out| shows(rest, &lines[left_out..]))
        }
        Some((first, rest)) => {
            lines.first().is_some_and(|line| words(line) == words(first)) && shows(rest, &lines[1..])
        }
    }
}

/// On two CPUs alice has a thread and bob seven. Under Linux alice gets an eighth of the CPU time; she is entitled to half, and gets a little
/// more than bob, whose CPU runs the system's threads, too.
const LEAST_OF_ALICE: f64 = 0.47;

/// Her part of what both received in some seconds, as the kernel counts it for their services.
fn part_of_alice(terminal: &mut Terminal) -> f64 {
    let used = |terminal: &mut Terminal| {
        let command = "cd /sys/fs/cgroup/system.slice; grep -h usage_usec alice.service/cpu.stat bob.service/cpu.stat; cd /srv";
        let lines = terminal.run(command);
        let number = |line: &String| line.rsplit(' ').next().and_then(|number| number.parse::<f64>().ok());
        let [alice, bob] = lines.iter().filter_map(number).collect::<Vec<_>>()[..] else {
            panic!("{lines:?}")
        };
        [alice, bob]
    };
    let [alice, bob] = used(terminal);
    terminal.run("sleep 4");
    let [alice_after, bob_after] = used(terminal);
    let (alice, bob) = (alice_after - alice, bob_after - bob);
    alice / (alice + bob)
}

/// Files of the disk, but for what every package leaves: logs, and indexes that are made anew.
const FILES: &str = "find / -xdev -type f ! -path '/var/log/*' ! -path '/var/cache/*' ! -path '/root/*' ! -path '/etc/*-' | sort";
/// Ctrl-C when the settings are written, which is before the kernel verifies the policy.
const INTERRUPTED: &str =
    "divvy enable gr3+procfair & while ! grep -q gr3+ /etc/default/divvy; do :; done; kill -INT %1; wait %1";
/// Writes the time whenever no policy schedules, in a loop without other processes.
const WATCH: &str = "while :; do read -r s </sys/kernel/sched_ext/state; [ $s = enabled ] || { read -r up _ </proc/uptime; echo $up; }; done >/root/gap &";
/// The run of the unit's loader. It is the same one as long as it was not started again.
const RUN: &str = "systemctl show -p MainPID,InvocationID divvy";
/// The loaded scheduler.
const LOADED: &str = "cat /sys/kernel/sched_ext/root/ops";

#[test]
#[ignore = "needs the test VM: make test-vm"]
fn a_package_is_installed_enabled_upgraded_and_removed() {
    let share = divvy().with_file_name("package");
    std::fs::create_dir_all(&share).expect("a directory for the packages");
    for version in ["0.1.0", "0.2.0"] {
        package(version, &share);
    }
    let page = std::fs::read_to_string(tree().join("docs/how-to/install.md")).expect("the page");
    let mut terminal = Terminal::boot(2, &share);
    assert_eq!(terminal.line("systemctl is-system-running --wait"), "running");
    terminal.run(&format!("{FILES} >/root/before"));

    let mut checked = 0;
    for Step { command, shown } in steps(&page) {
        let mut lines = terminal.run(&command);
        // Tasks may have ended in any interval.
        lines.retain(|line| !line.ends_with("(ended)"));
        assert!(
            shows(&shown, &lines),
            "docs/how-to/install.md does not show what `{command}` prints, but {shown:#?}\n{}",
            terminal.session()
        );
        checked += u32::from(check_after(&command, &mut terminal));
    }
    assert_eq!(checked, 9, "the page has another session\n{}", terminal.session());

    // Users are not what a package takes back.
    terminal.run("userdel alice; userdel bob");
    let left = terminal.run(&format!("{FILES} | diff /root/before -"));
    assert_eq!(left, [""; 0], "left behind\n{}", terminal.session());
    assert_calm(&terminal.power_off());
}

/// Checks what the page does not show after a command. Returns whether there was something to check.
fn check_after(command: &str, terminal: &mut Terminal) -> bool {
    let rr = "divvy_rr";
    match command {
        "apt-get install ./divvy_0.1.0_amd64.deb" => {
            for file in ["/usr/bin/divvy", "/usr/share/man/man1/divvy-load.1.gz"] {
                terminal.line(&format!("ls {file}"));
            }
            assert_eq!(terminal.run("dpkg -V divvy"), [""; 0], "as it was packed");
            // Installing loads nothing.
            assert_eq!(terminal.line("cat /sys/kernel/sched_ext/state"), "disabled");
            let sim = "divvy sim /usr/share/doc/divvy/examples/mix.toml -p rr,sfq --duration 1s --format csv 2>/dev/null | grep -c sfq";
            assert_ne!(terminal.line(sim), "0");
        }
        "divvy enable fair-users" => {
            let part = part_of_alice(terminal);
            assert!(part >= LEAST_OF_ALICE, "{part}\n{}", terminal.session());
            assert_eq!(terminal.line("systemctl is-enabled divvy"), "enabled");
            terminal.run(&format!("{RUN} >/root/run"));
        }
        "divvy enable sfq" => {
            assert_eq!(terminal.line("echo $?"), "5");
            assert_eq!(terminal.run(&format!("{RUN} | diff /root/run -")), [""; 0], "{}", terminal.session());
            assert_eq!(terminal.line(LOADED), "divvy_gr3_groups", "changed nothing");
        }
        "systemctl stop alice bob" => {
            // The socket's group cannot change while the loader runs, so this one is started again, and then the former one.
            let refused = terminal.run("divvy enable sfq --group nosuch");
            assert_eq!(terminal.line("echo $?"), "5");
            let error = "error: divvy.service did not load the policy; the former policy is loaded again";
            assert!(refused.iter().any(|line| line == error), "{}", terminal.session());
            // A damaged database is found before the exchange, too.
            terminal.run("echo damaged >/var/lib/divvy/flow.redb");
            let refused = terminal.run("divvy enable rr+flow");
            let error = "error: divvy.service did not load the policy; the former policy goes on";
            assert!(refused.iter().any(|line| line == error), "{}", terminal.session());
            terminal.run("rm /var/lib/divvy/flow.redb");
            let shown = terminal.run(INTERRUPTED);
            let error = "error: interrupted; the former policy goes on";
            assert!(shown.iter().any(|line| line == error), "{}", terminal.session());
            assert_eq!(terminal.line("grep ^DIVVY_SPEC /etc/default/divvy"), "DIVVY_SPEC=fair-users");
            assert_eq!(terminal.line(LOADED), "divvy_gr3_groups", "changed nothing");
            terminal.run(&format!("{RUN} >/root/run"));
            terminal.run(WATCH);
        }
        "divvy enable rr --quantum 2ms" => {
            assert_eq!(terminal.line(LOADED), rr);
            // The one that loaded fair-users. How long no policy scheduled is for people.
            assert_eq!(terminal.run(&format!("{RUN} | diff /root/run -")), [""; 0], "{}", terminal.session());
            let seconds = terminal.run("kill %1; wait 2>/dev/null; cat /root/gap");
            println!("no policy at these seconds: {}", seconds.join(" "));
        }
        "systemctl is-active divvy" => assert_eq!(terminal.line(LOADED), rr),
        "apt-get install ./divvy_0.2.0_amd64.deb" => {
            assert_eq!(terminal.line(LOADED), rr, "goes on");
            // Settings that somebody changed outlive an upgrade.
            let settings = ["DIVVY_SPEC=rr", "DIVVY_OPTIONS=--quantum=2ms"];
            assert_eq!(terminal.run("grep ^DIVVY_ /etc/default/divvy"), settings);
        }
        "divvy disable" => {
            assert_eq!(terminal.line("systemctl is-enabled divvy"), "disabled");
            assert_eq!(terminal.line("cat /sys/kernel/sched_ext/state"), "disabled");
            // Without a policy it loads that of the settings. Root's package manager stops it.
            terminal.run("divvy enable");
            assert_eq!(terminal.line(LOADED), rr);
        }
        "apt-get remove -y divvy" => {
            assert_eq!(terminal.line("cat /sys/kernel/sched_ext/state"), "disabled");
            assert_eq!(
                terminal.line("find / -xdev -name 'divvy*' -type f ! -path '/var/*'"),
                "/etc/default/divvy"
            );
            terminal.run("mkdir -p /var/lib/divvy");
        }
        _ => return false,
    }
    true
}

#[test]
fn a_page_is_compared_with_what_is_printed() {
    let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
    let said = lines("Reading\nSetting up divvy (0.1.0) ...\n  1  1024 48.25 alice");
    assert!(shows(&lines("...\nSetting up divvy (0.1.0) ...\n  1  512 -3.1ms alice"), &said));
    assert!(shows(&lines("..."), &said) && shows(&lines("...\n..."), &said));
    for page in
        ["", "Reading", "...\nSetting up divvy (0.2.0) ...\n...", "...\n1 1024 48.25 bob", "...\nalice"]
    {
        assert!(!shows(&lines(page), &said), "{page}");
    }
    let steps = steps("```console root\n# one\nshown\n...\n# two\n```\n");
    assert_eq!(steps.iter().map(|step| step.shown.len()).collect::<Vec<_>>(), [2, 0]);
}
