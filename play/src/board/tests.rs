use super::*;

const WORKLOAD: &str = r#"
    duration = "1s"
    barrier = { all = { parties = 3 } }
    task = [
      { name = "A", count = 4, program = [ { lock = "m" }, { run = "1ms" }, { unlock = "m" }, { barrier = "all" } ] },
      { name = "B", program = [ { wait = true } ] },
      { name = "C", program = [ { wake = "B" } ] },
    ]"#;

fn board(most: u32) -> Board {
    let workload = Workload::parse(WORKLOAD, "board.toml").unwrap_or_else(|error| panic!("{error}"));
    Board::new(&workload, most, 2).expect("memory")
}

fn slots(board: &Board, count: u32) -> Vec<u32> {
    board.expect(count).expect("room");
    (0..count).map(|number| board.take_slot(0, number)).collect()
}

const LATER: u64 = u64::MAX;

#[test]
fn a_mutex_goes_to_who_waited_longest() {
    let board = board(8);
    let s = slots(&board, 4);
    assert!(board.lock(0, s[3]));
    for &slot in &s[..3] {
        assert!(!board.lock(0, slot));
    }
    board.leave(s[1], 5); // dies waiting
    board.unlock(0, s[0], 6); // not its own
    assert_eq!(board.sleep(s[0], 1), None, "in time of long ago, so at once");
    board.unlock(0, s[3], 7);
    assert_eq!(board.sleep(s[0], LATER), Some(7));
    board.leave(s[0], 8); // dies holding it
    assert_eq!(board.sleep(s[2], LATER), Some(8));
    board.unlock(0, s[2], 9);
    assert!(board.lock(0, s[3]));
}

#[test]
fn a_meeting_lets_all_go_and_starts_afresh() {
    let board = board(8);
    let s = slots(&board, 4);
    for _ in 0..2 {
        assert!(!board.arrive(0, s[0], 1));
        assert!(!board.arrive(0, s[1], 2));
        assert!(board.arrive(0, s[2], 3));
        assert_eq!((board.sleep(s[0], LATER), board.sleep(s[1], LATER)), (Some(3), Some(3)));
    }
    assert!(!board.arrive(0, s[3], 4));
    board.leave(s[3], 4); // who dies there does not count
    assert!(!board.arrive(0, s[0], 5));
    assert!(!board.arrive(0, s[1], 5));
    assert!(board.arrive(0, s[2], 6));
}

#[test]
fn tokens_are_kept_in_order_and_not_without_end() {
    let board = board(8);
    let s = slots(&board, 1);
    board.give_token(0, 3).expect("kept");
    board.give_token(0, 4).expect("kept");
    assert_eq!((board.take_token(0, s[0]), board.take_token(0, s[0])), (Some(3), Some(4)));
    assert_eq!(board.take_token(0, s[0]), None);
    board.give_token(0, 9).expect("given");
    assert_eq!(board.sleep(s[0], LATER), Some(9));
    for _ in 0..MOST_TOKENS {
        board.give_token(0, 1).expect("kept");
    }
    assert!(board.give_token(0, 1).expect_err("too many").contains("cannot keep up"));
}

#[test]
fn the_limit_counts_who_is_alive_and_who_is_to_come() {
    let board = board(2);
    let s = slots(&board, 1);
    board.request(1, StartRequest { class: 0, due_ns: 5 }, 1).expect("room");
    let full = board.request(1, StartRequest { class: 0, due_ns: 6 }, 1).expect_err("full");
    assert!(full.contains("more than 2 tasks"), "{full}");
    assert_eq!(board.take_request(0), None);
    assert_eq!(board.take_request(1), Some(StartRequest { class: 0, due_ns: 5 }));
    board.leave(s[0], 0);
    assert!(!board.is_deserted(), "one is to come");
    board.forgo(1);
    assert!(board.is_deserted());
    board.add_source();
    assert!(!board.is_deserted());
}

#[test]
fn stuck_is_when_all_wait_and_nobody_comes() {
    let board = board(8);
    let s = slots(&board, 3);
    assert!(board.lock(0, s[0]));
    assert!(!board.lock(0, s[1]));
    assert!(!board.arrive(0, s[2], 0));
    assert_eq!(board.stuck(), None);
    board.add_source();
    assert!(!board.lock(0, s[0]), "it holds it already");
    assert_eq!(board.stuck(), None);
    board.remove_source();
    let stuck = board.stuck().expect("stuck");
    let expected = [(0, 0, Wait::Mutex(0)), (0, 1, Wait::Mutex(0)), (0, 2, Wait::Meeting(0))];
    assert_eq!(stuck, expected);
    board.end();
    assert_eq!(board.sleep(s[1], LATER), None);
    assert_eq!(board.take_token(0, s[1]), None);
    assert_eq!(board.sleep(s[1], LATER), None, "nobody begins to wait when it is over");
}

/// Threads that want one mutex: each turn is exclusive, and none is lost.
#[test]
fn a_mutex_excludes() {
    let board = board(8);
    let s = slots(&board, 4);
    let (inside, turns) = (AtomicU32::new(0), AtomicU32::new(0));
    std::thread::scope(|scope| {
        for &slot in &s {
            let (board, inside, turns) = (&board, &inside, &turns);
            scope.spawn(move || {
                for _ in 0..500 {
                    assert!(board.lock(0, slot) || board.sleep(slot, LATER).is_some());
                    assert_eq!(inside.fetch_add(1, SeqCst), 0);
                    turns.fetch_add(1, SeqCst);
                    inside.fetch_sub(1, SeqCst);
                    board.unlock(0, slot, 0);
                }
            });
        }
    });
    assert_eq!(turns.load(SeqCst), 2000);
}
