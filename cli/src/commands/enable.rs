//! `divvy enable` and `divvy disable`: a policy from boot on, by a systemd unit.

use std::path::{Component, Path, PathBuf};

use clap::{Args, ValueHint};
use divvy_kernel::flow::DEFAULT_DB;
use divvy_kernel::load::{RULES, check};
use divvy_kernel::service::{self, HIDDEN, SETTINGS, STATE_DIRECTORY, Settings, UNIT};
use divvy_policy::{Failure, FailureKind};

use crate::args::given::Given;
use crate::args::presets;
use crate::args::scheduler::{SchedulerArgs, full, loadable};
use crate::output::Output;

/// Load a policy now and at each boot
///
/// It is written to /etc/default/divvy with these options, which replace those that are there, and the systemd unit divvy.service
/// loads it. If it cannot be loaded, or you press Ctrl-C, the settings and the unit are as before, and so is the policy that was
/// loaded. The unit loads it again after a kernel upgrade; if the new kernel refuses it, the kernel's own scheduler is in place,
/// and `systemctl status divvy` says why. If another policy is loaded, it schedules while the kernel verifies the new one, which then
/// takes its place at once. With another --group the unit is started again instead.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sudo divvy enable desktop
  sudo divvy enable server --group adm
  sudo divvy enable gr3+procfair --quantum 2ms
  sudo divvy disable")]
pub struct EnableArgs {
    /// The policy or preset, as for `divvy load`; without it, that of /etc/default/divvy
    #[arg(value_name = "SPEC", value_hint = ValueHint::Other)]
    pub spec: Option<String>,

    #[command(flatten)]
    pub scheduler: Given<SchedulerArgs>,
}

/// Unload the policy of `divvy enable`, and load none at boot
///
/// The settings stay in /etc/default/divvy, so `divvy enable` without a SPEC loads the same policy again.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sudo divvy disable
  sudo divvy disable --quiet
  sudo divvy disable && sudo divvy enable desktop")]
pub struct DisableArgs {}

/// The command line cannot be written into the settings.
#[derive(Debug, thiserror::Error)]
pub enum BadSettings {
    /// Options alone.
    #[error(
        "{0} goes with a policy, and none is given; as in: divvy enable sfq {0}\n  \
         `divvy enable` alone takes policy and options from {SETTINGS}"
    )]
    NoSpec(String),
    /// Nothing given, nothing there.
    #[error("there is no policy in {SETTINGS}; say which one, as in: divvy enable desktop")]
    Nothing,
    /// systemd splits the options at spaces, and takes some characters for its own.
    #[error("`{0}` cannot be written into {SETTINGS}: words in it must not have spaces, quotes, $, % or \\")]
    Word(String),
    /// The unit has other directories of these names, or none.
    #[error(
        "--rules {}: {UNIT} sees no files in {}; put it where the unit sees it; if there is no \
         {RULES} yet:\n  sudo install -m 644 {} {RULES}", .0.display(), HIDDEN.join(", "), .0.display()
    )]
    Hidden(PathBuf),
    /// All else is read-only to the unit.
    #[error("--db {}: {UNIT} can write only in {STATE_DIRECTORY}, as in: --db {DEFAULT_DB}", .0.display())]
    ReadOnly(PathBuf),
}

impl Failure for BadSettings {
    fn kind(&self) -> FailureKind {
        FailureKind::Usage
    }
}

/// Writes the settings, and lets the unit load them.
pub fn run(args: &EnableArgs, output: Output) -> anyhow::Result<()> {
    let given = given(args)?;
    check::built()?;
    check::sched_ext()?;
    service::ready()?;
    let _alone = service::lock()?;
    if !service::is_active()? {
        check::no_other_scheduler()?;
    }
    let former = Settings::read().map_err(service::ServiceError::Settings)?;
    let settings = given.map_or_else(|| former.clone(), |(spec, options)| former.with(&spec, &options));
    let spec = settings.spec().ok_or(BadSettings::Nothing)?;
    let (options, former_options) = (settings.options(), former.options());
    if options != former_options && !former_options.is_empty() {
        output.note(&format!("the former options no longer hold: {}", former_options.join(" ")));
    }
    let named = named(spec, &options);
    output.note(&format!("{UNIT} loads {named}; the kernel's verifier may take some seconds"));
    service::enable(&settings, &former)?;
    let text = format!("{named} schedules this machine, now and from each boot on\n");
    output.write(&text, None)
}

