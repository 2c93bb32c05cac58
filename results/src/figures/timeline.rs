//! A packed timeline: which task ran on which CPU, slice by slice, in few bytes of an HTML page.
//!
//! It is not a [`crate::schedule::Schedule`]: times are rounded so that the column fits into the page, and it keeps wake-ups and
//! ends of jobs only where there is room for them.

use std::collections::{BTreeMap, BTreeSet};

use divvy_policy::{CpuId, TaskId};
use serde::{Deserialize, Serialize};

use super::Column;
use super::marks::{Marks, Slice, Woken};
use crate::observation::{JobDone, Observation, Service};

/// A mean slice is at least so many units.
const ROUNDEST: u64 = 20;

/// Slices are a list a CPU, in order of time. Each begins its gap after the one before (the first after `from_ns`), so
/// that gap and length are small numbers; both count units.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Timeline {
    /// The unit of times, in ns; 1 is exact. Beginnings and ends are rounded, so that errors do not add up.
    pub unit_ns: u64,
    /// When it begins.
    pub from_ns: u64,
    /// When it ends: with the run, unless there were more slices than could be kept.
    pub to_ns: u64,
    /// Whether it ends before the run does.
    pub is_cut: bool,
    /// Number of slices.
    pub slices: u64,
    /// By number.
    pub cpus: Vec<CpuTimeline>,
    /// Slices that begin before this have marks: arrivals, wake-ups and ends of jobs. Absent if none has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub marks_to_ns: Option<u64>,
}

/// One CPU's slices, a column each for beginning, length and task.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CpuTimeline {
    /// Idle before the slice, or between tasks.
    pub gaps: Column,
    /// Service without interruption.
    pub lengths: Column,
    /// Index into the run's tasks.
    pub tasks: Column,
    /// Why the first slices began and how they ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub marks: Option<Marks>,
}

/// Collects slices during a run.
#[derive(Debug)]
pub struct TimelineRecorder {
    from_ns: u64,
    most: usize,
    kept: usize,
    /// Start of the first slice that there was no room for.
    cut_ns: Option<u64>,
    cpus: Vec<Vec<Slice>>,
    /// Tasks that were seen and did not end.
    alive: BTreeSet<TaskId>,
    /// Wake-ups after which the task did not run yet.
    woken: BTreeMap<TaskId, Woken>,
    /// When each task last went to rest.
    rested_ns: BTreeMap<TaskId, u64>,
    /// The CPU that served each row last.
    last_cpu: BTreeMap<usize, CpuId>,
}

impl TimelineRecorder {
    /// From `from_ns` on, at most so many slices.
    pub fn new(cpus: u32, from_ns: u64, most: usize) -> TimelineRecorder {
        TimelineRecorder {
            from_ns,
            most,
            kept: 0,
            cut_ns: None,
            cpus: vec![Vec::new(); cpus as usize],
            alive: BTreeSet::new(),
            woken: BTreeMap::new(),
            rested_ns: BTreeMap::new(),
            last_cpu: BTreeMap::new(),
        }
    }

    /// Takes the observations in order of time.
    pub fn record(&mut self, observation: Observation) {
        if self.cut_ns.is_some() {
            return;
        }
        match observation {
            Observation::Served(service) => self.serve(service),
            Observation::Woken { task, at_ns, by, .. } => {
                let is_new = self.alive.insert(task);
                // A task that is woken when it went to rest did not rest.
                if self.rested_ns.get(&task) != Some(&at_ns) {
                    self.woken.insert(task, Woken { at_ns, by, is_new });
                }
            }
            Observation::Rests { task, at_ns } => {
                self.rested_ns.insert(task, at_ns);
            }
            Observation::JobDone(done) => self.end(done),
            Observation::Gone { task, .. } => {
                self.alive.remove(&task);
                self.woken.remove(&task);
                self.rested_ns.remove(&task);
            }
            Observation::Value { .. } => {}
        }
    }

    /// Service comes in order of its ends. Continued service is one slice, however often it was accounted.
    fn serve(&mut self, service: Service) {
        self.alive.insert(service.task);
        if service.to_ns <= self.from_ns {
            self.woken.remove(&service.task);
            return;
        }
        let next = Service { from_ns: service.from_ns.max(self.from_ns), ..service };
        let woken = self.woken.remove(&next.task);
        self.last_cpu.insert(next.row, next.cpu);
        let cpu = &mut self.cpus[next.cpu.index()];
        match cpu.last_mut() {
            Some(last) if woken.is_none() && last.continues(next) => last.service.to_ns = next.to_ns,
            _ if self.kept < self.most => {
                self.kept += 1;
                cpu.push(Slice { service: next, woken, ends: false });
            }
            _ => self.cut_ns = Some(next.from_ns),
        }
    }

