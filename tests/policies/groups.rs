//! The modifier groups (papers/groups.md): effective weights against the hierarchical fluid in exact fractions, and what
//! tasks get by them.

use std::collections::BTreeMap;

use divvy_policy::{Machine, MachineConfig, TaskId, Weight};
use divvy_sim::oracle::hierarchy::{Node, rates};
use divvy_sim::oracle::{Rational, whole};
use num_traits::{ToPrimitive, Zero};
use proptest::prelude::*;

use divvy_tests::cases::config;
use divvy_tests::example::run;
use divvy_tests::lockstep::{Lockstep, QUANTUM_NS};

const GROUPS: u32 = 8;

#[derive(Clone, Debug)]
enum Event {
    /// A task of this weight, in this group, runnable.
    Starts(u32, u64),
    Leaves(usize),
    Weighs(usize, u64),
    Moves(usize, u32),
    /// A group's weight, and if it has no tasks its parent, of those before it.
    Sets(u32, u32, u64),
}

fn weight() -> impl Strategy<Value = u64> {
    prop_oneof![3 => 1u64..7, 2 => 1u64..100, 1 => 1u64..100_000]
}

/// Events in so many groups, for the n-th of the tasks; a group's parent is one of the first `parents`.
fn event_of(groups: u32, n: usize, parents: u32) -> impl Strategy<Value = Event> {
    prop_oneof![
        6 => (0..groups, weight()).prop_map(|(g, w)| Event::Starts(g, w)),
        4 => (0..n).prop_map(Event::Leaves),
        1 => (0..n, weight()).prop_map(|(n, w)| Event::Weighs(n, w)),
        2 => (0..n, 0..groups).prop_map(|(n, g)| Event::Moves(n, g)),
        2 => (1..groups, any::<u32>(), weight())
            .prop_map(move |(g, p, w)| Event::Sets(g, p % g.min(parents), w)),
    ]
}

fn event() -> impl Strategy<Value = Event> {
    event_of(GROUPS, 99, GROUPS)
}

struct Told {
    machine: Machine,
    /// (group, weight) of runnable tasks
    tasks: BTreeMap<u32, (u32, u64)>,
    /// (parent, weight), by id
    groups: Vec<(u32, u64)>,
    last: u32,
}

impl Told {
    fn new(spec: &str, cpus: u32) -> Told {
        let mut names = spec.split('+');
        let policy = names.next().unwrap();
        let modifiers: Vec<&str> = names.collect();
        let machine =
            Machine::new(&MachineConfig::new(policy, cpus, QUANTUM_NS).with_modifiers(&modifiers)).unwrap();
        let mut told = Told { machine, tasks: BTreeMap::new(), groups: vec![(0, 0)], last: 0 };
        for group in 1..GROUPS {
            told.groups.push((0, 0));
            told.set(group, group / 2, 1 + u64::from(group % 3));
        }
        told
    }

    fn set(&mut self, group: u32, parent: u32, weight: u64) {
        let parent = match self.is_used(group) {
            true => self.groups[group as usize].0,
            false => parent,
        };
        self.machine.set_group(group, parent, weight * Weight::ONE, 0);
        self.groups[group as usize] = (parent, weight);
    }

    fn is_used(&self, group: u32) -> bool {
        self.tasks.values().any(|&(of, _)| self.around(of).contains(&group))
    }

    /// The group and those that it is in
    fn around(&self, group: u32) -> Vec<u32> {
        let mut all = vec![group];
        while *all.last().unwrap() != 0 {
            all.push(self.groups[*all.last().unwrap() as usize].0);
        }
        all
    }

