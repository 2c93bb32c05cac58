//! The database: a row for each program, by its identity.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::OpenOptionsExt as _;
use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};

use redb::{Database, ReadableTable as _, ReadableTableMetadata as _, TableDefinition};

use super::Program;
use divvy_policy::{Failure, FailureKind};

/// Values are JSON, so rows stay readable when a later version adds fields.
const PROGRAMS: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("flow programs 1");

type Table<'a> = redb::Table<'a, u64, &'static [u8]>;

/// Twice as many as the scheduler in the kernel has room for.
const MOST_PROGRAMS: u64 = 8192;

/// An error of the database, with its file.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Another process has it open. divvy itself does that only for moments.
    #[error("{0}: in use by another program; try again in a moment")]
    InUse(PathBuf),
    /// The file does not exist, or cannot be read or written.
    #[error("{0}: {1}; --db names another")]
    File(PathBuf, String),
    /// The file is not a database of this kind, or it is damaged.
    #[error("{0}: not a database of divvy, or damaged ({1}); `rm` it to begin anew")]
    Damaged(PathBuf, String),
}

/// A database in a file. It is open only while it is read or written, so that several processes can use it.
#[derive(Clone, Debug)]
pub struct Store {
    path: PathBuf,
}

impl Store {
    /// The database in this file, which need not exist yet.
    #[must_use]
    pub fn at(path: &Path) -> Store {
        Store { path: path.to_owned() }
    }

