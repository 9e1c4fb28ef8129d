//! Prose out of files: Markdown, string literals of Rust and JavaScript, doc comments, docstrings and HTML.
//!
//! Each function takes the text of a file and returns its passages. Code blocks and comments for developers are left out.

use super::text::{BREAK, Passage, without_code};
use crate::book::links::outside;

/// Paragraphs and list items; headings and rows of tables, which are no sentences; no code blocks.
pub fn markdown(text: &str) -> Vec<Passage> {
    let mut passages = Vec::new();
    let mut open: Option<(usize, String)> = None;
    let mut is_list = false;
    let mut last = 0;
    for (at, line) in outside(text) {
        let bare = line.trim_start().trim_start_matches("> ");
        let is_item = bare.starts_with("- ") || bare.starts_with("* ") || is_numbered(bare);
        let is_row = bare.starts_with('|') || bare.starts_with('#');
        let is_code = line.starts_with("    ") && open.is_none() && !is_list || bare.starts_with("<!--");
        if at > last + 1 || is_code || is_item || is_row || bare.is_empty() {
            passages.extend(open.take().map(|(line, text)| Passage::new(line, &text, true)));
        }
        last = at;
        if is_row {
            passages.extend(Passage::parts(at, &bare.replace('|', &BREAK.to_string()), false));
        } else if !is_code && !bare.is_empty() {
            is_list = is_item || is_list && line.starts_with(' ');
            let (_, text) = open.get_or_insert((at, String::new()));
            *text += bare;
            text.push('\n');
        }
    }
    passages.extend(open.map(|(line, text)| Passage::new(line, &text, true)));
    passages
}

fn is_numbered(line: &str) -> bool {
    line.split_once(". ").is_some_and(|(number, _)| !number.is_empty() && number.parse::<u32>().is_ok())
}

/// The doc comments of fields and variants, which clap prints as help, and the literals. Lines of examples are left out.
pub fn help(text: &str) -> Vec<Passage> {
    let mut passages = messages(text);
    let mut open: Option<(usize, String)> = None;
    for (at, line) in text.lines().chain([""]).enumerate() {
        match line
            .trim_start()
            .strip_prefix("///")
            .filter(|text| line.starts_with(' ') && !text.trim().is_empty())
        {
            Some(text) => {
                let (_, so_far) = open.get_or_insert((at + 1, String::new()));
                *so_far += text;
                so_far.push('\n');
            }
            None => passages.extend(open.take().map(|(line, text)| Passage::new(line, &text, true))),
        }
    }
    passages
}

/// The string literals of Rust that are shown to users: outside of tests and comments, with two words or more.
pub fn messages(text: &str) -> Vec<Passage> {
    spoken(&text[..tests(text)], false)
}

/// Where the module of tests begins, attributes included; the end of the text if it has none.
fn tests(text: &str) -> usize {
    const MARK: &str = "#[cfg(test)]\n";
    let begins_tests = |at: &usize| {
        let item = text[at + MARK.len()..].lines().find(|line| !line.starts_with("#["));
        item.is_some_and(|line| line.starts_with("mod ") && line.ends_with('{'))
    };
    text.match_indices(MARK).map(|(at, _)| at).find(begins_tests).unwrap_or(text.len())
}

/// The same of JavaScript.
pub fn javascript(text: &str) -> Vec<Passage> {
    spoken(text, true)
}

/// Docstrings, without their examples.
pub fn docstrings(text: &str) -> Vec<Passage> {
    let mut passages = Vec::new();
    let mut line = 1;
    for (at, part) in text.split("\"\"\"").enumerate() {
        if at % 2 == 1 {
            let mut is_example = false;
            let mut kept = String::new();
            for line in part.split_inclusive('\n') {
                is_example = !line.trim().is_empty() && (is_example || line.trim_start().starts_with(">>>"));
                if line.trim().is_empty() {
                    kept.push(BREAK);
                }
                kept += if is_example { "\n" } else { line };
            }
            passages.extend(Passage::parts(line, &kept, true));
        }
        line += part.matches('\n').count();
    }
    passages
}

/// The text of a page, and of the attributes that are read out or shown.
pub fn html(text: &str) -> Vec<Passage> {
    let mut passages = Passage::parts(1, &without_tags(text), true);
    for (at, line) in text.lines().enumerate() {
        for name in ["aria-label", "title", "placeholder", "alt", "content"] {
            let mark = format!(" {name}=\"");
            let values = line.split(&mark).skip(1);
            let values =
                values.filter_map(|rest| rest.split_once('"')).filter(|(value, _)| !value.contains('='));
            passages.extend(values.flat_map(|(value, _)| Passage::parts(at + 1, value, true)));
        }
    }
    passages
}

