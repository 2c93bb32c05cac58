//! A slice that is over without a dispatch, because something that the machine does not schedule comes first.

use divvy_policy::{CpuId, Event, Machine, TaskId, Weight};

const ONE: TaskId = TaskId::new(1);
const CPU: CpuId = CpuId::new(0);
const MS: u64 = 1_000_000;

/// Tasks 1 and 2 on one CPU with a quantum of 100 ms. Task 1 executes a program that is expected to run for 125 ms; it has run for this
/// long, and is off its CPU.
fn stopped_after(spec: &str, ran_ms: u64, yields: bool) -> Machine {
    let spec = divvy_policy::spec::parse(spec, divvy_policy::all()).unwrap();
    let mut machine = Machine::from_spec(&spec, 1, 100 * MS).unwrap();
    machine.tell(&Event::Learn { program: 7, at: 0, run_ns: 125 * MS, wait_ns: 0 }, 0);
    for task in [ONE, TaskId::new(2)] {
        machine.tell(&Event::New { task, process: task, weight: Weight::NICE_0 }, 0);
        machine.tell(&Event::SetProgram { task, program: 7 * u64::from(task == ONE) }, 0);
        machine.tell(&Event::Runnable { task, is_new: true }, 0);
        machine.tell(&Event::Enqueue { task }, 0);
    }
    assert_eq!(machine.tell(&Event::Dispatch { cpu: CPU }, 0).task, Some(ONE));
    machine.tell(&Event::Running { task: ONE }, 0);
    if yields {
        machine.tell(&Event::Yield { cpu: CPU }, ran_ms * MS);
    }
    machine.tell(&Event::Stopping { task: ONE, ran_ns: ran_ms * MS }, ran_ms * MS);
    machine
}

fn expire(machine: &mut Machine, now_ms: u64) -> u64 {
    machine.tell(&Event::Expire { task: ONE }, now_ms * MS).slice_ns / MS
}

/// The task that the CPU runs once task 1 is enqueued again
fn next(machine: &mut Machine, now_ms: u64) -> u32 {
    machine.tell(&Event::Enqueue { task: ONE }, now_ms * MS);
    machine.tell(&Event::Dispatch { cpu: CPU }, now_ms * MS).task.expect("two tasks wait").get()
}

/// A kernel thread woke at the tick at which the slice was over: the CPU runs it without a dispatch. flow delays all the same, once.
#[test]
fn flow_r3_r6_a_slice_that_is_over_without_a_dispatch_goes_on() {
    let mut machine = stopped_after("rr+flow:Tm=40ms", 100, false);
    assert_eq!(expire(&mut machine, 100), 40);
    machine.tell(&Event::Running { task: ONE }, 101 * MS);
    machine.tell(&Event::Stopping { task: ONE, ran_ns: 20 * MS }, 121 * MS);
    assert_eq!(expire(&mut machine, 121), 0, "one delay in a turn");
    assert_eq!(next(&mut machine, 121), 2);

    let far = stopped_after("rr+flow:Tm=20ms", 100, false);
    let without = stopped_after("rr", 100, false);
    let yields = stopped_after("rr+flow:Tm=40ms", 100, true);
    for mut machine in [far, without, yields] {
        assert_eq!(expire(&mut machine, 100), 0);
        assert_eq!(next(&mut machine, 100), 2);
    }
}

/// The policy hears why: a task whose turn is over is last, and one that was preempted keeps its place. One that yields is behind others.
#[test]
fn a_slice_that_is_over_without_a_dispatch_has_expired_or_was_yielded() {
    let mut expired = stopped_after("priority:turns=1", 100, false);
    assert_eq!(expire(&mut expired, 100), 0);
    assert_eq!(next(&mut expired, 100), 2);
    let mut interrupted = stopped_after("priority:turns=1", 50, false);
    assert_eq!(next(&mut interrupted, 50), 1, "a real-time task took the CPU");

    let mut yielded = stopped_after("mlfq", 1, true);
    assert_eq!(expire(&mut yielded, 1), 0);
    assert_eq!(next(&mut yielded, 1), 2);
}
