//! `divvy doctor`: checks of this machine, each with a remedy.

use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::process::Command;

use super::check;
use super::error::Missing;

/// The result of a check.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Finding {
    /// The name of the check.
    pub name: &'static str,
    /// The purpose that needs it.
    pub serves: Serves,
    /// Whether the check passed.
    pub ok: bool,
    /// The finding.
    pub found: String,
    /// The remedy if the check failed.
    pub fix: Option<String>,
}

/// The purpose of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Serves {
    /// `divvy load` does not work without it.
    Load,
    /// Building divvy with the BPF programs.
    Build,
    /// `divvy load --cgroups`.
    Cgroups,
    /// The virtual machine for tests is slower without it.
    Vm,
    /// Recordings for `divvy replay`.
    Record,
}

impl Serves {
    /// The text that follows the word `for`.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Self::Load => "divvy load",
            Self::Build => "building it with the BPF programs",
            Self::Cgroups => "divvy load --cgroups",
            Self::Vm => "the virtual machine of make vm",
            Self::Record => "recordings that divvy replay reads",
        }
    }
}

/// The programs are there, and can be read.
fn programs() -> Result<String, Missing> {
    check::built()?;
    #[cfg(feature = "bpf")]
    super::object::readable().map_err(|error| {
        let fix = "install a package of divvy, or build it again; it needs the libbpf of its own crate, not the system's";
        Missing::new(error.to_string(), fix)
    })?;
    Ok("this divvy has its BPF programs".to_owned())
}

/// Runs all checks.
#[must_use]
pub fn examine() -> Vec<Finding> {
    use Serves::{Build, Cgroups, Load, Record, Vm};
    vec![
        finding("kernel", Load, kernel()),
        finding("sched_ext", Load, check::sched_ext().map(|()| format!("state: {}", check::state()))),
        finding("other scheduler", Load, check::no_other_scheduler().map(|()| "none is loaded".to_owned())),
        finding("BTF", Load, check::btf().map(|()| "the kernel describes its types".to_owned())),
        finding("BPF JIT", Load, jit()),
        finding("permission", Load, check::permission().map(|()| "may load BPF programs".to_owned())),
        finding("programs", Load, programs()),
        finding("clang", Build, clang()),
        finding("cgroup v2", Cgroups, cgroups()),
        finding("KVM", Vm, kvm()),
        finding("perf", Record, perf()),
        finding("sched_switch", Record, tracepoint()),
    ]
}

/// Checks whether `divvy load` would work.
///
/// # Errors
/// Names what is missing for it.
pub fn verdict(findings: &[Finding]) -> Result<(), Missing> {
    let lacking: Vec<&str> = findings
        .iter()
        .filter(|finding| finding.serves == Serves::Load && !finding.ok)
        .map(|finding| finding.name)
        .collect();
    if lacking.is_empty() {
        return Ok(());
    }
    let what = format!("divvy load does not work here for lack of: {}", lacking.join(", "));
    Err(Missing::new(what, "what to do about each is said above; simulating and replaying need none of it"))
}

fn finding(name: &'static str, serves: Serves, found: Result<String, Missing>) -> Finding {
    let (ok, found, fix) = match found {
        Ok(found) => (true, found, None),
        Err(missing) => (false, missing.what, Some(missing.fix)),
    };
    Finding { name, serves, ok, found, fix }
}

fn kernel() -> Result<String, Missing> {
    let release = check::release();
    match check::version(&release) {
        Some(version) if version < (6, 12) => Err(Missing::new(
            format!("Linux {release} is older than 6.12, the first with sched_ext"),
            "install a newer kernel",
        )),
        _ => Ok(format!("Linux {release}")),
    }
}

/// The kernel runs schedulers only with the JIT. If the setting cannot be read, the check passes, and loading will tell.
fn jit() -> Result<String, Missing> {
    let path = "/proc/sys/net/core/bpf_jit_enable";
    match fs::read_to_string(path) {
        Ok(text) if text.trim() == "0" => Err(Missing::new(
            format!("{path} is 0"),
            format!("sysctl net.core.bpf_jit_enable=1 (as root: {path})"),
        )),
        Ok(_) => Ok("on".to_owned()),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            Ok("only root can see whether it is on".to_owned())
        }
        Err(_) => Ok("always on, or no network in this kernel".to_owned()),
    }
}

