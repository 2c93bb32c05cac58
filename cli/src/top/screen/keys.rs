//! Keys and their actions: the same as in htop where it has them.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::super::rows::{By, Column};

/// An action that a key stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    Quit,
    Help,
    By(By),
    NextBy,
    Sort(Column),
    NextColumn,
    PreviousColumn,
    Invert,
    Pause,
    /// Rows down, or up in the negative.
    Move(isize),
    /// Pages down, or up in the negative.
    Page(isize),
    First,
    Last,
    Filter,
    Search,
    Weight,
    Heavier,
    Lighter,
    Delay,
    Redraw,
    Suspend,
    Type(char),
    Erase,
    EraseAll,
    Accept,
    Cancel,
}

/// The part of the screen that takes keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    Table,
    Help,
    Prompt,
}

/// None for keys that mean nothing.
pub fn action(mode: Mode, key: KeyEvent) -> Option<Action> {
    if key.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT) {
        return control(mode, key);
    }
    match mode {
        Mode::Table => in_table(key.code),
        Mode::Help => Some(Action::Cancel),
        Mode::Prompt => in_prompt(key.code),
    }
}

fn control(mode: Mode, key: KeyEvent) -> Option<Action> {
    match key.code {
        KeyCode::Char('c') if mode == Mode::Prompt => Some(Action::Cancel),
        KeyCode::Char('c') => Some(Action::Quit),
        KeyCode::Char('z') => Some(Action::Suspend),
        KeyCode::Char('l') => Some(Action::Redraw),
        KeyCode::Char('u') if mode == Mode::Prompt => Some(Action::EraseAll),
        _ => None,
    }
}

fn in_prompt(code: KeyCode) -> Option<Action> {
    match code {
        KeyCode::Char(c) if !c.is_control() => Some(Action::Type(c)),
        KeyCode::Backspace => Some(Action::Erase),
        KeyCode::Enter => Some(Action::Accept),
        KeyCode::Esc => Some(Action::Cancel),
        KeyCode::F(3) => Some(Action::Search),
        KeyCode::F(10) => Some(Action::Quit),
        _ => None,
    }
}

fn in_table(code: KeyCode) -> Option<Action> {
    Some(match code {
        KeyCode::F(1) | KeyCode::Char('h' | '?') => Action::Help,
        KeyCode::F(3) | KeyCode::Char('/') => Action::Search,
        KeyCode::F(4) | KeyCode::Char('\\') => Action::Filter,
        KeyCode::F(5) | KeyCode::Tab => Action::NextBy,
        KeyCode::Char('t' | 'H') => Action::By(By::Thread),
        KeyCode::Char('p') => Action::By(By::Process),
        KeyCode::Char('u') => Action::By(By::User),
        KeyCode::Char('c') => Action::By(By::Cgroup),
        KeyCode::F(6) | KeyCode::Char('>' | '.') => Action::NextColumn,
        KeyCode::Char('<' | ',') => Action::PreviousColumn,
        KeyCode::Char('I') => Action::Invert,
        KeyCode::Char('P') => Action::Sort(Column::Received),
        KeyCode::Char('M') => Action::Sort(Column::Wait),
        KeyCode::Char('T') => Action::Sort(Column::Turns),
        KeyCode::Char('N') => Action::Sort(Column::Pid),
        KeyCode::Char('E') => Action::Sort(Column::Error),
        KeyCode::Char('W') => Action::Sort(Column::Weight),
        KeyCode::Char(' ' | 'z' | 'Z') => Action::Pause,
        KeyCode::F(7) | KeyCode::Char(']' | '+') => Action::Heavier,
        KeyCode::F(8) | KeyCode::Char('[' | '-') => Action::Lighter,
        KeyCode::Char('w') => Action::Weight,
        KeyCode::Char('d' | 's') => Action::Delay,
        KeyCode::Up | KeyCode::Char('k') => Action::Move(-1),
        KeyCode::Down | KeyCode::Char('j') => Action::Move(1),
        KeyCode::PageUp => Action::Page(-1),
        KeyCode::PageDown => Action::Page(1),
        KeyCode::Home | KeyCode::Char('g') => Action::First,
        KeyCode::End | KeyCode::Char('G') => Action::Last,
        KeyCode::F(10) | KeyCode::Char('q') => Action::Quit,
        KeyCode::Esc => Action::Cancel,
        _ => return None,
    })
}

