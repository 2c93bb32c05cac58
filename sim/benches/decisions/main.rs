//! Decisions per second of the simulator with full statistics, beside a loop written by hand for the same policy that keeps
//! the least that deserves the name of statistics. Both run in turns in one process, so that their ratio means
//! something on a busy machine too.
//!
//!     cargo bench -p divvy-sim                        the table; the best of several rounds counts
//!     cargo bench -p divvy-sim -- every [SPEC..]      every policy with every modifier at five sizes, and a CSV
//!     cargo bench -p divvy-sim -- counts [SPEC..]     instructions of a decision, by callgrind
//!     cargo bench -p divvy-sim -- matrix FILE MS [SPEC..]   the same for the tasks of a file
//!     cargo bench -p divvy-sim -- once sfq 100x4 hogs   one run without timing, for callgrind or perf; hand:sfq is the loop by hand
//!     cargo bench -p divvy-sim -- large sfq 100000      one run of the large machine

mod case;
mod counts;
mod every;
mod large;
mod lines;
mod matrix;
mod measure;
mod minimal;
mod setup;

use std::process::ExitCode;

use case::{CASES, Case};
use measure::{by_hand, nanoseconds, simulate};

const ROUNDS: usize = 5;
const POLICIES: [&str; 3] = ["rr", "sfq", "gr3"];

/// Beside each policy its own loop by hand, that of round-robin, and the floor: the loop over the policy's calls.
fn table() {
    println!(
        "{:<16} {:<6} {:>11} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8}",
        "tasks x CPUs", "policy", "decisions/s", "ns each", "by hand", "ratio", "to rr's", "floor", "ratio"
    );
    for case in CASES {
        let workload = case.workload();
        let mut best = [[f64::INFINITY; 3]; POLICIES.len()];
        for _ in 0..ROUNDS {
            for (best, policy) in best.iter_mut().zip(POLICIES) {
                let measured = [
                    simulate(&case, &workload, policy),
                    by_hand(&case, policy, false),
                    by_hand(&case, policy, true),
                ];
                for (best, measured) in best.iter_mut().zip(measured) {
                    *best = best.min(nanoseconds(measured));
                }
            }
        }
        let round_robin = best[0][1];
        for ([ns, hand, floor], policy) in best.into_iter().zip(POLICIES) {
            println!(
                "{:<16} {policy:<6} {:>9.2} M {ns:>8.1} {hand:>8.1} {:>8.2} {:>8.2} {floor:>8.1} {:>8.2}",
                case.name(),
                1e3 / ns,
                ns / hand,
                ns / round_robin,
                ns / floor
            );
        }
    }
}

fn once(args: &[String]) -> Result<(), String> {
    let (policy, size, load, decisions) = match args {
        [policy, size, load] => (policy, size, load, 4_000_000),
        [policy, size, load, n] => (policy, size, load, n.parse().map_err(|error| format!("{n}: {error}"))?),
        _ => return Err("usage: once POLICY TASKSxCPUS hogs|think [DECISIONS]".into()),
    };
    let case = Case::parse(size, load, decisions);
    let case = case.ok_or_else(|| format!("{size} {load}: not TASKSxCPUS, or not hogs or think"))?;
    let (decisions, _) = match policy.strip_prefix("hand:") {
        Some(policy) => by_hand(&case, policy, false),
        None => simulate(&case, &case.workload(), policy),
    };
    println!("{decisions} decisions");
    Ok(())
}

fn of_kind(kind: &str, args: &[String]) -> Result<(), String> {
    match kind {
        "matrix" => matrix::table(args),
        "every" => every::table(args),
        "counts" => counts::table(args),
        "cell" => every::cell(args),
        "large" => large::once(args),
        _ => once(args),
    }
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    match args.split_first() {
        Some((first, rest))
            if ["once", "matrix", "every", "counts", "cell", "large"].contains(&first.as_str()) =>
        {
            match of_kind(first, rest) {
                Ok(()) => ExitCode::SUCCESS,
                Err(problem) => {
                    eprintln!("{problem}");
                    ExitCode::from(2)
                }
            }
        }
        _ => {
            table();
            large::table();
            ExitCode::SUCCESS
        }
    }
}
