//! The database: a row a program, by its identity.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use redb::{Database, ReadableTable as _, TableDefinition};

use super::Program;

/// Values are JSON: rows that a later version adds fields to can still be read.
const PROGRAMS: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("flow programs 1");

/// What is wrong with a database, and where.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Somebody has it open: only for moments, or it is no divvy.
    #[error("{0}: in use by another program; try again in a moment")]
    InUse(PathBuf),
    /// It is not there, or not to be read.
    #[error("{0}: {1}; --db names another")]
    File(PathBuf, String),
    /// It is no database of this kind, or damaged.
    #[error("{0}: not a database of divvy, or damaged ({1}); `rm` it to begin anew")]
    Damaged(PathBuf, String),
}

/// A database, by its file. It is open only while it is read or written, so that several may use it.
#[derive(Clone, Debug)]
pub struct Store {
    path: PathBuf,
}

impl Store {
    /// That of this file, which need not be there.
    #[must_use]
    pub fn at(path: &Path) -> Store {
        Store { path: path.to_owned() }
    }

    /// Its file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// All programs by identity; none if the file is not there.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn read(&self) -> Result<BTreeMap<u64, Program>, StoreError> {
        if !self.path.exists() {
            return Ok(BTreeMap::new());
        }
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

    /// Adds programs, or replaces them; the file is made if it is not there, and its directory.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write(&self, programs: &BTreeMap<u64, Program>) -> Result<(), StoreError> {
        if let Some(directory) = self.path.parent().filter(|directory| !directory.as_os_str().is_empty()) {
            fs::create_dir_all(directory).map_err(|error| self.file(&error))?;
        }
        self.change(|table| {
            for (identity, program) in programs {
                let bytes = serde_json::to_vec(program).map_err(|error| self.damaged(&error))?;
                table.insert(identity, bytes.as_slice()).map_err(|error| self.damaged(&error))?;
            }
            Ok(())
        })
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
        change: impl FnOnce(&mut redb::Table<'_, u64, &[u8]>) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let mut builder = Database::builder();
        let database = builder.create_with_file_format_v3(true).create(&self.path);
        let database = database.map_err(|error| self.refused(error))?;
        let transaction = database.begin_write().map_err(|error| self.damaged(&error))?;
        change(&mut transaction.open_table(PROGRAMS).map_err(|error| self.damaged(&error))?)?;
        transaction.commit().map_err(|error| self.damaged(&error))
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A file of this test's own, which is removed in the end.
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
        store.write(&BTreeMap::from([(7, program("a")), (u64::MAX, program("b"))])).unwrap();
        store.write(&BTreeMap::from([(7, program("c"))])).unwrap();
        assert_eq!(store.read().unwrap(), BTreeMap::from([(7, program("c")), (u64::MAX, program("b"))]));
        store.remove(&[7, 8]).unwrap();
        assert_eq!(store.read().unwrap(), BTreeMap::from([(u64::MAX, program("b"))]));
    }

    #[test]
    fn errors_name_the_file_and_what_to_do() {
        let scratch = Scratch::new("bad");
        let store = scratch.store();
        store.write(&BTreeMap::new()).unwrap();
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
