//! Events in the order in which the machine was told. Each CPU writes its records after it let go of the lock, so
//! those of other CPUs may come between, and one may be late; those that found no room never come.

use std::collections::VecDeque;

use divvy_policy::CpuMask;

use super::reader::Entry;

/// An event is missing when one that was told this much later is there. The kernel's ring buffer holds fewer.
pub(super) const WINDOW: u32 = 1 << 20;

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
    slots: VecDeque<Slot>,
    /// A bit a record that a set_allowed has.
    words: u8,
    /// How far beyond the next event one was that came too early.
    beyond: Option<u32>,
}

impl Reorder {
    pub fn new(first: u32, cpus: u32) -> Reorder {
        Reorder {
            next: first,
            slots: VecDeque::new(),
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
        let index = distance as usize;
        if self.slots.len() <= index {
            self.slots.resize_with(index + 1, Slot::default);
        }
        let slot = &mut self.slots[index];
        if entry.record.event() == SET_ALLOWED {
            slot.add_word(entry, self.words)?;
        } else if slot.entry.replace(entry).is_some() {
            return Err(format!("event {} is there twice", entry.record.seq));
        }
        Ok(true)
    }

    /// The next event, if it is there whole.
    pub fn pop(&mut self) -> Option<(Entry, CpuMask)> {
        let words = self.words;
        let slot = self.slots.front().filter(|slot| slot.is_whole(words))?;
        let ready = (
            slot.entry?,
            slot.allowed.as_ref().map_or_else(CpuMask::default, |allowed| allowed.mask.clone()),
        );
        self.slots.pop_front();
        self.next = self.next.wrapping_add(1);
        Some(ready)
    }

    /// How many events from the next on are missing without a break, if later ones are there.
    pub fn missing(&self) -> Option<u64> {
        let n = self.slots.iter().take_while(|slot| !slot.is_whole(self.words)).count();
        match self.beyond {
            Some(distance) if n == self.slots.len() => Some(distance.into()),
            _ => (n > 0).then_some(n as u64),
        }
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
