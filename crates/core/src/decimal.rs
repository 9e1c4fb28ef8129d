//! Decimal digits rounded to a chosen side, so that a printed bound is still a bound.
//!
//! A float stands for its shortest decimal form (0.1 is "0.1"), and rounding starts there: read back as a float, an
//! upper text is never below the number and a lower text never above it.

/// At most `digits` significant digits, never below `x`.
///
/// # Examples
///
/// ```
/// use veracity_core::decimal::up;
///
/// assert_eq!(up(2.7301, 3), "2.74");
/// // What needs no rounding is left as it is.
/// assert_eq!(up(0.1, 3), "0.1");
/// assert!(up(1.0000001e-5, 2).parse::<f64>()? >= 1.0000001e-5);
/// # Ok::<(), std::num::ParseFloatError>(())
/// ```
pub fn up(x: f64, digits: usize) -> String {
    text(x, digits, Side::Up)
}

/// At most `digits` significant digits, never above `x`.
///
/// # Examples
///
/// ```
/// use veracity_core::decimal::{down, nearest};
///
/// assert_eq!(down(4.199, 2), "4.1");
/// // Only a number that is no bound may go to the nearer side.
/// assert_eq!(nearest(4.199, 2), "4.2");
/// ```
pub fn down(x: f64, digits: usize) -> String {
    text(x, digits, Side::Down)
}

/// At most `digits` significant digits, the nearest; for numbers that are not bounds.
pub fn nearest(x: f64, digits: usize) -> String {
    text(x, digits, Side::Nearest)
}

/// A printed number as it stands in a sentence: 10⁻⁵ for 1e-5, 2.5·10⁻⁶ for 2.5e-6, others as they are.
///
/// # Examples
///
/// ```
/// use veracity_core::decimal::in_prose;
///
/// assert_eq!(in_prose("1e-5"), "10⁻⁵");
/// assert_eq!(in_prose("2.5e-6"), "2.5·10⁻⁶");
/// assert_eq!(in_prose("0.03"), "0.03");
/// ```
pub fn in_prose(printed: &str) -> String {
    let Some((mantissa, exponent)) = printed.split_once('e') else { return printed.to_owned() };
    let Ok(exponent) = exponent.parse() else { return printed.to_owned() };
    let power = power_of_ten(exponent);
    if mantissa == "1" { power } else { format!("{mantissa}·{power}") }
}

/// 10⁻⁵, as people write it.
pub fn power_of_ten(power: i32) -> String {
    if power == 0 {
        return "1".to_owned();
    }
    let digits = power.to_string();
    let raised = digits.chars().map(|c| match c {
        '-' => '⁻',
        '1' => '¹',
        '2' => '²',
        '3' => '³',
        digit => char::from_u32(0x2070 + digit.to_digit(10).unwrap_or(0)).unwrap_or(digit),
    });
    format!("10{}", raised.collect::<String>())
}

/// An integer with thousands separators.
///
/// # Examples
///
/// ```
/// use veracity_core::decimal::grouped;
///
/// assert_eq!(grouped(1_200_000), "1,200,000");
/// assert_eq!(grouped(999), "999");
/// ```
pub fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// The number that [`up`] prints.
pub fn raise(x: f64, digits: usize) -> f64 {
    up(x, digits).parse().unwrap_or(f64::INFINITY)
}

/// The number that [`down`] prints.
pub fn lower(x: f64, digits: usize) -> f64 {
    down(x, digits).parse().unwrap_or(f64::NEG_INFINITY)
}

#[derive(Clone, Copy, PartialEq)]
enum Side {
    Up,
    Down,
    Nearest,
}

fn text(x: f64, digits: usize, side: Side) -> String {
    if x.is_nan() {
        return "nan".to_owned();
    }
    if x.is_infinite() {
        return if x > 0.0 { "inf" } else { "-inf" }.to_owned();
    }
    if x == 0.0 {
        return "0".to_owned();
    }
    let (mut figures, mut exponent) = shortest(x.abs());
    // Away from zero is up for positive numbers and down for negative ones.
    let away = match side {
        Side::Up => x > 0.0,
        Side::Down => x < 0.0,
        Side::Nearest => figures.get(digits).is_some_and(|&next| next >= 5),
    };
    let digits = digits.max(1);
    let cut = figures.len() > digits;
    figures.truncate(digits);
    if cut && away {
        exponent += increment(&mut figures);
    }
    while figures.len() > 1 && figures.last() == Some(&0) {
        figures.pop();
    }
    let sign = if x < 0.0 { "-" } else { "" };
    format!("{sign}{}", place(&figures, exponent))
}

