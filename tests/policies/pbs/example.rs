//! PBS, Figure 2: four tasks that arrive at 0, 1, 3, 5 s and need 4.5, 2.5, 3, 2 s.

use divvy_sim::oracle::pbs_fluid::{Job, completions};

use divvy_tests::example::{MS, S, run};

const FIGURE_2: &str = r#"
quantum = "1ms"

[[task]]
name = "C1"
program = [ { run = "4.5s" } ]

[[task]]
name = "C2"
start = "1s"
program = [ { run = "2.5s" } ]

[[task]]
name = "C3"
start = "3s"
program = [ { run = "3s" } ]

[[task]]
name = "C4"
start = "5s"
program = [ { run = "2s" } ]
"#;

/// The fluid solution, in seconds, from another program.
const COMPLETIONS: [(&str, [f64; 4]); 10] = [
    ("0", [4.5, 7.0, 10.0, 12.0]),
    ("0.01", [4.5, 7.0, 10.0, 12.0]),
    ("0.1", [4.978414, 7.045046, 10.110335, 12.0]),
    ("0.4", [9.392796, 7.273593, 11.539590, 12.0]),
    ("0.5", [10.549980, 7.368978, 11.790141, 12.0]),
    ("0.7", [11.981300, 7.752610, 12.0, 11.790824]),
    ("1", [12.0, 8.283882, 11.552343, 10.880678]),
    ("2", [12.0, 9.097682, 11.016806, 9.749642]),
    ("100", [12.0, 9.496082, 10.510100, 8.046481]),
    ("inf", [12.0, 9.5, 10.5, 8.0]),
];

fn ends(spec: &str) -> Vec<u64> {
    let example = run(FIGURE_2, spec);
    ["C1", "C2", "C3", "C4"].iter().map(|c| example.end_of_process(c)).collect()
}

#[test]
fn completion_times_are_those_of_the_fluid_solution() {
    for (alpha, fluid) in COMPLETIONS {
        for (end, fluid) in ends(&format!("pbs:alpha={alpha}")).iter().zip(fluid) {
            let off_ms = (*end as f64 - fluid * S as f64).abs() / MS as f64;
            assert!(off_ms <= 5.0, "alpha {alpha}: {end} ns, fluid {fluid} s");
        }
    }
}

/// Between the printed values of alpha, too.
#[test]
fn completion_times_are_those_of_the_fluid_oracle() {
    let jobs = [(0.0, 4.5), (1.0, 2.5), (3.0, 3.0), (5.0, 2.0)];
    let jobs = jobs.map(|(arrival, demand)| Job { arrival, demand });
    for alpha in ["0.25", "0.75", "1.5", "5"] {
        let fluid = completions(&jobs, alpha.parse().expect("a number"), 0.001);
        for (end, fluid) in ends(&format!("pbs:alpha={alpha}")).iter().zip(fluid) {
            let off_ms = (*end as f64 - fluid * S as f64).abs() / MS as f64;
            assert!(off_ms <= 5.0, "alpha {alpha}: {end} ns, fluid {fluid} s");
        }
    }
}

/// The ends of the scale are policies of their own.
#[test]
fn alpha_0_is_first_come_first_served() {
    assert_eq!(ends("pbs:alpha=0"), ends("fcfs"));
}
