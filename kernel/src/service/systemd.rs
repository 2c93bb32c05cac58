//! The unit, by way of `systemctl`.

use std::io;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::Duration;

use divvy_policy::{Failure, FailureKind};

use super::settings::{SETTINGS, Settings};
use crate::load::{self, Missing, Reply, Signals};

/// The unit's name.
pub const UNIT: &str = "divvy.service";

/// Where the unit does not see the machine's files: `ProtectHome=` and `PrivateTmp=`.
pub const HIDDEN: [&str; 5] = ["/home", "/root", "/run/user", "/tmp", "/var/tmp"];

/// The only directory for files that stay in which the unit can write: `ProtectSystem=` and `StateDirectory=`.
pub const STATE_DIRECTORY: &str = "/var/lib/divvy";
/// Lines of the journal that say why the unit failed.
const LAST_LINES: &str = "10";
/// How often it is looked whether the unit has started.
const LOOK: Duration = Duration::from_millis(100);

/// Why the unit is not as it should be.
#[derive(Debug, thiserror::Error)]
pub enum ServiceError {
    /// There is no such unit here.
    #[error(transparent)]
    Missing(#[from] Missing),
    /// The settings.
    #[error("{SETTINGS}: {0}")]
    Settings(io::Error),
    /// The lock cannot be taken.
    #[error("{0}: {1}")]
    Lock(String, io::Error),
    /// Another command has the lock.
    #[error("another `divvy enable` or `divvy disable` is at work; try again when it is done")]
    Busy,
    /// `systemctl` cannot be run.
    #[error("systemctl: {0}")]
    Run(io::Error),
    /// `systemctl` failed.
    #[error("systemctl {what} failed: {said}")]
    Systemctl {
        /// The words after `systemctl`.
        what: String,
        /// Its own words.
        said: String,
    },
    /// Another state could not be reached, and the former one was restored.
    #[error("{what}; {after}{said}")]
    NotEnabled {
        /// The step that failed.
        what: String,
        /// The state now.
        after: &'static str,
        /// The end of the unit's journal, from a new line on.
        said: String,
        /// The exit code of the unit's `divvy load`, if it ended with one.
        code: Option<u8>,
    },
}

impl ServiceError {
    /// The exit code with which the unit's own `divvy load` refused the policy.
    #[must_use]
    pub fn code_of_load(&self) -> Option<u8> {
        match self {
            Self::NotEnabled { code, .. } => *code,
            _ => None,
        }
    }
}

impl Failure for ServiceError {
    fn kind(&self) -> FailureKind {
        match self {
            Self::Missing(missing) => missing.kind(),
            Self::Settings(_)
            | Self::Lock(..)
            | Self::Busy
            | Self::Run(_)
            | Self::Systemctl { .. }
            | Self::NotEnabled { .. } => FailureKind::Failed,
        }
    }
}

/// There is a unit here that we may change.
///
/// # Errors
/// When systemd does not run, the unit is not installed, or we are not root.
pub fn ready() -> Result<(), ServiceError> {
    if !Path::new("/run/systemd/system").is_dir() {
        return Err(Missing::new(
            "systemd does not run here, and the unit that loads a policy at boot is its",
            "let your service manager start: divvy load SPEC --quiet",
        )
        .into());
    }
    if !systemctl(&["cat", UNIT])?.status.success() {
        return Err(Missing::new(
            format!("{UNIT} is not installed"),
            "install divvy's package, or: make kernel && sudo make install",
        )
        .into());
    }
    if !rustix::process::geteuid().is_root() {
        return Err(Missing::new(
            "no permission to change the system's services",
            "run it as root, with sudo",
        )
        .into());
    }
    Ok(())
}

/// Whether the unit runs.
///
/// # Errors
/// When `systemctl` cannot be run.
pub fn is_active() -> Result<bool, ServiceError> {
    is("is-active")
}

/// Loads the policy of these settings now and at each boot. A unit that runs puts it in the place of its own, and is started again only if
/// it cannot. If that fails, or a signal asks us to end, settings and unit are as before, and the former policy is loaded.
///
/// # Errors
/// When the settings cannot be written, `systemctl` fails, or the policy is not loaded.
pub fn enable(settings: &Settings, former: &Settings) -> Result<(), ServiceError> {
    let former = Former { settings: former, is_active: is_active()?, is_enabled: is("is-enabled")? };
    let mut signals = Signals::block().map_err(ServiceError::Run)?;
    let mut stopped = false;
    let failed = begin(settings, former.is_active, &mut signals, &mut stopped);
    let Failed { what, said, code } = match failed {
        Ok(None) => return Ok(()),
        Ok(Some(failed)) => failed,
        Err(error) => Failed { what: error.to_string(), ..Failed::default() },
    };
    Err(ServiceError::NotEnabled { what, after: former.restore(stopped)?, said, code })
}

/// A step that failed.
#[derive(Default)]
struct Failed {
    what: String,
    /// The loader's last words, from a new line on.
    said: String,
    /// The exit code of its process, or the one that it would have.
    code: Option<u8>,
}

impl Failed {
    fn interrupted() -> Self {
        Self { what: "interrupted".to_owned(), ..Self::default() }
    }

