//! Any legal schedule, written in any format, comes back exactly.

mod common;

use common::perf_file::{self, Shape};
use common::text::{self, Style};
use common::{Schedule, schedule};
use divvy_trace::{Activity, Interval, ReadOptions, Recording, Wake, read_bytes, read_from};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

fn import(bytes: &[u8]) -> Recording {
    read_bytes(bytes, "test", &ReadOptions::default()).expect("a readable trace")
}

fn same(expected: &Schedule, got: &Recording, interrupts_known: bool) -> Result<(), TestCaseError> {
    prop_assert_eq!(got.span_ns, expected.span_ns);
    prop_assert_eq!(got.quality.malformed, 0);
    prop_assert_eq!(got.quality.mismatches, 0);
    prop_assert_eq!(got.quality.missing_wakes, 0);
    prop_assert_eq!(got.quality.spurious_wakes, 0);
    prop_assert_eq!(got.threads.len(), expected.threads.len());
    for (thread, (name, intervals)) in got.threads.iter().zip(&expected.threads) {
        prop_assert_eq!(thread.tid, name.tid);
        let (mut got, mut expected) = (thread.intervals.clone(), intervals.clone());
        if !interrupts_known {
            got.iter_mut().chain(&mut expected).for_each(forget_waker);
        }
        prop_assert_eq!(&got, &expected, "thread {}", name.tid);
    }
    Ok(())
}

/// Text does not say whether a wake came from an interrupt.
fn forget_waker(interval: &mut Interval) {
    if let Activity::Blocked { wake, .. } = &mut interval.activity
        && *wake != Wake::Never
    {
        *wake = Wake::Missing;
    }
}

/// Names with everything that a text format can stumble over.
fn hostile() -> Vec<Vec<u8>> {
    let names: [&[u8]; 16] = [
        b"make",
        b"a b",
        b"kworker/u8:1-ev",
        b"new\nline",
        b"\n7 [0] 1.1: x:",
        b"x ==> y",
        b" ==> next_comm=",
        b"prev_state=R",
        b" prev_pid=1",
        b"tab\tstop",
        b"\xff\xfe bad utf8",
        b"[000] 1.5:",
        b" 7 [0] 1.1: x:",
        b"a:1 [2] R ==> ",
        b"next_prio=3",
        b" pid=7 prio=1",
    ];
    names.iter().map(|n| n.to_vec()).collect()
}

fn plain() -> Vec<Vec<u8>> {
    [&b"make"[..], b"cc1", b"kworker/0:1", b"a b", b"x-1"].iter().map(|n| n.to_vec()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, rng_seed: RngSeed::Fixed(1), ..ProptestConfig::default() })]

    #[test]
    fn kernel_style(seed: u64, length in 5usize..300, cpus in 1usize..4) {
        let expected = schedule(seed, length, cpus, 1, &plain());
        same(&expected, &import(&text::print(&expected.events, Style::Kernel, 9, false)), false)?;
    }

    #[test]
    fn plugin_style_in_microseconds(seed: u64, length in 5usize..300, cpus in 1usize..4) {
        let expected = schedule(seed, length, cpus, 1000, &plain());
        same(&expected, &import(&text::print(&expected.events, Style::Plugin, 6, true)), false)?;
    }

    #[test]
    fn hostile_names(seed: u64, length in 5usize..300, cpus in 1usize..4, plugin: bool) {
        let expected = schedule(seed, length, cpus, 1, &hostile());
        let style = if plugin { Style::Plugin } else { Style::Kernel };
        same(&expected, &import(&text::print(&expected.events, style, 9, true)), false)?;
    }

    #[test]
    fn perf_data(seed: u64, length in 5usize..300, cpus in 1usize..4, big_endian: bool, pipe: bool, has_state_table: bool, rounds: bool) {
        let expected = schedule(seed, length, cpus, 1, &hostile());
        let bytes = perf_file::write(&expected.events, Shape { big_endian, pipe, has_state_table, rounds });
        let got = import(&bytes);
        same(&expected, &got, true)?;
        for (thread, (name, _)) in got.threads.iter().zip(&expected.threads) {
            let printable = String::from_utf8_lossy(&name.comm).replace(|c: char| c.is_control(), "\u{fffd}");
            prop_assert_eq!(&thread.name, &printable);
        }
        if pipe {
            let streamed = read_from(&bytes[..], "test", &ReadOptions::default()).expect("a readable stream");
            prop_assert_eq!(streamed, got);
        }
    }
}
