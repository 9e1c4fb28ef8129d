//! One thin path from a query to noisy answers.
#![allow(clippy::unwrap_used)]

use std::path::Path;
use veracity_core::{Delta, Epsilon};
use veracity_noise::{Entropy, Key, NoiseStream, Purpose};
use veracity_records::{Form, Limits};
use veracity_sql::{CapsWanted, Catalog, Cell, Engine, Secret, Totals, check, compile, engine::Sqlite};

#[test]
fn a_query_is_answered() {
    let folder = std::env::temp_dir().join(format!("veracity-sql-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let mut text = "id,sex,hours,town\n".to_owned();
    for i in 0..2000 {
        text += &format!("p{i},{},{},t{}\n", ["Male", "Female"][i % 2], 30 + i % 20, i % 3);
    }
    std::fs::write(folder.join("people.csv"), text).unwrap();
    let catalog = Catalog::read(
        "[tables.people]\npath = \"people.csv\"\nperson = \"id\"\n[tables.people.columns]\nhours = { lower = 0, upper = 99 }\nsex = { keys = [\"Male\", \"Female\", \"Other\"] }\ntown = { type = \"text\" }\n",
        &folder,
    )
    .unwrap();
    for (query, delta) in [
        (
            "SELECT sex, AVG(hours), COUNT(*) AS n, SUM(hours) s, STDDEV(hours) sd, MEDIAN(hours) m FROM people GROUP BY sex",
            0.0,
        ),
        (
            "SELECT sex, AVG(hours), COUNT(*) AS n, SUM(hours) s, STDDEV(hours) sd FROM people GROUP BY sex",
            1e-6,
        ),
        ("SELECT town, AVG(hours), COUNT(*) AS n FROM people GROUP BY town ORDER BY n DESC LIMIT 2", 1e-6),
        (
            "SELECT COUNT(DISTINCT id), SUM(CASE WHEN hours > 40 THEN 1 ELSE 0 END) AS long FROM people WHERE sex = 'Male'",
            0.0,
        ),
    ] {
        let start = std::time::Instant::now();
        let plan = check(query, &catalog, CapsWanted::default()).unwrap();
        let prepared = plan.prepare(Epsilon::new(5.0).unwrap(), Delta::new(delta).unwrap(), None).unwrap();
        println!("prepared {:?} {:?} {:?}", start.elapsed(), prepared.design.kind, prepared.threshold);
        let mut engine = Sqlite::open(Form::default(), Limits::default()).unwrap();
        engine.prepare(&prepared.plan).unwrap();
        let secret = Secret::new([7; 32]);
        let mut all = Vec::new();
        for statement in compile(&prepared.plan, engine.dialect(), &secret).unwrap() {
            println!("{}", statement.sql);
            all.push(engine.run(&statement).unwrap());
        }
        let totals = Totals { sums: all.remove(0), tallies: all };
        let mut rng = NoiseStream::new(Entropy::seeded(1).stream(Purpose::Noise, Key::default()));
        let groups = prepared.plan.answer(&prepared.design, prepared.threshold, &totals, &mut rng).unwrap();
        for row in prepared.plan.show(groups) {
            let cells: Vec<String> = row
                .iter()
                .map(|cell| match cell {
                    Cell::Key(key) => key.clone(),
                    Cell::Number(noisy) => format!("{:.3} ± {:.3}", noisy.answer, noisy.error_bar),
                })
                .collect();
            println!("{cells:?}");
        }
    }
    let _ = Path::new("");
    std::fs::remove_dir_all(folder).unwrap();
}
