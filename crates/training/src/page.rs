//! The HTML report of a training run: its guarantee in words and charts, its assumptions, and how to recompute it.
//!
//! A report contains only the plan, the number of records, the time of the claim and values derived from them, so it may be published
//! with the model. It has no digest of the records, because anyone who guesses the records could check the guess. Only a [`Learning`]
//! is measured on the records. Then the page says so in red, also at its head.

use super::{Learning, Model, PreparedRun, Score, prepared::Cost};
use serde::Serialize;
use veracity_account::claims::{Answer, Explanation, Target, explain};
use veracity_core::{Adjacency, Finding, Probability, Refusal, decimal};
use veracity_report::privacy;
use veracity_report::{
    axis::{Axis, Scale},
    chart::{self, Chart, Line, Side, Spot},
    html::{Block, Command, Figure, Note, Page, Section, Table, Tone},
    picture::{Ink, Stroke},
};
use veracity_train::{Plan, Privacy, Sampling, Unit};

/// At most so many points of ε over the steps.
const POINTS: u64 = 24;
/// Digits of a bound.
const DIGITS: usize = 5;

/// The report of a run that started at `time`, in the format of claims. `learning` holds metrics measured on the training records, if
/// requested.
pub(crate) fn page(
    prepared: &PreparedRun,
    model: &Model,
    time: &str,
    learning: Option<&Learning>,
) -> Result<Page, Refusal> {
    let even = [Probability::new(0.5)?];
    let cost = prepared.cost.as_ref();
    let told = cost.map(|cost| explain(&cost.subject, Target::Delta(cost.delta), &even)).transpose()?;
    let told = cost.zip(told.as_ref());
    let facts = trained(prepared, model, time)?;
    let mut sections = vec![Section::new("What was trained", vec![Block::Facts(facts)])];
    if let Some((cost, told)) = told {
        sections.push(Section::new("The guarantee", guarantee(cost, told)));
        sections.push(Section::new(
            "Charts",
            vec![Block::Figures(pictures(cost, prepared.plan.steps.get(), |steps| {
                prepared.epsilon_after(steps)
            })?)],
        ));
    }
    if let Some(learning) = learning {
        sections.push(measured(learning));
    }
    if let Some((_, told)) = told {
        let mut points = assumptions(told, prepared.plan.unit);
        points.push(
            "The processor follows IEEE 754 for single-precision numbers. Under this assumption, the rounding error of a sum of \
             gradients has a proved bound, and the clipping norm is reduced by it."
                .to_owned(),
        );
        sections.push(Section::new("Assumptions", vec![Block::Points(points)]));
        sections.push(Section::new("Not covered by the guarantee", vec![Block::Points(limits())]));
        sections.push(recompute(true));
    }
    Ok(Page {
        title: match cost {
            Some(_) => "Report of a private training run".to_owned(),
            None => "Report of a training run".to_owned(),
        },
        lead: lead(told, model.card.for_release, learning.is_some()),
        sections,
        footer: format!("Written by veracity {}.", env!("CARGO_PKG_VERSION")),
    })
}

/// The guarantee, or why there is none.
pub(crate) fn lead(told: Option<(&Cost, &Explanation)>, for_release: bool, has_metrics: bool) -> Note {
    let Some((cost, told)) = told else {
        let text = "No privacy guarantee: this model was trained without noise. Do not publish it.";
        return Note { tone: Tone::Alarm, text: text.to_owned() };
    };
    let promise = promise(cost);
    if !for_release {
        let text = format!(
            "Not for release: the noise was drawn from a seed, so anyone who knows the seed can subtract it. With fresh noise the guarantee would be {promise}."
        );
        return Note { tone: Tone::Alarm, text };
    }
    if has_metrics {
        let text = format!(
            "The model satisfies {promise}. This report does not: it contains metrics measured on the training records. \
             Do not publish it."
        );
        return Note { tone: Tone::Alarm, text };
    }
    let unit = cost.subject.unit.name();
    let guess = match cost.subject.adjacency {
        Adjacency::AddRemove => format!("whether any one {unit} was in the training data"),
        Adjacency::ReplaceOne => format!("which of two values any one {unit} in the training data had"),
        Adjacency::ZeroOut => format!("whether any one {unit} was blanked"),
    };
    let text = format!(
        "{promise}. Anyone who sees this model and guesses {guess} is right at most {} of the time, compared with 50% for a coin flip.",
        percent(0.5 + told.advantage / 2.0)
    );
    Note { tone: Tone::Good, text }
}