    /// The slice that ends with the job. Tasks of the same row may run on other CPUs.
    fn end(&mut self, done: JobDone) {
        let is_its = |slice: &Slice| (slice.service.row, slice.service.to_ns) == (done.row, done.to_ns);
        let last = self.last_cpu.get(&done.row).map(|cpu| cpu.index());
        let ends_it = |cpu: usize| self.cpus[cpu].last().is_some_and(is_its);
        let cpu = last.filter(|&cpu| ends_it(cpu)).or_else(|| (0..self.cpus.len()).find(|&cpu| ends_it(cpu)));
        if let Some(cpu) = cpu
            && let Some(slice) = self.cpus[cpu].last_mut()
        {
            slice.ends = true;
        }
    }

    /// Packs the slices into at most so many bytes. Times are rounded as far as it cannot be seen. If that is not enough,
    /// the timeline ends earlier. Marks get what slices leave.
    pub fn finish(mut self, end_ns: u64, most_bytes: usize) -> Timeline {
        let mut to_ns = self.cut_ns.unwrap_or(end_ns).min(end_ns).max(self.from_ns);
        self.cut(to_ns);
        let coarsest_ns = self.mean_length_ns() / ROUNDEST;
        let mut unit_ns = 1;
        loop {
            let mut timeline = self.encode(unit_ns, to_ns);
            let bytes = timeline.bytes();
            if bytes <= most_bytes || timeline.slices == 0 {
                self.mark(&mut timeline, most_bytes.saturating_sub(bytes));
                return timeline;
            }
            if unit_ns < coarsest_ns {
                unit_ns = coarser(unit_ns, bytes - most_bytes, timeline.slices).min(round_up(coarsest_ns));
            } else {
                let kept = most_bytes as f64 / bytes as f64 * 0.97;
                to_ns = self.from_ns + ((to_ns - self.from_ns) as f64 * kept) as u64;
                self.cut_ns = Some(to_ns);
                self.cut(to_ns);
            }
        }
    }

    /// Adds the marks of the first slices, as many as there is room for.
    fn mark(&self, timeline: &mut Timeline, room: usize) {
        let mut until_ns = timeline.to_ns;
        while until_ns > self.from_ns {
            let marks: Vec<Marks> = self
                .cpus
                .iter()
                .map(|cpu| Marks::of(cpu, self.from_ns, until_ns, timeline.unit_ns))
                .collect();
            let bytes: usize = marks.iter().map(Marks::bytes).sum();
            if bytes <= room {
                timeline.marks_to_ns = Some(until_ns);
                timeline.cpus.iter_mut().zip(marks).for_each(|(cpu, marks)| cpu.marks = Some(marks));
                return;
            }
            let kept = (room as f64 / bytes as f64 * 0.95).min(0.9);
            until_ns = self.from_ns + ((until_ns - self.from_ns) as f64 * kept) as u64;
        }
    }

    fn services(&self) -> impl Iterator<Item = &Service> {
        self.cpus.iter().flatten().map(|slice| &slice.service)
    }

    fn mean_length_ns(&self) -> u64 {
        let slices: u64 = self.cpus.iter().map(|cpu| cpu.len() as u64).sum();
        let served_ns: u64 = self.services().map(|service| service.to_ns - service.from_ns).sum();
        served_ns / slices.max(1)
    }

    /// The picture ends at one time on all CPUs.
    fn cut(&mut self, to_ns: u64) {
        for cpu in &mut self.cpus {
            cpu.retain(|slice| slice.service.from_ns < to_ns);
            if let Some(last) = cpu.last_mut()
                && last.service.to_ns > to_ns
            {
                (last.service.to_ns, last.ends) = (to_ns, false);
            }
        }
    }

    fn encode(&self, unit_ns: u64, to_ns: u64) -> Timeline {
        Timeline {
            unit_ns,
            from_ns: self.from_ns,
            to_ns,
            is_cut: self.cut_ns.is_some(),
            slices: self.cpus.iter().map(|cpu| cpu.len() as u64).sum(),
            cpus: self.cpus.iter().map(|cpu| self.encode_cpu(cpu, unit_ns)).collect(),
            marks_to_ns: None,
        }
    }

