//! Datasets that attain, or nearly attain, what an upper bound allows: the lower end where the worst case is not known.

use crate::{Composition, Neighbours, Part};

/// Compositions that real adjacent datasets show, each of which is therefore a lower bound; none where nothing better than
/// zero is known.
///
/// # Promise    For a batch of fixed size drawn without replacement, where a record at +C is replaced by one at −C and all
/// others are equal, the batch sum is, up to what both datasets share: with the others at 0, (1−γ)N(0) + γN(±C); with the
/// others at −C, (1−γ)N(0) + γN(2C) against N(0); with the others at +C, its reverse. The queries may be chosen anew in each
/// step, so one choice for all steps is a lower bound
/// # Assumes    Gaussian noise: `part` holds the shift of a replaced record, which is two contributions
pub(super) fn compositions(composition: &Composition) -> Vec<Composition> {
    let known = |part: &Part| matches!(part, Part::FixedSizeSampled { part, .. } if matches!(**part, Part::Gaussian { .. }));
    if !composition.parts.iter().any(|(part, _)| known(part)) {
        return Vec::new();
    }
    let with = |neighbours: Neighbours| Composition {
        parts: composition.parts.iter().map(|(part, times)| (shown(part, neighbours), *times)).collect(),
    };
    vec![with(Neighbours::Present), with(Neighbours::Replaced)]
}

/// What the dataset with the others at the far end (`Present`) or at 0 (`Replaced`) shows of one part.
fn shown(part: &Part, neighbours: Neighbours) -> Part {
    match part {
        Part::FixedSizeSampled { rate, part: inner } => match (&**inner, neighbours) {
            (Part::Gaussian { mu }, Neighbours::Replaced) => Part::PoissonSampled {
                rate: *rate,
                part: Box::new(Part::Gaussian { mu: 0.5 * mu }),
                neighbours,
            },
            (Part::Gaussian { .. }, Neighbours::Present) => {
                Part::PoissonSampled { rate: *rate, part: inner.clone(), neighbours }
            }
            _ => part.clone(),
        },
        _ => part.clone(),
    }
}
