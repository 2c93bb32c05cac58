//! Parts of a run that are kept beside its numbers: decisions, figures, the schedule.

use clap::Args;
use divvy_pages::drawing::Figure;
use divvy_policy::units::parse_duration_ns;
use divvy_results::figures::Limits;
use divvy_results::schedule::{MOST_EVENTS, Window};
use divvy_sim::run::Options;
use divvy_workload::Workload;

use super::machine::MachineArgs;
use super::output::{BadOutputArgs, Format, Target};

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
        let format = target.format;
        let is_trace = format == Format::Perfetto;
        let has_figures = self.figures || is_trace || [Format::Html, Format::Svg].contains(&format);
        let drawn = self.is_drawn(target).then(|| window(self.gantt_span));
        Options {
            figures: has_figures.then(Limits::default),
            schedule: if is_trace { Some(Window::WHOLE) } else { drawn },
            first_decisions: self.schedule.map_or(0, |count| count as usize),
            ..machine.options()
        }
    }

    /// Refuses a span that begins when the run has ended.
    ///
    /// # Errors
    /// If so, and if it is drawn.
    pub fn check_span(
        &self,
        machine: &MachineArgs,
        target: &Target,
        workload: &Workload,
    ) -> Result<(), BadOutputArgs> {
        let (from_ns, _) = self.gantt_span;
        let duration_ns = machine.duration_ns.or(workload.duration_ns);
        match duration_ns.map(|duration_ns| duration_ns.saturating_sub(workload.warmup_ns)) {
            Some(length_ns) if self.is_drawn(target) && from_ns >= length_ns => {
                Err(BadOutputArgs::SpanAfterEnd { from_ns, length_ns })
            }
            _ => Ok(()),
        }
    }

    fn is_drawn(&self, target: &Target) -> bool {
        self.gantt || (target.format == Format::Svg && target.figure == Some(Figure::Timeline))
    }
}

fn window((from_ns, to_ns): (u64, u64)) -> Window {
    Window { from_ns, to_ns, most: MOST_EVENTS, values: false, jobs: false }
}

fn span(text: &str) -> Result<(u64, u64), String> {
    let (from, to) = text.split_once("..").ok_or("expected FROM..TO, as in 0s..200ms")?;
    match (parse_duration_ns(from)?, parse_duration_ns(to)?) {
        (from_ns, to_ns) if from_ns < to_ns => Ok((from_ns, to_ns)),
        _ => Err("it must end after it begins".to_owned()),
    }
}
