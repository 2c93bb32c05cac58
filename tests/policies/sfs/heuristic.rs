//! Surplus fair scheduling: the heuristic of section 3.2, against the formulas.

use divvy_policy::Weight;
use divvy_sim::oracle::{Rational, whole};
use divvy_tests::cases::config;
use divvy_tests::lockstep::QUANTUM_NS;
use num_traits::Zero;
use proptest::prelude::*;

use super::surplus::{EXACT, Event, Judged, Params, mixed};

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

/// R7 as a second program: the three orders are lists that are sorted for each choice.
struct Three {
    judged: Judged,
    params: Params,
    decisions: i64,
    /// When each thread began to wait, and its surplus then or at the last update, in whole ns
    old: Vec<(u64, Rational)>,
}

impl Three {
    fn new(params: Params, cpus: u32) -> Three {
        Three { judged: Judged::new(params, cpus), params, decisions: 0, old: Vec::new() }
    }

    /// Threads that wait, and the one that was chosen just now: its tags stay while it runs.
    fn waiting(&self, chosen: Option<usize>) -> Vec<usize> {
        let threads = &self.judged.threads;
        (1..threads.len())
            .filter(|&id| threads[id].runnable && (threads[id].on.is_none() || chosen == Some(id)))
            .collect()
    }

    /// A thread that began to wait since the last event gets its place among the surpluses. At an update all do.
    fn sort_in(&mut self, waiting: &[usize], all: bool) {
        self.old.resize(self.judged.threads.len(), (0, Rational::zero()));
        for &id in waiting {
            let turn = self.judged.threads[id].turn.1;
            if all || self.old[id].0 != turn {
                let ns = surplus_of(&self.judged, id) / whole(Weight::NICE_0.fixed());
                self.old[id] = (turn, ns.floor());
            }
        }
    }

    /// The first k of each order
    fn examined(&self, waiting: &[usize]) -> Vec<usize> {
        let thread = |&id: &usize| &self.judged.threads[id];
        let tag = |id: &usize| (thread(id).start_tag.clone(), thread(id).turn.1);
        let mut orders = [waiting.to_vec(), waiting.to_vec(), waiting.to_vec()];
        orders[0].sort_by_cached_key(|id| (thread(id).phi, tag(id)));
        orders[1].sort_by_cached_key(tag);
        orders[2].sort_by_cached_key(|id| (self.old[*id].1.clone(), tag(id)));
        orders.iter().flat_map(|order| order.iter().take(self.params.k as usize).copied()).collect()
    }

    /// Returns what R7 chooses and what the policy chose, if this is a choice.
    fn happens(&mut self, event: &Event) -> Option<[Option<usize>; 2]> {
        let choices = self.judged.happens(event);
        let chosen = choices.and_then(|[_, chosen]| chosen);
        let waiting = self.waiting(chosen);
        self.decisions += i64::from(choices.is_some());
        let all = choices.is_some() && self.decisions % self.params.update == 0;
        self.sort_in(&waiting, all);
        let best = || self.examined(&waiting).into_iter().min_by_key(|&id| self.judged.rank(id));
        choices.map(|_| [best(), chosen])
    }
}

/// Powers of two divide a quantum without a rest, so that equal start tags are equal in the policy as well.
fn event_with_exact_tags() -> impl Strategy<Value = Event> {
    let weight = || prop_oneof![Just(1u64), Just(2), Just(4)];
    prop_oneof![
        2 => weight().prop_map(Event::Arrive),
        3 => (0usize..99).prop_map(Event::Block),
        1 => (0usize..99).prop_map(Event::Exit),
        3 => (0usize..99).prop_map(Event::Wake),
        1 => (0usize..99, weight()).prop_map(|(n, w)| Event::Reweigh(n, w)),
        16 => (0usize..4).prop_map(Event::Decide),
        8 => (0u32..3).prop_map(|halved| Event::Pass(1_000_000 >> halved)),
    ]
}

proptest! {
    #![proptest_config(config(2_000, 10))]

    /// Many threads are alike in each order, and few are looked at. There are always so many that all weights are feasible.
    #[test]
    fn sfs_r7_the_three_orders_and_their_ties(
        cpus in 1u32..5,
        k in 1i64..4,
        update in 1i64..12,
        events in prop::collection::vec(event_with_exact_tags(), 100),
    ) {
        let enough = 4 * cpus as usize + 2;
        let mut three = Three::new(Params { k, update, ..EXACT }, cpus);
        (0..enough + 4).for_each(|n| three.judged.arrive(1 << (n * n % 3)));
        for event in &events {
            let leaves = matches!(event, Event::Block(_) | Event::Exit(_));
            if leaves && three.judged.threads.iter().filter(|thread| thread.runnable).count() <= enough {
                continue;
            }
            if let Some([best, chosen]) = three.happens(event) {
                prop_assert_eq!(best, chosen);
            }
        }
    }
}
