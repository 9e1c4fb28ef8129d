//! What is on show: a claim, the specimen that breaks it, and the twin that keeps it.

use veracity_audit::{
    AuditSubject, Failure, Method, World,
    replay::{DeclaredNoise, NoiseLaw, ReplayComparison, Trace, TraceCall, compare},
};
use veracity_core::{Adjacency, Count, Delta, Mechanism, NoiseMultiplier, Refusal};
use veracity_noise::{Call, Distance, Entropy, Key, NoiseStream, Purpose, Stream, Tape};

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
    /// Bug and twin in a form that can be replayed, where they are attacked by runs of their own and have one.
    pub replayed: Option<(Replays, Replays)>,
    /// Where the bug does nothing but leave less noise against what a record moves, and noise is claimed: the part that is left, from
    /// above. A bug that shows at once, or in another way, has none.
    pub noise_left: Option<f64>,
}

impl Exhibit {
    /// A bug that is attacked in one way, and its twin.
    pub(crate) fn new(
        name: &'static str,
        what: &'static str,
        claimed: Mechanism,
        (adjacency, delta): (Adjacency, Delta),
        [specimen, twin]: [Specimen; 2],
    ) -> Exhibit {
        Exhibit { name, what, claimed, adjacency, delta, specimen, twin, replayed: None, noise_left: None }
    }

    /// The same, with so much of its noise left.
    pub(crate) fn leaving(self, part: f64) -> Exhibit {
        Exhibit { noise_left: Some(part), ..self }
    }
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

type PlayFn = dyn Fn(World, u64, &mut NoiseStream) -> Result<Vec<f64>, Refusal> + Send + Sync;

/// Code that can be recorded and replayed on pairs of adjacent datasets.
pub struct Replays {
    /// Runs on one dataset of a pair, by the number of the pair, and returns what it publishes beside its noise calls.
    play: Box<PlayFn>,
    pairs: u64,
    /// The noise that is accounted, over what is declared of each call.
    noise: NoiseMultiplier,
    entropy: Entropy,
}

impl std::fmt::Debug for Replays {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Replays").field("pairs", &self.pairs).finish_non_exhaustive()
    }
}

impl Replays {
    /// Code that is played on up to `pairs` pairs, and declares so much Gaussian noise.
    pub(crate) fn new(
        seed: u64,
        pairs: u64,
        noise: NoiseMultiplier,
        play: impl Fn(World, u64, &mut NoiseStream) -> Result<Vec<f64>, Refusal> + Send + Sync + 'static,
    ) -> Replays {
        Replays { play: Box::new(play), pairs, noise, entropy: Entropy::seeded(seed) }
    }

    /// How many pairs there are.
    pub fn pairs(&self) -> u64 {
        self.pairs
    }

    /// Records on the first dataset of a pair and replays on the second.
    ///
    /// # Errors
    /// Code that fails, or runs that cannot be compared.
    pub fn replay(&self, pair: u64) -> Result<ReplayComparison, Refusal> {
        let (tape, published) = self.recorded(World::Out, pair, pair)?;
        let mut replaying = NoiseStream::replaying(tape.clone(), self.stream(pair));
        let published_again = self.play(World::In, pair, &mut replaying)?;
        let again = replaying.into_tape().unwrap_or_default();
        let trace =
            |tape, published| Trace::from(tape).and(TraceCall::published("what is published", published));
        compare(&trace(&tape, published), &trace(&again, published_again))
    }

    /// The noise calls of a run on the first dataset of a pair, each with the noise that is accounted for it.
    ///
    /// # Errors
    /// Code that fails, or calls whose noise is none.
    pub fn trace(&self, pair: u64) -> Result<Trace, Refusal> {
        let noise = self.noise.get();
        let tape = self.recorded(World::Out, pair, pair)?.0;
        Trace::from(&tape).declaring(|call| {
            DeclaredNoise::new(NoiseLaw::Gaussian, noise * call.sensitivity(), Some(1.0)).map(Some)
        })
    }

    /// Where one run draws from.
    pub(crate) fn stream(&self, trial: u64) -> Stream {
        self.entropy.stream(Purpose::Noise, Key { trial, ..Key::default() })
    }

    /// One run: its noise calls, and what it publishes.
    pub(crate) fn recorded(&self, world: World, pair: u64, trial: u64) -> Result<(Tape, Vec<f64>), Refusal> {
        let mut recording = NoiseStream::recording(self.stream(trial));
        let published = self.play(world, pair, &mut recording)?;
        Ok((recording.into_tape().unwrap_or_default(), published))
    }

    pub(crate) fn play(&self, world: World, pair: u64, rng: &mut NoiseStream) -> Result<Vec<f64>, Refusal> {
        (self.play)(world, pair, rng)
    }

    /// The variance that a call's noise should have, in steps of the grid.
    pub(crate) fn declared_variance(&self, call: &Call) -> f64 {
        let most = match call.declared {
            Distance::L1(most) | Distance::LInf(most) => (most as f64).powi(2),
            Distance::L2Squared(most) => most as f64,
        };
        self.noise.get().powi(2) * most
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
