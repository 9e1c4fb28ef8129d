//! What one use of a mechanism shows, written down anew: the law of its privacy loss in one direction.
//!
//! A [`World`] is one direction of one situation: which losses are added up, how often each, and how likely it is that
//! nothing fails outright. The roads beside this file turn a world and an ε into a [`super::truth::Truth`].

use super::double_double::Dd;

/// Where the record is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Situation {
    /// The first dataset has the record, the second lacks it.
    Remove,
    /// The first dataset lacks the record, the second has it.
    Add,
    /// Both have one, with opposite contributions.
    Replace,
}

/// One outcome: its loss, and the logarithm of its chance under the first dataset.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Atom {
    /// log of the ratio of chances.
    pub loss: Dd,
    /// log of the chance.
    pub log_mass: Dd,
}

/// The losses of one use.
#[derive(Debug, Clone, PartialEq)]
pub enum Use {
    /// N(μ, 1) against N(0, 1).
    Gaussian {
        /// μ.
        mu: Dd,
    },
    /// Laplace noise whose centre moves.
    Laplace {
        /// By so many scales.
        shift: Dd,
    },
    /// Finitely many outcomes.
    Atoms(Vec<Atom>),
    /// Outcomes with losses `first` + `step`·k.
    Lattice {
        /// The loss of the first outcome.
        first: Dd,
        /// From one to the next.
        step: Dd,
        /// log of each chance.
        log_masses: Vec<Dd>,
    },
    /// Gaussian noise on a Poisson batch.
    SampledGaussian {
        /// The sampling rate, below 1.
        rate: Dd,
        /// One contribution in standard deviations.
        mu: Dd,
        /// Where the record is.
        situation: Situation,
    },
    /// Laplace noise on a Poisson batch; no replaced records.
    SampledLaplace {
        /// The sampling rate, below 1.
        rate: Dd,
        /// One contribution in scales.
        shift: Dd,
        /// Where the record is.
        situation: Situation,
    },
}

/// One direction: losses that add up.
#[derive(Debug, Clone, PartialEq)]
pub struct World {
    /// What is used, and how often.
    pub uses: Vec<(Use, u64)>,
    /// log of the chance that no declared mechanism fails outright.
    pub log_survive: Dd,
}

impl Use {
    /// Its outcomes, where they can be listed.
    pub fn atoms(&self) -> Option<Vec<Atom>> {
        match self {
            Use::Atoms(atoms) => Some(atoms.clone()),
            Use::Lattice { first, step, log_masses } => {
                let atom = |(k, mass): (usize, &Dd)| Atom {
                    loss: *first + *step * Dd::whole(k as u64),
                    log_mass: *mass,
                };
                Some(log_masses.iter().enumerate().map(atom).collect())
            }
            Use::Gaussian { .. }
            | Use::Laplace { .. }
            | Use::SampledGaussian { .. }
            | Use::SampledLaplace { .. } => None,
        }
    }

    /// Its largest loss; infinite where there is none.
    pub fn largest(&self) -> Dd {
        match self {
            Use::Gaussian { .. } => Dd::INFINITY,
            Use::Laplace { shift } => *shift,
            Use::Atoms(_) | Use::Lattice { .. } => {
                let atoms = self.atoms().unwrap_or_default();
                atoms.iter().fold(Dd::NEG_INFINITY, |most, atom| most.max(atom.loss))
            }
            Use::SampledGaussian { rate, situation, .. } => match situation {
                Situation::Remove | Situation::Replace => Dd::INFINITY,
                Situation::Add => -(-*rate).ln_1p(),
            },
            Use::SampledLaplace { rate, shift, situation } => match situation {
                Situation::Remove | Situation::Replace => (*rate * shift.expm1()).ln_1p(),
                Situation::Add => -(*rate * (-*shift).expm1()).ln_1p(),
            },
        }
    }
}

impl World {
    /// The sum of the largest losses.
    pub fn largest(&self) -> Dd {
        self.uses.iter().fold(Dd::ZERO, |sum, (once, times)| sum + once.largest() * Dd::whole(*times))
    }
}

/// Outcomes of a pair on a Poisson batch: (1 − q)Q + qP against Q, or the reverse.
pub fn sampled_atoms(atoms: &[Atom], rate: Dd, situation: Situation) -> Vec<Atom> {
    let moved = |atom: &Atom| {
        let log_absent = atom.log_mass - atom.loss;
        let ratio = if atom.loss.hi > 600.0 {
            // 1 − q is lost beside q e^{600}, which double-doubles would not see either.
            rate.ln() + atom.loss
        } else {
            (rate * atom.loss.expm1()).ln_1p()
        };
        match situation {
            Situation::Add => Atom { loss: -ratio, log_mass: log_absent },
            Situation::Remove | Situation::Replace => Atom { loss: ratio, log_mass: log_absent + ratio },
        }
    };
    atoms.iter().map(moved).collect()
}
