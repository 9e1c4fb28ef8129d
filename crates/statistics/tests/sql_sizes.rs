//! How large units are and how many rows the caps leave out, against a reference; caps that are chosen from the data, and what that costs.

use crate::common::{
    Cell, Data, Dice, World, ask, ask_changed, cases, digits, engine,
    neighbours::{Change, compare, design},
    query, secret,
    twin::{places, twin},
    worlds::text,
};
use std::path::Path;
use veracity_account::claims::verify;
use veracity_core::{Count, Delta, Epsilon};
use veracity_statistics::{
    ReleaseSettings,
    sql::{CapOverrides, Catalog, Engine, OpenQuery, Plan, PreparedQuery, QueryDone, QueryRequest, check},
};

/// A plan of one grouping without inner caps, that counts what the caps leave out.
fn plan_with_cut(world: &World, dice: &mut Dice) -> Option<Plan> {
    let mut plan = check(&query(world, dice), &world.catalog(), CapOverrides::default()).ok()?;
    let is_inner = plan.sources.iter().any(|source| source.per_unit.is_some() || source.most.is_some());
    plan.cut = Some(Count::new(1 + dice.below(6) as u64).unwrap());
    (plan.others.is_empty() && !is_inner).then_some(plan)
}

/// The embedded engine in one pass, its statements, and a reference by nested loops give the same; and one unit more is one more in each
/// list, in one place.
#[test]
fn sizes_and_rows_that_are_left_out_are_those_of_a_reference() {
    let (mut checked, mut cut) = (0, 0);
    for seed in 0.. {
        if checked >= cases(150) {
            break;
        }
        let mut dice = Dice::new(0x7369_7a65 + seed);
        let world = World::random(&mut dice);
        let Some(plan) = plan_with_cut(&world, &mut dice) else { continue };
        let tables = world.tables();
        let expected = twin(&plan, &tables, &digits(seed));
        assert_eq!(ask(&tables, &plan, &secret(seed)).unwrap(), expected, "{seed} {}", plan.query);
        let stated = ask_changed(&tables, &plan, &secret(seed), &|sql| sql).unwrap();
        assert_eq!(stated.cut, expected.cut, "{seed} {}", plan.query);
        cut += u64::from(expected.cut.unwrap() > 0);
        let found = |world: &World| {
            let of = places(&plan, &world.tables(), &digits(seed));
            let by_statement = engine(&world.tables(), Some(&plan)).sizes(&plan).unwrap();
            assert_eq!(by_statement, of, "{seed} {}", plan.query);
            of
        };
        let one = found(&world);
        if let (None, Some(other)) = (world.period, Change::Added.of(&world, &mut dice)) {
            let two = found(&other);
            for (a, b) in [(&one.rows, &two.rows), (&one.groups, &two.groups)] {
                assert!(a.iter().zip(b).map(|(a, b)| (a - b).abs()).sum::<i64>() <= 1, "{a:?} {b:?}");
            }
        }
        checked += 1;
    }
    assert!(cut > checked / 4, "{cut} of {checked}");
}

/// Without its clamp, the number of rows that are left out moves further than declared.
#[test]
fn rows_that_are_left_out_without_a_clamp_are_found_out() {
    let mut world = World::plain(&mut Dice::new(5));
    world.caps = (1, 1);
    world.persons.clear();
    let mut dice = Dice::new(6);
    let mut other = world.clone();
    other.persons.push(world.adversary(0, &mut dice));
    let mut plan = check("SELECT COUNT(*) FROM people", &world.catalog(), CapOverrides::default()).unwrap();
    plan.cut = Some(Count::new(10).unwrap());
    let design = design(&plan, &mut dice);
    let asked = |world: &World, change: &dyn Fn(String) -> String| {
        ask_changed(&world.tables(), &plan, &secret(1), change).unwrap()
    };
    let sound: &dyn Fn(String) -> String = &|sql| sql;
    let mutant: &dyn Fn(String) -> String = &|sql| sql.replace("CASE WHEN d < 10 THEN d ELSE 10 END", "d");
    assert_eq!(compare(&plan, &design, (&asked(&world, sound), &asked(&other, sound)), (1, true)), Ok(()));
    let found = compare(&plan, &design, (&asked(&world, mutant), &asked(&other, mutant)), (1, true));
    assert!(found.as_ref().is_err_and(|why| why.contains("rows cut")), "{found:?}");
}

