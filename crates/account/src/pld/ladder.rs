//! Laws of sums of lognormals on a ladder of values, from both sides in convex order.
//!
//! A lognormal goes onto the ladder of one term, sums of ladder laws onto the ladder of as many terms as they have. What lies
//! between two rungs goes to both with its mean kept (`Spread`: the law rises in convex order), or is merged with what lies
//! beside it until the mean of what a rung gets is the rung (`Merge`: the law falls). All numbers are positive, so relative
//! accuracy holds as deep into the tails as floats reach.

use veracity_core::numerics::{UNIT, legendre, normal};

/// Rungs for each standard deviation of the logarithm.
const DENSITY: f64 = 80.0;
/// The rungs stand closest up to twice as many from the centre; beyond, their distance grows with that from the centre.
const CLOSEST: i64 = 400;
/// Standard deviations of one term's logarithm that the ladder covers on either side, under either law.
const REACH: f64 = 20.0;
/// The largest μ for which the masses of the largest terms are within the range of floats.
pub(super) const LARGEST_SHIFT: f64 = 15.0;

/// Which side of the true law is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// Dominating: masses go outward to both neighbouring rungs.
    Spread,
    /// Dominated: masses are merged inward onto rungs.
    Merge,
}

/// Values e^{centre + j·step} for some whole numbers j.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Ladder {
    /// The logarithm of the value at j = 0.
    centre: f64,
    /// The distance of logarithms.
    pub step: f64,
    /// The numbers j, rising.
    rungs: Vec<i64>,
    /// The values.
    values: Vec<f64>,
    /// log of the number of terms.
    log_count: f64,
}

impl Ladder {
    /// A ladder for sums of `count` lognormals: as fine as a lognormal with the mean and variance of the sum needs.
    fn new(count: u64, mu: f64) -> Ladder {
        let log_count = (count as f64).ln();
        let square = ((mu * mu).exp_m1() / count as f64).ln_1p();
        let width = square.max(mu * mu / (count as f64)).min(mu * mu).sqrt();
        let (centre, step) = (log_count - 0.5 * width * width, width / DENSITY);
        let one_term = REACH * mu + 0.5 * mu * mu;
        // One term that is as large as can be, and the others near their mean.
        let highest = one_term.max(log_count) + (-(one_term - log_count).abs()).exp().ln_1p() + 2.0 * width;
        let lowest = (centre - REACH * width).max(log_count - 0.5 * mu * mu - REACH * mu);
        let (first, last) =
            (((lowest - centre) / step).floor() as i64, ((highest - centre) / step).ceil() as i64);
        let mut rungs: Vec<i64> = outward(-first).map(|j| -j).collect();
        rungs.reverse();
        rungs.pop();
        rungs.extend(outward(last));
        let values = rungs.iter().map(|&j| (centre + j as f64 * step).exp()).collect();
        Ladder { centre, step, rungs, values, log_count }
    }

    /// The logarithm of the mean of the terms at j = 0.
    pub fn offset(&self) -> f64 {
        self.centre - self.log_count
    }
}

/// 0, 1, 2, … with growing gaps, up to at least `end`.
fn outward(end: i64) -> impl Iterator<Item = i64> {
    let mut next = Some(0);
    std::iter::from_fn(move || {
        let j = next?;
        next = (j < end).then_some(j + (j / CLOSEST).max(1));
        Some(j)
    })
}

/// The law of a sum of lognormals of mean 1, on a ladder.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Sum {
    /// Where it lives.
    pub ladder: Ladder,
    /// How many terms it has.
    pub count: u64,
    masses: Vec<f64>,
    /// The mass at 0, where a spread puts what lies below the ladder.
    pub at_zero: f64,
    /// The part of the mean that a spread moves beyond every value.
    pub beyond: f64,
    /// The relative error of each mass.
    pub error: f64,
    /// The relative error of each value.
    pub displacement: f64,
    /// The most that underflow may have taken away, of the mass or of the mean.
    pub underflow: f64,
}

