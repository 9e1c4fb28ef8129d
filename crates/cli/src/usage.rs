//! Usage errors in one line: what is wrong, and what was probably meant.

use crate::args::Cli;
use clap::{
    CommandFactory,
    error::{ContextKind, ContextValue, Error, ErrorKind},
};
use veracity::{Refusal, nearest, printable};

/// One line for an error that clap prints in several.
pub fn condense(error: &Error) -> String {
    let one = |kind| context(error, kind);
    let argument = one(ContextKind::InvalidArg).map(|argument| name_of(&argument)).unwrap_or_default();
    match error.kind() {
        ErrorKind::ValueValidation | ErrorKind::InvalidValue => {
            let value = one(ContextKind::InvalidValue).unwrap_or_default();
            let source = std::error::Error::source(error);
            match source.and_then(|source| source.downcast_ref::<Refusal>()).map(ToString::to_string) {
                _ if value.is_empty() => {
                    format!("{argument} is missing its value, expected {argument} VALUE")
                }
                // The text of a parser of ours.
                Some(own) => own,
                None => invalid(error, &argument, &value),
            }
        }
        ErrorKind::UnknownArgument => {
            let meant = one(ContextKind::SuggestedArg).map(|name| name_of(&name));
            let remedy = meant.map_or("see --help".to_owned(), |name| format!("did you mean {name}?"));
            format!("unknown option {argument}; {remedy}")
        }
        ErrorKind::InvalidSubcommand => {
            let given = one(ContextKind::InvalidSubcommand).unwrap_or_default();
            let root = Cli::command();
            let all: Vec<&str> =
                asked(&root, &given).get_subcommands().map(clap::Command::get_name).collect();
            let meant = nearest(&given, all.iter().copied());
            let remedy = meant.map_or("see --help".to_owned(), |name| format!("did you mean {name}?"));
            format!("unknown command {given}, expected {}; {remedy}", one_of(&all))
        }
        ErrorKind::MissingRequiredArgument => {
            let all: Vec<&str> = argument.split(" and ").collect();
            match all[..] {
                [only] => format!("{only} is missing; see --help"),
                [ref first @ .., last] => format!("{} and {last} are missing; see --help", first.join(", ")),
                [] => first_line(error),
            }
        }
        ErrorKind::ArgumentConflict => {
            let other = one(ContextKind::PriorArg).map(|name| name_of(&name)).unwrap_or_default();
            if other == argument || other.is_empty() {
                format!("{argument} is given twice")
            } else {
                format!("{argument} cannot be used with {other}")
            }
        }
        _ => first_line(error),
    }
}

/// The command whose subcommand a word was meant to be: what was written before it leads there.
fn asked<'a>(root: &'a clap::Command, given: &str) -> &'a clap::Command {
    let before = std::env::args().skip(1).take_while(|word| word != given);
    before.fold(root, |command, word| command.find_subcommand(&word).unwrap_or(command))
}

/// A value that is none of those that there are, or no number.
fn invalid(error: &Error, argument: &str, value: &str) -> String {
    let name = if argument.starts_with('-') { argument.to_owned() } else { argument.to_lowercase() };
    let shown = printable(value, 60);
    let Some(ContextValue::Strings(all)) = error.get(ContextKind::ValidValue) else {
        let why = std::error::Error::source(error).map(ToString::to_string).unwrap_or_default();
        // clap says of a number that it "is not in 0..=65535".
        let range = why.split_once(" is not in ").and_then(|(_, range)| range.split_once("..="));
        let expected =
            range.map_or("a number".to_owned(), |(low, high)| format!("a number from {low} to {high}"));
        return format!("{name} is {shown}, expected {expected}");
    };
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    let meant = nearest(value, all.iter().copied());
    let meant = meant.map_or(String::new(), |word| format!("; did you mean {word}?"));
    format!("{name} is {shown}, expected {}{meant}", one_of(&all))
}

/// `a, b or c`.
fn one_of(all: &[&str]) -> String {
    match all {
        [] => String::new(),
        [only] => (*only).to_owned(),
        [first @ .., last] => format!("{} or {last}", first.join(", ")),
    }
}

/// The text of one piece of context; of a list, its first entries.
fn context(error: &Error, kind: ContextKind) -> Option<String> {
    match error.get(kind)? {
        ContextValue::String(text) => Some(text.clone()),
        ContextValue::Strings(all) => Some(all.join(" and ")),
        ContextValue::StyledStr(text) => Some(text.to_string()),
        ContextValue::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// `--delta <D>` is known to its users as `--delta`.
fn name_of(argument: &str) -> String {
    let words = argument.split(" and ").map(|one| one.split([' ', '=']).next().unwrap_or(one));
    words.collect::<Vec<_>>().join(" and ").replace(['<', '>'], "").replace("...", "")
}

fn first_line(error: &Error) -> String {
    let text = error.to_string();
    let line = text.lines().find(|line| !line.trim().is_empty()).unwrap_or("unknown usage error, see --help");
    line.trim_start_matches("error: ").to_owned()
}
