//! Compiles C when a command runs, with the compiler of the machine. The result is kept under `~/.cache/divvy`, by the content of all
//! that it was made from, so the same program is compiled once.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::{env, fs, io};

use thiserror::Error;

use crate::{Failure, FailureKind};

/// A file of C: its path, with `/`, and its text.
pub type Source = (&'static str, &'static str);

/// All headers that a policy is made of, by paths that begin with `policy/`.
pub static POLICY_SOURCES: &[Source] = include!(concat!(env!("OUT_DIR"), "/sources.rs"));

/// The native host around a policy, by paths that begin with `policy/`.
pub(crate) static HOST_SOURCES: &[Source] = include!(concat!(env!("OUT_DIR"), "/host_sources.rs"));

/// Compilers in the order in which they are tried, if `$CC` names none.
const COMPILERS: [&str; 3] = ["cc", "gcc", "clang"];
/// One thread compiles at a time, so that others that want the same find it.
static COMPILING: Mutex<()> = Mutex::new(());
/// Lines of a compiler's errors that are repeated in a message.
const MOST_LINES: usize = 12;

/// A program in C, to be compiled.
#[derive(Clone, Debug)]
pub struct Program<'a> {
    /// Its name, as a part of a file's name.
    pub name: &'a str,
    /// Its files. Paths may not leave the directory in which the compiler runs.
    pub sources: Vec<(&'a str, &'a str)>,
    /// Arguments of the compiler; paths are those of `sources`. `-o FILE` comes on top.
    pub arguments: Vec<String>,
}

/// Why a program could not be compiled.
#[derive(Debug, Error)]
pub enum CompileError {
    /// The machine has no C compiler.
    #[error("{what}: install gcc, as in apt-get install gcc libc6-dev, or name a compiler in CC")]
    NoCompiler {
        /// The compilers that were tried.
        what: String,
    },
    /// The compiler refused it.
    #[error("{compiler} could not compile {program}; it says:\n{}", first_lines(said))]
    Refused {
        /// The compiler.
        compiler: String,
        /// The program.
        program: String,
        /// All that it said.
        said: String,
    },
    /// There is no place for the result.
    #[error("cannot keep a compiled program: neither XDG_CACHE_HOME nor HOME names a directory")]
    NoCache,
    /// A file could not be written.
    #[error("cannot write {}: {error}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why not.
        error: io::Error,
    },
}

impl Failure for CompileError {
    fn kind(&self) -> FailureKind {
        match self {
            CompileError::NoCompiler { .. } => FailureKind::Missing,
            CompileError::Refused { .. } | CompileError::NoCache | CompileError::Io { .. } => {
                FailureKind::Failed
            }
        }
    }
}

impl Program<'_> {
    /// Compiles it, unless that was done before. Returns the path of the executable.
    ///
    /// # Errors
    /// If there is no compiler, it refuses the program, or the result cannot be kept.
    pub fn build(&self) -> Result<PathBuf, CompileError> {
        self.build_in(&cache()?, env::var_os("CC"))
    }

    /// The same with a directory for results and the value of `$CC`.
    fn build_in(&self, cache: &Path, named: Option<OsString>) -> Result<PathBuf, CompileError> {
        let _one = COMPILING.lock().unwrap_or_else(PoisonError::into_inner);
        let compiler = Compiler::find(named)?;
        let done = cache.join(format!("{}-{:032x}", self.name, self.fingerprint(&compiler)));
        if done.is_file() {
            return Ok(done);
        }
        fs::create_dir_all(cache).map_err(|error| io_error(cache, error))?;
        // A directory of this process: another one may compile the same at the same time.
        let scratch = cache.join(format!(".{}-{}", self.name, std::process::id()));
        let made = self.compile(&compiler, &scratch, &done);
        let _ = fs::remove_dir_all(&scratch);
        made.map(|()| done)
    }

    fn compile(&self, compiler: &Compiler, scratch: &Path, done: &Path) -> Result<(), CompileError> {
        for (path, text) in &self.sources {
            let file = scratch.join(path);
            let folder = file.parent().unwrap_or(scratch);
            fs::create_dir_all(folder).map_err(|error| io_error(folder, error))?;
            fs::write(&file, text).map_err(|error| io_error(&file, error))?;
        }
        let mut command = Command::new(&compiler.path);
        command.current_dir(scratch).args(&self.arguments).args(["-o", "program"]).stdin(Stdio::null());
        // Its words are read (`file/contract.rs`), so they are not translated.
        command.env("LC_ALL", "C");
        // These add directories of headers whose content is not known here.
        for name in ["CPATH", "C_INCLUDE_PATH"] {
            command.env_remove(name);
        }
        let output = command.output().map_err(|error| io_error(Path::new(&compiler.path), error))?;
        if !output.status.success() {
            return Err(CompileError::Refused {
                compiler: compiler.name(),
                program: self.name.to_owned(),
                said: String::from_utf8_lossy(&output.stderr).into_owned(),
            });
        }
        // It is there as a whole, or not at all.
        fs::rename(scratch.join("program"), done).map_err(|error| io_error(done, error))
    }

    /// FNV-1a, 128 bits, of all that the result depends on.
    fn fingerprint(&self, compiler: &Compiler) -> u128 {
        let mut hash = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d_u128;
        let mut add = |part: &str| {
            // A byte that no text has ends each part.
            for byte in part.bytes().chain([0xff]) {
                hash = (hash ^ u128::from(byte)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b);
            }
        };
        add(&compiler.version);
        self.arguments.iter().for_each(|argument| add(argument));
        for (path, text) in &self.sources {
            add(path);
            add(text);
        }
        hash
    }
}

