//! Workloads with a `[topology]`: shards of caches and nodes, what it costs to go from one to another, and how far tasks go. Judged by
//! notes of what each CPU is told to run (`watched.rs`) and by slices; neither knows how the engine counts.

use std::collections::BTreeMap;

use divvy_policy::TaskId;
use divvy_policy::spec::parse;
use divvy_results::observation::Service;
use divvy_results::report::MigrationsByDistance;
use divvy_sim::run::{Options, simulate};
use divvy_tests::cases::for_all;
use divvy_tests::record::{Record, run, run_watched};
use divvy_tests::specs::selections;
use divvy_tests::watched::Note;
use divvy_tests::workloads::{Kinds, MS, US, workloads};
use divvy_workload::{Topology, Workload};
use proptest::prelude::*;
use proptest::sample::Index;

use crate::model;

/// Some divisor of a number.
fn divisor(n: u32, at: Index) -> u32 {
    let all: Vec<u32> = (1..=n).filter(|d| n.is_multiple_of(*d)).collect();
    all[at.index(all.len())]
}

/// Random workloads on random topologies that fit them, with costs up to so much.
fn with_topology(kinds: Kinds, most_cost_ns: u64) -> impl Strategy<Value = Workload> {
    let shape =
        (any::<[Index; 2]>(), any::<Index>(), prop::option::weighted(0.8, any::<Index>()), any::<bool>());
    let costs = prop::array::uniform4(0..=most_cost_ns);
    (workloads(kinds, 1..=16, 10), shape, costs).prop_map(
        |(mut workload, (llc, smt, node, is_far), costs_ns)| {
            // Small caches in half of them: else few tasks leave theirs.
            let most = if is_far { divisor(workload.cpus, llc[1]) } else { workload.cpus };
            let llc = divisor(most, llc[0]);
            let node = node.map(|node| divisor(workload.cpus / llc, node));
            workload.topology = Some(Topology { smt: divisor(llc, smt), llc, node, costs_ns });
            workload.check().expect("it fits");
            workload
        },
    )
}

/// None, and each that a topology gives.
fn placements() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["", "@llc", "@node", "@llc:skew=3", "@node:steal=off", "@cpu"])
}

/// The JSON report of a run but for the policy's name, and distances if it has some.
fn json(workload: &Workload, text: &str, keep_distances: bool) -> String {
    let spec = parse(text, divvy_policy::all()).unwrap_or_else(|e| panic!("{e}"));
    let options = Options { seed: 5, ..Options::default() };
    let mut report = simulate(workload, &[spec], &options, &()).unwrap_or_else(|e| panic!("{e}"));
    let run = &mut report.runs[0];
    run.policy.clear();
    assert_eq!(run.migrations_by_distance.is_some(), workload.topology.is_some(), "{text}");
    run.migrations_by_distance = run.migrations_by_distance.filter(|_| keep_distances);
    serde_json::to_string(&report).expect("a report is JSON")
}

/// A topology without costs changes no number and no slice.
#[test]
fn a_topology_without_costs_is_none() {
    let cases =
        (with_topology(Kinds::All, 0), prop::sample::select(vec!["", "@cpu", "@shards:size=3:skew=0"]));
    for_all(25, 81, cases, |(workload, placement)| {
        let without = Workload { topology: None, ..workload.clone() };
        for selection in selections() {
            let spec = format!("{selection}{placement}");
            assert_eq!(json(&workload, &spec, false), json(&without, &spec, false), "{spec}");
            assert_eq!(run(&workload, &spec, 5).slices, run(&without, &spec, 5).slices, "{spec}");
        }
    });
}

/// `@llc` and `@node` are `@shards` with the topology's number of CPUs, with and without costs.
#[test]
fn placement_r1_caches_and_nodes_are_shards_of_their_size() {
    let settings = prop::sample::select(vec!["", ":skew=0", ":skew=3:steal=off"]);
    for_all(25, 82, (with_topology(Kinds::All, 40 * US), settings), |(workload, settings)| {
        let topology = workload.topology.expect("it has one");
        let node = topology.node.map_or(workload.cpus, |caches| caches * topology.llc);
        for selection in selections() {
            for (name, size) in [("llc", topology.llc), ("node", node)] {
                let named = json(&workload, &format!("{selection}@{name}{settings}"), true);
                let sized = json(&workload, &format!("{selection}@shards:size={size}{settings}"), true);
                assert_eq!(named, sized, "{selection}@{name}{settings}");
            }
        }
    });
}

