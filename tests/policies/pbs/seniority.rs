//! Section 3.5: fairness by seniority, the measure `seniority` of a run.

use divvy_tests::example;

/// Jobs of exponential sizes on a CPU that is busy for 80 % of the time.
const JOBS: &str = r#"
quantum = "1ms"
duration = "200s"
[[task]]
name = "job"
arrivals = { open = { exp = "100ms" } }
program = [ { run = { exp = "80ms" } } ]
"#;

fn seniority(spec: &str) -> f64 {
    example::run(JOBS, spec).0.run.seniority.expect("jobs are there together")
}

/// "The FCFS policy gets the most seniority fair; the PLCFS policy is the one that violates it most."
#[test]
fn pbs_c21_fairness_by_seniority_is_in_the_order_of_section_3_5() {
    assert_eq!((seniority("fcfs"), seniority("plcfs")), (1.0, 0.0));
    assert_eq!((seniority("pbs:alpha=0"), seniority("pbs:alpha=-0")), (1.0, 0.0));
    let by_alpha = ["0", "0.2", "0.5", "1", "4", "inf"].map(|alpha| seniority(&format!("pbs:alpha={alpha}")));
    println!("{by_alpha:?}");
    for pair in by_alpha.windows(2) {
        assert!(pair[0] > pair[1], "{by_alpha:?}");
    }
}
