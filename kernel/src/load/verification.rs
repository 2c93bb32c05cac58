//! A load that ends before anything is scheduled.

use super::cpus::Cpus;
use super::error::LoadError;
use super::object::Scheduler;
use super::options::Options;
use super::rules::RulesFile;
use super::verified::VerifiedProgram;
use super::{check, configuration};

/// Lets the kernel verify the programs, and unloads them.
pub fn verify(options: &Options, cpus: Option<u16>) -> Result<Vec<VerifiedProgram>, LoadError> {
    check::all()?;
    let spec = configuration::spec(options)?;
    let cpus = cpus.map_or_else(|| Cpus::online(&spec), |count| Cpus::supposed(count, &spec))?;
    let rules = RulesFile::asked_for(options.rules.as_deref())?.is_some();
    let config = configuration::config(options, &spec, &cpus, rules);
    Scheduler::verify(&config, options.timeout.as_millis() as u32)
}
