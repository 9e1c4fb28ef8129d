//! A picture of noisy rows: a panel for each noisy column, a line for each group.

use super::printing::NULL;
use crate::meaning::clean;
use veracity::{
    report::{
        bars::{self, Bar, Bars, Group, Panel},
        picture::Picture,
    },
    writing::{Cells, Column},
};

/// The most groups in a picture.
const MOST_GROUPS: usize = 60;

/// Draws noisy rows, below a caption. Where the last of several keys has two values, they have a colour each.
pub fn picture(columns: &[Column], caption: String) -> Picture {
    let keys: Vec<Vec<String>> = columns.iter().filter_map(|column| texts(&column.cells)).collect();
    let rows = columns.first().map_or(0, |column| match &column.cells {
        Cells::Texts(texts) => texts.len(),
        Cells::Numbers(numbers) => numbers.len(),
        Cells::Integers(integers) => integers.len(),
    });
    let colours = colours(&keys);
    let by = if colours.is_empty() { keys.len() } else { keys.len() - 1 };
    // Which group and which of its bars a row is.
    let mut names: Vec<String> = Vec::new();
    let mut places = Vec::new();
    for row in 0..rows {
        let group: Vec<String> = keys[..by].iter().map(|key| clean(&key[row])).collect();
        let bar = colours.iter().position(|colour| *colour == keys[by][row]).unwrap_or(0);
        let name = group.join(", ");
        let at = match names.iter().position(|known| !colours.is_empty() && *known == name) {
            Some(at) => at,
            None => {
                names.push(name);
                names.len() - 1
            }
        };
        places.push((at, bar));
    }
    let left_out = names.len().saturating_sub(MOST_GROUPS);
    names.truncate(MOST_GROUPS);
    let panels: Vec<Panel> =
        noisy(columns).map(|noisy| panel(noisy, &names, &places, colours.len())).collect();
    let measures: Vec<&str> = panels.iter().map(|panel| panel.measure.as_str()).collect();
    let by: Vec<String> = columns
        .iter()
        .filter(|column| texts(&column.cells).is_some())
        .map(|column| clean(&column.name))
        .collect();
    let grouped = if by.is_empty() { String::new() } else { format!(" by {}", by.join(", ")) };
    bars::draw(&Bars {
        description: format!("{}{grouped}, with 95% error bars", measures.join(", ")),
        caption: Some(caption),
        colours: colours.iter().map(|colour| clean(colour)).collect(),
        panels,
        note: (left_out > 0)
            .then(|| format!("the first {MOST_GROUPS} groups ({left_out} more are not drawn)")),
    })
}

/// The texts of a column, as they are shown: a key that a grouping has not is NULL.
fn texts(cells: &Cells) -> Option<Vec<String>> {
    match cells {
        Cells::Texts(texts) => {
            Some(texts.iter().map(|text| text.clone().unwrap_or_else(|| NULL.to_owned())).collect())
        }
        Cells::Numbers(_) | Cells::Integers(_) => None,
    }
}

/// The two values of the last of several keys, in their order.
fn colours(keys: &[Vec<String>]) -> Vec<String> {
    let mut values: Vec<String> = Vec::new();
    if let [_, .., last] = keys {
        for value in last {
            if !values.contains(value) {
                values.push(value.clone());
            }
            if values.len() > 2 {
                return Vec::new();
            }
        }
    }
    if values.len() == 2 { values } else { Vec::new() }
}

/// Each noisy column with the error bars beside it.
fn noisy(columns: &[Column]) -> impl Iterator<Item = (&str, &[f64], &[f64])> {
    let numbers: Vec<(&str, &[f64])> = columns
        .iter()
        .filter_map(|column| match &column.cells {
            Cells::Numbers(numbers) => Some((column.name.as_str(), numbers.as_slice())),
            Cells::Texts(_) | Cells::Integers(_) => None,
        })
        .collect();
    let pairs: Vec<_> = numbers.chunks_exact(2).map(|pair| (pair[0].0, pair[0].1, pair[1].1)).collect();
    pairs.into_iter()
}

fn panel(
    (name, answers, errors): (&str, &[f64], &[f64]),
    names: &[String],
    places: &[(usize, usize)],
    colours: usize,
) -> Panel {
    let mut groups: Vec<Group> =
        names.iter().map(|name| Group { name: name.clone(), bars: vec![None; colours.max(1)] }).collect();
    for ((at, bar), (value, error)) in places.iter().zip(answers.iter().zip(errors)) {
        if let Some(group) = groups.get_mut(*at) {
            group.bars[*bar] = Some(Bar { value: *value, error: *error, truth: None });
        }
    }
    Panel { measure: clean(name), groups, reach: None }
}