/// A CPU's task from one moment to another, as the notes have it.
struct Occupancy {
    task: TaskId,
    from_ns: u64,
    served_from_ns: u64,
    /// `None`: to the end of the run.
    to_ns: Option<u64>,
    /// As worked out from the workload's costs.
    cost_ns: u64,
}

/// How far apart two CPUs are, from 0 to 3, counted by the sizes of what they may share.
fn steps_apart(workload: &Workload, one: usize, other: usize) -> usize {
    let topology = workload.topology.expect("it has one");
    let node = topology.node.map_or(workload.cpus, |caches| caches * topology.llc);
    let sizes = [topology.smt, topology.llc, node].map(|cpus| cpus as usize);
    sizes.iter().take_while(|size| one - one % **size != other - other % **size).count()
}

/// Tasks of each CPU, and the number of migrations by distance, from the notes alone.
fn replay(workload: &Workload, notes: &[Note]) -> (Vec<Vec<Occupancy>>, [u64; 4]) {
    let topology = workload.topology.expect("it has one");
    let mut by_cpu: Vec<Vec<Occupancy>> = (0..workload.cpus).map(|_| Vec::new()).collect();
    let mut counts = [0; 4];
    // Numbers are used again: each birth is another task.
    let mut births: BTreeMap<TaskId, usize> = BTreeMap::new();
    let mut last_cpu: BTreeMap<(TaskId, usize), usize> = BTreeMap::new();
    let mut last_task: Vec<Option<(TaskId, usize)>> = vec![None; workload.cpus as usize];
    for note in notes {
        match *note {
            Note::Born(task) => *births.entry(task).or_default() += 1,
            Note::Leaves { cpu, at_ns } => {
                by_cpu[cpu.index()].last_mut().expect("it had one").to_ns = Some(at_ns);
            }
            Note::TakesOver { cpu, task, at_ns, served_from_ns } => {
                let (cpu, who) = (cpu.index(), (task, births[&task]));
                let mut cost_ns = 0;
                if last_task[cpu].replace(who).is_some_and(|last| last != who) {
                    cost_ns += workload.switch_cost_ns;
                }
                if let Some(last) = last_cpu.insert(who, cpu).filter(|last| *last != cpu) {
                    let steps = steps_apart(workload, last, cpu);
                    counts[steps] += 1;
                    cost_ns += workload.migration_cost_ns + topology.costs_ns[steps];
                }
                by_cpu[cpu].push(Occupancy { task, from_ns: at_ns, served_from_ns, to_ns: None, cost_ns });
            }
        }
    }
    (by_cpu, counts)
}

fn counts_of(by_distance: Option<MigrationsByDistance>) -> [u64; 4] {
    let MigrationsByDistance { same_core, same_llc, same_node, other_node } =
        by_distance.expect("there is a topology");
    [same_core, same_llc, same_node, other_node]
}

/// Each CPU is idle, or loses the cost of its task's coming and then serves it: no nanosecond is missing or counted twice.
fn check_costs(record: &Record, by_cpu: &[Vec<Occupancy>], what: &str) {
    let end_ns = record.run.duration_ns;
    for (cpu, occupancies) in by_cpu.iter().enumerate() {
        let mut slices = record.slices.iter().filter(|slice| slice.cpu.index() == cpu).peekable();
        let mut free_ns = 0;
        for o in occupancies {
            let to_ns = o.to_ns.unwrap_or(end_ns);
            assert!(free_ns <= o.from_ns, "{what}: CPU {cpu} has two tasks at {}", o.from_ns);
            free_ns = to_ns;
            assert_eq!(o.served_from_ns - o.from_ns, o.cost_ns, "{what}: cost on CPU {cpu} at {}", o.from_ns);
            let overhead_ns = o.cost_ns.min(to_ns - o.from_ns);
            let mut service_ns = 0;
            while let Some(slice) = slices.next_if(|slice| slice.to_ns <= to_ns) {
                assert!(slice.task == o.task && slice.from_ns >= o.from_ns + o.cost_ns, "{what}: {slice:?}");
                service_ns += slice.to_ns - slice.from_ns;
            }
            assert_eq!(to_ns - o.from_ns, service_ns + overhead_ns, "{what}: CPU {cpu} at {}", o.from_ns);
        }
        assert!(slices.next().is_none(), "{what}: CPU {cpu} served a task that it did not have");
    }
}

