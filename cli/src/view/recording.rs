//! A recorder's progress and summary.

use std::path::Path;

use divvy_kernel::record::Summary;
use divvy_results::text;

/// The most CPUs whose losses are named one by one.
const MOST_CPUS: usize = 8;

/// While it records: a line.
pub fn progress(so_far: &Summary) -> String {
    let lost = match so_far.all_lost() {
        0 => String::new(),
        lost => format!(", {} lost", text::count(lost as f64)),
    };
    format!(
        "{}: {} events{lost}, {}",
        text::time(so_far.elapsed.as_nanos() as f64),
        text::count(so_far.events as f64),
        bytes(so_far.bytes)
    )
}

/// At the end: what there is, what is missing, and what it cost.
pub fn summary(summary: &Summary, file: &Path) -> String {
    let elapsed = summary.elapsed.as_secs_f64().max(1e-9);
    let count = |number: u64| text::count(number as f64);
    let mut said = format!(
        "recorded {} events in {}: {} switches, {} wake-ups; {} in {}",
        count(summary.events),
        text::time(elapsed * 1e9),
        count(summary.switches),
        count(summary.wakes),
        bytes(summary.bytes),
        file.display(),
    );
    if summary.all_lost() > 0 {
        said += &format!(
            "\nlost {} events ({}): the grade is lower; raise --buffer",
            count(summary.all_lost()),
            losses(&summary.lost)
        );
    } else {
        said += "\nnothing was lost";
    }
    if summary.lost_paths > 0 {
        let lost = count(summary.lost_paths);
        said += &format!(
            "\n{lost} cgroups were made too fast to learn their paths; those that stayed were looked up"
        );
    }
    let share = summary.own_cpu.as_secs_f64() / elapsed * 100.0;
    said + &format!("; reading and writing took {share:.2} % of a CPU")
}

/// The CPUs that lost most, with their losses.
fn losses(lost: &[u64]) -> String {
    let mut by_cpu: Vec<(usize, u64)> =
        lost.iter().copied().enumerate().filter(|(_, lost)| *lost > 0).collect();
    by_cpu.sort_by_key(|(_, lost)| std::cmp::Reverse(*lost)); // stable
    let named = by_cpu.iter().take(MOST_CPUS).map(|(cpu, lost)| format!("CPU {cpu}: {lost}"));
    let mut all = named.collect::<Vec<_>>().join(", ");
    if by_cpu.len() > MOST_CPUS {
        all += &format!(", and {} more", by_cpu.len() - MOST_CPUS);
    }
    all
}

fn bytes(bytes: u64) -> String {
    match bytes {
        0..10_000 => format!("{bytes} B"),
        10_000..10_000_000 => format!("{} kB", bytes / 1000),
        _ => format!("{:.1} MB", bytes as f64 / 1e6),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn some() -> Summary {
        Summary {
            elapsed: Duration::from_secs(2),
            events: 4000,
            switches: 1800,
            wakes: 2000,
            bytes: 650_000,
            own_cpu: Duration::from_millis(10),
            ..Summary::default()
        }
    }

    #[test]
    fn losses_are_named_by_cpu_the_greatest_first() {
        assert_eq!(losses(&[0, 3, 0, 70]), "CPU 3: 70, CPU 1: 3");
        let many = losses(&[1; 12]);
        assert!(many.starts_with("CPU 0: 1, ") && many.ends_with("CPU 7: 1, and 4 more"), "{many}");
    }

    #[test]
    fn the_summary_says_what_is_missing_and_what_it_cost() {
        let whole = summary(&some(), Path::new("x.perf.data"));
        assert!(whole.contains("650 kB in x.perf.data\nnothing was lost; "), "{whole}");
        assert!(whole.ends_with("took 0.50 % of a CPU"), "{whole}");
        let cut = summary(&Summary { lost: vec![0, 12], ..some() }, Path::new("x.perf.data"));
        assert!(cut.contains("lost 12 events (CPU 1: 12): the grade is lower; raise --buffer"), "{cut}");
    }
}
