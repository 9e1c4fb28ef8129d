//! How often a claim was looked at: each audit may err with its own chance, and whoever goes on until one refutes errs with all.
//!
//! A folder remembers the audits that were judged in it, in `looks.csv`: a fingerprint of what was attacked and claimed, one of the
//! whole order, and the verdict.

use crate::{AuditProtocol, sha256};
use std::{fs, io::ErrorKind, path::Path};
use veracity_core::files::saving::replace;
use veracity_core::{Error, Verdict};

/// The file in the folder of an audit.
pub const FILE: &str = "looks.csv";
const HEADER: &str = "subject,order,verdict";

/// Notes a verdict, and says how many audits by other orders were judged in this folder on the same subject and claim before.
pub(crate) fn note(folder: &Path, protocol: &AuditProtocol, verdict: &Verdict) -> Result<u64, Error> {
    let written = |text: Result<String, serde_json::Error>| {
        text.map_err(|error| Error::invalid(format!("order cannot be written: {error}")))
    };
    let subject = written(serde_json::to_string(&(&protocol.subject, &protocol.claim)))?;
    let order = protocol.to_json()?;
    let [subject, order] = [subject, order].map(|text| sha256(&[text.as_bytes()]));
    let path = folder.join(FILE);
    let text = match fs::read_to_string(&path) {
        Ok(text) if is_ours(text.as_bytes()) => text,
        Ok(_) => return Err(Error::file("looks", &path, format!("a file that begins with {HEADER}"))),
        Err(error) if error.kind() == ErrorKind::NotFound => format!("{HEADER}\n"),
        Err(error) => return Err(Error::unreadable("looks", &path, error)),
    };
    let mut others: Vec<&str> = Vec::new();
    for line in text.lines().skip(1) {
        let mut cells = line.split(',');
        if let (Some(of), Some(by)) = (cells.next(), cells.next())
            && of == subject
            && by != order
            && !others.contains(&by)
        {
            others.push(by);
        }
    }
    let earlier = others.len() as u64;
    let line = format!("{subject},{order},{}", verdict.name());
    if !text.lines().any(|known| known == line) {
        replace("looks", &path, format!("{text}{line}\n").as_bytes(), is_ours)?;
    }
    Ok(earlier)
}

fn is_ours(bytes: &[u8]) -> bool {
    bytes.starts_with(HEADER.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::sample;
    use veracity_core::{Epsilon, Lower};

    #[test]
    fn other_orders_on_the_same_claim_are_counted_and_the_same_one_is_not() {
        let folder = std::env::temp_dir().join(format!("veracity-looks-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let verdict = Verdict::NotRefuted { shown: Lower(Epsilon::ZERO), ceiling: Epsilon::ZERO };
        let look = |protocol: &AuditProtocol| note(&folder, protocol, &verdict).unwrap();
        let first = sample(40);
        assert_eq!((look(&first), look(&first)), (0, 0));
        // Another seed, more trials and another method are other looks at the same claim.
        assert_eq!(look(&AuditProtocol { seed: 2, ..first.clone() }), 1);
        assert_eq!(look(&AuditProtocol { trials: 400, ..first.clone() }), 2);
        assert_eq!(look(&first), 2);
        let mut other = first.clone();
        other.claim.epsilon = 2.0;
        assert_eq!(look(&other), 0);
        fs::write(folder.join(FILE), "precious").unwrap();
        assert!(note(&folder, &first, &verdict).is_err());
        fs::remove_dir_all(folder).unwrap();
    }
}
