//! Results of a study so far, on disk: a run that was interrupted continues with the missing sets.
//!
//! One line per set of weights. Numbers are written so that they read back as the same bits, so a resumed run gives the same
//! bytes as one in one go.

use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use super::errors::Range;
use crate::error::LabError;

/// Clients, sum of weights, set.
pub type Key = (usize, u64, u32);

/// Measurements with one set of weights.
#[derive(Clone, Copy, Debug)]
pub struct SetResult {
    pub range: Range,
    pub closes: bool,
    pub decisions: u32,
}

/// A study's file.
pub struct Saved {
    path: PathBuf,
    file: Mutex<File>,
    done: HashMap<Key, SetResult>,
}

impl Saved {
    /// The file of a study in a directory, which is made if it is not there. What it has of this study is read.
    pub fn open(dir: &Path, name: &str) -> Result<Saved, LabError> {
        let path = dir.join(name);
        let broken = |error: std::io::Error| LabError::Saved { path: path.clone(), error };
        fs::create_dir_all(dir).map_err(broken)?;
        let text = if path.exists() { fs::read_to_string(&path).map_err(broken)? } else { String::new() };
        let mut file = OpenOptions::new().create(true).append(true).open(&path).map_err(broken)?;
        if !text.is_empty() && !text.ends_with('\n') {
            // The run was ended within a line: that line does not count.
            file.write_all(b" cut\n").map_err(broken)?;
        }
        let done = text.split_inclusive('\n').filter_map(|line| parse(line.strip_suffix('\n')?)).collect();
        Ok(Saved { path, file: Mutex::new(file), done })
    }

    pub fn get(&self, key: Key) -> Option<SetResult> {
        self.done.get(&key).copied()
    }

    /// A set is done.
    pub fn add(&self, (n, total, set): Key, one: &SetResult) -> Result<(), LabError> {
        let SetResult { range: Range { least, most }, closes, decisions } = one;
        let line = format!("{n} {total} {set} {least:?} {most:?} {closes} {decisions}\n");
        let mut file = self.file.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        file.write_all(line.as_bytes()).map_err(|error| LabError::Saved { path: self.path.clone(), error })
    }
}

fn parse(line: &str) -> Option<(Key, SetResult)> {
    let fields: Vec<&str> = line.split(' ').collect();
    let [n, total, set, least, most, closes, decisions] = fields.as_slice() else { return None };
    let range = Range { least: least.parse().ok()?, most: most.parse().ok()? };
    let one = SetResult { range, closes: closes.parse().ok()?, decisions: decisions.parse().ok()? };
    Some(((n.parse().ok()?, total.parse().ok()?, set.parse().ok()?), one))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setting::Setting;
    use crate::study::Study;

    /// A run that was cut within a line goes on, and ends as one in one go.
    #[test]
    fn an_interrupted_run_goes_on() {
        let dir = std::env::temp_dir().join(format!("divvy-saved-{}", std::process::id()));
        let study = Study { spec: "gr3", cpus: 1, skew: 10, sets: 2, counts_decisions: false };
        let whole = Setting { small: true, seed: 1, progress: &(), saved: None };
        let kept = Setting { saved: Some(&dir), ..whole };
        let expected = format!("{:?}", study.run(&whole).unwrap());
        assert_eq!(format!("{:?}", study.run(&kept).unwrap()), expected);
        let file = fs::read_dir(&dir).unwrap().next().unwrap().unwrap().path();
        let text = fs::read_to_string(&file).unwrap();
        assert_eq!(text.lines().count(), 8);
        // The first line gets another value, to see that it is read; only a part of the last but one is kept.
        let first = text.lines().next().unwrap();
        let fields: Vec<&str> = first.split(' ').collect();
        let other = format!("{} {} {} -1000.0 {} true 0", fields[0], fields[1], fields[2], fields[4]);
        let kept_lines: Vec<&str> = text.lines().take(5).collect();
        let cut = kept_lines.join("\n");
        fs::write(&file, &cut[..cut.len() - 9]).unwrap();
        assert_eq!(format!("{:?}", study.run(&kept).unwrap()), expected);
        fs::write(&file, text.replacen(first, &other, 1)).unwrap();
        let resumed = format!("{:?}", study.run(&kept).unwrap());
        assert!(resumed != expected && resumed.contains("-1000"), "{resumed}");
        fs::remove_dir_all(&dir).unwrap();
    }
}
