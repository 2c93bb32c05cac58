//! Text that other tools print: trace-cmd, systrace, editors that add a byte order mark.

use divvy_trace::{Grade, ReadOptions, Recording, State, read_bytes};

fn import(text: &str) -> Recording {
    read_bytes(text.as_bytes(), "test", &ReadOptions::default()).expect("a readable trace")
}

const EVENTS: &str = "          <idle>-0     [001] d.h4.    10.000000: sched_waking:         comm=my app pid=7 prio=120 target_cpu=001
          <idle>-0     [001] d..2.    10.000010: sched_switch:         prev_comm=swapper/1 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=my app next_pid=7 next_prio=120
          my app-7     [001] d..2.    10.000030: sched_switch:         prev_comm=my app prev_pid=7 prev_prio=120 prev_state=S ==> next_comm=swapper/1 next_pid=0 next_prio=120
";

/// `trace-cmd report` begins with lines of its own. They are no damage.
#[test]
fn the_head_of_trace_cmd_is_no_damage() {
    for head in ["cpus=2\n", "version = 6\nCPU 0 is empty\ncpus=2\n", "\u{feff}# tracer: nop\n", "\u{feff}"] {
        let recording = import(&format!("{head}{EVENTS}"));
        assert_eq!((recording.quality.malformed, recording.quality.switches), (0, 2), "{head}");
        assert_eq!(recording.quality.grade(), Grade::A, "{head}: {:?}", recording.quality.findings());
    }
}

/// Events that it dropped are losses, counted or not.
#[test]
fn trace_cmd_counts_what_it_dropped() {
    let dropped = format!(
        "{EVENTS}CPU:1 [451 EVENTS DROPPED]\nCPU:1 [EVENTS DROPPED]\n{}",
        EVENTS.replace(" 10.", " 11.")
    );
    let quality = import(&dropped).quality;
    assert_eq!((quality.malformed, quality.lost_records, quality.lost_events), (0, 2, 451));
}

/// `trace-cmd report -R`: fields as they are, states as numbers.
#[test]
fn raw_fields() {
    let text = "version = 6
CPU 3 is empty
cpus=6
              ls-4734  [002] 106439.675591: sched_switch:          prev_comm=trace-cmd prev_pid=4734 prev_prio=120 prev_state=1024 next_comm=migration/2 next_pid=18 next_prio=0
     migration/2-18    [002] 106439.675613: sched_switch:          prev_comm=migration/2 prev_pid=18 prev_prio=0 prev_state=1 next_comm=ls next_pid=4734 next_prio=120
              ls-4734  [002] 106439.675700: sched_process_fork:    parent_comm=ls parent_pid=4734 child_comm=ls child_pid=4800
              ls-4734  [002] 106439.675800: sched_stat_runtime:    comm=ls pid=4734 runtime=187000 vruntime=12345
              ls-4734  [002] 106439.675900: sched_switch:          prev_comm=ls prev_pid=4734 prev_prio=120 prev_state=0x2 next_comm=swapper/2 next_pid=0 next_prio=120
";
    let recording = import(text);
    assert_eq!(
        (recording.quality.malformed, recording.quality.switches, recording.quality.events),
        (0, 3, 5)
    );
    let left: Vec<State> = recording.schedule().cpus[2].iter().map(|slice| slice.left).collect();
    assert_eq!(left, [State::Sleep, State::Disk]); // 1024 is `R+` of an old kernel
    assert!(recording.threads.iter().any(|thread| thread.tid == 4800));
}

/// Pages of systrace hold the kernel's text, in two ways.
#[test]
fn pages_of_systrace() {
    let long = "x".repeat(100_000);
    let modern = format!(
        "<!DOCTYPE html>\n<html>\n<script>{long}</script>\n<!-- BEGIN TRACE -->\n  <script class=\"trace-data\" type=\"application/text\">\n# tracer: nop\n#\n{EVENTS}  </script>\n<!-- END TRACE -->\n</body>\n</html>\n"
    );
    let legacy = format!(
        "<!DOCTYPE HTML>\n<html>\n<script>\n  var linuxPerfData = \"\\\n# tracer: nop\\n\\\n{}\\n\";\n  </script>\n</html>\n",
        EVENTS.replace('\n', "\\n\\\n")
    );
    for page in [modern, legacy] {
        let recording = import(&page);
        assert_eq!((recording.quality.malformed, recording.quality.switches), (0, 2), "{page:.300}");
        assert_eq!(recording.quality.grade(), Grade::A, "{:?}", recording.quality.findings());
        assert_eq!(recording.threads[0].name, "my app");
    }
}

/// A clock that counts: the times are ticks, and the grade says so.
#[test]
fn clocks_that_count() {
    let ticks = EVENTS
        .replace("10.000000:", "123456:")
        .replace("10.000010:", "133456:")
        .replace("10.000030:", "153456:");
    let recording = import(&ticks);
    assert_eq!((recording.quality.malformed, recording.quality.switches, recording.span_ns), (0, 2, 30_000));
    assert_eq!(recording.quality.grade(), Grade::C);
    assert!(recording.quality.findings()[0].text.contains("ticks"), "{:?}", recording.quality.findings());
}

/// Old kernels of Android say in which state a thread was woken.
#[test]
fn wake_ups_with_a_state() {
    let text = EVENTS.replace("target_cpu=001\n", "success=1 target_cpu=001 state=W|m\n");
    assert_ne!(text, EVENTS);
    let quality = import(&text).quality;
    assert_eq!((quality.malformed, quality.wakes, quality.grade()), (0, 1, Grade::A));
}
