//! The questions of the page, as JSON, with every number checked.

use crate::audit::AuditOrder;
use serde::Deserialize;
use veracity_account::claims::{
    Adjacency, Method, Subject, Target,
    calibration::Solve,
    plan,
    spec::{MechanismSpec, Whole},
};
use veracity_core::{Delta, Epsilon, Mechanism, PrivacyUnit, Probability, Refusal};

/// One question.
pub(crate) enum Question {
    /// What it leaks: by the best method, or by one that is named.
    Account { asked: AccountQuestion, method: Option<Method> },
    /// The setting for a budget.
    Calibrate { subject: SubjectSpec, solve: Solve, epsilon: Epsilon, delta: Delta },
    /// What it means for the people.
    Explain { asked: AccountQuestion, priors: Vec<Probability> },
    /// The profile and the trade-off curve.
    Curves { subject: SubjectSpec, delta: Delta },
    /// Whether a file holds.
    Verify { text: String },
    /// Begins an audit.
    Audit { order: AuditOrder },
    /// Runs more trials of it.
    Trials { trials: u64 },
}

/// A subject, and the δ or the ε that is given.
pub(crate) struct AccountQuestion {
    pub subject: SubjectSpec,
    delta: Option<f64>,
    epsilon: Option<f64>,
}

impl AccountQuestion {
    pub(crate) fn target(&self) -> Result<Target, Refusal> {
        Target::given("", self.delta, self.epsilon)
    }
}

/// What is done to whose data: the entries of a plan.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SubjectSpec {
    entries: Vec<Entry>,
    adjacency: Option<String>,
    unit: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    mechanism: MechanismSpec,
    times: Option<Whole>,
}

impl SubjectSpec {
    /// The subject, as a plan with these entries has it; a single mechanism without an adjacency has that of its kind.
    pub(crate) fn subject(&self) -> Result<Subject, Refusal> {
        if self.entries.is_empty() || self.entries.len() > plan::MOST_MECHANISMS {
            return Err(Refusal::out_of_range("mechanisms in the plan", self.entries.len(), "1 to 1000"));
        }
        let mut parts = self.entries.iter().map(Entry::mechanism).collect::<Result<Vec<_>, Refusal>>()?;
        let mechanism = if parts.len() == 1 { parts.swap_remove(0) } else { Mechanism::Composed(parts) };
        let subject = Subject::new(mechanism);
        Ok(Subject {
            adjacency: self.adjacency.as_deref().map_or(Ok(subject.adjacency), str::parse::<Adjacency>)?,
            unit: self.unit.as_deref().map_or(Ok(subject.unit), PrivacyUnit::new)?,
            mechanism: subject.mechanism,
        })
    }

    /// The kind of its only mechanism, by which a setting is named.
    pub(crate) fn kind(&self) -> &'static str {
        self.entries.first().map_or("gaussian", |entry| entry.mechanism.kind())
    }
}

impl Entry {
    fn mechanism(&self) -> Result<Mechanism, Refusal> {
        let mechanism = Mechanism::try_from(&self.mechanism)?;
        match self.times {
            Some(times) => Ok(mechanism.repeated(times.count("times")?)),
            None => Ok(mechanism),
        }
    }
}

/// All fields that any question has. Which of them are read, `ask` decides.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Fields {
    ask: String,
    subject: Option<SubjectSpec>,
    delta: Option<f64>,
    epsilon: Option<f64>,
    method: Option<String>,
    solve: Option<String>,
    priors: Option<Vec<f64>>,
    text: Option<String>,
    audit: Option<AuditOrder>,
    trials: Option<u64>,
}

/// Reads a question.
pub(crate) fn parse(text: &str) -> Result<Question, Refusal> {
    let fields: Fields = serde_json::from_str(text)
        .map_err(|error| Refusal::Invalid(format!("question: {}", plan::plainly(&error.to_string()))))?;
    let missing = |name: &str| Refusal::Invalid(format!("{name} is missing in the query"));
    let subject = fields.subject.ok_or_else(|| missing("subject"));
    let number = |value: Option<f64>, name: &str| value.ok_or_else(|| missing(name));
    let (delta, epsilon) = (fields.delta, fields.epsilon);
    Ok(match fields.ask.as_str() {
        "account" => Question::Account {
            asked: AccountQuestion { subject: subject?, delta, epsilon },
            method: fields.method.as_deref().map(str::parse).transpose()?,
        },
        "calibrate" => Question::Calibrate {
            subject: subject?,
            solve: fields.solve.ok_or_else(|| missing("solve"))?.parse()?,
            epsilon: Epsilon::new(number(epsilon, "epsilon")?)?,
            delta: Delta::new(number(delta, "delta")?)?,
        },
        "explain" => Question::Explain {
            asked: AccountQuestion { subject: subject?, delta, epsilon },
            priors: fields
                .priors
                .unwrap_or(vec![0.01, 0.5])
                .into_iter()
                .map(prior)
                .collect::<Result<_, _>>()?,
        },
        "curves" => Question::Curves { subject: subject?, delta: Delta::new(number(delta, "delta")?)? },
        "verify" => Question::Verify { text: fields.text.ok_or_else(|| missing("text"))? },
        "audit" => Question::Audit { order: fields.audit.ok_or_else(|| missing("audit"))? },
        "trials" => Question::Trials { trials: fields.trials.ok_or_else(|| missing("trials"))? },
        _ => {
            let known = "account, calibrate, explain, curves, verify, audit or trials";
            return Err(Refusal::Invalid(format!("unknown query type in ask, expected {known}")));
        }
    })
}

fn prior(prior: f64) -> Result<Probability, Refusal> {
    match Probability::new(prior) {
        Ok(known) if known.get() > 0.0 && known.get() < 1.0 => Ok(known),
        _ => Err(Refusal::out_of_range("prior", prior, "0 < prior < 1")),
    }
}