    fn tell(&mut self, event: &Event) {
        let ids: Vec<u32> = self.tasks.keys().copied().collect();
        let chosen = |n: usize| ids[n % ids.len()];
        match *event {
            Event::Starts(group, weight) => {
                self.last += 1;
                self.machine.add(TaskId::new(self.last), TaskId::new(self.last), weight * Weight::ONE, 0);
                self.machine.enter_group(TaskId::new(self.last), group, 0);
                self.machine.wake(TaskId::new(self.last), true, 0);
                self.tasks.insert(self.last, (group, weight));
            }
            Event::Sets(group, parent, weight) => self.set(group, parent, weight),
            _ if ids.is_empty() => {}
            Event::Leaves(n) => {
                self.machine.withdraw(TaskId::new(chosen(n)), true, 0);
                self.machine.remove(TaskId::new(chosen(n)), 0);
                self.tasks.remove(&chosen(n));
            }
            Event::Weighs(n, weight) => {
                self.machine.set_weight(TaskId::new(chosen(n)), weight * Weight::ONE, 0);
                self.tasks.get_mut(&chosen(n)).unwrap().1 = weight;
            }
            Event::Moves(n, group) => {
                self.machine.enter_group(TaskId::new(chosen(n)), group, 0);
                self.tasks.get_mut(&chosen(n)).unwrap().0 = group;
            }
        }
    }

    fn node(&self, group: u32) -> Vec<Node> {
        let own = self.tasks.iter().filter(|(_, task)| task.0 == group);
        let own = own.map(|(&id, &(_, weight))| Node::Task(id as usize, whole(weight)));
        let inner = (1..GROUPS).filter(|&g| self.groups[g as usize].0 == group);
        own.chain(inner.map(|g| Node::Group(whole(self.groups[g as usize].1), self.node(g)))).collect()
    }

    /// Weights are as the rates, to 2^-27 and a unit each: no weight is below one, so the total may have as many too much.
    fn compare(&self, cpus: u32) {
        let rates = rates(&self.node(0), cpus);
        let total: u64 =
            rates.iter().map(|&(task, _)| self.machine.weight(TaskId::new(task as u32)).fixed()).sum();
        let all = rates.iter().fold(Rational::zero(), |all, (_, rate)| all + rate);
        for (task, rate) in &rates {
            let expected = (rate / &all * whole(total)).to_f64().unwrap();
            let weight = self.machine.weight(TaskId::new(*task as u32)).fixed();
            let near = 1.0 + rates.len() as f64 + expected / f64::from(1 << 27);
            let tree = || (self.node(0), cpus);
            assert!(
                (weight as f64 - expected).abs() <= near,
                "{task}: {weight}, not {expected}: {:?}",
                tree()
            );
        }
    }
}

proptest! {
    #![proptest_config(config(400, 7))]

    #[test]
    fn groups_r1_r2_r3_are_the_hierarchical_fluid(
        cpus in 1u32..9,
        spec in prop::sample::select(vec!["rr+groups", "sfq+groups+feasible", "gr3+groups"]),
        events in prop::collection::vec(event(), 40),
    ) {
        let mut told = Told::new(spec, cpus);
        for event in &events {
            told.tell(event);
            told.compare(cpus);
        }
    }
}

const MANY_GROUPS: u32 = 120;

/// More groups than an event looks at, in at most eight levels
fn event_of_many() -> impl Strategy<Value = Event> {
    event_of(MANY_GROUPS, 999, 7)
}

impl Told {
    fn with_many_groups(spec: &str, cpus: u32) -> Told {
        let mut told = Told::new(spec, cpus);
        for group in 1..MANY_GROUPS {
            told.groups.resize(told.groups.len().max(group as usize + 1), (0, 0));
            told.set(group, group % group.min(7), 1 + u64::from(group % 3));
        }
        told
    }

    /// Events that change nothing, until all that is due has followed
    fn settle(&mut self) {
        let Some((&task, &(_, weight))) = self.tasks.first_key_value() else { return };
        (0..100).for_each(|_| self.machine.set_weight(TaskId::new(task), weight * Weight::ONE, 0));
    }

