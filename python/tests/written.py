"""Policies of divvy once more, written in Python from their pages in papers/: the tests compare their schedules with those of the C."""

import math

import divvy


class Waiting(divvy.Policy):
    """Tasks in a line."""

    def init(self):
        self.waiting = []

    def leave(self, id, now, why):
        if not self.is_picked(id):
            self.waiting.remove(id)

    def pick(self, cpu, now):
        return self.waiting.pop(0) if self.waiting else 0


class Fifo(Waiting):
    def join(self, id, now, why):
        self.waiting.append(id)

    def stop(self, id, now, why):
        # The task that ran came before all that wait.
        self.waiting.insert(len(self.waiting) if why is divvy.Why.YIELDED else 0, id)

    def slice(self, id):
        return math.inf


class Turns(Waiting):
    def join(self, id, now, why):
        self.waiting.append(id)

    def stop(self, id, now, why):
        self.waiting.append(id)


class Ordered(divvy.Policy):
    """The task with the least key runs; of equal ones the one that began to wait first."""

    def init(self):
        self.waiting = {}

    def wait(self, id):
        self.waiting[id] = None

    def leave(self, id, now, why):
        self.waiting.pop(id, None)

    def pick(self, cpu, now):
        # min() takes the first of equals, and a dict has the order in which they came.
        id = min(self.waiting, key=self.order, default=0)
        self.waiting.pop(id, None)
        return id

    def stop(self, id, now, why):
        self.wait(id)


class Las(Ordered):
    def init(self):
        super().init()
        self.served, self.arrived, self.arrivals = {}, {}, 0

    def order(self, id):
        return self.served[id], self.arrived[id]

    def join(self, id, now, why):
        self.served[id] = 0
        self.arrived[id] = self.arrivals
        self.arrivals += 1
        self.wait(id)

    def charge(self, id, ran, now):
        self.served[id] += ran

    def preempts(self, woken, running, now):
        return self.order(woken) < self.order(running)


class Srpt(Ordered):
    def init(self):
        super().init()
        self.left = {}

    def order(self, id):
        return self.left[id]

    def bring(self, id, work):
        self.left[id] = self.left.get(id, 0) + work

    def join(self, id, now, why):
        self.wait(id)

    def leave(self, id, now, why):
        super().leave(id, now, why)
        if why is divvy.Why.EXITED:
            self.left[id] = 0

    def charge(self, id, ran, now):
        self.left[id] -= min(ran, self.left[id])

    def slice(self, id):
        return math.inf

    def preempts(self, woken, running, now):
        return self.left[woken] < self.left[running]


class Sfq(Ordered):
    """Start tags in ns of a nice-0 task, each with the rest of its last division."""

    def init(self):
        super().init()
        self.v, self.tag, self.running = 0, {}, set()

    def order(self, id):
        return self.tag[id][0]

    def advance(self):
        tags = [self.tag[id][0] for id in (*self.waiting, *self.running)]
        self.v = max([self.v, min(tags)]) if tags else self.v

    def add(self, id, ran):
        tag, rest = self.tag[id]
        by, rest = divmod(ran * self.WEIGHT_NICE_0 + rest, self.weight_of(id))
        self.tag[id] = tag + by, rest

    def fork(self, id, parent, now):
        start = self.v
        if parent:
            start = self.tag[parent][0] - self.turn_of(parent) * self.WEIGHT_NICE_0 // self.weight_of(parent)
        self.tag[id] = start, 0

    def overdrawn(self, id):
        self.advance()
        lead = max(0, self.tag[id][0] - self.v)
        whole, part = divmod(lead, self.WEIGHT_NICE_0)
        return whole * self.weight_of(id) + part * self.weight_of(id) // self.WEIGHT_NICE_0

    def join(self, id, now, why):
        self.advance()
        if self.tag[id][0] < self.v:
            self.tag[id] = self.v, 0
        if why is divvy.Why.NEW:
            self.add(id, self.debit_of(id))
        self.wait(id)

    def leave(self, id, now, why):
        super().leave(id, now, why)
        self.running.discard(id)
        if self.nrunnable == 1:
            self.v = max(self.v, self.tag[id][0])

    def pick(self, cpu, now):
        id = super().pick(cpu, now)
        if id:
            self.running.add(id)
        return id

    def stop(self, id, now, why):
        self.running.remove(id)
        self.wait(id)

    def charge(self, id, ran, now):
        self.add(id, ran)

    def reweigh(self, id, w, now):
        self.tag[id] = self.tag[id][0], 0
