//! The screen's state, and how keys change it.

use std::time::Duration;

use divvy_policy::Weight;
use divvy_policy::units::parse_duration_ns;
use divvy_results::text;

use super::super::options::Query;
use super::super::poller::Observation;
use super::super::rows::{self, By, Column, Key, Row};
use super::keys::{Action, Mode};

/// F7 and F8: about a nice level.
const STEP: f64 = 1.25;
/// Longest text that can be typed.
const LONGEST_TEXT: usize = 64;
/// Between looks.
const DELAYS: std::ops::RangeInclusive<Duration> = Duration::from_millis(100)..=Duration::from_secs(3600);

/// A text that is being typed, and its purpose.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prompt {
    pub asks: Asks,
    pub text: String,
}

/// The purpose of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asks {
    Filter,
    Search,
    /// The weight of this thread.
    Weight(u32),
    Delay,
}

/// An effect outside the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    Quit,
    Redraw,
    Suspend,
    /// Sets a thread's weight, in 1/1024 of the kernel's unit.
    SetWeight {
        pid: u32,
        weight: u64,
    },
}

/// The screen's state.
#[derive(Debug)]
pub struct Model {
    pub query: Query,
    pub is_inverted: bool,
    pub is_paused: bool,
    pub is_help: bool,
    pub every: Duration,
    pub observation: Option<Observation>,
    pub rows: Vec<Row>,
    /// Where the selection is in `rows`.
    pub selected: usize,
    /// The row that the user selected.
    key: Option<Key>,
    /// The first row on the screen, and the number of rows that fit.
    pub top: usize,
    page: usize,
    pub prompt: Option<Prompt>,
    /// Until the next key.
    pub message: Option<String>,
}

impl Model {
    pub fn new(query: Query, every: Duration) -> Self {
        Self {
            query,
            is_inverted: false,
            is_paused: false,
            is_help: false,
            every,
            observation: None,
            rows: Vec::new(),
            selected: 0,
            key: None,
            top: 0,
            page: 1,
            prompt: None,
            message: None,
        }
    }

    pub fn mode(&self) -> Mode {
        match (&self.prompt, self.is_help) {
            (Some(_), _) => Mode::Prompt,
            (None, true) => Mode::Help,
            (None, false) => Mode::Table,
        }
    }

    /// Takes the next interval.
    pub fn update(&mut self, observation: Observation) {
        self.observation = Some(observation);
        self.arrange();
    }

    /// Sets the number of rows that fit, and scrolls to the selected one.
    pub fn fit(&mut self, page: usize) {
        self.page = page.max(1);
        let last_top = self.rows.len().saturating_sub(self.page);
        self.top = self.top.clamp((self.selected + 1).saturating_sub(self.page), self.selected).min(last_top);
    }

    /// Rows in their order; the selection stays on its row, or where that was.
    fn arrange(&mut self) {
        let Some(observation) = &self.observation else { return };
        let mut rows = rows::rows(&observation.interval, self.query.by, &self.query.users);
        rows.retain(|row| row.has(&self.query.filter));
        rows::sort(&mut rows, self.query.sort, self.is_inverted);
        self.rows = rows;
        let place = self.key.as_ref().and_then(|key| self.rows.iter().position(|row| row.key == *key));
        self.selected = place.unwrap_or(self.selected).min(self.rows.len().saturating_sub(1));
    }

    fn select(&mut self, place: usize) {
        self.selected = place.min(self.rows.len().saturating_sub(1));
        self.key = self.rows.get(self.selected).map(|row| row.key.clone());
    }

    fn go(&mut self, rows: isize) {
        self.select(self.selected.saturating_add_signed(rows));
    }

