//! The files that a policy file is made of: itself, and headers of its own that it includes. They are put where `policy/select/` would have
//! them, so that the same file is built in without a change.

use std::path::Path;

use super::error::{FileError, Reason};
use crate::compile::POLICY_SOURCES;
use crate::text_file;

/// Where selections are, seen from the directory in which the compiler runs.
pub(super) const SELECT: &str = "policy/select/";
/// A header of a policy is some kilobytes.
const MOST_BYTES: u64 = 1 << 20;
/// Headers of one policy.
const MOST_FILES: usize = 100;

/// A file of the user: its path for the compiler, the same for people, and its text.
#[derive(Clone, Debug)]
pub(super) struct Own {
    pub path: String,
    pub shown: String,
    pub text: String,
}

/// Reads a policy file and all headers of its own. The headers of this divvy are never replaced, except those of `policy/select/`.
pub(super) fn collect(name: &str, stem: &str) -> Result<Vec<Own>, FileError> {
    let own = |path: String, shown: String| Ok(Own { text: read(name, &shown)?, path, shown });
    let mut files = vec![own(format!("{SELECT}{stem}.h"), name.to_owned())?];
    let mut next = 0;
    while next < files.len() {
        let Own { path, shown, text } = files[next].clone();
        next += 1;
        if let Some(line) = text.lines().position(is_outside) {
            return Err(FileError::new(name, Reason::Outside(shown, line + 1)));
        }
        for included in text.lines().filter_map(included) {
            let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
            let Some(target) = normal(&format!("{folder}/{included}")) else { continue };
            let builtin = POLICY_SOURCES.iter().any(|source| source.0 == target);
            if files.iter().any(|file| file.path == target) || builtin && !target.starts_with(SELECT) {
                continue;
            }
            let beside = Path::new(&shown).parent().unwrap_or(Path::new("")).join(included);
            if !beside.is_file() {
                continue;
            }
            if files.len() == MOST_FILES {
                return Err(FileError::new(name, Reason::TooManyHeaders(MOST_FILES)));
            }
            files.push(own(target, beside.display().to_string())?);
        }
    }
    Ok(files)
}

/// The files of a policy that another machine has collected. They are written where the compiler runs, so their paths lead nowhere else.
pub(super) fn sent(name: &str, texts: &[(String, String)]) -> Result<Vec<Own>, FileError> {
    let refused = |reason| Err(FileError::new(name, reason));
    if texts.len() > MOST_FILES {
        return refused(Reason::TooManyHeaders(MOST_FILES));
    }
    let mut files = Vec::new();
    for (path, text) in texts {
        if normal(path).as_deref() != Some(path) || text.len() as u64 > MOST_BYTES {
            return refused(Reason::Sent(path.clone()));
        }
        if let Some(line) = text.lines().position(is_outside) {
            return refused(Reason::Outside(path.clone(), line + 1));
        }
        files.push(Own { path: path.clone(), shown: path.clone(), text: text.clone() });
    }
    Ok(files)
}

/// The file of `#include "FILE"`.
fn included(line: &str) -> Option<&str> {
    let rest = line.trim_start().strip_prefix('#')?.trim_start().strip_prefix("include")?;
    rest.trim_start().strip_prefix('"')?.split_once('"').map(|(file, _)| file).filter(|f| !f.starts_with('/'))
}

/// Whether it includes a header that is neither divvy's nor beside the policy: what was compiled is kept by the content of those.
fn is_outside(line: &str) -> bool {
    let include = || line.trim_start().strip_prefix('#')?.trim_start().strip_prefix("include");
    include().is_some_and(|rest| {
        let rest = rest.trim_start();
        rest.starts_with('<') || rest.starts_with("\"/")
    })
}

/// A path without `.` and `..`; `None` if it leaves the directory in which the compiler runs.
fn normal(path: &str) -> Option<String> {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

fn read(name: &str, path: &str) -> Result<String, FileError> {
    let wrong = |what: &str| FileError::new(name, Reason::Unreadable(path.to_owned(), what.to_owned()));
    match text_file::read(Path::new(path), MOST_BYTES, "1 MiB; a policy is some kilobytes") {
        Ok(text) if text.contains('\0') => Err(wrong("it is not text")),
        read => read.map_err(|error| wrong(&error.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn includes_are_found_as_the_compiler_finds_them() {
        assert_eq!(included("#include \"../policy.h\""), Some("../policy.h"));
        assert_eq!(included("  #  include \"mine/state.h\" /* its state */"), Some("mine/state.h"));
        for line in
            ["#include <stdio.h>", "// #include \"a.h\"", "#define X \"a.h\"", "#include \"/etc/passwd\""]
        {
            assert_eq!(included(line), None, "{line}");
        }
        assert_eq!(normal("policy/select/../lib/ring.h").as_deref(), Some("policy/lib/ring.h"));
        assert_eq!(normal("policy/select/./a//b.h").as_deref(), Some("policy/select/a/b.h"));
        assert_eq!(normal("policy/select/../../../up.h"), None);
    }
}
