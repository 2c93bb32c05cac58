//! Tests of the file as it is watched.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use super::resolve::tests::Fake;
use super::*;

/// A directory with a file of rules, which ends with the test.
struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Self {
        let place = std::env::temp_dir().join(format!("divvy-rules-follow-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&place);
        fs::create_dir_all(&place).expect("a directory");
        Self(place)
    }

    fn file(&self) -> PathBuf {
        self.0.join("divvy.toml")
    }

    /// Puts another file there, as editors do; the clock of files may be too coarse to tell two of one size.
    fn put(&self, text: &str) {
        let new = self.0.join("new");
        fs::write(&new, text).expect("a file");
        fs::rename(&new, self.file()).expect("the file");
    }

    fn open(&self, machine: &Fake) -> RulesFile {
        RulesFile::open_on(&self.file(), true, machine).expect("it is right").expect("it is there")
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// As when a network that knows users is away.
#[test]
fn a_user_who_was_found_stays_found_until_the_file_changes() {
    let place = Place::new("users");
    place.put("[user]\na = 2\n");
    let mut file = place.open(&machine());
    assert!(is_same(file.follow_on(&Fake::default())));
    place.put("[user]\na = 3\n");
    let (steps, note) = changed(file.follow_on(&Fake::default()));
    assert_eq!(steps, [(5, None)]);
    assert!(note.is_some_and(|note| note.contains("user `a`")));
}

fn machine() -> Fake {
    Fake { users: [("a", 5), ("b", 6), ("c", 7)].into(), ..Fake::default() }
}

type Steps = Vec<(u64, Option<u64>)>;

/// The users whose weights changed, in whole units, and the note.
fn changed(followed: Followed) -> (Steps, Option<String>) {
    let Followed::Changed { weights, note } = followed else { panic!("{followed:?}") };
    let step = |(key, weight): (Key, Option<u64>)| (key.number, weight.map(|weight| weight >> 10));
    (weights.into_iter().map(step).collect(), note)
}

fn broken(followed: Followed) -> String {
    let Followed::Broken(error) = followed else { panic!("{followed:?}") };
    error.to_string()
}

fn is_same(followed: Followed) -> bool {
    matches!(followed, Followed::Same)
}

#[test]
fn a_file_need_be_there_only_if_it_must() {
    let place = Place::new("must");
    assert!(RulesFile::open(&place.file(), false).expect("it need not be there").is_none());
    assert!(RulesFile::open(&place.file().join("below"), false).expect("it need not be there").is_none());
    let error = RulesFile::open(&place.file(), true).expect_err("it must be there").to_string();
    assert!(error.starts_with(&format!("cannot read {}: ", place.file().display())), "{error}");
    for must_exist in [true, false] {
        place.put("[user]\na = 0\n");
        RulesFile::open(&place.file(), must_exist).expect_err("it is broken");
        place.put("[user]\nroot = 3\n12 = 4\n\"no such user here\" = 5\n");
        let file = RulesFile::open(&place.file(), must_exist).expect("it is right").expect("it is there");
        let user = |number| Key::new(Kind::User, number);
        assert_eq!(*file.weights(), Weights::from([(user(0), 3 << 10), (user(12), 4 << 10)]));
        assert_eq!(file.unknown(), ["user `no such user here`"]);
    }
}

/// Root could read it by a privilege.
#[test]
fn a_file_that_only_a_privilege_lets_read_is_refused_at_once() {
    let place = Place::new("privilege");
    place.put("");
    let file = place.file();
    assert!(RulesFile::asked_for(Some(&file)).expect("a file without rules").is_some());
    fs::set_permissions(&file, fs::Permissions::from_mode(0o000)).expect("it is ours");
    let error = RulesFile::asked_for(Some(&file)).expect_err("nobody may read it");
    assert!(error.to_string().contains(&format!("chmod a+r {}", file.display())), "{error}");
}

#[test]
fn changes_of_the_file_are_told_once() {
    let place = Place::new("file");
    let machine = machine();
    place.put("[user]\na = 1\nb = 2\n");
    let mut file = place.open(&machine);
    assert!(is_same(file.follow_on(&machine)));
    place.put("[user]\na = 1\nb = 3\nc = 4\nx = 5\n");
    let (steps, note) = changed(file.follow_on(&machine));
    assert_eq!(steps, [(6, Some(3)), (7, Some(4))]);
    let expected = format!("4 rules in {}; not known here now: user `x`", place.file().display());
    assert_eq!(note, Some(expected));
    assert_eq!(file.unknown(), ["user `x`"]);
    assert!(is_same(file.follow_on(&machine)));
    place.put("[user]\nc = 4\n");
    let (steps, note) = changed(file.follow_on(&machine));
    assert_eq!(steps, [(5, None), (6, None)]);
    assert_eq!(note, Some(format!("1 rule in {}", place.file().display())));
    assert_eq!(file.weights().len(), 1);
    // Another file with the same rules.
    place.put("[user]\nc = 4 # as before\n");
    assert!(matches!(changed(file.follow_on(&machine)), (steps, Some(_)) if steps.is_empty()));
    assert!(is_same(file.follow_on(&machine)));
}

/// The text is not read again while size, time and inode number are the same; each of them alone is a change.
#[test]
fn a_change_is_told_by_time_size_or_inode_number() {
    let place = Place::new("stamps");
    let machine = machine();
    place.put("[user]\na = 1\n");
    let mut file = place.open(&machine);
    let time = fs::metadata(place.file()).and_then(|known| known.modified()).expect("it has a time");
    let set = |text: &str, time| {
        fs::write(place.file(), text).expect("the file");
        let file = fs::File::options().write(true).open(place.file()).expect("the file");
        file.set_modified(time).expect("its time");
    };
    set("[user]\na = 2\n", time);
    assert!(is_same(file.follow_on(&machine)));
    set("[user]\na = 3\n", time + std::time::Duration::from_nanos(1));
    assert_eq!(changed(file.follow_on(&machine)).0, [(5, Some(3))]);
    set("[user]\na = 40\n", time + std::time::Duration::from_nanos(1));
    assert_eq!(changed(file.follow_on(&machine)).0, [(5, Some(40))]);
    fs::copy(place.file(), place.0.join("copy")).expect("a copy");
    fs::rename(place.0.join("copy"), place.file()).expect("the file");
    set("[user]\na = 50\n", time + std::time::Duration::from_nanos(1));
    assert_eq!(changed(file.follow_on(&machine)).0, [(5, Some(50))]);
}

#[test]
fn a_broken_file_is_told_once_and_the_rules_stay() {
    let place = Place::new("broken");
    let mut machine = machine();
    place.put("[user]\na = 1\nb = 2\nlate = 3\n");
    let mut file = place.open(&machine);
    place.put("[user]\na = 0\n");
    let error = broken(file.follow_on(&machine));
    assert!(error.starts_with(&format!("{}:2:5: ", place.file().display())), "{error}");
    assert!(is_same(file.follow_on(&machine)));
    assert_eq!(file.weights().len(), 2);
    // The rules before still follow the machine.
    machine.users.insert("late", 50);
    assert_eq!(changed(file.follow_on(&machine)), (vec![(50, Some(3))], None));
    place.put("[user]\na = -1\n");
    broken(file.follow_on(&machine));
    assert!(is_same(file.follow_on(&machine)));
    place.put("[user]\na = 9\n");
    assert_eq!(changed(file.follow_on(&machine)).0, [(5, Some(9)), (6, None), (50, None)]);
}

/// An error that is none of the text may pass without a change to the file.
#[test]
fn a_file_that_cannot_be_read_is_told_once_and_tried_again() {
    let place = Place::new("unreadable");
    let machine = machine();
    place.put("[user]\na = 1\n");
    let mut file = place.open(&machine);
    // Two links that name each other, which not even root opens.
    let kept = place.0.join("kept");
    fs::rename(place.file(), &kept).expect("a name");
    std::os::unix::fs::symlink(place.0.join("other"), place.file()).expect("a link");
    std::os::unix::fs::symlink(place.file(), place.0.join("other")).expect("a link");
    assert!(broken(file.follow_on(&machine)).starts_with("cannot read "));
    assert!(is_same(file.follow_on(&machine)));
    assert_eq!(file.weights().len(), 1);
    fs::rename(&kept, place.file()).expect("the file");
    assert!(matches!(changed(file.follow_on(&machine)), (steps, Some(_)) if steps.is_empty()));
    // While it cannot be opened, it is not gone; then it is.
    fs::rename(place.file(), &kept).expect("a name");
    std::os::unix::fs::symlink(place.file(), place.0.join("loop")).expect("a link");
    fs::rename(place.0.join("loop"), place.file()).expect("a link");
    broken(file.follow_on(&machine));
    fs::remove_file(place.file()).expect("it was made above");
    assert_eq!(changed(file.follow_on(&machine)).0, [(5, None)]);
    fs::rename(&kept, place.file()).expect("the file");
    assert_eq!(changed(file.follow_on(&machine)).0, [(5, Some(1))]);
    // In its place is a directory, which is no text: this is told once, too.
    fs::rename(place.file(), &kept).expect("a name");
    fs::create_dir(place.file()).expect("a directory");
    assert!(broken(file.follow_on(&machine)).contains("not a regular file"));
    assert!(is_same(file.follow_on(&machine)));
    fs::remove_dir(place.file()).expect("it was made above");
    fs::rename(&kept, place.file()).expect("the file");
    changed(file.follow_on(&machine));
    if !rustix::process::geteuid().is_root() {
        let allow =
            |mode| fs::set_permissions(place.file(), fs::Permissions::from_mode(mode)).expect("a mode");
        allow(0);
        broken(file.follow_on(&machine));
        assert!(is_same(file.follow_on(&machine)));
        allow(0o600);
        changed(file.follow_on(&machine));
    }
}

#[test]
fn a_file_that_is_gone_has_no_rules_until_it_is_back() {
    let place = Place::new("gone");
    let machine = machine();
    place.put("[user]\na = 1\nx = 2\n");
    let mut file = place.open(&machine);
    fs::remove_file(place.file()).expect("it is there");
    let (steps, note) = changed(file.follow_on(&machine));
    assert_eq!(steps, [(5, None)]);
    assert_eq!(note, Some(format!("{} is gone, and so are its rules", place.file().display())));
    assert!(file.weights().is_empty() && file.unknown().is_empty());
    assert!(is_same(file.follow_on(&machine)));
    place.put("[user]\na = 1\n");
    assert_eq!(changed(file.follow_on(&machine)).0, [(5, Some(1))]);
    place.put("");
    let note = changed(file.follow_on(&machine)).1;
    assert_eq!(note, Some(format!("no rules in {}", place.file().display())));
}

/// Users, services and packages come and go.
#[test]
fn names_are_looked_up_at_each_look_without_a_note() {
    let place = Place::new("machine");
    let mut machine = machine();
    place.put("[user]\nlate = 1\n[service]\nbackup = 2\n[executable]\ncc1 = 3\n");
    let mut file = place.open(&machine);
    assert_eq!(file.unknown().len(), 3);
    machine.users.insert("late", 8);
    machine.units = vec![("backup.service", 70)];
    machine.files.insert("/usr/bin/cc1", (1, 90));
    assert_eq!(changed(file.follow_on(&machine)), (vec![(8, Some(1)), (70, Some(2)), (90, Some(3))], None));
    assert!(file.unknown().is_empty() && is_same(file.follow_on(&machine)));
    // A restarted service has another cgroup, a new version of a program another file.
    machine.units = vec![("backup.service", 71)];
    machine.files.insert("/usr/bin/cc1", (1, 91));
    let steps = vec![(70, None), (71, Some(2)), (90, None), (91, Some(3))];
    assert_eq!(changed(file.follow_on(&machine)), (steps, None));
    machine.units.clear();
    assert_eq!(changed(file.follow_on(&machine)), (vec![(71, None)], None));
    assert_eq!(file.unknown(), ["service `backup.service`"]);
    assert!(is_same(file.follow_on(&machine)));
}

/// Names are cut, and there are not many.
#[test]
fn a_note_is_short() {
    let place = Place::new("note");
    let names: String = (0..1000).map(|i| format!("\"{}{i}\" = 1\n", "x".repeat(500))).collect();
    place.put(&format!("[user]\n{names}"));
    let note = place.open(&machine()).note();
    assert!(
        note.contains("1000 rules in ") && note.ends_with(" and 995 more") && note.len() < 1000,
        "{note}"
    );
    place.put("[user]\n\"\\u001b[2J\" = 1\n");
    let note = place.open(&machine()).note();
    assert!(note.ends_with("; not known here now: user `\\u{1b}[2J`"), "{note}");
}
