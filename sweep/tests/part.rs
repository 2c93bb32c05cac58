//! Parts of a sweep, planned again by themselves, as another machine does.

use divvy_policy::file;
use divvy_policy::spec::{Spec, parse_list};
use divvy_sim::run::Options;
use divvy_sweep::{Part, Plan, Request, SweepOptions, Vary, identity, run_into, table};

const TEXT: &str = r#"
duration = "300ms"

[[task]]
name = "request"
arrivals = { open = { exp = "40ms" } }
program = [ { run = { exp = "10ms" } } ]
"#;

fn lines(plan: &Plan, rows: &[usize]) -> String {
    let mut text = String::new();
    run_into(plan, rows, &(), &mut text).expect("it runs");
    text
}

/// Rows for each task.
fn request<'a>(specs: &'a [Spec], varied: &'a [Vary], options: &'a Options) -> SweepOptions<'a> {
    SweepOptions {
        text: TEXT,
        file: "q.toml",
        specs,
        varied,
        options,
        warm_up: None,
        per_task: true,
        baseline: None,
        most: 100,
    }
}

fn options() -> Options {
    Options { seed: 3, reps: 2, ..Options::default() }
}

/// One policy has the parameter, so rows of the other and of differences belong to several points.
#[test]
fn parts_of_any_size_have_the_bytes_of_the_whole() {
    let specs = parse_list(&["pbs,rr".to_owned()], divvy_policy::all()).expect("policies");
    let varied = ["load=0.5,0.7", "alpha=0,1,inf"].map(|text| Vary::parse(text, 100).expect("values"));
    let options = options();
    let request = SweepOptions { baseline: Some(&specs[1]), ..request(&specs, &varied, &options) };
    let plan = Plan::new(&request).expect("a plan");
    let all = table::shard(&plan, 1, 1);
    let whole = lines(&plan, &all);
    let opened = Request::new(&request).open().expect("the same policies");
    for groups in 1..=3 {
        let (mut text, mut first) = (String::new(), 0);
        while first < all.len() {
            let end = (0..groups).fold(first, |at, _| Part::end_of_group(&plan, &all, at.min(all.len() - 1)));
            let part = Part::new(&plan, &all[first..end]);
            text.push_str(&lines(&opened.plan(&part).expect("a part"), &part.rows()));
            first = end;
        }
        assert_eq!(text, whole, "{groups} groups in a part");
    }
    let other =
        Request::new(&SweepOptions { varied: &varied[..1], specs: &specs[1..], baseline: None, ..request });
    assert!(other.open().expect("known").plan(&Part::new(&plan, &all)).is_err(), "a part of another sweep");
}

/// A message may be damaged, or of somebody else.
#[test]
fn numbers_out_of_range_are_refused() {
    let specs = parse_list(&["rr".to_owned()], divvy_policy::all()).expect("policies");
    let varied = [Vary::parse("load=0.5,0.7", 100).expect("values")];
    let options = options();
    let request = request(&specs, &varied, &options);
    let plan = Plan::new(&request).expect("a plan");
    let all = table::shard(&plan, 1, 1);
    let request = serde_json::to_string(&Request::new(&request)).expect("JSON");
    let part = serde_json::to_string(&Part::new(&plan, &all)).expect("JSON");
    let fits = |request: &str, part: &str| {
        let (request, part) = (serde_json::from_str::<Request>(request), serde_json::from_str::<Part>(part));
        request.expect("a request").open().is_ok_and(|opened| opened.plan(&part.expect("a part")).is_ok())
    };
    assert!(fits(&request, &part), "{request} {part}");
    for (from, to) in
        [(r#""task":0"#, r#""task":9"#), (r#""point":1"#, r#""point":0"#), (r#""sim":1"#, r#""sim":2"#)]
    {
        let changed = part.replacen(from, to, 1);
        assert!(changed != part && !fits(&request, &changed), "{to}: {part}");
    }
    for (from, to) in [
        (r#""reps":2"#, r#""reps":0"#),
        (r#""warm_up":null"#, r#""warm_up":{"Share":-5.0}"#),
        (r#""baseline":null"#, r#""baseline":7"#),
    ] {
        let changed = request.replacen(from, to, 1);
        assert!(changed != request && !fits(&changed, &part), "{to}: {request}");
    }
}

#[test]
fn the_identity_is_of_the_policies_too() {
    let of = |list: &str| identity(&parse_list(&[list.to_owned()], divvy_policy::all()).expect("policies"));
    assert_eq!(of("rr,sfq"), of("rr,sfq"));
    assert_ne!(of("rr"), of("sfq"));
    assert!(of("rr").starts_with(env!("CARGO_PKG_VERSION")));
}

/// The machine that gets the texts has no such file.
#[test]
fn a_policy_file_is_made_of_its_texts_alone() {
    let there = file::load("../policy/select/sfq.h").expect("it compiles");
    let texts: Vec<(String, String)> =
        there.own_sources().map(|(path, text)| (path.to_owned(), text.to_owned())).collect();
    let here = file::load_texts("nowhere/sfq.h", &texts).expect("it compiles");
    assert_eq!((here.info.name, here.stem), ("nowhere/sfq.h", "sfq"));
    assert!(here.own_sources().eq(there.own_sources()));
    let specs = parse_list(&["nowhere/sfq.h".to_owned()], divvy_policy::all()).expect("it is known");
    assert_eq!(specs[0].to_string(), "nowhere/sfq.h");
    let damaged = [(texts[0].0.clone(), "int x = ;".to_owned())];
    assert!(file::load_texts("nowhere/mine.h", &damaged).is_err());
    // It would be written where nothing of divvy's is.
    for path in ["/tmp/divvy-part-test.h", "policy/../../divvy-part-test.h", "../divvy-part-test.h"] {
        let sent = [(path.to_owned(), "int x;".to_owned())];
        let Err(error) = file::load_texts("nowhere/other.h", &sent) else { panic!("{path} is taken") };
        assert!(error.to_string().contains("has a header with this path"), "{error}");
    }
}

/// A worker of the Python package lives longer than a sweep.
#[test]
fn a_policy_file_that_was_changed_is_not_taken_for_the_one_before() {
    file::load("../policy/select/rr.h").expect("it compiles");
    let specs = parse_list(&["../policy/select/rr.h".to_owned()], divvy_policy::all()).expect("it is known");
    let varied = [Vary::parse("load=0.5,0.7", 100).expect("values")];
    let request = Request::new(&SweepOptions { per_task: false, ..request(&specs, &varied, &options()) });
    assert!(request.clone().open().is_ok());
    let sent = serde_json::to_string(&request).expect("JSON");
    let changed = sent.replacen("round", "rounder", 1);
    assert_ne!(sent, changed, "the text of the policy is in the request");
    let changed: Request = serde_json::from_str(&changed).expect("a request");
    let error = changed.open().err().expect("it is refused");
    assert!(error.to_string().contains("has loaded another ../policy/select/rr.h before"), "{error}");
}
