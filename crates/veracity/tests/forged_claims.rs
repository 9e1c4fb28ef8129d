//! Claims that were changed by hand. Every field of a claim is forged at least 500 times, from a pool of honest claims; the tree
//! of the file is walked, so that a field that is added to it is forged too. None may be confirmed, but for changes that are
//! harmless by definition, which are spelled out in [`is_harmless`] and must be confirmed.

use crate::questions::Dice;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use veracity::{
    Adjacency, Choice, ClaimFile, Confirmation, Delta, Entropy, Epsilon, Mechanism, Method, Persons,
    PrivacyUnit, Refusal, Subject, Target, Verifier, account,
    noise::{Key, NoiseStream, Purpose, RootAside},
    provenance,
    query::{Bins, Bounds, Column, ErrorBar, Question, Rank, Statistic},
    releasing::{ReleaseRequest, prepare},
    spec::MechanismSpec,
};

/// Forged variants of each field.
const VARIANTS: usize = 500;

fn subject(mechanism: &str, adjacency: Adjacency) -> Subject {
    let spec: MechanismSpec = serde_json::from_str(mechanism).unwrap();
    let mechanism = Mechanism::try_from(&spec).unwrap();
    Subject { mechanism, adjacency, unit: PrivacyUnit::new("patient").unwrap() }
}

fn at(delta: f64) -> Target {
    Target::Delta(Delta::new(delta).unwrap())
}

