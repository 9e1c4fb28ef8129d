//! The least noise with which a plan is within its budget, certified; no data were seen.

use crate::{
    Aggregate, Caps, Plan,
    design::{Design, Drawn},
};
use veracity_account::calibrate;
use veracity_claims::{Answer, Choice, ClaimFile, NoiseNote, PersonsNote, Subject, Target, account};
use veracity_core::{Adjacency, Count, Delta, Epsilon, Mechanism, NoiseMultiplier, Refusal};
use veracity_noise::Noise;
use veracity_query::{NoiseKind, chance_below, half_width};

/// The ε of a query.
const RANGE: std::ops::RangeInclusive<f64> = 1e-9..=1000.0;
/// The part of δ for unknown keys, where there are any.
const FOR_KEYS: f64 = 0.5;
/// The least chance with which a group of one unit may be shown, for each of its groups.
const LEAST_CHANCE: f64 = 1e-24;
/// A share of groups that is next to none.
const SHOWN: f64 = 1e-3;

/// A query that is ready to be asked.
#[derive(Debug, Clone, PartialEq)]
pub struct Prepared {
    /// What is asked.
    pub plan: Plan,
    /// With which noise.
    pub design: Design,
    /// What it does to whose data.
    pub subject: Subject,
    /// What it leaks.
    pub answer: Answer,
    /// From how many units on a group of unknown keys is shown.
    pub threshold: Option<f64>,
    /// The δ with which a group of one unit is shown.
    pub threshold_delta: Delta,
}

impl Plan {
    /// Finds the least noise within a budget; the kind of noise with the smaller error, where none is asked for.
    pub fn prepare(
        self,
        epsilon: Epsilon,
        delta: Delta,
        kind: Option<NoiseKind>,
    ) -> Result<Prepared, Refusal> {
        if !RANGE.contains(&epsilon.get()) {
            return Err(Refusal::out_of_range("epsilon", epsilon, "1e-9 ≤ epsilon ≤ 1000 for a query"));
        }
        let has_unknown = self.keys.iter().any(|key| key.public.is_none());
        if has_unknown && delta.get() == 0.0 {
            return Err(Refusal::invalid(
                "delta is 0 with keys that are not public, expected delta > 0, or keys in the catalog: a rare key tells of its owner",
            ));
        }
        let threshold_delta = Delta::new(if has_unknown { FOR_KEYS * delta.get() } else { 0.0 })?;
        let kinds: &[NoiseKind] = match kind {
            Some(NoiseKind::Gaussian) if delta.get() == 0.0 => {
                return Err(Refusal::out_of_range("delta", 0, "delta > 0 with gaussian noise"));
            }
            Some(NoiseKind::Laplace) => &[NoiseKind::Laplace],
            Some(NoiseKind::Gaussian) => &[NoiseKind::Gaussian],
            None if delta.get() == 0.0 => &[NoiseKind::Laplace],
            None => &[NoiseKind::Laplace, NoiseKind::Gaussian],
        };
        let mut best: Option<Prepared> = None;
        let mut refusal = Refusal::invalid("no noise was tried");
        for kind in kinds {
            match self.prepare_with(epsilon, (delta, threshold_delta), *kind) {
                Ok(found) if best.as_ref().is_none_or(|best| found.spread() < best.spread()) => {
                    best = Some(found)
                }
                Ok(_) => {}
                Err(why) => refusal = why,
            }
        }
        best.ok_or(refusal)
    }

    fn prepare_with(
        &self,
        epsilon: Epsilon,
        (delta, threshold_delta): (Delta, Delta),
        kind: NoiseKind,
    ) -> Result<Prepared, Refusal> {
        let family = |noise: NoiseMultiplier| self.charged(&Design::new(self, kind, noise)?, threshold_delta);
        let real = match kind {
            NoiseKind::Laplace => None,
            NoiseKind::Gaussian => self.near_gaussian(epsilon, (delta, threshold_delta))?,
        };
        let mut tried: Vec<NoiseMultiplier> = Vec::new();
        if let Some(real) = real {
            for more in [1e-6, 1e-5, 1e-4, 1e-3, 1e-2] {
                tried.push(NoiseMultiplier::new(real.get() * (1.0 + more))?);
            }
        }
        for noise in tried {
            if let Some(found) = self.certified((kind, noise), epsilon, (delta, threshold_delta))? {
                return Ok(found);
            }
        }
        let noise = calibrate::least_noise(&family, Adjacency::AddRemove, epsilon, delta)?;
        let found = self.certified((kind, noise), epsilon, (delta, threshold_delta))?;
        found.ok_or_else(|| {
            Refusal::NotCertified(format!(
                "no noise was certified within epsilon {epsilon}, expected a larger epsilon"
            ))
        })
    }

