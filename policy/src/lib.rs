//! The policies, as the simulator sees them: what they are, and a machine that runs one.
//!
//! The code is C, in `policy/`; this is one of the two places where Rust meets it.

mod account;
mod authored;
pub mod called;
mod chosen;
pub mod compile;
mod config;
mod describe;
mod event;
pub mod file;
mod find;
mod host;
mod id;
mod kind;
mod machine;
#[cfg(test)]
mod page;
pub mod placement;
pub mod quantity;
mod seed;
pub mod spec;
mod suggest;
pub mod text_file;
pub mod units;
mod weight;

use std::ffi::{CStr, c_char};
use std::sync::OnceLock;

pub use account::Account;
pub use chosen::{ChoiceError, Chosen};
pub use config::{MachineConfig, MachineError, ParamValue};
pub use describe::Description;
pub use event::{Answer, Event};
pub use find::find;
pub use id::{CpuId, CpuMask, MAX_CPUS, MAX_GROUPS, MAX_TASKS, TaskId};
pub use kind::{Failure, FailureKind};
pub use machine::{CpuLimit, Decision, Machine, Predictions, ProgramState, Programs, Shown, Turn, Turns};
pub use placement::Placement;
pub use suggest::nearest;
pub use weight::{NICE_WEIGHTS, Weight};

/// The identity of a program that is known by its name alone: FNV-1a, 64 bits; never 0.
#[must_use]
pub fn program_identity(name: &str) -> u64 {
    let fold = |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    name.bytes().fold(0xcbf2_9ce4_8422_2325, fold).max(1)
}

/// Whether a policy selects the next task, or modifies weights or slices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Begins a spec.
    Selection,
    /// Follows a `+` in a spec.
    Modifier,
}

/// The meaning of a parameter's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParamKind {
    /// Nanoseconds.
    Time,
    /// Fixed point, [`RATIO_ONE`] is 1 and [`RATIO_INF`] infinity.
    Ratio,
    /// A count.
    Integer,
    /// 0 or 1.
    Switch,
}

/// The number 1 as a [`ParamKind::Ratio`].
pub const RATIO_ONE: i64 = 1 << 16;
/// Infinity as a [`ParamKind::Ratio`]; negated, minus infinity.
pub const RATIO_INF: i64 = i64::MAX;

/// A parameter of a policy. Values are raw: see [`ParamKind`].
#[derive(Clone, Copy, Debug)]
pub struct ParamInfo {
    /// As written in a spec.
    pub name: &'static str,
    /// The meaning of its number.
    pub kind: ParamKind,
    /// Unit for people, or empty.
    pub unit: &'static str,
    /// Value when a spec does not say.
    pub default: i64,
    /// Least value.
    pub min: i64,
    /// Greatest value.
    pub max: i64,
    /// One sentence.
    pub help: &'static str,
}

/// A summary of a policy, from its page in `papers/`.
struct Summary {
    policy: &'static str,
    paper: &'static str,
    guarantees: &'static [&'static str],
    cost: &'static str,
    deviations: &'static [&'static str],
}

static SUMMARIES: &[Summary] = include!(concat!(env!("OUT_DIR"), "/summaries.rs"));

/// A policy may have no page yet.
static NO_PAGE: Summary = Summary { policy: "", paper: "", guarantees: &[], cost: "", deviations: &[] };

/// The description of a policy: from its header, and from its page in `papers/`.
#[derive(Clone, Debug)]
pub struct PolicyInfo {
    /// As written in a spec.
    pub name: &'static str,
    /// Selection or modifier.
    pub kind: Kind,
    /// Papers compare with it.
    pub is_baseline: bool,
    /// Whether it is told how long tasks will run.
    pub is_clairvoyant: bool,
    /// Why no kernel is to load it, if none is.
    pub simulator_only: Option<&'static str>,
    /// How many accesses to memory a decision may need for each task, if it may look at all of them. A kernel loads it only for a
    /// stated number of tasks.
    pub linear: Option<u32>,
    /// One line.
    pub title: &'static str,
    /// Where it was published.
    pub paper: &'static str,
    /// Its guarantees, and their conditions.
    pub guarantees: Vec<&'static str>,
    /// Cost of a decision or change.
    pub cost: &'static str,
    /// Differences from the paper; `papers/NAME.md` has the reasons.
    pub deviations: Vec<&'static str>,
    /// Its parameters.
    pub params: Vec<ParamInfo>,
}

/// All policies that are built in: selections by name, then modifiers in the order in which they apply.
pub fn all() -> &'static [PolicyInfo] {
    static ALL: OnceLock<Vec<PolicyInfo>> = OnceLock::new();
    ALL.get_or_init(|| {
        let selections = host::all().into_iter().map(PolicyInfo::of_host);
        let modifiers = host::modifiers().iter().map(|m| {
            // SAFETY: the table's own lengths.
            unsafe { describe(m.name, Kind::Modifier, m.title, m.params, m.nparams) }
        });
        selections.chain(modifiers).collect()
    })
}

/// Other names of policies, which textbooks use.
const ALIASES: [(&str, &str); 2] = [("fifo", "fcfs"), ("srtf", "srpt")];

/// The name of a policy that may be called by another one.
fn canonical(name: &str) -> &str {
    ALIASES.iter().find(|(alias, _)| *alias == name).map_or(name, |(_, name)| name)
}

impl PolicyInfo {
    /// The description of a selection, from its host's table.
    fn of_host(h: &'static host::Host) -> PolicyInfo {
        // SAFETY: the table's own lengths.
        let described = unsafe { describe(h.name, Kind::Selection, h.title, h.params, h.nparams) };
        // SAFETY: it is a string constant or null.
        let simulator_only = (!h.simulator_only.is_null()).then(|| unsafe { text(h.simulator_only) });
        PolicyInfo {
            is_baseline: h.is_baseline != 0,
            is_clairvoyant: h.bring.is_some(),
            simulator_only,
            linear: (h.linear != 0).then_some(h.linear),
            ..described
        }
    }
}

/// # Safety
/// `s` is a string constant of the policy library.
unsafe fn text(s: *const c_char) -> &'static str {
    // SAFETY: by contract.
    unsafe { CStr::from_ptr(s) }.to_str().unwrap_or("(not UTF-8)")
}

/// # Safety
/// The pointers and lengths are those of a table of the policy library.
unsafe fn describe(
    name: *const c_char,
    kind: Kind,
    title: *const c_char,
    params: *const host::Param,
    nparams: u32,
) -> PolicyInfo {
    // SAFETY: by contract.
    let (name, title, params) =
        unsafe { (text(name), text(title), std::slice::from_raw_parts(params, nparams as usize)) };
    let summary = SUMMARIES.iter().find(|summary| summary.policy == name).unwrap_or(&NO_PAGE);
    PolicyInfo {
        name,
        kind,
        is_baseline: false,
        is_clairvoyant: false,
        simulator_only: None,
        linear: None,
        title,
        paper: summary.paper,
        guarantees: summary.guarantees.to_vec(),
        cost: summary.cost,
        deviations: summary.deviations.to_vec(),
        params: params.iter().map(param).collect(),
    }
}

fn param(p: &host::Param) -> ParamInfo {
    // SAFETY: each row's texts are string constants.
    let (name, unit, help) = unsafe { (text(p.name), text(p.unit), text(p.help)) };
    ParamInfo {
        name,
        unit,
        help,
        kind: match p.kind {
            0 => ParamKind::Time,
            1 => ParamKind::Ratio,
            2 => ParamKind::Integer,
            _ => ParamKind::Switch,
        },
        default: p.default,
        min: p.min,
        max: p.max,
    }
}
