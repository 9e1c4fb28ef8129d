//! Files that are not in UTF-8 with commas and decimal points: how a catalog says so, and the catalog to begin with.

use crate::door::{did, has, json, room, run};
use serde_json::Value;
use std::{fs, path::Path};

const SUMS: &str = "'SELECT \"Geschlecht\", COUNT(*) AS n, AVG(\"Größe (cm)\") AS h, SUM(\"Kosten\") AS s FROM besuche GROUP BY \"Geschlecht\"'";

/// The bytes of a text in Windows-1252, of the letters that these tests use.
fn western(text: &str) -> Vec<u8> {
    let byte = |letter: char| match letter {
        '€' => 0x80,
        letter => u8::try_from(u32::from(letter)).unwrap(),
    };
    text.chars().map(byte).collect()
}

/// Rows of a person, a height, costs and a sex, with numbers as they are written somewhere.
fn rows(delimiter: &str, decimal: &str) -> String {
    let row = |at: usize| {
        let height = format!("{}{decimal}{}", 150 + at % 40, at % 10);
        let cost = format!("{}{decimal}{:02}", 10 * (at % 90), at % 100);
        let sex = ["männlich", "weiblich"][at % 2];
        [format!("€{}", at / 2), height, cost, sex.to_owned()].join(delimiter) + "\n"
    };
    (0..2000).map(row).collect()
}

fn header(delimiter: &str) -> String {
    ["Patient", "Größe (cm)", "Kosten", "Geschlecht"].join(delimiter) + "\n"
}

/// A catalog of one file; `form` says how it is written.
fn catalog(file: &str, form: &str) -> String {
    format!(
        "[tables.besuche]\npath = \"{file}\"\n{form}\nperson = \"Patient\"\nrows_per_group = 2\ngroups_per_person = 2\n\
         [tables.besuche.columns]\n\"Größe (cm)\" = {{ lower = 100, upper = 220 }}\nKosten = {{ lower = 0, upper = 1000 }}\n\
         Geschlecht = {{ keys = [\"männlich\", \"weiblich\"] }}\n"
    )
}

fn answered(room: &Path, catalog: &str, flags: &str) -> Value {
    json(&did(room, &format!("query {SUMS} --catalog {catalog} --epsilon 8 --seed 5 --json {flags}")))["rows"]
        .take()
}

fn refused(room: &Path, line: &str) -> String {
    let output = run(room, line);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(
        (output.status.code(), output.stdout.len(), said.lines().count()),
        (Some(2), 0, 1),
        "{line}: {said}"
    );
    said
}

/// One table in four forms has the same answers to the last bit, by its catalog, by flags, alone and in a join.
#[test]
fn a_table_has_the_same_answers_however_its_file_is_written() {
    let room = room("query-forms");
    fs::write(room.join("plain.csv"), header(",") + &rows(",", ".")).unwrap();
    fs::write(room.join("german.csv"), western(&(header(";") + &rows(";", ",")))).unwrap();
    fs::write(room.join("tabs.csv"), western(&(header("\t") + &rows("\t", ",")))).unwrap();
    fs::write(room.join("bom.csv"), "\u{feff}".to_owned() + &header(";") + &rows(";", ",")).unwrap();
    let western = "delimiter = \";\"\ndecimal = \",\"\nencoding = \"windows-1252\"";
    for (name, form) in [
        ("plain", ""),
        ("german", western),
        ("tabs", "delimiter = \"tab\"\ndecimal = \",\"\nencoding = \"windows-1252\""),
        ("bom", "decimal = \",\"\nthousands = \".\""),
    ] {
        fs::write(room.join(format!("{name}.toml")), catalog(&format!("{name}.csv"), form)).unwrap();
    }
    let plain = answered(&room, "plain.toml", "");
    let men = &plain[0];
    assert!((men["n"]["answer"].as_f64().unwrap() - 1000.0).abs() < 20.0, "{men}");
    // 150 + at mod 40 + (at mod 10)/10 over even numbers.
    assert!((men["h"]["answer"].as_f64().unwrap() - 169.4).abs() < 2.0, "{men}");
    for name in ["german", "tabs", "bom"] {
        assert_eq!(answered(&room, &format!("{name}.toml"), ""), plain, "{name}");
    }
    // Flags take the place of what the catalog says.
    fs::write(room.join("wrong.toml"), catalog("german.csv", "encoding = \"latin-1\"\ndecimal = \"'\""))
        .unwrap();
    let flags = "--decimal , --encoding windows-1252";
    assert_eq!(answered(&room, "wrong.toml", flags), plain);
    // SQLite joins files of several forms.
    let wards = "[tables.haus]\npath = \"haus.csv\"\ndecimal = \",\"\nencoding = \"windows-1252\"\npublic = true\n\
                 [tables.haus.columns]\nkey = { type = \"text\" }\nw = { lower = 0, upper = 3 }\n";
    fs::write(room.join("haus.csv"), b"key;w\nm\xe4nnlich;1,5\nweiblich;2,5\n").unwrap();
    fs::write(room.join("joined.toml"), catalog("german.csv", western) + wards).unwrap();
    let joined = "query 'SELECT SUM(h.w) AS w FROM besuche b JOIN haus h ON b.Geschlecht = h.key' --catalog joined.toml --epsilon 8 \
                  --seed 5 --json";
    let found = json(&did(&room, joined));
    assert!((found["rows"][0]["w"]["answer"].as_f64().unwrap() - 4000.0).abs() < 60.0, "{found}");
}

