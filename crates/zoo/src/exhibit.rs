//! What is on show: a claim, the specimen that breaks it, and the twin that keeps it.

use veracity_audit::{
    AuditSubject, Failure, Method, World,
    replay::{Replayed, Trace, TraceCall, compare},
};
use veracity_core::{Adjacency, Count, Delta, Mechanism, Refusal};
use veracity_noise::{Entropy, Key, NoiseStream, Purpose, Stream};

/// A planted bug.
#[derive(Debug)]
pub struct Exhibit {
    /// Its name, in kebab case.
    pub name: &'static str,
    /// What the bug is, in one line.
    pub what: &'static str,
    /// What the code is claimed to do; its ε is what an accountant proves of this.
    pub claimed: Mechanism,
    /// The adjacency that is claimed, and attacked.
    pub adjacency: Adjacency,
    /// The δ of the claim.
    pub delta: Delta,
    /// The code with the bug.
    pub specimen: Specimen,
    /// The same without it.
    pub twin: Specimen,
}

/// What is audited, and how.
#[derive(Debug)]
pub enum Specimen {
    /// It is run in two worlds, and an attacker guesses which.
    Runs(Runs),
    /// It is recorded on a dataset, and replayed on an adjacent one.
    Replays(Replays),
}

/// A subject with the audit that it is meant for.
pub struct Runs {
    /// What is run.
    pub subject: Box<dyn AuditSubject + Send>,
    /// How often.
    pub trials: Count,
    /// What turns the scores into a bound.
    pub method: Method,
}

impl std::fmt::Debug for Runs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Runs")
            .field("trials", &self.trials)
            .field("method", &self.method)
            .finish_non_exhaustive()
    }
}

type Playing = dyn Fn(World, u64, &mut NoiseStream) -> Result<Vec<f64>, Refusal> + Send + Sync;

/// Code that can be recorded and replayed on pairs of adjacent datasets.
pub struct Replays {
    /// Runs on one dataset of a pair, by the number of the pair, and returns what it publishes beside its noise calls.
    play: Box<Playing>,
    pairs: u64,
    entropy: Entropy,
}

impl std::fmt::Debug for Replays {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Replays").field("pairs", &self.pairs).finish_non_exhaustive()
    }
}

impl Replays {
    /// Code that is played on up to `pairs` pairs.
    pub(crate) fn new(
        seed: u64,
        pairs: u64,
        play: impl Fn(World, u64, &mut NoiseStream) -> Result<Vec<f64>, Refusal> + Send + Sync + 'static,
    ) -> Replays {
        Replays { play: Box::new(play), pairs, entropy: Entropy::seeded(seed) }
    }

    /// How many pairs there are.
    pub fn pairs(&self) -> u64 {
        self.pairs
    }

    /// Records on the first dataset of a pair and replays on the second.
    pub fn replay(&self, pair: u64) -> Result<Replayed, Refusal> {
        let stream = || self.entropy.stream(Purpose::Noise, Key { trial: pair, ..Key::default() });
        let mut recording = NoiseStream::recording(stream());
        let published = (self.play)(World::Out, pair, &mut recording)?;
        let tape = recording.into_tape().unwrap_or_default();
        let mut replaying = NoiseStream::replaying(tape.clone(), stream());
        let published_again = (self.play)(World::In, pair, &mut replaying)?;
        let again = replaying.into_tape().unwrap_or_default();
        let trace =
            |tape, published| Trace::from(tape).and(TraceCall::published("what is published", published));
        compare(&trace(&tape, published), &trace(&again, published_again))
    }
}

/// A subject with one canary that is a function of its world and of what it draws.
pub(crate) struct Game<F> {
    entropy: Entropy,
    play: F,
}

/// Where one trial draws from.
pub(crate) struct Trial<'a> {
    entropy: &'a Entropy,
    trial: u64,
}

impl Trial<'_> {
    /// The noise of one release; the same number gives the same noise.
    pub(crate) fn noise(&self, release: u64) -> NoiseStream {
        NoiseStream::new(self.stream(release))
    }

    /// Plain randomness.
    pub(crate) fn stream(&self, release: u64) -> Stream {
        self.entropy.stream(Purpose::Noise, Key { run: release, trial: self.trial, step: 0 })
    }
}

impl<F: Fn(World, &Trial<'_>) -> Result<f64, Refusal> + Send + Sync + 'static> Game<F> {
    /// Runs of `play`, which returns the attacker's score, so many times.
    pub(crate) fn runs(seed: u64, trials: u64, method: Method, play: F) -> Result<Specimen, Refusal> {
        let subject = Box::new(Game { entropy: Entropy::seeded(seed), play });
        Ok(Specimen::Runs(Runs { subject, trials: Count::new(trials)?, method }))
    }
}

impl<F: Fn(World, &Trial<'_>) -> Result<f64, Refusal> + Sync> AuditSubject for Game<F> {
    fn run(&self, trial: u64, worlds: &[World]) -> Result<Vec<f64>, Failure> {
        let trial = Trial { entropy: &self.entropy, trial };
        worlds.iter().map(|world| Ok((self.play)(*world, &trial)?)).collect()
    }
}
