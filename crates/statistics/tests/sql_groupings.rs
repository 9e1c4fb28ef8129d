//! `ROLLUP`, `CUBE` and `GROUPING SETS`: answers by hand, what each grouping costs, claims that are checked, thresholds of each grouping.

use crate::common::{Cell as Value, Data, ask, secret, worlds::text};
use std::path::Path;
use veracity_account::claims::{ClaimFile, verify};
use veracity_core::{Delta, Epsilon};
use veracity_mechanisms::{NoiseKind, chance_below};
use veracity_noise::{Entropy, Key, NoiseStream, Purpose};
use veracity_statistics::{
    ReleaseSettings,
    sql::{CallNoise, Catalog, Cell, OpenQuery, PreparedQuery, QueryRequest},
};

fn catalog(groups: u64) -> Catalog {
    let text = format!(
        "[tables.t]\npath = \"t.csv\"\nperson = \"id\"\nrows_per_group = 1\ngroups_per_person = {groups}\n[tables.t.columns]\nx = \
         {{ lower = 0, upper = 10 }}\nsex = {{ keys = [\"f\", \"m\"] }}\nage = {{ keys = [\"old\", \"young\"] }}\ntown = {{ type = \
         \"text\" }}\n"
    );
    Catalog::read(&text, Path::new("")).unwrap()
}

fn prepared(query: &str, groups: u64, epsilon: f64, delta: f64) -> PreparedQuery {
    let request = QueryRequest {
        delta: Delta::new(delta).unwrap(),
        kind: Some(NoiseKind::Laplace),
        ..QueryRequest::new(query, Epsilon::new(epsilon).unwrap())
    };
    request.prepare(&catalog(groups)).unwrap()
}

/// Eleven persons: f and old 5, f and young 3, m and young 2, and one of neither sex, who is young.
fn people() -> Vec<Data> {
    let columns = [("id", false), ("x", true), ("sex", false), ("age", false), ("town", false)];
    let of = |sex: &str, age: &str, number: u32| vec![(sex.to_owned(), age.to_owned()); number as usize];
    let all = [of("f", "old", 5), of("f", "young", 3), of("m", "young", 2), of("", "young", 1)].concat();
    let rows = all.into_iter().enumerate().map(|(at, (sex, age))| {
        let sex = if sex.is_empty() { Value::Null } else { text(&sex) };
        vec![text(&format!("p{at}")), Value::Number(at as f64), sex, text(&age), text("Ulm")]
    });
    vec![Data::new("t", &columns, rows.collect())]
}

/// The rows of an answer at so large an ε that no noise is left, as words.
fn shown(query: &str) -> Vec<String> {
    let prepared = prepared(query, 1, 1000.0, 0.0);
    let totals = ask(&people(), &prepared.plan, &secret(1)).unwrap();
    let mut rng = NoiseStream::new(Entropy::seeded(7).stream(Purpose::Noise, Key::default()));
    let rows = prepared.answer(prepared.threshold, &totals, &mut rng).unwrap();
    let word = |cell: &Cell| match cell {
        Cell::Key(key) => key.clone(),
        Cell::Absent => "NULL".to_owned(),
        Cell::Number(noisy) => format!("{:.0}", noisy.answer),
    };
    rows.iter().map(|row| row.iter().map(word).collect::<Vec<_>>().join(" ")).collect()
}

