//! Filters: may this mechanism, chosen in view of all answers so far, still run within a budget (ε, δ)?
//!
//! A [`Filter`] is made once for a budget; each question that is to be answered is charged before it runs, and one that
//! does not fit is denied and leaves no trace. However an analyst chooses the next question from the answers, all
//! answers together are (ε, δ)-private. That is more than composing: to compose everything so far exactly and compare
//! with the budget is *not* sound when later mechanisms depend on earlier answers, since each path can fit by itself while
//! the whole does not.
//!
//! | kind | what adds up | why it is sound | sharp for |
//! |---|---|---|---|
//! | [`Kind::Basic`] | ε and δ | \[RogersRothUllmanVadhan16\] Theorem 3.6 | few large charges |
//! | [`Kind::Zcdp`] | ρ, and δ in a reserve | \[WhitehouseRamdasRogersWu23\] Theorem 1 | mixtures of many kinds |
//! | [`Kind::Rdp`] | the divergence at one order | \[FeldmanZrnic21\] Theorem 4.3 | batches and sampling |
//! | [`Kind::Gdp`] | μ², and δ in a reserve | \[SmithThakurta22\]; \[KoskelaTobabenHonkela23\] | Gaussian noise: exact |
//! | [`Kind::Product`] | nothing: factors are taken away | the proof below | what it was made for: exact |
//! | [`Kind::Union`] | pure ε; and μ², priced beside what is left | the proofs below and in `beside` | everything |
//!
//! **A product fixed at creation.** A product of pairs (P_i, Q_i) is fixed: a Gaussian of some μ, slots such as 100
//! Laplaces of ε 0.1, a mechanism that tells all with probability δ. The exact accountant prices the whole product once.
//! Each charge takes away a factor that dominates the mechanism asked for: all its hockey-stick divergences
//! H_z(P‖Q) = Σ (p − z q)₊, z > 0, are at least as large. *Claim: what all answers tell is at most H_z of the factors that
//! were there, for every z.* By induction on the number of charges. With none left nothing is told. Else the mechanism M
//! that runs first has the law p on one dataset and q on the other, and the factor taken for it is (P, Q). After the
//! answer y the rest tells at most h(z q(y)/p(y)) with h(z) = H_z of the factors left, which is convex in z. So all answers
//! tell at most Σ p h(z q/p), an f-divergence of (p, q), hence a mixture of hockey-stick divergences over z > 0, hence
//! at most that of (P, Q), which is Σ P h(z Q/P) = H_z of all factors. Which factor is taken may depend on earlier
//! answers, as may the number of charges. A Gaussian of μ² is the product of any two whose squares add up to it, so the
//! μ² of the pool can be taken in parts; so can the δ of a reserve.
//!
//! **A union of filters.** Let F₁ … F_k be filters that admit each prefix of what they admit, where F_i keeps (E, δ_i). *Claim: an
//! analyst who may go on as long as the whole history is in some F_i keeps (E, Σ δ_i).* Assign each complete transcript to the first F_i
//! that contains its history, and call these sets T_i. Run the same analyst under F_i alone, with distributions P_i and Q_i. A transcript
//! in T_i has all its prefixes in F_i, so it is not stopped there, and P_i = P and Q_i = Q on T_i. For every event S,
//! P(S ∩ T_i) = P_i(S ∩ T_i) ≤ e^E Q_i(S ∩ T_i) + δ_i = e^E Q(S ∩ T_i) + δ_i. The sum over i is the claim. [`Kind::Union`] joins "all
//! mechanisms are pure and Σ ε ≤ E", which keeps (E, 0), with a Gaussian pool of (E, δ), so the whole keeps (E, δ). Each of the two is
//! charged with everything, also with what only the other one admits, and one whose limit was passed stays passed.
//!
//! All numbers are plain floats: a sum that a float cannot hold is rounded up, and limits are rounded down. Two charges of 0.5 fit a
//! budget of 1, but ten of 0.1 do not: the float 0.1 is a little more than a tenth. A ledger counts in decimals. A ledger stores [`Filter::spent`] and comes back by
//! [`Filter::resume`].

