//! The mean of a number in a known range.

use crate::local::{MeanEstimate, Odds, Report};
use veracity_core::{Epsilon, Mechanism, Refusal};
use veracity_noise::{
    Bits,
    exact::{bernoulli, uniform_below},
};

/// What a report on a number looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReportShape {
    /// One bit, the likelier one the higher the value: the best for small ε.
    OneBit,
    /// A place on a scale longer than the range, likelier within a window that moves with the value: the best for large ε.
    Window,
}

/// Reports on numbers from `lower` to `upper`.
///
/// A number is first put onto a public grid of 2^20 steps, up or down at random so that it is right on average. Then
/// - one bit: P(1) runs from no/(yes + no) to yes/(yes + no) in a straight line from the lowest to the highest grid point;
/// - window: of steps + window places, those from the grid point on, a window of them, have weight yes, all others no.
///
/// Both are whole numbers; the likelihood ratio is yes/no ≤ e^ε.
///
/// # Reference  \[DuchiJordanWainwright18\] (one bit); \[WangEtAl19\] (the piecewise mechanism, here on a grid)
///
/// # Examples
///
/// ```
/// use veracity_core::Epsilon;
/// use veracity_mechanisms::local::Mean;
/// use veracity_noise::{Entropy, Key, Purpose};
///
/// let hours = Mean::new(0.0, 24.0, Epsilon::new(1.0)?)?;
/// let mut bits = Entropy::seeded(1).stream(Purpose::Report, Key::default());
/// let reports: Vec<_> =
///     (0..20_000).map(|i| hours.encode(f64::from(i % 5), &mut bits)).collect::<Result<_, _>>()?;
/// let mut tally = hours.tally();
/// tally.absorb(&reports)?;
/// let estimate = tally.estimate()?;
/// // The true mean is 2. Four standard errors are missed once in 16,000 times.
/// assert!((estimate.mean - 2.0).abs() < 4.0 * estimate.standard_error);
/// assert!(estimate.standard_error < 0.5);
/// # Ok::<(), veracity_core::Refusal>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Mean {
    lower: f64,
    upper: f64,
    epsilon: Epsilon,
    shape: ReportShape,
    odds: Odds,
    /// Places of the window.
    window: u128,
}

impl Mean {
    /// Steps of the grid.
    const STEPS: u128 = 1 << 20;

    /// Checks the range and ε, and takes the shape whose largest variance is smaller.
    ///
    /// # Errors
    /// Refuses an empty range and an ε out of range.
    pub fn new(lower: f64, upper: f64, epsilon: Epsilon) -> Result<Self, Refusal> {
        let one_bit = Mean::shaped(lower, upper, epsilon, ReportShape::OneBit)?;
        let window = Mean { shape: ReportShape::Window, ..one_bit };
        Ok(if one_bit.largest_variance() <= window.largest_variance() { one_bit } else { window })
    }

    /// The same with a given shape.
    ///
    /// # Errors
    /// Refuses an empty range and an ε out of range.
    pub fn shaped(lower: f64, upper: f64, epsilon: Epsilon, shape: ReportShape) -> Result<Self, Refusal> {
        if !(lower < upper && (upper - lower).is_finite()) {
            return Err(Refusal::out_of_range(
                "range",
                format!("{lower} to {upper}"),
                "two finite numbers with lower < upper",
            ));
        }
        let odds = Odds::within(epsilon)?;
        // steps × e^{−ε/2}, the best window of the piecewise mechanism; any other is as private.
        let half = Odds::share(epsilon, 2)?;
        let window = (Mean::STEPS * half.no() / half.yes()).max(1);
        Ok(Mean { lower, upper, epsilon, shape, odds, window })
    }

    /// The lowest number.
    pub fn lower(&self) -> f64 {
        self.lower
    }

    /// The highest number.
    pub fn upper(&self) -> f64 {
        self.upper
    }

    /// The ε of one report.
    pub fn epsilon(&self) -> Epsilon {
        self.epsilon
    }

    /// What a report looks like.
    pub fn shape(&self) -> ReportShape {
        self.shape
    }

    /// Different reports there may be.
    pub fn places(&self) -> u32 {
        match self.shape {
            ReportShape::OneBit => 2,
            // At most twice the steps.
            ReportShape::Window => (Mean::STEPS + self.window) as u32,
        }
    }

