//! Names that tell nothing: each name becomes another, the same one each time.

use std::collections::HashMap;

/// The idle tasks keep theirs, which every machine has: `swapper/` and the number of their CPU.
fn is_idle(name: &[u8]) -> bool {
    name == b"swapper"
        || name
            .strip_prefix(b"swapper/")
            .is_some_and(|cpu| !cpu.is_empty() && cpu.iter().all(u8::is_ascii_digit))
}

/// The names that were given.
#[derive(Debug, Default)]
pub struct Names {
    threads: HashMap<[u8; 16], [u8; 16]>,
    parts: HashMap<Vec<u8>, usize>,
}

impl Names {
    /// Puts `task1`, `task2`.. in the place of a thread's name.
    pub fn thread(&mut self, comm: &mut [u8; 16]) {
        let end = comm.iter().position(|&b| b == 0).unwrap_or(15);
        comm[end..].fill(0); // old memory may be behind it
        if is_idle(&comm[..end]) || end == 0 {
            return;
        }
        let number = self.threads.len() + 1;
        let name = self.threads.entry(*comm).or_insert_with(|| {
            let mut name = [0; 16];
            let text = format!("task{number}");
            let length = text.len().min(15);
            name[..length].copy_from_slice(&text.as_bytes()[..length]);
            name
        });
        *comm = *name;
    }

    /// Puts `group1`, `group2`.. in the place of each directory of a path.
    pub fn path(&mut self, path: &str) -> String {
        let parts = path.split('/').filter(|part| !part.is_empty()).map(|part| {
            let number = self.parts.len() + 1;
            format!("/group{}", self.parts.entry(part.as_bytes().to_vec()).or_insert(number))
        });
        let path: String = parts.collect();
        if path.is_empty() { "/".to_owned() } else { path }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> [u8; 16] {
        let mut name = [0; 16];
        name[..text.len()].copy_from_slice(text.as_bytes());
        name
    }

    #[test]
    fn the_same_name_is_the_same_again_and_another_is_another() {
        let mut names = Names::default();
        let mut given = |text: &str| {
            let mut comm = name(text);
            names.thread(&mut comm);
            comm
        };
        let secret = given("secret");
        assert_eq!(secret, name("task1"));
        assert_eq!(given("another"), name("task2"));
        assert_eq!(given("secret"), secret);
        assert_eq!(given("swapper/3"), name("swapper/3"));
        assert!(given("swapper_acme").starts_with(b"task"));
        assert_eq!(given(""), name(""));
    }

    #[test]
    fn what_is_behind_a_names_end_is_old_memory() {
        let mut names = Names::default();
        let (mut first, mut second) = (*b"sh\0secret\0\0\0\0\0\0\0", name("sh"));
        names.thread(&mut first);
        names.thread(&mut second);
        assert_eq!(first, second);
        let mut idle = *b"swapper/0\0secret";
        names.thread(&mut idle);
        assert_eq!(idle, name("swapper/0"));
    }

    #[test]
    fn a_paths_structure_stays() {
        let mut names = Names::default();
        assert_eq!(names.path("/user.slice/alice"), "/group1/group2");
        assert_eq!(names.path("/user.slice/bob"), "/group1/group3");
        assert_eq!(names.path("/"), "/");
    }
}
