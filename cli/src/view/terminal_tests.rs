use divvy_results::groups::By;
use divvy_results::report::Report;
use divvy_results::samples;
use divvy_results::text;

use crate::view::page::{PageOptions, page};
use crate::view::table::{Cell, Column, Page, Table};
use crate::view::terminal;

/// As it looks where escape sequences are stripped.
fn drawn(report: &Report, options: &PageOptions, columns: usize) -> String {
    anstream::adapter::strip_str(&terminal::draw(&page(report, options), columns, false)).to_string()
}

fn widest(text: &str) -> usize {
    text.lines().map(text::width).max().unwrap_or(0)
}

#[test]
fn two_blocks_at_eighty_columns() {
    let expected = "\
mix.toml on 1 CPU, 10s, seed 42

        response        response  response  waiting  latency  latency
policy      mean  ±95%    factor       p99     mean     mean      p99
─────────────────────────────────────────────────────────────────────
gr3      7.50ms*  2.0%         1   22.0ms*  3.75ms*   750us*  2.20ms*
rr       30.0ms   2.0%     4.00x   92.0ms   15.0ms   3.00ms   9.20ms

          service     Jain    CPU            deci-
policy  error max    index   used  switches  sions
──────────────────────────────────────────────────
gr3       4.00ms*  0.9999*  99.5%      1234  56.8k
rr        30.0ms   0.9000   99.5%      1234  56.8k
* best of its column; response (turnaround) is from a job's start to its end;
  latency is from a wake-up to the CPU; -v shows more of each task

waiting time of jobs: runnable but not running
                                      1ms
policy  none     p50     p90     max  |  |
───────────────────────────────────────────
gr3     0.0%  7.50ms  22.0ms  22.0ms   @ .
rr      0.0%  30.0ms  92.0ms  92.0ms     @.
histograms: jobs by waiting time, from each time on the axis to the next of 1,
  2, 5, 10..; the highest of all is full; none: jobs that never waited

share of CPU time
task     weight                      gr3                       rr
─────────────────────────────────────────────────────────────────
big           3  ===============| 60.00%  ============|    50.00%
small/1       1  ====|            20.00%  ======|          25.00%
small/2       1  ====|            19.50%  ======|          24.50%
bars: CPU time; the mark is what the task was entitled to

mean response
task        gr3      rr
───────────────────────
big      15.0ms  60.0ms
small/1  5.00ms  20.0ms

99th percentile of response
task        gr3      rr
───────────────────────
big      25.0ms  95.0ms
small/1  20.0ms  90.0ms

Summary: gr3 has the least mean response, 7.50ms; rr 4.00 times that (95%: 3.84
  to 4.16).
";
    assert_eq!(drawn(&samples::two_policies(), &PageOptions::default(), 80), expected);
}

#[test]
fn the_tasks_of_one_policy_are_shown_in_full() {
    let mut report = samples::two_policies();
    report.runs.truncate(1);
    let text = drawn(&report, &PageOptions::default(), 80);
    let expected = "
gr3
                                 error  error      response response        wait
task    weight entitled  share   least   most jobs     mean      p99        mean
────────────────────────────────────────────────────────────────────────────────
big          3   60.00% 60.00% -4.00ms 3.00ms  100   15.0ms   25.0ms   @. 7.50ms
small/1      1   20.00% 20.00% -1.00ms 2.00ms  300   5.00ms   20.0ms  @ . 2.50ms
small/2      1   19.50% 19.50%       0 1.00ms    0        -        -           -
histograms: the task's jobs by waiting time, from 1ms to 20ms, three places a
  factor of ten (1, 2, 5); the highest of all is full
";
    assert!(text.ends_with(expected), "{text}");
}

/// On a terminal that has them, in block characters; each character is a bucket of the JSON, all in one scale.
#[test]
fn waits_are_drawn_from_the_buckets_of_the_json() {
    let report = samples::two_policies();
    let styled = terminal::draw(&page(&report, &PageOptions::default()), 80, true);
    let text = anstream::adapter::strip_str(&styled).to_string();
    let table = text.split("waiting time of jobs").nth(1).expect("a table");
    let drawn = |policy: &str| {
        let line = table.lines().find(|line| line.starts_with(policy)).expect("a row");
        line.split("ms  ").last().expect("a histogram").to_owned()
    };
    assert_eq!([drawn("gr3"), drawn("rr ")], [" █ ▁", "   █▁"]);
    let buckets = report.runs[0].wait_buckets.as_ref().expect("jobs");
    assert_eq!(
        (&buckets.from_ns[..], &buckets.count[..]),
        (&[2_000_000, 5_000_000, 10_000_000][..], &[360, 0, 40][..])
    );
}

