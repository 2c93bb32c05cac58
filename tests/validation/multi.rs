//! Several CPUs, one queue.

use divvy_sim::oracle::queueing::multi::{mgk_ps_response_of, mmk_response};

use crate::model::{ERLANG, EXP, H2, MEAN_MS, Model, TINY, assert_mean, selections};

const LOAD: f64 = 0.7;

fn lambda(load: f64, cpus: u32) -> f64 {
    load * f64::from(cpus) / MEAN_MS
}

#[test]
fn mmk_under_every_policy() {
    for cpus in [2, 4] {
        for spec in selections() {
            let got = Model::open(cpus, LOAD, EXP, "4ms", 80e3).responses(spec, 5);
            let exact = |load| mmk_response(lambda(load, cpus), 1.0 / MEAN_MS, cpus);
            assert_mean(&format!("{spec}, {cpus} CPUs"), &got, exact(LOAD), exact(1.05 * LOAD));
        }
    }
}

/// Global processor sharing: the mean of M/M/k whatever the sizes.
#[test]
fn mgk_processor_sharing() {
    for cpus in [2, 4] {
        for size in [ERLANG, H2] {
            let got = Model::open(cpus, LOAD, size, TINY, 100e3).responses("rr", 6);
            let exact = |load| mgk_ps_response_of(lambda(load, cpus), MEAN_MS, cpus, MEAN_MS);
            assert_mean(&format!("rr, {cpus} CPUs, {size}"), &got, exact(LOAD), exact(1.05 * LOAD));
        }
    }
}
