//! Words with their places, and the measures of a text.

/// One word in lower case, without the marks around it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Word {
    pub text: String,
    /// Its line, from 1.
    pub line: usize,
    ends_sentence: bool,
    before_semicolon: bool,
}

/// A paragraph, a list item, a message: sentences do not go beyond it.
#[derive(Debug, Clone)]
pub struct Passage {
    pub words: Vec<Word>,
    /// Headings and cells of tables are searched for words, but they are not sentences.
    pub is_prose: bool,
}

/// Between passages of one text: cells of a table, lines of a message.
pub const BREAK: char = '\u{2029}';

impl Passage {
    /// A text that begins at a line, cut at its breaks.
    pub fn parts(line: usize, text: &str, is_prose: bool) -> Vec<Passage> {
        let mut line = line;
        let mut passages = Vec::new();
        for part in text.split(BREAK) {
            passages.push(Passage::new(line, part, is_prose));
            line += part.matches('\n').count();
        }
        passages
    }

    /// The words of a text that begins at a line. What is between backticks is one word.
    pub fn new(line: usize, text: &str, is_prose: bool) -> Passage {
        let mut words: Vec<Word> = Vec::new();
        let mut line = line;
        let plain = without_targets(&without_code(text, '`', '`'));
        for piece in plain.split_inclusive([' ', '\n', '\t', '/', '—', '\u{a0}']) {
            let raw = piece.trim_end_matches(|c: char| c.is_whitespace() || "/—\"'”’)]*_".contains(c));
            let text = raw.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
            let is_abbreviation = matches!(&text[..], "e.g" | "i.e" | "vs" | "etc" | "al");
            let ends_sentence = raw.ends_with(['.', '!', '?']) && !is_abbreviation;
            let before_semicolon = raw.ends_with(';');
            if !text.is_empty() {
                words.push(Word { text, line, ends_sentence, before_semicolon });
            } else if let Some(last) = words.last_mut() {
                last.ends_sentence |= ends_sentence;
                last.before_semicolon |= before_semicolon;
            }
            line += usize::from(piece.ends_with('\n'));
        }
        Passage { words, is_prose }
    }

    /// Where a phrase is.
    pub fn find<'a>(&'a self, phrase: &'a [String]) -> impl Iterator<Item = usize> + 'a {
        let is_phrase = move |part: &[Word]| part.iter().zip(phrase).all(|(word, text)| word.text == *text);
        let starts = self.words.windows(phrase.len().max(1)).enumerate();
        starts.filter(move |(_, part)| is_phrase(part)).map(|(at, _)| at)
    }
}

/// A text with `code` for everything from one mark to the other; line breaks stay.
pub fn without_code(text: &str, open: char, close: char) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once(open) {
        // A mark that does not close within the text, or a doubled one, stands for itself.
        let fence: usize = 1 + behind.chars().take_while(|c| *c == open).count();
        let end = close.to_string().repeat(fence);
        let Some((code, after)) = behind[fence - 1..].split_once(&end) else { break };
        plain += before;
        plain += " code";
        plain.extend(code.chars().filter(|c| *c == '\n'));
        rest = after;
    }
    plain + rest
}

/// `[text](target)` as its text, and addresses as one word.
fn without_targets(text: &str) -> String {
    let mut parts = text.split("](");
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        plain += part.split_once(')').map_or(part, |(_, behind)| behind);
    }
    let words = plain.split_inclusive(char::is_whitespace);
    words.map(|word| if word.contains("://") { "code " } else { word }).collect()
}

/// Groups of words that are counted, with the name of each.
pub const COUNTED: [(&str, &[&str]); 5] = [
    ("you", &["you", "your", "yours", "yourself", "you're", "you'll", "you've"]),
    ("examples", &["for example", "for instance", "e.g", "such as"]),
    ("reasons", &["because", "since", "why", "this means", "note that"]),
    ("what, whose", &["what", "whoever", "whatever", "whose"]),
    ("nobody, none", &["nobody", "nothing", "none", "nor", "neither"]),
];
pub const PASSIVE: &str = "is + participle";
pub const SEMICOLONS: &str = "semicolons";

/// What is counted in a text.
#[derive(Debug, Default)]
pub struct Measures {
    words: usize,
    /// Words of each sentence.
    sentences: Vec<usize>,
    /// Of each group, then of participles and semicolons.
    counts: [usize; COUNTED.len() + 2],
}

