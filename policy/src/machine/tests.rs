//! The machine by itself: picks worked out by hand, and calls that are refused.

use super::*;

const MS: u64 = 1_000_000;

fn machine_of(policy: &str, cpus: u32) -> Result<Machine, MachineError> {
    Machine::new(&MachineConfig::new(policy, cpus, MS))
}

#[test]
fn turns_in_c_are_those_one_by_one() {
    for policy in crate::all().iter().filter(|p| p.kind == crate::Kind::Selection) {
        let weights = [5, 2, 1, 7, 7];
        let mut machine = machine_of(policy.name, 1).unwrap();
        for (id, w) in TaskId::all().zip(weights) {
            machine.add(id, id, w * Weight::ONE, 0);
            machine.wake(id, true, 0);
        }
        let mut ran = vec![None; 60];
        let now = machine.turns(0, &mut ran[..20]);
        assert_eq!(machine.turns(now, &mut ran[20..]), 60 * MS);
        assert_eq!(ran, schedule(policy.name, &weights, 60), "{}", policy.name);
    }
}

/// A decision in one call is the decision in several, with the CPUs that are asked: tasks block, wake, and run on; CPUs are idle.
#[test]
fn a_turn_is_the_calls_one_by_one() {
    const TASKS: u64 = 8;
    let mut state = 11_u64;
    let mut random = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    for policy in crate::all().iter().filter(|p| p.kind == crate::Kind::Selection) {
        let mut machines = [0, 1].map(|_| machine_of(policy.name, 3).unwrap());
        let weights: Vec<Weight> = (0..TASKS).map(|_| (1 + random(9)) * Weight::ONE).collect();
        for machine in &mut machines {
            for (id, &weight) in TaskId::all().zip(&weights) {
                machine.add(id, id, weight, 0);
            }
        }
        let (mut on, mut now, mut sleeps) = ([None::<(TaskId, u64)>; 3], 0, vec![true; weights.len()]);
        let mut is_new = sleeps.clone();
        for _ in 0..400 {
            now += random(2 * MS);
            let sleeper = random(2 * TASKS) as usize;
            if sleeps.get(sleeper) == Some(&true) {
                let asked = machines
                    .each_mut()
                    .map(|machine| machine.wake(TaskId::at(sleeper + 1), is_new[sleeper], now));
                assert_eq!(asked[0], asked[1], "{}", policy.name);
                (sleeps[sleeper], is_new[sleeper]) = (false, false);
            }
            let at = random(3) as usize;
            let (cpu, mut former) = (CpuId::at(at), on[at].take());
            if let Some((task, since)) = former.filter(|_| random(4) == 0) {
                machines.iter_mut().for_each(|machine| machine.block(task, now - since, false, now));
                (sleeps[task.index() - 1], former) = (true, None);
            }
            let (task, ran) = (former.map(|(task, _)| task), former.map_or(0, |(_, since)| now - since));
            let Turn { decision, asked } =
                machines[0].turn(cpu, task, ran, now).expect("no group has a limit");
            let [_, other] = &mut machines;
            let chosen = other.dispatch(cpu, now);
            let comes = chosen.map(|decision| decision.task).filter(|&chosen| task != Some(chosen));
            let leaves = task.filter(|&task| chosen.is_none_or(|decision| decision.task != task));
            let also = leaves.and_then(|task| other.requeue(task, ran, now));
            comes.into_iter().for_each(|task| other.running(task, now));
            assert_eq!((decision, asked), (chosen, also), "{}", policy.name);
            on[at] = decision.map(|decision| (decision.task, if comes.is_some() { now } else { now - ran }));
        }
        assert_eq!(machines.each_ref().map(Machine::faults), [0, 0], "{}", policy.name);
    }
}

/// The policy alone decides as it does in the machine: each selection, with modifiers and parameters, and numbers of tasks and weights of
/// which some are too great.
#[test]
fn turns_of_the_policy_alone_are_the_machines() {
    let names = crate::all().iter().filter(|p| p.kind == crate::Kind::Selection).map(|p| p.name.to_owned());
    let more = [
        "sfq+groups",
        "gr3+procfair",
        "sfs+feasible",
        "rr+flow",
        "pbs:alpha=2:gamma=1",
        "pbs:alpha=-0",
        "eevdf:parity=off",
        "wrr:unit=1",
    ];
    let mut state = 7_u64;
    let mut random = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    for name in names.chain(more.map(str::to_owned)) {
        for (cpus, tasks) in [(1, 1), (1, 2), (1, 7), (1, 40), (1, 300), (2, 7)] {
            let spec = crate::spec::parse(&name, crate::all()).unwrap().seeded(random(1 << 30));
            let weights: Vec<u64> =
                (0..tasks).map(|_| (random(16), random(1 << 16))).map(|(bits, w)| 1 + (w >> bits)).collect();
            let clients = || TaskId::all().zip(weights.iter().map(|&w| w * Weight::ONE));
            let mut whole = Machine::with_runnable(&spec, cpus, MS, clients()).unwrap();
            let mut alone = Turns::new(&spec, cpus, MS, clients()).unwrap();
            let (mut ran, mut ran_alone) = (vec![None; 3000], vec![None; 3000]);
            whole.turns(0, &mut ran);
            ran_alone.chunks_mut(600).for_each(|part| alone.next(part));
            assert!(ran == ran_alone, "{name} on {cpus} CPUs: {weights:?}");
            assert_eq!(alone.faults(), 0, "{name}");
        }
    }
}