    /// A report on `value`. What lies outside the range is moved to its end; what is no number is refused.
    ///
    /// # Errors
    /// Refuses NaN.
    pub fn encode(&self, value: f64, bits: &mut impl Bits) -> Result<Report, Refusal> {
        let (below, fraction) = self.grid(value)?;
        // Rounding is before privacy begins: whatever the grid point, the report hides it.
        let point = below + u128::from(bits.bits(32) < fraction);
        Ok(Report::Number(match self.shape {
            ReportShape::OneBit => {
                let (yes, no) = (self.odds.yes(), self.odds.no());
                u32::from(bernoulli(self.one(point), Mean::STEPS * (yes + no), bits))
            }
            ReportShape::Window => {
                let inside = self.window * self.odds.yes();
                let draw = uniform_below(self.total(), bits);
                let place = if draw < inside {
                    point + draw / self.odds.yes()
                } else {
                    let other = (draw - inside) / self.odds.no();
                    if other < point { other } else { other + self.window }
                };
                place as u32
            }
        }))
    }

    /// The weight of a one, of steps × (yes + no).
    fn one(&self, point: u128) -> u128 {
        (Mean::STEPS - point) * self.odds.no() + point * self.odds.yes()
    }

    /// The weights of all places together.
    fn total(&self) -> u128 {
        self.window * self.odds.yes() + Mean::STEPS * self.odds.no()
    }

    /// The grid point below a value, and how far it is to the next in 2^32nds.
    fn grid(&self, value: f64) -> Result<(u128, u64), Refusal> {
        if value.is_nan() {
            return Err(Refusal::Invalid("the value is not a number; nothing is reported".into()));
        }
        let share = ((value.clamp(self.lower, self.upper) - self.lower) / (self.upper - self.lower)).min(1.0);
        let steps = share * Mean::STEPS as f64;
        let below = steps.floor();
        Ok((below as u128, ((steps - below) * 2f64.powi(32)) as u64))
    }

    /// P(report | value).
    ///
    /// # Errors
    /// Refuses NaN.
    pub fn likelihood(&self, value: f64, report: &Report) -> Result<f64, Refusal> {
        let (below, fraction) = self.grid(value)?;
        let up = fraction as f64 / 2f64.powi(32);
        // With no fraction the upper neighbour is never taken; it may not even be on the grid.
        let above = if fraction == 0 { below } else { below + 1 };
        Ok((1.0 - up) * self.at_point(below, report) + up * self.at_point(above, report))
    }

    fn at_point(&self, point: u128, report: &Report) -> f64 {
        let (yes, no) = (self.odds.yes(), self.odds.no());
        match (self.shape, report) {
            (ReportShape::OneBit, Report::Number(bit @ 0..=1)) => {
                let (one, whole) = (self.one(point), Mean::STEPS * (yes + no));
                (if *bit == 1 { one } else { whole - one }) as f64 / whole as f64
            }
            (ReportShape::Window, Report::Number(place)) if *place < self.places() => {
                let inside = (point..point + self.window).contains(&u128::from(*place));
                (if inside { yes } else { no }) as f64 / self.total() as f64
            }
            _ => 0.0,
        }
    }

    /// Mean and mean square of a report's place at a grid point.
    fn moments(&self, point: u128) -> (f64, f64) {
        match self.shape {
            ReportShape::OneBit => {
                let whole = Mean::STEPS * (self.odds.yes() + self.odds.no());
                let one = self.one(point) as f64 / whole as f64;
                (one, one)
            }
            ReportShape::Window => {
                let favour = (self.odds.yes() - self.odds.no()) as f64 / self.total() as f64;
                let plain = self.odds.no() as f64 / self.total() as f64;
                let places = Mean::STEPS + self.window;
                // Sums over the window are differences of sums from zero; all below 2^64.
                let (end, start) = (power_sums(point + self.window), power_sums(point));
                let all = power_sums(places);
                (
                    plain * all.0 as f64 + favour * (end.0 - start.0) as f64,
                    plain * all.1 as f64 + favour * (end.1 - start.1) as f64,
                )
            }
        }
    }

    /// Offset and slope such that (place − offset) × slope + lower is right on average.
    fn scale(&self) -> (f64, f64) {
        let (first, last) = (self.moments(0).0, self.moments(Mean::STEPS).0);
        (first, (self.upper - self.lower) / (last - first))
    }