/// What lies between two neighbouring rungs.
#[derive(Debug, Clone, Copy, Default)]
struct Cell {
    /// Its mass.
    mass: f64,
    /// ∫ (x − rung below).
    excess: f64,
}

impl Sum {
    /// The law of the sum of `count` independent e^{μx − μ²/2}, x standard normal.
    ///
    /// # Promise    There is a coupling with E[found | true] = true·e^θ for a spread, and found = E[true·e^θ | found] for a
    /// merger, where |θ| ≤ `displacement`; mergers may also leave outcomes out. Both pass through sums
    /// # Assumes    0 < μ ≤ `LARGEST_SHIFT`
    /// # Reference  Binary powers; a rung gets the sums that fall beside it, cell by cell
    pub fn of_lognormals(count: u64, mu: f64, way: Way) -> Sum {
        let mut power = Sum::lognormal(mu, way);
        let mut total: Option<Sum> = None;
        let mut rest = count;
        loop {
            if rest % 2 == 1 {
                total = Some(match total {
                    Some(sum) => sum.plus(&power, mu, way),
                    None => power.clone(),
                });
            }
            rest /= 2;
            match total {
                Some(total) if rest == 0 => return total,
                _ => power = power.plus(&power, mu, way),
            }
        }
    }

    /// Rungs with their values and masses.
    pub fn rungs(&self) -> impl Iterator<Item = (i64, f64, f64)> {
        let places = self.ladder.rungs.iter().zip(&self.ladder.values);
        places.zip(&self.masses).map(|((rung, value), mass)| (*rung, *value, *mass))
    }

    /// One term.
    ///
    /// # Numerics  Between rungs ∫φ and ∫(X − v)φ by Gauss–Legendre: positive terms, and panels far shorter than the scale
    /// on which φ changes, so that the rule errs by less than a unit. The exponent z²/2 errs by as many units as its size
    fn lognormal(mu: f64, way: Way) -> Sum {
        let ladder = Ladder::new(1, mu);
        let at: Vec<f64> =
            ladder.rungs.iter().map(|&j| (ladder.centre + j as f64 * ladder.step) / mu + 0.5 * mu).collect();
        let cells = at.windows(2).zip(&ladder.values).map(|(ends, value)| {
            let (middle, half) = (0.5 * (ends[0] + ends[1]), 0.5 * (ends[1] - ends[0]));
            let mut cell = Cell::default();
            for (node, weight) in legendre::rule() {
                let z = middle + half * node;
                let mass = weight * half * normal::density(z);
                cell.mass += mass;
                cell.excess += mass * value * (mu * (half * (1.0 + node))).exp_m1();
            }
            cell
        });
        let (low, high) = (at[0], at[at.len() - 1]);
        // Below, the excess is over 0; above, all of the mean counts as excess.
        let below = Cell { mass: normal::cdf(low), excess: normal::cdf(low - mu) };
        let above = Cell { mass: normal::cdf(-high), excess: normal::cdf(mu - high) };
        let loose: Vec<Cell> = std::iter::once(below).chain(cells).chain([above]).collect();
        let rounding = UNIT * (64.0 + 2.0 * (low * low).max(high * high));
        let before = Errors {
            mass: rounding,
            place: rounding + 8.0 * UNIT * (mu * mu + REACH * mu),
            ..Errors::default()
        };
        Sum::place(ladder, 1, &loose, before, way)
    }