/// Ends it.
pub fn stop(_: &DisableArgs, output: Output) -> anyhow::Result<()> {
    service::ready()?;
    let _alone = service::lock()?;
    service::disable()?;
    check::no_other_scheduler()?;
    output.write("the kernel's own scheduler is in place, now and from each boot on\n", None)
}

/// The policy with its options; a preset with what it stands for, unless an option changes that.
fn named(spec: &str, options: &[String]) -> String {
    let explained = presets::find(spec).map(|preset| format!("{spec} ({})", preset.words()));
    let is_changed = options.iter().any(|word| ["--cgroups", "--users"].contains(&word.as_str()));
    let head = explained.filter(|_| !is_changed).unwrap_or_else(|| spec.to_owned());
    std::iter::once(head).chain(options.iter().cloned()).collect::<Vec<_>>().join(" ")
}

/// The policy and its options, checked as `divvy load` checks them, if there are any.
fn given(args: &EnableArgs) -> anyhow::Result<Option<(String, Vec<String>)>> {
    let Some(spec) = &args.spec else {
        return match args.scheduler.words.as_slice() {
            [] => Ok(None),
            // They are said together, because some need each other.
            words => Err(BadSettings::NoSpec(words.join(" ")).into()),
        };
    };
    let options = args.scheduler.values.words();
    loadable(spec, &args.scheduler.values)?;
    let is_plain =
        |word: &&String| !word.contains(|c: char| c.is_whitespace() || "\"'$%\\\u{fffd}".contains(c));
    if let Some(word) = std::iter::once(spec).chain(&options).find(|word| !is_plain(word)) {
        return Err(BadSettings::Word(word.clone()).into());
    }
    within_reach(&args.scheduler.values)?;
    Ok(Some((spec.clone(), options)))
}

