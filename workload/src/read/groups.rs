//! Groups: those that tasks are in, with those around them, and what `[[group]]` says of them.

use std::collections::BTreeMap;

use super::fields::{Field, Fields};
use crate::check::check_limit;
use crate::{DEFAULT_PERIOD_NS, Group, WorkloadError};
use divvy_policy::{CpuLimit, nearest};

/// All groups so far, each after the one that it is in.
#[derive(Default)]
pub(super) struct Groups {
    all: Vec<Group>,
    by_name: BTreeMap<String, usize>,
}

impl Groups {
    /// The group of this path, made if it is new, and so are those around it.
    fn at(&mut self, path: &str) -> usize {
        if let Some(&index) = self.by_name.get(path) {
            return index;
        }
        let parent = path.rsplit_once('/').map(|(around, _)| self.at(around));
        self.all.push(Group::new(path.to_owned(), parent));
        self.by_name.insert(path.to_owned(), self.all.len() - 1);
        self.all.len() - 1
    }

    /// The group of a task: `user`, and `group` in that if it has both.
    pub(super) fn of_task(&mut self, task: &Fields) -> Result<Option<usize>, WorkloadError> {
        let mut path = Vec::new();
        if let Some(field) = task.get("user") {
            let name = field.string()?;
            if name.contains('/') {
                return Err(
                    field.error("the name of a user has no `/`", "`group` is a path, as in \"web/logs\"")
                );
            }
            path.push(check_path(name).map_err(|problem| field.error(problem, HELP))?);
        }
        if let Some(field) = task.get("group") {
            path.push(check_path(field.string()?).map_err(|problem| field.error(problem, HELP))?);
        }
        Ok((!path.is_empty()).then(|| self.at(&path.join("/"))))
    }

    /// Weights and limits of the groups that are named, each of which a task must be in.
    pub(super) fn describe(&mut self, entries: &[Fields]) -> Result<(), WorkloadError> {
        let mut named = BTreeMap::new();
        for entry in entries {
            let field = entry.require("name", "\"web\"")?;
            let name = field.string()?;
            let Some(&index) = self.by_name.get(name) else {
                let help = match nearest(name, self.by_name.keys().map(String::as_str)) {
                    Some(meant) => format!("did you mean `{meant}`?"),
                    None => "put one there with `group` or `user`, or leave the group out".to_owned(),
                };
                return Err(field.error(format!("no task is in a group `{}`", name.escape_debug()), help));
            };
            if named.insert(index, ()).is_some() {
                return Err(field.error("another group has this name", "give each once"));
            }
            self.all[index].weight = entry.weight()?;
            self.all[index].cpu_max = entry.get("cpu_max").map(limit).transpose()?;
        }
        Ok(())
    }

    pub(super) fn into_all(self) -> Vec<Group> {
        self.all
    }
}

fn limit(field: Field) -> Result<CpuLimit, WorkloadError> {
    let fields = field.fields("a limit", &["quota", "period", "burst"])?;
    let quota_ns = fields.require("quota", "\"50ms\"")?.duration()?;
    let period_ns = fields.duration("period")?.unwrap_or(DEFAULT_PERIOD_NS);
    let burst_ns = fields.duration("burst")?.unwrap_or(0);
    let limit = CpuLimit { quota_ns, period_ns, burst_ns };
    check_limit(&limit).map_err(|(message, help)| field.error(message, help))?;
    Ok(limit)
}

const HELP: &str = "write names with `/` between them, 128 characters in all, as in \"web/logs\"";

fn check_path(path: &str) -> Result<&str, String> {
    match crate::check::is_path(path) {
        true => Ok(path),
        false => Err(format!(
            "`{}` is not the path of a group",
            path.chars().take(32).collect::<String>().escape_debug()
        )),
    }
}
