//! Two runs on adjacent datasets, the second made to say what the first said: what may differ then is only what noise hides,
//! and only by as much as was declared.
//!
//! A [`Trace`] is the list of a run's noise calls. [`compare`] goes through two of them call by call. Nothing in it is a matter
//! of chance: an input that moved farther than declared, or another list of calls, refutes whatever was accounted. What noise
//! the first of the two runs drew [`examine`] tests, where it is declared.
//!
//! # Reference  \[CebereErbDesfontainesBelletFitzsimons26\], for the idea; a trace of ours holds declared sensitivities call by call

mod noise;
mod trace;

pub use noise::{DeclaredNoise, NoiseFault, NoiseFlaw, NoiseLaw, NoiseReading, examine};
pub use trace::{Norm, Trace, TraceCall};

use std::fmt;
use veracity_core::{
    Refusal,
    decimal::{nearest, up},
};

/// By which part a movement may exceed its declaration: what floats make of an exact bound.
pub const TOLERANCE: f64 = 1e-9;

/// So many numbers, all different, do not come up twice by chance.
const TELLING: usize = 8;

/// What is wrong with a run, and where.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Fault {
    /// An input moved farther than declared.
    Sensitivity {
        /// Where in the program.
        place: String,
        /// Which call, from 0.
        call: usize,
        /// How far it moved, in the norm that was declared.
        moved: f64,
        /// How far it may.
        declared: f64,
    },
    /// The calls themselves depend on the data.
    ControlFlow {
        /// Which call, from 0.
        call: usize,
        /// What differs.
        difference: Difference,
    },
    /// Two calls of one run got the same noise.
    NoiseReused {
        /// Where in the program the later one is.
        place: String,
        /// The later one, from 0.
        call: usize,
        /// The earlier one.
        first: usize,
    },
    /// The noise of the run is not what it is declared to be, beyond what chance would do.
    Noise(NoiseFault),
}

/// What differs between two calls that should be the same.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Difference {
    /// One run makes this call and the other has ended.
    Number,
    /// Their places in the program.
    Place {
        /// Where the first run is.
        run: String,
        /// Where its replay is.
        replay: String,
    },
    /// Their lengths.
    Length,
    /// How far they say that their input can move.
    Declaration,
    /// What noise they say that they add.
    Noise,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Difference::Number => f.write_str("only one of the runs makes this call"),
            Difference::Place { run, replay } => write!(f, "one run calls {run} and the other {replay}"),
            Difference::Length => f.write_str("its length depends on the data"),
            Difference::Declaration => f.write_str("its declared sensitivity depends on the data"),
            Difference::Noise => f.write_str("its declared noise depends on the data"),
        }
    }
}

impl Fault {
    /// A short name of its kind, as in files.
    pub fn kind(&self) -> &'static str {
        match self {
            Fault::Sensitivity { .. } => "sensitivity",
            Fault::ControlFlow { .. } => "control-flow",
            Fault::NoiseReused { .. } => "noise-reused",
            Fault::Noise(fault) => fault.kind(),
        }
    }

    /// Which call, from 0; nothing, where it is all of them together.
    pub fn call(&self) -> Option<usize> {
        match self {
            Fault::Sensitivity { call, .. }
            | Fault::ControlFlow { call, .. }
            | Fault::NoiseReused { call, .. } => Some(*call),
            Fault::Noise(fault) => fault.call(),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Sensitivity { place, call, declared: 0.0, .. } => {
                write!(f, "{place} (call {call}) depends on the data, without noise")
            }
            Fault::Sensitivity { place, call, moved, declared } => {
                write!(
                    f,
                    "the input of {place} (call {call}) changed by {}× its declared sensitivity ({} > {})",
                    up(moved / declared, 5),
                    nearest(*moved, 9),
                    nearest(*declared, 9)
                )
            }
            Fault::ControlFlow { call, difference } => {
                write!(f, "control flow depends on the data at call {call}: {difference}")
            }
            Fault::NoiseReused { place, call, first } => {
                write!(f, "{place} (call {call}) uses the same noise as call {first}")
            }
            Fault::Noise(fault) => fault.fmt(f),
        }
    }
}

