//! Tasks that may not run everywhere keep their weights: service against the lexicographic max-min of rate over weight.

use std::fmt::Write;

use divvy_sim::oracle::affinity::{Bound, rates};
use divvy_sim::oracle::whole;
use num_traits::ToPrimitive;
use proptest::collection::vec;

use divvy_tests::cases::for_all;
use divvy_tests::lockstep::Lockstep;
use divvy_tests::record::run;
use divvy_workload::Workload;

/// Selections that share by weight: by virtual times, which the machine compares, and others, beside which it orders the tasks
/// that may not run everywhere itself.
const SHARING: [&str; 17] = [
    "sfq", "stride", "sfs", "bvt", "wfq", "wf2q", "wf2qplus", "gr3", "lottery", "srr", "strr", "vtrr", "wrr",
    "drr", "qfq", "eevdf", "cfs",
];

/// The service of each task under a policy, and what the report says that it is entitled to, in seconds
fn services(text: &str, policy: &str) -> Vec<(f64, f64)> {
    let workload = Workload::parse(text, "affinity.toml").unwrap_or_else(|e| panic!("{e}"));
    let tasks = run(&workload, policy, 0).run.tasks;
    tasks.iter().map(|task| (task.service_ns as f64 / 1e9, task.entitled_ns as f64 / 1e9)).collect()
}

const CROWDED: &str = r#"
cpus = 2
duration = "20s"
task = [
  { name = "victim", affinity = [0], program = [ { run = "forever" } ] },
  { name = "hog", count = 9, nice = 19, affinity = [0], program = [ { run = "forever" } ] },
  { name = "ticker", affinity = [1], nice = 19, program = [ { loop = "forever", do = [ { run = "50us" }, { sleep = "50us" } ] } ] },
]"#;

/// A CPU of one heavy and nine light tasks, and a CPU whose only task wakes up all the time: it must not turn the order of the
/// others into that of their arrival.
#[test]
fn another_cpus_dispatches_do_not_erase_weights() {
    for policy in SHARING {
        let victim = services(CROWDED, policy)[0].0 / 20.0;
        assert!((victim - 1024.0 / (1024.0 + 9.0 * 15.0)).abs() < 0.01, "{policy}: {victim}");
    }
}

/// A task that sleeps on a crowded CPU joins among those that are there, and not behind what a quick CPU serves: on
/// its CPU it is one of ten, so 10 ms of work take 100 ms, and then it sleeps for 10 ms. If it has its first quantum of 4 ms
/// at once whenever it wakes, it takes 64 ms: half more of the CPU.
#[test]
fn a_sleeper_on_a_crowded_cpu_gets_its_part() {
    let text = r#"
cpus = 2
duration = "20s"
task = [
  { name = "sleeper", affinity = [0], program = [ { loop = "forever", do = [ { run = "10ms" }, { sleep = "10ms" } ] } ] },
  { name = "hog", count = 9, affinity = [0], program = [ { run = "forever" } ] },
  { name = "alone", affinity = [1], program = [ { run = "forever" } ] },
]"#;
    let part = 20.0 * 10.0 / 110.0;
    for policy in SHARING {
        let received = services(text, policy)[0].0;
        assert!(received > 0.8 * part && received < 1.5 * part, "{policy}: {received} s");
    }
}

/// The same, and the hogs may run everywhere: no other task of the chain's CPU is runnable when its next link begins.
fn beside_free(text: &str) -> String {
    text.replace("count = 10, affinity = [0], ", "count = 20, ").replace("  { name = \"alone\"", "# ")
}

