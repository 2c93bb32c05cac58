//! Values of figures on disk: a run of all figures that was interrupted goes on with those that are missing.
//!
//! A file has the values of one figure. Numbers are written so that they read back as the same bits. The first line tells what measured them, and the last
//! one has a hash of all before, so a file that was cut or changed is noticed.

use std::env;
use std::fs::{self, File};
use std::hash::{DefaultHasher, Hasher as _};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::process;

use crate::error::LabError;
use crate::kernel::case::Also;
use crate::kernel::machine::{Machine, Play};
use crate::measured::{Measured, Spread};

const TITLE: &str = "values of divvy paper --kernel, build ";
const END: &str = "end ";

/// A directory of values.
#[derive(Debug)]
pub struct Kept {
    dir: PathBuf,
    /// This command.
    command: u64,
}

/// The values of a figure.
pub(crate) enum Found {
    Values(Vec<Also>),
    /// Measured by another build, or in another machine.
    Other,
    Nothing,
}

impl Kept {
    /// In this directory, measured by this command.
    ///
    /// # Errors
    /// When the command cannot be read.
    pub fn open(dir: &Path, command: &Path) -> Result<Kept, LabError> {
        let command = fingerprint(&[command.to_owned()]).map_err(|error| {
            LabError::Run(format!(
                "cannot read the command itself, {}: {error}; start it again",
                command.display()
            ))
        })?;
        Ok(Kept { dir: dir.to_owned(), command })
    }

    /// Refuses a damaged file before anything is measured.
    ///
    /// # Errors
    /// Its name, and where it is wrong.
    pub fn check(&self, id: &str, small: bool, play: &Play) -> Result<(), LabError> {
        self.get(id, small, play).map(|_| ())
    }

    pub(crate) fn get(&self, id: &str, small: bool, play: &Play) -> Result<Found, LabError> {
        let path = self.path(id, small, play);
        let unread = |what: &str| LabError::Unread { path: path.clone(), what: what.to_owned() };
        if path.exists() && !path.is_file() {
            return Err(unread("it is no file"));
        }
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Found::Nothing),
            Err(error) if error.kind() == io::ErrorKind::InvalidData => return Err(unread("it is no text")),
            Err(error) => return Err(LabError::Saved { path, error }),
        };
        let (build, values) = read(&text).map_err(|what| unread(&what))?;
        Ok(if build == self.build(play)? { Found::Values(values) } else { Found::Other })
    }

    /// A figure has these values.
    pub(crate) fn put(&self, id: &str, small: bool, play: &Play, values: &[Also]) -> Result<(), LabError> {
        let path = self.path(id, small, play);
        let part = path.with_extension(format!("{}.part", process::id()));
        if fingerprint(&[play.divvy.to_owned()]).ok() != Some(self.command) {
            return Err(LabError::Run(format!("{} is another one now", play.divvy.display())));
        }
        let written =
            fs::write(&part, write(self.build(play)?, values)).and_then(|()| fs::rename(&part, &path));
        written.map_err(|error| {
            let _ = fs::remove_file(&part);
            LabError::Saved { path, error }
        })
    }

    pub(crate) fn path(&self, id: &str, small: bool, play: &Play) -> PathBuf {
        let place = if matches!(play.machine, Machine::Here) { "here" } else { "vm" };
        let version = if small { "small" } else { "full" };
        self.dir.join(format!("kernel-{place}-{id}-{version}-seed{}.txt", play.seed))
    }

    /// The command, and what it runs: a kernel, or the files that make the virtual machine and what is measured there.
    fn build(&self, play: &Play) -> Result<u64, LabError> {
        let files = match play.machine {
            Machine::Here => vec![PathBuf::from("/proc/version")],
            Machine::Virtual(run) => {
                let vm = run.parent().unwrap_or(run);
                [files(vm), files(&vm.with_file_name("bench"))].concat()
            }
        };
        let failed = |error| LabError::Run(format!("cannot read the files of the virtual machine: {error}"));
        let mut hasher = DefaultHasher::new();
        hasher.write_u64(self.command);
        hasher.write_u64(fingerprint(&files).map_err(failed)?);
        // Not all of an environment is text.
        let options =
            env::vars_os().map(|(name, value)| [name.into_encoded_bytes(), value.into_encoded_bytes()]);
        let ours = |[name, _]: &[Vec<u8>; 2]| name.starts_with(b"DIVVY_") || name == b"OPERATIONS";
        let mut options: Vec<[Vec<u8>; 2]> = options.filter(ours).collect();
        options.sort();
        options.iter().for_each(|option| hasher.write(&option.join(&b'=')));
        Ok(hasher.finish())
    }
}

