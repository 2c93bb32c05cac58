//! Options, and which of them somebody gave: one that repeats its default is given all the same.

use clap::parser::ValueSource;
use clap::{ArgMatches, Args, Command, Error, FromArgMatches, Id};

/// A group of options, and the words of those that stand on the command line.
#[derive(Debug)]
pub struct Given<T> {
    /// Their values.
    pub values: T,
    /// As they can be given again, in the order of the help.
    pub words: Vec<String>,
}

impl<T: Args> FromArgMatches for Given<T> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        Ok(Self { words: words::<T>(matches), values: T::from_arg_matches(matches)? })
    }

    fn from_arg_matches_mut(matches: &mut ArgMatches) -> Result<Self, Error> {
        // To take the values takes them out of the matches.
        Ok(Self { words: words::<T>(matches), values: T::from_arg_matches_mut(matches)? })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        self.words = words::<T>(matches);
        self.values.update_from_arg_matches(matches)
    }
}

impl<T: Args> Args for Given<T> {
    fn group_id() -> Option<Id> {
        T::group_id()
    }

    fn augment_args(command: Command) -> Command {
        T::augment_args(command)
    }

    fn augment_args_for_update(command: Command) -> Command {
        T::augment_args_for_update(command)
    }
}

fn words<T: Args>(matches: &ArgMatches) -> Vec<String> {
    let all = T::augment_args(Command::new("options"));
    let on_line =
        |arg: &&clap::Arg| matches.value_source(arg.get_id().as_str()) == Some(ValueSource::CommandLine);
    all.get_arguments().filter(on_line).filter_map(|arg| word(arg, matches)).collect()
}

fn word(arg: &clap::Arg, matches: &ArgMatches) -> Option<String> {
    let name = arg.get_long()?;
    let takes_value = arg.get_action().takes_values();
    let value = matches.get_raw(arg.get_id().as_str()).and_then(|mut values| values.next());
    Some(match value.filter(|_| takes_value) {
        Some(value) => format!("--{name}={}", value.to_string_lossy()),
        None => format!("--{name}"),
    })
}
