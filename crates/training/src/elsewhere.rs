//! A training whose steps were taken elsewhere, such as in PyTorch: its tensors, its claim and its report, in a folder as of any run.
//!
//! The caller states the mechanism, the noise call and the facts. From them the claim and the report are made here, by the code that
//! makes those of other runs, so `verify` recomputes the one and the other says the same.

use super::{
    Cost, Entry, OutFolder,
    model::CARD,
    page,
    prepared::shortened,
    tensors::{Tensor, Tensors},
};
use std::{collections::BTreeMap, path::Path};
use veracity_account::claims::{
    Choice, ClaimFile, NoiseNote, Provenance, ReleaseNote, Subject, Target, account, explain, moment,
    release_note::MODEL, spec::Whole,
};
use veracity_core::{Count, Error, Origin, Probability, Refusal, files::since_1970};
use veracity_report::html::{Block, Page, Section};
use veracity_train::Unit;

/// The schema of the card in the metadata of such a model.
pub const SCHEMA: &str = "veracity.torch-model/1";

/// The tensors of a model that was trained elsewhere.
#[derive(Debug)]
pub struct ModelElsewhere {
    file: Tensors,
}

impl ModelElsewhere {
    /// Takes tensors by name, shape and numbers, and a card in JSON that says how they are used.
    ///
    /// # Errors
    /// Refuses numbers that are not finite or do not fit their shape, a name that comes twice, and a card of another schema.
    pub fn new(
        card: String,
        tensors: Vec<(String, Vec<usize>, Vec<f32>)>,
    ) -> Result<ModelElsewhere, Refusal> {
        let schema = serde_json::from_str::<serde_json::Value>(&card).ok();
        if schema.is_none_or(|card| card["schema"] != SCHEMA) {
            return Err(Refusal::invalid(format!("card has another schema, expected {SCHEMA}")));
        }
        let mut names = std::collections::BTreeSet::new();
        for (name, shape, values) in &tensors {
            if shape.iter().try_fold(1usize, |size, side| size.checked_mul(*side)) != Some(values.len()) {
                return Err(Refusal::invalid("a tensor has another size than its shape"));
            }
            if !names.insert(name.as_str()) {
                return Err(Refusal::invalid("two tensors have the same name; save each tensor once"));
            }
            if !values.iter().all(|value| value.is_finite()) {
                return Err(Refusal::invalid(
                    "weights are not finite after the last step; use a smaller learning rate (the cost of this run is spent)",
                ));
            }
        }
        let about = BTreeMap::from([(CARD.to_owned(), card), ("format".to_owned(), "pt".to_owned())]);
        let tensors =
            tensors.into_iter().map(|(name, shape, values)| Tensor { name, shape, values }).collect();
        Ok(ModelElsewhere { file: Tensors { about, tensors } })
    }

    /// Writes the model, its claim and its report to a folder, all or none. See [`Entry`] for a folder that is not empty.
    ///
    /// # Errors
    /// A folder that holds something else or cannot be written.
    pub fn hand_over(
        &self,
        folder: &Path,
        entry: Entry,
        claim: &ClaimFile,
        report: &str,
    ) -> Result<(), Error> {
        OutFolder::open(folder, entry)?.hand_over(&self.file.to_bytes(), Some(claim), Some(report))
    }
}

/// What is stated of a training that ran elsewhere.
#[derive(Debug)]
pub struct RunElsewhere {
    cost: Cost,
    origin: Origin,
    steps: u64,
    noise: NoiseNote,
    facts: Vec<(String, String)>,
    points: Vec<String>,
    time: String,
}

impl RunElsewhere {
    /// A training that cost so much in so many steps. `noise` is its noise call: the place, the grid, what one record contributes in
    /// steps of the grid, and the noise over that. `facts` go into the report, and `points` to its assumptions.
    ///
    /// # Errors
    /// Refuses a clock before 1970.
    pub fn new(
        cost: Cost,
        origin: Origin,
        steps: u64,
        (place, granularity, contribution, multiplier): (String, f64, f64, f64),
        facts: Vec<(String, String)>,
        points: Vec<String>,
    ) -> Result<RunElsewhere, Error> {
        let since = since_1970()?;
        let noise = NoiseNote {
            place,
            sampler: "gaussian-vector".to_owned(),
            granularity,
            sensitivity: Whole(contribution.ceil()),
            scale: multiplier * contribution,
        };
        let time = moment::written(since.as_secs(), since.subsec_nanos());
        Ok(RunElsewhere { cost, origin, steps, noise, facts, points, time })
    }

    /// The claim, tied to the model, and the report.
    ///
    /// # Errors
    /// Refuses what a claim cannot hold.
    pub fn written(&self, model: &ModelElsewhere, dataset: &str) -> Result<(ClaimFile, String), Error> {
        let origin = (self.origin, self.origin.is_releasable());
        let note = ReleaseNote::new(MODEL, origin, vec![self.noise.clone()]);
        let provenance = Provenance::at(dataset, self.time.clone())?;
        let claim = ClaimFile::new(&self.cost.subject, &self.cost.answer)?.with_release(note);
        Ok((claim.of_model(model.file.digest(), &provenance), self.report()?.render()))
    }

    /// What the first so many steps leak at the δ of the claim.
    fn epsilon_after(&self, steps: u64) -> Option<f64> {
        let mechanism = shortened(&self.cost.subject.mechanism, Count::new(steps).ok()?)?;
        let subject = Subject { mechanism, ..self.cost.subject.clone() };
        let answer = account(&subject, Target::Delta(self.cost.delta), Choice::Best).ok()?;
        answer.epsilon.upper().map(|upper| upper.0.get())
    }

    fn report(&self) -> Result<Page, Refusal> {
        let RunElsewhere { cost, steps, time, .. } = self;
        let told = explain(&cost.subject, Target::Delta(cost.delta), &[Probability::new(0.5)?])?;
        let mut facts = vec![
            ("Date".to_owned(), page::minute(time)),
            ("Version".to_owned(), format!("veracity {}", env!("CARGO_PKG_VERSION"))),
            ("Mechanism".to_owned(), cost.subject.describe()),
        ];
        facts.extend(self.facts.iter().cloned());
        let randomness = match self.origin.is_releasable() {
            true => "random number generator of the operating system",
            false => "a seed; not for release",
        };
        facts.push(("Randomness".to_owned(), randomness.to_owned()));
        // A unit of several records is stated by its name, and its records were clipped together.
        let unit = match cost.subject.unit.name() {
            "record" | "example" => Unit::Record,
            _ => Unit::Person,
        };
        let mut points = page::assumptions(&told, unit);
        points.extend(self.points.iter().cloned());
        let pictures = page::pictures(cost, *steps, |steps| self.epsilon_after(steps))?;
        Ok(Page {
            title: "Report of a private training run".to_owned(),
            lead: page::lead(Some((cost, &told)), self.origin.is_releasable(), false),
            sections: vec![
                Section::new("What was trained", vec![Block::Facts(facts)]),
                Section::new("The guarantee", page::guarantee(cost, &told)),
                Section::new("Charts", vec![Block::Figures(pictures)]),
                Section::new("Assumptions", vec![Block::Points(points)]),
                Section::new("Not covered by the guarantee", vec![Block::Points(page::limits())]),
                page::recompute(false),
            ],
            footer: format!("Written by veracity {}.", env!("CARGO_PKG_VERSION")),
        })
    }
}
