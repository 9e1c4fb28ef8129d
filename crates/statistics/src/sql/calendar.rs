//! Days: how a date is read, and which month, quarter or week it is in, by the Gregorian calendar.
//!
//! A day is the number of days since 1970-01-01. A cell is a date if its first ten characters are one, as in 2025-03-31, and a space or a
//! T follows, or nothing. Any other cell is missing, as a cell is that should be a number and is none.

use veracity_core::Refusal;

/// A part of a date, or what it is truncated to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)] // As SQL names them.
pub enum Unit {
    Year,
    Quarter,
    Month,
    Week,
    Day,
}

impl Unit {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Unit::Year => "year",
            Unit::Quarter => "quarter",
            Unit::Month => "month",
            Unit::Week => "week",
            Unit::Day => "day",
        }
    }

    pub(crate) fn of(name: &str) -> Option<Unit> {
        Some(match name.to_ascii_lowercase().as_str() {
            "year" => Unit::Year,
            "quarter" => Unit::Quarter,
            "month" => Unit::Month,
            "week" => Unit::Week,
            "day" => Unit::Day,
            _ => return None,
        })
    }

    /// The first day of the unit that a day is in; weeks begin on Monday.
    pub(crate) fn start(self, day: i64) -> i64 {
        let (year, month, _) = civil(day);
        match self {
            Unit::Year => number_of(year, 1, 1),
            Unit::Quarter => number_of(year, month - (month - 1) % 3, 1),
            Unit::Month => number_of(year, month, 1),
            // 1970-01-01 was a Thursday.
            Unit::Week => day - (day + 3).rem_euclid(7),
            Unit::Day => day,
        }
    }
}

/// The day of a cell.
pub(crate) fn day_of(cell: &str) -> Option<i64> {
    let (date, rest) = (cell.get(..10)?, &cell.as_bytes()[10..]);
    if !matches!(rest.first(), None | Some(b' ' | b'T')) {
        return None;
    }
    let bytes = date.as_bytes();
    let is_shaped = bytes.iter().enumerate().all(|(at, byte)| match at {
        4 | 7 => *byte == b'-',
        _ => byte.is_ascii_digit(),
    });
    if !is_shaped {
        return None;
    }
    let number = |from: usize, to: usize| date[from..to].parse::<i64>().ok();
    let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
    let fits = year >= 1 && (1..=12).contains(&month) && (1..=days_of(year, month)).contains(&day);
    fits.then(|| number_of(year, month, day))
}

/// The day of a date that is written in a query or a catalog.
pub(crate) fn day_written(text: &str) -> Result<i64, Refusal> {
    day_of(text).filter(|_| text.len() == 10).ok_or_else(|| {
        let text = veracity_core::printable(text, 40);
        Refusal::invalid(format!("invalid date '{text}', expected one such as '2025-03-31'"))
    })
}

/// A day as it is written.
pub(crate) fn iso(day: i64) -> String {
    let (year, month, day) = civil(day);
    format!("{year:04}-{month:02}-{day:02}")
}

fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

fn days_of(year: i64, month: i64) -> i64 {
    match month {
        4 | 6 | 9 | 11 => 30,
        2 => 28 + i64::from(is_leap(year)),
        _ => 31,
    }
}

/// Days of a year before each of its months, without a leap day.
pub(crate) const BEFORE: [i64; 12] = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334];

/// The number of a day.
fn number_of(year: i64, month: i64, day: i64) -> i64 {
    let last = year - 1;
    let leaps = last.div_euclid(4) - last.div_euclid(100) + last.div_euclid(400) - 477;
    let leap = i64::from(month > 2 && is_leap(year));
    365 * (year - 1970) + leaps + BEFORE[(month - 1) as usize] + leap + day - 1
}

/// Year, month and day of the month.
pub(crate) fn civil(day: i64) -> (i64, i64, i64) {
    let mut year = 1969 + day.div_euclid(366).min(day.div_euclid(365));
    while number_of(year + 1, 1, 1) <= day {
        year += 1;
    }
    let month = (1..=12).rev().find(|month| number_of(year, *month, 1) <= day).unwrap_or(1);
    (year, month, day - number_of(year, month, 1) + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Day after day from 0001-01-01, by a clock that only counts. Its start is 719162 days before 1970, as `date` says.
    #[test]
    fn days_are_those_of_a_calendar_that_is_counted() {
        let (mut year, mut month, mut day) = (1, 1, 1);
        for number in -719_162_i64..400_000 {
            if number % 7 == 0 || day >= 28 || number.abs() < 800 {
                assert_eq!(civil(number), (year, month, day));
                assert_eq!(day_of(&format!("{year:04}-{month:02}-{day:02} 23:59")), Some(number));
            }
            let long = match month {
                2 if year % 400 == 0 || (year % 4 == 0 && year % 100 != 0) => 29,
                2 => 28,
                4 | 6 | 9 | 11 => 30,
                _ => 31,
            };
            day += 1;
            if day > long {
                (day, month) = (1, month + 1);
            }
            if month > 12 {
                (month, year) = (1, year + 1);
            }
        }
        assert_eq!((day_of("1970-01-01"), day_of("2025-03-31T00:00")), (Some(0), Some(20_178)));
    }

    #[test]
    fn other_cells_are_missing() {
        for bad in [
            "", "2025", "2025-3-1", "2025-02-29", "2025-13-01", "2025-00-01", "2025-01-00", "2025-01-32",
            "0000-01-01", "2025/01/01", "2025-01-01x", "2025-01-0é", " 2025-01-01", "+025-01-01",
            "日本日本日",
        ] {
            assert_eq!(day_of(bad), None, "{bad}");
        }
        assert!(day_written("2025-01-01 00:00").is_err() && day_written("2024-02-29").is_ok());
    }

    /// 2025-03-31 was a Monday, in the second half of no quarter.
    #[test]
    fn units_begin_where_the_calendar_says() {
        let start = |unit: Unit, text: &str| iso(unit.start(day_of(text).unwrap()));
        assert_eq!(start(Unit::Week, "2025-03-31"), "2025-03-31");
        assert_eq!(start(Unit::Week, "2025-03-30"), "2025-03-24");
        assert_eq!(start(Unit::Week, "1969-12-31"), "1969-12-29");
        assert_eq!(start(Unit::Quarter, "2025-03-31"), "2025-01-01");
        assert_eq!(start(Unit::Quarter, "2025-12-31"), "2025-10-01");
        assert_eq!(start(Unit::Month, "2024-02-29"), "2024-02-01");
        assert_eq!(start(Unit::Year, "2024-02-29"), "2024-01-01");
        assert_eq!(start(Unit::Day, "2024-02-29"), "2024-02-29");
    }
}