/// The first `n` picks on one CPU with all tasks runnable from 0 and full quanta.
fn schedule(policy: &str, weights: &[u64], n: usize) -> Vec<Option<TaskId>> {
    let mut machine = machine_of(policy, 1).unwrap();
    for (id, w) in TaskId::all().zip(weights) {
        machine.add(id, id, w * Weight::ONE, 0);
        machine.wake(id, true, 0);
    }
    let (mut now, mut on, mut since) = (0, None, 0);
    (0..n)
        .map(|_| {
            let chosen = machine.dispatch(CpuId::new(0), now).unwrap().task;
            if on != Some(chosen) {
                if let Some(on) = on {
                    machine.requeue(on, now - since, now);
                }
                machine.running(chosen, now);
                since = now;
            }
            on = Some(chosen);
            now += MS;
            on
        })
        .collect()
}

fn numbers(ran: Vec<Option<TaskId>>) -> Vec<u32> {
    ran.into_iter().map(|task| task.map_or(0, TaskId::get)).collect()
}

#[test]
fn rr_r1_r2_takes_turns() {
    assert_eq!(numbers(schedule("rr", &[1, 1, 1], 7)), [1, 2, 3, 1, 2, 3, 1]);
}

#[test]
fn fcfs_r1_runs_the_first_on() {
    assert_eq!(numbers(schedule("fcfs", &[1, 9], 3)), [1, 1, 1]);
}

/// Start tags k/w: 0 0 | 1/3 .. of weights 3 and 1, ties to the one that waited longer.
#[test]
fn sfq_r2_r4_takes_the_least_start_tag() {
    assert_eq!(numbers(schedule("sfq", &[3, 1], 9)), [1, 2, 1, 1, 2, 1, 1, 1, 2]);
}

/// CPU 1 is woken for task 1 and runs task 2, which may run nowhere else: CPU 2 must be asked for task 1.
#[test]
fn a_cpu_that_runs_another_task_than_it_was_woken_for_passes_it_on() {
    let mut machine = machine_of("sfq", 3).unwrap();
    TaskId::all().take(3).for_each(|id| machine.add(id, id, Weight::ONE, 0));
    machine.set_allowed(TaskId::new(2), &CpuMask::from_iter([CpuId::new(1)]), 0);
    assert_eq!(machine.wake(TaskId::new(3), true, 0), Some(CpuId::new(0)));
    assert_eq!(machine.dispatch(CpuId::new(0), 0).unwrap().task, 3);
    machine.running(TaskId::new(3), 0);
    assert_eq!(machine.wake(TaskId::new(1), true, 0), Some(CpuId::new(1)));
    assert_eq!(machine.dispatch(CpuId::new(1), 0).unwrap().task, 1);
    machine.running(TaskId::new(1), 0);
    machine.block(TaskId::new(1), MS, false, MS);
    assert!(machine.dispatch(CpuId::new(1), MS).is_none());

    assert_eq!(machine.wake(TaskId::new(1), false, MS), Some(CpuId::new(1)));
    assert_eq!(machine.wake(TaskId::new(2), true, MS), None, "CPU 1 is asked already");
    let decision = machine.dispatch(CpuId::new(1), MS).unwrap();
    assert_eq!((decision.task, decision.asked), (TaskId::new(2), Some(CpuId::new(2))));
    let decision = machine.dispatch(CpuId::new(2), MS).unwrap();
    assert_eq!((decision.task, decision.asked), (TaskId::new(1), None));
}

#[test]
fn a_task_that_was_taken_back_before_it_ran_is_not_given_again() {
    let mut machine = machine_of("rr", 1).unwrap();
    TaskId::all().take(2).for_each(|id| machine.add(id, id, Weight::ONE, 0));
    for id in TaskId::all().take(2) {
        machine.wake(id, true, 0);
    }
    assert_eq!(machine.dispatch(CpuId::new(0), 0).unwrap().task, 1);
    machine.tell(&Event::Dequeue { task: TaskId::new(1) }, 0);
    assert_eq!(machine.dispatch(CpuId::new(0), 0).unwrap().task, 2);
    machine.running(TaskId::new(2), 0);
    machine.tell(&Event::Dequeue { task: TaskId::new(2) }, 0);
    assert_eq!(machine.dispatch(CpuId::new(0), MS).unwrap().task, 2, "it runs");
    machine.tell(&Event::Enqueue { task: TaskId::new(1) }, MS);
    assert_eq!(machine.dispatch(CpuId::new(0), 2 * MS).unwrap().task, 1);
}

#[test]
fn unknown_names_are_errors() {
    let error = |config: MachineConfig| Machine::new(&config).err();
    let rr = || MachineConfig::new("rr", 1, MS);
    assert_eq!(
        error(MachineConfig::new("nope", 1, MS)),
        Some(MachineError::UnknownPolicy("nope".to_owned()))
    );
    assert_eq!(error(rr().with_modifiers(&["nope"])), Some(MachineError::UnknownModifier("nope".to_owned())));
    let no_param = MachineError::ParamIndex { owner: "rr".to_owned(), count: 0 };
    assert_eq!(error(rr().with_param("rr", 0, 1)), Some(no_param));
    assert_eq!(error(rr().with_param("nope", 0, 1)), Some(MachineError::UnknownOwner("nope".to_owned())));
    assert_eq!(error(MachineConfig::new("rr", 4097, MS)), Some(MachineError::Cpus(4097)));
}
