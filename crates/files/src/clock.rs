//! What time it is.

use crate::Error;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The time that has passed since 1970 began, in UTC.
pub fn since_1970() -> Result<Duration, Error> {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_err(|_| Error::invalid("the clock is before 1970, expected one that is set"))
}