/// The help screen.
pub const HELP: &[&str] = &[
    "divvy top: what the loaded scheduler does. Keys as in htop where it has them.",
    "",
    " arrows PgUp PgDn Home End   select a row, which stays selected wherever it goes",
    " t p u c, F5 or Tab          rows: threads, processes, users, cgroups; the next",
    " F6 or >, <                  sort by the next column, the one before",
    " P E M T W N, I              by RECV%, ERROR, WAIT, TURN/s, WEIGHT, TID; I turns",
    " F3 or /                     search: F3 goes on to the next, Enter ends it",
    " F4 or \\                     filter by name, user, cgroup, number; Esc ends it",
    " F7 or +, F8 or -            a thread's weight times 1.25, or divided by it",
    " w                           type a thread's weight; nice 0 is 1024",
    " Space or z                  pause, go on;  d: type the time between looks",
    " F10 q Ctrl-C, Ctrl-Z, Ctrl-L   quit, suspend, draw all anew",
    "",
    " WEIGHT as asked for; EFFECT after the modifiers. Of several threads, the sum of",
    "        those that ran or waited. A weight that is set holds until the nice",
    "        value changes.",
    " ENTL%  CPU time entitled to in the fluid model, of all that the CPUs have",
    " RECV%  CPU time received, to within a tick",
    " ERROR  received over entitled since loading; negative: it got too little",
    " WAIT   for a CPU before a turn: the mean",
    "",
    " Any key goes back.",
];

#[cfg(test)]
mod tests {
    use super::*;

    fn key(code: KeyCode) -> KeyEvent {
        KeyEvent::new(code, KeyModifiers::NONE)
    }

    #[test]
    fn htops_keys_mean_what_they_do_there() {
        for (code, means) in [
            (KeyCode::F(1), Action::Help),
            (KeyCode::Char('?'), Action::Help),
            (KeyCode::Char('/'), Action::Search),
            (KeyCode::Char('\\'), Action::Filter),
            (KeyCode::Char('>'), Action::NextColumn),
            (KeyCode::Char('I'), Action::Invert),
            (KeyCode::Char('P'), Action::Sort(Column::Received)),
            (KeyCode::F(7), Action::Heavier),
            (KeyCode::F(8), Action::Lighter),
            (KeyCode::Char('Z'), Action::Pause),
            (KeyCode::PageUp, Action::Page(-1)),
            (KeyCode::F(10), Action::Quit),
            (KeyCode::Char('c'), Action::By(By::Cgroup)),
        ] {
            assert_eq!(action(Mode::Table, key(code)), Some(means), "{code:?}");
        }
        assert_eq!(action(Mode::Table, key(KeyCode::Char('Q'))), None);
    }

    #[test]
    fn in_a_prompt_letters_are_letters() {
        assert_eq!(action(Mode::Prompt, key(KeyCode::Char('q'))), Some(Action::Type('q')));
        assert_eq!(action(Mode::Prompt, key(KeyCode::Char('日'))), Some(Action::Type('日')));
        assert_eq!(action(Mode::Prompt, key(KeyCode::Esc)), Some(Action::Cancel));
        let control = |c| KeyEvent::new(KeyCode::Char(c), KeyModifiers::CONTROL);
        assert_eq!(action(Mode::Prompt, control('c')), Some(Action::Cancel));
        assert_eq!(action(Mode::Table, control('c')), Some(Action::Quit));
        assert_eq!(action(Mode::Table, control('p')), None, "not `p`");
    }

    #[test]
    fn help_fits_and_any_key_ends_it() {
        assert!(HELP.len() <= 24 && HELP.iter().all(|line| divvy_results::text::width(line) <= 80));
        assert_eq!(action(Mode::Help, key(KeyCode::Char('x'))), Some(Action::Cancel));
    }
}
