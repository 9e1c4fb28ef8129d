//! A public grid of the numbers a person would write: the two bounds, and the multiples of 1, 2 or 5 times a power of ten
//! between them.
//!
//! Values go to the nearest point, each by itself, before anything is counted. A column of one repeated price then has all
//! of its values on one point, and that point is the price. Rounder points have more weight, known without the data: there
//! are far fewer of them, and they are what values mostly are. An age is then more often answered by a whole number.

use crate::Bounds;
use veracity_core::Refusal;

/// Points from the lower to the upper bound, known by their places 0 to [`Grid::steps`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Grid {
    bounds: Bounds,
    /// The step is `digit` × 10^`power`.
    digit: i64,
    power: i32,
    /// The place 1 is this multiple of the step, unless it is the upper bound.
    first: i64,
    steps: u32,
}

impl Grid {
    /// The most steps: scores of all points are held in memory.
    pub(crate) const MOST: u32 = 1 << 20;
    /// What a point without roundness weighs: then all points weigh less than 1.7 times as much as plain ones where the
    /// step is a power of ten, and less than 2.6 times for any other.
    const PLAIN: u64 = 8;
    /// Steps are at least this part of the larger bound, so that all points are different floats.
    const FINEST: f64 = 1.0 / (1u64 << 50) as f64;

    /// The finest such grid of at most `most` steps.
    ///
    /// # Promise  A decimal number within the bounds that is a multiple of the step is a point, bit for bit
    pub(crate) fn new(bounds: Bounds, most: u32) -> Result<Grid, Refusal> {
        if !(1..=Grid::MOST).contains(&most) {
            return Err(Refusal::out_of_range("steps", most, "1 to 2^20 steps between the bounds"));
        }
        let finest = (bounds.width() / f64::from(most)).max(bounds.magnitude() * Grid::FINEST);
        // At most two decades below a step that is coarse enough; 10^101 is coarser than any bounds.
        let lowest = finest.log10().floor() as i32 - 1;
        let steps = (lowest..=101).flat_map(|power| [1, 2, 5].map(|digit| (digit, power)));
        let grids = steps
            .filter(|(digit, power)| decimal(*digit, *power) >= bounds.magnitude() * Grid::FINEST)
            .map(|(digit, power)| Grid::with_step(bounds, digit, power));
        let fits = |grid: &Option<Grid>| grid.is_some_and(|grid| grid.steps <= most);
        let coarsest = Grid { bounds, digit: 1, power: 101, first: 0, steps: 1 };
        Ok(grids.into_iter().find(fits).flatten().unwrap_or(coarsest))
    }

    /// The grid with this step, unless it has far too many points.
    fn with_step(bounds: Bounds, digit: i64, power: i32) -> Option<Grid> {
        let step = decimal(digit, power);
        if !(bounds.width() / step < 4.0 * f64::from(Grid::MOST)) {
            return None;
        }
        let multiple = |at: i64| decimal(at * digit, power);
        // Quotients are below 2^51, so the floats are off by a step or two at most.
        let mut first = (bounds.lower() / step).floor() as i64;
        while multiple(first) <= bounds.lower() {
            first += 1;
        }
        while multiple(first - 1) > bounds.lower() {
            first -= 1;
        }
        let mut last = (bounds.upper() / step).ceil() as i64;
        while multiple(last) >= bounds.upper() {
            last -= 1;
        }
        while multiple(last + 1) < bounds.upper() {
            last += 1;
        }
        let steps = u32::try_from(last - first + 2).ok()?;
        Some(Grid { bounds, digit, power, first, steps })
    }

    /// The place of the upper bound.
    pub(crate) fn steps(&self) -> u32 {
        self.steps
    }

    /// The largest distance of two points that are next to each other.
    pub(crate) fn step(&self) -> f64 {
        decimal(self.digit, self.power).min(self.bounds.width())
    }

