//! Discriminatory processor sharing: what weighted fair policies become as quanta go to 0.

use divvy_sim::oracle::queueing::dps::{Class, responses};

use crate::model::{EXP, MEAN_MS, Model, TINY, assert_mean, class};

const WEIGHTS: [u32; 3] = [1, 2, 6];

fn exact(load: f64) -> Vec<f64> {
    let of =
        |&weight: &u32| Class { lambda: load / 3.0 / MEAN_MS, mu: 1.0 / MEAN_MS, weight: f64::from(weight) };
    responses(&WEIGHTS.iter().map(of).collect::<Vec<_>>())
}

fn model(load: f64, jobs: f64) -> Model {
    let between_ms = 3.0 * MEAN_MS / load;
    let tasks = WEIGHTS.iter().map(|w| class(&format!("w{w}"), *w, between_ms, EXP)).collect();
    Model { cpus: 1, quantum: TINY, tasks, duration_s: jobs * MEAN_MS / load / 1000.0 }
}

#[test]
fn three_classes_of_weighted_jobs() {
    let load = 0.7;
    for spec in ["sfq", "stride", "gr3"] {
        let run = model(load, 100e3).run(spec, 7);
        let (right, wrong) = (exact(load), exact(1.05 * load));
        for (i, task) in run.tasks.iter().enumerate() {
            assert_mean(&format!("{spec}, {}", task.name), &task.response_ns, right[i], wrong[i]);
        }
    }
}
