//! The report of a run as a page: what was promised, in words and pictures, what that rests on, and how to compute it again.
//!
//! A report holds nothing but the plan, the number of records and what follows from them, so it may be handed over with the
//! model. Only a [`Learning`] that was asked for is measured on the records; then the page says so in red, at its head too.

use super::{Learning, Model, Prepared, Score, prepared::Cost};
use serde::Serialize;
use veracity_claims::{Answer, Explanation, Target, explain};
use veracity_core::{Adjacency, Finding, Probability, Refusal};
use veracity_report::privacy;
use veracity_report::{
    axis::{Axis, Scale},
    chart::{self, Chart, Line, Side, Spot},
    decimal,
    html::{Block, Command, Figure, Note, Page, Section, Table, Tone},
    picture::{Ink, Stroke},
};
use veracity_train::{Privacy, Sampling};

/// At most so many points of ε over the steps.
const POINTS: u64 = 24;
/// Digits of a bound.
const DIGITS: usize = 5;

/// The report of a run; `learning` is what was measured on the training records, where that was asked for.
pub fn page(prepared: &Prepared, model: &Model, learning: Option<&Learning>) -> Result<Page, Refusal> {
    let even = [Probability::new(0.5)?];
    let cost = prepared.cost.as_ref();
    let told = cost.map(|cost| explain(&cost.subject, Target::Delta(cost.delta), &even)).transpose()?;
    let told = cost.zip(told.as_ref());
    let mut sections = Vec::new();
    if let Some((cost, told)) = told {
        sections.push(Section::new("The guarantee", guarantee(cost, told, model)));
        sections.push(Section::new("In pictures", vec![Block::Figures(pictures(prepared, cost)?)]));
    }
    sections.push(Section::new("What was trained", vec![Block::Facts(trained(prepared, model)?)]));
    if let Some(learning) = learning {
        sections.push(measured(learning));
    }
    if let Some((_, told)) = told {
        sections.push(Section::new("What this rests on", vec![Block::Points(assumptions(told))]));
        sections.push(Section::new("What is not covered", vec![Block::Points(limits())]));
        sections.push(recompute());
    }
    Ok(Page {
        title: match cost {
            Some(_) => "Report of a private training run".to_owned(),
            None => "Report of a training run".to_owned(),
        },
        lead: lead(told, model, learning),
        sections,
        footer: format!("Written by veracity {}.", env!("CARGO_PKG_VERSION")),
    })
}