fn clang() -> Result<String, Missing> {
    let names = ["clang-19", "clang-22", "clang-21", "clang-20", "clang-18", "clang-17", "clang-16", "clang"];
    let found = names.iter().find_map(|name| {
        let version = output(name, &["-dumpversion"])?;
        let major: u32 = version.split('.').next()?.parse().ok()?;
        (major >= 16).then(|| format!("{name}, version {version}"))
    });
    found.ok_or_else(|| Missing::new("no clang >= 16", "apt-get install clang-19 llvm-19"))
}

/// Checks whether cgroups have weights.
pub(super) fn cgroups() -> Result<String, Missing> {
    let path = "/sys/fs/cgroup/cgroup.controllers";
    let controllers = fs::read_to_string(path)
        .map_err(|_| Missing::new(format!("no {path}"), "boot with systemd.unified_cgroup_hierarchy=1"))?;
    if controllers.split_whitespace().any(|controller| controller == "cpu") {
        return Ok("with the controller cpu".to_owned());
    }
    Err(Missing::new(
        "the controller cpu is not in the unified hierarchy",
        "boot with systemd.unified_cgroup_hierarchy=1",
    ))
}

/// A kernel that is itself a guest may offer KVM and still not be able to run a whole machine; kernel/vm/run tries.
fn kvm() -> Result<String, Missing> {
    let path = "/dev/kvm";
    match File::options().read(true).write(true).open(path) {
        Ok(_) => Ok(format!("{path} can be opened")),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Err(Missing::new(
            format!("no permission to open {path}"),
            "join the group kvm: usermod -a -G kvm $USER",
        )),
        Err(_) => Err(Missing::new(
            format!("no {path}"),
            "nothing need be done: the virtual machine is emulated, which is slower",
        )),
    }
}

fn perf() -> Result<String, Missing> {
    output("perf", &["--version"])
        .ok_or_else(|| Missing::new("no perf", "apt-get install linux-perf (Ubuntu: linux-tools-generic)"))
}

/// Checks whether `perf sched record` may see switches.
fn tracepoint() -> Result<String, Missing> {
    for tracing in ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"] {
        let id = Path::new(tracing).join("events/sched/sched_switch/id");
        match fs::read_to_string(id) {
            Ok(_) if may_record() => return Ok("can be recorded".to_owned()),
            Ok(_) => return Err(Missing::new("perf_event_paranoid forbids it", "record as root")),
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                return Err(Missing::new(format!("no permission to read {tracing}"), "record as root"));
            }
            Err(_) => {}
        }
    }
    Err(Missing::new(
        "the kernel shows no tracepoints",
        "mount -t tracefs tracefs /sys/kernel/tracing; the kernel needs CONFIG_FTRACE=y",
    ))
}

fn may_record() -> bool {
    let paranoid = fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").unwrap_or_default();
    paranoid.trim().parse::<i32>().is_ok_and(|level| level < 0) || check::permission().is_ok()
}

fn output(program: &str, arguments: &[&str]) -> Option<String> {
    let output =
        Command::new(program).args(arguments).output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_check_says_what_it_found_and_what_to_do() {
        let findings = examine();
        assert!(findings.iter().any(|finding| finding.serves == Serves::Load));
        for finding in &findings {
            assert!(!finding.found.is_empty(), "{finding:?}");
            assert_eq!(finding.fix.is_none(), finding.ok, "{finding:?}");
            assert!(finding.fix.as_ref().is_none_or(|fix| !fix.is_empty()));
        }
    }

    #[test]
    fn only_what_load_needs_counts() {
        let found = |name, serves, ok: bool| {
            finding(name, serves, ok.then(String::new).ok_or_else(|| Missing::new("no", "do")))
        };
        let fine = [found("a", Serves::Load, true), found("b", Serves::Vm, false)];
        assert_eq!(verdict(&fine), Ok(()));
        let error =
            verdict(&[found("a", Serves::Load, false), found("b", Serves::Vm, false)]).expect_err("a");
        assert!(error.what.ends_with("for lack of: a"), "{error}");
    }
}
