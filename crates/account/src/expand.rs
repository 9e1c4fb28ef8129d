//! A mechanism under an adjacency, as flat compositions of parts: the one place where repetition, parallel parts,
//! groups, sampling and adjacency get their meaning, so that no method has to know them.
//!
//! The result is a list of alternatives. A record lies in one of several parallel parts (or in two, when it may be
//! replaced), so what leaks is the worst over the alternatives.

use crate::single::amplified;
use veracity_core::{Adjacency, Count, Mechanism, RdpCurve, Refusal};

/// The most alternatives that parallel parts may multiply out to.
const MOST_ALTERNATIVES: usize = 4096;

/// One mechanism as an accountant sees it: shifts are in units of the noise, adjacency and groups are already in them.
#[derive(Debug, Clone, PartialEq)]
pub enum Part {
    /// N(0, 1) against N(μ, 1).
    Gaussian {
        /// The shift in standard deviations.
        mu: f64,
    },
    /// Laplace noise whose centre moves by ε scales.
    Laplace {
        /// The shift in scales, which is also the pure ε of one use.
        epsilon: f64,
    },
    /// Integer Gaussian noise, moved by a whole number.
    DiscreteGaussian {
        /// Its σ.
        sigma: f64,
        /// The shift.
        shift: u64,
    },
    /// Integer Laplace noise, moved by a whole number.
    DiscreteLaplace {
        /// Its scale b.
        scale: f64,
        /// The shift.
        shift: u64,
    },
    /// Randomized response: the true bucket becomes another one, or a blank that reports at random.
    RandomizedResponse {
        /// The number of buckets.
        buckets: u32,
        /// The chance that the report ignores the truth.
        noise: f64,
        /// Another bucket or a blank.
        neighbours: Neighbours,
    },
    /// Any mechanism whose losses span a range of at most ε (the exponential mechanism).
    BoundedRange {
        /// The range.
        epsilon: f64,
    },
    /// Declared (ε, δ); pure ε when δ is zero.
    Approximate {
        /// The ε.
        epsilon: f64,
        /// The δ.
        delta: f64,
    },
    /// Declared ρ-zCDP.
    Zcdp {
        /// The ρ.
        rho: f64,
    },
    /// A declared Rényi curve.
    Rdp {
        /// The curve.
        curve: RdpCurve,
    },
    /// Another part on a Poisson batch. The inner part is for one contribution; `neighbours` says what happens to it.
    PoissonSampled {
        /// The sampling rate, below 1.
        rate: f64,
        /// What happens to the batch when the record is in it.
        part: Box<Part>,
        /// Whether the record is there or not, or is one of two.
        neighbours: Neighbours,
    },
    /// Another part on a batch drawn without replacement, where one record is replaced. The inner part is for a
    /// replaced record (two contributions).
    FixedSizeSampled {
        /// Batch size over population.
        rate: f64,
        /// What happens to the batch when the record is in it.
        part: Box<Part>,
    },
}

/// What two adjacent inputs of a part differ in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Neighbours {
    /// A contribution that is there in one and absent (or blank) in the other.
    Present,
    /// Two opposite contributions.
    Replaced,
}

/// Parts and how often each is used.
#[derive(Debug, Clone, PartialEq)]
pub struct Composition {
    /// The parts, equal ones gathered.
    pub parts: Vec<(Part, Count)>,
}

impl Composition {
    /// Adds uses of a part, gathering equal ones.
    fn add(&mut self, part: &Part, times: Count) -> Result<(), Refusal> {
        match self.parts.iter_mut().find(|(known, _)| known == part) {
            Some((_, uses)) => {
                *uses = Count::new(uses.get().saturating_add(times.get()))?;
            }
            None => self.parts.push((part.clone(), times)),
        }
        Ok(())
    }

    /// Both compositions, one after the other.
    fn then(&self, other: &Composition) -> Result<Composition, Refusal> {
        let mut both = self.clone();
        for (part, times) in &other.parts {
            both.add(part, *times)?;
        }
        Ok(both)
    }
}

/// Multiplies a mechanism out. The worst of the alternatives is what leaks.
///
/// # Promise  Each alternative dominates what adjacent datasets in its situation can show.
pub fn expand(mechanism: &Mechanism, adjacency: Adjacency) -> Result<Vec<Composition>, Refusal> {
    alternatives(mechanism, adjacency, Count::ONE)
}

