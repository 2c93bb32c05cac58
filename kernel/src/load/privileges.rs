//! What the loader may do: only what it needs, and only when it loads.

use rustix::thread::{CapabilitySet, CapabilitySets, capabilities, set_capabilities};

use super::check::NEEDED;

/// After loading: nothing but a signal to the command, which may run as somebody else. What loading needs can be
/// raised again, as CPUs may come and go. Best effort: who has no capability has none to drop.
pub fn drop() {
    let Ok(has) = capabilities(None) else { return };
    let needed = NEEDED.iter().fold(CapabilitySet::empty(), |all, (cap, _)| all | *cap);
    let for_loading = if has.permitted.contains(needed) { needed } else { CapabilitySet::SYS_ADMIN };
    let permitted = has.permitted & (for_loading | CapabilitySet::KILL);
    set(permitted & CapabilitySet::KILL, permitted);
}

/// Before loading again.
pub fn raise() {
    if let Ok(has) = capabilities(None) {
        set(has.permitted, has.permitted);
    }
}

fn set(effective: CapabilitySet, permitted: CapabilitySet) {
    let sets = CapabilitySets { effective, permitted, inheritable: CapabilitySet::empty() };
    let _ = set_capabilities(None, sets);
}
