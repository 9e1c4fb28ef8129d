//! Numbers of a file as checked values.

use crate::{
    Buckets, Count, Epsilon, Mechanism, NoiseMultiplier, Probability, RdpCurve, Refusal, SamplingRate,
    Sensitivity,
};
use serde::{Deserialize, Serialize, Serializer};

/// An integer that may be written `1000000` or `1e6`.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(transparent)]
pub struct Whole(pub f64);

impl Whole {
    /// The number as a count, refused under its own `name`.
    ///
    /// # Errors
    /// Refuses a number that is no integer from 1 to 10^15.
    pub fn count(self, name: &'static str) -> Result<Count, Refusal> {
        let expected = "an integer from 1 to 10^15";
        if self.0.fract() != 0.0 || !(1.0..=Count::MOST as f64).contains(&self.0) {
            let shown = if self.0.abs() < 1e16 { self.0.to_string() } else { format!("{:e}", self.0) };
            return Err(Refusal::out_of_range(name, shown, expected));
        }
        Count::new(self.0 as u64)
    }

    /// The number as a count or 0, refused under its own `name`.
    ///
    /// # Errors
    /// Refuses what [`Whole::count`] refuses, except 0.
    pub fn count_or_zero(self, name: &'static str) -> Result<u64, Refusal> {
        if self.0 == 0.0 { Ok(0) } else { self.count(name).map(Count::get) }
    }
}

impl From<Count> for Whole {
    fn from(count: Count) -> Self {
        Whole(count.as_f64())
    }
}

impl Serialize for Whole {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.0.fract() == 0.0 && (0.0..=Count::MOST as f64).contains(&self.0) {
            serializer.serialize_u64(self.0 as u64)
        } else {
            serializer.serialize_f64(self.0)
        }
    }
}

/// The value of an integer field that is left out.
pub(super) fn one() -> Whole {
    Whole(1.0)
}

