//! Costs of decisions in a kernel, in instructions: figures 12 and 13 of GR3, figure 7 and table 1 of SFS.

use crate::kernel::case::{LINUX, Values};
use crate::kernel::count::{CALLS, Counting, Counts, RINGS};

/// Linux of the paper is `linux24`, and its later one `o1`.
const POLICIES: &[&str] = &["gr3", "vtrr", "wfq", "linux24", "o1"];
/// It chooses by nothing, so its cost is what the host and the machine around a policy take.
const LEAST: &str = "rr";
/// GR3, and a scan of all clients.
const SMALL_POLICIES: &[&str] = &["gr3", "linux24"];
/// GR3MP and LinuxMP.
const ON_TWO_CPUS: &[&str] = &["gr3", "linux24"];
/// The paper's begin with one client, which is selected again and again here, without a switch.
const CLIENTS: &[u64] = &[10, 50, 100, 200, 300, 400];
const SMALL_CLIENTS: &[u64] = &[10, 100];

/// Two CPUs take turns until the next tick, which is half a million instructions: one turn more or less is 0.4 % of 30,000 yields of 4,000.
const YIELDS_ON_TWO_CPUS: u32 = 30_000;
const SMALL_YIELDS_ON_TWO_CPUS: u32 = 10_000;

/// The small version has one CPU.
pub fn runs_of_gr3_12(small: bool) -> Vec<Counting> {
    let run = |policies, clients| Counting { program: "yield", cpus: 1, policies, clients, operations: None };
    if small {
        return vec![run(SMALL_POLICIES, SMALL_CLIENTS)];
    }
    let on_two = run(ON_TWO_CPUS, &[50, 400]);
    let on_two = Counting { cpus: 2, operations: Some(YIELDS_ON_TWO_CPUS), ..on_two };
    vec![run(POLICIES, CLIENTS), run(&[LEAST], &[400]), on_two]
}

pub fn values_of_gr3_12(counts: &Counts) -> Values {
    let cost = |policy: &str, clients| counts.selection(policy, clients);
    let mut values = Values::new();
    let mut add = |name: String, value: Option<f64>| values.extend(value.map(|value| (name, value)));
    for (policy, most, least) in [
        ("gr3", 400, 10),
        ("gr3", 100, 10),
        ("vtrr", 400, 10),
        ("linux24", 400, 50),
        ("linux24", 100, 10),
        ("wfq", 400, 10),
    ] {
        let name = format!("{policy}: cost at {most} clients, for each instruction at {least}");
        add(name, ratio(cost(policy, most), cost(policy, least)));
    }
    for other in &POLICIES[1..] {
        let name = format!("{other}: cost at 400 clients, for each instruction of gr3's");
        add(name, ratio(cost(other, 400), cost("gr3", 400)));
    }
    let on_two = |policy: &str, clients| counts.whole("yield", 2, policy, clients);
    for policy in ON_TWO_CPUS {
        let name = format!("{policy}, 2 CPUs: a whole yield at 400 clients, for each instruction at 50");
        add(name, ratio(on_two(policy, 400), on_two(policy, 50)));
    }
    let name = "gr3, 2 CPUs: a whole yield at 400 clients, for each instruction on one CPU";
    add(name.to_owned(), ratio(on_two("gr3", 400), counts.whole("yield", 1, "gr3", 400)));
    let name = "linux24, 2 CPUs: a whole yield at 400 clients, for each instruction of gr3's";
    add(name.to_owned(), ratio(on_two("linux24", 400), on_two("gr3", 400)));
    let least = cost(LEAST, 400);
    let beyond = |policy: &str| Some(cost(policy, 400)? - least?);
    for other in &POLICIES[1..] {
        let name =
            format!("{other}: cost at 400 clients beyond {LEAST}'s, for each instruction of gr3's beyond it");
        add(name, ratio(beyond(other), beyond("gr3")));
    }
    for policy in POLICIES.iter().chain([&LEAST]) {
        for &clients in CLIENTS {
            let name = format!("{policy}, {clients} clients: cost of a decision (instructions)");
            add(name, cost(policy, clients));
        }
        let name = format!("{policy}, 400 clients: a whole yield (instructions)");
        add(name, counts.whole("yield", 1, policy, 400));
    }
    for policy in ON_TWO_CPUS {
        let name = format!("{policy}, 400 clients, 2 CPUs: a whole yield (instructions)");
        add(name, on_two(policy, 400));
    }
    values
}

