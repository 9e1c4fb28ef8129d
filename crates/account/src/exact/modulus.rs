//! |z|, quickly. It is asked for several times at every node, and `hypot`, which takes care of squares that leave the floats, was a third of
//! the time of composed Laplace noise.

use num_complex::Complex64;

pub(super) trait Modulus {
    /// |z| to within two units in the last place.
    fn modulus(self) -> f64;
}

impl Modulus for Complex64 {
    fn modulus(self) -> f64 {
        let square = self.norm_sqr();
        // Within these a square that was lost is far below the last place of the sum.
        if (1e-280..1e300).contains(&square) { square.sqrt() } else { self.norm() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_the_modulus_at_any_size() {
        for power in -1070..1020 {
            for (re, im) in [(1.0, 0.0), (0.0, -1.5), (-0.3, 0.7), (1.0, 1e-9), (1.1, 1.9)] {
                let z = Complex64::new(re, im) * 2f64.powi(power / 2) * 2f64.powi(power - power / 2);
                let truth = z.norm();
                assert!((z.modulus() - truth).abs() <= 3.0 * f64::EPSILON * truth, "{z}");
            }
        }
        assert!(Complex64::new(f64::NAN, 0.0).modulus().is_nan());
        assert_eq!(Complex64::new(f64::INFINITY, 1.0).modulus(), f64::INFINITY);
        assert_eq!(Complex64::new(0.0, 0.0).modulus(), 0.0);
    }
}