/// The shortest digits that read back as `x`, and the power of ten of the first.
fn shortest(x: f64) -> (Vec<u8>, i32) {
    let scientific = format!("{x:e}");
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let figures = mantissa.bytes().filter(u8::is_ascii_digit).map(|byte| byte - b'0').collect();
    (figures, exponent.parse().unwrap_or(0))
}

/// Adds one to the last digit; returns 1 when the number grew a digit.
fn increment(figures: &mut [u8]) -> i32 {
    for figure in figures.iter_mut().rev() {
        if *figure < 9 {
            *figure += 1;
            return 0;
        }
        *figure = 0;
    }
    figures[0] = 1;
    1
}

/// Plain between 1e-4 and 1e7, scientific elsewhere.
fn place(figures: &[u8], exponent: i32) -> String {
    let digits: String = figures.iter().map(|&figure| char::from(b'0' + figure)).collect();
    let length = i32::try_from(digits.len()).unwrap_or(i32::MAX);
    if (-4..0).contains(&exponent) {
        let zeros = "0".repeat(usize::try_from(-exponent - 1).unwrap_or(0));
        format!("0.{zeros}{digits}")
    } else if (0..7).contains(&exponent) {
        let whole = exponent + 1;
        if length <= whole {
            let zeros = "0".repeat(usize::try_from(whole - length).unwrap_or(0));
            format!("{digits}{zeros}")
        } else {
            let (whole, rest) = digits.split_at(usize::try_from(whole).unwrap_or(0));
            format!("{whole}.{rest}")
        }
    } else if digits.len() == 1 {
        format!("{digits}e{exponent}")
    } else {
        format!("{}.{}e{exponent}", &digits[..1], &digits[1..])
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn text_read_back_stays_on_its_side() {
        // A plain multiplicative generator walks over all magnitudes.
        let mut state = 0x9e37_79b9_7f4a_7c15u64;
        for _ in 0..200_000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let x = f64::from_bits(state);
            if !x.is_finite() {
                continue;
            }
            for digits in [1, 2, 4, 9, 17] {
                let (above, below) = (up(x, digits), down(x, digits));
                let read = |text: &str| text.parse::<f64>().unwrap();
                assert!(read(&above) >= x, "{x:e} {digits} {above}");
                assert!(read(&below) <= x, "{x:e} {digits} {below}");
                assert!(above.bytes().filter(u8::is_ascii_digit).count() <= digits + 11);
            }
            assert_eq!(up(x, 17).parse::<f64>().unwrap(), x);
        }
    }

    #[test]
    fn powers_of_ten_are_raised_in_prose() {
        let all = ["1e-5", "2.5e-12", "0.003", "inf", "-3e10"].map(in_prose);
        assert_eq!(all, ["10⁻⁵", "2.5·10⁻¹²", "0.003", "inf", "-3·10¹⁰"]);
    }

    #[test]
    fn digits_are_as_people_write_them() {
        assert_eq!(up(0.577_329_032_7, 6), "0.57733");
        assert_eq!(down(0.577_329_032_7, 6), "0.577329");
        assert_eq!(up(0.1, 9), "0.1");
        assert_eq!(up(1e-5, 4), "1e-5");
        assert_eq!(up(1.23456e-5, 3), "1.24e-5");
        assert_eq!(up(999.96, 4), "1000");
        assert_eq!(up(9.9999e9, 2), "1e10");
        assert_eq!(down(9.9999e9, 2), "9.9e9");
        assert_eq!(up(600.0, 9), "600");
        assert_eq!(up(-1.26, 2), "-1.2");
        assert_eq!(down(-1.26, 2), "-1.3");
        assert_eq!(nearest(0.004_266_666_7, 3), "0.00427");
        assert_eq!(nearest(256.0, 2), "260");
        assert_eq!(up(0.0, 3), "0");
        assert_eq!(up(f64::INFINITY, 3), "inf");
        assert_eq!(up(5e-324, 1), "5e-324");
    }
}