/// Those of a directory, by name. A directory that is not there has none.
fn files(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).into_iter().flatten().filter_map(Result::ok);
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(|path| path.is_file()).collect();
    files.sort();
    files
}

/// Tells contents of files apart.
fn fingerprint(files: &[PathBuf]) -> io::Result<u64> {
    let (mut hasher, mut bytes) = (DefaultHasher::new(), vec![0; 1 << 16]);
    for path in files {
        let mut file = File::open(path)?;
        loop {
            let n = file.read(&mut bytes)?;
            hasher.write_usize(n);
            hasher.write(&bytes[..n]);
            if n == 0 {
                break;
            }
        }
    }
    Ok(hasher.finish())
}

fn hash_of(text: &str) -> String {
    let mut hasher = DefaultHasher::new();
    hasher.write(text.as_bytes());
    format!("{:016x}", hasher.finish())
}

fn write(build: u64, values: &[Also]) -> String {
    let line = |Also { name, simulated, measured }: &Also| {
        let simulated = simulated.map_or("-".to_owned(), |number| format!("{number:?}"));
        let spread = match measured.spread {
            Spread::Deterministic => "same".to_owned(),
            Spread::Once => "once".to_owned(),
            Spread::Interval { low, high } => format!("{low:?} {high:?}"),
        };
        format!("{name}\t{simulated}\t{:?}\t{spread}\n", measured.number())
    };
    let lines: String = values.iter().map(line).collect();
    let text = format!("{TITLE}{build:016x}\n{lines}");
    format!("{text}{END}{}\n", hash_of(&text))
}

/// The build, and the values.
fn read(text: &str) -> Result<(u64, Vec<Also>), String> {
    let first = text.lines().next().and_then(|line| line.strip_prefix(TITLE));
    let build = first.and_then(|build| u64::from_str_radix(build, 16).ok());
    let build = build.ok_or("line 1: it does not say what measured the values")?;
    let whole = text.strip_suffix('\n').and_then(|text| text.rsplit_once(END));
    let (all, hash) = whole.ok_or("its end is missing")?;
    if hash_of(all) != hash {
        return Err("it was cut or changed".to_owned());
    }
    let lines = all.lines().zip(1..).skip(1);
    let values =
        lines.map(|(line, number)| value(line).ok_or_else(|| format!("line {number}: it is no value")));
    Ok((build, values.collect::<Result<_, String>>()?))
}

