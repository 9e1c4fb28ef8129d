//! Fixed features: maps that are applied to each record by itself before training, and learn nothing.
//!
//! A [`FrontEnd`] is a chain of them, drawn once from a stream that does not depend on data. Since a record's features are a
//! function of that record alone, training on them has the same guarantee as training on the records. A [`private_mean`] is the
//! exception, and is charged.

mod fourier;
mod morlet;
mod normalise;
mod patches;
mod plane;
mod private_mean;
mod scattering;

pub use private_mean::{mean_without_privacy, private_mean, subtract_mean};

use crate::{Dataset, Shape};
use rayon::prelude::*;
use rustfft::num_complex::Complex;
use std::fmt;
use veracity_core::Refusal;
use veracity_noise::Stream;

/// A map as it is written in a plan. Its input shape is the output shape of the one before.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Features {
    /// Scattering of order 2 by Morlet wavelets: each channel of height × width becomes 1 + JL + L²J(J−1)/2 channels of
    /// height/2^J × width/2^J, J being the scales and L the angles.
    Scattering {
        /// How many octaves of wavelets.
        scales: usize,
        /// How many directions.
        angles: usize,
    },
    /// Random patches: convolution by random filters of norm 1 on patches of mean 0 and variance 1, both signs kept, averaged
    /// over a grid of cells.
    Patches {
        /// How many filters; there are twice as many channels.
        filters: usize,
        /// The side of a patch.
        side: usize,
        /// Cells along each side of the image.
        cells: usize,
    },
    /// Random Fourier features of the Gaussian kernel: √(2/count) cos(wᵀx + b).
    Fourier {
        /// How many.
        count: usize,
        /// The kernel's width: exp(−‖x − y‖²/(2 bandwidth²)).
        bandwidth: f32,
    },
    /// Mean 0 and variance 1 in each group of channels of one example.
    GroupNorm {
        /// How many groups; a divisor of the number of channels.
        groups: usize,
    },
    /// The power of the size of each value, with its sign.
    Power {
        /// The exponent.
        exponent: f32,
    },
    /// All values divided by their Euclidean norm, and multiplied by a constant.
    UnitNorm {
        /// The norm they get.
        norm: f32,
    },
}

impl Features {
    /// The name used in plans.
    pub fn name(self) -> &'static str {
        match self {
            Features::Scattering { .. } => "scattering",
            Features::Patches { .. } => "patches",
            Features::Fourier { .. } => "fourier",
            Features::GroupNorm { .. } => "group-norm",
            Features::Power { .. } => "power",
            Features::UnitNorm { .. } => "unit-norm",
        }
    }

    fn map(self, input: Shape, rng: &mut Stream) -> Result<Box<dyn Map>, Refusal> {
        Ok(match self {
            Features::Scattering { scales, angles } => {
                Box::new(scattering::Scattering::new(input, scales, angles)?)
            }
            Features::Patches { filters, side, cells } => {
                Box::new(patches::Patches::new(input, filters, side, cells, rng)?)
            }
            Features::Fourier { count, bandwidth } => {
                Box::new(fourier::Fourier::new(input, count, bandwidth, rng)?)
            }
            Features::GroupNorm { groups } => Box::new(normalise::GroupNorm::new(input, groups)?),
            Features::Power { exponent } => Box::new(normalise::Power::new(input, exponent)?),
            Features::UnitNorm { norm } => Box::new(normalise::UnitNorm::new(input, norm)?),
        })
    }
}

/// What may stand among the features of a plan: a map, or the one thing that looks at all records.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Feature {
    /// A map of each record by itself. It costs nothing.
    Fixed(Features),
    /// The private mean of what comes in, taken off: see [`private_mean`]. It is charged as a Gaussian mechanism of this noise multiplier.
    PrivateMean {
        /// Noise over clip norm, as written; a [`NoiseMultiplier`](veracity_core::NoiseMultiplier) once it is checked.
        noise_multiplier: f64,
        /// Records beyond this norm count as if they had it; as written, where 1 is the default.
        clip_norm: f64,
    },
}

/// A map at work on one example.
trait Map: Send + Sync {
    /// What comes out.
    fn output(&self) -> Shape;

    /// Computes the features of one example from that example alone.
    fn map(&self, input: &[f32], output: &mut [f32], scratch: &mut Scratch);
}