/// Each link of a chain works for nearly a quantum, forks the next one and ends. On a CPU that it shares with ten hogs all links
/// together get what one task of nice 19 gets, and two quanta: a new task does not come before those that are there.
#[test]
fn a_chain_of_forks_on_one_cpu_gains_nothing() {
    let text = r#"
cpus = 2
duration = "3s"
quantum = "4ms"
task = [
  { name = "first", nice = 19, affinity = [0], program = [ { fork = "link" } ] },
  { name = "link", start = "fork", limit = 800, nice = 19, affinity = [0], program = [ { run = "3850us" }, { fork = "link" }, { run = "50us" } ] },
  { name = "hog", count = 10, affinity = [0], program = [ { run = "forever" } ] },
  { name = "alone", affinity = [1], program = [ { run = "forever" } ] },
]"#;
    let part = 3.0 * 15.0 / (10.0 * 1024.0 + 15.0);
    for (policy, text) in
        SHARING.iter().flat_map(|policy| [(policy, text.to_owned()), (policy, beside_free(text))])
    {
        let workload = Workload::parse(&text, "chain.toml").unwrap_or_else(|e| panic!("{e}"));
        let tasks = run(&workload, policy, 0).run.tasks;
        let links = tasks.iter().filter(|task| task.name.starts_with("link")).map(|task| task.service_ns);
        let received = links.sum::<u64>() as f64 / 1e9;
        assert!(received < part + 0.008, "{policy}: {received} s of {part}");
    }
}

/// The service of each task when `after` has passed, against the exact part; what is behind by more is reported.
fn all_get_their_part(text: &str, behind_s: f64, but: &[&str]) {
    for policy in SHARING.into_iter().filter(|policy| !but.contains(policy)) {
        for (i, (service, entitled)) in services(text, policy).into_iter().enumerate() {
            assert!(
                service > entitled - behind_s,
                "{policy}: task {i} has {service} s of {entitled}\n{text}"
            );
        }
    }
}

/// A task that has run for long meets tasks that begin on idle CPUs: these have no claim from the time before.
#[test]
fn who_begins_on_an_idle_cpu_has_no_claim() {
    all_get_their_part(
        r#"
cpus = 2
duration = "120s"
task = [
  { name = "long", program = [ { run = "59s" }, { sleep = "2s" }, { run = "forever" } ] },
  { name = "guest", affinity = [0], program = [ { loop = "forever", do = [ { run = "1ms" }, { sleep = "500s" } ] } ] },
  { name = "zero", affinity = [0], start = "60s", program = [ { run = "forever" } ] },
  { name = "one", affinity = [1], start = "60s", program = [ { run = "forever" } ] },
]"#,
        0.5,
        &[],
    );
    all_get_their_part(
        r#"
cpus = 2
duration = "120s"
task = [
  { name = "bound", affinity = [0], program = [ { run = "40s" }, { sleep = "10s" }, { loop = "forever", do = [ { run = "1ms" }, { sleep = "9ms" } ] } ] },
  { name = "free", count = 4, start = "45s", program = [ { run = "forever" } ] },
]"#,
        0.7,
        &[],
    );
}

/// When the last task that may not run everywhere is gone, nobody waits for others to catch up.
#[test]
fn nobody_waits_when_the_last_bound_task_is_gone() {
    // Beside two CPUs these do not share weights so unequal, whether a task is bound or not; a lottery is fair in the long run.
    let unequal = ["srr", "vtrr", "wrr", "drr", "lottery"];
    let cases = [
        ("100ms", 5, 3, &unequal[..]),
        ("278ms", 5, 3, &unequal),
        ("301ms", 0, 0, &["lottery"]),
        ("999ms", 0, 0, &["lottery"]),
    ];
    for (gone, nice, heavy, but) in cases {
        let text = format!(
            r#"
cpus = 2
duration = "30s"
quantum = "4ms"
task = [
  {{ name = "light", count = 4, nice = {nice}, program = [ {{ run = "forever" }} ] }},
  {{ name = "heavy", nice = {heavy}, program = [ {{ run = "forever" }} ] }},
  {{ name = "bound", affinity = [0], program = [ {{ run = "{gone}" }} ] }},
]"#
        );
        all_get_their_part(&text, 0.3, but);
    }
}

