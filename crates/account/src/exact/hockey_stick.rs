//! δ(ε) of one use of a distribution of finitely many losses, prepared once and asked many times: from the largest loss down, with
//! nothing that cancels.
//!
//! With losses l₁ ≥ l₂ ≥ … of masses m_j let D_k = Σ_{j≤k} m_j (1 − e^{l_k − l_j}) and S_k = Σ_{j≤k} m_j e^{l_k − l_j}. Then
//! D_{k+1} = D_k + S_k (1 − e^{l_{k+1} − l_k}), S_{k+1} = S_k e^{l_{k+1} − l_k} + m_{k+1}, and for ε between l_{k+1} and l_k
//! δ(ε) = D_k + S_k (1 − e^{ε − l_k}). All terms are positive.

use super::distribution::Atom;
use std::borrow::Cow;
use veracity_core::numerics::UNIT;

/// A state is kept for every so many losses; the rest is gone through again.
const STRIDE: usize = 64;

/// The losses from the largest down, and where the sums stand on the way.
pub(super) struct HockeyStick<'a> {
    atoms: Cow<'a, [Atom]>,
    /// Before the losses 0, 64, 128, …
    states: Vec<State>,
}

impl HockeyStick<'_> {
    /// Goes down all losses once.
    pub(super) fn new(atoms: &[Atom]) -> HockeyStick<'_> {
        let mut atoms = Cow::Borrowed(atoms);
        if !atoms.is_sorted_by(|a, b| a.loss >= b.loss) {
            atoms.to_mut().sort_by(|a, b| b.loss.total_cmp(&a.loss));
        }
        let mut states = Vec::with_capacity(atoms.len() / STRIDE + 1);
        let mut state = State::default();
        for (k, atom) in atoms.iter().enumerate() {
            if k % STRIDE == 0 {
                states.push(state);
            }
            state.include(atom);
        }
        if atoms.len().is_multiple_of(STRIDE) {
            states.push(state);
        }
        HockeyStick { atoms, states }
    }

    /// δ at ε ≥ 0 from both sides.
    ///
    /// # Promise  lower ≤ δ(ε) ≤ upper
    /// # Numerics  As the plain sum: a mass errs by 64 + 2|log mass| ulp, a loss by 8 ulp of itself or of ε. A loss that is
    /// off by b moves its term by at most its mass times b, also one that lies b below ε
    pub(super) fn delta(&self, epsilon: f64) -> (f64, f64) {
        let above = self.atoms.partition_point(|atom| atom.loss > epsilon);
        let mut state = self.states[above / STRIDE];
        for atom in &self.atoms[above / STRIDE * STRIDE..above] {
            state.include(atom);
        }
        let fall = if state.sum > 0.0 { -(epsilon - state.last).exp_m1() } else { 0.0 };
        let delta = state.depth + state.sum * fall;
        let mut error = state.depth_error
            + (state.sum_error + 8.0 * UNIT * state.sum) * fall
            + 4.0 * UNIT * delta
            + state.blur;
        let near = |atom: &&Atom| atom.loss > epsilon - blur(atom, epsilon);
        for atom in self.atoms[above..].iter().take_while(near) {
            error += atom.log_mass.exp() * blur(atom, epsilon);
        }
        error *= 1.01;
        ((delta - error).max(0.0), delta + error)
    }
}

/// How far a loss may be off, where ε is asked for.
fn blur(atom: &Atom, epsilon: f64) -> f64 {
    16.0 * UNIT * atom.loss.abs().max(epsilon)
}

/// The sums down to some loss, and what rounding may have done to them.
#[derive(Debug, Clone, Copy, Default)]
struct State {
    /// l_k.
    last: f64,
    /// D_k and S_k.
    depth: f64,
    sum: f64,
    depth_error: f64,
    sum_error: f64,
    /// Σ mass × how far the loss may be off.
    blur: f64,
}

