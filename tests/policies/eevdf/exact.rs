//! Linux 6.12's rules of eevdf a second time, in exact arithmetic and with scans, which judge each choice of the policy.

use divvy_policy::{TaskId, Weight};
use divvy_tests::bench::{MS, Program, State, Task, Watch};

const TICK: i128 = MS as i128;

/// slice (0: Linux's), RUN_TO_PARITY, PLACE_LAG, DELAY_DEQUEUE
pub type Params = [i64; 4];

#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Place {
    Gone,
    Asleep,
    Waiting,
    Running,
}

#[derive(Clone, Debug)]
pub struct Entity {
    pub place: Place,
    /// Counted in V: everything but those that left.
    delayed: bool,
    pub w: i128,
    pub v: i128,
    /// The exact value of v less v, times w.
    rest: i128,
    d: i128,
    picked_d: i128,
    lag: i128,
    /// Its place in the order in which tasks were queued.
    queued: u64,
}

/// Linux 6.12's rules on one CPU, as papers/eevdf.md states them, with sums and scans over all tasks.
pub struct Exact {
    params: Params,
    slice: i128,
    pub all: Vec<Entity>,
    /// The weights that the machine was told, which sleepers will have.
    told: Vec<i128>,
    /// When the running task was charged last.
    pub charged: u64,
    yields: bool,
    pub preempted: bool,
    idle_v: i128,
    pub picks: u64,
    /// Delayed tasks before one choice
    pub most_forgotten: u64,
    /// Picks of a task that was queued before another one with the same deadline and a smaller v
    pub in_turn: u64,
    queued: u64,
    /// A delayed task and another had the same earliest deadline: what follows is open.
    pub ambiguous: bool,
}

impl Exact {
    pub fn new(params: Params, programs: &[Program]) -> Exact {
        let weights = || std::iter::once(1024).chain(programs.iter().map(|p| p.weight));
        let told: Vec<i128> = weights().map(|w| i128::from(w * Weight::ONE.fixed())).collect();
        let place = Place::Gone;
        let new = Entity { place, delayed: false, w: 0, v: 0, rest: 0, d: 0, picked_d: 0, lag: 0, queued: 0 };
        Exact {
            params,
            slice: if params[0] > 0 { params[0].into() } else { 700_000 },
            all: vec![new; told.len()],
            told,
            charged: 0,
            yields: false,
            preempted: false,
            idle_v: 0,
            picks: 0,
            most_forgotten: 0,
            in_turn: 0,
            queued: 0,
            ambiguous: false,
        }
    }

    fn counted(&self) -> impl Iterator<Item = &Entity> {
        self.all.iter().filter(|e| e.delayed || matches!(e.place, Place::Waiting | Place::Running))
    }

    /// The service that the running task was not charged for yet, as virtual time times its weight.
    fn due(&self, now: u64) -> i128 {
        let runs = self.all.iter().any(|e| e.place == Place::Running);
        if runs { i128::from(now - self.charged) * i128::from(Weight::NICE_0.fixed()) } else { 0 }
    }

    pub fn total(&self) -> i128 {
        self.counted().map(|e| e.w).sum()
    }

    /// W (V - v)
    pub fn above(&self, v: i128, now: u64) -> i128 {
        self.counted().map(|e| e.w * (e.v - v)).sum::<i128>() + self.due(now)
    }

    fn eligible(&self, id: usize, now: u64) -> bool {
        self.above(self.all[id].v, now) >= 0
    }

    /// V rounded down
    fn v(&self, now: u64) -> i128 {
        match self.total() {
            0 => self.idle_v,
            w => self.above(0, now).div_euclid(w),
        }
    }

    fn request(&self, w: i128) -> i128 {
        (self.slice * i128::from(Weight::NICE_0.fixed()) / w).max(1)
    }

    fn lag(&self, id: usize, now: u64) -> i128 {
        let e = &self.all[id];
        let limit = ((2 * self.slice).max(TICK) * i128::from(Weight::NICE_0.fixed()) / e.w).max(1);
        (self.v(now) - e.v).clamp(-limit, limit)
    }

    fn forget(&mut self, id: usize, now: u64) {
        let lag = self.lag(id, now);
        self.idle_v = self.v(now);
        let e = &mut self.all[id];
        e.lag = if e.delayed { lag.min(0) } else { lag };
        e.delayed = false;
        e.place = Place::Asleep;
    }

    fn rescale(&mut self, id: usize, w: i128, now: u64) {
        let (v, lag, request) = (self.v(now), self.lag(id, now), self.request(w));
        let e = &mut self.all[id];
        e.v = v - lag * e.w / w;
        e.d = v + (e.d - v) * e.w / w;
        (e.w, e.rest) = (w, 0);
        if e.v >= e.d {
            e.d = e.v + request;
        }
        if e.place != Place::Running {
            self.queue(id);
        }
    }

    fn queue(&mut self, id: usize) {
        self.queued += 1;
        self.all[id].queued = self.queued;
    }

