//! What is fixed when a ledger is made: the budget, the rule by which it is kept, whose data it is about, and who may ask.
//!
//! Terms become filters, one for the whole and one for each analyst, and a text that the hash chain begins with.

use serde::{Deserialize, Serialize};
use veracity_account::filter::{Budget, Filter, Kind};
use veracity_core::{Adjacency, Count, Delta, Epsilon, GdpMu, Mechanism, PrivacyUnit, Refusal};

/// The longest name of a dataset or an analyst, in bytes.
const LONGEST_NAME: usize = 200;
/// The most analysts of a ledger.
const MOST_ANALYSTS: usize = 1000;
/// Which part of the budget's δ a mechanism is charged at that has no δ of its own and none of the rule's numbers.
const PARTS: f64 = 100.0;
/// Which part of the budget's δ the usual rule sets aside.
const SET_ASIDE: f64 = 20.0;
/// Which part of a cap's δ is set aside beside a product.
const SET_ASIDE_BESIDE_PRODUCT: f64 = 10.0;

/// All that is fixed when a ledger is made.
#[derive(Debug, Clone, PartialEq)]
pub struct Terms {
    /// What all answers may leak together.
    pub budget: Budget,
    /// By which theorem charges are held against the budget.
    pub rule: Rule,
    /// Which datasets must look alike.
    pub adjacency: Adjacency,
    /// Whose data are protected as one.
    pub unit: PrivacyUnit,
    /// The name of the data; empty where none is given.
    pub dataset: String,
    /// Who may ask, each with a cap inside the budget; empty where anyone may ask.
    pub analysts: Vec<(String, Budget)>,
}

/// By which theorem charges are held against the budget.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Rule {
    /// ε and δ add up. What has no (ε, δ) of its own is charged its ε at a hundredth of the budget's δ.
    Sum,
    /// μ² adds up, which is exact for Gaussian noise.
    Gaussian {
        /// What of the budget's δ is set aside for thresholds of unknown groups, declared δ and the far tails of discrete noise.
        reserve: Delta,
    },
    /// Pure ε adds up, or μ² and δ do: a request fits as long as the whole history is within either. The μ² of a request is the least
    /// that is certified beside what is left.
    Union {
        /// What of the budget's δ is set aside for thresholds of unknown groups, declared δ and the far tails of privacy losses.
        reserve: Delta,
    },
    /// Factors of a product are used up: a pool of μ², a pool of δ, and slots for mechanisms that are prepared for.
    Product {
        /// The pool of Gaussian noise.
        mu: GdpMu,
        /// The pool of δ.
        reserve: Delta,
        /// Mechanisms that are prepared for, and how often each.
        slots: Vec<(Mechanism, Count)>,
    },
}

impl Rule {
    /// The default rule: sums without a δ; with one, the union with a twentieth of the δ set aside.
    ///
    /// # Errors
    /// Returns the refusal of a δ out of range.
    pub fn usual(budget: Budget) -> Result<Rule, Refusal> {
        let delta = budget.delta.get();
        Ok(match delta > 0.0 {
            true => Rule::Union { reserve: Delta::new(delta / SET_ASIDE)? },
            false => Rule::Sum,
        })
    }

    /// The rule of a cap beside a product, which is not shared out: sums without a δ; with one, μ² and a tenth of the δ set aside.
    pub(crate) fn of_cap_beside_product(cap: Budget) -> Result<Rule, Refusal> {
        let delta = cap.delta.get();
        Ok(match delta > 0.0 {
            true => Rule::Gaussian { reserve: Delta::new(delta / SET_ASIDE_BESIDE_PRODUCT)? },
            false => Rule::Sum,
        })
    }