/// ε ≤ … at δ = …, with its conditions.
fn promise(cost: &Cost) -> String {
    // No line ends within a formula.
    format!(
        "ε\u{a0}≤\u{a0}{} at δ\u{a0}=\u{a0}{} ({}, per {})",
        decimal::up(epsilon(&cost.answer), DIGITS),
        delta(cost),
        cost.subject.adjacency,
        cost.subject.unit.name()
    )
}

/// δ for use in a sentence.
fn delta(cost: &Cost) -> String {
    decimal::in_prose(&decimal::up(cost.delta.get(), DIGITS))
}

fn epsilon(answer: &Answer) -> f64 {
    answer.epsilon.upper().map_or(f64::INFINITY, |upper| upper.0.get())
}

pub(crate) fn guarantee(cost: &Cost, told: &Explanation) -> Vec<Block> {
    let unit = cost.subject.unit.name();
    let other = match cost.subject.adjacency {
        Adjacency::AddRemove => {
            format!("If any one {unit} had been left out of the training data or added to them")
        }
        Adjacency::ReplaceOne => format!("If any one {unit} had been replaced by another"),
        Adjacency::ZeroOut => format!("If any one {unit} had been blanked"),
    };
    let words = format!(
        "{other}, the probability of any observation of the model would change by a factor of at most {}, up to an additional \
         probability of {}.",
        decimal::up(told.odds, 4),
        delta(cost),
    );
    let attack = "This guarantee holds against an attacker who knows all other records, the plan and the model after every step. The attacker must not know the noise or which records each batch contains.";
    let facts = vec![
        ("Upper bound on ε".to_owned(), certified(&cost.answer)),
        ("Delta (δ)".to_owned(), decimal::nearest(cost.delta.get(), 17)),
        ("Adjacency".to_owned(), cost.subject.adjacency.to_string()),
        ("Privacy unit".to_owned(), format!("one {unit}")),
        ("Accounting method".to_owned(), cost.answer.method.to_string()),
    ];
    vec![
        Block::Words(words),
        Block::Words(attack.to_owned()),
        Block::Facts(facts),
        Block::Table(attacks(told)),
    ]
}

/// The upper bound, with the lower bound if it is known.
fn certified(answer: &Answer) -> String {
    let upper = decimal::up(epsilon(answer), 9);
    match &answer.epsilon {
        Finding::Bracket(bracket) => {
            format!("{upper} (certified; the true ε is at least {})", decimal::down(bracket.lower.0.get(), 9))
        }
        Finding::Upper(_) | Finding::Approximation(_) => {
            format!("{upper} (how far above the true ε is not known)")
        }
    }
}

/// Error rates and beliefs of the strongest attack.
fn attacks(told: &Explanation) -> Table {
    let head = [
        "False-positive rate of an attack",
        "True-positive rate, at most",
        "A belief of 50% becomes at most",
    ];
    let rows = told.attacks.iter().map(|attack| {
        let belief = attack.posteriors.first().map_or(String::new(), |pair| percent(pair.1));
        vec![percent(attack.false_positive_rate), percent(attack.true_positive_rate), belief]
    });
    Table { head: head.map(str::to_owned).to_vec(), rows: rows.collect() }
}

/// A fraction as a percentage, rounded up.
fn percent(share: f64) -> String {
    format!("{}%", decimal::up((share * 100.0).min(100.0), 3))
}

