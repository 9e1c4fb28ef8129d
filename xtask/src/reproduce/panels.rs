//! Audits whose results are tables: each runs an example program of `veracity` and writes its output into `docs`.

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
        "# White-box audits of our own training\n\nThese audits show how close an attack comes to the upper bound on ε that \
         the accountant proves. Veracity trains a linear model on the built-in digits (δ = 1e-5, add-remove adjacency). Each \
         training run has 20 canaries with a one-hot gradient as long as the clip norm. The attacker sees the noisy gradient \
         sum of every step and adds up the scores. All bounds have 95% confidence (significance 0.05).\n\nThe two lower bounds \
         differ in their assumption:\n\n- *No assumption* holds for every mechanism. It uses many canaries, with a threshold \
         from the first quarter of the training runs.\n- *If Gaussian* assumes that the scores of the canaries are independent \
         and Gaussian, and uses a threshold that was known beforehand. The assumption is true if every batch contains all \
         records. With sampled batches it is only approximately true, so the bound is not proved there.\n\nThe *ratio* is the \
         lower bound divided by the upper bound. For example, a ratio of 73% at an upper bound of 4 means that the attack \
         shows ε ≥ 2.92. A ratio near 100% means that the accountant's bound cannot be much too large, because an attack \
         nearly reaches it.\n\n{table}\n`cargo xtask reproduce white-box` writes this page. It uses seed 1, so it repeats the \
         same audits.\n"
    );
    fs::write(root.join("docs/white-box.md"), &page)?;
    print!("{page}");
    Ok(true)
}

/// Trials until a claimed curve is refuted, as docs/power.md.
pub fn power(root: &Path) -> io::Result<bool> {
    let table = example(root, "power", &[])?;
    let page = format!(
        "# Statistical power: trials until a claim is refuted\n\nThis page helps you choose the number of trials of an audit. \
         It shows how many trials refute a claim that understates the leak. The audited mechanisms are Gaussian: they claim \
         the noise of [μ-Gaussian DP](glossary.md#gaussian-dp) and leak more. All tests use δ = 1e-5 and significance \
         0.01.\n\nNumbers are trials per world, so an audit needs twice as many in total: one half with the canary, the other \
         half without it.\n\n- *Best threshold* is the smallest number of trials at which Clopper–Pearson refutes the claimed \
         trade-off curve in four audits of five, with the best threshold known beforehand.\n- *Split* is the same without a \
         known threshold: half of the recorded scores choose it. The number is exact to a tenth of the previous column.\n- \
         *Betting test* is half of the median number of trials after which a sequential audit of the running mechanism \
         stops.\n- Each *ratio* compares with the best threshold.\n\nFor example, a mechanism that claims μ = 1 and leaks μ = \
         2 adds half the declared noise. Look at its row first. With the best threshold, 104 trials per world refute it, and \
         the betting test needs about half as many. If the mechanism leaks only μ = 1.1, all tests need about a hundred times \
         as many trials.\n\nTest the whole curve if you can. If you test only one pair (ε, δ), the same claims take 14,208 to \
         more than 10^7 trials per world.\n\n{table}\n`cargo xtask reproduce power` writes this page with fixed seeds.\n"
    );
    fs::write(root.join("docs/power.md"), &page)?;
    print!("{page}");
    Ok(true)
}

/// How often bounds and verdicts err where the true ε is known, as docs/coverage.md.
pub fn coverage(root: &Path) -> io::Result<bool> {
    let page = example(root, "coverage", &[])?;
    fs::write(root.join("docs/coverage.md"), &page)?;
    print!("{page}");
    Ok(!page.contains("**Off"))
}

/// The trials that each generic audit needs for each planted bug, as docs/zoo.md.
pub fn zoo(root: &Path) -> io::Result<bool> {
    let page = example(root, "zoo", &[])?;
    fs::write(root.join("docs/zoo.md"), &page)?;
    print!("{page}");
    Ok(true)
}

/// The settings of a panel of Jagielski, Ullman and Oprea.
struct Wanted<'a> {
    data: PathBuf,
    runs: &'a str,
    epsilons: &'a str,
    hidden: &'a str,
    /// The factor of the initial weights, 0 or 1.
    scale: &'a str,
    /// The device that trains the models.
    device: &'a str,
    /// Only write page and figure again, from the existing counts.
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

    /// The name of its files.
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

/// Builds and runs an example, and returns its output.
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
    let figure =
        if several { format!("![Lower bounds against claimed ε]({name}.svg)\n\n") } else { String::new() };
    let mut page = format!(
        "# How private is private SGD? ({model})\n\nThis page repeats an experiment of Jagielski, Ullman and Oprea (2020) on \
         FashionMNIST with the authors' settings. It attacks many privately trained models and compares the lower bounds on ε \
         with the claimed ε and with our proved upper bound.\n\n- **Training**: {model}, classes 0 and 1, 6000 records, \
         shuffled batches of 250, 24 epochs, learning rate 0.15, clip norm 1, {start}. The noise is the authors' choice for \
         each ε.\n- **Attacks**: a backdoor, ClipBKD and membership inference. Each attack changes k records.\n- \
         **Statistics**: {runs} models per dataset. Half of them choose the threshold, and the other half are counted. The \
         bound is Clopper–Pearson with error probability 0.01 for each k, so 0.04 for the best of the four k, at δ = 1e-5 and \
         for groups of k records.\n\nRead the table row by row. *ε of the authors* is the claim. It comes from a formula for \
         Poisson sampling and added or removed records. *Proved* is the upper bound of our accountant for shuffled batches \
         under replace-one, which is the adjacency that ClipBKD tests. It is far above the claim (for example, 46.176 for a \
         claim of 4), because shuffling has no proved amplification and a replaced record counts as two contributions. The \
         last four columns are the lower bounds for k = 1, 2, 4 and 8. For example, look at the row of `clip-bkd` and claim 4: \
         all four lower bounds are below 4, so the attack does not refute the claim. A value of 0.0000 means that the attack \
         found no leak.\n\n{figure}| attack | ε of the authors | noise | proved | k = 1 | k = 2 | k = 4 | k = 8 \
         |\n|---|---|---|---|---|---|---|---|\n"
    );
    for (attack, claimed, noise, proved) in keys {
        page += &format!("| {attack} | {claimed} | {noise} | {proved} |");
        for copies in ["1", "2", "4", "8"] {
            let cell = rows.iter().find(|row| row[0] == attack && row[2] == claimed && row[1] == copies);
            page += &format!(" {} |", cell.map_or("–", |row| row[10]));
        }
        page += "\n";
    }
    page + &format!(
        "\nAll counts are in [{name}.csv]({name}.csv). `cargo xtask reproduce jagielski{device}` repeats the experiment.\n"
    )
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