    /// Another machine that has been told of nothing but the groups and tasks that there are now
    fn anew(&self, spec: &str, cpus: u32) -> Told {
        let mut anew = Told::new(spec, cpus);
        anew.groups.resize(self.groups.len(), (0, 0));
        (1..).zip(&self.groups[1..]).for_each(|(group, &(parent, weight))| anew.set(group, parent, weight));
        for (&task, &(group, weight)) in &self.tasks {
            anew.last = task - 1;
            anew.tell(&Event::Starts(group, weight));
        }
        anew.settle();
        anew
    }
}

proptest! {
    #![proptest_config(config(60, 12))]

    /// Changes come faster than they are followed. In the end nothing shows in which order they came.
    #[test]
    fn groups_r6_nothing_stays_stale(
        cpus in 1u32..60,
        spec in prop::sample::select(vec!["rr+groups", "sfq+groups"]),
        bursts in prop::collection::vec(prop::collection::vec(event_of_many(), 1..300), 1..8),
    ) {
        let mut told = Told::with_many_groups(spec, cpus);
        for burst in &bursts {
            burst.iter().for_each(|event| told.tell(event));
            told.settle();
            let anew = told.anew(spec, cpus);
            for &task in told.tasks.keys() {
                let [is, expected] =
                    [&told, &anew].map(|told| told.machine.weight(TaskId::new(task)).fixed());
                prop_assert!(is.abs_diff(expected) <= 1 + expected / 1_000_000, "{task}: {is}, not {expected}");
            }
        }
    }
}

/// A machine whose groups 1 and 2 have these weights
fn two_groups(spec: &str, cpus: u32, weights: [u64; 2]) -> Lockstep {
    let mut machine = Lockstep::new(spec, cpus);
    for (group, weight) in (1..).zip(weights) {
        machine.machine.set_group(group, 0, weight * Weight::ONE, 0);
    }
    machine
}

fn add_in(machine: &mut Lockstep, group: u32, weight: u64) -> u32 {
    let task = machine.add(weight);
    machine.machine.enter_group(TaskId::new(task), group, 0);
    task
}

fn weights(machine: &Lockstep, tasks: &[u32]) -> Vec<u64> {
    tasks.iter().map(|&t| machine.machine.weight(TaskId::new(t)).fixed()).collect()
}

/// Users of weights 8 and 4, with three hogs and with one, beside a task of weight 4: by weights, and by what they get.
#[test]
fn groups_r1_users_get_their_shares() {
    for policy in ["sfq", "stride", "sfs", "gr3"] {
        let mut one = two_groups(&format!("{policy}+groups"), 1, [8, 4]);
        let mut tasks = vec![add_in(&mut one, 1, 1), add_in(&mut one, 1, 1), add_in(&mut one, 1, 2)];
        tasks.extend([add_in(&mut one, 2, 77), one.add(4)]);
        assert_eq!(weights(&one, &tasks), [2, 2, 4, 4, 4].map(|w| w * Weight::ONE.fixed()));
        one.run(1600);
        for (&task, expected) in tasks.iter().zip([200_u64, 200, 400, 400, 400]) {
            let got = one.quanta[task as usize];
            assert!(
                got.abs_diff(expected) <= 4,
                "{policy}: task {task} got {got} quanta, expected {expected}"
            );
        }
    }
}

/// On four CPUs a group of weight 9 with one thread beside a group of weight 1 with six: 1 CPU, and 3 for the others.
#[test]
fn groups_r2_a_group_of_k_threads_gets_at_most_k_cpus() {
    for policy in ["sfq", "sfs", "gr3"] {
        let mut four = two_groups(&format!("{policy}+groups"), 4, [9, 1]);
        let first = add_in(&mut four, 1, 5);
        let others: Vec<u32> = (0..6).map(|_| add_in(&mut four, 2, 5)).collect();
        four.run(2000);
        assert!(four.quanta[first as usize] >= 1990, "{policy}: {}", four.quanta[first as usize]);
        for &other in &others {
            assert!(four.quanta[other as usize].abs_diff(1000) <= 5, "{policy}");
        }
        // A second one: both have a CPU, as 9 of 10 is more.
        let second = add_in(&mut four, 1, 500);
        let before = four.quanta.clone();
        four.run(2000);
        for task in [first, second] {
            assert!(four.quanta[task as usize] - before[task as usize] >= 1990, "{policy}");
        }
    }
}

