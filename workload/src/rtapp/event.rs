//! Events of a phase. A key's beginning says which: rt-app takes `run0`, `run1` for two runs.

use std::ops::Range;

use super::json::{Json, Member, Value};
use crate::error::{Source, WorkloadError};
use crate::notes::Notes;
use divvy_policy::units::parse_duration_ns;

/// In the order in which a key is compared with their beginnings.
const KINDS: [&str; 20] = [
    "runtime", "run", "sleep", "timer", "memrun", "mem", "iorun", "lock", "unlock", "wait", "signal",
    "broad", "sync", "barrier", "suspend", "resume", "sem_post", "sem_wait", "yield", "fork",
];

/// A thread's next action. Names are those of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Event<'j> {
    Run(u64),
    Sleep(u64),
    Timer {
        name: &'j str,
        period_ns: u64,
        is_absolute: bool,
    },
    Lock(&'j str),
    Unlock(&'j str),
    /// Until the condition is signalled; the mutex is free meanwhile.
    Wait {
        condition: &'j str,
        mutex: &'j str,
    },
    /// Wakes who waits for the condition.
    Signal(&'j str),
    /// Wakes all who wait for it.
    Broadcast(&'j str),
    /// A signal, and a wait for the same condition.
    Sync {
        condition: &'j str,
        mutex: &'j str,
    },
    Barrier(&'j str),
    /// Until somebody resumes this thread; rt-app does not look at the name.
    Suspend(Option<&'j str>),
    Post(&'j str),
    Take(&'j str),
    Yield,
    Fork(&'j str),
}

/// Where values are read from, and notes go.
pub(super) struct Reading<'j> {
    pub source: &'j Source<'j>,
    pub notes: Notes,
}

/// The kind of event that a key names, if any.
pub(super) fn kind(key: &str) -> Option<&'static str> {
    KINDS.into_iter().find(|kind| key.starts_with(kind))
}

impl<'j> Reading<'j> {
    pub fn error(&self, span: &Range<usize>, message: impl Into<String>, help: &str) -> WorkloadError {
        self.source.error(span.clone(), message, help)
    }

    /// The event of a member of this kind; `None` if it is left out, with a note.
    pub fn event(&mut self, kind: &str, member: &'j Member<'j>) -> Result<Option<Event<'j>>, WorkloadError> {
        let at = member.span.start;
        if member.key == "lock_order" {
            return Err(self.error(
                &member.span,
                "`lock_order` is of rt-app's first format, which rt-app itself reads no longer",
                "write `lock`, `unlock`, `wait` and `signal` where the task does them",
            ));
        }
        Ok(Some(match kind {
            "runtime" => {
                self.notes.say(at, "`runtime` is real time in rt-app; here it is CPU time");
                Event::Run(self.micros(member)?)
            }
            "run" => Event::Run(self.micros(member)?),
            "sleep" => Event::Sleep(self.micros(member)?),
            "timer" => self.timer(member)?,
            "lock" => Event::Lock(self.text(member)?),
            "unlock" => Event::Unlock(self.text(member)?),
            "wait" | "sync" => {
                let (condition, mutex) = self.condition(member)?;
                if kind == "wait" {
                    Event::Wait { condition, mutex }
                } else {
                    Event::Sync { condition, mutex }
                }
            }
            "signal" => Event::Signal(self.text(member)?),
            "broad" | "resume" => Event::Broadcast(self.text(member)?),
            "barrier" => Event::Barrier(self.text(member)?),
            "suspend" => Event::Suspend(match &member.json.value {
                Value::Text(name) => Some(name),
                _ => None,
            }),
            "sem_post" => Event::Post(self.text(member)?),
            "sem_wait" => Event::Take(self.text(member)?),
            "yield" => Event::Yield,
            "fork" => Event::Fork(self.text(member)?),
            _ => {
                self.notes.say(at, format!("`{kind}` is left out: how long it takes depends on the machine"));
                return Ok(None);
            }
        }))
    }

    fn timer(&self, member: &'j Member<'j>) -> Result<Event<'j>, WorkloadError> {
        let fields = self.object(member)?;
        let name = find(fields, "ref").map(|field| self.text(field)).transpose()?.unwrap_or("unknown");
        let Some(period) = find(fields, "period") else {
            return Err(self.error(
                &member.span,
                "the timer has no period",
                "for instance \"period\" : 10000",
            ));
        };
        let mode = find(fields, "mode").map(|field| self.text(field)).transpose()?;
        let is_absolute = mode.is_some_and(|mode| mode.starts_with("absolute"));
        Ok(Event::Timer { name, period_ns: self.micros(period)?, is_absolute })
    }

    /// The names of a condition and of its mutex.
    fn condition(&self, member: &'j Member<'j>) -> Result<(&'j str, &'j str), WorkloadError> {
        let fields = self.object(member)?;
        let name =
            |key| Ok(find(fields, key).map(|field| self.text(field)).transpose()?.unwrap_or("unknown"));
        Ok((name("ref")?, name("mutex")?))
    }

    // ---- values ----

    pub fn object(&self, member: &'j Member<'j>) -> Result<&'j [Member<'j>], WorkloadError> {
        match &member.json.value {
            Value::Object(members) => Ok(members),
            _ => Err(self.mistyped(member, "an object, in { }")),
        }
    }

    pub fn text(&self, member: &'j Member<'j>) -> Result<&'j str, WorkloadError> {
        match &member.json.value {
            Value::Text(text) => Ok(text),
            _ => Err(self.mistyped(member, "a text in quotes")),
        }
    }

    /// Microseconds, as nanoseconds.
    pub fn micros(&self, member: &Member) -> Result<u64, WorkloadError> {
        let text = self.number(&member.json, &member.key)?;
        parse_duration_ns(&format!("{text}us")).map_err(|_| {
            let message = format!("`{}` is {text}", member.key.escape_debug());
            self.error(&member.json.span, message, "it must be a number of microseconds, at least 0")
        })
    }

    /// An integer from `least` to `most`.
    pub fn integer(&self, json: &Json, key: &str, least: i64, most: i64) -> Result<i64, WorkloadError> {
        let text = self.number(json, key)?;
        match text.parse() {
            Ok(number) if (least..=most).contains(&number) => Ok(number),
            _ => {
                let help = format!("it must be an integer from {least} to {most}");
                Err(self.error(&json.span, format!("`{}` is {text}", key.escape_debug()), &help))
            }
        }
    }

    fn number<'v>(&self, json: &'v Json, key: &str) -> Result<&'v str, WorkloadError> {
        match json.value {
            Value::Number(text) => Ok(text),
            _ => Err(self.wrong(json, key, "a number")),
        }
    }

    pub fn mistyped(&self, member: &Member, wanted: &str) -> WorkloadError {
        self.wrong(&member.json, &member.key, wanted)
    }

    fn wrong(&self, json: &Json, key: &str, wanted: &str) -> WorkloadError {
        let found = match json.value {
            Value::Null => "without a value",
            Value::Bool(_) => "true or false",
            Value::Number(_) => "a number",
            Value::Text(_) => "a text",
            Value::List(_) => "a list",
            Value::Object(_) => "an object",
        };
        self.error(
            &json.span,
            format!("`{}` is {found}", key.escape_debug()),
            &format!("it must be {wanted}"),
        )
    }
}

/// The last member of this name, which is the one that counts where they do not make a program.
pub(super) fn find<'j>(members: &'j [Member<'j>], key: &str) -> Option<&'j Member<'j>> {
    members.iter().rev().find(|member| member.key == key)
}
