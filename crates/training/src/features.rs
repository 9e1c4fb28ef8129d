//! What the features of a plan do to records before the first layer: maps that are applied to each record by itself, and private
//! means, which look at all records and are charged.

use super::{ModelSpec, chain::Stage, mean::MeanStage};
use veracity_core::Refusal;
use veracity_noise::{Entropy, Key, Purpose, Stream};
use veracity_train::{
    Shape,
    features::{Feature, Features, FrontEnd},
};

impl ModelSpec {
    /// The stages before the first layer, and the shape that comes out of them; nothing where there are none.
    pub(super) fn front(&self) -> Result<Option<(Vec<Stage>, Shape)>, Refusal> {
        if self.feature.is_empty() {
            return Ok(None);
        }
        let sides = self.input.as_deref().ok_or_else(|| {
            Refusal::invalid("input is missing; add the shape of one record to [model] to use features")
        })?;
        let size = sides.iter().try_fold(1usize, |size, side| size.checked_mul(*side)).unwrap_or(0);
        let mut front = Front { shape: shape(Some(sides), size)?, stages: Vec::new(), maps: Vec::new() };
        let mut rng = self.stream(1);
        for (at, feature) in self.feature.iter().enumerate() {
            match *feature {
                Feature::Fixed(map) => front.maps.push(map),
                Feature::PrivateMean { noise_multiplier, clip_norm } => {
                    front.settle(&mut rng)?;
                    let mean = MeanStage::new(at, front.shape.size(), noise_multiplier, clip_norm)?;
                    front.stages.push(Stage::Charged(Box::new(mean)));
                }
            }
        }
        front.settle(&mut rng)?;
        Ok(Some((front.stages, front.shape)))
    }

    /// What is random in features and views is drawn from the plan's public number, so that whoever has the model has it too.
    pub(super) fn stream(&self, step: u64) -> Stream {
        Entropy::seeded(self.feature_seed).stream(Purpose::Init, Key { step, ..Key::default() })
    }
}

/// Stages so far, and maps that will be one stage: an example passes through them at once.
struct Front {
    shape: Shape,
    stages: Vec<Stage>,
    maps: Vec<Features>,
}

impl Front {
    fn settle(&mut self, rng: &mut Stream) -> Result<(), Refusal> {
        let maps = std::mem::take(&mut self.maps);
        if !maps.is_empty() {
            let front = FrontEnd::new(self.shape, &maps, rng)?;
            self.shape = front.output();
            self.stages.push(Stage::Fixed(front));
        }
        Ok(())
    }
}

/// The shape of one example: plain numbers unless sides are given.
pub(super) fn shape(sides: Option<&[usize]>, width: usize) -> Result<Shape, Refusal> {
    match sides.map_or(Ok(Shape::Flat(width)), Shape::of_sides)? {
        shape if shape.size() == width && width > 0 => Ok(shape),
        _ => Err(Refusal::invalid(format!(
            "input does not match the records, which have {width} numbers each"
        ))),
    }
}
