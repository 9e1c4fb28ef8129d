//! Optimal composition: what the worst mechanisms with the given (ε, δ) pairs leak together, and no more.
//!
//! The worst mechanism of a pair is randomized response that gives itself away with probability δ. Its losses are ±ε,
//! so those of a composition are sums of binomials: a list of atoms, from which both questions are answered.
//! Exponential mechanisms of one range have worst mechanisms of their own, in `bounded_range`.

use crate::{Composition, Question, advanced::slack_shares, bounded_range, expand, single};
use veracity_core::numerics::root;
use veracity_core::{Bracket, Count, Delta, Epsilon, Finding, Mechanism, Refusal};

/// The most atoms that unequal ε may multiply out to.
const MOST_ATOMS: f64 = 1_048_576.0;
/// Atoms lighter than this are dropped, and their mass is charged to δ.
const LIGHTEST: f64 = 1e-60;

/// ε at `delta`: from both sides when every pair is declared, since then some mechanism attains it.
///
/// # Promise    Never below the true ε; the lower side is attained by the worst mechanisms that were declared
/// # Reference  \[KairouzOhViswanath15\] Theorem 3.3; \[MurtaghVadhan16\] Theorem 1.5 for unequal pairs;
/// \[DongDurfeeRogers20\] for exponential mechanisms of one range
/// # Numerics   Weights by recurrence from the mode, relative error ≤ 8 ulp × uses; both sides pushed outward by it
pub fn epsilon_at(question: &Question, delta: Delta) -> Result<Finding<Epsilon>, Refusal> {
    let (mut lower, mut upper): (f64, f64) = (0.0, 0.0);
    for composition in expand::expand(&question.mechanism, question.adjacency)? {
        let (low, high) = match bounded_range::only(&composition) {
            Some((range, uses)) => ends(bounded_range::epsilon_at(range, uses, delta)?, Epsilon::get),
            None => epsilon_of(&composition, delta.get())?,
        };
        (lower, upper) = (lower.max(low), upper.max(high));
    }
    if is_declared(&question.mechanism) {
        single::finite(upper)?;
        return Ok(Finding::Bracket(Bracket::new(Epsilon::new(lower)?, Epsilon::new(upper)?)));
    }
    single::upper_epsilon(upper)
}

/// δ at `epsilon`: from both sides when every pair is declared.
///
/// # Promise    Never below the true δ; the lower side is attained by the worst mechanisms that were declared
/// # Reference  As [`epsilon_at`]
/// # Numerics   As [`epsilon_at`]
pub fn delta_at(question: &Question, epsilon: Epsilon) -> Result<Finding<Delta>, Refusal> {
    let (mut lower, mut upper): (f64, f64) = (0.0, 0.0);
    for composition in expand::expand(&question.mechanism, question.adjacency)? {
        let (low, high) = match bounded_range::only(&composition) {
            Some((range, uses)) => ends(bounded_range::delta_at(range, uses, epsilon)?, Delta::get),
            None => delta_of(&composition, epsilon.get())?,
        };
        (lower, upper) = (lower.max(low), upper.max(high));
    }
    let upper = single::below_one(upper)?;
    if is_declared(&question.mechanism) {
        return Ok(Finding::Bracket(Bracket::new(Delta::new(lower)?, upper)));
    }
    single::upper_delta(upper.get())
}

/// Both ends as numbers.
fn ends<T: Copy>(bracket: Bracket<T>, number: impl Fn(T) -> f64) -> (f64, f64) {
    (number(bracket.lower.0), number(bracket.upper.0))
}

/// Whether the question is about declared pairs as they stand, or about exponential mechanisms of one range. Groups,
/// parallel parts and sampling turn pairs into pairs that hold but need not be attained.
fn is_declared(mechanism: &Mechanism) -> bool {
    match mechanism {
        Mechanism::Exponential { .. } => true,
        Mechanism::Pure { .. } | Mechanism::Approximate { .. } => true,
        Mechanism::Repeated { mechanism, .. } => is_declared(mechanism),
        Mechanism::Composed(mechanisms) => {
            mechanisms.iter().all(is_declared)
                && mechanisms.windows(2).all(|pair| range_of(&pair[0]) == range_of(&pair[1]))
        }
        // A pair that need not be attained has no lower end: no is the safe answer.
        _ => false,
    }
}

