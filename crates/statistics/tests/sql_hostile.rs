//! Hostile SQL: no panic, one line for an answer, and no way from a raw row to an output.

use crate::common;
use crate::common::{Dice, World, ask, cases, query, secret, twin};
use std::{collections::BTreeMap, path::Path};
use veracity_statistics::sql::{CapOverrides, Catalog, Dialect, check, compile};

fn plain() -> World {
    let mut world = World::plain(&mut Dice::new(3));
    world.keys.insert("sex", vec!["Male".to_owned(), "Female".to_owned()]);
    world.bounds = BTreeMap::from([
        ("hours", (0.0, 99.0)),
        ("score", (0.0, 10.0)),
        ("cost", (0.0, 5.0)),
        ("size", (0.0, 1.0)),
    ]);
    world
}

/// The refusal of a query, in one line; nothing where it is allowed.
fn refusal(text: &str, catalog: &Catalog) -> Option<String> {
    let refusal = check(text, catalog, CapOverrides::default()).err()?.to_string();
    let shown: String = text.chars().take(200).collect();
    assert!(!refusal.contains(char::is_control), "{shown}: {refusal:?}");
    assert!(!refusal.is_empty() && refusal.len() < 1000, "{shown}: {refusal}");
    Some(refusal)
}

const WORDS: [&str; 96] = [
    "select", "from", "where", "group", "by", "having", "order", "limit", "join", "inner", "left", "outer",
    "right", "full", "cross", "on", "and", "or", "not", "as", "union", "all", "intersect", "except", "with",
    "case", "when", "then", "else", "end", "natural", "using", "offset", "over", "partition", "like",
    "ilike", "similar", "exists", "any", "cast", "distinct", "filter", "insert", "into", "update", "delete",
    "drop", "create", "table", "null", "is", "in", "between", "true", "false", "count", "sum", "avg",
    "variance", "stddev", "quantile", "median", "abs", "coalesce", "asc", "desc", "people", "visits",
    "places", "id", "hours", "score", "sex", "edu", "town", "cost", "ward", "code", "size", "kind", "p",
    "within", "window", "rows", "values", "set", "pragma", "attach", "vacuum", "explain", "recursive",
    "lateral", "tablesample", "collate", "escape",
];

const ODD: [&str; 40] = [
    ",", ".", "(", ")", "+", "-", "*", "/", "=", "<>", "!=", "<", "<=", ">", ">=", "%", ";", "'", "\"", "`",
    "--", "/*", "*/", "#", "?", "@", ":", "$1", "\0", "\n", "\u{1b}[31m", "\u{202e}", "é", "日本", "'a\nb'",
    "\"a\nb\"", "1e999", "0x10", "1.5e3", "''''",
];

#[test]
fn token_soup_is_refused_in_one_line() {
    let catalog = plain().catalog();
    for seed in 0..cases(4000) {
        let mut dice = Dice::new(0x736f_7570 + seed);
        let mut text = if dice.once_in(2) { "select ".to_owned() } else { String::new() };
        for _ in 0..dice.below(60) {
            match dice.below(8) {
                0..=3 => text += dice.pick::<&str>(&WORDS),
                4..=5 => text += dice.pick::<&str>(&ODD),
                6 => text += &dice.below(100).to_string(),
                _ => text.push(char::from_u32(dice.below(0x3000) as u32).unwrap_or('x')),
            }
            if !dice.once_in(4) {
                text.push(' ');
            }
        }
        let _ = refusal(&text, &catalog);
    }
}

