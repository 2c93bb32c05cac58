//! `divvy studio [WORKLOAD] [-p SPEC..]`.

use std::ffi::OsStr;
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use clap::{ArgAction, Args, ValueHint};
use divvy_policy::Description;
use divvy_policy::file;
use divvy_policy::spec;

use crate::input;
use crate::output::Output;
use crate::studio::{self, FIRST, Start, State};

/// Show a workload under policies in a browser, and change both while it runs
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  divvy studio
  divvy studio mix.toml -p rr,eevdf,sfs
  divvy studio queue.toml -p pbs:alpha=1 --listen 127.0.0.1:7878
  divvy studio mix.toml -p ./mine.h,sfq", after_long_help = STUDIO_HELP)]
pub struct StudioArgs {
    /// The workload to begin with, a TOML file; - is stdin [default: a small one]
    #[arg(value_name = "WORKLOAD", value_hint = ValueHint::FilePath)]
    pub workload: Option<PathBuf>,

    /// Policies to begin with, as for divvy sim; a file, as ./mine.h, only if it is named here
    #[arg(short, long = "policy", value_name = "SPEC", default_value = "eevdf,rr", action = ArgAction::Append, value_hint = ValueHint::Other)]
    pub policy: Vec<String>,

    /// Number that all random numbers come from
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,

    /// Where to serve the page; port 0 is any free one. Another address than loopback lets everybody there simulate on this machine
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:0", value_parser = address, value_hint = ValueHint::Other)]
    pub listen: SocketAddr,
}

const STUDIO_HELP: &str = "\
The page edits the workload and the policies, has sliders for parameters, weights, CPUs and load, and steps through decisions. A link has its \
whole state; nothing is kept by the server. A run takes at most 5 seconds, on up to 256 CPUs. The page reads no files, and a policy of one's own \
is compiled only if the command line names it. Ctrl-C ends it.

Examples:
  divvy studio
  divvy studio mix.toml -p rr,eevdf,sfs
  divvy studio queue.toml -p pbs:alpha=1 --listen 127.0.0.1:7878
  divvy studio mix.toml -p ./mine.h,sfq";

/// Serves the page until it is ended.
pub fn run(args: &StudioArgs, output: Output) -> anyhow::Result<()> {
    file::load_named(&args.policy)?;
    let specs = spec::parse_list(&args.policy, divvy_policy::all())?;
    let text = args.workload.as_deref().map_or(Ok(FIRST.to_owned()), |path| text_of(path, output))?;
    let own = specs.iter().filter_map(|spec| file::find(spec.selection.name)).map(|file| &file.info);
    let start = Start {
        policies: divvy_policy::all().iter().chain(own).map(Description::from).collect(),
        state: State {
            text,
            policies: specs.iter().map(ToString::to_string).collect(),
            seed: args.seed,
            load: None,
        },
        version: env!("CARGO_PKG_VERSION"),
    };
    studio::serve(args.listen, &start, output)
}

/// A workload as TOML: the file's own text, with its comments, if it is TOML. It is read as other commands read it, so its errors are theirs.
fn text_of(path: &Path, output: Output) -> anyhow::Result<String> {
    let workload = input::workload(path, output)?;
    match path.extension() == Some(OsStr::new("toml")) {
        true => Ok(fs::read_to_string(path)?),
        false => Ok(workload.to_toml()),
    }
}

fn address(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| "an address and a port, as in 127.0.0.1:7878 or [::1]:7878".to_owned())
}