    /// Variance of the estimate from one report on `value`.
    ///
    /// # Errors
    /// Refuses NaN.
    pub fn variance(&self, value: f64) -> Result<f64, Refusal> {
        let (below, fraction) = self.grid(value)?;
        let up = fraction as f64 / 2f64.powi(32);
        let above = if fraction == 0 { below } else { below + 1 };
        let (low, high) = (self.moments(below), self.moments(above));
        let mean = (1.0 - up) * low.0 + up * high.0;
        let square = (1.0 - up) * low.1 + up * high.1;
        let slope = self.scale().1;
        Ok((square - mean * mean) * slope * slope)
    }

    /// The variance of one report at the value where it is largest: the middle for one bit, an end for the window.
    pub fn largest_variance(&self) -> f64 {
        self.extremes().into_iter().fold(0.0, f64::max)
    }

    /// The variance at the ends and in the middle. It is a parabola with its peak or its foot there.
    fn extremes(&self) -> [f64; 3] {
        let middle = self.lower + (self.upper - self.lower) / 2.0;
        [self.lower, middle, self.upper].map(|value| self.variance(value).expect("none of these is NaN"))
    }

    /// How far `fakes` made-up reports can move the estimated sum, at most, beyond the middle of the range.
    pub fn largest_gain(&self, fakes: u64) -> f64 {
        let (offset, slope) = self.scale();
        let top = (f64::from(self.places() - 1) - offset) * slope;
        fakes as f64 * (top - (self.upper - self.lower) / 2.0)
    }

    /// What one report costs.
    pub fn mechanism(&self) -> Mechanism {
        Mechanism::Pure { epsilon: self.epsilon }
    }

    pub(crate) fn fits(&self, report: &Report) -> bool {
        matches!(report, Report::Number(place) if *place < self.places())
    }

    /// A tally of no reports.
    pub fn tally(&self) -> MeanTally {
        MeanTally { mean: *self, reports: 0, sum: 0, squares: 0 }
    }
}

/// 0 + 1 + … + (n − 1), and the same of squares.
fn power_sums(n: u128) -> (u128, u128) {
    let last = n.saturating_sub(1);
    (n * last / 2, n * last * (2 * n).saturating_sub(1) / 6)
}

/// Sums of reports on a number.
#[derive(Debug, Clone, PartialEq)]
pub struct MeanTally {
    mean: Mean,
    reports: u64,
    sum: u128,
    squares: u128,
}

impl MeanTally {
    /// How many reports.
    pub fn reports(&self) -> u64 {
        self.reports
    }

    /// Adds reports; if one does not fit, none is added.
    ///
    /// # Errors
    /// Refuses reports of another protocol.
    pub fn absorb(&mut self, reports: &[Report]) -> Result<(), Refusal> {
        if !reports.iter().all(|report| self.mean.fits(report)) {
            return Err(Refusal::Invalid("a report does not fit the protocol".into()));
        }
        for report in reports {
            if let Report::Number(place) = report {
                self.reports += 1;
                self.sum += u128::from(*place);
                self.squares += u128::from(*place) * u128::from(*place);
            }
        }
        Ok(())
    }

    /// Adds another tally of the same protocol.
    ///
    /// # Errors
    /// Refuses a tally of another protocol.
    pub fn merge(&mut self, other: &MeanTally) -> Result<(), Refusal> {
        if self.mean != other.mean {
            return Err(Refusal::Invalid("the tallies are of different protocols".into()));
        }
        self.reports += other.reports;
        self.sum += other.sum;
        self.squares += other.squares;
        Ok(())
    }

    /// The mean. Its standard error is the sample's, which holds the spread of the people's own values as well as the noise:
    /// right if they are a sample, too large if they are everyone.
    ///
    /// # Errors
    /// Refuses an empty tally.
    pub fn estimate(&self) -> Result<MeanEstimate, Refusal> {
        if self.reports == 0 {
            return Err(Refusal::Invalid("no reports, so there is no mean".into()));
        }
        let n = self.reports as f64;
        let (offset, slope) = self.mean.scale();
        let centre = self.sum as f64 / n;
        let variance = if self.reports == 1 {
            self.mean.largest_variance()
        } else {
            let sample = (self.squares as f64 / n - centre * centre) * n / (n - 1.0) * slope * slope;
            // Few reports may agree by chance; the noise is never smaller than this.
            self.mean.extremes().into_iter().fold(f64::INFINITY, f64::min).max(sample)
        };
        Ok(MeanEstimate {
            reports: self.reports,
            mean: self.mean.lower + (centre - offset) * slope,
            standard_error: (variance / n).sqrt(),
        })
    }
}
