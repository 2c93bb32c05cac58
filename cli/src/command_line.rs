//! The command that is running, as reports quote it.

use std::ffi::OsString;

/// This command, as a shell takes it.
pub fn this_command() -> String {
    command_line(std::env::args_os().skip(1))
}

fn command_line(arguments: impl Iterator<Item = OsString>) -> String {
    let quoted = arguments.map(|argument| quoted(&argument.to_string_lossy()));
    std::iter::once("divvy".to_owned()).chain(quoted).collect::<Vec<_>>().join(" ")
}

/// A word as a shell takes it.
pub fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./:=,+%@".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_takes_the_command_as_it_was_given() {
        let words =
            ["sim", "it's mine.toml", "-p", "pbs:alpha=2+procfair", "--assert", "max(error) < 8ms", ""];
        let script = format!(
            "divvy() {{ printf '%s\\n' \"$@\"; }}; {}",
            command_line(words.map(OsString::from).into_iter())
        );
        let output = std::process::Command::new("sh").args(["-c", &script]).output().expect("a shell");
        assert_eq!(String::from_utf8_lossy(&output.stdout), words.join("\n") + "\n");
    }
}