    /// The sum of two independent sums.
    ///
    /// # Numerics  A cell adds up a run of each row, then the rows: no path is longer than both lengths together. The mass and
    /// the mean of a cell err relatively by as many units
    fn plus(&self, other: &Sum, mu: f64, way: Way) -> Sum {
        let count = self.count + other.count;
        let ladder = Ladder::new(count, mu);
        let loose = rows(&self.places(), &other.places(), &ladder.values, self == other);
        let terms = (self.masses.len() + other.masses.len() + 16) as f64;
        let pairs = (self.masses.len() * other.masses.len()) as f64;
        let top = ladder.values[ladder.values.len() - 1];
        let before = Errors {
            mass: self.error + other.error + terms * UNIT,
            place: self.displacement.max(other.displacement) + terms * UNIT,
            beyond: self.beyond + other.beyond,
            underflow: self.underflow + other.underflow + pairs * (1.0 + top) * FAINT,
        };
        Sum::place(ladder, count, &loose, before, way)
    }

    /// Values and masses that are not zero, with that at 0.
    fn places(&self) -> Vec<(f64, f64)> {
        let zero = std::iter::once((0.0, self.at_zero));
        let places = zero.chain(self.ladder.values.iter().copied().zip(self.masses.iter().copied()));
        places.filter(|place| place.1 > 0.0).collect()
    }

    fn place(ladder: Ladder, count: u64, loose: &[Cell], before: Errors, way: Way) -> Sum {
        let mut sum = Sum {
            masses: vec![0.0; ladder.values.len()],
            ladder,
            count,
            at_zero: 0.0,
            beyond: 0.0,
            error: before.mass + 16.0 * UNIT,
            displacement: before.place,
            underflow: before.underflow,
        };
        match way {
            Way::Spread => {
                sum.spread(loose);
                sum.beyond += before.beyond;
            }
            Way::Merge => sum.merge(loose),
        }
        sum
    }

    /// Moves what lies between rungs to both of them, keeping its mean; what lies below to 0 and the lowest rung, what lies
    /// above to the highest one and beyond every value.
    ///
    /// # Reference  A spread in convex order
    /// # Numerics   A share rounds by a unit of the cell, which moves the mean of what is in it by a unit of its width
    fn spread(&mut self, loose: &[Cell]) {
        let values = &self.ladder.values;
        let top = values.len() - 1;
        let (below, above) = (loose[0], loose[top + 1]);
        let up = (below.excess / values[0]).min(below.mass);
        self.masses[0] += up;
        self.at_zero += below.mass - up;
        for (i, cell) in loose[1..=top].iter().enumerate() {
            let right = (cell.excess / (values[i + 1] - values[i])).min(cell.mass);
            self.masses[i + 1] += right;
            self.masses[i] += cell.mass - right;
        }
        self.masses[top] += above.mass;
        self.beyond += above.excess;
        self.displacement += 8.0 * UNIT;
    }

    /// Merges what lies between rungs so that the mean of what each rung gets is the rung. What lies outside the ladder is
    /// left out, and so is what cannot be balanced.
    ///
    /// # Reference  The outcome "sent to v" is a post-processing; leaving outcomes out lowers every hockey stick
    /// # Numerics   What a rung's mean is off by round-off, relative to its mass, is added to `displacement`; rungs with so
    /// little mass that this would matter are left out
    fn merge(&mut self, loose: &[Cell]) {
        let values = &self.ladder.values;
        let widths: Vec<f64> = values.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let cells = &loose[1..values.len()];
        let right = shares(cells, &widths);
        let mut worst: f64 = 0.0;
        for i in 0..values.len() {
            let (mut mass, mut surplus, mut size) = (0.0, 0.0, 0.0);
            if let Some(cell) = cells.get(i) {
                mass += (1.0 - right[i]) * cell.mass;
                surplus += (1.0 - right[i]) * cell.excess;
                size += cell.mass * widths[i];
            }
            if i > 0 {
                let cell = cells[i - 1];
                mass += right[i - 1] * cell.mass;
                surplus -= right[i - 1] * (cell.mass * widths[i - 1] - cell.excess);
                size += cell.mass * widths[i - 1];
            }
            // What is too high is balanced by mass from the rungs below.
            for j in (0..i).rev() {
                if surplus <= 16.0 * UNIT * size {
                    break;
                }
                let gap = values[i] - values[j];
                let taken = (surplus / gap).min(0.5 * self.masses[j]);
                self.masses[j] -= taken;
                mass += taken;
                surplus -= taken * gap;
            }
            let off = (surplus.abs() + 16.0 * UNIT * size) / (mass * values[i]);
            if off <= NEGLIGIBLE {
                self.masses[i] = mass;
                worst = worst.max(off);
            }
        }
        self.displacement += worst + 8.0 * UNIT;
    }
}

