//! Reports from any source of lines, with a limit to how long a line may be.

use crate::local::{Domain, Report, Survey};
use std::io::{BufRead, Read};
use veracity_core::Refusal;

/// Reports from a source of lines, one after another, after its header.
#[derive(Debug)]
pub struct Reader<R> {
    survey: Survey,
    input: R,
    number: u64,
    ended: bool,
}

/// The longest header: a million categories of some fifty letters.
const LONGEST_HEADER: u64 = 1 << 26;
/// The longest report: the bits of the largest domain, and what is around them.
const LONGEST_REPORT: u64 = (Domain::MOST / 4) as u64 + 256;

impl<R: BufRead> Reader<R> {
    /// Reads the header.
    ///
    /// # Errors
    /// Refuses input that does not begin with a header.
    pub fn new(mut input: R) -> Result<Reader<R>, Refusal> {
        let line = next_line(&mut input, 1, LONGEST_HEADER)?
            .ok_or_else(|| Refusal::Invalid("line 1: the header is missing".into()))?;
        Ok(Reader { survey: Survey::from_header(&line)?, input, number: 1, ended: false })
    }

    /// What the header says.
    pub fn survey(&self) -> &Survey {
        &self.survey
    }
}

impl<R: BufRead> Iterator for Reader<R> {
    type Item = Result<Report, Refusal>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        self.number += 1;
        let report = match next_line(&mut self.input, self.number, LONGEST_REPORT) {
            Ok(Some(line)) => self.survey.report(self.number, &line),
            Ok(None) => {
                self.ended = true;
                return None;
            }
            Err(refusal) => Err(refusal),
        };
        // After a broken line nothing can be trusted to start where it seems to.
        self.ended = report.is_err();
        Some(report)
    }
}

/// The next line without its end, or none at the end of input.
fn next_line(input: &mut impl BufRead, number: u64, longest: u64) -> Result<Option<String>, Refusal> {
    let wrong = |what: &str| Refusal::Invalid(format!("line {number}: {what}"));
    let mut bytes = Vec::new();
    let read = input
        .by_ref()
        .take(longest + 1)
        .read_until(b'\n', &mut bytes)
        .map_err(|error| wrong(&format!("cannot be read ({})", error.kind())))?;
    if read == 0 {
        return Ok(None);
    }
    if read as u64 > longest {
        return Err(wrong("is too long"));
    }
    let text = String::from_utf8(bytes).map_err(|_| wrong("is not UTF-8"))?;
    Ok(Some(text.trim_end_matches(['\n', '\r']).to_owned()))
}
