//! The one door through which noise reaches an answer, and a tape of what went through it.
//!
//! Each call states its place in the program, what it hides, and how far that can move between adjacent datasets. With a
//! tape, the same program can be run on an adjacent dataset with the same outputs: then every input must have moved by no
//! more than was declared, and the calls must be the same. Anything else is a bug, with its place.

use crate::{Entropy, Key, Origin, Purpose, Stream};
use veracity_core::Refusal;

/// How far the input of a noise call can move between adjacent datasets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Distance {
    /// The sum of the absolute changes.
    L1(u128),
    /// The sum of the squared changes.
    L2Squared(u128),
    /// The largest absolute change.
    LInf(u128),
}

impl Distance {
    /// Whether two inputs of one length are this close.
    fn covers(self, one: &[i128], other: &[i128]) -> bool {
        let changes = one.iter().zip(other).map(|(a, b)| a.abs_diff(*b));
        // An overflow is farther than any declaration.
        match self {
            Distance::L1(most) => {
                changes.into_iter().try_fold(0u128, u128::checked_add).is_some_and(|sum| sum <= most)
            }
            Distance::L2Squared(most) => changes
                .into_iter()
                .try_fold(0u128, |sum, change| sum.checked_add(change.checked_mul(change)?))
                .is_some_and(|sum| sum <= most),
            Distance::LInf(most) => changes.into_iter().all(|change| change <= most),
        }
    }
}

/// One noise call, with its input, which is private, and its output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// Where in the program.
    pub place: &'static str,
    /// How far the input can move.
    pub declared: Distance,
    /// The input, before noise: private.
    pub input: Vec<i128>,
    /// The output, with noise.
    pub output: Vec<i128>,
}

/// The calls of one run, in order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Tape {
    /// The calls.
    pub calls: Vec<Call>,
}

/// How a run on an adjacent dataset departed from what was declared.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Departure {
    /// An input moved farther than declared.
    Sensitivity {
        /// Where.
        place: &'static str,
        /// Which call, from 0.
        call: usize,
        /// What was declared.
        declared: Distance,
    },
    /// The calls themselves differ: their number, place, length or declaration depends on the data.
    ControlFlow {
        /// Which call, from 0.
        call: usize,
    },
}

impl Tape {
    /// Compares two runs whose outputs were the same.
    ///
    /// # Examples
    ///
    /// A sum of ages that was declared to move by at most 100, and a dataset with one record less:
    ///
    /// ```
    /// use veracity_noise::{Departure, Distance, Entropy, Key, Noise, NoiseStream, Purpose, Ratio};
    ///
    /// let release = |ages: &[i128], rng: &mut NoiseStream| {
    ///     let noise = Noise::Laplace { scale: Ratio::new(200, 1).expect("a positive ratio") };
    ///     noise.add("sum of ages", &[ages.iter().sum()], Distance::L1(100), rng)
    /// };
    /// let stream = || Entropy::seeded(1).stream(Purpose::Noise, Key::default());
    ///
    /// let mut rng = NoiseStream::recording(stream());
    /// release(&[31, 47, 980], &mut rng);
    /// let tape = rng.into_tape().unwrap_or_default();
    ///
    /// // The same program on the adjacent dataset is told the same answers.
    /// let mut rng = NoiseStream::replaying(tape.clone(), stream());
    /// release(&[31, 47], &mut rng);
    /// let departure = tape.departure(&rng.into_tape().unwrap_or_default());
    /// // Somebody forgot to clamp.
    /// assert!(matches!(departure, Some(Departure::Sensitivity { place: "sum of ages", call: 0, .. })));
    /// ```
    pub fn departure(&self, other: &Tape) -> Option<Departure> {
        for (call, (one, two)) in self.calls.iter().zip(&other.calls).enumerate() {
            let same =
                one.place == two.place && one.declared == two.declared && one.input.len() == two.input.len();
            if !same {
                return Some(Departure::ControlFlow { call });
            }
            if !one.declared.covers(&one.input, &two.input) {
                return Some(Departure::Sensitivity { place: one.place, call, declared: one.declared });
            }
        }
        let (shorter, longer) =
            (self.calls.len().min(other.calls.len()), self.calls.len().max(other.calls.len()));
        (shorter != longer).then_some(Departure::ControlFlow { call: shorter })
    }
}

/// Noise that protects, drawn in the open: silent in earnest, with a tape in tests and audits.
///
/// # Examples
///
/// ```
/// use veracity_noise::{Entropy, Key, NoiseStream, Purpose};
///
/// let entropy = Entropy::system()?;
/// let stream = || entropy.stream(Purpose::Noise, Key::default());
/// assert!(NoiseStream::new(stream()).is_releasable());
/// // A tape holds what should be hidden, and a seed is known to somebody.
/// assert!(!NoiseStream::recording(stream()).is_releasable());
/// let seeded = Entropy::seeded(1).stream(Purpose::Noise, Key::default());
/// assert!(!NoiseStream::new(seeded).is_releasable());
/// # Ok::<(), veracity_core::Refusal>(())
/// ```
#[derive(Debug)]
pub struct NoiseStream {
    stream: Stream,
    recorder: Recorder,
}

#[derive(Debug)]
enum Recorder {
    Silent,
    Recording(Tape),
    Replaying { script: Tape, heard: Tape },
}

impl NoiseStream {
    /// Draws noise and records nothing.
    pub fn new(stream: Stream) -> NoiseStream {
        NoiseStream { stream, recorder: Recorder::Silent }
    }

