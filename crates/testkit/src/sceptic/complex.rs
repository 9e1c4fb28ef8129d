//! Complex numbers of double-double parts.

use super::double_double::Dd;
use std::ops::{Add, Div, Mul, Sub};

/// re + i·im.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Cdd {
    /// The real part.
    pub re: Dd,
    /// The imaginary part.
    pub im: Dd,
}

impl Cdd {
    /// One.
    pub const ONE: Cdd = Cdd { re: Dd::ONE, im: Dd::ZERO };
    /// Nothing.
    pub const ZERO: Cdd = Cdd { re: Dd::ZERO, im: Dd::ZERO };

    /// From its parts.
    pub fn new(re: Dd, im: Dd) -> Cdd {
        Cdd { re, im }
    }

    /// e^{iθ}.
    pub fn turn(angle: Dd) -> Cdd {
        let (im, re) = angle.sin_cos();
        Cdd { re, im }
    }

    /// Its size, as a float.
    pub fn size(self) -> f64 {
        self.re.hi.hypot(self.im.hi)
    }

    /// Times a real number.
    pub fn times(self, factor: Dd) -> Cdd {
        Cdd { re: self.re * factor, im: self.im * factor }
    }

    /// e^z.
    pub fn exp(self) -> Cdd {
        Cdd::turn(self.im).times(self.re.exp())
    }

    /// log z, on some branch.
    pub fn ln(self) -> Cdd {
        let square = self.re * self.re + self.im * self.im;
        Cdd { re: square.ln().scaled(-1), im: Dd::atan2(self.im, self.re) }
    }
}

impl Add for Cdd {
    type Output = Cdd;
    #[inline]
    fn add(self, other: Cdd) -> Cdd {
        Cdd { re: self.re + other.re, im: self.im + other.im }
    }
}

impl Sub for Cdd {
    type Output = Cdd;
    fn sub(self, other: Cdd) -> Cdd {
        Cdd { re: self.re - other.re, im: self.im - other.im }
    }
}

impl Mul for Cdd {
    type Output = Cdd;
    #[inline]
    fn mul(self, other: Cdd) -> Cdd {
        Cdd { re: self.re * other.re - self.im * other.im, im: self.re * other.im + self.im * other.re }
    }
}

impl Div for Cdd {
    type Output = Cdd;
    fn div(self, other: Cdd) -> Cdd {
        let square = other.re * other.re + other.im * other.im;
        let flipped = Cdd { re: other.re, im: -other.im };
        (self * flipped).times(Dd::ONE / square)
    }
}