/// One weight changes where a task comes or goes; those of tasks in other groups do not.
#[test]
fn groups_r3_only_the_group_is_reweighed() {
    let mut two = two_groups("sfq+groups", 2, [8, 8]);
    let a: Vec<u32> = (0..4).map(|_| add_in(&mut two, 1, 1)).collect();
    let b: Vec<u32> = (0..4).map(|_| add_in(&mut two, 2, 1)).collect();
    assert_eq!(weights(&two, &b), [2 * Weight::ONE.fixed(); 4]);
    two.leave(a[3], false);
    two.leave(a[2], false);
    assert_eq!(weights(&two, &a[..2]), [4 * Weight::ONE.fixed(); 2]);
    assert_eq!(weights(&two, &b), [2 * Weight::ONE.fixed(); 4]);
    // Now 1 has one thread, and half of two CPUs: it is as before, and that is a CPU.
    two.leave(a[1], false);
    assert_eq!(weights(&two, &a[..1]), [8 * Weight::ONE.fixed()]);
    assert_eq!(weights(&two, &b), [2 * Weight::ONE.fixed(); 4]);
}

/// procfair divides within a group; and with group=on a group's tasks divide as threads of one program do.
#[test]
fn groups_r4_procfair_r1_together() {
    let mut one = two_groups("sfq+procfair+groups", 1, [8, 4]);
    let a = [add_in(&mut one, 1, 1), one.add_to(1, 1), add_in(&mut one, 1, 1)];
    one.machine.enter_group(TaskId::new(a[1]), 1, 0);
    assert_eq!(weights(&one, &a), [2, 2, 4].map(|w| w * Weight::ONE.fixed()));
    // Its threads are counted at all times: a wake-up divides as well.
    one.machine.withdraw(TaskId::new(a[0]), false, 0);
    one.machine.wake(TaskId::new(a[0]), false, 0);
    assert_eq!(weights(&one, &a), [2, 2, 4].map(|w| w * Weight::ONE.fixed()));

    let params = [("procfair", 1, 1)];
    let mut flat = Machine::new(
        &MachineConfig::new("sfq", 1, QUANTUM_NS).with_modifiers(&["procfair"]).with_params(&params),
    )
    .unwrap();
    for (task, group) in [(1, 1), (2, 1), (3, 2), (4, 0), (5, 0)] {
        let process = TaskId::new(if task == 5 { 4 } else { task });
        let task = TaskId::new(task);
        flat.add(task, process, 12 * Weight::ONE, 0);
        flat.enter_group(task, group, 0);
        flat.wake(task, true, 0);
    }
    let all: Vec<u64> =
        (1..=5).map(|task| flat.weight(TaskId::new(task)).fixed() / Weight::ONE.fixed()).collect();
    assert_eq!(all, [6, 6, 12, 6, 6]);
}

/// Ten groups, one in the other. Two tasks are in the eighth, one in the ninth and one in the tenth: they are alike.
#[test]
fn groups_r5_deeper_groups_join_the_eighth_level() {
    let mut one = Lockstep::new("sfq+groups", 1);
    (1..=10).for_each(|group| one.machine.set_group(group, group - 1, Weight::ONE, 0));
    let deep: Vec<u32> = [8, 8, 9, 10].into_iter().map(|group| add_in(&mut one, group, 1)).collect();
    let other = add_in(&mut one, 0, 1);
    let each = Weight::ONE.fixed() / 4;
    assert_eq!(weights(&one, &deep), [each; 4]);
    assert_eq!(weights(&one, &[other]), [Weight::ONE.fixed()]);
}

