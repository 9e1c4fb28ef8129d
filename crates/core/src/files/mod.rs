//! What the operating system gives: files, written whole or not at all, and the time.
//!
//! Every file of Veracity is written by [`saving`]: under a new name, or over an earlier file of the same kind that its recogniser
//! knows as a whole. [`read_text`] reads small ones within a limit.
//!
//! ```
//! use veracity_core::files::{read_text, saving};
//!
//! let folder = std::env::temp_dir().join(format!("veracity-core-{}", std::process::id()));
//! std::fs::create_dir_all(&folder).unwrap();
//! let path = folder.join("answer.txt");
//! saving::create("answer", &path, b"42\n")?;
//! assert_eq!(read_text("answer", &path)?, "42\n");
//! // Nothing is ever written over what has the name already.
//! assert!(saving::create("answer", &path, b"43\n").is_err());
//! # std::fs::remove_dir_all(&folder).unwrap();
//! # Ok::<(), veracity_core::Error>(())
//! ```

mod clock;
mod reading;
pub mod saving;

pub use crate::Error;
pub use clock::since_1970;
pub use reading::{LONGEST_TEXT, read_text, read_text_within};
