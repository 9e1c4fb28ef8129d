//! What floats can add to a sum: a theorem, and the room that it asks for.
//!
//! **Theorem.** Let two datasets differ by one record x, and let every other record have the same coins in both: whether it is
//! drawn, and its shard ([`crate::sharding`]). Then, for the same parameters, the sums of a step on the grid differ by at most
//!
//! > (1 + ν)(1 + 2 s γ + 2u) R + 3/2 g √d,    γ = (k + 2) u / (1 − (k + 2) u),  u = 2⁻²⁴
//!
//! in ℓ2, where R is the norm that gradients are clipped to, s the capacity of a shard, k ≤ s the most additions that a term goes
//! through, g the step of the grid and d the number of parameters; in ℓ1 with d for √d. For a record that is replaced it is at most twice that.
//!
//! **Proof.** Given the parameters, record i adds one number t to each coordinate of its shard. These numbers depend on the record
//! alone: no layer mixes examples, and no product lets a row know its company ([`crate::product::multiply_rows`]). Taken
//! together they are a vector tᵢ of norm at most (1 + ν) R, since norms are measured with a relative error of at most ν from
//! below ([`Rounding::of_plan`]).
//!
//! A shard of at most s records is summed in `f32`. In whatever order that is done, each term goes through at most s additions, or k
//! where blocks of records are summed first ([`Sharding::depth`]), and two roundings more where it is a product. So the sum is off by at most γ Σ|t| in each coordinate, and by γ Σ‖tᵢ‖ ≤ γ s (1 + ν) R altogether. Then it is
//! rounded to the grid, by at most g/2 in each coordinate, and from there on all sums are of whole numbers, and exact.
//!
//! So x changes the shard that it is assigned to, and no other. If that shard has a free place, its sum moves by ‖tₓ‖, by its float
//! error with and without x, and by two roundings to the grid. If it has not, x or the last record of the shard is summed alone
//! instead: what is moved from the shard into a sum of its own is the same vector in both, but for one more rounding of each of
//! its coordinates by u (twice, where it is a product) and one more rounding to the grid. A record that is replaced keeps its
//! place; with it, the two vectors differ by 2 (1 + ν) R and the errors are those of two sums. ∎
//!
//! # Reference  [Higham02], §3.1 and §4.2, for sums in any order; [CasacubertaEtAl22] for why it matters

use crate::{Plan, sharding::Sharding};

/// The unit roundoff of `f32`.
const U: f64 = 1.0 / (1u64 << 24) as f64;
/// Roundings of 2⁻²⁴ in the squared norm of one layer's gradient, of its factor, and of what is added: 2 · 138 for the norms of
/// a linear layer's input and gradient ([`crate::skinny_product::square_norms`]), which are the longest sums; the rest for products,
/// square roots, quotients and casts.
const MEASURED: f64 = 304.0;

/// How far float rounding can take a sum beyond what one record contributes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rounding {
    /// Relative to the norm that gradients are clipped to.
    relative: f64,
    /// Partial sums that are rounded to the grid otherwise, once a record is there or not.
    on_grid: f64,
}

impl Rounding {
    /// Of a sum in which every record is rounded to the grid by itself, with norms that are measured in `f64`.
    ///
    /// # Assumes  Fewer than 2^28 numbers in a record
    pub const BY_RECORD: Rounding = Rounding { relative: 4.0 * U, on_grid: 1.0 };

    /// Of a plain sum in `f64` of norms measured in `f64`, rounded to the grid once.
    ///
    /// # Assumes  Fewer than 2^24 records
    pub const ONE_SUM: Rounding = Rounding { relative: 4.0 * U, on_grid: 2.0 };

    /// Of the clipped sums of a plan.
    ///
    /// # Promise  At least what the theorem of this module allows
    pub fn of_plan(plan: &Plan) -> Rounding {
        let sharding = Sharding::new(plan);
        let (capacity, depth) = (sharding.capacity() as f64, (sharding.depth() as f64 + 2.0) * U);
        // Half, since norms are roots of what is measured; a hundredth more for products of errors. Every layer's part is added
        // up in `f32`, twice where layers are nested.
        let norms = 1.01 * (MEASURED + 2.0 * plan.network.leaves() as f64) * U / 2.0;
        let sums = 2.0 * capacity * depth / (1.0 - depth) + 2.0 * U;
        Rounding { relative: (1.0 + norms) * (1.0 + sums) - 1.0, on_grid: 3.0 }
    }

    /// The part of the clip norm that floats may use, beside the grid.
    pub fn relative(&self) -> f64 {
        self.relative
    }

    /// What the grid adds, as a multiple of what two rounded vectors are farther apart.
    pub(super) fn of_two_vectors(&self) -> f64 {
        self.on_grid / 2.0
    }
}
