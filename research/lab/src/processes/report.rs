//! What copies share, and whether that is what is claimed: as JSON, and as Markdown.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::path::Path;

use serde::Serialize;
use serde_json::Value;
use squall_tool_base::Failure;
use squall_tool_base::output::{print, print_json};
use squall_tool_base::reports::Sink;

use super::experiment::{Answer, Outcome};
use super::program::{Claim, Program};
use super::tool::{Tool, ToolName};

/// The complete report.
#[derive(Debug, Serialize)]
pub struct Report {
    date: String,
    kernel: String,
    versions: BTreeMap<String, String>,
    experiments: Vec<Finding>,
}

/// What one experiment showed.
#[derive(Debug, Serialize)]
pub struct Finding {
    tool: String,
    program: &'static str,
    restores: usize,
    status: Value,
    /// By their length in bytes.
    sizes: BTreeMap<usize, Size>,
    copies: Tested,
    forks: Tested,
    /// Copies whose clone generation is the original's.
    generations: Tested,
    wrong: Vec<String>,
}

/// The values of one length.
#[derive(Debug, Default, Serialize)]
struct Size {
    values: usize,
    shared_by_copies: usize,
    shared_with_child: usize,
}

/// How many there are, how many of them share a value, and what is claimed of that.
#[derive(Debug, Serialize)]
struct Tested {
    claim: Option<Claim>,
    number: usize,
    shared: usize,
}

impl Tested {
    fn new(claim: Option<Claim>, number: usize) -> Tested {
        Tested {
            claim,
            number,
            shared: 0,
        }
    }

    /// Whether this is a control that did not repeat.
    fn lacks_a_repeat(&self) -> bool {
        self.claim == Some(Claim::Repeat) && self.number > 0 && self.shared == 0
    }

    /// Why the claim does not hold.
    fn wrong(&self, what: &str) -> Option<String> {
        if self.lacks_a_repeat() {
            return Some(format!("the control did not repeat: {what} share nothing"));
        }
        let is_wrong = self.claim == Some(Claim::Differ) && self.shared > 0;
        is_wrong.then(|| format!("{what} share values: {} of {}", self.shared, self.number))
    }
}

/// A part of a value that is compared: 8 bytes, or less at the value's end.
fn words(value: &str) -> impl Iterator<Item = &str> {
    const DIGITS: usize = 16;
    (0..value.len())
        .step_by(DIGITS)
        .map(move |at| &value[at..value.len().min(at + DIGITS)])
}

fn words_of(answer: &Answer) -> impl Iterator<Item = &str> {
    answer.values.iter().flat_map(|value| words(value))
}

/// The authors of each word; None stands for several.
struct Authors<'a>(HashMap<&'a str, Option<usize>>);

