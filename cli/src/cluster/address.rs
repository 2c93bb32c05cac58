//! The address of a cluster's scheduler.

use std::fmt;
use std::str::FromStr;

/// `dask://HOST:PORT`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    host: String,
    port: u16,
}

impl Address {
    /// As Dask writes it.
    pub fn of_dask(&self) -> String {
        format!("tcp://{}:{}", self.host, self.port)
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "dask://{}:{}", self.host, self.port)
    }
}

impl FromStr for Address {
    type Err = String;

    fn from_str(text: &str) -> Result<Address, String> {
        let place = text.strip_prefix("dask://").map(|place| place.strip_suffix('/').unwrap_or(place));
        let parts = place.and_then(|place| place.rsplit_once(':'));
        let is_host = |host: &str| {
            let is_v6 = host.starts_with('[') && host.ends_with(']') && host.len() > 2;
            let inner = if is_v6 { &host[1..host.len() - 1] } else { host };
            let fits =
                |c: char| c.is_ascii_alphanumeric() || "-._".contains(c) || (is_v6 && ":%".contains(c));
            !inner.is_empty() && inner.chars().all(fits)
        };
        parts
            .filter(|(host, _)| is_host(host))
            .and_then(|(host, port)| Some((host, port.parse().ok().filter(|port| *port > 0)?)))
            .map(|(host, port)| Address { host: host.to_owned(), port })
            .ok_or_else(|| "expected dask://HOST:PORT, as in dask://10.0.0.7:8786".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_addresses_are_taken() {
        for (text, of_dask) in [
            ("dask://localhost:8786", "tcp://localhost:8786"),
            ("dask://10.0.0.7:1/", "tcp://10.0.0.7:1"),
            ("dask://[::1]:8786", "tcp://[::1]:8786"),
        ] {
            assert_eq!(text.parse::<Address>().map(|address| address.of_dask()), Ok(of_dask.to_owned()));
        }
        for text in [
            "localhost:8786",
            "tcp://localhost:8786",
            "dask://localhost",
            "dask://:8786",
            "dask://a:0",
            "dask://a:70000",
            "dask://a/b:1",
            "dask://::1:8786",
            "dask://[]:1",
            "dask://[[::1]]:1",
        ] {
            assert!(text.parse::<Address>().is_err(), "{text}");
        }
    }
}
