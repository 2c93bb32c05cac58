//! A closed system: users think, then ask for work, again and again (machine repair).

use divvy_sim::oracle::queueing::closed::{Closed, mean_value_analysis};

use crate::model::{ERLANG, EXP, H2, MEAN_MS, Model, TINY, assert_mean};

const USERS: u32 = 10;

/// Users that think for so long on the average.
fn model(cpus: u32, think: &str, size: &str, quantum: &'static str, duration_s: f64) -> Model {
    let tasks = format!(
        "[[task]]\nname = \"users\"\ncount = {USERS}\narrivals = {{ closed = {think} }}\nprogram = [ {{ run = {size} }} ]\n"
    );
    Model { cpus, quantum, tasks, duration_s }
}

/// The load grows as users think less.
fn exact(cpus: u32, think_ms: f64) -> f64 {
    Closed { users: USERS, think: think_ms, size: MEAN_MS, cpus }.steady().response
}

/// Only means matter, of thinking and of sizes: constant, exponential, Erlang, hyperexponential; quanta are tiny where
/// sizes are not exponential.
#[test]
fn machine_repair() {
    for (cpus, think_ms, s) in [(1, 70.0, 800.0), (4, 10.0, 300.0)] {
        let (exp, constant) = (format!("{{ exp = \"{think_ms}ms\" }}"), format!("\"{think_ms}ms\""));
        for (think, size, quantum) in [(&exp, EXP, "4ms"), (&constant, H2, TINY), (&exp, ERLANG, TINY)] {
            let got = model(cpus, think, size, quantum, s).responses("rr", 8);
            let what = format!("rr, {cpus} CPUs, think {think}, {size}");
            assert_mean(&what, &got, exact(cpus, think_ms), exact(cpus, think_ms / 1.1));
        }
    }
}

/// Under other policies, with exponential sizes.
#[test]
fn machine_repair_under_other_policies() {
    for spec in ["fcfs", "sfq", "gr3", "pbs"] {
        let got = model(1, "{ exp = \"70ms\" }", EXP, "4ms", 600.0).responses(spec, 9);
        let exact = mean_value_analysis(USERS, 70.0, MEAN_MS).response;
        assert_mean(spec, &got, exact, mean_value_analysis(USERS, 70.0 / 1.1, MEAN_MS).response);
    }
}
