//! What time it is.

use crate::files::Error;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The time that has passed since 1970 began, in UTC.
///
/// # Errors
/// Fails where the clock is set before 1970.
pub fn since_1970() -> Result<Duration, Error> {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_err(|_| Error::invalid("the system clock is set before 1970; set it to the current time"))
}
