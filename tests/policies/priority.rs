//! priority: papers/priority.md.

use crate::jobs::{ends_nice, simulated};

#[test]
fn priority_r1_five_jobs() {
    let jobs = [((0, 10), 3), ((0, 1), 1), ((0, 2), 4), ((0, 1), 5), ((0, 5), 2)];
    assert_eq!(ends_nice("priority", &jobs), [16.0, 1.0, 18.0, 19.0, 6.0]);
    assert_eq!(ends_nice("priority:preemptive=off", &jobs), [16.0, 1.0, 18.0, 19.0, 6.0]);
}

#[test]
fn priority_r2_preempts_or_waits() {
    let jobs = [((0, 10), 5), ((2, 3), 0), ((3, 1), 5)];
    assert_eq!(ends_nice("priority", &jobs), [13.0, 5.0, 14.0]);
    assert_eq!(ends_nice("priority:preemptive=off", &jobs), [10.0, 13.0, 14.0]);
    // The extremes are told apart, and so are neighbours.
    assert_eq!(ends_nice("priority", &[((0, 4), 19), ((1, 1), 18), ((2, 1), -20)]), [6.0, 2.0, 3.0]);
    assert_eq!(ends_nice("priority", &[((0, 4), -19), ((1, 1), -20)]), [5.0, 2.0]);
}

/// 1 gives way to 3, and goes on before 2, of its priority. In turns of 1 ms 1 and 2 alternate.
#[test]
fn priority_r3_turns() {
    let jobs = [((0, 4), 0), ((1, 4), 0), ((2, 1), -5)];
    assert_eq!(ends_nice("priority", &jobs), [5.0, 9.0, 3.0]);
    let jobs = [((0, 3), 0), ((0, 3), 0), ((0, 1), 5)];
    assert_eq!(ends_nice("priority:turns=on", &jobs), [5.0, 6.0, 7.0]);
}

/// Two hogs, five priorities apart, for a second with a quantum of 4 ms: the lower one has risen to the other after 50 ms, and gets a turn then.
#[test]
fn priority_r4_aging() {
    let toml = "cpus = 1\nduration = \"1s\"\n\
                [[task]]\nname = \"high\"\nprogram = [ { run = \"forever\" } ]\n\
                [[task]]\nname = \"low\"\nnice = 5\nprogram = [ { run = \"forever\" } ]\n";
    let low = |spec: &str| simulated(spec, toml).tasks[1].service_ns;
    assert_eq!(low("priority"), 0);
    assert_eq!(low("priority:turns=on"), 0);
    // A turn of 4 ms in every 50 to 58 ms.
    let turns = low("priority:aging=10ms") / 4_000_000;
    assert!((17..=20).contains(&turns), "{turns} turns");
}

/// 1 has the CPU; 2 and 3 wait at nice 5, and then become nice 0, where 4 has waited since before 3 came.
#[test]
fn priority_r5_keeps_its_time() {
    use divvy_policy::{CpuId, Machine, MachineConfig, TaskId, Weight};

    let task = |id| TaskId::from_raw(id).expect("an id");
    let mut machine = Machine::new(&MachineConfig::new("priority", 1, 1_000_000)).expect("a machine");
    let come = |machine: &mut Machine, id, nice, now| {
        machine.add(task(id), task(id), Weight::from_nice(nice), now);
        machine.wake(task(id), true, now);
    };
    let cpu = CpuId::new(0);
    come(&mut machine, 1, 0, 0);
    let first = machine.dispatch(cpu, 0).expect("somebody waits").task;
    machine.running(first, 0);
    come(&mut machine, 2, 5, 10);
    come(&mut machine, 4, 0, 20);
    come(&mut machine, 3, 5, 30);
    machine.set_weight(task(3), Weight::from_nice(0), 40);
    machine.set_weight(task(2), Weight::from_nice(0), 50);
    let mut order = vec![first];
    for now in [100, 200, 300] {
        machine.block(*order.last().expect("it ran"), 100, true, now);
        let next = machine.dispatch(cpu, now).expect("somebody waits").task;
        machine.running(next, now);
        order.push(next);
    }
    assert_eq!(order, [1, 2, 4, 3].map(task));
}
