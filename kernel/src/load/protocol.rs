//! The language of the socket: a request is a line of JSON, and so is a reply; after the reply to a look follow the tasks,
//! one line each.

use serde::{Deserialize, Serialize};

use super::host::{Shard, Stats};

/// A request to a loaded scheduler.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "command", rename_all = "snake_case", deny_unknown_fields)]
pub enum Request {
    /// Gives a thread a weight, until its nice value changes.
    SetWeight {
        /// The thread.
        pid: u32,
        /// In 1/1024 of the kernel's table: nice 0 is 2^20.
        weight: u64,
    },
    /// Asks for a thread's weight.
    GetWeight {
        /// The thread.
        pid: u32,
    },
    /// Changes a parameter of the policy.
    SetParam {
        /// Its name.
        name: String,
        /// As in a spec.
        value: String,
    },
    /// Asks for a parameter of the policy.
    GetParam {
        /// Its name.
        name: String,
    },
    /// Asks for its statistics.
    Look,
    /// Puts another policy in its place, and answers when that one schedules.
    Replace {
        /// SPEC and options, as those of `divvy enable`.
        words: Vec<String>,
        /// The version of divvy that is to load it. Another one is to be started instead.
        version: String,
    },
}

/// The answer to a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "snake_case")]
pub enum Reply {
    /// A thread's weight, as it now is.
    Weight {
        /// In 1/1024 of the kernel's table.
        weight: u64,
    },
    /// A parameter, as it now is.
    Param {
        /// The policy.
        policy: String,
        /// The parameter.
        name: String,
        /// As in a spec.
        value: String,
    },
    /// Its statistics; a line for each task follows.
    Look(Box<Head>),
    /// The other policy schedules.
    Replaced,
    /// It cannot be loaded, and the former one goes on.
    NotReplaced {
        /// Why.
        problem: String,
        /// The exit code of a `divvy load` that fails so.
        code: u8,
    },
    /// The client took back its request for another policy in time.
    Withdrawn,
    /// The scheduler has no such thread.
    NoTask,
    /// Not a valid request, or not a parameter or value of this policy.
    Bad {
        /// The fault, as a sentence.
        problem: String,
    },
    /// The client may not connect.
    Denied,
    /// The client may not do this.
    Forbidden {
        /// Why.
        problem: String,
    },
    /// The request failed.
    Failed {
        /// Why.
        problem: String,
    },
}

/// The first line of the reply to a look.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    pub(super) policy: String,
    pub(super) loaded_ns: u64,
    pub(super) at_ns: u64,
    pub(super) cpus: u32,
    pub(super) tasks: usize,
    pub(super) stats: Stats,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) shards: Vec<Shard>,
}
