//! Options whose values are other rooms' enums: the words of the command line stand beside the option.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

/// A word, its meaning, and a line of help.
pub type Choice<T> = (&'static str, T, &'static str);

/// Takes one of these words.
pub fn one_of<T: Copy + Send + Sync>(choices: &'static [Choice<T>]) -> impl TypedValueParser<Value = T> {
    let words = choices.iter().map(|(word, _, help)| PossibleValue::new(word).help(help));
    PossibleValuesParser::new(words.collect::<Vec<_>>()).try_map(|given| {
        // Only words that differ by more than case are choices.
        let chosen = choices.iter().find(|(word, ..)| word.eq_ignore_ascii_case(&given));
        chosen.map(|(_, meaning, _)| *meaning).ok_or("not one of the values")
    })
}
