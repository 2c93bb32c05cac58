//! The journal: what was changed is written down before it is changed, so that a later `divvy apply` can restore it after this one was
//! killed. It belongs to one boot, and one `divvy apply` at a time.

use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, OFlags};

use super::changed::Changes;
use super::error::ApplyError;
use super::group_changes::GroupChanges;
use super::record;

/// The most that is read: more is none of ours.
const MOST_BYTES: u64 = 64 << 20;
/// From this size on it is written anew when half of it is out of date.
const LARGE: u64 = 1 << 20;

/// Values that an earlier run left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Left {
    Nothing,
    /// So many values that are not restored.
    Values(usize),
}

/// A journal that this process has locked.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    boot: String,
    /// Open and locked as long as this exists.
    _lock: File,
    file: Option<File>,
    bytes: u64,
    /// Its size after it was written anew.
    kept: u64,
}

impl Journal {
    /// Locks it, and makes its directory.
    ///
    /// # Errors
    /// If another process has it, or its place cannot be written.
    pub fn lock(path: &Path, boot: &str) -> Result<Self, ApplyError> {
        if let Some(directory) = path.parent().filter(|directory| !directory.as_os_str().is_empty()) {
            fs::create_dir_all(directory).map_err(|error| cannot("make", directory, error))?;
        }
        let lock_path = beside(path, "lock");
        let mut lock = options()
            .read(true)
            .write(true)
            .create(true)
            .open(&lock_path)
            .map_err(|error| cannot("open", &lock_path, error))?;
        if rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive).is_err() {
            return Err(running(&lock, lock_path));
        }
        let mut text = String::new();
        let read = (&lock).take(16).read_to_string(&mut text);
        let is_lock = read.is_ok() && text.trim().bytes().all(|byte| byte.is_ascii_digit());
        if !is_lock {
            let (file, why) = (lock_path, "it is no lock of divvy apply".to_owned());
            return Err(ApplyError::Journal { file, line: 1, why });
        }
        let written = lock
            .rewind()
            .and_then(|()| lock.set_len(0))
            .and_then(|()| writeln!(lock, "{}", std::process::id()));
        written.map_err(|error| cannot("write", &lock_path, error))?;
        Ok(Self {
            path: path.to_owned(),
            boot: boot.trim().to_owned(),
            _lock: lock,
            file: None,
            bytes: 0,
            kept: 0,
        })
    }

    /// The changes of this boot that it has. One of an earlier boot says nothing.
    ///
    /// # Errors
    /// If it cannot be read, or a line of it is wrong.
    pub fn read(&self) -> Result<(Changes, GroupChanges), ApplyError> {
        read(&self.path, &self.boot)
    }

    /// Says what a run would find in it, without a lock or a change.
    ///
    /// # Errors
    /// As [`Journal::lock`] and [`Journal::read`]. One that the caller may not see has nothing.
    pub fn left(path: &Path, boot: &str) -> Result<Left, ApplyError> {
        // Without a name there is none.
        if path.file_name().is_none() {
            return Ok(Left::Nothing);
        }
        let lock_path = beside(path, "lock");
        if let Ok(lock) = options().read(true).open(&lock_path)
            && rustix::fs::flock(&lock, FlockOperation::NonBlockingLockShared).is_err()
        {
            return Err(running(&lock, lock_path));
        }
        match read(path, boot.trim()) {
            Err(ApplyError::Io(_, error)) if error.kind() == io::ErrorKind::PermissionDenied => {
                Ok(Left::Nothing)
            }
            found => found.map(|(changes, groups)| match changes.len() + groups.len() {
                0 => Left::Nothing,
                values => Left::Values(values),
            }),
        }
    }

    /// Writes lines at its end, all at once.
    ///
    /// # Errors
    /// If that fails. Then what they say must not be done.
    pub fn append(&mut self, lines: &str) -> Result<(), ApplyError> {
        if lines.is_empty() {
            return Ok(());
        }
        let path = self.path.clone();
        let head = if self.file.is_none() { self.open()? } else { String::new() };
        let (Some(file), text) = (&mut self.file, head + lines) else { return Ok(()) };
        file.write_all(text.as_bytes()).map_err(|error| cannot("write", &path, error))?;
        self.bytes += text.len() as u64;
        Ok(())
    }

    /// Opens it, and gives the line that a new one begins with.
    fn open(&mut self) -> Result<String, ApplyError> {
        let file = options().append(true).create(true).open(&self.path);
        let file = file.map_err(|error| cannot("open", &self.path, error))?;
        self.bytes = file.metadata().map_or(0, |about| about.len());
        self.file = Some(file);
        Ok(if self.bytes == 0 { self.head() } else { String::new() })
    }

    fn head(&self) -> String {
        format!("{}{}\n", record::HEAD, self.boot)
    }

    /// Writes it anew, with what is true now, if it has become large.
    ///
    /// # Errors
    /// If it cannot be written; the old one is there then.
    pub fn tidy(&mut self, changes: &Changes, groups: &GroupChanges) -> Result<(), ApplyError> {
        if self.bytes < LARGE.max(2 * self.kept) {
            return Ok(());
        }
        self.rewrite(changes, groups)
    }

    /// Writes it anew, with this alone. Without anything it is removed.
    ///
    /// # Errors
    /// If it cannot be written; the old one is there then.
    pub fn rewrite(&mut self, changes: &Changes, groups: &GroupChanges) -> Result<(), ApplyError> {
        self.file = None;
        if changes.len() + groups.len() == 0 {
            return match fs::remove_file(&self.path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    Err(cannot("remove", &self.path, error))
                }
                _ => Ok(()),
            };
        }
        let threads: String = changes.iter().map(|(id, change)| record::of_thread(*id, change)).collect();
        let groups: String = groups.iter().map(|(path, change)| record::of_group(path, change)).collect();
        let text = self.head() + &threads + &groups;
        let new = beside(&self.path, "new");
        let written = options()
            .write(true)
            .create(true)
            .truncate(true)
            .open(&new)
            .and_then(|mut file| file.write_all(text.as_bytes()))
            .and_then(|()| fs::rename(&new, &self.path));
        written.map_err(|error| cannot("write", &new, error))?;
        (self.kept, self.bytes) = (text.len() as u64, text.len() as u64);
        Ok(())
    }
}