/// What another engine would read in another way is refused by its name, before anything is read.
#[test]
fn forms_that_an_engine_does_not_read_are_refused_by_name() {
    let room = room("query-form-engines");
    fs::write(room.join("t.csv"), header(";") + &rows(";", ",")).unwrap();
    for (form, named) in [
        ("decimal = \",\"", "1234,5"),
        ("encoding = \"latin-1\"", "latin-1"),
        ("thousands = \".\"\ndecimal = \",\"", "1.234,5"),
    ] {
        fs::write(room.join("c.toml"), catalog("t.csv", form)).unwrap();
        let said = refused(&room, &format!("query {SUMS} --catalog c.toml --epsilon 1 --engine duckdb"));
        assert!(said.contains("besuche") && said.contains(named) && said.contains("sqlite"), "{said}");
    }
    for (form, named) in [
        ("encoding = \"utf-16\"", "encoding is utf-16"),
        ("delimiter = \";;\"", "delimiter"),
        ("decimal = \"1\"", "decimal"),
        ("thousands = \",\"\ndecimal = \",\"", "thousands"),
    ] {
        fs::write(room.join("c.toml"), catalog("t.csv", form)).unwrap();
        let said = refused(&room, &format!("query {SUMS} --catalog c.toml --epsilon 1"));
        assert!(said.contains(named), "{said}");
    }
    fs::write(
        room.join("c.toml"),
        catalog("t.csv", "decimal = \",\"").replace("path = \"t.csv\"", "engine = \"duckdb\""),
    )
    .unwrap();
    let said = refused(&room, &format!("query {SUMS} --catalog c.toml --epsilon 1"));
    assert!(said.contains("are for files"), "{said}");
}

/// From the header to an answer: what is not filled in is named with its line, and then the catalog is as it should be.
#[test]
fn a_catalog_begins_with_the_header_and_is_filled_in_line_by_line() {
    let room = room("query-init");
    fs::write(room.join("besuche.csv"), western(&(header(";") + &rows(";", ",")))).unwrap();
    let said = did(&room, "query --init besuche.csv");
    assert!(said.contains("catalog.toml") && said.contains("no row was read"), "{said}");
    let mut text = fs::read_to_string(room.join("catalog.toml")).unwrap();
    has(&text, &["decimal = \",\"", "encoding = \"windows-1252\"", "\"Größe (cm)\" = \"FILL IN\""]);
    // It is not overwritten.
    assert!(refused(&room, "query --init besuche.csv").contains("catalog.toml"));
    let ask = format!("query {SUMS} --catalog catalog.toml --epsilon 8");
    for (name, value) in [
        ("person", "\"Patient\""),
        ("rows_per_group", "2"),
        ("groups_per_person", "2"),
        ("\"Geschlecht\"", "{ keys = [\"männlich\", \"weiblich\"] }"),
        ("\"Größe (cm)\"", "{ lower = 100, upper = 220 }"),
        ("\"Kosten\"", "{ lower = 0, upper = 1000 }"),
    ] {
        let said = refused(&room, &ask);
        let line = 1 + text.lines().position(|line| line.starts_with(&format!("{name} = "))).unwrap();
        // Columns are asked for in the order of the file.
        let is_column = name.starts_with('"');
        assert!(is_column || said.contains(&format!("line {line} ")), "{said}");
        assert!(!is_column || said.contains("of the catalog"), "{said}");
        text = text.replace(&format!("\n{name} = \"FILL IN\""), &format!("\n{name} = {value}"));
        fs::write(room.join("catalog.toml"), &text).unwrap();
    }
    // The privacy ID need not be filled in as a column.
    let found = json(&did(&room, &format!("{ask} --json")));
    assert!((found["rows"][0]["n"]["answer"].as_f64().unwrap() - 1000.0).abs() < 20.0, "{found}");
}

