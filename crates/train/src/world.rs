//! A dataset and its neighbours, without copies: records at fixed positions, one of which may be blank or another's.
//!
//! Batches are drawn from positions. A record that is left out leaves its position blank and one that is added comes last,
//! so two adjacent worlds draw the same batches but for that record, and thousands of models share one dataset.

use crate::{CraftedGradient, Dataset, Labels, People, loss::Label};
use veracity_core::Refusal;

/// What a model is trained on.
///
/// # Examples
///
/// ```
/// use veracity_train::{Dataset, Labels, World};
///
/// let data = Dataset::new(vec![1.0, 2.0], 1, Labels::Values(vec![0.0, 0.0]))?;
/// let canary = Dataset::new(vec![9.0], 1, Labels::Values(vec![1.0]))?;
/// // A record that is left out leaves its place blank; one that is added comes last.
/// assert_eq!(World::from(&data).without(0)?.len(), 2);
/// assert_eq!(World::from(&data).with(&canary)?.len(), 3);
/// assert!(World::from(&data).without(2).is_err());
/// # Ok::<(), veracity_core::Refusal>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct World<'a> {
    data: &'a Dataset,
    people: Option<&'a People>,
    added: Option<&'a Dataset>,
    planted: Option<PlantedRecords<'a>>,
    changed: Option<Replacement<'a>>,
    crafted: &'a [Option<&'a CraftedGradient>],
}

/// Records of which each is there or not, or there in one of two forms.
#[derive(Debug, Clone, Copy)]
struct PlantedRecords<'a> {
    is_in: &'a [bool],
    inside: &'a Dataset,
    /// What stands in the place of a record that is not in; a blank when there is nothing here.
    outside: Option<&'a Dataset>,
}

/// A position with another content than the dataset's.
#[derive(Debug, Clone, Copy)]
struct Replacement<'a> {
    position: usize,
    /// One record, or a blank.
    by: Option<&'a Dataset>,
}

/// Where a dataset is of people, a position is a person, who enters batches with all records and whose gradients are averaged and
/// clipped together. Whatever is added or planted is a person with one record.
impl<'a> From<&'a Dataset> for World<'a> {
    fn from(data: &'a Dataset) -> World<'a> {
        World { data, people: data.people(), added: None, planted: None, changed: None, crafted: &[] }
    }
}

/// What a world is made of, for a device that takes many of them at once.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct WorldParts<'a> {
    /// The records at the first positions.
    pub data: &'a Dataset,
    /// Those at the next.
    pub added: Option<&'a Dataset>,
    /// Then a position for each choice: whether what stands there is a record of `inside`, or one of `outside` or nothing.
    pub is_in: &'a [bool],
    /// The records that are in.
    pub inside: Option<&'a Dataset>,
    /// What stands in the places of those that are not.
    pub outside: Option<&'a Dataset>,
    /// A position with another record, or with none.
    pub changed: Option<(usize, Option<&'a Dataset>)>,
    /// Then records that are given as gradients, or blanks.
    pub crafted: &'a [Option<&'a CraftedGradient>],
}