/// Groups of 40, as the paper's hackbench.
const TASKS: &[u64] = &[40, 400, 1000, 4000];
const SMALL_TASKS: &[u64] = &[40, 400];

pub fn runs_of_gr3_13(small: bool) -> Vec<Counting> {
    let messages = |policies, clients, operations| Counting {
        program: "hackbench",
        cpus: 1,
        policies,
        clients,
        operations,
    };
    if small {
        return vec![messages(SMALL_POLICIES, SMALL_TASKS, Some(20))];
    }
    let stay = Counting { program: "yield", cpus: 1, policies: &["gr3"], clients: &[400], operations: None };
    vec![messages(POLICIES, TASKS, None), stay]
}

pub fn values_of_gr3_13(counts: &Counts) -> Values {
    let cost = |policy: &str, clients| counts.decision(policy, clients);
    let mut values = Values::new();
    let mut add = |name: String, value: Option<f64>| values.extend(value.map(|value| (name, value)));
    for policy in POLICIES {
        for most in [4000, 400] {
            let name = format!("{policy}: cost at {most} clients, for each instruction at 40");
            add(name, ratio(cost(policy, most), cost(policy, 40)));
        }
    }
    let name = "gr3, 400 clients: cost if they come and go, for each instruction if they stay";
    add(name.to_owned(), ratio(cost("gr3", 400), counts.selection("gr3", 400)));
    let others = ["vtrr", "wfq", "linux24"].map(|other| ratio(cost(other, 4000), cost("gr3", 4000)));
    let least =
        others.into_iter().try_fold(f64::INFINITY, |least, other| other.map(|other| least.min(other)));
    add("the least of the others' at 4000 clients, for each instruction of gr3's".to_owned(), least);
    for policy in POLICIES {
        for &clients in TASKS {
            let name = format!("{policy}, {clients} clients: cost of a decision (instructions)");
            add(name, cost(policy, clients));
        }
    }
    values
}

/// `sfs` finds the least surplus by a search (papers/sfs.md D1). The paper's own way is [`ANEW`]: it computes all surpluses, and sorts them, when
/// v has changed; the heuristic of its section 3.2 is the last.
const SFS_POLICIES: &[&str] = &["sfs", "linux24", ANEW, "sfs:k=20:update=10000"];
const ANEW: &str = "sfs:k=20:update=1";
const SMALL_SFS_POLICIES: &[&str] = &["sfs", "linux24"];
const PROCESSES: &[u64] = &[1, 5, 10, 20, 50, 400];
const SMALL_PROCESSES: &[u64] = &[5, 50];

/// Threads of equal weight on two CPUs, as the paper's machine has.
pub fn runs_of_sfs_7(small: bool) -> Vec<Counting> {
    let run = |policies, clients, yields| Counting {
        program: "equal",
        cpus: 2,
        policies,
        clients,
        operations: Some(yields),
    };
    if small {
        return vec![run(SMALL_SFS_POLICIES, SMALL_PROCESSES, SMALL_YIELDS_ON_TWO_CPUS)];
    }
    vec![run(SFS_POLICIES, PROCESSES, YIELDS_ON_TWO_CPUS)]
}

