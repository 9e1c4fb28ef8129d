//! The least noise with which a plan is within its budget, certified; no data were seen.

use crate::least_noise::{certified, check_epsilon, none_certified, with_better_noise};
use crate::prepared::noise_note;
use crate::sql::{
    CapSuggestion, Cell, CutRows, NoisyNumber, OutputValue, Plan, RowsOf, Totals, Value,
    design::{CallNoise, Design},
};
use veracity_account::calibrate;
use veracity_account::claims::{Answer, Choice, ClaimFile, NoiseNote, PersonsNote, Subject, account};
use veracity_core::{Adjacency, Count, Delta, Epsilon, Mechanism, NoiseMultiplier, Refusal};
use veracity_mechanisms::{NoiseKind, NoisySum, chance_below, half_width};
use veracity_noise::NoiseStream;

/// The part of δ for unknown keys, where there are any.
const FOR_KEYS: f64 = 0.5;
/// The least probability with which a group of one unit may be shown, for each of its groups.
const LEAST_CHANCE: f64 = 1e-24;
/// A share of groups that is next to none.
const SHOWN: f64 = 1e-3;

/// A query that is ready to be asked.
#[derive(Debug, Clone, PartialEq)]
pub struct PreparedQuery {
    /// What is asked.
    pub plan: Plan,
    /// With which noise.
    pub design: Design,
    /// What it does to whose data.
    pub subject: Subject,
    /// What it leaks.
    pub answer: Answer,
    /// From how many units on a group of unknown keys is shown.
    pub threshold: Option<f64>,
    /// The δ with which a group of one unit is shown.
    pub threshold_delta: Delta,
    /// Whether its mechanism states what it is at least, because its caps rest on data: it has no noise calls that could be compared.
    pub(crate) is_declared: bool,
    /// The caps that are to be chosen, before they are.
    pub suggestion: Option<CapSuggestion>,
}

/// A noisy column of the answer.
#[derive(Debug, Clone, PartialEq)]
pub struct NoisyColumn {
    /// Its name, and where there are several groupings that of the grouping.
    pub name: String,
    /// The grouping, by its place.
    pub grouping: usize,
    /// The noise calls of the grouping that it is read off.
    pub calls: Vec<usize>,
    /// What it shows; nothing where units are counted for the threshold alone.
    value: Option<Value>,
}

/// What a query may cost.
#[derive(Clone, Copy)]
struct Budget {
    epsilon: Epsilon,
    delta: Delta,
    /// The part of δ with which the key of a single unit may be shown.
    for_keys: Delta,
}

impl Plan {
    /// Finds the least noise within a budget; the kind of noise with the smaller error, where none is asked for.
    ///
    /// # Errors
    /// Refuses an ε out of range, keys that are not public with δ = 0, and a budget that no noise keeps.
    pub fn prepare(
        self,
        epsilon: Epsilon,
        delta: Delta,
        kind: Option<NoiseKind>,
    ) -> Result<PreparedQuery, Refusal> {
        check_epsilon(epsilon, "1e-9 ≤ epsilon ≤ 1000 for a query")?;
        if let Some(priority) = self.every {
            return self.prepare_periods(priority, (epsilon, delta), kind);
        }
        let has_unknown = self.groupings().any(Plan::has_unknown_keys);
        if has_unknown && delta.get() == 0.0 {
            return Err(Refusal::invalid(
                "grouping by private keys needs delta > 0, because a rare key identifies its owner; set \
                 delta, or list the keys in the catalog",
            ));
        }
        let for_keys = Delta::new(if has_unknown { FOR_KEYS * delta.get() } else { 0.0 })?;
        let prepare = |kind| self.prepare_with(kind, Budget { epsilon, delta, for_keys });
        with_better_noise(kind, delta, prepare, PreparedQuery::spread)
    }

    fn prepare_with(&self, kind: NoiseKind, budget: Budget) -> Result<PreparedQuery, Refusal> {
        if kind == NoiseKind::Gaussian
            && let Some(real) = self.near_gaussian(budget)?
        {
            for more in [1e-6, 1e-5, 1e-4, 1e-3, 1e-2] {
                let noise = NoiseMultiplier::new(real.get() * (1.0 + more))?;
                if let Some(found) = self.certified(kind, noise, budget)? {
                    return Ok(found);
                }
            }
        }
        let family = |noise| self.charged(&Design::new(self, kind, noise)?, budget.for_keys);
        let noise = calibrate::least_noise(&family, Adjacency::AddRemove, budget.epsilon, budget.delta)?;
        self.certified(kind, noise, budget)?.ok_or_else(|| none_certified(budget.epsilon))
    }