mod beside;
mod cost;
mod gaussian;
mod limit;
mod losses;
mod quote;
mod slots;

pub use quote::{Quote, largest_pure};

use crate::Question;
use veracity_core::{Adjacency, Count, Delta, Epsilon, GdpMu, Mechanism, Refusal};

/// How much the last bits of a price may differ between versions of the accountant.
const ROUNDING: f64 = 1e-12;

/// What may be told in all.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Budget {
    /// The ε of the whole.
    pub epsilon: Epsilon,
    /// The δ of the whole.
    pub delta: Delta,
}

/// By which theorem charges are held against the budget.
#[derive(Debug, Clone, PartialEq)]
pub enum Kind {
    /// ε and δ add up.
    Basic {
        /// The δ at which a mechanism is charged that has no (ε, δ) of its own.
        each: Delta,
    },
    /// ρ adds up; declared δ come out of a reserve.
    Zcdp {
        /// What of the budget's δ is set aside for declared δ.
        reserve: Delta,
    },
    /// The Rényi divergence at one order adds up.
    Rdp {
        /// The order α, fixed before the first question.
        order: f64,
    },
    /// μ² adds up; declared δ come out of a reserve.
    Gdp {
        /// What of the budget's δ is set aside for declared δ, and for the far tails of discrete Gaussian noise.
        reserve: Delta,
    },
    /// Factors of a product are used up.
    Product {
        /// A pool of Gaussian noise.
        mu: GdpMu,
        /// A pool of δ.
        reserve: Delta,
        /// Mechanisms that are prepared for, and how often each.
        slots: Vec<(Mechanism, Count)>,
    },
    /// Pure ε adds up, or μ² and δ do: a question is admitted as long as either has not passed its limit. The μ² of a question is
    /// the least that is certified beside what is left.
    Union {
        /// What of the budget's δ is set aside for declared δ, and for the far tails of privacy losses.
        reserve: Delta,
    },
}

/// Numbers that a filter counts in: what was spent, what is left, what one question costs.
#[derive(Debug, Clone, PartialEq)]
pub struct Amounts {
    /// The sum of ε, ρ, divergences or μ², as the kind has it.
    pub sum: f64,
    /// The sum of δ.
    pub delta: f64,
    /// How often each slot of a product was used; empty for other kinds.
    pub slots: Vec<u64>,
    /// The sum of pure ε of a union, infinite where something was not pure; zero for other kinds.
    pub pure: f64,
}

/// Whether a question fits.
#[derive(Debug, Clone, PartialEq)]
pub enum Admission {
    /// It fits, at this cost.
    Granted(Amounts),
    /// It would exceed the budget: what it costs, and what is left.
    Denied {
        /// What it costs.
        cost: Amounts,
        /// What is left.
        left: Amounts,
    },
}

/// What was spent of a budget, and the decision about the next question. See the [module](self).
///
/// # Examples
///
/// An analyst who chooses each question in view of the answers:
///
/// ```
/// use veracity_account::Question;
/// use veracity_account::filter::{Admission, Budget, Filter, Kind};
/// use veracity_core::{Adjacency, Delta, Epsilon, Mechanism, NoiseMultiplier};
///
/// let budget = Budget { epsilon: Epsilon::new(1.0)?, delta: Delta::new(1e-6)? };
/// let kind = Kind::Gdp { reserve: Delta::new(0.0)? };
/// let mut filter = Filter::new(kind, budget, Adjacency::AddRemove)?;
///
/// let mechanism = Mechanism::Gaussian { noise_multiplier: NoiseMultiplier::new(8.0)? };
/// let question = Question { mechanism, adjacency: Adjacency::AddRemove };
/// let mut answered = 0;
/// while let Admission::Granted(_) = filter.admits(&question)? {
///     filter.charge(&question)?;
///     answered += 1;
/// }
/// // μ² adds up, 1/64 for each: what is left is less than one more.
/// assert_eq!(answered, (filter.limit().sum * 64.0) as u32);
/// let spent = filter.spent().clone();
/// // What is denied costs nothing.
/// assert!(filter.charge(&question).is_err());
/// assert_eq!(filter.spent(), &spent);
/// # Ok::<(), veracity_core::Refusal>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Filter {
    kind: Kind,
    budget: Budget,
    adjacency: Adjacency,
    limit: Amounts,
    spent: Amounts,
}

