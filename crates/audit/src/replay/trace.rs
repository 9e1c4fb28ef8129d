//! The noise calls of one run, in order: where each was made, what it hid, how far that may move, and what it said.

use super::DeclaredNoise;
use std::str::FromStr;
use veracity_core::Refusal;
use veracity_noise::{Call, Distance, Tape};

/// How a movement is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Norm {
    /// The sum of the absolute changes.
    L1,
    /// The root of the sum of the squared changes.
    L2,
    /// The largest absolute change.
    LInf,
}

impl Norm {
    /// The name used in files.
    pub fn name(self) -> &'static str {
        match self {
            Norm::L1 => "l1",
            Norm::L2 => "l2",
            Norm::LInf => "linf",
        }
    }

    /// How far two inputs of one length are apart; infinitely, where one has a NaN that the other has not.
    pub(super) fn distance(self, one: &[f64], other: &[f64]) -> f64 {
        let changes = one.iter().zip(other).map(|(a, b)| match (a.is_nan(), b.is_nan()) {
            (true, true) => 0.0,
            (false, false) if a == b => 0.0,
            (false, false) => (a - b).abs(),
            (true, false) | (false, true) => f64::INFINITY,
        });
        match self {
            Norm::L1 => changes.sum(),
            Norm::L2 => {
                let changes: Vec<f64> = changes.collect();
                let largest = changes.iter().copied().fold(0.0, f64::max);
                if largest == 0.0 || largest == f64::INFINITY {
                    return largest;
                }
                // Scaled, so that squares neither overflow nor vanish.
                largest * changes.iter().map(|change| (change / largest).powi(2)).sum::<f64>().sqrt()
            }
            Norm::LInf => changes.fold(0.0, f64::max),
        }
    }
}

impl FromStr for Norm {
    type Err = Refusal;

    fn from_str(name: &str) -> Result<Norm, Refusal> {
        [Norm::L1, Norm::L2, Norm::LInf]
            .into_iter()
            .find(|norm| norm.name() == name)
            .ok_or_else(|| Refusal::out_of_range("norm", name, "l1, l2 or linf"))
    }
}

/// One noise call. Its input is private.
#[derive(Debug, Clone, PartialEq)]
pub struct TraceCall {
    pub(super) place: String,
    pub(super) norm: Norm,
    pub(super) sensitivity: f64,
    pub(super) input: Vec<f64>,
    pub(super) output: Vec<f64>,
    pub(super) noise: Option<DeclaredNoise>,
}

impl TraceCall {
    /// A call; its declared sensitivity is checked.
    ///
    /// # Errors
    /// A sensitivity that is not a finite number ≥ 0.
    pub fn new(
        place: &str,
        norm: Norm,
        sensitivity: f64,
        input: Vec<f64>,
        output: Vec<f64>,
    ) -> Result<TraceCall, Refusal> {
        if !(sensitivity >= 0.0 && sensitivity.is_finite()) {
            return Err(Refusal::out_of_range("sensitivity", sensitivity, "a finite number ≥ 0"));
        }
        Ok(TraceCall { place: place.to_owned(), norm, sensitivity, input, output, noise: None })
    }

    /// The call with a declaration of its noise: `output` is `input` with independent noise on every number.
    ///
    /// # Errors
    /// Noise on an output that is not as long as its input.
    pub fn with_noise(self, noise: DeclaredNoise) -> Result<TraceCall, Refusal> {
        if self.input.len() != self.output.len() {
            return Err(Refusal::Invalid(
                "noise is declared, but input and output have different lengths".into(),
            ));
        }
        if self.output.iter().zip(&self.input).any(|(said, hidden)| !(said - hidden).is_finite()) {
            return Err(Refusal::Invalid(
                "noise is declared, but output − input is not a finite number".into(),
            ));
        }
        Ok(TraceCall { noise: Some(noise), ..self })
    }

    /// Something that is published without noise of its own: on adjacent datasets it must be the same, given that all noise
    /// calls said the same.
    pub fn published(place: &str, values: Vec<f64>) -> TraceCall {
        TraceCall {
            place: place.to_owned(),
            norm: Norm::LInf,
            sensitivity: 0.0,
            input: values,
            output: Vec::new(),
            noise: None,
        }
    }

    /// Where in the program it was made.
    pub fn place(&self) -> &str {
        &self.place
    }

    /// How a movement of its input is measured.
    pub fn norm(&self) -> Norm {
        self.norm
    }