/// A noise multiplier given as such, or as a scale and a sensitivity, whose quotient is rounded down: accounting for less
/// noise is safe.
pub(super) fn relative(
    multiplier: Option<f64>,
    (name, scale): (&'static str, Option<f64>),
    sensitivity: Option<f64>,
) -> Result<NoiseMultiplier, Refusal> {
    match (multiplier, scale, sensitivity) {
        (Some(multiplier), None, None) => NoiseMultiplier::new(multiplier),
        (None, Some(scale), Some(sensitivity)) => {
            noise(name, scale)?;
            let sensitivity = Sensitivity::new(sensitivity)?.get();
            NoiseMultiplier::new(quotient_below(scale, sensitivity))
        }
        (Some(_), _, _) => Err(Refusal::Invalid(format!(
            "noise multiplier and {name} (or sensitivity) are both given; give the noise multiplier, or {name} with sensitivity"
        ))),
        (None, Some(_), None) => Err(Refusal::Invalid(format!("sensitivity is missing; {name} needs it"))),
        (None, None, _) => {
            Err(Refusal::Invalid(format!("noise multiplier is missing; give it, or {name} with sensitivity")))
        }
    }
}

pub(super) fn noise(name: &'static str, scale: f64) -> Result<NoiseMultiplier, Refusal> {
    NoiseMultiplier::new(scale).map_err(|_| Refusal::out_of_range(name, scale, "a number from 1e-6 to 1e9"))
}

/// The largest float not above a/b.
pub fn quotient_below(a: f64, b: f64) -> f64 {
    let nearest = a / b;
    // The fused product is exact in sign, so it says on which side of a/b the nearest float lies.
    if nearest.mul_add(b, -a) > 0.0 { nearest.next_down() } else { nearest }
}

/// The least float not below a/b.
pub(super) fn quotient_above(a: f64, b: f64) -> f64 {
    let nearest = a / b;
    if nearest.mul_add(b, -a) < 0.0 { nearest.next_up() } else { nearest }
}

pub(super) fn finite_epsilon(epsilon: f64) -> Result<Epsilon, Refusal> {
    if epsilon.is_infinite() {
        return Err(Refusal::out_of_range("epsilon", epsilon, "a finite number ≥ 0"));
    }
    Epsilon::new(epsilon)
}

pub(super) fn randomized_response(noise_parameter: f64, buckets: Whole) -> Result<Mechanism, Refusal> {
    let refused = |_| Refusal::out_of_range("noise parameter", noise_parameter, "0 < noise parameter ≤ 1");
    let many = u32::try_from(buckets.count("buckets")?.get())
        .map_err(|_| Refusal::out_of_range("buckets", buckets.0, "2 ≤ buckets < 2^32"))?;
    Ok(Mechanism::RandomizedResponse {
        buckets: Buckets::new(many)?,
        noise: Probability::new(noise_parameter).map_err(refused)?,
    })
}

pub(super) fn rdp_curve(orders: &[f64], values: &[f64]) -> Result<RdpCurve, Refusal> {
    if orders.len() != values.len() {
        let lengths = format!("{} orders and {} values", orders.len(), values.len());
        return Err(Refusal::out_of_range("rdp curve", lengths, "as many values as orders"));
    }
    if let Some(value) = values.iter().find(|value| value.is_infinite()) {
        return Err(Refusal::out_of_range("rdp value", value, "a finite number ≥ 0; leave the order out"));
    }
    RdpCurve::new(orders.iter().copied().zip(values.iter().copied()).collect())
}

/// The sampling rate, given as such or as batch and dataset size, whose quotient is rounded up.
pub(super) fn rate_of(
    rate: Option<f64>,
    batch: Option<Whole>,
    dataset: Option<Whole>,
) -> Result<SamplingRate, Refusal> {
    match (rate, batch, dataset) {
        (Some(rate), None, None) => SamplingRate::new(rate),
        (None, Some(batch), Some(dataset)) => {
            let (batch, dataset) = (batch.count("batch size")?, dataset.count("dataset size")?);
            if batch > dataset {
                return Err(Refusal::out_of_range("batch size", batch.get(), "batch size ≤ dataset size"));
            }
            SamplingRate::new(quotient_above(batch.as_f64(), dataset.as_f64()).min(1.0))
        }
        (Some(_), _, _) => Err(Refusal::Invalid(
            "sampling rate and batch size (or dataset size) are both given; give the sampling rate, or batch size with dataset size".into(),
        )),
        (None, Some(_), None) => {
            Err(Refusal::Invalid("dataset size is missing; batch size needs it".into()))
        }
        (None, None, Some(_)) => {
            Err(Refusal::Invalid("batch size is missing; dataset size needs it".into()))
        }
        (None, None, None) => Err(Refusal::Invalid(
            "sampling rate is missing; give it, or batch size with dataset size".into(),
        )),
    }
}

/// The steps, given as such or as epochs, which are rounded up to whole steps.
pub(super) fn steps_of(
    steps: Option<Whole>,
    epochs: Option<f64>,
    rate: SamplingRate,
) -> Result<Count, Refusal> {
    match (steps, epochs) {
        (Some(steps), None) => steps.count("steps"),
        (None, Some(epochs)) => {
            if !(epochs > 0.0 && epochs.is_finite()) {
                return Err(Refusal::out_of_range("epochs", epochs, "a finite number > 0"));
            }
            let exact = epochs / rate.get();
            // 0.07 / 0.01 is a hair above 7 in floats and means 7.
            let nearest = exact.round();
            let whole = if (exact - nearest).abs() <= 1e-9 * nearest { nearest } else { exact.ceil() };
            Whole(whole).count("steps")
        }
        (Some(_), Some(_)) => Err(Refusal::Invalid("steps and epochs are both given; give only one".into())),
        (None, None) => Err(Refusal::Invalid("steps is missing; give steps or epochs".into())),
    }
}
