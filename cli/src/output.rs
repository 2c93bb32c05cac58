//! Where results and notes go: results to stdout or a file, everything else to stderr.

use std::fmt;
use std::fs;
use std::io::{self, IsTerminal as _, Write as _};
use std::path::Path;

use anyhow::Context as _;
use clap::ValueEnum;

use crate::view::safe;

/// Columns of a result that does not go to a terminal, unless COLUMNS says otherwise.
const PLAIN_COLUMNS: usize = 80;

/// When to write escape sequences.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Color {
    /// On a terminal
    Auto,
    /// Even into a file
    Always,
    /// Not at all
    Never,
}

/// How to write.
#[derive(Clone, Copy, Debug)]
pub struct Output {
    color: Color,
    quiet: bool,
}

impl Output {
    /// Sets the choice of colour for the whole process.
    pub fn new(color: Color, quiet: bool) -> Self {
        match color {
            Color::Auto => anstream::ColorChoice::Auto,
            Color::Always => anstream::ColorChoice::Always,
            Color::Never => anstream::ColorChoice::Never,
        }
        .write_global();
        Self { color, quiet }
    }

    /// Columns for a table: the terminal's, if the result goes there.
    pub fn columns(self, file: Option<&Path>) -> usize {
        let terminal = match file {
            None => terminal_size::terminal_size_of(io::stdout()).map(|(width, _)| usize::from(width.0)),
            Some(_) => None,
        };
        terminal.or_else(columns_variable).unwrap_or(PLAIN_COLUMNS)
    }

    /// Writes a whole result, without escape sequences unless the output takes them.
    pub fn write(self, text: &str, file: Option<&Path>) -> anyhow::Result<()> {
        let Some(path) = file.filter(|path| *path != Path::new("-")) else {
            let mut out = anstream::stdout();
            out.write_all(text.as_bytes()).and_then(|()| out.flush()).context("cannot write the result")?;
            return Ok(());
        };
        let plain = match self.color {
            Color::Always => text.to_owned(),
            Color::Auto | Color::Never => anstream::adapter::strip_str(text).to_string(),
        };
        fs::write(path, plain).with_context(|| format!("cannot write {}", path.display()))
    }

    /// Whether the result may have escape sequences and non-ASCII characters in pictures: only on a terminal that supports
    /// them.
    pub fn is_styled(self, file: Option<&Path>) -> bool {
        is_utf8(|name| std::env::var(name).ok()) && self.keeps_escapes(file)
    }

    fn keeps_escapes(self, file: Option<&Path>) -> bool {
        match file.filter(|path| *path != Path::new("-")) {
            None => anstream::stdout().current_choice() != anstream::ColorChoice::Never,
            Some(_) => matches!(self.color, Color::Always),
        }
    }

    /// Writes a binary result.
    pub fn write_bytes(self, bytes: &[u8], file: Option<&Path>) -> anyhow::Result<()> {
        match file.filter(|path| *path != Path::new("-")) {
            Some(path) => fs::write(path, bytes).with_context(|| format!("cannot write {}", path.display())),
            None => {
                let mut out = io::stdout().lock();
                out.write_all(bytes).and_then(|()| out.flush()).context("cannot write the result")
            }
        }
    }

    /// Prints a line that is not the result, on stderr. It may have words of the kernel and names of tasks.
    pub fn note(self, text: &str) {
        if !self.quiet {
            // If stderr is closed, nobody can read the note.
            let _ = writeln!(anstream::stderr(), "{}", safe::lines(text));
        }
    }

    /// Prints notes about a result.
    pub fn notes<T: fmt::Display>(self, notes: &[T]) {
        notes.iter().for_each(|note| self.note(&format!("note: {note}")));
    }

    /// Whether only the result is wanted.
    pub fn is_quiet(self) -> bool {
        self.quiet
    }

    /// Whether to draw progress.
    pub fn shows_progress(self) -> bool {
        !self.quiet && io::stderr().is_terminal()
    }
}

/// Whether the locale's characters are Unicode. If no locale is set, they are: terminals today use UTF-8.
fn is_utf8(variable: impl Fn(&str) -> Option<String>) -> bool {
    let said =
        ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().filter_map(variable).find(|value| !value.is_empty());
    let Some(locale) = said else { return true };
    let locale = locale.to_ascii_lowercase();
    locale.contains("utf-8") || locale.contains("utf8")
}

fn columns_variable() -> Option<usize> {
    std::env::var("COLUMNS").ok()?.parse().ok().filter(|columns| *columns > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_locale_says_whether_there_are_other_characters() {
        let with = |pairs: &[(&str, &str)]| {
            let pairs: Vec<(String, String)> =
                pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
            is_utf8(move |name| pairs.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone()))
        };
        assert!(with(&[]));
        assert!(with(&[("LANG", "de_DE.UTF-8")]) && with(&[("LC_ALL", ""), ("LC_CTYPE", "C.utf8")]));
        assert!(!with(&[("LANG", "C")]) && !with(&[("LC_ALL", "POSIX"), ("LANG", "de_DE.UTF-8")]));
    }
}
