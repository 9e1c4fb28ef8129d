//! The last setting within a budget: interpolation of log ε on a log scale, kept between a setting that was seen to
//! hold and one that was seen to fail.

use veracity_core::Refusal;

/// Settings from the most private to the most revealing; either end may be the larger number.
pub(super) struct Axis {
    /// The most private setting.
    pub private: f64,
    /// The most revealing setting.
    pub revealing: f64,
    /// By how much log ε is expected to rise with the log of the setting, towards the revealing end.
    pub elasticity: f64,
    /// Which settings there are.
    pub grain: Grain,
}

/// Which settings there are between two others.
pub(super) enum Grain {
    /// Whole numbers.
    Whole,
    /// Any number; two that differ by this share count as one.
    Relative(f64),
}

/// A setting and its certified ε.
#[derive(Clone, Copy)]
struct Seen {
    x: f64,
    /// log x, signed so that it rises towards the revealing end.
    place: f64,
    /// log(ε / target); infinite when there is no certified ε.
    height: f64,
}

/// The most revealing setting whose leak is at most `target`; `None` when not even the most private one is.
///
/// # Promise   `leak` was evaluated at the result, and was at most `target`
/// # Assumes   The leak rises towards the revealing end; it may be refused there, which counts as too much
pub(super) fn last_within(
    axis: &Axis,
    start: f64,
    target: f64,
    leak: impl Fn(f64) -> Result<f64, Refusal>,
) -> Result<Option<f64>, Refusal> {
    let mut search = Search {
        axis,
        nearest: Vec::new(),
        holds: None,
        fails: None,
        reach: 0.5,
        width: f64::INFINITY,
        stalled: 0,
        patience: 3,
    };
    let mut x = start;
    loop {
        let found = leak(x);
        match &found {
            Ok(leak) if *leak <= target => {
                if x == axis.revealing {
                    return Ok(Some(x));
                }
            }
            Ok(_) if x == axis.private => return Ok(None),
            Ok(_) => {}
            Err(refusal) if x == axis.private || is_final(refusal) => {
                return Err(refusal.clone());
            }
            Err(_) => {}
        }
        search.learn(x, (found.unwrap_or(f64::INFINITY) / target).ln());
        match search.next() {
            Some(next) => x = next,
            None => return Ok(search.holds.map(|holds| holds.x)),
        }
    }
}

impl Axis {
    /// The last setting at which a rough predicate holds.
    pub(super) fn last(&self, holds: impl Fn(f64) -> bool) -> f64 {
        let (mut low, mut high) = (self.place(self.private), self.place(self.revealing));
        while high - low > 1e-3 {
            let middle = 0.5 * (low + high);
            if holds(self.setting(middle)) { low = middle } else { high = middle }
        }
        self.setting(low)
    }

    fn sign(&self) -> f64 {
        if self.private < self.revealing { 1.0 } else { -1.0 }
    }

    fn place(&self, x: f64) -> f64 {
        self.sign() * x.ln()
    }

    fn setting(&self, place: f64) -> f64 {
        let x = (self.sign() * place).exp();
        let on_grain = match self.grain {
            Grain::Whole => x.round(),
            Grain::Relative(_) => x,
        };
        on_grain.clamp(self.private.min(self.revealing), self.private.max(self.revealing))
    }

    /// The distance within which places near `x` are not told apart.
    fn close(&self, x: f64) -> f64 {
        match self.grain {
            Grain::Whole => 1.0 / x,
            Grain::Relative(share) => share,
        }
    }
}

struct Search<'a> {
    axis: &'a Axis,
    /// The finite heights nearest to zero, nearest first.
    nearest: Vec<Seen>,
    holds: Option<Seen>,
    fails: Option<Seen>,
    /// How far to step when nothing better is known; grows.
    reach: f64,
    /// The width of the bracket when it last halved, how often it did not since, and how often it may not.
    width: f64,
    stalled: u32,
    patience: u32,
}