    /// Applies the action of a key.
    pub fn apply(&mut self, action: Action) -> Option<Effect> {
        self.message = None;
        let page = isize::try_from(self.page).unwrap_or(1);
        match action {
            Action::Quit => return Some(Effect::Quit),
            Action::Redraw => return Some(Effect::Redraw),
            Action::Suspend => return Some(Effect::Suspend),
            Action::Help => self.is_help = true,
            Action::By(by) => self.set_by(by),
            Action::NextBy => self.set_by(next_by(self.query.by)),
            Action::Sort(column) => self.set_sort(column),
            Action::NextColumn => self.next_column(1),
            Action::PreviousColumn => self.next_column(Column::ALL.len() - 1),
            Action::Invert => {
                self.is_inverted = !self.is_inverted;
                self.arrange();
            }
            Action::Pause => self.is_paused = !self.is_paused,
            Action::Move(rows) => self.go(rows),
            Action::Page(pages) => self.go(pages.saturating_mul(page)),
            Action::First => self.select(0),
            Action::Last => self.select(usize::MAX),
            Action::Filter => self.ask(Asks::Filter, self.query.filter.clone()),
            Action::Search => self.search(),
            Action::Delay => self.ask(Asks::Delay, String::new()),
            Action::Weight => {
                if let Some(pid) = self.thread() {
                    self.ask(Asks::Weight(pid), String::new());
                }
            }
            Action::Heavier => return self.step(STEP),
            Action::Lighter => return self.step(1.0 / STEP),
            Action::Type(c) => self.edit(|text| text.push(c)),
            Action::Erase => self.edit(|text| {
                text.pop();
            }),
            Action::EraseAll => self.edit(String::clear),
            Action::Accept => return self.accept(),
            Action::Cancel => self.cancel(),
        }
        None
    }

    fn set_by(&mut self, by: By) {
        self.query.by = by;
        (self.key, self.selected, self.top) = (None, 0, 0);
        self.arrange();
    }

    fn set_sort(&mut self, column: Column) {
        self.query.sort = column;
        self.arrange();
    }

    fn next_column(&mut self, steps: usize) {
        let at = Column::ALL.iter().position(|column| *column == self.query.sort).unwrap_or(0);
        self.set_sort(Column::ALL[(at + steps) % Column::ALL.len()]);
    }

    fn ask(&mut self, asks: Asks, text: String) {
        self.prompt = Some(Prompt { asks, text });
    }

    /// The selected thread. For other rows, a message says that they have no weight of their own.
    fn thread(&mut self) -> Option<u32> {
        let key = self.rows.get(self.selected).map(|row| row.key.clone());
        match key {
            Some(Key::Thread(pid)) if pid > 0 => return Some(pid),
            Some(Key::Thread(_)) => self.message = Some("it has ended".to_owned()),
            Some(_) => self.message = Some("threads have weights: t shows them".to_owned()),
            None => {}
        }
        None
    }

    fn step(&mut self, factor: f64) -> Option<Effect> {
        let pid = self.thread()?;
        let weight = self.rows.get(self.selected)?.weight;
        Some(self.set_weight(pid, (weight * factor * Weight::ONE.fixed() as f64).round() as u64))
    }

    /// It is shown at once, so that the next step begins there; the next look has what it really is.
    fn set_weight(&mut self, pid: u32, weight: u64) -> Effect {
        let weight = weight.max(1);
        if let Some(observation) = &mut self.observation
            && let Some(task) = observation.interval.tasks.iter_mut().find(|task| task.pid == pid)
        {
            task.weight = Weight::from_fixed(weight).units();
        }
        self.key = Some(Key::Thread(pid));
        self.arrange();
        Effect::SetWeight { pid, weight }
    }

    /// Opens the prompt; inside it, selects the next match.
    fn search(&mut self) {
        match self.prompt.take() {
            Some(prompt) if prompt.asks == Asks::Search => {
                self.find(&prompt.text, self.selected + 1);
                self.prompt = Some(prompt);
            }
            Some(other) => self.prompt = Some(other),
            None => self.ask(Asks::Search, String::new()),
        }
    }

    /// Selects the next row with this text, from the selected one on, and wraps around.
    fn find(&mut self, text: &str, from: usize) {
        let (text, count) = (text.to_lowercase(), self.rows.len());
        let found = (0..count).map(|step| (from + step) % count).find(|place| self.rows[*place].has(&text));
        match found {
            Some(place) => self.select(place),
            None => self.message = Some("no such row".to_owned()),
        }
    }

