//! The names under which a client may ask.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

/// The address in a `Host` field; `None` if it is a name.
fn address(host: &str) -> Option<IpAddr> {
    if let Ok(address) = host.parse::<SocketAddr>() {
        return Some(address.ip());
    }
    if let Some(number) = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        return number.parse::<Ipv6Addr>().ok().map(IpAddr::V6);
    }
    host.parse().ok()
}

fn is_localhost(host: &str) -> bool {
    let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
    name.eq_ignore_ascii_case("localhost")
}

/// Whether a `Host` field names this machine, by a loopback address or as localhost. A page of the web whose name leads here would be
/// answered else, and read what runs on this machine.
pub fn is_this_machine(host: &str) -> bool {
    is_localhost(host) || address(host).is_some_and(|ip| ip.is_loopback())
}

/// Whether a `Host` field is an address, or localhost. Another name may be one of the web's that leads here.
pub fn is_address(host: &str) -> bool {
    is_localhost(host) || address(host).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_the_web_are_neither() {
        for (host, here, number) in [
            ("localhost:9123", true, true),
            ("LocalHost", true, true),
            ("127.0.0.1", true, true),
            ("127.0.0.1:80", true, true),
            ("[::1]:9123", true, true),
            ("[::1]", true, true),
            ("[2001:db8::1]", false, true),
            ("192.0.2.1:9123", false, true),
            ("[localhost]", false, false),
            ("evil.example:9123", false, false),
            ("localhost.evil.example", false, false),
            ("", false, false),
        ] {
            assert_eq!((is_this_machine(host), is_address(host)), (here, number), "{host}");
        }
    }
}
