//! The fenced blocks of a page: commands, files that they read, and text that is only shown.
//!
//! [`parse`] turns text into blocks and complaints, each with its line. The first word of a block decides what it is, so that a page
//! cannot show an output that no run checks.

/// Languages of blocks that are shown, or written to a file by `file=NAME`.
const SHOWN: [&str; 7] = ["sh", "toml", "json", "csv", "python", "rust", "text"];

/// One fenced block.
#[derive(Debug, PartialEq, Eq)]
pub struct Block {
    /// The line of its opening fence, from 1.
    pub line: usize,
    pub kind: Kind,
    /// What is between the fences, without their indentation.
    pub lines: Vec<String>,
    /// How far the fences are indented.
    pub indent: usize,
}

/// What a block is for.
#[derive(Debug, PartialEq, Eq)]
pub enum Kind {
    /// Commands and what they print.
    Console {
        /// Any number equals any other: fresh entropy, timings.
        numbers_vary: bool,
        /// Run by `cargo xtask book`, skipped by `cargo xtask test`.
        slow: bool,
    },
    /// Written to this file before the blocks that follow are run.
    File(String),
    /// Only shown; the language is kept.
    Shown(String),
}

/// A command of a console block and its output on the page.
#[derive(Debug, PartialEq, Eq)]
pub struct Step {
    /// The line of its `$`, from 1.
    pub line: usize,
    pub command: String,
    /// The first line of its output on the page, from 1; also where there is none.
    pub output_line: usize,
    /// Lines on the page that belong to the output, blank ones at its end included.
    pub lines_on_page: usize,
    pub expected: Vec<String>,
}

/// Something wrong at a line.
pub type Complaint = (usize, String);

/// All blocks of a page, and what is wrong with them.
pub fn parse(text: &str) -> (Vec<Block>, Vec<Complaint>) {
    let (mut blocks, mut wrong): (Vec<Block>, Vec<Complaint>) = (Vec::new(), Vec::new());
    let mut lines = text.lines().enumerate();
    while let Some((at, line)) = lines.next() {
        let bare = line.trim_start();
        if bare.starts_with("~~~") {
            wrong.push((at + 1, "a fence of tildes; use backticks".to_owned()));
        }
        if line.starts_with("    $ ") || line.starts_with("    veracity ") {
            wrong.push((at + 1, "a command that is only indented; fence it as console or sh".to_owned()));
        }
        if !bare.starts_with("```") {
            continue;
        }
        let indent = line.len() - bare.len();
        let fence = bare.len() - bare.trim_start_matches('`').len();
        let mut inside = Vec::new();
        let mut closed = false;
        for (_, line) in lines.by_ref() {
            let bare = line.trim();
            if bare.len() >= fence && bare.chars().all(|c| c == '`') {
                closed = true;
                break;
            }
            let blank = line.len() - line.trim_start_matches(' ').len();
            inside.push(line[blank.min(indent)..].to_owned());
        }
        if !closed {
            wrong.push((at + 1, "a fence that does not close".to_owned()));
        }
        match kind(bare[fence..].trim()) {
            Ok(kind) => {
                let block = Block { line: at + 1, kind, lines: inside, indent };
                wrong.extend(misplaced(&block));
                blocks.push(block);
            }
            Err(what) => wrong.push((at + 1, what)),
        }
    }
    (blocks, wrong)
}

/// The kind of a block by the words of its opening fence.
fn kind(info: &str) -> Result<Kind, String> {
    let mut words = info.split_whitespace();
    let language = match words.next().unwrap_or_default() {
        // Python that needs other packages: tests of Python skip it by this mark.
        "python,peers" => "python",
        language => language,
    };
    if language == "console" {
        let (mut numbers_vary, mut slow) = (false, false);
        for word in words {
            match word {
                "numbers-vary" => numbers_vary = true,
                "slow" => slow = true,
                _ => return Err(format!("console {word}, expected numbers-vary or slow")),
            }
        }
        return Ok(Kind::Console { numbers_vary, slow });
    }
    if !SHOWN.contains(&language) {
        return Err(format!("a block of {language:?}, expected console or one of {}", SHOWN.join(", ")));
    }
    match (words.next(), words.next()) {
        (None, _) => Ok(Kind::Shown(language.to_owned())),
        (Some(word), None) => match word.strip_prefix("file=") {
            Some(name) if is_plain(name) => Ok(Kind::File(name.to_owned())),
            Some(name) => Err(format!("file={name}, expected a name in the page's own folder")),
            None => Err(format!("{language} {word}, expected file=NAME or nothing")),
        },
        (Some(_), Some(word)) => Err(format!("{word} is one word too many")),
    }
}

/// A name that stays in the folder of its page.
fn is_plain(name: &str) -> bool {
    let known = |c: char| c.is_ascii_alphanumeric() || ".-_".contains(c);
    !name.is_empty() && !name.starts_with('.') && name.chars().all(known)
}

