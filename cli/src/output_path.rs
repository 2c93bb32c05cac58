//! Paths of results, checked before anything runs: no input is overwritten, and a run of minutes does
//! not end with a result that cannot be written.

use divvy_policy::{Failure, FailureKind};
use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// A path that a result cannot be written to.
#[derive(Debug, thiserror::Error)]
pub enum BadOutputPath {
    /// The result would replace its own input.
    #[error("-o {}: this is the input, and would be overwritten; give the result another name", .0.display())]
    Input(PathBuf),
    /// A binary result would go to a terminal.
    #[error("-o -: a recording is not text for a terminal; give a file, or a pipe: divvy record -o - | ...")]
    Terminal,
    /// Several files would go to stdout.
    #[error("{option} -: that is stdout, and {option} takes {what} here; give its name")]
    Stdout {
        /// As given.
        option: &'static str,
        /// The expected kind of path, for the message.
        what: &'static str,
    },
    /// Something else has this name.
    #[error("{option} {} exists and is not a directory; give {what}, or a new name", path.display())]
    NoDirectory {
        /// As given.
        option: &'static str,
        /// As given.
        path: PathBuf,
        /// The expected kind of path, for the message.
        what: &'static str,
    },
    /// It cannot be written.
    #[error("{option} {}: it cannot be written", path.display())]
    Unwritable {
        /// As given.
        option: &'static str,
        /// As given.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
}

impl Failure for BadOutputPath {
    fn kind(&self) -> FailureKind {
        match self {
            BadOutputPath::Input(_)
            | BadOutputPath::Terminal
            | BadOutputPath::Stdout { .. }
            | BadOutputPath::NoDirectory { .. } => FailureKind::Usage,
            BadOutputPath::Unwritable { .. } => FailureKind::Failed,
        }
    }
}

/// Refuses an output that is one of the inputs, also under another name.
pub fn refuse_input<'a>(
    inputs: impl IntoIterator<Item = &'a Path>,
    output: Option<&Path>,
) -> Result<(), BadOutputPath> {
    let Some(output) = output.filter(|path| *path != Path::new("-")) else { return Ok(()) };
    let identity = |path: &Path| {
        let known = fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
        Some((known.dev(), known.ino()))
    };
    let Some(written) = identity(output) else { return Ok(()) };
    if inputs.into_iter().any(|input| identity(input) == Some(written)) {
        return Err(BadOutputPath::Input(output.to_owned()));
    }
    Ok(())
}

/// Creates the directory if it does not exist, and checks that it can be written to.
pub fn directory(option: &'static str, path: &Path, what: &'static str) -> Result<(), BadOutputPath> {
    if path == Path::new("-") {
        return Err(BadOutputPath::Stdout { option, what });
    }
    if path.exists() && !path.is_dir() {
        return Err(BadOutputPath::NoDirectory { option, path: path.to_owned(), what });
    }
    let unwritable = |source| BadOutputPath::Unwritable { option, path: path.to_owned(), source };
    fs::create_dir_all(path).map_err(unwritable)?;
    probe(&path.join(format!(".divvy-{}", std::process::id()))).map_err(unwritable)
}

/// Checks that the file can be written; its content stays.
pub fn file(option: &'static str, path: &Path) -> Result<(), BadOutputPath> {
    let unwritable = |source| BadOutputPath::Unwritable { option, path: path.to_owned(), source };
    if path == Path::new("-") { Ok(()) } else { probe(path).map_err(unwritable) }
}

fn probe(path: &Path) -> io::Result<()> {
    let was_there = path.exists();
    OpenOptions::new().create(true).append(true).open(path)?;
    if was_there { Ok(()) } else { fs::remove_file(path) }
}