    /// About the noise that is needed, from real numbers in place of integers, which are quick to account for. What comes of it is
    /// certified before it is used.
    fn near_gaussian(
        &self,
        epsilon: Epsilon,
        (delta, threshold_delta): (Delta, Delta),
    ) -> Result<Option<NoiseMultiplier>, Refusal> {
        let probe = Design::new(self, NoiseKind::Gaussian, NoiseMultiplier::new(1.0)?)?;
        let mut calls = 0u64;
        for drawn in &probe.drawn {
            match drawn {
                Drawn::Lanes(lanes) => calls += lanes.len() as u64,
                Drawn::Choice(_) => return Ok(None),
            }
        }
        let calls = Count::new(calls)?.times(self.caps.groups)?;
        let left = Delta::new(delta.get() - threshold_delta.get())?;
        let real = |noise_multiplier| Mechanism::Gaussian { noise_multiplier }.repeated(calls);
        calibrate::noise(&real, Adjacency::AddRemove, epsilon, left).map(Some)
    }

    /// A design, if it was certified to be within ε.
    fn certified(
        &self,
        (kind, noise): (NoiseKind, NoiseMultiplier),
        epsilon: Epsilon,
        (delta, threshold_delta): (Delta, Delta),
    ) -> Result<Option<Prepared>, Refusal> {
        let design = Design::new(self, kind, noise)?;
        let mechanism = self.charged(&design, threshold_delta)?;
        let subject = Subject { mechanism, adjacency: Adjacency::AddRemove, unit: self.unit.clone() };
        let answer = account(&subject, Target::Delta(delta), Choice::Best)?;
        if answer.epsilon.upper().is_none_or(|spent| spent.0 > epsilon) {
            return Ok(None);
        }
        let threshold = self.threshold(&design, threshold_delta)?;
        Ok(Some(Prepared { plan: self.clone(), design, subject, answer, threshold, threshold_delta }))
    }

    /// All that one unit tells: every aggregate, and with a small chance that a key of its own exists.
    fn charged(&self, design: &Design, threshold_delta: Delta) -> Result<Mechanism, Refusal> {
        let mut each: Vec<Mechanism> =
            (0..self.aggregates.len()).map(|at| design.mechanism_of(self, at)).collect::<Result<_, _>>()?;
        if threshold_delta.get() > 0.0 {
            each.push(Mechanism::Approximate { epsilon: Epsilon::new(0.0)?, delta: threshold_delta });
        }
        Ok(if each.len() == 1 { each.remove(0) } else { Mechanism::Composed(each) })
    }

    /// The least number from which on a group is shown, so that one of a single unit is with chance at most δ, over all of its
    /// groups together.
    ///
    /// # Promise    1 + noise reaches it with chance at most δ over the number of groups: P(noise > t) ≤ P(|noise| > t)/2
    /// # Reference  [KorolovaKenthapadiMishraNtoulas09] for thresholds; the law of the noise is symmetric
    fn threshold(&self, design: &Design, delta: Delta) -> Result<Option<f64>, Refusal> {
        if delta.get() == 0.0 {
            return Ok(None);
        }
        let place = self.aggregates.iter().position(|one| *one == Aggregate::Units);
        let Some(Drawn::Lanes(lanes)) = place.map(|place| &design.drawn[place]) else {
            return Err(Refusal::invalid("units are not counted, please report the query"));
        };
        let each = delta.get() / self.caps.groups.as_f64() * (1.0 - 1e-12);
        if each < LEAST_CHANCE {
            return Err(Refusal::out_of_range("delta", delta, "a larger one, or fewer groups of a person"));
        }
        // The units of a group are counted one by one, so that one step is one unit.
        let t = half_width(lanes[0].noise, 2.0 * each);
        Ok(Some(1.0 + t + 1.0))
    }
}

