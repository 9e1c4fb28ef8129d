//! The engines outside of this program give the whole numbers of the slow twin: DuckDB's own program, and a server of PostgreSQL.
//!
//! They need what a plain test does not have, so that they are ignored where nobody asks for them; `cargo xtask test --engines` does.

use crate::common::{
    Cell, Data, cases, digits, secret, sorted, twin,
    typed::{Case, cases_with_types},
};
use veracity_statistics::sql::{
    CapOverrides, Catalog, Dialect, Engine, Place, Plan, QueryRequest, Totals, check, compile,
    engine::{DuckDb, Sqlite},
};
use veracity_tables::Limits;
use veracity_testkit::short::epsilon;

/// What an engine says to a plan that it was prepared for, in one order.
fn asked(engine: &mut dyn Engine, case: &Case, plan: &Plan) -> Totals {
    engine.prepare(plan).unwrap_or_else(|error| panic!("{} {}: {error}", case.seed, case.query));
    let totals = engine.totals(plan, &secret(case.seed));
    sorted(totals.unwrap_or_else(|error| panic!("{} {}: {error}", case.seed, case.query)))
}

/// A cell of a CSV file: a text always in quotes, one that is missing without.
fn csv(cell: &Cell) -> String {
    match cell {
        Cell::Null => String::new(),
        Cell::Number(x) => format!("{x:e}"),
        Cell::Text(text) => format!("\"{}\"", text.replace('"', "\"\"")),
    }
}

/// Tables as a file of text has them: without white space around a text, and without texts that are nothing else.
fn trimmed(tables: &[Data]) -> Vec<Data> {
    let mut tables = tables.to_vec();
    for cell in tables.iter_mut().flat_map(|table| table.rows.iter_mut().flatten()) {
        if let Cell::Text(text) = cell {
            let text = text.trim().to_owned();
            *cell = if text.is_empty() { Cell::Null } else { Cell::Text(text) };
        }
    }
    tables
}

/// Whether a file of text can tell all texts of a case from those that are missing.
fn survives_csv(case: &Case) -> bool {
    let cells = case.tables.iter().flat_map(|table| table.rows.iter().flatten());
    cells.filter_map(Cell::text).all(|text| !text.is_empty())
}

