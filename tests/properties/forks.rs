//! A task that forks gains nothing by it, and loses nothing (policy/machine/family.h).

use divvy_policy::{CpuId, Event, Machine, MachineConfig, TaskId, Weight};
use divvy_tests::example::{MS, S, run};
use divvy_tests::lockstep::{Lockstep, QUANTUM_NS};

/// Policies in which the part of a task is its weight's, with modifiers that reach other code.
const FAIR: &[&str] = &[
    "sfq",
    "sfs",
    "bvt",
    "vtrr",
    "stride",
    "eevdf",
    "cfs",
    "gr3",
    "qfq",
    "srr",
    "strr",
    "wfq",
    "wf2q",
    "wf2qplus",
    "sfq+procfair",
    "sfq+groups",
    "sfq+groups+procfair",
    "sfs+procfair",
    "bvt+groups",
];
/// Those that look at the debit: without it a child begins where nobody owes anything.
const OWING: &[&str] = &[
    "sfq",
    "sfs",
    "bvt",
    "vtrr",
    "sfq+procfair",
    "sfq+groups",
    "sfq+groups+procfair",
    "sfs+procfair",
    "bvt+groups",
];

const QUANTUM: u64 = 4 * MS;

/// Tasks of one nice value that always run, so many for each CPU.
#[derive(Clone, Copy)]
struct Hogs {
    for_each_cpu: u64,
    nice: i64,
    weight: u64,
}

const TEN: Hogs = Hogs { for_each_cpu: 10, nice: 0, weight: 1024 };
/// One slice of these is a small part of what is due to the others, so a debit and a credit have their full effect.
const HEAVY: Hogs = Hogs { for_each_cpu: 1, nice: -10, weight: 9548 };

impl Hogs {
    /// They and other tasks, for 3 s.
    fn beside(self, cpus: u64, tasks: &str) -> String {
        let Self { for_each_cpu, nice, .. } = self;
        let hogs = for_each_cpu * cpus;
        format!(
            "cpus = {cpus}\nduration = \"3s\"\nquantum = \"4ms\"\n\
             [[task]]\nname = \"hog\"\ncount = {hogs}\nnice = {nice}\nprogram = [ {{ run = \"forever\" }} ]\n{tasks}"
        )
    }

    /// Service of tasks that always run and weigh so much together.
    fn part(self, cpus: u64, weight: u64) -> u64 {
        3 * S * cpus * weight / (cpus * self.for_each_cpu * self.weight + weight)
    }
}

fn beside_hogs(cpus: u64, tasks: &str) -> String {
    TEN.beside(cpus, tasks)
}

/// Each link of a chain forks the next one, and ends.
fn chain(nice: i64, program: &str) -> String {
    format!(
        "[[task]]\nname = \"first\"\nnice = {nice}\nprogram = [ {{ fork = \"link\" }} ]\n\
         [[task]]\nname = \"link\"\nstart = \"fork\"\nlimit = 4000\nnice = {nice}\nprogram = [ {program} ]\n"
    )
}

/// A shell forks commands, one after the other, and waits for each.
fn shell(number: u64, nice: i64, work: &str) -> String {
    shell_of(number, nice, &format!("{{ run = \"{work}\" }}"))
}

fn shell_of(number: u64, nice: i64, job: &str) -> String {
    format!(
        "[[task]]\nname = \"shell{number}\"\nnice = {nice}\n\
         program = [ {{ loop = \"forever\", do = [ \
           {{ run = \"10us\" }}, {{ fork = \"job{number}\" }}, {{ wait = true }} ] }} ]\n\
         [[task]]\nname = \"job{number}\"\nstart = \"fork\"\nnice = {nice}\n\
         program = [ {job}, {{ wake = \"shell{number}\" }} ]\n"
    )
}

/// Two tasks of nice 19 (weight 15), which is how many of a chain live at a time, beside ten of nice 0 for each CPU; and a
/// quantum for one of them, and one more for each CPU, on which a task may be served before its time.
fn part_of_two(cpus: u64) -> u64 {
    TEN.part(cpus, 30) + (cpus + 1) * QUANTUM
}