#[test]
fn mutated_queries_are_answered_like_the_twin_or_refused_in_one_line() {
    let (mut allowed, mut refused) = (0u64, 0u64);
    for seed in 0..cases(1500) {
        let mut dice = Dice::new(0x6d75_7465 + seed);
        let world = World::random(&mut dice);
        let mut text: Vec<char> = query(&world, &mut dice).chars().collect();
        for _ in 0..1 + dice.below(2) {
            let a = dice.below(text.len());
            let b = (a + dice.below(4)).min(text.len() - 1);
            match dice.below(5) {
                0 => drop(text.remove(a)),
                1 => text.swap(a, b),
                2 => {
                    let odd: Vec<char> = dice.pick::<&str>(&ODD).chars().collect();
                    text.splice(a..a, odd);
                }
                3 => {
                    let word: Vec<char> = format!(" {} ", dice.pick::<&str>(&WORDS)).chars().collect();
                    text.splice(a..a, word);
                }
                _ => drop(text.drain(a.min(b)..a.max(b))),
            }
            if text.is_empty() {
                break;
            }
        }
        let text: String = text.into_iter().collect();
        let catalog = world.catalog();
        if refusal(&text, &catalog).is_some() {
            refused += 1;
            continue;
        }
        // What still is a query is answered, and rightly.
        let plan = check(&text, &catalog, CapOverrides::default()).unwrap();
        let tables = world.tables();
        let found = ask(&tables, &plan, &secret(seed)).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(found, twin(&plan, &tables, &common::digits(seed)), "{text}");
        allowed += 1;
    }
    println!("{allowed} allowed, {refused} refused");
    assert!(allowed > 50 && refused > allowed);
}

/// Queries that are long, deep, or grow when they are read.
#[test]
fn long_and_deep_queries_end_soon_and_in_one_line() {
    let catalog = plain().catalog();
    let select = |of: &str| format!("SELECT SUM({of}) AS s FROM people");
    let filter = |of: &str| format!("SELECT COUNT(*) FROM people WHERE {of}");
    let nested = |n: usize, before: &str, inner: &str, after: &str| {
        format!("{}{inner}{}", before.repeat(n), after.repeat(n))
    };
    // A sum of 64 terms, in brackets, again and again: as deep as the number of its signs.
    let chained = (0..60).fold("hours".to_owned(), |inner, _| format!("({inner}{})", " + 1".repeat(60)));
    // Each level is written twice, or a hundred times.
    let doubled =
        (0..55).fold("hours".to_owned(), |inner, _| format!("CASE WHEN {inner} BETWEEN 1 AND 2 THEN 1 END"));
    let hundred = vec!["1"; 100].join(", ");
    let listed =
        (0..30).fold("hours".to_owned(), |inner, _| format!("CASE WHEN {inner} IN ({hundred}) THEN 1 END"));
    let refused = [
        select(&nested(10_000, "(", "hours", ")")),
        select(&nested(300, "ABS(", "hours", ")")),
        select(&nested(300, "CASE WHEN hours > 1 THEN ", "hours", " END")),
        select(&nested(300, "COALESCE(", "hours", ")")),
        select(&chained),
        select(&doubled),
        select(&listed),
        filter(&nested(5000, "NOT (", "hours > 1", ")")),
        filter(&format!("hours IN ({})", vec!["1"; 1001].join(", "))),
        filter(&vec!["hours > 1"; 300].join(" OR ")),
        "x".repeat(1 << 20),
        "SELECT ".repeat(100_000),
        "(".repeat(1 << 20),
        format!("SELECT COUNT(*) FROM people WHERE sex = '{}'", "x".repeat(1 << 20)),
        format!("SELECT COUNT(*) FROM people AS \"{}\" WHERE zz.hours = 1", "a\nb".repeat(2000)),
        format!("SELECT {} FROM people", vec!["COUNT(*)"; 70].join(", ")),
    ];
    for text in refused {
        assert!(refusal(&text, &catalog).is_some(), "{}", &text[..100]);
    }
    let world = plain();
    let allowed = [
        select(&nested(60, "(", "hours", ")")),
        select(&nested(60, "ABS(", "hours", ")")),
        select(&nested(60, "CASE WHEN hours > 1 THEN ", "hours", " END")),
        select(&format!("hours{}", " + 1".repeat(60))),
        select(&format!("{}{}hours", "- ".repeat(4000), "+".repeat(4000))),
        filter(&format!("{} hours > 1", "NOT ".repeat(5000))),
        filter(&format!("hours IN ({})", vec!["1"; 1000].join(", "))),
        filter(&format!("hours NOT IN ({})", vec!["1.5"; 1000].join(", "))),
        filter(&format!("town NOT IN ({})", vec!["'x'"; 1000].join(", "))),
        filter(&vec!["hours > 1"; 200].join(" OR ")),
        filter(&vec!["(hours > 1 OR score < 2)"; 200].join(" AND ")),
    ];
    for (at, text) in allowed.iter().enumerate() {
        let plan = check(text, &catalog, CapOverrides::default()).unwrap_or_else(|why| panic!("{at}: {why}"));
        let tables = world.tables();
        let found = ask(&tables, &plan, &secret(1)).unwrap_or_else(|why| panic!("{at}: {why}"));
        assert_eq!(found, twin(&plan, &tables, &common::digits(1)), "{at}");
    }
}

