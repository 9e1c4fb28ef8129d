//! The recursion on a grid, from both sides: tables of V_j at multiples of ε₀/m, for one use, two, and so on.
//!
//! From above: between two nodes V_j lies below its chord in e^ε, and the supremum over t is taken over all t, piece by
//! piece, with chords. From below: t is a multiple of the step, so no chord is needed. Only ε ≥ 0 is stored, since
//! exchanging the two datasets gives V_j(−ε) = 1 − e^{−ε} + e^{−ε} V_j(ε); far up, V_j is bounded by its last node.

use super::once::once_below_top;

/// How many nodes of all tables together are computed, about.
const WORK: f64 = 4e6;
/// A grid as fine as this is enough, in steps per range: δ is found to about 13/m². Finer ones take longer at each node, and
/// are made where there are few nodes.
const FINE: f64 = 64.0;
/// A grid coarser than this says less than the closed forms do.
const COARSE: f64 = 4.0;
/// The finest grid.
const FINEST: f64 = 2048.0;
/// What rounding may do to a value in one step, relatively.
const ROUNDING: f64 = 64.0 * f64::EPSILON;
/// Blocks of t that could gain less than this, relatively, are not searched; what they could gain is added.
const SEARCH: f64 = 1e-10;

/// The tables for all uses but the last.
pub(super) struct Tables {
    grid: Grid,
    uses: usize,
    above: Vec<f64>,
    below: Vec<f64>,
}

impl Tables {
    /// Goes down the recursion to one use less than `uses`, on a grid that reaches to where δ is far below `delta`; nothing
    /// where only a coarse one could be gone through.
    pub(super) fn new(range: f64, uses: u64, delta: f64) -> Option<Tables> {
        let levels = uses as usize - 1;
        let reach = |level: usize| reach(range, level as f64, delta / uses as f64).min(level as f64);
        let nodes: f64 = (1..=levels).map(reach).sum();
        let steps = WORK / nodes;
        if steps < COARSE {
            return None;
        }
        let steps = if steps > FINE { FINE * (steps / FINE).cbrt() } else { steps };
        let grid = Grid::new(range, steps.min(FINEST) as usize);
        let first: Vec<f64> =
            (0..=grid.steps).map(|i| once_below_top(range, grid.at(grid.steps - i))).collect();
        let mut above: Vec<f64> = first.iter().map(|value| value * (1.0 + ROUNDING)).collect();
        let mut below: Vec<f64> = first.iter().map(|value| value * (1.0 - ROUNDING)).collect();
        for level in 2..=levels {
            let last = ((reach(level) * grid.steps as f64).ceil() as usize).min(level * grid.steps);
            above = grid.step_above(&Row::new(&grid, &above, level - 1, last, Side::Above), last);
            below = grid.step_below(&Row::new(&grid, &below, level - 1, last, Side::Below), last);
        }
        Some(Tables { grid, uses: levels, above, below })
    }

    /// The last step from any ε ≥ 0, never below the truth.
    pub(super) fn last_above(&self, epsilon: f64) -> f64 {
        let (node, rest) = self.grid.place(epsilon);
        let row = Row::new(&self.grid, &self.above, self.uses, node + 1, Side::Above);
        let grid = &self.grid;
        let mut best: f64 = 0.0;
        let mut from = grid.end_between(&row, node, rest, 0.0);
        for a in 0..=grid.steps {
            let t = if a == grid.steps { grid.range } else { (rest + grid.at(a)).min(grid.range) };
            let to = grid.end_between(&row, node, rest, t);
            best = best.max(from.supremum(&to, (to.t - from.t).exp_m1()));
            from = to;
        }
        best * (1.0 + 2.0 * ROUNDING)
    }

    /// The last step from any ε ≥ 0, never above the truth.
    pub(super) fn last_below(&self, epsilon: f64) -> f64 {
        let (node, rest) = self.grid.place(epsilon);
        let row = Row::new(&self.grid, &self.below, self.uses, node + 1, Side::Below);
        let mut best: f64 = 0.0;
        for a in 0..self.grid.steps {
            let t = rest + self.grid.at(a);
            let (stay, rest) = self.grid.odds(t.min(self.grid.range));
            best = best.max(stay * row.at(node, a, 0) + rest * row.at(node, a, self.grid.steps));
        }
        best * (1.0 - 2.0 * ROUNDING)
    }
}

