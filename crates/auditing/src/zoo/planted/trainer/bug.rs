//! The mistakes that are planted in the trainer.

/// One mistake.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Bug {
    /// Noise of standard deviation σ, where σ × clip norm is accounted.
    NoiseNotScaledByClip,
    /// The noise is divided by the batch size, and the sum is not.
    NoiseDividedByBatch,
    /// Only the last layer gets noise.
    NoiseOnLastLayerOnly,
    /// The noise of the first step again and again.
    NoiseReused,
    /// Gradients are not clipped.
    NeverClips,
    /// A gradient that is no number is clipped like any other, and spoils the sum.
    KeepsWhatIsNotFinite,
    /// Gradients are averaged, then the mean is clipped.
    ClipsTheMean,
    /// Pairs of examples are averaged, then their means are clipped.
    ClipsMicroBatches,
    /// An example and its mirror image are clipped each by itself.
    ClipsViewsApart,
    /// Biases are left out of the norm and of the clipping.
    BiasNotClipped,
    /// Each layer is clipped to the whole norm.
    LayersClippedApart,
    /// Each coordinate is clamped from above only.
    ClampsAboveOnly,
    /// Features are centred by the mean of the batch.
    NormalisesByBatch,
    /// The sum is divided by the number of examples that there were.
    DividesByRealisedBatch,
    /// Momentum gathers clean sums, and the noise is added to it.
    MomentumBeforeNoise,
    /// Signals of the mean loss are clipped on their way back, and the noise is divided by the batch size once more.
    ///
    /// # Reference  [TramerEtAl22], the slip that was audited there
    BackpropagationSlip,
    /// The clip norm follows the clean share of gradients within it.
    AdaptsClipInTheOpen,
    /// Training ends once the clean training loss is small.
    StopsEarly,
    /// No noisy step for an empty batch.
    SkipsEmptyBatches,
    /// No noisy step for a batch with a gradient that is no number.
    SkipsBatchesWithNan,
}
