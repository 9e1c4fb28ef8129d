//! Every mechanism, recorded on one dataset and replayed on an adjacent one: its noise calls must be the same, and what
//! they hide must have moved by no more than declared. Planted bugs must not get away with it.

use veracity_core::{Adjacency, Count, Mechanism, Sensitivity};
use veracity_mechanisms::{
    Bins, Bounds, Column, Design, Draw, ErrorBar, Movement, NoiseKind, Question, Rank, SparseVector,
    Statistic, VectorDesign, exponential, permute_and_flip, report_noisy_max,
};
use veracity_noise::{
    Departure, Distance, Entropy, Family, Noise, NoiseStream, Purpose, Ratio, Stream, exact::uniform_below,
};
use veracity_testkit::short;

type Rows = Vec<Option<f64>>;

/// Draws for the generator, apart from the mechanism's own.
struct Dice(Stream);

impl Dice {
    fn below(&mut self, bound: usize) -> usize {
        uniform_below(bound as u128, &mut self.0) as usize
    }

    fn pick<T: Clone>(&mut self, items: &[T]) -> T {
        items[self.below(items.len())].clone()
    }

    fn unit(&mut self) -> f64 {
        (self.0.word() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// A value that a mechanism might trip over, or a plain one.
    fn value(&mut self, bounds: Bounds) -> Option<f64> {
        let (lower, upper) = (bounds.lower(), bounds.upper());
        let hostile = [
            None,
            Some(f64::NAN),
            Some(-f64::NAN),
            Some(f64::INFINITY),
            Some(f64::NEG_INFINITY),
            Some(-0.0),
            Some(5e-324),
            Some(-2.2e-308),
            Some(1e308),
            Some(-1e308),
            Some(9_007_199_254_740_992.0),
            Some(lower),
            Some(upper),
            Some(lower.next_up()),
            Some(upper.next_down()),
            Some(upper.next_up()),
            Some(lower / 2.0 + upper / 2.0),
        ];
        if self.below(2) == 0 { self.pick(&hostile) } else { Some(lower + (upper - lower) * self.unit()) }
    }

    fn rows(&mut self, bounds: Bounds) -> Rows {
        (0..self.below(8)).map(|_| self.value(bounds)).collect()
    }

    /// An adjacent dataset, in another order.
    fn neighbour(&mut self, rows: &Rows, adjacency: Adjacency, bounds: Bounds) -> Rows {
        let mut other = rows.clone();
        match adjacency {
            Adjacency::AddRemove if rows.is_empty() || self.below(2) == 0 => other.push(self.value(bounds)),
            Adjacency::AddRemove => drop(other.remove(self.below(rows.len()))),
            Adjacency::ReplaceOne | Adjacency::ZeroOut if rows.is_empty() => {}
            Adjacency::ReplaceOne => other[self.below(rows.len())] = self.value(bounds),
            Adjacency::ZeroOut => other[self.below(rows.len())] = None,
        }
        veracity_noise::exact::shuffle(&mut other, &mut self.0);
        other
    }
}

fn quantile(bounds: Bounds, (below, whole): (u32, u32), steps: u32, bar: ErrorBar) -> Statistic {
    Statistic::Quantile { bounds, rank: Rank::new(below, whole).unwrap(), steps, bar }
}

struct Bench {
    dice: Dice,
    streams: Family,
    pairs: u64,
}

impl Bench {
    fn new(seed: u64) -> Bench {
        let entropy = Entropy::seeded(seed);
        Bench {
            dice: Dice(entropy.family(Purpose::Attack, 0, 0).stream(0)),
            streams: entropy.family(Purpose::Noise, 0, 0),
            pairs: 0,
        }
    }

    /// Runs a mechanism on two datasets, the second with the outputs of the first.
    fn departure<D: ?Sized>(
        &mut self,
        one: &D,
        other: &D,
        run: impl Fn(&D, &mut NoiseStream),
    ) -> Option<Departure> {
        self.pairs += 1;
        let mut first = NoiseStream::recording(self.streams.stream(self.pairs));
        run(one, &mut first);
        let script = first.into_tape().unwrap();
        let mut second = NoiseStream::replaying(script.clone(), self.streams.stream(0));
        run(other, &mut second);
        script.departure(&second.into_tape().unwrap())
    }

    fn any_bounds(&mut self) -> Bounds {
        let (lower, upper) = self.dice.pick(&[
            (0.0, 1.0),
            (-1.0, 1.0),
            (-3.0, 1e6),
            (0.1, 0.3),
            (1e9, 1e9 + 1.0),
            (-1e100, 1e100),
            (0.0, 1e-99),
            (1e15, 1e15 + 0.25),
            (-7.5, -7.25),
        ]);
        Bounds::new(lower, upper).unwrap()
    }

    fn any_design(&mut self, bounds: Bounds) -> Design {
        let adjacency = self.dice.pick(&Adjacency::ALL);
        let statistic = self.dice.pick(&[
            Statistic::Count,
            Statistic::Sum(bounds),
            Statistic::Mean(bounds),
            Statistic::Variance(bounds),
            quantile(bounds, (1, 4), 16, ErrorBar::Charged),
            quantile(bounds, (1, 1), 3, ErrorBar::Charged),
            quantile(bounds, (0, 1), 200, ErrorBar::Charged),
            quantile(bounds, (2, 3), 40, ErrorBar::Pair),
            quantile(bounds, (1, 10), 300, ErrorBar::Pair),
            Statistic::Histogram(Bins::Numeric { bounds, bins: 5 }),
        ]);
        let kind = match statistic {
            Statistic::Quantile { .. } => NoiseKind::Laplace,
            _ => self.dice.pick(&[NoiseKind::Laplace, NoiseKind::Gaussian]),
        };
        let multiplier = self.dice.pick(&[1e-4, 0.03, 0.7, 1.0, 3.3, 128.0, 5000.0]);
        Question { statistic, adjacency }.design(kind, short::noise(multiplier)).unwrap()
    }
}

/// 80 000 pairs, seed 1.
#[test]
fn no_statistic_departs_on_adjacent_columns() {
    let mut bench = Bench::new(1);
    for _ in 0..80_000 {
        let bounds = bench.any_bounds();
        let design = bench.any_design(bounds);
        let one = bench.dice.rows(bounds);
        let other = bench.dice.neighbour(&one, design.question().adjacency, bounds);
        let run = |column: &Column, rng: &mut NoiseStream| drop(design.release(column, rng).unwrap());
        let (one, other) = (Column::from(one), Column::from(other));
        assert_eq!(bench.departure(&one, &other, run), None, "{design:?}\n{one:?}\n{other:?}");
    }
}

/// 12 000 pairs, seed 9: columns of ties, where one record moves the ranks of a point at both ends, or at neither. Some
/// pair moves a score by all that is declared, under every adjacency: less would be refuted.
#[test]
fn no_quantile_of_ties_departs_and_no_less_would_do() {
    let mut bench = Bench::new(9);
    let bounds = Bounds::new(0.0, 10.0).unwrap();
    let mut worst = [0u128; 3];
    for round in 0..12_000 {
        let at = round % 3;
        let adjacency = Adjacency::ALL[at];
        let rank = bench.dice.pick(&[(0, 1), (1, 10), (1, 4), (1, 2), (2, 3), (99, 100), (1, 1)]);
        let steps = bench.dice.pick(&[1, 5, 10, 1000]);
        let (bar, choices) =
            bench.dice.pick(&[(ErrorBar::Pair, 1), (ErrorBar::Charged, 2), (ErrorBar::LeftOut, 1)]);
        let design = Question { statistic: quantile(bounds, rank, steps, bar), adjacency }
            .design(NoiseKind::Laplace, short::noise(bench.dice.pick(&[0.01, 0.3, 5.0])))
            .unwrap();
        let few = [Some(0.0), Some(3.0), Some(3.0), Some(7.5), Some(10.0), Some(1e9), None];
        let one: Rows = (0..1 + bench.dice.below(30)).map(|_| bench.dice.pick(&few)).collect();
        let mut other = one.clone();
        let place = bench.dice.below(one.len());
        match adjacency {
            Adjacency::AddRemove => drop(other.remove(place)),
            Adjacency::ReplaceOne => other[place] = bench.dice.pick(&few),
            Adjacency::ZeroOut => other[place] = None,
        }
        let record = |rows: &Rows, mut rng: NoiseStream| {
            design.release(&Column::from(rows.clone()), &mut rng).unwrap();
            rng.into_tape().unwrap()
        };
        let tape = record(&one, NoiseStream::recording(bench.streams.stream(round as u64)));
        let again = record(&other, NoiseStream::replaying(tape.clone(), bench.streams.stream(0)));
        assert_eq!(tape.departure(&again), None, "{design:?}\n{one:?}\n{other:?}");
        assert_eq!(tape.calls.len(), choices);
        for (call, moved) in tape.calls.iter().zip(&again.calls) {
            let Distance::LInf(declared) = call.declared else { panic!("a choice moves in l-infinity") };
            let most = call.input.iter().zip(&moved.input).map(|(a, b)| a.abs_diff(*b)).max().unwrap();
            // In parts of a thousand of what is declared.
            worst[at] = worst[at].max(1000 * most / declared);
        }
    }
    assert_eq!(worst, [1000; 3]);
}

/// What the accountant reads, one noise call after the other: the noise, and one record's sensitivity.
fn read(mechanism: &Mechanism) -> Vec<(f64, u64)> {
    match mechanism {
        Mechanism::DiscreteLaplace { scale, sensitivity } => vec![(scale.get(), sensitivity.get())],
        Mechanism::DiscreteGaussian { sigma, sensitivity } => vec![(sigma.get(), sensitivity.get())],
        Mechanism::Composed(parts) => parts.iter().flat_map(read).collect(),
        // Each bin is one part; adjacency says how many of them a record moves.
        Mechanism::Parallel(parts) => read(&parts[0]),
        Mechanism::Exponential { epsilon } => vec![(epsilon.get(), 0)],
        other => panic!("no statistic is a {}", other.kind()),
    }
}

/// 2 000 designs, seed 7: code and claim cannot drift, since what is declared at the door, what is drawn and what the
/// accountant reads are the same numbers.
#[test]
fn the_accountant_reads_what_is_declared_and_drawn() {
    let mut bench = Bench::new(7);
    for _ in 0..2_000 {
        let bounds = bench.any_bounds();
        let design = bench.any_design(bounds);
        let mut rng = NoiseStream::recording(bench.streams.stream(0));
        let release = design.release(&Column::from(bench.dice.rows(bounds)), &mut rng).unwrap();
        assert_eq!(release.mechanism, design.mechanism());
        let calls = rng.into_tape().unwrap().calls;
        assert_eq!(calls.len(), design.parts().len());
        let mut heard = read(&release.mechanism).into_iter();
        let contributions = u128::from(design.question().adjacency.contributions());
        for (call, part) in calls.iter().zip(design.parts()) {
            let (level, sensitivity) = heard.next().unwrap();
            let noise = match part.draw {
                Draw::Added(noise) => noise,
                Draw::Chosen { epsilon } => {
                    let declared = Distance::LInf(u128::from(part.sensitivity.get()));
                    assert_eq!((call.place, call.declared), (part.place, declared), "{design:?}");
                    assert_eq!(level, epsilon.get(), "{design:?}");
                    continue;
                }
            };
            let moved = contributions * u128::from(sensitivity);
            let (drawn, declared) = match noise {
                Noise::Laplace { scale } => (scale, Distance::L1(moved)),
                Noise::Gaussian { sigma } if call.place == "histogram" => (sigma, Distance::L2Squared(moved)),
                Noise::Gaussian { sigma } => (sigma, Distance::L2Squared(moved * moved)),
            };
            assert_eq!((call.place, call.declared), (part.place, declared), "{design:?}");
            assert_eq!((level, sensitivity), (drawn.as_f64(), part.sensitivity.get()), "{design:?}");
        }
        assert_eq!(heard.next(), None);
    }
}

/// 10 000 pairs, seed 2: texts with strange ones among them.
#[test]
fn no_histogram_of_texts_departs() {
    let mut bench = Bench::new(2);
    let names = ["a", "b", "", "ä"].map(str::to_owned);
    let long = "x".repeat(10_000);
    let pool = [None, Some("a"), Some("b"), Some(""), Some("ä"), Some("A"), Some(&long), Some("\0\u{202e}")];
    let pool = pool.map(|text| text.map(str::to_owned));
    for _ in 0..10_000 {
        let adjacency = bench.dice.pick(&Adjacency::ALL);
        let statistic =
            bench.dice.pick(&[Statistic::Count, Statistic::Histogram(Bins::Categories(names.to_vec()))]);
        let kind = bench.dice.pick(&[NoiseKind::Laplace, NoiseKind::Gaussian]);
        let question = Question { statistic, adjacency };
        let design = question.design(kind, short::noise(2.0)).unwrap();
        let one: Vec<_> = (0..1 + bench.dice.below(5)).map(|_| bench.dice.pick(&pool)).collect();
        let mut other = one.clone();
        let place = bench.dice.below(one.len());
        match adjacency {
            Adjacency::AddRemove => drop(other.remove(place)),
            Adjacency::ReplaceOne => other[place] = bench.dice.pick(&pool),
            Adjacency::ZeroOut => other[place] = None,
        }
        let run = |column: &Column, rng: &mut NoiseStream| drop(design.release(column, rng).unwrap());
        let found = bench.departure(&Column::Texts(one), &Column::Texts(other), run);
        assert_eq!(found, None, "{design:?}");
    }
}

/// 8 000 pairs, seed 3: counts that one record moves by one, in one direction.
#[test]
fn no_choice_departs_on_adjacent_scores() {
    let mut bench = Bench::new(3);
    let epsilon = short::epsilon(0.8);
    for round in 0..8_000 {
        let scores: Vec<i64> = (0..1 + bench.dice.below(6)).map(|_| bench.dice.below(9) as i64).collect();
        let moved: Vec<i64> = scores.iter().map(|score| score + bench.dice.below(2) as i64).collect();
        let (one, together) = (Count::ONE, Movement::Together);
        let found = bench.departure(&scores[..], &moved[..], |scores, rng| match round % 4 {
            0 => drop(exponential(scores, one, together, epsilon, rng).unwrap()),
            1 => drop(permute_and_flip(scores, one, together, epsilon, rng).unwrap()),
            2 => drop(report_noisy_max(scores, one, together, epsilon, rng).unwrap()),
            _ => {
                let hits = short::count(2);
                let mut sparse = SparseVector::new(5, one, together, hits, epsilon, rng).unwrap();
                for score in scores {
                    sparse.ask(*score, rng);
                }
            }
        });
        assert_eq!(found, None, "{scores:?} {moved:?}");
    }
}

/// 6 000 pairs, seed 4: vectors whose coordinates are exact, moved by exactly the contribution.
#[test]
fn no_vector_departs() {
    let mut bench = Bench::new(4);
    for _ in 0..6_000 {
        let kind = bench.dice.pick(&[NoiseKind::Laplace, NoiseKind::Gaussian]);
        let adjacency = bench.dice.pick(&Adjacency::ALL);
        let d = 1 + bench.dice.below(5);
        let contribution = bench.dice.pick(&[1.0, 0.3, 1e-50, 1e80]);
        let design = VectorDesign::new(
            short::count(d as u64),
            kind,
            Sensitivity::new(contribution).unwrap(),
            adjacency,
            short::noise(1.0),
        )
        .unwrap();
        let far = [0.0, 1.0, -17.5, 1e6, f64::INFINITY, 1e300];
        let one: Vec<f64> =
            (0..d).map(|_| bench.dice.pick(&far) * contribution + bench.dice.unit() * contribution).collect();
        // Towards zero, so that rounding does not carry it farther than its step; all of it in one place, or spread.
        let step = contribution * f64::from(adjacency.contributions()) * (1.0 - 1e-9);
        let spread = match kind {
            NoiseKind::Laplace => d as f64,
            NoiseKind::Gaussian => (d as f64).sqrt(),
        };
        let mut other = one.clone();
        if bench.dice.below(2) == 0 {
            other[0] -= step;
        } else {
            other.iter_mut().for_each(|x| *x -= step / spread);
        }
        // Where floats are too coarse for the step, the caller's promise would not hold.
        let exact = one.iter().zip(&other).all(|(a, b)| a == b || a.abs() < 1e8 * contribution);
        if exact {
            let run = |answer: &[f64], rng: &mut NoiseStream| drop(design.release(answer, rng).unwrap());
            assert_eq!(bench.departure(&one[..], &other[..], run), None, "{design:?} {one:?} {other:?}");
        }
    }
}

/// Ties are where rounding is farthest from a shift: with halves to even, 0.5 and 129.5 steps would be 130 apart, though the
/// contribution is 129. Every contribution of 128 to 255 steps, from a tie to a tie, in one coordinate and in several.
#[test]
fn a_move_from_tie_to_tie_is_no_longer_than_declared() {
    let mut bench = Bench::new(8);
    for steps in 128..256u32 {
        for (kind, d) in [(NoiseKind::Laplace, 1), (NoiseKind::Gaussian, 1), (NoiseKind::Laplace, 2)] {
            // The grid is 128 times as fine as the contribution's power of two, for each coordinate.
            let step = 1.0 / f64::from(128 * d);
            let design = VectorDesign::new(
                short::count(u64::from(d)),
                kind,
                Sensitivity::new(f64::from(steps) / 128.0).unwrap(),
                Adjacency::AddRemove,
                short::noise(1.0),
            )
            .unwrap();
            assert_eq!(design.granularity(), step);
            for start in [-300.5, -1.5, -0.5, 0.5, 1.5] {
                // One step in every coordinate but the first, which takes the rest.
                let one = vec![start * step; d as usize];
                let mut other: Vec<f64> = one.iter().map(|x| x + step).collect();
                other[0] = one[0] + f64::from(steps * d - (d - 1)) * step;
                let run = |answer: &[f64], rng: &mut NoiseStream| drop(design.release(answer, rng).unwrap());
                assert_eq!(bench.departure(&one[..], &other[..], run), None, "{steps} steps from {start}");
            }
        }
    }
}

fn noise() -> Noise {
    Noise::Laplace { scale: Ratio::new(1 << 20, 1).unwrap() }
}

/// Values of −1..1 in 2^-20, as an honest mechanism would have them.
fn units(rows: &Rows) -> impl Iterator<Item = i128> {
    let fixed = |x: f64| (x.clamp(-1.0, 1.0) * f64::from(1 << 20)).round_ties_even() as i128;
    rows.iter().flatten().copied().filter(|x| !x.is_nan()).map(fixed)
}

const ONE: u128 = 1 << 20;

fn honest(rows: &Rows, rng: &mut NoiseStream) {
    noise().add("sum", &[units(rows).sum()], Distance::L1(ONE), rng);
}

fn declares_half(rows: &Rows, rng: &mut NoiseStream) {
    noise().add("sum", &[units(rows).sum()], Distance::L1(ONE / 2), rng);
}

fn clamps_one_side_only(rows: &Rows, rng: &mut NoiseStream) {
    let fixed = |x: f64| (x.clamp(-1e6, 1.0) * f64::from(1 << 20)) as i128;
    let sum = rows.iter().flatten().copied().filter(|x| !x.is_nan()).map(fixed).sum();
    noise().add("sum", &[sum], Distance::L1(ONE), rng);
}

fn divides_by_the_real_count(rows: &Rows, rng: &mut NoiseStream) {
    let count = rows.len().max(1);
    let mean = units(rows).sum::<i128>() / count as i128;
    noise().add("mean", &[mean], Distance::L1(ONE / count as u128), rng);
}

fn one_call_per_value(rows: &Rows, rng: &mut NoiseStream) {
    for value in units(rows) {
        noise().add("value", &[value], Distance::L1(ONE), rng);
    }
}

fn skips_empty_data(rows: &Rows, rng: &mut NoiseStream) {
    if !rows.is_empty() {
        honest(rows, rng);
    }
}

fn not_a_number_poisons(rows: &Rows, rng: &mut NoiseStream) {
    if !rows.iter().flatten().any(|x| x.is_nan()) {
        honest(rows, rng);
    }
}

fn bounds_from_the_data(rows: &Rows, rng: &mut NoiseStream) {
    let largest = units(rows).map(i128::unsigned_abs).max().unwrap_or(0);
    noise().add("sum", &[units(rows).sum()], Distance::L1(largest), rng);
}

fn centres_at_the_data(rows: &Rows, rng: &mut NoiseStream) {
    let count = units(rows).count().max(1) as i128;
    let mean = units(rows).sum::<i128>() / count;
    let squares = units(rows).map(|x| (x - mean) * (x - mean)).sum();
    noise().add("squares", &[squares], Distance::L1(ONE * ONE), rng);
}

fn counts_missing_once_more(rows: &Rows, rng: &mut NoiseStream) {
    let missing = rows.iter().filter(|x| x.is_none()).count() as i128;
    noise().add("count", &[units(rows).count() as i128 + 2 * missing], Distance::L1(1), rng);
}

/// 2 000 pairs for each, seed 5, add-remove. The honest one is the twin that must not be caught.
#[test]
fn planted_bugs_are_caught_and_the_honest_twin_is_not() {
    type Plant = fn(&Rows, &mut NoiseStream);
    let caught = |plant: Plant| {
        let mut bench = Bench::new(5);
        (0..2_000).any(|_| {
            let bounds = Bounds::new(-1.0, 1.0).unwrap();
            let one = bench.dice.rows(bounds);
            let other = bench.dice.neighbour(&one, Adjacency::AddRemove, bounds);
            bench.departure(&one, &other, plant).is_some()
        })
    };
    assert!(!caught(honest));
    let plants: [(&str, Plant); 9] = [
        ("half", declares_half),
        ("one side", clamps_one_side_only),
        ("real count", divides_by_the_real_count),
        ("call per value", one_call_per_value),
        ("skips empty", skips_empty_data),
        ("poison", not_a_number_poisons),
        ("data bounds", bounds_from_the_data),
        ("own mean", centres_at_the_data),
        ("missing twice", counts_missing_once_more),
    ];
    for (name, plant) in plants {
        assert!(caught(plant), "{name}");
    }
}

/// A histogram that declares one bin when a record is replaced is caught, seed 6.
#[test]
fn a_replaced_record_moves_two_bins() {
    let mut bench = Bench::new(6);
    let found = (0..100).any(|_| {
        let (one, other) = (bench.dice.below(4), bench.dice.below(4));
        let run = |bin: &usize, rng: &mut NoiseStream| {
            let mut counts = [0; 4];
            counts[*bin] = 1;
            noise().add("histogram", &counts, Distance::L1(1), rng);
        };
        bench.departure(&one, &other, run).is_some()
    });
    assert!(found);
}
