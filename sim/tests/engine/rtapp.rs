//! rt-app's own examples: each runs, or is refused for a reason that docs/reference/trace-formats.md lists.

use std::path::PathBuf;

use divvy_policy::spec;
use divvy_sim::run::{Options, simulate};
use divvy_workload::Workload;

const RUN: [&str; 22] = [
    "browser-long",
    "browser-short",
    "cpufreq_governor_efficiency/calibration",
    "cpufreq_governor_efficiency/dvfs",
    "custom-slice",
    "mp3-long",
    "mp3-short",
    "spreading-tasks",
    "template",
    "tutorial/example1",
    "tutorial/example2",
    "tutorial/example3",
    "tutorial/example4",
    "tutorial/example5",
    "tutorial/example6",
    "tutorial/example7",
    "tutorial/example8",
    "tutorial/example9",
    "tutorial/example10",
    "tutorial/example11",
    "video-long",
    "video-short",
];

const REFUSED: [(&str, &str); 6] = [
    ("merge/global", "there are no `tasks`"),
    ("merge/resources", "there are no `tasks`"),
    ("merge/thread0", "`lock_order` is of rt-app's first format"),
    ("merge/thread1", "`lock_order` is of rt-app's first format"),
    ("merge/thread2", "`lock_order` is of rt-app's first format"),
    ("merge/thread3", "`lock_order` is of rt-app's first format"),
];

#[test]
#[ignore = "needs rt-app's sources: DIVVY_RTAPP=.../doc/examples"]
fn rt_apps_examples_run_or_are_refused_for_a_reason() {
    let examples = std::env::var_os("DIVVY_RTAPP").map(PathBuf::from).expect("DIVVY_RTAPP names a directory");
    let load = |name: &str| Workload::load(&examples.join(format!("{name}.json")));
    let specs = spec::parse_list(&["rr".to_owned()], divvy_policy::all()).expect("a policy");
    for name in RUN {
        let (workload, _) = load(name).unwrap_or_else(|error| panic!("{error}"));
        let options = Options { duration_ns: Some(2_000_000_000), ..Options::default() };
        let report =
            simulate(&workload, &specs, &options, &()).unwrap_or_else(|error| panic!("{name}: {error}"));
        // A task that gets nothing within two seconds waits for what never comes.
        let idle = report.runs[0].tasks.iter().filter(|task| task.service_ns == 0).count();
        println!("{name}: {} tasks, {idle} without CPU time", report.runs[0].tasks.len());
        assert!(idle < report.runs[0].tasks.len(), "{name}");
    }
    for (name, reason) in REFUSED {
        let error = load(name).expect_err(name).to_string();
        assert!(error.contains(reason), "{error}");
    }
}