pub(crate) fn pictures(
    cost: &Cost,
    steps: u64,
    epsilon_after: impl Fn(u64) -> Option<f64>,
) -> Result<Vec<Figure>, Refusal> {
    let profile = privacy::profile_chart(&cost.subject, (epsilon(&cost.answer), cost.delta))?;
    let profile = Figure {
        picture: chart::draw(&profile),
        caption: "Every pair of ε and δ on this curve is a valid guarantee of the model. The marked point is the one in the claim. \
                  A smaller δ needs a larger ε."
            .to_owned(),
    };
    let steps = Figure {
        picture: chart::draw(&over_steps(cost, steps, epsilon_after)),
        caption: format!(
            "Upper bound on ε if the model had been released after each number of steps, at δ\u{a0}=\u{a0}{}. Only the final model was released.",
            delta(cost)
        ),
    };
    Ok(vec![profile, steps])
}

/// ε over the steps at the δ of the budget.
fn over_steps(cost: &Cost, steps: u64, epsilon_after: impl Fn(u64) -> Option<f64>) -> Chart {
    let every = steps.div_ceil(POINTS).max(1);
    let asked = (1..).map(|at| at * every).take_while(|step| *step < steps);
    let first = (every > 1).then_some(1);
    let mut points: Vec<(f64, f64)> =
        first.into_iter().chain(asked).filter_map(|step| Some((step as f64, epsilon_after(step)?))).collect();
    let last = (steps as f64, epsilon(&cost.answer));
    points.push(last);
    let axis = |title: &str, high| Axis { title: title.to_owned(), low: 0.0, high, scale: Scale::Linear };
    Chart {
        description: format!("epsilon over {steps} steps, up to {}", decimal::up(last.1, DIGITS)),
        x: axis("steps", steps as f64),
        y: axis("upper bound on ε", if last.1.is_finite() && last.1 > 0.0 { last.1 * 1.2 } else { 1.0 }),
        bands: Vec::new(),
        lines: vec![Line { name: String::new(), points, ink: Ink::BLUE, stroke: Stroke::Solid }],
        spots: vec![Spot {
            at: last,
            label: format!("ε ≤ {}", decimal::up(last.1, 4)),
            side: Side::Above,
            ink: Ink::BLUE,
        }],
    }
}

