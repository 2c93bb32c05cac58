//! Logs of jobs in the Standard Workload Format: what a line becomes, what is left out and said, and damage with its place.

use std::io::Write as _;

use divvy_workload::{Arrivals, Dist, JobLog, Step, Workload};
use flate2::Compression;
use flate2::write::GzEncoder;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

const LOG: &str = "\
; MaxProcs: 8
1 100 3 60 4 -1 -1 4 90 -1 1 7 2 5 1 1 -1 -1
2 110 0 1.5 1 -1 -1 1 90 -1 0 9 2 -1 1 1 -1 -1
\t3  105 0 30 -1 -1 -1 2 90 -1 5 7 2 5 1 1 -1 -1\r
4 120 0 -1 -1 -1 -1 2 90 -1 5 7 2 5 1 1 -1 -1
5 130 0 20 1 -1 -1 1 90 -1 1 -1 -1 6 1 1 -1 -1
5 130 0 10 1 -1 -1 1 90 -1 2 -1 -1 6 1 1 -1 -1
5 145 0 10 1 -1 -1 1 90 -1 3 -1 -1 6 1 1 -1 -1
";

fn read(bytes: &[u8], log: &JobLog) -> Result<(Workload, Vec<String>), String> {
    Workload::read_any(bytes, "x.swf", log).map_err(|error| error.to_string())
}

fn refusal(text: &str) -> String {
    read(text.as_bytes(), &JobLog::default()).expect_err(text)
}

#[test]
fn a_job_of_n_processors_is_n_threads_of_a_process() {
    let (workload, notes) = read(LOG.as_bytes(), &JobLog::default()).expect("a log");
    assert_eq!((workload.cpus, workload.duration_ns, workload.locks.len()), (8, None, 0));
    // In milliseconds since the first job.
    let jobs: Vec<_> = workload
        .tasks
        .iter()
        .map(|task| {
            let [Step::Run(Dist::Constant(run_ns))] = task.program[..] else { panic!("{task:?}") };
            assert!(task.arrivals == Arrivals::Once && task.stop_ns.is_none());
            let group = task.group.map(|group| workload.groups[group].name.as_str());
            (task.name.as_str(), task.start_ns / 1_000, run_ns / 1_000, task.count, group)
        })
        .collect();
    let expected = [
        ("job-1", 0, 60_000, 4, Some("user-7")),
        ("job-2", 10_000, 1_500, 1, Some("user-9")),
        ("job-3", 5_000, 30_000, 2, Some("user-7")),
        ("job-5", 30_000, 20_000, 1, None),
    ];
    assert_eq!(jobs, expected);
    let processes: Vec<_> = workload.tasks.iter().map(|task| task.process.as_deref()).collect();
    assert_eq!(processes, [Some("job-1"), None, Some("job-3"), None]);
    let executables: Vec<_> = (0..4).map(|task| workload.executable(task)).collect();
    assert_eq!(executables, ["app-5", "job-2", "app-5", "app-6"]);
    let expected = [
        "x.swf:2:1: a second becomes 1ms",
        "x.swf:4:2: processors of this job: as requested",
        "x.swf:5:1: a job with no run or submit time",
        "x.swf:7:1: a part of a job that has a line of its own is left out (and 1 more)",
    ];
    let found: Vec<_> = notes.iter().zip(expected).map(|(note, start)| note.starts_with(start)).collect();
    assert_eq!((found, notes.len()), (vec![true; 4], 4), "{notes:#?}");
}

#[test]
fn the_scale_and_what_failed_are_settings() {
    let log = JobLog { second_ns: 1_000_000_000, completed_only: true };
    let (workload, notes) = read(LOG.as_bytes(), &log).expect("a log");
    let jobs: Vec<_> = workload.tasks.iter().map(|task| (task.name.as_str(), task.start_ns)).collect();
    assert_eq!(jobs, [("job-1", 0), ("job-5", 30_000_000_000)]);
    assert!(notes.iter().any(|note| note.contains("that failed or was cancelled is left out (and 2 more)")));
}

/// Also where a comment has a name in another encoding, and where gzip packed it.
#[test]
fn comments_and_packing_do_not_matter() {
    let (plain, _) = read(LOG.as_bytes(), &JobLog::default()).expect("a log");
    let odd = [b"; Universit\xe9 of \xff\n;\n", LOG.as_bytes()].concat();
    assert_eq!(read(&odd, &JobLog::default()).expect("a log").0, plain);
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(LOG.as_bytes()).expect("memory");
    let packed = packed.finish().expect("memory");
    assert_eq!(read(&packed, &JobLog::default()).expect("a log").0, plain);
    assert!(Workload::is_workload(&packed, "x".as_ref()) && Workload::is_job_log(&packed));
    let cut = read(&packed[..packed.len() / 2], &JobLog::default()).expect_err("a cut archive").to_string();
    assert!(cut.contains("cut off or damaged") && cut.ends_with("copy it again"), "{cut}");
    assert!(!Workload::is_job_log(b"# tracer: nop\n") && !Workload::is_job_log(b"[[task]]\n1 2\n"));
}