/// Two runs side by side.
#[derive(Debug, Clone, PartialEq)]
pub struct ReplayComparison {
    /// What is wrong, if anything was found.
    pub fault: Option<Fault>,
    /// The largest movement over the declared one, among calls that declare more than none; up to the fault, if there is one.
    pub used: f64,
    /// How many calls the first run made.
    pub calls: usize,
}

/// Compares a run with its replay on an adjacent dataset.
///
/// Traces whose outputs differ are refused: the second run was not made to say what the first said, so nothing follows.
///
/// # Promise  A fault is a fact about the two runs; that none was found says nothing about other datasets
///
/// # Examples
///
/// A sum that was declared to move by 1, and moved by 3:
///
/// ```
/// use veracity_audit::replay::{Norm, Trace, TraceCall, compare};
///
/// let trace = |sum: f64| {
///     let call = TraceCall::new("sum", Norm::L1, 1.0, vec![sum], vec![42.5])?;
///     Ok::<_, veracity_core::Refusal>(Trace::default().and(call))
/// };
/// let replayed = compare(&trace(40.0)?, &trace(43.0)?)?;
/// assert_eq!(replayed.fault.as_ref().map(|fault| fault.kind()), Some("sensitivity"));
///
/// let within = compare(&trace(40.0)?, &trace(40.5)?)?;
/// assert_eq!((within.fault, within.used), (None, 0.5));
/// # Ok::<(), veracity_core::Refusal>(())
/// ```
///
/// # Errors
/// Traces whose outputs differ.
pub fn compare(run: &Trace, replay: &Trace) -> Result<ReplayComparison, Refusal> {
    let (mut used, calls) = (0.0f64, run.calls().len());
    let found = |fault, used| Ok(ReplayComparison { fault, used, calls });
    for (at, (one, two)) in run.calls().iter().zip(replay.calls()).enumerate() {
        if let Some(difference) = difference(one, two) {
            return found(Some(Fault::ControlFlow { call: at, difference }), used);
        }
        if !same(&one.output, &two.output) {
            return Err(Refusal::Invalid(format!(
                "the outputs of call {at} differ; the replay must use the outputs of the first run"
            )));
        }
        let (moved, declared) = (one.norm.distance(&one.input, &two.input), one.sensitivity);
        if !(moved <= declared * (1.0 + TOLERANCE)) {
            let fault = Fault::Sensitivity { place: one.place.clone(), call: at, moved, declared };
            return found(Some(fault), used);
        }
        if declared > 0.0 {
            used = used.max(moved / declared);
        }
    }
    if calls != replay.calls().len() {
        let call = calls.min(replay.calls().len());
        return found(Some(Fault::ControlFlow { call, difference: Difference::Number }), used);
    }
    found(reused(run), used)
}

/// What differs between two calls, if anything that must not does.
fn difference(one: &TraceCall, two: &TraceCall) -> Option<Difference> {
    if one.place != two.place {
        Some(Difference::Place { run: one.place.clone(), replay: two.place.clone() })
    } else if one.input.len() != two.input.len() || one.output.len() != two.output.len() {
        Some(Difference::Length)
    } else if one.norm != two.norm || one.sensitivity.to_bits() != two.sensitivity.to_bits() {
        Some(Difference::Declaration)
    } else if one.noise != two.noise {
        Some(Difference::Noise)
    } else {
        None
    }
}

fn same(one: &[f64], two: &[f64]) -> bool {
    one.iter().zip(two).all(|(a, b)| a == b || (a.is_nan() && b.is_nan()))
}

/// The first call that got the noise of an earlier one.
fn reused(run: &Trace) -> Option<Fault> {
    let noises: Vec<Option<Vec<f64>>> = run.calls().iter().map(noise).collect();
    for (call, later) in noises.iter().enumerate() {
        let Some(later) = later else { continue };
        // Where both declare their noise, it is tested against that.
        let is_tested =
            |first: usize| run.calls()[call].noise.is_some() && run.calls()[first].noise.is_some();
        let mut same = (0..call).filter(|first| noises[*first].as_ref() == Some(later));
        if let Some(first) = same.find(|first| !is_tested(*first)) {
            let place = run.calls()[call].place.clone();
            return Some(Fault::NoiseReused { place, call, first });
        }
    }
    None
}

