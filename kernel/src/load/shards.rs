//! The shards into which the CPUs are divided (`papers/placement.md`): the part of a spec after `@`, on this machine.

use std::fs;
use std::path::Path;

use divvy_policy::placement::{MOST_CPUS, Placement, Shards};
use divvy_policy::spec::Spec;

use super::error::{LoadError, Missing};
use crate::cpu_list;

/// `MOST_SHARDS` of `bpf/host.h`.
pub const MOST_SHARDS: usize = 8;

const CPUS: &str = "/sys/devices/system/cpu";
const NODES: &str = "/sys/devices/system/node";

/// The CPUs of the shards, by the machine's number: neighbours, all shards of the same size but the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Divided {
    size: u32,
    placement: Placement,
}

impl Divided {
    /// The CPUs of a shard; the last may have fewer.
    pub fn size(self) -> u32 {
        self.size
    }

    /// The bytes of a `struct host_shards`, which has room for so many CPUs.
    pub fn bytes(self, cpus: u32, slots: usize) -> Vec<u8> {
        let shards = cpus.div_ceil(self.size);
        let mut bytes = Vec::new();
        for word in [shards, self.placement.skew_quanta, self.placement.steal.into()] {
            bytes.extend(word.to_ne_bytes());
        }
        let firsts = (0..MOST_SHARDS as u32).map(|shard| (shard * self.size).min(cpus) as u16);
        firsts.clone().for_each(|first| bytes.extend(first.to_ne_bytes()));
        let counts = firsts.map(|first| self.size.min(cpus - u32::from(first)) as u16);
        counts.for_each(|count| bytes.extend(count.to_ne_bytes()));
        let of_cpu = |cpu: usize| (cpu as u32 / self.size).min(MOST_SHARDS as u32 - 1) as u8;
        bytes.extend((0..slots).map(of_cpu));
        bytes
    }
}

/// Orders the CPUs of this machine by shard. `None` if all are in one, as without placement.
pub fn divide(spec: &Spec, cpus: &mut Vec<u16>) -> Result<Option<Divided>, LoadError> {
    let Some(placement) = spec.placement else { return Ok(None) };
    let groups = match placement.shards {
        Shards::EachCpu => cpus.iter().map(|cpu| vec![*cpu]).collect(),
        Shards::OfSize(size) => cpus.chunks(size as usize).map(<[u16]>::to_vec).collect(),
        Shards::EachLlc => grouped(cpus, |cpu| last_level_cache(Path::new(CPUS), cpu)),
        Shards::EachNode => grouped(cpus, |cpu| node(Path::new(NODES), cpu)),
    };
    let size = size_of(placement, &groups)?;
    *cpus = groups.concat();
    Ok((groups.len() > 1).then_some(Divided { size, placement }))
}

/// The CPUs in the order of their first ones, with those that share what `of` says; those of which nobody knows share nothing.
fn grouped(cpus: &[u16], of: impl Fn(u16) -> Option<Vec<u16>>) -> Vec<Vec<u16>> {
    let mut groups: Vec<Vec<u16>> = Vec::new();
    for &cpu in cpus {
        if groups.iter().any(|group| group.contains(&cpu)) {
            continue;
        }
        let shared = of(cpu).unwrap_or_default();
        let is_of_it = |other: &u16| *other == cpu || shared.contains(other);
        let taken = |other: &u16| groups.iter().any(|group| group.contains(other));
        groups.push(cpus.iter().copied().filter(|other| is_of_it(other) && !taken(other)).collect());
    }
    groups
}

/// The CPUs of a shard, if they are as many in all but the last.
fn size_of(placement: Placement, groups: &[Vec<u16>]) -> Result<u32, LoadError> {
    let first = groups.first().map_or(1, Vec::len);
    let is_even = groups.iter().rev().skip(1).all(|group| group.len() == first);
    let what = if groups.len() > MOST_SHARDS {
        format!("these are {} shards, and there may be {MOST_SHARDS}", groups.len())
    } else if !is_even || groups.last().is_some_and(|group| group.len() > first) {
        let sizes: Vec<String> = groups.iter().map(|group| group.len().to_string()).collect();
        format!("shards must have equal numbers of CPUs, and these have {}", sizes.join(", "))
    } else if first > MOST_CPUS as usize && groups.len() > 1 {
        format!("a shard has at most {MOST_CPUS} CPUs, and these have {first}")
    } else {
        return Ok(first as u32);
    };
    Err(Missing::new(format!("`@{placement}`: {what}"), instead(placement, groups)).into())
}

/// The most shards that can be, of the size that was asked for if it can be.
fn instead(placement: Placement, groups: &[Vec<u16>]) -> String {
    let cpus: usize = groups.iter().map(Vec::len).sum();
    let least = cpus.div_ceil(MOST_SHARDS);
    if least > MOST_CPUS as usize {
        return format!("{cpus} CPUs are more than {MOST_SHARDS} shards may have: leave out the placement");
    }
    let size = groups.first().map_or(1, Vec::len).clamp(least, MOST_CPUS as usize) as u32;
    format!("write `@{}`", Placement { shards: Shards::OfSize(size), ..placement })
}

