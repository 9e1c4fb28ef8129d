//! Axes: where a value lies between two ends, and at which round values to put ticks.

use veracity_core::decimal;

/// How values are spread along an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scale {
    /// Evenly.
    Linear,
    /// Evenly, and what is counted is whole: no tick has a fraction.
    Whole,
    /// By their magnitude.
    Log,
}

/// One axis.
///
/// # Examples
///
/// ```
/// use veracity_report::axis::{Axis, Scale};
///
/// let axis = Axis { title: "delta".into(), low: 1e-8, high: 1.0, scale: Scale::Log };
/// assert!((axis.place(1e-4) - 0.5).abs() < 1e-12);
/// // What lies outside is put at the nearer end.
/// assert_eq!(axis.place(1e-20), 0.0);
/// assert!(axis.ticks().iter().any(|(_, label)| label == "10⁻⁴"));
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Axis {
    /// What it measures.
    pub title: String,
    /// The value at its start.
    pub low: f64,
    /// The value at its end.
    pub high: f64,
    /// How values are spread.
    pub scale: Scale,
}

impl Axis {
    /// Where `value` lies: 0 at the start, 1 at the end; what lies outside is put at the nearer end.
    pub fn place(&self, value: f64) -> f64 {
        let share = match self.scale {
            Scale::Linear | Scale::Whole => (value - self.low) / (self.high - self.low),
            Scale::Log => (value / self.low).log10() / (self.high / self.low).log10(),
        };
        if share.is_nan() { 0.0 } else { share.clamp(0.0, 1.0) }
    }

    /// Round values with their labels.
    pub fn ticks(&self) -> Vec<(f64, String)> {
        match self.scale {
            Scale::Linear => linear_ticks(self.low, self.high),
            Scale::Whole => {
                let ticks = linear_ticks(self.low, self.high).into_iter();
                ticks.filter(|(value, _)| value.fract() == 0.0).collect()
            }
            Scale::Log => log_ticks(self.low, self.high),
        }
    }
}

/// Steps of 1, 2 or 5 times a power of ten, five to ten of them.
fn linear_ticks(low: f64, high: f64) -> Vec<(f64, String)> {
    let rough = (high - low) / 6.0;
    if !(rough > 0.0 && rough.is_finite()) {
        return Vec::new();
    }
    let power = 10f64.powf(rough.log10().floor());
    let step =
        [1.0, 2.0, 5.0, 10.0].map(|m| m * power).into_iter().find(|s| *s >= rough).unwrap_or(10.0 * power);
    // Ends that differ in their last digits only have no round values between them.
    if low.abs().max(high.abs()) > 1e9 * step {
        return Vec::new();
    }
    let (first, last) = ((low / step - 1e-9).ceil() as i64, (high / step + 1e-9).floor() as i64);
    (first..=last).map(|n| n as f64 * step).map(|value| (value, decimal::nearest(value, 6))).collect()
}

/// Powers of ten, at most seven of them.
fn log_ticks(low: f64, high: f64) -> Vec<(f64, String)> {
    let (first, last) = (low.log10().ceil() as i32, high.log10().floor() as i32);
    let every = (last - first) / 7 + 1;
    let powers = (first..=last).rev().step_by(usize::try_from(every).unwrap_or(1));
    powers.map(|power| (10f64.powi(power), decimal::power_of_ten(power))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_inside() {
        let labels = |ticks: Vec<(f64, String)>| ticks.into_iter().map(|tick| tick.1).collect::<Vec<_>>();
        assert_eq!(labels(linear_ticks(0.0, 1.0)), ["0", "0.2", "0.4", "0.6", "0.8", "1"]);
        assert_eq!(labels(linear_ticks(0.0, 7.3)), ["0", "2", "4", "6"]);
        assert_eq!(labels(log_ticks(1e-10, 1.0)), ["1", "10⁻²", "10⁻⁴", "10⁻⁶", "10⁻⁸", "10⁻¹⁰"]);
        let whole = |high| {
            let axis = Axis { title: String::new(), low: 0.0, high, scale: Scale::Whole };
            labels(axis.ticks())
        };
        assert_eq!(whole(1.0), ["0", "1"]);
        assert_eq!(whole(2.0), ["0", "1", "2"]);
        assert_eq!(whole(7.0), ["0", "2", "4", "6"]);
        for scale in [1e-9, 3.7e-4, 0.9, 41.0, 7e12] {
            let ticks = linear_ticks(0.0, scale);
            assert!((3..=11).contains(&ticks.len()), "{scale} {ticks:?}");
        }
        for (low, high) in [(1f64.next_down(), 1.0), (1e300, 1.1e300), (-1e-300, 1e-300), (1e15, 1e15 + 1.0)]
        {
            assert!(linear_ticks(low, high).len() <= 11, "{low} {high}");
        }
    }

    #[test]
    fn places_stay_between_the_ends() {
        let axis = Axis { title: String::new(), low: 1e-10, high: 1.0, scale: Scale::Log };
        assert_eq!(axis.place(0.0), 0.0);
        assert_eq!(axis.place(2.0), 1.0);
        assert!((axis.place(1e-5) - 0.5).abs() < 1e-12);
    }
}
