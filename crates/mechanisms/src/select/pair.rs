//! The exponential mechanism over pairs of places on one line, by exact rejection: two ends whose score is the worse of both.

use super::exponential::{Decay, LEVELS};
use veracity_noise::{Bits, Ratio, exact};

/// How much each pair of places weighs, known without the data: a sum over classes of places, one within the other.
///
/// A class k has the places of that roundness or more, which are s steps apart. A pair (l, u) of two places of it weighs
/// s² × low(l) × high(u), and a pair of one place with itself s × low × high. So the pairs of every class weigh about as much together.
///
/// # Assumes  Spacings are at most 10^6, `low` and `high` from 127 to 2^14, classes at most 8, places at most 2^20 + 1
pub(crate) trait PairWeights {
    /// The highest class.
    fn classes(&self) -> u32;
    /// The highest class that has a place.
    fn class(&self, place: usize) -> u32;
    /// How many steps the places of a class are apart.
    fn spacing(&self, class: u32) -> u64;
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
    let levels: Vec<(u8, u8)> = lower
        .iter()
        .zip(upper)
        .map(|(a, b)| (decay.level(gap(*a)) as u8, decay.level(gap(*b)) as u8))
        .collect();
    let highest: Vec<u32> = (0..lower.len()).map(|place| weights.class(place)).collect();
    let class = |class: u32| {
        let members: Vec<usize> = (0..lower.len()).filter(|place| highest[*place] >= class).collect();
        Class::new(u128::from(weights.spacing(class)), &members, &levels, weights)
    };
    let classes: Vec<Class> = (0..=weights.classes()).map(class).collect();
    // For each class and level: pairs of two places, and of one with itself.
    let mut ends = Vec::new();
    let mut total = 0u128;
    for class in &classes {
        for level in 0..=LEVELS {
            for mass in [class.apart(level), class.alike(level)] {
                total += mass << (LEVELS - level);
                ends.push(total);
            }
        }
    }
    loop {
        let drawn = exact::uniform_below(total, bits);
        let at = ends.partition_point(|end| *end <= drawn);
        let (class, level) = (&classes[at / 2 / (LEVELS + 1)], at / 2 % (LEVELS + 1));
        let (l, u) = match at % 2 {
            0 => class.draw_apart(level, &levels, bits),
            _ => class.draw_alike(level, bits),
        };
        if decay.keeps(gap(lower[l].max(upper[u])), bits) {
            return (l, u);
        }
    }
}

/// The places of a class, three times: by the level as lower end, as upper end, and as both at once.
struct Class {
    spacing: u128,
    low: Places,
    high: Places,
    both: Places,
}

impl Class {
    fn new(spacing: u128, members: &[usize], levels: &[(u8, u8)], weights: &impl PairWeights) -> Class {
        let places = |level: &dyn Fn((u8, u8)) -> u8, weight: &dyn Fn(usize) -> u64| {
            Places::new(members.iter().map(|place| (*place, level(levels[*place]), weight(*place))))
        };
        Class {
            spacing,
            low: places(&|(a, _)| a, &|place| weights.low(place)),
            high: places(&|(_, b)| b, &|place| weights.high(place)),
            both: places(&|(a, b)| a.max(b), &|place| weights.low(place) * weights.high(place)),
        }
    }

    /// How much the pairs of two places of exactly this level weigh.
    fn apart(&self, level: usize) -> u128 {
        let product = |level: usize| u128::from(self.low.upto[level]) * u128::from(self.high.upto[level]);
        let all = product(level) - level.checked_sub(1).map_or(0, product);
        self.spacing * self.spacing * (all - u128::from(self.both.at(level)))
    }

    /// How much the pairs of one place with itself weigh, of exactly this level.
    fn alike(&self, level: usize) -> u128 {
        self.spacing * u128::from(self.both.at(level))
    }