#[test]
fn a_recording_has_a_row_where_it_knows_something() {
    let text = drawn(&samples::replayed(Some(0.05)), &PageOptions::default(), 80);
    let rows: Vec<&str> = text.lines().filter(|line| line.starts_with("recorded")).collect();
    assert_eq!(rows, ["recorded   8.00ms"], "{text}");
    let means = "mean response\ntask        gr3      rr  recorded\n";
    assert!(text.contains(means), "{text}");
    assert!(
        text.contains("\nbig      15.0ms  60.0ms    12.0ms\nsmall/1  5.00ms  20.0ms         -\n"),
        "{text}"
    );
    assert!(text.contains("as recorded: 9.95s of CPU time, 2.00s of waiting for it\n"), "{text}");
}

#[test]
fn one_block_at_a_hundred_and_twenty_columns() {
    let text = drawn(&samples::two_policies(), &PageOptions::default(), 120);
    let comparison: Vec<&str> = text.lines().skip(2).take(5).collect();
    let expected = [
        "        response        response  response  waiting  latency  latency    service     Jain    CPU            deci-",
        "policy      mean  ±95%    factor       p99     mean     mean      p99  error max    index   used  switches  sions",
        "─────────────────────────────────────────────────────────────────────────────────────────────────────────────────",
        "gr3      7.50ms*  2.0%         1   22.0ms*  3.75ms*   750us*  2.20ms*    4.00ms*  0.9999*  99.5%      1234  56.8k",
        "rr       30.0ms   2.0%     4.00x   92.0ms   15.0ms   3.00ms   9.20ms     30.0ms   0.9000   99.5%      1234  56.8k",
    ];
    assert_eq!(comparison, expected);
}

#[test]
fn nothing_is_wider_than_asked_however_hostile_the_names() {
    for columns in [60, 80, 100, 120, 200] {
        for report in [samples::hostile(), samples::two_policies(), samples::replayed(Some(0.05))] {
            let options = PageOptions { all_tasks: true, ..PageOptions::default() };
            let text = drawn(&report, &options, columns);
            // A word is never broken, so the summary may stick out where a spec is wider than the line.
            let tables = text.split("\nSummary").next().unwrap_or(&text);
            assert!(widest(tables) <= columns, "{columns}:\n{text}");
            assert!(text.chars().all(|c| c == '\n' || !c.is_control()), "{text:?}");
            assert!(text.lines().all(|line| !line.ends_with(' ')), "{text}");
        }
    }
}

#[test]
fn wide_characters_keep_columns_under_each_other() {
    let text = drawn(&samples::hostile(), &PageOptions::default(), 120);
    let ends = |part: &str| {
        let line =
            text.lines().find(|line| line.contains(part)).unwrap_or_else(|| panic!("{part} in\n{text}"));
        text::width(line)
    };
    assert_eq!(ends("日本語のとても"), ends("comma, \"quote\""));
    assert_eq!(ends("日本語のとても"), ends("new\\nline\\tand\\u{1b}[31mred"));
}

#[test]
fn many_tasks_are_shown_only_when_asked_for() {
    let mut report = samples::two_policies();
    for run in &mut report.runs {
        let task = |i: usize| {
            let (name, process) = (format!("big{i}"), format!("p{i}"));
            divvy_results::report::TaskResult { name, process, ..run.tasks[0].clone() }
        };
        run.tasks = (0..100).map(task).collect();
    }
    let few = drawn(&report, &PageOptions::default(), 80);
    assert!(few.replace("\n  ", " ").contains("200 rows of tasks are not shown;"), "{few}");
    assert!(!few.contains("\nbig"), "{few}");
    let all = drawn(&report, &PageOptions { all_tasks: true, ..PageOptions::default() }, 80);
    // Mean and 99th percentile of response against both policies, then all of each.
    assert_eq!(all.matches("\nbig").count(), 100 + 100 + 200);
}