/// A folder for the files of one test.
fn folder(name: &str) -> std::path::PathBuf {
    let folder = std::env::temp_dir().join(format!("veracity-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// What the embedded engine and DuckDB's program give for the table `t` of a folder, where all rows of a person count.
fn both(folder: &std::path::Path, file: &str, query: &str) -> [Vec<veracity_statistics::sql::Row>; 2] {
    let columns = "a = { lower = -10, upper = 10 }\nk = { type = 'text' }\n";
    let caps = "rows_per_group = 100\ngroups_per_person = 100\n";
    let catalog = format!("[tables.t]\npath = '{file}'\nperson = 'id'\n{caps}[tables.t.columns]\n{columns}");
    let plan = check(query, &Catalog::read(&catalog, folder).unwrap(), CapOverrides::default()).unwrap();
    let ask = |engine: &mut dyn Engine| {
        engine.prepare(&plan).unwrap();
        let mut totals = engine.totals(&plan, &secret(1)).unwrap();
        totals.sums.sort();
        totals.sums
    };
    let mut embedded = Sqlite::open(Limits::default()).unwrap();
    [ask(&mut embedded), ask(&mut DuckDb::new())]
}

/// Whatever one person's row is, the query is answered: that it were not would tell of the row.
#[test]
#[ignore = "#16: needs the program of DuckDB"]
fn no_row_of_a_file_makes_duckdb_fail() {
    let folder = folder("rows");
    let columns = "a = { lower = 0, upper = 10 }\nk = { keys = ['x', 'y'] }\n";
    let caps = "rows_per_group = 1\ngroups_per_person = 1\n";
    let catalog = format!("[tables.t]\npath = 't.csv'\nperson = 'id'\n{caps}[tables.t.columns]\n{columns}");
    std::fs::write(folder.join("catalog.toml"), catalog).unwrap();
    let catalog = Catalog::open(&folder.join("catalog.toml")).unwrap();
    let request = QueryRequest::new("SELECT k, COUNT(*), SUM(a) FROM t GROUP BY k", epsilon(1.0));
    let prepared = request.prepare(&catalog).unwrap();
    let long = format!("q,1,x,{}", "z".repeat(3_000_000));
    let rows = ["", "q,1,x,w,more", "q,1,x,\"a\nb\"", "q", "q,1,x,w,", "\0,\0", &long];
    for row in rows {
        let text = format!("id,a,k,s\np1,1,x,w\np2,2,y,w\n{row}\n");
        std::fs::write(folder.join("t.csv"), text).unwrap();
        let mut engine = DuckDb::new();
        engine.prepare(&prepared.plan).unwrap();
        let totals = engine.totals(&prepared.plan, &secret(1));
        assert!(totals.is_ok_and(|totals| totals.sums.len() == 2), "{:.30}", row);
    }
    // Except a file that is broken as such: one row would decide what becomes of the others.
    for row in ["q,1,x,\"torn\"quote", "q,1,x,\"open", "q,1,x,w\rq,1,x,w"] {
        std::fs::write(folder.join("t.csv"), format!("id,a,k,s\np1,1,x,w\n{row}\np2,2,y,w\n")).unwrap();
        let mut engine = DuckDb::new();
        engine.check(&prepared.plan).unwrap();
        assert!(engine.load(&prepared.plan).is_err(), "{row}");
    }
    std::fs::remove_dir_all(folder).unwrap();
}

/// Both readers of text files take odd cells for the same: blanks of all kinds, numbers in odd notations.
#[test]
#[ignore = "#16: needs the program of DuckDB"]
fn odd_cells_are_the_same_to_duckdb_and_to_the_reader_of_files() {
    let folder = folder("odd");
    let query = "SELECT k, COUNT(*), COUNT(a), SUM(a), COUNT(DISTINCT id) FROM t GROUP BY k";
    let blanks: Vec<String> = (0..=0x3000u32)
        .filter_map(char::from_u32)
        .filter(|c| c.is_whitespace() && *c != '\n' && *c != '\r')
        .map(|c| format!("{c}5{c}"))
        .collect();
    let numbers = "1_0 1. .5 +.5e-3 1e 1e5 1E+2 inf +Infinity -inf NaN -nan +3 0x10 1e400 1e-400 . - + -. 1d 1f true 5% $5 1e+ --1 \
                   00012 1.7976931348623157e309 4.9e-324 2.2250738585072011e-308 1e5_0";
    let cells = blanks.iter().map(String::as_str).chain(numbers.split(' ')).chain(["", "\"  \"", "\" 7 \""]);
    let mut text = " id ,a, k\n".to_owned();
    for (at, cell) in cells.enumerate() {
        text += &format!("p{at},{cell},x\n{cell},1,y\nq{at},2,{cell}\n");
    }
    std::fs::write(folder.join("t.csv"), text).unwrap();
    let [ours, theirs] = both(&folder, "t.csv", query);
    std::fs::remove_dir_all(folder).unwrap();
    assert!(ours.len() > 30, "{}", ours.len());
    let differ: Vec<_> = theirs.iter().filter(|row| !ours.contains(row)).collect();
    assert_eq!(theirs, ours, "{differ:?} and {:?}", ours.iter().find(|row| !theirs.contains(row)));
}

/// Programs store whole numbers as floats once a cell is missing: one person's row must not change the texts of all others.
#[test]
#[ignore = "#16: needs the program of DuckDB"]
fn whole_numbers_that_were_stored_as_floats_are_the_same_keys_and_persons() {
    let folder = folder("floats");
    let write = |kind: &str, one: &str| {
        let rows = format!(
            "SELECT CAST(i AS {kind}) AS id, i % 10 AS a, CASE WHEN i = 7 THEN {one} ELSE CAST(i % 3 AS {kind}) END AS k FROM range(300) t(i)"
        );
        let sql = format!("COPY ({rows}) TO '{}/t.parquet' (FORMAT parquet);", folder.display());
        let program = std::env::var("VERACITY_DUCKDB").unwrap_or_else(|_| "duckdb".to_owned());
        let done = std::process::Command::new(program).args(["-c", &sql]).status().unwrap();
        assert!(done.success());
    };
    let query = "SELECT k, COUNT(*), SUM(a), COUNT(DISTINCT id) FROM t GROUP BY k";
    write("BIGINT", "1");
    let [whole, theirs] = both(&folder, "t.parquet", query);
    assert_eq!(whole, theirs);
    for (kind, one) in
        [("DOUBLE", "NULL"), ("DOUBLE", "'NaN'::DOUBLE"), ("DOUBLE", "'-0'::DOUBLE"), ("FLOAT", "0.5")]
    {
        write(kind, one);
        let [ours, theirs] = both(&folder, "t.parquet", query);
        assert_eq!(ours, theirs, "{kind} {one}");
        // All groups but that of the one row are as they were.
        let others = |rows: &[veracity_statistics::sql::Row]| {
            rows.iter().filter(|row| row.keys[0] == "2").cloned().collect::<Vec<_>>()
        };
        assert_eq!((others(&ours), others(&ours).len()), (others(&whole), 1), "{kind} {one}");
    }
    std::fs::remove_dir_all(folder).unwrap();
}

/// A macro of the database that is called as a built-in is never called in its place: the check refuses it, and so does each statement.
#[test]
#[ignore = "#16: needs the program of DuckDB"]
fn a_function_of_the_database_never_stands_in_for_a_built_in() {
    let folder = folder("macros");
    let program = std::env::var("VERACITY_DUCKDB").unwrap_or_else(|_| "duckdb".to_owned());
    let run = |database: &str, sql: &str| {
        let path = folder.join(database);
        let output =
            std::process::Command::new(&program).arg("-json").arg(&path).args(["-c", sql]).output().unwrap();
        (output.status.success(), String::from_utf8(output.stdout).unwrap())
    };
    let macros = [
        "floor(x) AS 50000",
        "FLOOR(x) AS 50000",
        "sha256(x) AS 'aa'",
        "\"+\"(a, b) AS 99",
        "\"%\"(a, b) AS 1",
        "sum(x) AS 7",
        "count_star() AS 5",
        "nullif(a, b) AS 3",
        "lower(x) AS random()",
        "duckdb_functions() AS TABLE SELECT 'x' AS function_name, true AS internal",
    ];
    for (at, definition) in macros.iter().chain(&["harmless(x) AS x"]).enumerate() {
        let database = format!("{at}.db");
        let rows = "CREATE TABLE t AS SELECT i AS id, i % 10 AS a, 'x' AS k FROM range(100) r(i)";
        assert!(run(&database, &format!("{rows}; CREATE MACRO {definition}")).0, "{definition}");
        let place = format!("engine = 'duckdb'\nurl = '{}'", folder.join(&database).display());
        let text = format!(
            "[tables.t]\n{place}\nperson = 'id'\n[tables.t.columns]\na = {{ lower = 0, upper = 10 }}\nk = {{ type = 'text' }}\n"
        );
        let catalog = Catalog::read(&text, &folder).unwrap();
        let plan =
            check("SELECT k, COUNT(*), SUM(a) FROM t GROUP BY k", &catalog, CapOverrides::default()).unwrap();
        let checked = DuckDb::new().check(&plan);
        let statement = &compile(&plan, Dialect::DuckDb, &secret(1), &[]).unwrap()[0];
        let (answers, printed) = run(&database, &statement.sql);
        if definition.starts_with("harmless") {
            assert!(checked.is_ok() && answers && printed.contains(":100"), "{printed}");
        } else {
            let refused = checked.expect_err(definition).to_string();
            assert!(refused.contains("overrides the built-in function"), "{definition}: {refused}");
            assert!(!answers && !printed.contains("\"x\""), "{definition}: {printed}");
        }
    }
    std::fs::remove_dir_all(folder).unwrap();
}

/// A header that the reader of files takes, DuckDB takes too: names that are empty, or the same without regard to case.
#[test]
#[ignore = "#16: needs the program of DuckDB"]
fn odd_headers_are_the_same_to_duckdb_and_to_the_reader_of_files() {
    let folder = folder("headers");
    let query = "SELECT k, COUNT(*), SUM(a) FROM t GROUP BY k";
    let mut all = Vec::new();
    for (header, row) in [
        ("id,a,k", "1,2,x"),
        (",id,a,k", "0,1,2,x"),
        ("id,a,k,", "1,2,x,"),
        ("id,a,k,q,q", "1,2,x,5,6"),
        ("id,a,k,City,city", "1,2,x,5,6"),
        ("\"id\";a;\"k\";\"u,v\"", "1;2;x;5"),
        ("\u{feff}id\ta\tk", "1\t2\tx"),
        ("id,a,k,it's \"\" odd", "1,2,x,5"),
    ] {
        std::fs::write(folder.join("t.csv"), format!("{header}\n{row}\n")).unwrap();
        let [ours, theirs] = both(&folder, "t.csv", query);
        assert_eq!(ours, theirs, "{header}");
        all.push(ours);
    }
    assert!(all.iter().all(|rows| *rows == all[0] && rows.len() == 1), "{all:?}");
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
#[ignore = "#16: needs the program of DuckDB"]
fn the_program_of_duckdb_gives_the_sums_of_the_twin() {
    let folder = folder("engines");
    // The program is started anew for each statement.
    let wanted = cases(600) as usize;
    let mut rows = 0;
    for case in cases_with_types(usize::MAX).filter(survives_csv).take(wanted) {
        let mut plan = case.plan.clone();
        for (at, table) in case.tables.iter().enumerate() {
            let path = folder.join(format!("{at}.csv"));
            let head: Vec<String> =
                table.columns.iter().map(|(name, _)| csv(&Cell::Text(name.clone()))).collect();
            let lines = table.rows.iter().map(|row| row.iter().map(csv).collect::<Vec<_>>().join(","));
            let text: String = std::iter::once(head.join(",")).chain(lines).map(|line| line + "\n").collect();
            std::fs::write(&path, text).unwrap();
            for source in plan.sources.iter_mut().filter(|source| source.table.name == table.name) {
                source.table.place = Place::File(path.clone());
            }
        }
        let found = asked(&mut DuckDb::new(), &case, &plan);
        let expected = twin(&plan, &trimmed(&case.tables), &digits(case.seed));
        assert_eq!(found, expected, "{} {}", case.seed, case.query);
        rows += found.sums.len();
    }
    std::fs::remove_dir_all(&folder).unwrap();
    println!("duckdb by its program: {wanted} cases, {rows} groups, 0 differences");
    assert!(rows > wanted / 2);
}

/// Moves the tables of a plan to a server: those of its subqueries per person and of its other groupings too.
#[cfg(feature = "postgres")]
fn on_postgres(plan: &mut Plan) {
    for source in &mut plan.sources {
        let stored = source.per_unit.as_mut().map(|per_unit| &mut per_unit.rows.table);
        for table in stored.into_iter().chain([&mut source.table]) {
            let name = vec![table.name.clone()];
            table.place = Place::Engine { engine: "postgres".to_owned(), url: None, table: name };
        }
    }
    plan.others.iter_mut().for_each(on_postgres);
}

#[cfg(feature = "postgres")]
#[test]
#[ignore = "#16: needs a server of PostgreSQL"]
fn postgres_gives_the_sums_of_the_twin() {
    let url = std::env::var("VERACITY_POSTGRES").expect("VERACITY_POSTGRES is the url of a server");
    let mut writer = postgres::Client::connect(&url, postgres::NoTls).unwrap();
    let mut engine = veracity_statistics::sql::engine::Postgres::connect(&url).unwrap();
    let wanted = cases(2000) as usize;
    let mut rows = 0;
    writer
        .batch_execute(
            "DROP SCHEMA public CASCADE; CREATE SCHEMA public; CREATE COLLATION public.case_ignored \
             (provider = icu, locale = 'und-u-ks-level2', deterministic = false); \
             CREATE FUNCTION public.abs(double precision) RETURNS double precision LANGUAGE sql AS 'SELECT 7::float8'; \
             CREATE FUNCTION public.convert_to(text, text) RETURNS bytea LANGUAGE sql AS 'SELECT ''same''::bytea'",
        )
        .unwrap();
    for case in cases_with_types(wanted) {
        let mut plan = case.plan.clone();
        on_postgres(&mut plan);
        writer.batch_execute(&tables(&case, "CREATE")).unwrap();
        let found = asked(&mut engine, &case, &plan);
        assert_eq!(found, case.expected, "{} {}", case.seed, case.query);
        writer.batch_execute(&tables(&case, "DROP")).unwrap();
        rows += found.sums.len();
    }
    println!("postgres by its client: {wanted} cases, {rows} groups, 0 differences");
    assert!(rows > wanted / 2);
}

/// Statements that make the tables of a case, or drop them.
#[cfg(feature = "postgres")]
fn tables(case: &Case, what: &str) -> String {
    use crate::common::typed::Kind;
    use veracity_statistics::sql::Dialect::Postgres;
    let mut script = String::new();
    for table in &case.tables {
        let name = format!("public.{}", Postgres.identifier(&table.name));
        if what == "DROP" {
            script += &format!("DROP TABLE {name};");
            continue;
        }
        let columns: Vec<String> = table
            .columns
            .iter()
            .map(|(column, is_number)| {
                let kind = match case.kinds.of(table, column, *is_number) {
                    Kind::Text => "text",
                    Kind::Varchar => "varchar(64)",
                    Kind::Char => "char(64)",
                    Kind::CaseIgnored => "text COLLATE public.case_ignored",
                    Kind::Double => "double precision",
                    Kind::Real => "real",
                    Kind::Bigint => "bigint",
                    Kind::Integer => "integer",
                };
                format!("{} {kind}", Postgres.identifier(column))
            })
            .collect();
        script += &format!("CREATE TABLE {name} ({});", columns.join(", "));
        for row in &table.rows {
            let cells: Vec<String> = row
                .iter()
                .map(|cell| match cell {
                    Cell::Null => "NULL".to_owned(),
                    Cell::Number(x) => format!("'{x:e}'::float8"),
                    Cell::Text(text) => Postgres.text(text),
                })
                .collect();
            script += &format!("INSERT INTO {name} VALUES ({});", cells.join(", "));
        }
    }
    script
}