impl Measures {
    pub fn of<'a>(passages: impl IntoIterator<Item = &'a Passage>) -> Measures {
        let phrases = COUNTED.map(|(_, group)| group.iter().map(|phrase| split(phrase)).collect::<Vec<_>>());
        let mut sums = Measures::default();
        for passage in passages.into_iter().filter(|passage| passage.is_prose) {
            sums.words += passage.words.len();
            sums.sentences
                .extend(passage.words.split_inclusive(|word| word.ends_sentence).map(<[Word]>::len));
            for (group, count) in phrases.iter().zip(&mut sums.counts) {
                *count += group.iter().map(|phrase| passage.find(phrase).count()).sum::<usize>();
            }
            let [.., passive, semicolons] = &mut sums.counts;
            *passive += passage.words.windows(3).filter(|part| is_passive(part)).count();
            *semicolons += passage.words.iter().filter(|word| word.before_semicolon).count();
        }
        sums.sentences.sort_unstable();
        sums
    }

    /// The columns of the table, in order.
    pub fn columns() -> Vec<&'static str> {
        let counted = COUNTED.iter().map(|(name, _)| *name);
        ["words", "mean", "90th"].into_iter().chain(counted).chain([PASSIVE, SEMICOLONS]).collect()
    }

    /// The cells of a row: words, words per sentence, and the others per 1,000 words.
    pub fn cells(&self) -> Vec<String> {
        let mean = self.words as f64 / self.sentences.len().max(1) as f64;
        let ninetieth = self.sentences.get(self.sentences.len() * 9 / 10).copied().unwrap_or_default();
        let lengths = [self.words.to_string(), format!("{mean:.1}"), ninetieth.to_string()];
        let rates = (0..self.counts.len()).map(|at| format!("{:.1}", self.rate(at)));
        lengths.into_iter().chain(rates).collect()
    }

    /// How often something comes in 1,000 words.
    pub fn per_thousand(&self, name: &str) -> f64 {
        let names = Measures::columns();
        names[3..].iter().position(|found| *found == name).map_or(0.0, |at| self.rate(at))
    }

    fn rate(&self, at: usize) -> f64 {
        1000.0 * self.counts[at] as f64 / self.words.max(1) as f64
    }
}

/// The words of a phrase.
pub fn split(phrase: &str) -> Vec<String> {
    phrase.split_whitespace().map(str::to_owned).collect()
}

/// Participles without the ending of most.
const PARTICIPLES: &str = " made given taken known shown drawn written read kept held found sent paid built put told said seen chosen \
                           done left lost bound met set cut spent lent meant hidden begun thrown split ";

/// Whether three words begin with `is`, `are` or `was` and a participle, also a negated one.
fn is_passive(words: &[Word]) -> bool {
    let second = if words[1].text == "not" { &words[2].text } else { &words[1].text };
    let is_participle =
        second.len() > 4 && second.ends_with("ed") || PARTICIPLES.contains(&format!(" {second} "));
    matches!(&words[0].text[..], "is" | "are" | "was" | "were") && is_participle
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_have_their_lines_and_code_is_one_word() {
        let passage =
            Passage::new(7, "Run `cargo xtask\n test`; then [read\nthis](a b.md), e.g. once.", true);
        let words: Vec<_> = passage.words.iter().map(|word| (word.line, &word.text[..])).collect();
        let expected =
            [(7, "run"), (7, "code"), (8, "then"), (8, "read"), (9, "this"), (9, "e.g"), (9, "once")];
        assert_eq!(words, expected);
        assert_eq!(passage.find(&split("read this")).collect::<Vec<_>>(), [3]);
        assert_eq!(Measures::of([&passage]).per_thousand(SEMICOLONS), 1000.0 / 7.0);
    }

    #[test]
    fn every_measure_counts() {
        let text = "You see it, for example, because it is not clipped. What is it? Nobody asks; it stays.";
        let measures = Measures::of(&[Passage::new(1, text, true), Passage::new(1, "What? What?", false)]);
        assert_eq!(measures.counts, [1, 1, 1, 1, 1, 1, 1]);
        assert_eq!(measures.sentences, [3, 4, 10]);
        assert_eq!(measures.cells()[..4], ["17", "5.7", "10", "58.8"]);
    }
}
