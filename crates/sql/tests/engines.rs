//! The engines outside of this program give the whole numbers of the slow twin: DuckDB's own program, and a server of PostgreSQL.
//!
//! They need what a plain test does not have, so that they are ignored where nobody asks for them; `cargo xtask test --engines` does.
#![allow(clippy::unwrap_used)]

mod common;

use common::{
    Cell, cases, secret,
    typed::{Case, cases_with_types},
};
use veracity_core::{Delta, Epsilon};
use veracity_sql::{CapsWanted, Catalog, Engine, Place, Plan, QueryRequest, Totals, engine::DuckDb};

/// What an engine says to a plan that it was prepared for, in one order.
fn asked(engine: &mut dyn Engine, case: &Case, plan: &Plan) -> Totals {
    engine.prepare(plan).unwrap_or_else(|error| panic!("{} {}: {error}", case.seed, case.query));
    let totals = engine.totals(plan, &secret(case.seed));
    let mut totals = totals.unwrap_or_else(|error| panic!("{} {}: {error}", case.seed, case.query));
    totals.sums.sort();
    totals.tallies.iter_mut().for_each(|tally| tally.sort());
    totals
}

/// A cell of a CSV file: a text always in quotes, one that is missing without.
fn csv(cell: &Cell) -> String {
    match cell {
        Cell::Null => String::new(),
        Cell::Number(x) => format!("{x:e}"),
        Cell::Text(text) => format!("\"{}\"", text.replace('"', "\"\"")),
    }
}

/// Whether a file of text can tell all texts of a case from those that are missing.
fn survives_csv(case: &Case) -> bool {
    let cells = case.tables.iter().flat_map(|table| table.rows.iter().flatten());
    cells.filter_map(Cell::text).all(|text| !text.is_empty())
}

/// Whatever one person's row is, the query is answered: that it were not would tell of the row.
#[test]
#[ignore = "#16: needs the program of DuckDB"]
fn no_row_of_a_file_makes_duckdb_fail() {
    let folder = std::env::temp_dir().join(format!("veracity-rows-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let columns = "a = { lower = 0, upper = 10 }\nk = { keys = ['x', 'y'] }\n";
    let catalog = format!("[tables.t]\npath = 't.csv'\nperson = 'id'\n[tables.t.columns]\n{columns}");
    std::fs::write(folder.join("catalog.toml"), catalog).unwrap();
    let catalog = Catalog::open(&folder.join("catalog.toml")).unwrap();
    let epsilon = Epsilon::new(1.0).unwrap();
    let query = "SELECT k, COUNT(*), SUM(a) FROM t GROUP BY k".to_owned();
    let request =
        QueryRequest { query, epsilon, delta: Delta::ZERO, kind: None, caps: CapsWanted::default() };
    let prepared = request.prepare(&catalog).unwrap();
    let long = format!("q,1,x,{}", "z".repeat(3_000_000));
    let rows = [
        "",
        "q,1,x,w,more",
        "q,1,x,\"a\nb\"",
        "q",
        "q,1,x,\"torn\"quote",
        "q,1,x,\"open",
        "q,1,x,w,",
        "\0,\0",
        &long,
    ];
    for row in rows {
        let text = format!("id,a,k,s\np1,1,x,w\np2,2,y,w\n{row}\n");
        std::fs::write(folder.join("t.csv"), text).unwrap();
        let mut engine = DuckDb::new();
        engine.prepare(&prepared.plan).unwrap();
        let totals = engine.totals(&prepared.plan, &secret(1));
        assert!(totals.is_ok_and(|totals| totals.sums.len() == 2), "{:.30}", row);
    }
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
#[ignore = "#16: needs the program of DuckDB"]
fn the_program_of_duckdb_gives_the_sums_of_the_twin() {
    let folder = std::env::temp_dir().join(format!("veracity-engines-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
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
        assert_eq!(found, case.expected, "{} {}", case.seed, case.query);
        rows += found.sums.len();
    }
    std::fs::remove_dir_all(&folder).unwrap();
    println!("duckdb by its program: {wanted} cases, {rows} groups, 0 differences");
    assert!(rows > wanted / 2);
}

#[cfg(feature = "postgres")]
#[test]
#[ignore = "#16: needs a server of PostgreSQL"]
fn postgres_gives_the_sums_of_the_twin() {
    let url = std::env::var("VERACITY_POSTGRES").expect("VERACITY_POSTGRES is the url of a server");
    let mut writer = postgres::Client::connect(&url, postgres::NoTls).unwrap();
    let mut engine = veracity_sql::engine::Postgres::connect(&url).unwrap();
    let wanted = cases(2000) as usize;
    let mut rows = 0;
    writer
        .batch_execute(
            "DROP SCHEMA public CASCADE; CREATE SCHEMA public; CREATE COLLATION public.case_ignored \
             (provider = icu, locale = 'und-u-ks-level2', deterministic = false); \
             CREATE FUNCTION public.abs(double precision) RETURNS double precision LANGUAGE sql AS 'SELECT 7::float8'",
        )
        .unwrap();
    for case in cases_with_types(wanted) {
        let mut plan = case.plan.clone();
        for source in &mut plan.sources {
            let table = vec![source.table.name.clone()];
            source.table.place = Place::Engine { engine: "postgres".to_owned(), url: None, table };
        }
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
    use common::typed::Kind;
    use veracity_sql::Dialect::Postgres;
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
