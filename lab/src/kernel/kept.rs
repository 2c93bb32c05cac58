//! Values of figures on disk: a run of all figures that was interrupted goes on with those that are missing.
//!
//! A file has the values of one figure. Numbers are written so that they read back as the same bits. The last line counts the values, so a file
//! that was cut is noticed.

use std::fs::{self, File};
use std::hash::{DefaultHasher, Hasher as _};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use crate::error::LabError;
use crate::kernel::case::Also;
use crate::kernel::machine::{Machine, Play};
use crate::measured::{Measured, Spread};

const TITLE: &str = "values of divvy paper --kernel, build ";

/// The directory, and which build of divvy measures.
#[derive(Debug)]
pub struct Kept {
    dir: PathBuf,
    build: u64,
}

impl Kept {
    /// In this directory, which is made if it is not there; of the build that this command is.
    ///
    /// # Errors
    /// When the directory cannot be made, or the command cannot be read.
    pub fn open(dir: &Path, command: &Path) -> Result<Kept, LabError> {
        fs::create_dir_all(dir).map_err(|error| LabError::Saved { path: dir.to_owned(), error })?;
        let build =
            fingerprint(command).map_err(|error| LabError::Run(format!("{}: {error}", command.display())))?;
        Ok(Kept { dir: dir.to_owned(), build })
    }

    /// The values of a figure, if this build has measured them.
    pub(crate) fn get(&self, id: &str, small: bool, play: &Play) -> Result<Option<Vec<Also>>, LabError> {
        let path = self.path(id, small, play);
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(LabError::Unread { path, what: error.to_string() }),
        };
        match read(&text) {
            Ok((build, values)) if build == self.build => {
                (play.tell)(&format!("was measured before: {}", path.display()));
                Ok(Some(values))
            }
            Ok(_) => {
                (play.tell)(&format!("another build of divvy measured {}; measured again", path.display()));
                Ok(None)
            }
            Err(what) => Err(LabError::Unread { path, what }),
        }
    }

    /// A figure has these values.
    pub(crate) fn put(&self, id: &str, small: bool, play: &Play, values: &[Also]) -> Result<(), LabError> {
        let path = self.path(id, small, play);
        let part = path.with_extension("part");
        let failed = |error: io::Error| LabError::Saved { path: path.clone(), error };
        fs::write(&part, write(self.build, values)).map_err(failed)?;
        fs::rename(&part, &path).map_err(failed)
    }

    fn path(&self, id: &str, small: bool, play: &Play) -> PathBuf {
        let place = if matches!(play.machine, Machine::Here) { "here" } else { "vm" };
        let version = if small { "small" } else { "full" };
        self.dir.join(format!("kernel-{place}-{id}-{version}-seed{}.txt", play.seed))
    }
}

/// Tells builds apart.
fn fingerprint(command: &Path) -> io::Result<u64> {
    let mut file = File::open(command)?;
    let (mut hasher, mut bytes) = (DefaultHasher::new(), vec![0; 1 << 16]);
    loop {
        match file.read(&mut bytes)? {
            0 => return Ok(hasher.finish()),
            n => hasher.write(&bytes[..n]),
        }
    }
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
    format!("{TITLE}{build:016x}\n{lines}{} values\n", values.len())
}

/// The build, and the values.
fn read(text: &str) -> Result<(u64, Vec<Also>), String> {
    let mut lines = text.lines();
    let build = lines.next().and_then(|line| line.strip_prefix(TITLE));
    let build = build
        .and_then(|build| u64::from_str_radix(build, 16).ok())
        .ok_or("line 1: it does not say what it is")?;
    let mut values = Vec::new();
    for (line, number) in lines.by_ref().zip(2..) {
        if let Some(count) = line.strip_suffix(" values") {
            let is_whole =
                count.parse() == Ok(values.len()) && text.ends_with('\n') && lines.next().is_none();
            return if is_whole {
                Ok((build, values))
            } else {
                Err(format!("line {number}: {count} values are said"))
            };
        }
        values.push(value(line).ok_or_else(|| format!("line {number}: it is no value"))?);
    }
    Err("its end is missing".to_owned())
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
            [("same", "some"), ("3 values", "4 values"), ("0.25 ", ""), (TITLE, "title"), ("\t-\t", "\t\t")]
        {
            let wrong = text.replacen(from, to, 1);
            assert!(wrong != text && read(&wrong).is_err(), "{from} as {to}");
        }
        assert!(read(&format!("{text}more\n")).is_err());
    }

    #[test]
    fn another_build_measures_again() {
        let dir = std::env::temp_dir().join(format!("divvy-kept-{}", std::process::id()));
        fs::create_dir_all(&dir).expect("a directory");
        let commands = ["one", "two"].map(|name| dir.join(name));
        commands.iter().for_each(|path| fs::write(path, path.display().to_string()).expect("a file"));
        let [one, two] =
            commands.each_ref().map(|command| Kept::open(&dir.join("kept"), command).expect("a directory"));
        let play = Play { machine: &Machine::Here, divvy: &commands[0], seed: 1, tell: &|_| {} };
        assert!(one.get("pbs-7", true, &play).expect("nothing yet").is_none());
        one.put("pbs-7", true, &play, &values()).expect("written");
        assert_eq!(one.get("pbs-7", true, &play).expect("values").map(|values| values.len()), Some(3));
        for (kept, small, seed) in [(&two, true, 1), (&one, false, 1), (&one, true, 2)] {
            let other = Play { seed, ..play };
            assert!(kept.get("pbs-7", small, &other).expect("none").is_none(), "{small} {seed}");
        }
        fs::write(one.path("pbs-7", true, &play), "text").expect("written");
        let error = one.get("pbs-7", true, &play).expect_err("damaged").to_string();
        assert!(error.contains("kernel-here-pbs-7-small-seed1.txt: line 1"), "{error}");
        fs::remove_dir_all(&dir).expect("removed");
    }
}
