use divvy_results::samples;

use super::*;

fn check(text: &str) -> Option<UnmetClaim> {
    Claim::parse(text)
        .unwrap_or_else(|error| panic!("{error}"))
        .check(&samples::two_policies())
        .unwrap_or_else(|error| panic!("{error}"))
}

fn met(text: &str) -> bool {
    check(text).is_none()
}

fn refusal(text: &str) -> String {
    let error = match Claim::parse(text) {
        Err(error) => error,
        Ok(claim) => claim.check(&samples::two_policies()).expect_err("must be refused"),
    };
    format!("{}: {}", error.column, error.message)
}

#[test]
fn every_run_must_meet_the_claim() {
    // The sample: gr3 errs by -4 ms to +3 ms, rr by -30 ms to +20 ms; both utilize 0.995.
    assert!(met("max(error) < 31ms"));
    assert!(!met("max(error) < 30ms"));
    assert!(met("max(error) <= 30ms"));
    assert!(met("max(error, policy=gr3) == 4 ms"));
    assert!(met("max(ahead, policy=rr) == 0.02s"));
    assert!(met("max(behind, policy=rr) == 30000us"));
    assert!(met("utilization > 99%"));
    assert!(met("utilization != 1"));
}

#[test]
fn measures_can_stand_on_both_sides() {
    assert!(met("max(error, policy=gr3) < max(error, policy=rr)"));
    assert!(met("max(error, policy=gr3) < 0.2 * max(error, policy=rr)"));
    assert!(!met("max(error, policy=gr3) < 0.1 * max(error, policy=rr)"));
    assert!(met("mean(wait) < mean(response)"));
    // Unrestricted against a policy: that policy's own run fails to be less than itself.
    let failure = check("mean(response) < mean(response, policy=rr)").expect("rr is not less than rr");
    assert_eq!(failure.measured, ["rr: mean(response) = 30ms, mean(response, policy=rr) = 30ms"]);
}

#[test]
fn tasks_are_named_alone_or_by_class() {
    assert!(met("share(big, policy=gr3) == 0.6"));
    assert!(met("share(task=big) > 0.4"));
    assert!(met("sum(share, task=small, policy=gr3) == 0.395"));
    assert!(met("max(share, process=B) < 0.6"));
    assert!(met("p99(response, task=\"small/1\") <= 90ms"));
    assert!(met("count(response, task=small/2, policy=gr3) == 0"));
}

#[test]
fn distributions_are_the_run_s_a_task_s_or_pooled() {
    // gr3: all 400 jobs have p99 22 ms; big's 100 have 25 ms and mean 15 ms, small/1's 300 have mean 5 ms.
    assert!(met("p99(response, policy=gr3) == 22ms"));
    assert!(met("p99(response, task=big, policy=gr3) == 25ms"));
    assert!(met("count(response) == 400"));
    assert!(met("mean(response, process=B, policy=gr3) == 5ms"));
    assert!(!met("p99(response, process=B, policy=gr3) < 20ms"));
}

#[test]
fn a_failure_prints_what_was_measured() {
    let failure = check("p99(response, task=small) < 10ms").expect("not met");
    assert_eq!(
        failure.to_string(),
        "not met: p99(response, task=small) < 10ms\n  \
         gr3: p99(response, task=small) = 20.000001ms\n  \
         rr: p99(response, task=small) = 90ms"
    );
    let failure = check("mean(delay, task=small/2) < 1s").expect("no samples, no claim");
    assert_eq!(failure.measured[0], "gr3: mean(delay, task=small/2) was not measured");
}

#[test]
fn each_repetition_is_a_run() {
    let report = samples::repetitions(&[("a", &[1.0, 2.0, 3.0]), ("b", &[2.0, 3.0, 2.5])]);
    let claim = Claim::parse("mean(response, policy=a) < mean(response, policy=b)").expect("valid");
    let failure = claim.check(&report).expect("valid").expect("not met by the third");
    assert_eq!(
        failure.measured,
        ["a, repetition 2: mean(response, policy=a) = 3ms, mean(response, policy=b) = 2.5ms"]
    );
}

#[test]
fn refusals_name_the_column_and_the_way_out() {
    for (text, expected) in [
        ("", "1: expected a number or a measure, as in `8ms` or `max(error)`"),
        ("jain", "5: expected <, <=, >, >=, == or !="),
        ("jain = 1", "6: expected <, <=, >, >=, == or !="),
        ("jain > ", "8: expected a number or a measure, as in `8ms` or `max(error)`"),
        ("jain > 0.9 and", "12: the claim should end here"),
        ("1 < 2", "1: two numbers claim nothing about the report"),
        ("jian > 0.9", "1: nothing is called `jian`; did you mean `jain`?"),
        ("p99(respnse) < 1ms", "5: nothing is called `respnse`; did you mean `response`?"),
        ("pp99(response) < 1ms", "1: nothing is called `pp99`; did you mean `p99`?"),
        ("max(error) < 8", "14: `error` is a time; give the number a unit, as in `8ms`"),
        ("jain > 8ms", "1: `jain` is not a time, a number is"),
        ("jain > max(error)", "1: `jain` is not a time, `error` is"),
        ("max(error) < 8 parsecs", "16: the claim should end here"),
        (
            "max(error) < 8parsecs",
            "14: `8parsecs` has the unknown unit `parsecs`: the units are ns, us, ms, s, min, h, as in \"75ms\" or \"1.5s\"",
        ),
        ("max(error) < 8ms * mean(wait)", "14: a factor has no unit"),
        ("max(jain) > 1", "5: `jain` is one number a run; write it without max()"),
        ("jain(T1) > 1", "6: `jain` is one number a run; only policy= narrows it"),
        ("p99(error) < 1ms", "5: there is no p99 of `error`; it has mean, max, min, sum"),
        ("max > 1", "1: `max` of what? Write max(response)"),
        (
            "response < 1ms",
            "1: `response` is a distribution; say which number of it, as in mean(response) or p99(response)",
        ),
        (
            "share > 0.1",
            "1: `share` is one number a task; name the task, as in share(T1), or pool, as in max(share)",
        ),
        ("max(error < 1ms", "11: expected `,` or `)`"),
        ("max(error, task=) < 1ms", "17: a name is missing"),
        ("max(error, task=a, b) < 1ms", "20: a task is named already"),
        ("max(error, task=\"a) < 1ms", "17: the closing `\"` is missing"),
        ("--5 < jain", "1: `--5` is not a number"),
        ("share(bigg) > 0", "7: the report has no task `bigg`; did you mean `big`?"),
        ("share(zebra) > 0", "7: the report has no task `zebra`; it has big, small/1, small/2"),
        (
            "share(small) > 0",
            "7: `small` has 2 instances; pool them, as in max(share, task=small), or name one, as in small/1",
        ),
        ("max(share, process=C) > 0", "20: the report has no process `C`; it has A, B"),
        ("jain(policy=gr4) > 0", "13: the report has no policy `gr4`; did you mean `gr3`?"),
    ] {
        assert_eq!(refusal(text), expected, "{text}");
    }
}

#[test]
fn columns_count_characters_not_bytes() {
    assert_eq!(refusal("share(\"日本\") > 0 0"), "17: the claim should end here");
}

#[test]
fn any_text_is_read_or_refused() {
    let pieces = ["max(", "error", ",", "task=", "\"", ")", "<", "8ms", "*", "-", ".", " ", "é", "=", "p99"];
    for a in pieces {
        for b in pieces {
            for c in pieces {
                for d in pieces {
                    let _ = Claim::parse(&[a, b, c, d].concat());
                }
            }
        }
    }
}
