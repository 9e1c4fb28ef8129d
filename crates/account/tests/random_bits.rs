//! Random bits at the numeric entry points: every answer is a bracket or a refusal in one line, never a panic.

use veracity_account::{Method, Question, delta_at, epsilon_at};
use veracity_core::{
    Adjacency, Buckets, Count, Delta, Epsilon, Finding, Mechanism, NoiseMultiplier, Probability, Refusal,
    SamplingRate,
};
use veracity_testkit::sceptic::dice::Dice;

/// The same questions on every run.
struct Bits(Dice);

impl Bits {
    /// Any float at all, NaN and infinities included, or one of a plausible size.
    fn float(&mut self) -> f64 {
        match self.0.bits() % 3 {
            0 => f64::from_bits(self.0.bits()),
            1 => 10f64.powf((self.0.bits() % 600) as f64 / 10.0 - 40.0),
            _ => self.0.unit(),
        }
    }

    /// A float of plausible size, more often inside its range than not.
    fn between(&mut self, low: f64, high: f64) -> f64 {
        if self.0.bits().is_multiple_of(8) {
            return self.float();
        }
        let share = self.0.unit();
        low * (high / low).powf(share)
    }
}

fn mechanism(bits: &mut Bits) -> Result<Mechanism, Refusal> {
    let noise = NoiseMultiplier::new(bits.between(1e-2, 1e3));
    let times = Count::new(bits.between(1.0, 1e7) as u64);
    let kind = bits.0.bits() % 8;
    let part = match kind {
        0 => Mechanism::Gaussian { noise_multiplier: noise? },
        1 => Mechanism::Laplace { noise_multiplier: noise? },
        2 => Mechanism::DiscreteLaplace { scale: noise?, sensitivity: Count::new(1 + bits.0.bits() % 5)? },
        3 => Mechanism::DiscreteGaussian { sigma: noise?, sensitivity: Count::new(1 + bits.0.bits() % 5)? },
        4 => Mechanism::RandomizedResponse {
            buckets: Buckets::new((bits.0.bits() % 12) as u32)?,
            noise: Probability::new(bits.between(1e-3, 1.0))?,
        },
        5 => Mechanism::Approximate {
            epsilon: Epsilon::new(bits.between(1e-4, 10.0))?,
            delta: Delta::new(bits.between(1e-12, 1e-3))?,
        },
        _ => Mechanism::PoissonSampled {
            rate: SamplingRate::new(bits.between(1e-6, 1.0))?,
            mechanism: Box::new(Mechanism::Gaussian { noise_multiplier: noise? }),
        },
    };
    Ok(part.repeated(times?))
}

fn check(found: Result<(f64, f64), Refusal>, question: &Question) {
    match found {
        Ok((lower, upper)) => assert!(lower <= upper && lower >= 0.0, "{lower} {upper} {question:?}"),
        Err(refusal) => {
            let line = refusal.to_string();
            assert!(!line.is_empty() && !line.contains('\n'), "{line:?} {question:?}");
        }
    }
}

fn sides<T: Copy>(finding: Finding<T>, number: impl Fn(T) -> f64) -> (f64, f64) {
    match finding {
        Finding::Bracket(bracket) => (number(bracket.lower.0), number(bracket.upper.0)),
        Finding::Upper(upper) => (0.0, number(upper.0)),
        Finding::Approximation(value) => (number(value), number(value)),
    }
}

#[test]
fn random_bits_never_panic_and_brackets_are_in_order() {
    let mut bits = Bits(Dice::new(0, 0));
    let cheap = [Method::Exact, Method::Rdp, Method::Zcdp, Method::Gdp, Method::Basic, Method::GdpClt];
    let mut asked = 0;
    for _ in 0..350 {
        let Ok(mechanism) = mechanism(&mut bits) else { continue };
        let adjacency = Adjacency::ALL[(bits.0.bits() % 3) as usize];
        let question = Question { mechanism, adjacency };
        let method =
            if bits.0.bits().is_multiple_of(2) { Method::Exact } else { cheap[(bits.0.bits() % 6) as usize] };
        if let Ok(delta) = Delta::new(bits.between(1e-15, 1e-2)) {
            check(epsilon_at(&question, delta, method).map(|found| sides(found, Epsilon::get)), &question);
            asked += 1;
        }
        if let Ok(epsilon) = Epsilon::new(bits.between(1e-3, 100.0)) {
            check(delta_at(&question, epsilon, method).map(|found| sides(found, Delta::get)), &question);
        }
    }
    assert!(asked > 120, "only {asked} questions were legal");
}
