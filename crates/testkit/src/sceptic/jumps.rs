//! Rare jumps: δ(ε) of a Gaussian on Poisson batches whose record is hardly ever in one.
//!
//! The transform of one use is M = M₀ + M₁, the record absent from the batch and present in it. Without the record losses
//! hardly vary, so M₀ᵀ does not die away along the line and neither does Mᵀ: the plain contour has no end. Mᵀ − M₀ᵀ does die
//! away, because at least one batch holds the record. Its contour sum is δ but for what T batches without the record add,
//! and that lies between zero and Chernoff's bound.

use super::complex::Cdd;
use super::contour::{REST, SHARP, Saddle, finenesses, log_kappa};
use super::double_double::{DD_UNIT, Dd, PI};
use super::law::{Situation, Use, World};
use super::nodes;
use super::truth::Truth;

/// Jumps are rare where fewer than this many are expected under the tilted law: with more of them Mᵀ dies away by itself.
const FEW: f64 = 80.0;

/// Jumps are far where the record moves the answer by this many deviations: nearer ones hardly stand out, and batches that
/// hold the record to no effect make M₁ die away as slowly as M₀.
const FAR: f64 = 3.0;

/// δ(ε) of a world whose one use jumps rarely, where at most `most` products of a node and a point are enough.
pub fn apart(world: &World, epsilon: f64, most: f64) -> Option<Truth> {
    let [(once, times)] = world.uses.as_slice() else { return None };
    let Use::SampledGaussian { situation: Situation::Remove | Situation::Replace, mu, .. } = once else {
        return None;
    };
    if mu.hi < FAR {
        return None;
    }
    let saddle = Saddle::find(world, epsilon)?;
    if saddle.caps[0].is_finite() {
        return None;
    }
    let h = saddle.step(world, epsilon)?;
    let ladder = finenesses(world);
    for fineness in ladder {
        let walk = Walk::new(once, *times, saddle.c, h, fineness)?;
        if walk.times.hi * walk.totals.1 > FEW * (walk.totals.0 + walk.totals.1) {
            return None;
        }
        let Some((sum, error, scale)) = walk.summed(epsilon, fineness > ladder[2], most)? else { continue };
        let absent = log_without(once, *times, epsilon, saddle.c)?;
        let value = sum * (Dd::new(h) / PI);
        let aliases = (saddle.log_aliases(world, epsilon, h) - scale).exp();
        let low = Truth::of_value(value - Dd::new(aliases), error * h, Dd::new(scale));
        let high = Truth::of_value(value + Dd::new((absent - scale).exp()), error * h, Dd::new(scale));
        let truth = Truth { log_low: low.log_low, log_high: high.log_high };
        return truth.is_rough().then_some(truth);
    }
    None
}

/// log of Chernoff's bound on what batches without the record add to δ(ε), from floats and with a margin.
fn log_without(once: &Use, times: u64, epsilon: f64, c: f64) -> Option<f64> {
    let t = times as f64;
    let bound = |other: f64| {
        let exponent = t * nodes::absent_cumulant(once, other)?;
        let margin = 1e-3 + 1e-9 * (exponent.abs() + other * epsilon) + 1e-11 * t;
        Some(exponent - other * epsilon + log_kappa(other) + margin)
    };
    let factors = [1.0, 1.2, 1.5, 2.0, 3.0, 4.0, 6.0, 9.0, 14.0, 25.0, 50.0, 100.0, 1e3, 1e4, 1e5, 1e6];
    factors.iter().filter_map(|factor| bound(c * factor)).reduce(f64::min)
}

/// Nodes on their way up the line, those without the record and those with it.
struct Walk {
    absent: Vec<(Cdd, Cdd)>,
    present: Vec<(Cdd, Cdd)>,
    /// The sums of their weights.
    totals: (f64, f64),
    log_scale: Dd,
    strip: super::envelope::Strip,
    times: Dd,
    c: f64,
    h: f64,
}

/// M₀ and M₁ at a point, each with a bound on its error.
struct Here {
    absent: (Cdd, f64),
    present: (Cdd, f64),
}

impl Walk {
    fn new(once: &Use, times: u64, c: f64, h: f64, fineness: f64) -> Option<Walk> {
        let nodes::Labelled { points, log_scale, strip } = nodes::labelled(once, c, fineness)?;
        let totals = points
            .iter()
            .fold((0.0, 0.0), |sum, (_, absent, present)| (sum.0 + absent.hi, sum.1 + present.hi));
        let step = Dd::new(h);
        let (mut absent, mut present) = (Vec::new(), Vec::new());
        for (loss, without, with) in points {
            let turn = Cdd::turn(loss * step);
            if without.hi > 1e-45 * totals.0 {
                absent.push((Cdd::new(without, Dd::ZERO), turn));
            }
            if with.hi > 1e-45 * totals.1 {
                present.push((Cdd::new(with, Dd::ZERO), turn));
            }
        }
        Some(Walk { absent, present, totals, log_scale, strip, times: Dd::whole(times), c, h })
    }