/// The CPUs that share the last-level cache with this one.
fn last_level_cache(cpus: &Path, cpu: u16) -> Option<Vec<u16>> {
    let caches = fs::read_dir(cpus.join(format!("cpu{cpu}/cache"))).ok()?;
    let of = |cache: fs::DirEntry| {
        let level: u32 = fs::read_to_string(cache.path().join("level")).ok()?.trim().parse().ok()?;
        Some((level, listed(&cache.path().join("shared_cpu_list"))?))
    };
    caches.flatten().filter_map(of).max_by_key(|(level, _)| *level).map(|(_, shared)| shared)
}

/// The CPUs of the node of this one.
fn node(nodes: &Path, cpu: u16) -> Option<Vec<u16>> {
    let entries = fs::read_dir(nodes).ok()?.flatten();
    entries.filter_map(|entry| listed(&entry.path().join("cpulist"))).find(|cpus| cpus.contains(&cpu))
}

fn listed(path: &Path) -> Option<Vec<u16>> {
    let ranges = cpu_list::parse(&fs::read_to_string(path).ok()?)?;
    Some(ranges.into_iter().flatten().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn divided(text: &str, cpus: &mut Vec<u16>) -> Result<Option<Divided>, String> {
        let spec = divvy_policy::spec::parse(text, divvy_policy::all()).expect("a spec");
        divide(&spec, cpus).map_err(|error| error.to_string())
    }

    #[test]
    fn shards_have_neighbours() {
        let mut cpus = vec![0, 2, 3, 5, 6];
        let shards = divided("sfq@shards:size=2:skew=3", &mut cpus).expect("it can").expect("several");
        assert_eq!((shards.size(), cpus.len()), (2, 5));
        let bytes = shards.bytes(5, 256);
        assert_eq!(bytes.len(), 12 + 4 * MOST_SHARDS + 256);
        assert_eq!(bytes[..12], [3u32, 3, 1].map(u32::to_ne_bytes).concat()[..]);
        assert_eq!(bytes[12..18], [0u16, 2, 4].map(u16::to_ne_bytes).concat()[..]);
        assert_eq!(bytes[28..36], [2u16, 2, 1, 0].map(u16::to_ne_bytes).concat()[..]);
        assert_eq!(bytes[44..50], [0, 0, 1, 1, 2, 2]);
    }

    #[test]
    fn one_shard_is_none() {
        assert_eq!(divided("sfq", &mut vec![0, 1]), Ok(None));
        assert_eq!(divided("sfq@shards:size=8", &mut vec![0, 1]), Ok(None));
        assert_eq!(divided("sfq@cpu", &mut vec![0]), Ok(None));
    }

    #[test]
    fn too_many_say_what_to_write() {
        let said = divided("sfq@cpu", &mut (0..12).collect()).expect_err("more than 8");
        assert!(said.contains("12 shards") && said.contains("`@shards:size=2`"), "{said}");
        let said = divided("sfq@cpu:skew=9:steal=off", &mut (0..12).collect()).expect_err("more than 8");
        assert!(said.contains("`@shards:size=2:skew=9:steal=off`"), "{said}");
        let said = divided("sfq@cpu", &mut (0..600).collect()).expect_err("more than 512 CPUs");
        assert!(said.contains("leave out the placement"), "{said}");
    }

    #[test]
    fn unequal_ones_say_what_to_write() {
        let spec = divvy_policy::spec::parse("sfq@llc:skew=2", divvy_policy::all()).expect("a spec");
        let placement = spec.placement.expect("one");
        let said = |sizes: &[u16]| {
            let groups: Vec<Vec<u16>> = sizes.iter().map(|&size| (0..size).collect()).collect();
            size_of(placement, &groups).map_err(|error| error.to_string())
        };
        assert_eq!(said(&[4, 4, 2]), Ok(4));
        for (sizes, fix) in
            [(&[4, 2, 4], "`@shards:size=4:skew=2`"), (&[65, 65, 65], "`@shards:size=64:skew=2`")]
        {
            let said = said(sizes).expect_err("unequal, or too large");
            assert!(said.contains(fix), "{said}");
        }
    }

    /// CPUs 0, 1, 4, 5 share a cache, and 2, 3, 6, 7 another.
    #[test]
    fn a_cache_has_all_its_cpus() {
        let of = |cpu: u16| Some([[0, 1, 4, 5], [2, 3, 6, 7]][usize::from(cpu / 2 % 2)].to_vec());
        assert_eq!(grouped(&[0, 1, 2, 3, 4, 5, 6, 7], of), [[0, 1, 4, 5], [2, 3, 6, 7]]);
        assert_eq!(grouped(&[1, 2, 7], of), [vec![1], vec![2, 7]]);
        assert_eq!(grouped(&[1, 2], |_| None), [[1], [2]]);
    }
}
