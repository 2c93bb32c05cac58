//! From names to numbers of a machine.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::file::Rules;
use super::name::Name;
use super::{Key, Kind, Weights};

/// Where an executable without a path is looked for.
const DIRECTORIES: [&str; 6] =
    ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"];

/// A machine that may know names.
pub trait Machine {
    /// The number of a user.
    fn user(&self, name: &str) -> Option<u32>;

    /// A regular file. Links are followed.
    fn file(&self, path: &Path) -> Option<Key>;

    /// The number of the cgroup at a path below the root, which does not begin with a slash.
    fn cgroup(&self, path: &str) -> Option<u64>;

    /// The units among these that have cgroups, with the number of each cgroup. One search finds all of them,
    /// as it is long.
    fn units(&self, names: &BTreeSet<&str>) -> Vec<(String, u64)>;
}

/// Numbers of a machine, and their weights.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resolved {
    /// By number.
    pub weights: Weights,
    /// Names that mean nothing on this machine now, for a note, as in "user `nobody2`".
    pub unknown: Vec<String>,
}

impl Rules {
    /// Finds the numbers that the names stand for now. If two rules give one number different weights, the
    /// one later in the file wins.
    pub fn resolve(&self, machine: &dyn Machine) -> Resolved {
        let names = self.rules.iter().filter_map(|rule| match &rule.name {
            Name::Service(name) => Some(name.as_str()),
            _ => None,
        });
        let names: BTreeSet<&str> = names.collect();
        let mut units: BTreeMap<String, Vec<u64>> = BTreeMap::new();
        if !names.is_empty() {
            machine.units(&names).into_iter().for_each(|(unit, id)| units.entry(unit).or_default().push(id));
        }
        let mut resolved = Resolved::default();
        for rule in &self.rules {
            let keys = match &rule.name {
                Name::Executable(name) => files(machine, name),
                Name::Service(name) => {
                    units.get(name).into_iter().flatten().map(|id| Key::new(Kind::Cgroup, *id)).collect()
                }
                Name::Cgroup(path) => {
                    machine.cgroup(path).map(|id| Key::new(Kind::Cgroup, id)).into_iter().collect()
                }
                Name::User(name) => {
                    machine.user(name).map(|uid| Key::new(Kind::User, uid.into())).into_iter().collect()
                }
                Name::Uid(uid) => vec![Key::new(Kind::User, (*uid).into())],
            };
            if keys.is_empty() {
                resolved.unknown.push(rule.name.to_string());
            }
            resolved.weights.extend(keys.into_iter().map(|key| (key, rule.weight)));
        }
        resolved
    }
}

