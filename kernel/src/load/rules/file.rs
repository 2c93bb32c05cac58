//! The file of rules: names, and the weights that they give.
//!
//! ```toml
//! [executable]
//! "/usr/bin/ffmpeg" = 256
//! cc1 = 512              # in one of the usual directories
//! [service]
//! backup = 100           # backup.service
//! [cgroup]
//! "/user.slice" = 512    # and all cgroups below it
//! [user]
//! www-data = 2048
//! ```
//!
//! The name of a script gives no weight: the kernel runs its interpreter.

use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use divvy_policy::nearest;
use divvy_workload::toml_kind;
use rustix::fs::OFlags;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::error::{RulesError, Source, shown};
use super::name::{self, Name};

/// The longest file.
const MAX_BYTES: usize = 1 << 20;
/// The most rules of a file.
const MAX_RULES: usize = 1024;
/// The file's tables.
const TABLES: [&str; 4] = ["executable", "service", "cgroup", "user"];

/// A parsed file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rules {
    /// In the order of the file.
    pub(super) rules: Vec<Rule>,
}

/// A name and its weight.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Rule {
    pub name: Name,
    /// In fixed point.
    pub weight: u64,
}

impl Rules {
    /// Reads an open file; `path` is its name, for errors.
    ///
    /// # Errors
    /// If it cannot be read, is no regular file, is longer than 1 MiB, is not UTF-8, or as [`Rules::parse`].
    pub fn read(file: File, path: &Path) -> Result<Rules, RulesError> {
        let failed = |error| RulesError::Io { file: path.to_owned(), error };
        // It is watched, and its size bounds it: a pipe has neither end nor age.
        if !file.metadata().map_err(failed)?.is_file() {
            let why = "it is not a regular file, which a file of rules must be".to_owned();
            return Err(RulesError::File { file: path.to_owned(), why });
        }
        let mut bytes = Vec::new();
        file.take(MAX_BYTES as u64 + 1).read_to_end(&mut bytes).map_err(failed)?;
        if bytes.len() > MAX_BYTES {
            return Err(too_long(path));
        }
        match std::str::from_utf8(&bytes) {
            Ok(text) => Self::parse(text, path),
            Err(error) => {
                // This much of it is UTF-8.
                let text = String::from_utf8_lossy(&bytes[..error.valid_up_to()]);
                let source = Source { file: path, text: &text };
                let end = text.len();
                Err(source.error(end..end, "this is not UTF-8", "a file of rules is TOML, which is UTF-8"))
            }
        }
    }

    /// Reads a text; `path` is its name, for errors.
    ///
    /// # Errors
    /// With file, line and column: not TOML, an unknown table, a name that cannot be one, a weight out of
    /// range, or more than 1024 rules.
    pub fn parse(text: &str, path: &Path) -> Result<Rules, RulesError> {
        let source = Source { file: path, text };
        if text.len() > MAX_BYTES {
            return Err(too_long(path));
        }
        let file = DeTable::parse(text).map_err(|error| {
            let place = error.span().unwrap_or(0..0);
            source.error(place, format!("not valid TOML: {}", shown(error.message())), tables())
        })?;
        let mut entries = Vec::new();
        for (table, value) in in_order(file.get_ref()) {
            let rules = table_of(&source, table, value)?;
            entries.extend(rules.iter().map(|(name, value)| (table.get_ref().as_ref(), name, value)));
        }
        // Tables may be interleaved, as in `user.a = 1`, `service.b = 2`, `user.c = 3`; the last rule wins.
        entries.sort_by_key(|(_, name, _)| name.span().start);
        if let Some((_, name, _)) = entries.get(MAX_RULES) {
            let problem = format!("there are {} rules", entries.len());
            return Err(source.error(name.span(), problem, format!("at most {MAX_RULES} are allowed")));
        }
        let rule = |(table, name, value)| rule(&source, table, name, value);
        Ok(Rules { rules: entries.into_iter().map(rule).collect::<Result<_, _>>()? })
    }

    /// Whether there is no rule.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }
}

fn too_long(path: &Path) -> RulesError {
    let why = "it is longer than 1 MiB, the most that a file of rules may have".to_owned();
    RulesError::File { file: path.to_owned(), why }
}

/// Opens a file to read it. Nobody need write to a pipe for that to return.
pub(super) fn open(path: &Path) -> Result<File, RulesError> {
    let mut options = File::options();
    // The bits are those of an int.
    options.read(true).custom_flags(OFlags::NONBLOCK.bits().cast_signed());
    options.open(path).map_err(|error: io::Error| RulesError::Io { file: path.to_owned(), error })
}

type Word<'a> = Spanned<std::borrow::Cow<'a, str>>;
type Value<'a> = Spanned<DeValue<'a>>;

/// The entries of a table in the order of the file.
fn in_order<'a, 'b>(table: &'a DeTable<'b>) -> Vec<(&'a Word<'b>, &'a Value<'b>)> {
    let mut entries: Vec<_> = table.iter().collect();
    entries.sort_by_key(|(key, _)| key.span().start);
    entries
}

fn tables() -> String {
    format!(
        "the tables are {}, each with names and weights",
        TABLES.map(|table| format!("[{table}]")).join(", ")
    )
}

/// The rules of a table that a file may have.
fn table_of<'a, 'b>(
    source: &Source<'_>,
    name: &Word<'_>,
    value: &'a Value<'b>,
) -> Result<&'a DeTable<'b>, RulesError> {
    let text = name.get_ref().as_ref();
    if !TABLES.contains(&text) {
        let allowed = match nearest(text, TABLES) {
            Some(meant) => format!("did you mean [{meant}]? {}", tables()),
            None => tables(),
        };
        return Err(source.error(name.span(), format!("there is no table `{}`", shown(text)), allowed));
    }
    match value.get_ref() {
        DeValue::Table(table) => Ok(table),
        other => {
            let problem = format!("`{text}` is {}", toml_kind(other));
            Err(source.error(value.span(), problem, format!("it must be a table, as in [{text}]")))
        }
    }
}

fn rule(source: &Source<'_>, table: &str, name: &Word<'_>, value: &Value<'_>) -> Result<Rule, RulesError> {
    let text = name.get_ref().as_ref();
    let weight = name::weight(text, value.get_ref())
        .map_err(|(problem, allowed)| source.error(value.span(), problem, allowed))?;
    let name = name::read(table, text).map_err(|(problem, allowed)| {
        source.error(name.span(), format!("`{}` {problem}", shown(text)), allowed)
    })?;
    Ok(Rule { name, weight })
}
