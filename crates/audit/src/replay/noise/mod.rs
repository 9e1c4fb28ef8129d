//! What noise a run drew, where its calls declare it: tests of the residuals, output − input, of the run that was recorded.
//!
//! [`examine`] asks four questions: is noise missing, is it too small, did it come up before, does it know other noise. Every
//! test has a chance, from above, that noise as declared or more of it would look as bad. The significance is divided among
//! the questions and then among their tests; how many there are follows from the calls and their lengths, never from what
//! was drawn. On the replayed run outputs are given, so nothing is drawn there and nothing is tested.
//!
//! # Promise  Where all noise is independent and as declared, or larger, a fault is found with chance at most the significance
//! # Assumes  How many calls there are, and how long they are, does not depend on the noise that is drawn

mod fault;
mod law;
mod repeats;
mod residuals;
mod signs;
mod size;

pub use fault::{NoiseFault, NoiseFlaw};
pub use law::{DeclaredNoise, NoiseLaw};

use super::Trace;
use repeats::Coincidence;
use residuals::Residuals;
use veracity_core::Significance;

/// Calls farther apart than this are not compared, but for the first one, which is compared with all.
const LAGS: usize = 64;
/// Fewer numbers cannot show by their signs that two calls go together.
const TELLING: usize = 8;

/// What was looked at, and what was found.
#[derive(Debug, Clone, PartialEq)]
pub struct NoiseReading {
    /// Calls whose noise is declared.
    pub declared: usize,
    /// Calls that may move between datasets and say nothing of their noise.
    pub silent: usize,
    /// How many tests were made.
    pub tests: usize,
    /// The chance of error that they may have together.
    pub significance: f64,
    /// The least of their p-values, each multiplied with what its test has of the significance; at most 1.
    pub p_value: f64,
    /// What is wrong, if anything.
    pub fault: Option<NoiseFault>,
}

/// One test and its outcome.
struct NoiseTest {
    flaw: NoiseFlaw,
    of: Option<(usize, String)>,
    log_chance: f64,
}

/// Tests the noise that a recorded run drew, as far as it is declared.
///
/// # Examples
///
/// A sum whose noise was forgotten:
///
/// ```
/// use veracity_audit::replay::{DeclaredNoise, NoiseLaw, Norm, Trace, TraceCall, examine};
/// use veracity_core::Significance;
///
/// let noise = DeclaredNoise::new(NoiseLaw::Laplace, 2.0, None)?;
/// let call = TraceCall::new("sum", Norm::L1, 1.0, vec![40.0], vec![40.0])?.with_noise(noise)?;
/// let reading = examine(&Trace::new(vec![call]), Significance::new(0.01)?);
/// let fault = reading.fault.expect("Laplace noise is not nothing");
/// assert!(fault.to_string().starts_with("sum (call 0) adds no noise"));
/// # Ok::<(), veracity_core::Refusal>(())
/// ```
pub fn examine(run: &Trace, significance: Significance) -> NoiseReading {
    let calls = run.calls();
    let declared = calls.iter().filter(|call| call.noise.is_some()).count();
    let silent = calls.iter().filter(|call| call.noise.is_none() && call.sensitivity > 0.0).count();
    let level = significance.spend();
    let noisy: Vec<Residuals<'_>> =
        calls.iter().enumerate().filter_map(|(at, call)| Residuals::of(at, call)).collect();
    let families =
        [missing(&noisy), small_in_one(&noisy), small_in_all(&noisy), reused(&noisy), alike(&noisy)];
    let shares = families.iter().filter(|family| !family.is_empty()).count();
    let mut reading = NoiseReading {
        declared,
        silent,
        tests: families.iter().map(Vec::len).sum(),
        significance: level,
        p_value: 1.0,
        fault: None,
    };
    let mut fallen = Vec::new();
    for family in families {
        let divided = (shares * family.len()) as f64;
        let least = family.into_iter().min_by(|a, b| a.log_chance.total_cmp(&b.log_chance));
        let Some(NoiseTest { flaw, of, log_chance }) = least else { continue };
        reading.p_value = reading.p_value.min(log_chance.exp() * divided);
        if log_chance + divided.ln() <= level.ln() {
            fallen.push(NoiseFault { flaw, of, log_chance, level: level / divided });
        }
    }
    reading.fault = worst(fallen);
    reading
}

/// Which of the tests that fell, in the order of the questions, says best what is wrong: the first, since noise that is missing
/// comes up again and again as well. Only where noise is small as a whole some of it is nothing too; then that is the lesser
/// wonder.
fn worst(fallen: Vec<NoiseFault>) -> Option<NoiseFault> {
    let is_small = |fault: &NoiseFault| matches!(fault.flaw, NoiseFlaw::TooSmall { .. });
    let first = fallen.first()?.log_chance;
    let smaller = fallen.iter().position(|fault| is_small(fault) && fault.log_chance < first - 1.0);
    fallen.into_iter().nth(smaller.unwrap_or(0))
}