fn catalog(more: &str) -> Catalog {
    let text = format!(
        "[tables.t]\npath = \"t.csv\"\nperson = \"id\"\n{more}[tables.t.columns]\nx = {{ lower = 0, upper = 10 }}\nsex = {{ keys = \
         [\"f\", \"m\"] }}\ntown = {{ type = \"text\" }}\n"
    );
    Catalog::read(&text, Path::new("")).unwrap()
}

fn request(query: &str, part: Option<f64>) -> QueryRequest {
    QueryRequest {
        delta: Delta::new(1e-6).unwrap(),
        suggest_caps: part,
        ..QueryRequest::new(query, Epsilon::new(2.0).unwrap())
    }
}

/// Persons with so many rows each, half of them of each sex, in the first of so many towns.
fn crowd(persons: usize, rows: usize, towns: usize) -> Vec<Data> {
    let columns = [("id", false), ("x", true), ("sex", false), ("town", false)];
    let row = |person: usize, row: usize| {
        let sex = text(if person.is_multiple_of(2) { "f" } else { "m" });
        vec![text(&format!("p{person}")), Cell::Number(1.0), sex, text(&format!("town {}", row % towns))]
    };
    let all = (0..persons).flat_map(|person| (0..rows).map(move |at| row(person, at)));
    vec![Data::new("t", &columns, all.collect())]
}

/// Answers with a seed; the claim is read and removed.
fn answered(name: &str, prepared: &PreparedQuery, tables: &[Data], seed: u64) -> (QueryDone, String) {
    let folder = std::env::temp_dir().join(format!("veracity-sizes-{name}-{seed}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let claim = Some(folder.join("claim.json"));
    let settings = ReleaseSettings { claim, seed: Some(seed), ..ReleaseSettings::default() };
    let mut held = Held(tables);
    let done = OpenQuery::begin(prepared.clone(), &settings).unwrap().ask(&mut held).unwrap();
    let text = std::fs::read_to_string(&done.path).unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    (done, text)
}

/// SQLite with these tables, whatever plan is asked.
struct Held<'a>(&'a [Data]);

impl Engine for Held<'_> {
    fn dialect(&self) -> veracity_statistics::sql::Dialect {
        veracity_statistics::sql::Dialect::Sqlite
    }

    fn check(&mut self, _: &Plan) -> Result<(), veracity_core::Error> {
        Ok(())
    }

    fn run(
        &mut self,
        statement: &veracity_statistics::sql::Statement,
    ) -> Result<Vec<veracity_statistics::sql::Row>, veracity_core::Error> {
        engine(self.0, None).run(statement)
    }
}

/// Caps fit the persons that there are, and the claim is the same whichever caps were drawn.
#[test]
fn caps_are_those_of_most_persons_and_cost_the_same_whatever_they_are() {
    let catalog = catalog("");
    let prepared =
        request("SELECT town, COUNT(*), SUM(x) FROM t GROUP BY town", Some(0.2)).prepare(&catalog).unwrap();
    assert!(prepared.answer.epsilon.upper().unwrap().0.get() <= 2.0);
    let mut subjects = Vec::new();
    for (rows, towns, expected) in [(1, 1, (1, 1)), (6, 2, (3, 2)), (40, 4, (10, 5)), (9, 1, (10, 1))] {
        let (done, claim) = answered("caps", &prepared, &crowd(2000, rows, towns), rows as u64);
        let caps = done.prepared.plan.caps;
        assert_eq!((caps.rows.get(), caps.groups.get()), expected, "{rows} rows in {towns} towns");
        let found = verify(&claim).unwrap();
        assert!(found.failure().is_none() && found.broken().is_none(), "{claim}");
        assert!(done.claim.epsilon.upper.unwrap() <= 2.0, "{claim}");
        let persons = done.claim.persons.clone().unwrap();
        assert_eq!(persons.rows_per_group.unwrap().0, expected.0 as f64);
        subjects.push((
            done.prepared.subject.clone(),
            done.claim.mechanism.clone(),
            done.claim.profile.clone(),
        ));
    }
    assert!(subjects.iter().all(|subject| *subject == subjects[0]));
    assert_eq!(prepared.subject, subjects[0].0);
    // The rest of the query is certified within what is left, at each of the caps.
    let left = prepared.suggestion.as_ref().unwrap().left.get();
    assert!((left - 1.6).abs() < 1e-6, "{left}");
}