/// All keys of four columns together are more than 64 bits count, and no list of them is ever made.
#[test]
fn many_public_keys_beside_an_unknown_one_are_never_multiplied_out() {
    let keys: Vec<String> = (0..100_000).map(|key| format!("\"k{key}\"")).collect();
    let keys = keys.join(", ");
    let columns: String = (0..5).map(|at| format!("c{at} = {{ keys = [{keys}] }}\n")).collect();
    let text = format!(
        "[tables.t]\npath = \"t.csv\"\nperson = \"id\"\n[tables.t.columns]\ntown = {{ type = \"text\" }}\n{columns}"
    );
    let catalog = Catalog::read(&text, Path::new("")).unwrap();
    let query = "SELECT COUNT(*) FROM t GROUP BY c0, c1, c2, c3, c4, town";
    let plan = check(query, &catalog, CapOverrides::default()).unwrap();
    assert_eq!(plan.public_groups(), None);
    assert!(compile(&plan, Dialect::Sqlite, &secret(1), &[]).is_ok());
    let public = "SELECT COUNT(*) FROM t GROUP BY c0, c1, c2, c3, c4";
    assert!(refusal(public, &catalog).unwrap().contains("groups"));
}

/// Every way from a raw row to an output that somebody thought of.
#[test]
fn outputs_never_depend_on_raw_rows_or_on_whose_they_are() {
    let catalog = plain().catalog();
    for (text, expected) in [
        // Whose a row is.
        ("SELECT id, COUNT(*) FROM people GROUP BY id", "is the privacy ID"),
        ("SELECT COUNT(*) FROM people GROUP BY id", "is the privacy ID"),
        ("SELECT COUNT(*) FROM people WHERE id = 'p0'", "is the privacy ID"),
        ("SELECT COUNT(*) FROM people WHERE id <> 'p0'", "is the privacy ID"),
        ("SELECT COUNT(*) FROM people WHERE id IN ('p0')", "is the privacy ID"),
        ("SELECT COUNT(*) FROM people WHERE id IS NULL", "is the privacy ID"),
        ("SELECT COUNT(*) FROM people WHERE id = id", "compares privacy IDs"),
        ("SELECT COUNT(*) FROM people WHERE id = town", "is the privacy ID"),
        ("SELECT COUNT(id) FROM people", "is the privacy ID"),
        ("SELECT SUM(id) FROM people", "is the privacy ID"),
        ("SELECT SUM(CASE WHEN id = 'p0' THEN 1 ELSE 0 END) FROM people", "is the privacy ID"),
        ("SELECT COUNT(*) n FROM people ORDER BY id", "is the privacy ID"),
        ("SELECT COUNT(*) n FROM people HAVING id = 'p0'", "is the privacy ID"),
        ("SELECT COUNT(*) FROM people p JOIN places s ON p.id = s.code", "is the privacy ID"),
        ("SELECT COUNT(*) FROM people p JOIN visits v ON p.id <> v.id", "is the privacy ID"),
        ("SELECT COUNT(*) FROM people p JOIN visits v ON p.id = v.id OR TRUE", "compares privacy IDs"),
        ("SELECT COUNT(*) FROM people p JOIN visits v ON NOT p.id = v.id", "compares privacy IDs"),
        ("SELECT COUNT(*) FROM people p JOIN visits v ON p.town = v.doctor", "not joined on the privacy ID"),
        ("SELECT COUNT(*) FROM people p JOIN visits v ON TRUE", "not joined on the privacy ID"),
        ("SELECT COUNT(*) FROM people p JOIN visits v ON p.id = p.id", "compares privacy IDs"),
        ("SELECT COUNT(*) FROM people p JOIN visits v ON v.id = v.id", "compares privacy IDs"),
        (
            "SELECT COUNT(*) FROM people p JOIN visits v ON p.id = v.id JOIN visits w ON v.id = w.id",
            "compares privacy IDs",
        ),
        (
            "SELECT COUNT(*) FROM people p JOIN visits v ON p.id = v.id WHERE p.id = v.id",
            "compares privacy IDs",
        ),
        (
            "SELECT COUNT(*) FROM people p JOIN visits v ON CASE WHEN p.id = v.id THEN 1 END = 1",
            "compares privacy IDs",
        ),
        // Raw values.
        ("SELECT hours FROM people", "selects the values"),
        ("SELECT town FROM people", "without grouping"),
        ("SELECT sex, hours FROM people GROUP BY sex", "selects the values"),
        ("SELECT hours AS sex FROM people GROUP BY sex", "selects the values"),
        ("SELECT COUNT(*) FROM people GROUP BY hours", "holds numbers"),
        ("SELECT COUNT(*) FROM people GROUP BY 1", "aggregate"),
        ("SELECT sex, COUNT(*) FROM people GROUP BY 3", "place 3"),
        ("SELECT sex, COUNT(*) FROM people GROUP BY 1.5", "place 1.5"),
        ("SELECT hours AS h, COUNT(*) FROM people GROUP BY h", "FLOOR"),
        ("SELECT id AS h, COUNT(*) FROM people GROUP BY h", "is the privacy ID"),
        ("SELECT COUNT(*) FROM people GROUP BY ABS(hours)", "no integer"),
        ("SELECT COUNT(*) FROM people GROUP BY FLOOR(hours * 1000)", "wider ranges"),
        ("SELECT COUNT(*) FROM people GROUP BY LOWER(id)", "is the privacy ID"),
        ("SELECT COUNT(*) FROM people GROUP BY CASE WHEN id = 'p0' THEN 'a' END", "is the privacy ID"),
        (
            "SELECT COUNT(*) FROM people GROUP BY CASE WHEN hours > 1 THEN id ELSE 'a' END",
            "is the privacy ID",
        ),
        (
            "WITH people AS (SELECT * FROM people WHERE hours > 1) SELECT COUNT(*) FROM people",
            "name of a table",
        ),
        (
            "SELECT COUNT(*) FROM people p LEFT JOIN visits v ON p.id = v.id WHERE v.id IN (SELECT id FROM visits)",
            "compare privacy IDs",
        ),
        ("SELECT MAX(hours) FROM people", "QUANTILE(x, 0.99)"),
        ("SELECT MIN(hours) FROM people", "QUANTILE(x, 0.01)"),
        ("SELECT GROUP_CONCAT(town) FROM people", "expected COUNT"),
        ("SELECT SUM(hours) + hours FROM people", "outside of an aggregate"),
        ("SELECT SUM(hours) / score FROM people", "outside of an aggregate"),
        ("SELECT ABS(hours) FROM people", "outside of an aggregate"),
        ("SELECT LEAST(hours, COUNT(*)) FROM people", "outside of an aggregate"),
        ("SELECT SUM(hours) + town FROM people", "neither a key"),
        ("SELECT SUM(hours / COUNT(*)) FROM people", "inside an aggregate"),
        ("SELECT COUNT(*) / 0 FROM people", "divides by 0"),
        ("SELECT 1 + 1, COUNT(*) FROM people", "constant"),
        ("SELECT ROUND(COUNT(*), hours) FROM people", "ROUND"),
        ("SELECT MEDIAN(hours) - AVG(hours) FROM people", "only by itself"),
        ("SELECT CORR(hours, id) FROM people", "is the privacy ID"),
        ("SELECT CORR(hours, town) FROM people", "holds strings"),
        ("SELECT CORR(hours) FROM people", "expected two"),
        ("SELECT CORR(DISTINCT hours, score) FROM people", "DISTINCT"),
        ("SELECT PERCENTILE_CONT(2) WITHIN GROUP (ORDER BY hours) FROM people", "0 ≤ rank ≤ 1"),
        ("SELECT PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY id) FROM people", "is the privacy ID"),
        ("SELECT COUNT(DISTINCT town) FROM people", "any number of other"),
        ("SELECT COUNT(DISTINCT hours) FROM people", "any number of other"),
        ("SELECT SUM(DISTINCT hours) FROM people", "DISTINCT"),
        ("SELECT SUM(COUNT(*)) FROM people", "aggregate"),
        ("SELECT SUM(SUM(hours)) FROM people", "function sum"),
        ("SELECT COUNT(*) FROM people WHERE COUNT(*) > 1", "aggregate"),
        ("SELECT COUNT(*) FROM people WHERE SUM(hours) > 1", "function sum"),
        // HAVING and ORDER BY see noisy answers alone.
        ("SELECT COUNT(*) FROM people HAVING SUM(hours) > 1", "does not select"),
        ("SELECT COUNT(*) FROM people ORDER BY SUM(hours)", "does not select"),
        ("SELECT COUNT(*) FROM people HAVING hours > 1", "outside of an aggregate"),
        ("SELECT COUNT(*) FROM people ORDER BY hours", "outside of an aggregate"),
        ("SELECT COUNT(*) FROM people ORDER BY COUNT(score)", "does not select"),
        ("SELECT COUNT(*) FROM people ORDER BY CORR(hours, score)", "does not select"),
        ("SELECT COUNT(*) FROM people ORDER BY town", "neither a key"),
        ("SELECT COUNT(*) FROM people HAVING town = 'a'", "neither a key"),
        ("SELECT COUNT(*) AS n FROM people ORDER BY CASE WHEN hours > 1 THEN 1 END", "other than"),
        ("SELECT COUNT(*) AS n FROM people WHERE n > 1", "not declared"),
        ("SELECT COUNT(*) n FROM people ORDER BY 2", "place of a column"),
        ("SELECT COUNT(*) n FROM people ORDER BY 0", "place of a column"),
        ("SELECT COUNT(*) n FROM people ORDER BY 1.5", "place of a column"),
        ("SELECT COUNT(*) n FROM people ORDER BY 'n'", "by a constant"),
        ("SELECT sex, COUNT(*) n FROM people GROUP BY sex HAVING sex > 1", "string with a number"),
        ("SELECT sex, COUNT(*) n FROM people GROUP BY sex HAVING n = 'a'", "string with a number"),
        ("SELECT sex, COUNT(*) n FROM people GROUP BY sex ORDER BY sex + 1", "calculates with a string"),
        // Types.
        ("SELECT COUNT(*) FROM people WHERE town = 1", "string in single quotes"),
        ("SELECT COUNT(*) FROM people WHERE town = hours", "string in single quotes"),
        ("SELECT COUNT(*) FROM people WHERE hours = 'a'", "string in place of a number"),
        ("SELECT COUNT(*) FROM people WHERE hours = town", "string in single quotes"),
        ("SELECT COUNT(*) FROM people WHERE hours IN ('a')", "hold only numbers"),
        ("SELECT COUNT(*) FROM people WHERE town IN (1)", "hold only strings"),
        ("SELECT COUNT(*) FROM people WHERE town < 'b'", "order"),
        ("SELECT COUNT(*) FROM people WHERE town BETWEEN 'a' AND 'b'", "holds strings"),
        ("SELECT SUM(town) FROM people", "holds strings"),
        ("SELECT SUM('1') FROM people", "string in place of a number"),
        ("SELECT SUM(hours > 1) FROM people", "condition"),
        ("SELECT SUM(COALESCE(hours, town)) FROM people", "holds strings"),
        ("SELECT COUNT(*) FROM people WHERE hours", "in place of a condition"),
        ("SELECT COUNT(*) FROM people WHERE 1", "in place of a condition"),
        ("SELECT COUNT(*) FROM people WHERE town", "in place of a condition"),
        ("SELECT COUNT(*) FROM people WHERE NULL", "in place of a condition"),
        // What can fail or leak on one row.
        ("SELECT SUM(hours / score) FROM people", "division"),
        ("SELECT SUM(hours / (score - score)) FROM people", "division"),
        ("SELECT SUM(hours / 0) FROM people", "divides by zero"),
        ("SELECT SUM(hours / -0.0) FROM people", "divides by zero"),
        ("SELECT SUM(hours / 1e-31) FROM people", "between 1e-30 and 1e30"),
        ("SELECT SUM(hours / 1e-30) FROM people", "1e30"),
        ("SELECT SUM(FLOOR(hours * 1e20)) FROM people", "2^53"),
        ("SELECT SUM(ROUND(hours)) FROM people", "FLOOR(x + 0.5)"),
        ("SELECT SUM(CAST(town AS INTEGER)) FROM people", "holds strings"),
        (
            "SELECT COUNT(*) FROM people WHERE EXISTS (SELECT 1 FROM visits)",
            "does not compare the privacy IDs",
        ),
        (
            "SELECT COUNT(*) FROM people p WHERE EXISTS (SELECT id FROM visits v WHERE p.id = p.id)",
            "does not compare",
        ),
        (
            "SELECT COUNT(*) FROM people p WHERE EXISTS (SELECT id FROM visits v WHERE v.id = v.id)",
            "does not compare",
        ),
        (
            "SELECT COUNT(*) FROM people p WHERE EXISTS (SELECT id FROM visits v WHERE v.id <> p.id)",
            "does not compare",
        ),
        (
            "SELECT COUNT(*) FROM people p WHERE EXISTS (SELECT id FROM visits v WHERE v.id = p.id OR cost > 1)",
            "does not compare",
        ),
        ("SELECT id, COUNT(*) FROM people GROUP BY ROLLUP (id)", "is the privacy ID"),
        ("SELECT COUNT(*) FROM people GROUP BY GROUPING SETS ((sex), (id))", "is the privacy ID"),
        ("SELECT sex, COUNT(*) FROM people GROUP BY CUBE (sex, sex)", "same key twice"),
        ("SELECT COUNT(*), GROUPING(id) FROM people GROUP BY ROLLUP (sex)", "GROUPING"),
        ("SELECT GROUPING(sex) FROM people GROUP BY ROLLUP (sex)", "no aggregate"),
        ("SELECT SUM(CAST(town AS DOUBLE)) FROM people", "holds strings"),
        ("SELECT COUNT(*) FROM people WHERE id LIKE 'p%'", "string column"),
        ("SELECT COUNT(*) FROM people WHERE town LIKE 'a\\\\%'", "backslash"),
        ("SELECT COUNT(*) FROM people WHERE town LIKE '%a%b%c%d%'", "too long"),
        ("SELECT SUM(seen) FROM people", "holds dates"),
        ("SELECT MEDIAN(DATE_TRUNC('month', seen)) FROM people", "not supported on rows"),
        ("SELECT COUNT(*) FROM people WHERE seen > '2024-02-30'", "invalid date"),
        ("SELECT COUNT(*) FROM people WHERE seen > 5", "something else"),
        ("SELECT COUNT(*) FROM people WHERE hours > DATE '2024-02-01'", "not supported on rows"),
        ("SELECT COUNT(*) FROM people WHERE EXTRACT(HOUR FROM seen) = 1", "no time of day"),
        ("SELECT COUNT(*) FROM people WHERE EXTRACT(YEAR FROM hours) = 1", "first and last dates"),
        ("SELECT COUNT(*) FROM people GROUP BY DATE_TRUNC('hour', seen)", "unknown unit"),
        ("SELECT COUNT(*) FROM people FULL JOIN visits v ON people.id = v.id", "LEFT JOIN"),
        ("SELECT COUNT(*) FROM people p JOIN visits v USING (town)", "not in both tables"),
        ("SELECT COUNT(*) FROM people p JOIN visits v USING (nothing)", "not in both tables"),
        ("SELECT SUM(SQRT(hours)) FROM people", "function sqrt"),
        ("SELECT SUM(LN(hours)) FROM people", "function ln"),
        ("SELECT SUM(LOAD_EXTENSION('x')) FROM people", "function load_extension"),
        ("SELECT SUM(veracity_sha256(hours)) FROM people", "function"),
        ("SELECT COUNT(*) FROM people LIMIT -1", "integer number"),
        ("SELECT COUNT(*) FROM people LIMIT hours", "integer number"),
        ("SELECT COUNT(*) FROM sqlite_master", "not in the catalog"),
        ("SELECT COUNT(*) FROM people WHERE rowid = 1", "not declared"),
        ("SELECT COUNT(*) FROM places", "only public tables"),
        (
            "SELECT COUNT(*) FROM places s JOIN places t ON s.code = t.code JOIN people p ON s.code = p.town",
            "public table",
        ),
        (
            "SELECT COUNT(*) FROM people p JOIN places s ON s.code = v.doctor JOIN visits v ON p.id = v.id",
            "not in FROM",
        ),
        ("SELECT COUNT(DISTINCT v.id) FROM people p LEFT JOIN visits v ON p.id = v.id", "left-joined"),
        ("SELECT SUM(NULL) FROM people", "constant"),
        ("SELECT SUM(ABS(NULL)) FROM people", "constant"),
        ("SELECT AVG(1) FROM people", "constant"),
        ("SELECT SUM(hours * 1e30) FROM people", "1e30"),
        ("SELECT COUNT(*) n, SUM(hours) N FROM people p JOIN people q ON p.id = q.id", "ambiguous"),
        ("SELECT COUNT(*) FROM people P JOIN people p ON P.id = p.id", "two tables with the same name"),
        (
            "SELECT COUNT(*) FROM people \"p\" JOIN people \"P\" ON \"p\".id = \"P\".id",
            "two tables with the same name",
        ),
    ] {
        match refusal(text, &catalog) {
            Some(why) => assert!(why.contains(expected), "{text}: {why}"),
            None => panic!("{text} is allowed"),
        }
    }
}