/// Memory that a thread keeps from one example to the next; nothing is read from it that was not written for the same one.
#[derive(Default)]
struct Scratch {
    real: Vec<f32>,
    complex: Vec<Complex<f32>>,
}

/// The first `length` values of a buffer that grows when it must.
fn filled<T: Default + Clone>(buffer: &mut Vec<T>, length: usize) -> &mut [T] {
    if buffer.len() < length {
        buffer.resize(length, T::default());
    }
    &mut buffer[..length]
}

/// Maps that fit one on another.
///
/// # Examples
///
/// ```
/// use veracity_noise::{Entropy, Key, Purpose};
/// use veracity_train::features::{Features, FrontEnd};
/// use veracity_train::{Dataset, Labels, Shape};
///
/// let mut rng = Entropy::seeded(1).stream(Purpose::Init, Key::default());
/// let maps = [Features::Fourier { count: 4096, bandwidth: 1.0 }];
/// let front = FrontEnd::new(Shape::Flat(1), &maps, &mut rng)?;
/// let data = Dataset::new(vec![0.0, 1.0], 1, Labels::Values(vec![0.0, 1.0]))?;
/// let mapped = front.apply(&data)?;
/// // Inner products come close to the kernel: exp(−1/2) for points at a distance of 1.
/// let product: f32 = mapped.row(0).iter().zip(mapped.row(1)).map(|(x, y)| x * y).sum();
/// assert!((product - (-0.5f32).exp()).abs() < 0.05);
/// # Ok::<(), veracity_core::Refusal>(())
/// ```
pub struct FrontEnd {
    input: Shape,
    features: Vec<Features>,
    maps: Vec<Box<dyn Map>>,
}

impl FrontEnd {
    /// The most features of one example.
    pub const MOST: usize = 1 << 24;

    /// Checks that each map can take what the one before gives, and draws what is random in them. `rng` is a stream of
    /// [`veracity_noise::Purpose::Init`]: whoever applies the model later needs the same one.
    ///
    /// # Errors
    /// Refuses maps that do not fit, and more than [`FrontEnd::MOST`] features.
    pub fn new(input: Shape, features: &[Features], rng: &mut Stream) -> Result<FrontEnd, Refusal> {
        let (mut shape, mut maps) = (input, Vec::new());
        for one in features {
            let map = one.map(shape, rng)?;
            shape = map.output();
            if shape.size() > FrontEnd::MOST {
                return Err(Refusal::out_of_range("features", shape.size(), "at most 2^24"));
            }
            maps.push(map);
        }
        Ok(FrontEnd { input, features: features.to_vec(), maps })
    }

    /// What goes in.
    pub fn input(&self) -> Shape {
        self.input
    }

    /// What comes out.
    pub fn output(&self) -> Shape {
        self.maps.last().map_or(self.input, |map| map.output())
    }

    /// The maps as planned.
    pub fn features(&self) -> &[Features] {
        &self.features
    }

    /// The features of every record of a dataset, with the labels it has.
    ///
    /// # Promise  Row i depends on record i alone, bit by bit
    ///
    /// # Errors
    /// Refuses records of another width.
    pub fn apply(&self, data: &Dataset) -> Result<Dataset, Refusal> {
        if data.width() != self.input.size() {
            return Err(Refusal::Invalid(format!(
                "records have {} features, but the feature stages need {}",
                data.width(),
                self.input
            )));
        }
        let width = self.output().size();
        let mut features = vec![0.0; data.len() * width];
        let rows = features.par_chunks_exact_mut(width).enumerate();
        rows.for_each_init(Work::default, |work, (at, row)| self.one(data.row(at), row, work));
        data.with_features(features, width)
    }

    fn one(&self, record: &[f32], row: &mut [f32], work: &mut Work) {
        work.now.clear();
        work.now.extend_from_slice(record);
        for map in &self.maps {
            let next = filled(&mut work.next, map.output().size());
            map.map(&work.now, next, &mut work.scratch);
            work.next.truncate(map.output().size());
            std::mem::swap(&mut work.now, &mut work.next);
        }
        row.copy_from_slice(&work.now);
    }
}

impl fmt::Debug for FrontEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FrontEnd").field("input", &self.input).field("features", &self.features).finish()
    }
}

/// What a thread needs to pass an example through the maps.
#[derive(Default)]
struct Work {
    now: Vec<f32>,
    next: Vec<f32>,
    scratch: Scratch,
}
