//! One epoch of random allocation: a record enters one of t batches, and nobody sees which.
//!
//! The pair is N(0, I) with one coordinate, uniformly chosen, moved by μ, against N(0, I). Its likelihood ratio is
//! S = (X₁ + … + X_t)/t with independent lognormals X_i = e^{μ x_i − μ²/2}. The law of each X goes onto a ladder of values,
//! once so that it dominates and once so that it is dominated (`ladder`); sums are built by doubling, and the law of log S
//! is what the grid reads.

use super::ladder::{LARGEST_SHIFT, Sum, Way};
use super::tails::{Atom, Direction, Lattice, Law, Smooth, listed};
use std::cell::RefCell;
use veracity_core::numerics::UNIT;

/// The sums of both sides.
#[derive(Clone)]
struct Sums {
    upper: Sum,
    lower: Sum,
}

thread_local! {
    // Both directions, and every point of a curve, ask for the same sums.
    static LAST: RefCell<Option<(u64, f64, Sums)>> = const { RefCell::new(None) };
}

/// The law of the loss of one epoch over `batches` batches.
///
/// # Promise    It dominates the mechanism, and the law in `below` is dominated by it, also under composition
/// # Reference  [ChuaEtAl25], [FeldmanShenfeld25]: the pair dominates adaptive mechanisms and is attained. E[S | what a
/// spread of the X_i shows] rises and E[S | what a merger shows] falls in convex order, which is Blackwell's order of
/// pairs, in both directions at once: P = S·Q
/// # Numerics   Masses are sums of products of positive numbers: their relative errors add up in `error`, what their places
/// err in `displacement`
pub(super) fn law(batches: u64, mu: f64, direction: Direction) -> Law {
    if mu > LARGEST_SHIFT {
        return told(batches, mu, direction);
    }
    let sums = LAST.with_borrow_mut(|last| match last {
        Some((count, shift, sums)) if *count == batches && *shift == mu => sums.clone(),
        _ => {
            let sums = Sums {
                upper: Sum::of_lognormals(batches, mu, Way::Spread),
                lower: Sum::of_lognormals(batches, mu, Way::Merge),
            };
            *last = Some((batches, mu, sums.clone()));
            sums
        }
    });
    let below = losses(&sums.lower, direction);
    let above = losses(&sums.upper, direction);
    Law { below: Some(Box::new(below)), ..above }
}

/// Bounds without the sums, for noise so small that hiding the batch hardly helps: telling everybody which batch the record
/// would be in leaves a Gaussian, and looking at one batch only leaves a Poisson batch of rate 1/t.
fn told(batches: u64, mu: f64, direction: Direction) -> Law {
    let inner = Smooth::Gaussian { mu };
    let hidden = Smooth::Sampled { rate: 1.0 / batches as f64, direction, inner: Box::new(inner.clone()) };
    let below = Law { smooth: Some(hidden), ..listed(Vec::new()) };
    Law { smooth: Some(inner), below: Some(Box::new(below)), ..listed(Vec::new()) }
}

/// The law of log S under P = S·Q, or of −log S under Q.
fn losses(sum: &Sum, direction: Direction) -> Law {
    let ladder = &sum.ladder;
    let count = sum.count as f64;
    let atoms = sum.rungs().map(|(rung, value, mass)| {
        let loss = ladder.offset() + rung as f64 * ladder.step;
        match direction {
            Direction::Remove => Atom { loss, mass: mass * value / count },
            Direction::Add => Atom { loss: -loss, mass },
        }
    });
    let law = listed(atoms.collect());
    let reach = law.atoms.iter().map(|atom| atom.loss.abs()).fold(1.0, f64::max);
    let rounding = 8.0 * UNIT * (reach + count.ln());
    let offset = match direction {
        Direction::Remove => ladder.offset(),
        Direction::Add => -ladder.offset(),
    };
    let infinite = match direction {
        Direction::Remove => sum.beyond / count * (1.0 + sum.error),
        Direction::Add => sum.at_zero * (1.0 + sum.error),
    };
    Law {
        atom_error: law.atom_error + sum.error + sum.displacement + rounding,
        infinite,
        unlisted: sum.underflow,
        displacement: sum.displacement + rounding,
        lattice: Some(Lattice { spacing: ladder.step, offset }),
        ..law
    }
}