/// The changes of this boot that a journal has.
fn read(path: &Path, boot: &str) -> Result<(Changes, GroupChanges), ApplyError> {
    let mut found = (Changes::default(), GroupChanges::default());
    let Some(bytes) = bytes(path)? else { return Ok(found) };
    let wrong =
        |line: usize, why: &str| ApplyError::Journal { file: path.to_owned(), line, why: why.to_owned() };
    let text = String::from_utf8(bytes).map_err(|error| {
        let before = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        wrong(1 + before.iter().filter(|byte| **byte == b'\n').count(), "it is no text")
    })?;
    let mut lines = text.split_inclusive('\n').zip(1..);
    let Some((head, _)) = lines.next() else { return Ok(found) };
    let found_boot = head.strip_prefix(record::HEAD).and_then(|rest| rest.strip_suffix('\n'));
    match found_boot {
        None => return Err(wrong(1, "it is no journal of divvy apply")),
        Some(found_boot) if found_boot != boot => return Ok(found),
        Some(_) => {}
    }
    for (line, number) in lines {
        // A last line that is cut off was not done: it was still being written.
        let Some(whole) = line.strip_suffix('\n') else { break };
        record::read(whole, &mut found.0, &mut found.1).map_err(|why| wrong(number, &why))?;
    }
    Ok(found)
}

fn bytes(path: &Path) -> Result<Option<Vec<u8>>, ApplyError> {
    let file = match options().read(true).open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(cannot("open", path, error)),
    };
    let wrong = |why: &str| ApplyError::Journal { file: path.to_owned(), line: 1, why: why.to_owned() };
    let about = file.metadata().map_err(|error| cannot("read", path, error))?;
    let own = rustix::process::geteuid().as_raw();
    if !about.is_file() {
        return Err(wrong("it is not a regular file"));
    }
    if about.uid() != own || about.mode() & 0o022 != 0 {
        return Err(wrong("others may write it"));
    }
    let mut bytes = Vec::new();
    file.take(MOST_BYTES + 1).read_to_end(&mut bytes).map_err(|error| cannot("read", path, error))?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err(wrong("it has more than 64 MiB"));
    }
    Ok(Some(bytes))
}

/// The error of a lock that somebody has.
fn running(lock: &File, path: PathBuf) -> ApplyError {
    let mut text = String::new();
    let _ = lock.take(16).read_to_string(&mut text);
    let pid = text.trim().parse::<u32>().map_or_else(|_| "unknown".to_owned(), |pid| pid.to_string());
    ApplyError::Running { pid, lock: path }
}

/// For the owner only, never through a link that somebody put there, and without waiting for the other end of a pipe.
fn options() -> fs::OpenOptions {
    let mut options = File::options();
    options.mode(0o600).custom_flags((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits() as i32);
    options
}

fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".");
    name.push(ending);
    path.with_file_name(name)
}