/// The plan in words, and when it ran.
fn trained(prepared: &PreparedRun, model: &Model, time: &str) -> Result<Vec<(String, String)>, Refusal> {
    let plan = &prepared.plan;
    let spec = &model.card.model;
    let (population, batch) = (plan.sampling.population().get(), plan.sampling.planned().get());
    let steps = plan.steps.get();
    let passes = steps as f64 * batch as f64 / population as f64;
    // How many records people have is not public.
    let (label, drawn) = match plan.unit {
        Unit::Record => ("Records", "records"),
        Unit::Person => ("People", "people with all of their records"),
    };
    let batches = match plan.sampling {
        Sampling::Poisson { .. } => {
            format!(
                "{batch} {drawn} on average, each included independently with the same probability (poisson)"
            )
        }
        Sampling::FixedSize { .. } => format!("{batch} {drawn}, drawn without replacement (fixed-size)"),
        Sampling::Shuffled { .. } => {
            format!("{batch} {drawn}, from all of them in a random order (shuffled)")
        }
    };
    let mut facts = vec![
        ("Date", minute(time)),
        ("Version", format!("veracity {}", env!("CARGO_PKG_VERSION"))),
        (label, format!("{population} (this number is public)")),
    ];
    if !spec.feature.is_empty() {
        facts.push(("Fixed features", chain(&spec.feature)?));
    }
    facts.extend([
        ("Model", format!("{}; {} parameters", chain(&spec.layer)?, plan.network.parameters())),
        ("Loss", plan.loss.name().to_owned()),
        ("Optimizer", optimiser(prepared)),
    ]);
    facts.extend(prepared.cost.as_ref().map(|cost| ("Mechanism", cost.subject.describe())));
    facts.extend([
        ("Sampling", batches),
        ("Steps", format!("{steps} ({} epochs)", decimal::nearest(passes, 3))),
    ]);
    facts.extend(protection(plan));
    if prepared.cost.is_some() {
        let origin = match model.card.for_release {
            true => "random number generator of the operating system",
            false => "a seed; not for release",
        };
        facts.push(("Randomness", origin.to_owned()));
    }
    Ok(facts.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
}

/// A moment to the minute.
pub(crate) fn minute(time: &str) -> String {
    let (date, clock) = time.split_once('T').unwrap_or((time, ""));
    format!("{date} {} UTC", clock.get(..5).unwrap_or(clock))
}

fn optimiser(prepared: &PreparedRun) -> String {
    let plan = &prepared.plan;
    let steps = plan.steps.get();
    let rates: Vec<f32> =
        (0..steps).step_by(steps.div_ceil(512) as usize).map(|at| plan.schedule.rate(at, steps)).collect();
    let (least, most) = rates.iter().fold((f32::INFINITY, 0f32), |(a, b), rate| (a.min(*rate), b.max(*rate)));
    let rate = |rate: f32| decimal::nearest(rate.to_string().parse().unwrap_or(f64::from(rate)), 4);
    let learning = match least < most {
        true => format!("learning rate from {} to {} ({})", rate(least), rate(most), plan.schedule.name()),
        false => format!("learning rate {}", rate(most)),
    };
    let mut words = format!("{}, {learning}", plan.optimiser.name());
    if plan.averaging.name() != "none" {
        words += &format!(", {} averaging", plan.averaging.name());
    }
    words
}

fn protection(plan: &Plan) -> Vec<(&'static str, String)> {
    let number = |x: f64| decimal::nearest(x, 6);
    let clipped = match plan.unit {
        Unit::Record => "the gradient of each record",
        Unit::Person => "the mean gradient of each person",
    };
    match &plan.privacy {
        Privacy::Gaussian { noise, clip, clipping } => vec![
            ("Clipping", format!("{clipped} to ℓ2 norm {} ({})", number(clip.get()), clipping.name())),
            (
                "Noise",
                format!(
                    "gaussian, with standard deviation {}× the clipping norm, added to the sum of each step",
                    number(noise.get())
                ),
            ),
        ],
        Privacy::Laplace { noise, clip } => vec![
            ("Clipping", format!("{clipped} to ℓ1 norm {}", number(clip.get()))),
            (
                "Noise",
                format!(
                    "laplace, with scale {}× the clipping norm, added to the sum of each step",
                    number(noise.get())
                ),
            ),
        ],
        Privacy::None => vec![("Noise", "none".to_owned())],
    }
}

/// Layers or features one after another, as they are written in plans.
fn chain(specs: &[impl Serialize]) -> Result<String, Refusal> {
    let words = specs.iter().map(|spec| {
        let value = serde_json::to_value(spec)
            .map_err(|error| Refusal::invalid(format!("layer cannot be written down: {error}")))?;
        Ok(in_words(&value))
    });
    Ok(words.collect::<Result<Vec<String>, Refusal>>()?.join(" → "))
}

/// `linear (outputs 10)`, from a tagged object.
fn in_words(value: &serde_json::Value) -> String {
    match value {
        serde_json::Value::Object(fields) => {
            let kind = fields.get("kind").map(in_words).unwrap_or_default();
            let rest: Vec<String> = fields
                .iter()
                .filter(|(name, _)| *name != "kind")
                .map(|(name, value)| format!("{} {}", name.replace('_', " "), in_words(value)))
                .collect();
            if rest.is_empty() { kind } else { format!("{kind} ({})", rest.join(", ")) }
        }
        serde_json::Value::Array(items) => items.iter().map(in_words).collect::<Vec<_>>().join(" → "),
        serde_json::Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// What was measured on the training records, in red.
fn measured(learning: &Learning) -> Section {
    let warning = "Not covered by the guarantee: these numbers were measured on the training records themselves, without \
                   noise. They can reveal single records, so do not publish them.";
    let losses: Vec<(f64, f64)> = learning.losses.iter().map(|(step, loss)| (*step as f64, *loss)).collect();
    let finite = losses.iter().map(|pair| pair.1).filter(|loss| loss.is_finite());
    let top = finite.fold(0.0, f64::max);
    let last = losses.last().map_or(1.0, |pair| pair.0);
    let axis = |title: &str, high: f64| Axis {
        title: title.to_owned(),
        low: 0.0,
        high: if high > 0.0 { high } else { 1.0 },
        scale: Scale::Linear,
    };
    let from = learning.losses.first().map_or(0, |pair| pair.0);
    let resumed = if from > 1 { format!(" The run was resumed at step {from}.") } else { String::new() };
    let chart = Chart {
        description: "mean training loss over the steps; not private".to_owned(),
        x: axis("steps", last),
        y: axis("mean loss (not private)", top * 1.05),
        bands: Vec::new(),
        lines: vec![Line {
            name: String::new(),
            points: losses,
            ink: Ink::VERMILLION,
            stroke: Stroke::Solid,
        }],
        spots: Vec::new(),
    };
    let figure = Figure {
        picture: chart::draw(&chart),
        caption: format!("Mean loss on {} of the training records.{resumed}", learning.records),
    };
    let mut blocks = vec![Block::Note(Note { tone: Tone::Alarm, text: warning.to_owned() })];
    blocks.extend(learning.score.as_ref().map(|score| Block::Facts(vec![right(score)])));
    blocks.push(Block::Figures(vec![figure]));
    Section::new("On the training records: not private", blocks)
}

fn right(score: &Score) -> (String, String) {
    match score {
        Score::Accuracy { right, records } => {
            let share = decimal::nearest(100.0 * *right as f64 / *records as f64, 4);
            ("Accuracy, not private".to_owned(), format!("{share}% ({right} of {records} records)"))
        }
        Score::RootMeanSquare { error, records } => (
            "Root mean squared error, not private".to_owned(),
            format!("{} ({records} records)", decimal::nearest(*error, 5)),
        ),
    }
}

pub(crate) fn assumptions(told: &Explanation, protected: Unit) -> Vec<String> {
    let unit = told.unit.name();
    let several = told.groups.iter().filter_map(|group| {
        let promise = group.promise?;
        let delta = decimal::in_prose(&decimal::up(promise.delta, 3));
        Some(format!(
            "for {} of them, ε\u{a0}≤\u{a0}{} at δ\u{a0}=\u{a0}{delta}",
            group.size,
            decimal::up(promise.epsilon, 4)
        ))
    });
    let several: Vec<String> = several.collect();
    let several = if several.is_empty() { "no bound".to_owned() } else { several.join(", ") };
    let (protected, counted) = match protected {
        Unit::Record => {
            let words = format!(
                "The guarantee is for a single record. For a person with several records it is weaker: {several}."
            );
            (words, "records")
        }
        Unit::Person => {
            let words = format!(
                "All records of one {unit} have the same value in the privacy ID column. For a {unit} with several IDs the \
                 guarantee is weaker: {several}."
            );
            (words, "people")
        }
    };
    vec![
        protected,
        format!(
            "The plan and the number of {counted} are public, and the plan was chosen without looking at these records. Tuning on \
             these records costs additional privacy, which this ε does not include."
        ),
        "The random number generator of the operating system is cryptographically secure, and no attacker has the key of this run."
            .to_owned(),
    ]
}

pub(crate) fn limits() -> Vec<String> {
    let all = [
        "Other releases from the same records. Each has its own claim, and their privacy costs add up.",
        "The duration of the training run, and whether records were refused as malformed.",
        "Files other than the model, its claim and this report. The checkpoint and the key of a paused run are secret.",
        "Scores on held-out records. They are not private and can reveal those records.",
    ];
    all.map(str::to_owned).to_vec()
}

/// The commands that check a run, and for a model of ours one that uses it.
pub(crate) fn recompute(is_ours: bool) -> Section {
    let command = |says: &str, line: &str| Command { says: says.to_owned(), line: line.to_owned() };
    let verify = command(
        "Recompute the guarantee from the claim that is stored with the model. The command fails if the claim is not \
         valid:",
        "veracity verify claim.json",
    );
    let evaluate = is_ours.then(|| {
        command(
            "Measure the accuracy of the model on your own records of the same layout:",
            "veracity evaluate model.safetensors DATA",
        )
    });
    Section::recompute([verify].into_iter().chain(evaluate).collect())
}