/// How many ranges up δ of `uses` mechanisms is a millionth of `delta`, by their ρ.
///
/// # Reference  [BunSteinke16] Proposition 1.3; [CesarRogers21] Lemma 3.4: ρ = ε₀²/8 each
fn reach(range: f64, uses: f64, delta: f64) -> f64 {
    let rho = 0.125 * uses;
    let log = -(delta * 1e-7).max(f64::MIN_POSITIVE).ln();
    rho * range + 2.0 * (rho * log).sqrt() + 1.0
}

/// Which side of the truth a row is on.
#[derive(Clone, Copy, PartialEq)]
enum Side {
    Above,
    Below,
}

/// A table with what lies left and right of it: the nodes that one step from nodes up to `last` can reach.
struct Row {
    /// From −m on.
    values: Vec<f64>,
    steps: usize,
}

impl Row {
    fn new(grid: &Grid, table: &[f64], level: usize, last: usize, side: Side) -> Row {
        let steps = grid.steps;
        // No loss exceeds the sum of the ranges; before that, V falls and is not negative.
        let value = |i: usize| match table.get(i) {
            Some(value) => *value,
            None if i >= level * steps || side == Side::Below => 0.0,
            None => table.last().copied().unwrap_or(1.0),
        };
        let mirrored = (1..=steps).rev().map(|i| -(-grid.at(i)).exp_m1() + (-grid.at(i)).exp() * value(i));
        let values = mirrored.chain((0..=last + steps).map(value)).collect();
        Row { values, steps }
    }

    /// The value at node − down + up, where down ≤ m.
    fn at(&self, node: usize, down: usize, up: usize) -> f64 {
        self.values[node + self.steps - down + up]
    }
}

/// One end of a piece of t: the chance of the lower loss's complement, and what is left to show after either answer.
#[derive(Clone, Copy)]
struct End {
    t: f64,
    /// The chance of the loss t.
    stay: f64,
    /// The chance of the loss t − ε₀.
    rest: f64,
    /// V at ε − t.
    near: f64,
    /// V at ε − t + ε₀.
    far: f64,
}

impl End {
    fn value(&self) -> f64 {
        self.stay * self.near + self.rest * self.far
    }

    /// The supremum over all t from this end to another, when V is replaced by its chords between the ends; `growth` is
    /// e^{t₁ − t₀} − 1.
    ///
    /// With w from 0 at the later end to 1 here, linear in e^{−t}, V is linear in w and p lies above its chord by a factor
    /// S/s ≤ S. So the whole exceeds its own chord by at most e w (1 − w), with e as below, and that has a closed maximum.
    fn supremum(&self, later: &End, growth: f64) -> f64 {
        let (here, there) = (self.value(), later.value());
        let ulps = 8.0 * f64::EPSILON * later.near;
        let gap = (later.near - later.far).max(0.0) + ulps;
        let closing = ((later.near - later.far) - (self.near - self.far)).max(0.0) + ulps;
        let excess = (later.rest - self.rest).max(0.0) * (1.0 + 1e-9) * (gap * growth + closing);
        let difference = here - there;
        if difference.abs() >= excess {
            here.max(there)
        } else {
            0.5 * (here + there) + 0.25 * excess + 0.25 * difference * difference / excess
        }
    }
}

/// Multiples of ε₀/m, and the odds at each t among them.
struct Grid {
    range: f64,
    /// m.
    steps: usize,
    odds: Vec<(f64, f64)>,
    /// e^{b ε₀/m} − 1.
    growth: Vec<f64>,
}

impl Grid {
    fn new(range: f64, steps: usize) -> Grid {
        let mut grid = Grid { range, steps, odds: Vec::new(), growth: Vec::new() };
        grid.odds = (0..=steps).map(|a| grid.odds_with_rest(grid.at(a), grid.at(steps - a))).collect();
        grid.growth = (0..=steps).map(|b| grid.at(b).exp_m1()).collect();
        grid
    }

    /// The ε of a node.
    fn at(&self, i: usize) -> f64 {
        self.range * i as f64 / self.steps as f64
    }

    /// The node at or below ε, and how far ε is above it.
    fn place(&self, epsilon: f64) -> (usize, f64) {
        let node = (epsilon / self.range * self.steps as f64).floor() as usize;
        (node, (epsilon - self.at(node)).clamp(0.0, self.at(1)))
    }

    /// The chances of the losses t and t − ε₀.
    fn odds(&self, t: f64) -> (f64, f64) {
        self.odds_with_rest(t, self.range - t)
    }

    fn odds_with_rest(&self, t: f64, rest: f64) -> (f64, f64) {
        let whole = -(-self.range).exp_m1();
        (-(-rest).exp_m1() / whole, -(-t).exp_m1() * (-rest).exp() / whole)
    }

