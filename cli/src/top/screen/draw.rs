//! The screen.

use divvy_kernel::load::Period;
use divvy_results::text;
use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};

use super::super::cells::Layout;
use super::super::poller::Observation;
use super::keys::HELP;
use super::model::{Asks, Model, Prompt};
use crate::view::interval;
use crate::view::picture::Bar;

/// Lines above the table, if there is room; with several shards there are more.
const SUMMARY: u16 = 4;
/// Rows that are worth more than the summary.
const ROWS: u16 = 4;

/// Styles of the screen's parts.
#[derive(Clone, Copy, Debug)]
pub struct Theme {
    is_styled: bool,
    title: Style,
    bar: Style,
    head: Style,
    selected: Style,
    idle: Style,
    label: Style,
}

impl Theme {
    /// Without colour what stands out does so by being bold or reversed.
    pub fn new(is_styled: bool) -> Self {
        let plain = Style::new();
        let reversed = plain.add_modifier(Modifier::REVERSED);
        let on = |color| if is_styled { plain.fg(Color::Black).bg(color) } else { reversed };
        Self {
            is_styled,
            title: plain.add_modifier(Modifier::BOLD),
            bar: if is_styled { plain.fg(Color::Green) } else { plain },
            head: on(Color::Green),
            selected: on(Color::Cyan),
            idle: plain.add_modifier(Modifier::DIM),
            label: on(Color::Cyan),
        }
    }
}

/// Draws everything.
pub fn draw(frame: &mut Frame<'_>, model: &mut Model, theme: &Theme) {
    let area = frame.area();
    let mut page = Page { buffer: frame.buffer_mut(), area };
    if model.is_help {
        for (y, line) in (0..).zip(HELP) {
            page.line(y, line, Style::new());
        }
        return;
    }
    let lines = summary_lines(model, area.width, theme);
    let summary = area.height.saturating_sub(2 + ROWS).min(SUMMARY.max(lines.len() as u16));
    for (y, (line, style)) in (0..summary).zip(lines) {
        page.line(y, &line, style);
    }
    let foot = u16::from(area.height > 2);
    let rows = area.height.saturating_sub(summary + 1 + foot);
    table(&mut page, summary, rows, model, theme);
    if foot > 0 {
        footer(&mut page, area.height - 1, model, theme);
    }
}

struct Page<'a> {
    buffer: &'a mut Buffer,
    area: Rect,
}

impl Page<'_> {
    /// A line in its style from side to side.
    fn line(&mut self, y: u16, text: &str, style: Style) {
        if y < self.area.height {
            self.buffer.set_style(Rect { y: self.area.y + y, height: 1, ..self.area }, style);
            self.put(0, y, text, style);
        }
    }

    /// Returns the column after the text.
    fn put(&mut self, x: u16, y: u16, text: &str, style: Style) -> u16 {
        if x >= self.area.width || y >= self.area.height {
            return x;
        }
        let room = usize::from(self.area.width - x);
        let (end, _) = self.buffer.set_stringn(self.area.x + x, self.area.y + y, text, room, style);
        end - self.area.x
    }
}

fn summary_lines(model: &Model, width: u16, theme: &Theme) -> Vec<(String, Style)> {
    let Some(observation) = &model.observation else {
        return vec![("waiting for the scheduler".to_owned(), theme.title)];
    };
    let interval = &observation.interval;
    let mut lines = vec![
        (title(observation, model), theme.title),
        (machine(interval, usize::from(width), theme), theme.bar),
    ];
    if observation.is_loaded() {
        lines.extend([(rates(interval), Style::new()), (counts(interval), Style::new())]);
        lines.extend(interval::shards(interval).into_iter().map(|line| (line, Style::new())));
    }
    lines
}

fn title(observation: &Observation, model: &Model) -> String {
    let interval = &observation.interval;
    let mut line = format!("{} on {}", text::escape(&observation.policy), text::cpus(interval.cpus));
    line += &format!(", {} {}", text::time(interval.end_ns as f64), observation.since());
    line += &format!("; the last {}", text::time(interval.duration_ns as f64));
    if !model.query.filter.is_empty() {
        line += &format!("; with `{}`", text::escape(&model.query.filter));
    }
    if model.is_paused {
        line += "; PAUSED";
    }
    line
}

