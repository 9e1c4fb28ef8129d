//! From a question about a column and a budget to an answer with its error bar and its claim.
//!
//! The accountant finds the least noise whose certified ε is within the budget; the design at that noise both draws the
//! noise and describes it, so that code and claim cannot drift.

use crate::{
    BoundedRows, Persons, answer_note,
    least_noise::{certified, check_epsilon, none_certified, of_rows, with_better_noise},
};
use veracity_account::calibrate;
use veracity_account::claims::{Answer, ClaimFile, NoiseNote, Provenance, ReleaseNote, Subject};
use veracity_core::{Adjacency, Count, Delta, Epsilon, Mechanism, PrivacyUnit, Refusal};
use veracity_mechanisms::{Bounds, Column, Design, Draw, NoiseKind, Part, Question, Release, Statistic};
use veracity_noise::{Noise, NoiseStream};

/// Rows that a preview assumes unless it is given a number.
pub const USUAL_ROWS: u64 = 1000;

/// What is asked of a column, and what it may cost.
#[derive(Debug, Clone)]
pub struct ReleaseRequest {
    /// The question.
    pub question: Question,
    /// The column it is about; a count takes every row without one.
    pub column: Option<String>,
    /// What one unit is called [default: row, or person where rows belong to people].
    pub unit: Option<PrivacyUnit>,
    /// How rows belong to people; by default, each is for itself.
    pub persons: Option<Persons>,
    /// The ε to keep within.
    pub epsilon: Epsilon,
    /// The δ it is for.
    pub delta: Delta,
    /// Which noise; by default the one with the smaller error.
    pub kind: Option<NoiseKind>,
}

/// A release that is ready to be made: its noise and its certified cost. No data were seen.
#[derive(Debug, Clone)]
pub struct PreparedRelease {
    /// The release at the least noise within the budget.
    pub design: Design,
    /// What it does to whose data.
    pub subject: Subject,
    /// What it leaks.
    pub answer: Answer,
    /// How rows belong to people.
    pub persons: Option<Persons>,
}

impl ReleaseRequest {
    /// A question about a column, each row for itself, without a δ.
    pub fn new(question: Question, column: Option<&str>, epsilon: Epsilon) -> ReleaseRequest {
        ReleaseRequest {
            question,
            column: column.map(str::to_owned),
            unit: None,
            persons: None,
            epsilon,
            delta: Delta::ZERO,
            kind: None,
        }
    }

    /// The mean of a column whose values are clamped to `lower` and `upper`, each row for itself, at δ = 0.
    ///
    /// # Errors
    /// Refuses bounds or an ε out of range.
    pub fn mean(column: &str, lower: f64, upper: f64, epsilon: f64) -> Result<ReleaseRequest, Refusal> {
        let statistic = Statistic::Mean(Bounds::new(lower, upper)?);
        let question = Question { statistic, adjacency: Adjacency::AddRemove };
        Ok(ReleaseRequest::new(question, Some(column), Epsilon::new(epsilon)?))
    }

    /// What is protected. A name that no column backs would be an empty promise.
    fn unit(&self) -> Result<PrivacyUnit, Refusal> {
        match (&self.unit, &self.persons) {
            (None, None) => PrivacyUnit::new("row"),
            (None, Some(_)) => PrivacyUnit::new("person"),
            (Some(unit), None) if unit.name() == "row" => Ok(unit.clone()),
            (Some(unit), None) => Err(Refusal::invalid(format!(
                "unit {0} needs a privacy ID column that says which rows belong to one {0}; name the \
                 column, or use the unit row",
                unit.name()
            ))),
            (Some(unit), Some(_)) if unit.name() == "row" => Err(Refusal::invalid(
                "unit row conflicts with a privacy ID column; name the unit after the owner of the rows, \
                 such as person",
            )),
            (Some(unit), Some(_)) => Ok(unit.clone()),
        }
    }
}

/// Finds the least noise within the budget.
///
/// # Errors
/// Refuses a question without its column, an ε out of range, and a budget that no noise keeps.
pub fn prepare(request: &ReleaseRequest) -> Result<PreparedRelease, Refusal> {
    if request.column.is_none() && request.question.statistic != Statistic::Count {
        let statistic = request.question.statistic.name();
        return Err(Refusal::invalid(format!("{statistic} needs a column; nothing was released")));
    }
    check_epsilon(request.epsilon, "1e-9 ≤ epsilon ≤ 1000 for a release")?;
    if request.persons.is_some() && request.question.adjacency != Adjacency::AddRemove {
        // There the number of rows is public, but how many of them are kept depends on how they belong to people.
        return Err(Refusal::no_theorem(
            "rows capped per person",
            request.question.adjacency,
            "use add-remove, which adds or removes a person with all their rows",
        ));
    }
    with_better_noise(request.kind, request.delta, |kind| prepare_with(request, kind), error)
}

