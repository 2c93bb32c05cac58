//! Parts of a sweep, answered in any order.

use std::sync::Arc;

use divvy_policy::spec::{Spec, parse_list};
use divvy_policy::{Failure as _, FailureKind};
use divvy_sim::run::Options;
use divvy_sweep::{
    Answer, ClusterError, Dispatch, Part, Plan, Refused, Request, SweepOptions, Vary, identity, run_into,
    table,
};

const TEXT: &str = r#"
duration = "300ms"

[[task]]
name = "request"
arrivals = { open = { exp = "40ms" } }
program = [ { run = { exp = "10ms" } } ]
"#;

struct Sweep {
    plan: Arc<Plan>,
    rows: Vec<usize>,
    request: Request,
    identity: String,
    whole: String,
}

/// 30 points of rr and 30 of pbs.
fn sweep() -> Sweep {
    let specs = parse_list(&["pbs,rr".to_owned()], divvy_policy::all()).expect("policies");
    let varied = [Vary::parse("load=0.3..0.88:0.02", 100).expect("values")];
    let options = Options { seed: 3, reps: 2, ..Options::default() };
    let request = SweepOptions {
        text: TEXT,
        file: "q.toml",
        specs: &specs,
        varied: &varied,
        options: &options,
        warm_up: None,
        per_task: false,
        baseline: None,
        most: 100,
    };
    let plan = Arc::new(Plan::new(&request).expect("a plan"));
    let rows = table::shard(&plan, 1, 1);
    let mut whole = String::new();
    run_into(&plan, &rows, &(), &mut whole).expect("it runs");
    let identity = identity(&specs as &[Spec]);
    Sweep { request: Request::new(&request), plan, rows, identity, whole }
}

impl Sweep {
    fn dispatch(&self) -> Dispatch {
        Dispatch::new(&self.plan, &self.rows, self.identity.clone())
    }

    fn answer(&self, part: &Part) -> Answer {
        Answer::to(self.request.clone(), part, &())
    }
}

fn given(dispatch: &mut Dispatch, threads: usize) -> Vec<(usize, Part)> {
    std::iter::from_fn(|| dispatch.next(threads)).collect()
}

/// The workers' speeds decide how large parts are, and which answer is the next: never the bytes.
#[test]
fn answers_in_any_order_are_the_bytes_of_one_run() {
    let sweep = sweep();
    for (threads, seconds, is_last_first) in
        [(1, 0.01, false), (3, 0.01, true), (4, 9.0, true), (7, 0.5, false)]
    {
        let mut dispatch = sweep.dispatch();
        let (mut text, mut under_way, mut sizes) = (String::new(), Vec::new(), Vec::new());
        while !dispatch.is_complete() {
            under_way.extend(given(&mut dispatch, threads));
            assert!((1..=2 * threads).contains(&under_way.len()), "{} under way", under_way.len());
            let at = if is_last_first { under_way.len() - 1 } else { 0 };
            let (number, part) = under_way.remove(at);
            sizes.push(part.rows().len());
            let took_s = seconds * part.rows().len() as f64;
            text.push_str(&dispatch.take(number, sweep.answer(&part), "w", took_s).expect("rows"));
        }
        assert_eq!(text, sweep.whole, "{threads} threads");
        let largest = sizes.iter().max().expect("parts");
        assert_eq!(*largest > 1, seconds < 4.0, "{sizes:?}");
        assert_eq!((dispatch.done(), sizes.iter().sum()), (60, 60));
    }
}

#[test]
fn a_part_is_given_again_by_nobody_here_and_an_answer_counts_once() {
    let sweep = sweep();
    let mut dispatch = sweep.dispatch();
    assert!(dispatch.next(0).is_none(), "no worker");
    let parts = given(&mut dispatch, 1);
    let (number, part) = &parts[0];
    let lines = dispatch.take(*number, sweep.answer(part), "w", 1.0).expect("rows");
    assert!(!lines.is_empty() && sweep.whole.starts_with(&lines));
    assert_eq!(dispatch.take(*number, sweep.answer(part), "w", 1.0).expect("nothing"), "");
}

/// One machine writes all rows before the one that fails.
#[test]
fn an_error_comes_after_the_rows_before_it() {
    let sweep = sweep();
    let mut dispatch = sweep.dispatch();
    let parts = given(&mut dispatch, 2);
    assert_eq!(parts.len(), 4);
    let refused = Answer {
        rows: String::new(),
        error: Some(Refused { text: "at load=0.32: it overflows".to_owned(), code: 4 }),
        ..sweep.answer(&parts[2].1)
    };
    assert_eq!(dispatch.take(parts[2].0, refused, "w", 1.0).expect("it waits"), "");
    assert!(dispatch.next(9).is_none(), "nothing new is begun");
    let first = dispatch.take(parts[0].0, sweep.answer(&parts[0].1), "w", 1.0).expect("rows");
    let (second, error) =
        dispatch.take(parts[1].0, sweep.answer(&parts[1].1), "w", 1.0).expect_err("the error's turn");
    let lines = sweep.whole.split_inclusive('\n').take(2).collect::<String>();
    assert_eq!(first + &second, lines);
    assert_eq!(
        (error.to_string().as_str(), error.kind()),
        ("at load=0.32: it overflows", FailureKind::BadInput)
    );
}

#[test]
fn other_answers_are_refused() {
    let sweep = sweep();
    let good = |part: &Part| sweep.answer(part);
    let refusal = |change: &dyn Fn(Answer) -> Answer| -> ClusterError {
        let mut dispatch = sweep.dispatch();
        let parts = given(&mut dispatch, 2);
        let (number, part) = &parts[1];
        let (lines, error) =
            dispatch.take(*number, change(good(part)), "tcp://w:1", 1.0).expect_err("it is refused");
        assert_eq!(lines, "");
        error
    };
    let said = |change: &dyn Fn(Answer) -> Answer| refusal(change).to_string();
    let of_another_divvy = said(&|answer| Answer { identity: "0.0.9 (ab)".to_owned(), ..answer });
    assert!(of_another_divvy.starts_with("the divvy of worker tcp://w:1 is 0.0.9 (ab), and this one is 0."));
    let lost = said(&|answer| Answer { identity: String::new(), ..answer });
    assert!(lost.contains("the divvy of worker"), "{lost}");
    let fewer = said(&|answer| Answer { rows: String::new(), ..answer });
    assert!(fewer.ends_with("than point 2 (rr: load=0.3): 0 of 1 rows came"), "{fewer}");
    let twice = said(&|answer| Answer { rows: answer.rows.repeat(2), ..answer });
    assert!(twice.contains("row 2 is point 2, and not the end"), "{twice}");
    let cut = said(&|answer| Answer { rows: answer.rows.clone() + "3,60", ..answer });
    assert!(cut.contains("cut off"), "{cut}");
    let short = said(&|answer| {
        let fields: Vec<&str> = answer.rows.split(',').take(3).collect();
        Answer { rows: fields.join(",") + "\r\n", ..answer }
    });
    assert!(short.contains("row 1 is point 2, and not 2, with "), "{short}");
    let another = said(&|answer| Answer { rows: answer.rows.replacen('2', "3", 1), ..answer });
    assert!(another.contains("row 1 is point 3, and not 2"), "{another}");
}
