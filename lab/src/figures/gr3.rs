//! Group ratio round-robin, figures 1 to 3: schedules by hand.

use std::fmt::Write as _;

use divvy_policy::CpuId;
use divvy_results::observation::Service;

use crate::error::LabError;
use crate::measurements::Measurements;
use crate::run::{self, MS, Record};
use crate::setting::Setting;
use divvy_pages::plot::{Bar, Gantt, Line};

/// The quantum of the workloads.
const QUANTUM_NS: u64 = 10 * MS;

const FIGURE_1: &str = include_str!("../../workloads/gr3-1.toml");
const FIGURE_2: &str = include_str!("../../workloads/gr3-2.toml");
const FIGURE_3: &str = include_str!("../../workloads/gr3-3.toml");

/// Weights 5, 2, 1: a period of 8, twice.
pub fn figure_1(setting: &Setting) -> Result<Measurements, LabError> {
    schedule("gr3-1", FIGURE_1, &["quanta 1 to 8", "quanta 9 to 16"], 8, setting)
}

/// Weights 12, 3, 3, 2, 2, 2: a period of 24, twice.
pub fn figure_2(setting: &Setting) -> Result<Measurements, LabError> {
    schedule("gr3-2", FIGURE_2, &["quanta 1 to 24", "quanta 25 to 48"], 24, setting)
}

/// Weights 3, 2, 1 on two CPUs: a period of 3 on each, three times.
pub fn figure_3(setting: &Setting) -> Result<Measurements, LabError> {
    schedule("gr3-3", FIGURE_3, &["quanta 1 to 3", "quanta 4 to 6", "quanta 7 to 9"], 3, setting)
}

/// The schedule of each CPU, period by period; CPUs are separated by a bar.
fn schedule(
    id: &str,
    toml: &str,
    names: &[&str],
    period: usize,
    setting: &Setting,
) -> Result<Measurements, LabError> {
    let workload = run::workload(&format!("{id}.toml"), toml)?;
    let record = run::run(&workload, "gr3", setting.seed, 0)?;
    let quanta: Vec<Vec<&str>> =
        CpuId::first(workload.cpus as usize).map(|cpu| quanta(&record, cpu)).collect();
    let mut found = Measurements::default();
    for (i, name) in names.iter().enumerate() {
        let mut text = String::new();
        for (cpu, ran) in quanta.iter().enumerate() {
            let turns = ran.iter().skip(i * period).take(period).copied().collect::<Vec<_>>().join(" ");
            let _ = write!(text, "{}{turns}", if cpu > 0 { " | " } else { "" });
        }
        found.is(*name, text);
    }
    let shown = names.len() * period;
    let line = |(cpu, ran): (usize, &Vec<&str>)| Line {
        name: format!("CPU {}", cpu + 1),
        bars: bars(&ran[..shown]),
    };
    let lines = quanta.iter().enumerate().map(line);
    let title = format!("GR3, Figure {}", &id[4..]);
    let (name, x) = (id.to_owned(), "time (quanta)".to_owned());
    found.plots.push(Gantt { name, title, x, from: 0.0, lines: lines.collect() }.draw());
    Ok(found)
}

/// The task in each quantum of a CPU.
fn quanta(record: &Record, cpu: CpuId) -> Vec<&str> {
    let mut slices: Vec<&Service> = record.slices.iter().filter(|slice| slice.cpu == cpu).collect();
    slices.sort_by_key(|slice| slice.from_ns);
    let name = |slice: &Service| record.run.tasks[slice.row].name.as_str();
    let each = |slice: &&Service| vec![name(slice); ((slice.to_ns - slice.from_ns) / QUANTUM_NS) as usize];
    slices.iter().flat_map(each).collect()
}

fn bars(ran: &[&str]) -> Vec<Bar> {
    let bar =
        |(i, task): (usize, &&str)| Bar { task: (*task).to_owned(), from: i as f64, to: i as f64 + 1.0 };
    ran.iter().enumerate().map(bar).collect()
}
