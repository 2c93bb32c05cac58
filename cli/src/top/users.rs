//! Names of users.

use std::collections::BTreeMap;
use std::fs;

/// Names by number, from /etc/passwd. Other users, as from a directory service, are shown by number.
#[derive(Clone, Debug, Default)]
pub struct Users(BTreeMap<u32, String>);

impl Users {
    /// Reads the users of this system.
    pub fn read() -> Self {
        let bytes = fs::read("/etc/passwd").unwrap_or_default();
        Self::parse(&String::from_utf8_lossy(&bytes))
    }

    /// The first of several users with the same number counts, as in the C library.
    pub fn parse(text: &str) -> Self {
        let mut names = BTreeMap::new();
        for line in text.lines() {
            let mut fields = line.split(':');
            if let (Some(name), Some(Ok(uid))) = (fields.next(), fields.nth(1).map(str::parse)) {
                names.entry(uid).or_insert_with(|| name.to_owned());
            }
        }
        Self(names)
    }

    /// A user's name, or number.
    pub fn name(&self, uid: u32) -> String {
        self.0.get(&uid).cloned().unwrap_or_else(|| uid.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_passwd_and_else_numbers() {
        let users =
            Users::parse("root:x:0:0:root:/root:/bin/sh\ntoor:x:0:0::/:\nbroken\nann:x:1000:100\n+::\n");
        assert_eq!([users.name(0), users.name(1000), users.name(5)], ["root", "ann", "5"]);
    }
}