    /// Noise from fresh entropy of the operating system, for a release that stands alone. Every call takes entropy of its own, so
    /// no two of these streams repeat each other, and a forked child never repeats its parent. What must be drawn again by its
    /// key, such as a run that resumes, takes its streams from one [`Entropy`](crate::Entropy) instead.
    ///
    /// # Errors
    /// Fails where the operating system gives no entropy.
    ///
    /// # Examples
    ///
    /// ```
    /// use veracity_noise::{Distance, Noise, NoiseStream, Purpose, Ratio};
    ///
    /// let mut rng = NoiseStream::system(Purpose::Noise)?;
    /// assert!(rng.is_releasable());
    /// let noise = Noise::Laplace { scale: Ratio::new(2, 1)? };
    /// let noisy = noise.add("people", &[1234], Distance::L1(1), &mut rng);
    /// assert!(noisy[0].abs_diff(1234) <= 100);
    /// # Ok::<(), veracity_core::Refusal>(())
    /// ```
    pub fn system(purpose: Purpose) -> Result<NoiseStream, Refusal> {
        Ok(NoiseStream::new(Entropy::system()?.stream(purpose, Key::default())))
    }

    /// Draws noise and records every call. The tape holds the inputs, which noise should hide: never for release.
    pub fn recording(stream: Stream) -> NoiseStream {
        NoiseStream { stream, recorder: Recorder::Recording(Tape::default()) }
    }

    /// Repeats the outputs of `script`, call by call, and records the inputs of this run.
    pub fn replaying(script: Tape, stream: Stream) -> NoiseStream {
        NoiseStream { stream, recorder: Recorder::Replaying { script, heard: Tape::default() } }
    }

    /// Whether what it protects may be released: system entropy, and no tape.
    pub fn is_releasable(&self) -> bool {
        self.stream.origin().is_releasable() && matches!(self.recorder, Recorder::Silent)
    }

    /// Where its entropy came from.
    pub fn origin(&self) -> Origin {
        self.stream.origin()
    }

    /// The tape of a recording or replaying stream.
    pub fn into_tape(self) -> Option<Tape> {
        match self.recorder {
            Recorder::Silent => None,
            Recorder::Recording(tape) | Recorder::Replaying { heard: tape, .. } => Some(tape),
        }
    }

    /// One noise call: `draw` turns what is hidden into what is said.
    ///
    /// # Assumes  Between adjacent datasets, and whatever was said before, `input` moves by at most `declared`; a tape
    /// checks it
    pub fn call(
        &mut self,
        place: &'static str,
        input: &[i128],
        declared: Distance,
        draw: impl FnOnce(&[i128], &mut Stream) -> Vec<i128>,
    ) -> Vec<i128> {
        let (tape, scripted) = match &mut self.recorder {
            Recorder::Silent => return draw(input, &mut self.stream),
            Recorder::Recording(tape) => (tape, None),
            Recorder::Replaying { script, heard } => {
                let scripted = script.calls.get(heard.calls.len()).map(|call| call.output.clone());
                (heard, scripted)
            }
        };
        // Past the end of a script the run has already departed; it may go on as it likes.
        let output = scripted.unwrap_or_else(|| draw(input, &mut self.stream));
        tape.calls.push(Call { place, declared, input: input.to_vec(), output: output.clone() });
        output
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stream() -> Stream {
        Entropy::seeded(1).stream(Purpose::Noise, Key::default())
    }

    /// A release of a sum that always says −1, and a second call that only the secret value 13 makes.
    fn release(value: i128, declared: u128, noise: &mut NoiseStream) {
        let said = noise.call("sum", &[value], Distance::L1(declared), |_, _| vec![-1]);
        if said[0] > 0 || value == 13 {
            noise.call("more", &[value], Distance::LInf(declared), |input, _| input.to_vec());
        }
    }

    fn depart(one: i128, other: i128, declared: u128) -> Option<Departure> {
        let mut first = NoiseStream::recording(stream());
        release(one, declared, &mut first);
        let script = first.into_tape().unwrap();
        let mut second = NoiseStream::replaying(script.clone(), stream());
        release(other, declared, &mut second);
        script.departure(&second.into_tape().unwrap())
    }

    #[test]
    fn a_replay_measures_every_call_and_sees_control_flow_that_depends_on_data() {
        assert_eq!(depart(5, 6, 1), None);
        assert_eq!(
            depart(5, 7, 1),
            Some(Departure::Sensitivity { place: "sum", call: 0, declared: Distance::L1(1) })
        );
        assert_eq!(depart(12, 13, 1), Some(Departure::ControlFlow { call: 1 }));
        assert_eq!(depart(13, 12, 1), Some(Departure::ControlFlow { call: 1 }));
    }

    #[test]
    fn distances_are_of_their_norm_and_overflow_is_far() {
        assert!(Distance::L1(3).covers(&[1, 2], &[2, 4]) && !Distance::L1(2).covers(&[1, 2], &[2, 4]));
        assert!(Distance::L2Squared(5).covers(&[1, 2], &[2, 4]));
        assert!(!Distance::L2Squared(4).covers(&[1, 2], &[2, 4]));
        assert!(Distance::LInf(2).covers(&[1, 2], &[2, 4]) && !Distance::LInf(1).covers(&[1, 2], &[2, 4]));
        assert!(!Distance::L2Squared(u128::MAX).covers(&[i128::MIN], &[i128::MAX]));
        assert!(!Distance::L1(u128::MAX).covers(&[i128::MIN, i128::MIN], &[i128::MAX, i128::MAX]));
    }

    #[test]
    fn a_tape_or_a_seed_is_never_releasable() {
        assert!(!NoiseStream::new(stream()).is_releasable());
        let system = || Entropy::system().unwrap().stream(Purpose::Noise, Key::default());
        assert!(NoiseStream::new(system()).is_releasable());
        assert!(!NoiseStream::recording(system()).is_releasable());
        assert!(!NoiseStream::replaying(Tape::default(), system()).is_releasable());
    }
}
