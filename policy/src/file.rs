//! Policies that are not built in: a file of C that is compiled when a command runs, as in `-p ./mine.h`.
//!
//! The file is that which `policy/select/` would have: it keeps the contract of `policy.h`, and the same host is compiled around it, so it
//! decides as if it were built in. It is the user's own code, and runs in the process: nothing is loaded that the user did not name.

mod contract;
mod error;
mod sources;

use std::ffi::{CStr, CString};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use crate::compile::{CompileError, HOST_SOURCES, POLICY_SOURCES, Program};
use crate::host::Host;
use crate::{Kind, PolicyInfo};
use contract::Check;
pub use error::FileError;
use error::Reason;
use sources::Own;

/// As the policies that are built in (`policy/build.rs`). A call of what was not declared is an error, and so are pointers of another type.
const FLAGS: [&str; 11] = [
    "-std=gnu11",
    "-O2",
    "-fomit-frame-pointer",
    "-fno-tree-slp-vectorize",
    "-fPIC",
    "-shared",
    "-Werror=implicit-function-declaration",
    "-Werror=incompatible-pointer-types",
    "-Werror=int-conversion",
    "-Werror=return-type",
    "-Wl,-z,defs",
];
/// The header that host.c includes as the policy's.
const CHECK: &str = "policy/native/contract.h";
/// Lines of a compiler's errors that are repeated.
const MOST_LINES: usize = 20;
/// Words that are no names in C, or that the machine around a policy has taken.
const TAKEN: [&str; 42] = [
    "asm", "auto", "bool", "break", "case", "char", "const", "continue", "default", "do", "double", "else",
    "enum", "extern", "float", "for", "goto", "if", "inline", "int", "long", "register", "restrict",
    "return", "short", "signed", "sizeof", "static", "struct", "switch", "typedef", "union", "unsigned",
    "void", "while", "typeof", "linux", "unix", "task", "machine", "host", "turn",
];

/// A policy that was compiled from a file.
pub struct PolicyFile {
    /// Its description. Its name is the path as it was given.
    pub info: PolicyInfo,
    /// The file's name without `.h`, with which its functions begin.
    pub stem: &'static str,
    sources: Vec<Own>,
    host: &'static Host,
}

impl fmt::Debug for PolicyFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PolicyFile").field("info", &self.info).finish_non_exhaustive()
    }
}

/// The policies that were loaded, for all of the process: machines use their code.
static LOADED: Mutex<Vec<&'static PolicyFile>> = Mutex::new(Vec::new());

/// Whether a policy's name in a spec is a path: it has a `/`, or ends in `.h`.
#[must_use]
pub fn is_path(name: &str) -> bool {
    name.contains('/') || name.ends_with(".h")
}

/// Compiles and loads the policy files that lists of specs begin with, so that [`spec::parse`](crate::spec::parse) finds them.
///
/// ```no_run
/// use divvy_policy::{file, spec};
///
/// let lists = ["rr,./mine.h:alpha=2+groups".to_owned()];
/// file::load_named(&lists)?;
/// let specs = spec::parse_list(&lists, divvy_policy::all())?;
/// assert_eq!(specs[1].to_string(), "./mine.h:alpha=2+groups");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// As [`load`], for the first file that cannot be loaded.
pub fn load_named(lists: &[String]) -> Result<(), FileError> {
    let specs = lists.iter().flat_map(|list| list.split(','));
    let names =
        specs.filter_map(|spec| spec.trim().split(['+', ':', '@']).next()).filter(|name| is_path(name));
    names.map(load).try_for_each(|loaded| loaded.map(drop))
}

/// The policy in a file, which is compiled and loaded unless that was done before. The process keeps it.
///
/// # Errors
/// If the file cannot be read, or does not keep the contract, or the machine has no C compiler.
pub fn load(name: &str) -> Result<&'static PolicyFile, FileError> {
    load_new(name, |stem| sources::collect(name, stem))
}

/// As [`load`], of a file that another machine has: the texts of its own headers, by the paths of [`PolicyFile::own_sources`].
///
/// # Errors
/// As [`load`].
pub fn load_texts(name: &str, texts: &[(String, String)]) -> Result<&'static PolicyFile, FileError> {
    load_new(name, |_| sources::sent(name, texts))
}

fn load_new(
    name: &str,
    sources: impl FnOnce(&str) -> Result<Vec<Own>, FileError>,
) -> Result<&'static PolicyFile, FileError> {
    let mut loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(file) = loaded.iter().find(|file| file.info.name == name) {
        return Ok(file);
    }
    let stem = stem(name)?;
    let sources = sources(stem)?;
    let host = open_new(name, stem, &sources)?;
    let name: &'static str = name.to_owned().leak();
    // A file that has the name of a policy of divvy is not that policy.
    let (guarantees, deviations) = (Vec::new(), Vec::new());
    let info = PolicyInfo { name, paper: "", cost: "", guarantees, deviations, ..PolicyInfo::of_host(host) };
    check_params(&info)?;
    let file: &'static PolicyFile =
        Box::leak(Box::new(PolicyFile { info, stem: stem.to_owned().leak(), sources, host }));
    loaded.push(file);
    Ok(file)
}

/// The policy that was loaded under this name, if there is one.
#[must_use]
pub fn find(name: &str) -> Option<&'static PolicyFile> {
    let loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
    loaded.iter().find(|file| file.info.name == name).copied()
}

impl PolicyFile {
    /// All headers that it is made of, as [`POLICY_SOURCES`] has them: its own, and those that are built in.
    #[must_use]
    pub fn sources(&self) -> Vec<(&str, &str)> {
        with_own(&self.sources)
    }

