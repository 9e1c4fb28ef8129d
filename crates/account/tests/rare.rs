//! Two steps of DP-SGD against their closed form integrated over the loss of one of them: a truth that knows nothing of
//! contours, labels or tilts, over rates, noises and δ where large losses are rare.

use veracity_account::{Method, Question, delta_at};
use veracity_core::Adjacency;
use veracity_core::numerics::normal;
use veracity_testkit::short::{self};

/// A removed record at the rate q, with s = 1/σ.
#[derive(Clone, Copy)]
struct Step {
    q: f64,
    s: f64,
}

impl Step {
    fn log_ratio(&self, w: f64) -> f64 {
        (self.q * w.exp_m1()).ln_1p()
    }

    /// E_P[(1 − e^{u − L})₊] = P(L > u) − e^u Q(L > u), and by how much the two terms cancel.
    fn profile(&self, u: f64) -> (f64, f64) {
        let odds = u.exp_m1() / self.q;
        if odds <= -1.0 {
            return (-u.exp_m1(), 1.0);
        }
        let x = odds.ln_1p() / self.s + 0.5 * self.s;
        let (absent, present) = (normal::cdf(-x), normal::cdf(self.s - x));
        // (1 − q − e^u) absent + q present, with e^u = 1 + q·odds: q (present − (1 + odds) absent).
        let value = self.q * (present - (1.0 + odds) * absent);
        (value, self.q * present / value)
    }

    /// δ of two steps by the trapezoid rule over the first one's w, and by how much its terms cancel.
    fn twice(&self, epsilon: f64, points: usize) -> (f64, f64) {
        let far = (epsilon.exp_m1() / self.q).ln_1p().max(0.0);
        let (low, high) =
            (-0.5 * self.s * self.s - 12.0 * self.s, 0.5 * self.s * self.s + far + 14.0 * self.s);
        let step = (high - low) / points as f64;
        let (mut sum, mut cancelled) = (0.0, 0.0f64);
        for k in 0..=points {
            let w = low + k as f64 * step;
            let x = w / self.s + 0.5 * self.s;
            let loss = self.log_ratio(w);
            let (value, ratio) = self.profile(epsilon - loss);
            let term = normal::density(x) / self.s * loss.exp() * value * step;
            sum += term;
            cancelled = cancelled.max(if term > 1e-12 * sum { ratio.abs() } else { 0.0 });
        }
        (sum, cancelled)
    }
}

/// A number in [0, 1) from a counter.
fn share(index: u64, which: u64) -> f64 {
    let mut z = (index * 16 + which + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
}

fn between(low: f64, high: f64, share: f64) -> f64 {
    (low.ln() + share * (high / low).ln()).exp()
}

#[test]
fn two_steps_hold_their_closed_form() {
    let (mut judged, mut narrow) = (0, 0);
    for index in 0..120 {
        let step =
            Step { q: between(1e-9, 0.1, share(index, 0)), s: 1.0 / between(0.1, 5.0, share(index, 1)) };
        // A loss some deviations out, where one or both steps are in the tail.
        let w = step.s * (1.0 + 14.0 * share(index, 2)) - 0.5 * step.s * step.s;
        let epsilon = step.log_ratio(w) * (0.7 + share(index, 3));
        if !(epsilon > 0.0) {
            continue;
        }
        let ((truth, cancelled), (again, _)) = (step.twice(epsilon, 6000), step.twice(epsilon, 9001));
        // Of 16 digits the closed form keeps what it does not cancel.
        if !((truth / again - 1.0).abs() < 1e-9 && cancelled < 1e5 && truth > 1e-280) {
            continue;
        }
        let mechanism = short::dp_sgd(step.q, 1.0 / step.s, 2);
        let question = Question { mechanism, adjacency: Adjacency::AddRemove };
        let Ok(found) = delta_at(&question, short::epsilon(epsilon), Method::Exact) else { continue };
        let (lower, upper) = (found.lower().unwrap().0.get(), found.upper().unwrap().0.get());
        judged += 1;
        let context = || format!("q {:e} sigma {} epsilon {epsilon:e}: {truth:e}", step.q, 1.0 / step.s);
        assert!(upper >= truth * (1.0 - 3e-9), "{upper:e} below {}", context());
        // The other direction can only leak more, so only what it leaves to this one is judged from below.
        if upper <= truth * (1.0 + 1e-4) {
            assert!(lower <= truth * (1.0 + 3e-9), "{lower:e} above {}", context());
            narrow += 1;
        }
    }
    assert!(judged > 20 && 10 * narrow > 8 * judged, "{judged} judged, {narrow} of them narrow");
}
