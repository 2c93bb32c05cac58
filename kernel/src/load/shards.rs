//! The shards into which the CPUs are divided (`papers/placement.md`): the part of a spec after `@`, on this machine.

use std::fs;
use std::iter::repeat;
use std::path::Path;

use divvy_policy::placement::{MOST_CPUS, Placement, Shards};
use divvy_policy::spec::Spec;

use super::error::{LoadError, Missing};
use crate::cpu_list;

/// `MOST_SHARDS` of `bpf/host.h`.
pub const MOST_SHARDS: usize = 64;
/// `SPARE_MACHINES` of `bpf/host/shards.h`.
const SPARE_MACHINES: usize = 4;

const CPUS: &str = "/sys/devices/system/cpu";
const NODES: &str = "/sys/devices/system/node";

/// The CPUs of the shards, by the machine's number: neighbours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Divided {
    /// The CPUs of each shard, 1 to 64.
    sizes: Vec<u8>,
    placement: Placement,
}

impl Divided {
    /// How many CPUs each shard has.
    pub fn sizes(&self) -> &[u8] {
        &self.sizes
    }

    /// The number of machines that the host has: a power of two, so that a mask is enough for the verifier.
    fn machines(&self) -> usize {
        self.sizes.len().next_power_of_two()
    }

    /// The bytes of the host's machines; `all` is those of the machines in the object. `None` if the object has another number of them.
    pub fn machine_bytes(&self, all: usize) -> Option<usize> {
        let of_object = MOST_SHARDS + SPARE_MACHINES;
        all.is_multiple_of(of_object).then(|| all / of_object * (self.machines() + SPARE_MACHINES))
    }

    /// The bytes of a `struct host_shards`, which has room for so many CPUs.
    pub fn bytes(&self, slots: usize) -> Vec<u8> {
        let (shards, mask) = (self.sizes.len() as u32, self.machines() as u32 - 1);
        let mut bytes = Vec::new();
        for word in [shards, mask, self.placement.skew_quanta, self.placement.steal.into()] {
            bytes.extend(word.to_ne_bytes());
        }
        let of_cpu: Vec<u8> =
            (0u8..).zip(&self.sizes).flat_map(|(shard, size)| vec![shard; usize::from(*size)]).collect();
        let sizes = || self.sizes.iter().map(|size| u16::from(*size));
        let firsts = sizes().scan(0, |next, size| Some(std::mem::replace(next, *next + size)));
        let end = of_cpu.len() as u16;
        let padded = |words: Vec<u16>, with| words.into_iter().chain(repeat(with)).take(MOST_SHARDS);
        for word in padded(firsts.collect(), end).chain(padded(sizes().collect(), 0)) {
            bytes.extend(word.to_ne_bytes());
        }
        bytes.extend(of_cpu.into_iter().chain(repeat(0)).take(slots));
        bytes
    }
}