    fn encode_cpu(&self, slices: &[Slice], unit_ns: u64) -> CpuTimeline {
        let units = |ns: u64| (ns - self.from_ns + unit_ns / 2) / unit_ns;
        let services = || slices.iter().map(|slice| &slice.service);
        let ends = std::iter::once(0).chain(services().map(|s| units(s.to_ns)));
        CpuTimeline {
            gaps: Column::of(services().zip(ends).map(|(s, former)| units(s.from_ns) - former)),
            lengths: Column::of(services().map(|s| units(s.to_ns) - units(s.from_ns))),
            tasks: Column::of(services().map(|s| s.row as u64)),
            marks: None,
        }
    }
}

/// A unit that may save so many bytes of base64: a bit of gap and one of length for each doubling. Encoding takes a while,
/// so that not all are tried.
fn coarser(unit_ns: u64, bytes: usize, slices: u64) -> u64 {
    let bits = bytes as f64 * 0.75 * 8.0 / slices as f64;
    let factor = libm::exp2((bits / 2.0).min(32.0));
    round_up((unit_ns as f64 * factor * 0.7) as u64).max(round_up(unit_ns + 1))
}

/// To 1, 2 or 5 times a power of ten.
fn round_up(ns: u64) -> u64 {
    let powers = std::iter::successors(Some(1_u64), |power| power.checked_mul(10));
    powers
        .flat_map(|power| [1, 2, 5].map(|digit| power.saturating_mul(digit)))
        .find(|unit| *unit >= ns)
        .unwrap_or(ns)
}