impl<'a> Authors<'a> {
    fn new(answers: impl Iterator<Item = (usize, &'a Answer)>) -> Authors<'a> {
        let mut authors = HashMap::new();
        for (author, answer) in answers {
            for word in words_of(answer) {
                let known = authors.entry(word).or_insert(Some(author));
                *known = known.filter(|known| *known == author);
            }
        }
        Authors(authors)
    }

    fn has_several(&self, value: &str) -> bool {
        words(value).any(|word| self.0[word].is_none())
    }
}

impl Finding {
    pub fn new(tool: ToolName, program: &Program, outcome: &Outcome) -> Finding {
        let (copies, generations) = (&outcome.copies, &outcome.generations);
        let of_copies = &generations.of_copies;
        let is_originals = |of_copy: &&[String; 2]| generations.before.as_ref() == Some(of_copy);
        let stayed = of_copies.iter().filter(is_originals).count();
        let has_forked = |answers: &&Vec<Answer>| answers.iter().any(|answer| answer.is_childs);
        let forks = copies.iter().filter(has_forked).count();
        let mut found = Finding {
            tool: tool.to_string(),
            program: program.name,
            restores: copies.len(),
            status: outcome.status.clone(),
            sizes: BTreeMap::new(),
            copies: Tested::new(program.claim_of_copies(tool), copies.len()),
            forks: Tested::new(program.claim_of_children(tool), forks),
            generations: Tested {
                shared: stayed,
                ..Tested::new(program.claim_of_generations(tool), of_copies.len())
            },
            wrong: Vec::new(),
        };
        let numbered = copies.iter().enumerate();
        let of_copies = Authors::new(
            numbered.flat_map(|(copy, answers)| answers.iter().map(move |answer| (copy, answer))),
        );
        copies
            .iter()
            .for_each(|answers| found.count(answers, &of_copies));
        let wrong = [
            found.copies.wrong("copies"),
            found.forks.wrong("parent and child"),
            found.generations.wrong("clone generations"),
        ];
        found.wrong.extend(wrong.into_iter().flatten());
        let mut all = generations.before.iter().chain(&generations.of_copies);
        if let Some([child, parent]) = all.find(|[child, parent]| child != parent) {
            let text = format!("a child has the clone generation {child}, and its parent {parent}");
            found.wrong.push(text);
        }
        found
    }

    /// Counts what one copy has drawn, and its child.
    fn count(&mut self, answers: &[Answer], of_copies: &Authors) {
        let numbered = answers
            .iter()
            .map(|answer| (usize::from(answer.is_childs), answer));
        let of_processes = Authors::new(numbered);
        let (mut by_copies, mut with_child) = (false, false);
        for value in answers.iter().flat_map(|answer| &answer.values) {
            let size = self.sizes.entry(value.len() / 2).or_default();
            let (copied, inherited) = (
                of_copies.has_several(value),
                of_processes.has_several(value),
            );
            size.values += 1;
            size.shared_by_copies += usize::from(copied);
            size.shared_with_child += usize::from(inherited);
            by_copies |= copied;
            with_child |= inherited;
        }
        self.copies.shared += usize::from(by_copies);
        self.forks.shared += usize::from(with_child);
    }

    pub fn lacks_a_repeat(&self) -> bool {
        [&self.copies, &self.forks, &self.generations]
            .iter()
            .any(|tested| tested.lacks_a_repeat())
    }

    fn row(&self) -> String {
        let claim = |tested: &Tested| match tested.claim {
            Some(Claim::Differ) => "differ",
            Some(Claim::Repeat) => "repeat",
            None => "–",
        };
        let shared = |tested: &Tested| match tested.number {
            0 => "–".to_owned(),
            number => format!("{} of {number}", tested.shared),
        };
        let size = |(bytes, size): (&usize, &Size)| {
            format!("{bytes} B: {}/{}", size.shared_by_copies, size.values)
        };
        let sizes: Vec<_> = self.sizes.iter().map(size).collect();
        let verdict = if self.wrong.is_empty() {
            "holds"
        } else {
            "**wrong**"
        };
        format!(
            "| {} | {} | {} | {} | {} | {} | {} | {} | {verdict} |\n",
            self.tool,
            self.program,
            claim(&self.copies),
            shared(&self.copies),
            sizes.join(", "),
            claim(&self.forks),
            shared(&self.forks),
            shared(&self.generations),
        )
    }
}

/// The head of the table.
const HEAD: &str = "\
| tool | program | copies must | copies that share a value | shared of all values | parent and child must | copies whose child shares a value | copies with the original's clone generation | |
| --- | --- | --- | --- | --- | --- | --- | --- | --- |
";

impl Report {
    pub fn new(tools: &[Tool]) -> Report {
        let versions = tools
            .iter()
            .map(|tool| (tool.name.to_string(), tool.version()));
        let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
        Report {
            date: jiff::Timestamp::now().strftime("%F").to_string(),
            kernel: kernel.trim_end().to_owned(),
            versions: versions
                .chain([("squall".into(), env!("CARGO_PKG_VERSION").into())])
                .collect(),
            experiments: Vec::new(),
        }
    }

    pub fn add(&mut self, finding: Finding) {
        eprintln!(
            "{}, {}: {} restores",
            finding.tool, finding.program, finding.restores
        );
        self.experiments.push(finding);
    }

    pub fn is_empty(&self) -> bool {
        self.experiments.is_empty()
    }

    /// Prints it, and writes `processes.json` and `processes.md`. Fails if a claim did not hold.
    pub fn publish(&self, as_json: bool, directory: Option<&Path>) -> Result<(), Failure> {
        let written = directory.map_or(Ok(()), |directory| self.write(directory));
        if as_json {
            print_json(self)?;
        } else {
            print(&self.markdown())?;
        }
        written?;
        for finding in &self.experiments {
            if let Some(wrong) = finding.wrong.first() {
                let (tool, program) = (&finding.tool, finding.program);
                return Err(Failure::Runtime(format!("{tool}, {program}: {wrong}")));
            }
        }
        Ok(())
    }

    fn write(&self, directory: &Path) -> Result<(), Failure> {
        let json = serde_json::to_string_pretty(self)
            .map_err(|error| Failure::Runtime(format!("report: {error}")))?;
        Sink::open(&directory.join("processes.json"))?.write(&(json + "\n"))?;
        Sink::open(&directory.join("processes.md"))?.write(&self.markdown())
    }

    fn markdown(&self) -> String {
        let mut text = format!("{}, Linux {}", self.date, self.kernel);
        for (name, version) in &self.versions {
            let _ = write!(text, ", {name} {version}");
        }
        text += "\n\n";
        text += HEAD;
        text.extend(self.experiments.iter().map(Finding::row));
        text
    }
}

#[cfg(test)]
mod tests {
    use super::super::experiment::Generations;
    use super::super::program::PROGRAMS;
    use super::*;

    fn answer(is_childs: bool, values: &[&str]) -> Answer {
        let values = values.iter().map(|value| (*value).to_owned()).collect();
        Answer { is_childs, values }
    }

    /// What is found in copies by CRIU 4.1, if the program is `name`.
    fn found(name: &str, copies: Vec<Vec<Answer>>) -> Finding {
        found_with_generations(name, copies, Generations::default())
    }

    fn found_with_generations(
        name: &str,
        copies: Vec<Vec<Answer>>,
        generations: Generations,
    ) -> Finding {
        let program = PROGRAMS.iter().find(|program| program.name == name);
        let outcome = Outcome {
            status: Value::Null,
            copies,
            generations,
        };
        Finding::new(ToolName::Criu41, program.expect("a program"), &outcome)
    }

    #[test]
    fn a_copy_needs_another_generation_and_a_child_its_parents() {
        let wrong = |of_copies: &[[&str; 2]]| {
            let generations = Generations {
                before: Some(["7", "7"].map(str::to_owned)),
                of_copies: of_copies.iter().map(|of| of.map(str::to_owned)).collect(),
            };
            found_with_generations("rust-not-a-vm", Vec::new(), generations).wrong
        };
        assert_eq!(wrong(&[["8", "8"], ["9", "9"]]), [""; 0]);
        let stayed = "clone generations share values: 1 of 2";
        assert_eq!(wrong(&[["8", "8"], ["7", "7"]]), [stayed]);
        let other = "a child has the clone generation 9, and its parent 8";
        assert_eq!(wrong(&[["9", "8"]]), [other]);
    }

    /// A word of a long value is the whole value of another copy.
    #[test]
    fn copies_that_share_a_word_are_counted() {
        let long = "00112233445566778899aabbccddeeff";
        let copies = || {
            vec![
                vec![answer(false, &["01234567", long])],
                vec![answer(false, &["89abcdef", &long[16..]])],
                vec![answer(false, &["00112233", "0123456701234567"])],
            ]
        };
        let guarded = found("c", copies());
        assert_eq!(guarded.wrong, ["copies share values: 2 of 3"]);
        let sizes = guarded.sizes.iter();
        let shared = sizes.map(|(bytes, size)| (*bytes, size.shared_by_copies));
        assert_eq!(shared.collect::<Vec<_>>(), [(4, 0), (8, 1), (16, 1)]);
        assert_eq!(found("openssl", copies()).wrong, [""; 0]);
    }

    #[test]
    fn a_child_that_shares_is_counted_and_a_control_that_does_not_is_wrong() {
        let family = |childs, own| vec![answer(true, &[childs]), answer(false, &[own])];
        let share = vec![
            family("01234567", "01234567"),
            family("89abcdef", "fedcba98"),
        ];
        let wrong = "parent and child share values: 1 of 2";
        assert_eq!(found("c", share).wrong, [wrong]);
        let differ = vec![
            family("01234567", "12345678"),
            family("23456789", "3456789a"),
        ];
        let control = found("libc", differ);
        assert!(control.lacks_a_repeat());
        assert_eq!(control.wrong.len(), 2);
    }
}
