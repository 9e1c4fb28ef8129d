//! Layers, features and shapes in files: the text of a real model's card, and texts that must be refused.

use serde::{Serialize, de::DeserializeOwned};
use std::fmt::Debug;
use veracity_train::{
    Layer, Shape,
    features::{Feature, Features},
};

/// The `layer` and `feature` of the card in a model that `veracity train` of version 0.1.0 wrote.
const LAYERS: &str = r#"[{"kind":"residual","layers":[{"kind":"conv2d","channels":3,"kernel":3,"stride":1,"padding":1},{"kind":"tanh"}]},{"kind":"group-norm","groups":3},{"kind":"relu"},{"kind":"max-pool","kernel":2,"stride":1},{"kind":"average-pool","kernel":2,"stride":1},{"kind":"flatten"},{"kind":"layer-norm"},{"kind":"gelu"},{"kind":"linear","outputs":10}]"#;
const FEATURES: &str = r#"[{"kind":"unit-norm","norm":1.0},{"kind":"private-mean","noise_multiplier":8.0,"clip_norm":1.0},{"kind":"power","exponent":0.5},{"kind":"scattering","scales":1,"angles":2},{"kind":"group-norm","groups":3}]"#;
/// Kinds that the card lacks, as docs/formats.md and docs/schemas have them.
const MORE_LAYERS: &str = r#"[{"kind":"embedding","tokens":6,"width":4},{"kind":"attention","heads":2}]"#;
const MORE_FEATURES: &str =
    r#"[{"kind":"patches","filters":8,"side":3,"cells":2},{"kind":"fourier","count":64,"bandwidth":1.5}]"#;

fn read<T: DeserializeOwned>(text: &str) -> Result<T, serde_json::Error> {
    serde_json::from_str(text)
}

#[track_caller]
fn passes<T: Serialize + DeserializeOwned>(text: &str) -> T {
    let value: T = read(text).unwrap();
    assert_eq!(serde_json::to_string(&value).unwrap(), text);
    value
}

#[track_caller]
fn refused<T: DeserializeOwned + Debug>(text: &str, because: &str) {
    let why = read::<T>(text).expect_err(text).to_string();
    assert!(why.contains(because), "{text}: {why}");
}

#[test]
fn layers_are_written_byte_by_byte_as_cards_have_them() {
    let mut layers = passes::<Vec<Layer>>(LAYERS);
    layers.extend(passes::<Vec<Layer>>(MORE_LAYERS));
    let Layer::Residual { layers: within } = &layers[0] else { panic!("{:?}", layers[0]) };
    let mut names: Vec<&str> = layers.iter().chain(within).map(Layer::name).collect();
    let mut all = Layer::NAMES;
    names.sort_unstable();
    all.sort_unstable();
    assert_eq!(names, all);
    let plain: Layer = read(r#"{"kind":"conv2d","channels":8,"kernel":3}"#).unwrap();
    assert_eq!(plain, Layer::Conv2d { channels: 8, kernel: 3, stride: 1, padding: 0 });
}

#[test]
fn layers_that_are_none_are_refused() {
    for (text, because) in [
        (r#"{"kind":"batch-norm"}"#, "unknown variant"),
        (r#"{"kind":"relu","slope":0.1}"#, "unknown field"),
        (r#"{"kind":"flatten","kindness":1}"#, "unknown field"),
        (r#"{"kind":"linear"}"#, "missing field"),
        (r#"{"kind":"linear","outputs":-1}"#, "invalid value"),
        (r#"{"kind":"linear","outputs":1.5}"#, "invalid type"),
        (r#"{"kind":"linear","outputs":99999999999999999999}"#, "invalid type"),
        (r#"{"kind":"residual","layers":{"kind":"relu"}}"#, "expected a sequence"),
        (r#"{"outputs":3}"#, "missing field `kind`"),
    ] {
        refused::<Layer>(text, because);
    }
    // Residual blocks in each other: serde_json stops at 128 levels, of which a block takes two.
    let deep = format!("{}{{\"kind\":\"relu\"}}", r#"{"kind":"residual","layers":["#.repeat(100_000));
    refused::<Layer>(&deep, "recursion limit");
}

#[test]
fn features_are_written_byte_by_byte_as_cards_have_them() {
    let features = passes::<Vec<Feature>>(FEATURES);
    assert_eq!(features[1], Feature::PrivateMean { noise_multiplier: 8.0, clip_norm: 1.0 });
    assert_eq!(features[2], Feature::Fixed(Features::Power { exponent: 0.5 }));
    passes::<Vec<Feature>>(MORE_FEATURES);
    passes::<Vec<Features>>(MORE_FEATURES);
    let mean: Feature = read(r#"{"kind":"private-mean","noise_multiplier":8}"#).unwrap();
    assert_eq!(mean, features[1]);
    // A map of each record is not a mean over all of them: what is charged cannot be read as what is free.
    refused::<Features>(
        r#"{"kind":"private-mean","noise_multiplier":8.0,"clip_norm":1.0}"#,
        "unknown variant",
    );
    refused::<Feature>(r#"{"kind":"private-mean"}"#, "missing field");
    refused::<Feature>(r#"{"kind":"unit-norm","norm":1.0,"eps":0}"#, "unknown field");
}

#[test]
fn shapes_are_their_sides() {
    let image = Shape::Image { channels: 1, height: 8, width: 8 };
    assert_eq!(passes::<Shape>("[1,8,8]"), image);
    for bad in ["[]", "[0]", "[1,2,3,4]", "[268435457]", "8", "[-1]"] {
        assert!(read::<Shape>(bad).is_err(), "{bad}");
    }
}