/// The same of a machine that is not here.
pub fn divide_supposed(spec: &Spec, cpus: &mut Vec<u16>) -> Result<Option<Divided>, LoadError> {
    match spec.placement {
        Some(placement) if matches!(placement.shards, Shards::EachLlc | Shards::EachNode) => {
            let instead = Placement { shards: Shards::OfSize(8), ..placement };
            let what =
                format!("`@{placement}` with --cpus: the caches and nodes of that machine are not known");
            Err(Missing::new(what, format!("say how many CPUs a shard has: `@{instead}`")).into())
        }
        _ => divide(spec, cpus),
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
    *cpus = groups.concat();
    if groups.len() < 2 {
        return Ok(None);
    }
    Ok(Some(Divided { sizes: sizes_of(placement, &groups)?, placement }))
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

/// The CPUs of each shard, if there are not too many shards, or CPUs in one.
fn sizes_of(placement: Placement, groups: &[Vec<u16>]) -> Result<Vec<u8>, LoadError> {
    let most = groups.iter().map(Vec::len).max().unwrap_or(0);
    let what = if groups.len() > MOST_SHARDS {
        format!("these are {} shards, and there may be {MOST_SHARDS}", groups.len())
    } else if most > MOST_CPUS as usize {
        format!("a shard has at most {MOST_CPUS} CPUs, and one of these has {most}")
    } else {
        return Ok(groups.iter().map(|group| group.len() as u8).collect());
    };
    Err(Missing::new(format!("`@{placement}`: {what}"), instead(placement, groups)).into())
}

/// The most shards that can be, of the size that was asked for if it can be.
fn instead(placement: Placement, groups: &[Vec<u16>]) -> String {
    let cpus: usize = groups.iter().map(Vec::len).sum();
    let size =
        groups.first().map_or(1, Vec::len).clamp(cpus.div_ceil(MOST_SHARDS), MOST_CPUS as usize) as u32;
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
        assert_eq!((shards.sizes(), shards.machines(), cpus.len()), (&[2u8, 2, 1][..], 4, 5));
        let bytes = shards.bytes(256);
        assert_eq!(bytes.len(), 16 + 4 * MOST_SHARDS + 256);
        let (words, rest) = bytes.split_at(16);
        let (firsts, rest) = rest.split_at(2 * MOST_SHARDS);
        let (counts, of_cpu) = rest.split_at(2 * MOST_SHARDS);
        assert_eq!(words, [3u32, 3, 3, 1].map(u32::to_ne_bytes).concat());
        assert_eq!(firsts[..8], [0u16, 2, 4, 5].map(u16::to_ne_bytes).concat());
        assert_eq!(counts[..8], [2u16, 2, 1, 0].map(u16::to_ne_bytes).concat());
        assert_eq!(of_cpu[..6], [0, 0, 1, 1, 2, 0]);
    }

    #[test]
    fn one_shard_is_none() {
        assert_eq!(divided("sfq", &mut vec![0, 1]), Ok(None));
        assert_eq!(divided("sfq@shards:size=8", &mut vec![0, 1]), Ok(None));
        assert_eq!(divided("sfq@cpu", &mut vec![0]), Ok(None));
    }

    #[test]
    fn too_many_say_what_to_write() {
        assert_eq!(divided("sfq@cpu", &mut (0..64).collect()).expect("64").expect("several").machines(), 64);
        let said = divided("sfq@cpu", &mut (0..65).collect()).expect_err("more than 64");
        assert!(said.contains("65 shards") && said.contains("`@shards:size=2`"), "{said}");
        let said = divided("sfq@cpu:skew=9:steal=off", &mut (0..256).collect()).expect_err("more than 64");
        assert!(said.contains("`@shards:size=4:skew=9:steal=off`"), "{said}");
    }

    #[test]
    fn a_machine_that_is_not_here_has_no_known_caches() {
        let supposed = |text: &str| {
            let spec = divvy_policy::spec::parse(text, divvy_policy::all()).expect("a spec");
            divide_supposed(&spec, &mut (0..64).collect()).map_err(|error| error.to_string())
        };
        assert_eq!(supposed("sfq@cpu").expect("it can").expect("several").sizes(), [1; 64]);
        assert_eq!(supposed("sfq"), Ok(None));
        let said = supposed("sfq@llc:skew=2").expect_err("not known");
        assert!(said.contains("not known") && said.contains("`@shards:size=8:skew=2`"), "{said}");
    }

    #[test]
    fn shards_of_a_cache_are_as_large_as_it_is() {
        let spec = divvy_policy::spec::parse("sfq@llc:skew=2", divvy_policy::all()).expect("a spec");
        let placement = spec.placement.expect("one");
        let sizes = |sizes: &[u16]| {
            let groups: Vec<Vec<u16>> = sizes.iter().map(|&size| (0..size).collect()).collect();
            sizes_of(placement, &groups).map_err(|error| error.to_string())
        };
        assert_eq!(sizes(&[4, 2, 64]), Ok(vec![4, 2, 64]));
        let said = sizes(&[8, 65]).expect_err("too large");
        assert!(said.contains("has 65") && said.contains("`@shards:size=8:skew=2`"), "{said}");
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
