//! `divvy help [TOPIC]`: pages of the reference, or what `--help` of a command prints.

use clap::error::ErrorKind;
use clap::{Args, Command, ValueHint};
use divvy_policy::nearest;

use crate::output::Output;
use crate::view::manual;

/// A page of the reference: its topic, a summary, and its text in Markdown.
struct Page {
    topic: &'static str,
    about: &'static str,
    text: &'static str,
}

macro_rules! page {
    ($topic:literal, $about:literal, $file:literal) => {
        Page { topic: $topic, about: $about, text: include_str!(concat!("../../reference/", $file)) }
    };
}

const PAGES: [Page; 5] = [
    page!("workload", "The workload file: every key, unit and default", "workload.md"),
    page!("specs", "How policies, parameters and modifiers are named", "specs.md"),
    page!("metrics", "What each number means", "metrics.md"),
    page!("formats", "Traces and workloads that are read and written", "trace-formats.md"),
    page!("contract", "What a policy of your own defines", "contract.md"),
];

/// Lines of text wider than this are hard to read.
const MOST_COLUMNS: usize = 100;

/// Print a page of the reference, or the help of a command
#[derive(Debug, Args)]
#[command(after_help = "\
Topics: workload, specs, metrics, formats, contract

Examples:
  divvy help workload
  divvy help metrics | less
  divvy help sim")]
pub struct HelpArgs {
    /// workload, specs, metrics, formats or contract; or a command
    #[arg(value_name = "TOPIC", value_hint = ValueHint::Other)]
    pub topic: Vec<String>,
}

/// Prints the page. An unknown topic is a usage error, as an unknown command is.
pub fn run(args: &HelpArgs, command: Command, output: Output) -> anyhow::Result<()> {
    let page = match args.topic.as_slice() {
        [topic] => PAGES.iter().find(|page| page.topic == topic),
        _ => None,
    };
    match page {
        Some(page) => {
            let columns = output.columns(None).min(MOST_COLUMNS);
            output.write(&manual::render(page.text, columns), None)
        }
        None => command_help(command, &args.topic, output),
    }
}

/// Prints the text that clap prints for `--help` of this command, or of a command below it.
fn command_help(mut root: Command, path: &[String], output: Output) -> anyhow::Result<()> {
    root.build();
    let mut command = &mut root;
    for name in path {
        let Some(found) = command.find_subcommand(name).map(|found| found.get_name().to_owned()) else {
            let topics = if command.get_name() == "divvy" { &PAGES[..] } else { &[] };
            let message = unknown(name, topics, command);
            command.error(ErrorKind::InvalidSubcommand, message).exit();
        };
        command = command.find_subcommand_mut(&found).expect("it was found just now");
    }
    let mut text = command.render_long_help().ansi().to_string();
    if path.is_empty() {
        text.push_str("\nTopics of divvy help:\n");
        for page in &PAGES {
            text.push_str(&format!("  {:9} {}\n", page.topic, page.about));
        }
    }
    output.write(&text, None)
}

fn unknown(name: &str, topics: &[Page], command: &Command) -> String {
    let commands = command.get_subcommands().map(Command::get_name);
    let known = topics.iter().map(|page| page.topic).chain(commands);
    let hint = match nearest(name, known) {
        Some(meant) => format!("did you mean `{meant}`?"),
        None => {
            "topics are workload, specs, metrics, formats and contract; `divvy --help` lists the commands"
                .to_owned()
        }
    };
    format!("there is no help on `{}`; {hint}", name.escape_debug())
}

#[cfg(test)]
mod tests {
    use super::*;
    use divvy_results::text;

    #[test]
    fn every_page_fits_eighty_columns() {
        for page in &PAGES {
            let shown = anstream::adapter::strip_str(&manual::render(page.text, 80)).to_string();
            let wide: Vec<&str> = shown.lines().filter(|line| text::width(line) > 80).collect();
            assert!(wide.is_empty(), "{}: {wide:#?}", page.topic);
        }
    }

    /// All words of a page are printed, whatever its tables become.
    #[test]
    fn nothing_of_a_page_is_lost() {
        let letters = |text: &str| text.chars().filter(|c| c.is_alphanumeric()).count();
        for page in &PAGES {
            let shown = anstream::adapter::strip_str(&manual::render(page.text, 500)).to_string();
            // Addresses of links are left out, and languages of blocks.
            assert!(letters(&shown) * 100 > letters(page.text) * 93, "{}", page.topic);
        }
    }

    #[test]
    fn the_topics_are_listed_where_help_is_asked_for() {
        let help = HelpArgs::augment_args(clap::Command::new("help"));
        let listed = help.get_after_help().expect("topics").to_string();
        let topics = PAGES.iter().map(|page| page.topic).collect::<Vec<_>>().join(", ");
        assert!(listed.starts_with(&format!("Topics: {topics}\n")), "{listed}");
    }
}