#[test]
fn without_maxprocs_there_are_as_many_cpus_as_the_widest_job_has() {
    let (workload, notes) =
        read(LOG.replace("MaxProcs", "MaxNodes").as_bytes(), &JobLog::default()).expect("a log");
    assert_eq!(workload.cpus, 4);
    assert!(notes.iter().any(|note| note.contains("the log has no MaxProcs: 4 CPUs")), "{notes:?}");
    let (_, notes) = read(LOG.replace("Procs: 8", "Procs: 3").as_bytes(), &JobLog::default()).expect("a log");
    assert!(notes.iter().any(|note| note.contains("2:1: this job has more tasks than")), "{notes:?}");
}

#[test]
fn damage_is_an_error_with_its_place() {
    let job = "1 0 0 10 1 -1 -1 1 9 -1 1 7 2 5 1 1 -1 -1";
    let with = |field: usize, value: &str| {
        let mut words: Vec<&str> = job.split(' ').collect();
        words[field] = value;
        format!("; a\n{}\n", words.join(" "))
    };
    for (text, place, part) in [
        (format!("{job}\n2 0 0 10 1"), "2:1", "5 fields"),
        (format!("{job} 3\n"), "1:1", "19 fields"),
        (with(3, "NaN"), "2:7", "the run time `NaN` is no number"),
        (with(3, "1e9"), "2:7", "is no number"),
        (with(3, "-10"), "2:7", "the run time `-10` is negative"),
        (with(3, "99999999999999999999999999"), "2:7", "too long"),
        (with(1, "9999999999"), "2:3", "too long"),
        (with(4, "99999999999999999999"), "2:10", "is no whole number"),
        (with(4, "1.5"), "2:10", "is no whole number"),
        (with(4, "1000001"), "2:1", "1000001 tasks, one for each processor"),
        (with(5, "é"), "2:12", "the average CPU time used `é` is no number"),
        (with(17, "\u{1b}[2J"), "2:40", "`\\u{1b}[2J` is no number"),
        (with(0, "-1"), "2:1", "a job without a number"),
        (format!("{job}\n{job}\n"), "2:1", "another job has this number"),
        (format!("; MaxProcs: many\n{job}\n"), "1:1", "`MaxProcs` is `many`"),
        (format!("; MaxProcs: 163840\n{job}\n"), "1:1", "a workload has 1 to 4096 CPUs"),
        (with(3, "0"), "1:1", "no job that ran"),
        ("; nothing\n".to_owned(), "1:1", "no job that ran"),
    ] {
        let error = refusal(&text);
        assert!(error.starts_with(&format!("x.swf:{place}: ")) && error.contains(part), "{text}{error}");
    }
}

/// Whatever the length of the input, no more than 64 MiB are kept, and no more than a million tasks.
#[test]
fn a_log_without_end_is_refused() {
    let error = Workload::read_any(std::io::repeat(b'1'), "x.swf", &JobLog::default())
        .expect_err("endless")
        .to_string();
    assert!(error.contains("64 MiB"), "{error}");
    let many: String =
        (1..=1001).map(|n| format!("{n} 0 0 9 1000 -1 -1 1 9 -1 1 7 2 5 1 1 -1 -1\n")).collect();
    assert!(refusal(&many).starts_with("x.swf:1001:1: the jobs up to here are 1001000 tasks"));
}

proptest! {
    #![proptest_config(ProptestConfig { rng_seed: RngSeed::Fixed(20), ..ProptestConfig::default() })]

    /// A workload has the numbers of its log, in whatever order the jobs come, and its TOML is the same workload.
    #[test]
    fn a_log_is_its_jobs(jobs in prop::collection::vec((0_u32..9_999_999, 1_u32..9_999_999, 1_u32..9, 0_u32..5), 1..20)) {
        let line = |(i, (submit, run, count, user)): (usize, &(u32, u32, u32, u32))| {
            format!("{} {submit} -1 {run} {count} -1 -1 -1 -1 -1 1 {user} -1 -1 -1 -1 -1 -1\n", i + 1)
        };
        let text: String = jobs.iter().enumerate().map(line).collect();
        let log = JobLog { second_ns: 1_000, ..JobLog::default() };
        let (workload, _) = read(text.as_bytes(), &log).expect("a log");
        let first = jobs.iter().map(|job| job.0).min().unwrap_or(0);
        for (task, (submit, run, count, user)) in workload.tasks.iter().zip(&jobs) {
            prop_assert_eq!(task.start_ns, u64::from(submit - first) * 1_000);
            prop_assert_eq!(&task.program, &[Step::Run(Dist::Constant(u64::from(*run) * 1_000))]);
            prop_assert_eq!(task.count, *count);
            prop_assert_eq!(&workload.groups[task.group.expect("a user")].name, &format!("user-{user}"));
        }
        prop_assert_eq!(workload.tasks.len(), jobs.len());
        let again = Workload::parse(&workload.to_toml(), "x.swf").expect("TOML");
        // TOML numbers the groups in the order of the tasks, as the log's users are.
        prop_assert_eq!(again, workload);
    }

    /// No bytes are a panic, and each error of a line has its place.
    #[test]
    fn any_damage_is_read_or_refused(at in 0..LOG.len(), damage in prop::collection::vec(any::<u8>(), 0..6), cut in 0..6_usize) {
        let mut bytes = LOG.as_bytes().to_vec();
        let end = (at + cut).min(bytes.len());
        bytes.splice(at..end, damage);
        bytes.splice(0..0, *b";\n");
        match read(&bytes, &JobLog::default()) {
            Ok((workload, _)) => prop_assert_eq!(workload.check(), Ok(())),
            Err(error) => prop_assert!(error.starts_with("x.swf:"), "{}", error),
        }
    }
}
