//! The loader's capabilities: it keeps only those that it needs, and raises them only while it loads. A thread has its own.

use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, clear_ambient_capability_set,
    remove_capability_from_bounding_set, set_capabilities, set_no_new_privs,
};

use super::check::NEEDED;

/// Drops capabilities after loading. In effect stays only CAP_KILL, and only to signal a command, which may run as another
/// user. Those for loading can be raised again, because CPUs may come and go, and another policy may be asked for. All others are gone for good, and no program
/// that this thread might execute gets any. Best effort: without capabilities there is nothing to drop.
pub fn drop(has_command: bool) {
    let Ok(has) = capabilities(None) else { return };
    let needed = NEEDED.iter().fold(CapabilitySet::empty(), |all, (cap, _)| all | *cap);
    let for_loading = if has.permitted.contains(needed) { needed } else { CapabilitySet::SYS_ADMIN };
    let kill = if has_command { CapabilitySet::KILL } else { CapabilitySet::empty() };
    keep(has.permitted & kill, has.permitted & (for_loading | kill));
}

/// Drops all of this thread's, for good.
pub fn drop_all() {
    keep(CapabilitySet::empty(), CapabilitySet::empty());
}

/// Raises the capabilities before loading again.
pub fn raise() {
    if let Ok(has) = capabilities(None) {
        set(has.permitted, has.permitted);
    }
}

fn keep(effective: CapabilitySet, permitted: CapabilitySet) {
    let _ = set_no_new_privs(true);
    let _ = clear_ambient_capability_set();
    for capability in CapabilitySet::all().iter() {
        // This needs CAP_SETPCAP, which goes below. Without it, executing gives nothing because of no_new_privs.
        let _ = remove_capability_from_bounding_set(capability);
    }
    set(effective, permitted);
}

fn set(effective: CapabilitySet, permitted: CapabilitySet) {
    let sets = CapabilitySets { effective, permitted, inheritable: CapabilitySet::empty() };
    let _ = set_capabilities(None, sets);
}

#[cfg(test)]
mod tests {
    use rustix::thread::{capability_is_in_bounding_set, no_new_privs};

    use super::*;

    /// In a thread of its own, whose privileges end with it.
    fn after<T: Send>(change: impl FnOnce() -> T + Send) -> T {
        std::thread::scope(|scope| scope.spawn(change).join().expect("the thread"))
    }

    fn loading() -> CapabilitySet {
        CapabilitySet::BPF | CapabilitySet::PERFMON | CapabilitySet::NET_ADMIN | CapabilitySet::SYS_ADMIN
    }

    #[test]
    fn nothing_but_loading_again_can_be_raised() {
        let before = capabilities(None).expect("asked").permitted;
        for (has_command, kept) in [(false, CapabilitySet::empty()), (true, CapabilitySet::KILL)] {
            let (dropped, raised, gains) = after(|| {
                drop(has_command);
                let dropped = capabilities(None).expect("asked");
                raise();
                (dropped, capabilities(None).expect("asked"), !no_new_privs().expect("asked"))
            });
            assert_eq!(dropped.effective, before & kept);
            assert!((loading() | kept).contains(raised.permitted), "{raised:?}");
            assert_eq!(raised.effective, raised.permitted, "it can load again");
            assert_eq!(before.contains(CapabilitySet::BPF), raised.effective.contains(CapabilitySet::BPF));
            assert!(dropped.inheritable.is_empty() && !gains);
        }
    }

    #[test]
    fn no_program_gets_what_was_dropped() {
        let can_bound = capabilities(None).expect("asked").effective.contains(CapabilitySet::SETPCAP);
        let (all, bound) = after(|| {
            drop_all();
            raise();
            let bound =
                CapabilitySet::all().iter().any(|cap| capability_is_in_bounding_set(cap).unwrap_or(false));
            (capabilities(None).expect("asked"), bound)
        });
        assert!(all.effective.is_empty() && all.permitted.is_empty(), "{all:?}");
        assert!(!can_bound || !bound);
    }
}