    fn edit(&mut self, change: impl FnOnce(&mut String)) {
        let Some(prompt) = &mut self.prompt else { return };
        change(&mut prompt.text);
        let end = prompt.text.char_indices().nth(LONGEST_TEXT).map_or(prompt.text.len(), |(at, _)| at);
        prompt.text.truncate(end);
        let Prompt { asks, text } = prompt.clone();
        match asks {
            Asks::Filter => self.set_filter(&text),
            Asks::Search => self.find(&text, self.selected),
            Asks::Weight(_) | Asks::Delay => {}
        }
    }

    fn set_filter(&mut self, text: &str) {
        self.query.filter = text.to_lowercase();
        self.arrange();
    }

    fn accept(&mut self) -> Option<Effect> {
        let Prompt { asks, text } = self.prompt.take()?;
        match asks {
            Asks::Filter | Asks::Search => {}
            Asks::Weight(_) | Asks::Delay if text.is_empty() => {}
            Asks::Weight(pid) => match Weight::parse(&text) {
                Ok(weight) => return Some(self.set_weight(pid, weight.fixed())),
                Err(problem) => self.message = Some(problem),
            },
            Asks::Delay => match delay(&text) {
                Ok(every) => self.every = every,
                Err(problem) => self.message = Some(problem),
            },
        }
        None
    }

    /// Esc ends what is open; then the filter.
    fn cancel(&mut self) {
        let was_help = std::mem::take(&mut self.is_help);
        let asked = self.prompt.take().map(|prompt| prompt.asks);
        if !was_help && matches!(asked, None | Some(Asks::Filter)) {
            self.set_filter("");
        }
    }

    /// Shows the result of a command.
    pub fn tell(&mut self, result: Result<String, String>) {
        self.message = Some(result.unwrap_or_else(|problem| format!("it did not work: {problem}")));
    }
}

fn next_by(by: By) -> By {
    match by {
        By::Thread => By::Process,
        By::Process => By::User,
        By::User => By::Cgroup,
        By::Cgroup => By::Thread,
    }
}

/// Seconds, or with a unit.
fn delay(text: &str) -> Result<Duration, String> {
    let seconds = text.trim().parse().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    let every = seconds.map_or_else(|| parse_duration_ns(text).map(Duration::from_nanos), Ok)?;
    if DELAYS.contains(&every) { Ok(every) } else { Err("a time is from 100ms to an hour".to_owned()) }
}

/// `weight of 4242 is 1280`
pub fn weight_text(pid: u32, weight: u64) -> String {
    format!("weight of {pid} is {}", text::plain(Weight::from_fixed(weight).units()))
}

#[cfg(test)]
pub mod tests {
    use super::super::super::options::tests::query;
    use super::super::super::poller::tests::observation;
    use super::*;

    pub fn model() -> Model {
        let mut model = Model::new(query(By::Thread), Duration::from_secs(1));
        model.update(observation());
        model.fit(3);
        model
    }

    fn selected(model: &Model) -> &str {
        &model.rows[model.selected].name
    }

    fn type_in(model: &mut Model, text: &str) {
        for c in text.chars() {
            model.apply(Action::Type(c));
        }
    }

    #[test]
    fn the_selection_stays_on_its_row() {
        let mut model = model();
        model.apply(Action::Move(1));
        assert_eq!(selected(&model), "worker");
        model.apply(Action::Invert);
        assert_eq!(selected(&model), "worker");
        let mut later = observation();
        later.interval.tasks[1].received_ns = 2_000_000_000;
        model.apply(Action::Invert);
        model.update(later);
        assert_eq!((selected(&model), model.selected), ("worker", 0));
        let mut ended = observation();
        ended.interval.tasks.remove(1);
        model.update(ended);
        assert_eq!(model.selected, 0, "where it was");
    }

