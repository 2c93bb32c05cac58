//! The unit, by way of `systemctl`.

use std::io;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use divvy_policy::{Failure, FailureKind};

use super::settings::{SETTINGS, Settings};
use crate::load::Missing;

/// The unit's name.
pub const UNIT: &str = "divvy.service";
/// Lines of the journal that say why the unit failed.
const LAST_LINES: &str = "10";

/// Why the unit is not as it should be.
#[derive(Debug, thiserror::Error)]
pub enum ServiceError {
    /// There is no such unit here.
    #[error(transparent)]
    Missing(#[from] Missing),
    /// The settings.
    #[error("{SETTINGS}: {0}")]
    Settings(io::Error),
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
    /// The policy was not loaded.
    #[error("{UNIT} did not load the policy; {after}\n{said}")]
    NotLoaded {
        /// The state now.
        after: &'static str,
        /// The end of its journal.
        said: String,
    },
}

impl Failure for ServiceError {
    fn kind(&self) -> FailureKind {
        match self {
            Self::Missing(missing) => missing.kind(),
            Self::Settings(_) | Self::Run(_) | Self::Systemctl { .. } | Self::NotLoaded { .. } => {
                FailureKind::Failed
            }
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

/// Loads the policy of these settings now and at each boot. A unit that runs loads it instead of its own. If it cannot be loaded,
/// everything is as before.
///
/// # Errors
/// When the settings cannot be written, `systemctl` fails, or the policy is not loaded.
pub fn enable(settings: &Settings) -> Result<(), ServiceError> {
    let former = Settings::read().map_err(ServiceError::Settings)?;
    let (was_active, was_enabled) = (is_active()?, is("is-enabled")?);
    settings.write().map_err(ServiceError::Settings)?;
    // One that the kernel threw out too often may be started again.
    systemctl(&["reset-failed", UNIT])?;
    asked(&["enable", UNIT])?;
    // It is of the type notify: this returns when the policy is loaded, or has failed.
    if systemctl(&["restart", UNIT])?.status.success() {
        return Ok(());
    }
    let said = journal()?;
    systemctl(&["stop", UNIT])?; // or it would try again
    former.write().map_err(ServiceError::Settings)?;
    if !was_enabled {
        asked(&["disable", UNIT])?;
    }
    let after = if was_active && systemctl(&["restart", UNIT])?.status.success() {
        "the former policy is loaded again"
    } else {
        "the kernel's own scheduler is in place, and the former settings are"
    };
    Err(ServiceError::NotLoaded { after, said })
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
    Command::new("systemctl").args(words).stdin(Stdio::null()).output().map_err(ServiceError::Run)
}

/// The last words of the run that failed, each on a line of its own; where to look if there are none.
fn journal() -> Result<String, ServiceError> {
    let id = systemctl(&["show", "--property=InvocationID", "--value", UNIT])?;
    let of_run = format!("_SYSTEMD_INVOCATION_ID={}", String::from_utf8_lossy(&id.stdout).trim());
    let words = [of_run.as_str(), "--lines", LAST_LINES, "--output", "cat", "--no-pager", "--quiet"];
    let output = Command::new("journalctl").args(words).stdin(Stdio::null()).output();
    let said = output
        .map(|output| String::from_utf8_lossy(&output.stdout).trim_end().to_owned())
        .unwrap_or_default();
    Ok(if said.is_empty() { format!("  journalctl --unit {UNIT} says why") } else { said })
}