/// One claim of each kind of mechanism and of method, with one or two bounds, of either question.
fn written() -> Vec<ClaimFile> {
    use Adjacency::{AddRemove, ReplaceOne, ZeroOut};
    let only = Choice::Only;
    let epsilon = |value: f64| Target::Epsilon(Epsilon::new(value).unwrap());
    let asked = [
        (r#"{"kind":"gaussian","noise_multiplier":1.5}"#, ReplaceOne, at(1e-6), Choice::Best),
        (r#"{"kind":"gaussian","noise_multiplier":2}"#, AddRemove, at(1e-5), only(Method::Rdp)),
        (r#"{"kind":"gaussian","noise_multiplier":3}"#, ZeroOut, epsilon(1.25), only(Method::Pld)),
        (r#"{"kind":"laplace","noise_multiplier":2}"#, AddRemove, at(1e-3), Choice::Best),
        (r#"{"kind":"discrete-laplace","scale":3,"sensitivity":2}"#, AddRemove, at(1e-3), Choice::Best),
        (
            r#"{"kind":"discrete-gaussian","sigma":3,"sensitivity":2}"#,
            AddRemove,
            at(1e-6),
            only(Method::Zcdp),
        ),
        (
            r#"{"kind":"randomized-response","noise_parameter":0.5,"buckets":4}"#,
            ReplaceOne,
            at(0.01),
            Choice::Best,
        ),
        (
            r#"{"kind":"poisson-sampled","rate":0.1,"mechanism":{"kind":"gaussian","noise_multiplier":2}}"#,
            AddRemove,
            at(1e-6),
            Choice::Best,
        ),
        (
            r#"{"kind":"repeated","times":7,"mechanism":{"kind":"gaussian","noise_multiplier":5}}"#,
            AddRemove,
            at(1e-6),
            only(Method::Gdp),
        ),
        (r#"{"kind":"exponential","epsilon":0.7}"#, AddRemove, at(1e-4), Choice::Best),
        (r#"{"kind":"approximate","epsilon":0.7,"delta":1e-6}"#, AddRemove, at(1e-5), only(Method::Basic)),
        (r#"{"kind":"zcdp","rho":0.1}"#, AddRemove, epsilon(2.0), Choice::Best),
        (r#"{"kind":"rdp","orders":[2,8],"values":[0.1,0.5]}"#, AddRemove, at(1e-6), Choice::Best),
        (
            r#"{"kind":"dp-sgd","sampling_rate":0.01,"noise_multiplier":1,"steps":500}"#,
            AddRemove,
            at(1e-6),
            Choice::Best,
        ),
        (
            r#"{"kind":"composed","parts":[{"kind":"gdp","mu":0.5},{"kind":"gaussian","noise_multiplier":2},
                {"kind":"group","size":2,"mechanism":{"kind":"repeated","times":3,"mechanism":{"kind":"gaussian","noise_multiplier":9}}}]}"#,
            AddRemove,
            at(1e-6),
            Choice::Best,
        ),
        (
            r#"{"kind":"parallel","parts":[{"kind":"pure","epsilon":0.5},{"kind":"pure","epsilon":0.25}]}"#,
            AddRemove,
            at(0.0),
            Choice::Best,
        ),
        (
            r#"{"kind":"fixed-size-sampled","batch":10,"population":100,"mechanism":{"kind":"gaussian","noise_multiplier":2}}"#,
            ReplaceOne,
            at(1e-6),
            only(Method::Rdp),
        ),
    ];
    let claim = |(mechanism, adjacency, target, choice): &(&str, Adjacency, Target, Choice)| {
        let subject = subject(mechanism, *adjacency);
        ClaimFile::new(&subject, &account(&subject, *target, *choice).unwrap()).unwrap()
    };
    asked.iter().map(claim).collect()
}

/// Claims of releases: of a count of rows by person, and of a mean. They are for release, and yet the same in every run but for
/// their time: the root is read as that of a resumed run is.
fn released() -> Vec<ClaimFile> {
    let entropy = Entropy::resume(&RootAside::read(&mut &[7; 32][..]).unwrap());
    let mut rng = NoiseStream::new(entropy.stream(Purpose::Noise, Key::default()));
    let column = Column::from(vec![Some(0.5); 9]);
    let provenance = provenance("visits.csv").unwrap();
    let order = |statistic, persons: Option<Persons>| ReleaseRequest {
        question: Question { statistic, adjacency: Adjacency::AddRemove },
        column: Some("age".into()),
        unit: persons.as_ref().map(|_| PrivacyUnit::new("patient").unwrap()),
        persons,
        epsilon: Epsilon::new(1.0).unwrap(),
        delta: Delta::new(1e-6).unwrap(),
        kind: None,
    };
    let persons = Persons::new("id", veracity::Count::new(3).unwrap()).unwrap();
    let rows = persons.bound(&column, &vec![Some("a".to_owned()); 9], &entropy).unwrap();
    let counted = prepare(&order(Statistic::Count, Some(persons))).unwrap();
    let mean = prepare(&order(Statistic::Mean(Bounds::new(0.0, 1.0).unwrap()), None)).unwrap();
    vec![
        counted.release_bounded(&rows, (&provenance, None), &mut rng).unwrap().claim,
        mean.release(&column, (&provenance, Some("stay")), &mut rng).unwrap().claim,
    ]
}

fn pool() -> Vec<Value> {
    let honest = written().into_iter().chain(released());
    honest.map(|claim| serde_json::from_str(&claim.to_json().unwrap()).unwrap()).collect()
}

/// Every place of a tree, the root left out.
fn places(value: &Value, at: &str, found: &mut Vec<String>) {
    let mut enter = |name: String, inner: &Value| {
        let place = format!("{at}/{name}");
        found.push(place.clone());
        places(inner, &place, found);
    };
    match value {
        Value::Object(fields) => fields.iter().for_each(|(name, inner)| enter(name.clone(), inner)),
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(index, inner)| enter(index.to_string(), inner))
        }
        _ => {}
    }
}

/// The field that a place belongs to: items of one list are one field.
fn field(place: &str) -> String {
    place
        .split('/')
        .map(|part| if part.parse::<usize>().is_ok() { "*" } else { part })
        .collect::<Vec<_>>()
        .join("/")
}

/// Something else in the place of a value.
fn forge(value: &Value, dice: &mut Dice, pool: &[Value]) -> Value {
    match value {
        Value::Number(number) => number_like(number.as_f64().unwrap(), dice),
        Value::String(text) => text_like(text, dice, pool),
        Value::Bool(flag) => json!(!flag),
        Value::Null => json!(dice.between(1e-9, 1.0)),
        Value::Array(items) => json!(list_like(items, dice)),
        Value::Object(fields) => Value::Object(object_like(fields, dice)),
    }
}

fn number_like(x: f64, dice: &mut Dice) -> Value {
    let nudge = 10f64.powi(-(dice.below(9) as i32) - 1);
    match dice.below(10) {
        0..4 => json!(x * (1.0 - nudge)),
        4..6 => json!(x * (1.0 + nudge)),
        6 => json!(x * dice.between(1e-6, 0.9)),
        7 => json!(x * dice.between(1.1, 1e3)),
        8 => dice
            .pick(&[json!(0.0), json!(-x), json!(1e308), json!(null), json!(x.to_string()), json!(1e-300)])
            .clone(),
        _ => json!(x + nudge),
    }
}

fn text_like(text: &str, dice: &mut Dice, pool: &[Value]) -> Value {
    let letters: Vec<char> = text.chars().collect();
    let cut = dice.below(letters.len().max(1));
    let without: String =
        letters.iter().enumerate().filter(|(index, _)| *index != cut).map(|(_, c)| *c).collect();
    let methods = Method::ALL.map(Method::name);
    let adjacencies = Adjacency::ALL.map(Adjacency::name);
    json!(match dice.below(9) {
        0 => without,
        1 => format!("{text} "),
        2 => text.to_uppercase(),
        3 => String::new(),
        4 => text.replace(['a', 'e'], "o"),
        5 => (*dice.pick(&methods)).to_owned(),
        6 => (*dice.pick(&adjacencies)).to_owned(),
        7 => {
            // Any other text of any claim.
            let other = dice.pick(pool);
            let mut all = Vec::new();
            places(other, "", &mut all);
            let texts: Vec<&str> = all.iter().filter_map(|place| other.pointer(place)?.as_str()).collect();
            (*dice.pick(&texts)).to_owned()
        }
        _ => format!("{}{text}", dice.word()),
    })
}

fn list_like(items: &[Value], dice: &mut Dice) -> Vec<Value> {
    let mut items = items.to_vec();
    let place = dice.below(items.len().max(1));
    match dice.below(5) {
        _ if items.is_empty() => items.push(json!("nothing")),
        0 => drop(items.remove(place)),
        1 => items.push(items[place].clone()),
        2 => items.truncate(place),
        3 if items.len() > 1 => items.reverse(),
        _ => items.insert(place, json!("and whatever else")),
    }
    items
}

fn object_like(fields: &Map<String, Value>, dice: &mut Dice) -> Map<String, Value> {
    let mut fields = fields.clone();
    let names: Vec<String> = fields.keys().cloned().collect();
    match dice.below(3) {
        0 if !names.is_empty() => {
            fields.remove(dice.pick(&names));
        }
        1 if !names.is_empty() => {
            let name = dice.pick(&names);
            let value = fields.remove(name).unwrap();
            fields.insert(format!("{name}_"), value);
        }
        _ => {
            fields.insert(format!("extra{}", dice.below(9)), json!(1));
        }
    }
    fields
}

fn stands(outcome: &Result<Confirmation, Refusal>) -> bool {
    outcome.as_ref().is_ok_and(Confirmation::stands)
}

/// Changes that leave a true claim, and nothing but these: a promise of less, something that is shown of less, a name of a schema
/// that says the same, another method that certifies the same numbers, and another mechanism of which they are as true.
fn is_harmless(field: &str, forged: &Value, honest: &Value) -> bool {
    let number = |value: &Value, place: &str| value.pointer(place).and_then(Value::as_f64);
    let rises = |place: &str| number(forged, place) > number(honest, place);
    let points = || forged["profile"].as_array().unwrap().iter().zip(honest["profile"].as_array().unwrap());
    match field {
        "/epsilon/upper" | "/epsilon" => rises("/epsilon/upper"),
        // Some methods bound by the same ε at any δ.
        "/delta" => rises("/delta") || certifies(forged),
        "/profile/*/delta/upper" => {
            points().all(|(forged, honest)| number(forged, "/delta/upper") >= number(honest, "/delta/upper"))
        }
        "/profile/*/delta/lower" => {
            points().all(|(forged, honest)| number(forged, "/delta/lower") <= number(honest, "/delta/lower"))
        }
        "/schema" => forged["schema"] == "veracity.claim/1" && honest["release"].is_null(),
        "/method/name" | "/adjacency" => certifies(forged),
        field if field.starts_with("/mechanism") => certifies(forged),
        _ => false,
    }
}

/// Whether the method of a claim certifies its ε for its mechanism, asked anew and from outside.
fn certifies(claim: &Value) -> bool {
    let claim: ClaimFile = serde_json::from_value(claim.clone()).unwrap();
    let subject = Subject {
        mechanism: Mechanism::try_from(&claim.mechanism).unwrap(),
        adjacency: claim.adjacency.parse().unwrap(),
        unit: PrivacyUnit::new(&claim.unit).unwrap(),
    };
    let method = Choice::Only(claim.method.name.parse().unwrap());
    let promised = claim.epsilon.upper.unwrap();
    let forward = account(&subject, at(claim.delta), method);
    let backward = account(&subject, Target::Epsilon(Epsilon::new(promised).unwrap()), method);
    let hair = 1.0 + 1e-12;
    forward.is_ok_and(|found| found.epsilon.upper().is_some_and(|upper| upper.0.get() <= promised * hair))
        || backward
            .is_ok_and(|found| found.delta.upper().is_some_and(|upper| upper.0.get() <= claim.delta * hair))
}

/// A forged mechanism is accounted for anew, which for these takes no time.
fn is_quick(field: &str, claim: &Value) -> bool {
    let mechanism = &claim["mechanism"];
    let noisy_parts = mechanism["kind"] == "composed" && !claim["release"].is_null();
    let sampled =
        mechanism["kind"] == "fixed-size-sampled" || mechanism["mechanism"]["kind"] == "poisson-sampled";
    let searched =
        field == "/delta" && (mechanism["kind"] == "discrete-gaussian" || claim["method"]["name"] == "pld");
    !noisy_parts && !sampled && !searched
}

/// Whether a positive number became one of another order of magnitude: to account for such a mechanism takes long.
fn is_far(honest: &Value, forged: &Value) -> bool {
    let ratio = forged.as_f64().unwrap_or(0.0) / honest.as_f64().unwrap_or(1.0);
    ratio > 10.0 || (ratio > 0.0 && ratio < 0.1)
}

/// Seed 7.
#[test]
fn no_forged_field_is_confirmed() {
    let pool = pool();
    let mut verifiers: Vec<Verifier> = pool.iter().map(|_| Verifier::default()).collect();
    let mut fields: BTreeMap<String, Vec<(usize, String)>> = BTreeMap::new();
    for (index, claim) in pool.iter().enumerate() {
        assert!(stands(&verifiers[index].verify(&claim.to_string())), "{claim}");
        let mut found = Vec::new();
        places(claim, "", &mut found);
        for place in found {
            fields.entry(field(&place)).or_default().push((index, place));
        }
    }
    assert!(fields.len() > 60, "{:?}", fields.keys());
    let mut dice = Dice(7);
    for (field, all) in &fields {
        let is_asked_anew = field.starts_with("/mechanism") || field == "/adjacency" || field == "/delta";
        let quick: Vec<_> = all.iter().filter(|(index, _)| is_quick(field, &pool[*index])).cloned().collect();
        let (from, many) = match is_asked_anew && quick.is_empty() {
            // Each takes a while; the same fields of other mechanisms are forged often enough.
            true => (all, 3),
            false if is_asked_anew => (&quick, VARIANTS),
            false => (all, VARIANTS),
        };
        let mut forgeries = 0;
        while forgeries < many {
            let (index, place) = dice.pick(from);
            let mut forged = pool[*index].clone();
            let value = forged.pointer_mut(place).unwrap();
            *value = forge(value, &mut dice, &pool);
            if is_asked_anew && is_far(pool[*index].pointer(place).unwrap(), value) {
                continue;
            }
            let same = |claim: &Value| serde_json::from_value::<ClaimFile>(claim.clone()).ok();
            if same(&forged) == same(&pool[*index]) {
                continue;
            }
            forgeries += 1;
            let outcome = verifiers[*index].verify(&forged.to_string());
            let Ok(confirmation) = &outcome else { continue };
            let harmless = confirmation.stands() && is_harmless(field, &forged, &pool[*index]);
            assert!(
                !confirmation.stands() || harmless,
                "{place}: {} is confirmed of {}",
                forged.pointer(place).unwrap(),
                pool[*index]
            );
        }
    }
}

/// Of every claim: what promises less, or shows less, is confirmed.
#[test]
fn harmless_changes_are_confirmed() {
    for honest in pool() {
        let mut verifier = Verifier::default();
        let mut confirmed = |change: &dyn Fn(&mut Value)| {
            let mut changed = honest.clone();
            change(&mut changed);
            let outcome = verifier.verify(&changed.to_string());
            assert!(stands(&outcome), "{:?} of {changed}", outcome.map(|found| found.failure().cloned()));
        };
        let upper = honest["epsilon"]["upper"].as_f64().unwrap();
        let width = |claim: &mut Value| {
            if let (Some(lower), Some(upper)) =
                (claim["epsilon"]["lower"].as_f64(), claim["epsilon"]["upper"].as_f64())
            {
                claim["method"]["relative_width"] =
                    json!(if upper == 0.0 { 0.0 } else { (upper - lower) / upper });
            }
        };
        for larger in [upper * (1.0 + 1e-9), 2.0 * upper + 1.0] {
            confirmed(&|claim| {
                claim["epsilon"]["upper"] = json!(larger);
                width(claim);
            });
        }
        if honest["epsilon"]["lower"].is_number() {
            confirmed(&|claim| {
                claim["epsilon"]["lower"] = json!(0.0);
                width(claim);
            });
        }
        for point in 0..honest["profile"].as_array().unwrap().len() {
            confirmed(&|claim| {
                let delta = &mut claim["profile"][point]["delta"];
                delta["upper"] = json!(0.5 + 0.5 * delta["upper"].as_f64().unwrap());
                if delta["lower"].is_number() {
                    delta["lower"] = json!(0.0);
                }
            });
        }
        if honest["release"].is_null() {
            confirmed(&|claim| claim["schema"] = json!("veracity.claim/1"));
        }
    }
}

/// Each of these was once confirmed.
#[test]
fn a_claim_below_the_upper_end_is_not_confirmed() {
    let training = |rate: f64, noise: f64, steps: u64, adjacency| {
        let text = format!(
            r#"{{"kind":"dp-sgd","sampling_rate":{rate},"noise_multiplier":{noise},"steps":{steps}}}"#
        );
        subject(&text, adjacency)
    };
    let mut long = {
        let subject = training(1e-4, 0.5, 1_000_000, Adjacency::AddRemove);
        ClaimFile::new(&subject, &account(&subject, at(1e-6), Choice::Best).unwrap()).unwrap()
    };
    let truth = long.epsilon.upper.unwrap();
    assert!((truth - 4.7283).abs() < 1e-4);
    let mut verifier = Verifier::default();
    let mut outcome = |claim: &ClaimFile| verifier.verify(&claim.to_json().unwrap());
    assert!(stands(&outcome(&long)));
    // Between the two ends nothing is certified. A hair below the upper end may be: δ at an ε is a sharper question than ε at a δ.
    let between = 0.5 * (truth + long.epsilon.lower.unwrap());
    for upper in [between, 2.3, 0.0] {
        let mut forged = long.clone();
        forged.epsilon.upper = Some(upper);
        forged.method.relative_width = forged.epsilon.relative_width();
        assert!(!stands(&outcome(&forged)), "{upper}");
    }
    long.epsilon.upper = Some(2.3);
    long.method.name = "pld".into();
    long.profile.clear();
    long.method.relative_width = long.epsilon.relative_width();
    assert!(!stands(&outcome(&long)));
    // At once, whatever the profile says.
    let short = training(6.460968945627646e-08, 0.4161235056235438, 10414, Adjacency::ReplaceOne);
    let other = subject(r#"{"kind":"gaussian","noise_multiplier":3}"#, Adjacency::ReplaceOne);
    let delta = at(6.044630961122897e-06);
    let mut claim = ClaimFile::new(&other, &account(&other, delta, Choice::Best).unwrap()).unwrap();
    claim.mechanism = MechanismSpec::from(&short.mechanism);
    claim.epsilon = veracity::Interval { lower: Some(0.0), upper: Some(0.0), ..claim.epsilon };
    claim.method.relative_width = Some(0.0);
    let found = outcome(&claim).unwrap();
    assert!(found.failure().is_some_and(|check| check.what.starts_with("epsilon at delta")), "{found:?}");
}

/// A confirmation lists its assumptions.
#[test]
fn units_and_declared_parts_are_named_as_assumed() {
    let parts = r#"{"kind":"composed","parts":[{"kind":"gaussian","noise_multiplier":2},{"kind":"pure","epsilon":0.5},
        {"kind":"repeated","times":3,"mechanism":{"kind":"exponential","epsilon":0.25}},{"kind":"zcdp","rho":0.125}]}"#;
    let subject = subject(parts, Adjacency::AddRemove);
    let claim = ClaimFile::new(&subject, &account(&subject, at(1e-6), Choice::Best).unwrap()).unwrap();
    let assumed = veracity::verify(&claim.to_json().unwrap()).unwrap().assumed;
    for expected in
        ["one record per patient", "declared epsilon 0.5", "exponential, range 0.25", "declared rho 0.125"]
    {
        assert!(assumed.iter().any(|line| line.contains(expected)), "{expected}: {assumed:?}");
    }
    assert!(assumed.iter().all(|line| !line.contains("gaussian")), "{assumed:?}");
}

/// A sum, a mean, a count and a median of one column, each released for a claim of its own.
fn every_statistic(adjacency: Adjacency) -> Vec<ClaimFile> {
    let entropy = Entropy::resume(&RootAside::read(&mut &[9; 32][..]).unwrap());
    let mut rng = NoiseStream::new(entropy.stream(Purpose::Noise, Key::default()));
    let bounds = Bounds::new(-20.0, 120.0).unwrap();
    let provenance = provenance("visits.csv").unwrap();
    let statistics = [
        Statistic::Count,
        Statistic::Sum(bounds),
        Statistic::Mean(bounds),
        Statistic::Variance(bounds),
        Statistic::Histogram(Bins::Numeric { bounds, bins: 4 }),
        Statistic::Quantile { bounds, rank: Rank::new(1, 2).unwrap(), steps: 1000, bar: ErrorBar::Charged },
    ];
    let release = |statistic: Statistic| {
        // With little privacy there are many steps in a contribution, with much there is one.
        [0.003, 1.0, 20.0].map(|epsilon| {
            let order = ReleaseRequest {
                question: Question { statistic: statistic.clone(), adjacency },
                column: Some("age".into()),
                unit: None,
                persons: None,
                epsilon: Epsilon::new(epsilon).unwrap(),
                delta: Delta::new(0.0).unwrap(),
                kind: None,
            };
            let column = Column::from(vec![Some(41.5); 9]);
            prepare(&order).unwrap().release(&column, (&provenance, Some("age")), &mut rng).unwrap().claim
        })
    };
    statistics.into_iter().flat_map(release).collect()
}

/// Bounds and sensitivity are in the file, and the grid of the noise follows from them.
#[test]
fn another_grid_is_not_confirmed() {
    for adjacency in Adjacency::ALL {
        for honest in every_statistic(adjacency) {
            let mut verifier = Verifier::default();
            assert!(stands(&verifier.verify(&honest.to_json().unwrap())), "{}", honest.to_json().unwrap());
            let statistic = honest.release.as_ref().unwrap().statistic.clone();
            for call in 0..honest.release.as_ref().unwrap().noise.len() {
                for factor in [0.5, 0.999, 1.001, 2.0, 1e40] {
                    // A quantile is chosen among points that a person would write. How many there are is not in the file,
                    // and what one record moves is a rank, whatever the points are.
                    if statistic == "quantile" && (factor == 0.5 || factor == 2.0) {
                        continue;
                    }
                    let mut forged = honest.clone();
                    forged.release.as_mut().unwrap().noise[call].granularity *= factor;
                    let outcome = verifier.verify(&forged.to_json().unwrap());
                    assert!(!stands(&outcome), "{statistic} {adjacency}, call {call}: {factor}");
                }
            }
        }
    }
}

/// Two units that look the same are one unit to a reader, and no claim may use that.
#[test]
fn units_with_hidden_or_foreign_letters_are_not_confirmed() {
    let honest = written().remove(0);
    for unit in [
        "pat\u{200b}ient", "p\u{430}tient", "patient\u{202e}", "\u{2066}patient", "patient\u{301}",
        "patient ", "p\u{ad}atient",
    ] {
        assert!(PrivacyUnit::new(unit).is_err(), "{unit:?}");
        let forged = honest.to_json().unwrap().replace("patient", unit);
        assert!(!stands(&Verifier::default().verify(&forged)), "{unit:?}");
    }
    for unit in ["ménage", "user-id", "household 2"] {
        assert!(PrivacyUnit::new(unit).is_ok(), "{unit}");
    }
}

/// The two orders of two datasets have one loss distribution, read forwards and backwards.
#[test]
fn losses_of_two_orders_that_contradict_each_other_are_refused() {
    let parsed = |second: &str| {
        let losses = r#"{"losses":[-1.0986122886681098,1.0986122886681098],"probabilities":[0.25,0.75]}"#;
        let text = format!(r#"{{"kind":"losses","first":{losses},"second":{second}}}"#);
        Mechanism::try_from(&serde_json::from_str::<MechanismSpec>(&text).unwrap())
    };
    // The reverse, exactly and rounded up to a grid.
    parsed(r#"{"losses":[-1.0986122886681098,1.0986122886681098],"probabilities":[0.25,0.75]}"#).unwrap();
    parsed(r#"{"losses":[-1.0986,-1.0985,1.0987,1.0988],"probabilities":[0.125,0.125,0.5,0.25]}"#).unwrap();
    for second in [
        // Nothing is lost, though the first order has losses.
        r#"{"losses":[0],"probabilities":[1]}"#,
        r#"{"losses":[-0.1,0.1],"probabilities":[0.475,0.525]}"#,
        // The datasets never look alike, though every outcome of the first has a finite loss.
        r#"{"losses":[],"probabilities":[],"infinite":1}"#,
        r#"{"losses":[-3,3],"probabilities":[0.047425873177566774,0.9525741268224332]}"#,
    ] {
        assert!(parsed(second).is_err(), "{second}");
    }
}