/// Locks, forks, arrivals, affinity, ticks and costs at once: service is what programs ask for, each cost is taken once and exactly,
/// and the report's distances are those of the notes.
#[test]
fn costs_of_distances_are_exact_and_nothing_is_lost() {
    let cases = (with_topology(Kinds::All, 40 * US), placements(), any::<u64>());
    let migrations = std::cell::Cell::new([0; 4]);
    for_all(40, 83, cases, |(workload, placement, seed)| {
        for selection in selections() {
            let spec = format!("{selection}{placement}");
            let (record, notes) = run_watched(&workload, &spec, seed);
            model::check_slices(&workload, &record);
            model::check_service(&workload, &record);
            model::check_demands(&workload, &record);
            let (by_cpu, counts) = replay(&workload, &notes);
            check_costs(&record, &by_cpu, &spec);
            assert_eq!(counts_of(record.run.migrations_by_distance), counts, "{spec}: by distance");
            assert_eq!(record.run.migrations, Some(counts.iter().sum()), "{spec}: all migrations");
            let sum = migrations.get();
            migrations.set(std::array::from_fn(|at| sum[at] + counts[at]));
        }
    });
    assert!(migrations.get().iter().all(|count| *count > 1000), "too few to see: {:?}", migrations.get());
}

/// 21 hogs on 16 CPUs: two nodes of two caches of two cores of two threads. Their slices alone give the distances: nobody comes to a
/// CPU without being served there.
fn hogs() -> Workload {
    let machine = "cpus = 16\nquantum = \"1ms\"\nduration = \"400ms\"\nswitch_cost = \"1us\"\nmigration_cost = \"2us\"\n\
        [topology]\nllc = 4\nsmt = 2\nnode = 2\nsame_core_cost = \"3us\"\nsame_llc_cost = \"50us\"\n\
        same_node_cost = \"70us\"\nother_node_cost = \"110us\"\n";
    let hogs = "[[task]]\nname = \"hog\"\ncount = 21\nprogram = [ { run = \"forever\" } ]\n";
    Workload::parse(&format!("{machine}{hogs}"), "hogs.toml").unwrap_or_else(|e| panic!("{e}"))
}

#[test]
fn slices_of_hogs_give_the_distances_and_the_costs() {
    let workload = hogs();
    let costs_us = [3, 50, 70, 110];
    for spec in ["sfq", "sfq@cpu", "sfq@llc", "sfq@node:skew=2", "rr@llc", "gr3", "eevdf"] {
        let record = run(&workload, spec, 0);
        let mut last: BTreeMap<TaskId, Service> = BTreeMap::new();
        let mut on_cpu: Vec<Option<Service>> = vec![None; 16];
        let mut counts = [0; 4];
        let mut slices = record.slices.clone();
        slices.sort_unstable_by_key(|slice| slice.from_ns);
        for slice in slices {
            let (here, before) = (slice.cpu.index(), last.insert(slice.task, slice));
            let on_cpu = on_cpu[here].replace(slice);
            let Some(on_cpu) = on_cpu else { continue };
            let mut cost_ns = if on_cpu.task == slice.task { 0 } else { US };
            if let Some(there) = before.map(|before| before.cpu.index()).filter(|there| *there != here) {
                let steps = [2, 4, 8].iter().filter(|size| there / *size != here / *size).count();
                counts[steps] += 1;
                cost_ns += 2 * US + costs_us[steps] * US;
            }
            assert_eq!(slice.from_ns - on_cpu.to_ns, cost_ns, "{spec}: {slice:?} after {on_cpu:?}");
        }
        let told = counts_of(record.run.migrations_by_distance);
        // A task may be on its way when the run ends: it has not been served where it came.
        let late: u64 = told.iter().sum::<u64>() - counts.iter().sum::<u64>();
        assert!(
            counts.iter().zip(told).all(|(seen, told)| *seen <= told) && late <= 16,
            "{spec}: {counts:?} {told:?}"
        );
        assert!(counts.iter().sum::<u64>() > 100, "{spec}: {counts:?}");
        assert_eq!(record.run.duration_ns, 400 * MS);
    }
}