/// Each generation forks at the end of its work. The links' work was 98.7 % of the CPU under sfq, sfs, bvt and vtrr.
#[test]
fn sfq_r5_bvt_r6_sfs_r10_vtrr_r6_a_chain_of_forks_gets_no_more_than_its_part() {
    for cpus in [1, 2, 4] {
        let text =
            beside_hogs(cpus, &chain(19, "{ run = \"3850us\" }, { fork = \"link\" }, { run = \"50us\" }"));
        for spec in FAIR {
            let got = run(&text, spec).service_of_all("link");
            assert!((1..=part_of_two(cpus)).contains(&got), "{spec} on {cpus} CPUs: {got} ns");
        }
    }
}

/// As published, a new thread begins where virtual time is, whoever made it. Under sfq and bvt each link of the same chain then waits
/// for a slice of each of the hogs, as an eleventh of them would. Under sfs and vtrr it goes first, and the chain has the CPU.
#[test]
fn sfq_d3_sfs_d6_bvt_d4_vtrr_d5_as_published_a_child_owes_nothing() {
    let text = beside_hogs(1, &chain(19, "{ run = \"3850us\" }, { fork = \"link\" }, { run = \"50us\" }"));
    let got = |spec: &str| run(&text, spec).service_of_all("link");
    for spec in ["sfq:debit=off", "bvt:debit=off"] {
        let got = got(spec);
        assert!(got.abs_diff(3 * S / 11) <= 2 * QUANTUM, "{spec}: {got} ns");
    }
    for spec in ["sfs:debit=off", "vtrr:debit=off"] {
        let got = got(spec);
        assert!(got * 100 >= 3 * S * 95, "{spec}: {got} ns");
    }
}

/// Each generation forks before its work, so that it owes nothing yet when the next one is made.
#[test]
fn a_chain_that_forks_first_gets_no_more_than_its_part() {
    for cpus in [1, 2] {
        let text =
            beside_hogs(cpus, &chain(19, "{ run = \"10us\" }, { fork = \"link\" }, { run = \"3900us\" }"));
        for spec in OWING {
            let got = run(&text, spec).service_of_all("link");
            assert!((1..=part_of_two(cpus)).contains(&got), "{spec} on {cpus} CPUs: {got} ns");
        }
    }
}

/// The commands of a shell: less than a quantum, most of one, some; before a sleep or after it.
const JOBS: &[&str] = &[
    "{ run = \"1ms\" }",
    "{ run = \"3900us\" }",
    "{ run = \"21ms\" }",
    "{ run = \"3900us\" }, { sleep = \"1us\" }, { run = \"10us\" }",
    "{ run = \"3900us\" }, { sleep = \"60ms\" }, { run = \"10us\" }",
    "{ run = \"10us\" }, { sleep = \"60ms\" }, { run = \"3900us\" }",
    "{ run = \"1ms\" }, { sleep = \"2ms\" }, { run = \"1ms\" }",
];

/// Calls `look` with each policy that owes, on 1 to 4 CPUs, beside many hogs or heavy ones, for each of these jobs: a name of
/// the case, the hogs, the number of CPUs, how many jobs there were, and what they and their shell received.
fn of_children_in_a_row(
    nice: i64,
    jobs: &[&str],
    others: &str,
    look: impl Fn(&str, &str, Hogs, u64, u64, u64),
) {
    for cpus in [1, 2, 4] {
        for hogs in [TEN, HEAVY] {
            for job in jobs {
                let text = hogs.beside(cpus, &(shell_of(1, nice, job) + others));
                for &spec in OWING {
                    let example = run(&text, spec);
                    let count = example
                        .0
                        .run
                        .tasks
                        .iter()
                        .filter(|task| task.name.starts_with("job"))
                        .map(|task| task.jobs)
                        .sum();
                    let got = example.service_of_all("job") + example.service_of_all("shell");
                    let case = format!("{spec}, {job}, {cpus} CPUs, hogs of nice {}: {got} ns", hogs.nice);
                    look(&case, spec, hogs, cpus, count, got);
                }
            }
        }
    }
}