/// The literals that have words, without tags and placeholders, and without indented lines: those are examples.
fn spoken(text: &str, is_script: bool) -> Vec<Passage> {
    let is_letter = |c: char| c.is_ascii_alphabetic();
    let is_word = |word: &str| {
        word.starts_with(is_letter) && word.len() > 1 && word.chars().skip(1).all(|c| c.is_ascii_lowercase())
    };
    let mut passages = Vec::new();
    for (line, literal) in literals(text, is_script) {
        let lines = literal.split_inclusive(['\n', BREAK]);
        let kept: String = lines
            .map(|line| {
                if line.starts_with("  ") {
                    &line[line.trim_end_matches(['\n', BREAK]).len()..]
                } else {
                    line
                }
            })
            .collect();
        let plain = without_code(&without_tags(&kept), '{', '}');
        let words = plain.split([' ', '\n', BREAK]).map(|word| word.trim_matches([',', '.', ':', ';']));
        if words.filter(|word| is_word(word)).count() > 1 {
            passages.extend(Passage::parts(line, &plain, true));
        }
    }
    passages
}

/// Tags within a line of text vanish; others, and what is between tags of scripts and styles, end it.
fn without_tags(text: &str) -> String {
    const INLINE: [&str; 11] = ["a", "em", "strong", "b", "i", "code", "span", "sub", "sup", "abbr", "tspan"];
    let is_tag = |rest: &str| rest.starts_with(|c: char| c.is_ascii_alphabetic() || c == '/' || c == '!');
    let mut plain = String::new();
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once('<') {
        plain += before;
        rest = behind;
        let Some((tag, after)) = behind.split_once('>').filter(|_| is_tag(behind)) else {
            plain.push('<');
            continue;
        };
        let name = tag.trim_start_matches('/').split([' ', '\n']).next().unwrap_or_default();
        if !INLINE.contains(&name) {
            plain.push(BREAK);
        }
        plain.extend(tag.chars().filter(|c| *c == '\n'));
        rest = after;
        if matches!(name, "style" | "script") {
            let hidden = after.find("</").unwrap_or(0);
            plain.extend(after[..hidden].chars().filter(|c| *c == '\n'));
            rest = &after[hidden..];
        }
    }
    (plain + rest).replace("&nbsp;", " ").replace("&amp;", "&")
}

/// The string literals of Rust or JavaScript with their lines.
fn literals(text: &str, is_script: bool) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let (mut rest, mut line, mut before) = (text, 1, '\n');
    while let Some(here) = rest.chars().next() {
        let past = |end: &str| rest.find(end).map_or(rest.len(), |at| at + end.len());
        let length = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            past("*/")
        } else if is_script && here == '/' && "(,=:[!&|?{};\n".contains(before) {
            regular_expression(rest)
        } else if !is_script && here == '\'' {
            character(rest)
        } else if !is_script && here == 'r' && !before.is_alphanumeric() && is_raw(rest) {
            let hashes = rest[1..].chars().take_while(|c| *c == '#').count();
            let inside = &rest[hashes + 2..];
            let end = inside.find(&format!("\"{}", "#".repeat(hashes))).unwrap_or(inside.len());
            found.push((line, inside[..end].to_owned()));
            (end + 2 * hashes + 3).min(rest.len())
        } else if here == '"' || is_script && matches!(here, '\'' | '`') {
            let (length, literal, inner) = quoted(rest, here);
            found.push((line, literal));
            found.extend(
                inner.into_iter().flat_map(|code| literals(code, true)).map(|(at, it)| (line + at - 1, it)),
            );
            length
        } else {
            here.len_utf8()
        };
        let token = &rest[..length];
        line += token.matches('\n').count();
        before = token.chars().rfind(|c| *c != ' ').unwrap_or(before);
        rest = &rest[length..];
    }
    found
}

fn is_raw(rest: &str) -> bool {
    rest[1..].trim_start_matches('#').starts_with('"')
}

/// The length of a regular expression; one that does not end on its line was a division.
fn regular_expression(rest: &str) -> usize {
    let mut is_escaped = false;
    let end = rest.char_indices().skip(1).find(|(_, c)| {
        let ends = *c == '\n' || *c == '/' && !is_escaped;
        is_escaped = *c == '\\' && !is_escaped;
        ends
    });
    end.map_or(1, |(at, c)| if c == '/' { at + 1 } else { 1 })
}

/// The length of a character such as `'\u{2026}'`; of a lifetime, its mark.
fn character(rest: &str) -> usize {
    let inside = &rest[1..];
    let first = inside.chars().next().map_or(0, char::len_utf8);
    let content = if inside.starts_with('\\') { 2 } else { first };
    match inside.get(content..).and_then(|after| after.find('\'')) {
        Some(0) => content + 2,
        Some(more) if inside.starts_with("\\u") => content + more + 2,
        _ => 1,
    }
}

