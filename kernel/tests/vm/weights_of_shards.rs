//! Modifiers, cgroups and users with several shards (placement R7): four virtual CPUs, each a shard of its own. What a task or group is entitled
//! to is computed by hand, over all CPUs; a shard by itself could not tell.

use serde_json::Value;

use crate::groups::shares;
use crate::machine::{Said, workload};
use crate::shards::{assert_verified, counts, loaded, run_on};

/// Each part of all CPU time is within this of what is computed: the system itself uses some of it, and four virtual CPUs share fewer.
const NEAR: f64 = 0.03;

/// Runs a command under a spec, and then says what is in a file that it wrote.
fn run(spec: &str, command: &str, part: &str, file: &str) -> Said {
    let script = |spec: &str| loaded(spec, command) + &format!("echo '== {part}'; cat {file}\n");
    let said = run_on(4, &[spec], script, 900);
    println!("{}", counts(&said, spec));
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

fn played(spec: &str, file: &str) -> Vec<(String, f64)> {
    let play =
        format!("divvy play {} --scale-weights 3% --format json -o /tmp/report", workload(file).display());
    tasks(&run(spec, &play, "report", "/tmp/report").json("report"))
}

/// A script that says the CPU time of cgroups
fn measured(spec: &str, script: &str) -> Said {
    let script = format!("sh -c 'sh {} >/tmp/groups'", workload(script).display());
    run(spec, &script, "groups", "/tmp/groups")
}

#[test]
#[ignore = "needs the test VM: make test-vm"]
fn the_verifier_takes_modifiers_with_several_shards() {
    assert_verified(&[
        "sfq+feasible@cpu",
        "sfq+procfair@cpu",
        "sfq+tfps:group=on+feasible@cpu",
        "sfq+procfair+feasible+groups@cpu",
        "sfq@cpu --cgroups",
        "sfq@shards:size=2 --users --rules /tmp/rules.toml",
        "gr3+procfair+groups@shards:size=2",
        "sfs+tfps@cpu --cgroups",
        "eevdf+procfair+groups@cpu",
        "vtrr+tfps@cpu --users",
    ]);
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

/// A group with a limit has it once, and not once for each shard. Computed by hand: a has its 1.5 CPUs, c/x its 0.3, c/y what that leaves of c's 0.8, and b the rest, 1.7;
/// without the limit of a, c has its 0.8, and of the other 3.2 a has 4/5. By weights b would have 4/9 of a CPU. What the system itself uses is b's loss while the others
/// are limited: so b may have less by a tenth of the CPUs, and the others are compared with each other.
#[test]
#[ignore = "needs the test VM: make test-vm"]
fn limits_of_cgroups_hold_across_shards() {
    let groups = ["a", "b", "c/x", "c/y"];
    let limited = |cpus: [f64; 4]| [cpus[0], cpus[2], cpus[3]].map(|n| n / (cpus[0] + cpus[2] + cpus[3]));
    for spec in ["sfq@cpu --cgroups --quantum 1ms", "gr3@shards:size=2 --cgroups --quantum 1ms"] {
        let said = measured(spec, "cgroups.sh limits-on-four");
        let all: [f64; 4] = shares(&said, "all", &groups).try_into().expect("four");
        assert_near(&limited(all), &limited([1.5, 1.7, 0.3, 0.5]));
        assert!(all[1] > (1.7 - 0.4) / (4.0 - 0.4), "{spec}: {all:?}");
        let changed: [f64; 4] = shares(&said, "changed", &groups).try_into().expect("four");
        // Shards are compared by tags under sfq. For others no bound is claimed (placement.md): gr3 gives a 0.74 to 0.76 of what both have.
        if spec.starts_with("sfq") {
            assert_near(&[changed[0] / (changed[0] + changed[1])], &[0.8]);
        }
        assert!(changed[2] + changed[3] < 0.8 / (4.0 - 0.4), "{spec}: {changed:?}");
    }
}

/// Seven programs of one user and one of another, which has a CPU: half of one if users did not count.
#[test]
#[ignore = "needs the test VM: make test-vm"]
fn users_receive_the_same_across_shards() {
    let said = measured("sfq@cpu --users", "users_on_four.sh");
    assert_near(&shares(&said, "all", &["1001", "1002"]), &[0.75, 0.25]);
}