impl Filter {
    /// A filter of which nothing is spent.
    ///
    /// # Promise    Whatever is charged, however it is chosen, all answers together are (ε, δ)-private for adjacent datasets
    /// # Assumes    Each mechanism runs only after it was charged, with fresh randomness, and is what its question says
    ///
    /// # Errors
    /// Refuses a budget that the kind of filter cannot keep, such as δ = 0 for one that needs a slack.
    pub fn new(kind: Kind, budget: Budget, adjacency: Adjacency) -> Result<Filter, Refusal> {
        let limit = limit::of(&kind, budget, adjacency)?;
        let spent = Amounts { slots: vec![0; limit.slots.len()], ..Amounts::of(0.0, 0.0) };
        Ok(Filter { kind, budget, adjacency, limit, spent })
    }

    /// A filter of which this was spent before, as [`Filter::spent`] had it.
    ///
    /// # Errors
    /// As [`Filter::new`] and [`Filter::restore`].
    ///
    /// # Examples
    ///
    /// ```
    /// use veracity_account::Question;
    /// use veracity_account::filter::{Budget, Filter, Kind};
    /// use veracity_core::{Adjacency, Delta, Epsilon, Mechanism};
    ///
    /// let budget = Budget { epsilon: Epsilon::new(1.0)?, delta: Delta::new(0.0)? };
    /// let kind = Kind::Basic { each: Delta::new(0.0)? };
    /// let mut filter = Filter::new(kind.clone(), budget, Adjacency::AddRemove)?;
    /// let mechanism = Mechanism::Pure { epsilon: Epsilon::new(0.75)? };
    /// let question = Question { mechanism, adjacency: Adjacency::AddRemove };
    /// filter.charge(&question)?;
    ///
    /// // From a ledger, another day.
    /// let mut resumed = Filter::resume(kind, budget, Adjacency::AddRemove, filter.spent().clone())?;
    /// assert_eq!(resumed.left().sum, filter.left().sum);
    /// assert!(resumed.charge(&question).is_err());
    /// # Ok::<(), veracity_core::Refusal>(())
    /// ```
    pub fn resume(
        kind: Kind,
        budget: Budget,
        adjacency: Adjacency,
        spent: Amounts,
    ) -> Result<Filter, Refusal> {
        let limit = limit::of(&kind, budget, adjacency)?;
        Filter::restore(kind, budget, adjacency, limit, spent)
    }

    /// A filter that was priced before: with the limits that [`Filter::limit`] had when it was new, which may take long to find
    /// again, and with what was spent since.
    ///
    /// # Assumes    The limits are those of a filter of this kind, budget and adjacency
    ///
    /// # Errors
    /// Refuses amounts that are not of this filter or above its limits.
    pub fn restore(
        kind: Kind,
        budget: Budget,
        adjacency: Adjacency,
        limit: Amounts,
        spent: Amounts,
    ) -> Result<Filter, Refusal> {
        let usable = |number: f64| number >= 0.0 && number.is_finite();
        let filter = Filter { kind, budget, adjacency, limit, spent };
        let Filter { limit, spent, .. } = &filter;
        let is_sum = usable(spent.sum) && usable(spent.delta) && spent.pure >= 0.0;
        // Each charge of a union adds to both of its filters.
        let forgets = matches!(filter.kind, Kind::Union { .. })
            && spent.pure == 0.0
            && (spent.sum > 0.0 || spent.delta > 0.0);
        if !is_sum || forgets || spent.slots.len() != limit.slots.len() {
            return Err(Refusal::out_of_range(
                "spent amounts",
                "from another filter",
                "finite numbers ≥ 0, and one for each slot",
            ));
        }
        if !(usable(limit.sum) && usable(limit.delta) && usable(limit.pure) && filter.fits(spent)) {
            return Err(Refusal::out_of_range(
                "spent amounts",
                "above the limit",
                "amounts that the same filter spent",
            ));
        }
        Ok(filter)
    }

