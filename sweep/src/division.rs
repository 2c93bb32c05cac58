//! How a sweep was divided into shards, as far as the rows of some of them show it.

use std::collections::BTreeSet;

/// Shard `i` has the rows of every n-th block: those from `(i - 1) * block + 1` on, and so on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Division {
    /// Rows that are together in one shard.
    block: u64,
    /// Number of shards.
    shards: u64,
}

impl Division {
    /// The division that all of these files have, each of one shard; nothing if there is none, as when blocks differ in length.
    pub fn of(files: &[Vec<u64>]) -> Option<Division> {
        let division = files.iter().find_map(|rows| Division::of_one(rows))?;
        let is_one_shard = |rows: &Vec<u64>| {
            rows.iter().all(|&row| division.shard(row) == division.shard(rows[0]))
                && rows.windows(2).all(|pair| pair[0] < pair[1])
        };
        files.iter().all(is_one_shard).then_some(division)
    }

    /// From where the first two blocks of a file begin.
    fn of_one(rows: &[u64]) -> Option<Division> {
        let block = 1 + rows.windows(2).take_while(|pair| pair[1].checked_sub(pair[0]) == Some(1)).count();
        let period = rows.get(block)?.checked_sub(rows[0])?;
        let block = block as u64;
        let is_whole = period % block == 0 && rows[0].checked_sub(1)? % block == 0;
        (is_whole && period > block).then_some(Division { block, shards: period / block })
    }

    fn shard(self, row: u64) -> u64 {
        row.saturating_sub(1) / self.block % self.shards + 1
    }

    /// The shards of these rows, as in `3/40`.
    pub fn shards(self, rows: impl Iterator<Item = u64>) -> Vec<String> {
        let shards: BTreeSet<u64> = rows.map(|row| self.shard(row)).collect();
        shards.into_iter().map(|shard| format!("{shard}/{}", self.shards)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_shards_show_how_many_there_are() {
        let third_of_five: Vec<u64> = vec![5, 6, 15, 16, 25];
        let first_of_five: Vec<u64> = vec![1, 2, 11];
        let found = Division::of(&[third_of_five.clone(), first_of_five, Vec::new(), vec![9, 10]]);
        let division = found.expect("blocks of two in five shards");
        assert_eq!(division, Division { block: 2, shards: 5 });
        assert_eq!(division.shards([3, 4, 13, 7, 26].into_iter()), ["2/5", "3/5", "4/5"]);
        assert_eq!(Division::of(&[third_of_five.clone(), vec![1, 3]]), None, "of another division");
        assert_eq!(Division::of(&[vec![1, 2, 3]]), None, "all together");
        assert_eq!(Division::of(&[vec![1, 2, 6, 7]]), None, "blocks that differ in length");
        assert_eq!(Division::of(&[third_of_five, vec![3, 3]]), None, "not in order");
    }
}
