//! `cargo xtask reproduce sql-tour`: hours worked by education and sex in the Adult census data, under a ledger, as
//! docs/sql-tour.csv and .svg.
//!
//! The data are not in the repository: `VERACITY_ADULT` names the folder with adult.data.gz and adult.test.gz.

use crate::{bench::must, files};
use std::{
    env, fs, io,
    path::{Path, PathBuf},
    process::Command,
};

/// A number for each row, its education, its sex and its hours; as on the page.
const TABLE: &str = "{ echo id,education,sex,hours; gunzip -c adult.data.gz adult.test.gz | awk -F', ' '$1 + 0 > 0 { print ++n \",\" $4 \",\" $10 \",\" $13 }'; }";
/// The query; as on the page.
const QUERY: &str = "SELECT education, sex, AVG(hours) AS hours FROM people GROUP BY education, sex";

/// Runs the queries and draws the result. The output of the program passes through, for the page.
pub fn run(root: &Path) -> io::Result<bool> {
    let data = env::var_os("VERACITY_ADULT").map(PathBuf::from).ok_or_else(|| {
        io::Error::other(
            "VERACITY_ADULT is not set, expected the folder with adult.data.gz and adult.test.gz",
        )
    })?;
    // The workspace is named, so that the tests and this share what is compiled.
    let what = ["build", "--workspace", "--bin", "veracity", "--example", "sql_tour"];
    must(Command::new("cargo").current_dir(root).args(what), "the tour does not build")?;
    let target = files::target(root);
    let folder = target.join("sql-tour");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder)?;
    fs::copy(root.join("examples/adult.toml"), folder.join("adult.toml"))?;
    let table = Command::new("sh").args(["-c", TABLE]).current_dir(&data).output()?;
    fs::write(folder.join("adult.csv"), table.stdout)?;

    let veracity = |words: &[&str]| {
        println!("$ veracity {}", words.join(" "));
        let mut command = Command::new(target.join("debug/veracity"));
        match command.current_dir(&folder).args(words).status()?.success() {
            true => Ok(()),
            false => Err(io::Error::other("veracity refused")),
        }
    };
    veracity(&["ledger", "create", "year.ledger", "--epsilon", "3", "--unit", "person"])?;
    let ask = ["query", QUERY, "--catalog", "adult.toml", "--epsilon", "1"];
    veracity(&[&ask[..], &["--dry-run", "--rows", "500"]].concat())?;
    let paid =
        ["--ledger", "year.ledger", "--request-id", "hours", "--out", "hours.csv", "--plot", "hours.svg"];
    veracity(&[&ask[..], &paid].concat())?;
    veracity(&["ledger", "show", "year.ledger"])?;
    let mut draw = Command::new(target.join("debug/examples/sql_tour"));
    draw.current_dir(&folder).args(["hours.csv", "adult.csv"]);
    draw.args([root.join("docs/sql-tour.csv"), root.join("docs/sql-tour.svg")]);
    must(&mut draw, "the picture was not drawn")?;
    Ok(true)
}
