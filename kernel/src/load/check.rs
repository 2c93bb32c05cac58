//! Requirements for loading a scheduler.

use std::fs;
use std::path::Path;

use rustix::thread::{CapabilitySet, capabilities};

use super::error::Missing;

/// The kernel's state of sched_ext.
pub const STATE: &str = "/sys/kernel/sched_ext/state";
const NAME: &str = "/sys/kernel/sched_ext/root/ops";
const BTF: &str = "/sys/kernel/btf/vmlinux";

/// The capabilities that the kernel requires for loading a scheduler. CAP_SYS_ADMIN includes them.
pub const NEEDED: [(CapabilitySet, &str); 3] = [
    (CapabilitySet::BPF, "CAP_BPF"),
    (CapabilitySet::PERFMON, "CAP_PERFMON"),
    (CapabilitySet::NET_ADMIN, "CAP_NET_ADMIN"),
];

/// Checks all requirements, in a useful order.
///
/// # Errors
/// The first that is not met.
pub fn all() -> Result<(), Missing> {
    built()?;
    sched_ext()?;
    btf()?;
    permission()?;
    no_other_scheduler()
}

/// This binary holds the BPF programs.
///
/// # Errors
/// When it was built without them.
pub fn built() -> Result<(), Missing> {
    if cfg!(feature = "bpf") { Ok(()) } else { Err(not_built()) }
}

/// The error of a binary without the BPF programs.
#[must_use]
pub fn not_built() -> Missing {
    Missing::new(
        "this divvy was built without the BPF programs",
        "build it with them: make kernel, or cargo build --release --features kernel \
         (it needs clang >= 16, libelf-dev and zlib1g-dev)",
    )
}

/// The kernel has sched_ext.
///
/// # Errors
/// When it cannot.
pub fn sched_ext() -> Result<(), Missing> {
    if Path::new(STATE).exists() {
        return Ok(());
    }
    let release = release();
    let what = format!("Linux {release} has no sched_ext: there is no {STATE}");
    let fix = match version(&release) {
        Some(version) if version < (6, 12) => "boot Linux 6.12 or later, built with CONFIG_SCHED_CLASS_EXT=y",
        _ if !Path::new("/sys/kernel").exists() => "mount sysfs: mount -t sysfs sysfs /sys",
        _ => {
            "boot a kernel built with CONFIG_SCHED_CLASS_EXT=y, CONFIG_BPF_JIT=y and CONFIG_DEBUG_INFO_BTF=y"
        }
    };
    Err(Missing::new(what, format!("{fix}; fair shares without it: sudo divvy apply user-fair")))
}

/// The kernel describes its types.
///
/// # Errors
/// When it does not.
pub fn btf() -> Result<(), Missing> {
    if Path::new(BTF).exists() {
        return Ok(());
    }
    Err(Missing::new(
        format!("this kernel does not describe its types: there is no {BTF}"),
        "boot a kernel built with CONFIG_DEBUG_INFO_BTF=y",
    ))
}

/// This process may load BPF programs.
///
/// # Errors
/// When it has no permission.
pub fn permission() -> Result<(), Missing> {
    let effective = capabilities(None).map_or(CapabilitySet::empty(), |sets| sets.effective);
    let lacking = lacking(effective, &NEEDED);
    if lacking.is_empty() {
        return Ok(());
    }
    Err(Missing::new(
        format!("no permission to load a scheduler: {} missing", lacking.join(", ")),
        "run it as root, as in: sudo divvy load ...",
    ))
}

/// The names of the capabilities that are needed and not effective. `CAP_SYS_ADMIN` stands for all.
pub(crate) fn lacking(
    effective: CapabilitySet,
    needed: &[(CapabilitySet, &'static str)],
) -> Vec<&'static str> {
    if effective.contains(CapabilitySet::SYS_ADMIN) {
        return Vec::new();
    }
    needed.iter().filter(|(capability, _)| !effective.contains(*capability)).map(|(_, name)| *name).collect()
}

/// No scheduler is loaded.
///
/// # Errors
/// When there is one.
pub fn no_other_scheduler() -> Result<(), Missing> {
    let state = state();
    if state.is_empty() || state == "disabled" {
        return Ok(());
    }
    let name = fs::read_to_string(NAME).unwrap_or_default();
    let name = name.trim();
    let named = if name.is_empty() { String::new() } else { format!(" `{name}`") };
    Err(Missing::new(
        format!("another sched_ext scheduler{named} is loaded (state: {state}); Linux takes one at a time"),
        "end the program that loaded it, or its service (scx, scx_loader, divvy); then try again",
    ))
}

/// `disabled`, `enabled`, or a state between them; empty without sched_ext.
#[must_use]
pub fn state() -> String {
    fs::read_to_string(STATE).unwrap_or_default().trim().to_owned()
}

pub(crate) fn release() -> String {
    rustix::system::uname().release().to_string_lossy().into_owned()
}

pub(crate) fn version(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit());
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_as_distributions_write_them() {
        assert_eq!(version("6.12.117"), Some((6, 12)));
        assert_eq!(version("6.1.0-18-amd64"), Some((6, 1)));
        assert_eq!(version("7.0-rc2"), Some((7, 0)));
        assert_eq!(version("weird"), None);
    }
}
