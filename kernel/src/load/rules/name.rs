//! A rule's name, and its weight.

use std::fmt;

use divvy_policy::Weight;
use divvy_workload::toml_kind;
use toml::de::DeValue;

use super::error::shown;

/// The ends of systemd's names of units.
const SUFFIXES: [&str; 11] = [
    ".service",
    ".scope",
    ".slice",
    ".socket",
    ".mount",
    ".swap",
    ".automount",
    ".device",
    ".path",
    ".target",
    ".timer",
];
/// The weights, as a sentence.
const WEIGHTS: &str =
    "a weight is a plain decimal, as in 512 or 0.5, at least 1/1024 and at most 100000000; nice 0 is 1024";

/// A name that a machine may know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Name {
    /// An absolute path, or a name without a slash.
    Executable(String),
    /// With its suffix.
    Service(String),
    /// Without slashes at either end.
    Cgroup(String),
    /// A name, not a number.
    User(String),
    /// A user's number.
    Uid(u32),
}

/// For notes.
impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Name::Executable(name) => write!(f, "executable `{}`", shown(name)),
            Name::Service(name) => write!(f, "service `{}`", shown(name)),
            Name::Cgroup(path) => write!(f, "cgroup `/{}`", shown(path)),
            Name::User(name) => write!(f, "user `{}`", shown(name)),
            Name::Uid(uid) => write!(f, "user {uid}"),
        }
    }
}

/// A problem, and what is allowed.
pub(super) type Problem = (String, String);

/// A rule's weight in fixed point.
pub(super) fn weight(name: &str, value: &DeValue<'_>) -> Result<u64, Problem> {
    let text = match value {
        DeValue::Integer(integer) if integer.radix() == 10 => integer.as_str(),
        DeValue::Float(float) => float.as_str(),
        DeValue::Integer(integer) => {
            return Err((
                format!("the weight of `{}` is {}, not decimal", shown(name), shown(&integer.to_string())),
                WEIGHTS.to_owned(),
            ));
        }
        // TOML takes the point of a name without quotes for a table's.
        DeValue::Table(table) => {
            let inner = table.keys().next().map_or("", |key| key.get_ref().as_ref());
            let quoted = shown(&format!("{name}.{inner}"));
            let allowed = format!("a name with a point needs quotes, as in \"{quoted}\" = 512; {WEIGHTS}");
            return Err((format!("the weight of `{}` is a table", shown(name)), allowed));
        }
        other => {
            return Err((
                format!("the weight of `{}` is {}", shown(name), toml_kind(other)),
                WEIGHTS.to_owned(),
            ));
        }
    };
    match Weight::parse(text.strip_prefix('+').unwrap_or(text)) {
        Ok(weight) => Ok(weight.fixed()),
        // Its own message repeats the text, which may be long, and the range.
        Err(_) => Err((format!("the weight of `{}` is {}", shown(name), shown(text)), WEIGHTS.to_owned())),
    }
}

/// A name in one of the tables.
pub(super) fn read(table: &str, text: &str) -> Result<Name, Problem> {
    let wrong = |problem: &str, allowed: &str| Err((problem.to_owned(), allowed.to_owned()));
    if text.is_empty() || text.contains('\0') {
        let problem = if text.is_empty() { "is no name" } else { "has a NUL in it" };
        return wrong(problem, "a name has at least one character, and no NUL");
    }
    match table {
        "executable" if text.contains('/') && !text.starts_with('/') => {
            wrong("is a relative path", "an executable is an absolute path, or a name without a slash")
        }
        "executable" => Ok(Name::Executable(text.to_owned())),
        "service" if text.contains('/') => {
            wrong("has a slash in it", "a service is a systemd unit; of a cgroup, name the path in [cgroup]")
        }
        "service" => {
            let has_suffix = SUFFIXES.iter().any(|suffix| text.ends_with(suffix));
            Ok(Name::Service(if has_suffix { text.to_owned() } else { format!("{text}.service") }))
        }
        "cgroup" => {
            let parts: Vec<&str> = text.split('/').filter(|part| !part.is_empty()).collect();
            if parts.iter().any(|part| matches!(*part, "." | "..")) {
                return wrong(
                    "has `.` or `..` in it",
                    "a cgroup is a path below the root, without `.` and `..`",
                );
            }
            if parts.is_empty() {
                return wrong("is the root", "a cgroup is a path below the root, as in \"/user.slice\"");
            }
            Ok(Name::Cgroup(parts.join("/")))
        }
        _ if text.bytes().all(|byte| byte.is_ascii_digit()) => match text.parse() {
            // The last number stands for no user.
            Ok(uid) if uid < u32::MAX => Ok(Name::Uid(uid)),
            _ => wrong("is no user's number", "a user is a name, or a number at most 4294967294"),
        },
        _ => Ok(Name::User(text.to_owned())),
    }
}