fn alternatives(
    mechanism: &Mechanism,
    adjacency: Adjacency,
    group: Count,
) -> Result<Vec<Composition>, Refusal> {
    match mechanism {
        Mechanism::Repeated { times, mechanism } => {
            let mut once = alternatives(mechanism, adjacency, group)?;
            for composition in &mut once {
                for (_, uses) in &mut composition.parts {
                    *uses = uses.times(*times)?;
                }
            }
            Ok(once)
        }
        Mechanism::Composed(mechanisms) => {
            if mechanisms.is_empty() {
                return Err(Refusal::out_of_range("composition", "empty", "at least one mechanism"));
            }
            let mut all = vec![Composition { parts: Vec::new() }];
            for next in mechanisms {
                let options = alternatives(next, adjacency, group)?;
                all = product(&all, &options)?;
            }
            Ok(all)
        }
        Mechanism::Parallel(mechanisms) => parallel(mechanisms, adjacency, group),
        Mechanism::Group { size, mechanism } => alternatives(mechanism, adjacency, group.times(*size)?),
        Mechanism::Gaussian { .. }
        | Mechanism::Laplace { .. }
        | Mechanism::DiscreteGaussian { .. }
        | Mechanism::DiscreteLaplace { .. }
        | Mechanism::RandomizedResponse { .. }
        | Mechanism::Exponential { .. }
        | Mechanism::Pure { .. }
        | Mechanism::Approximate { .. }
        | Mechanism::Zcdp { .. }
        | Mechanism::Rdp { .. }
        | Mechanism::Gdp { .. }
        | Mechanism::PoissonSampled { .. }
        | Mechanism::FixedSizeSampled { .. } => {
            let part = single(mechanism, adjacency, group)?;
            Ok(vec![Composition { parts: vec![(part, Count::ONE)] }])
        }
    }
}

/// All ways to choose one composition of each list and do them after each other.
fn product(firsts: &[Composition], seconds: &[Composition]) -> Result<Vec<Composition>, Refusal> {
    if firsts.len() * seconds.len() > MOST_ALTERNATIVES {
        return Err(Refusal::NoAnswer(format!(
            "parallel parts multiply out to more than {MOST_ALTERNATIVES} alternatives; account them one by one"
        )));
    }
    let mut all: Vec<Composition> = Vec::new();
    for first in firsts {
        for second in seconds {
            let both = first.then(second)?;
            if !all.contains(&both) {
                all.push(both);
            }
        }
    }
    Ok(all)
}

/// A record that is added, removed or blanked lies in one part; one that is replaced can leave one part and enter
/// another, which then see an added or removed record each.
fn parallel(
    mechanisms: &[Mechanism],
    adjacency: Adjacency,
    group: Count,
) -> Result<Vec<Composition>, Refusal> {
    if mechanisms.is_empty() {
        return Err(Refusal::out_of_range("parallel parts", "none", "at least one mechanism"));
    }
    if group != Count::ONE {
        return Err(Refusal::no_theorem(
            "parallel parts",
            "group privacy",
            "put the group inside each part, or account the parts as a composition",
        ));
    }
    let mut all = Vec::new();
    for mechanism in mechanisms {
        for option in alternatives(mechanism, adjacency, group)? {
            if !all.contains(&option) {
                all.push(option);
            }
        }
    }
    if adjacency == Adjacency::ReplaceOne {
        let mut moved: Vec<Vec<Composition>> = Vec::new();
        for mechanism in mechanisms {
            moved.push(alternatives(mechanism, Adjacency::AddRemove, group)?);
        }
        // One part loses the record while the other gains it; parts for which that differs have no direction here.
        let sampled = |part: &Part| matches!(part, Part::PoissonSampled { .. });
        if moved.len() > 1
            && moved.iter().flatten().flat_map(|option| &option.parts).any(|(part, _)| sampled(part))
        {
            return Err(Refusal::no_theorem(
                "poisson-sampled mechanisms on parallel parts",
                adjacency,
                "use add-remove or zero-out",
            ));
        }
        for (i, left) in moved.iter().enumerate() {
            for entered in &moved[i + 1..] {
                for option in product(left, entered)? {
                    if !all.contains(&option) {
                        all.push(option);
                    }
                }
            }
        }
    }
    if all.len() > MOST_ALTERNATIVES {
        return Err(Refusal::NoAnswer(format!(
            "parallel parts multiply out to more than {MOST_ALTERNATIVES} alternatives; account them one by one"
        )));
    }
    Ok(all)
}

