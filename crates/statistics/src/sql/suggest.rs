//! Caps that a query chooses from the data, at a stated part of its ε: how many rows and groups of one unit count.
//!
//! Each unit has one number for each cap: in how many groups it is, or how many rows it has in that group where it has most. A public
//! list has the caps that can be chosen. A cap is right if it is the first on the list that leaves nine of ten units whole. The score of
//! a cap is ten times the number of units by which it misses that, below zero. A unit that comes or goes moves each score by at most
//! nine. One cap is drawn by permute-and-flip, at an ε of its own.
//!
//! **The claim.** What follows rests on the caps that were drawn. For each of them the rest of the query is certified to be private
//! within what is left of ε, at the whole δ. So the claim composes a part of (ε, 0) for each choice with one of (ε, δ) for the rest, and
//! no accounting reads which caps were drawn. Composition holds for parts that rest on answers before them
//! ([DworkRothblumVadhan10]; [KairouzOhViswanath15] for the tighter sum).

use crate::least_noise::{certified, none_certified};
use crate::sql::{
    CapOverrides, Catalog, Place, Plan, PreparedQuery, QueryRequest, Source,
    required_caps::Missing,
    sizes::{CANDIDATES, Sizes},
};
use veracity_account::claims::Subject;
use veracity_core::{Adjacency, Count, Delta, Epsilon, Mechanism, Refusal};
use veracity_mechanisms::{Movement, permute_and_flip};
use veracity_noise::NoiseStream;

/// The part of units that a cap should leave whole.
const SHARE: (i64, i64) = (9, 10);
/// How far a score moves with one unit, at most.
const MOVED: u64 = 9;
/// The least and the largest part of ε for choosing caps.
const PARTS: (f64, f64) = (0.01, 0.5);

/// Caps that are still to be chosen.
#[derive(Debug, Clone, PartialEq)]
pub struct CapSuggestion {
    /// The ε of each choice.
    pub epsilon: Epsilon,
    /// The ε of the answer.
    pub left: Epsilon,
    /// Which caps are chosen.
    pub(crate) missing: Missing,
    /// How many of the list can be chosen: noise for larger caps is too wide.
    most: usize,
    /// What is asked, within what is left of ε.
    request: Box<QueryRequest>,
    catalog: Box<Catalog>,
}

impl CapSuggestion {
    /// The query with one row and one group in place of the caps that are to be chosen, and the claim of the whole.
    ///
    /// # Errors
    /// Refuses a part of ε out of range, a query whose caps it does not choose, and what the query is refused for.
    pub(crate) fn prepare(
        part: f64,
        missing: Missing,
        request: &QueryRequest,
        (catalog, plan): (&Catalog, &Plan),
    ) -> Result<PreparedQuery, Refusal> {
        if !(PARTS.0..=PARTS.1).contains(&part) {
            return Err(Refusal::out_of_range(
                "suggest_caps",
                part,
                "0.01 ≤ suggest_caps ≤ 0.5, the part of epsilon for choosing the caps",
            ));
        }
        check_form(plan)?;
        let choices = u64::from(missing.rows) + u64::from(missing.groups);
        let epsilon = Epsilon::new(request.epsilon.get() * part / choices as f64 * (1.0 - 1e-12))?;
        let left = Epsilon::new(request.epsilon.get() * (1.0 - part) * (1.0 - 1e-12))?;
        let inner = QueryRequest { epsilon: left, suggest_caps: None, ..request.clone() };
        let mut suggestion = CapSuggestion {
            epsilon,
            left,
            missing,
            most: 1,
            request: Box::new(inner),
            catalog: Box::new(catalog.clone()),
        };
        // Whether there is an answer is known before a row is read: for the smallest caps, and for the largest that are on offer.
        let least = suggestion.with((0, 0))?;
        let largest = (0..CANDIDATES.len()).rev().find(|at| *at == 0 || suggestion.with((*at, *at)).is_ok());
        suggestion.most = largest.unwrap_or(0) + 1;
        suggestion.charged(PreparedQuery { suggestion: Some(suggestion.clone()), ..least }, request)
    }

    /// The same query with the caps at these places of the list, where they are to be chosen.
    fn with(&self, (rows, groups): (usize, usize)) -> Result<PreparedQuery, Refusal> {
        let cap = |is_missing: bool, at: usize| is_missing.then(|| Count::new(CANDIDATES[at])).transpose();
        let given = self.request.caps;
        let caps = CapOverrides {
            rows: cap(self.missing.rows, rows)?.or(given.rows),
            groups: cap(self.missing.groups, groups)?.or(given.groups),
        };
        QueryRequest { caps, ..(*self.request).clone() }.prepare(&self.catalog)
    }