    /// Its name on the command line and in files.
    pub fn name(&self) -> &'static str {
        match self {
            Rule::Sum => "sum",
            Rule::Gaussian { .. } => "gaussian",
            Rule::Union { .. } => "union",
            Rule::Product { .. } => "product",
        }
    }

    /// What adds up, in words.
    pub fn sum_name(&self) -> &'static str {
        match self {
            Rule::Sum => "epsilon",
            Rule::Gaussian { .. } | Rule::Union { .. } | Rule::Product { .. } => "mu squared",
        }
    }

    /// The filter of the whole.
    fn kind(&self, budget: Budget) -> Result<Kind, Refusal> {
        Ok(match self {
            Rule::Sum => Kind::Basic { each: each(budget)? },
            Rule::Gaussian { reserve } => Kind::Gdp { reserve: *reserve },
            Rule::Union { reserve } => Kind::Union { reserve: *reserve },
            Rule::Product { mu, reserve, slots } => {
                Kind::Product { mu: *mu, reserve: *reserve, slots: slots.clone() }
            }
        })
    }

    /// The filter of one analyst. Each filter is sound for the questions that it sees, whatever the kind of another is; a product is
    /// not shared out, so beside one a cap adds up μ².
    fn kind_within(&self, cap: Budget, budget: Budget) -> Result<Kind, Refusal> {
        match self {
            Rule::Sum => self.kind(budget),
            Rule::Gaussian { reserve } => Ok(Kind::Gdp { reserve: part_of(*reserve, cap, budget)? }),
            // A cap without a δ holds what is pure.
            Rule::Union { .. } if cap.delta == Delta::ZERO => Rule::Sum.kind(cap),
            Rule::Union { reserve } => Ok(Kind::Union { reserve: part_of(*reserve, cap, budget)? }),
            Rule::Product { .. } => Rule::of_cap_beside_product(cap)?.kind(cap),
        }
    }
}

impl Terms {
    /// A budget under the usual rule, for rows that may come or go.
    ///
    /// # Errors
    /// Returns the refusal of a δ out of range.
    pub fn new(budget: Budget) -> Result<Terms, Refusal> {
        Ok(Terms {
            budget,
            rule: Rule::usual(budget)?,
            adjacency: Adjacency::AddRemove,
            unit: PrivacyUnit::new("row")?,
            dataset: String::new(),
            analysts: Vec::new(),
        })
    }

    /// The unit of a ledger that protects what its first request does.
    pub const ANY_UNIT: &str = "any";

    /// Whether the first request says what is protected as one.
    pub(crate) fn is_any_unit(&self) -> bool {
        self.unit.name() == Terms::ANY_UNIT
    }

    /// The δ at which a mechanism is charged that the rule has no number for.
    pub(crate) fn each(&self) -> Result<Delta, Refusal> {
        each(self.budget)
    }

    /// The kinds of the filters: of the whole, then of each analyst.
    pub(crate) fn kinds(&self) -> Result<Vec<(Kind, Budget)>, Refusal> {
        let mut kinds = vec![(self.rule.kind(self.budget)?, self.budget)];
        for (_, cap) in &self.analysts {
            kinds.push((self.rule.kind_within(*cap, self.budget)?, *cap));
        }
        Ok(kinds)
    }

    /// The filters, priced again: of the whole, then of each analyst.
    pub(crate) fn filters(&self) -> Result<Vec<Filter>, Refusal> {
        self.kinds()?.into_iter().map(|(kind, budget)| Filter::new(kind, budget, self.adjacency)).collect()
    }

    /// Which analyst it is; none where the ledger has no caps. Where there are caps, no request goes around them.
    pub(crate) fn analyst(&self, name: Option<&str>) -> Result<Option<usize>, Refusal> {
        match (name, self.analysts.as_slice()) {
            (None, []) => Ok(None),
            (Some(_), []) => Err(Refusal::invalid("this ledger has no caps per analyst; leave out analyst")),
            (None, known) => Err(Refusal::invalid(format!(
                "analyst is missing; name one of the {} analysts that this ledger has caps for",
                known.len()
            ))),
            (Some(name), known) => match known.iter().position(|(known, _)| known == name) {
                Some(at) => Ok(Some(at)),
                None => Err(Refusal::invalid(format!(
                    "unknown analyst; name one of the {} analysts that this ledger has caps for",
                    known.len()
                ))),
            },
        }
    }

