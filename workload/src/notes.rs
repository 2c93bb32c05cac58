//! Notes on differences from the file: each one once, with its first place.

use std::collections::BTreeMap;

use crate::error::Source;

/// Notes of one file; beyond these only their number is told.
const MOST_SHOWN: usize = 20;

/// Notes in the making.
#[derive(Default)]
pub(crate) struct Notes {
    /// For each note: the first byte where it applies, and how often.
    said: BTreeMap<String, (usize, usize)>,
}

impl Notes {
    /// Says it of what stands at this byte.
    pub fn say(&mut self, at: usize, what: impl Into<String>) {
        self.said.entry(what.into()).or_insert((at, 0)).1 += 1;
    }

    /// A line each, in the order of the file.
    pub fn lines(self, source: &Source) -> Vec<String> {
        let mut said: Vec<_> = self.said.into_iter().collect();
        said.sort_by_key(|(_, (at, _))| *at);
        let more = said.len().saturating_sub(MOST_SHOWN);
        let line = |(what, (at, times)): (String, (usize, usize))| {
            let (line, column) = source.line_column(at);
            let others = if times > 1 { format!(" (and {} more)", times - 1) } else { String::new() };
            format!("{}:{line}:{column}: {what}{others}", source.file)
        };
        let mut lines: Vec<String> = said.into_iter().take(MOST_SHOWN).map(line).collect();
        if more > 0 {
            lines.push(format!("{}: {more} further notes", source.file));
        }
        lines
    }
}