/// A user with 1,000 threads, one with two, and 300 users with one each. At each event 64 threads and groups follow at most, a small
/// group does not wait for the large one, and soon all weights are those of the fluid.
#[test]
fn groups_r3_r6_a_large_group_follows_in_steps() {
    let one_each = 3..303u32;
    for policy in ["sfq", "gr3", "cfs", "pbs"] {
        let mut two = two_groups(&format!("{policy}+groups"), 2, [1000, 600]);
        one_each.clone().for_each(|group| two.machine.set_group(group, 0, Weight::ONE, 0));
        let large: Vec<u32> = (0..1000).map(|_| add_in(&mut two, 1, 1)).collect();
        let small: Vec<u32> = (0..2).map(|_| add_in(&mut two, 2, 1)).collect();
        let single: Vec<u32> = one_each.clone().map(|group| add_in(&mut two, group, 1)).collect();
        two.run(60);
        let unit = Weight::ONE.fixed();
        assert_eq!(weights(&two, &large), vec![unit; 1000], "{policy}");
        assert_eq!(weights(&two, &single), vec![unit; 300], "{policy}");
        for &thread in &large[500..] {
            let all: Vec<u32> = two.tasks().into_iter().filter(|&task| task != thread).collect();
            let before = weights(&two, &all);
            two.leave(thread, true);
            let followed = weights(&two, &all).iter().zip(&before).filter(|(is, was)| is != was).count();
            assert!(followed <= 65, "{policy}: {followed} at one event");
        }
        two.leave(small[1], true);
        assert_eq!(weights(&two, &small[..1]), [600 * unit], "{policy}: the small group waits");
        assert!(weights(&two, &large[..500]).iter().any(|&w| w != 2 * unit), "{policy}: nothing is due");
        two.run(500 / 32 + 1);
        assert_eq!(weights(&two, &large[..500]), vec![2 * unit; 500], "{policy}");
        assert_eq!(weights(&two, &single), vec![unit; 300], "{policy}");
    }
}

/// Group 1 has 60 groups with a thread each, group 2 has 100 threads, and 200 groups have one. Group 1 divides anew, and before all in
/// it have followed, group 2 is light for one event. Then group 1 has a CPU for each thread, of which it has not heard itself before it
/// is over: so those in it that are looked at meanwhile must not go by it, as nobody would look at them again.
#[test]
fn groups_r6_what_a_group_has_not_heard_of_is_not_passed_on() {
    let mut many = two_groups("rr+groups", 150, [199, 300]);
    let inner = 3..63u32;
    inner.clone().for_each(|group| many.machine.set_group(group, 1, Weight::ONE, 0));
    (63..263).for_each(|group| many.machine.set_group(group, 0, Weight::ONE, 0));
    let threads: Vec<u32> = inner.map(|group| add_in(&mut many, group, 1)).collect();
    for group in std::iter::repeat_n(2, 100).chain(63..263) {
        add_in(&mut many, group, 1);
    }
    let settle = |many: &mut Lockstep| (0..20).for_each(|_| many.set_weight(threads[0], 1));
    settle(&mut many);
    for (group, weight) in [(1, 200), (2, 1), (2, 300)] {
        many.machine.set_group(group, 0, weight * Weight::ONE, 0);
    }
    settle(&mut many);
    assert_eq!(weights(&many, &threads), [(200 * Weight::ONE.fixed() + 30) / 60; 60]);
}

/// The unit is what the greatest of them asks for: nobody's tag moves faster than at the weight that it asks for.
#[test]
fn groups_r3_with_a_cpu_for_each_all_weigh_as_the_greatest() {
    let mut two = two_groups("rr+groups", 2, [9, 3]);
    let tasks = [add_in(&mut two, 1, 5), add_in(&mut two, 2, 7)];
    assert_eq!(weights(&two, &tasks), [9 * Weight::ONE.fixed(); 2]);
    let third = add_in(&mut two, 2, 7);
    assert_eq!(weights(&two, &tasks), [3 * Weight::ONE.fixed(), 3 * Weight::ONE.fixed() / 2]);
    two.leave(third, false);
    two.leave(tasks[0], false);
    assert_eq!(weights(&two, &tasks[1..]), [3 * Weight::ONE.fixed()]);
}

