//! Dates of Parquet files, which are numbers of days, as they are written in text: 2025-03-31.

/// A number of days since 1970-01-01 as a date; none before year 1 and after year 9999, which are not written with four digits.
///
/// # Reference  [Hinnant13] `civil_from_days`, by eras of 400 years
pub(crate) fn iso(days: i32) -> Option<String> {
    // Days since 0000-03-01, so that a leap day is the last of its year.
    let since = i64::from(days) + 719_468;
    let (era, of_era) = (since.div_euclid(146_097), since.rem_euclid(146_097));
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (1..=9999).contains(&year).then(|| format!("{year:04}-{month:02}-{day:02}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A clock that only counts, from 0001-01-01 to 9999-12-31.
    #[test]
    fn days_are_those_of_a_calendar_that_is_counted() {
        let (mut year, mut month, mut day) = (1, 1, 1);
        for number in -719_162..=2_932_896 {
            assert_eq!(iso(number), Some(format!("{year:04}-{month:02}-{day:02}")));
            let is_leap = year % 400 == 0 || (year % 4 == 0 && year % 100 != 0);
            let long = [31, if is_leap { 29 } else { 28 }, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month - 1];
            day += 1;
            if day > long {
                (day, month) = (1, month + 1);
            }
            if month > 12 {
                (month, year) = (1, year + 1);
            }
        }
        assert_eq!(year, 10_000);
        for outside in [i32::MIN, -719_163, 2_932_897, i32::MAX] {
            assert_eq!(iso(outside), None, "{outside}");
        }
    }
}