impl Search<'_> {
    fn learn(&mut self, x: f64, height: f64) {
        let seen = Seen { x, place: self.axis.place(x), height };
        if height <= 0.0 {
            self.holds = Some(seen)
        } else {
            self.fails = Some(seen)
        }
        if height.is_finite() {
            self.nearest.push(seen);
            self.nearest.sort_by(|a, b| a.height.abs().total_cmp(&b.height.abs()));
            self.nearest.truncate(3);
        }
    }

    /// Where to look next, or nothing when the two sides meet.
    fn next(&mut self) -> Option<f64> {
        match (self.holds, self.fails) {
            (Some(holds), Some(fails)) => self.between(holds, fails),
            (Some(seen), None) => Some(self.onward(seen, 1.0)),
            (None, Some(seen)) => Some(self.onward(seen, -1.0)),
            (None, None) => None,
        }
    }

    fn between(&mut self, holds: Seen, fails: Seen) -> Option<f64> {
        let (low, high) = (holds.place, fails.place);
        if high - low <= 0.5 * self.width {
            (self.width, self.stalled) = (high - low, 0);
        } else {
            self.stalled += 1;
        }
        let aim = self.aim().filter(|aim| self.stalled < self.patience && low < *aim && *aim < high);
        if self.stalled >= self.patience {
            self.patience = 1;
        }
        let x = aim.map_or((holds.x * fails.x).sqrt(), |aim| self.axis.setting(aim));
        match self.axis.grain {
            Grain::Whole => (fails.x - holds.x > 1.0).then(|| x.floor().clamp(holds.x + 1.0, fails.x - 1.0)),
            Grain::Relative(share) => (high - low > share && x != holds.x && x != fails.x).then_some(x),
        }
    }

    /// Past what was seen, in the direction where the other side must be.
    fn onward(&mut self, from: Seen, direction: f64) -> f64 {
        let close = self.axis.close(from.x);
        let ahead = self.aim().map(|aim| direction * (aim - from.place)).filter(|step| *step > 0.0);
        let step = ahead.unwrap_or(f64::INFINITY).clamp(0.25 * close, self.reach.max(close));
        self.reach *= 2.0;
        let x = self.axis.setting(from.place + direction * step);
        match self.axis.grain {
            Grain::Whole if x == from.x => from.x + direction,
            Grain::Whole | Grain::Relative(_) => x,
        }
    }

    /// Where log ε seems to pass the target: a parabola through the nearest points, or less while there are fewer.
    ///
    /// The aim is a little beyond, by about the error of the interpolation, so that the next look lands on the other
    /// side and closes the bracket.
    fn aim(&self) -> Option<f64> {
        let first = self.nearest.first()?;
        let weight = |i: usize| -> f64 {
            let h = |j: usize| self.nearest[j].height;
            (0..self.nearest.len()).filter(|j| *j != i).map(|j| h(j) / (h(j) - h(i))).product()
        };
        let step: f64 = match self.nearest.len() {
            1 => -first.height / self.axis.elasticity,
            more => (1..more).map(|i| (self.nearest[i].place - first.place) * weight(i)).sum(),
        };
        let beyond = step.abs().min(step * step) + 0.25 * self.axis.close(first.x);
        let outward = if first.height <= 0.0 { 1.0 } else { -1.0 };
        let aim = first.place + step + outward * beyond;
        aim.is_finite().then_some(aim)
    }
}

/// Whether a refusal would be the same at any other noise, or must not be searched around.
fn is_final(refusal: &Refusal) -> bool {
    matches!(refusal, Refusal::NoTheorem { .. } | Refusal::Contradiction(_))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::cell::Cell;

    const FALLING: Axis =
        Axis { private: 1e9, revealing: 1e-6, elasticity: 1.2, grain: Grain::Relative(1e-7) };
    const COUNTED: Axis = Axis { private: 1.0, revealing: 1e15, elasticity: 0.6, grain: Grain::Whole };

    /// The result and how often the leak was asked for.
    fn looked(axis: &Axis, start: f64, leak: impl Fn(f64) -> Result<f64, Refusal>) -> (Option<f64>, u32) {
        let looks = Cell::new(0);
        let counted = |x: f64| {
            looks.set(looks.get() + 1);
            leak(x)
        };
        (last_within(axis, start, 1.0, counted).unwrap(), looks.get())
    }

    #[test]
    fn a_smooth_leak_takes_few_looks() {
        // Exactly 1 at x = 2.
        let leak = |x: f64| Ok((2.0 / x).powi(2) * 0.5 + 1.0 / x);
        for start in [1.5, 1.9, 2.0, 2.3, 4.0] {
            let (found, looks) = looked(&FALLING, start, leak);
            let found = found.unwrap();
            assert!((2.0..2.0 * (1.0 + 1e-7)).contains(&found) && looks <= 9, "{start}: {found} in {looks}");
        }
    }

    #[test]
    fn the_last_whole_number_is_found_from_anywhere() {
        for last in [1.0, 2.0, 3.0, 1000.0, 123_456_789.0, 999_999_999_999_999.0] {
            let leak = |n: f64| Ok((n / (last + 0.5)).powf(0.7));
            for start in [1.0, 7.0, 1e6, 1e15] {
                let (found, looks) = looked(&COUNTED, start, leak);
                assert!(found == Some(last) && looks <= 64, "{start}: {found:?} in {looks}");
            }
        }
    }

    #[test]
    fn ends_and_walls_are_respected() {
        assert_eq!(looked(&FALLING, 1.0, |_| Ok(0.5)).0, Some(1e-6));
        assert_eq!(looked(&FALLING, 1.0, |_| Ok(1.5)).0, None);
        assert_eq!(looked(&COUNTED, 5.0, |_| Ok(0.0)).0, Some(1e15));
        // A cliff, a refusal beyond it, and a plateau of zero leave nothing to interpolate.
        let cliff = |x: f64| if x < 3.0 { Err(Refusal::NotCertified(String::new())) } else { Ok(0.0) };
        let (found, looks) = looked(&FALLING, 50.0, cliff);
        assert!((3.0..3.000_000_4).contains(&found.unwrap()) && looks < 50, "{found:?} in {looks}");
    }

    #[test]
    fn a_leak_that_trembles_is_still_kept_within() {
        let leak = |x: f64| 1.0 / x * (1.0 + 1e-6 * (1e9 * x).sin());
        let found = looked(&FALLING, 1.3, |x| Ok(leak(x))).0.unwrap();
        assert!(leak(found) <= 1.0 && found < 1.0 + 2e-6);
    }
}
