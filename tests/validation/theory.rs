//! `--theory`: which formula applies to a workload and policy, and that simulated classes of jobs come out at it.

use divvy_policy::spec::parse;
use divvy_results::report::Theory;
use divvy_sim::theory::theory;

use crate::model::{EXP, H2, MEAN_MS, Model, TINY, assert_mean, class};

/// Two classes at this load of each CPU, half of it each: small jobs of 10 ms, and large ones of 40.
fn two_classes(cpus: u32, load: f64, weights: [u32; 2], sizes: [&str; 2]) -> Model {
    let (small_ms, large_ms) =
        (2.0 * MEAN_MS / (load * f64::from(cpus)), 8.0 * MEAN_MS / (load * f64::from(cpus)));
    let tasks =
        class("small", weights[0], small_ms, sizes[0]) + &class("large", weights[1], large_ms, sizes[1]);
    Model { cpus, quantum: TINY, tasks, duration_s: 3600.0 }
}

fn of(model: &Model, spec: &str) -> Theory {
    let spec = parse(spec, divvy_policy::all()).expect("a known spec");
    theory(&model.workload(), &spec, model.cpus)
}

const SMALL_LARGE: [&str; 2] = [EXP, "{ exp = \"40ms\" }"];

/// Each class comes out at its own mean, which is not that at a load 5 % higher.
fn check(cpus: u32, specs: &[&str], weights: [u32; 2], sizes: [&str; 2], system: &str) {
    let (model, wrong) = (two_classes(cpus, 0.7, weights, sizes), two_classes(cpus, 0.735, weights, sizes));
    for spec in specs {
        let (found, wrong) = (of(&model, spec), of(&wrong, spec));
        assert_eq!(found.system.as_deref(), Some(system), "{spec}");
        let run = model.run(spec, 11);
        for (i, task) in run.tasks.iter().enumerate() {
            let mean = |of: &Theory| of.tasks[i].response_mean_ns / 1e6;
            assert_mean(&format!("{spec}, {}", task.name), &task.response_ns, mean(&found), mean(&wrong));
        }
    }
}

#[test]
fn classes_of_one_cpu_in_order() {
    check(1, &["fcfs"], [1, 1], SMALL_LARGE, "M/G/1 FCFS");
    check(1, &["plcfs"], [1, 1], SMALL_LARGE, "M/G/1 preemptive LCFS");
    check(1, &["srpt"], [1, 1], SMALL_LARGE, "M/G/1 SRPT");
    check(1, &["sjf"], [1, 1], SMALL_LARGE, "M/G/1 SJF");
    check(1, &["las", "pbs:alpha=inf"], [1, 1], SMALL_LARGE, "M/G/1 LAS");
}

#[test]
fn classes_that_share() {
    check(1, &["rr", "ps"], [1, 9], SMALL_LARGE, "M/G/1 PS");
    check(1, &["sfq", "wrr"], [2, 2], [H2, "\"40ms\""], "M/G/1 PS");
    check(4, &["rr", "gr3"], [1, 1], [H2, "\"40ms\""], "M/G/4 PS");
}

/// Every policy that is said to share by weight in the limit does so.
#[test]
fn classes_that_share_by_weight() {
    let proportional = ["drr", "gr3", "lottery", "sfq", "sfs", "stride", "wf2q", "wf2qplus", "wfq", "wrr"];
    check(1, &proportional, [1, 4], SMALL_LARGE, "M/G/1 DPS, exponential sizes");
}

/// All blind policies have the same mean response where jobs are alike in size, on any number of CPUs.
#[test]
fn blind_policies() {
    for (spec, cpus) in
        [("eevdf", 1), ("pbs:alpha=2", 3), ("las", 3), ("sfq+procfair", 2), ("sfq:debit=0", 1), ("fcfs", 3)]
    {
        let model = |load| Model::open(cpus, load, EXP, "4ms", 100e3);
        let mean = |load| of(&model(load), spec).response_mean_ns.expect("a formula") / 1e6;
        assert_mean(spec, &model(0.7).responses(spec, 12), mean(0.7), mean(0.735));
    }
}

#[test]
fn no_formula_says_why() {
    let refused = |model: Model, spec: &str, part: &str| {
        let found = of(&model, spec);
        let reason = found.no_formula.unwrap_or_else(|| panic!("{spec}: {:?}", found.system));
        assert!(reason.contains(part) && found.response_mean_ns.is_none(), "{reason}");
    };
    let open = |load, size: &str| Model::open(1, load, size, "4ms", 1e3);
    refused(open(1.0, EXP), "ps", "the load is 1.00");
    refused(open(0.5, H2), "eevdf", "eevdf");
    refused(Model { cpus: 2, ..open(0.5, EXP) }, "srpt", "on 2 CPUs");
    refused(open(0.5, "{ pareto = { shape = 1.5, scale = \"1ms\" } }"), "fcfs", "fcfs");
    refused(two_classes(1, 0.5, [1, 1], [EXP, "\"40ms\""]), "las", "las");
    let mut sleeps = open(0.5, EXP);
    sleeps.tasks = sleeps.tasks.replace("program = [", "program = [ { sleep = \"1ms\" },");
    refused(sleeps, "ps", "task jobs does not use");
    let mut ticks = open(0.5, H2);
    ticks.tasks = "tick = \"1ms\"\n".to_owned() + &ticks.tasks;
    refused(ticks, "rr", "ticks");
    refused(open(0.5, EXP), "hrrn", "hrrn on one CPU");
    refused(open(0.5, H2), "sfq@cpu", "one queue");
    let mut periodic = open(0.5, EXP);
    periodic.tasks = periodic.tasks.replace("open = { exp =", "open = { constant =");
    periodic.tasks = periodic.tasks.replace("{ constant = \"20000000ns\" }", "\"20ms\"");
    refused(periodic, "ps", "does not arrive at random");
}

/// Users who do not think are always there.
#[test]
fn users_who_do_not_think() {
    let tasks = format!(
        "[[task]]\nname = \"users\"\ncount = 5\narrivals = {{ closed = \"0ms\" }}\nprogram = [ {{ run = {EXP} }} ]\n"
    );
    let model = Model { cpus: 2, quantum: "4ms", tasks, duration_s: 60.0 };
    assert_eq!(of(&model, "rr").response_mean_ns, Some(2.5 * 1e6 * MEAN_MS));
}
