//! GR3's queue written a second time, from the rules of papers/gr3.md, with lists and fractions.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use num_rational::Ratio;

/// W is kept in parts of a quantum, where it is not the paper's integer.
const QUANTUM: u128 = 256;

#[derive(Clone, Debug, Default)]
pub struct Client {
    pub phi: u64,
    pub deficit: Ratio<i128>,
    pub frontlog: u64,
    /// Not runnable, and still in its group
    pub away: bool,
}

#[derive(Clone, Debug)]
pub struct Group {
    order: u32,
    phi: u64,
    /// W_G + 1
    work: u128,
    /// The current client first
    pub members: Vec<u32>,
    pub turn_is_over: bool,
}

/// The client that was selected, or was away when its turn came and is removed
pub enum Selected {
    Client(u32),
    Removed(u32),
}

/// The queue: clients by group, and groups in the order of their weights
#[derive(Default)]
pub struct Queue {
    literal: bool,
    pub clients: BTreeMap<u32, Client>,
    pub groups: Vec<Group>,
    /// Order of the group to select from; the first of the list, if there is none
    current: Option<u32>,
    started: bool,
}

impl Queue {
    pub fn new(literal: bool) -> Queue {
        Queue { literal, ..Queue::default() }
    }

    fn place(&self, order: u32) -> Option<usize> {
        self.groups.iter().position(|g| g.order == order)
    }

    pub fn total(&self) -> u64 {
        self.groups.iter().map(|g| g.phi).sum()
    }

    /// R5, D6: `group`, whose weight was `was`, goes to its place, and its work with it.
    fn relocate(&mut self, mut group: Group, was: u64) {
        if group.members.is_empty() {
            self.current = self.current.filter(|&order| order != group.order);
            self.started &= !self.groups.is_empty();
            return;
        }
        let key = |g: &Group| (Reverse(g.phi), g.order);
        let place = self.groups.iter().take_while(|g| key(g) < key(&group)).count();
        let neighbour = self.groups.get(place).or(self.groups.last());
        if let Some(n) = neighbour.filter(|_| self.started) {
            group.work = if self.literal {
                n.work * u128::from(group.phi) / u128::from(n.phi) / QUANTUM * QUANTUM
            } else {
                let (work, phi) = if was == 0 { (n.work, n.phi) } else { (group.work, was) };
                QUANTUM + work.saturating_sub(QUANTUM) * u128::from(group.phi) / u128::from(phi)
            };
        }
        self.groups.insert(place, group);
    }

    /// R4: D += phi/phi_min
    fn begin_turn(&mut self, group: &mut Group) {
        let client = self.clients.get_mut(&group.members[0]).unwrap();
        client.deficit += Ratio::new(i128::from(client.phi), 1 << group.order);
        group.turn_is_over = false;
    }

    pub fn insert(&mut self, id: u32, phi: u64) {
        self.clients.insert(id, Client { phi, ..Client::default() });
        let order = phi.ilog2();
        let mut group = match self.place(order) {
            Some(place) => self.groups.remove(place),
            None => Group { order, phi: 0, work: QUANTUM, members: Vec::new(), turn_is_over: false },
        };
        let was = group.phi;
        group.phi += phi;
        group.members.push(id);
        if was == 0 {
            self.begin_turn(&mut group);
        }
        self.relocate(group, was);
    }

    pub fn remove(&mut self, id: u32) {
        let place = self.groups.iter().position(|g| g.members.contains(&id)).unwrap();
        let mut group = self.groups.remove(place);
        let (was, first) = (group.phi, group.members[0] == id);
        group.phi -= self.clients.remove(&id).unwrap().phi;
        group.members.retain(|&member| member != id);
        if first && !group.members.is_empty() {
            self.begin_turn(&mut group);
        }
        self.relocate(group, was);
    }

    /// R11; `is_capped`: it asked for more than a CPU, and still does.
    pub fn reweigh(&mut self, id: u32, phi: u64, is_capped: bool) {
        let Client { phi: old, away, frontlog, .. } = self.clients[&id];
        if phi.ilog2() != old.ilog2() {
            self.remove(id);
            self.insert(id, phi);
            if is_capped && frontlog == 0 {
                let place = self.place(phi.ilog2()).unwrap();
                let members = &mut self.groups[place].members;
                members.pop();
                members.insert(members.len().min(1), id);
            }
            let client = self.clients.get_mut(&id).unwrap();
            (client.away, client.frontlog) = (away, frontlog);
        } else if phi != old {
            let mut group = self.groups.remove(self.place(phi.ilog2()).unwrap());
            let was = group.phi;
            group.phi = group.phi + phi - old;
            self.clients.get_mut(&id).unwrap().phi = phi;
            self.relocate(group, was);
        }
    }

    /// R4, with the turn of one that blocked over (R6)
    fn intragroup(&mut self, place: usize) -> u32 {
        let mut group = self.groups[place].clone();
        if group.turn_is_over || self.clients[&group.members[0]].deficit < Ratio::from(1) {
            group.members.rotate_left(1);
            self.begin_turn(&mut group);
        }
        let id = group.members[0];
        self.clients.get_mut(&id).unwrap().deficit -= 1;
        self.groups[place] = group;
        id
    }

    /// R3; R6 for one that has not returned
    pub fn intergroup(&mut self) -> Selected {
        let i = self.current.and_then(|order| self.place(order)).unwrap_or(0);
        let id = self.intragroup(i);
        if self.clients[&id].away {
            self.remove(id);
            self.current = None;
            return Selected::Removed(id);
        }
        self.started = true;
        self.groups[i].work += QUANTUM;
        let (this, next) = (&self.groups[i], self.groups.get(i + 1));
        let is_due = |n: &&Group| this.work * u128::from(n.phi) > n.work * u128::from(this.phi);
        self.current = next.filter(is_due).map(|n| n.order);
        Selected::Client(id)
    }
}
