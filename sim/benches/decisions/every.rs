//! Every policy with every modifier at five sizes: ns per decision, how often the loop by hand that is nearest, and memory. Each cell
//! has a process of its own, which runs the simulator and the loop by turns. The rows go to `target/bench` as well, with the commit;
//! if there are rows of an earlier commit, the table says what takes more than a quarter longer in relation to the loop.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use divvy_policy::Kind;
use divvy_policy::spec::parse;
use divvy_sim::sharing::Sharing;

use crate::case::Case;
use crate::large::peak_kib;
use crate::matrix::MODIFIERS;
use crate::measure::{by_hand, nanoseconds, simulate};

/// Tasks and CPUs, and decisions of a run.
const SIZES: [(&str, u64); 5] = [
    ("10x1", 300_000),
    ("100x4", 300_000),
    ("1000x16", 300_000),
    ("10000x64", 400_000),
    ("100000x1024", 1_000_000),
];
const ROUNDS: usize = 3;
/// Rows whose ratio grew by more than this are marked.
const SLOWER: f64 = 1.25;
const HEAD: &str = "commit,policy,size,decisions,ns_each,by_hand_ns,ratio,peak_kib,bytes_per_task";

/// The loop by hand that a policy is compared with: its own, or round-robin's.
pub fn nearest(spec: &str) -> &str {
    let policy = spec.split(['+', ':']).next().unwrap_or(spec);
    if ["sfq", "gr3"].contains(&policy) { policy } else { "rr" }
}

/// `args`: a spec, a size, decisions. Prints decisions, ns of each, ns of each by hand, KiB before the run and at most.
pub fn cell(args: &[String]) -> Result<(), String> {
    let [spec, size, decisions] = args else { return Err("usage: cell SPEC TASKSxCPUS DECISIONS".into()) };
    let decisions = decisions.parse().map_err(|error| format!("{decisions}: {error}"))?;
    let case = Case::parse(size, "think", decisions).ok_or_else(|| format!("{size}: not TASKSxCPUS"))?;
    let parsed = parse(spec, divvy_policy::all()).map_err(|error| error.to_string())?;
    let groups = Sharing::of(&parsed) != Sharing::default();
    let workload = if groups { case.workload_in_groups() } else { case.workload_in_classes() };
    let mut least = [f64::INFINITY; 2];
    let (mut made, mut peak) = (0, 0);
    let before = peak_kib();
    for _ in 0..ROUNDS {
        let measured = simulate(&case, &workload, spec);
        made = measured.0;
        least[0] = least[0].min(nanoseconds(measured));
        peak = if peak == 0 { peak_kib() } else { peak };
        least[1] = least[1].min(nanoseconds(by_hand(&case, nearest(spec), false)));
    }
    println!("{made} {} {} {before} {peak}", least[0], least[1]);
    Ok(())
}

struct Cell {
    decisions: f64,
    ns: f64,
    by_hand_ns: f64,
    peak_kib: f64,
    bytes_per_task: f64,
}

fn measured(spec: &str, size: &str, decisions: u64) -> Option<Cell> {
    let program = std::env::current_exe().ok()?;
    let output = Command::new(program).args(["cell", spec, size, &decisions.to_string()]).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let mut numbers = text.split_whitespace().map(|word| word.parse::<f64>().ok());
    let mut next = || numbers.next().flatten();
    let (decisions, ns, by_hand_ns, before, peak_kib) = (next()?, next()?, next()?, next()?, next()?);
    let tasks: f64 = size.split('x').next()?.parse().ok()?;
    Some(Cell { decisions, ns, by_hand_ns, peak_kib, bytes_per_task: (peak_kib - before) * 1024.0 / tasks })
}

/// These specs; all policies with all modifiers, if there are none.
pub fn specs(args: &[String]) -> Vec<String> {
    if !args.is_empty() {
        return args.to_vec();
    }
    let all = divvy_policy::all().iter().filter(|policy| policy.kind == Kind::Selection);
    all.flat_map(|policy| MODIFIERS.map(|modifier| format!("{}{modifier}", policy.name))).collect()
}

/// `args`: specs; all policies with all modifiers without.
pub fn table(args: &[String]) -> Result<(), String> {
    let specs = specs(args);
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/bench");
    let commit = commit();
    let earlier = earlier(&folder, &commit);
    let mut rows = vec![HEAD.to_owned()];
    println!(
        "each: ns per decision, times the loop by hand (sfq's and gr3's own, else rr's); memory at the largest size"
    );
    println!("{:<22}{}{:>14}", "", SIZES.map(|(size, _)| format!("{size:>18}")).concat(), "bytes a task");
    for spec in &specs {
        let (mut line, mut bytes) = (String::new(), f64::NAN);
        for (size, decisions) in SIZES {
            let Some(cell) = measured(spec, size, decisions) else {
                line += &format!("{:>18}", "-");
                continue;
            };
            let ratio = cell.ns / cell.by_hand_ns;
            let slower =
                earlier.get(&(spec.clone(), size.to_owned())).is_some_and(|was| ratio > SLOWER * was);
            line += &format!("{:>10.0} {ratio:>6.1}{}", cell.ns, if slower { '!' } else { ' ' });
            bytes = cell.bytes_per_task;
            rows.push(format!(
                "{commit},{spec},{size},{},{:.1},{:.1},{ratio:.2},{},{bytes:.0}",
                cell.decisions, cell.ns, cell.by_hand_ns, cell.peak_kib
            ));
        }
        println!("{spec:<22}{line}{bytes:>14.0}");
    }
    let file = folder.join(format!("decisions-{commit}.csv"));
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    fs::write(&file, rows.join("\n") + "\n").map_err(|error| format!("{}: {error}", file.display()))?;
    println!("written to {}", file.display());
    Ok(())
}

/// The commit that is checked out, in short.
fn commit() -> String {
    let output = Command::new("git").args(["describe", "--always", "--dirty", "--abbrev=10"]).output().ok();
    let text = output
        .filter(|output| output.status.success())
        .and_then(|output| String::from_utf8(output.stdout).ok());
    text.map_or_else(|| "unknown".to_owned(), |text| text.trim().to_owned())
}

/// Ratios of the newest file of another commit.
fn earlier(folder: &Path, commit: &str) -> BTreeMap<(String, String), f64> {
    let is_other = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        name.starts_with("decisions-") && name != format!("decisions-{commit}.csv")
    };
    let files = fs::read_dir(folder).into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path()));
    let newest =
        files.filter(is_other).max_by_key(|path| path.metadata().and_then(|data| data.modified()).ok());
    let text = newest.and_then(|path| fs::read_to_string(path).ok()).unwrap_or_default();
    let row = |line: &str| {
        let mut fields = line.split(',').skip(1);
        let (spec, size) = (fields.next()?.to_owned(), fields.next()?.to_owned());
        Some(((spec, size), fields.nth(3)?.parse().ok()?))
    };
    text.lines().filter_map(row).collect()
}
