//! The threads and cgroups that are there when a recording begins.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

/// Where cgroups of version 2 are mounted; with version 1 beside it, the second.
const CGROUPS: [&str; 2] = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"];
/// A file that only cgroups of version 2 have.
const IS_UNIFIED: &str = "cgroup.controllers";
/// More directories than that in each other are no cgroups.
const DEEPEST: usize = 64;

/// A thread that was there before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Thread {
    pub process: i32,
    pub tid: i32,
    pub comm: [u8; 16],
}

/// All threads, as far as `/proc` shows them.
pub fn threads() -> Vec<Thread> {
    let numbers = |path: &Path| -> Vec<i32> {
        let entries = fs::read_dir(path).into_iter().flatten().filter_map(Result::ok);
        entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
    };
    let mut threads = Vec::new();
    for process in numbers(Path::new("/proc")) {
        let tasks = format!("/proc/{process}/task");
        for tid in numbers(Path::new(&tasks)) {
            // It may have ended.
            if let Ok(name) = fs::read(format!("{tasks}/{tid}/comm")) {
                threads.push(Thread { process, tid, comm: comm(&name) });
            }
        }
    }
    threads
}

fn comm(line: &[u8]) -> [u8; 16] {
    let name = line.strip_suffix(b"\n").unwrap_or(line);
    let length = name.len().min(15);
    let mut comm = [0; 16];
    comm[..length].copy_from_slice(&name[..length]);
    comm
}

/// Number and path of each cgroup of version 2.
pub fn cgroups() -> Vec<(u64, String)> {
    let mut found = Vec::new();
    if let Some(root) = CGROUPS.into_iter().map(Path::new).find(|root| root.join(IS_UNIFIED).exists()) {
        add(root, String::new(), DEEPEST, &mut found);
    }
    found
}

fn add(directory: &Path, path: String, deeper: usize, found: &mut Vec<(u64, String)>) {
    let Ok(known) = fs::metadata(directory) else { return };
    found.push((known.ino(), if path.is_empty() { "/".to_owned() } else { path.clone() }));
    let entries = fs::read_dir(directory).into_iter().flatten().filter_map(Result::ok);
    for entry in entries.filter(|_| deeper > 0) {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            let path = format!("{path}/{}", entry.file_name().to_string_lossy());
            add(&entry.path(), path, deeper - 1, found);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_thread_is_among_them() {
        let tid = rustix::thread::gettid().as_raw_nonzero().get();
        let process = std::process::id() as i32;
        let found = threads();
        assert!(found.iter().any(|thread| thread.tid == tid && thread.process == process));
    }

    #[test]
    fn names_are_cut_as_the_kernel_cuts_them() {
        assert_eq!(comm(b"sh\n"), *b"sh\0\0\0\0\0\0\0\0\0\0\0\0\0\0");
        assert_eq!(comm(b"12345678901234567\n"), *b"123456789012345\0");
        assert_eq!(comm(b"a\nb\n")[..4], *b"a\nb\0");
    }
}
