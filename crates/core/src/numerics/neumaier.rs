//! Neumaier's compensated sum: it rounds as if only the total were rounded, unless the terms cancel.

/// A sum that keeps what its additions lose.
///
/// # Reference  \[Higham02\] Section 4.3, with the larger of the two operands kept
/// # Numerics   Errs by one unit of the last place of the total, and by n² units of round-off squared of the sum of moduli. A sum
/// that leaves the floats is what a plain sum makes of it
///
/// # Examples
///
/// ```
/// use veracity_core::numerics::neumaier_sum;
///
/// assert_eq!(neumaier_sum([1.0, 1e100, 1.0, -1e100]), 2.0);
/// assert_eq!(neumaier_sum([1.0, f64::INFINITY]), f64::INFINITY);
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct NeumaierSum {
    sum: f64,
    lost: f64,
}

impl NeumaierSum {
    /// Adds a term.
    pub fn add(&mut self, term: f64) {
        let sum = self.sum + term;
        self.lost +=
            if self.sum.abs() >= term.abs() { (self.sum - sum) + term } else { (term - sum) + self.sum };
        self.sum = sum;
    }

    /// The sum of all terms so far.
    pub fn total(&self) -> f64 {
        if self.sum.is_finite() { self.sum + self.lost } else { self.sum }
    }
}

/// The compensated sum of `terms`.
pub fn neumaier_sum(terms: impl IntoIterator<Item = f64>) -> f64 {
    let mut sum = NeumaierSum::default();
    terms.into_iter().for_each(|term| sum.add(term));
    sum.total()
}
