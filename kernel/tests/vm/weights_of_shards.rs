//! Modifiers, cgroups and users with several shards (placement R7): four virtual CPUs, each a shard of its own. What a task or group is entitled
//! to is computed by hand, over all CPUs; a shard by itself could not tell.

use serde_json::Value;

use crate::groups::shares;
use crate::machine::{Said, several, workload};

/// The most instructions of one program, as for all others (`budget.rs`).
const MOST_OF_ONE: u64 = 300_000;
/// Each part of all CPU time is within this of what is computed: the system itself uses some of it, and four virtual CPUs share fewer.
const NEAR: f64 = 0.03;

/// A spec with its options, and the lines of a script that run a command under it, and verify its log.
fn under(loaded: &str, command: &str) -> String {
    format!(
        "divvy load {loaded} --format json --interval 60s --log /tmp/log --exec {command} >/tmp/stats || exit 1\n\
         echo '== stats'; tail -n 1 /tmp/stats\n\
         echo '== log'; divvy verify /tmp/log --format json\n\
         echo '== state'; cat /sys/kernel/sched_ext/state\n"
    )
}

/// Runs it, if the log is verified, tasks moved, and the kernel's own scheduler is back.
fn run(script: &str) -> Said {
    let said = several(4, script, 900);
    assert_eq!(said.code, 0, "{said}");
    said.assert_calm();
    assert_eq!(said.part("state"), "disabled");
    assert_eq!(said.json("log")["verdict"], "ok", "{said}");
    let counts = said.json("stats")["interval"]["counts"].clone();
    for what in ["faults", "missing", "without_id", "fallbacks"] {
        assert_eq!(counts[what], 0, "{what}: {counts}");
    }
    assert!(counts["moves"].as_u64() > Some(20), "{counts}");
    println!("{counts}");
    said
}

fn assert_near(received: &[f64], entitled: &[f64]) {
    println!("received {received:.4?}, entitled {entitled:.4?}");
    for (share, part) in received.iter().zip(entitled) {
        assert!((share - part).abs() < NEAR, "received {received:?}, entitled {entitled:?}");
    }
}

fn tasks(report: &Value) -> Vec<(String, f64)> {
    let tasks = report["runs"][0]["tasks"].as_array().expect("tasks");
    let of = |task: &Value| {
        (task["process"].as_str().expect("a name").to_owned(), task["service_ns"].as_f64().expect("ns"))
    };
    let all: f64 = tasks.iter().map(|task| of(task).1).sum();
    tasks.iter().map(|task| (of(task).0, of(task).1 / all)).collect()
}

fn played(loaded: &str, file: &str) -> Vec<(String, f64)> {
    let play =
        format!("divvy play {} --scale-weights 3% --format json -o /tmp/report", workload(file).display());
    let said = run(&(under(loaded, &play) + "echo '== report'; cat /tmp/report\n"));
    tasks(&said.json("report"))
}

/// A script that says the CPU time of cgroups
fn measured(loaded: &str, script: &str) -> Said {
    let script = format!("sh -c 'sh {} >/tmp/groups'", workload(script).display());
    run(&format!("{}echo '== groups'; cat /tmp/groups\n", under(loaded, &script)))
}

#[test]
#[ignore = "needs the test VM: make test-vm"]
fn the_verifier_takes_modifiers_with_several_shards() {
    let all = [
        "sfq+feasible@cpu",
        "sfq+procfair@cpu",
        "sfq+tfps:group=on+feasible@cpu",
        "sfq+procfair+feasible+groups@cpu",
        "sfq@cpu --cgroups",
        "sfq@shards:size=2 --users --rules /tmp/rules.toml",
    ];
    let script: String = all
        .iter()
        .map(|spec| format!("echo '== {spec}'; divvy load {spec} --dry-run --format json || exit 1\n"))
        .collect();
    let said = several(4, &(": >/tmp/rules.toml\n".to_owned() + &script), 900);
    assert_eq!(said.code, 0, "{said}");
    said.assert_calm();
    for spec in all {
        let programs = said.json(spec)["programs"].as_array().expect("programs").clone();
        let most = programs.iter().filter_map(|program| program["instructions"].as_u64()).max();
        println!("{spec}: {most:?}");
        assert!(most < Some(MOST_OF_ONE), "{spec}: {most:?}");
    }
}

/// The heavy task has 4 of 14 s of CPU time, the first two 2 + 3/5 x 2 each, and the late ones 3/5 x 2 each. Under sfq alone, the first two would wait
/// for 1.8 s until the late ones have caught up with them, and have 2.3 s.
#[test]
#[ignore = "needs the test VM: make test-vm"]
fn infeasible_weights_share_what_is_left_across_shards() {
    let received = played("sfq+feasible@cpu", "infeasible_on_four.toml");
    let parts: Vec<f64> = received.iter().map(|(_, part)| *part).collect();
    let seconds = |process: &str| match process {
        "heavy" => 4.0,
        "first" => 3.2,
        _ => 1.2,
    };
    let entitled: Vec<f64> = received.iter().map(|(process, _)| seconds(process) / 14.0).collect();
    assert_eq!(parts.len(), 6);
    assert_near(&parts, &entitled);
}

/// Programs of 4 and of 16 threads have two CPUs each.
#[test]
#[ignore = "needs the test VM: make test-vm"]
fn programs_receive_the_same_across_shards() {
    let received = played("sfq+procfair@cpu", "greedy_on_four.toml");
    let of = |name: &str| received.iter().filter(|(process, _)| process == name).map(|(_, part)| part).sum();
    assert_near(&[of("four"), of("sixteen")], &[0.5, 0.5]);
}

/// `cgroups.sh` on four CPUs: b's one thread has a CPU, where it is entitled to 4/3; a has 3/4 of a CPU. c has 9/4, of which c/y's one thread has
/// one. Without b, a has 16/7, c/y 1, and c/x the rest of c's 12/7.
#[test]
#[ignore = "needs the test VM: make test-vm"]
fn cgroups_receive_by_their_weights_across_shards() {
    let groups = ["a", "b", "c/x", "c/y"];
    let said = measured("sfq@cpu --cgroups", "cgroups.sh");
    assert_near(&shares(&said, "all", &groups), &[3.0 / 16.0, 0.25, 5.0 / 16.0, 0.25]);
    assert_near(&shares(&said, "changed", &groups), &[4.0 / 7.0, 0.0, 5.0 / 28.0, 0.25]);
}

/// Seven programs of one user and one of another, which has a CPU: half of one if users did not count.
#[test]
#[ignore = "needs the test VM: make test-vm"]
fn users_receive_the_same_across_shards() {
    let said = measured("sfq@cpu --users", "users_on_four.sh");
    assert_near(&shares(&said, "all", &["1001", "1002"]), &[0.75, 0.25]);
}
