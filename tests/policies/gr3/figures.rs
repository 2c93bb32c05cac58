//! Group Ratio Round-Robin, figures 1 to 3.
use divvy_policy::spec::parse;
use divvy_sim::run::{Options, simulate};

use divvy_tests::example::workload;

/// The first decisions of each CPU, with the tasks in this order.
fn schedule(cpus: u32, tasks: &[(&str, u32)], n: usize) -> Vec<Vec<String>> {
    let task = |(name, weight): &(&str, u32)| {
        format!("[[task]]\nname = \"{name}\"\nweight = {weight}\nprogram = [ {{ run = \"forever\" }} ]\n")
    };
    let tasks: String = tasks.iter().map(task).collect();
    let toml = format!("cpus = {cpus}\nquantum = \"10ms\"\nduration = \"1s\"\n{tasks}");
    let spec = parse("gr3", divvy_policy::all()).expect("a policy");
    let options = Options { first_decisions: n, ..Options::default() };
    let report = simulate(&workload(&toml), &[spec], &options, &()).unwrap_or_else(|e| panic!("{e}"));
    report.runs[0].first_decisions.clone().expect("asked for")
}

fn words(text: &str) -> Vec<&str> {
    text.split_whitespace().collect()
}

#[test]
fn figure_1() {
    let tasks = [("C1", 5), ("C2", 2), ("C3", 1)];
    assert_eq!(schedule(1, &tasks, 16)[0], words("C1 C1 C2 C1 C1 C1 C2 C3").repeat(2));
}

#[test]
fn figure_2() {
    let tasks = [("C1", 12), ("C2", 3), ("C3", 3), ("C4", 2), ("C5", 2), ("C6", 2)];
    let period = words("C2 C1 C3 C1 C4 C1 C5 C1 C6 C1 C2 C1 C2 C1 C3 C1 C3 C1 C4 C1 C5 C1 C6 C1");
    assert_eq!(schedule(1, &tasks, 48)[0], period.repeat(2));
}

/// Weights 3, 2, 1 with C2 before C1 in their group; on two CPUs C1 runs from its frontlog every third quantum.
#[test]
fn figure_3() {
    let tasks = [("C2", 2), ("C1", 3), ("C3", 1)];
    assert_eq!(schedule(1, &tasks, 12)[0], words("C2 C1 C2 C1 C1 C3").repeat(2));
    let both = schedule(2, &tasks, 9);
    assert_eq!(both[0], words("C2 C2 C3").repeat(3));
    assert_eq!(both[1], words("C1 C1 C1").repeat(3));
}
