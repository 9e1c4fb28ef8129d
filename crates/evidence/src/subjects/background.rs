//! What the records contribute to a parameter, as an attacker who knows them has it from trainings of their own.
//!
//! A few pilots are trained side by side, without canaries and on streams that no trial draws from. What their sums have in
//! common at a step is what to expect of the records there; how far they lie apart stays unknown, beside the noise.

use veracity_core::Refusal;
use veracity_noise::Entropy;
use veracity_train::{Dataset, Draws, Plan, Run, World};

/// Trainings that tell what to expect of the records.
const PILOTS: u64 = 8;
/// Steps that show which parameters the records leave alone.
const SCOUTED: u64 = 10;
/// The most numbers that are kept for each parameter; steps beyond share them with their neighbours.
const STRETCHES: u64 = 1024;
/// The runs whose streams pilots draw from. Trials are of run 0.
const SCOUTING: u64 = 1;
const LISTENING: u64 = 2;

/// The sums of some parameters without canaries and without noise.
#[derive(Debug)]
pub(super) struct Background {
    parameters: Vec<u32>,
    steps: u64,
    /// For each stretch of steps, what to expect at each parameter.
    centres: Vec<f64>,
    /// For each parameter, how far from it a training of one's own is, as a variance.
    variances: Vec<f64>,
}

impl Background {
    /// Of the `count` parameters, of all, at which pilots differ least; `planted` places of the records are blank.
    ///
    /// # Promise  None of the draws of a trial is looked at: whatever is chosen and expected here makes an audit stronger or
    /// weaker, never wrong
    pub(super) fn quietest(
        plan: &Plan,
        data: &Dataset,
        entropy: &Entropy,
        planted: usize,
        count: usize,
    ) -> Result<Background, Refusal> {
        let mut parameters: Vec<u32> = (0..plan.network.parameters() as u32).collect();
        if count == 0 || count > parameters.len() {
            return Err(Refusal::out_of_range("canaries", count, "1 to the number of parameters"));
        }
        let blanks = vec![None; planted];
        let world = World::from(data).crafting(&blanks);
        let steps = plan.steps.get();
        let early =
            Background::listen(plan, world, entropy, SCOUTING, steps.min(SCOUTED), parameters.clone())?;
        parameters.sort_by(|a, b| early.variances[*a as usize].total_cmp(&early.variances[*b as usize]));
        parameters.truncate(count);
        Background::listen(plan, world, entropy, LISTENING, steps, parameters)
    }

    /// Trains pilots for so many steps and listens to some parameters.
    fn listen(
        plan: &Plan,
        world: World<'_>,
        entropy: &Entropy,
        run: u64,
        steps: u64,
        parameters: Vec<u32>,
    ) -> Result<Background, Refusal> {
        let begin = |trial| Run::new(plan, world, Draws { entropy, run, trial })?.listening();
        let mut pilots = (0..PILOTS).map(begin).collect::<Result<Vec<Run<'_>>, Refusal>>()?;
        let width = parameters.len();
        let mut heard = Background {
            parameters,
            steps,
            centres: vec![0.0; steps.min(STRETCHES) as usize * width],
            variances: vec![0.0; width],
        };
        let mut shared = vec![0.0; steps.min(STRETCHES) as usize];
        (0..steps).for_each(|step| shared[heard.stretch(step)] += 1.0);
        for step in 0..steps {
            pilots.iter_mut().try_for_each(|pilot| pilot.step().map(|_| ()))?;
            let sums: Vec<&[f32]> = pilots.iter().filter_map(Run::last_sum).collect();
            let stretch = heard.stretch(step);
            let centres = &mut heard.centres[stretch * width..][..width];
            for (at, parameter) in heard.parameters.iter().enumerate() {
                let (mean, variance) = moments(&sums, *parameter as usize);
                centres[at] += mean / shared[stretch];
                // The mean of so few is itself off.
                heard.variances[at] += variance * (1.0 + 1.0 / PILOTS as f64) / steps as f64;
            }
        }
        Ok(heard)
    }

    fn stretch(&self, step: u64) -> usize {
        let stretches = self.steps.min(STRETCHES);
        (u128::from(step.min(self.steps - 1)) * u128::from(stretches) / u128::from(self.steps)) as usize
    }

    /// The parameters, those first at which pilots differed least.
    pub(super) fn parameters(&self) -> &[u32] {
        &self.parameters
    }

    /// What lies beyond expectation in the sum of a step, and the variance of what the records make of that; for each parameter.
    pub(super) fn beyond<'a>(&'a self, step: u64, sum: &'a [f32]) -> impl Iterator<Item = (f64, f64)> + 'a {
        let width = self.parameters.len();
        let centres = &self.centres[self.stretch(step) * width..][..width];
        let known = centres.iter().zip(&self.variances);
        self.parameters
            .iter()
            .zip(known)
            .map(|(at, (centre, variance))| (f64::from(sum[*at as usize]) - centre, *variance))
    }
}

/// The mean and the variance of one parameter's sums.
fn moments(sums: &[&[f32]], parameter: usize) -> (f64, f64) {
    let count = sums.len() as f64;
    let values = || sums.iter().map(|sum| f64::from(sum[parameter]));
    let mean = values().sum::<f64>() / count;
    (mean, values().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0))
}