impl<'a> World<'a> {
    /// The dataset whose records come first.
    pub fn data(&self) -> &'a Dataset {
        self.data
    }

    /// What it is made of.
    pub fn parts(&self) -> WorldParts<'a> {
        WorldParts {
            data: self.data,
            added: self.added,
            is_in: self.planted.map_or(&[], |planted| planted.is_in),
            inside: self.planted.map(|planted| planted.inside),
            outside: self.planted.and_then(|planted| planted.outside),
            changed: self.changed.map(|changed| (changed.position, changed.by)),
            crafted: self.crafted,
        }
    }

    /// Whether a position may stand for several records.
    pub(crate) fn has_people(&self) -> bool {
        self.people.is_some()
    }

    /// The dataset and further records after its own.
    ///
    /// # Errors
    /// Refuses records of another width.
    pub fn with(self, added: &'a Dataset) -> Result<World<'a>, Refusal> {
        if added.width() == self.data.width() {
            return Ok(World { added: Some(added), ..self });
        }
        Err(Refusal::Invalid("added records do not have the same number of features as the dataset".into()))
    }

    /// With further records after all others: each that is in as `inside` has it, each that is not as `outside` has it, or
    /// blank.
    ///
    /// # Errors
    /// Refuses records of another number or width.
    pub fn planting(
        self,
        is_in: &'a [bool],
        inside: &'a Dataset,
        outside: Option<&'a Dataset>,
    ) -> Result<World<'a>, Refusal> {
        let fits = |records: &Dataset| records.len() == is_in.len() && records.width() == self.data.width();
        if !fits(inside) || !outside.is_none_or(fits) {
            return Err(Refusal::Invalid(
                "planted records need one record per choice, each with as many features as the dataset"
                    .into(),
            ));
        }
        Ok(World { planted: Some(PlantedRecords { is_in, inside, outside }), ..self })
    }

    /// With records that are given as gradients, after all others; a missing one leaves its position blank.
    pub fn crafting(self, crafted: &'a [Option<&'a CraftedGradient>]) -> World<'a> {
        World { crafted, ..self }
    }

    /// Without the record at a position: left out or zeroed, which are the same here since a blank contributes nothing.
    ///
    /// # Errors
    /// Refuses a position past the last record.
    pub fn without(self, position: usize) -> Result<World<'a>, Refusal> {
        self.changed(position, None)
    }

    /// With the only record of `by` in place of the record at a position.
    ///
    /// # Errors
    /// Refuses a position past the last record, and anything but one record of the same width.
    pub fn replacing(self, position: usize, by: &'a Dataset) -> Result<World<'a>, Refusal> {
        if by.len() != 1 || by.width() != self.data.width() {
            return Err(Refusal::Invalid(
                "a record can be replaced only by a single record with as many features".into(),
            ));
        }
        self.changed(position, Some(by))
    }

    fn changed(self, position: usize, by: Option<&'a Dataset>) -> Result<World<'a>, Refusal> {
        if position < self.records() {
            return Ok(World { changed: Some(Replacement { position, by }), ..self });
        }
        Err(Refusal::out_of_range("position", position, "a position below the number of records"))
    }

    /// Whether the planted and added records are those of another world: which of them are in may differ.
    pub(crate) fn has_records_of(&self, other: &World<'_>) -> bool {
        let same =
            |a: Option<&Dataset>, b: Option<&Dataset>| a.map(std::ptr::from_ref) == b.map(std::ptr::from_ref);
        let (ours, theirs) = (self.parts(), other.parts());
        same(ours.added, theirs.added)
            && same(ours.inside, theirs.inside)
            && same(ours.outside, theirs.outside)
            && self.len() == other.len()
    }

    /// Whether all records are those of another world: which planted ones are in, and which gradients stand where, may differ.
    pub(crate) fn differs_in_choices_alone(&self, other: &World<'_>) -> bool {
        let replacement =
            |world: &World<'_>| world.changed.and_then(|changed| changed.by).map(std::ptr::from_ref);
        std::ptr::eq(self.data, other.data)
            && self.has_records_of(other)
            && replacement(self) == replacement(other)
    }

    /// How many positions there are, a blank one included.
    pub fn len(&self) -> usize {
        self.records() + self.crafted.len()
    }

    /// How many positions there are for records that have features.
    fn records(&self) -> usize {
        self.unplanted() + self.planted.map_or(0, |planted| planted.is_in.len())
    }

    /// How many of them are there for certain, but for a change.
    pub(crate) fn unplanted(&self) -> usize {
        self.own() + self.added.map_or(0, Dataset::len)
    }

    /// How many positions the dataset itself has.
    fn own(&self) -> usize {
        self.people.map_or(self.data.len(), People::len)
    }

    /// The records that are given as gradients.
    pub(crate) fn all_crafted(&self) -> impl Iterator<Item = &'a CraftedGradient> {
        self.crafted.iter().flatten().copied()
    }

    /// What stands at a position for a record that is given as a gradient, which may be nothing; `None` where records have
    /// features.
    pub(crate) fn crafted_at(&self, position: u32) -> Option<Option<&'a CraftedGradient>> {
        let at = (position as usize).checked_sub(self.records())?;
        Some(self.crafted[at])
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many features a record has.
    pub fn width(&self) -> usize {
        self.data.width()
    }

    /// Whether every position has a record with features, whatever the batch.
    pub(crate) fn is_whole(&self) -> bool {
        self.changed.is_none() && self.planted.is_none() && self.crafted.is_empty()
    }

    /// Whether there is no record at a position.
    pub(crate) fn is_blank(&self, position: u32) -> bool {
        let is_missing = |planted: PlantedRecords<'_>| {
            let at = (position as usize).checked_sub(self.unplanted());
            at.is_some_and(|at| !planted.is_in[at]) && planted.outside.is_none()
        };
        matches!(self.changed, Some(Replacement { position: at, by: None }) if at == position as usize)
            || self.planted.is_some_and(is_missing)
    }

    /// The dataset, where each position is the record of that number and nothing else is there.
    pub(crate) fn records_alone(&self) -> Option<&'a Dataset> {
        (self.is_whole() && self.added.is_none() && self.people.is_none()).then_some(self.data)
    }

    /// Which records those at a position are in, and where.
    pub(crate) fn place(&self, position: usize) -> (&'a Dataset, usize) {
        if let Some(Replacement { position: at, by: Some(by) }) = self.changed
            && at == position
        {
            return (by, 0);
        }
        if let Some(PlantedRecords { is_in, inside, outside }) = self.planted
            && let Some(at) = position.checked_sub(self.unplanted())
        {
            return (if is_in[at] { inside } else { outside.unwrap_or(inside) }, at);
        }
        match self.added {
            Some(added) if position >= self.own() => (added, position - self.own()),
            Some(_) | None => {
                (self.data, self.people.map_or(position, |people| people.records_of(position).start))
            }
        }
    }

    /// The features and labels of all records at a position, one after another.
    pub(crate) fn examples(&self, position: usize) -> impl Iterator<Item = (&'a [f32], Label)> {
        let (records, first) = self.place(position);
        let is_own = std::ptr::eq(records, self.data) && position < self.own();
        let count = match self.people {
            Some(people) if is_own => people.records_of(position).len(),
            Some(_) | None => 1,
        };
        (first..first + count).map(|at| (records.row(at), records.labels().at(at)))
    }

    /// Checks the labels of all its parts.
    pub(crate) fn check_labels(&self, check: impl Fn(&Labels) -> Result<(), Refusal>) -> Result<(), Refusal> {
        check(self.data.labels())?;
        let planted =
            self.planted.into_iter().flat_map(|planted| [Some(planted.inside), planted.outside]).flatten();
        let others = self.added.into_iter().chain(self.changed.and_then(|changed| changed.by)).chain(planted);
        others.into_iter().try_for_each(|records| check(records.labels()))
    }
}
