use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

use divvy_workload::Workload;

use super::queues::MOST_TOKENS;
use super::{SharedState, SpawnRequest, Wait};

const WORKLOAD: &str = r#"
    duration = "1s"
    barrier = { all = { parties = 3 } }
    task = [
      { name = "A", count = 4, program = [ { lock = "m" }, { run = "1ms" }, { unlock = "m" }, { barrier = "all" } ] },
      { name = "B", program = [ { wait = true } ] },
      { name = "C", program = [ { wake = "B" } ] },
    ]"#;

fn shared(most: u32) -> SharedState {
    let workload = Workload::parse(WORKLOAD, "shared.toml").unwrap_or_else(|error| panic!("{error}"));
    SharedState::new(&workload, most, 2).expect("memory")
}

fn slots(shared: &SharedState, count: u32) -> Vec<u32> {
    shared.expect(count).expect("room");
    (0..count).map(|number| shared.take_slot(0, number)).collect()
}

const LATER: u64 = u64::MAX;

#[test]
fn a_mutex_goes_to_the_slot_that_waited_longest() {
    let shared = shared(8);
    let s = slots(&shared, 4);
    assert!(shared.lock(0, s[3]));
    for &slot in &s[..3] {
        assert!(!shared.lock(0, slot));
    }
    shared.leave(s[1], 5); // ends while it waits
    shared.unlock(0, s[0], 6); // it does not hold the mutex
    assert_eq!(shared.sleep(s[0], 1), None, "the time is long past, so it reentries at once");
    shared.unlock(0, s[3], 7);
    assert_eq!(shared.sleep(s[0], LATER), Some(7));
    shared.leave(s[0], 8); // ends while it holds the mutex
    assert_eq!(shared.sleep(s[2], LATER), Some(8));
    shared.unlock(0, s[2], 9);
    assert!(shared.lock(0, s[3]));
}

#[test]
fn a_barrier_lets_all_go_and_starts_again() {
    let shared = shared(8);
    let s = slots(&shared, 4);
    for _ in 0..2 {
        assert!(!shared.arrive(0, s[0], 1));
        assert!(!shared.arrive(0, s[1], 2));
        assert!(shared.arrive(0, s[2], 3));
        assert_eq!((shared.sleep(s[0], LATER), shared.sleep(s[1], LATER)), (Some(3), Some(3)));
    }
    assert!(!shared.arrive(0, s[3], 4));
    shared.leave(s[3], 4); // an instance that ends there does not count
    assert!(!shared.arrive(0, s[0], 5));
    assert!(!shared.arrive(0, s[1], 5));
    assert!(shared.arrive(0, s[2], 6));
}

#[test]
fn tokens_are_kept_in_order_up_to_a_limit() {
    let shared = shared(8);
    let s = slots(&shared, 1);
    shared.give_token(0, 3).expect("kept");
    shared.give_token(0, 4).expect("kept");
    assert_eq!((shared.take_token(0, s[0]), shared.take_token(0, s[0])), (Some(3), Some(4)));
    assert_eq!(shared.take_token(0, s[0]), None);
    shared.give_token(0, 9).expect("given");
    assert_eq!(shared.sleep(s[0], LATER), Some(9));
    for _ in 0..MOST_TOKENS {
        shared.give_token(0, 1).expect("kept");
    }
    assert!(shared.give_token(0, 1).expect_err("too many").contains("cannot keep up"));
}

#[test]
fn the_limit_counts_live_and_expected_instances() {
    let shared = shared(2);
    let s = slots(&shared, 1);
    shared.request(1, SpawnRequest { class: 0, due_ns: 5 }, 1).expect("room");
    let full = shared.request(1, SpawnRequest { class: 0, due_ns: 6 }, 1).expect_err("full");
    assert!(full.contains("more than 2 tasks"), "{full}");
    assert_eq!(shared.take_request(0), None);
    assert_eq!(shared.take_request(1), Some(SpawnRequest { class: 0, due_ns: 5 }));
    shared.leave(s[0], 0);
    assert!(!shared.all_ended(), "one is expected");
    shared.cancel_expected(1);
    assert!(shared.all_ended());
    shared.add_source();
    assert!(!shared.all_ended());
}

#[test]
fn a_run_is_stuck_when_all_wait_and_none_will_start() {
    let shared = shared(8);
    let s = slots(&shared, 3);
    assert!(shared.lock(0, s[0]));
    assert!(!shared.lock(0, s[1]));
    assert!(!shared.arrive(0, s[2], 0));
    assert_eq!(shared.stuck(), None);
    shared.add_source();
    assert!(!shared.lock(0, s[0]), "it holds it already");
    assert_eq!(shared.stuck(), None);
    shared.remove_source();
    let stuck = shared.stuck().expect("stuck");
    let expected = [(0, 0, Wait::Mutex(0)), (0, 1, Wait::Mutex(0)), (0, 2, Wait::Barrier(0))];
    assert_eq!(stuck, expected);
    shared.end();
    assert_eq!(shared.sleep(s[1], LATER), None);
    assert_eq!(shared.take_token(0, s[1]), None);
    assert_eq!(shared.sleep(s[1], LATER), None, "no wait begins when the run is over");
}

/// Four threads want one mutex. They never hold it together, and no increment is lost.
#[test]
fn a_mutex_is_exclusive() {
    let shared = shared(8);
    let s = slots(&shared, 4);
    let (inside, entries) = (AtomicU32::new(0), AtomicU32::new(0));
    std::thread::scope(|scope| {
        for &slot in &s {
            let (shared, inside, entries) = (&shared, &inside, &entries);
            scope.spawn(move || {
                for _ in 0..500 {
                    assert!(shared.lock(0, slot) || shared.sleep(slot, LATER).is_some());
                    assert_eq!(inside.fetch_add(1, SeqCst), 0);
                    entries.fetch_add(1, SeqCst);
                    inside.fetch_sub(1, SeqCst);
                    shared.unlock(0, slot, 0);
                }
            });
        }
    });
    assert_eq!(entries.load(SeqCst), 2000);
}