    /// The point at a place: the float that its decimal is read as.
    pub(crate) fn point(&self, place: u32) -> f64 {
        match place {
            0 => self.bounds.lower(),
            place if place >= self.steps => self.bounds.upper(),
            place => decimal((self.first + i64::from(place) - 1) * self.digit, self.power),
        }
    }

    /// The place of the point nearest to a number, halves up. Numbers outside, and infinities, go to a bound.
    ///
    /// # Promise  Monotone; a point goes to itself
    /// # Assumes  `x` is a number
    pub(crate) fn place(&self, x: f64) -> u32 {
        let x = self.bounds.clamp(x);
        let about = (x / decimal(self.digit, self.power)).floor() - self.first as f64 + 1.0;
        // The cast stops at both ends.
        let mut below = (about as u32).min(self.steps);
        while below > 0 && self.point(below) > x {
            below -= 1;
        }
        while below < self.steps && self.point(below + 1) <= x {
            below += 1;
        }
        below + u32::from(below < self.steps && self.is_nearer_above(below, x))
    }

    /// Whether a number between a point and the next is nearer to the next.
    fn is_nearer_above(&self, below: u32, x: f64) -> bool {
        if below == 0 || below + 1 == self.steps {
            return self.point(below + 1) - x <= x - self.point(below);
        }
        // The middle of two multiples is a decimal too, and is compared as one.
        let multiple = self.first + i64::from(below) - 1;
        x >= decimal((2 * multiple + 1) * 5 * self.digit, self.power - 1)
    }

    /// How much a point weighs in a choice: [`Grid::PLAIN`], or for a multiple of 10^k steps' worth of digits 10^k over the
    /// first digit of the step. So the points of every roundness weigh about as much together as the plain ones.
    pub(crate) fn weight(&self, place: u32) -> u64 {
        let multiple = self.first + i64::from(place) - 1;
        let is_end = place == 0 || place >= self.steps;
        if is_end && decimal(multiple * self.digit, self.power) != self.point(place) {
            return Grid::PLAIN;
        }
        let (mut rest, mut level) = (multiple * self.digit, 0);
        while level < self.levels() && rest % 10 == 0 {
            (rest, level) = (rest / 10, level + 1);
        }
        self.weight_at(level)
    }

    /// How round each point is: a multiple of 10^k steps' worth of digits, for the largest k that is told apart. Of a bound it is 0.
    pub(crate) fn roundness(&self) -> Vec<u8> {
        let mut all = vec![0; self.steps as usize + 1];
        for level in 1..=self.levels() {
            let spacing = self.spacing(level);
            // The point at the place p > 0 is this multiple of the step: first + p − 1.
            let from = 1 + (-self.first).rem_euclid(spacing as i64) as usize;
            for round in all.iter_mut().take(self.steps as usize).skip(from).step_by(spacing as usize) {
                *round = level as u8;
            }
        }
        all
    }

    /// How many steps the points of a roundness are apart.
    pub(crate) fn spacing(&self, level: u32) -> u64 {
        (10u64.pow(level) / self.digit as u64).max(1)
    }

    fn weight_at(&self, level: u32) -> u64 {
        // A digit is 1, 2 or 5.
        Grid::PLAIN.max(10u64.pow(level) / self.digit as u64)
    }

    /// How many kinds of roundness are told apart; the last one has ten points or more.
    pub(crate) fn levels(&self) -> u32 {
        self.steps.ilog10().saturating_sub(1)
    }

    /// All weights together over the least of them: so many plain candidates would weigh as much.
    pub(crate) fn candidates(&self) -> f64 {
        let plain = Grid::PLAIN * (u64::from(self.steps) + 1);
        let on_step =
            |place: u32, multiple: i64| decimal(multiple * self.digit, self.power) == self.point(place);
        let last = self.first + i64::from(self.steps) - 2;
        let from = self.first - i64::from(on_step(0, self.first - 1));
        let to = last + i64::from(on_step(self.steps, last + 1));
        let more = (1..=self.levels()).map(|level| {
            // Multiples of the step whose digits end in so many zeros; ten is a multiple of every first digit.
            let every = 10i64.pow(level) / self.digit;
            let count = to.div_euclid(every) - (from - 1).div_euclid(every);
            count as u64 * (self.weight_at(level) - self.weight_at(level - 1))
        });
        (plain + more.sum::<u64>()) as f64 / Grid::PLAIN as f64
    }

