//! The pairs, one in 2000, whose radius needs more than 32 bits: far out, and next to nothing. One at a time, in `f64`.

use super::SCALE;
use super::kernel::{self, nearest};

/// The pair of a rare radius word, its continuation by 64 further bits, and its angle word.
///
/// The uniform is u = (radius word + (continuation + ½)·2⁻⁶⁴)·2⁻³², at least 2⁻⁹⁷, so the radius reaches 11.5.
///
/// # Numerics  Series of correctly rounded operations, none fused, whose rest is below 1e-17: the result is within 1e-14 standard
/// deviations before it is rounded to the grid, and has the same bits on every machine
#[cold]
pub(super) fn pair(radius_word: u32, continuation: u64, angle_word: u32) -> (i32, i32) {
    let minus_log_u = if !radius_word < kernel::NEAR {
        minus_log_of_nearly_one(on_unit(!radius_word, !continuation))
    } else {
        minus_log(on_unit(radius_word, continuation))
    };
    let r = SCALE * (2.0 * minus_log_u).sqrt();
    let h = f64::from(((angle_word << 2) | 2) as i32) * (1.0 / (1u64 << 31) as f64);
    let (along, across) = cos_sin(h * std::f64::consts::FRAC_PI_4);
    kernel::reflect(angle_word, nearest(r * along), nearest(r * across))
}

/// −ln u of a normal u < 1: with u = 2^e·f and √½ ≤ f < √2, ln f = 2 artanh(s) for s = (f − 1)/(f + 1).
fn minus_log(u: f64) -> f64 {
    /// The upper half of √½.
    const ROOT: i64 = 0x3fe6_a09e;
    let exponent = ((u.to_bits() >> 32) as i64 - ROOT) >> 20;
    let fraction = f64::from_bits(u.to_bits().wrapping_sub((exponent as u64) << 52));
    let t = fraction - 1.0;
    let s = t / (2.0 + t);
    let z = s * s;
    // Σ z^k/(2k + 1); z is below 0.0295.
    let series = (0..12).rev().fold(0.0, |sum, k| sum * z + 1.0 / f64::from(2 * k + 1));
    -(exponent as f64) * std::f64::consts::LN_2 - 2.0 * s * series
}

/// −ln(1 − x) for x below 2⁻¹⁶.
fn minus_log_of_nearly_one(x: f64) -> f64 {
    x * (1.0 + x * (1.0 / 2.0 + x * (1.0 / 3.0 + x * (1.0 / 4.0))))
}

/// Cosine and sine of an angle within ±π/4, by their series.
fn cos_sin(angle: f64) -> (f64, f64) {
    let z = -(angle * angle);
    let term = |sum: f64, n: i32| 1.0 + sum * z * (1.0 / f64::from(n * (n + 1)));
    let cos = (0..10).rev().fold(1.0, |sum, k| term(sum, 2 * k + 1));
    let sin = (0..10).rev().fold(1.0, |sum, k| term(sum, 2 * k + 2));
    (cos, angle * sin)
}

/// 2⁻³².
const WORD_UNIT: f64 = 1.0 / (1u64 << 32) as f64;

/// The middle of the cell that 96 bits name in (0, 1), leading digits first.
fn on_unit(word: u32, continuation: u64) -> f64 {
    (f64::from(word) + (continuation as f64 + 0.5) * WORD_UNIT * WORD_UNIT) * WORD_UNIT
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The slow path against mpmath 1.4, 50 digits:
    /// u = (w + (e + 1/2)/2**64)/2**32; r = sqrt(-2*log(u)); f = a % 2**30, less 2**30 if f >= 2**29;
    /// t = (f + 1/2)/2**30*pi/2; x, y = cos(t), sin(t); x = -x if a >> 31; x, y = y, x if a >> 30 & 1;
    /// nint(2**20*r*x), nint(2**20*r*y)
    #[test]
    fn rare_pairs_are_right_and_reach_eleven_deviations() {
        for (radius_word, continuation, angle_word, expected) in [
            (0x0, 0x0, 0x0, (12_159_438, 0)),
            (0x0, 0x0, 0xc000_0000, (0, -12_159_438)),
            (0x0, 0x8000_0000_0000_0000, 0x1fff_ffff, (5_014_985, 5_014_985)),
            (0x1, 0x002b_dc54_5d6b_4b87, 0x6000_0000, (-4_938_341, 4_938_341)),
            (0x001f_ffff, 0xffff_ffff_ffff_ffff, 0x9234_5678, (-3_692_750, 1_769_269)),
            (0xffff_ffff, 0xffff_ffff_ffff_ffff, 0x0, (0, 0)),
            (0xffff_ffff, 0x0, 0x2000_0000, (16, -16)),
            (0xffff_0000, 0x63, 0x5abc_def0, (3534, 4589)),
        ] {
            assert_eq!(pair(radius_word, continuation, angle_word), expected, "{radius_word:#x}");
        }
        let reach = f64::from(pair(0, 0, 0).0) / SCALE;
        assert!(reach > 8.5 && reach < 11.6, "{reach}");
    }

    #[test]
    fn the_two_paths_meet_at_their_seams() {
        use kernel::{COS, FAR, LOG, NEAR, SIN};
        for word in [FAR, FAR + 1, u32::MAX - NEAR - 1, u32::MAX - NEAR] {
            assert!(!kernel::is_rare(word));
            let fast = kernel::radius(word, &LOG) * kernel::direction(0, &COS, &SIN).0;
            let slow = f64::from(pair(word, 1 << 63, 0).0);
            assert!((fast - slow).abs() < 0.501, "{word:#x}: {fast} {slow}");
        }
        assert!(kernel::is_rare(FAR - 1) && kernel::is_rare(0));
        assert!(kernel::is_rare(u32::MAX - NEAR + 1) && kernel::is_rare(u32::MAX));
    }
}
