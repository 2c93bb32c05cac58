//! The verifier's statistics of programs that the kernel accepted.

use std::time::Duration;

/// The verifier's statistics of one program. It refuses a program for which it would have to look at more than a million
/// instructions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerifiedProgram {
    /// The program's name in the BPF object.
    pub name: String,
    /// Instructions that the verifier looked at, counting one again each time.
    pub instructions: u64,
    /// States that it kept at most at a time.
    pub states: u64,
    /// How long it took.
    pub time: Duration,
}

/// Reads libbpf's messages: each program's log follows a line with its name. A line that is no statistic is skipped.
pub fn read(messages: &str) -> Vec<VerifiedProgram> {
    let mut programs: Vec<VerifiedProgram> = Vec::new();
    for line in messages.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let after = |word: &str| {
            let at = words.iter().position(|other| *other == word)?;
            words.get(at + 1)?.parse::<u64>().ok()
        };
        if let Some(name) = begins(line) {
            programs.push(VerifiedProgram {
                name: name.to_owned(),
                instructions: 0,
                states: 0,
                time: Duration::ZERO,
            });
        } else if let Some(program) = programs.last_mut() {
            match words.first() {
                Some(&"verification") => {
                    program.time = after("time").map_or(Duration::ZERO, Duration::from_micros);
                }
                Some(&"processed") => {
                    program.instructions = after("processed").unwrap_or(0);
                    program.states = after("peak_states").unwrap_or(0);
                }
                _ => {}
            }
        }
    }
    programs
}

/// The program's name, in `libbpf: prog 'NAME': -- BEGIN PROG LOAD LOG --`.
fn begins(line: &str) -> Option<&str> {
    let head = line.strip_suffix("-- BEGIN PROG LOAD LOG --")?;
    head.split('\'').nth(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statistics_are_read_from_libbpfs_messages() {
        let messages = "\
libbpf: map 'records': created successfully, fd=4
libbpf: prog 'host_init': -- BEGIN PROG LOAD LOG --
verification time 1532 usec
stack depth 48+0
processed 245 insns (limit 1000000) max_states_per_insn 1 total_states 14 peak_states 13 mark_read 2
-- END PROG LOAD LOG --
libbpf: prog 'host_dump': -- BEGIN PROG LOAD LOG --
processed 12 insns (limit 1000000) max_states_per_insn 0 total_states 1 peak_states 1 mark_read 1
-- END PROG LOAD LOG --
";
        let program = |name: &str, instructions, states, micros| VerifiedProgram {
            name: name.to_owned(),
            instructions,
            states,
            time: Duration::from_micros(micros),
        };
        assert_eq!(read(messages), [program("host_init", 245, 13, 1532), program("host_dump", 12, 1, 0)]);
        assert!(read("processed 12 insns").is_empty());
    }
}
