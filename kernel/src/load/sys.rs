//! Calls to the system that need `unsafe`: the only place under `load/`.

use std::fs::File;
use std::io::{self, Read as _};
use std::mem::{MaybeUninit, size_of};
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, FromRawFd as _};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

/// Signals that end a scheduler.
const ENDING: [i32; 3] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP];

/// The signals that end a scheduler, as a file to poll. They have no other effect until this is dropped.
#[derive(Debug)]
pub struct Signals(File);

/// A signal that arrived.
#[derive(Clone, Copy, Debug)]
pub struct Signal {
    /// Its number.
    pub number: i32,
    /// Sent by the terminal. It signals the whole foreground group, so a command there has the signal already.
    pub from_terminal: bool,
}

impl Signals {
    /// Call this while the process has one thread.
    pub fn block() -> io::Result<Self> {
        let set = ending_set();
        // SAFETY: the set is initialised, and the old one is not asked for.
        check(unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut()) })?;
        // SAFETY: as above; -1 asks for a new descriptor.
        let fd = unsafe { libc::signalfd(-1, &raw const set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the descriptor is new, and nobody else's.
        Ok(Self(unsafe { File::from_raw_fd(fd) }))
    }

    /// A signal that has arrived, if any.
    pub fn take(&mut self) -> Option<Signal> {
        let mut info = [0u8; size_of::<libc::signalfd_siginfo>()];
        self.0.read_exact(&mut info).ok()?;
        // SAFETY: the kernel wrote a whole signalfd_siginfo, which is plain numbers and may be read unaligned.
        let info: libc::signalfd_siginfo = unsafe { std::ptr::read_unaligned(info.as_ptr().cast()) };
        Some(Signal { number: info.ssi_signo as i32, from_terminal: info.ssi_code > 0 })
    }
}

impl AsFd for Signals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// From now on a signal ends the process, which may wait for the reader of its last words. Those that have arrived asked for
/// what has happened.
impl Drop for Signals {
    fn drop(&mut self) {
        while self.take().is_some() {}
        let set = ending_set();
        // SAFETY: the set is initialised, and the old one is not asked for.
        unsafe { libc::pthread_sigmask(libc::SIG_UNBLOCK, &raw const set, std::ptr::null_mut()) };
    }
}

/// Unblocks for the command the signals that this process blocks.
pub fn with_signals(command: &mut Command) -> &mut Command {
    let set = ending_set();
    let unblock = move || {
        // SAFETY: async-signal-safe, on an initialised set.
        check(unsafe { libc::pthread_sigmask(libc::SIG_UNBLOCK, &raw const set, std::ptr::null_mut()) })
    };
    // SAFETY: `unblock` makes one async-signal-safe call, and allocates nothing.
    unsafe { command.pre_exec(unblock) }
}

/// Makes this thread a real-time thread, which sched_ext does not schedule. So a policy that lets tasks wait for long
/// cannot keep the loader from unloading it, and the loader's work is in nobody's share. Children are ordinary threads.
pub fn become_real_time() -> io::Result<()> {
    let param = libc::sched_param { sched_priority: 1 };
    // SAFETY: of this thread, with a valid parameter.
    let failed = unsafe {
        libc::sched_setscheduler(0, libc::SCHED_RR | libc::SCHED_RESET_ON_FORK, &raw const param) != 0
    };
    if failed { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// The supplementary groups of a connection's other end, as of the time when it was made.
pub fn peer_groups(stream: &UnixStream) -> io::Result<Vec<u32>> {
    // The kernel permits 65536.
    let mut groups: Vec<libc::gid_t> = vec![0; 1 << 16];
    let mut size = size_of_val(groups.as_slice()) as libc::socklen_t;
    // SAFETY: the kernel writes at most `size` bytes, and says how many it wrote.
    let failed = unsafe {
        libc::getsockopt(
            stream.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_PEERGROUPS,
            groups.as_mut_ptr().cast(),
            &raw mut size,
        ) != 0
    };
    if failed {
        return Err(io::Error::last_os_error());
    }
    groups.truncate(size as usize / size_of::<libc::gid_t>());
    Ok(groups)
}

/// Sends a signal to this thread, not to the process.
#[cfg(test)]
pub fn signal_this_thread(signal: i32) {
    // SAFETY: a thread that runs exists.
    unsafe { libc::pthread_kill(libc::pthread_self(), signal) };
}

fn ending_set() -> libc::sigset_t {
    let mut set = MaybeUninit::uninit();
    // SAFETY: sigemptyset initialises it, and the signals are valid.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        for signal in ENDING.into_iter().filter(|signal| !is_hangup_ignored(*signal)) {
            libc::sigaddset(set.as_mut_ptr(), signal);
        }
        set.assume_init()
    }
}

/// nohup ignores SIGHUP; that stays so.
fn is_hangup_ignored(signal: i32) -> bool {
    let mut action = MaybeUninit::<libc::sigaction>::uninit();
    // SAFETY: the action is only asked for; if that fails, nothing is read.
    signal == libc::SIGHUP
        && unsafe {
            libc::sigaction(signal, std::ptr::null(), action.as_mut_ptr()) == 0
                && action.assume_init().sa_sigaction == libc::SIG_IGN
        }
}

fn check(errno: i32) -> io::Result<()> {
    if errno == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(errno)) }
}

/// The space for a user's row, at first and at most.
const ROW: usize = 1 << 10;
const LONGEST_ROW: usize = 1 << 20;

/// A user's number, from wherever this machine keeps its users.
pub fn user_number(name: &str) -> Option<u32> {
    let name = std::ffi::CString::new(name).ok()?;
    let mut space: Vec<libc::c_char> = vec![0; ROW];
    loop {
        let mut row = MaybeUninit::<libc::passwd>::uninit();
        let mut found: *mut libc::passwd = std::ptr::null_mut();
        // SAFETY: the name ends with a NUL; the row, the space of this length and `found` may be written to.
        let error = unsafe {
            libc::getpwnam_r(name.as_ptr(), row.as_mut_ptr(), space.as_mut_ptr(), space.len(), &raw mut found)
        };
        if error == libc::ERANGE && space.len() < LONGEST_ROW {
            space.resize(space.len() * 2, 0);
            continue;
        }
        if error == libc::EINTR {
            continue;
        }
        if error != 0 || found.is_null() {
            return None;
        }
        // SAFETY: the call filled in the row, as it found the user.
        return Some(unsafe { row.assume_init() }.pw_uid);
    }
}