impl State {
    /// # Numerics  A difference Δ of losses is rounded by u·Δ, which moves neither e^{−Δ} nor (1 − e^{−Δ})/Δ by more than
    /// u of their factor; exp and expm1 err by 2u, a product and a sum by u each
    fn include(&mut self, atom: &Atom) {
        let mass = atom.log_mass.exp();
        let mut kept = 0.0;
        if self.sum > 0.0 {
            let difference = atom.loss - self.last;
            let fall = -difference.exp_m1();
            let decay = if fall < 0.5 { 1.0 - fall } else { difference.exp() };
            let added = self.sum * fall;
            kept = self.sum * decay;
            self.depth += added;
            self.depth_error += self.sum_error * fall + UNIT * (6.0 * added + self.depth);
            self.sum_error *= decay;
        }
        self.last = atom.loss;
        self.sum = kept + mass;
        self.sum_error += UNIT * (6.0 * self.sum + (64.0 + 2.0 * atom.log_mass.abs()) * mass);
        self.blur += mass * 8.0 * UNIT * atom.loss.abs();
    }
}

#[cfg(test)]
mod tests {
    use super::super::atoms;
    use super::*;
    use crate::IntegerNoise;

    /// The plain sum over all losses is the slow twin. Its error is its own: the two intervals must meet.
    fn agrees(list: &[Atom], epsilon: f64) {
        let (found, twin) = (HockeyStick::new(list).delta(epsilon), atoms::delta(list, epsilon));
        assert!(found.0 <= twin.1 && twin.0 <= found.1, "{epsilon}: {found:?} {twin:?}");
        let (width, size) = (found.1 - found.0, twin.1);
        assert!(width <= 1e-9 * size + 4.0 * (twin.1 - twin.0), "{epsilon}: {found:?} {twin:?}");
    }

    #[test]
    fn going_down_the_losses_agrees_with_the_plain_sum() {
        let lists = [
            atoms::two_point(0.7).atoms,
            atoms::two_point(1e-9).atoms,
            atoms::integer(IntegerNoise::Laplace { scale: 300.0 }, 200).unwrap().atoms,
            atoms::integer(IntegerNoise::Gaussian { sigma: 7.0 }, 3).unwrap().atoms,
            atoms::integer(IntegerNoise::Gaussian { sigma: 900.0 }, 1).unwrap().atoms,
            atoms::integer(IntegerNoise::Gaussian { sigma: 40.0 }, 100_000).unwrap().atoms,
            (0..129).map(|i| Atom::new(-(i as f64), (i as f64 * 1.7).sin() * 3.0)).collect(),
        ];
        for list in &lists {
            let largest = list.iter().map(|atom| atom.loss).fold(0.0, f64::max);
            for share in [0.0, 1e-12, 1e-3, 0.1, 0.3, 0.5, 0.9, 0.999, 1.0, 1.1] {
                agrees(list, share * largest);
            }
            // At a loss itself, and an ulp to either side of it.
            for atom in list.iter().step_by(list.len().div_ceil(40)).filter(|atom| atom.loss > 0.0) {
                for epsilon in [atom.loss, atom.loss.next_up(), atom.loss.next_down()] {
                    agrees(list, epsilon);
                }
            }
        }
    }

    #[test]
    fn the_truth_lies_between_the_sides() {
        // Python's decimal, 40 digits: (1-exp(-2))/2 + (1-exp(-1))/4, for epsilon 1.
        let list = [(0.5f64, 3.0), (0.25, 2.0), (0.125, 1.0), (0.125, -1.0)]
            .map(|(mass, loss)| Atom::new(mass.ln(), loss));
        let (lower, upper) = HockeyStick::new(&list).delta(1.0);
        let truth = 0.590_362_498_088_833_1;
        assert!(lower <= truth && truth <= upper && upper - lower < 1e-13, "{lower} {upper}");
    }
}
