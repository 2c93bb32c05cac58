//! `divvy top` by its output: it shows what a loaded scheduler did.

use serde_json::Value;

use crate::machine::{Said, repeatable};

/// A script: two threads that always want the CPU start before a scheduler is loaded. `$loader` is the loader's process.
const BEGIN: &str = "\
    export DIVVY_SOCKET=/tmp/divvy.sock; mkdir -p /tmp /etc; echo 'boss:x:0:0::/:' >/etc/passwd\n\
    sh -c 'while :; do :; done' & heavy=$!\n\
    sh -c 'while :; do :; done' & light=$!\n\
    divvy load gr3 --quantum 2ms --quiet >/tmp/out 2>&1 & loader=$!\n\
    until [ -S $DIVVY_SOCKET ]; do sleep 0.1; done\n\
    divvy set $heavy weight=3072 >/dev/null\n\
    echo '== pids'; echo $heavy $light\n";

fn row<'a>(interval: &'a Value, pid: &str) -> &'a Value {
    let rows = interval["rows"].as_array().expect("rows");
    let number: u32 = pid.parse().expect("a pid");
    rows.iter().find(|row| row["pid"] == number).unwrap_or_else(|| panic!("no {pid}: {interval}"))
}

fn number(row: &Value, name: &str) -> f64 {
    row[name].as_f64().unwrap_or_else(|| panic!("no {name}: {row}"))
}

/// Asserts that these two received the service that their weights entitle them to, within a hundredth of the machine.
fn assert_shares(said: &Said, part: &str, weights: [f64; 2]) {
    let interval = said.json(part);
    let pids: Vec<&str> = said.part("pids").split(' ').collect();
    let rows = [row(&interval, pids[0]), row(&interval, pids[1])];
    let sum: f64 = rows.iter().map(|row| number(row, "received_share")).sum();
    assert!(sum > 0.9, "of one CPU they received {sum}: {said}");
    for (row, weight) in rows.iter().zip(weights) {
        assert_eq!(number(row, "weight"), weight, "{said}");
        let expected = sum * weight / (weights[0] + weights[1]);
        for share in [number(row, "received_share"), number(row, "entitled_share")] {
            assert!((share - expected).abs() < 0.015, "{part}: {share} of {expected}: {row}");
        }
        assert_eq!((&row["user"], &row["name"]), (&"boss".into(), &"sh".into()), "{said}");
        assert!(number(row, "waits") > 10.0 && number(row, "waited_ns") > 0.0, "{row}");
    }
    // Each waits while the other has the CPU, or another thread that wants it.
    let idle = number(&interval, "duration_ns") * number(rows[0], "received_share");
    let waited = number(rows[1], "waited_ns");
    assert!((waited / idle - 1.0).abs() < 0.1, "{part}: waited {waited} ns of {idle}: {said}");
}

#[test]
#[ignore = "needs the test VM: make test-vm"]
fn shares_weights_and_metrics_are_seen_from_outside() {
    let script = [
        BEGIN,
        "echo '== first'; divvy top --once --interval 2s --format json\n\
         divvy set $heavy weight=1024 >/dev/null\n\
         echo '== second'; divvy top --once --interval 2s --format json\n\
         echo '== users'; divvy top --once --by user --format json\n\
         ifconfig lo up 2>/dev/null || ip link set lo up\n\
         divvy top --metrics 127.0.0.1:9123 2>/dev/null & exporter=$!\n\
         sleep 1; echo '== metrics'; wget -q -O - http://127.0.0.1:9123/metrics\n\
         divvy top --interval 1s --format csv >/tmp/csv 2>/tmp/said & top=$!\n\
         sleep 4; kill -INT $loader; wait $loader; wait $top; code=$?\n\
         echo '== end'; echo $code; cat /tmp/said\n\
         echo '== csv'; wc -l </tmp/csv\n\
         echo '== down'; wget -q -O - http://127.0.0.1:9123/metrics\n\
         renice -n 5 $light >/dev/null; echo '== own'; divvy top --once --interval 2s --format json\n\
         kill $exporter $heavy $light\n\
         echo '== state'; cat /sys/kernel/sched_ext/state\n",
    ];
    let said = repeatable(&script.concat(), &[], 900);
    assert_eq!(said.code, 0, "{said}");
    assert_shares(&said, "first", [3072.0, 1024.0]);
    assert_shares(&said, "second", [1024.0, 1024.0]);
    let users = said.json("users");
    assert_eq!((&users["by"], &users["rows"][0]["name"]), (&"user".into(), &"boss".into()), "{said}");
    assert!(number(&users["rows"][0], "threads") > 2.0, "{said}");

    let metrics = said.part("metrics");
    let heavy = said.part("pids").split(' ').next().expect("a pid");
    let received =
        format!("divvy_received_seconds_total{{pid=\"{heavy}\",tgid=\"{heavy}\",comm=\"sh\",user=\"boss\"");
    assert!(metrics.contains(&received) && metrics.contains("divvy_up 1\n"), "{said}");
    assert!(said.part("down").ends_with("divvy_up 0"), "{said}");

    assert!(said.part("end").starts_with("5\nerror: the scheduler was unloaded"), "{said}");
    assert!(said.part("csv").parse::<u32>().expect("lines") > 4, "{said}");
    // Linux's own scheduler, by /proc: nice 0 and nice 5.
    assert_eq!(said.json("own")["policy"], "linux", "{said}");
    assert_shares(&said, "own", [1024.0, 335.0]);
    assert_eq!(said.part("state"), "disabled");
    said.assert_calm();
}

/// A task that has a CPU alone rarely changes its state, and neither does a task that never gets a CPU. The command must show
/// their received and entitled service nevertheless. The shell is real-time, because it would wait with them otherwise.
#[test]
#[ignore = "needs the test VM: make test-vm"]
fn who_runs_on_and_who_waits_on_are_seen_as_well() {
    let script = BEGIN
        .replace("divvy load gr3", "chrt -f -p 10 $$ >/dev/null || exit 1\ndivvy load fcfs")
        .replace("divvy set $heavy weight=3072 >/dev/null\n", "")
        + "echo '== first'; divvy top --once --interval 2s --format json\n\
           kill -INT $loader; wait $loader; kill $heavy $light\n";
    let said = repeatable(&script, &[("/usr/bin/chrt".into(), "/bin/chrt")], 900);
    assert_eq!(said.code, 0, "{said}");
    let interval = said.json("first");
    let rows: Vec<&Value> = said.part("pids").split(' ').map(|pid| row(&interval, pid)).collect();
    let most = rows.iter().map(|row| number(row, "received_share")).fold(0.0, f64::max);
    assert!(most > 0.8, "first come first served: {said}");
    for row in rows {
        assert!(number(row, "entitled_share") > 0.3, "half, less what others wanted: {said}");
    }
    said.assert_calm();
}
