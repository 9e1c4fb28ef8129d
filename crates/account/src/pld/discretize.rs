//! A loss law on a grid, from both sides: one that dominates the law and one that it dominates.
//!
//! A [`Law`] is cut into cells between neighbouring grid losses; each side then moves the mass of a cell to grid losses
//! in the direction that keeps it a bound. Both err by the square of the spacing.

use super::tails::{FAINTEST, Law, Masses};
use veracity_core::numerics::{UNIT, root};

/// The losses `offset` + (`first` + i) · `spacing`, for i = 0 … `cells`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Grid {
    /// The distance of neighbours.
    pub spacing: f64,
    /// Where the index 0 lies.
    pub offset: f64,
    /// The index of the least loss.
    pub first: i64,
    /// How many gaps there are.
    pub cells: usize,
}

impl Grid {
    /// The least grid that covers [`low`, `high`].
    pub fn covering(low: f64, high: f64, spacing: f64, offset: f64) -> Grid {
        // A hair of tolerance, so that an end that lies on the grid does not add a cell by rounding.
        let first = ((low - offset) / spacing + 1e-9).floor();
        let last = ((high - offset) / spacing - 1e-9).ceil().max(first);
        Grid { spacing, offset, first: first as i64, cells: (last - first) as usize }
    }

    /// The loss at point `i`.
    pub fn loss(&self, i: usize) -> f64 {
        self.offset + (self.first + i as i64) as f64 * self.spacing
    }

    /// The largest modulus of a loss on it, and of what it is computed from.
    pub fn reach(&self) -> f64 {
        self.loss(0).abs().max(self.loss(self.cells).abs()) + self.offset.abs() + self.spacing
    }
}

/// Masses on a grid.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct GridLaw {
    /// Where the masses lie.
    pub grid: Grid,
    /// P mass at each grid loss.
    pub masses: Vec<f64>,
    /// P mass at +∞.
    pub infinite: f64,
    /// How far the true losses may lie from where the masses are, towards the side that would break the bound.
    pub displacement: f64,
}

/// A law and its tails at the points of a grid, from which both sides are made.
pub(super) struct Cut<'a> {
    law: &'a Law,
    grid: Grid,
    tails: Vec<Masses>,
    total: f64,
    tolerance: f64,
}

/// Where an atom lies on a grid.
enum Place {
    At(usize),
    Within(usize),
    Below,
    Above,
}

/// The ends between which all but a negligible part of the law lies: at most `top` of the mass above, `bottom` below.
pub(super) fn ends(law: &Law, top: f64, bottom: f64) -> (f64, f64) {
    let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
    let mut seen = 0.0;
    for atom in law.atoms.iter().rev() {
        seen += atom.mass;
        if seen > top {
            high = atom.loss;
            break;
        }
    }
    seen = 0.0;
    for atom in &law.atoms {
        seen += atom.mass;
        if seen > bottom {
            low = atom.loss;
            break;
        }
    }
    if let Some(smooth) = &law.smooth {
        let total = smooth.above(f64::MIN).p;
        let (least, largest) = smooth.support();
        low = low.min(outermost(-1.0, least, |l| total - smooth.above(l).p <= bottom));
        high = high.max(outermost(1.0, largest, |l| smooth.above(l).p <= top));
    }
    (low.min(high), high.max(low))
}

/// The point nearest to zero on the side `sign` where `negligible` holds, or on the other side, to a tenth of a percent.
fn outermost(sign: f64, limit: f64, negligible: impl Fn(f64) -> bool) -> f64 {
    let limit = limit.abs().min(1e9) * limit.signum();
    let mut step = 1e-12;
    while step < limit * sign && !negligible(sign * step) {
        step *= 2.0;
    }
    if sign * limit <= step {
        return limit;
    }
    root::bisect(sign * step, sign * step * 0.5, 1e-3, negligible).holds
}