    /// The text of its own headers, each with its path: what tells two policies apart that have one name.
    pub fn own_sources(&self) -> impl Iterator<Item = (&str, &str)> {
        self.sources.iter().map(|own| (own.path.as_str(), own.text.as_str()))
    }

    pub(crate) fn host(&self) -> &'static Host {
        self.host
    }
}

/// The policy's name in C.
fn stem(name: &str) -> Result<&str, FileError> {
    let file = Path::new(name).file_name().and_then(|file| file.to_str()).unwrap_or_default();
    let Some(stem) = file.strip_suffix(".h").filter(|stem| !stem.is_empty()) else {
        return Err(FileError::new(name, Reason::Ending));
    };
    let is_name = stem.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        && !stem.starts_with(|first: char| first.is_ascii_digit());
    let is_modifier = crate::all().iter().any(|p| p.kind == Kind::Modifier && p.name == stem);
    if is_name && !is_modifier && !TAKEN.contains(&stem) {
        Ok(stem)
    } else {
        Err(FileError::new(name, Reason::Name(stem.to_owned())))
    }
}

/// The built-in headers, with these in their place.
fn with_own(own: &[Own]) -> Vec<(&str, &str)> {
    let builtin = POLICY_SOURCES.iter().copied().filter(|(path, _)| own.iter().all(|own| own.path != *path));
    builtin.chain(own.iter().map(|own| (own.path.as_str(), own.text.as_str()))).collect()
}

fn compile(name: &str, stem: &str, own: &[Own]) -> Result<PathBuf, FileError> {
    let check = Check::new(stem, &format!("../select/{stem}.h"));
    let text = check.text();
    let mut sources = with_own(own);
    sources.extend(HOST_SOURCES);
    sources.push((CHECK, &text));
    let mut arguments: Vec<String> = FLAGS.map(str::to_owned).to_vec();
    arguments.extend([
        "-Ipolicy".to_owned(),
        format!("-DDIVVY_POLICY={stem}"),
        "-DPOLICY_HEADER=\"native/contract.h\"".to_owned(),
        "policy/native/host.c".to_owned(),
    ]);
    Program { name: &format!("policy-{stem}"), sources, arguments }.build().map_err(|error| match error {
        CompileError::Refused { said, .. } => refused(name, own, &check, &said),
        error => FileError::new(name, Reason::Compile(error)),
    })
}

/// The user's own mistakes come first, then the contract; else the compiler speaks for itself.
fn refused(name: &str, own: &[Own], check: &Check, said: &str) -> FileError {
    // The check includes the file from its own directory.
    let said = &said.replace("policy/native/../", "policy/");
    let is_own = contract::errors(said).any(|(file, _, _)| own.iter().any(|own| own.path == file));
    let breaches = check.breaches(CHECK, said);
    if !is_own && !breaches.is_empty() {
        return FileError::new(name, Reason::Contract(breaches));
    }
    // The compiler saw a copy.
    let said = own.iter().fold(said.to_owned(), |said, own| said.replace(&own.path, &own.shown));
    let lines: Vec<&str> = said.lines().filter(|line| !line.starts_with("In file included from")).collect();
    let lines: Vec<&str> = lines.into_iter().filter(|line| !line.trim_start().starts_with("from ")).collect();
    let more = lines.len().saturating_sub(MOST_LINES);
    let mut text = lines.into_iter().take(MOST_LINES).collect::<Vec<_>>().join("\n");
    if more > 0 {
        text.push_str(&format!("\n... and {more} more lines"));
    }
    FileError::new(name, Reason::Refused(text))
}

/// Compiles it, if that was not done before, and loads it. What was kept may be damaged, so it is made once more then.
fn open_new(name: &str, stem: &str, sources: &[Own]) -> Result<&'static Host, FileError> {
    let kept = compile(name, stem, sources)?;
    if let Ok(host) = open(&kept, stem) {
        return Ok(host);
    }
    let _ = std::fs::remove_file(&kept);
    let object = compile(name, stem, sources)?;
    open(&object, stem).map_err(|what| FileError::new(name, Reason::NotLoaded(object, what)))
}

/// Loads a compiled policy, for as long as the process lives.
fn open(object: &Path, stem: &str) -> Result<&'static Host, String> {
    use std::os::unix::ffi::OsStrExt as _;

    let path = CString::new(object.as_os_str().as_bytes()).map_err(|error| error.to_string())?;
    let symbol = CString::new(format!("divvy_host_{stem}")).map_err(|error| error.to_string())?;
    // SAFETY: strings that end in 0. What the file does when it is loaded is its author's business: the user named it.
    let handle = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
    if handle.is_null() {
        return Err(last_error());
    }
    // SAFETY: a handle of an open library, which is never closed.
    let host = unsafe { libc::dlsym(handle, symbol.as_ptr()) };
    // SAFETY: `native/host.c` of this divvy was compiled around the policy, so the symbol is its table, a constant.
    unsafe { host.cast::<Host>().as_ref() }.ok_or_else(last_error)
}

fn last_error() -> String {
    // SAFETY: it is a string until the next call of this thread, or null.
    unsafe {
        let error = libc::dlerror();
        if error.is_null() {
            return "no reason is known".to_owned();
        }
        CStr::from_ptr(error).to_string_lossy().into_owned()
    }
}

fn check_params(info: &PolicyInfo) -> Result<(), FileError> {
    for (at, param) in info.params.iter().enumerate() {
        let wrong = |what: String| Err(FileError::new(info.name, Reason::Param(what)));
        if info.params[..at].iter().any(|earlier| earlier.name == param.name) {
            return wrong(format!("parameter {} is there twice", param.name));
        }
        if !(param.min..=param.max).contains(&param.default) {
            let (default, min, max) = (param.default, param.min, param.max);
            return wrong(format!(
                "the default of parameter {}, {default}, is not within {min} to {max}",
                param.name
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