/// A rung whose mean is off by more than this, relatively, is left out of a merger.
const NEGLIGIBLE: f64 = 1e-13;

/// What a product near the end of the range of floats may lose, with room for the larger sums that it goes into later.
const FAINT: f64 = 1e6 * f64::MIN_POSITIVE;

/// What the terms of a sum bring along.
#[derive(Debug, Clone, Copy, Default)]
struct Errors {
    mass: f64,
    place: f64,
    beyond: f64,
    underflow: f64,
}

/// All sums of a place of one law and one of the other, with their masses multiplied, gathered by cell: below the rungs,
/// between them, and above. A law with itself meets each pair of places twice.
fn rows(one: &[(f64, f64)], other: &[(f64, f64)], rungs: &[f64], same: bool) -> Vec<Cell> {
    let mut edges = vec![0.0];
    edges.extend(rungs);
    edges.push(f64::INFINITY);
    let mut cells = vec![Cell::default(); edges.len() - 1];
    let mut first = 0;
    for (i, &(value, mass)) in one.iter().enumerate() {
        let others = if same { &other[i..] } else { other };
        let Some(&(least, _)) = others.first() else { continue };
        while value + least >= edges[first + 1] {
            first += 1;
        }
        let (mut cell, mut base, mut edge) = (first, edges[first], edges[first + 1]);
        let mut run = Cell::default();
        for (j, &(more, weight)) in others.iter().enumerate() {
            let x = value + more;
            if x >= edge {
                cells[cell].add(run);
                run = Cell::default();
                while x >= edges[cell + 1] {
                    cell += 1;
                }
                (base, edge) = (edges[cell], edges[cell + 1]);
            }
            let twice = if same && j > 0 { 2.0 } else { 1.0 };
            let both = twice * mass * weight;
            run.mass += both;
            run.excess += both * (x - base);
        }
        cells[cell].add(run);
    }
    cells
}

impl Cell {
    fn add(&mut self, other: Cell) {
        self.mass += other.mass;
        self.excess += other.excess;
    }
}

/// The share of each cell that goes to the rung above it, so that no rung gets less than its value on average.
///
/// From both tails towards the densest cell: there the errors shrink from step to step.
fn shares(cells: &[Cell], widths: &[f64]) -> Vec<f64> {
    let mut right = vec![0.0; cells.len()];
    let deficit = |i: usize| (cells[i].mass * widths[i] - cells[i].excess).max(0.0);
    let carried = |deficit: f64, excess: f64| if deficit <= excess { 1.0 } else { excess / deficit };
    let density = |i: usize| cells[i].mass / widths[i];
    let Some(middle) = (0..cells.len()).max_by(|&i, &j| density(i).total_cmp(&density(j))) else {
        return right;
    };
    for i in (middle + 1..cells.len()).rev() {
        right[i - 1] = carried(deficit(i - 1), (1.0 - right[i]) * cells[i].excess);
    }
    let pulled = right[middle];
    let mut left_share: f64 = 0.0;
    for i in 1..=middle {
        right[i - 1] = carried(deficit(i - 1), cells[i].excess).min(1.0 - left_share);
        let need = right[i - 1] * deficit(i - 1);
        left_share = if need > 0.0 { (need / cells[i].excess).min(1.0) } else { 0.0 };
    }
    right[middle] = pulled.min(1.0 - left_share);
    right
}