/// An executable's file, or all files that have its name.
fn files(machine: &dyn Machine, name: &str) -> Vec<Key> {
    match name.starts_with('/') {
        true => machine.file(Path::new(name)).into_iter().collect(),
        false => {
            let paths = DIRECTORIES.iter().map(|directory| Path::new(directory).join(name));
            paths.filter_map(|path| machine.file(&path)).collect()
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A machine that knows what it is told.
    #[derive(Clone, Default)]
    pub struct Fake {
        pub users: BTreeMap<&'static str, u32>,
        /// Root's, by device and number.
        pub files: BTreeMap<&'static str, (u32, u64)>,
        pub cgroups: BTreeMap<&'static str, u64>,
        pub units: Vec<(&'static str, u64)>,
    }

    impl Machine for Fake {
        fn user(&self, name: &str) -> Option<u32> {
            self.users.get(name).copied()
        }

        fn file(&self, path: &Path) -> Option<Key> {
            let (device, number) = *self.files.get(path.to_str().expect("it is text"))?;
            Some(Key::of_file(device, number, 0))
        }

        fn cgroup(&self, path: &str) -> Option<u64> {
            self.cgroups.get(path).copied()
        }

        fn units(&self, names: &BTreeSet<&str>) -> Vec<(String, u64)> {
            assert!(!names.is_empty(), "a search for nothing is long, too");
            let found = self.units.iter().filter(|(name, _)| names.contains(name));
            found.map(|(name, id)| ((*name).to_owned(), *id)).collect()
        }
    }

    fn resolve(text: &str, machine: &Fake) -> (Vec<(Key, u64)>, Vec<String>) {
        let rules = Rules::parse(text, Path::new("x.toml")).unwrap_or_else(|error| panic!("{error}"));
        let resolved = rules.resolve(machine);
        (resolved.weights.into_iter().collect(), resolved.unknown)
    }

    fn key(kind: Kind, device: u32, number: u64) -> Key {
        Key { kind, device, number, owner: 0 }
    }

    #[test]
    fn each_kind_has_its_numbers() {
        let machine = Fake {
            users: [("www-data", 33)].into(),
            files: [("/usr/bin/ffmpeg", (7, 70)), ("/sbin/cc1", (7, 71)), ("/usr/local/bin/cc1", (8, 71))]
                .into(),
            cgroups: [("user.slice", 500), ("a/b", 501)].into(),
            units: vec![
                ("backup.service", 600),
                ("nginx.service", 601),
                ("backup.service", 602),
                ("x.scope", 603),
            ],
        };
        let text = "[executable]\n\"/usr/bin/ffmpeg\" = 1\ncc1 = 2\n[service]\nbackup = 3\n\"x.scope\" = 4\n\
                    [cgroup]\n\"/user.slice\" = 5\n\"a/b/\" = 6\n[user]\nwww-data = 7\n\"12\" = 8\n";
        let (weights, unknown) = resolve(text, &machine);
        let expected = [
            (key(Kind::User, 0, 12), 8),
            (key(Kind::User, 0, 33), 7),
            (key(Kind::Cgroup, 0, 500), 5),
            (key(Kind::Cgroup, 0, 501), 6),
            (key(Kind::Cgroup, 0, 600), 3),
            (key(Kind::Cgroup, 0, 602), 3),
            (key(Kind::Cgroup, 0, 603), 4),
            (key(Kind::File, 7, 70), 1),
            (key(Kind::File, 7, 71), 2),
            (key(Kind::File, 8, 71), 2),
        ];
        assert_eq!(weights, expected.map(|(key, weight)| (key, weight << 10)));
        assert_eq!(unknown, [] as [&str; 0]);
    }

    #[test]
    fn names_that_mean_nothing_are_listed_and_the_rest_holds() {
        let text = "[executable]\n\"/usr/bin/x\" = 1\ny = 1\n[service]\nbackup = 1\n[cgroup]\n\"/a/b\" = 1\n\
                    [user]\nnobody2 = 1\nroot = 2\n";
        let (weights, unknown) = resolve(text, &Fake { users: [("root", 0)].into(), ..Fake::default() });
        assert_eq!(weights, [(key(Kind::User, 0, 0), 2 << 10)]);
        let expected = [
            "executable `/usr/bin/x`",
            "executable `y`",
            "service `backup.service`",
            "cgroup `/a/b`",
            "user `nobody2`",
        ];
        assert_eq!(unknown, expected);
    }

    /// In the file's order, not in that of the names or the tables.
    #[test]
    fn the_later_of_two_rules_for_one_number_wins() {
        let machine = Fake {
            users: [("a", 5), ("b", 5)].into(),
            files: [("/usr/bin/cc1", (7, 71)), ("/bin/cc1", (7, 71))].into(),
            cgroups: [("s/x.service", 9)].into(),
            units: vec![("x.service", 9)],
        };
        for (text, weight) in [
            ("[user]\nb = 1\na = 2\n", 2),
            ("[user]\na = 1\nb = 2\n", 2),
            ("[user]\n5 = 1\na = 2\n", 2),
            ("[user]\na = 1\n5 = 2\n", 2),
            ("[executable]\ncc1 = 1\n\"/usr/bin/cc1\" = 2\n", 2),
            ("[executable]\n\"/usr/bin/cc1\" = 1\ncc1 = 2\n", 2),
            ("[service]\nx = 1\n[cgroup]\n\"s/x.service\" = 2\n", 2),
            ("[cgroup]\n\"s/x.service\" = 1\n[service]\nx = 2\n", 2),
            ("user.b = 1\nexecutable.cc = 3\nuser.a = 2\n", 2),
        ] {
            let (weights, _) = resolve(text, &machine);
            assert_eq!(
                weights.iter().map(|(_, weight)| *weight).collect::<Vec<_>>(),
                [weight << 10],
                "{text}"
            );
        }
    }
}