/// Policies by weights
const SHARES: &[&str] = &[
    "sfq", "sfs", "bvt", "stride", "eevdf", "cfs", "gr3", "wfq", "wf2q", "wf2qplus", "qfq", "vtrr", "srr",
    "strr", "drr", "wrr",
];

/// Heavy tasks, as many as CPUs, beside one that sleeps: while it does, there is a CPU for each.
fn beside_a_sleeper(cpus: u32) -> String {
    format!(
        "cpus = {cpus}\nduration = \"4s\"\nquantum = \"4ms\"\n\
         [[task]]\nname = \"hog\"\ncount = {cpus}\nnice = -10\nprogram = [ {{ run = \"forever\" }} ]\n\
         [[task]]\nname = \"sleeper\"\nprogram = [ {{ loop = \"forever\", do = [ \
         {{ run = \"1ms\" }}, {{ sleep = \"2ms\" }}, {{ run = \"1ms\" }}, {{ sleep = \"1us\" }} ] }} ]\n"
    )
}

/// Without groups, and with one CPU, there is nothing that the modifier could change. A heavy task that was alone weighed as nice 0, so
/// that the sleeper had 572 ms instead of 388 under sfq, and 1,981 ms under cfs.
#[test]
fn groups_r1_r3_without_groups_and_on_one_cpu_nothing_changes() {
    let text = beside_a_sleeper(1);
    for policy in SHARES {
        let [plain, grouped] =
            [(*policy).to_owned(), format!("{policy}+groups")].map(|spec| run(&text, &spec));
        for name in ["hog", "sleeper"] {
            assert!(plain.slices(name).eq(grouped.slices(name)), "{policy}: {name}");
        }
    }
}

/// On two CPUs two tasks of nice -10 and the sleeper are what readjustment makes of them. It is entitled to 414 ms if it always runs.
#[test]
fn groups_r3_a_sleeper_beside_heavy_tasks_on_two_cpus() {
    let text = beside_a_sleeper(2);
    for policy in ["sfq", "sfs", "stride", "eevdf", "bvt"] {
        let [readjusted, grouped] = ["feasible", "groups"]
            .map(|modifier| run(&text, &format!("{policy}+{modifier}")).service_of_all("sleeper"));
        assert!(grouped.abs_diff(readjusted) <= QUANTUM_NS, "{policy}: {grouped} and {readjusted} ns");
    }
}

/// Tasks of a user take turns, three at a time, also where they are in groups of that user's own: the other user keeps half.
#[test]
fn groups_r11_tasks_that_take_turns_gain_nothing() {
    let toml = include_str!("../../examples/taking-turns.toml")
        .replace("name = \"alone\"\n", "name = \"alone\"\ngroup = \"bob\"\n")
        .replace("name = \"starter\"\n", "name = \"starter\"\ngroup = \"ann\"\n");
    let (before, worker) = toml.split_once("[[task]]\nname = \"worker\"\n").expect("a worker");
    let (worker, alone) = worker.split_once("[[task]]").expect("another task");
    let workers: Vec<String> = [("ann", 10), ("ann/a", 10), ("ann/b", 10)]
        .iter()
        .map(|(group, count)| {
            let worker = worker.replace("count = 30", &format!("count = {count}"));
            format!("[[task]]\nname = \"worker of {group}\"\ngroup = \"{group}\"\n{worker}")
        })
        .collect();
    let nested = format!("{before}{}[[task]]{alone}", workers.concat());
    let flat = toml.replace("name = \"worker\"\n", "name = \"worker\"\ngroup = \"ann\"\n");
    for policy in ["sfq", "bvt", "sfs"] {
        for (what, toml) in [("flat", &flat), ("nested", &nested)] {
            let part = run(toml, &format!("{policy}+groups")).service_of_all("alone") as f64 / 10e9;
            assert!((part - 0.5).abs() < 0.02, "{policy}, {what}: {part}");
        }
    }
}
