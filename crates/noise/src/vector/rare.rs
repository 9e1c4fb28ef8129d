//! The pairs, one in 145, whose rounding the 64 bits of two words leave in doubt. They are continued by 128 further bits, one at a time.

use super::exactly;
use super::kernel::{self, COS, LOG, SIN, nearest};
use crate::stream::Continuation;

/// Radius words whose complement is below this have a radius below 0.0055, for which 53 bits of u are too few.
const NEAR: u32 = 1 << 16;
/// What arithmetic may add to a radius, in units, and to a direction.
pub(super) const ARITHMETIC: (f64, f64) = (2.5e-6, 2e-12);

/// The pair of two words and what continues them.
///
/// The uniform is u = (radius word + (continuation + ½)·2⁻⁶⁴)·2⁻³², at least 2⁻⁹⁷, so the radius reaches 11.6; the angle is
/// read likewise.
///
/// # Numerics  The integers nearest to the real-number normals of these bits: in `f64` where that is certain, else by [`exactly`]
#[cold]
pub(super) fn pair(radius_word: u32, angle_word: u32, more: Continuation) -> (i32, i32) {
    if !radius_word >= NEAR {
        let r = kernel::radius(f64::from(radius_word) + part_of_unit(more.radius), &LOG).r;
        let (along, across) = kernel::direction(angle(angle_word, more.angle), &COS, &SIN);
        let (x, y) = (r * along, r * across);
        let certain = 0.5 - (ARITHMETIC.0 + r * ARITHMETIC.1);
        if kernel::off_integer(x) < certain && kernel::off_integer(y) < certain {
            return kernel::reflect(angle_word, nearest(x), nearest(y));
        }
    }
    let (along, across) = exactly::pair(radius_word, angle_word, more);
    kernel::reflect(angle_word, along, across)
}

/// The middle of the cell that 64 bits name in (0, 1), leading digits first.
fn part_of_unit(bits: u64) -> f64 {
    /// 2⁻⁶⁴.
    const UNIT: f64 = 1.0 / (1u64 << 32) as f64 / (1u64 << 32) as f64;
    (bits as f64 + 0.5) * UNIT
}

/// h of the angle hπ/4.
fn angle(word: u32, more: u64) -> f64 {
    (f64::from(((word << 2) as i32) >> 2) + part_of_unit(more)) * (1.0 / (1u64 << 29) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vector::SCALE;

    /// A radius word and what continues it, an angle word likewise, and what they must give.
    type Case = (u32, u64, u32, u64, (i32, i32));

    /// The last eight twos differ in one bit of 192, and in an integer.
    #[rustfmt::skip]
    const PAIRS: [Case; 25] = [
        (0x0, 0x0, 0x0, 0x0, (12_159_438, 0)),
        (0x0, 0x0, 0xc000_0000, 0x0, (0, -12_159_438)),
        (0x0, 0x8000_0000_0000_0000, 0x1fff_ffff, 0xffff_ffff_ffff_ffff, (5_014_985, 5_014_985)),
        (0x1, 0x2b_dc54_5d6b_4b87, 0x6000_0000, 0x0, (-4_938_341, 4_938_341)),
        (0x1f_ffff, 0xffff_ffff_ffff_ffff, 0x9234_5678, 0x5, (-3_692_750, 1_769_269)),
        (0xffff_ffff, 0xffff_ffff_ffff_ffff, 0x0, 0x0, (0, 0)),
        (0xffff_ffff, 0x0, 0x2000_0000, 0x8000_0000_0000_0000, (16, -16)),
        (0xffff_0000, 0x63, 0x5abc_def0, 0x7, (3_534, 4_589)),
        (0x8000_0000, 0x8000_0000_0000_0000, 0x1234_5678, 0x4000_0000_0000_0000, (1_113_406, 533_455)),
        (0x54_b697, 0x832_178e_b376_7414, 0xa82b_302f, 0xd098_72a7_50a6_4652, (-3_188_627, -2_111_527)),
        (0x54_b697, 0x832_178e_b376_7415, 0xa82b_302f, 0xd098_72a7_50a6_4652, (-3_188_626, -2_111_527)),
        (0x4c_71f6, 0xfae0_5ea0_93ff_c4a5, 0xdc1d_4141, 0x99da_e697_b730_afe8, (2_453_166, -2_972_154)),
        (0x4c_71f6, 0xfae0_5ea0_93ff_c4a6, 0xdc1d_4141, 0x99da_e697_b730_afe8, (2_453_166, -2_972_153)),
        (0xffff_eb6a, 0x8783_9ae0_3d9a_b5cf, 0xd46c_10da, 0xf40d_9829_d019_eefd, (789, -1_441)),
        (0xffff_eb6a, 0x8783_9ae0_3d9a_b5d0, 0xd46c_10da, 0xf40d_9829_d019_eefd, (789, -1_440)),
        (0xfffe_f3d0, 0x6674_a71c_0374_9015, 0x7e6d_c6e4, 0x646d_3ec7_2346_d6e0, (-229, 5_925)),
        (0xfffe_f3d0, 0x6674_a71c_0374_9016, 0x7e6d_c6e4, 0x646d_3ec7_2346_d6e0, (-229, 5_924)),
        (0xffff_38ca, 0xec23_c852_faf8_75c0, 0xad6f_465c, 0x366d_a343_88d5_025b, (-4_589, -2_249)),
        (0xffff_38ca, 0xec23_c852_faf8_75c1, 0xad6f_465c, 0x366d_a343_88d5_025b, (-4_588, -2_249)),
        (0xad_f374, 0x9e27_aafc_eef6_ca44, 0xe9b0_e806, 0xf48e_6049_ad76_149d, (-1_880_173, -3_083_608)),
        (0xad_f374, 0x9e27_aafc_eef6_ca45, 0xe9b0_e806, 0xf48e_6049_ad76_149d, (-1_880_172, -3_083_608)),
        (0xfffe_d661, 0x23d_8b5b_421e_06d3, 0x16cb_a54d, 0xb2c_2503_ca6c_1628, (5_294, 3_315)),
        (0xfffe_d661, 0x23d_8b5b_421e_06d4, 0x16cb_a54d, 0xb2c_2503_ca6c_1628, (5_293, 3_315)),
        (0x3_3d12, 0xc0e1_2203_1bd4_5173, 0xcf05_6a71, 0xb91f_db47_e25e_6181, (1_682_775, -4_355_695)),
        (0x3_3d12, 0xc0e1_2203_1bd4_5174, 0xcf05_6a71, 0xb91f_db47_e25e_6181, (1_682_775, -4_355_694)),
    ];

    /// Against mpmath 1.4, 60 digits:
    /// u = (w + (e + 1/2)/2**64)/2**32; r = sqrt(-2*log(u)); f = a % 2**30, less 2**30 if f >= 2**29;
    /// t = (f + (g + 1/2)/2**64)/2**30*pi/2; x, y = cos(t), sin(t); x = -x if a >> 31; x, y = y, x if a >> 30 & 1;
    /// nint(2**20*r*x), nint(2**20*r*y)
    #[test]
    fn continued_pairs_are_right_and_reach_eleven_deviations() {
        for (radius_word, radius, angle_word, angle, expected) in PAIRS {
            let found = pair(radius_word, angle_word, Continuation { radius, angle });
            assert_eq!(found, expected, "{radius_word:#x} {angle_word:#x}");
        }
        let reach = f64::from(pair(0, 0, Continuation { radius: 0, angle: 0 }).0) / SCALE;
        assert!(reach > 8.5 && reach < 11.6, "{reach}");
    }
}
