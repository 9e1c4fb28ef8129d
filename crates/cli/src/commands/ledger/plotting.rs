//! A picture of a ledger: what was spent after each entry, in parts of the budget.

use crate::{Outcome, args::LedgerPlotArgs};
use veracity::{
    Error,
    ledger::{Entry, Ledger},
    report::{
        axis::{Axis, Scale},
        chart::{self, Chart, Line},
        picture::{Ink, Picture, Stroke},
        png, svg,
    },
    saving::{refuse_foreign_file, replace},
};

/// Draws into the file that `--out` names.
pub fn plot(args: &LedgerPlotArgs) -> Result<Outcome, Error> {
    let ending = args.out.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    let is_svg = match ending.to_ascii_lowercase().as_str() {
        "svg" => true,
        "png" => false,
        _ => return Err(Error::out_of_range("out", args.out.display(), "a path that ends in .svg or .png")),
    };
    let is_ours = if is_svg { svg::is_ours } else { png::is_ours };
    refuse_foreign_file("out", &args.out, is_ours)?;
    let ledger = Ledger::open(&args.file)?;
    let entries = ledger.history()?;
    let picture = picture(&ledger, &entries)?;
    let bytes = match is_svg {
        true => svg::render(&picture).into_bytes(),
        false => png::render(&picture)
            .ok_or_else(|| Error::invalid("the plot could not be encoded as PNG; use --out FILE.svg"))?,
    };
    replace("out", &args.out, &bytes, is_ours)?;
    Outcome::done(format!("wrote {}, entries: {}\n", args.out.display(), entries.len()))
}

fn picture(ledger: &Ledger, entries: &[Entry]) -> Result<Picture, Error> {
    let status = ledger.status()?;
    let spent = |amount: fn(&Entry) -> f64, limit: f64| {
        let mut points = vec![(0.0, 0.0)];
        for (at, entry) in entries.iter().enumerate() {
            // A charge is a step.
            let before = points.last().map_or(0.0, |point| point.1);
            let after = if limit > 0.0 { 100.0 * amount(entry) / limit } else { 0.0 };
            points.extend([(at as f64 + 1.0, before), (at as f64 + 1.0, after)]);
        }
        points
    };
    let line = |name: &str, points, ink, stroke| Line { name: name.to_owned(), points, ink, stroke };
    let mut lines = vec![line(
        ledger.terms().rule.sum_name(),
        spent(|entry| entry.spent.sum, status.spent.limit),
        Ink::BLUE,
        Stroke::Solid,
    )];
    if entries.iter().any(|entry| entry.spent.delta > 0.0) {
        let points = spent(|entry| entry.spent.delta, status.spent.delta_limit);
        lines.push(line("delta", points, Ink::VERMILLION, Stroke::Solid));
    }
    let last = entries.len().max(1) as f64;
    lines.push(line("the budget", vec![(0.0, 100.0), (last, 100.0)], Ink::GREY, Stroke::Dashed));
    let axis = |title: &str, high: f64, scale| Axis { title: title.to_owned(), low: 0.0, high, scale };
    Ok(chart::draw(&Chart {
        description: format!("budget spent over {} entries", entries.len()),
        x: axis("entry", last, Scale::Whole),
        y: axis("spent (% of the limit)", 105.0, Scale::Linear),
        bands: vec![],
        lines,
        spots: vec![],
    }))
}