/// Names that are one name to some engines.
#[test]
fn names_that_differ_by_case_alone_are_refused() {
    let table = |name: &str, person: &str, columns: &str| {
        format!("[tables.{name}]\npath = \"t.csv\"\n{person}\n[tables.{name}.columns]\n{columns}\n")
    };
    let number = "hours = { lower = 0, upper = 1 }";
    let fits = table("t", "person = \"id\"", number);
    assert!(Catalog::read(&fits, Path::new("")).is_ok());
    for bad in [
        format!("{fits}{}", table("T", "person = \"id\"", number)),
        table("t", "person = \"id\"", &format!("{number}\nHours = {{ type = \"text\" }}")),
        table("t", "person = \"HOURS\"", number),
        table("t", "person = [\"id\", \"ID\"]", number),
        table("t", "public = true", &format!("{number}\nHOURS = {{ type = \"text\" }}")),
    ] {
        let refusal = Catalog::read(&bad, Path::new("")).unwrap_err().to_string();
        assert!(refusal.contains("upper and lower case"), "{refusal}");
    }
}

/// Catalogs are written by people too.
#[test]
fn hostile_catalogs_are_refused_in_one_line() {
    let sound = plain().catalog_text();
    for seed in 0..cases(1500) {
        let mut dice = Dice::new(0x6361_7461 + seed);
        let mut text: Vec<char> = sound.chars().collect();
        for _ in 0..1 + dice.below(4) {
            let (a, b) = (dice.below(text.len()), dice.below(text.len()));
            match dice.below(4) {
                0 => drop(text.remove(a)),
                1 => text.swap(a, b),
                2 => {
                    let odd: Vec<char> = dice.pick::<&str>(&ODD).chars().collect();
                    text.splice(a..a, odd);
                }
                _ => drop(text.drain(a.min(b)..a.max(b))),
            }
            if text.is_empty() {
                break;
            }
        }
        let text: String = text.into_iter().collect();
        if let Err(refusal) = Catalog::read(&text, Path::new("")) {
            let refusal = refusal.to_string();
            assert!(!refusal.contains(char::is_control) && refusal.len() < 1000, "{refusal:?}");
        }
    }
}

