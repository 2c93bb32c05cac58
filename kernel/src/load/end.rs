//! How a scheduler ended.

use super::error::LoadError;
use super::host::Exit;
use crate::flow::visible;

/// Kinds of `enum scx_exit_kind` are errors from this number on.
const ERROR: i64 = 1024;
/// SCX_ECODE_ACT_RESTART: CPUs came or went.
const RESTART: i64 = 1 << 48;

/// Why a scheduler without an error was unloaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// It was asked to end, by a signal or because the time was over.
    Asked,
    /// The command ended, with this code.
    Command(u8),
}

/// The kernel's reason to end a scheduler by itself.
#[derive(Debug)]
pub enum Verdict {
    /// Load it again.
    Restart(String),
    Failed(LoadError),
}

impl Verdict {
    /// Returns None while the scheduler runs.
    pub fn of(exit: Exit) -> Option<Self> {
        let Exit { kind, code, reason, message, dump } = exit;
        let (reason, message) = (one_line(&reason), one_line(&message));
        match kind {
            0 => None,
            _ if kind >= ERROR => Some(Self::Failed(LoadError::ThrownOut { reason, message, dump })),
            _ if code & RESTART != 0 => Some(Self::Restart(message)),
            _ => Some(Self::Failed(LoadError::Ended { reason, message })),
        }
    }
}

/// The kernel's words may contain a task's name, and that may contain line ends, which would look like other messages.
fn one_line(text: &str) -> String {
    text.chars().map(visible).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(kind: i64, code: i64) -> Option<Verdict> {
        Verdict::of(Exit { kind, code, reason: "why".into(), message: "what".into(), dump: String::new() })
    }

    #[test]
    fn kinds_and_codes_of_the_kernel_are_told_apart() {
        assert!(verdict(0, 0).is_none());
        assert!(matches!(verdict(66, (1 << 48) | (1 << 32)), Some(Verdict::Restart(_))));
        assert!(matches!(verdict(67, 0), Some(Verdict::Failed(LoadError::Ended { .. }))));
        assert!(matches!(verdict(1026, 0), Some(Verdict::Failed(LoadError::ThrownOut { .. }))));
        assert!(matches!(verdict(1024, 1 << 48), Some(Verdict::Failed(LoadError::ThrownOut { .. }))));
    }

    #[test]
    fn a_name_in_a_message_makes_no_line_of_its_own() {
        let message = "x\nerror: \u{1b}[2J\u{9b}y[7] failed to run for 30s".to_owned();
        let exit = Exit { kind: 1026, code: 0, reason: message.clone(), message, dump: String::new() };
        let Some(Verdict::Failed(error)) = Verdict::of(exit) else { panic!("thrown out") };
        assert!(!error.to_string().contains(char::is_control), "{error:?}");
    }
}
