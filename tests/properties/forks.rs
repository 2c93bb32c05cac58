//! A task that forks gains nothing by it, and loses nothing (policy/machine/family.h).

use divvy_tests::example::{MS, S, run};

/// Policies in which the part of a task is its weight's, with modifiers that reach other code.
const FAIR: &[&str] = &[
    "sfq",
    "sfs",
    "bvt",
    "vtrr",
    "stride",
    "eevdf",
    "cfs",
    "gr3",
    "qfq",
    "srr",
    "strr",
    "wfq",
    "wf2q",
    "wf2qplus",
    "sfq+procfair",
    "sfq+groups",
    "sfq+groups+procfair",
    "sfs+procfair",
    "bvt+groups",
];
/// Those that look at the debit: without it a child begins where nobody owes anything.
const OWING: &[&str] = &[
    "sfq",
    "sfs",
    "bvt",
    "vtrr",
    "sfq+procfair",
    "sfq+groups",
    "sfq+groups+procfair",
    "sfs+procfair",
    "bvt+groups",
];

const QUANTUM: u64 = 4 * MS;

/// Ten hogs of nice 0 for each CPU, for 3 s, and other tasks.
fn beside_hogs(cpus: u64, tasks: &str) -> String {
    let hogs = 10 * cpus;
    format!(
        "cpus = {cpus}\nduration = \"3s\"\nquantum = \"4ms\"\n\
         [[task]]\nname = \"hog\"\ncount = {hogs}\nprogram = [ {{ run = \"forever\" }} ]\n{tasks}"
    )
}

/// Each link of a chain forks the next one, and ends.
fn chain(nice: i64, program: &str) -> String {
    format!(
        "[[task]]\nname = \"first\"\nnice = {nice}\nprogram = [ {{ fork = \"link\" }} ]\n\
         [[task]]\nname = \"link\"\nstart = \"fork\"\nlimit = 4000\nnice = {nice}\nprogram = [ {program} ]\n"
    )
}

/// A shell forks commands, one after the other, and waits for each.
fn shell(number: u64, nice: i64, work: &str) -> String {
    format!(
        "[[task]]\nname = \"shell{number}\"\nnice = {nice}\n\
         program = [ {{ loop = \"forever\", do = [ \
           {{ run = \"10us\" }}, {{ fork = \"job{number}\" }}, {{ wait = true }} ] }} ]\n\
         [[task]]\nname = \"job{number}\"\nstart = \"fork\"\nnice = {nice}\n\
         program = [ {{ run = \"{work}\" }}, {{ wake = \"shell{number}\" }} ]\n"
    )
}

/// Two tasks of nice 19 (weight 15), which is how many of a chain live at a time, beside ten of nice 0 for each CPU, and a
/// quantum for each.
const PART_OF_TWO: u64 = 3 * S * 30 / 10_240 + 2 * QUANTUM;

/// Each generation forks at the end of its work. The links' work was 98.7 % of the CPU under sfq, sfs, bvt and vtrr.
#[test]
fn sfq_r5_bvt_r6_sfs_r10_vtrr_r6_a_chain_of_forks_gets_no_more_than_its_part() {
    let text = beside_hogs(1, &chain(19, "{ run = \"3850us\" }, { fork = \"link\" }, { run = \"50us\" }"));
    for spec in FAIR {
        let got = run(&text, spec).service_of_all("link");
        assert!((1..=PART_OF_TWO).contains(&got), "{spec}: {got} ns");
    }
}

/// As published, a new thread begins where virtual time is, whoever made it. Under sfq and bvt each link of the same chain then waits
/// for a slice of each of the hogs, as an eleventh of them would. Under sfs and vtrr it goes first, and the chain has the CPU.
#[test]
fn sfq_d3_sfs_d6_bvt_d4_vtrr_d5_as_published_a_child_owes_nothing() {
    let text = beside_hogs(1, &chain(19, "{ run = \"3850us\" }, { fork = \"link\" }, { run = \"50us\" }"));
    let got = |spec: &str| run(&text, spec).service_of_all("link");
    for spec in ["sfq:debit=off", "bvt:debit=off"] {
        let got = got(spec);
        assert!(got.abs_diff(3 * S / 11) <= 2 * QUANTUM, "{spec}: {got} ns");
    }
    for spec in ["sfs:debit=off", "vtrr:debit=off"] {
        let got = got(spec);
        assert!(got * 100 >= 3 * S * 95, "{spec}: {got} ns");
    }
}

/// Each generation forks before its work, so that it owes nothing yet when the next one is made.
#[test]
fn a_chain_that_forks_first_gets_no_more_than_its_part() {
    for cpus in [1, 2] {
        let text =
            beside_hogs(cpus, &chain(19, "{ run = \"10us\" }, { fork = \"link\" }, { run = \"3900us\" }"));
        for spec in OWING {
            let got = run(&text, spec).service_of_all("link");
            assert!((1..=PART_OF_TWO).contains(&got), "{spec} on {cpus} CPUs: {got} ns");
        }
    }
}

/// The forker lives, uses almost nothing itself, and its children exit before their part is due.
#[test]
fn children_in_a_row_get_no_more_than_their_part() {
    let text = beside_hogs(1, &shell(1, 19, "3900us"));
    for spec in OWING {
        let example = run(&text, spec);
        let got = example.service_of_all("job") + example.service_of_all("shell");
        assert!((1..=PART_OF_TWO).contains(&got), "{spec}: {got} ns");
    }
}

/// A child that sleeps has got a slice in advance when it wakes, and gives no credit for that.
#[test]
fn children_that_sleep_get_no_more_than_their_part() {
    let text = "[[task]]\nname = \"shell\"\nnice = 19\n\
         program = [ { loop = \"forever\", do = [ { run = \"10us\" }, { fork = \"job\" }, { wait = true } ] } ]\n\
         [[task]]\nname = \"job\"\nstart = \"fork\"\nnice = 19\n\
         program = [ { run = \"3900us\" }, { sleep = \"1us\" }, { run = \"10us\" }, { wake = \"shell\" } ]\n";
    for spec in OWING {
        let example = run(&beside_hogs(1, text), spec);
        let got = example.service_of_all("job") + example.service_of_all("shell");
        assert!((1..=PART_OF_TWO).contains(&got), "{spec}: {got} ns");
    }
}

/// As `make -j`: each job is a process that exits, and some are much shorter than a quantum. Together they get nine tenths of
/// what the fluid model gives them while they are runnable.
#[test]
fn who_forks_honestly_loses_nothing() {
    for work in ["1ms", "3ms", "21ms", "200ms"] {
        for jobs in [1, 4] {
            let shells: String = (0..jobs).map(|number| shell(number, 0, work)).collect();
            let text = beside_hogs(1, &shells);
            for spec in OWING {
                let rows = run(&text, spec).0.run.tasks;
                let own = || rows.iter().filter(|row| !row.name.starts_with("hog"));
                let got: u64 = own().map(|row| row.service_ns).sum();
                let entitled: u64 = own().map(|row| row.entitled_ns).sum();
                assert!(
                    entitled > 0 && got * 10 >= entitled * 9,
                    "{spec}, {jobs} jobs of {work}: {got} of {entitled} ns"
                );
            }
        }
    }
}