/// The range of exponential mechanisms; None for others. Only equal ranges have the recursion: a mixture is bounded by
/// pure ε, which exponential mechanisms do not attain.
fn range_of(mechanism: &Mechanism) -> Option<Epsilon> {
    if let Mechanism::Exponential { epsilon } = mechanism {
        Some(*epsilon)
    } else if let Mechanism::Repeated { mechanism, .. } = mechanism {
        range_of(mechanism)
    } else if let Mechanism::Composed(mechanisms) = mechanism {
        mechanisms.first().and_then(range_of)
    } else {
        None
    }
}

/// The least ε over a few ways to split δ between the pure composition and the uses that need a δ of their own.
fn epsilon_of(composition: &Composition, delta: f64) -> Result<(f64, f64), Refusal> {
    let tally = single::tally(composition);
    let free = single::left_over(-(-delta).ln_1p(), tally.log_delta)?;
    let (mut lower, mut upper) = (f64::INFINITY, f64::INFINITY);
    for share in slack_shares(tally.uses) {
        let each = -(-free * (1.0 - share) / tally.uses.max(1.0)).exp_m1() / single::OUTWARD;
        let losses = Losses::new(composition, each)?;
        let pure = -(-free * share).exp_m1();
        lower = lower.min(losses.epsilon_below(pure * single::OUTWARD));
        upper = upper.min(losses.epsilon_above(pure / single::OUTWARD));
    }
    Ok((lower, upper))
}

/// The least δ over a few choices of the δ that each use gets, where uses need one.
fn delta_of(composition: &Composition, epsilon: f64) -> Result<(f64, f64), Refusal> {
    let tally = single::tally(composition);
    let choices: Vec<f64> = if tally.uses == 0.0 {
        vec![0.0]
    } else {
        (2..=120).map(|i| 10f64.powf(-0.25 * f64::from(i)) / tally.uses).collect()
    };
    let (mut lower, mut upper): (f64, f64) = (1.0, 1.0);
    for each in choices {
        let losses = Losses::new(composition, each)?;
        let spent = tally.log_delta - tally.uses * (-each).ln_1p();
        let whole = |pure: f64, spent: f64| -(-spent).exp_m1() + pure * (-spent).exp();
        lower = lower.min(whole(losses.delta_below(epsilon), spent / single::OUTWARD) / single::OUTWARD);
        upper = upper.min(whole(losses.delta_above(epsilon), spent * single::OUTWARD) * single::OUTWARD);
    }
    Ok((lower, upper))
}

/// The loss of a composition of randomized responses: atoms by falling loss.
struct Losses {
    atoms: Vec<(f64, f64)>,
    /// No loss exceeds this.
    largest: f64,
    /// How far rounding may have moved a loss.
    shift: f64,
    /// How far rounding may have moved a weight, relatively.
    relative: f64,
    /// The mass of dropped atoms, at most.
    dropped: f64,
}

impl Losses {
    /// Multiplies out the losses of every use, where uses that need a δ get `each`.
    fn new(composition: &Composition, each: f64) -> Result<Losses, Refusal> {
        let groups = gathered(composition, each)?;
        let product: f64 = groups.iter().map(|(_, count)| count.as_f64() + 1.0).product();
        if product > MOST_ATOMS {
            return Err(Refusal::NotCertified(format!(
                "optimal composition of these parts has {product:.0} atoms, more than 2^20; use method exact"
            )));
        }
        let mut atoms = vec![(0.0, 1.0)];
        let (mut largest, mut uses, mut dropped) = (0.0, 0.0, 0.0);
        for (epsilon, count) in groups {
            let weights = binomial(count.get(), epsilon);
            atoms = atoms
                .iter()
                .flat_map(|&(loss, weight)| {
                    weights.iter().map(move |&(net, chance)| (loss + net * epsilon, weight * chance))
                })
                .filter(|&(_, weight)| weight >= LIGHTEST)
                .collect();
            largest += count.as_f64() * epsilon;
            uses += count.as_f64() + 4.0;
            dropped += 2.0 * product * LIGHTEST;
        }
        atoms.sort_by(|one, other| other.0.total_cmp(&one.0));
        let relative = f64::EPSILON * (8.0 * uses + product);
        let shift = 16.0 * f64::EPSILON * largest;
        Ok(Losses { atoms, largest: largest + shift, shift, relative, dropped })
    }

