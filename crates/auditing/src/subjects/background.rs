//! What the records contribute to every parameter, as an attacker who knows them has it from trainings of their own.
//!
//! Pilots are trained side by side, without canaries and on streams that no trial draws from. What their sums have in common at
//! a step is what to expect of the records there. How they differ has few directions, in which the attacker hears the records and
//! not the canaries: what a sum says along those is taken away from it, the more the louder the records are there.

use super::principal::{self, Direction};
use veracity_core::Refusal;
use veracity_noise::Entropy;
use veracity_train::{Dataset, Draws, Plan, Run, World, device::along};

/// Trainings that tell what to expect of the records.
const PILOTS: u64 = 24;
/// Parts of a training whose sums are compared. What is off for long counts for more than what is off at every other step.
const PARTS: u64 = 4;
/// The most numbers that are kept of what pilots have in common, and of how they differ; neighbouring steps share theirs.
const MOST_KEPT: u64 = 1 << 24;
/// The run whose streams pilots draw from. Trials are of run 0.
const RUN: u64 = 1;
/// Directions along which the records are quieter than this beside the noise are left alone.
const QUIET: f64 = 0.02;

/// What to expect of the sums without canaries and without noise, and the parameters at which they tell least.
#[derive(Debug)]
pub(super) struct Background {
    steps: u64,
    stretches: u64,
    /// Along which the records are heard, with the part of it that is theirs.
    directions: Vec<(Direction, f64)>,
    parameters: Vec<u32>,
    quiet: Vec<Place>,
    /// For each of those, what is taken away for one along each direction.
    taken: Vec<f64>,
    /// For each stretch of steps, what to expect at each of those parameters and then along each direction.
    expected: Vec<f32>,
}

/// A parameter that a canary may own.
#[derive(Debug, Clone, Copy)]
struct Place {
    parameter: u32,
    /// Which part of a contribution there is left when directions are taken away.
    left: f64,
    /// The variance of all else that is left, where the contribution itself is made whole.
    variance: f64,
}

impl Background {
    /// The background of a plan with noise of this standard deviation, and the `count` quietest of all parameters; `planted`
    /// places after the records are blank.
    ///
    /// # Promise  None of the draws of a trial is looked at: whatever is chosen and expected here makes an audit stronger or
    /// weaker, never wrong
    pub(super) fn learn(
        plan: &Plan,
        data: &Dataset,
        entropy: &Entropy,
        noise: f64,
        planted: usize,
        count: usize,
    ) -> Result<Background, Refusal> {
        let parameters = plan.network.parameters();
        if count == 0 || count > parameters {
            return Err(Refusal::out_of_range("canaries", count, "1 to the number of parameters"));
        }
        let blanks = vec![None; planted];
        let world = World::from(data).crafting(&blanks);
        let begin = |trial| Run::new(plan, world, Draws { entropy, run: RUN, trial })?.listening();
        let pilots = (0..PILOTS).map(begin).collect::<Result<Vec<Run<'_>>, Refusal>>()?;
        let steps = plan.steps.get();
        let room = (MOST_KEPT / parameters as u64).max(1);
        let mut background = Background {
            steps,
            stretches: steps.min(room),
            directions: Vec::new(),
            parameters: Vec::new(),
            quiet: Vec::new(),
            taken: Vec::new(),
            expected: Vec::new(),
        };
        let parts = steps.min(PARTS).min(room / PILOTS);
        let (centres, apart) = background.listen(pilots, parameters, parts)?;
        background.settle(&apart, parameters, noise, count);
        background.expect(&centres, parameters);
        Ok(background)
    }

    /// Trains pilots to the end: what they have in common in each stretch of steps, and by how much each of them is off in each part
    /// of the steps, as if in one step.
    fn listen(
        &self,
        mut pilots: Vec<Run<'_>>,
        parameters: usize,
        parts: u64,
    ) -> Result<(Vec<f32>, Vec<Vec<f32>>), Refusal> {
        let share =
            |step: u64, of: u64| (u128::from(step) * u128::from(of) / u128::from(self.steps)) as usize;
        let sizes = |of: u64| {
            let mut sizes = vec![0.0f64; of as usize];
            (0..self.steps).filter(|_| of > 0).for_each(|step| sizes[share(step, of)] += 1.0);
            sizes
        };
        let (shared, lasting) = (sizes(self.stretches), sizes(parts));
        let mut centres = vec![0.0f32; self.stretches as usize * parameters];
        let mut apart = vec![vec![0.0f32; parameters]; parts as usize * pilots.len()];
        for step in 0..self.steps {
            pilots.iter_mut().try_for_each(|pilot| pilot.step().map(|_| ()))?;
            let sums: Vec<&[f32]> = pilots.iter().filter_map(Run::last_sum).collect();
            let mut mean = vec![0.0f32; parameters];
            for sum in &sums {
                mean.iter_mut().zip(*sum).for_each(|(mean, x)| *mean += x / sums.len() as f32);
            }
            let stretch = share(step, self.stretches);
            let weight = 1.0 / shared[stretch] as f32;
            let centre = &mut centres[stretch * parameters..][..parameters];
            centre.iter_mut().zip(&mean).for_each(|(centre, mean)| *centre += weight * mean);
            if parts > 0 {
                let part = share(step, parts);
                let weight = lasting[part].sqrt().recip() as f32;
                for (off, sum) in apart[part * sums.len()..].iter_mut().zip(&sums) {
                    let beyond = sum.iter().zip(&mean).map(|(x, mean)| x - mean);
                    off.iter_mut().zip(beyond).for_each(|(off, beyond)| *off += weight * beyond);
                }
            }
        }
        Ok((centres, apart))
    }

