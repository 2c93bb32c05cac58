//! A set of CPUs that changes all the time, of thousands of which few may be in it.

use divvy_policy::{CpuId, CpuMask};

#[derive(Debug, Default)]
pub(super) struct CpuSet {
    /// A bit a CPU.
    words: Vec<u64>,
    /// A bit a word that has one. There are at most 64 words.
    filled: u64,
}

impl CpuSet {
    /// None of so many CPUs.
    pub(super) fn new(cpus: usize) -> CpuSet {
        CpuSet { words: vec![0; cpus.div_ceil(64)], filled: 0 }
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.filled == 0
    }

    #[inline]
    pub(super) fn insert(&mut self, cpu: CpuId) {
        let word = cpu.index() / 64;
        self.words[word] |= 1 << (cpu.index() % 64);
        self.filled |= 1 << word;
    }

    #[inline]
    pub(super) fn remove(&mut self, cpu: CpuId) {
        if self.filled == 0 {
            return;
        }
        let word = cpu.index() / 64;
        self.words[word] &= !(1 << (cpu.index() % 64));
        if self.words[word] == 0 {
            self.filled &= !(1 << word);
        }
    }

    /// Takes out the first CPU.
    #[inline]
    pub(super) fn pop(&mut self) -> Option<CpuId> {
        if self.filled == 0 {
            return None;
        }
        let word = self.filled.trailing_zeros() as usize;
        let cpu = CpuId::at(word * 64 + self.words[word].trailing_zeros() as usize);
        self.words[word] &= self.words[word] - 1;
        if self.words[word] == 0 {
            self.filled &= self.filled - 1;
        }
        Some(cpu)
    }

    /// Whether some CPU of the mask is in it.
    pub(super) fn meets(&self, mask: &CpuMask) -> bool {
        self.words.iter().zip(mask.words()).any(|(own, other)| own & other != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpus_come_and_go() {
        let cpu = CpuId::new;
        let mut set = CpuSet::new(4096);
        assert!(set.is_empty() && set.pop().is_none());
        for number in [4095, 0, 63, 64, 700] {
            set.insert(cpu(number));
        }
        set.remove(cpu(63));
        set.remove(cpu(701));
        let mask = |numbers: &[u32]| numbers.iter().map(|&number| cpu(number)).collect::<CpuMask>();
        assert!(set.meets(&mask(&[5, 700])) && !set.meets(&mask(&[63, 701])));
        let all: Vec<u32> = std::iter::from_fn(|| set.pop()).map(CpuId::get).collect();
        assert_eq!(all, [0, 64, 700, 4095]);
        assert!(set.is_empty());
    }
}
