//! Usage errors in one line: what is wrong, and what was probably meant.

use clap::error::{ContextKind, ContextValue, Error, ErrorKind};

/// One line for an error that clap tells in several.
pub fn condense(error: &Error) -> String {
    let one = |kind| context(error, kind);
    let argument = one(ContextKind::InvalidArg).map(|argument| name_of(&argument)).unwrap_or_default();
    match error.kind() {
        ErrorKind::ValueValidation | ErrorKind::InvalidValue => {
            let value = one(ContextKind::InvalidValue).unwrap_or_default();
            if value.is_empty() {
                format!("{argument} is missing its value, expected {argument} VALUE")
            } else {
                format!("{argument} is {value}, expected a number")
            }
        }
        ErrorKind::UnknownArgument => {
            let meant = one(ContextKind::SuggestedArg).map(|name| name_of(&name));
            let remedy = meant.map_or("see --help".to_owned(), |name| format!("did you mean {name}?"));
            format!("{argument} is not an option here, expected one that is; {remedy}")
        }
        ErrorKind::InvalidSubcommand => {
            let given = one(ContextKind::InvalidSubcommand).unwrap_or_default();
            let meant = one(ContextKind::SuggestedSubcommand).map(|names| names.replace(" and ", " or "));
            let remedy = meant.map_or("see --help".to_owned(), |name| format!("did you mean {name}?"));
            format!(
                "command is {given}, expected account, audit, bound, calibrate, curve, explain, local, release, strategy, train, verify or completions; {remedy}"
            )
        }
        ErrorKind::MissingRequiredArgument => {
            format!("{argument} is missing, expected it to be given; see --help")
        }
        ErrorKind::ArgumentConflict => {
            let other = one(ContextKind::PriorArg).map(|name| name_of(&name)).unwrap_or_default();
            if other == argument || other.is_empty() {
                format!("{argument} is given twice, expected once")
            } else {
                format!("{argument} is given together with {other}, expected one or the other")
            }
        }
        _ => first_line(error),
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
