//! Events in the order in which the machine was told. Each CPU writes its records after it let go of the lock, so
//! those of other CPUs may come between, and one may be late; those that found no room never come.

use std::collections::{HashMap, VecDeque};

use divvy_policy::CpuMask;

use super::reader::Entry;

/// An event is missing when one that was told this much later is there. The kernel's ring buffer holds fewer.
pub(super) const WINDOW: u32 = 1 << 20;

/// Events that are at most so much too early, as almost all are, have slots in a row. Those that are earlier are kept one by one, so that memory is
/// what the file has, and not what its numbers say.
const NEAR: u32 = 1 << 10;

/// Kind of the event that has a record for each 64 CPUs.
const SET_ALLOWED: u8 = 11;

/// The CPUs of a set_allowed event that came so far; it may take several records.
#[derive(Clone, Default)]
struct Allowed {
    mask: CpuMask,
    /// A bit a word that came.
    have: u8,
}

#[derive(Default)]
struct Slot {
    entry: Option<Entry>,
    allowed: Option<Box<Allowed>>,
}

pub(super) struct Reorder {
    /// The number of the event in the first slot.
    next: u32,
    near: VecDeque<Slot>,
    /// Others, by the numbers of their events.
    far: HashMap<u32, Slot>,
    /// A bit a record that a set_allowed has.
    words: u8,
    /// How far beyond the next event one was that came too early.
    beyond: Option<u32>,
}

impl Reorder {
    pub fn new(first: u32, cpus: u32) -> Reorder {
        Reorder {
            next: first,
            near: VecDeque::new(),
            far: HashMap::new(),
            words: if cpus > 64 { 0b1111 } else { 1 },
            beyond: None,
        }
    }

    /// Keeps a record until all records before it are there. `false` if it is so much later than a missing record that the
    /// missing one will not come.
    pub fn push(&mut self, entry: Entry) -> Result<bool, String> {
        let distance = entry.record.seq.wrapping_sub(self.next);
        if distance.cast_signed() < 0 {
            return Err(format!("event {} is there twice", entry.record.seq));
        }
        if distance >= WINDOW {
            self.beyond = Some(distance);
            return Ok(false);
        }
        let words = self.words;
        let slot = match distance < NEAR {
            true => self.near_slot(distance as usize),
            false => self.far.entry(entry.record.seq).or_default(),
        };
        if entry.record.kind == SET_ALLOWED {
            slot.add_word(entry, words)?;
        } else if slot.entry.replace(entry).is_some() {
            return Err(format!("event {} is there twice", entry.record.seq));
        }
        Ok(true)
    }

    fn near_slot(&mut self, index: usize) -> &mut Slot {
        if self.near.len() <= index {
            self.near.resize_with(index + 1, Slot::default);
        }
        &mut self.near[index]
    }

    /// The next event, if it is there whole.
    pub fn pop(&mut self) -> Option<(Entry, CpuMask)> {
        let words = self.words;
        let slot = self.near.front().filter(|slot| slot.is_whole(words))?;
        let ready = (
            slot.entry?,
            slot.allowed.as_ref().map_or_else(CpuMask::default, |allowed| allowed.mask.clone()),
        );
        self.near.pop_front();
        self.next = self.next.wrapping_add(1);
        if !self.far.is_empty()
            && let Some(slot) = self.far.remove(&self.next.wrapping_add(NEAR - 1))
        {
            *self.near_slot(NEAR as usize - 1) = slot;
        }
        Some(ready)
    }

    /// How many events from the next on are missing without a break, if later ones are there.
    pub fn missing(&self) -> Option<u64> {
        let far = || self.far.iter().map(|(seq, slot)| (seq.wrapping_sub(self.next), slot));
        let near = (0..).zip(&self.near);
        let first = near.chain(far()).filter(|(_, slot)| slot.is_whole(self.words)).map(|(at, _)| at).min();
        let seen = far().map(|(at, _)| at + 1).max().unwrap_or(self.near.len() as u32);
        let missing = first.or(self.beyond).unwrap_or(seen);
        (missing > 0).then_some(missing.into())
    }
}

impl Slot {
    fn is_whole(&self, words: u8) -> bool {
        self.entry.is_some() && self.allowed.as_ref().is_none_or(|allowed| allowed.have == words)
    }

    fn add_word(&mut self, entry: Entry, words: u8) -> Result<(), String> {
        let record = entry.record;
        let bit = 1u8.checked_shl(record.cpu.into()).filter(|bit| bit & words != 0);
        let Some(bit) = bit.filter(|bit| (*bit == 1) == (record.why == 1)) else {
            return Err(format!(
                "set_allowed names CPUs from {} on, which do not exist",
                u32::from(record.cpu) * 64
            ));
        };
        let same = |first: &Entry| {
            let first = first.record;
            (first.kind, first.id, first.now, first.answer)
                == (record.kind, record.id, record.now, record.answer)
        };
        let allowed = self.allowed.get_or_insert_default();
        if allowed.have & bit != 0 || !self.entry.as_ref().is_none_or(same) {
            return Err(format!("event {} is there twice", record.seq));
        }
        allowed.have |= bit;
        allowed.mask.set_word(record.cpu.into(), record.value);
        // Named by its last record.
        if self.entry.is_none() || bit == 1 {
            self.entry = Some(entry);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::Record;

    fn entry(seq: u32) -> Entry {
        Entry { number: 1, record: Record { seq, ..Record::default() } }
    }

    #[test]
    fn events_that_are_early_by_more_than_the_near_ones_come_in_their_order() {
        // 7 has no common factor with so many, so each number is there once.
        let (first, n) = (u32::MAX - 2000, 3 * NEAR + 5);
        let mut order = Reorder::new(first, 1);
        let mut came = Vec::new();
        for at in 0..n {
            let seq = first.wrapping_add((n - 1 - at) * 7 % n);
            assert_eq!(order.push(entry(seq)), Ok(true));
            while let Some((entry, _)) = order.pop() {
                came.push(entry.record.seq);
            }
        }
        assert!(came.iter().copied().eq((0..n).map(|at| first.wrapping_add(at))));
        assert_eq!(order.missing(), None);
    }

    #[test]
    fn the_number_of_an_event_does_not_decide_how_much_memory_it_takes() {
        let mut order = Reorder::new(1, 1);
        assert_eq!(order.push(entry(WINDOW)), Ok(true));
        assert!(order.near.capacity() + order.far.capacity() < 100);
        assert_eq!(order.missing(), Some(u64::from(WINDOW) - 1));
        assert_eq!(order.push(entry(2 * NEAR)), Ok(true));
        assert_eq!(order.missing(), Some(u64::from(2 * NEAR) - 1));
        assert_eq!(order.push(entry(WINDOW)), Err(format!("event {WINDOW} is there twice")));
    }
}