    /// Two places, of which the farther has this level.
    ///
    /// On average over the levels that are drawn, it takes 260 tries or fewer. A try may give a pair of a lower level, and these weigh at
    /// most twice as much as all pairs together with their proposals. Or it gives one place twice. Then the places l and u of a pair of
    /// this level make another such pair with that place, which weighs at least a 129th as much.
    fn draw_apart(&self, level: usize, levels: &[(u8, u8)], bits: &mut impl Bits) -> (usize, usize) {
        loop {
            let (l, u) = (self.low.draw(0, level, bits), self.high.draw(0, level, bits));
            if l != u && levels[l].0.max(levels[u].1) as usize == level {
                return (l, u);
            }
        }
    }

    fn draw_alike(&self, level: usize, bits: &mut impl Bits) -> (usize, usize) {
        let before = level.checked_sub(1).map_or(0, |before| self.both.upto[before]);
        let place = self.both.draw(before, level, bits);
        (place, place)
    }
}

/// Places in the order of their levels.
struct Places {
    /// The place, and the weight of all up to it.
    sorted: Vec<(u32, u64)>,
    /// The weight of all places up to a level.
    upto: [u64; LEVELS + 1],
}

impl Places {
    fn new(places: impl Iterator<Item = (usize, u8, u64)> + Clone) -> Places {
        let mut starts = [0usize; LEVELS + 2];
        for (_, level, _) in places.clone() {
            starts[level as usize + 1] += 1;
        }
        for level in 0..=LEVELS {
            starts[level + 1] += starts[level];
        }
        let mut sorted = vec![(0, 0); starts[LEVELS + 1]];
        let mut next = starts;
        for (place, level, weight) in places {
            let at = &mut next[level as usize];
            sorted[*at] = (place as u32, weight);
            *at += 1;
        }
        let mut sum = 0;
        for (_, weight) in &mut sorted {
            sum += *weight;
            *weight = sum;
        }
        let upto = std::array::from_fn(|level| match starts[level + 1] {
            0 => 0,
            end => sorted[end - 1].1,
        });
        Places { sorted, upto }
    }

    /// The weight of all places of exactly this level.
    fn at(&self, level: usize) -> u64 {
        self.upto[level] - level.checked_sub(1).map_or(0, |before| self.upto[before])
    }

    /// A place by its weight, among those after the weight `before` and up to a level.
    fn draw(&self, before: u64, level: usize, bits: &mut impl Bits) -> usize {
        let drawn = u128::from(before) + exact::uniform_below(u128::from(self.upto[level] - before), bits);
        self.sorted[self.sorted.partition_point(|(_, end)| u128::from(*end) <= drawn)].0 as usize
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
        fn classes(&self) -> u32 {
            1
        }
        fn class(&self, place: usize) -> u32 {
            u32::from(place % 5 == 0)
        }
        fn spacing(&self, class: u32) -> u64 {
            [1, 5][class as usize]
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
            let all = (0..=1).filter(|class| weights.class(l) >= *class && weights.class(u) >= *class);
            let spacing = |class: u32| weights.spacing(class) as f64;
            let spaced: f64 =
                all.map(|class| if l == u { spacing(class) } else { spacing(class).powi(2) }).sum();
            let decay = (-(lower[l].max(upper[u]) as f64) / scale).exp();
            spaced * weights.low(l) as f64 * weights.high(u) as f64 * decay
        };
        let all: Vec<f64> = (0..n * n).map(pair).collect();
        let whole: f64 = all.iter().sum();
        all.iter().map(|weight| weight / whole).collect()
    }

    /// 100,000 pairs each, seed 3, level 1e-6 each: distances of all levels, one place that is better than all others, ties, and distances
    /// that start far from 0. Control: the distribution at a scale that is a quarter larger is refuted, where there is more than one distance.
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
            let mut bits = Entropy::seeded(3).stream(Purpose::Noise, Key { run: at as u64, ..Key::default() });
            let mut counts = vec![0u64; 121];
            for _ in 0..100_000 {
                let (l, u) = choose_pair((lower, upper), &weights, 4, multiplier, &mut bits);
                counts[l * 11 + u] += 1;
            }
            let fit = |scale: f64| {
                goodness_of_fit(&counts, &distribution(lower, upper, &weights, scale), 25.0).p_value
            };
            assert!(fit(10.0) > 1e-6, "{at}: {}", fit(10.0));
            assert!(at == 0 || fit(12.5) < 1e-6, "{at}: the test is blind");
        }
    }
}
