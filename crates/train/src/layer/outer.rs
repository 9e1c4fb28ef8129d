//! Weights that are used at several places of one example: the gradient is Σ aₚ gₚᵀ over the places, and its norm comes
//! from the written-out gradient or, where places are few and weights many, from two Gram matrices.
//!
//! # Reference  [Goodfellow15] for one place; [LiTramerLiangHashimoto22] for several; [BuMaoXu22] for the choice

use super::{
    example_gradient, scratch,
    sums::{add_scaled, sum},
};
use crate::product::{Into, Matrix, multiply};

/// How norms are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// One example's gradient is written out, measured, kept, and added.
    Explicit,
    /// ‖Σ aₚ gₚᵀ‖² = Σ (A Aᵀ)∘(G Gᵀ); nothing of the weights' size is kept.
    Gram,
}

/// What it costs to write a weight's gradient, square it, read it again and add it, in multiply-adds of a matrix product.
const EXPLICIT_COST: usize = 12;
/// The longest row whose square a Gram matrix may hold, squared: beyond it small factors could vanish beside large ones.
pub(super) const LONGEST: f32 = (1u128 << 80) as f32;

/// What a square or product of floats may lose for being too small.
pub(super) const VANISHED: f64 = 1.401_298_464_324_817e-45; // 2⁻¹⁴⁹

/// Outputs × inputs weights, so that those of one output are side by side, then one bias for each output; used at so many
/// places.
#[derive(Debug, Clone, Copy)]
pub(super) struct Outer {
    pub places: usize,
    pub inputs: usize,
    pub outputs: usize,
    pub form: Form,
}

impl Outer {
    /// Chooses the cheaper form.
    pub(super) fn new(places: usize, inputs: usize, outputs: usize) -> Outer {
        let gram = (places as u128).pow(2) * (inputs + outputs) as u128;
        let explicit = EXPLICIT_COST as u128 * inputs as u128 * outputs as u128;
        let form = if gram < explicit { Form::Gram } else { Form::Explicit };
        Outer { places, inputs, outputs, form }
    }

    pub(super) fn weights(&self) -> usize {
        self.inputs * self.outputs
    }

    /// Weights, then biases.
    pub(super) fn parameters(&self) -> usize {
        self.weights() + self.outputs
    }

    /// Numbers kept for one example.
    pub(super) fn kept(&self) -> usize {
        match self.form {
            Form::Explicit => example_gradient::kept(self.parameters()),
            Form::Gram => 0,
        }
    }

    /// Forgets what was kept of examples before.
    pub(super) fn forget(&self, kept: &mut [f32]) {
        if self.form == Form::Explicit {
            kept.chunks_exact_mut(self.kept()).for_each(example_gradient::forget);
        }
    }

    /// The squared norm of one example's gradient, from `inputs`, places × inputs, and `gradients`, places × outputs.
    ///
    /// # Promise  Explicit: within a relative 1e-5 of that of what `add` adds. Gram: never below it by more than that
    pub(super) fn square_norm(&self, inputs: Matrix<'_>, gradients: Matrix<'_>, kept: &mut [f32]) -> f32 {
        match self.form {
            Form::Explicit => {
                example_gradient::measure(kept, |gradient| self.write(inputs, gradients, gradient))
            }
            Form::Gram => self.gram(inputs, gradients),
        }
    }

    /// Adds `factor` × the gradient that `square_norm` kept; whether there was one.
    pub(super) fn add_kept(&self, kept: &[f32], factor: f32, sum: &mut [f32]) -> bool {
        let there = self.form == Form::Explicit && kept[0] != 0.0;
        if there {
            add_scaled(sum, factor, &kept[1..]);
        }
        there
    }

    /// `sum` += the gradient, which is made by itself first: what it is must not depend on what others have added, and places
    /// that cancel must not leave their roundings there.
    pub(super) fn accumulate(&self, inputs: Matrix<'_>, gradients: Matrix<'_>, sum: &mut [f32]) {
        scratch::lend([self.parameters()], |[gradient]| {
            self.write(inputs, gradients, gradient);
            add_scaled(sum, 1.0, gradient);
        });
    }

