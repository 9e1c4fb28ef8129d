//! The exponential mechanism over pairs of places on one line, by exact rejection: two ends whose score is the worse of both.

use super::exponential::{Decay, LEVELS};
use std::ops::Range;
use veracity_noise::{Bits, Ratio, exact};

/// How much each pair of places weighs, known without the data: a sum over classes of places, one within the other.
///
/// A class k has the places of that roundness or more, which are s steps apart. A pair (l, u) of two places of it weighs
/// s² × low(l) × high(u), and a pair of one place with itself s × low × high. So the pairs of every class weigh about as much together.
///
/// # Assumes  Spacings are at most 2^20, `low` and `high` from 900 to 2^14, classes at most 8, places at most 2^20 + 1
pub(crate) trait PairWeights {
    /// The highest class of each place.
    fn classes(&self) -> Vec<u8>;
    /// How many steps the places of a class are apart.
    fn spacing(&self, class: u8) -> u64;
    /// The part of the weight of a lower end.
    fn low(&self, place: usize) -> u64;
    /// The part of the weight of an upper end.
    fn high(&self, place: usize) -> u64;
}

/// A pair of places (l, u) with probability proportional to weight × exp(−max(`lower`[l], `upper`[u])/(`widening` × `multiplier`)).
///
/// Proposals and their levels are those of [`super::choose`]. The level of a pair is that of its worse end. So the pairs up to a level
/// are all pairs of an end up to it with an end up to it: their weight is a product of two sums, and both ends are drawn one by one.
///
/// # Promise    Exact
/// # Assumes    As many lower as upper distances, at least one; distances and `widening` below 2^76
/// # Reference  [McSherryTalwar07], whose base measure is the weights
pub(crate) fn choose_pair(
    (lower, upper): (&[i128], &[i128]),
    weights: &impl PairWeights,
    widening: u128,
    multiplier: Ratio,
    bits: &mut impl Bits,
) -> (usize, usize) {
    let least = |distances: &[i128]| distances.iter().copied().min().unwrap_or(0);
    let best = least(lower).max(least(upper));
    let decay = Decay::new(widening, multiplier);
    // An end that is nearer than the best pair is no better for it.
    let gap = |distance: i128| distance.saturating_sub(best).max(0).unsigned_abs();
    let level = |distance: &i128| decay.level(gap(*distance)) as u8;
    let places = Places {
        low: lower.iter().map(level).collect(),
        high: upper.iter().map(level).collect(),
        class: weights.classes(),
    };
    let masses = places.masses(weights);
    // For each class and level: pairs of two places, and of one with itself.
    let mut total = 0u128;
    let mut ends = Vec::new();
    for (class, mass) in (0..).zip(&masses) {
        for level in 0..=LEVELS {
            for weight in
                [mass.apart(level, weights.spacing(class)), mass.alike(level, weights.spacing(class))]
            {
                total += weight << (LEVELS - level);
                ends.push(total);
            }
        }
    }
    let ranges = [places.near(&places.low), places.near(&places.high)];
    loop {
        let drawn = exact::uniform_below(total, bits);
        let at = ends.partition_point(|end| *end <= drawn);
        let (class, level) = (at / 2 / (LEVELS + 1), at / 2 % (LEVELS + 1));
        let drawing = Drawing {
            places: &places,
            weights,
            mass: &masses[class],
            class: class as u8,
            level,
            ranges: &ranges,
        };
        let (l, u) = if at % 2 == 0 { drawing.apart(bits) } else { drawing.alike(bits) };
        if decay.keeps(gap(lower[l].max(upper[u])), bits) {
            return (l, u);
        }
    }
}

/// What is known of each place: its level as a lower and as an upper end, and its highest class.
struct Places {
    low: Vec<u8>,
    high: Vec<u8>,
    class: Vec<u8>,
}