/// The whole machine as a bar.
fn machine(interval: &Period, width: usize, theme: &Theme) -> String {
    let sum = |part: fn(&divvy_kernel::load::TaskRow) -> u64| interval.tasks.iter().map(part).sum();
    let (received, entitled) =
        (interval.share(sum(|task| task.received_ns)), interval.share(sum(|task| task.entitled_ns)));
    let numbers =
        format!(" received {}, entitled {}", text::percent(received, 1), text::percent(entitled, 1));
    let bar = Bar { length: received, mark: entitled };
    let bar = bar.draw(width.saturating_sub(numbers.len() + 6).max(1), theme.is_styled);
    format!("CPUs {bar}{numbers}")
}

fn rates(interval: &Period) -> String {
    let counts = &interval.counts;
    let rate = |count| text::count(interval.rate(count));
    format!(
        "{} decisions/s, {} switches/s, {} wakes/s, {} kicks/s, {} kernel threads/s",
        rate(counts.decisions),
        rate(counts.switches),
        rate(counts.wakes),
        rate(counts.kicks),
        rate(counts.kernel_threads),
    )
}

fn counts(interval: &Period) -> String {
    let counts = &interval.counts;
    let none = if counts.fallbacks == 0 { ", 0 fallbacks" } else { "" };
    let troubles = interval::troubles(interval);
    format!("{} tasks, {} runnable; {}{none}", counts.tasks, counts.runnable, troubles.trim())
}

fn table(page: &mut Page<'_>, top: u16, rows: u16, model: &mut Model, theme: &Theme) {
    let layout = Layout::new(usize::from(page.area.width), model.query.by);
    page.line(top, &layout.head(model.query.sort, model.is_inverted), theme.head);
    model.fit(usize::from(rows));
    let shown = model.rows.iter().enumerate().skip(model.top).take(usize::from(rows));
    for (y, (place, row)) in (top + 1..).zip(shown) {
        let style = match place == model.selected {
            true => theme.selected,
            false if !row.is_active() => theme.idle,
            false => Style::new(),
        };
        page.line(y, &layout.line(row, theme.is_styled), style);
    }
}

/// The keys, the text that is typed, or a message.
fn footer(page: &mut Page<'_>, y: u16, model: &Model, theme: &Theme) {
    if let Some(Prompt { asks, text }) = &model.prompt {
        let asks = match asks {
            Asks::Filter => "Filter: ".to_owned(),
            Asks::Search => "Search: ".to_owned(),
            Asks::Weight(pid) => format!("Weight of {pid} (nice 0 is 1024): "),
            Asks::Delay => "Time between looks, such as 2 or 500ms: ".to_owned(),
        };
        let problem = model.message.as_deref().map(|message| format!("  ({message})")).unwrap_or_default();
        return page.line(y, &format!("{asks}{}_{problem}", text::escape(text)), theme.title);
    }
    if let Some(message) = &model.message {
        return page.line(y, &text::escape(message), theme.title);
    }
    let mut x = 0;
    for (key, label) in [
        ("F1", "Help  "),
        ("F3", "Search"),
        ("F4", "Filter"),
        ("F5", "By    "),
        ("F6", "SortBy"),
        ("F7", "Wght +"),
        ("F8", "Wght -"),
        ("z", "Pause "),
        ("F10", "Quit  "),
    ] {
        x = page.put(x, y, key, Style::new());
        x = page.put(x, y, label, theme.label);
    }
}

#[cfg(test)]
mod tests {
    use divvy_kernel::load::Shard;
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;

    use super::super::keys::Action;
    use super::super::model::tests::model;
    use super::*;