/// What was added, where that can be told from anything else that a call may do: enough numbers, all different.
fn noise(call: &TraceCall) -> Option<Vec<f64>> {
    if call.input.len() != call.output.len() || call.input.len() < TELLING {
        return None;
    }
    let added: Vec<f64> = call.output.iter().zip(&call.input).map(|(said, hidden)| said - hidden).collect();
    let mut sorted = added.clone();
    sorted.sort_by(f64::total_cmp);
    sorted.windows(2).all(|pair| pair[0] != pair[1]).then_some(added)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(place: &str, sensitivity: f64, input: &[f64], output: &[f64]) -> TraceCall {
        TraceCall::new(place, Norm::L2, sensitivity, input.to_vec(), output.to_vec()).unwrap()
    }

    fn trace(calls: &[TraceCall]) -> Trace {
        Trace::new(calls.to_vec())
    }

    #[test]
    fn movements_are_measured_and_those_beyond_the_declaration_are_faults() {
        let one = trace(&[call("sum", 5.0, &[0.0, 0.0], &[1.0, 1.0])]);
        let within = trace(&[call("sum", 5.0, &[3.0, 4.0], &[1.0, 1.0])]);
        let found = compare(&one, &within).unwrap();
        assert_eq!((found.fault, found.used, found.calls), (None, 1.0, 1));
        let beyond = trace(&[call("sum", 5.0, &[3.0, 4.0 + 1e-7], &[1.0, 1.0])]);
        assert!(matches!(compare(&one, &beyond).unwrap().fault, Some(Fault::Sensitivity { call: 0, .. })));
        let strange = trace(&[call("sum", 5.0, &[f64::NAN, 0.0], &[1.0, 1.0])]);
        assert!(matches!(compare(&one, &strange).unwrap().fault, Some(Fault::Sensitivity { .. })));
        assert_eq!(compare(&strange, &strange).unwrap().fault, None);
    }

    #[test]
    fn other_calls_are_faults_and_other_outputs_no_evidence() {
        let base = [call("a", 1.0, &[0.0], &[2.0]), call("b", 1.0, &[0.0], &[2.0])];
        let differs = |other: &[TraceCall]| match compare(&trace(&base), &trace(other)).unwrap().fault {
            Some(Fault::ControlFlow { difference, .. }) => difference,
            other => panic!("{other:?}"),
        };
        assert_eq!(differs(&base[..1]), Difference::Number);
        let swapped = Difference::Place { run: "a".into(), replay: "b".into() };
        assert_eq!(differs(&[base[1].clone(), base[0].clone()]), swapped);
        assert_eq!(differs(&[call("a", 1.0, &[0.0, 0.0], &[2.0])]), Difference::Length);
        assert_eq!(differs(&[call("a", 2.0, &[0.0], &[2.0])]), Difference::Declaration);
        assert!(compare(&trace(&base), &trace(&[call("a", 1.0, &[0.0], &[2.5])])).is_err());
    }

    #[test]
    fn the_same_noise_twice_is_seen_where_it_cannot_be_chance() {
        let (zeros, ones) = ([0.0; 8], [1.0; 8]);
        let noise: Vec<f64> = (0..8).map(f64::from).collect();
        let added: Vec<f64> = noise.iter().map(|x| x + 1.0).collect();
        let twice = trace(&[call("a", 1.0, &zeros, &noise), call("b", 1.0, &ones, &added)]);
        let fault = compare(&twice, &twice).unwrap().fault;
        assert_eq!(fault, Some(Fault::NoiseReused { place: "b".into(), call: 1, first: 0 }));
        // Bits that are flipped alike twice are no wonder.
        let bits = trace(&[call("a", 1.0, &zeros, &ones), call("b", 1.0, &zeros, &ones)]);
        assert_eq!(compare(&bits, &bits).unwrap().fault, None);
    }
}