    /// M₀ and M₁ at the k-th point; then moves on.
    fn next(&mut self, k: u64) -> Here {
        let add = |states: &mut [(Cdd, Cdd)]| {
            let mut sum = Cdd::ZERO;
            for (state, turn) in states {
                sum = sum + *state;
                *state = *state * *turn;
            }
            sum
        };
        let (absent, present) = (add(&mut self.absent), add(&mut self.present));
        let rounding = DD_UNIT * (90.0 + 6.0 * k as f64);
        let aliases = self.strip.aliases(self.h * k as f64) * (self.totals.0 + self.totals.1);
        Here {
            absent: (absent, self.totals.0 * rounding + aliases),
            present: (present, self.totals.1 * rounding + aliases),
        }
    }

    /// The sum over the points, a bound on its error, and the logarithm of its unit; the inner none where nodes are too
    /// coarse, the outer where it takes too long.
    #[allow(clippy::option_option)]
    fn summed(mut self, epsilon: f64, coarse: bool, most: f64) -> Option<Option<(Dd, f64, f64)>> {
        let work = (self.absent.len() + self.present.len()) as f64 + 100.0;
        let (mut sum, mut error, mut scale) = (Dd::ZERO, 0.0, Dd::ZERO);
        let (mut k, mut look) = (0u64, 1u64);
        let quarter = (0.25 * most / work) as u64;
        let mut early = f64::NAN;
        loop {
            let z = Cdd::new(Dd::new(self.c), Dd::new(self.h) * Dd::whole(k));
            let here = self.next(k);
            let base = (here.absent.0.ln() + Cdd::new(self.log_scale, Dd::ZERO)).times(self.times)
                - z.times(Dd::new(epsilon));
            if k == 0 {
                scale = Dd::new(base.re.hi);
            }
            let base = base - Cdd::new(scale, Dd::ZERO);
            let weight = z * (z + Cdd::ONE);
            let more = ln_1p(here.present.0 / here.absent.0).times(self.times);
            let value = base.exp() * expm1(more) / weight;
            let blur = self.blur(&here, base.re.hi) / weight.size()
                + value.size() * 64.0 * DD_UNIT * (1.0 + base.size() + more.size());
            sum = sum + value.re * Dd::new(if k == 0 { 0.5 } else { 1.0 });
            error += blur;
            if error.is_nan() || error > SHARP * sum.hi.abs() && coarse {
                return Some(None);
            }
            if k == quarter || k == 2 * quarter {
                // The bound on the rest falls by no more per point than it did: where that is too slow, give up early.
                let log = (self.beyond(k, epsilon, scale.hi) / sum.hi.abs()).ln();
                if log + 2.0 * (log - early) > 0.0 {
                    return None;
                }
                early = log;
            }
            let spent = (k + 1) as f64 * work > most;
            if k >= look && value.size() < REST * sum.hi.abs() || spent {
                let rest = self.beyond(k, epsilon, scale.hi);
                if rest < REST * sum.hi.abs() || spent && rest < 0.01 * sum.hi.abs() {
                    return Some(Some((sum, error + rest, scale.hi)));
                }
                if spent {
                    return None;
                }
                look = k + 4 + k / 8;
            }
            k += 1;
        }
    }

    /// How far Mᵀ − M₀ᵀ may be off, in the unit of the sum: M₁ times at most T products of T − 1 factors.
    fn blur(&self, here: &Here, log_base: f64) -> f64 {
        let t = self.times.hi;
        let ((absent, d0), (present, d1)) = (here.absent, here.present);
        let (m0, m1) = (absent.size(), present.size());
        let most = m0.max((absent + present).size()) + d0 + d1;
        let powers = (log_base + t * (most / m0).ln()).exp();
        powers * (t * d1 / most + t * t * (m1 + d1) * (d0 + d1) / (most * most))
    }

    /// A bound on the sum of all points after the k-th.
    fn beyond(&mut self, k: u64, epsilon: f64, scale: f64) -> f64 {
        let t = self.times.hi;
        let present = self.strip.present_ceiling(self.h * k as f64);
        let most = self.totals.0 + present;
        let log = t * (most.ln() + self.log_scale.hi) - self.c * epsilon - scale;
        t * present / most * (log + 1.0).exp() / (self.h * self.h * k as f64)
    }
}

/// log(1 + r), with its relative digits near zero.
fn ln_1p(r: Cdd) -> Cdd {
    let square = r.re * r.re + r.im * r.im;
    Cdd::new((r.re.scaled(1) + square).ln_1p().scaled(-1), Dd::atan2(r.im, Dd::ONE + r.re))
}

/// e^z − 1, with its relative digits near zero.
fn expm1(z: Cdd) -> Cdd {
    let (sine, cosine) = z.im.sin_cos();
    let half = z.im.scaled(-1).sin_cos().0;
    Cdd::new(z.re.expm1() * cosine - (half * half).scaled(1), z.re.exp() * sine)
}
