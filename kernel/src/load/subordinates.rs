//! Subordinate users: numbers that belong to a user, for containers (`/etc/subuid`). Their tasks are that user's.

use std::collections::{BTreeSet, HashMap};
use std::fs;

/// Ranges that the host has room for.
pub(super) const MAX_RANGES: usize = 16_384;

/// The numbers from `first` to `last` belong to the user `owner`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Range {
    pub first: u32,
    pub last: u32,
    pub owner: u32,
}

/// The ranges of this machine.
pub(super) fn read() -> Vec<Range> {
    let text = |path| fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    parse(&text("/etc/subuid").unwrap_or_default(), &text("/etc/passwd").unwrap_or_default())
}

/// `struct subordinates` of `bpf/host.h`.
pub(super) fn bytes(ranges: &[Range]) -> Vec<u8> {
    let mut words = vec![ranges.len() as u32];
    words.extend(ranges.iter().flat_map(|range| [range.first, range.last, range.owner]));
    words.resize(1 + 3 * MAX_RANGES, 0);
    words.iter().flat_map(|word| word.to_ne_bytes()).collect()
}

/// In order, and apart: where ranges overlap, the one that begins earlier has the numbers. A line is `OWNER:FIRST:COUNT`,
/// the owner a name or a number. Lines that say something else are passed over, as the kernel's tools do.
///
/// Root's ranges are left out: containers that root starts are not its work. So are the numbers of users of this machine: a line
/// such as `root:1000:1` lets a container have the user 1000, and takes nothing from that user.
fn parse(subuid: &str, passwd: &str) -> Vec<Range> {
    let users: HashMap<&str, u32> = passwd.lines().filter_map(user).collect();
    let own: BTreeSet<u32> = users.values().copied().collect();
    let ranges = subuid.lines().filter_map(|line| range(line, &users));
    let mut ranges: Vec<Range> = ranges.filter(|range| range.owner != 0).collect();
    ranges.sort_unstable();
    let mut apart: Vec<Range> = Vec::new();
    for range in ranges {
        let first = apart.last().map_or(Some(0), |before| before.last.checked_add(1));
        if let Some(first) = first.map(|first| first.max(range.first)).filter(|first| *first <= range.last) {
            apart.push(Range { first, ..range });
        }
    }
    let mut without: Vec<Range> = apart.into_iter().flat_map(|range| around(range, &own)).collect();
    without.truncate(MAX_RANGES);
    without
}

/// The parts of a range between these numbers.
fn around(range: Range, own: &BTreeSet<u32>) -> Vec<Range> {
    let mut parts = Vec::new();
    let mut first = u64::from(range.first);
    for end in own.range(range.first..=range.last).map(|n| u64::from(*n)).chain([u64::from(range.last) + 1]) {
        if first < end {
            parts.push(Range { first: first as u32, last: (end - 1) as u32, ..range });
        }
        first = end + 1;
    }
    parts
}

fn range(line: &str, users: &HashMap<&str, u32>) -> Option<Range> {
    let mut fields = line.trim().split(':');
    let owner = fields.next()?;
    let (first, count) = (fields.next()?.parse::<u32>().ok()?, fields.next()?.parse::<u32>().ok()?);
    let last = first.checked_add(count.checked_sub(1)?)?;
    let owner = owner.parse().ok().or_else(|| users.get(owner).copied())?;
    Some(Range { first, last, owner })
}

/// Name and number of a user, by a line of /etc/passwd.
fn user(line: &str) -> Option<(&str, u32)> {
    let mut fields = line.split(':');
    Some((fields.next()?, fields.nth(1)?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PASSWD: &str = "root:x:0:0::/:/bin/sh\nann:x:1000:1000::/:/bin/sh\n";

    fn of(subuid: &str) -> Vec<(u32, u32, u32)> {
        parse(subuid, PASSWD).iter().map(|range| (range.first, range.last, range.owner)).collect()
    }

    #[test]
    fn owners_are_names_or_numbers() {
        let text = "1001:165536:65536\nann:100000:65536\n# a comment\nnobody-here:300000:5\nann:7\nann:8:0\n";
        assert_eq!(of(text), [(100_000, 165_535, 1000), (165_536, 231_071, 1001)]);
    }

    #[test]
    fn ranges_do_not_overlap() {
        let text = "1:100:50\n2:120:10\n3:140:20\n4:4294967290:5\n5:4294967294:2\n6:4294967295:2\n";
        let expected = [
            (100, 149, 1),
            (150, 159, 3),
            (4_294_967_290, 4_294_967_294, 4),
            (4_294_967_295, 4_294_967_295, 5),
        ];
        assert_eq!(of(text), expected);
    }

    #[test]
    fn nobody_is_subordinate_to_root_and_no_user_of_this_machine_to_anybody() {
        assert_eq!(of("root:1000:1\nroot:1000000:1000000000\n0:5:5\n"), []);
        assert_eq!(of("7:999:3\n"), [(999, 999, 7), (1001, 1001, 7)]);
        assert_eq!(of("7:1000:1\n8:0:1\n"), []);
    }

    #[test]
    fn the_host_gets_as_many_as_it_has_room_for() {
        let text: String = (1..20_000).map(|i| format!("{i}:{}:10\n", i * 100 + 100_000)).collect();
        let bytes = bytes(&parse(&text, PASSWD));
        assert_eq!(bytes.len(), 4 + 12 * MAX_RANGES);
        assert_eq!(bytes[..4], 16_384_u32.to_ne_bytes());
        assert_eq!(bytes[bytes.len() - 4..], 16_384_u32.to_ne_bytes());
    }
}