    /// About the noise that is needed, from real numbers in place of integers, which are quick to account for. What comes of it is
    /// certified before it is used.
    fn near_gaussian(&self, budget: Budget) -> Result<Option<NoiseMultiplier>, Refusal> {
        let probe = Design::new(self, NoiseKind::Gaussian, NoiseMultiplier::new(1.0)?)?;
        let mut drawn = probe.groupings().flat_map(|design| &design.drawn);
        if drawn.any(|drawn| matches!(drawn, CallNoise::Choice(_))) {
            return Ok(None);
        }
        let of_plan = |plan: &Plan| (plan.calls.len() as u64).saturating_mul(plan.caps.groups.get());
        let calls = self.groupings().map(of_plan).fold(u64::from(self.cut.is_some()), u64::saturating_add);
        let calls = Count::new(calls)?;
        let left = Delta::new(budget.delta.get() - budget.for_keys.get())?;
        let real = |noise_multiplier| Mechanism::Gaussian { noise_multiplier }.repeated(calls);
        calibrate::noise(&real, Adjacency::AddRemove, budget.epsilon, left).map(Some)
    }

    /// A design, if it was certified to be within the budget.
    fn certified(
        &self,
        kind: NoiseKind,
        noise: NoiseMultiplier,
        budget: Budget,
    ) -> Result<Option<PreparedQuery>, Refusal> {
        let design = Design::new(self, kind, noise)?;
        let mechanism = self.charged(&design, budget.for_keys)?;
        let subject = Subject { mechanism, adjacency: Adjacency::AddRemove, unit: self.unit.clone() };
        let Some(answer) = certified(&subject, budget.epsilon, budget.delta)? else { return Ok(None) };
        let threshold = self.threshold(&design, self.for_each_grouping(budget.for_keys)?)?;
        let (plan, threshold_delta) = (self.clone(), budget.for_keys);
        Ok(Some(PreparedQuery {
            plan,
            design,
            subject,
            answer,
            threshold,
            threshold_delta,
            is_declared: false,
            suggestion: None,
        }))
    }

    /// All that one unit leaks: every noise call, and with a small probability that a key of its own exists.
    fn charged(&self, design: &Design, threshold_delta: Delta) -> Result<Mechanism, Refusal> {
        let mut each: Vec<Mechanism> = Vec::new();
        for (plan, design) in self.groupings().zip(design.groupings()) {
            each.extend((0..plan.calls.len()).map(|at| design.mechanism_of(plan, at)));
        }
        each.extend(design.cut.as_ref().map(NoisySum::mechanism));
        if threshold_delta.get() > 0.0 {
            each.push(Mechanism::Approximate { epsilon: Epsilon::new(0.0)?, delta: threshold_delta });
        }
        Ok(if each.len() == 1 { each.remove(0) } else { Mechanism::Composed(each) })
    }

    /// The part of the δ for keys that each grouping has, where its keys are not public.
    fn for_each_grouping(&self, delta: Delta) -> Result<Delta, Refusal> {
        let unknown = self.groupings().filter(|plan| plan.has_unknown_keys()).count();
        Delta::new(delta.get() / unknown.max(1) as f64 * (1.0 - 1e-12))
    }

    /// The least number from which on a group is shown, the same in all groupings: so that a group of a single unit is shown with
    /// probability at most δ, over all of its groups together, in each grouping.
    ///
    /// # Promise    1 + noise reaches it with chance at most δ over the number of groups: P(noise > t) ≤ P(|noise| > t)/2
    /// # Reference  [KorolovaKenthapadiMishraNtoulas09] for thresholds; the noise is symmetric
    fn threshold(&self, design: &Design, delta: Delta) -> Result<Option<f64>, Refusal> {
        if delta.get() == 0.0 {
            return Ok(None);
        }
        let mut most: f64 = 0.0;
        let of_unknown = self.groupings().zip(design.groupings()).filter(|(plan, _)| plan.has_unknown_keys());
        for (plan, design) in of_unknown {
            let Some(CallNoise::Sums(units)) = plan.units_call().map(|place| &design.drawn[place]) else {
                return Err(Refusal::invalid(
                    "internal error: privacy units are not counted; please report the query",
                ));
            };
            let each = delta.get() / plan.caps.groups.as_f64() * (1.0 - 1e-12);
            if each < LEAST_CHANCE {
                return Err(Refusal::out_of_range(
                    "delta",
                    delta,
                    "a larger delta, or fewer groups per person",
                ));
            }
            // The units of a group are counted one by one, so that one step is one unit.
            most = most.max(1.0 + half_width(units.noise(), 2.0 * each) + 1.0);
        }
        Ok(Some(most))
    }
}

