//! The files of C that policies are made of. The build programs of this crate and of kernel/ both read this one.

use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs};

/// The sources of a policy, in policy/, whatever host is around it.
pub const PARTS: [&str; 13] = [
    "base.h",
    "policy.h",
    "defaults.h",
    "machine.h",
    "event.h",
    "entitled.h",
    "limits.h",
    "lib",
    "machine",
    "placement",
    "select",
    "slice",
    "weight",
];

/// Clippy links nothing and loads nothing, and cargo runs a build program once more for it, with another OUT_DIR.
pub fn is_for_clippy() -> bool {
    let wrapper = env::var_os("RUSTC_WORKSPACE_WRAPPER");
    wrapper.is_some_and(|path| Path::new(&path).file_stem().is_some_and(|name| name == "clippy-driver"))
}

/// Names of the headers in a folder, without their ending, in order.
pub fn headers(dir: &Path) -> Vec<String> {
    stems(dir, ".h")
}

/// Names of a folder's files with this ending, without the ending, in order.
pub fn stems(dir: &Path, ending: &str) -> Vec<String> {
    let names = names(dir).unwrap_or_else(|e| panic!("{}: {e}", dir.display()));
    names.iter().filter_map(|file| file.strip_suffix(ending).map(str::to_owned)).collect()
}

/// A file of C, or all that are in a folder and its folders, in order; paths begin at `root`.
pub fn files(root: &Path, path: &str) -> Vec<String> {
    match names(&root.join(path)) {
        Ok(names) => names.iter().flat_map(|name| files(root, &format!("{path}/{name}"))).collect(),
        Err(_) if path.ends_with(".c") || path.ends_with(".h") => vec![path.to_owned()],
        Err(_) => Vec::new(),
    }
}

fn names(dir: &Path) -> std::io::Result<Vec<String>> {
    let mut names: Vec<String> =
        fs::read_dir(dir)?.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect();
    names.sort();
    Ok(names)
}

/// Rust that has the text of files in it: a list of pairs, `prefix` with the path, and the text.
pub fn embedded(prefix: &str, root: &Path, paths: impl IntoIterator<Item = String>) -> String {
    let mut code = String::from("&[\n");
    for path in paths {
        let _ = writeln!(code, "    (\"{prefix}{path}\", include_str!({:?})),", root.join(&path));
    }
    code.push_str("]\n");
    code
}
