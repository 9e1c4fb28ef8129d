//! Output: the answer goes to stdout, everything else to stderr, with color only on a terminal.

use crate::args::choice::ColorWord;
use anstream::{AutoStream, ColorChoice};
use anstyle::{AnsiColor, Style};
use serde_json::json;
use std::{
    io::{self, IsTerminal, Write},
    process::ExitCode,
};
use veracity::printable;

/// A broken guarantee.
const ALARM: Style = AnsiColor::Red.on_default().bold();
/// No alarm. There is no green: an audit that refutes nothing has proved nothing.
const CALM: Style = Style::new().bold();

/// The words that start a verdict.
const VERDICTS: [(&str, Style); 6] = [
    ("INCONCLUSIVE", CALM),
    ("NOT REFUTED", CALM),
    ("REFUTED", ALARM),
    ("valid", CALM),
    ("invalid", ALARM),
    ("not for release", ALARM),
];

/// The options of the output.
#[derive(Debug, Clone, Copy)]
pub struct Console {
    /// Only errors on stderr.
    is_quiet: bool,
    /// Errors as JSON objects.
    is_json: bool,
    color: ColorChoice,
}

impl Console {
    /// The options before the arguments are parsed.
    pub fn at_first() -> Console {
        let mut words = std::env::args_os().skip(1).take_while(|word| word != "--");
        Console { is_quiet: false, is_json: words.any(|word| word == "--json"), color: ColorChoice::Auto }
    }

    /// The options of the arguments.
    pub fn new(is_quiet: bool, color: ColorWord) -> Console {
        let color = match color {
            ColorWord::Auto => ColorChoice::Auto,
            ColorWord::Always => ColorChoice::AlwaysAnsi,
            ColorWord::Never => ColorChoice::Never,
        };
        Console { is_quiet, color, ..Console::at_first() }
    }

    /// Whether errors are JSON objects.
    pub fn is_json(self) -> bool {
        self.is_json
    }

    /// Whether only errors may be printed to stderr.
    pub fn is_quiet(self) -> bool {
        self.is_quiet
    }

    /// Whether stderr is a terminal and not silenced.
    pub fn is_watched(self) -> bool {
        !self.is_quiet && io::stderr().is_terminal()
    }

    /// A line on stderr. A closed stderr is ignored.
    pub fn remark(self, line: &str) {
        if !self.is_quiet {
            let _ = writeln!(io::stderr(), "{line}");
        }
    }

    /// Writes the answer. A reader that closes the pipe early (`| head -1`) is not an error.
    pub fn print(self, text: &str, code: u8) -> ExitCode {
        let mut stdout = AutoStream::new(io::stdout().lock(), self.color);
        match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                self.fail("file", &format!("stdout is not writable ({error})"))
            }
            Ok(()) | Err(_) => ExitCode::from(code),
        }
    }

    /// Help for a command without arguments. It goes to stderr with the exit code of an error, because a CI gate that lost its arguments
    /// must not pass.
    pub fn help(self, text: &str) -> ExitCode {
        let _ = io::stderr().write_all(text.as_bytes());
        ExitCode::from(2)
    }

    /// An error in one line, which with `--json` is an object.
    pub fn fail(self, kind: &str, line: &str) -> ExitCode {
        let one_line = printable(line, usize::MAX);
        let one_line = one_line.trim_end();
        let mut stderr = AutoStream::new(io::stderr().lock(), self.color);
        // A closed stderr is ignored.
        let _ = if self.is_json {
            let object = json!({ "schema": "veracity.error/1", "kind": kind, "message": one_line });
            writeln!(stderr, "{object}")
        } else {
            writeln!(stderr, "{ALARM}veracity:{ALARM:#} {one_line}")
        };
        ExitCode::from(2)
    }
}

/// Colors the verdicts in a text: at the beginning of a line, or after the name of a file. `print` removes the colors where none are
/// wanted.
pub fn painted(text: &str) -> String {
    let mut all = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let named = line.find(": ").map_or(line, |at| &line[at + 2..]);
        let begins =
            |rest: &str| VERDICTS.into_iter().find(|(word, _)| rest.starts_with(&format!("{word}:")));
        let found = [line, named].into_iter().find_map(|rest| begins(rest).map(|verdict| (rest, verdict)));
        match found {
            Some((rest, (word, style))) => {
                all += &line[..line.len() - rest.len()];
                all += &format!("{style}{word}{style:#}{}", &rest[word.len()..]);
            }
            None => all += line,
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdicts_are_colored_only_where_they_start_a_line() {
        let text = "REFUTED: a\nNOT REFUTED: b\nx.json: invalid: c\nthat is REFUTED: d\nvalid\n";
        let painted = painted(text);
        let red = |word: &str| format!("{ALARM}{word}{ALARM:#}");
        let bold = |word: &str| format!("{CALM}{word}{CALM:#}");
        let expected = format!(
            "{}: a\n{}: b\nx.json: {}: c\nthat is REFUTED: d\nvalid\n",
            red("REFUTED"),
            bold("NOT REFUTED"),
            red("invalid")
        );
        assert_eq!(painted, expected);
        assert!(red("x").contains("\u{1b}[31m") && !bold("x").contains("31m"));
    }
}
