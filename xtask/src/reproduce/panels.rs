//! Audits whose results are tables: each runs an example program of the facade and keeps what it printed under docs/.

use crate::bench::release_folder;
use std::{
    fs, io,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

/// White-box audits of our own training, as docs/white-box.md.
pub fn white_box(root: &Path) -> io::Result<bool> {
    let table = example(root, "white_box", &[])?;
    let page = format!(
        "# White-box audits of our own training\n\n\
         Written by `cargo xtask reproduce white-box`: the built-in digits, a linear model, δ = 1e-5, add-remove, significance 0.05, seed \
         1; 20 canaries in each training, each along one parameter with the length of the clip norm, scores added up over the steps. \
         \"Proved\" holds whatever the mechanism is (many canaries, guesses fixed on the first quarter of the trainings); \"if Gaussian\" takes \
         what canaries tell for independent and Gaussian: so it is where all records are in every batch, with a threshold known beforehand; \
         where batches are drawn it is only nearly so, and nothing is proved.\n\n{table}"
    );
    fs::write(root.join("docs/white-box.md"), &page)?;
    print!("{page}");
    Ok(true)
}

/// Trials until a claimed curve falls, as docs/power.md.
pub fn power(root: &Path) -> io::Result<bool> {
    let table = example(root, "power", &[])?;
    let page = format!(
        "# Trials until a claim falls\n\n\
         Written by `cargo xtask reproduce power`: Gaussian mechanisms that claim μ and leak more, δ = 1e-5, significance 0.01, seeded. \
         *Simulated* is the number of trials a world at which Clopper–Pearson at the best threshold, known beforehand, refutes four files \
         of five by the claimed trade-off curve. The other two are audits of recorded scores, sorted, whose threshold nobody knows: \
         *counted* is the least number of trials a world, in tenths of the simulated, at which four files of five are refuted where half of \
         the trials choose the threshold; *bets* is the median number of pairs after which a sequential audit ends. By (ε, δ) alone the same \
         claims take 14,208 to more than 10^7 trials a world.\n\n{table}"
    );
    fs::write(root.join("docs/power.md"), &page)?;
    print!("{page}");
    Ok(true)
}

/// How often bounds and verdicts err where the truth is known, as docs/coverage.md.
pub fn coverage(root: &Path) -> io::Result<bool> {
    let page = example(root, "coverage", &[])?;
    fs::write(root.join("docs/coverage.md"), &page)?;
    print!("{page}");
    Ok(!page.contains("**Off"))
}

/// What each generic audit takes for each planted bug, as docs/zoo.md.
pub fn zoo(root: &Path) -> io::Result<bool> {
    let page = example(root, "zoo", &[])?;
    fs::write(root.join("docs/zoo.md"), &page)?;
    print!("{page}");
    Ok(true)
}

/// What a panel of Jagielski, Ullman and Oprea is of.
struct Wanted<'a> {
    data: PathBuf,
    runs: &'a str,
    epsilons: &'a str,
    hidden: &'a str,
    /// What initial weights are multiplied by, 0 or 1.
    scale: &'a str,
    /// Where models are trained.
    device: &'a str,
    /// Only write page and figure anew, from the counts that are there.
    redraw: bool,
}