impl Places {
    /// The weights of every class.
    fn masses(&self, weights: &impl PairWeights) -> Vec<Mass> {
        let classes = self.class.iter().copied().max().unwrap_or(0);
        let mut masses = vec![Mass::default(); usize::from(classes) + 1];
        for (place, ((a, b), class)) in self.low.iter().zip(&self.high).zip(&self.class).enumerate() {
            let (low, high) = (weights.low(place), weights.high(place));
            let mass = &mut masses[usize::from(*class)];
            mass.low[usize::from(*a)] += low;
            mass.high[usize::from(*b)] += high;
            mass.both[usize::from(*a.max(b))] += low * high;
        }
        // A place is in all classes up to its highest.
        for class in (0..masses.len() - 1).rev() {
            let finer = masses[class + 1].clone();
            let mass = &mut masses[class];
            for level in 0..=LEVELS {
                mass.low[level] += finer.low[level];
                mass.high[level] += finer.high[level];
                mass.both[level] += finer.both[level];
            }
        }
        masses
    }

    /// From the first to the last place that is not of the last level.
    fn near(&self, levels: &[u8]) -> Range<usize> {
        let is_near = |level: &u8| usize::from(*level) < LEVELS;
        let first = levels.iter().position(is_near).unwrap_or(0);
        first..levels.iter().rposition(is_near).map_or(first, |last| last + 1)
    }
}

/// How much the places of a class weigh, for each level: as lower ends, as upper ends, and as both at once.
#[derive(Debug, Clone)]
struct Mass {
    low: [u64; LEVELS + 1],
    high: [u64; LEVELS + 1],
    both: [u64; LEVELS + 1],
}

impl Default for Mass {
    fn default() -> Mass {
        let none = [0; LEVELS + 1];
        Mass { low: none, high: none, both: none }
    }
}

impl Mass {
    /// How much the pairs of two places of exactly this level weigh.
    fn apart(&self, level: usize, spacing: u64) -> u128 {
        let upto = |mass: &[u64]| u128::from(mass.iter().sum::<u64>());
        let all = upto(&self.low[..=level]) * upto(&self.high[..=level])
            - upto(&self.low[..level]) * upto(&self.high[..level]);
        u128::from(spacing) * u128::from(spacing) * (all - u128::from(self.both[level]))
    }

    /// How much the pairs of one place with itself weigh, of exactly this level.
    fn alike(&self, level: usize, spacing: u64) -> u128 {
        u128::from(spacing) * u128::from(self.both[level])
    }
}

/// One proposal, of a class and a level.
struct Drawing<'a, W> {
    places: &'a Places,
    weights: &'a W,
    mass: &'a Mass,
    class: u8,
    level: usize,
    /// Where places are that are not of the last level.
    ranges: &'a [Range<usize>; 2],
}

