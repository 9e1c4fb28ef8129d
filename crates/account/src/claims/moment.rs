//! A moment in time, as claims write it: UTC by RFC 3339, to the nanosecond, such as `2026-11-16T04:09:41.123456789Z`.

const DAY: u64 = 86_400;

/// So many seconds and nanoseconds after the beginning of 1970.
pub fn written(seconds: u64, nanoseconds: u32) -> String {
    let (year, month, day) = date(seconds / DAY);
    let (hour, minute, second) = (seconds % DAY / 3600, seconds % 3600 / 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{nanoseconds:09}Z")
}

/// The date so many days after 1 January 1970, by the Gregorian calendar. Years begin in March here, so that a leap day is
/// the last of its year; an era has 400 of them.
fn date(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468; // from 1 March of the year 0
    let (era, of_era) = (days / 146_097, days % 146_097);
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let march_month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * march_month + 2) / 5 + 1;
    let month = if march_month < 10 { march_month + 3 } else { march_month - 9 };
    (era * 400 + year + u64::from(month <= 2), month, day)
}

/// Whether a text is a moment as [`written`] writes it.
pub fn is_moment(text: &str) -> bool {
    let digits = |from: usize, to: usize| text.get(from..to)?.parse::<u64>().ok();
    let marks = [(4, "-"), (7, "-"), (10, "T"), (13, ":"), (16, ":"), (19, "."), (29, "Z")];
    let shaped = text.len() == 30
        && marks.iter().all(|(at, mark)| text.get(*at..at + 1) == Some(mark))
        && text.bytes().filter(u8::is_ascii_digit).count() == 23;
    shaped
        && digits(5, 7).is_some_and(|month| (1..=12).contains(&month))
        && digits(8, 10).is_some_and(|day| (1..=31).contains(&day))
        && digits(11, 13).is_some_and(|hour| hour < 24)
        && digits(14, 16).is_some_and(|minute| minute < 60)
        && digits(17, 19).is_some_and(|second| second < 60)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// # date -u -d @SECONDS +%FT%TZ (GNU coreutils 9.1)
    #[test]
    fn moments_are_those_of_the_calendar() {
        for (seconds, expected) in [
            (0, "1970-01-01T00:00:00"),
            (951_782_399, "2000-02-28T23:59:59"),
            (951_868_799, "2000-02-29T23:59:59"),
            (951_868_800, "2000-03-01T00:00:00"),
            (1_709_164_800, "2024-02-29T00:00:00"),
            (4_107_542_399, "2100-02-28T23:59:59"),
            (4_107_542_400, "2100-03-01T00:00:00"),
            (253_402_300_799, "9999-12-31T23:59:59"),
        ] {
            let found = written(seconds, 7);
            assert_eq!(found, format!("{expected}.000000007Z"));
            assert!(is_moment(&found), "{found}");
        }
    }

    /// Every day of 800 years follows the one before.
    #[test]
    fn no_day_is_left_out() {
        let mut last = date(0);
        for day in 1..292_194 {
            let next = date(day);
            let follows = next == (last.0, last.1, last.2 + 1)
                || next == (last.0, last.1 + 1, 1) && last.2 >= 28
                || next == (last.0 + 1, 1, 1) && (last.1, last.2) == (12, 31);
            assert!(follows, "{last:?} then {next:?}");
            last = next;
        }
        assert_eq!(last, (2769, 12, 31));
    }

    #[test]
    fn what_is_no_moment_is_not_taken_for_one() {
        for bad in [
            "",
            "2026-11-16",
            "2026-11-16T04:09:41Z",
            "2026-11-16T04:09:41.123456789+",
            "2026-13-16T04:09:41.123456789Z",
            "2026-11-32T04:09:41.123456789Z",
            "2026-11-16T24:09:41.123456789Z",
            "2026-11-16T04:60:41.123456789Z",
            "2026-11-16 04:09:41.123456789Z",
            "+026-11-16T04:09:41.123456789Z",
            "ä026-11-16T04:09:41.12345678Z",
        ] {
            assert!(!is_moment(bad), "{bad}");
        }
    }
}