    /// What is known of the price of a question whatever was spent, so that [`Filter::price`] takes less time. It depends on the
    /// limits of the filter.
    ///
    /// # Errors
    /// Refuses a question under another adjacency, or of which the filter cannot compute the cost.
    pub fn quote(&self, question: &Question) -> Result<Quote, Refusal> {
        if question.adjacency != self.adjacency {
            return Err(Refusal::no_theorem(
                format!("a {} question", question.adjacency),
                format!("a {} filter", self.adjacency),
                "use the adjacency of the filter",
            ));
        }
        match &self.kind {
            Kind::Product { .. } => Ok(Quote::of_product(question)),
            Kind::Union { .. } => Quote::of_union(question, &self.limit),
            kind => Ok(Quote::of_sum(cost::of(kind, question)?)),
        }
    }

    /// What a question costs now.
    ///
    /// # Errors
    /// Refuses a question that a product cannot take.
    pub fn price(&self, quote: &Quote) -> Result<Amounts, Refusal> {
        let slots = if let Kind::Product { slots, .. } = &self.kind { &slots[..] } else { &[] };
        quote.price(slots, &self.left(), &self.limit)
    }

    /// Whether a cost covers a question now. It may be more than [`Filter::price`], and where a price is searched for, it is
    /// certified again rather than searched for again.
    ///
    /// # Errors
    /// As [`Filter::price`].
    pub fn covers(&self, quote: &Quote, cost: &Amounts) -> Result<bool, Refusal> {
        match quote.certifies(cost, &self.left(), &self.limit) {
            Some(certified) => Ok(certified),
            None => Ok(cost.is_no_less_than(&self.price(quote)?)),
        }
    }

    /// Whether a question may run. Nothing is charged.
    ///
    /// # Errors
    /// As [`Filter::quote`].
    pub fn admits(&self, question: &Question) -> Result<Admission, Refusal> {
        let cost = self.price(&self.quote(question)?)?;
        let fits = self.fits(&self.spent.plus(&cost));
        Ok(if fits { Admission::Granted(cost) } else { Admission::Denied { cost, left: self.left() } })
    }

    /// Whether so much may be spent.
    fn fits(&self, spent: &Amounts) -> bool {
        let is_union = matches!(self.kind, Kind::Union { .. });
        spent.fit_into(&self.limit) || is_union && spent.pure <= self.limit.pure
    }

    /// Charges a question, or refuses and leaves everything as it was.
    ///
    /// # Errors
    /// As [`Filter::admits`], and refuses what exceeds the budget.
    pub fn charge(&mut self, question: &Question) -> Result<Amounts, Refusal> {
        match self.admits(question)? {
            Admission::Granted(cost) => {
                self.spent = self.spent.plus(&cost);
                Ok(cost)
            }
            Admission::Denied { cost, left } => Err(Refusal::OverBudget(format!(
                "over budget: this costs {cost}, but only {left} is left; use a smaller epsilon or another budget"
            ))),
        }
    }

    /// Takes a cost that [`Filter::admits`] told before, also of an earlier moment, or refuses and leaves everything as it was.
    /// What a product or a union takes depends on what is left, so there a cost is of its moment: an earlier one may be too low.
    ///
    /// # Errors
    /// Refuses a cost that exceeds the budget.
    pub fn take(&mut self, cost: &Amounts) -> Result<(), Refusal> {
        let spent = self.spent.plus(cost);
        let usable = |number: f64| number >= 0.0;
        if usable(cost.sum) && usable(cost.delta) && usable(cost.pure) && self.fits(&spent) {
            self.spent = spent;
            return Ok(());
        }
        let left = self.left();
        Err(Refusal::OverBudget(format!(
            "over budget: this costs {cost}, but only {left} is left; use a smaller epsilon or another budget"
        )))
    }