    fn to_load(problem: &str, code: Option<u8>) -> Self {
        Self { what: format!("{UNIT} did not load the policy"), said: format!("\n{problem}"), code }
    }
}

/// Returns the step that failed, if one did. From a certain step on the former policy may be `stopped`.
fn begin(
    settings: &Settings,
    is_active: bool,
    signals: &mut Signals,
    stopped: &mut bool,
) -> Result<Option<Failed>, ServiceError> {
    settings.write().map_err(ServiceError::Settings)?;
    asked(&["enable", UNIT])?;
    match if is_active { replace(settings, signals) } else { Replacement::Impossible } {
        Replacement::Done => return Ok(None),
        Replacement::Refused(problem, code) => {
            return Ok(Some(Failed::to_load(&format!("error: {problem}"), Some(code))));
        }
        Replacement::Withdrawn => return Ok(Some(Failed::interrupted())),
        Replacement::Impossible => *stopped = true,
        Replacement::Lost => {
            *stopped = true;
            return Ok(Some(Failed::interrupted()));
        }
    }
    // One that the kernel threw out too often may be started again.
    systemctl(&["reset-failed", UNIT])?;
    let restart = restart(signals)?;
    if restart == Restart::Loaded {
        return Ok(None);
    }
    let (run, code) = (invocation()?, exit_code(&shown("ExecMainCode,ExecMainStatus")?));
    systemctl(&["stop", UNIT])?; // or it would try again
    Ok(Some(match restart {
        Restart::Interrupted => Failed::interrupted(),
        _ => Failed::to_load(&journal(&run), code),
    }))
}

/// The answer of a loader that was asked for another policy.
enum Replacement {
    Done,
    /// The former one goes on.
    Refused(String, u8),
    /// The same, because a signal came.
    Withdrawn,
    /// It did not understand, or cannot do it while it runs, or has ended.
    Impossible,
    /// It has ended, or stands still, and a signal came.
    Lost,
}

/// Asks the unit's loader. One that runs lets the kernel verify the policy before the former one goes.
fn replace(settings: &Settings, signals: &mut Signals) -> Replacement {
    let words = settings.spec().map(str::to_owned).into_iter().chain(settings.options()).collect();
    let (reply, signalled) = load::replace(words, signals);
    match reply {
        Ok(Reply::Replaced) => Replacement::Done,
        Ok(Reply::NotReplaced { problem, code }) => Replacement::Refused(problem, code),
        Ok(_) if signalled => Replacement::Withdrawn,
        Err(_) if signalled => Replacement::Lost,
        _ => Replacement::Impossible,
    }
}

#[derive(PartialEq)]
enum Restart {
    Loaded,
    Failed,
    /// A signal came first.
    Interrupted,
}

/// The unit is of the type notify, so it has started when the policy is loaded.
fn restart(signals: &mut Signals) -> Result<Restart, ServiceError> {
    let mut command = command(&["restart", UNIT]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().map_err(ServiceError::Run)?;
    loop {
        if let Some(status) = child.try_wait().map_err(ServiceError::Run)? {
            return Ok(if status.success() { Restart::Loaded } else { Restart::Failed });
        }
        if signals.take().is_some() {
            let _ = child.kill();
            let _ = child.wait();
            return Ok(Restart::Interrupted);
        }
        thread::sleep(LOOK);
    }
}

/// The state to which a failure goes back.
struct Former<'a> {
    settings: &'a Settings,
    is_active: bool,
    is_enabled: bool,
}

impl Former<'_> {
    fn restore(&self, stopped: bool) -> Result<&'static str, ServiceError> {
        self.settings.write().map_err(ServiceError::Settings)?;
        if !self.is_enabled {
            asked(&["disable", UNIT])?;
        }
        if self.is_active && !stopped {
            return Ok("the former policy goes on");
        }
        systemctl(&["reset-failed", UNIT])?;
        if !self.is_active {
            return Ok("settings and unit are as before");
        }
        if systemctl(&["restart", UNIT])?.status.success() {
            return Ok("the former policy is loaded again");
        }
        systemctl(&["stop", UNIT])?;
        Ok(
            "the former settings are in place, but their policy was not loaded either: the kernel's own scheduler is in place",
        )
    }
}

