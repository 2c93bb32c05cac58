//! The process-fair scheduler's paper, equations 3 to 5: program A of 4 threads beside B of n threads of the same
//! work, each of which alone takes T on 4 CPUs.

use divvy_sim::oracle::procfair::{FairTo, Program, alpha, beta, completions};
use divvy_sim::oracle::{Rational, whole};
use num_traits::ToPrimitive;

use divvy_tests::example::{Example, MS, present, run};

/// T in ms: what 4 to 32 threads share evenly.
const T_MS: u32 = 3360;
const CPUS: u32 = 4;

/// A thread of B needs 4T/n.
fn programs(a_threads: u32, b_threads: u32) -> String {
    let program = |name: &str, threads: u32| {
        let each_us = u64::from(CPUS * T_MS) * 1000 / u64::from(threads);
        format!(
            "[[task]]\nname = \"{name}\"\nprocess = \"{name}\"\ncount = {threads}\nprogram = [ {{ run = \"{each_us}us\" }} ]\n"
        )
    };
    format!("cpus = {CPUS}\nquantum = \"1ms\"\n{}{}", program("A", a_threads), program("B", b_threads))
}

fn ms(time: &Rational) -> f64 {
    time.to_f64().expect("a finite time")
}

fn ends_ms(example: &Example) -> [f64; 2] {
    ["A", "B"].map(|p| example.end_of_process(p) as f64 / MS as f64)
}

/// Within two rounds of all threads, or a percent: policies on Linux's lines keep slices of their own.
fn assert_near(spec: &str, n: u32, got: f64, expected: f64) {
    let tolerance = (2.0 * f64::from(n + 4) / f64::from(CPUS)).max(0.01 * expected);
    assert!((got - expected).abs() <= tolerance, "{spec}, n = {n}: {got} ms, expected {expected} ms");
}

#[test]
fn thread_fair_schedulers_obey_equations_3_to_5() {
    let t = whole(T_MS);
    for n in [4, 6, 8, 12, 16, 24, 32] {
        let toml = programs(4, n);
        for spec in present(&["sfq", "stride", "sfs", "gr3", "rr", "eevdf", "cfs"]) {
            let [a, b] = ends_ms(&run(&toml, spec));
            assert_near(spec, n, b, ms(&alpha(&t, CPUS, n)));
            assert_near(spec, n, a, ms(&(alpha(&t, CPUS, n) + beta(&t, CPUS, n))));
        }
    }
}

#[test]
fn both_programs_end_together_under_procfair() {
    for n in [4, 6, 8, 12, 16, 24, 32] {
        let toml = programs(4, n);
        for policy in present(&["sfq", "stride", "sfs", "gr3", "eevdf", "cfs"]) {
            let spec = format!("{policy}+procfair");
            let [a, b] = ends_ms(&run(&toml, &spec));
            assert_near(&spec, n, a, f64::from(2 * T_MS));
            assert_near(&spec, n, b, f64::from(2 * T_MS));
        }
    }
}

/// A program of one thread cannot use its half of four CPUs: its weight is readjusted, and B gets what it leaves.
#[test]
fn one_thread_beside_many() {
    let work = whole(CPUS * T_MS) / whole(4);
    let fluid = completions(
        &[Program { threads: 1, work: work.clone() }, Program { threads: 8, work: whole(CPUS * T_MS) }],
        CPUS,
        FairTo::Programs,
    );
    let each = T_MS;
    let toml = format!(
        "cpus = 4\nquantum = \"1ms\"\n[[task]]\nname = \"A\"\nprogram = [ {{ run = \"{each}ms\" }} ]\n\
         [[task]]\nname = \"B\"\nprocess = \"B\"\ncount = 8\nprogram = [ {{ run = \"{}ms\" }} ]\n",
        CPUS * T_MS / 8
    );
    for spec in ["sfq+procfair+feasible", "sfs+procfair"] {
        let [a, b] = ends_ms(&run(&toml, spec));
        assert_near(spec, 8, a, ms(&fluid[0]));
        assert_near(spec, 8, b, ms(&fluid[1]));
    }
}
