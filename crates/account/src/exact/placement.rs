//! Where a contour crosses the real axis and how far apart its nodes may be: a trade between digits that cancel and
//! losses that alias onto one another.

use super::composed::{Composed, Saddle};

/// How the nodes of a line are placed, in the order of cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scheme {
    /// Few nodes: what decays slowly is smoothed, which widens the interval.
    Quick,
    /// Rare large losses are counted apart.
    Rare,
    /// As many nodes as it takes.
    Sharp,
    /// One large loss is counted apart, where losses that are not rare matter too.
    OneJump,
}

/// Where the contour crosses the real axis, and how far apart its aliases are.
///
/// At the saddle the integrand cancels least, but where rare large losses drive the moment function the saddle lies
/// on a wall: the tilted distribution splits in two and its upper half aliases far. Any abscissa is valid; the best one needs
/// the shortest period.
pub(super) struct Placement {
    pub c: f64,
    pub period: f64,
    pub log_scale: f64,
    /// The logarithm of how much larger the integral of the integrand's modulus is than that of the integrand.
    pub cancelled: f64,
}

impl Placement {
    /// The sharper the scheme, the fewer digits may cancel and the longer is the period.
    pub(super) fn best(
        composed: &Composed,
        saddle: &Saddle,
        tolerance: f64,
        scheme: Scheme,
    ) -> Option<Placement> {
        let wanted = saddle.log_delta + tolerance.ln() - 1.0;
        let (ratio, range, price) = match scheme {
            Scheme::Quick => (1.2f64, -9..=6, 3.0),
            Scheme::Sharp | Scheme::Rare | Scheme::OneJump => (1.07f64, -24..=16, 1.3),
        };
        let table: Vec<(f64, f64, f64)> = range
            .map(|i| {
                let c = saddle.c * ratio.powi(i);
                let (height, moments) = composed.height(c, -saddle.log_delta);
                (c, moments[0], height)
            })
            .collect();
        let mut best: Option<(f64, Placement)> = None;
        for (i, &(c, k, height)) in table.iter().enumerate() {
            let excess = height - c * saddle.epsilon - saddle.log_delta;
            if !(excess < 16.0) {
                continue;
            }
            let low = -wanted / c;
            let high = table[i + 1..]
                .iter()
                .map(|&(d, k, _)| (k - d * saddle.epsilon - d.ln_1p() - wanted) / (d - c))
                .filter(|period| period.is_finite())
                .fold(f64::INFINITY, f64::min);
            let period = low.max(high).max(1e-300);
            // Digits that cancel must be bought with tighter nodes.
            let cost = period * (excess.max(0.0) / price).exp();
            if cost.is_finite() && best.as_ref().is_none_or(|b| cost < b.0) {
                best = Some((cost, Placement { c, period, log_scale: k, cancelled: excess.max(0.0) }));
            }
        }
        best.map(|(_, placement)| placement)
    }
}

/// A period at least as long as given for which what the losses above ε alias to is at most e^{wanted}; with it c′ > c
/// and the logarithm of κ(c′) e^{K(c′)}/(e^{(c′−c)·period} − 1), which bounds that (times e^{−c′ε}).
pub(super) fn high_alias(
    composed: &Composed,
    saddle: &Saddle,
    c: f64,
    period: f64,
    wanted: f64,
) -> Option<(f64, (f64, f64))> {
    // Moments that steer may mislead next to a wall: they only order the ladder, certified ones decide.
    let bound = |d: f64, log: f64, period: f64| {
        let gain = (d - c) * period;
        log - gain - (-(-gain).exp()).ln_1p()
    };
    let mut ladder = [0.06, 0.2, 0.44, 0.8, 1.5].map(|rise| {
        let d = c * (1.0 + rise);
        let guess = bound(d, composed.cumulants(d)[0], period) - d.ln_1p() - d * saddle.epsilon;
        (d, if guess.is_nan() { f64::INFINITY } else { guess })
    });
    ladder.sort_by(|a, b| a.1.total_cmp(&b.1));
    let mut best: Option<(f64, (f64, f64))> = None;
    for (d, _) in ladder {
        let Some(log) = composed.chernoff(d) else { continue };
        let mut long = period;
        while bound(d, log, long) - d * saddle.epsilon > wanted && long < 300.0 * period {
            long *= 1.15;
        }
        if best.is_none_or(|(known, _)| long < known) {
            best = Some((long, (d, bound(d, log, long))));
        }
        if long == period {
            break;
        }
    }
    best.filter(|(long, _)| *long < 300.0 * period)
}
