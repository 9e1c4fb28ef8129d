//! The picture of the SQL tour is that of the figures beside it, and the figures are what the page says of them.

#[path = "../reproductions/sql_tour/picture.rs"]
mod picture;

use std::{fs, path::Path};

fn docs(name: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name)).unwrap()
}

#[test]
fn the_picture_is_drawn_from_the_figures() {
    let figures = picture::read(&docs("sql-tour.csv")).unwrap();
    assert_eq!(figures.len(), 32);
    assert_eq!(picture::written(&figures), docs("sql-tour.csv"));
    assert_eq!(picture::svg(&figures), docs("sql-tour.svg"));
    // Twin: another figure is another picture.
    let mut other = picture::read(&docs("sql-tour.csv")).unwrap();
    other[17].hours += 1.0;
    assert_ne!(picture::svg(&other), docs("sql-tour.svg"));
}

/// An error bar holds the truth with a chance of at least 95 %: of 32, more than 6 miss with a chance below 1e-3.
#[test]
fn error_bars_hold_the_truth_as_often_as_they_say() {
    let figures = picture::read(&docs("sql-tour.csv")).unwrap();
    let missed = figures.iter().filter(|one| (one.hours - one.truth).abs() > one.error_bar + 0.01).count();
    assert!(missed <= 6, "{missed}");
    assert_eq!(figures.iter().map(|one| one.people).sum::<f64>(), 48_842.0);
    let page = docs("sql-tour.md");
    let told = |education: &str, sex: &str| {
        let one = figures.iter().find(|one| one.education == education && one.sex == sex).unwrap();
        format!(
            "{education} | {sex} | {:.0} | {:.2} | {:.2} ± {:.2}",
            one.people, one.truth, one.hours, one.error_bar
        )
    };
    for (education, sex) in [("HS-grad", "Male"), ("Doctorate", "Female"), ("Preschool", "Female")] {
        let line = told(education, sex);
        assert!(page.contains(&line), "the page lacks: {line}");
    }
}