impl<'a> Cut<'a> {
    /// Evaluates the tails of `law` on `grid`.
    pub fn new(law: &'a Law, grid: Grid) -> Cut<'a> {
        let tails = match &law.smooth {
            Some(smooth) => (0..=grid.cells).map(|i| smooth.above(grid.loss(i))).collect(),
            None => Vec::new(),
        };
        let total = law.smooth.as_ref().map_or(0.0, |smooth| smooth.above(f64::MIN).p);
        let units = law.smooth.as_ref().map_or(32.0, |smooth| smooth.displacement());
        Cut { law, grid, tails, total, tolerance: units * UNIT * grid.reach() }
    }

    /// A grid law that dominates the law: connect the dots.
    ///
    /// # Promise    Its hockey-stick curve, composed with itself or others, is never below the true one
    /// # Reference  [Doroshenko22] (arXiv 2207.04380), in this form: within a cell the likelihood ratio r = dP/dQ is
    /// replaced under Q by the two ends of the cell with the same mean. That is a spread in convex order, so
    /// E_Q (r − u)₊ rises for every u, and Blackwell's theorem makes the true pair a post-processing of the new one:
    /// it stays below it under composition. At grid points u the curve does not change. Above the grid the ends are
    /// e^l and ∞, below it 0 and e^l
    /// # Assumes    Nothing about the shape of the law
    /// # Numerics   Tails are rounded up and shares to the right are rounded up by the error of their cancelling
    /// difference: both move mass to larger losses, which only raises the curve. What the grid losses themselves are off
    /// is handed on as `displacement`.
    pub fn dominating(&self) -> GridLaw {
        let grid = self.grid;
        let mut masses = vec![0.0; grid.cells + 1];
        let mut infinite = self.law.infinite + self.law.unlisted;
        // Neighbouring grid losses are off by a rounding each, so their distance is not exactly the spacing.
        let stretch = 1.0 + 4.0 * UNIT * (1.0 + grid.reach() / grid.spacing);
        let width = -(-grid.spacing).exp_m1() / stretch;
        if !self.tails.is_empty() {
            let mut above = self.tails[grid.cells].p * (1.0 + self.law.tail_error);
            let beyond = self.excess_over(grid.cells, self.tails[grid.cells]).clamp(0.0, above);
            infinite += beyond;
            masses[grid.cells] += above - beyond;
            for i in (0..grid.cells).rev() {
                let from = (self.tails[i].p * (1.0 + self.law.tail_error)).max(above);
                let cell = from - above;
                let right = (self.excess_over(i, self.cell(i)) / width).clamp(0.0, cell);
                masses[i + 1] += right;
                masses[i] += cell - right;
                above = from;
            }
            masses[0] += (self.total * (1.0 + self.law.tail_error) - above).max(0.0);
        }
        for atom in &self.law.atoms {
            let mass = atom.mass * (1.0 + self.law.atom_error);
            match self.place(atom.loss) {
                Place::At(i) => masses[i] += mass,
                Place::Within(i) => {
                    let share = (-(grid.loss(i) - atom.loss).exp_m1() / width).clamp(0.0, 1.0);
                    masses[i + 1] += mass * share;
                    masses[i] += mass * (1.0 - share);
                }
                Place::Below => masses[0] += mass,
                Place::Above => infinite += mass,
            }
        }
        GridLaw { grid, masses, infinite, displacement: 2.0 * self.tolerance + self.law.displacement }
    }

    /// A grid law that the law dominates: cells are merged so that each merged outcome lies on a grid loss.
    ///
    /// # Promise    Its hockey-stick curve, composed with itself or others, is never above the true one
    /// # Reference  Send a share of each cell to the grid loss on its left and the rest to the one on its right. The
    /// outcome "sent to l" is a post-processing of the true pair; its likelihood ratio is e^l when the excess
    /// p − e^l q of what comes from the right makes up for the deficit e^l q − p of what comes from the left. Where the
    /// ratio is larger it is rounded down, where it would be smaller less is sent from the left; mass below the grid is
    /// dropped. Post-processing, rounding down and dropping never raise E_P (1 − e^{ε−L})₊
    /// # Assumes    Nothing about the shape of the law
    /// # Numerics   Balancing from each tail towards the middle divides by the larger neighbour, so shares stay within
    /// [0, 1] and errors shrink. Masses and excesses are rounded down, deficits up.
    pub fn dominated(&self) -> GridLaw {
        let grid = self.grid;
        let (mut masses, cells) = self.loose_cells();
        let right = balance(&cells, grid);
        for (i, cell) in cells.iter().enumerate() {
            masses[i] += cell.mass * (1.0 - right[i]);
            masses[i + 1] += cell.mass * right[i];
        }
        GridLaw {
            grid,
            masses,
            infinite: self.law.infinite,
            displacement: 2.0 * self.tolerance + self.law.displacement,
        }
    }

    /// The masses that lie on the grid already (or are rounded down to its top), and the cells that do not.
    fn loose_cells(&self) -> (Vec<f64>, Vec<Cell>) {
        let grid = self.grid;
        let mut masses = vec![0.0; grid.cells + 1];
        let mut cells = vec![Cell { mass: 0.0, excess: 0.0, deficit: 0.0 }; grid.cells];
        if !self.tails.is_empty() {
            masses[grid.cells] += self.tails[grid.cells].p * (1.0 - self.law.tail_error);
            for (i, cell) in cells.iter_mut().enumerate() {
                *cell = self.smooth_cell(i);
            }
        }
        for atom in &self.law.atoms {
            let mass = atom.mass * (1.0 - self.law.atom_error);
            match self.place(atom.loss) {
                Place::At(i) => masses[i] += mass,
                Place::Within(i) => {
                    let (left, right) = (grid.loss(i), grid.loss(i + 1));
                    let slack = 0.25 * self.tolerance;
                    cells[i].mass += mass;
                    cells[i].excess +=
                        mass * -(-(atom.loss - left - slack).max(0.0)).exp_m1() * (1.0 - 8.0 * UNIT);
                    let mass = atom.mass * (1.0 + self.law.atom_error);
                    cells[i].deficit += mass * (right - atom.loss + slack).exp_m1() * (1.0 + 8.0 * UNIT);
                }
                Place::Below => {}
                Place::Above => masses[grid.cells] += mass,
            }
        }
        (masses, cells)
    }

    fn smooth_cell(&self, i: usize) -> Cell {
        let (from, cell) = (self.tails[i], self.cell(i));
        let (left, right) = (self.grid.loss(i).exp(), self.grid.loss(i + 1).exp());
        if !right.is_finite() || from.q < FAINTEST {
            // Beyond the range of floats all is rounded down to the left.
            return Cell {
                mass: (cell.p - 3.0 * self.law.tail_error * from.p).max(0.0),
                excess: 0.0,
                deficit: f64::INFINITY,
            };
        }
        let error = 3.0 * self.law.tail_error * (from.p + right * from.q);
        Cell {
            mass: (cell.p - 3.0 * self.law.tail_error * from.p).max(0.0),
            excess: (cell.p - left * cell.q - error).max(0.0),
            deficit: (right * cell.q - cell.p).max(0.0) + error,
        }
    }

    /// P and Q mass of the smooth law in cell i.
    fn cell(&self, i: usize) -> Masses {
        let (from, above) = (self.tails[i], self.tails[i + 1]);
        Masses { p: from.p - above.p, q: from.q - above.q }
    }

    /// p − e^l q of a difference of tails at or above point i, rounded up.
    fn excess_over(&self, i: usize, masses: Masses) -> f64 {
        let (ratio, from) = (self.grid.loss(i).exp(), self.tails[i]);
        if !ratio.is_finite() || from.q < FAINTEST {
            return f64::INFINITY;
        }
        masses.p - ratio * masses.q + 3.0 * self.law.tail_error * (from.p + ratio * from.q)
    }

    fn place(&self, loss: f64) -> Place {
        let grid = self.grid;
        let position = (loss - grid.offset) / grid.spacing - grid.first as f64;
        let nearest = position.round().clamp(0.0, grid.cells as f64) as usize;
        if (loss - grid.loss(nearest)).abs() <= self.tolerance {
            Place::At(nearest)
        } else if loss < grid.loss(0) {
            Place::Below
        } else if loss > grid.loss(grid.cells) {
            Place::Above
        } else {
            // Rounding of the position may point to the cell beside the true one.
            let mut i = (position.floor().max(0.0) as usize).min(grid.cells - 1);
            while i > 0 && grid.loss(i) > loss {
                i -= 1;
            }
            while i + 1 < grid.cells && grid.loss(i + 1) < loss {
                i += 1;
            }
            Place::Within(i)
        }
    }
}

/// What lies strictly between two grid losses.
#[derive(Debug, Clone, Copy)]
struct Cell {
    /// P mass, rounded down.
    mass: f64,
    /// p − e^l q at its left end, rounded down.
    excess: f64,
    /// e^l q − p at its right end, rounded up.
    deficit: f64,
}

/// The share of each cell that goes to its right end; the rest goes to its left.
///
/// # Promise  At each grid point, (1 − right[i]) · excess[i] ≥ right[i−1] · deficit[i−1]
fn balance(cells: &[Cell], grid: Grid) -> Vec<f64> {
    let mut right = vec![0.0; cells.len()];
    // A hair less than the balance, so that rounding the shares cannot tip it.
    let hair = 1.0 - 8.0 * UNIT;
    let weight = |i: usize| cells[i].mass.ln() - 0.5 * grid.loss(i);
    let Some(middle) = (0..cells.len()).max_by(|&i, &j| weight(i).total_cmp(&weight(j))) else {
        return right;
    };
    // From the right: what excess there is pulls in as much of the cell before as it can carry.
    for i in (middle + 1..cells.len()).rev() {
        right[i - 1] = carried(&cells[i - 1], (1.0 - right[i]) * cells[i].excess * hair);
    }
    let pulled = right[middle];
    // From the left: all of a cell that was not needed on its left goes on, as far as the next cell can carry it.
    let mut left_share = 0.0;
    for i in 1..=middle {
        let wanted: f64 = 1.0 - left_share;
        let most = carried(&cells[i - 1], cells[i].excess * hair);
        right[i - 1] = wanted.min(most);
        let need = right[i - 1] * cells[i - 1].deficit;
        // One minus a share is off by up to a unit, whatever the share.
        left_share = if need > 0.0 { (need / (cells[i].excess * hair) + 4.0 * UNIT).min(1.0) } else { 0.0 };
    }
    right[middle] = pulled.min(1.0 - left_share);
    right
}

/// The share of a cell whose deficit this excess makes up for.
fn carried(cell: &Cell, excess: f64) -> f64 {
    if cell.deficit <= 0.0 { 1.0 } else { (excess / cell.deficit).min(1.0) }
}