fn value(line: &str) -> Option<Also> {
    let fields: Vec<&str> = line.split('\t').collect();
    let [name, simulated, number, spread] = fields.as_slice() else { return None };
    let simulated = if *simulated == "-" { None } else { Some(simulated.parse().ok()?) };
    let number: f64 = number.parse().ok()?;
    let spread = match spread.split_once(' ') {
        None if *spread == "same" => Spread::Deterministic,
        None if *spread == "once" => Spread::Once,
        Some((low, high)) => Spread::Interval { low: low.parse().ok()?, high: high.parse().ok()? },
        None => return None,
    };
    Some(Also { name: (*name).to_owned(), simulated, measured: Measured { value: number.into(), spread } })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values() -> Vec<Also> {
        let of = |name: &str, simulated, measured| Also { name: name.to_owned(), simulated, measured };
        vec![
            of("a, alpha 0.1: mean (s)", Some(0.1 + 0.2), Measured::between(1.0 / 3.0, 0.25, 0.5)),
            of("b (instructions)", None, 7.0.into()),
            of("c", Some(1.0), Measured { value: f64::NAN.into(), spread: Spread::Once }),
        ]
    }

    #[test]
    fn numbers_read_back_as_the_same_bits() {
        let text = write(77, &values());
        let (build, back) = read(&text).expect("values");
        assert_eq!((build, write(77, &back)), (77, text));
        assert_eq!(back[0].simulated.map(f64::to_bits), Some((0.1_f64 + 0.2).to_bits()));
    }

    #[test]
    fn a_file_that_was_cut_at_any_byte_or_changed_is_noticed() {
        let text = write(77, &values());
        for end in 0..text.len() {
            assert!(read(&text[..end]).is_err(), "cut at {end}");
        }
        for (from, to) in
            [("same", "once"), ("7.0", "8.0"), ("0.25 ", ""), (TITLE, "title"), ("\t-\t", "\t\t")]
        {
            let wrong = text.replacen(from, to, 1);
            assert!(wrong != text && read(&wrong).is_err(), "{from} as {to}");
        }
        assert!(read(&format!("{text}more\n")).is_err());
    }

    /// A tree with a virtual machine, two commands, and a place for values.
    fn tree(name: &str) -> PathBuf {
        let tree = std::env::temp_dir().join(format!("divvy-{name}-{}", process::id()));
        for dir in ["kernel/vm", "kernel/bench", "kept"] {
            fs::create_dir_all(tree.join(dir)).expect("a directory");
        }
        for file in ["one", "two", "kernel/vm/run", "kernel/bench/ring.c"] {
            fs::write(tree.join(file), file).expect("a file");
        }
        tree
    }

    fn count(found: Result<Found, LabError>) -> Option<usize> {
        match found.expect("it reads") {
            Found::Values(values) => Some(values.len()),
            Found::Other | Found::Nothing => None,
        }
    }

    #[test]
    fn values_count_for_the_same_command_files_version_and_seed_only() {
        let tree = tree("kept");
        let commands = ["one", "two"].map(|name| tree.join(name));
        let [one, two] =
            commands.each_ref().map(|command| Kept::open(&tree.join("kept"), command).expect("a file"));
        let machine = Machine::Virtual(tree.join("kernel/vm/run"));
        let play = Play { machine: &machine, divvy: &commands[0], seed: 1, tell: &|_| {} };
        assert_eq!(count(one.get("pbs-7", true, &play)), None, "nothing yet");
        one.put("pbs-7", true, &play, &values()).expect("written");
        assert_eq!(count(one.get("pbs-7", true, &play)), Some(3));
        assert_eq!(count(two.get("pbs-7", true, &play)), None, "another command");
        assert_eq!(count(one.get("pbs-7", false, &play)), None, "the full version");
        assert_eq!(count(one.get("pbs-7", true, &Play { seed: 2, ..play })), None, "another seed");
        assert_eq!(
            count(one.get("pbs-7", true, &Play { machine: &Machine::Here, ..play })),
            None,
            "another place"
        );
        fs::write(tree.join("kernel/bench/ring.c"), "changed").expect("a file");
        assert_eq!(count(one.get("pbs-7", true, &play)), None, "another program is measured");
        fs::write(&commands[0], "built again").expect("a file");
        assert!(one.put("pbs-7", true, &play, &values()).is_err(), "another command measured a part");
        fs::remove_dir_all(&tree).expect("removed");
    }

    #[test]
    fn a_damaged_file_is_named_and_nothing_waits_for_a_directory() {
        let tree = tree("damaged");
        let kept = Kept::open(&tree.join("kept"), &tree.join("one")).expect("a file");
        let play = Play { machine: &Machine::Here, divvy: &tree.join("one"), seed: 1, tell: &|_| {} };
        let path = kept.path("pbs-7", true, &play);
        for bytes in [&b"text"[..], b"", b"\xff\xfe"] {
            fs::write(&path, bytes).expect("written");
            let error = kept.check("pbs-7", true, &play).expect_err("damaged").to_string();
            assert!(error.contains("kernel-here-pbs-7-small-seed1.txt: "), "{error}");
        }
        fs::remove_file(&path).and_then(|()| fs::create_dir(&path)).expect("a directory");
        assert!(kept.check("pbs-7", true, &play).is_err());
        assert!(kept.put("pbs-7", true, &play, &values()).is_err());
        let left: Vec<_> = fs::read_dir(tree.join("kept")).expect("a directory").collect();
        assert_eq!(left.len(), 1, "no part of a file: {left:?}");
        fs::remove_dir_all(&tree).expect("removed");
    }
}
