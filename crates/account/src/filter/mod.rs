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
//! All numbers are plain floats: sums are rounded up at each charge and compared with limits that were rounded down, so a
//! sum that is equal to its limit in real numbers may be denied. A ledger stores [`Filter::spent`] and comes back by
//! [`Filter::resume`].

mod cost;
mod gaussian;
mod limit;
mod slots;

use crate::Question;
use veracity_core::{Adjacency, Count, Delta, Epsilon, GdpMu, Mechanism, Refusal};

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
    pub fn new(kind: Kind, budget: Budget, adjacency: Adjacency) -> Result<Filter, Refusal> {
        let limit = limit::of(&kind, budget, adjacency)?;
        let spent = Amounts { sum: 0.0, delta: 0.0, slots: vec![0; limit.slots.len()] };
        Ok(Filter { kind, budget, adjacency, limit, spent })
    }

    /// A filter of which this was spent before, as [`Filter::spent`] had it.
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
        if !(usable(spent.sum) && usable(spent.delta)) || spent.slots.len() != limit.slots.len() {
            return Err(Refusal::out_of_range(
                "spent amounts",
                "not of this filter",
                "finite numbers ≥ 0, and one for each slot",
            ));
        }
        if !(usable(limit.sum) && usable(limit.delta) && spent.fit_into(limit)) {
            return Err(Refusal::out_of_range(
                "spent amounts",
                "above the limit",
                "what the same filter had spent",
            ));
        }
        Ok(filter)
    }

    /// Whether a question may run. Nothing is charged.
    pub fn admits(&self, question: &Question) -> Result<Admission, Refusal> {
        if question.adjacency != self.adjacency {
            return Err(Refusal::no_theorem(
                format!("a {} question", question.adjacency),
                format!("a {} filter", self.adjacency),
                "ask under the filter's adjacency",
            ));
        }
        let cost = match &self.kind {
            Kind::Product { slots, .. } => slots::cost(question, slots, &self.left())?,
            kind => cost::of(kind, question)?,
        };
        let fits = self.spent.plus(&cost).fit_into(&self.limit);
        Ok(if fits { Admission::Granted(cost) } else { Admission::Denied { cost, left: self.left() } })
    }

    /// Charges a question, or refuses and leaves everything as it was.
    pub fn charge(&mut self, question: &Question) -> Result<Amounts, Refusal> {
        match self.admits(question)? {
            Admission::Granted(cost) => {
                self.spent = self.spent.plus(&cost);
                Ok(cost)
            }
            Admission::Denied { cost, left } => Err(Refusal::OverBudget(format!(
                "the budget does not allow it: costs {cost}, {left} left; ask less, or of another budget"
            ))),
        }
    }

    /// Takes a cost that [`Filter::admits`] told before, also of an earlier moment, or refuses and leaves everything as it was.
    /// What a product takes depends on what is left of it, so there a cost is of its moment.
    pub fn take(&mut self, cost: &Amounts) -> Result<(), Refusal> {
        let spent = self.spent.plus(cost);
        let usable = |number: f64| number >= 0.0;
        if usable(cost.sum) && usable(cost.delta) && spent.fit_into(&self.limit) {
            self.spent = spent;
            return Ok(());
        }
        let left = self.left();
        Err(Refusal::OverBudget(format!(
            "the budget does not allow it: costs {cost}, {left} left; ask less, or of another budget"
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
    /// Both together, rounded up.
    fn plus(&self, other: &Amounts) -> Amounts {
        let slots = self.slots.iter().zip(&other.slots);
        Amounts {
            sum: add_up(self.sum, other.sum),
            delta: add_up(self.delta, other.delta),
            slots: slots.map(|(one, two)| one.saturating_add(*two)).collect(),
        }
    }

    /// Whether nothing exceeds its limit. What is not a number fits nowhere.
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
    if a == 0.0 || b == 0.0 { a + b } else { (a + b).next_up() }
}

/// count × amount, never below the true product.
fn times_up(count: Count, amount: f64) -> f64 {
    if amount == 0.0 || count == Count::ONE { amount } else { (count.as_f64() * amount).next_up() }
}
