//! Training replayed on neighbours of its records: some left out, some replaced, some added, two of them extreme.

use super::{DeclaredNoise, NoiseLaw, NoiseReading, Pair, Replays, Trace, TraceCall, compare, examine};
use veracity_core::{Adjacency, Count, Error, Refusal, Significance};
use veracity_noise::Entropy;
use veracity_train::{Clipping, Dataset, Draws, Labels, Plan, Privacy, Run, World, replay::RecordedRun};
use veracity_training::{Protection, TrainingPlan};

/// The most steps that are replayed.
pub const MOST_STEPS: u64 = 30;
/// Parameters times steps that a tape may hold.
const MOST_NUMBERS: u64 = 1 << 22;
/// Records that are looked at, at most, until so many of them were seen to move a sum.
const LOOKED_AT: usize = 24;
const SEEN: usize = 3;

/// Replays the first steps of a plan under every adjacency that it has a theorem for, and tests the noise of each recorded run.
///
/// # Errors
/// A plan that cannot be prepared, or one without steps.
pub fn training(plan: &TrainingPlan, seed: u64, significance: Significance) -> Result<Replays, Error> {
    if plan.is_convex() {
        return Err(Error::invalid("a convex model is not trained in steps, so it cannot be replayed"));
    }
    let (data, entropy) = (plan.records()?, Entropy::seeded(seed));
    let prepared = plan.prepare(&data, Protection::Private)?;
    // What is learnt of the records beforehand is taken as said: the steps after it are what is replayed.
    let data = prepared.learn(data, &entropy)?.data;
    let mut plan = prepared.plan;
    let (planned, parameters) = (plan.steps.get(), plan.network.parameters() as u64);
    plan.steps = Count::new(planned.min(MOST_STEPS).min((MOST_NUMBERS / parameters).max(1)))?;
    let what = format!("the first {} of {planned} steps on {} records", plan.steps.get(), data.len());
    let (mut pairs, mut noise) = (Vec::new(), Vec::new());
    let valid = |adjacency: &Adjacency| plan.mechanism(*adjacency).is_ok();
    let adjacencies: Vec<Adjacency> = Adjacency::ALL.into_iter().filter(valid).collect();
    let shares = significance.shares(Count::new(adjacencies.len().max(1) as u64)?);
    for (adjacency, share) in adjacencies.into_iter().zip(shares) {
        let recorder = Recorder::new(&plan, &data, adjacency, &entropy)?;
        recorder.replay_all(&mut pairs)?;
        noise.push(recorder.read_noise(share)?);
    }
    Ok(Replays::new(what, pairs, noise))
}

/// A recorded run, ready to be compared with its neighbours.
struct Recorder<'a> {
    plan: &'a Plan,
    data: &'a Dataset,
    adjacency: Adjacency,
    entropy: &'a Entropy,
    run: RecordedRun,
}

impl<'a> Recorder<'a> {
    fn new(
        plan: &'a Plan,
        data: &'a Dataset,
        adjacency: Adjacency,
        entropy: &'a Entropy,
    ) -> Result<Recorder<'a>, Error> {
        let draws = Draws { entropy, run: 0, trial: 0 };
        let run = RecordedRun::of(Run::new(plan, data, draws)?.recording(adjacency)?)?;
        Ok(Recorder { plan, data, adjacency, entropy, run })
    }

    /// Stops at the first fault.
    fn replay_all(&self, pairs: &mut Vec<Pair>) -> Result<(), Error> {
        let strangers = strangers(self.data)?;
        let mut seen = 0;
        let units = self.data.units();
        for look in 0..LOOKED_AT.min(units) {
            // Positions from end to end: a record that is in no batch shows nothing, so others are tried.
            let position = look * units / LOOKED_AT.min(units);
            for neighbour in self.changed(position, &strangers)? {
                let pair = self.replay(neighbour)?;
                seen += usize::from(pair.replayed.used > 0.0);
                let done = pair.replayed.fault.is_some();
                pairs.push(pair);
                if done {
                    return Ok(());
                }
            }
            if seen >= SEEN {
                break;
            }
        }
        if self.adjacency == Adjacency::AddRemove
            && self.plan.check(World::from(self.data).with(&strangers[0].1)?).is_ok()
        {
            for (name, stranger) in &strangers {
                let world = World::from(self.data).with(stranger)?;
                pairs.push(self.replay((format!("{name} added"), world))?);
            }
        }
        Ok(())
    }

    /// The neighbours that differ at a position.
    fn changed<'b>(
        &'b self,
        position: usize,
        strangers: &'b [(&'static str, Dataset)],
    ) -> Result<Vec<(String, World<'b>)>, Error> {
        let world = World::from(self.data);
        match self.adjacency {
            Adjacency::AddRemove => {
                Ok(vec![(format!("record {position} removed"), world.without(position)?)])
            }
            Adjacency::ZeroOut => Ok(vec![(format!("record {position} blanked"), world.without(position)?)]),
            Adjacency::ReplaceOne => strangers
                .iter()
                .map(|(name, by)| {
                    Ok((format!("record {position} replaced by {name}"), world.replacing(position, by)?))
                })
                .collect(),
        }
    }

    /// The noise of the recorded run, against what the plan promises.
    fn read_noise(&self, significance: Significance) -> Result<NoiseReading, Error> {
        let declared = |call: &TraceCall| declared(self.plan, self.adjacency, call);
        Ok(examine(&Trace::from(&self.run.tape).declaring(declared)?, significance))
    }

    fn replay(&self, (neighbour, world): (String, World<'_>)) -> Result<Pair, Error> {
        let draws = Draws { entropy: self.entropy, run: 0, trial: 0 };
        let again = Run::new(self.plan, world, draws)?.replaying(self.adjacency, self.run.tape.clone())?;
        let replayed = compare(&trace(&self.run), &trace(&RecordedRun::of(again)?))?;
        Ok(Pair { neighbour, replayed })
    }
}