    /// The end of a piece at a multiple of the step.
    fn end(&self, row: &Row, node: usize, a: usize) -> End {
        let (stay, rest) = self.odds[a];
        End { t: 0.0, stay, rest, near: row.at(node, a, 0), far: row.at(node, a, self.steps) }
    }

    /// The end of a piece at any t, from `rest` above a node: V by its chord.
    fn end_between(&self, row: &Row, node: usize, rest: f64, t: f64) -> End {
        let (stay, other) = self.odds(t);
        let down = ((t - rest) / self.at(1)).ceil().clamp(0.0, self.steps as f64) as usize;
        // ε − t lies between the node `down` below and the next one up.
        let above = (rest - t + self.at(down)).clamp(0.0, self.at(1));
        let weight = above.exp_m1() / self.growth[1];
        let chord = |up: usize| {
            let (left, right) = (row.at(node, down, up), row.at(node, down, up + 1));
            left + (right - left) * weight
        };
        End { t, stay, rest: other, near: chord(0), far: chord(self.steps) }
    }

    /// One step of the recursion for nodes 0 to `last`, never below the truth.
    fn step_above(&self, row: &Row, last: usize) -> Vec<f64> {
        let (mut guess, mut blocks) = (self.steps / 2, Vec::new());
        let mut next = Vec::with_capacity(last + 1);
        for node in 0..=last {
            let (value, place) = self.supremum(row, node, guess, &mut blocks);
            next.push(value * (1.0 + ROUNDING));
            guess = place;
        }
        next
    }

    /// The supremum over all t: blocks that cannot beat what is known are left out, others are halved. Blocks are the
    /// larger the farther they are from the best place, since V hardly bends within them compared with what they lose.
    fn supremum(
        &self,
        row: &Row,
        node: usize,
        guess: usize,
        blocks: &mut Vec<(usize, usize)>,
    ) -> (f64, usize) {
        let end = |a: usize| self.end(row, node, a);
        let bound = |a: usize, b: usize| end(a).supremum(&end(b), self.growth[b - a]);
        let mut place = guess.min(self.steps - 1);
        let mut best = bound(place, place + 1);
        // Climb first: the better the start, the more is left out.
        loop {
            let left = if place > 0 { bound(place - 1, place) } else { 0.0 };
            let right = if place + 1 < self.steps { bound(place + 1, place + 2) } else { 0.0 };
            if left.max(right) <= best {
                break;
            }
            (best, place) = if left > right { (left, place - 1) } else { (right, place + 1) };
        }
        let mut largest = best * (1.0 + SEARCH);
        // The climb has seen the next piece on either side.
        let (mut at, mut length) = (place.saturating_sub(1), 2);
        let mut inner = end(at);
        while at > 0 {
            let next = at.saturating_sub(length);
            let outer = end(next);
            if outer.supremum(&inner, self.growth[at - next]) > largest {
                blocks.push((next, at));
            }
            (at, inner, length) = (next, outer, 2 * length);
        }
        (at, length) = ((place + 2).min(self.steps), 2);
        inner = end(at);
        while at < self.steps {
            let next = (at + length).min(self.steps);
            let outer = end(next);
            if inner.supremum(&outer, self.growth[next - at]) > largest {
                blocks.push((at, next));
            }
            (at, inner, length) = (next, outer, 2 * length);
        }
        while let Some((a, b)) = blocks.pop() {
            let value = bound(a, b);
            if value <= largest {
                continue;
            }
            if b - a == 1 {
                (largest, place) = (value, a);
            } else {
                let middle = (a + b) / 2;
                blocks.extend([(a, middle), (middle, b)]);
            }
        }
        (largest, place)
    }

    /// One step of the recursion for nodes 0 to `last`, never above the truth.
    fn step_below(&self, row: &Row, last: usize) -> Vec<f64> {
        let mut a = self.steps / 2;
        let mut next = Vec::with_capacity(last + 1);
        for node in 0..=last {
            let value = |a: usize| self.end(row, node, a).value();
            let mut best = value(a);
            loop {
                let left = if a > 0 { value(a - 1) } else { 0.0 };
                let right = if a < self.steps { value(a + 1) } else { 0.0 };
                if left.max(right) <= best {
                    break;
                }
                (best, a) = if left > right { (left, a - 1) } else { (right, a + 1) };
            }
            next.push(best * (1.0 - ROUNDING));
        }
        next
    }
}