    /// Σ weight (1 − e^{ε − loss}) over losses above ε: all terms are positive.
    fn delta(&self, epsilon: f64) -> f64 {
        let above = self.atoms.iter().take_while(|(loss, _)| *loss > epsilon);
        above.map(|(loss, weight)| -weight * (epsilon - loss).exp_m1()).sum()
    }

    /// δ at ε, never below the truth.
    fn delta_above(&self, epsilon: f64) -> f64 {
        if epsilon >= self.largest {
            return 0.0;
        }
        self.delta(epsilon - self.shift) * (1.0 + self.relative) + self.dropped
    }

    /// δ at ε, never above the truth.
    fn delta_below(&self, epsilon: f64) -> f64 {
        self.delta(epsilon + self.shift) * (1.0 - self.relative)
    }

    /// An ε whose δ is surely within `delta`.
    fn epsilon_above(&self, delta: f64) -> f64 {
        let within = |epsilon: f64| self.delta_above(epsilon) <= delta;
        if within(0.0) { 0.0 } else { root::bisect(self.largest, 0.0, 1e-15, within).holds }
    }

    /// An ε whose δ surely exceeds `delta`, or zero.
    fn epsilon_below(&self, delta: f64) -> f64 {
        let beyond = |epsilon: f64| self.delta_below(epsilon) > delta;
        if beyond(0.0) { root::bisect(0.0, self.largest, 1e-15, beyond).holds } else { 0.0 }
    }
}

/// The ε of all uses, equal ones gathered.
fn gathered(composition: &Composition, each: f64) -> Result<Vec<(f64, Count)>, Refusal> {
    let mut groups: Vec<(f64, Count)> = Vec::new();
    for (part, count) in &composition.parts {
        let epsilon = single::finite(single::single_use_epsilon(part, each)?)?;
        match groups.iter_mut().find(|(known, _)| *known == epsilon) {
            Some((_, uses)) => *uses = Count::new(uses.get().saturating_add(count.get()))?,
            None => groups.push((epsilon, *count)),
        }
    }
    groups.retain(|(epsilon, _)| *epsilon > 0.0);
    Ok(groups)
}

/// How many more of n responses are truthful than not, and how likely that is when the odds of each are e^ε to 1.
///
/// # Numerics  A recurrence outward from the mode, then divided by its sum: relative error ≤ 8 n ulp
fn binomial(n: u64, epsilon: f64) -> Vec<(f64, f64)> {
    let size = n as f64;
    let untruthful = 1.0 / (1.0 + epsilon.exp());
    let mode = ((size + 1.0) * untruthful).floor().min(size);
    let net = |lies: f64| size - 2.0 * lies;
    let mut weights = vec![(net(mode), 1.0)];
    let (mut lies, mut weight) = (mode, 1.0);
    while lies < size && weight > LIGHTEST {
        weight *= (size - lies) / (lies + 1.0) * (-epsilon).exp();
        lies += 1.0;
        weights.push((net(lies), weight));
    }
    (lies, weight) = (mode, 1.0);
    while lies > 0.0 && weight > LIGHTEST {
        weight *= lies / (size - lies + 1.0) * epsilon.exp();
        lies -= 1.0;
        weights.push((net(lies), weight));
    }
    let sum: f64 = weights.iter().map(|(_, weight)| weight).sum();
    weights.iter_mut().for_each(|(_, weight)| *weight /= sum);
    weights
}

#[cfg(test)]
mod tests {
    use super::*;
    use veracity_core::{Adjacency, Buckets};
    use veracity_testkit::short::{self, count, probability, pure};

    fn question(mechanism: Mechanism, times: u64) -> Question {
        Question { mechanism: mechanism.repeated(count(times)), adjacency: Adjacency::ReplaceOne }
    }