#[test]
fn rows_that_are_left_out_are_counted_with_their_error_bar() {
    let more = "rows_per_group = 1\ngroups_per_person = 1\n";
    let request =
        QueryRequest { count_cut: true, ..request("SELECT sex, COUNT(*) FROM t GROUP BY sex", None) };
    let prepared = request.prepare(&catalog(more)).unwrap();
    let (done, claim) = answered("cut", &prepared, &crowd(500, 4, 1), 3);
    let cut = done.cut.unwrap();
    assert_eq!(cut.most, 3);
    assert!((cut.number.answer - 1500.0).abs() <= 2.0 * cut.number.error_bar, "{cut:?}");
    assert!(cut.number.error_bar > 2.0 && cut.number.error_bar < 200.0, "{cut:?}");
    let found = verify(&claim).unwrap();
    assert!(found.failure().is_none(), "{claim}");
    assert!(done.claim.release.unwrap().noise.iter().any(|note| note.place == "rows cut"));
    // One person adds three rows at most, here of eleven.
    let (done, _) = answered("cut-of-many", &prepared, &crowd(500, 12, 1), 4);
    assert!((done.cut.unwrap().number.answer - 1500.0).abs() <= 2.0 * cut.number.error_bar);
}

#[test]
fn caps_that_cannot_be_chosen_are_refused_with_what_to_do() {
    let refusal = |query: &str, part: f64, more: &str| {
        request(query, Some(part)).prepare(&catalog(more)).unwrap_err().to_string()
    };
    let count = "SELECT sex, COUNT(*) FROM t GROUP BY sex";
    let both = "rows_per_group = 1\ngroups_per_person = 1\n";
    assert!(refusal(count, 0.1, both).contains("nothing to choose"));
    assert!(refusal("SELECT COUNT(DISTINCT id) FROM t", 0.1, "").contains("nothing to choose"));
    for part in [0.0, 0.9, f64::NAN, -1.0] {
        assert!(refusal(count, part, "").contains("0.01 ≤ suggest_caps ≤ 0.5"), "{part}");
    }
    let rollup = "SELECT sex, COUNT(*) FROM t GROUP BY ROLLUP (sex)";
    assert!(refusal(rollup, 0.1, "").contains("one grouping"));
    let inner = "SELECT AVG(s) FROM (SELECT id, SUM(x) AS s FROM t GROUP BY id) p";
    assert!(refusal(inner, 0.1, "").contains("subqueries"));
    // The catalog may ask for it, and then only what is missing is chosen.
    let asks = catalog("suggest_caps = 0.25\nrows_per_group = 7\n");
    let prepared = request(count, None).prepare(&asks).unwrap();
    let (done, _) = answered("catalog", &prepared, &crowd(2000, 3, 1), 1);
    let caps = done.prepared.plan.caps;
    assert_eq!((caps.rows.get(), caps.groups.get()), (7, 1));
    assert!((prepared.suggestion.unwrap().left.get() - 1.5).abs() < 1e-6);
    // With both caps, it is not used.
    let given = CapOverrides { groups: Some(Count::ONE), rows: None };
    assert!(
        QueryRequest { caps: given, ..request(count, None) }.prepare(&asks).unwrap().suggestion.is_none()
    );
}
