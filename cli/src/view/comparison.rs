//! The table with one row per policy.

use divvy_results::compare::{Comparison, Criterion, Estimate, Policy};
use divvy_results::measure::{
    DECISIONS, DELAY, ERROR, JAIN, MIGRATIONS, Quantity, RESPONSE, SWITCHES, Statistic, UTILIZATION, WAIT,
};
use divvy_results::text;

use crate::view::table::{ABSENT, Cell, Column, EXACT, NOTHING, SERVICE, TIMES, Table};

/// One row per policy, and one of the recorded scheduler.
pub fn table(comparison: &Comparison, baseline: Option<&str>) -> Table {
    let policies = &comparison.policies;
    let recorded = comparison.report.trace.as_ref().and_then(|trace| trace.recorded.as_ref());
    let names = policies.iter().map(|policy| text::escape(policy.spec));
    let names = names.chain(recorded.map(|_| "recorded".to_owned())).collect();
    let mut columns = Vec::new();
    let mut add = |head, group, mut cells: Vec<Cell>, seen: Option<f64>| {
        cells.extend(recorded.map(|_| Cell::plain(seen.map_or(NOTHING.to_owned(), text::time))));
        columns.push((Column::number(head, group), cells));
    };
    for metric in metrics() {
        let mean_of = |quantity: &Quantity| {
            metric.quantity.name == quantity.name && metric.statistic == Statistic::Mean
        };
        let seen = match recorded {
            Some(recorded) if mean_of(&RESPONSE) => recorded.response_mean_ns,
            Some(recorded) if mean_of(&DELAY) => recorded.wake_delay_mean_ns,
            _ => None,
        };
        add(metric.head, metric.group, metric.cells(policies), seen);
        if mean_of(&RESPONSE) {
            add(["", "\u{b1}95%"], TIMES, half_widths(policies), None);
        }
    }
    if policies.len() > 1
        && let Some(base) = base(policies, baseline)
    {
        let head = match comparison.criterion {
            Criterion::MeanResponse => ["response", "factor"],
            Criterion::MaxError => ["error", "factor"],
        };
        let factors = policies.iter().map(|policy| factor(comparison, policy, base)).collect();
        add(head, TIMES, factors, None);
    }
    Table::of_columns(None, ("policy", names), columns).without_empty_columns()
}

