//! One training with many canaries: each is a record that is in or out by a coin of its own, and the last model is asked about all.
//!
//! Where thousands of trainings are out of reach, one tells something: not how often the attacker is right about one record,
//! but about how many of many records.

use super::{
    planting::part,
    training::{Stakes, settings},
};
use crate::{Brief, CanaryKind, Case, FinalModel, Planted, Scoring, SubjectNote};
use serde_json::Value;
use std::{collections::BTreeMap, sync::Arc};
use veracity_audit::Canary;
use veracity_claims::Subject;
use veracity_core::Error;
use veracity_core::{Adjacency, Count, Epsilon};
use veracity_noise::{Entropy, Key, Purpose, Stream, exact::uniform_below};
use veracity_train::{Dataset, Labels, cohort::Cohort, device::Device};
use veracity_trainer::{Prepared, Protection, TrainingPlan};

/// The kind of these subjects.
pub(crate) const KIND: &str = "one-run";
/// Canaries that are planted when nobody says how many, if there are twice as many records.
const CANARIES: usize = 1000;
/// The side of a backdoor's patch.
const PATCH: usize = 5;
/// What canaries' classes are drawn under; the coins that let them in have another run.
const CLASSES: u64 = 1;

/// What an audit of one run says of it, without its records: they are in `settings`.
pub(crate) fn note(
    subject: &Subject,
    kind: CanaryKind,
    canaries: usize,
    mut settings: BTreeMap<String, Value>,
) -> SubjectNote {
    settings.insert("canary".to_owned(), kind.name().into());
    settings.insert("canaries".to_owned(), canaries.into());
    SubjectNote {
        kind: KIND.to_owned(),
        description: format!("training, {}", subject.describe()),
        attack: format!("{canaries} times {}; the last model's margin on each is read", kind.describe()),
        access: "final model".to_owned(),
        settings,
    }
}

/// What is said and proved of one training of a plan with canaries, and what was prepared for it.
pub(crate) fn brief(
    plan: &TrainingPlan,
    kind: CanaryKind,
    canaries: Option<usize>,
    claimed: Option<Epsilon>,
) -> Result<(Brief, Prepared, Dataset), Error> {
    let data = plan.records()?;
    let prepared = plan.prepare(&data, Protection::Private)?;
    let Stakes { cost, proved, claim } = Stakes::of(&prepared, claimed)?;
    let canaries = canaries.unwrap_or(CANARIES.min(data.len() / 2));
    let note = note(&cost.subject, kind, canaries, settings(plan, &data)?);
    let canaries = u32::try_from(canaries).unwrap_or(u32::MAX);
    let brief = Brief { note, claim, proved, canaries, group: Count::ONE, is_one_run: true };
    Ok((brief, prepared, data))
}

impl Case {
    /// The training that a plan describes, with its last records replaced by canaries. The claim is `claimed`, or what the
    /// accountant proves.
    ///
    /// # Reference  [SteinkeNasrJagielski23], black box
    pub fn one_run(
        plan: &TrainingPlan,
        kind: CanaryKind,
        canaries: Option<usize>,
        claimed: Option<Epsilon>,
        seed: u64,
        trials: Count,
    ) -> Result<Case, Error> {
        Case::one_run_on(None, plan, kind, canaries, claimed, seed, trials)
    }

    /// The same, its model trained on a device where there is one. A plan that the device cannot train is refused before any model is
    /// trained.
    pub fn one_run_on(
        device: Option<Arc<dyn Device>>,
        plan: &TrainingPlan,
        kind: CanaryKind,
        canaries: Option<usize>,
        claimed: Option<Epsilon>,
        seed: u64,
        trials: Count,
    ) -> Result<Case, Error> {
        let (brief, prepared, data) = brief(plan, kind, canaries, claimed)?;
        let brief = brief.on(device.as_deref(), &prepared)?;
        let (base, planted) = plant(&data, kind, brief.canaries as usize, brief.claim.point.adjacency, seed)?;
        let scoring = Scoring::Margin { against_blank: false };
        let cohort = Cohort::new(prepared.plan)?;
        let subject = FinalModel::with_device(cohort, base, planted, scoring, seed, device)?;
        Ok(brief.case(Box::new(subject), trials, seed))
    }
}

