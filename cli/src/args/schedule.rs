//! Parts of a run that are kept beside its numbers: decisions, figures, the schedule.

use clap::Args;
use divvy_pages::drawing::Figure;
use divvy_policy::units::parse_duration_ns;
use divvy_results::figures::Limits;
use divvy_results::schedule::{MOST_EVENTS, Window};
use divvy_sim::run::Options;

use super::machine::MachineArgs;
use super::output::{Format, Target};

/// Decisions, figures and the timeline of a run.
#[derive(Debug, Args)]
pub struct ScheduleArgs {
    /// Print the first N decisions of each CPU (not in csv)
    #[arg(long, value_name = "N", help_heading = "Output", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub schedule: Option<u32>,

    /// Add to json the data of figures: series, distributions, timeline (html always has them)
    #[arg(long, help_heading = "Output")]
    pub figures: bool,

    /// Draw which task ran on which CPU, for each policy (with the table)
    #[arg(long, help_heading = "Output")]
    pub gantt: bool,

    /// The part of the run, after the warm-up, that --gantt and --figure timeline draw: FROM..TO, as in 1s..1200ms
    #[arg(long, value_name = "SPAN", default_value = "0s..200ms", help_heading = "Output", value_parser = span)]
    pub gantt_span: (u64, u64),
}

impl ScheduleArgs {
    /// The simulation's options, but for random numbers and repetitions.
    pub fn options(&self, machine: &MachineArgs, target: &Target) -> Options {
        let Target { format, figure, .. } = *target;
        let is_trace = format == Format::Perfetto;
        let has_figures = self.figures || is_trace || [Format::Html, Format::Svg].contains(&format);
        let draws_schedule = self.gantt || (format == Format::Svg && figure == Some(Figure::Timeline));
        let drawn = draws_schedule.then(|| window(self.gantt_span));
        Options {
            figures: has_figures.then(Limits::default),
            schedule: if is_trace { Some(Window::WHOLE) } else { drawn },
            cpus: machine.cpus,
            duration_ns: machine.duration_ns,
            quantum_ns: machine.quantum_ns,
            first_decisions: self.schedule.map_or(0, |count| count as usize),
            ..Options::default()
        }
    }
}

fn window((from_ns, to_ns): (u64, u64)) -> Window {
    Window { from_ns, to_ns, most: MOST_EVENTS, values: false }
}

fn span(text: &str) -> Result<(u64, u64), String> {
    let (from, to) = text.split_once("..").ok_or("expected FROM..TO, as in 0s..200ms")?;
    match (parse_duration_ns(from)?, parse_duration_ns(to)?) {
        (from_ns, to_ns) if from_ns < to_ns => Ok((from_ns, to_ns)),
        _ => Err("it must end after it begins".to_owned()),
    }
}