/// Unloads the policy, and loads none at boot.
///
/// # Errors
/// When `systemctl` fails.
pub fn disable() -> Result<(), ServiceError> {
    asked(&["disable", "--now", UNIT])
}

fn is(what: &str) -> Result<bool, ServiceError> {
    Ok(systemctl(&[what, "--quiet", UNIT])?.status.success())
}

fn asked(words: &[&str]) -> Result<(), ServiceError> {
    let output = systemctl(words)?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(ServiceError::Systemctl { what: words.join(" "), said })
}

fn systemctl(words: &[&str]) -> Result<Output, ServiceError> {
    command(words).output().map_err(ServiceError::Run)
}

fn command(words: &[&str]) -> Command {
    let mut command = Command::new("systemctl");
    command.args(words).stdin(Stdio::null());
    command
}

/// The number of the unit's last run.
fn invocation() -> Result<String, ServiceError> {
    let said = shown("InvocationID")?;
    Ok(said.trim().trim_start_matches("InvocationID=").to_owned())
}

/// These properties of the unit, each as a line NAME=VALUE.
fn shown(properties: &str) -> Result<String, ServiceError> {
    let said = systemctl(&["show", "--property", properties, UNIT])?;
    Ok(String::from_utf8_lossy(&said.stdout).into_owned())
}

/// The exit code of the unit's process. There is none if it did not end by itself; codes from 200 on are systemd's, which could not run it.
fn exit_code(shown: &str) -> Option<u8> {
    const EXITED: &str = "1"; // CLD_EXITED
    let value = |name: &str| shown.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='));
    let code = value("ExecMainStatus")?.parse().ok()?;
    (value("ExecMainCode") == Some(EXITED) && (1..200).contains(&code)).then_some(code)
}

/// The last words of a run, each on a line of its own; where to look if there are none.
fn journal(run: &str) -> String {
    let of_run = format!("_SYSTEMD_INVOCATION_ID={run}");
    let words = [of_run.as_str(), "--lines", LAST_LINES, "--output", "cat", "--no-pager", "--quiet"];
    let output = Command::new("journalctl").args(words).stdin(Stdio::null()).output();
    let said = output.map(|output| String::from_utf8_lossy(&output.stdout).trim_end().to_owned());
    said.ok()
        .filter(|said| !said.is_empty())
        .unwrap_or_else(|| format!("  journalctl --unit {UNIT} says why"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_unit_hides_what_is_said_here() {
        let unit = include_str!("../../systemd/divvy.service");
        for line in ["ProtectHome=yes", "PrivateTmp=yes", "ProtectSystem=strict", "StateDirectory=divvy"] {
            assert!(unit.lines().any(|is| is == line), "{line}");
        }
        // The first three are ProtectHome's, the others PrivateTmp's: systemd.exec(5).
        assert_eq!(HIDDEN, ["/home", "/root", "/run/user", "/tmp", "/var/tmp"]);
    }

    #[test]
    fn only_an_exit_of_the_command_has_its_code() {
        let code =
            |code: &str, status: &str| exit_code(&format!("ExecMainCode={code}\nExecMainStatus={status}\n"));
        assert_eq!(code("1", "5"), Some(5));
        assert_eq!(exit_code("ExecMainStatus=4\nExecMainCode=1\n"), Some(4), "in any order");
        assert_eq!(code("1", "0"), None, "it ended without an error");
        assert_eq!(code("1", "203"), None, "systemd could not execute it");
        assert_eq!(code("2", "9"), None, "a signal ended it");
        assert_eq!(code("0", "0"), None, "it did not end");
        assert_eq!(exit_code(""), None);
    }
}