impl PreparedQuery {
    /// About how far the answers are off, to compare two kinds of noise.
    fn spread(&self) -> f64 {
        let one = |drawn: &CallNoise| match drawn {
            CallNoise::Sums(sums) => {
                sums.half_width(0.05) / (sums.granularity() * sums.sensitivity().as_f64())
            }
            CallNoise::Choice(_) | CallNoise::Periods(_) => self.design.multiplier.get(),
        };
        self.design.groupings().flat_map(|design| &design.drawn).map(one).sum()
    }

    /// The plan and the noise of a grouping, by its place.
    fn grouping(&self, place: usize) -> (&Plan, &Design) {
        match place.checked_sub(1) {
            None => (&self.plan, &self.design),
            Some(at) => (&self.plan.others[at], &self.design.others[at]),
        }
    }

    /// The noisy columns of the answer, of each grouping. Units that are counted for the threshold alone have a column, although it is
    /// not shown.
    pub fn columns(&self) -> Vec<NoisyColumn> {
        let mut all: Vec<NoisyColumn> = Vec::new();
        for (grouping, plan) in self.plan.groupings().enumerate() {
            let called = |name: &str| match self.plan.others.is_empty() {
                true => name.to_owned(),
                false => format!("{name} {}", plan.grouping_name()),
            };
            let mut columns: Vec<NoisyColumn> = Vec::new();
            for output in &plan.outputs {
                let OutputValue::Noisy(value) = &output.value else { continue };
                let mut calls: Vec<usize> =
                    value.aggregates().iter().map(|at| plan.aggregates[*at].call).collect();
                calls.sort_unstable();
                calls.dedup();
                let name = called(&output.name);
                columns.push(NoisyColumn { name, grouping, value: Some(value.clone()), calls });
            }
            for call in 0..plan.calls.len() {
                if !columns.iter().any(|column| column.calls.contains(&call)) {
                    let name = called("units, for the threshold");
                    columns.push(NoisyColumn { name, grouping, value: None, calls: vec![call] });
                }
            }
            all.extend(columns);
        }
        all
    }

    /// What a column leaks by itself, at the δ of the whole. Columns that share a noise call share its cost.
    ///
    /// # Errors
    /// Returns the refusal of the accountant.
    pub fn cost_of(&self, column: &NoisyColumn) -> Result<Answer, Refusal> {
        let (plan, design) = self.grouping(column.grouping);
        let mut each: Vec<Mechanism> =
            column.calls.iter().map(|call| design.mechanism_of(plan, *call)).collect();
        let mechanism = if each.len() == 1 { each.remove(0) } else { Mechanism::Composed(each) };
        let subject = Subject { mechanism, ..self.subject.clone() };
        account(&subject, self.answer.target, Choice::Best)
    }

    /// About the error bar of a column in a group with so many rows, spread evenly between the bounds; infinite where it is undefined.
    pub fn expected_error(&self, column: &NoisyColumn, rows: u64) -> f64 {
        let (plan, design) = self.grouping(column.grouping);
        match (&column.value, column.calls.first().map(|call| &design.drawn[*call])) {
            (Some(value), _) => plan.expected_error(design, value, rows),
            (None, Some(CallNoise::Sums(units))) => units.half_width(0.05),
            _ => f64::INFINITY,
        }
    }

    /// Of groups of unknown keys, the share that is not shown, by how many units are in a group: 1, 2, 5, 10 and so on until
    /// next to none is left out. Nothing where all keys are public. No data are touched: it follows from the distribution of the noise.
    ///
    /// # Promise  Each share is between its two numbers
    pub fn suppressed(&self) -> Vec<(u64, (f64, f64))> {
        let mut groupings = self.plan.groupings().zip(self.design.groupings());
        let unknown = groupings.find(|(plan, _)| plan.has_unknown_keys());
        let drawn = unknown.and_then(|(plan, design)| Some(&design.drawn[plan.units_call()?]));
        let (Some(threshold), Some(CallNoise::Sums(sums))) = (self.threshold, drawn) else {
            return Vec::new();
        };
        let mut shares = Vec::new();
        for units in (0..15).flat_map(|power| [1, 2, 5].map(|first| first * 10u64.pow(power))) {
            // Shown from the threshold on: n + noise < t, which both are whole but t.
            let share = chance_below(sums.noise(), threshold.ceil() as i64 - units as i64);
            shares.push((units, share));
            if share.1 <= SHOWN {
                break;
            }
        }
        shares
    }