    fn write(&self, inputs: Matrix<'_>, gradients: Matrix<'_>, gradient: &mut [f32]) {
        let (weights, biases) = gradient.split_at_mut(self.weights());
        multiply(weights, Into::Replace, gradients.transposed(), inputs);
        biases.fill(0.0);
        add_places(gradients, biases);
    }

    /// The norm from Gram matrices, with what rounding may have taken away, there and in what will be added, put back.
    ///
    /// # Promise   At least the squared norm of what `accumulate` adds, but for the last few roundings
    /// # Numerics  Let ℓ = Σ‖(aₚ, 1)‖‖gₚ‖, with a bias as the weight of a number that is always 1. An entry of A Aᵀ ∘ G Gᵀ is off
    /// by at most (inputs + outputs + 2) u ‖aₚ‖‖a_q‖‖gₚ‖‖g_q‖, so all together by that factor of ℓ². The biases are off by
    /// P u Σ|gₚ|, their square by 2 P u ℓ². What is added is made from the gradients times the factor, and off by (P + 2) u ℓ, its
    /// square by 2 (P + 2) u ℓ². Entries may cancel, so this can be much of the norm, and leaving it out would let gradients pass
    /// that are too long. Squares that vanish, below 2⁻¹⁴⁹ each, are put back too
    pub(super) fn gram(&self, inputs: Matrix<'_>, gradients: Matrix<'_>) -> f32 {
        let places = self.places;
        scratch::lend([places * places, places * places, self.outputs], |[a, g, biases]| {
            multiply(a, Into::Replace, inputs, inputs.transposed());
            multiply(g, Into::Replace, gradients, gradients.transposed());
            biases.fill(0.0);
            add_places(gradients, biases);
            let (mut total, mut lengths, mut squares) = (0.0, 0.0, 0.0);
            for place in 0..places {
                let (a, g) = (&a[place * places..][..places], &g[place * places..][..places]);
                if !(a[place] <= LONGEST && g[place] <= LONGEST) {
                    return f32::INFINITY;
                }
                lengths += ((f64::from(a[place]) + 1.0) * f64::from(g[place])).sqrt();
                squares += f64::from(a[place]) + f64::from(g[place]);
                total += a.iter().zip(g).map(|(a, g)| f64::from(*a) * f64::from(*g)).sum::<f64>();
            }
            let lost = (self.inputs + self.outputs + 4 * places + 16) as f64 * f64::from(f32::EPSILON) / 2.0;
            let vanished = ((self.inputs + self.outputs) * places) as f64 * VANISHED * (squares + 1.0);
            (total + lost * lengths * lengths + vanished) as f32 + super::sums::square(biases)
        })
    }
}

