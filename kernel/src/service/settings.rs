//! The unit's settings in /etc/default/divvy: a file of assignments and comments, which people edit as well.

use std::fs::{self, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

/// The unit reads them there.
pub const SETTINGS: &str = "/etc/default/divvy";
const SPEC: &str = "DIVVY_SPEC";
const OPTIONS: &str = "DIVVY_OPTIONS";

/// The text of the file, with all that people wrote in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// None: there is no file.
    text: Option<String>,
}

impl Settings {
    /// Those of this machine.
    ///
    /// # Errors
    /// When the file is there and cannot be read.
    pub fn read() -> io::Result<Self> {
        match fs::read_to_string(SETTINGS) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Self { text: None }),
            text => Ok(Self { text: Some(text?) }),
        }
    }

    /// The policy: the first word after `divvy load`.
    #[must_use]
    pub fn spec(&self) -> Option<&str> {
        self.value(SPEC).filter(|spec| !spec.is_empty())
    }

    /// The options of `divvy load`, as words.
    #[must_use]
    pub fn options(&self) -> Vec<String> {
        self.value(OPTIONS).unwrap_or_default().split_whitespace().map(str::to_owned).collect()
    }

    /// As systemd reads it: the last assignment holds.
    fn value(&self, name: &str) -> Option<&str> {
        let value = self.text.as_deref()?.lines().rev().find_map(|line| value(line, name))?;
        Some(value.trim_matches(['"', '\'']))
    }

    /// The same with this policy, and these options of `divvy load`. Comments and other assignments stay.
    #[must_use]
    pub fn with(&self, spec: &str, options: &[String]) -> Self {
        let mut text = self.text.clone().unwrap_or_default();
        for (name, value) in [(SPEC, spec), (OPTIONS, &options.join(" "))] {
            text = set(&text, name, value);
        }
        Self { text: Some(text) }
    }

    /// Replaces the file at once, so that no half of it is ever read. A link stays one.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write(&self) -> io::Result<()> {
        let Some(text) = &self.text else {
            return match fs::remove_file(SETTINGS) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
                _ => Ok(()),
            };
        };
        let file = fs::canonicalize(SETTINGS).unwrap_or_else(|_| PathBuf::from(SETTINGS));
        let new = file.with_extension(format!("{}.new", std::process::id()));
        let written = put(text, &new, &file);
        if written.is_err() {
            let _ = fs::remove_file(&new);
        }
        written
    }
}

/// Writes it beside the file, with the file's permissions, and moves it there.
fn put(text: &str, new: &Path, file: &Path) -> io::Result<()> {
    let mut out = fs::File::create_new(new)?;
    out.write_all(text.as_bytes())?;
    let permissions = match fs::metadata(file) {
        Ok(former) => former.permissions(),
        Err(_) => Permissions::from_mode(0o644),
    };
    out.set_permissions(permissions)?;
    out.sync_all()?;
    fs::rename(new, file)
}

/// The value that a line assigns to this name. Leading space is allowed, as systemd does.
fn value<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    line.trim().strip_prefix(name)?.trim_start().strip_prefix('=').map(str::trim)
}

/// The first assignment gets the value, and further ones go, as the last one would hold. An assignment goes on after a line that ends with
/// a backslash.
fn set(text: &str, name: &str, to: &str) -> String {
    let (mut is_set, mut goes_on) = (false, false);
    let mut out = String::new();
    for line in text.lines() {
        let is_own = goes_on || value(line, name).is_some();
        goes_on = is_own && line.ends_with('\\');
        if is_own && is_set {
            continue;
        }
        if is_own {
            out += &format!("{name}={to}");
            is_set = true;
        } else {
            out.push_str(line);
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
        Settings { text: Some(text.to_owned()) }
    }

    #[test]
    fn comments_and_other_assignments_stay() {
        let shipped = settings(include_str!("../../systemd/divvy.default"));
        let changed = shipped.with("sfq", &["--users".to_owned(), "--quantum=2ms".to_owned()]);
        assert_eq!(changed.spec(), Some("sfq"));
        let lines = |settings: &Settings, keep: fn(&str) -> bool| {
            settings
                .text
                .iter()
                .flat_map(|text| text.lines())
                .filter(|line| keep(line))
                .map(str::to_owned)
                .collect::<Vec<_>>()
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
        assert_eq!(twice.with("sfq", &[]), settings("DIVVY_SPEC=sfq\n# mine\nOTHER=1\nDIVVY_OPTIONS=\n"));
        assert_eq!(settings("").spec(), None);
        assert_eq!(settings("#DIVVY_SPEC=sfq\nDIVVY_SPECS=rr\nDIVVY_SPEC=\n").spec(), None);
        assert_eq!(Settings { text: None }.with("sfq", &[]), settings("DIVVY_SPEC=sfq\nDIVVY_OPTIONS=\n"));
        let long = settings("DIVVY_OPTIONS=--group adm \\\n  --users\nDIVVY_SPEC=rr\n");
        assert_eq!(long.with("sfq", &[]), settings("DIVVY_OPTIONS=\nDIVVY_SPEC=sfq\n"));
        assert_eq!(settings("DIVVY_OPTIONS='--group  adm'").options(), ["--group", "adm"]);
    }
}
