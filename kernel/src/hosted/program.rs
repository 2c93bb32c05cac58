//! The model with the host and a policy inside, as a program.

use std::path::PathBuf;

use divvy_policy::compile::{CompileError, POLICY_SOURCES, Program, Source};
use divvy_policy::file;

use super::kernel::Version;

/// The files of the host and of the model.
static SOURCES: &[Source] = include!(concat!(env!("OUT_DIR"), "/model.rs"));

/// Tasks that there is room for, counting id 0.
pub(super) const POOL: u32 = crate::load::MAX_POOL;

/// As `model/test.sh` compiles the storm, without calls before each access to memory: here is no race. With more optimization the compiler would
/// take longer than most runs.
const FLAGS: [&str; 8] = [
    "-std=gnu11",
    "-fgnu89-inline",
    "-O1",
    "-w",
    "-Ikernel/model/stand_in",
    "-Ikernel/bpf",
    "-Ikernel/model",
    "-Ipolicy",
];

/// Compiles it for a policy and a version of Linux, unless that was done before.
pub(super) fn build(policy: &str, version: Version) -> Result<PathBuf, CompileError> {
    let file = file::find(policy);
    let headers = file.map_or_else(|| POLICY_SOURCES.to_vec(), |file| file.sources());
    let policy = file.map_or(policy, |file| file.stem);
    let mut arguments: Vec<String> = FLAGS.map(str::to_owned).to_vec();
    arguments.extend([
        format!("-DPOOL={POOL}u"),
        format!("-DMAX_MODEL_TASKS={POOL}"),
        format!("-DDIVVY_POLICY={policy}"),
        format!("-DPOLICY_HEADER=\"select/{policy}.h\""),
        format!("-DMODEL_NEWER={}", version.model_newer()),
    ]);
    let units = SOURCES
        .iter()
        .map(|source| source.0)
        .filter(|path| path.starts_with("kernel/model/") && path.ends_with(".c"));
    arguments.extend(units.map(str::to_owned));
    arguments.push("-lm".to_owned());
    let sources = SOURCES.iter().copied().chain(headers).collect();
    Program { name: &format!("host-{policy}-{}", version.name()), sources, arguments }.build()
}