    /// What was spent.
    pub fn spent(&self) -> &Amounts {
        &self.spent
    }

    /// What is left, rounded down.
    pub fn left(&self) -> Amounts {
        let less = |limit: f64, spent: f64| {
            if spent == 0.0 { limit } else { (limit - spent).next_down().max(0.0) }
        };
        let slots = self.limit.slots.iter().zip(&self.spent.slots);
        Amounts {
            sum: less(self.limit.sum, self.spent.sum),
            delta: less(self.limit.delta, self.spent.delta),
            slots: slots.map(|(limit, spent)| limit.saturating_sub(*spent)).collect(),
            pure: less(self.limit.pure, self.spent.pure),
        }
    }

    /// The most that can be spent, rounded down.
    pub fn limit(&self) -> &Amounts {
        &self.limit
    }

    /// The theorem in use.
    pub fn kind(&self) -> &Kind {
        &self.kind
    }

    /// What may be told in all.
    pub fn budget(&self) -> Budget {
        self.budget
    }

    /// Which datasets must look alike.
    pub fn adjacency(&self) -> Adjacency {
        self.adjacency
    }
}

impl Amounts {
    /// A sum and a δ, without slots or pure ε.
    pub fn of(sum: f64, delta: f64) -> Amounts {
        Amounts { sum, delta, slots: Vec::new(), pure: 0.0 }
    }

    /// Whether these are no less than others, except for the last bits, which may differ between versions of the accountant.
    fn is_no_less_than(&self, other: &Amounts) -> bool {
        let least = |x: f64| x * (1.0 - ROUNDING);
        let is_more = |one: f64, other: f64| one >= least(other);
        is_more(self.sum, other.sum)
            && is_more(self.delta, other.delta)
            && is_more(self.pure, other.pure)
            && self.slots == other.slots
    }

    /// Both together, rounded up.
    fn plus(&self, other: &Amounts) -> Amounts {
        let slots = self.slots.iter().zip(&other.slots);
        Amounts {
            sum: add_up(self.sum, other.sum),
            delta: add_up(self.delta, other.delta),
            slots: slots.map(|(one, two)| one.saturating_add(*two)).collect(),
            pure: add_up(self.pure, other.pure),
        }
    }

    /// Whether nothing exceeds its limit, apart from pure ε, which a union compares. What is not a number fits nowhere.
    fn fit_into(&self, limit: &Amounts) -> bool {
        self.sum <= limit.sum
            && self.delta <= limit.delta
            && self.slots.len() == limit.slots.len()
            && self.slots.iter().zip(&limit.slots).all(|(used, most)| used <= most)
    }
}

impl std::fmt::Display for Amounts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:.6e} and delta {:.3e}", self.sum, self.delta)?;
        if !self.slots.is_empty() {
            let used: Vec<String> = self.slots.iter().map(u64::to_string).collect();
            write!(f, " and slots {}", used.join(", "))?;
        }
        Ok(())
    }
}

/// a + b, never below the true sum; adding nothing changes nothing.
fn add_up(a: f64, b: f64) -> f64 {
    let sum = a + b;
    // What the sum lacks, exactly [Dekker71]: it is rounded up only where it was rounded down.
    let of_b = sum - a;
    let lacks = (a - (sum - of_b)) + (b - of_b);
    if lacks <= 0.0 { sum } else { sum.next_up() }
}

/// count × amount, never below the true product.
fn times_up(count: Count, amount: f64) -> f64 {
    if amount == 0.0 || count == Count::ONE { amount } else { (count.as_f64() * amount).next_up() }
}
