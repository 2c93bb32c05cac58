//! The state in which a thread leaves its CPU (`prev_state` of `sched_switch`).
//!
//! The numbers differ between kernels, so they are decoded from the flag table in the trace's own `print fmt` when there is one,
//! else by the kernel's version. Letters mean the same in every kernel.

use divvy_results::schedule::State;

/// Decodes the letters that the kernel prints: `S`, `R+`, `D|K`, ... `None` if no letter is a known state.
pub fn from_letters(text: &[u8]) -> Option<State> {
    text.iter().find_map(|&letter| match letter {
        b'R' => Some(State::Runnable),
        b'S' => Some(State::Sleep),
        b'D' => Some(State::Disk),
        b'T' => Some(State::Stopped),
        b't' => Some(State::Traced),
        b'X' | b'x' | b'Z' => Some(State::Dead),
        b'P' => Some(State::Parked),
        b'I' => Some(State::Idle),
        b'K' | b'W' | b'N' | b'n' => Some(State::Unknown),
        _ => None,
    })
}

/// The letter that the kernel prints for a state; `None` if it is unknown.
pub fn letter(state: State) -> Option<&'static str> {
    match state {
        State::Runnable => Some("R"),
        State::Sleep => Some("S"),
        State::Disk => Some("D"),
        State::Stopped => Some("T"),
        State::Traced => Some("t"),
        State::Dead => Some("X"),
        State::Parked => Some("P"),
        State::Idle => Some("I"),
        State::Unknown => None,
    }
}

/// How one kernel numbers its states.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StateTable {
    /// (mask, state), in the table's order.
    flags: Vec<(u64, State)>,
}

impl StateTable {
    /// Reads the `{ 0x01, "S" }, ...` pairs of `__print_flags` in a print format; `None` if it has none.
    pub fn from_print_fmt(print_fmt: &str) -> Option<StateTable> {
        let (_, table) = print_fmt.split_once("__print_flags(")?;
        let mut flags = Vec::new();
        for entry in table.split('{').skip(1) {
            let (inner, _) = entry.split_once('}')?;
            let (mask, name) = inner.split_once(',')?;
            let letters = name.trim().trim_matches('"');
            let mask = parse_number(mask.trim())?;
            flags.push((mask, from_letters(letters.as_bytes()).unwrap_or(State::Unknown)));
            if flags.len() > 64 {
                return None;
            }
        }
        (!flags.is_empty()).then_some(StateTable { flags })
    }

    /// The table of a kernel by its release, "6.12.3-foo". Unknown releases count as new.
    pub fn of_release(release: &str) -> StateTable {
        let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(|n| n.parse::<u32>().unwrap_or(0));
        let version = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
        let old = version.0 > 0 && version < (4, 14);
        let mut flags =
            vec![(0x1, State::Sleep), (0x2, State::Disk), (0x4, State::Stopped), (0x8, State::Traced)];
        flags.extend([(0x10, State::Dead), (0x20, State::Dead)]); // X and Z changed places; both are the end
        if old {
            flags.extend([(0x40, State::Dead), (0x200, State::Parked)]);
        } else {
            flags.extend([(0x40, State::Parked), (0x80, State::Idle)]);
            flags.push((0x8000, State::Unknown)); // no kernel reports it: what divvy writes for an unknown state
        }
        StateTable { flags }
    }

    /// Decodes a raw value. Bits that the table does not name (such as "was preempted") say nothing about the state.
    pub fn decode(&self, raw: u64) -> State {
        let named = self.flags.iter().find(|(mask, _)| raw & mask != 0);
        named.map_or(State::Runnable, |&(_, state)| state)
    }
}

fn parse_number(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).ok(),
        None => text.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters() {
        let decode = |text: &str| from_letters(text.as_bytes());
        assert_eq!(decode("R+"), Some(State::Runnable));
        assert_eq!(decode("D|K"), Some(State::Disk));
        assert_eq!(decode("t"), Some(State::Traced));
        assert_eq!(decode("Z"), Some(State::Dead));
        assert_eq!(decode("?"), None);
    }

    /// The table decides, not the number: here 0x10 is Z and 0x40 is dead.
    #[test]
    fn the_traces_own_table() {
        let old = r#""%s", REC->prev_state & (4096-1) ? __print_flags(REC->prev_state & (4096-1), "|", { 1, "S"} , { 2, "D" }, { 16, "Z" }, { 32, "X" }, { 64, "x" }, { 512, "P" }) : "R", REC->prev_state & 4096 ? "+" : """#;
        let table = StateTable::from_print_fmt(old).expect("a table");
        assert_eq!(table.decode(4096), State::Runnable);
        assert_eq!(table.decode(130), State::Disk);
        assert_eq!(table.decode(64), State::Dead);
        assert_eq!(table.decode(512), State::Parked);
        assert_eq!(StateTable::from_print_fmt("\"prev_state=%ld\", REC->prev_state"), None);
    }

    #[test]
    fn by_release_where_there_is_no_table() {
        let new = StateTable::of_release("6.18.44-x");
        assert_eq!(
            [0, 0x100, 1, 0x40, 0x80].map(|raw| new.decode(raw)),
            [State::Runnable, State::Runnable, State::Sleep, State::Parked, State::Idle]
        );
        let old = StateTable::of_release("4.9.0");
        assert_eq!(
            [0x40, 0x1000, 0x200].map(|raw| old.decode(raw)),
            [State::Dead, State::Runnable, State::Parked]
        );
        assert_eq!(StateTable::of_release(""), new);
    }
}
