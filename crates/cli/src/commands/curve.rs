//! `veracity curve`: pictures of what a mechanism leaks.

use crate::{
    Outcome,
    args::{CurveArgs, choice::PanelsWord},
    meaning, text,
};
use std::path::Path;
use veracity::{
    Delta, Error, drawing,
    report::{
        curve::{self, Curves, Panels},
        png, svg,
    },
    saving::{IsOurs, refuse_foreign_file, replace},
};

/// Draws into the file that `--out` names.
pub fn run(args: &CurveArgs) -> Result<Outcome, Error> {
    let panels = panels(args.what);
    let format = Format::of(&args.out)?;
    let subject = meaning::subject(&args.subject, &args.mechanism)?;
    refuse_foreign_file("out", &args.out, format.recogniser())?;
    let curves = drawing::curves(&subject, Delta::new(args.delta)?)?;
    replace("out", &args.out, &format.render(&curves, panels)?, format.recogniser())?;
    let path = args.out.display();
    Outcome::done(match args.json {
        true => text::json(&serde_json::json!({
            "schema": "veracity.curve/1",
            "out": path.to_string(),
            "epsilon": { "upper": curves.promise.0 },
            "delta": { "upper": curves.promise.1 },
            "advantage": curves.advantage,
            "adjacency": subject.adjacency.name(),
            "assumes": subject.assumed_batches(),
            "mechanism": veracity::spec::MechanismSpec::from(&subject.mechanism),
        }))?,
        false => format!("wrote {path}: {}\n{}", curves.caption, text::assumption(&subject)),
    })
}

fn panels(what: PanelsWord) -> Panels {
    match what {
        PanelsWord::Profile => Panels::Profile,
        PanelsWord::Tradeoff => Panels::Tradeoff,
        PanelsWord::Both => Panels::Both,
    }
}

/// What the file will hold.
enum Format {
    Svg,
    Png,
    Csv,
}

impl Format {
    fn of(path: &Path) -> Result<Format, Error> {
        let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
        match ending.to_ascii_lowercase().as_str() {
            "svg" => Ok(Format::Svg),
            "png" => Ok(Format::Png),
            "csv" => Ok(Format::Csv),
            _ => Err(Error::out_of_range("out", path.display(), "a path that ends in .svg, .png or .csv")),
        }
    }

    /// How an earlier file of the kind is known.
    fn recogniser(&self) -> IsOurs {
        match self {
            Format::Svg => svg::is_ours,
            Format::Png => png::is_ours,
            Format::Csv => drawing::is_csv,
        }
    }

    fn render(&self, curves: &Curves, panels: Panels) -> Result<Vec<u8>, Error> {
        match self {
            Format::Csv => Ok(drawing::csv(curves, panels).into_bytes()),
            Format::Svg => Ok(svg::render(&curve::draw(curves, panels)).into_bytes()),
            Format::Png => png::render(&curve::draw(curves, panels))
                .ok_or_else(|| Error::invalid("the chart could not be encoded as PNG; use --out FILE.svg")),
        }
    }
}