/// One of eight alike tasks on two CPUs asks for one CPU, for the other and for all, again and again. It joins others each time, and
/// must not come before these: at first it was first in line when it might run everywhere, and had twice its part.
#[test]
fn a_task_that_changes_its_affinity_gains_nothing() {
    const TURNS: [&[&[usize]]; 3] = [&[&[0], &[0, 1]], &[&[0], &[1]], &[&[0], &[0, 1], &[1]]];
    for policy in SHARING.into_iter().filter(|&policy| policy != "lottery") {
        for (masks, period) in
            TURNS.into_iter().flat_map(|masks| [1, 2, 3, 7, 50].map(|period| (masks, period)))
        {
            let mut two = Lockstep::with(policy, 2, &[1; 8]);
            for round in 0..4000 {
                if round % period == 0 {
                    two.set_allowed(1, masks[round / period % masks.len()]);
                }
                two.step();
            }
            let got = two.quanta[1];
            assert!(got <= 1050, "{policy}, {masks:?} every {period} quanta: {got} of 1000");
        }
    }
}

/// The report is exact: the model knows affinity.
#[test]
fn entitlement_knows_affinity() {
    let (_, entitled) = services(CROWDED, "sfq")[0];
    assert!((entitled / 20.0 - 1024.0 / (1024.0 + 9.0 * 15.0)).abs() < 1e-6, "{entitled}");
}

/// Nine tasks of nice 15 that are bound to one CPU of four, beside five of nice 0 that may run everywhere.
#[test]
fn light_tasks_on_one_cpu_get_their_part_of_the_machine() {
    let text = r#"
cpus = 4
duration = "20s"
task = [
  { name = "bound", count = 9, nice = 15, affinity = [0], program = [ { run = "forever" } ] },
  { name = "free", count = 5, program = [ { run = "forever" } ] },
]"#;
    for policy in SHARING {
        let services = services(text, policy);
        let bound: f64 = services[..9].iter().map(|(service, _)| service).sum::<f64>() / 80.0;
        let part = 9.0 * 36.0 / (9.0 * 36.0 + 5.0 * 1024.0);
        assert!((bound - part).abs() < 0.01, "{policy}: {bound}, entitled to {part}");
    }
}

/// Where all are bound to one CPU or to none, and always run, a task is behind by at most 32 turns and five
/// percent.
#[test]
fn nobody_is_far_behind() {
    let one = (1_u32..=4, 0_u32..10, -5_i32..=10);
    for_all(40, 31, (1_u32..=6, vec(one, 3..14)), |(cpus, tasks)| {
        let mut text = format!("cpus = {cpus}\nduration = \"10s\"\nquantum = \"4ms\"\ntask = [\n");
        let mut bound = Vec::new();
        for (i, (kind, cpu, nice)) in tasks.iter().enumerate() {
            let affinity = (*kind < 3).then(|| cpu % cpus);
            let set = affinity.map_or(String::new(), |cpu| format!("affinity = [{cpu}], "));
            writeln!(
                text,
                "  {{ name = \"T{i}\", nice = {nice}, {set}program = [ {{ run = \"forever\" }} ] }},"
            )
            .expect("memory");
            let weight = divvy_policy::NICE_WEIGHTS[(nice + 20) as usize];
            let allowed = affinity.map_or((1 << cpus) - 1, |cpu| 1 << cpu);
            bound.push(Bound { weight: whole(weight), allowed });
        }
        text.push(']');
        let exact = rates(&bound, cpus);
        for policy in ["sfq", "sfs", "stride", "gr3", "eevdf", "cfs", "vtrr", "qfq", "srr"] {
            for (i, (service, entitled)) in services(&text, policy).into_iter().enumerate() {
                let part = 10.0 * exact[i].to_f64().expect("a rate");
                assert!(
                    (entitled - part).abs() < 1e-5,
                    "T{i}: entitled to {entitled}, exactly {part}\n{text}"
                );
                assert!(service > part * 0.95 - 32.0 * 0.004, "{policy}: T{i} {service} of {part}\n{text}");
            }
        }
    });
}
