//! The whole of it over a `/proc` and cgroups in a temporary directory.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::applier::Applier;
use super::error::ApplyError;
use super::journal::{Journal, Left};
use super::machine::{Machine, Rights, SetNice};
use super::options::{Mechanism, Options, Rule, Watch};
use super::preview::{of_groups, of_nice};
use super::restore::restore;
use super::session::{choose, fits};
use super::survey::Surveyor;

/// A thread of the fake `/proc`.
#[derive(Clone, Copy)]
struct Task {
    tid: u32,
    tgid: u32,
    parent: u32,
    uid: u32,
    nice: i8,
    class: u32,
    started: u64,
    flags: u32,
    cgroup: &'static str,
}

const HOG: Task =
    Task { tid: 0, tgid: 0, parent: 1, uid: 0, nice: 0, class: 0, started: 10, flags: 0, cgroup: "/" };

fn hog(tid: u32, uid: u32) -> Task {
    Task { tid, tgid: tid, uid, ..HOG }
}

/// Sets nice values in the fake `/proc`; refuses for one thread.
struct Fake {
    proc: PathBuf,
    refuses: u32,
}

impl SetNice for Fake {
    fn set_nice(&self, tgid: u32, tid: u32, nice: i8) -> io::Result<()> {
        if tid == self.refuses {
            return Err(io::Error::from_raw_os_error(libc::EPERM));
        }
        let stat = self.proc.join(format!("{tgid}/task/{tid}/stat"));
        let text = fs::read_to_string(&stat)?;
        let mut words: Vec<String> = text.split(' ').map(str::to_owned).collect();
        words[18] = nice.to_string();
        fs::write(stat, words.join(" "))
    }
}

#[derive(Default)]
struct Notes(Vec<String>);

impl Watch for Notes {
    fn note(&mut self, text: &str) {
        self.0.push(text.to_owned());
    }

    fn interval(&mut self, _: &str) {}
}

struct World(PathBuf);