/// No row of a file decides anything of the catalog, whatever is in it.
#[test]
fn rows_decide_nothing_of_a_catalog() {
    let room = room("query-init-private");
    for head in ["Patient;Ort\n", "id,sex\n", "\u{feff}name\tx\n", "alone\n"] {
        let mut first = None;
        for (at, rows) in
            ["", "1;2\n", "1,5;\u{e4}\n", "\"never closed", "\u{1}\u{2}\n", "Eve-4711;Eve-4711\n"]
                .iter()
                .enumerate()
        {
            fs::write(room.join("t.csv"), head.to_owned() + rows).unwrap();
            let text = {
                did(&room, &format!("query --init t.csv --out {at}.toml"));
                fs::read_to_string(room.join(format!("{at}.toml"))).unwrap()
            };
            fs::remove_file(room.join(format!("{at}.toml"))).unwrap();
            assert_eq!(*first.get_or_insert(text.clone()), text, "{head:?} {rows:?}");
        }
        fs::write(room.join("t.csv"), [head.as_bytes(), b"1;\xff\xfe\n"].concat()).unwrap();
        did(&room, "query --init t.csv --out x.toml");
        assert_eq!(fs::read_to_string(room.join("x.toml")).unwrap(), first.unwrap());
        fs::remove_file(room.join("x.toml")).unwrap();
    }
    assert!(refused(&room, "query --init gone.csv").contains("gone.csv"));
    assert!(refused(&room, "query --init t.csv --epsilon 1").contains("--init"));
}

/// A query names what it lacks: the caps, and quotes around a name.
#[test]
fn a_query_without_caps_or_quotes_learns_what_to_write() {
    let room = room("query-caps");
    fs::write(room.join("t.csv"), header(",") + &rows(",", ".")).unwrap();
    let all = catalog("t.csv", "");
    let without =
        |caps: &[&str]| caps.iter().fold(all.clone(), |text, cap| text.replace(&format!("{cap} = 2\n"), ""));
    let (rows, groups) = ("rows_per_group", "groups_per_person");
    let (count, grouped, people) = (
        "SELECT COUNT(*) FROM besuche",
        "SELECT Geschlecht, SUM(Kosten) AS s FROM besuche GROUP BY Geschlecht",
        "SELECT COUNT(DISTINCT Patient) AS n FROM besuche",
    );
    let of_people = "SELECT Geschlecht, COUNT(DISTINCT Patient) AS n FROM besuche GROUP BY Geschlecht";
    for (caps, query, flags, missing) in [
        (&[rows, groups][..], count, "", &[rows][..]),
        (&[rows, groups], grouped, "", &[rows, groups]),
        (&[rows, groups], grouped, "--rows-per-group 3", &[groups]),
        (&[groups], grouped, "", &[groups]),
        (&[rows], grouped, "", &[rows]),
        (&[rows, groups], of_people, "", &[groups]),
        (&[rows, groups], people, "", &[]),
        (&[rows, groups], grouped, "--rows-per-group 3 --groups-per-person 2", &[]),
        (&[rows], grouped, "--rows-per-group 3", &[]),
        (&[groups], count, "", &[]),
    ] {
        fs::write(room.join("c.toml"), without(caps)).unwrap();
        let line = format!("query '{query}' --catalog c.toml --epsilon 1 {flags}");
        if missing.is_empty() {
            did(&room, &line);
            continue;
        }
        let said = refused(&room, &line);
        for cap in [rows, groups] {
            assert_eq!(said.contains(cap), missing.contains(&cap), "{query} {flags}: {said}");
        }
    }
    // A table whose unit is a row has one row of each.
    fs::write(
        room.join("c.toml"),
        without(&[rows, groups]).replace("person = ", "unit = \"row\"\nperson = "),
    )
    .unwrap();
    did(&room, &format!("query '{grouped}' --catalog c.toml --epsilon 1"));
    fs::write(room.join("c.toml"), &all).unwrap();
    for (query, named) in [
        ("SELECT AVG(Größe (cm)) FROM besuche", "\"Größe (cm)\""),
        ("SELECT AVG(größe (CM)) FROM besuche", "\"Größe (cm)\""),
    ] {
        let said = refused(&room, &format!("query '{query}' --catalog c.toml --epsilon 1"));
        assert!(said.contains("double quotes") && said.contains(named), "{said}");
    }
    // Another mistake keeps its own reason.
    let said =
        refused(&room, "query 'SELECT SUM(Kosten / Kosten) FROM besuche' --catalog c.toml --epsilon 1");
    assert!(said.contains("division"), "{said}");
    let said = refused(&room, &format!("query '{count}' --catalog none.toml --epsilon 1"));
    assert!(said.contains("none.toml") && said.contains("option init"), "{said}");
    fs::write(room.join("c.toml"), all.replace("person = \"Patient\"\n", "")).unwrap();
    let said = refused(&room, &format!("query '{count}' --catalog c.toml --epsilon 1"));
    assert!(said.contains("person = "), "{said}");
}

