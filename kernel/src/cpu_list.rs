//! Lists of CPUs, as the kernel writes them in `/sys/devices/system/cpu`.

use std::ops::RangeInclusive;

/// The ranges of a list such as `0-3,8`. `None` if it is not one: its numbers must ascend.
pub(crate) fn parse(text: &str) -> Option<Vec<RangeInclusive<u16>>> {
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some(first.parse().ok()?..=last.parse().ok()?)
    };
    let ranges = text.trim().split(',').map(range).collect::<Option<Vec<_>>>()?;
    let numbers = ranges.iter().flat_map(|range| [*range.start(), *range.end()]);
    let apart = ranges.windows(2).all(|pair| pair[0].end() < pair[1].start());
    (numbers.is_sorted() && apart).then_some(ranges)
}

/// Numbers that ascend, as such a list.
pub(crate) fn format(cpus: &[u16]) -> String {
    let ranges = cpus.chunk_by(|one, next| one + 1 == *next).map(|range| match range {
        [one] => one.to_string(),
        [first, .., last] => format!("{first}-{last}"),
        [] => String::new(),
    });
    ranges.collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_the_kernel_are_read() {
        assert_eq!(parse("0\n"), Some(vec![0..=0]));
        assert_eq!(parse("0-2,5,7-8\n"), Some(vec![0..=2, 5..=5, 7..=8]));
        for list in ["", "0", "0-2,5,7-8", "0,2"] {
            let cpus: Vec<u16> = parse(list).into_iter().flatten().flatten().collect();
            assert_eq!(format(&cpus), list);
        }
        for bad in ["", "\n", "3-1", "3,1", "0-3,3", "a-b", "0-", "65536", "-1"] {
            assert_eq!(parse(bad), None, "{bad:?}");
        }
    }
}