/// One measured column, and which values are better.
struct Metric {
    head: [&'static str; 2],
    group: u8,
    quantity: Quantity,
    statistic: Statistic,
    format: fn(f64) -> String,
    better: Better,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Better {
    Less,
    More,
    Neither,
}

fn metrics() -> [Metric; 11] {
    use Better::{Less, More, Neither};
    let percent: fn(f64) -> String = |share| text::percent(share, 1);
    let metric = |head, group, quantity, statistic, format, better| Metric {
        head,
        group,
        quantity,
        statistic,
        format,
        better,
    };
    [
        metric(["service", "error max"], SERVICE, ERROR, Statistic::Max, text::time, Less),
        metric(["Jain", "index"], SERVICE, JAIN, Statistic::Mean, text::index, More),
        metric(["CPU", "used"], SERVICE, UTILIZATION, Statistic::Mean, percent, More),
        metric(["", "switches"], SERVICE, SWITCHES, Statistic::Mean, text::count, Neither),
        metric(["migra-", "tions"], SERVICE, MIGRATIONS, Statistic::Mean, text::count, Neither),
        metric(["deci-", "sions"], SERVICE, DECISIONS, Statistic::Mean, text::count, Neither),
        metric(["response", "mean"], TIMES, RESPONSE, Statistic::Mean, text::time, Less),
        metric(["response", "p99"], TIMES, RESPONSE, Statistic::P99, text::time, Less),
        metric(["waiting", "mean"], TIMES, WAIT, Statistic::Mean, text::time, Less),
        metric(["latency", "mean"], TIMES, DELAY, Statistic::Mean, text::time, Less),
        metric(["latency", "p99"], TIMES, DELAY, Statistic::P99, text::time, Less),
    ]
}

impl Metric {
    fn cells(&self, policies: &[Policy]) -> Vec<Cell> {
        let values: Vec<Option<f64>> =
            policies.iter().map(|policy| policy.value(&self.quantity, self.statistic)).collect();
        let texts: Vec<String> =
            values.iter().map(|value| value.map_or(ABSENT.to_owned(), self.format)).collect();
        let contends = |index: usize| self.group != TIMES || policies[index].keeps_up(policies);
        let best = (0..policies.len())
            .filter(|index| self.better != Better::Neither && contends(*index))
            .filter_map(|index| Some((values[index]?, &texts[index])))
            .reduce(|best, other| if self.is_better(other.0, best.0) { other } else { best })
            .map(|(_, text)| text.clone());
        // Values that print alike get no mark.
        let mut contending = texts.iter().enumerate().filter(|(index, _)| contends(*index));
        let all_alike = contending.all(|(_, text)| Some(text) == best.as_ref());
        let cells = texts.into_iter().enumerate().map(|(index, text)| Cell {
            is_best: !all_alike && contends(index) && Some(&text) == best.as_ref(),
            text,
            picture: None,
        });
        cells.collect()
    }

    fn is_better(&self, value: f64, than: f64) -> bool {
        match self.better {
            Better::Less => value < than,
            Better::More => value > than,
            Better::Neither => false,
        }
    }
}

/// The policy asked for, else the first that keeps up with the others.
fn base<'a, 'b>(policies: &'b [Policy<'a>], baseline: Option<&str>) -> Option<&'b Policy<'a>> {
    match baseline {
        Some(spec) => policies.iter().find(|policy| policy.spec == spec),
        None => policies.iter().find(|policy| policy.keeps_up(policies)),
    }
}

/// Half the interval of the mean response, in percent of it.
fn half_widths(policies: &[Policy]) -> Vec<Cell> {
    policies
        .iter()
        .map(|policy| {
            let estimate = Criterion::MeanResponse.estimate(policy);
            let half = estimate.and_then(|estimate| estimate.relative_half_width());
            if estimate.is_some_and(|estimate| estimate.is_exact) {
                return Cell::plain(EXACT.to_owned());
            }
            Cell::plain(half.map_or(ABSENT.to_owned(), text::half_width))
        })
        .collect()
}

/// `1.42x` the baseline; `~` before it when the intervals do not tell the two apart. The greatest errors of one run have none: their
/// ratio is a fact of that run.
fn factor(comparison: &Comparison, policy: &Policy, base: &Policy) -> Cell {
    if policy.spec == base.spec {
        return Cell::plain("1".to_owned());
    }
    let Some(ratio) = comparison.criterion.ratio(policy, base) else {
        return Cell::plain(ABSENT.to_owned());
    };
    let sure =
        |ratio: Estimate| comparison.floor.is_some_and(|floor| ratio.is_more(floor) || ratio.is_less(floor));
    let mark = if sure(ratio) || is_fact(comparison, ratio) { "" } else { "~" };
    let times = if ratio.mid < 0.01 { "<0.01".to_owned() } else { format!("{:.2}", ratio.mid) };
    Cell::plain(format!("{mark}{times}x"))
}

fn is_fact(comparison: &Comparison, ratio: Estimate) -> bool {
    comparison.criterion == Criterion::MaxError && !ratio.is_known()
}

/// The meaning of marks, and how tasks and repetitions were pooled.
pub fn notes(policies: &[Policy], comparison: &Table) -> Vec<String> {
    let has = |wanted: fn(&Cell) -> bool| comparison.rows.iter().flatten().any(wanted);
    let mut notes = Vec::new();
    if has(|cell| cell.is_best) {
        notes.push("* best of its column".to_owned());
    }
    if has(|cell| cell.text.starts_with('~')) {
        notes.push("~ no interval tells it from the baseline".to_owned());
    }
    if has(|cell| cell.text == EXACT) {
        notes.push("= deterministic: all repetitions, or all jobs, are alike".to_owned());
    }
    if comparison.columns.iter().any(|column| column.head[0] == "response") {
        notes.push("response (turnaround) is from a job's start to its end".to_owned());
    }
    if comparison.columns.iter().any(|column| column.head[0] == "latency") {
        notes.push("latency is from a wake-up to the CPU".to_owned());
    }
    if policies.iter().any(|policy| policy.runs.len() > 1) {
        notes.push("means over repetitions; the service error is the greatest".to_owned());
    }
    notes
}