    /// How far a value may be from a point if it went to one at most `width` places away.
    ///
    /// # Numerics  Of the decimals that are written, exactly; where they have more than 14 digits, floats are allowed for
    pub(crate) fn reach(&self, width: u32) -> f64 {
        let reach = decimal((2 * i64::from(width) + 1) * 5 * self.digit, self.power - 1);
        let magnitude = self.bounds.magnitude();
        if magnitude > 1e14 * self.step() { reach + 4.0 * f64::EPSILON * magnitude } else { reach }
    }
}

/// The float nearest to `mantissa` × 10^`power`.
///
/// # Numerics  Up to 10^22 a power of ten is an exact float, and so is a mantissa up to 2^53: one rounding
fn decimal(mantissa: i64, power: i32) -> f64 {
    const EXACT: [f64; 23] = [
        1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17,
        1e18, 1e19, 1e20, 1e21, 1e22,
    ];
    let exact = EXACT.get(power.unsigned_abs() as usize).filter(|_| mantissa.unsigned_abs() <= 1 << 53);
    match (power, exact) {
        (0.., Some(scale)) => mantissa as f64 * scale,
        (_, Some(scale)) => mantissa as f64 / scale,
        (_, None) => format!("{mantissa}e{power}").parse().expect("digits, e and an exponent are a number"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid(lower: f64, upper: f64, most: u32) -> Grid {
        Grid::new(Bounds::new(lower, upper).unwrap(), most).unwrap()
    }

    #[test]
    fn steps_are_what_a_person_would_write() {
        for (lower, upper, most, step, steps) in [
            (0.0, 100.0, Grid::MOST, 1e-4, 1_000_000),
            (0.0, 1e6, Grid::MOST, 1.0, 1_000_000),
            (0.0, 4.0, 4, 1.0, 4),
            (0.0, 4.0, 3, 2.0, 2),
            (0.0, 10.0, 1000, 0.01, 1000),
            (0.1, 0.3, 20, 0.01, 20),
            (-3.0, 10.0, 64, 0.5, 26),
            // Between −0.5 and 0.7 by halves: both bounds, and 0 and 0.5 between them.
            (-0.5, 0.7, 3, 0.5, 3),
            (0.0, 1.0, 1, 1.0, 1),
            (-1e100, 1e100, 16, 2e99, 10),
            (0.0, 1e-99, 16, 1e-100, 10),
        ] {
            let found = grid(lower, upper, most);
            assert_eq!((found.step(), found.steps()), (step, steps), "{lower}..{upper}, {most}");
        }
    }

    /// Every decimal of the step between the bounds, as the float it is read as, is a point and goes to itself.
    #[test]
    fn every_written_number_is_a_point() {
        for (lower, upper, most, decimals) in
            [(0.0, 100.0, 10_000, 2), (-40.0, 60.0, 1000, 1), (0.0, 1e6, 1_000_000, 0), (0.1, 0.3, 20_000, 5)]
        {
            let found = grid(lower, upper, most);
            assert!((found.step() * 10f64.powi(decimals) - 1.0).abs() < 1e-12);
            let last = ((upper - lower) / found.step()).round() as i64;
            for i in 0..=last {
                let whole = (lower * 10f64.powi(decimals)).round() as i64 + i;
                let written: f64 = format!("{whole}e-{decimals}").parse().unwrap();
                assert_eq!(found.place(written), i as u32, "{written}");
                assert_eq!(found.point(i as u32), written);
            }
        }
    }

    #[test]
    fn points_rise_and_places_are_nearest_on_strange_bounds() {
        for (lower, upper) in [
            (0.0, 1.0),
            (-3.0, 1e6),
            (0.1, 0.3),
            (1e9, 1e9 + 1.0),
            (-1e100, 1e100),
            (0.0, 1e-99),
            (1e15, 1e15 + 0.25),
            (-7.5, -7.25),
            (1.0 / 3.0, 2.0 / 3.0),
            (-1e-30, 1e30),
        ] {
            let found = grid(lower, upper, 500);
            assert!((1..=500).contains(&found.steps()), "{lower}..{upper}: {}", found.steps());
            let points: Vec<f64> = (0..=found.steps()).map(|place| found.point(place)).collect();
            assert!(points.is_sorted_by(|a, b| a < b), "{lower}..{upper}");
            assert_eq!((points[0], points[points.len() - 1]), (lower, upper));
            let mut before = 0;
            for i in 0..=2000 {
                let x = lower + (upper - lower) * (f64::from(i) / 2000.0);
                let place = found.place(x);
                assert!(place >= before, "not monotone");
                before = place;
                let nearest = points.iter().map(|p| (p - x).abs()).fold(f64::INFINITY, f64::min);
                // Where two are as near, in decimals, either may be nearer by a rounding.
                let off = (points[place as usize] - x).abs() - nearest;
                assert!(off <= 4.0 * f64::EPSILON * x.abs(), "{x} in {lower}..{upper}");
            }
            for (place, point) in (0..).zip(&points) {
                assert_eq!(found.place(*point), place);
            }
            let ends = [f64::NEG_INFINITY, f64::MIN, f64::MAX, f64::INFINITY].map(|x| found.place(x));
            assert_eq!(ends, [0, 0, found.steps(), found.steps()]);
        }
    }

    /// The closed form of all weights against their sum, and how much more than plain ones they are.
    #[test]
    fn weights_add_up_to_little_more_than_plain_ones() {
        for (lower, upper) in [
            (0.0, 100.0),
            (-3.0, 1e6),
            (0.1, 0.3),
            (-7.5, -7.25),
            (1.0 / 3.0, 2.0 / 3.0),
            (-2e3, 19.0),
            (1.0, 6.0),
        ] {
            for most in [1, 7, 10, 99, 100, 101, 5000, 200_000, Grid::MOST] {
                let found = grid(lower, upper, most);
                let sum: u64 = (0..=found.steps()).map(|place| found.weight(place)).sum();
                let points = f64::from(found.steps()) + 1.0;
                assert_eq!(found.candidates(), sum as f64 / 8.0, "{lower}..{upper} in {most}");
                let limit = if found.digit == 1 { 1.7 } else { 2.6 };
                assert!(
                    found.candidates() <= limit * points,
                    "{lower}..{upper} in {most}: {}",
                    sum as f64 / points
                );
            }
        }
        let halves = grid(-3.0, 19.5, 45);
        let round: Vec<f64> = (0..=45)
            .filter(|place| halves.roundness()[*place as usize] == 1)
            .map(|place| halves.point(place))
            .collect();
        assert_eq!((halves.step(), halves.levels(), halves.spacing(1)), (0.5, 0, 2));
        assert!(round.is_empty(), "{round:?}");
        let fifths = grid(-3.1, 19.5, 150);
        let round: Vec<f64> = (0..=fifths.steps())
            .filter(|place| fifths.roundness()[*place as usize] == 1)
            .map(|place| fifths.point(place))
            .collect();
        assert_eq!((fifths.step(), fifths.levels(), fifths.spacing(1)), (0.2, 1, 5));
        assert_eq!(round, (-3..20).map(f64::from).collect::<Vec<_>>());
        let cents = grid(0.0, 100.0, 10_000);
        let weights = [0, 1, 10, 30, 100, 150, 1000, 1999, 10_000].map(|place| cents.weight(place));
        assert_eq!(weights, [1000, 8, 10, 10, 100, 10, 1000, 8, 1000]);
    }

    #[test]
    fn a_grid_of_no_steps_or_too_many_is_refused() {
        for bad in [0, Grid::MOST + 1] {
            assert!(Grid::new(Bounds::new(0.0, 1.0).unwrap(), bad).is_err());
        }
    }
}