    /// How far its input may move between adjacent datasets, as declared.
    pub fn sensitivity(&self) -> f64 {
        self.sensitivity
    }

    /// What it hides: private.
    pub fn input(&self) -> &[f64] {
        &self.input
    }

    /// What it said.
    pub fn output(&self) -> &[f64] {
        &self.output
    }

    /// What noise it says that it added, if it says so.
    pub fn noise(&self) -> Option<DeclaredNoise> {
        self.noise
    }
}

/// The noise calls of one run, in order.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Trace {
    calls: Vec<TraceCall>,
}

impl Trace {
    /// A trace of these calls.
    pub fn new(calls: Vec<TraceCall>) -> Trace {
        Trace { calls }
    }

    /// The calls.
    pub fn calls(&self) -> &[TraceCall] {
        &self.calls
    }

    /// The trace with the noise of those calls declared for which there is something to declare.
    ///
    /// # Errors
    /// Those of `noise`, and noise that does not fit its call.
    pub fn declaring(
        self,
        noise: impl Fn(&TraceCall) -> Result<Option<DeclaredNoise>, Refusal>,
    ) -> Result<Trace, Refusal> {
        let declare = |call: TraceCall| match noise(&call)? {
            Some(noise) => call.with_noise(noise),
            None => Ok(call),
        };
        Ok(Trace { calls: self.calls.into_iter().map(declare).collect::<Result<_, Refusal>>()? })
    }

    /// The trace with one more call at its end.
    pub fn and(mut self, call: TraceCall) -> Trace {
        self.calls.push(call);
        self
    }
}

/// # Numerics  Integers up to 2^53 are kept exactly; farther ones, and roots of squared distances, within [`super::TOLERANCE`]
impl From<&Tape> for Trace {
    fn from(tape: &Tape) -> Trace {
        let floats = |integers: &[i128]| integers.iter().map(|x| *x as f64).collect();
        let one = |call: &Call| {
            let (norm, sensitivity) = match call.declared {
                Distance::L1(most) => (Norm::L1, most as f64),
                Distance::L2Squared(most) => (Norm::L2, (most as f64).sqrt()),
                Distance::LInf(most) => (Norm::LInf, most as f64),
            };
            TraceCall {
                place: call.place.to_owned(),
                norm,
                sensitivity,
                input: floats(&call.input),
                output: floats(&call.output),
                noise: None,
            }
        };
        Trace { calls: tape.calls.iter().map(one).collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_are_of_their_norm_and_do_not_overflow() {
        let (one, other) = ([0.0, 0.0], [3.0, -4.0]);
        assert_eq!(Norm::L1.distance(&one, &other), 7.0);
        assert_eq!(Norm::L2.distance(&one, &other), 5.0);
        assert_eq!(Norm::LInf.distance(&one, &other), 4.0);
        assert!((Norm::L2.distance(&[3e200, 4e200], &[0.0, 0.0]) / 5e200 - 1.0).abs() < 1e-15);
        assert!((Norm::L2.distance(&[3e-200, 4e-200], &[0.0, 0.0]) / 5e-200 - 1.0).abs() < 1e-15);
        assert_eq!(Norm::L2.distance(&[f64::INFINITY], &[f64::INFINITY]), 0.0);
        assert_eq!(Norm::L2.distance(&[f64::INFINITY], &[0.0]), f64::INFINITY);
        assert_eq!(Norm::L1.distance(&[f64::NAN], &[0.0]), f64::INFINITY);
    }

    #[test]
    fn a_tape_becomes_a_trace_of_the_same_calls() {
        let call = |declared| Call { place: "sum", declared, input: vec![1, -2], output: vec![3, 4] };
        let calls = vec![call(Distance::L1(7)), call(Distance::L2Squared(9)), call(Distance::LInf(2))];
        let trace = Trace::from(&Tape { calls });
        let declared: Vec<(Norm, f64)> =
            trace.calls.iter().map(|call| (call.norm, call.sensitivity)).collect();
        assert_eq!(declared, [(Norm::L1, 7.0), (Norm::L2, 3.0), (Norm::LInf, 2.0)]);
        assert_eq!(trace.calls[0].input, [1.0, -2.0]);
        assert!(TraceCall::new("sum", Norm::L1, -1.0, vec![], vec![]).is_err());
        assert!(TraceCall::new("sum", Norm::L1, f64::NAN, vec![], vec![]).is_err());
    }
}