    /// The earliest deadline of the eligible, delayed ones included, without the running one; of equal ones, queued first.
    fn earliest(&mut self, now: u64) -> Option<usize> {
        let candidates: Vec<usize> = (1..self.all.len())
            .filter(|id| self.all[*id].delayed || self.all[*id].place == Place::Waiting)
            .filter(|id| self.eligible(*id, now))
            .collect();
        let best = *candidates.iter().min_by_key(|id| (self.all[**id].d, self.all[**id].queued))?;
        let same = |id: &&usize| self.all[**id].d == self.all[best].d;
        let ties: Vec<usize> = candidates.iter().filter(same).copied().collect();
        self.ambiguous |= ties.len() > 1 && ties.iter().any(|id| self.all[*id].delayed);
        self.in_turn += u64::from(ties.iter().any(|id| self.all[*id].v < self.all[best].v));
        Some(best)
    }
}

impl Watch for Exact {
    fn join(&mut self, id: TaskId, new: bool, now: u64) {
        let id = id.index();
        if self.all[id].delayed && !self.eligible(id, now) {
            self.all[id].delayed = false;
            self.all[id].place = Place::Waiting;
            if self.all[id].w != self.told[id] {
                self.rescale(id, self.told[id], now);
            }
            return;
        }
        if self.all[id].delayed {
            self.forget(id, now);
        }
        let (w, total, v) = (self.told[id], self.total(), self.v(now));
        let lag = match self.params[2] == 1 && !new && total > 0 {
            true => (self.all[id].lag * self.all[id].w / w) * (total + w) / total,
            false => 0,
        };
        let request = self.request(w);
        let e = &mut self.all[id];
        (e.place, e.w, e.rest, e.v) = (Place::Waiting, w, 0, v - lag);
        e.d = e.v + if new { request / 2 } else { request };
        self.queue(id);
    }

    fn leave(&mut self, id: TaskId, exits: bool, now: u64) {
        let id = id.index();
        self.charged = now;
        if !exits && self.params[3] == 1 && !self.eligible(id, now) {
            (self.all[id].place, self.all[id].delayed) = (Place::Asleep, true);
            self.queue(id);
            return;
        }
        self.forget(id, now);
        if exits {
            self.all[id].place = Place::Gone;
        }
    }

    fn charge(&mut self, id: TaskId, ran: u64, now: u64) {
        let w = self.all[id.index()].w;
        let request = self.request(w);
        let e = &mut self.all[id.index()];
        let exact = i128::from(ran) * i128::from(Weight::NICE_0.fixed()) + e.rest;
        e.v += exact / w;
        e.rest = exact % w;
        if e.v >= e.d {
            e.d = e.v + request;
        }
        self.charged = now;
    }

    fn yields(&mut self, _id: TaskId) {
        self.yields = true;
    }

    fn reweigh(&mut self, id: TaskId, weight: u64, now: u64) {
        let id = id.index();
        let changed = self.told[id] != i128::from(weight);
        self.told[id] = weight.into();
        if changed && matches!(self.all[id].place, Place::Waiting | Place::Running) {
            self.rescale(id, weight.into(), now);
        }
    }

    fn preempts(&mut self, woken: TaskId, cpu: Option<usize>, now: u64) {
        let running = (1..self.all.len()).find(|id| self.all[*id].place == Place::Running).unwrap();
        let eligible = self.eligible(running, now);
        let protected = eligible && self.params[1] == 1 && self.all[running].d == self.all[running].picked_d;
        let ambiguous = self.ambiguous;
        let best = if protected { None } else { self.earliest(now) };
        let deadline = self.all[woken.index()].d;
        let waits = |e: &Entity| e.delayed || e.place == Place::Waiting;
        let ties = self.all.iter().filter(|e| waits(e) && e.d == deadline).count() > 1;
        let beats = !eligible || self.all[running].d >= deadline;
        if !ties {
            assert_eq!(cpu.is_some(), best == Some(woken.index()) && beats, "at {now}");
        }
        self.ambiguous = ambiguous;
        self.preempted = cpu.is_some();
    }

    fn stop(&mut self, id: TaskId, _now: u64) {
        let request = self.request(self.all[id.index()].w);
        let others = self.all.iter().any(|e| e.place == Place::Waiting);
        let e = &mut self.all[id.index()];
        if self.yields && others {
            e.d += request;
        } else if !self.preempted && !self.yields {
            assert!(e.d != e.picked_d, "a turn ended before its deadline");
        }
        e.place = Place::Waiting;
        self.queue(id.index());
        (self.yields, self.preempted) = (false, false);
    }

    fn pick(&mut self, _cpu: usize, chosen: Option<TaskId>, tasks: &[Task], now: u64) {
        self.charged = now;
        let mut forgotten = 0;
        let best = loop {
            match self.earliest(now) {
                Some(id) if self.all[id].delayed => self.forget(id, now),
                best => break best,
            }
            forgotten += 1;
        };
        self.most_forgotten = self.most_forgotten.max(forgotten);
        if self.ambiguous {
            return;
        }
        let Some(best) = best else {
            assert_eq!(chosen, None, "somebody is always eligible on one CPU");
            return;
        };
        let chosen = chosen.expect("a task waits");
        assert_eq!(tasks[chosen.index()].state, State::Waiting);
        assert_eq!(
            chosen.index(),
            best,
            "at {now}: {:?}, not {:?}",
            self.all[chosen.index()],
            self.all[best]
        );
        let e = &mut self.all[chosen.index()];
        (e.place, e.picked_d) = (Place::Running, e.d);
        self.picks += 1;
    }
}