    /// Refuses what no ledger may have.
    pub(crate) fn check(&self) -> Result<(), Refusal> {
        check_budget("budget epsilon", self.budget)?;
        if !self.dataset.is_empty() {
            check_name("dataset", &self.dataset)?;
        }
        if self.analysts.len() > MOST_ANALYSTS {
            return Err(Refusal::out_of_range("analysts", self.analysts.len(), "at most 1000 analysts"));
        }
        for (at, (name, cap)) in self.analysts.iter().enumerate() {
            check_name("analyst", name)?;
            check_budget("cap of an analyst", *cap)?;
            if cap.epsilon > self.budget.epsilon || cap.delta > self.budget.delta {
                return Err(Refusal::out_of_range(
                    "cap of an analyst",
                    cap.epsilon,
                    "at most the budget of the ledger",
                ));
            }
            if self.analysts[..at].iter().any(|(earlier, _)| earlier == name) {
                return Err(Refusal::invalid(format!("analyst {name} has two caps; set one")));
            }
        }
        Ok(())
    }

    /// The text that the hash chain begins with.
    pub(crate) fn written(&self, created: u64) -> Result<String, Refusal> {
        let pair = |name: &str, budget: Budget| Cap {
            name: name.to_owned(),
            epsilon: budget.epsilon,
            delta: budget.delta,
        };
        let text = serde_json::to_string(&TermsFile {
            created,
            epsilon: self.budget.epsilon,
            delta: self.budget.delta,
            rule: self.rule.clone(),
            adjacency: self.adjacency,
            unit: self.unit.clone(),
            dataset: self.dataset.clone(),
            analysts: self.analysts.iter().map(|(name, cap)| pair(name, *cap)).collect(),
        });
        text.map_err(|error| Refusal::invalid(format!("cannot write the settings of the ledger ({error})")))
    }

    /// Terms, and when they were made, from their text.
    pub(crate) fn read(text: &str) -> Result<(Terms, u64), Refusal> {
        let read: TermsFile = serde_json::from_str(text).map_err(|error| {
            Refusal::invalid(format!("the settings do not have the format of a ledger ({error})"))
        })?;
        let budget = |epsilon, delta| Budget { epsilon, delta };
        let terms = Terms {
            budget: budget(read.epsilon, read.delta),
            rule: read.rule,
            adjacency: read.adjacency,
            unit: read.unit,
            dataset: read.dataset,
            analysts: read
                .analysts
                .into_iter()
                .map(|cap| (cap.name, budget(cap.epsilon, cap.delta)))
                .collect(),
        };
        terms.check()?;
        Ok((terms, read.created))
    }
}

/// Terms as they are in the file.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct TermsFile {
    created: u64,
    epsilon: Epsilon,
    delta: Delta,
    rule: Rule,
    adjacency: Adjacency,
    unit: PrivacyUnit,
    dataset: String,
    analysts: Vec<Cap>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Cap {
    name: String,
    epsilon: Epsilon,
    delta: Delta,
}

/// The same part of a cap's δ as a reserve is of the budget's.
fn part_of(reserve: Delta, cap: Budget, budget: Budget) -> Result<Delta, Refusal> {
    Delta::new(cap.delta.get() * (reserve.get() / budget.delta.get()))
}

fn each(budget: Budget) -> Result<Delta, Refusal> {
    Delta::new(budget.delta.get() / PARTS)
}

fn check_budget(name: &'static str, budget: Budget) -> Result<(), Refusal> {
    let epsilon = budget.epsilon.get();
    if epsilon > 0.0 && epsilon.is_finite() {
        Ok(())
    } else {
        Err(Refusal::out_of_range(name, epsilon, "a finite epsilon > 0"))
    }
}

fn check_name(what: &'static str, name: &str) -> Result<(), Refusal> {
    let plain = !name.is_empty() && name.len() <= LONGEST_NAME && !name.contains(char::is_control);
    if plain {
        Ok(())
    } else {
        Err(Refusal::out_of_range(
            what,
            "empty, too long or not printable",
            "a name of 1 to 200 bytes without control characters",
        ))
    }
}