#[test]
fn groupings_are_what_they_are_by_hand() {
    assert_eq!(
        shown("SELECT sex, age, COUNT(*) FROM t GROUP BY ROLLUP (sex, age)"),
        ["f old 5", "f young 3", "m old 0", "m young 2", "f NULL 8", "m NULL 2", "NULL NULL 11"]
    );
    assert_eq!(
        shown(
            "SELECT sex, age, GROUPING(sex, age), COUNT(*) AS n FROM t GROUP BY CUBE (sex, age) ORDER BY n DESC, 3, sex LIMIT 4"
        ),
        ["NULL NULL 3 11", "f NULL 1 8", "NULL young 2 6", "f old 0 5"]
    );
    // A key that a grouping has not is unknown: no comparison holds of it.
    assert_eq!(
        shown(
            "SELECT sex, age, COUNT(*) AS n FROM t GROUP BY GROUPING SETS ((sex), (age)) HAVING sex <> 'f' OR age = 'old'"
        ),
        ["m NULL 2", "NULL old 5"]
    );
    assert_eq!(
        shown(
            "SELECT age, GROUPING(sex) AS g, COUNT(*) FROM t GROUP BY age, ROLLUP (sex) HAVING GROUPING(sex) = 1"
        ),
        ["old 1 5", "young 1 6"]
    );
    assert_eq!(shown("SELECT sex, COUNT(*) FROM t GROUP BY sex WITH ROLLUP"), ["f 8", "m 2", "NULL 11"]);
}

/// The error bar of the first noise call of each grouping.
fn bars(prepared: &PreparedQuery) -> Vec<f64> {
    let bar = |drawn: &CallNoise| match drawn {
        CallNoise::Sums(sums) => sums.half_width(0.05),
        _ => f64::NAN,
    };
    prepared.design.groupings().map(|design| bar(&design.drawn[0])).collect()
}

/// Two groupings cost what two queries with half of ε each do; one with fewer groups has less noise.
#[test]
fn each_grouping_has_the_noise_of_its_part_of_epsilon() {
    let query = "SELECT sex, COUNT(*) FROM t GROUP BY ROLLUP (sex)";
    let both = prepared(query, 2, 1.0, 0.0);
    let by_sex = prepared("SELECT sex, COUNT(*) FROM t GROUP BY sex", 2, 0.5, 0.0);
    let total = prepared("SELECT COUNT(*) FROM t", 2, 0.5, 0.0);
    // One unit is in two groups of one grouping and in one of the other: half of ε would be 1/4 for each group and 1/2 for the total.
    // All three have the same noise here, a third of ε each.
    let found = bars(&both);
    let third = bars(&prepared("SELECT COUNT(*) FROM t", 1, 1.0 / 3.0, 0.0))[0];
    assert!(found.iter().all(|bar| (bar - third).abs() <= 1.0), "{found:?} {third}");
    assert!(found[0] <= bars(&by_sex)[0] && found[1] >= bars(&total)[0], "{found:?}");
    let spent = both.answer.epsilon.upper().unwrap().0.get();
    assert!(spent <= 1.0 && spent > 0.999, "{spent}");
}

