//! The loader's capabilities: it keeps only those that it needs, and raises them only while it loads.

use rustix::thread::{CapabilitySet, CapabilitySets, capabilities, set_capabilities};

use super::check::NEEDED;

/// Drops capabilities after loading. Only CAP_KILL stays, to signal the command, which may run as another user. Those for
/// loading can be raised again, because CPUs may come and go. Best effort: without capabilities there is nothing to drop.
pub fn drop() {
    let Ok(has) = capabilities(None) else { return };
    let needed = NEEDED.iter().fold(CapabilitySet::empty(), |all, (cap, _)| all | *cap);
    let for_loading = if has.permitted.contains(needed) { needed } else { CapabilitySet::SYS_ADMIN };
    let permitted = has.permitted & (for_loading | CapabilitySet::KILL);
    set(permitted & CapabilitySet::KILL, permitted);
}

/// Raises the capabilities before loading again.
pub fn raise() {
    if let Ok(has) = capabilities(None) {
        set(has.permitted, has.permitted);
    }
}

fn set(effective: CapabilitySet, permitted: CapabilitySet) {
    let sets = CapabilitySets { effective, permitted, inheritable: CapabilitySet::empty() };
    let _ = set_capabilities(None, sets);
}
