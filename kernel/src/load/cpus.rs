//! The CPUs of this system. The machine numbers the online CPUs without gaps.

use std::fs;

use divvy_policy::spec::Spec;

use super::error::{LoadError, Missing};
use super::shards::{self, Divided};
use crate::cpu_list;

/// CPUs that the machine and the BPF host have room for: `MAX_CPUS` of `policy/base.h`. The simulator's machine has more.
pub const CPU_SLOTS: usize = 256;

/// In a map of CPUs: none.
pub const NO_CPU: u16 = 0xffff;

const ONLINE: &str = "/sys/devices/system/cpu/online";
const HOTPLUG_SEQ: &str = "/sys/kernel/sched_ext/hotplug_seq";

/// How often CPUs came or went, as the kernel counts; 0 if it does not say. Read before the CPUs, and compared when the scheduler is
/// attached, it tells whether they are still the same.
pub fn hotplug_seq() -> u64 {
    fs::read_to_string(HOTPLUG_SEQ).ok().and_then(|text| text.trim().parse().ok()).unwrap_or(0)
}

/// The kernel's numbers of the CPUs that are online: ascending, or shard by shard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cpus {
    /// By the machine's number.
    kernel: Vec<u16>,
    divided: Option<Divided>,
}

impl Cpus {
    /// Reads the online CPUs of this system, and divides them into the shards of a spec.
    pub fn online(spec: &Spec) -> Result<Self, LoadError> {
        let text = fs::read_to_string(ONLINE)
            .map_err(|error| LoadError::Io(format!("cannot read {ONLINE}"), error))?;
        let ranges =
            cpu_list::parse(&text).ok_or_else(|| LoadError::Mismatch(format!("{ONLINE} says {text:?}")))?;
        let mut cpus: Vec<u16> = ranges.into_iter().flatten().collect();
        if cpus.iter().any(|cpu| usize::from(*cpu) >= CPU_SLOTS) {
            return Err(too_many(&text).into());
        }
        let divided = shards::divide(spec, &mut cpus)?;
        Ok(Self { kernel: cpus, divided })
    }

    /// The shards, if there are several.
    pub fn divided(&self) -> Option<&Divided> {
        self.divided.as_ref()
    }

    /// The CPUs of each shard as the kernel lists them; none if there are not several.
    pub fn shards(&self) -> Vec<String> {
        let Some(divided) = &self.divided else { return Vec::new() };
        let mut rest = self.kernel.iter().copied();
        let cpus_of = |size: &u8| rest.by_ref().take(usize::from(*size)).collect::<Vec<u16>>();
        divided.sizes().iter().map(cpus_of).map(|cpus| cpu_list::format(&cpus)).collect()
    }

    /// So many CPUs of a machine that is not here, divided into the shards of a spec.
    pub fn supposed(count: u16, spec: &Spec) -> Result<Self, LoadError> {
        let mut cpus: Vec<u16> = (0..count).collect();
        let divided = shards::divide_supposed(spec, &mut cpus)?;
        Ok(Self { kernel: cpus, divided })
    }

    /// The first so many.
    pub fn first(count: u16) -> Self {
        Self { kernel: (0..count).collect(), divided: None }
    }

    #[cfg(test)]
    pub fn of(cpus: Vec<u16>) -> Self {
        Self { kernel: cpus, divided: None }
    }

    pub fn count(&self) -> u32 {
        self.kernel.len() as u32
    }

    /// The machine's numbers, by the kernel's number.
    pub fn machine(&self) -> Vec<u16> {
        let mut map = vec![NO_CPU; CPU_SLOTS];
        for (index, cpu) in self.kernel.iter().enumerate() {
            map[usize::from(*cpu)] = index as u16;
        }
        map
    }

    /// The kernel's numbers, by the machine's number.
    pub fn kernel(&self) -> Vec<u16> {
        let mut map = self.kernel.clone();
        map.resize(CPU_SLOTS, NO_CPU);
        map
    }
}

fn too_many(online: &str) -> Missing {
    Missing::new(
        format!("the CPUs {} are online, but policies can use only CPUs below {CPU_SLOTS}", online.trim()),
        "take the others offline: echo 0 > /sys/devices/system/cpu/cpuN/online",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machine_has_no_gaps_where_the_kernel_has() {
        let cpus = Cpus::of(vec![0, 2, 5]);
        assert_eq!(cpus.count(), 3);
        assert_eq!(cpus.machine()[..7], [0, NO_CPU, 1, NO_CPU, NO_CPU, 2, NO_CPU]);
        assert_eq!(cpus.kernel()[..4], [0, 2, 5, NO_CPU]);
        assert_eq!((cpus.machine().len(), cpus.kernel().len()), (CPU_SLOTS, CPU_SLOTS));
    }
}
