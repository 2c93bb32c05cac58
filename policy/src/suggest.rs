//! "Did you mean": the known name that is nearest to a mistyped one.

/// The candidate with the least edit distance to `name`, if it is near enough to be what was meant: at most a
/// third of the longer name's letters differ (two letters always may, of names longer than that; but not more than the
/// shorter name has).
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    const LONGEST: usize = 64;
    let name: Vec<char> = name.to_lowercase().chars().take(LONGEST).collect();
    candidates
        .into_iter()
        .filter_map(|candidate| {
            let other: Vec<char> = candidate.to_lowercase().chars().take(LONGEST).collect();
            let longer = name.len().max(other.len());
            let distance = edit_distance(&name, &other);
            let shorter = name.len().min(other.len());
            let allowed = (longer / 3).max(2).min(longer.saturating_sub(1)).min(shorter);
            (distance <= allowed).then_some((distance, candidate))
        })
        .min_by_key(|&(distance, _)| distance)
        .map(|(_, candidate)| candidate)
}

/// Number of letters to insert, delete, replace, or swap with their neighbour, to turn `a` into `b`.
fn edit_distance(a: &[char], b: &[char]) -> usize {
    let mut before: Vec<usize> = vec![0; b.len() + 1];
    let mut above: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i; b.len() + 1];
        for j in 1..=b.len() {
            let replaced = above[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            row[j] = replaced.min(above[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                row[j] = row[j].min(before[j - 2] + 1);
            }
        }
        before = std::mem::replace(&mut above, row);
    }
    above[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_misses_are_found_and_strangers_are_not() {
        let keys = ["weight", "nice", "process", "count", "start", "stop"];
        for (typed, meant) in [
            ("wieght", Some("weight")),
            ("Weight", Some("weight")),
            ("weights", Some("weight")),
            ("proces", Some("process")),
            ("strat", Some("start")),
            ("nce", Some("nice")),
            ("priority", None),
            ("x", None),
            ("", None),
        ] {
            assert_eq!(nearest(typed, keys), meant, "{typed}");
        }
        assert_eq!(nearest("0", ["p50"]), None, "one letter is no attempt at three");
    }
}
