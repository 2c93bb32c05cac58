//! Lines of the journal: what was changed, what it was before, and to what it was changed.
//!
//! ```text
//! divvy-apply 1 BOOT
//! nice TID STARTED TGID SESSION SINCE ORIGINAL NEW
//! weight INODE ORIGINAL NEW PATH
//! ```

use std::collections::BTreeSet;

use super::changed::{Change, Changes, Id};
use super::group_changes::{GroupChange, GroupChanges};

/// The first line, without the boot.
pub const HEAD: &str = "divvy-apply 1 ";

/// The greatest number of a thread that Linux gives.
const GREATEST_TID: u32 = 1 << 22;

/// A line for each value that divvy gave the thread, the one that it has now last.
pub fn of_thread(id: Id, change: &Change) -> String {
    let older = change.given.iter().filter(|nice| **nice != change.now);
    let values: Vec<i8> = older.copied().chain([change.now]).collect();
    let Change { tgid, session, since, original, .. } = change;
    let line =
        |nice: i8| format!("nice {} {} {tgid} {session} {since} {original} {nice}\n", id.tid, id.started);
    values.into_iter().map(line).collect()
}

/// A line for a cgroup.
pub fn of_group(path: &str, change: &GroupChange) -> String {
    format!("weight {} {} {} {path}\n", change.inode, change.original, change.now)
}

/// Adds what a line says. A later line of the same thread or cgroup holds, with the first one's original.
///
/// # Errors
/// A sentence on what is wrong with the line.
pub fn read(line: &str, changes: &mut Changes, groups: &mut GroupChanges) -> Result<(), String> {
    match line.split_once(' ') {
        Some(("nice", rest)) => read_thread(rest, changes),
        Some(("weight", rest)) => read_group(rest, groups),
        _ => Err("it begins with neither `nice` nor `weight`".to_owned()),
    }
}

fn read_thread(rest: &str, changes: &mut Changes) -> Result<(), String> {
    let words: Vec<&str> = rest.split(' ').collect();
    let [tid, started, tgid, session, since, original, now] = words[..] else {
        return Err(format!("7 numbers follow `nice`, and here are {}", words.len()));
    };
    let id = Id { tid: number(tid, 1, GREATEST_TID)?, started: number(started, 0, u64::MAX)? };
    let now = number(now, -20, 19)?;
    let mut change = Change {
        tgid: number(tgid, 1, GREATEST_TID)?,
        session: number(session, 0, GREATEST_TID)?,
        since: number(since, 0, u64::MAX)?,
        original: number(original, -20, 19)?,
        now,
        given: BTreeSet::from([now]),
    };
    if let Some(earlier) = changes.get(id) {
        change.original = earlier.original;
        change.since = earlier.since;
        change.given.extend(&earlier.given);
    }
    changes.insert(id, change);
    Ok(())
}

fn read_group(rest: &str, groups: &mut GroupChanges) -> Result<(), String> {
    let words: Vec<&str> = rest.splitn(4, ' ').collect();
    let [inode, original, now, path] = words[..] else {
        return Err("3 numbers and a path follow `weight`".to_owned());
    };
    // The path is put behind that of the cgroups, and must not lead elsewhere.
    let is_plain = |name: &str| !name.is_empty() && name != "." && name != "..";
    match path.strip_prefix('/') {
        Some(names) if names.split('/').all(is_plain) => {}
        _ => return Err(format!("`{}` is no path of a cgroup", path.escape_default())),
    }
    let change = GroupChange {
        inode: number(inode, 0, u64::MAX)?,
        original: number(original, 1, 10_000)?,
        now: number(now, 1, 10_000)?,
    };
    groups.add(path, change);
    Ok(())
}

fn number<T: std::str::FromStr + PartialOrd + std::fmt::Display>(
    text: &str,
    least: T,
    most: T,
) -> Result<T, String> {
    match text.parse::<T>() {
        Ok(number) if (&least..=&most).contains(&&number) => Ok(number),
        _ => Err(format!("`{}` is no number from {least} to {most}", text.escape_default())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_all(text: &str) -> Result<(Changes, GroupChanges), String> {
        let (mut changes, mut groups) = (Changes::default(), GroupChanges::default());
        text.lines().try_for_each(|line| read(line, &mut changes, &mut groups))?;
        Ok((changes, groups))
    }

    #[test]
    fn lines_are_read_as_they_were_written() {
        let change = Change {
            tgid: 10,
            session: 9,
            since: 50,
            original: -3,
            now: 7,
            given: BTreeSet::from([5, 7, 9]),
        };
        let id = Id { tid: 11, started: 40 };
        let group = GroupChange { inode: 8, original: 100, now: 300 };
        let text = of_thread(id, &change) + &of_group("/a b/user-7.slice", &group);
        let (changes, groups) = read_all(&text).expect(&text);
        assert_eq!(changes.get(id), Some(&change));
        assert_eq!(groups.iter().collect::<Vec<_>>(), [(&"/a b/user-7.slice".to_owned(), &group)]);
    }

    #[test]
    fn the_first_original_and_the_last_value_hold() {
        let (changes, _) = read_all("nice 1 2 1 1 5 0 7\nnice 1 2 1 1 6 7 8\n").expect("lines");
        let change = changes.get(Id { tid: 1, started: 2 }).expect("a thread");
        assert_eq!((change.original, change.now, change.since), (0, 8, 5));
        assert_eq!(change.given, BTreeSet::from([7, 8]));
    }

    #[test]
    fn what_is_damaged_or_hostile_is_refused() {
        for (line, why) in [
            ("", "neither"),
            ("nice", "neither"),
            ("nice 1 2 1 1 5 0", "here are 6"),
            ("nice 1 2 1 1 5 0 7 ", "here are 8"),
            ("nice 1 2 1 1 5 0 20", "`20` is no number from -20 to 19"),
            ("nice 0 2 1 1 5 0 7", "`0` is no number from 1"),
            ("nice 99999999 2 1 1 5 0 7", "4194304"),
            ("nice 1 -2 1 1 5 0 7", "`-2`"),
            ("weight 1 100 300", "3 numbers and a path"),
            ("weight 1 0 300 /a", "`0`"),
            ("weight 1 100 10001 /a", "`10001`"),
            ("weight 1 100 300 a", "no path"),
            ("weight 1 100 300 /", "no path"),
            ("weight 1 100 300 /a/../../../etc", "no path"),
            ("renice 1", "neither"),
        ] {
            let error = read_all(line.to_owned().as_str()).err().or_else(|| {
                let (mut changes, mut groups) = (Changes::default(), GroupChanges::default());
                read(line, &mut changes, &mut groups).err()
            });
            assert!(error.as_ref().is_some_and(|error| error.contains(why)), "{line}: {error:?}");
        }
    }
}