    /// Chooses what is taken away, and the parameters that keep most.
    fn settle(&mut self, apart: &[Vec<f32>], parameters: usize, noise: f64, count: usize) {
        let square = noise * noise;
        // The mean of the pilots is of themselves, and off by as much as one of them over their number.
        let degrees = apart.len() as f64 * (PILOTS - 1) as f64 / (PILOTS + 1) as f64;
        let found = principal::directions(apart, degrees, QUIET * square);
        let theirs = |direction: Direction| {
            let part = direction.variance / (direction.variance + square);
            (direction, part)
        };
        self.directions = found.into_iter().map(theirs).collect();
        let mut quiet: Vec<Place> = (0..parameters)
            .map(|at| {
                let total: f64 =
                    apart.iter().map(|off| f64::from(off[at]).powi(2)).sum::<f64>() / degrees.max(1.0);
                let along = |of: fn(&Direction, f64) -> f64| -> f64 {
                    self.directions.iter().map(|(d, part)| of(d, *part) * f64::from(d.unit[at]).powi(2)).sum()
                };
                let left = (1.0 - along(|_, part| part)).max(1e-3);
                let other = (total - along(|direction, _| direction.variance)).max(0.0);
                Place { parameter: at as u32, left, variance: square / left + other }
            })
            .collect();
        quiet.sort_by(|a, b| a.variance.total_cmp(&b.variance));
        quiet.truncate(count);
        let taken = |place: &Place| {
            let at = place.parameter as usize;
            self.directions.iter().map(move |(direction, part)| f64::from(direction.unit[at]) * part)
        };
        self.taken = quiet.iter().flat_map(taken).collect();
        self.parameters = quiet.iter().map(|place| place.parameter).collect();
        self.quiet = quiet;
    }

    /// Reads what to expect as it will be read of every training.
    fn expect(&mut self, centres: &[f32], parameters: usize) {
        let at = |centre: &[f32]| -> Vec<f32> {
            let places = self.parameters.iter().map(|at| centre[*at as usize]);
            places
                .chain(self.directions.iter().map(|(direction, _)| along(&direction.unit, centre)))
                .collect()
        };
        self.expected = centres.chunks_exact(parameters).flat_map(at).collect();
    }

    /// The parameters, the quietest first.
    pub(super) fn parameters(&self) -> &[u32] {
        &self.parameters
    }

    /// The directions along which the records are heard.
    pub(super) fn directions(&self) -> Vec<&[f32]> {
        self.directions.iter().map(|(direction, _)| direction.unit.as_slice()).collect()
    }

    /// How many numbers are read of one step: at the parameters, and along the directions.
    pub(super) fn width(&self) -> usize {
        self.parameters.len() + self.directions.len()
    }

    /// What an attacker on a device knows besides: for each direction what is taken away at each parameter, and for each parameter, with
    /// contributions of this length, what a sum is multiplied with and the inverse of its variance.
    pub(super) fn of_device(&self, clip: f64) -> (Vec<f64>, Vec<(f64, f64)>) {
        let (places, along) = (self.quiet.len(), self.directions.len());
        let taken = (0..along).flat_map(|d| (0..places).map(move |at| self.taken[at * along + d])).collect();
        let place = |place: &Place| (1.0 / (place.left * clip), clip * clip / place.variance);
        (taken, self.quiet.iter().map(place).collect())
    }

    /// What to expect in each stretch of steps, and how many of them there are.
    pub(super) fn expected(&self) -> (&[f32], u64) {
        (&self.expected, self.stretches)
    }

    /// What lies beyond expectation at each of the parameters in what was read of a step, and its variance if no canary is there.
    /// `along` is room for a number for each direction.
    pub(super) fn beyond(
        &self,
        step: u64,
        read: &[f32],
        along: &mut [f64],
    ) -> impl Iterator<Item = (f64, f64)> {
        let stretch = (u128::from(step) * u128::from(self.stretches) / u128::from(self.steps)) as usize;
        let expected = &self.expected[stretch * self.width()..][..self.width()];
        let off = |at: usize| f64::from(read[at]) - f64::from(expected[at]);
        let places = self.quiet.len();
        along.iter_mut().enumerate().for_each(|(at, along)| *along = off(places + at));
        let along = &*along;
        // The directions are orthogonal: each is heard as if it were the only one.
        self.quiet.iter().enumerate().map(move |(at, place)| {
            let theirs = product(&self.taken[at * along.len()..][..along.len()], along);
            ((off(at) - theirs) / place.left, place.variance)
        })
    }
}

/// An inner product of few numbers, in as many sums side by side as processors add at once.
fn product(a: &[f64], b: &[f64]) -> f64 {
    const SIDE: usize = 4;
    let mut sums = [0.0; SIDE];
    let (ours, theirs) = (a.chunks_exact(SIDE), b.chunks_exact(SIDE));
    let rest: f64 = ours.remainder().iter().zip(theirs.remainder()).map(|(x, y)| x * y).sum();
    for (a, b) in ours.zip(theirs) {
        for ((sum, x), y) in sums.iter_mut().zip(a).zip(b) {
            *sum += x * y;
        }
    }
    sums.iter().sum::<f64>() + rest
}