impl<W: PairWeights> Drawing<'_, W> {
    /// Two places, of which the farther has this level.
    ///
    /// On average over the levels that are drawn, it takes 40 tries or fewer. A try may give a pair of a lower level, and these weigh at
    /// most twice as much as all pairs together with their proposals. Or it gives one place twice. Then the places l and u of a pair of
    /// this level make another such pair with that place, which weighs at least an 18th as much.
    fn apart(&self, bits: &mut impl Bits) -> (usize, usize) {
        let Places { low, high, .. } = self.places;
        loop {
            let l = self.draw((0, &self.mass.low), |place| low[place], |place| self.weights.low(place), bits);
            let u =
                self.draw((1, &self.mass.high), |place| high[place], |place| self.weights.high(place), bits);
            if l != u && usize::from(low[l].max(high[u])) == self.level {
                return (l, u);
            }
        }
    }

    /// One place as both ends.
    fn alike(&self, bits: &mut impl Bits) -> (usize, usize) {
        let level = |place: usize| self.places.low[place].max(self.places.high[place]);
        let weight = |place: usize| self.weights.low(place) * self.weights.high(place);
        let exactly: [u64; LEVELS + 1] =
            std::array::from_fn(|at| if at == self.level { self.mass.both[at] } else { 0 });
        // The last level stands for those that are not drawn.
        let other = (LEVELS + 1) as u8;
        let level = |place: usize| if usize::from(level(place)) == self.level { level(place) } else { other };
        let place = self.draw((0, &exactly), level, weight, bits);
        (place, place)
    }

    /// A place of the class by its weight, among those up to the level.
    fn draw(
        &self,
        (side, mass): (usize, &[u64; LEVELS + 1]),
        level: impl Fn(usize) -> u8,
        weight: impl Fn(usize) -> u64,
        bits: &mut impl Bits,
    ) -> usize {
        let all: u64 = mass[..=self.level].iter().sum();
        // Below a sum of u64, so the cast is exact.
        let mut left = exact::uniform_below(u128::from(all), bits) as u64;
        let range = if self.level < LEVELS { self.ranges[side].clone() } else { 0..self.places.class.len() };
        let is_in = |place: &usize| {
            usize::from(level(*place)) <= self.level && self.places.class[*place] >= self.class
        };
        for place in range.filter(is_in) {
            match left.checked_sub(weight(place)) {
                Some(rest) => left = rest,
                None => return place,
            }
        }
        unreachable!("the weights of all places up to a level are its mass")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use veracity_noise::{Entropy, Key, Purpose};
    use veracity_testkit::chi_squared::goodness_of_fit;

    /// Every fifth place is round, and lower ends weigh less the farther they are.
    struct Few(usize);

    impl PairWeights for Few {
        fn classes(&self) -> Vec<u8> {
            (0..self.0).map(|place| u8::from(place % 5 == 0)).collect()
        }
        fn spacing(&self, class: u8) -> u64 {
            [1, 5][usize::from(class)]
        }
        fn low(&self, place: usize) -> u64 {
            1000 / (place as u64 + 1)
        }
        fn high(&self, place: usize) -> u64 {
            self.low(self.0 - 1 - place)
        }
    }

    /// By the formula, pair by pair and class by class.
    fn distribution(lower: &[i128], upper: &[i128], weights: &Few, scale: f64) -> Vec<f64> {
        let n = lower.len();
        let pair = |at: usize| {
            let (l, u) = (at / n, at % n);
            let of = weights.classes();
            let all = (0..=1).filter(|class| of[l] >= *class && of[u] >= *class);
            let spacing = |class: u8| weights.spacing(class) as f64;
            let spaced: f64 =
                all.map(|class| if l == u { spacing(class) } else { spacing(class).powi(2) }).sum();
            let decay = (-(lower[l].max(upper[u]) as f64) / scale).exp();
            spaced * weights.low(l) as f64 * weights.high(u) as f64 * decay
        };
        let all: Vec<f64> = (0..n * n).map(pair).collect();
        let whole: f64 = all.iter().sum();
        all.iter().map(|weight| weight / whole).collect()
    }

    /// 30,000 pairs each, seed 3, level 1e-6 each: distances of all levels, one place that is better than all others, ties, and distances
    /// that start far from 0. Control: the distribution at a scale that is half as large again is refuted, where there is more than one distance.
    #[test]
    fn pairs_follow_their_exact_distribution() {
        let flat = [7i128; 11];
        let ramp: Vec<i128> = (0..11).map(|i| (i128::from(i) - 4).abs() * 3).collect();
        let other: Vec<i128> = (0..11).map(|i| (i128::from(i) - 7).abs() * 2 + 5).collect();
        let spike: Vec<i128> = (0..11).map(|i| if i == 5 { 0 } else { 60 }).collect();
        let cliff: Vec<i128> = (0..11).map(|i| if i < 3 { 0 } else { 100_000 }).collect();
        let cases: [(&[i128], &[i128]); 6] = [
            (&flat, &flat),
            (&ramp, &other),
            (&ramp, &ramp),
            (&spike, &spike),
            (&spike, &ramp),
            (&cliff, &other),
        ];
        let multiplier = Ratio::at_least(2.5).unwrap();
        for (at, (lower, upper)) in cases.into_iter().enumerate() {
            let weights = Few(11);
            let mut bits =
                Entropy::seeded(3).stream(Purpose::Noise, Key { run: at as u64, ..Key::default() });
            let mut counts = vec![0u64; 121];
            for _ in 0..30_000 {
                let (l, u) = choose_pair((lower, upper), &weights, 4, multiplier, &mut bits);
                counts[l * 11 + u] += 1;
            }
            let fit = |scale: f64| {
                goodness_of_fit(&counts, &distribution(lower, upper, &weights, scale), 25.0).p_value
            };
            assert!(fit(10.0) > 1e-6, "{at}: {}", fit(10.0));
            assert!(at == 0 || fit(15.0) < 1e-6, "{at}: the test is blind");
        }
    }
}