    #[test]
    fn keys_move_within_the_rows_and_the_page_follows() {
        let mut model = model();
        model.apply(Action::Move(-5));
        assert_eq!(model.selected, 0);
        model.apply(Action::Last);
        model.fit(3);
        assert_eq!((model.selected, model.top), (4, 2));
        model.apply(Action::Page(-1));
        model.fit(3);
        assert_eq!((model.selected, model.top), (1, 1));
        model.apply(Action::Page(9));
        model.fit(100);
        assert_eq!((model.selected, model.top), (4, 0));
        model.rows.clear();
        model.apply(Action::First);
        model.fit(3);
        assert_eq!((model.selected, model.top), (0, 0));
    }

    #[test]
    fn a_filter_applies_while_it_is_typed_and_esc_ends_it() {
        let mut model = model();
        model.apply(Action::Filter);
        type_in(&mut model, "WEB");
        assert_eq!(model.rows.len(), 2, "by name and by cgroup");
        model.apply(Action::Accept);
        assert_eq!((model.mode(), model.rows.len()), (Mode::Table, 2));
        model.apply(Action::Cancel);
        assert_eq!(model.rows.len(), 5);
        model.apply(Action::Filter);
        type_in(&mut model, "nothing like it");
        assert_eq!((model.rows.len(), model.selected), (0, 0));
        assert_eq!(model.apply(Action::Heavier), None, "no row, no weight");
        model.apply(Action::EraseAll);
        assert_eq!(model.rows.len(), 5);
    }

    #[test]
    fn a_search_goes_on_to_the_next() {
        let mut model = model();
        model.apply(Action::Search);
        type_in(&mut model, "w");
        assert_eq!(selected(&model), "web");
        model.apply(Action::Search);
        assert_eq!(selected(&model), "worker");
        model.apply(Action::Search);
        assert_eq!(selected(&model), "web", "round");
        type_in(&mut model, "x");
        assert_eq!((selected(&model), model.message.as_deref()), ("web", Some("no such row")));
        model.apply(Action::Cancel);
        assert_eq!((model.mode(), selected(&model)), (Mode::Table, "web"));
    }

    #[test]
    fn weights_are_stepped_and_typed() {
        let mut model = model();
        assert_eq!(model.apply(Action::Heavier), Some(Effect::SetWeight { pid: 12, weight: 1280 << 10 }));
        assert_eq!(model.apply(Action::Lighter), Some(Effect::SetWeight { pid: 12, weight: 1024 << 10 }));
        model.apply(Action::Weight);
        type_in(&mut model, "0.5");
        assert_eq!(model.apply(Action::Accept), Some(Effect::SetWeight { pid: 12, weight: 512 }));
        assert_eq!(model.rows[model.selected].weight, 0.5);
        model.apply(Action::Weight);
        type_in(&mut model, "many");
        assert_eq!(model.apply(Action::Accept), None);
        assert!(model.message.as_deref().is_some_and(|message| message.contains("many")));
        model.apply(Action::By(By::Process));
        assert_eq!(model.apply(Action::Heavier), None);
        assert!(model.message.as_deref().is_some_and(|message| message.contains("threads have weights")));
    }

    #[test]
    fn the_time_between_looks_is_in_seconds_or_has_a_unit() {
        for (text, ms) in [
            ("2", Some(2000)),
            ("0.5", Some(500)),
            ("250ms", Some(250)),
            ("0", None),
            ("-1", None),
            ("1e9", None),
            ("NaN", None),
            ("soon", None),
        ] {
            assert_eq!(delay(text).ok(), ms.map(Duration::from_millis), "{text}");
        }
        let mut model = model();
        model.apply(Action::Delay);
        type_in(&mut model, "3");
        model.apply(Action::Accept);
        assert_eq!(model.every, Duration::from_secs(3));
    }

    #[test]
    fn sorting_goes_round_all_columns() {
        let mut model = model();
        for _ in Column::ALL {
            model.apply(Action::NextColumn);
        }
        assert_eq!(model.query.sort, Column::Received);
        model.apply(Action::PreviousColumn);
        assert_eq!(model.query.sort, Column::Entitled);
        for _ in 0..4 {
            model.apply(Action::NextBy);
        }
        assert_eq!(model.query.by, By::Thread);
    }
}
