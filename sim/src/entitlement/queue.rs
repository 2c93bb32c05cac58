//! Tasks, or bundles of them, by when they are served: a binary heap in which the place of each is known, so that any
//! can move or go at any time, and nothing void is left in it.

use super::virtual_time::Virtual;

/// In no queue.
const NOWHERE: u32 = u32::MAX;

/// The place of each number in the queue in which it is.
#[derive(Clone, Debug, Default)]
pub(super) struct Places(Vec<u32>);

impl Places {
    /// There is a number more, if it is new.
    pub(super) fn add(&mut self, id: usize) {
        if id >= self.0.len() {
            self.0.resize(id + 1, NOWHERE);
        }
    }
}

#[derive(Clone, Debug, Default)]
pub(super) struct Queue {
    heap: Vec<(Virtual, u32)>,
}

impl Queue {
    /// The one that is served first, and when.
    pub(super) fn first(&self) -> Option<(Virtual, u32)> {
        self.heap.first().copied()
    }

    /// Puts it here, or moves it.
    pub(super) fn set(&mut self, places: &mut Places, id: u32, at: Virtual) {
        let mut place = places.0[id as usize] as usize;
        if place == NOWHERE as usize {
            place = self.heap.len();
            self.heap.push((at, id));
        } else {
            self.heap[place].0 = at;
        }
        self.settle(places, place);
    }

    /// Takes it out, if it is here.
    pub(super) fn remove(&mut self, places: &mut Places, id: u32) {
        let place = std::mem::replace(&mut places.0[id as usize], NOWHERE);
        if place == NOWHERE {
            return;
        }
        self.heap.swap_remove(place as usize);
        if (place as usize) < self.heap.len() {
            self.settle(places, place as usize);
        }
    }

    /// The one at this place goes up or down, to where it belongs.
    fn settle(&mut self, places: &mut Places, mut place: usize) {
        let moved = self.heap[place];
        while place > 0 && is_earlier(&moved, &self.heap[(place - 1) / 2]) {
            self.put(places, place, self.heap[(place - 1) / 2]);
            place = (place - 1) / 2;
        }
        while let Some(child) =
            self.earlier_child(place).filter(|&child| is_earlier(&self.heap[child], &moved))
        {
            self.put(places, place, self.heap[child]);
            place = child;
        }
        self.put(places, place, moved);
    }

    fn earlier_child(&self, place: usize) -> Option<usize> {
        let (left, right) = (2 * place + 1, 2 * place + 2);
        let two = right < self.heap.len();
        let earlier = if two && is_earlier(&self.heap[right], &self.heap[left]) { right } else { left };
        (left < self.heap.len()).then_some(earlier)
    }

    fn put(&mut self, places: &mut Places, place: usize, entry: (Virtual, u32)) {
        self.heap[place] = entry;
        places.0[entry.1 as usize] = place as u32;
    }
}

/// As `<`, which would compare times for being equal first.
#[inline]
fn is_earlier(one: &(Virtual, u32), other: &(Virtual, u32)) -> bool {
    one.cmp(other).is_lt()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Random entries come, move and go; the first is always the least of a plain list.
    #[test]
    fn the_first_is_the_least() {
        let (mut queue, mut places, mut plain) = (Queue::default(), Places::default(), [None; 40]);
        places.add(39);
        let mut state = 7_u64;
        for _ in 0..5000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let (id, at) = ((state >> 33) as u32 % 40, Virtual::default().after((state >> 40) as f64 % 97.0));
            if state >> 62 == 0 {
                queue.remove(&mut places, id);
                plain[id as usize] = None;
            } else {
                queue.set(&mut places, id, at);
                plain[id as usize] = Some((at, id));
            }
            assert_eq!(queue.first(), plain.iter().flatten().min().copied());
        }
    }
}