/// The forker lives, uses almost nothing itself, and its children exit before their part is due. Under sfs with two heavy hogs
/// on two CPUs, those of nice 19 had half of a CPU.
#[test]
fn children_in_a_row_get_no_more_than_their_part() {
    of_children_in_a_row(19, JOBS, "", |case, _, hogs, cpus, _, got| {
        let most = hogs.part(cpus, 30) + (cpus + 1) * QUANTUM;
        assert!((1..=most).contains(&got), "{case}, at most {most}");
    });
}

/// They have nice 0, so that many of them end. vtrr counts quanta and not time: less than half of one is not owed (vtrr R6).
#[test]
fn many_children_in_a_row_get_no_more_than_their_part() {
    of_children_in_a_row(0, JOBS, "", |case, spec, hogs, cpus, count, got| {
        let rounded = if spec == "vtrr" { count * QUANTUM / 2 } else { 0 };
        let most = (hogs.part(cpus, 1024) + (cpus + 1) * QUANTUM + rounded).min(3 * S * cpus);
        assert!((1..=most).contains(&got), "{case}, at most {most}");
    });
}

/// Each command waits for what it used, the shell for a slice when it is awake again, and a job that slept for another. A command of a
/// quantum and more that is charged once takes longer than these waits together.
#[test]
fn children_in_a_row_get_half_of_their_part() {
    let jobs = [
        "{ run = \"3900us\" }",
        "{ run = \"3900us\" }, { sleep = \"1us\" }, { run = \"10us\" }",
        "{ run = \"21ms\" }",
    ];
    // Beside a task that may not run everywhere only their last slices count as received too early.
    let bound =
        "[[task]]\nname = \"bound\"\nnice = 19\naffinity = [0]\nprogram = [ { run = \"forever\" } ]\n";
    for (others, jobs) in [("", &jobs[..]), (bound, &jobs[2..])] {
        of_children_in_a_row(0, jobs, others, |case, _, hogs, cpus, _, got| {
            let least = hogs.part(cpus, 1024) / 2;
            assert!(hogs.for_each_cpu > 1 || got >= least, "{case}, at least {least}");
        });
    }
}

/// A shell's child runs for a quantum, makes itself light and exits: what it owes is counted at the weight at which it ran. It had half of
/// the CPU beside a heavy task, where its part is a tenth.
#[test]
fn who_makes_itself_light_owes_no_less() {
    for policy in OWING.iter().filter(|policy| !policy.contains('+')) {
        let mut one = Lockstep::with(policy, 1, &[900, 100]);
        let (shell, mut jobs) = (2, 0);
        let mut job = None;
        for _ in 0..2000 {
            if job.is_none() && one.is_runnable(shell) {
                job = Some(one.fork(shell, 100));
                one.leave(shell, false);
            }
            let before = job.map(|id| one.quanta[id as usize]);
            one.step();
            if let Some(id) = job.filter(|&id| Some(one.quanta[id as usize]) != before) {
                jobs += 1;
                one.set_weight(id, 1);
                one.leave(id, true);
                one.wake(shell);
                job = None;
            }
        }
        assert!(jobs <= 220, "{policy}: {jobs}");
    }
}

/// CPU 0 decides after each of `n` quanta, while CPU 1 is in a long slice; what CPU 0 ran
fn first_cpu_alone(two: &mut Lockstep, n: usize) -> Vec<u32> {
    let quantum = |_| {
        two.decide(0);
        two.pass(QUANTUM_NS);
        two.running()[0]
    };
    (0..n).map(quantum).collect()
}

/// Two tasks share CPU 0 for seven quanta, while CPU 1's is as far as at first, so that virtual time stays. The child that one of the
/// two forks then begins where its parent's last slice began, and owes a quantum: it takes turns with the other task.
#[test]
fn a_child_begins_where_its_parents_last_slice_began() {
    for policy in ["sfq", "bvt", "sfs"] {
        let mut two = Lockstep::with(policy, 2, &[1, 1, 1]);
        two.decide(1);
        let ran = first_cpu_alone(&mut two, 7);
        let parent = ran[6];
        let child = two.fork(parent, 1);
        two.leave(parent, false);
        let next = first_cpu_alone(&mut two, 4);
        assert_eq!(next.iter().filter(|&&id| id == child).count(), 2, "{policy}: {ran:?}, {next:?}");
    }
}

