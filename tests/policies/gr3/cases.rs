//! Workloads in which clients that block, or that use parts of quanta, once got more or less than the paper gives them.

use divvy_tests::example::{MS, S, run};

/// On 3 CPUs H asks for more than one. The four others have two, or one while both B sleep, so each can have a half at
/// least.
const INFEASIBLE_AND_BLOCKING: &str = "cpus = 3\nquantum = \"10ms\"\nduration = \"20s\"\ntask = [\n\
    { name = \"H\", weight = 50, program = [ { run = \"forever\" } ] },\n\
    { name = \"a\", weight = 1, count = 2, program = [ { run = \"forever\" } ] },\n\
    { name = \"B\", weight = 1, count = 2, program = [ { loop = \"forever\", do = [ { run = \"10ms\" }, { sleep = \"10ms\" } ] } ] },\n\
    ]\n";

/// 3.3: "weight readjustment whenever a client is inserted or removed from the run queue". B is back before its turn, so H's
/// weight stays, and its place: it has a CPU all the time.
#[test]
fn gr3_r6_r8_short_blocks_change_no_weight() {
    let ran = run(INFEASIBLE_AND_BLOCKING, "gr3").service_of_all("H");
    assert!(ran > 20 * S - 20 * MS, "{ran} ns of 20 s");
}

/// R11: B sleeps for random times, so it is removed now and then, and a CPU is in weight 1, 1.5 or 2. At 2, H comes to another
/// group. If it went last there, it would miss a turn of the three others each time: 20 s of 200.
#[test]
fn gr3_r11_d7_a_client_that_asks_for_more_than_a_cpu_is_next_where_it_moves() {
    let random = INFEASIBLE_AND_BLOCKING
        .replace("sleep = \"10ms\"", "sleep = { exp = \"10ms\" }")
        .replace("\"20s\"", "\"200s\"");
    let ran = run(&random, "gr3").service_of_all("H");
    assert!(ran > 200 * S - 2 * S, "{ran} ns of 200 s");
}

/// H (3) sleeps for 10 us after 9.99 ms, beside B (2) and C (1), on 2 CPUs: it is entitled to all of one.
const LOST_AT_BLOCK: &str = "cpus = 2\nquantum = \"10ms\"\nduration = \"20s\"\n\
    [[task]]\nname = \"H\"\nweight = 3\n\
    program = [ { loop = \"forever\", do = [ { run = \"9.99ms\" }, { sleep = \"10us\" } ] } ]\n\
    [[task]]\nname = \"B\"\nweight = 2\nprogram = [ { run = \"forever\" } ]\n\
    [[task]]\nname = \"C\"\nweight = 1\nprogram = [ { run = \"forever\" } ]\n";

/// 3.2: a frontlog is lost "if it is removed from the run queue". Each of the three runs for two of three quanta: H's frontlog
/// makes up for the selections that B and C have more. If it were lost at each block, H would have 11.43 s.
#[test]
fn gr3_r12_a_short_block_costs_no_frontlog() {
    let ran = run(LOST_AT_BLOCK, "gr3").service_of_all("H");
    assert!(ran.abs_diff(20 * S * 2 / 3) < 50 * MS, "{ran} ns of 13.33 s");
}

/// For 5 s six tasks block after 20 us, 30 us long, beside H; each of their turns counts as a quantum. Then four that
/// weigh as much as H: of the 30 s it is entitled to 15.
const GROWS: &str = "cpus = 2\nquantum = \"10ms\"\nduration = \"30s\"\n\
    [[task]]\nname = \"H\"\nweight = 2\nprogram = [ { run = \"forever\" } ]\n\
    [[task]]\nname = \"S\"\nweight = 1\ncount = 6\nstop = \"5s\"\n\
    program = [ { loop = \"forever\", do = [ { run = \"20us\" }, { sleep = \"30us\" } ] } ]\n\
    [[task]]\nname = \"L\"\nweight = 2\ncount = 4\nstart = \"5s\"\nprogram = [ { run = \"forever\" } ]\n";

/// D2: as printed, the frontlogs of all five last for longer than the run: that of H, and what the others got of it when
/// they came. H shares a CPU with one of them, and three share the other. With `frontlog=4` H has four quanta to its
/// credit, and a few more are the paper's own error.
#[test]
fn gr3_d2_a_frontlog_grows_without_a_limit() {
    let ran = run(GROWS, "gr3:frontlog=1048576").service_of_all("H");
    assert!(ran.abs_diff(5 * S + 25 * S / 2) < 100 * MS, "{ran} ns");
    for (spec, most) in [("gr3:frontlog=1", 1), ("gr3:frontlog=4", 4), ("gr3", 64)] {
        let ran = run(GROWS, spec).service_of_all("H");
        assert!(ran.abs_diff(15 * S) < (most + 4) * 10 * MS, "{spec}: {ran} ns of 15 s");
    }
}