/// What may be relied upon, or why nothing may.
fn lead(told: Option<(&Cost, &Explanation)>, model: &Model, learning: Option<&Learning>) -> Note {
    let Some((cost, told)) = told else {
        let text = "No protection: this model was trained without noise. Nothing is promised to anyone whose data it saw.";
        return Note { tone: Tone::Alarm, text: text.to_owned() };
    };
    let promise = promise(cost);
    if !model.card.for_release {
        let text = format!(
            "Not for release: the noise came from a seed that someone knows. From fresh noise the promise would be {promise}."
        );
        return Note { tone: Tone::Alarm, text };
    }
    if learning.is_some() {
        let text = format!(
            "The model keeps the promise {promise}. This page does not: it shows numbers measured on the training records. \
             Keep it to yourself."
        );
        return Note { tone: Tone::Alarm, text };
    }
    let unit = cost.subject.unit.name();
    let guess = match cost.subject.adjacency {
        Adjacency::AddRemove => format!("whether any one {unit} was in the training"),
        Adjacency::ReplaceOne => format!("which of two any one {unit} in the training was"),
        Adjacency::ZeroOut => format!("whether any one {unit} was blanked"),
    };
    let text = format!(
        "{promise}: whoever sees this model and guesses {guess} is right at most {} of the time; a coin, 50%.",
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

/// δ as it stands in a sentence.
fn delta(cost: &Cost) -> String {
    decimal::in_prose(&decimal::up(cost.delta.get(), DIGITS))
}

fn epsilon(answer: &Answer) -> f64 {
    answer.epsilon.upper().map_or(f64::INFINITY, |upper| upper.0.get())
}

fn guarantee(cost: &Cost, told: &Explanation, model: &Model) -> Vec<Block> {
    let unit = cost.subject.unit.name();
    let other = match cost.subject.adjacency {
        Adjacency::AddRemove => format!("Had any one {unit} been left out of the training, or added to it"),
        Adjacency::ReplaceOne => format!("Had any one {unit} been replaced by another"),
        Adjacency::ZeroOut => format!("Had any one {unit} been blanked"),
    };
    let words = format!(
        "{other}, anything that can be seen of the model would be at most {} times more or less likely, up to {} of extra \
         probability.",
        decimal::up(told.odds, 4),
        delta(cost),
    );
    let attack = "That holds against someone who knows all other records, the plan and the model after every step; not the noise, nor who was drawn into which batch.";
    let origin = match model.card.for_release {
        true => "the operating system, fresh for this run",
        false => "a seed: not for release",
    };
    let facts = vec![
        ("Epsilon (ε), at most".to_owned(), certified(&cost.answer)),
        ("Delta (δ)".to_owned(), decimal::nearest(cost.delta.get(), 17)),
        ("Adjacency".to_owned(), cost.subject.adjacency.to_string()),
        ("One record".to_owned(), format!("one {unit}")),
        ("Mechanism".to_owned(), cost.subject.describe()),
        ("Accounting method".to_owned(), cost.answer.method.to_string()),
        ("Noise drawn from".to_owned(), origin.to_owned()),
    ];
    vec![
        Block::Words(words),
        Block::Words(attack.to_owned()),
        Block::Facts(facts),
        Block::Table(attacks(told)),
    ]
}

/// The bound, and how near to the truth it is known to be.
fn certified(answer: &Answer) -> String {
    let upper = decimal::up(epsilon(answer), 9);
    match &answer.epsilon {
        Finding::Bracket(bracket) => {
            format!("{upper} (and no less than {})", decimal::down(bracket.lower.0.get(), 9))
        }
        Finding::Upper(_) | Finding::Approximation(_) => {
            format!("{upper} (how far above the truth is not known)")
        }
    }
}

/// What the strongest attack finds.
fn attacks(told: &Explanation) -> Table {
    let head = ["An attack that wrongly accuses", "finds at most", "and a belief of 50% becomes at most"];
    let rows = told.attacks.iter().map(|attack| {
        let belief = attack.posteriors.first().map_or(String::new(), |pair| percent(pair.1));
        vec![percent(attack.false_positive_rate), percent(attack.true_positive_rate), belief]
    });
    Table { head: head.map(str::to_owned).to_vec(), rows: rows.collect() }
}

/// A share, rounded up.
fn percent(share: f64) -> String {
    format!("{}%", decimal::up((share * 100.0).min(100.0), 3))
}

fn pictures(prepared: &Prepared, cost: &Cost) -> Result<Vec<Figure>, Refusal> {
    let profile = privacy::profile_chart(&cost.subject, (epsilon(&cost.answer), cost.delta))?;
    let profile = Figure {
        picture: chart::draw(&profile),
        caption: "Every ε on this curve holds together with its δ; the promise is one point of it. The smaller the δ, \
                  the larger the ε."
            .to_owned(),
    };
    let steps = Figure {
        picture: chart::draw(&over_steps(prepared, cost)),
        caption: format!(
            "What releasing the model after so many steps would have cost, at δ\u{a0}=\u{a0}{}. Only the last one was released.",
            delta(cost)
        ),
    };
    Ok(vec![profile, steps])
}

/// ε over the steps at the δ of the budget.
fn over_steps(prepared: &Prepared, cost: &Cost) -> Chart {
    let steps = prepared.plan.steps.get();
    let every = steps.div_ceil(POINTS).max(1);
    let asked = (1..).map(|at| at * every).take_while(|step| *step < steps);
    let first = (every > 1).then_some(1);
    let mut points: Vec<(f64, f64)> = first
        .into_iter()
        .chain(asked)
        .filter_map(|step| Some((step as f64, prepared.epsilon_after(step)?)))
        .collect();
    let last = (steps as f64, epsilon(&cost.answer));
    points.push(last);
    let axis = |title: &str, high| Axis { title: title.to_owned(), low: 0.0, high, scale: Scale::Linear };
    Chart {
        description: format!("epsilon over {steps} steps, up to {}", decimal::up(last.1, DIGITS)),
        x: axis("steps", steps as f64),
        y: axis("ε, at most", if last.1.is_finite() && last.1 > 0.0 { last.1 * 1.2 } else { 1.0 }),
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

/// The plan in words.
fn trained(prepared: &Prepared, model: &Model) -> Result<Vec<(String, String)>, Refusal> {
    let plan = &prepared.plan;
    let spec = &model.card.model;
    let (records, batch) = (plan.sampling.population().get(), plan.sampling.planned().get());
    let steps = plan.steps.get();
    let passes = steps as f64 * batch as f64 / records as f64;
    let batches = match plan.sampling {
        Sampling::Poisson { .. } => {
            format!("{batch} records on average, each drawn with the same chance (poisson)")
        }
        Sampling::FixedSize { .. } => format!("{batch} records, drawn without replacement (fixed-size)"),
        Sampling::Shuffled { .. } => format!("{batch} records, all in turn in a random order (shuffled)"),
    };
    let mut facts = vec![("Parameters", plan.network.parameters().to_string())];
    if !spec.feature.is_empty() {
        facts.push(("Fixed features", chain(&spec.feature)?));
    }
    facts.extend([
        ("Layers", chain(&spec.layer)?),
        ("Loss", plan.loss.name().to_owned()),
        ("Records", format!("{records} (their number is public)")),
        ("Batches", batches),
        ("Steps", format!("{steps} ({} times through the records)", decimal::nearest(passes, 3))),
        ("Optimiser", optimiser(prepared)),
    ]);
    facts.extend(protection(&plan.privacy));
    Ok(facts.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
}

fn optimiser(prepared: &Prepared) -> String {
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

fn protection(privacy: &Privacy) -> Vec<(&'static str, String)> {
    let number = |x: f64| decimal::nearest(x, 6);
    match privacy {
        Privacy::Gaussian { noise, clip, clipping } => vec![
            (
                "Clipping",
                format!("each record's gradient to length {} ({})", number(clip.get()), clipping.name()),
            ),
            (
                "Noise",
                format!("gaussian, {} times that length on their sum, in each step", number(noise.get())),
            ),
        ],
        Privacy::Laplace { noise, clip } => vec![
            ("Clipping", format!("each record's gradient to ℓ1 length {}", number(clip.get()))),
            (
                "Noise",
                format!("laplace, {} times that length on their sum, in each step", number(noise.get())),
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
                   noise. They can tell about single records and must not be published.";
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

fn assumptions(told: &Explanation) -> Vec<String> {
    let unit = told.unit.name();
    let several = told.groups.iter().filter_map(|group| {
        let promise = group.promise?;
        let delta = decimal::in_prose(&decimal::up(promise.delta, 3));
        Some(format!(
            "in {} of them ε\u{a0}≤\u{a0}{} at δ\u{a0}=\u{a0}{delta}",
            group.size,
            decimal::up(promise.epsilon, 4)
        ))
    });
    let several: Vec<String> = several.collect();
    let several = if several.is_empty() { "no number".to_owned() } else { several.join(", ") };
    vec![
        format!(
            "Each record stands for one {unit}. Whoever is in several records is promised less: {several}."
        ),
        "The plan and the number of records are public, and the plan was not chosen by looking at these records: tuning on \
         them costs privacy that is not counted here."
            .to_owned(),
        "The operating system's randomness cannot be told from true randomness, and nobody has the key of this run."
            .to_owned(),
        "Gradients are sums of floats. The clip norm leaves room for their rounding, 5 times the largest that was found; \
         that is not a proof."
            .to_owned(),
    ]
}

fn limits() -> Vec<String> {
    let all = [
        "Other releases from the same records. Each has a claim of its own, and what they cost adds up.",
        "How long the training took, and whether the records were refused as malformed.",
        "Any file besides the model, its claim and this page. The checkpoint and the key of a paused run are secret.",
        "How good the model is. Scores on held-out records tell about those records, and nothing protects them.",
    ];
    all.map(str::to_owned).to_vec()
}

fn recompute() -> Section {
    let command = |says: &str, line: &str| Command { says: says.to_owned(), line: line.to_owned() };
    Section::recompute(vec![
        command(
            "The claim beside the model says what was done, in numbers. This computes the guarantee again from them, and fails \
             if it does not hold:",
            "veracity verify claim.json",
        ),
        command(
            "Its accuracy on records of your own, of the same layout:",
            "veracity evaluate model.safetensors DATA",
        ),
    ])
}
