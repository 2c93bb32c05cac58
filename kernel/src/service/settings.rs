//! The unit's settings in /etc/default/divvy: a file of assignments and comments, which people edit as well.

use std::fs;
use std::io;
use std::path::Path;

/// The unit reads them there.
pub const SETTINGS: &str = "/etc/default/divvy";
const SPEC: &str = "DIVVY_SPEC";
const OPTIONS: &str = "DIVVY_OPTIONS";

/// The text of the file, with all that people wrote in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    text: String,
}

impl Settings {
    /// Those of this machine; none if there is no file.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn read() -> io::Result<Self> {
        match fs::read_to_string(SETTINGS) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Self { text: String::new() }),
            text => Ok(Self { text: text? }),
        }
    }

    /// The policy: the first word after `divvy load`.
    #[must_use]
    pub fn spec(&self) -> Option<&str> {
        let value = self.text.lines().rev().find_map(|line| value(line, SPEC))?;
        Some(value.trim_matches(['"', '\''])).filter(|spec| !spec.is_empty())
    }

    /// The same with this policy, and these options of `divvy load`. Comments and other assignments stay.
    #[must_use]
    pub fn with(&self, spec: &str, options: &[String]) -> Self {
        let mut text = self.text.clone();
        for (name, value) in [(SPEC, spec), (OPTIONS, &options.join(" "))] {
            text = set(&text, name, value);
        }
        Self { text }
    }

    /// Replaces the file at once, so that no half of it is ever read.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write(&self) -> io::Result<()> {
        let new = Path::new(SETTINGS).with_extension("new");
        fs::write(&new, &self.text)?;
        fs::rename(&new, SETTINGS)
    }
}

/// The value that a line assigns to this name. Leading space is allowed, as systemd does.
fn value<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    line.trim().strip_prefix(name)?.trim_start().strip_prefix('=').map(str::trim)
}

/// The first assignment gets the value, and further ones go, as the last one would hold.
fn set(text: &str, name: &str, to: &str) -> String {
    let mut is_set = false;
    let mut out = String::new();
    for line in text.lines() {
        if value(line, name).is_none() {
            out.push_str(line);
        } else if !is_set {
            out += &format!("{name}={to}");
            is_set = true;
        } else {
            continue;
        }
        out.push('\n');
    }
    if !is_set {
        out += &format!("{name}={to}\n");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(text: &str) -> Settings {
        Settings { text: text.to_owned() }
    }

    #[test]
    fn comments_and_other_assignments_stay() {
        let shipped = settings(include_str!("../../systemd/divvy.default"));
        let changed = shipped.with("sfq", &["--users".to_owned(), "--quantum=2ms".to_owned()]);
        assert_eq!(changed.spec(), Some("sfq"));
        let lines = |settings: &Settings, keep: fn(&str) -> bool| {
            settings.text.lines().filter(|line| keep(line)).map(str::to_owned).collect::<Vec<_>>()
        };
        let is_comment = |line: &str| !line.starts_with("DIVVY_");
        assert_eq!(lines(&changed, is_comment), lines(&shipped, is_comment));
        assert_eq!(
            lines(&changed, |line| line.starts_with("DIVVY_")),
            ["DIVVY_SPEC=sfq", "DIVVY_OPTIONS=--users --quantum=2ms"]
        );
        assert_eq!(changed.with("sfq", &["--users".to_owned(), "--quantum=2ms".to_owned()]), changed);
    }

    #[test]
    fn the_last_assignment_holds_and_one_is_left() {
        let twice = settings("DIVVY_SPEC=rr\n# mine\n DIVVY_SPEC = \"gr3\"\nOTHER=1");
        assert_eq!(twice.spec(), Some("gr3"));
        assert_eq!(twice.with("sfq", &[]).text, "DIVVY_SPEC=sfq\n# mine\nOTHER=1\nDIVVY_OPTIONS=\n");
        assert_eq!(settings("").spec(), None);
        assert_eq!(settings("#DIVVY_SPEC=sfq\nDIVVY_SPECS=rr\nDIVVY_SPEC=\n").spec(), None);
        assert_eq!(settings("").with("sfq", &[]).text, "DIVVY_SPEC=sfq\nDIVVY_OPTIONS=\n");
    }
}