/// Every noise call, and the parameters at the end, which nothing but those calls may move.
fn trace(run: &RecordedRun) -> Trace {
    let parameters = run.parameters.iter().map(|w| f64::from(*w)).collect();
    Trace::from(&run.tape).and(TraceCall::published("parameters", parameters))
}

/// The noise that a sum must have: its multiplier, which the accountant reads, times how far one record moves the sum, in steps
/// of the grid; not what the sampler says of itself. The noise of gradients is larger where a count is paid for out of it.
fn declared(plan: &Plan, adjacency: Adjacency, call: &TraceCall) -> Result<Option<DeclaredNoise>, Refusal> {
    let (law, multiplier) = match (&plan.privacy, call.place()) {
        (Privacy::Gaussian { clipping: Clipping::Adaptive { count_noise, .. }, .. }, "balance") => {
            (NoiseLaw::Gaussian, count_noise)
        }
        (Privacy::Gaussian { noise, .. }, "gradient") => (NoiseLaw::Gaussian, noise),
        (Privacy::Laplace { noise, .. }, "gradient") => (NoiseLaw::DiscreteLaplace, noise),
        _ => return Ok(None),
    };
    let one = call.sensitivity() / f64::from(adjacency.contributions());
    DeclaredNoise::new(law, multiplier.get() * one, Some(1.0)).map(Some)
}

/// Records that are not in the data: an ordinary one with another label, one that is far out, one whose gradient overflows.
fn strangers(data: &Dataset) -> Result<Vec<(&'static str, Dataset)>, Error> {
    let ordinary: Vec<f32> = if data.is_empty() { vec![0.5; data.width()] } else { data.row(0).to_vec() };
    let far = |size: f32| ordinary.iter().map(|x| if *x < 0.0 { -size } else { size }).collect();
    let one = |features: Vec<f32>| {
        let label = match data.labels() {
            Labels::Classes { of, classes } => {
                let class = (of.first().copied().unwrap_or(0) + 1) % *classes as u32;
                Labels::Classes { of: vec![class], classes: *classes }
            }
            Labels::Values(values) => Labels::Values(vec![-values.first().copied().unwrap_or(1.0)]),
        };
        Dataset::new(features, data.width(), label)
    };
    Ok(vec![
        ("an ordinary record with another label", one(ordinary.clone())?),
        ("a record far from the others", one(far(1e3))?),
        ("a record whose gradient is NaN", one(far(3e38))?),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::default_plan;
    use veracity_noise::Call;

    /// The kind of the fault, if there is one, after the outputs of a real training were changed: `change` gets the noises of
    /// all calls.
    fn found(change: impl Fn(&mut Vec<Vec<i128>>)) -> Option<&'static str> {
        let plan = default_plan(&[]).unwrap();
        let (data, entropy) = (plan.records().unwrap(), Entropy::seeded(3));
        let prepared = plan.prepare(&data, Protection::Private).unwrap();
        let data = prepared.learn(data, &entropy).unwrap().data;
        let mut plan = prepared.plan;
        plan.steps = Count::new(6).unwrap();
        let mut recorder = Recorder::new(&plan, &data, Adjacency::AddRemove, &entropy).unwrap();
        let mut noises = recorder.run.noises();
        change(&mut noises);
        for (call, noise) in recorder.run.tape.calls.iter_mut().zip(noises) {
            let Call { input, output, .. } = call;
            *output = input.iter().zip(noise).map(|(hidden, x)| hidden + x).collect();
        }
        let reading = recorder.read_noise(Significance::new(0.01).unwrap()).unwrap();
        assert!(reading.declared >= 6 && reading.silent == 0);
        reading.fault.map(|fault| fault.kind())
    }

    #[test]
    fn a_trainer_that_forgot_its_noise_would_be_refuted() {
        assert_eq!(found(|_| {}), None);
        assert_eq!(found(|noises| noises.iter_mut().for_each(|all| all.fill(0))), Some("noise-missing"));
        assert_eq!(found(|noises| noises[3].fill(0)), Some("noise-missing"));
        let shrink = |noises: &mut Vec<Vec<i128>>| noises.iter_mut().flatten().for_each(|x| *x = *x * 3 / 4);
        assert_eq!(found(shrink), Some("noise-too-small"));
        assert_eq!(found(|noises| noises[4] = noises[0].clone()), Some("noise-reused"));
        assert_eq!(found(|noises| noises[4] = noises[3].iter().map(|x| -x).collect()), Some("noise-reused"));
        // More noise than is accounted is no fault.
        assert_eq!(found(|noises| noises.iter_mut().flatten().for_each(|x| *x *= 3)), None);
    }
}
