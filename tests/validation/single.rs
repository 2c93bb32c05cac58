//! One CPU.

use divvy_sim::oracle::queueing::Size;
use divvy_sim::oracle::queueing::single::{
    fcfs_response, las_response, mm1_response, ps_response, sjf_response, srpt_response,
};

use crate::model::{CONSTANT, ERLANG, EXP, H2, MEAN_MS, Model, TINY, assert_mean, selections};

const LOAD: f64 = 0.7;

fn lambda(load: f64) -> f64 {
    load / MEAN_MS
}

fn check(seed: u64, spec: &str, size: &str, quantum: &'static str, jobs: f64, exact: impl Fn(f64) -> f64) {
    let got = Model::open(1, LOAD, size, quantum, jobs).responses(spec, seed);
    assert_mean(&format!("{spec}, {size}"), &got, exact(lambda(LOAD)), exact(lambda(1.05 * LOAD)));
}

/// With exponential sizes no policy that is blind to them can change the mean.
#[test]
fn mm1_under_every_policy() {
    for spec in selections() {
        check(1, spec, EXP, "4ms", 100e3, |lambda| mm1_response(lambda, 1.0 / MEAN_MS));
    }
}

#[test]
fn mg1_first_come_first_served() {
    for (toml, size) in [(CONSTANT, Size::Constant(MEAN_MS)), (H2, Size::hyper2(MEAN_MS, 4.0))] {
        check(2, "fcfs", toml, "4ms", 600e3, |lambda| fcfs_response(lambda, &size));
    }
}

/// Round-robin as quanta go to 0 is processor sharing, whose mean depends on the mean size only.
#[test]
fn mg1_processor_sharing() {
    for (toml, size) in [
        (CONSTANT, Size::Constant(MEAN_MS)),
        (ERLANG, Size::exponential(MEAN_MS)),
        (H2, Size::hyper2(MEAN_MS, 4.0)),
    ] {
        check(3, "rr", toml, TINY, 150e3, |lambda| ps_response(lambda, &size));
    }
}

#[test]
fn mg1_least_attained_service() {
    let size = Size::hyper2(MEAN_MS, 4.0);
    check(4, "pbs:alpha=inf", H2, TINY, 150e3, |lambda| las_response(lambda, &size));
}

/// The quantum changes nothing.
#[test]
fn srpt_r1_r2_schrage_miller() {
    for (toml, size) in [(EXP, Size::exponential(MEAN_MS)), (H2, Size::hyper2(MEAN_MS, 4.0))] {
        check(5, "srpt", toml, "4ms", 300e3, |lambda| srpt_response(lambda, &size));
    }
}

#[test]
fn sjf_r1_r2_phipps() {
    let size = Size::exponential(MEAN_MS);
    check(6, "sjf", EXP, "4ms", 300e3, |lambda| sjf_response(lambda, &size));
}

/// Falling hazard rate: LAS before PS before FCFS, on the same arrivals and sizes.
#[test]
fn the_order_of_policies_for_variable_sizes() {
    let means: Vec<f64> = ["pbs:alpha=inf", "rr", "fcfs"]
        .map(|spec| Model::open(1, LOAD, H2, TINY, 30e3).responses(spec, 1).mean.expect("jobs"))
        .to_vec();
    assert!(means[0] < 0.9 * means[1] && means[1] < 0.8 * means[2], "{means:?}");
}
