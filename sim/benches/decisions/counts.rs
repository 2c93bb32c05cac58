//! Instructions of a decision, which callgrind counts: on the same machine they are the same each time, so a change of a per cent
//! shows. Only the run itself is counted.

use std::process::Command;

use crate::every::{nearest, specs};

/// Tasks and CPUs, and the load.
const CASES: [(&str, &str); 2] = [("100x4", "hogs"), ("100x4", "think")];
const DECISIONS: &str = "20000";

/// Instructions of each decision.
fn counted(policy: &str, size: &str, load: &str) -> Option<f64> {
    let program = std::env::current_exe().ok()?;
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null", "--toggle-collect=*counted_*"])
        .arg(program)
        .args(["once", policy, size, load, DECISIONS])
        .output()
        .ok()?;
    let number_before = |text: &[u8], word: &str| -> Option<f64> {
        let text = String::from_utf8_lossy(text);
        text.lines().find_map(|line| line.strip_suffix(word)?.trim().parse().ok())
    };
    let number_after = |text: &[u8], word: &str| -> Option<f64> {
        let text = String::from_utf8_lossy(text);
        text.lines().find_map(|line| line.split_once(word)?.1.trim().parse().ok())
    };
    let decisions = number_before(&output.stdout, "decisions")?;
    Some(number_after(&output.stderr, "Collected :")? / decisions)
}

/// `args`: specs; all policies with all modifiers without.
pub fn table(args: &[String]) -> Result<(), String> {
    if Command::new("valgrind").arg("--version").output().is_err() {
        return Err("there is no valgrind: install it, as `apt-get install valgrind` does on Debian".into());
    }
    println!("instructions of a decision, and times the loop by hand (sfq's and gr3's own, else rr's)");
    println!("{:<22}{}", "", CASES.map(|(size, load)| format!("{:>20}", format!("{size} {load}"))).concat());
    for spec in specs(args) {
        let cell = |(size, load): (&str, &str)| {
            let hand = format!("hand:{}", nearest(&spec));
            match (counted(&spec, size, load), counted(&hand, size, load)) {
                (Some(own), Some(hand)) => format!("{own:>12.0} {:>7.1}", own / hand),
                _ => format!("{:>20}", "-"),
            }
        };
        println!("{spec:<22}{}", CASES.map(cell).concat());
    }
    Ok(())
}
