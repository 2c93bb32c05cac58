//! Half a minute of forks, exits, sleeps, changes of affinity, class and nice values on two CPUs.

use crate::machine::{several, workload};

#[test]
#[ignore = "needs the test VM: make test-vm"]
fn a_storm_loses_no_task_and_stalls_nobody() {
    let storm = workload("storm.sh");
    let script: String = ["gr3+feasible", "sfq+procfair", "eevdf"]
        .iter()
        .map(|spec| {
            format!(
                "divvy load '{spec}' --max-tasks 4000 --format json --interval 60s --log /tmp/log --exec bash {} 10 >/tmp/stats || exit 1\n\
                 echo '== {spec}'; tail -n 1 /tmp/stats\n\
                 echo '== log {spec}'; divvy verify /tmp/log --format json\n\
                 echo '== state {spec}'; cat /sys/kernel/sched_ext/state\n",
                storm.display()
            )
        })
        .collect();
    let said = several(2, &script, 1500);
    assert_eq!(said.code, 0, "{said}");
    said.assert_calm();
    for spec in ["gr3+feasible", "sfq+procfair", "eevdf"] {
        assert_eq!(said.part(&format!("state {spec}")), "disabled");
        assert_eq!(said.json(&format!("log {spec}"))["verdict"], "ok", "{spec}: {said}");
        let stats = &said.json(spec)["interval"]["counts"];
        for what in ["faults", "missing", "without_id", "fallbacks"] {
            assert_eq!(stats[what], 0, "{spec}: {what}: {stats}");
        }
        assert!(stats["decisions"].as_u64().unwrap() > 5_000, "{spec}: {stats}");
    }
}