/// One mechanism that is neither repeated nor composed.
fn single(mechanism: &Mechanism, adjacency: Adjacency, group: Count) -> Result<Part, Refusal> {
    let shift = f64::from(adjacency.contributions()) * group.as_f64();
    let whole_shift = u64::from(adjacency.contributions()) * group.get();
    let size = group.as_f64();
    Ok(match mechanism {
        Mechanism::Gaussian { noise_multiplier } => Part::Gaussian { mu: shift / noise_multiplier.get() },
        Mechanism::Laplace { noise_multiplier } => Part::Laplace { epsilon: shift / noise_multiplier.get() },
        Mechanism::DiscreteGaussian { sigma, sensitivity } => Part::DiscreteGaussian {
            sigma: sigma.get(),
            shift: sensitivity.times(Count::new(whole_shift)?)?.get(),
        },
        Mechanism::DiscreteLaplace { scale, sensitivity } => Part::DiscreteLaplace {
            scale: scale.get(),
            shift: sensitivity.times(Count::new(whole_shift)?)?.get(),
        },
        Mechanism::RandomizedResponse { buckets, noise } => {
            let neighbours = match adjacency {
                Adjacency::AddRemove => {
                    return Err(Refusal::no_theorem(
                        "randomized response",
                        adjacency,
                        "use replace-one or zero-out",
                    ));
                }
                Adjacency::ReplaceOne => Neighbours::Replaced,
                Adjacency::ZeroOut => Neighbours::Present,
            };
            if noise.get() <= 0.0 {
                return Err(Refusal::out_of_range("noise parameter", noise, "0 < noise parameter ≤ 1"));
            }
            if group != Count::ONE {
                return Err(Refusal::no_theorem(
                    "randomized response",
                    "group privacy",
                    "repeat it once for each member of the group",
                ));
            }
            Part::RandomizedResponse { buckets: buckets.get(), noise: noise.get(), neighbours }
        }
        // A chain of `size` adjacent datasets: ranges, pure ε, √ρ and μ add up along it.
        Mechanism::Exponential { epsilon } => Part::BoundedRange { epsilon: size * epsilon.get() },
        Mechanism::Pure { epsilon } => Part::Approximate { epsilon: size * epsilon.get(), delta: 0.0 },
        Mechanism::Approximate { epsilon, delta } => group_of_approximate(epsilon.get(), delta.get(), group)?,
        Mechanism::Zcdp { rho } => Part::Zcdp { rho: size * size * rho.get() },
        Mechanism::Rdp { curve } => {
            if group != Count::ONE {
                return Err(Refusal::no_theorem(
                    "a declared rdp curve",
                    "group privacy",
                    "declare it as zcdp",
                ));
            }
            Part::Rdp { curve: curve.clone() }
        }
        Mechanism::Gdp { mu } => Part::Gaussian { mu: size * mu.get() },
        Mechanism::PoissonSampled { rate, mechanism } => {
            poisson_sampled(rate.get(), mechanism, adjacency, group)?
        }
        Mechanism::FixedSizeSampled { batch, population, mechanism } => {
            fixed_size_sampled(*batch, *population, mechanism, adjacency, group)?
        }
        Mechanism::Repeated { .. }
        | Mechanism::Composed(_)
        | Mechanism::Parallel(_)
        | Mechanism::Group { .. } => {
            return Err(Refusal::no_theorem(
                format!("{} inside sampling", mechanism.kind()),
                "sampling",
                "sample each mechanism on its own, then repeat or compose",
            ));
        }
    })
}

/// Tight group privacy of any (ε, δ): (kε, δ (e^{kε} − 1)/(e^ε − 1)), or nothing when that δ is no protection.
///
/// # Promise    Every (ε, δ)-private mechanism keeps it for groups of `size`; δ is rounded up
/// # Reference  [Vadhan17] Lemma 2.2; the seed's k e^{kε} δ is valid but loose
pub fn group_promise(epsilon: f64, delta: f64, size: Count) -> Option<(f64, f64)> {
    let k = size.as_f64();
    let factor = if epsilon == 0.0 { k } else { (k * epsilon).exp_m1() / epsilon.exp_m1() };
    let grown = if delta == 0.0 || k == 1.0 { delta } else { delta * factor * (1.0 + 8.0 * f64::EPSILON) };
    // Not a number, as for an infinite e^ε, is no promise either.
    (grown < 1.0).then_some((k * epsilon, grown))
}

fn group_of_approximate(epsilon: f64, delta: f64, size: Count) -> Result<Part, Refusal> {
    match group_promise(epsilon, delta, size) {
        Some((epsilon, delta)) => Ok(Part::Approximate { epsilon, delta }),
        None => Err(Refusal::NoAnswer(format!(
            "delta of a group of {} is 1 or more, which is no protection; declare a smaller delta or group",
            size.get()
        ))),
    }
}