    /// The noisy rows of totals: each grouping is answered by itself, and all are shown together.
    ///
    /// # Errors
    /// Refuses totals that are not those of the plan.
    pub fn answer(
        &self,
        threshold: Option<f64>,
        totals: &Totals,
        rng: &mut NoiseStream,
    ) -> Result<Vec<Vec<Cell>>, Refusal> {
        if totals.others.len() != self.plan.others.len() {
            return Err(Refusal::invalid(
                "internal error: the engine returned other groupings than the query asks for; please report the query",
            ));
        }
        let mut answered = Vec::new();
        for ((plan, design), totals) in
            self.plan.groupings().zip(self.design.groupings()).zip(totals.groupings())
        {
            let threshold = threshold.filter(|_| plan.has_unknown_keys());
            answered.push((plan, design, plan.answer(design, threshold, totals, rng)?));
        }
        Ok(self.plan.show_groupings(answered))
    }

    /// How many rows the caps leave out, with noise, where they are counted.
    ///
    /// # Errors
    /// Refuses totals that are not those of the plan.
    pub fn count_cut(&self, totals: &Totals, rng: &mut NoiseStream) -> Result<Option<CutRows>, Refusal> {
        let (Some(most), Some(noise), Some(cut)) = (self.plan.cut, &self.design.cut, totals.cut) else {
            return match (self.plan.cut, totals.cut) {
                (None, None) => Ok(None),
                _ => Err(Refusal::invalid(
                    "internal error: the rows that are left out were not counted; please report the query",
                )),
            };
        };
        let noisy = noise.release_groups(&[vec![cut.into()]], rng);
        let answer = noisy.first().and_then(|row| row.first()).map_or(f64::NAN, |sum| noise.value(*sum));
        let number = NoisyNumber { answer, error_bar: noise.half_width(0.05) };
        Ok(Some(CutRows { number, most: most.get() }))
    }

    /// The promise in writing.
    ///
    /// # Errors
    /// Returns the refusal of the accountant.
    pub fn claim(&self) -> Result<ClaimFile, Refusal> {
        let claim = ClaimFile::new(&self.subject, &self.answer)?;
        let source = &self.plan.sources[0];
        let mut column = source.unit.join(", ");
        if let RowsOf::Units { period: Some((period, date)), .. } = &source.table.rows_of {
            column += &format!(", {} of {date}", period.name());
        }
        let rows = self.plan.caps.rows;
        let groups = self.plan.most_groups();
        let inner = self.plan.sources.iter().filter_map(|source| source.per_unit.as_ref()?.rows.most);
        let mut persons = PersonsNote::in_groups(&column, rows, groups).with_subqueries(inner);
        if self.is_declared {
            // Its parts are declared over all groups together.
        } else if !self.plan.others.is_empty() || self.plan.cut.is_some() {
            let calls = self.plan.groupings().map(|plan| (plan.calls.len(), plan.caps.groups));
            persons = persons.with_groups_of_calls(
                calls
                    .flat_map(|(calls, groups)| std::iter::repeat_n(groups, calls))
                    .chain(self.plan.cut.map(|_| Count::ONE)),
            );
        }
        Ok(claim.with_persons(persons))
    }

    /// The noise calls, as a claim lists them, each with the columns that are read off it.
    pub fn notes(&self) -> Vec<NoiseNote> {
        if self.is_declared {
            return Vec::new();
        }
        let columns = self.columns();
        let names = |grouping: usize, call: usize| {
            let is_of = |column: &&NoisyColumn| column.grouping == grouping && column.calls.contains(&call);
            columns.iter().filter(is_of).map(|column| column.name.as_str()).collect::<Vec<_>>().join(", ")
        };
        let note = |(names, drawn): (String, &CallNoise)| match drawn {
            CallNoise::Sums(sums) => {
                let note = noise_note(&sums.part());
                Some(NoiseNote { place: format!("{names}: {}", note.place), ..note })
            }
            CallNoise::Periods(sums) => Some(NoiseNote {
                place: format!("{names}: every period"),
                sampler: "discrete-gaussian".to_owned(),
                granularity: sums.granularity(),
                sensitivity: sums.sensitivity().into(),
                scale: sums.sigma().as_f64(),
            }),
            // A choice is in the mechanism as what it is at least, which has no noise call.
            CallNoise::Choice(_) => None,
        };
        let groupings = self.design.groupings().enumerate();
        let calls = groupings.flat_map(|(grouping, design)| {
            let drawn = design.drawn.iter().enumerate();
            drawn.map(move |(call, drawn)| (grouping, call, drawn)).collect::<Vec<_>>()
        });
        let notes = calls.filter_map(|(grouping, call, drawn)| note((names(grouping, call), drawn)));
        notes.chain(self.design.cut.as_ref().map(|cut| noise_note(&cut.part()))).collect()
    }
}
