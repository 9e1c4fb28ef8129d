//! From a question to the truth: every world goes down the first road that takes it, and the worst is the answer.

use super::double_double::Dd;
use super::law::{Use, World};
use super::truth::Truth;
use super::worlds::worlds;
use super::{contour, enumeration, jumps, laplace_series, once};
use veracity_core::{Adjacency, Mechanism};

/// The privacy profile of a question as far as this kit knows it.
pub struct Roads {
    worlds: Vec<World>,
    patience: f64,
}

/// Products of nodes and points that one truth may take: about a tenth of a second.
pub const PATIENCE: f64 = 1.2e6;

impl Roads {
    /// The roads of a question, where its worst pairs are known.
    pub fn of(mechanism: &Mechanism, adjacency: Adjacency) -> Option<Roads> {
        let mut all: Vec<World> = Vec::new();
        for world in worlds(mechanism, adjacency)? {
            if !all.contains(&world) {
                all.push(world);
            }
        }
        Some(Roads { worlds: all, patience: PATIENCE })
    }

    /// The same with another patience.
    pub fn patient(self, patience: f64) -> Roads {
        Roads { patience, ..self }
    }

    /// δ(ε) to at least eight digits; none where no road that can be afforded is as good as that.
    pub fn delta_at(&self, epsilon: f64) -> Option<Truth> {
        Some(self.held(epsilon)).filter(Truth::is_sharp)
    }

    /// Each world with its truth as the roads give it, to be held against other tools.
    pub fn each(&self, epsilon: f64) -> Vec<(&World, Option<Truth>)> {
        self.worlds.iter().map(|world| (world, delta_of(world, epsilon, self.patience))).collect()
    }

    /// δ(ε) within its interval, however wide: a world without a road lies between its floor and its ceiling.
    pub fn held(&self, epsilon: f64) -> Truth {
        let mut worst = Truth::NOTHING;
        for world in &self.worlds {
            let truth = delta_of(world, epsilon, self.patience);
            worst = worst.worse(truth.unwrap_or_else(|| around(world, epsilon)));
        }
        worst
    }

    /// The sum of the largest losses, over the worst world; infinite where there is none.
    pub fn largest(&self) -> Dd {
        self.worlds.iter().fold(Dd::ZERO, |most, world| most.max(world.largest()))
    }
}

/// Bounds on δ(ε) of one world that are always at hand: the uses of one part only, once; and Chernoff at the best abscissa,
/// from floats, with a margin.
fn around(world: &World, epsilon: f64) -> Truth {
    let once = world.uses.iter().filter_map(|(law, _)| once::once(law, Dd::new(epsilon)));
    let floor = once.fold(Truth::NOTHING, Truth::worse);
    let chernoff = contour::chernoff(world, epsilon).map_or(Dd::ZERO, Dd::new);
    let ceiling = Truth { log_low: Dd::NEG_INFINITY, log_high: chernoff.min(Dd::ZERO) };
    Truth { log_low: floor.log_low, ..ceiling.with_failure(world.log_survive) }
}

/// δ(ε) of one world.
fn delta_of(world: &World, epsilon: f64, patience: f64) -> Option<Truth> {
    let at = Dd::new(epsilon);
    let largest = world.largest();
    if at > largest + largest.abs() * Dd::new(1e-29) {
        return Some(Truth::NOTHING.with_failure(world.log_survive));
    }
    finite(world, at, patience).map(|truth| truth.with_failure(world.log_survive))
}