fn cannot(what: &str, path: &Path, error: io::Error) -> ApplyError {
    ApplyError::Io(format!("cannot {what} {}", path.display()), error)
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Place(PathBuf);

    impl Place {
        fn new(name: &str) -> Self {
            let directory = std::env::temp_dir().join(format!("divvy-journal-{name}-{}", std::process::id()));
            let _ = fs::remove_dir_all(&directory);
            Self(directory)
        }

        fn path(&self) -> PathBuf {
            self.0.join("inner/apply.journal")
        }

        fn lock(&self) -> Journal {
            Journal::lock(&self.path(), "boot-1\n").expect("nobody else has it")
        }

        fn error(&self, bytes: &[u8]) -> String {
            let journal = self.lock();
            fs::write(self.path(), bytes).expect("a journal");
            use std::os::unix::fs::PermissionsExt as _;
            fs::set_permissions(self.path(), fs::Permissions::from_mode(0o600)).expect("its mode");
            let error = journal.read().expect_err("damaged");
            assert!(matches!(error, ApplyError::Journal { .. }), "{error}");
            error.to_string()
        }
    }

    impl Drop for Place {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn a_second_process_is_refused_with_the_pid_of_the_first() {
        let place = Place::new("lock");
        let first = place.lock();
        let error = Journal::lock(&place.path(), "boot-1").expect_err("locked");
        assert!(error.to_string().contains(&format!("process {} has", std::process::id())), "{error}");
        drop(first);
        place.lock();
    }

    #[test]
    fn it_says_what_was_appended_in_this_boot_only() {
        let place = Place::new("append");
        let mut journal = place.lock();
        assert_eq!(journal.read().expect("nothing").0.len(), 0);
        journal.append("nice 1 2 1 1 5 0 7\n").expect("written");
        journal.append("weight 3 100 200 /a\n").expect("written");
        let (changes, groups) = journal.read().expect("a journal");
        assert_eq!((changes.len(), groups.len()), (1, 1));
        drop(journal);
        let later = Journal::lock(&place.path(), "boot-2").expect("free");
        assert_eq!(later.read().expect("a journal").0.len(), 0);
        drop(later);
        let mut again = place.lock();
        again.append("nice 2 2 1 1 5 0 7\n").expect("written");
        let (changes, groups) = again.read().expect("a journal");
        assert_eq!((changes.len(), groups.len()), (2, 1));
        again.rewrite(&changes, &GroupChanges::default()).expect("written");
        assert_eq!(again.read().map(|found| (found.0.len(), found.1.len())).expect("a journal"), (2, 0));
        again.rewrite(&Changes::default(), &GroupChanges::default()).expect("removed");
        assert!(!place.path().exists());
    }

    #[test]
    fn a_large_one_is_written_anew() {
        let place = Place::new("large");
        let mut journal = place.lock();
        let mut changes = Changes::default();
        let line = "nice 1 2 1 1 5 0 7\n";
        record::read(line.trim_end(), &mut changes, &mut GroupChanges::default()).expect("a line");
        journal.append(&line.repeat(60_000)).expect("written");
        journal.tidy(&changes, &GroupChanges::default()).expect("written");
        assert!(fs::metadata(place.path()).expect("there").len() < 100);
        assert_eq!(journal.read().expect("a journal").0.len(), 1);
    }

    #[test]
    fn damage_has_its_line() {
        let place = Place::new("damage");
        let head = "divvy-apply 1 boot-1\n";
        for (text, says) in [
            ("hello\n".to_owned(), ":1: it is no journal"),
            (format!("{head}nice 1 2 1 1 5 0 99\n"), ":2: `99` is no number"),
            (format!("{head}\u{1b}[2J\n"), ":2: it begins with neither"),
        ] {
            let error = place.error(text.as_bytes());
            assert!(error.contains(says) && error.contains("rm "), "{text:?}: {error}");
        }
        let error = place.error(&[head.as_bytes(), b"nice \xff\n"].concat());
        assert!(error.contains(":2: it is no text"), "{error}");
    }

    #[test]
    fn one_that_others_may_write_is_not_believed() {
        use std::os::unix::fs::PermissionsExt as _;
        let place = Place::new("writable");
        let journal = place.lock();
        fs::write(place.path(), "divvy-apply 1 boot-1\n").expect("a journal");
        fs::set_permissions(place.path(), fs::Permissions::from_mode(0o666)).expect("its mode");
        assert!(journal.read().expect_err("not believed").to_string().contains("others may write it"));
        fs::remove_file(place.path()).expect("removed");
        std::os::unix::fs::symlink("/etc/passwd", place.path()).expect("a link");
        assert!(journal.read().is_err());
    }

    /// A pipe would make it wait for a writer.
    #[test]
    fn what_is_no_file_is_said() {
        use rustix::fs::{CWD, FileType, Mode, mknodat};
        let place = Place::new("pipe");
        let journal = place.lock();
        mknodat(CWD, place.path(), FileType::Fifo, Mode::from_raw_mode(0o600), 0).expect("a pipe");
        assert!(journal.read().expect_err("a pipe").to_string().contains(":1: it is not a regular file"));
        fs::remove_file(place.path()).expect("removed");
        fs::create_dir(place.path()).expect("a directory");
        assert!(
            journal.read().expect_err("a directory").to_string().contains(":1: it is not a regular file")
        );
        fs::remove_dir(place.path()).expect("removed");
    }
}
