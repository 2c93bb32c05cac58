//! Shared by both ends of the socket: its path, and how lines are written and read.

use std::env;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

/// The path of the socket unless $DIVVY_SOCKET is set.
const PATH: &str = "/run/divvy/divvy.sock";
/// The most bytes of a request, or of a line of an answer.
pub(super) const LONGEST_LINE: usize = 4096;

pub(super) fn path() -> PathBuf {
    env::var_os("DIVVY_SOCKET").filter(|path| !path.is_empty()).map_or_else(|| PATH.into(), PathBuf::from)
}

/// Makes the directory of the socket, if it is the usual one. As a service it is there already, and all that may be written.
pub(super) fn make_directory(path: &Path) -> io::Result<()> {
    match path.parent().filter(|_| path == Path::new(PATH)) {
        Some(directory) => make_readable(directory),
        None => Ok(()),
    }
}

/// For all to enter, whatever the umask says; the socket has a mode of its own. One that is there stays as it is.
fn make_readable(directory: &Path) -> io::Result<()> {
    match fs::create_dir(directory) {
        Ok(()) => fs::set_permissions(directory, fs::Permissions::from_mode(0o755)),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error),
    }
}

pub(super) fn write_line(mut stream: impl io::Write, message: &impl serde::Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    stream.write_all(&line)
}

/// Takes the first line out of the bytes that were read, without its end. The first `looked` bytes have no line end.
pub(super) fn take_line(read: &mut Vec<u8>, looked: usize) -> io::Result<Option<String>> {
    let bad = |problem: &str| io::Error::new(io::ErrorKind::InvalidData, problem.to_owned());
    match read[looked..].iter().position(|byte| *byte == b'\n') {
        Some(end) => {
            let line = read.drain(..=looked + end).take(looked + end).collect();
            String::from_utf8(line).map(Some).map_err(|_| bad("not UTF-8"))
        }
        None if read.len() > LONGEST_LINE => Err(bad("the line is too long")),
        None => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_directory_is_made_once_for_all_to_enter() {
        let directory = env::temp_dir().join(format!("divvy-test-{}-directory", std::process::id()));
        let mode = || fs::metadata(&directory).map(|found| found.permissions().mode() & 0o777);
        make_readable(&directory).expect("made");
        assert_eq!(mode().expect("there"), 0o755);
        fs::set_permissions(&directory, fs::Permissions::from_mode(0o700)).expect("changed");
        make_readable(&directory).expect("there already");
        assert_eq!(mode().expect("there"), 0o700, "as somebody else wanted it");
        fs::remove_dir(&directory).expect("removed");
        make_directory(&directory.join("divvy.sock")).expect("nothing to do");
        assert!(!directory.exists(), "another place is the user's");
    }
}