/// The caps stand above the answers, in each row of a file, and in a picture.
#[test]
fn caps_go_with_the_answers() {
    let room = room("query-caps-shown");
    fs::write(room.join("t.csv"), header(",") + &rows(",", ".")).unwrap();
    fs::write(room.join("c.toml"), catalog("t.csv", "")).unwrap();
    let query = "'SELECT Geschlecht, COUNT(*) AS n FROM besuche GROUP BY Geschlecht'";
    let flags = "--catalog c.toml --epsilon 1 --rows-per-group 3";
    let said = did(&room, &format!("query {query} {flags} --out n.csv --plot n.svg"));
    let caps = "each person contributes at most 3 rows to each of at most 2 groups";
    assert_eq!(said.lines().next(), Some(caps), "{said}");
    assert!(fs::read_to_string(room.join("n.svg")).unwrap().contains(caps));
    let table = fs::read_to_string(room.join("n.csv")).unwrap();
    let mut lines = table.lines();
    assert_eq!(lines.next(), Some("Geschlecht,n,n_error_bar,rows_per_group,groups_per_person"));
    assert!(lines.all(|line| line.ends_with(",3,2")) && table.lines().count() == 3, "{table}");
    // An answer that a ledger kept has the caps of its time.
    did(&room, "ledger create l --epsilon 2");
    let paid = format!("query {query} {flags} --ledger l --request-id r");
    did(&room, &format!("{paid} --out first.csv"));
    did(&room, &format!("{paid} --out again.csv"));
    assert_eq!(fs::read(room.join("first.csv")).unwrap(), fs::read(room.join("again.csv")).unwrap());
    // A file that is read in another way has another answer, so the ID is taken.
    let said = refused(&room, &format!("{paid} --decimal ,"));
    assert!(said.contains("another catalog"), "{said}");
    // And so is one under other caps, also where the noise over what a person adds is the same.
    let sum = |rows: u8| {
        format!(
            "query 'SELECT SUM(Kosten) AS s FROM besuche' --catalog c.toml --epsilon 0.5 --rows-per-group {rows} --ledger l --request-id s"
        )
    };
    did(&room, &sum(2));
    let said = refused(&room, &sum(4));
    assert!(said.contains("another catalog, cap"), "{said}");
    let clash = "'SELECT COUNT(*) AS rows_per_group FROM besuche'";
    assert!(refused(&room, &format!("query {clash} {flags} --out x.csv")).contains("rename it with AS"));
}

/// A hint says what may be wrong where the noisy answers show nothing, and is silent where they do.
#[test]
fn noisy_answers_without_cells_come_with_a_hint() {
    let room = room("query-hints");
    fs::write(room.join("t.csv"), western(&(header(";") + &rows(";", ",")))).unwrap();
    let right = "decimal = \",\"\nencoding = \"windows-1252\"";
    let ask = |form: &str, query: &str| {
        fs::write(room.join("c.toml"), catalog("t.csv", form)).unwrap();
        did(&room, &format!("query '{query}' --catalog c.toml --epsilon 4 --seed 2"))
    };
    for query in [
        "SELECT AVG(Kosten) FROM besuche",
        "SELECT COUNT(Kosten) FROM besuche",
        "SELECT AVG(Kosten), COUNT(*) FROM besuche",
    ] {
        let said = ask("encoding = \"windows-1252\"", query);
        assert!(
            said.contains("hint: hardly any cell of column Kosten") && said.contains("decimal"),
            "{said}"
        );
        assert!(!ask(right, query).contains("hint"), "{query}");
    }
    let grouped = "SELECT Geschlecht, COUNT(*) AS n FROM besuche GROUP BY Geschlecht";
    fs::write(
        room.join("keys.toml"),
        catalog("t.csv", right).replace("männlich", "Mann").replace("weiblich", "Frau"),
    )
    .unwrap();
    let said = did(&room, &format!("query '{grouped}' --catalog keys.toml --epsilon 4 --seed 2"));
    assert!(said.contains("hint: hardly any row was counted"), "{said}");
    assert!(!ask(right, grouped).contains("hint"));
}
