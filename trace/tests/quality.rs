//! Grades at their boundaries, and distributions by hand.

use divvy_trace::{Grade, Quality, Spread};

fn clean() -> Quality {
    Quality { events: 100_000, switches: 10_000, wakes: 1000, interrupts_known: true, ..Quality::default() }
}

#[test]
fn grades_are_the_worst_finding() {
    assert_eq!((clean().grade(), clean().findings().len()), (Grade::A, 0));
    let mismatches = |mismatches| Quality { mismatches, ..clean() }.grade();
    let at = [50, 51, 500, 501, 2000, 2001].map(mismatches);
    assert_eq!(at, [Grade::A, Grade::B, Grade::B, Grade::C, Grade::C, Grade::D]);
    let lost = |lost_events| Quality { lost_records: 1, lost_events, ..clean() }.grade();
    assert_eq!([lost(0), lost(100), lost(101), lost(2000)], [Grade::B, Grade::B, Grade::C, Grade::D]);
    let both = Quality { mismatches: 51, clock_backwards: 5000, ..clean() };
    assert_eq!(both.findings().iter().map(|f| f.grade).collect::<Vec<_>>(), [Grade::D, Grade::B]);
    assert!(both.findings().iter().all(|f| f.text.ends_with('.')));
    assert_eq!(Quality { interrupts_known: false, ..clean() }.grade(), Grade::B);
}

#[test]
fn the_kernels_account_is_a_witness() {
    let witness = |run_ns| Quality { run_ns, kernel_run_ns: 1000, ..clean() };
    assert_eq!(witness(980).grade(), Grade::A);
    assert_eq!(witness(1050).grade(), Grade::B);
    assert_eq!(witness(9785).grade(), Grade::D);
    assert_eq!(witness(1100).run_time_error(), Some(0.1));
    assert_eq!(clean().run_time_error(), None);
}

#[test]
fn spreads() {
    assert_eq!(Spread::of(vec![]), Spread::default());
    assert_eq!(Spread::of(vec![7]), Spread { count: 1, mean_ns: 7, p50_ns: 7, p99_ns: 7, max_ns: 7 });
    let hundred = Spread::of((1..=100).rev().collect());
    assert_eq!(hundred, Spread { count: 100, mean_ns: 50, p50_ns: 50, p99_ns: 99, max_ns: 100 });
}