impl<'a> Wanted<'a> {
    fn parse(root: &Path, words: &[&'a str]) -> io::Result<Wanted<'a>> {
        let mut wanted = Wanted {
            data: root.join("data"),
            runs: "1000",
            epsilons: "1,2,4,8,16",
            hidden: "0",
            scale: "1",
            device: "cpu",
            redraw: false,
        };
        let mut words = words.iter().copied();
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or_else(|| io::Error::other(format!("{word} has no value")));
            match word {
                "--redraw" => wanted.redraw = true,
                "--same-start" => wanted.scale = "0",
                "--data" => wanted.data = value()?.into(),
                "--runs" => wanted.runs = value()?,
                "--epsilons" => wanted.epsilons = value()?,
                "--hidden" => wanted.hidden = value()?,
                "--device" => wanted.device = value()?,
                _ => {
                    return Err(io::Error::other(
                        "expected --data DIR, --runs N, --epsilons 1,2,…, --hidden N, --same-start, --device cpu|cuda:N or --redraw",
                    ));
                }
            }
        }
        Ok(wanted)
    }

    /// What its files are called.
    fn name(&self) -> String {
        let hidden = if self.hidden == "0" { String::new() } else { format!("-{}", self.hidden) };
        format!("jagielski{hidden}{}", if self.scale == "0" { "-same-start" } else { "" })
    }
}

/// The FashionMNIST panel of Jagielski, Ullman and Oprea, as docs/jagielski.md, .csv and .svg.
pub fn jagielski(root: &Path, words: &[&str]) -> io::Result<bool> {
    let wanted = Wanted::parse(root, words)?;
    let name = wanted.name();
    let [counts, figure] = ["csv", "svg"].map(|ending| root.join(format!("docs/{name}.{ending}")));
    if !wanted.redraw {
        let folder = wanted.data.join("fashion-mnist");
        if !folder.join("train-images-idx3-ubyte.gz").exists() {
            return Err(io::Error::other(format!(
                "put FashionMNIST's train-images-idx3-ubyte.gz and train-labels-idx1-ubyte.gz into {}, or name another folder's parent with --data DIR",
                folder.display()
            )));
        }
        let folder = folder.display().to_string();
        let Wanted { runs, hidden, scale, epsilons, device, .. } = wanted;
        // Without a GPU nothing of CUDA is built.
        let features: &[&str] = if device == "cpu" { &[] } else { &["--features", "cuda"] };
        let arguments = ["run", &folder, runs, hidden, scale, epsilons, device];
        let lines = example_with(root, features, "jagielski", &arguments)?;
        fs::write(&counts, &lines)?;
    }
    let paths = [&counts, &figure].map(|path| path.display().to_string());
    example(root, "jagielski", &["draw", &paths[0], &paths[1]])?;
    let page = page(&name, &wanted, &fs::read_to_string(&counts)?);
    fs::write(root.join(format!("docs/{name}.md")), &page)?;
    print!("{page}");
    Ok(true)
}

/// Builds and runs an example; what it printed.
fn example(root: &Path, name: &str, arguments: &[&str]) -> io::Result<String> {
    example_with(root, &[], name, arguments)
}

/// The same, built with features.
fn example_with(root: &Path, features: &[&str], name: &str, arguments: &[&str]) -> io::Result<String> {
    let build = ["build", "--release", "--package", "veracity", "--example", name];
    if !Command::new("cargo").current_dir(root).args(build).args(features).status()?.success() {
        return Err(io::Error::other(format!("the example {name} does not build")));
    }
    let program = release_folder(root).join("examples").join(name);
    let output = Command::new(program).args(arguments).stderr(Stdio::inherit()).output()?;
    if !output.status.success() {
        return Err(io::Error::other(format!("the example {name} failed")));
    }
    String::from_utf8(output.stdout).map_err(io::Error::other)
}

/// The lines as a table: one row for each attack and ε, one column for each number of copies.
fn page(name: &str, wanted: &Wanted<'_>, lines: &str) -> String {
    let rows: Vec<Vec<&str>> = lines.lines().skip(1).map(|line| line.split(',').collect()).collect();
    let mut keys: Vec<(&str, &str, &str, &str)> = Vec::new();
    for row in &rows {
        let key = (row[0], row[2], row[3], row[4]);
        if !keys.contains(&key) {
            keys.push(key);
        }
    }
    keys.sort_by(|a, b| a.0.cmp(b.0));
    let runs = rows.first().map_or("0", |row| row[5]);
    let start =
        if wanted.scale == "0" { "all weights zero at the start" } else { "random weights at the start" };
    let model = match wanted.hidden {
        "0" => "logistic regression".to_owned(),
        units => format!("a network with {units} hidden units"),
    };
    let device = match wanted.device {
        "cpu" => String::new(),
        device => format!(" --device {device}"),
    };
    // A line needs two points.
    let several = keys.iter().any(|key| key.1 != keys[0].1);
    let figure = if several { format!("![shown against claimed]({name}.svg)\n\n") } else { String::new() };
    let mut page = format!(
        "# How private is private SGD?\n\n\
         The FashionMNIST panel of Jagielski, Ullman and Oprea (2020) with the authors' settings: {model}, classes 0 and 1, 6000 records, \
         shuffled batches of 250, 24 epochs, learning rate 0.15, clip norm 1, {start}, noise for the ε named. {runs} models a dataset, half to \
         choose the threshold, half to count; Clopper–Pearson at α = 0.01 for each k, so 0.04 for the best of four that is drawn, δ = 1e-5, \
         groups of k. Written by `cargo xtask reproduce \
         jagielski{device}`; all counts are in [{name}.csv]({name}.csv).\n\n\
         \"Proved\" is what our accountant proves of shuffled batches under replace-one, which is what ClipBKD tests; the authors' ε is by \
         a formula for Poisson sampling and added or removed records.\n\n\
         {figure}\
         | attack | ε of the authors | noise | proved | k = 1 | k = 2 | k = 4 | k = 8 |\n|---|---|---|---|---|---|---|---|\n"
    );
    for (attack, claimed, noise, proved) in keys {
        page += &format!("| {attack} | {claimed} | {noise} | {proved} |");
        for copies in ["1", "2", "4", "8"] {
            let cell = rows.iter().find(|row| row[0] == attack && row[2] == claimed && row[1] == copies);
            page += &format!(" {} |", cell.map_or("–", |row| row[10]));
        }
        page += "\n";
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_become_one_row_for_each_attack_and_claim() {
        let lines = "head\nb,1,2,2.68,9.7,8,0,4,1,3,0.5000,1\nb,2,2,2.68,9.7,8,0,4,1,3,0.2500,1\na,1,2,2.68,9.7,8,0,4,1,3,0.1000,1\n";
        let wanted = Wanted::parse(Path::new(""), &["--same-start", "--runs", "8"]).expect("known words");
        let page = page(&wanted.name(), &wanted, lines);
        assert!(
            page.contains("zero at the start")
                && page.contains("8 models")
                && page.contains("(jagielski-same-start.csv)")
        );
        let first = page.find("| a | 2 | 2.68 | 9.7 | 0.1000 | – | – | – |").expect("the row of a");
        let second = page.find("| b | 2 | 2.68 | 9.7 | 0.5000 | 0.2500 | – | – |").expect("the row of b");
        assert!(first < second);
    }
}