/// A shell's child has five quanta on CPU 0, and CPU 1's task is as far as at first. Three of them count as received too early, as there
/// are two CPUs. So a task that comes then has three quanta before the shell's next child has one.
#[test]
fn what_a_child_had_before_its_last_slice_is_owed() {
    for policy in ["sfq", "bvt", "sfs"] {
        let mut two = Lockstep::with(policy, 2, &[1, 1]);
        let shell = 2;
        two.decide(1);
        let first = two.fork(shell, 1);
        two.leave(shell, false);
        assert_eq!(first_cpu_alone(&mut two, 5), [first; 5], "{policy}");
        two.leave(first, true);
        let other = two.add(1);
        two.wake(shell);
        two.fork(shell, 1);
        two.leave(shell, false);
        assert_eq!(first_cpu_alone(&mut two, 3), [other; 3], "{policy}");
    }
}

/// As `make -j`: each job is a process that exits, and some are much shorter than a quantum. Together they get nine tenths of
/// what the fluid model gives them while they are runnable.
#[test]
fn who_forks_honestly_loses_nothing() {
    for work in ["1ms", "3ms", "21ms", "200ms"] {
        for jobs in [1, 4] {
            let shells: String = (0..jobs).map(|number| shell(number, 0, work)).collect();
            let text = beside_hogs(1, &shells);
            for spec in OWING {
                let rows = run(&text, spec).0.run.tasks;
                let own = || rows.iter().filter(|row| !row.name.starts_with("hog"));
                let got: u64 = own().map(|row| row.service_ns).sum();
                let entitled: u64 = own().map(|row| row.entitled_ns).sum();
                assert!(
                    entitled > 0 && got * 10 >= entitled * 9,
                    "{spec}, {jobs} jobs of {work}: {got} of {entitled} ns"
                );
            }
        }
    }
}

const LATER_NS: u64 = S;

/// Task 1 has a place to give: a child of it exited. It forks task 3, which begins there. Returns what its next child owes after 3, which had no slice,
/// is gone.
fn owed_after(goes: impl FnOnce(&mut Machine, TaskId)) -> [u64; 2] {
    let [parent, first, second, third] = [1, 2, 3, 4].map(TaskId::new);
    let cpu = CpuId::new(0);
    let mut machine = Machine::new(&MachineConfig::new("sfq", 1, QUANTUM_NS)).unwrap();
    let fork = |machine: &mut Machine, task, now_ns| {
        machine.add(task, task, Weight::NICE_0, now_ns);
        machine.tell(&Event::Fork { task, parent: Some(parent) }, now_ns);
    };
    machine.add(parent, parent, Weight::NICE_0, 0);
    machine.wake(parent, true, 0);
    fork(&mut machine, first, 0);
    machine.wake(first, true, 0);
    let mut now_ns = 0;
    for _ in 0..2 {
        let task = machine.dispatch(cpu, now_ns).unwrap().task;
        machine.running(task, now_ns);
        if task == first {
            break;
        }
        now_ns += QUANTUM_NS;
        machine.requeue(parent, QUANTUM_NS, now_ns);
    }
    machine.block(first, MS, true, now_ns + MS);
    machine.remove(first, now_ns + MS);
    fork(&mut machine, second, LATER_NS);
    let began = machine.debit_ns(second);
    goes(&mut machine, second);
    fork(&mut machine, third, LATER_NS);
    [began, machine.debit_ns(third)]
}

/// A child that goes to another shard before its first slice gave its place back, as if its fork had failed. Then the next child had the same place once
/// more, and so on, while all of them ran elsewhere.
#[test]
fn placement_d3_a_child_that_moves_keeps_its_place() {
    let [began, failed] = owed_after(|machine, task| machine.remove(task, LATER_NS));
    assert_eq!(failed, began, "a fork that failed gives the place back");
    assert_ne!(began, QUANTUM_NS, "it would not show");
    let [_, moved] = owed_after(|machine, task| machine.depart(task, LATER_NS));
    assert_eq!(moved, QUANTUM_NS);
    let [_, told] = owed_after(|machine, task| {
        machine.tell(&Event::Exit { task, moves: true }, LATER_NS);
    });
    assert_eq!(told, QUANTUM_NS);
}