pub fn values_of_sfs_7(counts: &Counts) -> Values {
    let switch = |policy: &str, processes| counts.whole("equal", 2, policy, processes);
    let mut values = Values::new();
    let mut add = |name: String, value: Option<f64>| values.extend(value.map(|value| (name, value)));
    for policy in SFS_POLICIES {
        for (most, least) in [(5, 1), (50, 5), (400, 5)] {
            let name = format!("{policy}: a switch at {most} processes, for each instruction at {least}");
            add(name, ratio(switch(policy, most), switch(policy, least)));
        }
    }
    for (policy, processes) in [("sfs", 50), ("sfs", 5), (ANEW, 50), (ANEW, 5)] {
        let name = format!("{policy}: a switch at {processes} processes, for each instruction of linux24's");
        add(name, ratio(switch(policy, processes), switch("linux24", processes)));
    }
    for policy in SFS_POLICIES {
        for &processes in PROCESSES {
            let name = format!("{policy}, {processes} processes: a switch (instructions)");
            add(name, switch(policy, processes));
        }
    }
    values
}

/// The time sharing of the kernel, as the paper compares with that of its kernel, and two more.
const LMBENCH_POLICIES: &[&str] = &[LINUX, "sfs", "sfq", "linux24"];
const SMALL_LMBENCH_POLICIES: &[&str] = &[LINUX, "sfs"];
/// One process makes system calls, others are in a ring.
const RING: &[u64] = &[1, 2, 8, 16];
const SMALL_RING: &[u64] = &[1, 2];

pub fn runs_of_sfs_table_1(small: bool) -> Vec<Counting> {
    let (policies, clients, operations) =
        if small { (SMALL_LMBENCH_POLICIES, SMALL_RING, Some(1000)) } else { (LMBENCH_POLICIES, RING, None) };
    vec![Counting { program: "lmbench", cpus: 1, policies, clients, operations }]
}

pub fn values_of_sfs_table_1(counts: &Counts) -> Values {
    let switch = |policy: &str, processes, kb| counts.context_switch(policy, processes, kb);
    let mut values = Values::new();
    let mut add = |name: String, value: Option<f64>| values.extend(value.map(|value| (name, value)));
    for other in [LINUX, "linux24"] {
        for (processes, kb) in [(2, 0), (8, 16), (16, 64)] {
            let name = format!(
                "sfs: a context switch, {processes} processes of {kb} kB, for each instruction of {other}'s"
            );
            add(name, ratio(switch("sfs", processes, kb), switch(other, processes, kb)));
        }
        for call in CALLS {
            let name = format!("sfs: {call}, for each instruction of {other}'s");
            add(name, ratio(counts.call("sfs", call), counts.call(other, call)));
        }
    }
    for policy in LMBENCH_POLICIES {
        let name =
            format!("{policy}: a context switch, 16 processes of 0 kB, for each instruction of 2 processes");
        add(name, ratio(switch(policy, 16, 0), switch(policy, 2, 0)));
        let name =
            format!("{policy}: a context switch, 16 processes of 64 kB, for each instruction with 0 kB");
        add(name, ratio(switch(policy, 16, 64), switch(policy, 16, 0)));
    }
    let beyond =
        |processes, kb| Some(ratio(switch("sfs", processes, kb), switch(LINUX, processes, kb))? - 1.0);
    let name = "sfs's switch beyond linux's, 16 processes of 64 kB, for each % with 2 of 0 kB";
    add(name.to_owned(), ratio(beyond(16, 64), beyond(2, 0)));
    for policy in LMBENCH_POLICIES {
        for call in CALLS {
            add(format!("{policy}: {call} (instructions)"), counts.call(policy, call));
        }
        for &processes in &RING[1..] {
            for (kb, _) in RINGS {
                let name =
                    format!("{policy}, {processes} processes of {kb} kB: a context switch (instructions)");
                add(name, switch(policy, processes, kb));
            }
        }
    }
    values
}

fn ratio(of: Option<f64>, to: Option<f64>) -> Option<f64> {
    Some(of? / to?)
}