/// Two thousand tasks of two classes are two rows, with their totals; the comparison is that of the tasks.
#[test]
fn many_tasks_are_shown_by_class() {
    let mut report = samples::two_policies();
    for run in &mut report.runs {
        let of = |name: &str, from: &divvy_results::report::TaskResult| {
            let task = |i| divvy_results::report::TaskResult { name: format!("{name}/{i}"), ..from.clone() };
            (1..=1000).map(task).collect::<Vec<_>>()
        };
        run.tasks = [of("heavy", &run.tasks[0]), of("light", &run.tasks[2])].concat();
    }
    let text = drawn(&report, &PageOptions::default(), 80);
    let row = |name: &str| {
        text.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("{name} in\n{text}"))
    };
    assert!(row("heavy (1000)").contains("3000") && row("light (1000)").contains("1000"), "{text}");
    assert!(text.replace("\n  ", " ").contains("2000 tasks by class: sums,"), "{text}");
    let each = drawn(&report, &PageOptions { by: Some(By::Task), ..PageOptions::default() }, 80);
    assert!(each.contains("\nheavy/1000 "), "{each}");
    assert_eq!(each.lines().nth(4), text.lines().nth(4), "the comparison");
    let process = drawn(&report, &PageOptions { by: Some(By::Process), ..PageOptions::default() }, 80);
    assert!(process.contains("\nA (1000)") && process.contains("\nB (1000)"), "{process}");
}

/// Each block of a table that is too wide has all columns that name its rows.
#[test]
fn all_columns_that_name_rows_are_in_each_block() {
    let names = |prefix: &str, n: usize| (0..n).map(|i| format!("{prefix}{i}")).collect::<Vec<String>>();
    let column = |head: &str| Column::number(["", head], 1);
    let cells = |texts: Vec<String>| texts.into_iter().map(Cell::plain).collect::<Vec<Cell>>();
    let mut columns = vec![Column::name("policy"), Column::name("task")];
    columns.extend(names("measure number ", 8).iter().map(|head| column(head)));
    let row = |i: usize| {
        cells([vec![format!("policy{i}"), format!("a-task-with-a-long-name-{i}")], names("123", 8)].concat())
    };
    let table = Table { title: None, columns, keys: 2, rows: (0..2).map(row).collect(), meaning: None };
    let page = Page {
        heading: "h".to_owned(),
        quality: Vec::new(),
        tables: vec![table],
        notes: Vec::new(),
        summary: None,
        first_decisions: Vec::new(),
    };
    let text = anstream::adapter::strip_str(&terminal::draw(&page, 80, false)).to_string();
    let blocks = text.matches("policy   task").count();
    assert!(blocks >= 2 && widest(&text) <= 80, "{text}");
    assert_eq!(
        (text.matches("policy1  a-task-with-a").count(), text.matches("measure number").count()),
        (blocks, 8),
        "{text}"
    );
}

#[test]
fn factors_relate_to_the_baseline() {
    let factors = |baseline| {
        let text = drawn(&samples::two_policies(), &PageOptions { baseline, ..PageOptions::default() }, 140);
        let of = |policy: &str| {
            let line = text.lines().find(|line| line.starts_with(policy)).expect("a row").to_owned();
            line.split_whitespace().nth(3).expect("a factor behind the interval").to_owned()
        };
        (of("gr3 "), of("rr "))
    };
    assert_eq!(factors(None), ("1".to_owned(), "4.00x".to_owned()));
    assert_eq!(factors(Some("rr")), ("0.25x".to_owned(), "1".to_owned()));
}

#[test]
fn a_schedule_is_a_list_a_cpu() {
    let mut report = samples::endless(&[("gr3", 8)]);
    let names = |text: &str| text.split(' ').map(str::to_owned).collect();
    report.runs[0].first_decisions = Some(vec![names("C1 C1 C2 C1"), names("C3 new\nline")]);
    let text = drawn(&report, &PageOptions::default(), 80);
    assert!(text.contains("\ngr3\n  CPU 0: C1 C1 C2 C1\n  CPU 1: C3 new\\nline\n"), "{text}");
}
