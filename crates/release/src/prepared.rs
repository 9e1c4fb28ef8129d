//! From a question about a column and a budget to an answer with its error bar and its claim.
//!
//! The accountant finds the least noise whose certified ε is within the budget; the design at that noise both draws the
//! noise and describes it, so that code and claim cannot drift.

use crate::{Bounded, Persons, answer_note};
use veracity_account::calibrate;
use veracity_claims::{
    Answer, Choice, ClaimFile, NoiseNote, Provenance, ReleaseNote, Subject, Target, account,
};
use veracity_core::{Adjacency, Count, Delta, Epsilon, Mechanism, PrivacyUnit, Refusal};
use veracity_noise::{Noise, NoiseStream};
use veracity_query::{Column, Design, Draw, NoiseKind, Part, Question, Release, Statistic};

/// Rows that a preview assumes where it is told none.
pub const USUAL_ROWS: u64 = 1000;

/// The ε of a release. Below, no noise that is drawn would do; above, it protects nobody, and its certificate takes minutes.
const RANGE: std::ops::RangeInclusive<f64> = 1e-9..=1000.0;

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
pub struct Prepared {
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

    /// What is protected. A name that no column backs would be a promise that nobody keeps.
    fn unit(&self) -> Result<PrivacyUnit, Refusal> {
        match (&self.unit, &self.persons) {
            (None, None) => PrivacyUnit::new("row"),
            (None, Some(_)) => PrivacyUnit::new("person"),
            (Some(unit), None) if unit.name() == "row" => Ok(unit.clone()),
            (Some(unit), None) => Err(Refusal::invalid(format!(
                "unit is {0}, expected row, or a person column to say which rows are of one {0}",
                unit.name()
            ))),
            (Some(unit), Some(_)) if unit.name() == "row" => Err(Refusal::invalid(
                "unit is row together with a person column, expected another name for whose rows they are",
            )),
            (Some(unit), Some(_)) => Ok(unit.clone()),
        }
    }
}

/// Finds the least noise within the budget.
pub fn prepare(request: &ReleaseRequest) -> Result<Prepared, Refusal> {
    if request.column.is_none() && request.question.statistic != Statistic::Count {
        let statistic = request.question.statistic.name();
        return Err(Refusal::invalid(format!(
            "column is missing, expected it with {statistic}; nothing was released"
        )));
    }
    if !RANGE.contains(&request.epsilon.get()) {
        return Err(Refusal::out_of_range("epsilon", request.epsilon, "1e-9 ≤ epsilon ≤ 1000 for a release"));
    }
    if request.persons.is_some() && request.question.adjacency != Adjacency::AddRemove {
        // There the number of rows is public, but how many of them are kept depends on how they belong to people.
        return Err(Refusal::no_theorem(
            "rows bounded by person",
            request.question.adjacency,
            "use add-remove, under which a person with all rows comes or goes",
        ));
    }
    let kinds: &[NoiseKind] = match request.kind {
        Some(NoiseKind::Laplace) => &[NoiseKind::Laplace],
        Some(NoiseKind::Gaussian) => &[NoiseKind::Gaussian],
        // Gaussian noise has no finite ε at δ = 0.
        None if request.delta.get() == 0.0 => &[NoiseKind::Laplace],
        None => &[NoiseKind::Laplace, NoiseKind::Gaussian],
    };
    let mut best: Option<Prepared> = None;
    let mut refusal = None;
    for kind in kinds {
        match prepare_with(request, *kind) {
            Ok(found) if best.as_ref().is_none_or(|best| error(&found) < error(best)) => best = Some(found),
            Ok(_) => {}
            Err(why) => refusal = Some(why),
        }
    }
    match (best, refusal) {
        (Some(best), _) => Ok(best),
        (None, Some(refusal)) => Err(refusal),
        (None, None) => Err(Refusal::invalid("no noise was tried")),
    }
}

fn error(prepared: &Prepared) -> f64 {
    let preview = prepared.design.preview(USUAL_ROWS);
    preview.rank_error.unwrap_or(preview.error_bar)
}

fn prepare_with(request: &ReleaseRequest, kind: NoiseKind) -> Result<Prepared, Refusal> {
    if kind == NoiseKind::Gaussian && request.delta.get() == 0.0 {
        return Err(Refusal::out_of_range("delta", 0, "delta > 0 with gaussian noise"));
    }
    let adjacency = request.question.adjacency;
    let family =
        |noise| request.question.design(kind, noise).map(|design| charged(request, design.mechanism()));
    let noise = calibrate::least_noise(&family, adjacency, request.epsilon, request.delta)?;
    let design = request.question.design(kind, noise)?;
    let subject =
        Subject { mechanism: charged(request, design.mechanism()), adjacency, unit: request.unit()? };
    let answer = account(&subject, Target::Delta(request.delta), Choice::Best)?;
    match answer.epsilon.upper() {
        Some(spent) if spent.0 <= request.epsilon => {
            Ok(Prepared { design, subject, answer, persons: request.persons.clone() })
        }
        _ => Err(Refusal::invalid(format!(
            "no noise was certified within epsilon {}, expected a larger epsilon",
            request.epsilon
        ))),
    }
}

/// What one unit of the request is charged: all rows that it may have.
///
/// # Promise  K rows move every integer answer by at most K times what one row does, so the noise of each call hides K times its
/// sensitivity; K rows in several bins of a histogram are a chain of K steps, which costs no more than K steps in one bin
fn charged(request: &ReleaseRequest, mechanism: Mechanism) -> Mechanism {
    match &request.persons {
        Some(Persons { rows, .. }) if *rows != Count::ONE => {
            Mechanism::Group { size: *rows, mechanism: Box::new(mechanism) }
        }
        Some(_) | None => mechanism,
    }
}

/// An answer and the claim that goes with it.
#[derive(Debug, Clone)]
pub struct Released {
    /// The answer.
    pub release: Release,
    /// What it promises.
    pub claim: ClaimFile,
}

impl Prepared {
    /// Answers from a column of `named` data. Each call spends the budget anew.
    ///
    /// The stream is the caller's and goes on from call to call. One drawn here, from a key, would be the same for every
    /// call, and the difference of two answers would have no noise at all.
    pub fn release(
        &self,
        column: &Column,
        named: (&Provenance, Option<&str>),
        rng: &mut NoiseStream,
    ) -> Result<Released, Refusal> {
        match &self.persons {
            None => self.answer(column, named, rng),
            Some(_) => Err(Refusal::invalid("rows are not bounded by person, expected them to be")),
        }
    }

    /// Answers from rows that were bounded by person as the request says.
    pub fn release_bounded(
        &self,
        rows: &Bounded,
        named: (&Provenance, Option<&str>),
        rng: &mut NoiseStream,
    ) -> Result<Released, Refusal> {
        match &self.persons {
            Some(persons) if persons.rows == rows.rows() => self.answer(rows.column(), named, rng),
            Some(_) | None => Err(Refusal::invalid("rows are bounded otherwise, expected them as ordered")),
        }
    }

    fn answer(
        &self,
        column: &Column,
        named: (&Provenance, Option<&str>),
        rng: &mut NoiseStream,
    ) -> Result<Released, Refusal> {
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
        Ok(Released { release, claim: claim.with_release(note) })
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
