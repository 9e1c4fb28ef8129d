//! Columns of text, lined up.

/// Lines up `rows` under `head`; columns are as wide as their widest entry and two spaces apart.
///
/// # Examples
///
/// ```
/// use veracity_account::claims::words::table::align;
///
/// let rows = [["exact".to_owned(), "1.98".to_owned()], ["rdp".to_owned(), "2.41".to_owned()]];
/// let text = align(["method", "epsilon"], &rows);
/// // The second column begins where the first one's widest entry, and two spaces, end.
/// let starts = text.lines().map(|line| line.rfind(' ').map(|gap| gap + 1));
/// assert_eq!(starts.collect::<Vec<_>>(), [Some(8); 3]);
/// ```
pub fn align<const N: usize>(head: [&str; N], rows: &[[String; N]]) -> String {
    let rows: Vec<Vec<&str>> = rows.iter().map(|row| row.iter().map(String::as_str).collect()).collect();
    align_all(&head, &rows)
}

/// As [`align`], for as many columns as there are.
pub fn align_all(head: &[&str], rows: &[Vec<&str>]) -> String {
    let wide = |text: &str| text.chars().count();
    let mut widths: Vec<usize> = head.iter().map(|entry| wide(entry)).collect();
    for row in rows {
        for (width, entry) in widths.iter_mut().zip(row) {
            *width = (*width).max(wide(entry));
        }
    }
    let line = |entries: &[&str]| {
        let padded = entries.iter().zip(&widths).map(|(entry, width)| {
            let gap = " ".repeat(width.saturating_sub(wide(entry)));
            format!("{entry}{gap}")
        });
        padded.collect::<Vec<_>>().join("  ").trim_end().to_owned() + "\n"
    };
    std::iter::once(line(head)).chain(rows.iter().map(|row| line(row))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up_whatever_the_alphabet() {
        let rows = [["δ".to_owned(), "long entry".to_owned()], ["name".to_owned(), "–".to_owned()]];
        assert_eq!(align(["a", "b"], &rows), "a     b\nδ     long entry\nname  –\n");
    }
}
