//! One training run with many canaries: each is a record that is included by a fair coin flip of its own, and the final model is scored on
//! all of them.
//!
//! Use it where thousands of training runs are too expensive. It counts for how many of many records the attacker is right, and not how
//! often the attacker is right about one record.

use super::{
    planting::part,
    prepared_training::{PreparedTraining, Stakes},
    training,
};
use crate::{Brief, CanaryKind, Case, FinalModel, PlantedCanaries, Scoring, SubjectNote};
use serde_json::Value;
use std::{collections::BTreeMap, sync::Arc};
use veracity_account::claims::Subject;
use veracity_audit::Canary;
use veracity_core::Error;
use veracity_core::{Adjacency, Count, Epsilon, decimal::grouped};
use veracity_noise::{Entropy, Key, Purpose, Stream, exact::uniform_below};
use veracity_train::{Dataset, Labels, cohort::Cohort, device::Device};

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
        description: training::describe(subject),
        attack: format!(
            "final model, {} canaries ({}), reads the margin on each",
            grouped(canaries as u64),
            kind.describe()
        ),
        access: "final model".to_owned(),
        settings,
    }
}

/// What is said and proved of one training with canaries.
pub(crate) fn brief(
    training: &PreparedTraining,
    kind: CanaryKind,
    canaries: Option<usize>,
    claimed: Option<Epsilon>,
) -> Result<Brief, Error> {
    let Stakes { cost, proved, claim } = training.stakes(claimed)?;
    let canaries = canaries.unwrap_or(CANARIES.min(training.records.len() / 2));
    let note = note(&cost.subject, kind, canaries, training.settings()?);
    let canaries = u32::try_from(canaries).unwrap_or(u32::MAX);
    Ok(Brief { note, claim, proved, canaries, group: Count::ONE, is_one_run: true })
}

/// A training whose last records are replaced by canaries, its model trained on a device where there is one. The claim is `claimed`,
/// or what the accountant proves.
pub(super) fn case(
    training: &PreparedTraining,
    kind: CanaryKind,
    canaries: Option<usize>,
    claimed: Option<Epsilon>,
    seed: u64,
    trials: Count,
    device: Option<Arc<dyn Device>>,
) -> Result<Case, Error> {
    let brief = brief(training, kind, canaries, claimed)?.on(device.as_deref(), &training.run)?;
    let (canaries, adjacency) = (brief.canaries as usize, brief.claim.point.adjacency);
    let (base, planted) = plant(&training.records, kind, canaries, adjacency, seed)?;
    let scoring = Scoring::Margin { against_blank: false };
    let cohort = Cohort::new(training.run.plan.clone())?;
    let subject = FinalModel::new(cohort, base, planted, scoring, seed, device)?;
    Ok(brief.case(Box::new(subject), trials, seed))
}

/// The first records, and canaries made of the last ones. Together they are as many as before, so that a plan in which that
/// number matters stays what it is.
fn plant(
    data: &Dataset,
    kind: CanaryKind,
    canaries: usize,
    adjacency: Adjacency,
    seed: u64,
) -> Result<(Dataset, PlantedCanaries), Error> {
    let Labels::Classes { of, classes } = data.labels() else {
        return Err(Error::invalid("the labels are numbers, but this attack needs classes"));
    };
    if canaries < 2 || canaries + 2 > data.len() {
        return Err(Error::out_of_range(
            "canaries",
            canaries,
            "at least 2, and fewer than the number of records",
        ));
    }
    if adjacency == Adjacency::ReplaceOne && kind == CanaryKind::Member {
        return Err(Error::invalid(
            "member canaries need add-remove or zero-out adjacency; choose another canary for replace-one",
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
    Ok((part(data, 0..first)?, PlantedCanaries { inside, outside, copies: 1 }))
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
                "canary is clip-bkd, expected member, mislabelled, blank, checkerboard or backdoor: clip-bkd defines only one \
                 canary",
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