impl Prepared {
    /// About how far the answers are off, to compare two kinds of noise.
    fn spread(&self) -> f64 {
        let one = |drawn: &Drawn| match drawn {
            Drawn::Lanes(lanes) => lanes
                .iter()
                .map(|lane| lane.half_width(0.05) / (lane.step as f64 * lane.sensitivity.as_f64()))
                .sum(),
            Drawn::Choice(_) => self.design.multiplier.get(),
        };
        self.design.drawn.iter().map(one).sum()
    }

    /// What one aggregate tells by itself, at the δ of the whole.
    pub fn cost_of(&self, aggregate: usize) -> Result<Answer, Refusal> {
        let mechanism = self.design.mechanism_of(&self.plan, aggregate)?;
        let subject = Subject { mechanism, ..self.subject.clone() };
        account(&subject, self.answer.target, Choice::Best)
    }

    /// About the error bar of an aggregate of a group with so many rows, spread evenly between the bounds.
    pub fn expected_error(&self, aggregate: usize, rows: u64) -> f64 {
        self.plan.expected_error(&self.design, aggregate, rows)
    }

    /// Of groups of unknown keys, the share that is not shown, by how many units are in a group: 1, 2, 5, 10 and so on until
    /// next to none is left out. Nothing where all keys are public. No data are touched: it is the law of the noise.
    ///
    /// # Promise  Each share is between its two numbers
    pub fn suppressed(&self) -> Vec<(u64, (f64, f64))> {
        let place = self.plan.aggregates.iter().position(|one| *one == Aggregate::Units);
        let drawn = place.map(|place| &self.design.drawn[place]);
        let (Some(threshold), Some(Drawn::Lanes(lanes))) = (self.threshold, drawn) else { return Vec::new() };
        let mut shares = Vec::new();
        for units in (0..15).flat_map(|power| [1, 2, 5].map(|first| first * 10u64.pow(power))) {
            // Shown from the threshold on: n + noise < t, which both are whole but t.
            let share = chance_below(lanes[0].noise, threshold.ceil() as i64 - units as i64);
            shares.push((units, share));
            if share.1 <= SHOWN {
                break;
            }
        }
        shares
    }

    /// The promise in writing.
    pub fn claim(&self) -> Result<ClaimFile, Refusal> {
        let claim = ClaimFile::new(&self.subject, &self.answer)?;
        let column = self.plan.sources[0].unit.join(", ");
        let Caps { groups, rows } = self.plan.caps;
        Ok(claim.with_persons(PersonsNote::in_groups(&column, rows, groups)))
    }

    /// The noise calls, as a claim lists them.
    pub fn notes(&self) -> Vec<NoiseNote> {
        let mut notes = Vec::new();
        for (at, drawn) in self.design.drawn.iter().enumerate() {
            let name = self.name_of(at);
            match drawn {
                Drawn::Lanes(lanes) => notes.extend(lanes.iter().map(|lane| {
                    let (sampler, scale) = match lane.noise {
                        Noise::Laplace { scale } => ("discrete-laplace", scale.as_f64()),
                        Noise::Gaussian { sigma } => ("discrete-gaussian", sigma.as_f64()),
                    };
                    NoiseNote {
                        place: format!("{name}: {}", lane.place),
                        sampler: sampler.to_owned(),
                        granularity: lane.step as f64,
                        sensitivity: lane.sensitivity.into(),
                        scale,
                    }
                })),
                // A choice is in the mechanism as what it is at least, which has no noise call.
                Drawn::Choice(_) => {}
            }
        }
        notes
    }

    /// What the answer calls an aggregate; those that nobody asked for say why they are there.
    pub fn name_of(&self, aggregate: usize) -> String {
        use crate::OutputValue;
        let shown = |output: &&crate::Output| output.value == OutputValue::Aggregate(aggregate);
        self.plan
            .outputs
            .iter()
            .find(shown)
            .map_or("units, for the threshold".to_owned(), |output| output.name.clone())
    }
}