/// The first records, and canaries made of the last ones. Together they are as many as before, so that a plan in which that
/// number matters stays what it is.
fn plant(
    data: &Dataset,
    kind: CanaryKind,
    canaries: usize,
    adjacency: Adjacency,
    seed: u64,
) -> Result<(Dataset, Planted), Error> {
    let Labels::Classes { of, classes } = data.labels() else {
        return Err(Error::invalid("the records have numbers for labels, expected classes"));
    };
    if canaries < 2 || canaries + 2 > data.len() {
        return Err(Error::out_of_range(
            "canaries",
            canaries,
            "at least 2, and fewer than there are records",
        ));
    }
    if adjacency == Adjacency::ReplaceOne && kind == CanaryKind::Member {
        return Err(Error::invalid(
            "members are attacked under replace-one, expected add-remove or zero-out, or another canary",
        ));
    }
    let first = data.len() - canaries;
    let mut rng = Entropy::seeded(seed).stream(Purpose::Canary, Key { run: CLASSES, ..Key::default() });
    let (mut features, mut drawn) = (Vec::with_capacity(canaries * data.width()), Vec::new());
    for (at, class) in of.iter().enumerate().skip(first) {
        let canary = canary(kind, data.row(at), *class, *classes as u32, &mut rng)?;
        features.extend(canary.features);
        drawn.push(canary.class);
    }
    let inside = Dataset::new(features, data.width(), Labels::Classes { of: drawn, classes: *classes })?;
    let outside = match adjacency {
        Adjacency::ReplaceOne => Some(part(data, first..data.len())?),
        Adjacency::AddRemove | Adjacency::ZeroOut => None,
    };
    Ok((part(data, 0..first)?, Planted { inside, outside, copies: 1 }))
}

/// A canary from a record. Wrong classes are drawn, so that no class gives a canary away.
fn canary(
    kind: CanaryKind,
    features: &[f32],
    class: u32,
    classes: u32,
    rng: &mut Stream,
) -> Result<Canary, Error> {
    let side = features.len().isqrt();
    let width = if side * side == features.len() { side } else { features.len() };
    let any = uniform_below(u128::from(classes), rng) as u32;
    let wrong = (class + 1 + uniform_below(u128::from(classes.max(2) - 1), rng) as u32) % classes;
    Ok(match kind {
        CanaryKind::Member => Canary { features: features.to_vec(), class },
        CanaryKind::Mislabelled => Canary { features: features.to_vec(), class: wrong },
        CanaryKind::Blank => Canary::blank(features.len(), any),
        CanaryKind::Checkerboard => Canary::checkerboard(features.len() / width, width, any),
        CanaryKind::Backdoor => Canary::patched(features, width, PATCH.min(width), wrong),
        CanaryKind::LeastDirection => {
            return Err(Error::invalid(
                "canary is clip-bkd, expected member, mislabelled, blank, checkerboard or backdoor: there is only one \
                 least direction",
            ));
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data() -> Dataset {
        let features = (0..40 * 4).map(|at| at as f32 / 160.0).collect();
        Dataset::new(features, 4, Labels::Classes { of: (0..40).map(|at| at % 5).collect(), classes: 5 })
            .unwrap()
    }

    #[test]
    fn canaries_are_different_records_with_wrong_classes_and_the_rest_is_untouched() {
        let data = data();
        let (base, planted) = plant(&data, CanaryKind::Mislabelled, 30, Adjacency::AddRemove, 1).unwrap();
        assert_eq!((base.len(), planted.inside.len(), planted.outside), (10, 30, None));
        let (Labels::Classes { of, .. }, Labels::Classes { of: wrong, .. }) =
            (data.labels(), planted.inside.labels())
        else {
            panic!("classes")
        };
        let offsets: Vec<u32> = (0..30).map(|at| (wrong[at] + 5 - of[10 + at]) % 5).collect();
        assert!((1..5).all(|offset| offsets.contains(&offset)) && !offsets.contains(&0), "{offsets:?}");
        assert!((0..30).all(|at| planted.inside.row(at) == data.row(10 + at)));
        let (_, other) = plant(&data, CanaryKind::Mislabelled, 30, Adjacency::ReplaceOne, 2).unwrap();
        assert_ne!(other.inside, planted.inside);
        assert_eq!(other.outside, Some(part(&data, 10..40).unwrap()));
    }

    #[test]
    fn canaries_that_cannot_be_are_refused() {
        let refused = |kind, canaries, adjacency| plant(&data(), kind, canaries, adjacency, 1).is_err();
        assert!(
            refused(CanaryKind::Blank, 1, Adjacency::AddRemove)
                && refused(CanaryKind::Blank, 39, Adjacency::AddRemove)
        );
        assert!(refused(CanaryKind::LeastDirection, 5, Adjacency::AddRemove));
        assert!(
            refused(CanaryKind::Member, 5, Adjacency::ReplaceOne)
                && !refused(CanaryKind::Member, 5, Adjacency::ZeroOut)
        );
    }
}