/// The length of a literal, its content, and the code within it. A line break that is written as `\n` ends a sentence.
fn quoted(rest: &str, quote: char) -> (usize, String, Vec<&str>) {
    let mut content = String::new();
    let mut inner = Vec::new();
    let mut letters = rest.char_indices().skip(1).peekable();
    while let Some((at, here)) = letters.next() {
        if here == quote {
            return (at + 1, content, inner);
        }
        if quote == '`' && rest[at..].starts_with("${") {
            let code = inside_braces(&rest[at + 1..]);
            content += " code ";
            inner.push(code);
            while letters.next_if(|(next, _)| *next <= at + 2 + code.len()).is_some() {}
        } else if here == '\\' {
            match letters.next().map(|(_, escaped)| escaped) {
                Some('n') => content.push(BREAK),
                Some('\n') => {
                    content.push('\n');
                    while letters.next_if(|(_, c)| *c == ' ').is_some() {}
                }
                Some(other) => content.push(other),
                None => {}
            }
        } else {
            content.push(here);
        }
    }
    (rest.len(), content, inner)
}

/// What is between a brace and the one that closes it.
fn inside_braces(text: &str) -> &str {
    let mut depth = 0_usize;
    let end = text.char_indices().find(|(_, c)| {
        depth = if *c == '{' { depth + 1 } else { depth - usize::from(*c == '}') };
        depth == 0
    });
    &text[1..end.map_or(text.len(), |(at, _)| at)]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(passages: &[Passage]) -> Vec<(usize, String)> {
        let lines = passages.iter().filter(|passage| !passage.words.is_empty());
        lines
            .map(|passage| {
                let words: Vec<&str> = passage.words.iter().map(|word| &word.text[..]).collect();
                (passage.words[0].line, words.join(" "))
            })
            .collect()
    }

    fn expected(passages: &[(usize, &str)]) -> Vec<(usize, String)> {
        passages.iter().map(|(line, text)| (*line, (*text).to_owned())).collect()
    }

    #[test]
    fn markdown_is_paragraphs_without_code() {
        let text = "# A head\n\nOne `x y`\ntwo.\n\n```sh\nno prose\n```\n- an item\n  of two lines\n- [b](c d)\n\n    no code\n\n\
                    | cell | other |\n|---|---|\n\nAfter.\n\n    veracity audit\n";
        let found = markdown(text);
        let all = [
            (1, "a head"),
            (3, "one code two"),
            (9, "an item of two lines"),
            (11, "b"),
            (13, "no code"),
            (15, "cell"),
            (15, "other"),
            (18, "after"),
        ];
        assert_eq!(words(&found), expected(&all));
        assert!(!found[0].is_prose && found[1].is_prose);
    }

    #[test]
    fn messages_are_literals_of_two_words_outside_of_tests_and_comments() {
        let text = "// \"not this one\"\nlet a = '\"'; let b: &'static str = \"over budget: {x:?} is \\\n    left\";\n\
                    let c = r#\"raw \"text\" here\"#; f(\"key\", '\\'', \"one line\\nand more\");\n/* \"nor this\" */\n\
                    #[cfg(test)]\n#[allow(dead_code)]\nmod tests {\n    \"in a test\"\n}\n";
        let all = [(2, "over budget code is left"), (4, "raw text here"), (4, "one line"), (4, "and more")];
        assert_eq!(words(&messages(text)), expected(&all));
    }

    #[test]
    fn scripts_docstrings_help_and_pages_are_read() {
        let script = "const a = b.replace(/\"/g, 'it is');\nsay(`the ${n ? \"claim stands\" : '-'} end here`); // 'not this'\n";
        let all = [(1, "it is"), (2, "the code end here"), (2, "claim stands")];
        assert_eq!(words(&javascript(script)), expected(&all));
        let python = "def f():\n    \"\"\"Return it.\n\n    >>> f()\n    no prose\n\n    Raises: none\n    \"\"\"\n    \"no\"\n";
        assert_eq!(words(&docstrings(python)), expected(&[(2, "return it"), (7, "raises none")]));
        let args = "/// not help\nfn f() {\n    /// Print the result\n    /// as JSON\n    #[arg(help = \"Set it\\n  veracity audit\")]\n    x: bool,\n";
        assert_eq!(words(&help(args)), expected(&[(5, "set it"), (3, "print the result as json")]));
        let page = "<h1>How <em>much</em>?</h1>\n<p title=\"A claim\">At\nmost</p><style>p { x: y }</style>";
        assert_eq!(words(&html(page)), expected(&[(1, "how much"), (2, "at most"), (2, "a claim")]));
    }
}
