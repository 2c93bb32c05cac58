//! `examples/cluster/shard.sh`, as Slurm and Kubernetes run it: with their variables, a process for each job.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

const DIVVY: &str = env!("CARGO_BIN_EXE_divvy");

/// 24 points, of some 20 ms each.
const SWEEP: [&str; 9] = [
    "../examples/queue.toml",
    "--vary",
    "load=0.3..0.8:0.1",
    "--vary",
    "alpha=0,0.5,1,inf",
    "-p",
    "pbs",
    "--duration",
    "20s",
];

fn scratch(name: &str) -> PathBuf {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("cluster-{name}"));
    let _ = std::fs::remove_dir_all(&directory);
    std::fs::create_dir_all(&directory).expect("a directory");
    directory
}

/// The script with the program under test and these variables, and none of this machine's scheduler.
fn shard(into: &Path, variables: &[(&str, &str)]) -> Command {
    let path = std::env::var("PATH").expect("a path");
    let program = Path::new(DIVVY).parent().expect("a program is in a directory");
    let mut command = Command::new("sh");
    command.arg("../examples/cluster/shard.sh").arg(into).args(SWEEP);
    command.env_clear().env("PATH", format!("{}:{path}", program.display()));
    command.envs(variables.iter().copied());
    command
}

fn succeeds(command: &mut Command) -> Output {
    let output = command.output().expect("it runs");
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    output
}

/// The bytes of the merged shards, and of the same sweep in one run.
fn merged_and_whole(directory: &Path, shards: usize) -> (Vec<u8>, Vec<u8>) {
    let [all, one] = ["all.csv", "one.csv"].map(|name| directory.join(name));
    let parts = (1..=shards).map(|n| directory.join(format!("{n}.csv")));
    succeeds(Command::new(DIVVY).args(["sweep", "--merge"]).args(parts).arg("-o").arg(&all));
    succeeds(Command::new(DIVVY).arg("sweep").args(SWEEP).arg("-q").arg("-o").arg(&one));
    (std::fs::read(all).expect("the merged file"), std::fs::read(one).expect("the whole file"))
}

#[test]
fn jobs_of_a_slurm_array_make_the_bytes_of_one_run_though_one_is_killed() {
    let directory = scratch("slurm");
    let job = |n: &str| {
        shard(
            &directory,
            &[
                ("SLURM_ARRAY_TASK_ID", n),
                ("SLURM_ARRAY_TASK_COUNT", "3"),
                ("SLURM_ARRAY_TASK_MIN", "1"),
                ("SLURM_ARRAY_TASK_MAX", "3"),
            ],
        )
    };
    // The script becomes divvy by exec, so the kill hits divvy.
    let mut killed = job("2").spawn().expect("it runs");
    let rows = || std::fs::read_to_string(directory.join("2.csv")).unwrap_or_default().lines().count();
    let patience = Instant::now() + Duration::from_secs(60);
    while rows() < 3 && Instant::now() < patience {
        std::thread::sleep(Duration::from_millis(1));
    }
    killed.kill().expect("it was alive");
    killed.wait().expect("it is a child");
    let before = rows();
    assert!((3..10).contains(&before), "{before} lines of 9 when it was killed");
    for n in ["1", "2", "3"] {
        succeeds(&mut job(n));
    }
    let (merged, whole) = merged_and_whole(&directory, 3);
    assert_eq!(merged, whole);
}

#[test]
fn the_jobs_of_the_manifest_make_the_bytes_of_one_run() {
    let manifest = std::fs::read_to_string("../examples/cluster/kubernetes.yaml").expect("the manifest");
    let number = |before: &str| {
        let (_, rest) =
            manifest.split_once(before).unwrap_or_else(|| panic!("no {before:?} in the manifest"));
        rest.trim_start_matches('"').chars().take_while(char::is_ascii_digit).collect::<String>()
    };
    assert_eq!(number("  completions: "), number("name: SHARDS, value: "));
    assert!(manifest.contains("command: [\"sh\", \"/sweep/shard.sh\", \"/results\"]"));
    let directory = scratch("kubernetes");
    for n in ["0", "1"] {
        succeeds(&mut shard(&directory, &[("JOB_COMPLETION_INDEX", n), ("SHARDS", "2")]));
    }
    let (merged, whole) = merged_and_whole(&directory, 2);
    assert_eq!(merged, whole);
}

#[test]
fn numbers_that_would_leave_points_out_are_refused() {
    let directory = scratch("refused");
    let slurm = |id, count, first, last| {
        vec![
            ("SLURM_ARRAY_TASK_ID", id),
            ("SLURM_ARRAY_TASK_COUNT", count),
            ("SLURM_ARRAY_TASK_MIN", first),
            ("SLURM_ARRAY_TASK_MAX", last),
        ]
    };
    for (variables, why) in [
        (vec![], "set SHARD"),
        (slurm("0", "40", "0", "39"), "from 1 without gaps"),
        (slurm("3", "2", "3", "17"), "from 1 without gaps"),
        (vec![("JOB_COMPLETION_INDEX", "0")], "set SHARDS"),
        (vec![("SHARD", "3/2")], "3/2"),
    ] {
        let output = shard(&directory, &variables).output().expect("it runs");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{variables:?}: {said}");
        assert!(said.contains(why), "{variables:?}: {said}");
    }
    // Two of forty parts, once more
    let mut some = slurm("17", "2", "3", "17");
    some.push(("SHARDS", "24"));
    succeeds(&mut shard(&directory, &some));
    assert!(directory.join("17.csv").exists());
}