/// The claim of an answer, and its text.
fn claimed(name: &str, prepared: PreparedQuery) -> (ClaimFile, String) {
    let folder = std::env::temp_dir().join(format!("veracity-groupings-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let settings = ReleaseSettings {
        claim: Some(folder.join("claim.json")),
        seed: Some(1),
        ..ReleaseSettings::default()
    };
    let totals = ask(&people(), &prepared.plan, &secret(1)).unwrap();
    let done = OpenQuery::begin(prepared, &settings).unwrap().finish(&totals).unwrap();
    let text = std::fs::read_to_string(&done.path).unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    (done.claim, text)
}

/// Whether a claim is right, except that its noise can be drawn again.
fn is_right(text: &str) -> bool {
    let found = verify(text).unwrap();
    found.failure().is_none() && found.broken().is_none()
}

#[test]
fn a_claim_says_the_groups_of_each_call_and_no_fewer() {
    let query = "SELECT town, sex, COUNT(*), AVG(x) FROM t GROUP BY GROUPING SETS ((sex), (town), ())";
    let (claim, text) = claimed("groups", prepared(query, 3, 1.0, 1e-6));
    assert!(is_right(&text), "{text}");
    let persons = claim.persons.clone().unwrap();
    let groups: Vec<f64> = persons.groups_per_call.iter().map(|groups| groups.0).collect();
    // By sex at most the two groups that there are.
    assert_eq!(groups, [2.0, 3.0, 3.0, 1.0], "{text}");
    assert_eq!(persons.groups_per_person.unwrap().0, 3.0);
    assert!(claim.definition.contains("at most 2, 3, 3, 1 of these groups"), "{}", claim.definition);
    for (from, to) in
        [("2,3,3,1", "2,3,2,1"), ("2,3,3,1", "3,3,3,1"), ("2,3,3,1", "2,3,3"), ("2,3,3,1", "2,3,3,1,1")]
    {
        let list = |numbers: &str| format!("\"groups_per_call\":[{numbers}]");
        let compact =
            serde_json::to_string(&serde_json::from_str::<serde_json::Value>(&text).unwrap()).unwrap();
        // A forger changes the numbers and the sentence.
        let said = |numbers: &str| format!("at most {} of these groups", numbers.replace(',', ", "));
        let forged = compact.replace(&list(from), &list(to)).replace(&said(from), &said(to));
        assert_ne!(forged, compact);
        let found = verify(&forged).map(|found| found.failure().is_none());
        assert!(found.as_ref().is_err_and(|why| why.to_string().contains("groups")), "{to}: {found:?}");
    }
}

/// A group of one unit is shown with probability at most δ/2, over all groups of all groupings.
#[test]
fn thresholds_hold_over_all_groupings_together() {
    let delta = 1e-4;
    let query =
        "SELECT town, sex, COUNT(DISTINCT id) FROM t GROUP BY GROUPING SETS ((town), (town, sex), ())";
    let both = prepared(query, 3, 1.0, delta);
    let threshold = both.threshold.unwrap();
    let mut chance = 0.0;
    for (plan, design) in both.plan.groupings().zip(both.design.groupings()) {
        if plan.keys.is_empty() {
            continue;
        }
        let CallNoise::Sums(units) = &design.drawn[0] else { panic!("units are not counted") };
        let (lower, _) = chance_below(units.noise(), threshold.ceil() as i64 - 1);
        chance += (1.0 - lower) * plan.caps.groups.as_f64();
    }
    assert!(chance <= delta / 2.0 && chance > delta / 20.0, "{chance}");
    // One of the groupings alone has a lower threshold: the test above is not met by any number.
    assert!(
        prepared("SELECT town, COUNT(DISTINCT id) FROM t GROUP BY town", 3, 1.0, delta).threshold.unwrap()
            < threshold
    );
    // The total is shown, however few there are.
    let totals = ask(&people()[..1], &both.plan, &secret(1)).unwrap();
    let mut rng = NoiseStream::new(Entropy::seeded(7).stream(Purpose::Noise, Key::default()));
    let rows = both.answer(both.threshold, &totals, &mut rng).unwrap();
    assert!(rows.iter().any(|row| row[..2] == [Cell::Absent, Cell::Absent]), "{rows:?}");
}

/// A subquery reads more rows of a person than one, and the claim says how many.
#[test]
fn a_claim_says_how_many_rows_a_subquery_reads() {
    let text = "[tables.t]\npath = \"t.csv\"\nperson = \"id\"\nrows_per_group = 7\ngroups_per_person = 1\n[tables.t.columns]\nx = { \
                lower = 0, upper = 10 }\n";
    let catalog = Catalog::read(text, Path::new("")).unwrap();
    let claim = |query: &str| {
        let request = QueryRequest::new(query, Epsilon::new(1.0).unwrap());
        let (claim, text) = claimed("inner", request.prepare(&catalog).unwrap());
        assert!(is_right(&text), "{text}");
        claim.definition
    };
    let plain = claim("SELECT SUM(x) FROM t");
    assert!(plain.contains("At most 7 of these rows are used") && !plain.contains("subquery"), "{plain}");
    let inner = claim("SELECT AVG(s) FROM (SELECT id, SUM(x) AS s FROM t GROUP BY id) p");
    assert!(
        inner.contains("A subquery reads at most 7 of these rows, chosen at random. At most 1 of the rows"),
        "{inner}"
    );
    let among = claim("SELECT COUNT(*) FROM t WHERE id IN (SELECT id FROM t WHERE x > 3)");
    assert!(among.contains("reads at most 1000000 of these rows") && among.contains("At most 7"), "{among}");
}