/// Adds the gradients of all places.
pub(super) fn add_places(gradients: Matrix<'_>, biases: &mut [f32]) {
    let places = gradients.rows;
    if gradients.row_step == 1 {
        for (output, bias) in biases.iter_mut().enumerate() {
            *bias += sum(&gradients.values[output * gradients.column_step..][..places]);
        }
    } else {
        for row in gradients.values.chunks(gradients.row_step).take(places) {
            add_scaled(biases, 1.0, row);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::{prelude::*, test_runner::RngSeed};

    fn both((places, inputs, outputs): (usize, usize, usize), a: &[f32], g: &[f32]) -> (f32, f32, Vec<f32>) {
        let (a, g) = (Matrix::new(a, places, inputs), Matrix::new(g, places, outputs));
        let outer = Outer::new(places, inputs, outputs);
        let [explicit, gram] = [Form::Explicit, Form::Gram].map(|form| {
            let outer = Outer { form, ..outer };
            outer.square_norm(a, g, &mut vec![f32::NAN; outer.kept()])
        });
        let mut sum = vec![0.0; outer.parameters()];
        outer.accumulate(a, g, &mut sum);
        (explicit, gram, sum)
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 200, rng_seed: RngSeed::Fixed(1), ..ProptestConfig::default() })]
        #[test]
        fn both_forms_give_the_norm_of_what_is_added(
            places in 1usize..9, inputs in 1usize..20, outputs in 1usize..9, seed in 0u32..1000
        ) {
            let number = |i: usize| ((i as u32).wrapping_mul(2_654_435_761).wrapping_add(seed * 40_503) >> 8) as f32;
            let values = |n: usize, from: usize| -> Vec<f32> {
                (from..from + n).map(|i| number(i) / (1 << 23) as f32 - 1.0).collect()
            };
            let (a, g) = (values(places * inputs, 0), values(places * outputs, 5000));
            let (explicit, gram, sum) = both((places, inputs, outputs), &a, &g);
            let truth = sum.iter().map(|x| f64::from(*x).powi(2)).sum::<f64>();
            prop_assert!((f64::from(explicit) / truth - 1.0).abs() < 1e-5);
            prop_assert!((f64::from(gram) / truth - 1.0).abs() < 1e-3 && f64::from(gram) > truth * (1.0 - 1e-5));
        }
    }

    /// Two places whose gradients cancel but for a little: without what rounding can take away, the Gram form would say zero
    /// of a gradient that is far from it.
    #[test]
    fn a_gradient_that_nearly_cancels_is_not_measured_too_short() {
        for part in 0..200 {
            let (inputs, outputs) = (40, 30);
            let mut a: Vec<f32> =
                (0..2 * inputs).map(|i| 1e3 * ((i % inputs * 7 % 11) as f32 - 4.6)).collect();
            a[inputs] += part as f32 * 0.03;
            let g: Vec<f32> = (0..2 * outputs)
                .map(|i| (1.0 + (i % outputs) as f32 / 7.0) * if i < outputs { 1.0 } else { -1.0 })
                .collect();
            let (_, gram, sum) = both((2, inputs, outputs), &a, &g);
            let truth = sum.iter().map(|x| f64::from(*x).powi(2)).sum::<f64>();
            assert!(f64::from(gram) >= truth * (1.0 - 1e-5), "{gram} {truth}");
        }
    }

    /// Inputs of zero and gradients of 2^27, 1 and −2^27: the bias' gradient is measured as 0 while it is added, in floats that
    /// hold what others added, as something else.
    #[test]
    fn biases_whose_places_cancel_are_not_added_longer_than_they_were_measured() {
        let (places, inputs, outputs) = (3, 5, 2);
        let outer = Outer { places, inputs, outputs, form: Form::Gram };
        let big = (1u32 << 27) as f32;
        let (a, g, clip) = ([0.0; 15], [big, big, 1.0, 1.0, -big, -big], 0.5);
        let a = Matrix::new(&a, places, inputs);
        let norm = outer.square_norm(a, Matrix::new(&g, places, outputs), &mut []).sqrt();
        let clipped = g.map(|g| g * if norm <= clip { 1.0 } else { clip / norm });
        for before in [0.7, -3.3] {
            let mut sum = [before; 12];
            outer.accumulate(a, Matrix::new(&clipped, places, outputs), &mut sum);
            let moved = (sum[10] - before).hypot(sum[11] - before);
            assert!(moved <= clip * (1.0 + 2e-5), "moved by {moved}");
        }
    }

    #[test]
    fn few_places_and_many_weights_take_the_gram_form() {
        assert_eq!(Outer::new(16, 2304, 256).form, Form::Gram);
        assert_eq!(Outer::new(196, 64, 16).form, Form::Explicit);
        assert_eq!(Outer::new(25, 256, 32).form, Form::Explicit);
    }

    #[test]
    fn numbers_so_large_that_others_could_vanish_beside_them_are_not_finite() {
        let (_, gram, _) = both((1, 1, 1), &[1e19], &[1e-23]);
        assert_eq!(gram, f32::INFINITY);
    }
}
