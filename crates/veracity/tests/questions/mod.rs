//! Seeded questions over every kind of mechanism, every adjacency and every method that bounds.
#![allow(dead_code, clippy::unwrap_used)] // Each test file uses the part that it needs, and stops where it cannot go on.

use veracity::{
    Adjacency, Answer, Choice, ClaimFile, Mechanism, Method, PrivacyUnit, Refusal, Subject, Target, account,
    spec::MechanismSpec,
};

/// A generator whose whole state is its seed (SplitMix64).
pub struct Dice(pub u64);

impl Dice {
    pub fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, bound: usize) -> usize {
        (self.word() % bound as u64) as usize
    }

    pub fn pick<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len())]
    }

    /// A number between two positive ones, evenly on a log scale.
    pub fn between(&mut self, low: f64, high: f64) -> f64 {
        let share = (self.word() >> 11) as f64 / (1u64 << 53) as f64;
        (low.ln() + share * (high / low).ln()).exp()
    }
}

/// A question, and who is to answer it.
#[derive(Debug)]
pub struct Asked {
    pub subject: Subject,
    pub target: Target,
    pub choice: Choice,
}

impl Asked {
    /// A random question.
    pub fn draw(dice: &mut Dice) -> Asked {
        let spec = mechanism(dice, 2);
        let mechanism = Mechanism::try_from(&serde_json::from_str::<MechanismSpec>(&spec).unwrap()).unwrap();
        let adjacency = *dice.pick(&Adjacency::ALL);
        let unit = PrivacyUnit::new(["example", "user", "household"][dice.below(3)]).unwrap();
        let target = match dice.below(3) {
            0 => Target::Epsilon(veracity::Epsilon::new(dice.between(0.01, 20.0)).unwrap()),
            1 if dice.below(8) == 0 => Target::Delta(veracity::Delta::new(0.0).unwrap()),
            _ => Target::Delta(veracity::Delta::new(dice.between(1e-12, 0.1)).unwrap()),
        };
        let choice = match dice.below(3) {
            0 => Choice::Only(*dice.pick(&Method::ALL)),
            _ => Choice::Best,
        };
        Asked { subject: Subject { mechanism, adjacency, unit }, target, choice }
    }

    /// Its answer and the claim that is written of it.
    pub fn claim(&self) -> Result<(Answer, ClaimFile), Refusal> {
        let answer = account(&self.subject, self.target, self.choice)?;
        let claim = ClaimFile::new(&self.subject, &answer)?;
        Ok((answer, claim))
    }
}

/// A random mechanism as it is written in files; `depth` more may be nested in it.
fn mechanism(dice: &mut Dice, depth: usize) -> String {
    let leaf = depth == 0 || dice.below(2) == 0;
    match dice.below(if leaf { 12 } else { 17 }) {
        0 => format!(r#"{{"kind":"gaussian","noise_multiplier":{}}}"#, dice.between(0.3, 100.0)),
        1 => format!(r#"{{"kind":"laplace","noise_multiplier":{}}}"#, dice.between(0.2, 100.0)),
        2 => format!(
            r#"{{"kind":"discrete-gaussian","sigma":{},"sensitivity":{}}}"#,
            dice.between(0.5, 50.0),
            1 + dice.below(5)
        ),
        3 => format!(
            r#"{{"kind":"discrete-laplace","scale":{},"sensitivity":{}}}"#,
            dice.between(0.5, 50.0),
            1 + dice.below(5)
        ),
        4 => format!(
            r#"{{"kind":"randomized-response","noise_parameter":{},"buckets":{}}}"#,
            dice.between(0.01, 0.99),
            2 + dice.below(9)
        ),
        5 => format!(r#"{{"kind":"exponential","epsilon":{}}}"#, dice.between(0.01, 3.0)),
        6 => format!(r#"{{"kind":"pure","epsilon":{}}}"#, dice.between(0.01, 3.0)),
        7 => format!(
            r#"{{"kind":"approximate","epsilon":{},"delta":{}}}"#,
            dice.between(0.01, 3.0),
            dice.between(1e-12, 1e-3)
        ),
        8 => format!(r#"{{"kind":"zcdp","rho":{}}}"#, dice.between(1e-4, 2.0)),
        9 => format!(
            r#"{{"kind":"rdp","orders":[2,8,64],"values":[{a},{b},{b}]}}"#,
            a = dice.between(1e-4, 0.5),
            b = dice.between(0.5, 3.0)
        ),
        10 => format!(r#"{{"kind":"gdp","mu":{}}}"#, dice.between(0.01, 3.0)),
        11 => format!(
            r#"{{"kind":"dp-sgd","sampling_rate":{},"noise_multiplier":{},"steps":{}}}"#,
            dice.between(1e-4, 0.5),
            dice.between(0.6, 10.0),
            dice.between(1.0, 1e4).round()
        ),
        12 => format!(
            r#"{{"kind":"poisson-sampled","rate":{},"mechanism":{}}}"#,
            dice.between(1e-3, 1.0),
            mechanism(dice, 0)
        ),
        // More than one use takes transforms of seconds.
        13 => format!(
            r#"{{"kind":"fixed-size-sampled","batch":{},"population":1000,"mechanism":{}}}"#,
            1 + dice.below(1000),
            mechanism(dice, 0)
        ),
        14 => format!(
            r#"{{"kind":"repeated","times":{},"mechanism":{}}}"#,
            1 + dice.below(50),
            mechanism(dice, depth - 1)
        ),
        15 => {
            let kind = *dice.pick(&["composed", "parallel"]);
            let parts: Vec<String> = (0..1 + dice.below(3)).map(|_| mechanism(dice, depth - 1)).collect();
            format!(r#"{{"kind":"{kind}","parts":[{}]}}"#, parts.join(","))
        }
        _ => format!(
            r#"{{"kind":"group","size":{},"mechanism":{}}}"#,
            1 + dice.below(4),
            mechanism(dice, depth - 1)
        ),
    }
}