    fn screen(model: &mut Model, width: u16, height: u16, is_styled: bool) -> Vec<String> {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).expect("a terminal");
        terminal.draw(|frame| draw(frame, model, &Theme::new(is_styled))).expect("drawn");
        let buffer = terminal.backend().buffer();
        let line = |y| {
            let mut line = String::new();
            let mut x = 0;
            while x < width {
                let symbol = buffer[(x, y)].symbol();
                line += symbol;
                // A wide character takes the next cell as well.
                x += text::width(symbol).max(1) as u16;
            }
            line.trim_end().to_owned()
        };
        (0..height).map(line).collect()
    }

    #[test]
    fn eighty_by_twenty_four_has_everything() {
        let lines = screen(&mut model(), 80, 24, false);
        assert_eq!(lines[0], "gr3 on 2 CPUs, 3.00s after loading; the last 1.00s");
        assert!(lines[1].starts_with("CPUs ====="), "{}", lines[1]);
        assert!(lines[1].ends_with(" received 80.5%, entitled 100.0%"), "{}", lines[1]);
        assert!(lines[2].starts_with("0 decisions/s, "), "{}", lines[2]);
        assert!(lines[3].starts_with("0 tasks, 0 runnable; lock wait - in the mean"), "{}", lines[3]);
        assert!(lines[3].ends_with("0 fallbacks"), "{}", lines[3]);
        assert!(lines[4].starts_with("    TID USER "), "{}", lines[4]);
        assert_eq!(lines[5], "     12 root        1024     512  25.00  45.00   400ms  3.00ms     20 web");
        assert!(lines[7].ends_with("日本\\u{1b…"), "{}", lines[7]);
        assert_eq!(lines[10], "", "there are five");
        assert!(lines[23].starts_with("F1Help  F3Search"), "{}", lines[23]);
        assert!(lines[23].ends_with("F10Quit"), "{}", lines[23]);
    }

    #[test]
    fn several_shards_have_a_line_each_above_the_table() {
        let mut model = model();
        let observation = model.observation.as_mut().expect("one");
        observation.interval.shards = vec![Shard { cpus: "0".to_owned(), ..Shard::default() }; 2];
        let lines = screen(&mut model, 80, 24, false);
        assert!(lines[4].starts_with("  CPUs of shard "), "{lines:#?}");
        assert!(lines[6].starts_with("  0  "), "{lines:#?}");
        assert!(lines[7].starts_with("    TID USER "), "{lines:#?}");
    }

    #[test]
    fn other_sizes_have_what_fits() {
        let small = screen(&mut model(), 40, 10, true);
        assert!(small[0].starts_with("gr3 on 2 CPUs") && small[9].starts_with("F1Help"), "{small:#?}");
        assert!(small.iter().any(|line| line.ends_with("web")), "{small:#?}");
        let large = screen(&mut model(), 200, 50, true);
        assert!(large.iter().any(|line| line.contains("━━")), "{large:#?}");
        assert_eq!(screen(&mut model(), 25, 3, true)[1], "     12  45.00 web");
    }

    #[test]
    fn no_size_is_too_small_in_any_mode() {
        for action in
            [None, Some(Action::Help), Some(Action::Filter), Some(Action::Weight), Some(Action::Last)]
        {
            for (width, height) in [(1, 1), (1, 2), (2, 1), (3, 3), (7, 5), (80, 1), (1, 80), (20, 6)] {
                let mut model = model();
                action.map(|action| model.apply(action));
                assert_eq!(screen(&mut model, width, height, true).len(), usize::from(height));
            }
        }
    }

    #[test]
    fn no_name_or_text_is_obeyed() {
        let mut model = model();
        model.apply(Action::Filter);
        model.apply(Action::Type('\u{202e}'));
        model.apply(Action::EraseAll);
        model.message = Some("\u{1b}[2J".to_owned());
        model.prompt = None;
        for line in screen(&mut model, 120, 24, true) {
            assert!(!line.chars().any(char::is_control), "{line:?}");
        }
    }

    #[test]
    fn without_colour_the_selected_row_is_reversed() {
        for (is_styled, modifier) in [(false, Modifier::REVERSED), (true, Modifier::empty())] {
            let mut terminal = Terminal::new(TestBackend::new(80, 24)).expect("a terminal");
            terminal.draw(|frame| draw(frame, &mut model(), &Theme::new(is_styled))).expect("drawn");
            let buffer = terminal.backend().buffer();
            assert_eq!(buffer[(0, 5)].modifier, modifier);
            let colours = |cell: &ratatui::buffer::Cell| cell.fg != Color::Reset || cell.bg != Color::Reset;
            assert_eq!(buffer.content.iter().any(colours), is_styled);
        }
    }

    #[test]
    fn what_is_typed_and_said_is_in_the_last_line() {
        let mut model = model();
        model.apply(Action::Weight);
        model.apply(Action::Type('7'));
        assert_eq!(screen(&mut model, 80, 24, true)[23], "Weight of 12 (nice 0 is 1024): 7_");
        model.apply(Action::Accept);
        model.tell(Ok(super::super::model::weight_text(12, 7 << 10)));
        assert_eq!(screen(&mut model, 80, 24, true)[23], "weight of 12 is 7");
        model.apply(Action::Pause);
        assert!(screen(&mut model, 80, 24, true)[0].ends_with("; PAUSED"));
    }
}