/// Output that no run checks, or a console block that runs nothing.
fn misplaced(block: &Block) -> Option<Complaint> {
    let is_command = |line: &String| line.starts_with("$ ");
    if matches!(block.kind, Kind::Console { .. }) {
        let first = block.lines.iter().position(|line| !line.trim().is_empty());
        let blind = |step: &Step| step.expected.iter().all(|line| line.trim() == "…");
        if let Some(step) = steps(block).iter().find(|step| !step.expected.is_empty() && blind(step)) {
            return Some((step.output_line, "nothing but … is compared with nothing".to_owned()));
        }
        return match first {
            Some(at) if is_command(&block.lines[at]) => None,
            Some(at) => Some((block.line + 1 + at, "output without a command before it".to_owned())),
            None => Some((block.line, "a console block without a command".to_owned())),
        };
    }
    let at = block.lines.iter().position(is_command)?;
    Some((block.line + 1 + at, "a command with $ that is never run; tag the block console".to_owned()))
}

/// The commands of a console block, in order.
pub fn steps(block: &Block) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let mut goes_on = false;
    for (at, line) in block.lines.iter().enumerate() {
        let number = block.line + 1 + at;
        if let Some(step) = steps.last_mut().filter(|_| goes_on) {
            step.command = format!("{}\n{line}", step.command);
            step.output_line = number + 1;
            goes_on = line.ends_with('\\');
        } else if let Some(command) = line.strip_prefix("$ ") {
            goes_on = command.ends_with('\\');
            steps.push(Step {
                line: number,
                command: command.to_owned(),
                output_line: number + 1,
                lines_on_page: 0,
                expected: Vec::new(),
            });
        } else if let Some(step) = steps.last_mut() {
            step.expected.push(line.clone());
        }
    }
    for step in &mut steps {
        step.lines_on_page = step.expected.len();
        while step.expected.last().is_some_and(|line| line.trim().is_empty()) {
            step.expected.pop();
        }
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaints(text: &str) -> Vec<Complaint> {
        parse(text).1
    }

    #[test]
    fn a_page_is_taken_apart_with_its_lines() {
        let text = "# Page\n\n```toml file=plan.toml\nunit = \"x\"\n```\n\n```console numbers-vary\n$ a \\\n    b\none\n\n\
                    $ c\n\n$ d\ntwo\n\nthree\n```\n";
        let (blocks, wrong) = parse(text);
        assert_eq!(wrong, []);
        assert_eq!(blocks[0].kind, Kind::File("plan.toml".to_owned()));
        assert_eq!((blocks[0].line, &blocks[0].lines[..]), (3, &["unit = \"x\"".to_owned()][..]));
        assert_eq!(blocks[1].kind, Kind::Console { numbers_vary: true, slow: false });
        let steps = steps(&blocks[1]);
        let lines: Vec<_> =
            steps.iter().map(|step| (step.line, step.output_line, step.lines_on_page)).collect();
        assert_eq!(lines, [(8, 10, 2), (12, 13, 1), (14, 15, 3)]);
        assert_eq!(steps[0].command, "a \\\n    b");
        assert_eq!(steps[0].expected, ["one"]);
        assert!(steps[1].expected.is_empty());
        assert_eq!(steps[2].expected, ["two", "", "three"]);
    }

    #[test]
    fn a_block_in_a_list_loses_its_indentation() {
        let (blocks, wrong) = parse("- item\n\n  ```console slow\n  $ a\n    b\n  ```\n");
        assert_eq!(wrong, []);
        assert_eq!((blocks[0].indent, &blocks[0].lines[1][..]), (2, "  b"));
        assert_eq!(blocks[0].kind, Kind::Console { numbers_vary: false, slow: true });
    }

    #[test]
    fn every_rule_can_fail() {
        assert!(complaints("```sh\ncargo xtask test\n```\n").is_empty());
        for (text, line) in [
            ("```\n$ veracity zoo\n43\n```\n", 1),
            ("```consol\n$ a\n```\n", 1),
            ("```console numbers-varying\n$ a\n```\n", 1),
            ("```sh\n$ veracity zoo\n43\n```\n", 2),
            ("```console\n43 of 43\n```\n", 2),
            ("```console\n\n```\n", 1),
            ("```console\n$ a\n", 1),
            ("```console\n$ a\nb\n\n$ c\n…\n```\n", 6),
            ("~~~console\n$ a\n~~~\n", 1),
            ("text\n\n    veracity zoo\n", 3),
            ("```toml file=../plan.toml\n```\n", 1),
            ("```toml file=.profile\n```\n", 1),
            ("```toml name=plan.toml\n```\n", 1),
            ("```toml file=a file=b\n```\n", 1),
        ] {
            let lines: Vec<usize> = complaints(text).into_iter().map(|(line, _)| line).collect();
            assert!(lines.contains(&line), "{text}: {lines:?}");
        }
    }
}