    /// # mpmath 1.4, 50 digits: p=mpf(3)/4; d=lambda e: sum(binomial(50,l)*p**(50-l)*(1-p)**l*(1-exp(e-(50-2*l)*log(3)))
    /// # for l in range(51) if (50-2*l)*log(3)>e); findroot(lambda e: d(e)-mpf(1e-5), (50.4,50.6), solver='anderson')
    #[test]
    fn fifty_coins_cost_what_they_must() {
        let buckets = Buckets::new(2).unwrap();
        let noise = probability(0.5);
        let asked = question(Mechanism::RandomizedResponse { buckets, noise }, 50);
        let found = epsilon_at(&asked, short::delta(1e-5)).unwrap().upper().unwrap().0.get();
        let truth = 50.522_627_148_081_29;
        assert!(truth <= found && found <= truth * (1.0 + 1e-11), "{found}");
        let delta = delta_at(&asked, short::epsilon(truth)).unwrap().upper().unwrap().0.get();
        assert!((1e-5 * (1.0 - 1e-12)..1e-5 * (1.0 + 1e-10)).contains(&delta), "{delta}");
    }

    /// The slow, obvious twin: all 2^n outcomes of n unequal responses.
    fn twin(epsilons: &[f64], epsilon: f64) -> f64 {
        (0..1u32 << epsilons.len())
            .map(|bits| {
                let (mut loss, mut weight) = (0.0, 1.0);
                for (i, one) in epsilons.iter().enumerate() {
                    let sign = if bits >> i & 1 == 1 { 1.0 } else { -1.0 };
                    loss += sign * one;
                    weight /= 1.0 + (-sign * one).exp();
                }
                if loss > epsilon { -weight * (epsilon - loss).exp_m1() } else { 0.0 }
            })
            .sum()
    }

    #[test]
    fn unequal_pairs_agree_with_all_outcomes() {
        let epsilons = [0.3, 0.3, 0.3, 1.0, 0.05, 0.05, 2.5];
        let mechanism = Mechanism::Composed(epsilons.iter().map(|e| pure(*e)).collect());
        let asked = Question { mechanism, adjacency: Adjacency::AddRemove };
        for epsilon in [0.0, 0.5, 2.0, 4.0] {
            let truth = twin(&epsilons, epsilon);
            let found = delta_at(&asked, short::epsilon(epsilon)).unwrap();
            let (lower, upper) = (found.lower().unwrap().0.get(), found.upper().unwrap().0.get());
            assert!(lower <= truth && truth <= upper && upper - lower < 1e-12, "{lower} {truth} {upper}");
        }
    }

    #[test]
    fn declared_pairs_are_bracketed_and_derived_ones_are_bounded() {
        let delta = short::delta(1e-5);
        let epsilon = short::epsilon(0.1);
        let declared = question(Mechanism::Approximate { epsilon, delta: short::delta(1e-9) }, 1000);
        let found = epsilon_at(&declared, delta).unwrap();
        let (lower, upper) = (found.lower().unwrap().0.get(), found.upper().unwrap().0.get());
        assert!(lower <= upper && upper - lower < 1e-9, "{lower} {upper}");
        let noise_multiplier = short::noise(40.0);
        let derived = question(Mechanism::Gaussian { noise_multiplier }, 100);
        assert!(matches!(epsilon_at(&derived, delta).unwrap(), Finding::Upper(_)));
        let grouped = Mechanism::Group { size: count(3), mechanism: Box::new(pure(0.1)) };
        assert!(matches!(epsilon_at(&question(grouped, 5), delta).unwrap(), Finding::Upper(_)));
    }

    #[test]
    fn without_delta_pure_epsilons_add_up() {
        let found = epsilon_at(&question(pure(0.25), 40), short::delta(0.0)).unwrap();
        let upper = found.upper().unwrap().0.get();
        assert!((10.0..10.0 + 1e-12).contains(&upper), "{upper}");
    }

    #[test]
    fn too_many_atoms_are_refused_with_a_remedy() {
        let refusal = epsilon_at(&question(pure(0.001), 1 << 21), short::delta(1e-5)).unwrap_err();
        assert!(refusal.to_string().ends_with("use method exact"), "{refusal}");
    }
}
