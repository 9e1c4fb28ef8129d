//! From the norm of one example's gradient to the factor it is multiplied with.

/// How a gradient is brought within the clip norm.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Clipping {
    /// The whole gradient is scaled down to the clip norm where it is longer.
    Flat,
    /// The whole gradient is scaled to nearly the clip norm, also where it is shorter: C/(‖g‖ + γ).
    Automatic {
        /// What keeps small gradients small.
        gamma: f32,
    },
}

impl Clipping {
    /// The factor for a gradient of this squared norm. A norm that is not a finite number has factor zero: such a gradient
    /// contributes nothing.
    ///
    /// # Promise  factor × norm ≤ `clip`, where the square norm is accurate to `SLACK`
    pub(crate) fn factor(self, square_norm: f32, clip: f32) -> f32 {
        if !square_norm.is_finite() {
            return 0.0;
        }
        let norm = square_norm.max(0.0).sqrt();
        match self {
            Clipping::Flat if norm <= clip => 1.0,
            Clipping::Flat => clip / norm,
            Clipping::Automatic { gamma } => clip / (norm + gamma),
        }
    }
}