/// A C compiler that runs here.
struct Compiler {
    path: OsString,
    /// As it describes itself.
    version: String,
}

impl Compiler {
    fn find(named: Option<OsString>) -> Result<Compiler, CompileError> {
        if let Some(path) = named.filter(|path| !path.is_empty()) {
            let what = format!("CC is {}, which does not run", path.display());
            return Compiler::at(path).ok_or(CompileError::NoCompiler { what });
        }
        let none = || CompileError::NoCompiler { what: format!("no C compiler ({})", COMPILERS.join(", ")) };
        COMPILERS.iter().find_map(|path| Compiler::at(path.into())).ok_or_else(none)
    }

    fn at(path: OsString) -> Option<Compiler> {
        let output = Command::new(&path).arg("--version").stdin(Stdio::null()).output().ok()?;
        let version = String::from_utf8_lossy(&output.stdout).into_owned();
        output.status.success().then_some(Compiler { path, version })
    }

    fn name(&self) -> String {
        self.path.display().to_string()
    }
}

fn first_lines(said: &str) -> String {
    said.lines().take(MOST_LINES).collect::<Vec<_>>().join("\n")
}

fn cache() -> Result<PathBuf, CompileError> {
    let named = |name| env::var_os(name).filter(|path| !path.is_empty()).map(PathBuf::from);
    let base = named("XDG_CACHE_HOME").filter(|path| path.is_absolute());
    let base = base.or_else(|| named("HOME").map(|home| home.join(".cache"))).ok_or(CompileError::NoCache)?;
    Ok(base.join("divvy").join("compiled"))
}

fn io_error(path: &Path, error: io::Error) -> CompileError {
    CompileError::Io { path: path.to_owned(), error }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cache(name: &str) -> PathBuf {
        let cache = env::temp_dir().join(format!("divvy-compile-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&cache);
        cache
    }

    fn program(main: &str) -> Program<'_> {
        let sources = vec![("part/answer.h", "#define ANSWER 42\n"), ("main.c", main)];
        Program { name: "answer", sources, arguments: vec!["-Ipart".to_owned(), "main.c".to_owned()] }
    }

    #[test]
    fn it_is_compiled_once_and_again_when_a_file_changes() {
        let cache = cache("once");
        let first = program("#include \"answer.h\"\nint main(void) { return ANSWER; }\n");
        let path = first.build_in(&cache, None).expect("a compiler");
        assert_eq!(Command::new(&path).status().expect("it runs").code(), Some(42));
        // The kept program is used: here another one stands in its place.
        fs::write(&path, "#!/bin/sh\nexit 7\n").expect("writable");
        assert_eq!(first.build_in(&cache, None).expect("kept"), path);
        assert_eq!(fs::read_to_string(&path).expect("a file"), "#!/bin/sh\nexit 7\n");
        let other = program("#include \"answer.h\"\nint main(void) { return ANSWER + 1; }\n");
        let other = other.build_in(&cache, None).expect("a compiler");
        assert_eq!(Command::new(&other).status().expect("it runs").code(), Some(43));
        let names: Vec<_> = fs::read_dir(&cache).expect("there").flatten().collect();
        assert_eq!(names.len(), 2, "nothing but the programs is left: {names:?}");
        fs::remove_dir_all(cache).expect("removed");
    }

    #[test]
    fn errors_say_what_to_do() {
        let cache = cache("errors");
        let good = program("int main(void) { return 0; }\n");
        let missing = good.build_in(&cache, Some("/nosuch/cc".into())).expect_err("there is none");
        assert_eq!(missing.kind(), FailureKind::Missing);
        assert_eq!(
            missing.to_string(),
            "CC is /nosuch/cc, which does not run: install gcc, as in apt-get install gcc libc6-dev, or name a compiler in CC"
        );
        let bad = program("int main(void) { return nothing; }\n").build_in(&cache, None).expect_err("no C");
        assert!(bad.to_string().contains("could not compile answer; it says:\nmain.c:"), "{bad}");
        let left: Vec<_> = fs::read_dir(&cache).expect("there").flatten().collect();
        assert!(left.is_empty(), "{left:?}");
        fs::remove_dir_all(cache).expect("removed");
    }

    #[test]
    fn the_sources_of_policies_are_in_the_command() {
        let text = |path| POLICY_SOURCES.iter().find(|source| source.0 == path).map(|source| source.1);
        assert!(text("policy/select/rr.h").is_some_and(|text| text.contains("POLICY_")));
        assert!(text("policy/policy.h").is_some() && text("policy/native/host.c").is_none());
    }
}