/// # Reference  [ZhuDongWang22] Theorem 11 (add-remove: dominating pairs pass through Poisson sampling);
/// [Schuchardt24] for a replaced record and Gaussian noise
fn poisson_sampled(
    rate: f64,
    inner: &Mechanism,
    adjacency: Adjacency,
    group: Count,
) -> Result<Part, Refusal> {
    if rate == 1.0 {
        return single(inner, adjacency, group);
    }
    if group != Count::ONE {
        return Err(Refusal::no_theorem(
            format!("poisson-sampled {}", inner.kind()),
            "group privacy",
            "use a group of one, or a declared (epsilon, delta)",
        ));
    }
    let neighbours = match adjacency {
        Adjacency::AddRemove | Adjacency::ZeroOut => Neighbours::Present,
        Adjacency::ReplaceOne => Neighbours::Replaced,
    };
    if neighbours == Neighbours::Replaced && !matches!(inner, Mechanism::Gaussian { .. }) {
        return Err(Refusal::no_theorem(
            format!("poisson-sampled {}", inner.kind()),
            adjacency,
            "use add-remove or zero-out, or fixed-size sampling",
        ));
    }
    if matches!(inner, Mechanism::RandomizedResponse { .. }) && adjacency == Adjacency::AddRemove {
        return Err(Refusal::no_theorem("randomized response", adjacency, "use zero-out"));
    }
    let part = single(inner, Adjacency::AddRemove, group).or_else(|refusal| match inner {
        Mechanism::RandomizedResponse { .. } => single(inner, Adjacency::ZeroOut, group),
        _ => Err(refusal),
    })?;
    match part {
        // Amplification of a declared guarantee is again a declared guarantee.
        Part::Approximate { epsilon, delta } => {
            Ok(Part::Approximate { epsilon: amplified(rate, epsilon), delta: rate * delta })
        }
        Part::Zcdp { .. }
        | Part::Rdp { .. }
        | Part::PoissonSampled { .. }
        | Part::FixedSizeSampled { .. } => Err(Refusal::no_theorem(
            format!("poisson-sampled {}", inner.kind()),
            adjacency,
            "sample a gaussian, laplace or declared (epsilon, delta) mechanism",
        )),
        // The ε of a bounded range is its pure ε.
        Part::BoundedRange { epsilon } => {
            Ok(Part::Approximate { epsilon: amplified(rate, epsilon), delta: 0.0 })
        }
        Part::Gaussian { .. }
        | Part::Laplace { .. }
        | Part::DiscreteGaussian { .. }
        | Part::DiscreteLaplace { .. }
        | Part::RandomizedResponse { .. } => {
            Ok(Part::PoissonSampled { rate, part: Box::new(part), neighbours })
        }
    }
}

/// # Reference  [BalleBartheGaboardi18] Theorem 9 (declared guarantees); [WangBalleKasiviswanathan19] (Rényi)
fn fixed_size_sampled(
    batch: Count,
    population: Count,
    inner: &Mechanism,
    adjacency: Adjacency,
    group: Count,
) -> Result<Part, Refusal> {
    if batch > population {
        return Err(Refusal::out_of_range("batch", batch.get(), "batch ≤ population"));
    }
    if batch == population {
        return single(inner, adjacency, group);
    }
    if adjacency != Adjacency::ReplaceOne {
        return Err(Refusal::no_theorem("fixed-size sampling", adjacency, "use replace-one"));
    }
    if group != Count::ONE {
        return Err(Refusal::no_theorem("fixed-size sampling", "group privacy", "use a group of one"));
    }
    let rate = batch.as_f64() / population.as_f64();
    match single(inner, adjacency, group)? {
        Part::Approximate { epsilon, delta } => {
            Ok(Part::Approximate { epsilon: amplified(rate, epsilon), delta: rate * delta })
        }
        Part::BoundedRange { epsilon } => {
            Ok(Part::Approximate { epsilon: amplified(rate, epsilon), delta: 0.0 })
        }
        Part::PoissonSampled { .. } | Part::FixedSizeSampled { .. } => Err(Refusal::no_theorem(
            format!("fixed-size sampling of {}", inner.kind()),
            adjacency,
            "sample once",
        )),
        part @ (Part::Gaussian { .. }
        | Part::Laplace { .. }
        | Part::DiscreteGaussian { .. }
        | Part::DiscreteLaplace { .. }
        | Part::RandomizedResponse { .. }
        | Part::Zcdp { .. }
        | Part::Rdp { .. }) => Ok(Part::FixedSizeSampled { rate, part: Box::new(part) }),
    }
}