    /// The database's file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reads all programs by identity; none if the file does not exist.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn read(&self) -> Result<BTreeMap<u64, Program>, StoreError> {
        if !self.path.exists() {
            return Ok(BTreeMap::new());
        }
        self.guard(|| self.read_all())
    }

    fn read_all(&self) -> Result<BTreeMap<u64, Program>, StoreError> {
        let database = Database::open(&self.path).map_err(|error| self.refused(error))?;
        let transaction = database.begin_read().map_err(|error| self.damaged(&error))?;
        let table = match transaction.open_table(PROGRAMS) {
            Ok(table) => table,
            Err(redb::TableError::TableDoesNotExist(_)) => return Ok(BTreeMap::new()),
            Err(error) => return Err(self.damaged(&error)),
        };
        let mut programs = BTreeMap::new();
        for row in table.iter().map_err(|error| self.damaged(&error))? {
            let (identity, bytes) = row.map_err(|error| self.damaged(&error))?;
            let program = serde_json::from_slice(bytes.value()).map_err(|error| self.damaged(&error))?;
            programs.insert(identity.value(), program);
        }
        Ok(programs)
    }

    /// Changes programs, or adds them, in one transaction. The file and its directory are created if they do not exist. If
    /// there are too many programs, those stored longest ago are removed.
    ///
    /// # Errors
    /// When it cannot be written; then nothing is changed.
    pub fn update(
        &self,
        identities: impl Iterator<Item = u64>,
        mut change: impl FnMut(u64, &mut Program),
    ) -> Result<(), StoreError> {
        if let Some(directory) = self.path.parent().filter(|directory| !directory.as_os_str().is_empty()) {
            fs::create_dir_all(directory).map_err(|error| self.file(&error))?;
        }
        self.change(|table| {
            for identity in identities {
                let mut program = self.row(table, identity)?;
                change(identity, &mut program);
                let bytes = serde_json::to_vec(&program).map_err(|error| self.damaged(&error))?;
                table.insert(identity, bytes.as_slice()).map_err(|error| self.damaged(&error))?;
            }
            self.forget(table)
        })
    }

    fn row(&self, table: &Table<'_>, identity: u64) -> Result<Program, StoreError> {
        let row = table.get(identity).map_err(|error| self.damaged(&error))?;
        let program = row.map(|bytes| serde_json::from_slice(bytes.value())).transpose();
        Ok(program.map_err(|error| self.damaged(&error))?.unwrap_or_default())
    }

    /// Removes the oldest programs. A compiler's command lines are new each time: without this the file, and the time to
    /// read it, would grow for ever.
    fn forget(&self, table: &mut Table<'_>) -> Result<(), StoreError> {
        if table.len().map_err(|error| self.damaged(&error))? <= MOST_PROGRAMS {
            return Ok(());
        }
        let mut by_age = Vec::new();
        for row in table.iter().map_err(|error| self.damaged(&error))? {
            let (identity, bytes) = row.map_err(|error| self.damaged(&error))?;
            let program: Program =
                serde_json::from_slice(bytes.value()).map_err(|error| self.damaged(&error))?;
            by_age.push((program.stored_s, identity.value()));
        }
        by_age.sort_unstable();
        // Removes more than needed, because it must read all of them.
        let surplus = by_age.len() - MOST_PROGRAMS as usize * 3 / 4;
        for (_, identity) in &by_age[..surplus] {
            table.remove(identity).map_err(|error| self.damaged(&error))?;
        }
        Ok(())
    }

    /// Removes programs.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn remove(&self, identities: &[u64]) -> Result<(), StoreError> {
        self.change(|table| {
            for identity in identities {
                table.remove(identity).map_err(|error| self.damaged(&error))?;
            }
            Ok(())
        })
    }

    fn change(
        &self,
        change: impl FnOnce(&mut Table<'_>) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        // It has the command lines of all users, so only its owner may read it.
        let mut open = fs::OpenOptions::new();
        let file = open.read(true).write(true).create(true).truncate(false).mode(0o600).open(&self.path);
        let file = file.map_err(|error| self.file(&error))?;
        self.guard(|| self.change_in(file, change))
    }

    fn change_in(
        &self,
        file: fs::File,
        change: impl FnOnce(&mut Table<'_>) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let mut builder = Database::builder();
        let database = builder.create_with_file_format_v3(true).create_file(file);
        let database = database.map_err(|error| self.refused(error))?;
        let transaction = database.begin_write().map_err(|error| self.damaged(&error))?;
        change(&mut transaction.open_table(PROGRAMS).map_err(|error| self.damaged(&error))?)?;
        transaction.commit().map_err(|error| self.damaged(&error))
    }

    /// redb panics on some damaged files; this makes an error of it.
    fn guard<T>(&self, work: impl FnOnce() -> Result<T, StoreError>) -> Result<T, StoreError> {
        let asserted =
            |_| Err(StoreError::Damaged(self.path.clone(), "the database library failed".to_owned()));
        panic::catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(asserted)
    }

    fn refused(&self, error: redb::DatabaseError) -> StoreError {
        match error {
            redb::DatabaseError::DatabaseAlreadyOpen => StoreError::InUse(self.path.clone()),
            redb::DatabaseError::Storage(redb::StorageError::Io(error))
                if error.kind() != std::io::ErrorKind::InvalidData =>
            {
                self.file(&error)
            }
            error => self.damaged(&error),
        }
    }

    fn file(&self, error: &std::io::Error) -> StoreError {
        StoreError::File(self.path.clone(), error.to_string())
    }

    fn damaged(&self, error: &dyn std::error::Error) -> StoreError {
        StoreError::Damaged(self.path.clone(), error.to_string())
    }
}

impl Failure for StoreError {
    fn kind(&self) -> FailureKind {
        match self {
            StoreError::InUse(_) => FailureKind::Failed,
            StoreError::File(..) | StoreError::Damaged(..) => FailureKind::BadInput,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::mem;
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    /// A directory for one test, which is removed at the end.
    struct Scratch(PathBuf);

    impl Scratch {
        fn new(name: &str) -> Scratch {
            let directory = std::env::temp_dir().join(format!("divvy-flow-{}-{name}", std::process::id()));
            let _ = fs::remove_dir_all(&directory);
            Scratch(directory)
        }

        fn store(&self) -> Store {
            Store::at(&self.0.join("below").join("flow.redb"))
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn program(name: &str) -> Program {
        Program { name: name.to_owned(), sequence: vec![(1, 2), (3, 4)], ..Program::default() }
    }

    #[test]
    fn what_was_written_is_read_and_removed() {
        let scratch = Scratch::new("round");
        let store = scratch.store();
        assert!(store.read().unwrap().is_empty(), "no file is no programs");
        assert!(!store.path().exists());
        store.update([7, u64::MAX].into_iter(), |_, it| *it = program("b")).unwrap();
        store
            .update([7].into_iter(), |_, it| assert_eq!(mem::replace(it, program("c")), program("b")))
            .unwrap();
        assert_eq!(store.read().unwrap(), BTreeMap::from([(7, program("c")), (u64::MAX, program("b"))]));
        store.remove(&[7, 8]).unwrap();
        assert_eq!(store.read().unwrap(), BTreeMap::from([(u64::MAX, program("b"))]));
    }

    #[test]
    fn command_lines_are_not_for_everybody() {
        let scratch = Scratch::new("mode");
        let store = scratch.store();
        store.update([1].into_iter(), |_, it| *it = program("mysql --password=x")).unwrap();
        assert_eq!(fs::metadata(store.path()).unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn the_program_stored_longest_ago_is_forgotten() {
        let scratch = Scratch::new("many");
        let store = scratch.store();
        let stored = |identity, it: &mut Program| it.stored_s = identity;
        store.update(1..=MOST_PROGRAMS, stored).unwrap();
        assert_eq!(store.read().unwrap().len() as u64, MOST_PROGRAMS);
        store.update([MOST_PROGRAMS + 1].into_iter(), stored).unwrap();
        let left: Vec<u64> = store.read().unwrap().into_keys().collect();
        assert_eq!(left.len() as u64, MOST_PROGRAMS * 3 / 4);
        assert_eq!(left.last(), Some(&(MOST_PROGRAMS + 1)), "and not the newest");
    }

    /// Each page, one at a time, is overwritten, or the file ends there.
    #[test]
    fn a_damaged_file_is_an_error_or_read() {
        let scratch = Scratch::new("damaged");
        let store = scratch.store();
        store.update(1..=50, |_, it| *it = program("x")).unwrap();
        let whole = fs::read(store.path()).unwrap();
        for at in (0..whole.len()).step_by(whole.len() / 64) {
            let mut bytes = whole.clone();
            let end = (at + 512).min(bytes.len());
            bytes[at..end].fill(0xa5);
            fs::write(store.path(), bytes).unwrap();
            let _ = store.read();
            let _ = store.update([1, 99].into_iter(), |_, _| ());
            fs::write(store.path(), &whole[..at]).unwrap();
            let _ = store.read();
        }
    }

    #[test]
    fn errors_name_the_file_and_what_to_do() {
        let scratch = Scratch::new("bad");
        let store = scratch.store();
        store.update([].into_iter(), |_, _| ()).unwrap();
        let other = Database::open(store.path()).unwrap();
        assert!(store.read().unwrap_err().to_string().contains("in use by another program"));
        drop(other);
        fs::write(store.path(), b"not a database at all, but long enough to be looked at").unwrap();
        let said = store.read().unwrap_err().to_string();
        assert!(said.contains("flow.redb") && said.contains("not a database"), "{said}");
        let said = Store::at(&scratch.0).read().unwrap_err().to_string();
        assert!(said.contains("--db names another"), "{said}");
    }
}
