//! The GR3 paper's study of service errors (section 5.1): the ranges that it prints for the baselines, in small.

use divvy_tests::study::{Params, Range, cell, errors};

/// A range that the paper prints, as it is reproduced here. papers/gr3.md tells which statistic it is.
struct Row {
    policy: &'static str,
    params: Params,
    /// Number of clients in the cell that has the extremes
    n: usize,
    sets: u32,
    /// Means of the least and of the greatest error
    mean: Range,
    /// Relative tolerance of the means
    tolerance: f64,
}

const ONE: i64 = 1 << 16;
const TOTAL: u64 = 262_144;

/// Ranges from 2,500 sets, in a prototype that shares no code with this. The few sets used here come within the tolerance.
const ROWS: [Row; 11] = [
    // The paper has -12067 .. 23593.
    Row {
        policy: "wrr",
        params: &[("wrr", 0, ONE)],
        n: 32,
        sets: 100,
        mean: (-12_061.0, 23_592.64),
        tolerance: 0.03,
    },
    Row {
        policy: "wrr",
        params: &[("wrr", 0, ONE)],
        n: 8192,
        sets: 2,
        mean: (-57.6, 23_592.64),
        tolerance: 0.01,
    },
    Row {
        policy: "drr",
        params: &[("drr", 0, ONE)],
        n: 8192,
        sets: 2,
        mean: (-57.6, 23_592.64),
        tolerance: 0.01,
    },
    // The paper has -2129 .. 10079.
    Row { policy: "vtrr", params: &[], n: 8192, sets: 8, mean: (-2_141.0, 10_529.0), tolerance: 0.06 },
    // The paper has -369 .. 369.
    Row { policy: "srr", params: &[], n: 8192, sets: 8, mean: (-368.5, 369.2), tolerance: 0.01 },
    Row { policy: "strr", params: &[], n: 8192, sets: 2, mean: (-382.0, 273.0), tolerance: 0.04 },
    // The paper has -1 .. 819: (N - 1) phi/Phi with other ties, where ours have N phi/Phi - 1.
    Row { policy: "wfq", params: &[], n: 8192, sets: 1, mean: (-1.0, 818.25), tolerance: 0.001 },
    // The paper has -1 .. 1.
    Row { policy: "wf2q", params: &[], n: 8192, sets: 1, mean: (-1.0, 1.0), tolerance: 0.001 },
    Row { policy: "wf2qplus", params: &[], n: 8192, sets: 1, mean: (-1.0, 1.0), tolerance: 0.001 },
    // SFQ has -818.25 .. 1; with C of a quantum it is ahead by up to 2.
    Row { policy: "bvt", params: &[], n: 8192, sets: 1, mean: (-818.25, 1.72), tolerance: 0.01 },
    // In neither paper; as measured, and within what papers/qfq.md claims.
    Row { policy: "qfq", params: &[], n: 8192, sets: 1, mean: (-3.43, 2.48), tolerance: 0.1 },
];

#[test]
fn the_study_in_small() {
    for row in ROWS {
        let (_, mean) = cell(row.policy, row.params, row.n, TOTAL, 10, row.sets);
        let close = |is: f64, expected: f64| (is - expected).abs() <= row.tolerance * expected.abs();
        assert!(
            close(mean.0, row.mean.0) && close(mean.1, row.mean.1),
            "{} {}: {:.2} .. {:.2}, expected {:?}",
            row.policy,
            row.n,
            mean.0,
            mean.1,
            row.mean
        );
    }
}

/// `POLICIES=wrr,srr CELLS=32:262144:10 cargo test .. explore -- --ignored --nocapture`
#[test]
#[ignore = "for looking"]
fn explore() {
    let var = |name: &str| std::env::var(name).unwrap();
    for policy in var("POLICIES").split(',') {
        for cell_ in var("CELLS").split(',') {
            let f: Vec<u64> = cell_.split(':').map(|x| x.parse().unwrap()).collect();
            let (worst, mean) = cell(policy, unit(policy), f[0] as usize, f[1], f[2], f[3] as u32);
            println!(
                "{policy} N {} Phi {} skew {}: worst {:.2} .. {:.2}, mean {:.2} .. {:.2}",
                f[0], f[1], f[2], worst.0, worst.1, mean.0, mean.1
            );
        }
    }
}

/// The parameter that makes a quantum worth a weight of 1, where there is one
fn unit(policy: &str) -> Params {
    match policy {
        "wrr" => &[("wrr", 0, ONE)],
        "drr" => &[("drr", 0, ONE)],
        _ => &[],
    }
}

/// Five servers of 20 processes each. GR3 is better than WFQ and VTRR if the weights of a group are equal, and worse if they are not: a group
/// takes its clients in turn, by whole quanta, and what is left of a client's weight waits in its deficit.
#[test]
fn gr3_c16_its_errors_are_the_least_only_if_the_weights_of_a_group_are_equal() {
    let span = |policy: &str, servers: [u64; 5]| {
        let weights: Vec<u64> = servers.into_iter().flat_map(|weight| [weight; 20]).collect();
        let (least, most) = errors(policy, &[], &weights, true);
        most - least
    };
    let spans = |servers| ["gr3", "wfq", "vtrr"].map(|policy| span(policy, servers));
    let [gr3, wfq, vtrr] = spans([1, 2, 4, 8, 16]);
    assert!(gr3 < wfq && wfq < vtrr, "each weight has a group: {gr3} {wfq} {vtrr}");
    for servers in [[1, 2, 3, 4, 5], [1, 1, 3, 3, 3]] {
        let [gr3, wfq, vtrr] = spans(servers);
        assert!(gr3 > wfq && gr3 > vtrr, "{servers:?}: {gr3} {wfq} {vtrr}");
    }
}
