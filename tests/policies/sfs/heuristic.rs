//! Surplus fair scheduling: the heuristic of section 3.2, against the formulas.

use divvy_sim::oracle::Rational;
use divvy_tests::lockstep::QUANTUM_NS;

use super::surplus::{EXACT, Judged, Params, mixed};

/// How many of 100 choices on 4 CPUs are a thread with the least surplus. Quanta are of different lengths, as some end
/// early.
fn accuracy(n: usize, k: i64, update: i64) -> f64 {
    let mut judged = Judged::new(Params { k, update, ..EXACT }, 4);
    mixed(n).for_each(|weight| judged.arrive(weight));
    let decisions = 10 * n.max(200);
    let mut right = 0;
    for i in 0..decisions as u64 + n as u64 {
        // Threads leave the first round, where all have the same tag.
        let counts = i >= n as u64;
        let [best, chosen] = judged.decide((i % 4) as usize);
        let equal = best.zip(chosen).is_some_and(|(b, c)| surplus_of(&judged, b) == surplus_of(&judged, c));
        right += u64::from(counts && equal);
        judged.pass(QUANTUM_NS / 4 - i * i * 7919 % (QUANTUM_NS / 5));
    }
    100.0 * right as f64 / decisions as f64
}

/// At the last decision: a start tag stays while the thread runs.
fn surplus_of(judged: &Judged, id: usize) -> Rational {
    judged.rank(id).0
}

/// Figure 3 on a small scale: the more are looked at, the more choices are right; 20 of each order are nearly enough,
/// and one is nearly enough where the surpluses by which one order goes are not old.
#[test]
fn sfs_r7_accuracy_grows_with_k() {
    for n in [50, 200] {
        let got: Vec<f64> = [1, 5, 20, n as i64].into_iter().map(|k| accuracy(n, k, 100)).collect();
        assert!(got.windows(2).all(|w| w[0] <= w[1] + 1.0), "{n} threads: {got:?}");
        assert!(got[0] + 5.0 < got[2] && got[2] > 90.0 && got[3] == 100.0, "{n} threads: {got:?}");
        let fresh = accuracy(n, 1, 10);
        assert!(
            fresh > got[0] + 20.0,
            "{n} threads: {fresh} where surpluses are not old, {} where they are",
            got[0]
        );
    }
}

/// Prints Figure 3: `cargo test -p divvy-tests --test policies figure_3 -- --ignored --nocapture`
#[test]
#[ignore = "prints a table"]
fn sfs_r7_figure_3_table() {
    for update in [10, 100, 1000] {
        println!("surpluses computed anew every {update} decisions; % right, 4 CPUs");
        println!("{:>8} {:>6} {:>6} {:>6} {:>6} {:>6} {:>6}", "runnable", 1, 2, 5, 10, 20, 40);
        for n in [50, 100, 200, 300, 400] {
            let row: Vec<String> =
                [1, 2, 5, 10, 20, 40].map(|k| format!("{:>6.1}", accuracy(n, k, update))).to_vec();
            println!("{n:>8} {}", row.join(" "));
        }
    }
}

/// With all of a queue looked at, and the surpluses that were known, the heuristic is no heuristic.
#[test]
fn sfs_r7_all_of_them_is_exact() {
    let mut judged = Judged::new(Params { k: 1024, ..EXACT }, 3);
    mixed(40).for_each(|weight| judged.arrive(weight));
    for i in 0..2000 {
        let [best, chosen] = judged.decide(i % 3);
        assert_eq!(best, chosen, "decision {i}");
        judged.pass(QUANTUM_NS / 3);
    }
}