/// All declared noise at once, where that is more than one call.
fn together<'a, 'b>(noisy: &'b [Residuals<'a>]) -> Option<Vec<&'b Residuals<'a>>> {
    (noisy.len() > 1).then(|| noisy.iter().collect())
}

fn of(call: &Residuals<'_>) -> Option<(usize, String)> {
    Some((call.call, call.place.to_owned()))
}

fn missing(noisy: &[Residuals<'_>]) -> Vec<NoiseTest> {
    let one = |calls: &[&Residuals<'_>], of| {
        let Coincidence { hits, log_chance } = repeats::untouched(calls);
        let numbers = calls.iter().map(|call| call.len() as u64).sum();
        NoiseTest { flaw: NoiseFlaw::Missing { zeros: hits, numbers }, of, log_chance }
    };
    let apart = noisy.iter().map(|call| one(&[call], of(call)));
    apart.chain(together(noisy).map(|calls| one(&calls, None))).collect()
}

fn small(calls: &[&Residuals<'_>], of: Option<(usize, String)>) -> NoiseTest {
    let flaw = NoiseFlaw::TooSmall { part: Residuals::part_of_scale(calls) };
    NoiseTest { flaw, of, log_chance: size::log_chance(calls) }
}

fn small_in_one(noisy: &[Residuals<'_>]) -> Vec<NoiseTest> {
    noisy.iter().map(|call| small(&[call], of(call))).collect()
}

fn small_in_all(noisy: &[Residuals<'_>]) -> Vec<NoiseTest> {
    together(noisy).map(|calls| small(&calls, None)).into_iter().collect()
}

/// Pairs of declared calls that are compared, the earlier first.
fn pairs<'a, 'b>(noisy: &'b [Residuals<'a>]) -> impl Iterator<Item = (&'b Residuals<'a>, &'b Residuals<'a>)> {
    let earlier = |later: usize| (0..later).filter(move |first| *first == 0 || later - first <= LAGS);
    (0..noisy.len()).flat_map(move |later| earlier(later).map(move |first| (&noisy[first], &noisy[later])))
}

fn reused(noisy: &[Residuals<'_>]) -> Vec<NoiseTest> {
    let apart = noisy.iter().filter(|call| call.len() > 1).map(|call| {
        let Coincidence { hits, log_chance } = repeats::within(call);
        NoiseTest { flaw: NoiseFlaw::Repeated { pairs: hits }, of: of(call), log_chance }
    });
    let between = pairs(noisy).map(|(earlier, later)| {
        let (Coincidence { hits, log_chance }, factor) = repeats::between(earlier, later);
        let numbers = earlier.len().min(later.len()) as u64;
        let flaw = NoiseFlaw::Reused { first: earlier.call, hits, numbers, factor };
        NoiseTest { flaw, of: of(later), log_chance }
    });
    apart.chain(between).collect()
}

fn alike(noisy: &[Residuals<'_>]) -> Vec<NoiseTest> {
    let telling = pairs(noisy).filter(|(earlier, later)| earlier.len().min(later.len()) >= TELLING);
    let apart = telling.map(|(earlier, later)| {
        let found = signs::company(&[(earlier, later)]);
        let flaw = NoiseFlaw::Correlated { first: Some(earlier.call), is_alike: found.is_alike };
        NoiseTest { flaw, of: of(later), log_chance: found.log_chance }
    });
    let followers = [0, 1].map(|from| neighbours(noisy, from)).into_iter().filter(|pairs| !pairs.is_empty());
    let pooled = followers.map(|pairs| {
        let found = signs::company(&pairs);
        let flaw = NoiseFlaw::Correlated { first: None, is_alike: found.is_alike };
        NoiseTest { flaw, of: None, log_chance: found.log_chance }
    });
    apart.chain(pooled).collect()
}

/// Calls with the next one of their length, every other pair, so that none is in two.
fn neighbours<'a, 'b>(
    noisy: &'b [Residuals<'a>],
    from: usize,
) -> Vec<(&'b Residuals<'a>, &'b Residuals<'a>)> {
    let mut by_length = std::collections::BTreeMap::<usize, Vec<&Residuals<'_>>>::new();
    for call in noisy {
        by_length.entry(call.len()).or_default().push(call);
    }
    let all = by_length.into_values();
    all.flat_map(|calls| {
        let every_other = calls.get(from..).unwrap_or_default().chunks_exact(2);
        every_other.map(|pair| (pair[0], pair[1])).collect::<Vec<_>>()
    })
    .collect()
}