fn error(prepared: &PreparedRelease) -> f64 {
    let preview = prepared.design.preview(USUAL_ROWS);
    preview.rank_error.unwrap_or(preview.error_bar)
}

fn prepare_with(request: &ReleaseRequest, kind: NoiseKind) -> Result<PreparedRelease, Refusal> {
    let adjacency = request.question.adjacency;
    let family =
        |noise| request.question.design(kind, noise).map(|design| charged(request, design.mechanism()));
    let noise = calibrate::least_noise(&family, adjacency, request.epsilon, request.delta)?;
    let design = request.question.design(kind, noise)?;
    let subject =
        Subject { mechanism: charged(request, design.mechanism()), adjacency, unit: request.unit()? };
    let answer = certified(&subject, request.epsilon, request.delta)?;
    let answer = answer.ok_or_else(|| none_certified(request.epsilon))?;
    Ok(PreparedRelease { design, subject, answer, persons: request.persons.clone() })
}

/// What one unit of the request is charged: all rows that it may have.
///
/// # Promise  K rows move every integer answer by at most K times what one row does, so the noise of each call hides K times its
/// sensitivity; K rows in several bins of a histogram are a chain of K steps, which costs no more than K steps in one bin
fn charged(request: &ReleaseRequest, mechanism: Mechanism) -> Mechanism {
    of_rows(mechanism, request.persons.as_ref().map_or(Count::ONE, |persons| persons.rows))
}

/// An answer and the claim that goes with it.
#[derive(Debug, Clone)]
pub struct ReleaseWithClaim {
    /// The answer.
    pub release: Release,
    /// What it promises.
    pub claim: ClaimFile,
}

impl PreparedRelease {
    /// Answers from a column of `named` data. Each call spends the budget again.
    ///
    /// The stream is the caller's and goes on from call to call. One drawn here, from a key, would be the same for every
    /// call, and the difference of two answers would have no noise at all.
    ///
    /// # Errors
    /// Refuses a request with people, and a column of another kind.
    pub fn release(
        &self,
        column: &Column,
        named: (&Provenance, Option<&str>),
        rng: &mut NoiseStream,
    ) -> Result<ReleaseWithClaim, Refusal> {
        match &self.persons {
            None => self.answer(column, named, rng),
            Some(_) => Err(Refusal::invalid(
                "the rows are not capped per person, but the request has a privacy ID column; cap them first",
            )),
        }
    }

    /// Answers from rows that were bounded by person as the request says.
    ///
    /// # Errors
    /// Refuses rows that were bounded otherwise, and a column of another kind.
    pub fn release_bounded(
        &self,
        rows: &BoundedRows,
        named: (&Provenance, Option<&str>),
        rng: &mut NoiseStream,
    ) -> Result<ReleaseWithClaim, Refusal> {
        match &self.persons {
            Some(persons) if persons.rows == rows.rows() => self.answer(rows.column(), named, rng),
            Some(_) | None => {
                Err(Refusal::invalid("the rows are capped differently than the request asks; cap them again"))
            }
        }
    }

    fn answer(
        &self,
        column: &Column,
        named: (&Provenance, Option<&str>),
        rng: &mut NoiseStream,
    ) -> Result<ReleaseWithClaim, Refusal> {
        // The claim first: an answer whose promise cannot be written down is not given.
        let mut claim = ClaimFile::new(&self.subject, &self.answer)?;
        if let Some(persons) = &self.persons {
            claim = claim.with_persons(persons.note());
        }
        let statistic = &self.design.question().statistic;
        let (provenance, name) = named;
        let drawn = (rng.origin(), rng.is_releasable());
        let release = self.design.release(column, rng)?;
        let note = ReleaseNote::new(statistic.name(), drawn, self.notes())
            .with_provenance(provenance)
            .with_answer(name, answer_note::parameters(statistic), answer_note::answer(&release.cells));
        Ok(ReleaseWithClaim { release, claim: claim.with_release(note) })
    }

    /// The noise calls, as a claim lists them.
    pub fn notes(&self) -> Vec<NoiseNote> {
        self.design.parts().iter().map(noise_note).collect()
    }
}

pub(crate) fn noise_note(part: &Part) -> NoiseNote {
    let (sampler, scale) = match part.draw {
        Draw::Added(Noise::Laplace { scale }) => ("discrete-laplace", scale.as_f64()),
        Draw::Added(Noise::Gaussian { sigma }) => ("discrete-gaussian", sigma.as_f64()),
        // exp(ε u / 2Δ): the temperature in units of the score.
        Draw::Chosen { epsilon } => ("exponential", 2.0 * part.sensitivity.as_f64() / epsilon.get()),
    };
    NoiseNote {
        place: part.place.to_owned(),
        sampler: sampler.to_owned(),
        granularity: part.granularity,
        sensitivity: part.sensitivity.into(),
        scale,
    }
}
