//! Toeplitz bands: all columns are one column, moved down and cut off at the last step.

use super::{pattern::Pattern, sensitivity::Square};
use veracity_core::Count;
use veracity_core::numerics::{UNIT, twofold::Twofold};

/// The coefficients that matter: none beyond the last step, no zeros at the end.
pub(super) fn trimmed(coefficients: &[f64], steps: Count) -> &[f64] {
    let used = usize::try_from(steps.get()).map_or(coefficients.len(), |steps| steps.min(coefficients.len()));
    let last = coefficients[..used].iter().rposition(|c| *c != 0.0).unwrap_or(0);
    &coefficients[..=last]
}

/// ‖C[:, i]‖² for a column of which `rows` entries are left.
pub(super) fn column_square(coefficients: &[f64], rows: u64) -> Twofold {
    let rows = usize::try_from(rows).unwrap_or(usize::MAX);
    coefficients.iter().take(rows).fold(Twofold::ZERO, |sum, c| sum.plus(Twofold::square_of(*c)))
}

/// The square of the sensitivity of a Toeplitz strategy.
pub(super) fn square(coefficients: &[f64], steps: Count, pattern: Pattern) -> Square {
    let band = trimmed(coefficients, steps);
    let falling = band.iter().all(|c| *c >= 0.0) && band.windows(2).all(|pair| pair[0] >= pair[1]);
    if pattern.times == 1 {
        Square::Exact(column_square(band, steps.get()))
    } else if band.len() as u64 <= pattern.separation {
        Square::Exact(orthogonal(band, steps.get(), pattern))
    } else if falling {
        Square::Exact(packed(band, steps.get(), pattern))
    } else {
        Square::AtMost(correlated(band, pattern))
    }
}

/// A band no wider than the separation: the columns of a pattern have no row in common, so squares add up whatever the
/// contributions are. Columns only get shorter, so no pattern beats 0, b, 2b, …
fn orthogonal(band: &[f64], steps: u64, pattern: Pattern) -> Twofold {
    let width = band.len() as u64;
    let whole = ((steps - width) / pattern.separation + 1).min(pattern.times);
    let all = column_square(band, width).times(whole as f64);
    (whole..pattern.times).fold(all, |sum, i| sum.plus(column_square(band, steps - i * pattern.separation)))
}

/// A band that never rises and has no negative entry: 0, b, 2b, … is the worst pattern, and equal contributions are the
/// worst contributions.
///
/// # Reference  [KalininLampert24] Theorem 2
/// # Numerics   Once a row sees as many columns as ever, rows repeat after b: their squares are multiplied, not summed
fn packed(band: &[f64], steps: u64, pattern: Pattern) -> Twofold {
    let (width, separation) = (band.len() as u64, pattern.separation);
    // Row t of Σ_j C[:, jb].
    let row = |t: u64| {
        let last = (t / separation).min(pattern.times - 1);
        let first = (t + 1).saturating_sub(width).div_ceil(separation);
        (first..=last)
            .fold(Twofold::ZERO, |sum, j| sum.plus(Twofold::from(band[(t - j * separation) as usize])))
    };
    let rows = |range: std::ops::Range<u64>| range.fold(Twofold::ZERO, |sum, t| sum.plus(row(t).square()));
    let end = ((pattern.times - 1) * separation + width).min(steps);
    let settled = width.div_ceil(separation) * separation;
    let turns = (pattern.times * separation).min(steps);
    if turns < settled + 2 * separation {
        return rows(0..end);
    }
    let periods = (turns - settled) / separation;
    let repeated = rows(settled..settled + separation).times(periods as f64);
    rows(0..settled).plus(repeated).plus(rows(settled + periods * separation..end))
}

/// Any band: two columns at distance m have |(CᵀC)| ≤ r_m, the largest partial sum of c_j c_{j+m}, and the d-th next step of
/// a pattern is at least d·b away.
///
/// # Promise    Never below Σ |(CᵀC)_ij| over any pattern
/// # Numerics   Partial sums are off by at most (n + 1)u Σ |c_j c_{j+m}|, which is added
fn correlated(band: &[f64], pattern: Pattern) -> Twofold {
    let mut furthest = vec![0.0f64; band.len() + 1];
    for distance in (1..band.len()).rev() {
        let (mut sum, mut size, mut largest) = (0.0f64, 0.0f64, 0.0f64);
        for (near, far) in band.iter().zip(&band[distance..]) {
            sum += near * far;
            size += (near * far).abs();
            largest = largest.max(sum.abs());
        }
        let slack = (band.len() + 4) as f64 * 2.0 * UNIT * size + f64::MIN_POSITIVE;
        furthest[distance] = furthest[distance + 1].max(largest + slack);
    }
    let mut sum = column_square(band, band.len() as u64).times(pattern.times as f64);
    for next in 1..pattern.times {
        let distance = next.saturating_mul(pattern.separation);
        if distance >= band.len() as u64 {
            break;
        }
        let pairs = 2.0 * (pattern.times - next) as f64;
        sum = sum.plus(Twofold::from(furthest[distance as usize]).times(pairs));
    }
    sum
}