impl Timeline {
    /// As written.
    fn bytes(&self) -> usize {
        let columns = self.cpus.iter().flat_map(|cpu| [&cpu.gaps, &cpu.lengths, &cpu.tasks]);
        columns.map(|column| column.as_str().len()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::super::column::tests::decode;
    use super::*;

    fn slice(cpu: u32, row: usize, from_ns: u64, to_ns: u64) -> Service {
        Service { cpu: CpuId::new(cpu), row, task: TaskId::at(row + 1), from_ns, to_ns }
    }

    fn columns(cpu: &CpuTimeline) -> [Vec<u64>; 3] {
        [&cpu.gaps, &cpu.lengths, &cpu.tasks].map(decode)
    }

    #[test]
    fn service_that_goes_on_is_one_slice() {
        let mut recorder = TimelineRecorder::new(2, 100, 10);
        for s in [
            slice(0, 0, 50, 100),
            slice(0, 0, 90, 110),
            slice(0, 0, 110, 130),
            slice(1, 1, 120, 140),
            slice(0, 2, 135, 150),
        ] {
            recorder.serve(s);
        }
        let timeline = recorder.finish(200, usize::MAX);
        assert_eq!((timeline.unit_ns, timeline.slices, timeline.is_cut), (1, 3, false));
        assert_eq!(columns(&timeline.cpus[0]), [vec![0, 5], vec![30, 15], vec![0, 2]]);
        assert_eq!(columns(&timeline.cpus[1]), [vec![20], vec![20], vec![1]]);
    }

    #[test]
    fn what_there_is_no_room_for_ends_the_picture_on_all_cpus() {
        let mut recorder = TimelineRecorder::new(2, 0, 3);
        for s in [slice(0, 0, 0, 10), slice(1, 1, 0, 10), slice(0, 1, 10, 40), slice(1, 0, 30, 50)] {
            recorder.serve(s);
        }
        let timeline = recorder.finish(90, usize::MAX);
        assert_eq!((timeline.to_ns, timeline.is_cut, timeline.slices), (30, true, 3));
        assert_eq!(columns(&timeline.cpus[0])[1], [10, 20]);
    }

    /// Slices of random lengths between others, which no compression can do much about.
    fn noisy(slices: u64) -> (TimelineRecorder, u64) {
        let mut recorder = TimelineRecorder::new(1, 0, 100_000);
        let (mut at, mut state) = (0, 1_u64);
        for _ in 0..slices {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let to = at + 1 + (state >> 40);
            recorder.serve(slice(0, (state >> 33 & 7) as usize, at, to));
            at = to + 334;
        }
        (recorder, at - 334)
    }

    #[test]
    fn rounding_does_not_add_up() {
        let (recorder, end_ns) = noisy(30_000);
        let exact = recorder.encode(1, end_ns).bytes();
        let timeline = recorder.finish(end_ns, exact * 3 / 4);
        assert!(timeline.unit_ns >= 10 && !timeline.is_cut && timeline.bytes() <= exact * 3 / 4);
        let [gaps, lengths, _] = columns(&timeline.cpus[0]);
        let sum: u64 = gaps.iter().chain(&lengths).sum();
        assert!((sum * timeline.unit_ns).abs_diff(end_ns) <= timeline.unit_ns);
    }

    #[test]
    fn what_rounding_does_not_save_is_cut() {
        let (recorder, end_ns) = noisy(30_000);
        let timeline = recorder.finish(end_ns, 20_000);
        assert!(timeline.bytes() <= 20_000 && timeline.bytes() > 15_000, "{}", timeline.bytes());
        assert!(timeline.is_cut && timeline.to_ns < end_ns);
    }

    /// Task 0 comes at 0, runs from 10 and ends a job at 30 on CPU 0, where it wakes task 1, which runs on CPU 1 from 50. It goes
    /// on at once with another job.
    fn eventful(most: usize) -> TimelineRecorder {
        let woken = |row: usize, at_ns, by| Observation::Woken { task: TaskId::at(row + 1), row, at_ns, by };
        let done = |row, from_ns, to_ns| {
            let task = TaskId::at(row + 1);
            Observation::JobDone(JobDone { task, row, from_ns, to_ns, service_ns: 1, wait_ns: 0 })
        };
        let mut recorder = TimelineRecorder::new(2, 0, most);
        for observation in [
            woken(0, 0, None),
            Observation::Served(slice(0, 0, 10, 20)),
            Observation::Served(slice(0, 0, 20, 30)),
            woken(1, 30, Some(CpuId::new(0))),
            done(0, 0, 30),
            Observation::Rests { task: TaskId::at(1), at_ns: 30 },
            woken(0, 30, None),
            Observation::Served(slice(0, 0, 30, 45)),
            Observation::Served(slice(1, 1, 50, 60)),
            Observation::Rests { task: TaskId::at(2), at_ns: 60 },
            woken(1, 70, None),
            Observation::Served(slice(1, 1, 70, 80)),
        ] {
            recorder.record(observation);
        }
        recorder
    }

    #[test]
    fn slices_know_their_wake_ups_and_the_ends_of_jobs() {
        let timeline = eventful(10).finish(90, usize::MAX);
        assert_eq!(timeline.marks_to_ns, Some(90));
        let marks = |cpu: usize| {
            let marks = timeline.cpus[cpu].marks.as_ref().expect("room");
            [&marks.wakes, &marks.delays, &marks.ends].map(decode)
        };
        // A job that begins where another ended is a slice of its own, and no wake-up.
        assert_eq!(columns(&timeline.cpus[0]), [vec![10, 0], vec![20, 15], vec![0, 0]]);
        assert_eq!(marks(0), [vec![2, 0], vec![10], vec![1, 0]]);
        assert_eq!(marks(1), [vec![4, 1], vec![20, 0], vec![0, 0]]);
    }

    #[test]
    fn marks_get_the_room_that_slices_leave() {
        let bytes = eventful(10).finish(90, usize::MAX).bytes();
        let timeline = eventful(10).finish(90, bytes);
        assert_eq!((timeline.slices, timeline.marks_to_ns), (4, None));
        let (mut recorder, end_ns) = noisy(20_000);
        recorder.cpus[0].iter_mut().for_each(|slice| {
            slice.woken = Some(Woken { at_ns: slice.service.from_ns / 2, by: None, is_new: false });
        });
        let room = recorder.encode(1, end_ns).bytes() + 10_000;
        let timeline = recorder.finish(end_ns, room);
        let marks = timeline.cpus[0].marks.as_ref().expect("some");
        assert!(!timeline.is_cut && timeline.marks_to_ns.is_some_and(|to_ns| to_ns < end_ns));
        assert!(marks.bytes() <= 10_000 && marks.bytes() > 5_000, "{}", marks.bytes());
        assert!(decode(&marks.wakes).len() == decode(&marks.delays).len());
    }

    #[test]
    fn units_are_round() {
        assert_eq!([1, 2, 3, 6, 10, 11, 499, 501].map(round_up), [1, 2, 5, 10, 10, 20, 500, 1000]);
    }
}