impl World {
    fn new(name: &str, tasks: &[Task]) -> Self {
        let root = std::env::temp_dir().join(format!("divvy-apply-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&root);
        let world = Self(root);
        world.put(tasks);
        world.uptime(1.0);
        world
    }

    fn proc(&self) -> PathBuf {
        self.0.join("proc")
    }

    /// Seconds since the boot.
    fn uptime(&self, seconds: f64) {
        fs::write(self.proc().join("uptime"), format!("{seconds:.2} 0.00\n")).expect("uptime");
    }

    fn put(&self, tasks: &[Task]) {
        for task in tasks {
            let Task { tid, tgid, parent, uid, nice, class, started, flags, cgroup } = task;
            let dir = self.proc().join(format!("{tgid}/task/{tid}"));
            fs::create_dir_all(&dir).expect("a directory");
            let zeros = ["0"; 16].join(" ");
            let stat = format!(
                "{tid} (hog) R {parent} 1 1 0 -1 {flags} 0 0 0 0 0 0 0 0 20 {nice} 1 0 {started} 0 0 {zeros} {class} 0\n"
            );
            fs::write(dir.join("stat"), stat).expect("stat");
            fs::write(dir.join("schedstat"), "0 0 0\n").expect("schedstat");
            fs::write(dir.join("cgroup"), format!("0::{cgroup}\n")).expect("cgroup");
            fs::write(dir.join("status"), format!("Name:\thog\nUid:\t{uid}\t{uid}\t{uid}\t{uid}\n"))
                .expect("status");
        }
    }

    fn end(&self, tgid: u32) {
        fs::remove_dir_all(self.proc().join(tgid.to_string())).expect("it is there");
    }

    fn group(&self, path: &str, weight: u32) {
        let dir = self.0.join("cgroup").join(path.trim_start_matches('/'));
        fs::create_dir_all(&dir).expect("a directory");
        fs::write(dir.join("cpu.weight"), format!("{weight}\n")).expect("cpu.weight");
    }

    fn weight(&self, path: &str) -> String {
        let file = self.0.join("cgroup").join(path.trim_start_matches('/')).join("cpu.weight");
        fs::read_to_string(file).expect("cpu.weight").trim().to_owned()
    }

    fn machine(&self, rights: Rights) -> Machine<Fake> {
        let (proc, cgroups) = (self.proc(), self.0.join("cgroup"));
        Machine { set_nice: Fake { proc: proc.clone(), refuses: 0 }, proc, cgroups, cpus: 1, rights }
    }

    fn journal(&self) -> PathBuf {
        self.0.join("apply.journal")
    }

    fn applier(&self, rule: Rule, mechanism: Mechanism) -> Applier<Fake> {
        let journal = Journal::lock(&self.journal(), "boot").expect("nobody else has it");
        Applier::new(self.machine(Rights::All), rule, mechanism, journal)
    }

    fn nices(&self) -> BTreeMap<u32, i8> {
        let threads = crate::stock::threads::Threads::new(&self.proc()).read().expect("threads");
        threads.into_iter().map(|(tid, thread)| (tid, thread.nice)).collect()
    }

    /// As the next `divvy apply` does after the last one was killed.
    fn restore(&self) -> Result<usize, ApplyError> {
        let mut journal = Journal::lock(&self.journal(), "boot")?;
        let (mut changes, mut groups) = journal.read()?;
        restore(&self.machine(Rights::All), &mut changes, &mut groups, &mut journal)
    }
}

impl Drop for World {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// One thread of user 1, and five of user 2.
fn one_and_five() -> Vec<Task> {
    (101..=106).map(|tid| hog(tid, if tid == 101 { 1 } else { 2 })).collect()
}

fn steps(applier: &mut Applier<Fake>) -> usize {
    applier.step(&mut Notes::default()).expect("it works").changed
}

#[test]
fn five_threads_are_lowered_once_and_restored_after_a_kill() {
    let world = World::new("five", &one_and_five());
    let mut applier = world.applier(Rule::UserFair, Mechanism::Nice);
    assert_eq!(steps(&mut applier), 5);
    let after = world.nices();
    assert_eq!(after.into_values().collect::<Vec<_>>(), [0, 7, 7, 7, 7, 7]);
    assert_eq!(steps(&mut applier), 0, "nothing has changed since");
    // Killed: what it knew is gone, and its lock.
    drop(applier);
    assert!(world.journal().exists());
    assert_eq!(world.restore().expect("restored"), 5);
    assert!(world.nices().into_values().all(|nice| nice == 0));
    assert!(!world.journal().exists());
    assert_eq!(world.restore().expect("nothing is left"), 0);
}

#[test]
fn kernel_real_time_and_idle_threads_are_not_touched() {
    let mut tasks = one_and_five();
    tasks.push(Task { class: 1, ..hog(111, 2) });
    tasks.push(Task { class: 5, ..hog(112, 2) });
    tasks.push(Task { flags: 0x0020_0000, ..hog(113, 0) });
    tasks.push(Task { tgid: std::process::id(), ..hog(114, 0) });
    let world = World::new("others", &tasks);
    assert_eq!(steps(&mut world.applier(Rule::UserFair, Mechanism::Nice)), 5);
    let nices = world.nices();
    assert_eq!([111, 112, 113, 114].map(|tid| nices[&tid]), [0; 4]);
}

#[test]
fn what_was_forked_meanwhile_gets_the_original_back() {
    let world = World::new("fork", &one_and_five());
    let mut applier = world.applier(Rule::UserFair, Mechanism::Nice);
    steps(&mut applier);
    world.put(&[
        // A child of 102 before the next look, and a thread of it.
        Task { parent: 102, nice: 7, started: 150, ..hog(201, 2) },
        Task { tgid: 201, tid: 202, parent: 102, nice: 7, started: 151, ..hog(202, 2) },
        // Somebody set this one to the same value long ago.
        Task { nice: 7, started: 5, parent: 102, ..hog(203, 1) },
    ]);
    steps(&mut applier);
    drop(applier);
    // A child that the killed one never saw, whose parent has ended.
    let last = world.nices()[&201];
    world.put(&[Task { parent: 201, nice: last, started: 160, ..hog(301, 2) }]);
    world.end(201);
    world.restore().expect("restored");
    let nices = world.nices();
    assert_eq!((nices[&102], nices[&203], nices[&301]), (0, 7, 0), "{nices:?}");
}

#[test]
fn a_value_that_somebody_else_set_stays() {
    let world = World::new("foreign", &one_and_five());
    let mut applier = world.applier(Rule::UserFair, Mechanism::Nice);
    steps(&mut applier);
    applier.machine.set_nice.set_nice(103, 103, 12).expect("by somebody else");
    steps(&mut applier);
    // Now four threads count: 1024 / 4 is 256, nearest to 272.
    assert_eq!((world.nices()[&103], world.nices()[&102]), (12, 6));
    let Applier { machine, mut journal, mut changes, mut groups, .. } = applier;
    assert_eq!(restore(&machine, &mut changes, &mut groups, &mut journal).expect("restored"), 4);
    assert_eq!((world.nices()[&103], world.nices()[&102]), (12, 0));
}

#[test]
fn a_thread_that_has_the_number_of_another_is_another() {
    let world = World::new("reused", &one_and_five());
    steps(&mut world.applier(Rule::UserFair, Mechanism::Nice));
    world.put(&[Task { nice: 7, started: 99, ..hog(104, 3) }]);
    assert_eq!(world.restore().expect("restored"), 4);
    assert_eq!(world.nices()[&104], 7);
}

/// Between the line in the journal and the change.
#[test]
fn a_kill_before_a_change_restores_the_value_before_it() {
    let world = World::new("between", &one_and_five());
    let mut applier = world.applier(Rule::UserFair, Mechanism::Nice);
    steps(&mut applier);
    let (id, change) = applier.changes.iter().next().expect("a change");
    let thread = crate::stock::threads::Threads::new(&world.proc()).read().expect("threads")[&id.tid].clone();
    assert_eq!(change.now, 7);
    let planned = applier.changes.planned(&thread, 9, 0);
    let line = super::record::of_thread(*id, &planned);
    applier.journal.append(&line).expect("written");
    drop(applier);
    assert_eq!(world.restore().expect("restored"), 5);
    assert!(world.nices().into_values().all(|nice| nice == 0));
}

#[test]
fn a_refusal_is_said_once_and_others_go_on() {
    let world = World::new("refused", &one_and_five());
    let mut applier = world.applier(Rule::UserFair, Mechanism::Nice);
    applier.machine.set_nice.refuses = 102;
    let mut notes = Notes::default();
    assert_eq!(applier.step(&mut notes).expect("it works").changed, 4);
    applier.step(&mut notes).expect("it works");
    assert_eq!(notes.0.len(), 1, "{:?}", notes.0);
    assert!(
        notes.0[0].contains("thread 102 (hog) from 0 to 7") && notes.0[0].contains("as root"),
        "{:?}",
        notes.0
    );
}

#[test]
fn processes_are_equal_and_return_to_what_they_were_when_all_get_enough() {
    let tasks: Vec<Task> = (101..=104).map(|tid| Task { tgid: tid.max(102), ..hog(tid, 1) }).collect();
    let tasks: Vec<Task> =
        tasks.into_iter().map(|task| Task { tgid: if task.tid < 104 { 102 } else { 104 }, ..task }).collect();
    let world = World::new("processes", &tasks);
    let mut applier = world.applier(Rule::ProcessFair, Mechanism::Nice);
    assert_eq!(steps(&mut applier), 3);
    // 1024 / 3 is 341: nice 5.
    assert_eq!(world.nices().into_values().collect::<Vec<_>>(), [5, 5, 5, 0]);
    world.end(104);
    assert_eq!(steps(&mut applier), 3);
    assert_eq!(world.nices().into_values().collect::<Vec<_>>(), [0, 0, 0]);
}

#[test]
fn an_ordinary_user_changes_only_what_it_can_put_back() {
    let tasks: Vec<Task> = (101..=103).map(|tid| Task { tgid: tid.max(102), ..hog(tid, 1) }).collect();
    let world = World::new("ordinary", &tasks);
    let machine = world.machine(Rights::Own(1));
    let options = |rule| Options {
        rule,
        with: None,
        interval: std::time::Duration::from_secs(1),
        duration: None,
        journal: world.journal(),
    };
    let survey = Surveyor::new(&world.proc()).look().expect("threads");
    let error =
        |rule| choose(&machine, &options(rule), &survey, false).expect_err("not permitted").to_string();
    assert!(error(Rule::UserFair).contains("sudo divvy apply user-fair"));
    assert!(error(Rule::ProcessFair).contains("limits.conf"));
    let limit = |dir: &Path| {
        fs::create_dir_all(dir).expect("a directory");
        fs::write(dir.join("limits"), "Limit  Soft\nMax nice priority         20                   20\n")
            .expect("limits");
    };
    limit(&world.proc().join("self"));
    assert_eq!(
        choose(&machine, &options(Rule::ProcessFair), &survey, false).expect("permitted"),
        Mechanism::Nice
    );
    assert_eq!(of_nice(&machine, Rule::ProcessFair, &survey).rows.len(), 0, "their own limits forbid it");
    limit(&world.proc().join("102"));
    limit(&world.proc().join("103"));
    let rows = of_nice(&machine, Rule::ProcessFair, &survey).rows;
    // 102 has two threads: 512 is nearest to 526, nice 3.
    assert_eq!(
        rows.iter().map(|row| (row.owner, row.new)).collect::<Vec<_>>(),
        [(102, [3, 3]), (103, [0, 0])]
    );
    assert!((rows[0].entitled - 0.5).abs() < 1e-9);
}

#[test]
fn users_cgroups_get_one_weight_and_their_own_back() {
    let world = World::new("slices", &one_and_five());
    for (uid, weight) in [(1, 50), (2, 700), (3, 100)] {
        world.group(&format!("/user.slice/user-{uid}.slice"), weight);
    }
    world.group("/user.slice", 100);
    world.group("/user.slice/user-x.slice", 9);
    let weights = || [1, 2, 3].map(|uid| world.weight(&format!("/user.slice/user-{uid}.slice")));
    let mut applier = world.applier(Rule::UserFair, Mechanism::Cgroup);
    let mut notes = Notes::default();
    assert_eq!(applier.step(&mut notes).expect("it works").changed, 2);
    assert!(
        notes.0[0].contains("101 (hog)") && notes.0[0].contains("no cgroup of their user"),
        "{:?}",
        notes.0
    );
    assert_eq!(
        (weights(), world.weight("/user.slice/user-x.slice")),
        (["100", "100", "100"].map(str::to_owned), "9".to_owned())
    );
    // Somebody else changes one; another user comes.
    world.group("/user.slice/user-2.slice", 200);
    world.group("/user.slice/user-4.slice", 300);
    assert_eq!(steps(&mut applier), 1);
    drop(applier);
    assert_eq!(world.restore().expect("restored"), 2);
    assert_eq!(weights(), ["50", "200", "100"].map(str::to_owned));
    assert_eq!(world.weight("/user.slice/user-4.slice"), "300");
}

#[test]
fn cgroups_with_threads_of_one_user_are_found_without_systemd() {
    let at = |tid, uid, cgroup| Task { cgroup, ..hog(tid, uid) };
    let tasks = [
        at(101, 1, "/jobs/a/inner"),
        at(102, 1, "/jobs/a"),
        at(103, 2, "/jobs/b"),
        at(104, 3, "/c"),
        at(105, 0, "/"),
    ];
    let world = World::new("delegated", &tasks);
    for (group, weight) in [("/jobs", 100), ("/jobs/a", 20), ("/jobs/b", 300), ("/c", 77)] {
        world.group(group, weight);
    }
    let machine = world.machine(Rights::All);
    let survey = Surveyor::new(&world.proc()).look().expect("threads");
    let options = Options {
        rule: Rule::UserFair,
        with: None,
        interval: std::time::Duration::from_secs(1),
        duration: None,
        journal: world.journal(),
    };
    assert_eq!(choose(&machine, &options, &survey, false).expect("there are"), Mechanism::Cgroup);
    steps(&mut world.applier(Rule::UserFair, Mechanism::Cgroup));
    assert_eq!(
        ["/jobs", "/jobs/a", "/jobs/b", "/c"].map(|group| world.weight(group)),
        ["100", "100", "100", "77"]
    );
    // Another cgroup of the same name is not the one that was changed.
    fs::rename(world.0.join("cgroup/jobs/b"), world.0.join("cgroup/jobs/old")).expect("renamed");
    world.group("/jobs/b", 100);
    assert_eq!(world.restore().expect("restored"), 1);
    assert_eq!(["/jobs/a", "/jobs/b"].map(|group| world.weight(group)), ["20", "100"]);
}

/// Each is a note of a run.
#[test]
fn a_preview_has_the_notes_of_a_run() {
    let mut tasks = one_and_five();
    tasks[0].cgroup = "/user.slice/user-1.slice";
    tasks[1].cgroup = "/system.slice";
    let world = World::new("notes", &tasks);
    world.group("/user.slice/user-1.slice", 100);
    world.group("/system.slice", 100);
    let sysctl = world.proc().join("sys/kernel");
    fs::create_dir_all(&sysctl).expect("a directory");
    let machine = world.machine(Rights::All);
    let survey = Surveyor::new(&world.proc()).look().expect("threads");
    let of_a_run = |mechanism| {
        let mut notes = Notes::default();
        world.applier(Rule::UserFair, mechanism).step(&mut notes).expect("it works");
        world.restore().expect("restored");
        notes.0
    };
    let notes = of_nice(&machine, Rule::UserFair, &survey).notes;
    assert!(notes[0].contains("in cgroups with a cpu.weight"), "{notes:?}");
    assert_eq!(notes, of_a_run(Mechanism::Nice));
    let notes = of_groups(&machine, &survey).notes;
    assert!(notes[0].contains("102 (hog), are in no cgroup of their user"), "{notes:?}");
    assert_eq!(notes, of_a_run(Mechanism::Cgroup));
    fs::write(sysctl.join("sched_autogroup_enabled"), "1\n").expect("a sysctl");
    let notes = of_nice(&machine, Rule::UserFair, &survey).notes;
    assert!(notes[0].contains("autogroups are on") && notes.len() == 2, "{notes:?}");
}

#[test]
fn what_an_earlier_run_left_is_seen_without_a_change() {
    let world = World::new("left", &one_and_five());
    let left = || Journal::left(&world.journal(), "boot\n");
    assert_eq!(left().expect("there is none"), Left::Nothing);
    assert!(!world.journal().with_file_name("apply.journal.lock").exists(), "nothing is made");
    let mut applier = world.applier(Rule::UserFair, Mechanism::Nice);
    steps(&mut applier);
    assert!(matches!(left(), Err(ApplyError::Running { .. })), "it is at work");
    drop(applier);
    assert_eq!(left().expect("a journal"), Left::Values(5));
    assert_eq!(Journal::left(&world.journal(), "later").expect("of another boot"), Left::Nothing);
    assert_eq!(world.restore().expect("restored"), 5);
    assert_eq!(left().expect("there is none"), Left::Nothing);
}

#[test]
fn a_cgroup_is_asked_for_where_there_is_none() {
    let world = World::new("none", &one_and_five());
    let machine = world.machine(Rights::All);
    let survey = Surveyor::new(&world.proc()).look().expect("threads");
    let mut options = Options {
        rule: Rule::UserFair,
        with: Some(Mechanism::Cgroup),
        interval: std::time::Duration::from_secs(1),
        duration: None,
        journal: world.journal(),
    };
    let error = choose(&machine, &options, &survey, false).expect_err("there is none");
    assert!(matches!(error, ApplyError::Missing(_)), "{error}");
    options.rule = Rule::ProcessFair;
    let error = fits(&options).expect_err("no such thing");
    assert!(matches!(error, ApplyError::Usage(_)), "{error}");
    options.with = None;
    assert_eq!(choose(&machine, &options, &survey, false).expect("by nice"), Mechanism::Nice);
}