/// One file declared private and public, or as rows of two different people: a join with the public one would tell of a person
/// without bounds. By name, by another spelling, by links of both kinds; in an engine by case and by schema.
#[test]
fn the_same_rows_are_never_of_different_people() {
    let folder = std::env::temp_dir().join(format!("veracity-places-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(folder.join("sub")).unwrap();
    for name in ["t.csv", "other.csv"] {
        std::fs::write(folder.join(name), "id,a\n1,2\n").unwrap();
    }
    std::fs::hard_link(folder.join("t.csv"), folder.join("hard.csv")).unwrap();
    #[cfg(unix)]
    std::os::unix::fs::symlink(folder.join("t.csv"), folder.join("soft.csv")).unwrap();
    let read = |one: &str, other: &str| {
        let columns = "columns.a = { lower = 0, upper = 1000 }\n";
        let text = format!("[tables.one]\n{one}\n{columns}[tables.other]\n{other}\n{columns}");
        Catalog::read(&text, &folder).map(drop)
    };
    let private = "path = 't.csv'\nperson = 'id'";
    let mut same = vec!["t.csv", "./t.csv", "sub/../t.csv", "hard.csv"];
    same.extend(cfg!(unix).then_some("soft.csv"));
    let absolute = folder.join("t.csv").display().to_string();
    for path in same.iter().copied().chain([absolute.as_str()]) {
        for whose in ["public = true", "person = 'a_name'", "person = ['id', 'b']"] {
            let refused = read(private, &format!("path = '{path}'\n{whose}")).unwrap_err().to_string();
            assert!(refused.contains("one and other may contain the same rows"), "{path} {whose}: {refused}");
        }
        assert!(read(private, &format!("path = '{path}'\nperson = 'id'")).is_ok(), "{path}");
    }
    // Files that are not there yet.
    assert!(read("path = 'later.csv'\nperson = 'id'", "path = 'later.csv'\npublic = true").is_err());
    assert!(read(private, "path = 'other.csv'\npublic = true").is_ok());
    let engine = |table: &str, rest: &str| format!("engine = 'duckdb'\ntable = '{table}'\n{rest}");
    let private = engine("main.people", "url = 'x.db'\nperson = 'id'");
    for table in ["main.people", "people", "MAIN.People", "x.main.people"] {
        let public = engine(table, "url = 'x.db'\npublic = true");
        assert!(read(&private, &public).is_err(), "{table}");
        assert!(read(&private, &engine(table, "public = true")).is_err(), "{table} without a url");
    }
    for public in [
        engine("other.people", "url = 'x.db'\npublic = true"),
        engine("regions", "url = 'x.db'\npublic = true"),
        engine("main.people", "url = 'y.db'\npublic = true"),
    ] {
        assert!(read(&private, &public).is_ok(), "{public}");
    }
    std::fs::remove_dir_all(folder).unwrap();
}
