//! Another policy is put in place of a loaded one, which runs a command and keeps a log meanwhile.

use crate::machine::several;

#[test]
#[ignore = "needs the test VM: make test-vm"]
fn another_policy_takes_the_place_of_a_loaded_one() {
    let script = "cat >/tmp/hog <<'EOF'\nwhile :; do :; done\nEOF\nsh /tmp/hog & sh /tmp/hog &\n\
                  divvy load rr -q --log /tmp/log --exec sh -c 'python3 kernel/tests/vm/replacement.py >/tmp/said 2>&1' >/tmp/statistics\n\
                  code=$?; cat /tmp/said; echo '== code'; echo $code\n\
                  echo '== state'; cat /sys/kernel/sched_ext/state\n\
                  echo '== logs'; for log in /tmp/log /tmp/log.2 /tmp/log.3; do divvy verify $log >/dev/null 2>&1; echo $?; done\n";
    let said = several(2, script, 600);
    let groups = "divvy_gr3_groups";
    assert_eq!(said.part("replaced"), format!("replaced \n{groups}"), "{said}");
    assert_eq!(said.part("words"), format!("bad \nbad \nbad \nbad \n{groups}"), "{said}");
    for part in ["another version", "another group"] {
        assert_eq!(said.part(part), format!("bad \n{groups}"), "{part}: {said}");
    }
    assert_eq!(said.part("not loadable"), format!("not_replaced 2\nnot_replaced 2\n{groups}"), "{said}");
    assert_eq!(said.part("files"), format!("not_replaced 4\nnot_replaced 4\n{groups}"), "{said}");
    // The one that came first is loaded.
    assert_eq!(said.part("two at once"), "not_replaced 1\nreplaced \ndivvy_rr", "{said}");
    assert_eq!(said.part("gone"), "replaced \ndivvy_stride", "{said}");
    assert_eq!(said.part("taken back"), "withdrawn \ndivvy_stride", "{said}");
    assert_eq!(said.part("next"), "replaced \ndivvy_stride", "{said}");
    assert_eq!(said.part("after many"), "replaced \ndivvy_rr", "{said}");
    assert_eq!(said.part("verifying"), "2", "{said}");
    assert_eq!(said.part("hotplug"), "replaced \ndivvy_sfq_procfair", "{said}");
    assert_eq!(said.part("user"), "denied", "{said}");
    // The command and the log have gone on.
    assert_eq!(said.part("code"), "7", "{said}");
    assert_eq!(said.part("state"), "disabled", "{said}");
    assert_eq!(said.part("logs"), "0\n0\n0", "{said}");
    said.assert_calm();
}
