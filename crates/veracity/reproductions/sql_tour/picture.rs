//! Figures of the SQL tour as CSV, and the picture that is drawn from them.

use veracity::report::{
    bars::{Bar, Bars, Group, Panel, draw},
    svg::render,
};

/// What stands above the figures.
pub const HEADER: &str = "education,sex,people,true_hours,hours,hours_error_bar";
/// Hours that are drawn: a longer error bar goes on past the end.
const DRAWN: (f64, f64) = (0.0, 70.0);

/// One group.
pub struct Figure {
    /// Its education.
    pub education: String,
    /// Its sex.
    pub sex: String,
    /// How many people are in it, in truth.
    pub people: f64,
    /// Their mean hours, in truth.
    pub truth: f64,
    /// The private answer.
    pub hours: f64,
    /// How far the truth may be from it.
    pub error_bar: f64,
}

/// The figures as CSV.
pub fn written(figures: &[Figure]) -> String {
    let line = |figure: &Figure| {
        let Figure { education, sex, people, truth, hours, error_bar } = figure;
        // Up, but for what is whole hundredths already.
        let error_bar = (error_bar * 100.0 - 1e-9).ceil() / 100.0;
        format!("{education},{sex},{people},{truth:.2},{hours:.2},{error_bar:.2}\n")
    };
    format!("{HEADER}\n{}", figures.iter().map(line).collect::<String>())
}

/// The figures from CSV.
pub fn read(text: &str) -> Result<Vec<Figure>, String> {
    let mut lines = text.lines();
    if lines.next() != Some(HEADER) {
        return Err("figures have other columns".to_owned());
    }
    let mut figures = Vec::new();
    for line in lines {
        let cells: Vec<&str> = line.split(',').collect();
        let [education, sex, ref numbers @ ..] = cells[..] else {
            return Err("figures are cut off".to_owned());
        };
        let numbers: Vec<f64> = numbers.iter().filter_map(|cell| cell.parse().ok()).collect();
        let [people, truth, hours, error_bar] = numbers[..] else {
            return Err("figures have cells that are no number".to_owned());
        };
        figures.push(Figure {
            education: education.to_owned(),
            sex: sex.to_owned(),
            people,
            truth,
            hours,
            error_bar,
        });
    }
    Ok(figures)
}

/// The picture, as SVG.
pub fn svg(figures: &[Figure]) -> String {
    let mut sexes: Vec<String> = Vec::new();
    let mut groups: Vec<Group> = Vec::new();
    for figure in figures {
        if !sexes.contains(&figure.sex) {
            sexes.push(figure.sex.clone());
        }
        if groups.last().is_none_or(|group| group.name != figure.education) {
            groups.push(Group { name: figure.education.clone(), bars: Vec::new() });
        }
        if let Some(group) = groups.last_mut() {
            let bar = Bar { value: figure.hours, error: figure.error_bar, truth: Some(figure.truth) };
            group.bars.push(Some(bar));
        }
    }
    let panel = Panel { measure: "hours worked a week".to_owned(), groups, reach: Some(DRAWN) };
    render(&draw(&Bars {
        caption: None,
        description: "mean hours worked a week by education and sex: private answers with 95 % error bars, and the truth"
            .to_owned(),
        colours: sexes,
        panels: vec![panel],
        note: None,
    }))
}
