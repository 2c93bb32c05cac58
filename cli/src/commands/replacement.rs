//! The words of another policy, which a loader that runs is asked to load.

use clap::Parser;
use divvy_kernel::load::Options;

use crate::args::scheduler::{self, SchedulerArgs};

/// SPEC and options, as `divvy enable` writes them into the settings.
#[derive(Debug, Parser)]
#[command(no_binary_name = true, disable_help_flag = true)]
struct Words {
    spec: String,
    #[command(flatten)]
    scheduler: SchedulerArgs,
}

/// The options of these words. Those of a loader itself, such as `--log`, are refused.
pub fn read(words: &[String]) -> Result<Options, String> {
    let words = Words::try_parse_from(words).map_err(|error| error.to_string())?;
    scheduler::options(&words.spec, &words.scheduler).map_err(|error| format!("{error:#}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_words(words: &[&str]) -> Result<Options, String> {
        read(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn they_are_read_as_the_loader_reads_them_at_its_start() {
        let options = read_words(&["fair-users", "--quantum=2ms"]).expect("options");
        assert_eq!((options.spec.to_string(), options.quantum.as_millis()), ("gr3".to_owned(), 2));
        assert!(options.grouping.is_some() && options.command.is_empty() && options.log.is_none());
        for words in [&["nosuch"][..], &["rr", "--log=FILE"], &["rr", "--exec", "sh"], &["rr", "--help"], &[]]
        {
            assert!(read_words(words).is_err(), "{words:?}");
        }
    }
}