    /// Charges a query as what it is at least: each choice at its ε, and the rest at what is left, whatever caps it has.
    fn charged(&self, prepared: PreparedQuery, request: &QueryRequest) -> Result<PreparedQuery, Refusal> {
        let choices = usize::from(self.missing.rows) + usize::from(self.missing.groups);
        let choice = Mechanism::Approximate { epsilon: self.epsilon, delta: Delta::ZERO };
        let rest = Mechanism::Approximate { epsilon: self.left, delta: request.delta };
        let parts = std::iter::repeat_n(choice, choices).chain([rest]).collect();
        let subject = Subject {
            mechanism: Mechanism::Composed(parts),
            adjacency: Adjacency::AddRemove,
            unit: prepared.subject.unit.clone(),
        };
        let answer = certified(&subject, request.epsilon, request.delta)?
            .ok_or_else(|| none_certified(request.epsilon))?;
        Ok(PreparedQuery { subject, answer, is_declared: true, ..prepared })
    }

    /// Draws the caps from the sizes of units, and returns the query with them. Only the draw reads the data.
    pub(crate) fn choose(
        &self,
        waiting: &PreparedQuery,
        sizes: &Sizes,
        rng: &mut NoiseStream,
    ) -> Result<PreparedQuery, Refusal> {
        let rows = if self.missing.rows { self.draw(&sizes.rows, rng)? } else { 0 };
        let groups = if self.missing.groups { self.draw(&sizes.groups, rng)? } else { 0 };
        // A pair on the list that has no noise gives way to smaller caps. The smallest were prepared before.
        let (mut at, mut found) = ((rows, groups), self.with((rows, groups)));
        while found.is_err() && at != (0, 0) {
            at = (at.0.saturating_sub(1), at.1.saturating_sub(1));
            found = self.with(at);
        }
        let (subject, answer) = (waiting.subject.clone(), waiting.answer.clone());
        Ok(PreparedQuery { subject, answer, is_declared: true, ..found? })
    }

    /// The place of a cap on the list, by how many units fit each place.
    fn draw(&self, fitting: &[i64], rng: &mut NoiseStream) -> Result<usize, Refusal> {
        let scores = scores(fitting);
        let drawn =
            permute_and_flip(&scores[..self.most], Count::new(MOVED)?, Movement::Any, self.epsilon, rng)?;
        Ok(drawn.index)
    }
}

/// The score of each place, by how many units fit it and none before it; the last number is of units that fit none.
fn scores(fitting: &[i64]) -> Vec<i64> {
    let (part, of) = SHARE;
    let all: i64 = fitting.iter().sum();
    let mut before = 0;
    let places = fitting.iter().take(fitting.len() - 1).map(|number| {
        let (less, up_to) = (before, before + number);
        before = up_to;
        -(part * all - of * up_to).max(of * less - part * all).max(0)
    });
    places.collect()
}

/// Refuses queries whose caps mean something else.
fn check_form(plan: &Plan) -> Result<(), Refusal> {
    if plan.every.is_some() || !plan.others.is_empty() {
        return Err(Refusal::invalid(
            "suggest_caps chooses the caps of one grouping, not of ROLLUP, CUBE, GROUPING SETS or every; set rows_per_group and \
             groups_per_person",
        ));
    }
    let is_input =
        |source: &Source| matches!(&source.table.place, Place::File(path) if path.as_os_str() == "-");
    if plan.sources.iter().any(is_input) {
        return Err(Refusal::invalid(
            "suggest_caps reads a table twice, which standard input does not allow; set rows_per_group and groups_per_person",
        ));
    }
    if plan.sources.iter().any(|source| source.per_unit.is_some() || source.most.is_some()) {
        return Err(Refusal::invalid(
            "suggest_caps does not choose caps for subqueries and joins of private tables; set rows_per_group and groups_per_person",
        ));
    }
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// By enumeration of all sizes of up to three units out of six places, and one unit more: no score moves by more than nine, and some
    /// by nine.
    #[test]
    fn one_unit_moves_each_score_by_at_most_nine() {
        let mut most = 0;
        for code in 0..4i64.pow(6) {
            let fitting: Vec<i64> = (0..6).map(|place| code / 4i64.pow(place) % 4).collect();
            for more in 0..6 {
                let mut other = fitting.clone();
                other[more] += 1;
                let moved = scores(&fitting).iter().zip(scores(&other)).map(|(a, b)| (a - b).abs()).max();
                most = most.max(moved.unwrap());
            }
        }
        assert_eq!(most, MOVED as i64);
    }

    /// The best place is the first that leaves nine of ten units whole, by counting.
    #[test]
    fn the_best_place_leaves_nine_of_ten_units_whole() {
        for fitting in [
            vec![90, 5, 5, 0],
            vec![89, 0, 11, 0],
            vec![0, 0, 100, 0],
            vec![50, 39, 10, 1],
            vec![10, 0, 0, 0],
        ] {
            let scores = scores(&fitting);
            let all: i64 = fitting.iter().sum();
            let right = (0..3).find(|at| 10 * fitting[..=*at].iter().sum::<i64>() >= 9 * all).unwrap();
            assert_eq!(scores[right], 0, "{fitting:?} {scores:?}");
            assert!(scores.iter().filter(|score| **score == 0).count() <= 2, "{fitting:?} {scores:?}");
        }
        // Of no units each place is as good.
        assert_eq!(scores(&[0, 0, 0]), [0, 0]);
    }
}