fn finite(world: &World, epsilon: Dd, patience: f64) -> Option<Truth> {
    let square = |once: &Use| if let Use::Gaussian { mu } = once { Some(*mu * *mu) } else { None };
    let squares: Option<Vec<Dd>> =
        world.uses.iter().map(|(once, times)| Some(square(once)? * Dd::whole(*times))).collect();
    if let Some(squares) = squares {
        let mu = squares.into_iter().fold(Dd::ZERO, |sum, part| sum + part).sqrt();
        return Some(once::gaussian(mu, epsilon));
    }
    if let [(law, 1)] = world.uses.as_slice()
        && let Some(truth) = once::once(law, epsilon)
    {
        return Some(truth);
    }
    if let [(Use::Laplace { shift }, times)] = world.uses.as_slice()
        && let Some(truth) = laplace_series::repeated(*shift, *times, epsilon)
    {
        return Some(truth);
    }
    enumeration::enumerated(world, epsilon)
        .or_else(|| jumps::apart(world, epsilon.hi, patience))
        .or_else(|| contour::along(world, epsilon.hi, patience))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::golden::{self, Golden};
    use veracity_core::{Count, NoiseMultiplier, SamplingRate};

    /// How many rows have a road; each must meet its golden number.
    fn met(rows: Vec<Golden>, every: usize) -> (usize, usize) {
        let all = rows.len().div_ceil(every);
        let mut seen = 0;
        for golden in rows.into_iter().step_by(every) {
            let Some(roads) = Roads::of(&golden.mechanism, golden.adjacency) else { continue };
            // The golden ε is right to half its last place: δ must cross the δ asked between its neighbours.
            let slack = 2e-15 * golden.epsilon + 1e-15;
            let (Some(before), Some(after)) =
                (roads.delta_at(golden.epsilon - slack), roads.delta_at(golden.epsilon + slack))
            else {
                continue;
            };
            let delta = golden.delta.get();
            assert!(!before.is_below(delta), "{}: {}", golden.row, before.describe());
            assert!(!after.is_above(delta), "{}: {}", golden.row, after.describe());
            seen += 1;
        }
        (seen, all)
    }

    #[test]
    fn the_roads_meet_the_golden_rows() {
        for (name, rows, every, least) in [
            ("dp-sgd", golden::dp_sgd(), 16, 6),
            ("few steps", golden::few_steps(), 60, 1),
            ("replace-one", golden::replace_one(), 9, 4),
            ("laplace", golden::laplace(), 6, 4),
            ("lattice", golden::lattice(), 8, 8),
            ("mixtures", golden::mixtures(), 6, 2),
        ] {
            let (seen, all) = met(rows, every);
            assert!(seen >= least, "{name}: {seen} of {all}");
        }
    }

    /// Forty jumps of nearly one size: their transform comes back up long after it first died away, and a sum that ended
    /// there was off by 3e-6.
    ///
    /// # mpmath 1.3: the contour sum to far beyond the last return
    #[test]
    fn jumps_of_one_size_do_not_end_the_sum() {
        let rate = SamplingRate::new(3.1987506304331642e-6).expect("a rate");
        let noise = NoiseMultiplier::new(0.06853147398289065).expect("a noise multiplier");
        let mechanism = Mechanism::sampled_gaussian(rate, noise, Count::new(1648).expect("a count"));
        let roads = Roads::of(&mechanism, Adjacency::AddRemove).expect("worlds");
        let (truth, golden) = (roads.held(4517.45549329643), Truth::of_decimal("6.51295997741877e-156"));
        assert!(truth.is_rough(), "{}", truth.describe());
        let slack = Dd::new(1e-14);
        assert!(truth.log_low <= golden.log_high + slack, "{}", truth.describe());
        assert!(truth.log_high >= golden.log_low - slack, "{}", truth.describe());
    }

    /// Two mild steps: far up the line the nodes turn as one again, long after the transform has died away.
    ///
    /// # mpmath 1.3: the closed form of one step integrated over the loss of the other, at 30 digits
    #[test]
    fn nodes_that_turn_as_one_are_not_taken_for_the_transform() {
        let rate = SamplingRate::new(0.1455239992985351).expect("a rate");
        let noise = NoiseMultiplier::new(18.80444139038595).expect("a noise multiplier");
        let mechanism = Mechanism::sampled_gaussian(rate, noise, Count::new(2).expect("a count"));
        let roads = Roads::of(&mechanism, Adjacency::AddRemove).expect("worlds");
        let (truth, golden) =
            (roads.held(7.649351862850724e-3), Truth::of_decimal("1.61154693712161802855779577172e-3"));
        assert!(truth.is_sharp(), "{}", truth.describe());
        let slack = Dd::new(1e-12);
        assert!(truth.log_low <= golden.log_high + slack, "{}", truth.describe());
        assert!(truth.log_high >= golden.log_low - slack, "{}", truth.describe());
    }
}