/// The unit has its own view of the machine's files, so what can be read here may be hidden there.
fn within_reach(args: &SchedulerArgs) -> Result<(), BadSettings> {
    let is_below = |file: &Path, folders: &[&str]| folders.iter().any(|folder| file.starts_with(folder));
    if let Some(rules) = &args.rules {
        let file = full(rules);
        let target = file.canonicalize().unwrap_or_else(|_| file.clone());
        if is_below(&file, &HIDDEN) || is_below(&target, &HIDDEN) {
            return Err(BadSettings::Hidden(rules.clone()));
        }
    }
    let db = full(&args.db);
    let leads_out = db.components().any(|part| part == Component::ParentDir);
    if is_below(&db, &[STATE_DIRECTORY]) && db != Path::new(STATE_DIRECTORY) && !leads_out {
        return Ok(());
    }
    Err(BadSettings::ReadOnly(args.db.clone()))
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt as _;

    use clap::Parser as _;
    use divvy_kernel::load::LoadError;

    use super::*;
    use crate::cli::{Cli, Command};

    fn parse(line: &str) -> EnableArgs {
        match Cli::try_parse_from(line.split(' ')).expect("a command line").command {
            Command::Enable(args) => args,
            other => panic!("{other:?}"),
        }
    }

    fn written(line: &str) -> anyhow::Result<Option<(String, Vec<String>)>> {
        given(&parse(line))
    }

    #[test]
    fn the_policy_and_its_options_are_written_as_load_reads_them() {
        let (spec, options) = written(
            "divvy enable sfq+procfair --quantum 2500us --users --timeout=20s --group adm --group-may watch --pool 500 \
             --starvation-limit 3s --db /var/lib/divvy/x.redb --fail-every 7",
        )
        .expect("it loads")
        .expect("a policy");
        assert_eq!(spec, "sfq+procfair");
        let again = parse(&format!("divvy enable sfq+procfair {}", options.join(" ")));
        assert_eq!(again.scheduler.values.words(), options);
        assert_eq!(
            options,
            [
                "--quantum=2.5ms",
                "--timeout=20s",
                "--starvation-limit=3s",
                "--users",
                "--pool=500",
                "--db=/var/lib/divvy/x.redb",
                "--group=adm",
                "--group-may=watch",
                "--fail-every=7"
            ]
        );
        assert_eq!(written("divvy enable desktop").expect("a preset"), Some(("desktop".to_owned(), vec![])));
        assert_eq!(written("divvy enable").expect("nothing to check"), None);
    }

    #[test]
    fn a_preset_is_explained_unless_an_option_changes_it() {
        let said = |line: &str| {
            let args = parse(line);
            named(args.spec.as_deref().expect("a policy"), &args.scheduler.values.words())
        };
        assert_eq!(said("divvy enable server"), "server (sfq --cgroups)");
        assert_eq!(said("divvy enable server --group adm"), "server (sfq --cgroups) --group=adm");
        assert_eq!(said("divvy enable server --users"), "server --users");
        assert_eq!(said("divvy enable rr --quantum 2ms"), "rr --quantum=2ms");
    }

    /// One that repeats its default would otherwise be lost without a word.
    #[test]
    fn each_option_needs_a_policy_whatever_its_value() {
        for (option, said) in [
            ("--quantum 4ms", "--quantum=4ms"),
            ("--timeout=30s", "--timeout=30s"),
            ("--starvation-limit 15s", "--starvation-limit=15s"),
            ("--patience 15s", "--starvation-limit=15s"),
            ("--cgroups", "--cgroups"),
            ("--users", "--users"),
            ("--ignore-cpu-max", "--ignore-cpu-max"),
            ("--pool 16383", "--pool=16383"),
            ("--max-tasks 9", "--max-tasks=9"),
            ("--db /var/lib/divvy/flow.redb", "--db=/var/lib/divvy/flow.redb"),
            ("--rules /etc/divvy.toml", "--rules=/etc/divvy.toml"),
            ("--group adm", "--group=adm"),
            ("--group adm --group-may own", "--group=adm --group-may=own"),
            ("--fail-every 0", "--fail-every=0"),
        ] {
            let error = written(&format!("divvy enable {option}")).expect_err(option);
            let is_usage = error.downcast_ref::<BadSettings>().map(Failure::kind) == Some(FailureKind::Usage);
            let shown = error.to_string();
            assert!(is_usage && shown.contains(&format!("divvy enable sfq {said}\n")), "{option}: {shown}");
        }
    }

    /// Root could read it by a privilege that the unit does not have.
    #[test]
    fn it_refuses_rules_that_the_unit_cannot_read() {
        let file = std::env::temp_dir().join(format!("divvy-enable-{}.toml", std::process::id()));
        fs::write(&file, "").expect("a file");
        let line = format!("divvy enable sfq --rules {}", file.display());
        let readable = written(&line).map(drop);
        fs::set_permissions(&file, Permissions::from_mode(0o000)).expect("it is ours");
        let unreadable = written(&line).map(drop);
        fs::remove_file(&file).expect("it was made above");
        // It may be hidden from the unit, but it can be read.
        let is_of_load = |error: anyhow::Error| error.is::<LoadError>();
        assert!(!readable.is_err_and(is_of_load));
        let error = unreadable.expect_err("nobody may read it");
        assert_eq!(error.downcast_ref::<LoadError>().map(Failure::kind), Some(FailureKind::BadInput));
    }

    #[test]
    fn it_refuses_files_where_the_unit_does_not_see_or_write_them() {
        let refused = |line: &str| within_reach(&parse(line).scheduler.values).err().map(|e| e.to_string());
        for folder in HIDDEN {
            let file = format!("{folder}/rules.toml");
            let said = refused(&format!("divvy enable sfq --rules {file}")).expect(folder);
            assert!(said.contains(&file) && said.contains("sudo install"), "{said}");
        }
        for file in ["/etc/divvy.toml", "/homes/rules.toml", "/srv/tmp/rules.toml"] {
            assert_eq!(refused(&format!("divvy enable sfq --rules {file}")), None);
        }
        assert_eq!(refused("divvy enable sfq+flow"), None);
        let outside = [
            "/x.redb",
            "/var/lib/divvy2/x.redb",
            "/tmp/x.redb",
            "x.redb",
            "/var/lib/divvy",
            "/var/lib/divvy/../x.redb",
        ];
        for file in outside {
            let said = refused(&format!("divvy enable sfq+flow --db {file}")).expect(file);
            assert!(said.contains("--db /var/lib/divvy/flow.redb"), "{said}");
        }
        // A link elsewhere does not help.
        assert!(refused("divvy enable sfq --rules /proc/self/root/tmp").is_some());
    }

    #[test]
    fn it_refuses_what_load_would_refuse_and_what_the_file_cannot_say() {
        for (line, why) in [
            ("divvy enable --users", "none is given"),
            ("divvy enable nosuch", "nosuch"),
            ("divvy enable ps", "simulator only"),
            ("divvy enable linux24", "--max-tasks"),
            ("divvy enable rr+flow@cpu", "not shared by several shards"),
            ("divvy enable sfq --db /tmp/%h", "cannot be written"),
            ("divvy enable sfq --group a$b", "cannot be written"),
        ] {
            let error = written(line).expect_err(line);
            assert!(format!("{error:#}").contains(why), "{line}: {error:#}");
        }
    }
}
