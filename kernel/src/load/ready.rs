//! Tells the service manager that started us what schedules now (`sd_notify(3)`).

use std::io;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram};

/// Where the service manager listens; only a unit of `Type=notify` has it.
const SOCKET: &str = "NOTIFY_SOCKET";

/// Tells it that we are at work, and on what, if there is one.
///
/// # Errors
/// When it does not listen.
pub fn tell(status: &str) -> io::Result<()> {
    std::env::var_os(SOCKET).map_or(Ok(()), |socket| tell_at(socket.as_encoded_bytes(), status))
}

/// A name that begins with @ is in the abstract namespace.
fn tell_at(socket: &[u8], status: &str) -> io::Result<()> {
    let address = match socket.split_first() {
        Some((b'@', name)) => SocketAddr::from_abstract_name(name)?,
        _ => SocketAddr::from_pathname(String::from_utf8_lossy(socket).as_ref())?,
    };
    // A line is an assignment.
    let message = format!("READY=1\nSTATUS={}", status.lines().next().unwrap_or_default());
    UnixDatagram::unbound()?.send_to_addr(message.as_bytes(), &address).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_told_at_a_path_and_at_an_abstract_name() {
        let path = std::env::temp_dir().join(format!("divvy-ready-{}", std::process::id()));
        let name = format!("divvy-ready-{}", std::process::id());
        let at_path = UnixDatagram::bind(&path).expect("a socket");
        let abstract_address = SocketAddr::from_abstract_name(&name).expect("an address");
        let at_name = UnixDatagram::bind_addr(&abstract_address).expect("a socket");
        for (socket, listens) in [(path.display().to_string(), &at_path), (format!("@{name}"), &at_name)] {
            tell_at(socket.as_bytes(), "rr schedules 2 CPUs").expect("it listens");
            let mut said = [0; 64];
            let length = listens.recv(&mut said).expect("a datagram");
            assert_eq!(&said[..length], b"READY=1\nSTATUS=rr schedules 2 CPUs", "{socket}");
        }
        drop(at_path);
        std::fs::remove_file(&path).expect("the socket's file");
        assert!(tell_at(path.as_os_str().as_encoded_bytes(), "").is_err(), "nobody listens");
    }
}
